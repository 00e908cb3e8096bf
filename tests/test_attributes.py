"""Relevance by attributes: a function labels items in place of listed ids.

The same lists are given as dense labels to `rank`.
"""

import dataclasses
import datetime
import functools
import uuid

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import policy
from marks import long
from sources import ITEMS, check_same, draw, from_table, labelled, padded

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.sources.attributes import read_attributes

DEPTH = 10
FIRSTS = ("mrr", "hit_rate@1,3,30", "mrr(rel=2)@20")
SOME = ("ndcg@1,10", "map@10", "fall_out@1,10")


@pytest.fixture
def problem(rng):
    """Draws lists; one of them is all tied, and one is padding."""
    problem = draw(rng).for_source("labelled")
    problem.scores[5], problem.list_weights[6] = 1, 0
    return problem


@pytest.mark.parametrize("ties", [None, *long("worst", "random", "stable")])
def test_streamed_labels_are_dense_labels(ties, problem):
    """The first ranks and their metrics equal `rank`'s; first stops, at any cutoff."""
    how = {"k": DEPTH} | policy(ties)
    expected, actual = padded(problem, **how), labelled(problem, **how)
    np.testing.assert_array_equal(actual.items, expected.items)
    read = functools.partial(jrm.measure, SOME + FIRSTS)
    check_same(read(actual), read(expected))


@pytest.mark.long
def test_items_in_one_block_are_rows(problem, rng):
    """They are ranked to the end: the program of dense labels is called with the same.

    Labels may be any numbers; items with a label below 0 or NaN do not exist.
    """
    labels = rng.choice(np.float32([0, 0, 0.5, 1, 2.25, 3]), problem.labels.shape)
    labels[0], labels[1, ::3], labels[2, 1::3] = 0, np.nan, -1
    problem = dataclasses.replace(problem, labels=labels)
    attributes = {"labels": labels.T, "mask": problem.mask.T}
    relevant = jrm.by_attributes(from_table, np.arange(len(labels)), attributes)
    weights, expected = problem.list_weights, padded(problem)
    for ranking in (
        labelled(problem, k=None, block_size=ITEMS),
        jrm.rank_scores(problem.scores, relevant, list_weights=weights),
    ):
        np.testing.assert_array_equal(ranking.items, expected.items)
        check_same(*(jrm.measure(("map", "tau"), x) for x in (ranking, expected)))


@pytest.mark.long
@pytest.mark.parametrize("ties", [None, "stable"])
@pytest.mark.parametrize("k, names", [(None, FIRSTS), (DEPTH, SOME + FIRSTS)])
def test_labels_over_devices(ties, k, names, problem):
    """Devices share the items; without a depth, first stops count."""
    read, how = functools.partial(jrm.measure, names), {"k": k, "ties": ties}
    expected = padded(problem, read, **how)
    check_same(labelled(problem, read, **how), expected)
    for block_size in (5, 12):
        check_same(labelled(problem, read, block_size, (2, 4), **how), expected)


@pytest.mark.parametrize("wrap", [lambda x: x, jax.jit], ids=["eager", "jit"])
def test_numbers_in_several_blocks(wrap, rng):
    """They raise, inside jit too; a driver takes all items in one block, and reads them."""
    labels = rng.integers(0, 99, (2, 48)).astype(np.float32)
    queries, items = np.eye(2, dtype=np.float32), rng.random((48, 2), np.float32)
    relevant = jrm.by_attributes(
        lambda query, item: item[:, query].T, np.arange(2), labels.T
    )

    def measure(queries):
        ranking = jrm.rank_catalog(queries, items, relevant, k=2, block_size=16)
        return jrm.cg.of(ranking, k=2)

    with pytest.raises(
        ValueError, match="float32 labels, but items in .* at least .*, 48"
    ):
        wrap(measure)(queries)
    call = functools.partial(jrm.evaluate_embeddings, "ndcg@10", queries)
    expected = jrm.ndcg.of(jrm.rank(labels, queries @ items.T), k=10).values
    np.testing.assert_allclose(
        call(items, relevant).lists["ndcg@10"].values, expected, rtol=1e-6
    )
    with pytest.raises(ValueError, match="float32 labels, but items in several blocks"):
        call(items, relevant, block_size=32)
    with pytest.raises(ValueError, match="items as one array in memory"):
        call([items[:32], items[32:]], relevant)


