"""Checks of the laws that every metric obeys, for metrics of your own."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jax_rank_metrics._calls.metric import Metric
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.catalog import rank_scores
from jax_rank_metrics._sources.rank import rank
from jax_rank_metrics._sources.retrieved import rank_retrieved
from jax_rank_metrics._states.merging import merge
from jax_rank_metrics._states.per_list import PerList

_LISTS, _ITEMS, _LISTED = 6, 24, 16
_KS = (1, 5, None)

# Draws a column of an array shape.
Draw = Callable[[np.random.Generator, tuple[int, ...]], ArrayLike]


class _Lists(NamedTuple):
    """Lists as rows, `[lists, items]`; items beyond `_LISTED` have the label 0."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    columns: dict[str, np.ndarray]

    def map(self, fn: Callable[[np.ndarray], np.ndarray]) -> "_Lists":
        labels, scores, mask = map(fn, self[:3])
        columns = {name: fn(column) for name, column in self.columns.items()}
        return _Lists(labels, scores, mask, columns)

    def ranked(self, **options: Any) -> Ranking:
        return rank(*self[:3], columns=self.columns, **options)


def check_metric(
    metric: Metric[...],
    *,
    columns: Mapping[str, Draw] | None = None,
    seed: int = 0,
    **options: Any,
) -> None:
    """Runs a metric on small random lists, and raises if it breaks a law.

    The value of a list depends on its own items alone: not on `jax.jit`, `jax.vmap`, the
    rest of the batch, padding, or the order of the items; nor on the layout, which may be
    rows, packed lists, lists already in rank order, or scores with the ids of relevant
    items (where a metric may raise ValueError instead). Means of batches merge into the
    mean of all lists, and gradients are zero, never NaN. Sharded items are not tried,
    since they are read by the same code as rows.

    Args:
        metric: A metric made by `jax_rank_metrics.metric`.
        columns: For each column, a function `draw(rng, shape)` that returns an array of
            this shape, which may have more axes after these. Columns without one are
            random bools.
        seed: The seed of the random lists.
        **options: Options of the metric.

    Raises:
        AssertionError: if a law does not hold; the message names it.

    >>> import jax_rank_metrics as jrm
    >>> check_metric(jrm.precision, denominator="k")
    """
    spec = metric.spec
    if "k" in spec.options:
        options.setdefault("k", _KS)
    rng = np.random.default_rng(seed)
    draws = {name: _random_bools for name in spec.columns} | dict(columns or {})
    lists = _random_lists(rng, draws)
    of = functools.partial(metric.of, **options)
    expected = of(lists.ranked())
    check_same = functools.partial(_check_same, spec.name, expected)

    check_same("jax.jit", jax.jit(lambda *x: of(_Lists(*x).ranked()))(*lists))
    check_same("jax.vmap", jax.vmap(lambda *x: of(_Lists(*x).ranked()))(*lists))

    def with_garbage(x: np.ndarray) -> np.ndarray:
        """Fills masked items with NaN or 1, which a metric must not read."""
        garbage = np.nan if x.dtype.kind == "f" else np.ones((), x.dtype)
        mask = lists.mask.reshape(*lists.mask.shape, *(1,) * (x.ndim - 2))
        return x if x is lists.mask else np.where(mask, x, garbage).astype(x.dtype)

    check_same("padding", of(lists.map(with_garbage).ranked()))
    bound = spec.bind((), options)
    if bound.tie_reading != "order":
        order = rng.permutation(_ITEMS)
        check_same("order of the items", of(lists.map(lambda x: x[:, order]).ranked()))
    flat = lists.map(lambda x: x.reshape(-1, *x.shape[2:]))
    ids = np.repeat(np.arange(_LISTS, dtype=np.int32), _ITEMS)
    check_same("packed lists", of(flat.ranked(segment_ids=ids, num_segments=_LISTS)))

    is_first_batch = np.arange(_LISTS)[:, None] < 2
    means = [
        of(lists._replace(mask=lists.mask & batch).ranked()).mean()
        for batch in (is_first_batch, ~is_first_batch)
    ]
    mean = expected.mean().compute()
    _check_close(f"{spec.name}: merge", merge(*means).compute(), mean)
    _check_rank_order(lists, of, spec.name)
    _check_ids(lists, of, spec.name)

    def total(scores: jax.Array) -> jax.Array:
        return of(lists._replace(scores=scores).ranked()).mean().compute().sum()

    gradient = jax.grad(total)(jnp.asarray(lists.scores))
    _check_close(f"{spec.name}: gradients", gradient, np.zeros_like(lists.scores))


def _random_bools(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.random(shape) < 0.5


def _random_lists(rng: np.random.Generator, columns: Mapping[str, Draw]) -> _Lists:
    """Draws tied scores and graded labels: list 0 has no items, list 1 no relevant ones."""
    shape = (_LISTS, _ITEMS)
    listed = np.arange(_ITEMS) < _LISTED
    labels = rng.choice([0, 0, 1, 2], shape) * listed
    labels[1] = 0
    mask = rng.random(shape) < 0.8
    mask[0] = False
    arrays = {}
    for name, draw in columns.items():
        column = np.asarray(draw(rng, shape))
        is_listed = listed.reshape(_ITEMS, *(1,) * (column.ndim - 2))
        arrays[name] = np.where(is_listed, column, np.zeros((), column.dtype))
    scores = np.round(rng.normal(size=shape) * 2).astype(np.float32)
    return _Lists(labels.astype(np.float32), scores, mask, arrays)


def _check_rank_order(lists: _Lists, of: Callable[..., PerList], name: str) -> None:
    """Checks that lists passed in rank order have the values of lists that are ranked."""
    orders = np.argsort(-lists.scores, axis=1, kind="stable")

    def reorder(x: np.ndarray) -> np.ndarray:
        return np.stack([row[order] for row, order in zip(x, orders, strict=True)])

    untied = lists.map(reorder)._replace(
        scores=np.broadcast_to(-np.arange(_ITEMS, dtype=np.float32), lists.scores.shape)
    )
    values = of(rank_retrieved(untied.labels, untied.mask, columns=untied.columns))
    expected = of(untied.ranked(ties="stable"))
    _check_same(name, expected, "lists in rank order", values)


def _check_ids(lists: _Lists, of: Callable[..., PerList], name: str) -> None:
    """Checks that scores with relevant ids have the values of rows with 0 elsewhere."""
    ids = np.tile(np.arange(_LISTED, dtype=np.int32), (_LISTS, 1))
    listed = lists.map(lambda x: x[:, :_LISTED])
    rank_with_ids = functools.partial(
        rank_scores,
        lists.scores,
        ids,
        listed.labels,
        item_mask=lists.mask,
        columns=listed.columns,
        ties="stable",
    )
    for k in (None, _ITEMS):
        ranking = rank_with_ids(k=k)
        try:
            values = of(ranking)
        except ValueError:  # the metric reads more of unlisted items than is known
            continue
        expected = of(lists.ranked(ties="stable"))
        _check_same(name, expected, "scores and ids", values)
        return


def _check_same(name: str, expected: PerList, law: str, lists: PerList) -> None:
    for field in ("values", "weights", "defined"):
        actual, desired = getattr(lists, field), getattr(expected, field)
        _check_close(f"{name}: {law}: {field}", actual, desired)


def _check_close(law: str, actual: ArrayLike, desired: ArrayLike) -> None:
    np.testing.assert_allclose(actual, desired, rtol=1e-5, atol=1e-6, err_msg=law)
