"""One ranking for any number of metrics, compiled."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import Depth, Options, ScoredLists
from jax_rank_metrics._sources.rank import read_lists
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, means_of


class Bound(NamedTuple):
    """A metric with its options, hashable, under the name of its result."""

    name: str
    formula: Callable[..., PerList]
    own: tuple[tuple[str, Any], ...]
    ties: str
    columns: tuple[str, ...]
    order_free: bool

    @property
    def k(self) -> Any:
        """The cutoffs as given; None where the metric has none."""
        return dict(self.own).get("k")

    def of(self, ranking: Ranking) -> PerList:
        """Applies the formula."""
        return self.formula(ranking.of_policy(self.ties), **dict(self.own))


def read(bounds: Sequence[Bound], ranking: Ranking) -> dict[str, PerList]:
    """Applies every formula to one ranking."""
    ranking = ranking.remembering()
    # The deepest first: its ideal order serves the others.
    deepest = [_inputs.deepest(_inputs.cutoffs(bound.k)) for bound in bounds]
    order = sorted(
        range(len(bounds)),
        key=lambda i: float("inf") if (k := deepest[i]) is None else k,
        reverse=True,
    )
    found = {bounds[i].name: bounds[i].of(ranking) for i in order}
    return {bound.name: found[bound.name] for bound in bounds}


def _depth(bounds: Sequence[Bound]) -> Depth:
    """How much of an order the metrics need."""
    reading = [bound for bound in bounds if not bound.order_free]
    ks = [k for bound in reading for k in _inputs.cutoffs(bound.k)]
    in_groups = all(bound.ties != "order" for bound in bounds)
    if not reading:
        return Depth(None, False, in_groups)
    return Depth(_inputs.deepest(ks), True, in_groups)


def _check_columns(bounds: Sequence[Bound], given: Sequence[str], unread: bool) -> None:
    for bound in bounds:
        missing = [name for name in bound.columns if name not in given]
        if missing:
            raise ValueError(
                f"{bound.name} reads the column {missing[0]!r}, which is not given; pass "
                f"columns={{{missing[0]!r}: …}}"
            )
    known = {name for bound in bounds for name in bound.columns}
    for name in given:
        if unread and name not in known:
            raise ValueError(
                f"columns holds {name!r}, which no metric of this call reads; leave it out"
            )


def measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> dict[str, PerList]:
    """`read`, compiled, of what a caller says is a ranking."""
    if not isinstance(ranking, Ranking):
        raise TypeError(
            f"ranking: got {_inputs.kind_of(ranking)}; pass what jrm.rank returns"
        )
    _check_columns(bounds, ranking.columns, unread=False)
    if not _inputs.is_wide(ranking):
        return _measure_ranking(bounds, ranking)
    # Ranked while x64 was on, so that it is read by keys of as many bits.
    with jax.enable_x64(True):
        values = _measure_ranking(bounds, ranking)
    return jax.tree.map(
        lambda x: x.astype(jax.dtypes.canonicalize_dtype(x.dtype)), values
    )


@partial(jax.jit, static_argnums=0)
def _measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> dict[str, PerList]:
    run: Callable[[Ranking], dict[str, PerList]] = partial(read, bounds)
    pool = ranking.pool
    if pool is not None and isinstance(pool.axis, Packed):
        for _ in range(pool.axis.ids.ndim - 1):  # packed lists that went through vmap
            run = jax.vmap(run)
    return _mesh.where_it_lies(run, ranking, ranking.counts)


@partial(jax.jit, static_argnums=(0, 2))
def _measure_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, options: Options
) -> dict[str, PerList]:
    return read_lists(lists, options, _depth(bounds), partial(read, bounds))


def measure_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, options: Options
) -> dict[str, PerList]:
    """Ranks once, and reads every metric."""
    _check_columns(bounds, list(lists.columns), unread=True)
    return _measure_lists(bounds, lists, options)


@partial(jax.jit, static_argnums=(0, 2, 3))
def _evaluate_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, options: Options, undefined: str
) -> dict[str, Mean]:
    values = read_lists(lists, options, _depth(bounds), partial(read, bounds))
    values = {bound.name: values[bound.name] for bound in bounds}
    means = means_of(list(values.values()), undefined)
    return dict(zip(values, means, strict=True))


def evaluate_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, options: Options, undefined: str
) -> dict[str, Mean]:
    """Ranks once, reads every metric, takes every mean."""
    _check_columns(bounds, list(lists.columns), unread=True)
    return _evaluate_lists(bounds, lists, options, undefined)
