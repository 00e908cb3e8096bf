"""Parts of rows for the tables of `tests/errors/`."""

import functools

import jax


def rows_of(name, error, message, call, *arguments, follow=None):
    """Makes a row for each argument that a call refuses with the same message."""
    advised = () if follow is None else (follow,)
    return {
        f"{name}, case {i}": (
            *(error, message, functools.partial(call, argument)),
            *advised,
        )
        for i, argument in enumerate(arguments)
    }


def traced(call):
    """Returns a call that is traced, since a program would take long to compile."""

    def without_values():
        call()

    return lambda: jax.eval_shape(without_values)
