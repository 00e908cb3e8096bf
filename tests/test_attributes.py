"""Relevance by attributes: a function labels items in place of listed ids.

The same lists are given as dense labels to `rank`.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from sources import check_same, make_mesh

import jax_rank_metrics as jrm

LISTS, ITEMS, DEPTH = 8, 48, 10
FIRSTS = ("mrr", "hit_rate@1,3,30", "mrr(rel=2)@20")
SOME = ("ndcg@1,10", "map@10", "recall@10")


def person_and_camera(query, item):
    """Labels pictures of the same person, but for those of the same camera."""
    same_person = query["person"][:, None] == item["person"][None]
    same_camera = query["camera"][:, None] == item["camera"][None]
    return same_person, same_person & same_camera


def graded(query, item):
    """Gives labels from a table; some are negative, NaN or left out."""
    return item["labels"][:, query].T, item["excluded"][:, query].T


class Problem:
    """The same lists, with attributes and with a label for every item."""

    def __init__(self, rng, kind):
        """Draws ties, masked and excluded items, a list without any, and one all tied."""
        scores = rng.integers(0, 7, (LISTS, ITEMS)).astype(np.float32)
        scores[5] = 1
        self.scores, item_mask = scores, rng.random(ITEMS) > 0.1
        exclude = np.stack([rng.permutation(ITEMS)[:4] for _ in range(LISTS)])
        exclude[3] = -1
        if kind == "people":
            self.label_fn = person_and_camera
            self.query = {
                "person": rng.integers(0, 4, LISTS),
                "camera": rng.integers(0, 3, LISTS),
            }
            self.item = {
                "person": rng.integers(0, 4, ITEMS),
                "camera": rng.integers(0, 3, ITEMS),
            }
            same = {
                x: self.query[x][:, None] == self.item[x] for x in ("person", "camera")
            }
            labels, excluded = same["person"], same["person"] & same["camera"]
        else:
            self.label_fn, self.query = graded, np.arange(LISTS)
            values = [0, 0, 0.5, 1, 2.25, 3]
            labels = rng.choice(values, scores.shape).astype(np.float32)
            labels[0] = 0
            labels[1, ::3], labels[2, 1::3] = np.nan, -1
            excluded = rng.random(labels.shape) < 0.2
            excluded[4] = True
            self.item = {"labels": labels.T, "excluded": excluded.T}
        list_weights = rng.gamma(2, size=LISTS).astype(np.float32)
        list_weights[6] = 0  # a query that is padding
        self.options = {
            "item_mask": item_mask,
            "exclude_ids": exclude.astype(np.int32),
            "list_weights": list_weights,
        }
        self.labels, self.mask = labels, ~excluded & item_mask
        for row, ids in enumerate(exclude):
            self.mask[row, ids[ids >= 0]] = False

    @property
    def relevant(self):
        """The argument about relevance."""
        return jrm.by_attributes(self.label_fn, self.query, self.item)

    def dense(self, **how):
        """Ranks the lists by `rank`."""
        weights = self.options["list_weights"]
        arrays = (self.labels, self.scores, self.mask)
        return jrm.rank(*arrays, list_weights=weights, **how)

    def by_attributes(self, block_size=7, **how):
        """Ranks the lists by `rank_catalog`; products with a unit vector are the scores."""
        options = self.options | how
        arrays = (np.eye(LISTS, dtype=np.float32), self.scores.T, self.relevant)
        return jrm.rank_catalog(*arrays, block_size=block_size, **options)

    def over_devices(self, then, block_size=7, **how):
        """Ranks inside shard_map, with lists and items cut, and reads the ranking."""
        mesh = make_mesh((2, 4), ("q", "i"))
        of_lists = {x: self.options[x] for x in ("exclude_ids", "list_weights")}

        @jax.jit
        @jax.shard_map(mesh=mesh, in_specs=(P("q"), P("i")), out_specs=P("q"))
        def run(lists, items):
            queries, attributes, of_lists = lists
            items, of_items, item_mask = items
            ranking = jrm.rank_catalog(
                *(queries, items),
                jrm.by_attributes(self.label_fn, attributes, of_items),
                item_mask=item_mask,
                items_axis="i",
                block_size=block_size,
                **of_lists,
                **how,
            )
            return then(ranking)

        queries = np.eye(LISTS, dtype=np.float32)
        of_items = (self.scores.T, self.item, self.options["item_mask"])
        return run((queries, self.query, of_lists), of_items)


@pytest.mark.parametrize(
    "ties, names",
    [
        (None, SOME + FIRSTS),
        *(
            pytest.param(ties, SOME + FIRSTS, marks=pytest.mark.long)
            for ties in ("worst", "random", "stable")
        ),
    ],
)
def test_streamed_labels_are_dense_labels(ties, names, rng):
    """The first ranks and their metrics are those of `rank`; first stops at any cutoff."""
    problem, read = Problem(rng, "people"), functools.partial(jrm.measure, names)
    how = {"k": DEPTH, "ties": ties}
    how |= {"key": jax.random.key(1)} if ties == "random" else {}
    expected, actual = problem.dense(**how), problem.by_attributes(**how)
    np.testing.assert_array_equal(actual.items, expected.items)
    check_same(read(actual), read(expected))


@pytest.mark.long
def test_items_in_one_block_are_rows(rng):
    """They are ranked to the end: the program of dense labels is called with the same."""
    problem = Problem(rng, "graded")
    expected = problem.dense()
    rankings = [
        problem.by_attributes(k=None, block_size=ITEMS),
        jrm.rank_scores(problem.scores, problem.relevant, **problem.options),
    ]
    for ranking in rankings:
        np.testing.assert_array_equal(ranking.items, expected.items)
        check_same(*(jrm.measure(("map", "tau"), x) for x in (ranking, expected)))


@pytest.mark.long
@pytest.mark.parametrize("ties", [None, "stable"])
@pytest.mark.parametrize("k, names", [(None, FIRSTS), (DEPTH, SOME + FIRSTS)])
def test_labels_over_devices(ties, k, names, rng):
    """Devices share the items; without a depth, first stops count."""
    problem, read = Problem(rng, "people"), functools.partial(jrm.measure, names)
    expected = read(problem.dense(k=k, ties=ties))
    check_same(read(problem.by_attributes(k=k, ties=ties)), expected)
    for block_size in (4, ITEMS):
        actual = problem.over_devices(read, block_size, k=k, ties=ties)
        check_same(actual, expected)


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

    with pytest.raises(ValueError, match="float32 labels, which .* at least .*, 48"):
        wrap(measure)(queries)
    call = functools.partial(jrm.evaluate_embeddings, "ndcg@10", queries)
    expected = jrm.ndcg.of(jrm.rank(labels, queries @ items.T), k=10).values
    np.testing.assert_allclose(
        call(items, relevant).lists["ndcg@10"].values, expected, rtol=1e-6
    )
    with pytest.raises(ValueError, match="float32 labels, which"):
        call(items, relevant, block_size=32)
    with pytest.raises(ValueError, match="items as one array in memory"):
        call([items[:32], items[32:]], relevant)


def test_what_needs_places_raises(rng):
    """Without a depth, metrics that read ranks say what to pass."""
    problem = Problem(rng, "people")
    ranking = problem.by_attributes(k=None)
    for name in ("map", "ndcg@5"):
        with pytest.raises(ValueError, match=f"{name}: .*k=100, or block_size=48"):
            jrm.measure((name,), ranking)
    with pytest.raises(
        ValueError, match=r"all items are on one device; pass .* or k=100\b(?!,)"
    ):
        problem.over_devices(jrm.average_precision.of, ITEMS, k=None)


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


@pytest.mark.parametrize(
    "how",
    [
        {},
        pytest.param({"block_size": 9}, marks=pytest.mark.long),
    ],
)
def test_drivers_refuse_negative_labels(how, rng):
    """A function of ±1 would leave relevant items alone; what it removes may be −1."""
    queries, items = rng.normal(size=(5, 2)), rng.normal(size=(9, 2))
    kinds = np.arange(9) % 3

    def run(label_fn):
        relevant = jrm.by_attributes(label_fn, kinds[:5], kinds)
        jrm.evaluate_embeddings(
            "recall@3", queries, items, relevant, batch_size=2, **how
        )

    with pytest.raises(
        ValueError, match="label_fn gives query 0 labels below 0 or NaN"
    ):
        run(lambda x, y: jnp.where(x[:, None] == y[None], 1, -1))
    run(
        lambda x, y: (
            jnp.where(x[:, None] == y[None], 1, -1),
            x[:, None] != y[None],
        )
    )


@pytest.mark.long
@pytest.mark.parametrize("batch_size", [1, 3])
def test_blocks_of_one_item(batch_size, rng):
    """An item that is alone in its block has one score in every pass over the items."""
    queries, items = rng.normal(size=(30, 8)), rng.normal(size=(4, 8))
    queries, items = queries.astype(np.float32), items.astype(np.float32)
    classes = {"person": np.zeros(30, int), "camera": np.zeros(30, int)}
    item_classes = {"person": np.array([1, 0, 1, 1]), "camera": np.ones(4, int)}
    evaluation = jrm.evaluate_embeddings(
        "mrr",
        queries,
        items,
        jrm.by_attributes(person_and_camera, classes, item_classes),
        batch_size=batch_size,
        block_size=1,
        k=2,
    )
    scores = queries @ items.T
    ranks = 1 + (scores > scores[:, 1:2]).sum(1)
    np.testing.assert_allclose(evaluation.lists["mrr"].values, 1 / ranks)
