"""Compiles quickly the programs of tests that are not about what a compiler does.

Almost all of the time of the tests is spent compiling. A large program that is run once, to
be compared with loops or with another program of the same lists, compiles here as the
drivers compile theirs, in a third of the time. What XLA makes of the metrics by default is
tested by tests/test_values.py, tests/test_laws.py and all that tests call eagerly.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.core import Tracer

import jax_rank_metrics as jrm
from jax_rank_metrics._one_off import one_off_jit


def quick_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `jax.jit(function)`, which compiles quickly."""
    return one_off_jit(function)()


def quick_measure(metrics: Any, ranking: jrm.Ranking) -> dict[str, jrm.PerList]:
    """Returns `measure(metrics, ranking)`, from a program that compiles quickly.

    Inside another program it becomes part of that.
    """
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(ranking)):
        return jrm.measure(metrics, ranking)
    is_table = isinstance(metrics, dict)
    return _measure(tuple(metrics.items() if is_table else metrics), is_table)(ranking)


@functools.cache
def _measure(metrics: tuple[Any, ...], is_table: bool) -> Callable[..., Any]:
    table = dict(metrics) if is_table else metrics
    return quick_jit(lambda ranking: jrm.measure(table, ranking))