def test_what_needs_places_raises(problem):
    """Without a depth, metrics that read ranks say what to pass."""
    ranking = labelled(problem, k=None)
    for name in ("map", "ndcg@5"):
        with pytest.raises(
            ValueError, match=f"{name}: .*k=100 to .*, or block_size=48"
        ):
            jrm.measure((name,), ranking)
    with pytest.raises(
        ValueError, match=r"all items are on one device; pass .* rank_catalog\b(?!,)"
    ):
        labelled(problem, jrm.average_precision.of, 12, (2, 4), k=None)


def test_numbers_that_rounding_does_not_make_equal():
    """Numbers and features pass, and in double precision ids as well."""

    def rank(numbers):
        item = {"x": np.array(numbers)}
        relevant = jrm.by_attributes(lambda *_: np.eye(1, 3), np.zeros(1), item)
        jrm.rank_scores(np.zeros((1, 3), np.float32), relevant)

    with jax.enable_x64(False):
        rank([0.1, np.nan, -np.inf])
        rank([[0.1, 0.1 + 1e-9]] * 3)
    with jax.enable_x64(True):
        rank([20000000.0, 20000001.0, np.nan])


@pytest.mark.parametrize("how", [{}, *long({"block_size": 9})])
def test_drivers_refuse_negative_labels(how, rng):
    """A function of ±1 would leave relevant items alone; what it removes may be −1."""
    queries, items = rng.normal(size=(5, 2)), rng.normal(size=(9, 2))
    kinds = np.arange(9) % 3

    def signs(x, y):
        return jnp.where(x[:, None] == y[None], 1, -1)

    def run(label_fn):
        relevant = jrm.by_attributes(label_fn, kinds[:5], kinds)
        jrm.evaluate_embeddings(
            "recall@3", queries, items, relevant, batch_size=2, **how
        )

    with pytest.raises(
        ValueError, match="label_fn gives query 0 labels below 0 or NaN"
    ):
        run(signs)
    run(lambda x, y: (signs(x, y), signs(x, y) < 0))


@pytest.mark.long
@pytest.mark.parametrize("batch_size", [1, 3])
def test_blocks_of_one_item(batch_size, rng):
    """An item that is alone in its block has one score in every pass over the items."""
    queries, items = rng.normal(size=(30, 8)), rng.normal(size=(4, 8))
    queries, items = queries.astype(np.float32), items.astype(np.float32)
    relevant = jrm.by_attributes(
        lambda query, item: query[:, None] == item[None],
        *(np.zeros(30, int), np.array([1, 0, 1, 1])),
    )
    evaluation = jrm.evaluate_embeddings(
        "mrr", queries, items, relevant, batch_size=batch_size, block_size=1, k=2
    )
    scores = queries @ items.T
    ranks = 1 + (scores > scores[:, 1:2]).sum(1)
    np.testing.assert_allclose(evaluation.lists["mrr"].values, 1 / ranks)


DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
NAMES = {
    "strings": ["ann", "bob", "eve"],
    "bytes": np.array([b"a", b"b", b"c"]),
    "dates": DAYS,
    "nanoseconds": np.array(DAYS, "M8[ns]"),
    "uuids": [uuid.UUID(int=i) for i in range(3)],
    "objects": np.array(["ann", "bob", "eve"], object),
    "hashes": jrm.hash_ids(["ann", "bob", "eve"]),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_queries_and_items_are_numbered_together(names):
    """Equal names are equal on both sides, whatever each side holds beside them."""
    names = names if isinstance(names, list) else [*names]
    query_names, item_names = (
        [names[i] for i in chosen] for chosen in ([2, 1], [1, 2, 0])
    )
    is_same = lambda query, item: query[:, None] == item[None]  # noqa: E731
    if isinstance(names[0], np.ndarray):
        query_names, item_names = np.stack(query_names), np.stack(item_names)
    read = read_attributes(jrm.by_attributes(is_same, query_names, item_names), (2,), 3)
    found = np.asarray(is_same(read.query_attributes, read.item_attributes))
    assert found.tolist() == [[False, True, False], [True, False, False]]
