"""Checks of the functions that formulas pass to the verbs of a ranking."""

import inspect
from collections.abc import Callable


def check_place_fn(verb: str, place_fn: Callable[..., object], num_arrays: int) -> None:
    """Raises TypeError if a function cannot be called with a place, k and arrays."""
    arguments = ("place", "k", *[f"array_{i + 1}" for i in range(num_arrays)])
    cure = "pass jrm.positions(f), where f is a function of ranks"
    _check_call(verb, "place_fn", place_fn, arguments, cure)


def check_position_fn(verb: str, position_fn: Callable[..., object]) -> None:
    """Raises TypeError if a function cannot be called with ranks alone."""
    cure = "pass a function of ranks as it is, without jrm.positions"
    _check_call(verb, "position_fn", position_fn, ("ranks",), cure)


def _check_call(
    verb: str,
    name: str,
    function: Callable[..., object],
    arguments: tuple[str, ...],
    cure: str,
) -> None:
    if not callable(function):
        raise TypeError(f"{verb}: {name} is {function!r}; {cure}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C have none
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        kind = getattr(function, "__qualname__", type(function).__name__)
        raise TypeError(
            f"{verb}: {name} is {kind}{signature}, but is called as "
            f"{name}({', '.join(arguments)}); {cure}"
        ) from error
