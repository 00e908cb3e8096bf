"""Checks of your own metrics: by laws of all metrics, and by published definitions."""

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jax_rank_metrics._check.conformance import Conformance as Conformance
from jax_rank_metrics._check.conformance import Failure as Failure
from jax_rank_metrics._check.conformance import conformance as conformance
from jax_rank_metrics._engine.metrics.metric import Metric
from jax_rank_metrics._engine.metrics.spec import Bound, Spec
from jax_rank_metrics._engine.ranking import Cache, Ranking, data_of
from jax_rank_metrics._engine.sources import catalog, item_columns, retrieved
from jax_rank_metrics._engine.sources.rank import rank
from jax_rank_metrics._values import merging
from jax_rank_metrics._values.per_list import PerList

_NUM_LISTS, _NUM_ITEMS, _NUM_LISTED = 6, 24, 16
_CUTOFFS = (1, 5, None)

# Draws a column of the given shape `(lists, items)`, perhaps with trailing axes.
Draw = Callable[[np.random.Generator, tuple[int, ...]], ArrayLike]


def _random_bools(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.random(shape) < 0.5


def _random_amounts(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.5, 4, shape).astype(np.float32)


# How to draw the columns that metrics of the package read. Other columns are random
# bools, and other item columns are numbers above 0, so that their logarithms exist.
COLUMNS: Mapping[str, Draw] = {
    "judged": lambda rng, shape: rng.random(shape) < 0.7,
    "pooled": lambda rng, shape: rng.random(shape) < 0.8,
    "costs": lambda rng, shape: rng.choice([0.5, 1, 2], shape).astype(np.float32),
    "groups": lambda rng, shape: rng.choice([0, 0, 0.5, 1], (*shape, 3)).astype(
        np.float32
    ),
    "counts": lambda rng, shape: rng.integers(0, 9, shape),
    "embeddings": lambda rng, shape: rng.choice([-1, 0, 1, 2], (*shape, 4)),
    "genres": lambda rng, shape: rng.random((*shape, 3)) < 0.4,
    "propensities": lambda rng, shape: rng.uniform(0.05, 1, shape).astype(np.float32),
    "subtopics": lambda rng, shape: (rng.random((*shape, 3)) < 0.3).astype(np.float32),
}


class Lists(NamedTuple):
    """Lists as rows, in arrays `[lists, items]`; columns may have trailing axes."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    weights: np.ndarray | None  # of items, or `[lists]`
    columns: dict[str, np.ndarray]

    def map(self, fn: Callable[[np.ndarray], np.ndarray]) -> "Lists":
        """Applies a function to all arrays that have an entry for each item."""
        weights = self.weights
        if weights is not None and weights.ndim > 1:
            weights = fn(weights)
        columns = {name: fn(column) for name, column in self.columns.items()}
        labels, scores, mask = map(fn, self[:3])
        return Lists(labels, scores, mask, weights, columns)

    def with_tables(self, tables: Mapping[str, ArrayLike]) -> "Lists":
        """Adds item columns `[items, …]`, repeated for every list."""
        shape = self.labels.shape
        rows = {
            name: np.broadcast_to(table, (*shape, *np.shape(table)[1:]))
            for name, table in tables.items()
        }
        return self._replace(columns=self.columns | rows)

    def garbled(self) -> "Lists":
        """Fills the slots that are masked, and hold no item, with NaN, 1 or True.

        A metric must not read these slots. The mask itself is not changed.
        """

        def fill(x: np.ndarray) -> np.ndarray:
            garbage = np.nan if x.dtype.kind == "f" else np.ones((), x.dtype)
            mask = self.mask.reshape(*self.mask.shape, *(1,) * (x.ndim - 2))
            return x if x is self.mask else np.where(mask, x, garbage).astype(x.dtype)

        return self.map(fill)

    def ranked(self, **options: Any) -> Ranking:
        """Ranks the lists by `rank`."""
        return rank(*self[:4], columns=self.columns, **options)


def check_metric(
    metric: Metric[...],
    *,
    columns: Mapping[str, Draw] | None = None,
    seed: int = 0,
    **options: Any,
) -> None:
    """Runs a metric on small random lists, and raises if it breaks a law.

    These are the laws. The value of a list depends only on its own items: not on
    `jax.jit`, `jax.vmap`, the rest of the batch, padding, or the order of the items.
    The value does not depend on the layout either: rows, packed lists, lists that are
    already in rank order, or scores with the ids of relevant items (for the last, a
    metric may raise ValueError instead). Means of batches merge into the mean of all
    lists, and gradients are zero, never NaN. If scores tie, the value is the mean over
    all orders of the tied items, unless the metric declares otherwise; this is tested
    on lists of five items, also with cutoffs within tie groups (`check_ties`).
    Functions that the formula passes to helpers such as `expected_sum` are equal in
    every call, because metrics share the work of equal functions. Sharded items are not
    tested, because they are read by the same code as rows.

    Args:
        metric: A metric made by `jax_rank_metrics.metric`.
        columns: For each column, a function `draw(rng, shape)` that returns an array of
            this shape, perhaps with trailing axes. Columns without a function are drawn as
            in `COLUMNS`; other columns are random bools, and other item columns are
            numbers above 0.
        seed: The seed of the random lists.
        **options: Options of the metric.

    Raises:
        AssertionError: if a law does not hold; the message names the law.

    >>> import jax_rank_metrics as jrm
    >>> check_metric(jrm.precision, denominator="k")
    """
    spec = metric.spec
    if "k" in spec.options:
        options.setdefault("k", _CUTOFFS)
    rng = np.random.default_rng(seed)
    unnamed = dict.fromkeys(spec.columns, _random_bools)
    unnamed |= dict.fromkeys(spec.item_columns, _random_amounts)
    draws = {name: COLUMNS.get(name, draw) for name, draw in unnamed.items()}
    draws |= columns or {}
    drawn = {name: draws.pop(name) for name in spec.item_columns}
    tables = {name: draw(rng, (_NUM_ITEMS,)) for name, draw in drawn.items()}
    lists = _random_lists(rng, draws).with_tables(_prepared(spec, tables))
    evaluate = functools.partial(metric.of, **options)
    expected = evaluate(lists.ranked())
    check_same = functools.partial(_check_same, spec.name, expected)

    check_same("jax.jit", jax.jit(lambda *x: evaluate(Lists(*x).ranked()))(*lists))
    check_same("jax.vmap", jax.vmap(lambda *x: evaluate(Lists(*x).ranked()))(*lists))

    check_same("padding", evaluate(lists.garbled().ranked()))
    bound = spec.bind((), options)
    _check_functions(bound, lists.ranked())
    tie_reading = bound.tie_reading_with([*draws, *tables])
    first_rows = {name: np.asarray(table)[:5] for name, table in tables.items()}
    if tie_reading == "expected":
        for depth, cuts in _cuts(options):
            check_ties(
                lambda ranking, cuts=cuts: {spec.name: evaluate(ranking, **cuts)},
                *(draws, rng, depth, _prepared(spec, first_rows)),
            )
    if tie_reading != "order":
        order = rng.permutation(_NUM_ITEMS)
        check_same(
            "order of the items",
            evaluate(lists.map(lambda array: array[:, order]).ranked()),
        )
    flat = lists.map(lambda array: array.reshape(-1, *array.shape[2:]))
    ids = np.repeat(np.arange(_NUM_LISTS, dtype=np.int32), _NUM_ITEMS)
    check_same(
        "packed lists", evaluate(flat.ranked(segment_ids=ids, num_segments=_NUM_LISTS))
    )

    is_first_batch = np.arange(_NUM_LISTS)[:, None] < 2
    means = [
        evaluate(lists._replace(mask=lists.mask & batch).ranked()).mean()
        for batch in (is_first_batch, ~is_first_batch)
    ]
    mean = expected.mean().compute()
    _check_close(f"{spec.name}: merge", merging.merge(*means).compute(), mean)
    _check_rank_order(lists, evaluate, spec.name)
    _check_ids(lists, tables, evaluate, spec.name)

    def mean_value(scores: jax.Array) -> jax.Array:
        return evaluate(lists._replace(scores=scores).ranked()).mean().compute().sum()

    gradient = jax.grad(mean_value)(jnp.asarray(lists.scores))
    _check_close(f"{spec.name}: gradients", gradient, np.zeros_like(lists.scores))


def _cuts(options: Mapping[str, Any]) -> list[tuple[int | None, dict[str, Any]]]:
    """Returns pairs of the depth to which lists of five items are ranked, and cutoffs."""
    if "k" not in options:
        return [(None, {})]
    ks = options["k"] if isinstance(options["k"], (tuple, list)) else (options["k"],)
    numbers = tuple(dict.fromkeys(min(k, 3) for k in ks if isinstance(k, int)))
    uncut = tuple(k for k in ks if not isinstance(k, int))
    return [(depth, {"k": k}) for depth, k in ((3, numbers), (None, uncut)) if k]


def _random_lists(
    rng: np.random.Generator,
    columns: Mapping[str, Draw],
    shape: tuple[int, int] = (_NUM_LISTS, _NUM_ITEMS),
) -> Lists:
    """Draws lists with tied scores and graded labels.

    List 0 has no items, and list 1 has no relevant items. Items with an index of at
    least `_NUM_LISTED` are unlisted: their labels and columns are 0.
    """
    is_listed = np.arange(shape[1]) < _NUM_LISTED
    labels = rng.choice([0, 0, 1, 2], shape) * is_listed
    labels[1] = 0
    mask = rng.random(shape) < 0.8
    mask[0] = False
    column_arrays = {}
    for name, draw in columns.items():
        column = np.asarray(draw(rng, shape))
        listed = is_listed.reshape(-1, *(1,) * (column.ndim - 2))
        column_arrays[name] = np.where(listed, column, np.zeros((), column.dtype))
    scores = np.round(rng.normal(size=shape) * 2).astype(np.float32)
    return Lists(labels.astype(np.float32), scores, mask, None, column_arrays)


def check_ties(
    evaluate: Callable[[Ranking], Mapping[str, PerList]],
    columns: Mapping[str, Draw],
    rng: np.random.Generator,
    depth: int | None = None,
    tables: Mapping[str, ArrayLike] | None = None,
) -> None:
    """Checks that values of lists with ties are the means over all orders of tied items.

    Args:
        evaluate: A function from a ranking of lists of five items to a dict from
            metrics to values.
        columns: A dict from columns to functions that draw them; see `check_metric`.
        rng: Draws the lists.
        depth: The depth to which lists are ranked; None ranks whole lists.
        tables: A dict from names to item columns `[5, …]`, the same for all lists.

    Raises:
        AssertionError: if a value is not this mean; the message shows the list.
    """
    orders = np.array(list(itertools.permutations(range(5))))
    lists = _random_lists(rng, columns, (24, 5)).with_tables(tables or {})
    lists = lists._replace(scores=rng.integers(0, 3, (24, 5)).astype(np.float32))
    # Put each list before copies of it that have the tied items in every order.
    tied = 5 * lists.scores[:, None]
    scores = np.concatenate([tied, tied + orders], axis=1).reshape(-1, 5)
    repeated = lists.map(lambda array: np.repeat(array, 1 + len(orders), axis=0))
    ranking = repeated._replace(scores=scores).ranked(ties="expected", k=depth)
    for name, per_list in evaluate(ranking).items():
        values = np.asarray(per_list.values, float)
        values = values.reshape(len(tied), 1 + len(orders), -1)
        actual, means = values[:, 0], values[:, 1:].mean(axis=1)
        wrong = np.argwhere(~np.isclose(actual, means, rtol=1e-5, atol=1e-6))
        for number, at in wrong[:1]:
            broken = lists.map(lambda array, row=number: array[row])
            raise AssertionError(
                f"{name}: ties: the value {actual[number, at]:.6g} is not the mean over "
                f"all orders of tied items, {means[number, at]:.6g}, of {broken}; declare "
                "ties='order' if the metric is not a sum over items, but for example a "
                "ratio, a maximum or a threshold"
            )


def _check_rank_order(
    lists: Lists, evaluate: Callable[..., PerList], name: str
) -> None:
    """Checks that lists passed in rank order have the values of lists ranked by scores."""
    orders = np.argsort(-lists.scores, axis=1, kind="stable")

    def reorder(x: np.ndarray) -> np.ndarray:
        return np.stack([row[order] for row, order in zip(x, orders, strict=True)])

    untied = lists.map(reorder)._replace(
        scores=np.broadcast_to(
            -np.arange(_NUM_ITEMS, dtype=np.float32), lists.scores.shape
        )
    )
    values = evaluate(
        retrieved.rank_retrieved(untied.labels, untied.mask, columns=untied.columns)
    )
    expected = evaluate(untied.ranked(ties="stable"))
    _check_same(name, expected, "lists in rank order", values)


def _check_functions(bound: Bound, ranking: Ranking) -> None:
    """Checks that the formula passes the same functions to the ranking in every call."""

    def functions() -> set[Callable[..., Any]]:
        cache = Cache()
        jax.eval_shape(lambda: bound.of(data_of(ranking), cache))
        return cache.functions()

    fresh = {fn for fn in functions() - functions() if not _closes_over_arrays(fn)}
    names = sorted(getattr(fn, "__qualname__", repr(fn)) for fn in fresh)
    assert not fresh, (
        f"{bound.name}: {', '.join(names)} is made anew in each call, so that nothing is "
        "shared; define it outside the formula, or under functools.lru_cache"
    )


def _closes_over_arrays(function: Callable[..., Any]) -> bool:
    """True if a function closes over arrays, so that it cannot outlive their trace."""
    return any(
        isinstance(cell.cell_contents, jax.Array)
        or (callable(cell.cell_contents) and _closes_over_arrays(cell.cell_contents))
        for cell in getattr(function, "__closure__", None) or ()
    )


def _prepared(spec: Spec, tables: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    """Returns item columns, together with the prepared columns that a metric reads."""
    arrays = {name: jnp.asarray(table, float) for name, table in tables.items()}
    columns = item_columns.made_of(arrays, spec.prepared)
    return {**tables, **{name: columns[key] for name, key in spec.prepared}}


def _check_ids(
    lists: Lists,
    tables: Mapping[str, ArrayLike],
    evaluate: Callable[..., PerList],
    name: str,
) -> None:
    """Checks that scores with the ids of listed items have the same values as rows.

    Args:
        lists: The lists as rows.
        tables: A dict from names to item columns `[items, …]`, which are looked up by
            id.
        evaluate: A function from a ranking to the values of the metric.
        name: The name of the metric.
    """
    ids = np.tile(np.arange(_NUM_LISTED, dtype=np.int32), (_NUM_LISTS, 1))
    listed = lists.map(lambda array: array[:, :_NUM_LISTED])
    rank_with_ids = functools.partial(
        catalog.rank_scores,
        lists.scores,
        ids,
        listed.labels,
        item_mask=lists.mask,
        relevant_columns={
            name: column
            for name, column in listed.columns.items()
            if name not in tables
        },
        item_columns=tables,
        ties="stable",
    )
    for k in (None, _NUM_ITEMS):
        ranking = rank_with_ids(k=k)
        try:
            values = evaluate(ranking)
        except ValueError:  # the metric reads unlisted items, whose columns are unknown
            continue
        expected = evaluate(lists.ranked(ties="stable"))
        _check_same(name, expected, "scores and ids", values)
        return


def _check_same(name: str, expected: PerList, law: str, actual: PerList) -> None:
    for field in ("values", "weights", "defined"):
        _check_close(
            f"{name}: {law}: {field}", getattr(actual, field), getattr(expected, field)
        )


def _check_close(law: str, actual: ArrayLike, desired: ArrayLike) -> None:
    np.testing.assert_allclose(actual, desired, rtol=1e-5, atol=1e-6, err_msg=law)
