"""The laws that every metric keeps, to try on one's own."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._calls.metric import Metric
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.catalog import rank_scores
from jax_rank_metrics._sources.rank import rank
from jax_rank_metrics._sources.retrieved import rank_retrieved
from jax_rank_metrics._states.merging import merge
from jax_rank_metrics._states.per_list import PerList

_LISTS, _ITEMS, _LISTED = 6, 24, 16
_KS = (1, 5, None)


class _Lists(NamedTuple):
    """Lists as rows, `[lists, items]`; what is not listed has the label 0."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    columns: dict[str, np.ndarray]

    def map(self, fn: Callable[[np.ndarray], np.ndarray]) -> "_Lists":
        labels, scores, mask = map(fn, self[:3])
        return _Lists(
            labels, scores, mask, {key: fn(x) for key, x in self.columns.items()}
        )

    def ranked(self, **how: Any) -> Ranking:
        return rank(*self[:3], columns=self.columns, **how)


def check_metric(
    metric: Metric[...],
    *,
    columns: Mapping[str, Callable[[np.random.Generator, Any], Any]] | None = None,
    seed: int = 0,
    **options: Any,
) -> None:
    """Tries a metric on small random lists, and raises where it breaks a law.

    A value depends on the items of its list alone: not on `jax.jit`, `jax.vmap`, the
    batch, padding, the order of the items, nor on whether lists are rows, packed,
    already in rank order, or scores with the ids of what is relevant, unless it raises a
    ValueError there. Means merge, and gradients are zero and never NaN. (Items cut over
    devices take the same way as rows.)

    Args:
        metric: Made by `jax_rank_metrics.metric`.
        columns: By name, `draw(rng, shape)` gives a column of that shape, with axes of
            its own after it if it has any; bools where it is left out.
        seed: Of the random lists.
        **options: Of the metric.

    Raises:
        AssertionError: if a law does not hold; it names the law.

    >>> import jax_rank_metrics as jrm
    >>> check_metric(jrm.precision, denominator="k")
    """
    spec = metric.spec
    if "k" in spec.options:
        options.setdefault("k", _KS)
    rng = np.random.default_rng(seed)
    lists = _draw(rng, {name: _bools for name in spec.columns} | dict(columns or {}))
    of = functools.partial(metric.of, **options)
    expected = of(lists.ranked())
    same = functools.partial(_same, spec.name, expected)

    same("jax.jit", jax.jit(lambda *x: of(_Lists(*x).ranked()))(*lists))
    same("jax.vmap", jax.vmap(lambda *x: of(_Lists(*x).ranked()))(*lists))

    def spoiled(x: np.ndarray) -> np.ndarray:
        worst = np.nan if x.dtype.kind == "f" else np.ones((), x.dtype)
        hidden = lists.mask.reshape(*lists.mask.shape, *(1,) * (x.ndim - 2))
        return x if x is lists.mask else np.where(hidden, x, worst).astype(x.dtype)

    same("padding", of(lists.map(spoiled).ranked()))
    bound = spec.bind((), options)
    if bound.tie_reading != "order":
        shuffled = rng.permutation(_ITEMS)
        same("order of the items", of(lists.map(lambda x: x[:, shuffled]).ranked()))
    flat = lists.map(lambda x: x.reshape(-1, *x.shape[2:]))
    ids = np.repeat(np.arange(_LISTS, dtype=np.int32), _ITEMS)
    same("packed lists", of(flat.ranked(segment_ids=ids, num_segments=_LISTS)))

    first = np.arange(_LISTS)[:, None] < 2
    means = [
        of(lists._replace(mask=lists.mask & part).ranked()).mean()
        for part in (first, ~first)
    ]
    _close(f"{spec.name}: merge", merge(*means).compute(), expected.mean().compute())
    _in_rank_order(lists, of, spec.name)
    _among_ids(lists, of, spec.name)

    def total(scores: jax.Array) -> jax.Array:
        return of(lists._replace(scores=scores).ranked()).mean().compute().sum()

    gradient = jax.grad(total)(jnp.asarray(lists.scores))
    _close(f"{spec.name}: gradients", gradient, np.zeros_like(lists.scores))


def _bools(rng: np.random.Generator, shape: Any) -> np.ndarray:
    return rng.random(shape) < 0.5


def _draw(rng: np.random.Generator, columns: Mapping[str, Any]) -> _Lists:
    """Tied scores, graded labels, a list without items, one where nothing is relevant."""
    shape = (_LISTS, _ITEMS)
    listed = np.arange(_ITEMS) < _LISTED
    labels = rng.choice([0, 0, 1, 2], shape) * listed
    labels[1] = 0
    mask = rng.random(shape) < 0.8
    mask[0] = False
    drawn = {}
    for name, draw in columns.items():
        column = np.asarray(draw(rng, shape))
        keep = listed.reshape(_ITEMS, *(1,) * (column.ndim - 2))
        drawn[name] = np.where(keep, column, np.zeros((), column.dtype))
    scores = np.round(rng.normal(size=shape) * 2).astype(np.float32)
    return _Lists(labels.astype(np.float32), scores, mask, drawn)


def _in_rank_order(lists: _Lists, of: Callable[..., PerList], name: str) -> None:
    """What is handed over in rank order has the values of what was ranked."""
    order = np.argsort(-lists.scores, axis=1, kind="stable")

    def put(x: np.ndarray) -> np.ndarray:
        return np.stack([row[places] for row, places in zip(x, order, strict=True)])

    apart = lists.map(put)._replace(
        scores=np.broadcast_to(-np.arange(_ITEMS, dtype=np.float32), lists.scores.shape)
    )
    found = of(rank_retrieved(apart.labels, apart.mask, columns=apart.columns))
    _same(name, of(apart.ranked(ties="stable")), "lists in rank order", found)


def _among_ids(lists: _Lists, of: Callable[..., PerList], name: str) -> None:
    """What is known by ids has the values of rows; all that is not listed is worth 0."""
    ids = np.tile(np.arange(_LISTED, dtype=np.int32), (_LISTS, 1))
    listed = lists.map(lambda x: x[:, :_LISTED])
    known = functools.partial(
        rank_scores,
        lists.scores,
        ids,
        listed.labels,
        item_mask=lists.mask,
        columns=listed.columns,
        ties="stable",
    )
    for k in (None, _ITEMS):
        ranking = known(k=k)
        try:
            found = of(ranking)
        except ValueError:  # it reads what is not known of items that are not listed
            continue
        _same(name, of(lists.ranked(ties="stable")), "scores and ids", found)
        return


def _same(name: str, expected: PerList, law: str, found: PerList) -> None:
    for part in ("values", "weights", "defined"):
        _close(f"{name}: {law}: {part}", getattr(found, part), getattr(expected, part))


def _close(law: str, found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=law)
