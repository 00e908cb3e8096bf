"""The numbers of several runs, on this host."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import cutoffs
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import IntervalMethod, Number

# A metric of a run, or all metrics of it, or those of several runs by name.
Results = Mapping[str, Any]


class Estimate(NamedTuple):
    """A mean with its interval, and of how many lists."""

    mean: float
    low: float
    high: float
    std_error: float
    lists: int
    undefined: int


def estimates(
    results: Results, level: Number, method: IntervalMethod = "normal"
) -> dict[str, dict[str, Estimate]]:
    """The numbers of every run and metric, each cutoff under a name of its own.

    Args:
        results: A dict of runs to dicts of metrics to states or `PerList`s; or such a
            dict of metrics, which is the run "".
        level: See `Mean.confidence_interval`.
        method: The same.

    Raises:
        TypeError: if it holds anything else.
        ValueError: if it is empty, a state is stacked, or two cutoffs have one name.
    """
    if not isinstance(results, Mapping):
        raise TypeError(f"results: got {kind_of(results)}; {_FIX}")
    several = any(isinstance(run, Mapping) for run in results.values())
    runs = dict(results) if several else {"": results}
    states = {name: _states(name, run) for name, run in runs.items()}
    found = {
        run: {name: _read(state, level, method) for name, state in of_run.items()}
        for run, of_run in states.items()
    }
    # One transfer for all that there is.
    found = jax.device_get(found)
    return {
        run: {
            one: Estimate(
                # NumPy scalars, whose text has the digits of their dtype.
                *(x[place][()] for x in found[run][name][:4]),
                *found[run][name][4].tolist(),
            )
            for one, name, place in cutoffs(of_run)
        }
        for run, of_run in states.items()
    }


_FIX = (
    "pass a dict of metrics to states, as evaluate gives it, or a dict of runs to such "
    "dicts"
)


def _states(run: str, metrics: Any) -> dict[str, Mean]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"results: run {run!r} is {kind_of(metrics)}; {_FIX}")
    if not metrics:
        raise ValueError(f"results: run {run!r} is empty; pass at least one metric")
    states = {}
    for name, state in metrics.items():
        state = state.mean() if isinstance(state, PerList) else state
        if not isinstance(state, Mean):
            raise TypeError(f"results: {name!r} is {kind_of(state)}; {_FIX}")
        if jnp.ndim(state.counts) > 1:
            raise ValueError(
                f"results: {name!r} is stacked along axes of shape "
                f"{state.counts.shape[:-1]}; pass reduce of it"
            )
        states[str(name)] = state
    return states


def _read(state: Mean, level: Number, method: IntervalMethod) -> tuple[jax.Array, ...]:
    interval = state.confidence_interval(level, method)
    return state.compute(), *interval, state.std_error(), state.counts
