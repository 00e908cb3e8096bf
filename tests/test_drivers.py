"""Inputs of every kind, on every executor, have the values of dense rows ranked at once."""

import functools
import itertools
from typing import NamedTuple

import jax
import numpy as np
import pytest
import scipy.sparse
from padded_tokens import by_loops, padded
from sources import make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.sources import host_blocks

QUERIES, ITEMS, DIMS, K = 45, 99, 4, 5
METRICS = ("ndcg@3", "recall@1,5", "mrr", "map")

RNG = np.random.default_rng(3)
# Small integers, so that many scores tie, and float32 holds them exactly.
VECTORS, CATALOG = (
    RNG.integers(-2, 3, (size, DIMS)).astype(np.float32) for size in (QUERIES, ITEMS)
)
PRODUCTS = VECTORS @ CATALOG.T
DISTANCES = np.square(VECTORS[:, None] - CATALOG).sum(-1)
EXCLUDED = RNG.random((QUERIES, ITEMS)) < 0.1
LABELS = np.where(EXCLUDED, 0, RNG.choice([0] * 18 + [1, 2], (QUERIES, ITEMS)))
LABELS[4] = 0
MASK = RNG.random(ITEMS) < 0.9
CANDIDATES = RNG.random((QUERIES, ITEMS)) < 0.2
CANDIDATES[[3, 4]] = False
CLASSES = RNG.integers(0, 5, QUERIES), RNG.integers(0, 5, ITEMS)
SHOPS = RNG.integers(0, 3, QUERIES), RNG.integers(0, 3, ITEMS)


def lists_of(table):
    """Returns the ids of each row as a list; the first id is repeated."""
    return [[*ids[:1], *ids, -1] for ids in map(np.flatnonzero, table)]


def product(queries, items):
    """A similarity of one's own."""
    return queries @ items.T


def same_class(query, item):
    """Items of the same class are relevant, and items of the same shop leave."""
    is_same = query["class"][:, None] == item["class"][None]
    return is_same, query["shop"][:, None] == item["shop"][None]


BY_CLASS = jrm.by_attributes(
    same_class,
    *({"class": x, "shop": y} for x, y in zip(CLASSES, SHOPS, strict=True)),
)
OF_CLASS = CLASSES[0][:, None] == CLASSES[1]
OTHER_SHOP = SHOPS[0][:, None] != SHOPS[1]

# Tokens of whole numbers; some items have none, and their scores are the least.
QUERY_TOKENS = [RNG.integers(-2, 3, (n, DIMS)) for n in RNG.integers(1, 5, QUERIES)]
ITEM_TOKENS = [RNG.integers(-2, 3, (n, DIMS)) for n in RNG.integers(0, 20, ITEMS)]
QUERY_TOKENS, ITEM_TOKENS = (
    [x.astype(np.float32) for x in tokens] for tokens in (QUERY_TOKENS, ITEM_TOKENS)
)
MAXSIM = by_loops(QUERY_TOKENS, ITEM_TOKENS)

MESH = {"mesh": make_mesh((2, 4), ("q", "i"))}
EXECUTORS = {
    "one device": {},
    "queries cut": MESH | {"queries_axis": "q"},
    "items cut": MESH | {"items_axis": "i"},
    "both cut": MESH | {"queries_axis": "q", "items_axis": "i"},
}
SCORES = {
    "embeddings of users": PRODUCTS,
    "a matrix": PRODUCTS,
    "a function": PRODUCTS,
    "dot": PRODUCTS,
    "l2": -DISTANCES,
    "a similarity": PRODUCTS,
    "sparse": PRODUCTS,
    "tokens": MAXSIM,
    "padded tokens": MAXSIM,
}
USERS, TOKENS = [*SCORES][:3], [*SCORES][-2:]
READ = ("blocks", "a function of blocks", "an iterator")  # by the host
HELD = ("whole", "cut in 16", *READ, "a memory map")


class Cell(NamedTuple):
    """A level of each factor."""

    scorer: str
    executor: str = "one device"
    ties: str | None = None
    excluded: str = "lists and items"
    held: str = "cut in 16"
    judged: str = "listed"

    def name(self):
        """Returns the levels that are not the usual ones."""
        usual = Cell("")
        return "-".join(x for x, y in zip(self, usual, strict=True) if x != y)

    def is_legal(self):
        """True if a driver takes it."""
        return not (
            (self.held in READ and self.executor != "one device")
            or (self.scorer in USERS and (self.held not in HELD[:2] or self.judged != "listed"))
            or (self.scorer == "tokens" and self.held in ("blocks", "a memory map"))
            or (self.scorer == "padded tokens" and self.held in READ)
            or (self.scorer == "sparse" and self.held not in HELD[:2])
            or (self.judged == "candidates" and self.held in READ)
            or (self.excluded == "itself" and (self.scorer in [*USERS, *TOKENS] or self.judged != "listed"))
        )  # fmt: skip

    def metrics(self):
        """The metrics that need neither all items at once nor a second reading of them."""
        by_attributes = self.judged == "by attributes"
        if self.held == "an iterator" or (self.held in READ and by_attributes):
            return METRICS[:2]
        in_one = self.held == "whole" and "items_axis" not in EXECUTORS[self.executor]
        return METRICS[: 3 if by_attributes and not in_one else 4]

    def rows(self):
        """Returns labels, scores, existing items and ranked items, `[queries, items]`."""
        shape = (QUERIES, ITEMS)
        labels, scores, pool = LABELS, SCORES[self.scorer], np.ones(shape, bool)
        if self.judged == "by attributes":
            labels, pool = OF_CLASS, OTHER_SHOP
        if "lists" in self.excluded:
            pool = pool & ~EXCLUDED
        if "items" in self.excluded:
            pool = pool & MASK
        ranked = CANDIDATES if self.judged == "candidates" else np.ones(shape, bool)
        if self.excluded == "itself":  # queries are items; the others do not exist
            scores = scores.copy()
            scores[:, :QUERIES] = SCORES_OF_QUERIES[self.scorer]
            pool = np.arange(ITEMS) < QUERIES
            pool = pool & (np.arange(QUERIES)[:, None] != np.arange(ITEMS))
            labels = labels * (np.arange(ITEMS) < QUERIES)
        return labels, scores, pool, ranked

    def evaluate(self, folder, **options):
        """Calls the driver."""
        options |= {"ties": self.ties} | EXECUTORS[self.executor]
        lists = "seen" if self.scorer in USERS else "exclude"
        options |= {lists: lists_of(EXCLUDED)} if "lists" in self.excluded else {}
        options |= {"item_mask": MASK} if "items" in self.excluded else {}
        options |= {"block_size": 16} if self.held != "whole" else {}
        relevant = scipy.sparse.csr_array(self.rows()[0])
        if self.scorer in USERS:
            model = {"embeddings of users": (VECTORS, CATALOG), "a matrix": PRODUCTS}
            model = model.get(self.scorer, PRODUCTS.__getitem__)
            # A row of the matrix may be empty; its user has no pair.
            options["users"] = np.arange(QUERIES)
            return jrm.evaluate_users(self.metrics(), model, relevant, **options)
        if self.judged == "candidates":
            options["candidates"] = lists_of(CANDIDATES)
        queries, items, options["similarity"] = VECTORS, CATALOG, self.scorer
        if self.scorer == "a similarity":
            options["similarity"] = product
        elif self.scorer in TOKENS:
            queries, items, options["similarity"] = QUERY_TOKENS, ITEM_TOKENS, "maxsim"
        if self.scorer == "padded tokens":
            wrap = np.asarray if self.held == "a memory map" else jax.numpy.asarray
            queries, items = (padded(x, wrap=wrap) for x in (queries, items))
        if self.excluded == "itself":
            items, options["exclude_self"] = VECTORS, True
            relevant = relevant[:, :QUERIES]
        if self.judged == "by attributes":
            relevant = BY_CLASS
        if self.scorer == "sparse":  # entries of masked items are never read
            if "items" in self.excluded:
                items = np.where(MASK[:, None], items, np.nan)
            queries, options["similarity"] = scipy.sparse.csr_array(queries), "dot"
            items = scipy.sparse.csc_matrix(items)
        items = held(items, self.held, folder)
        return jrm.evaluate_embeddings(
            self.metrics(), queries, items, relevant, **options
        )


def held(items, how, folder):
    """Returns items in memory, in blocks of unequal sizes, or in a file that is mapped."""

    def blocks():
        cuts = [0, 40, 40, 77, len(items)]
        return (items[slice(*cut)] for cut in itertools.pairwise(cuts))

    if how == "a memory map":
        array = items.vectors if isinstance(items, jrm.Tokens) else items
        array.tofile(folder / "items")
        mapped = np.memmap(folder / "items", np.float32, "r", shape=array.shape)
        return jrm.Tokens(mapped, items.mask) if items is not array else mapped
    made = {"blocks": lambda: [*blocks()], "a function of blocks": lambda: blocks}
    return (made | {"an iterator": blocks}).get(how, lambda: items)()


SCORES_OF_QUERIES = {
    "dot": VECTORS @ VECTORS.T,
    "a similarity": VECTORS @ VECTORS.T,
    "sparse": VECTORS @ VECTORS.T,
    "l2": -np.square(VECTORS[:, None] - VECTORS).sum(-1),
}
LEVELS = (
    SCORES,
    EXECUTORS,
    (None, "stable", "best", "worst"),
    ("none", "lists", "items", "lists and items", "itself"),
    HELD,
    ("listed", "by attributes", "candidates"),
)


def pairwise_cover(cells, chosen):
    """Chooses cells that hold each pair of levels which any holds, beside chosen ones."""
    numbers, pairs = {}, {}
    for cell in cells:
        of_cell = itertools.combinations(enumerate(cell), 2)
        pairs[cell] = sum(1 << numbers.setdefault(x, len(numbers)) for x in of_cell)
    missing = (1 << len(numbers)) - 1
    for cell in chosen:
        missing &= ~pairs[cell]
    while missing:
        best = max(cells, key=lambda cell: (pairs[cell] & missing).bit_count())
        missing &= ~pairs[best]
        yield best


# Cells that no other one proves; `pytest -m long` runs a cover of all pairs.
SHORT = (
    Cell("dot"),
    Cell("dot", judged="candidates"),
    Cell("dot", held="whole", judged="by attributes", excluded="items"),
    Cell("l2", ties="stable", held="a function of blocks", excluded="lists"),
    Cell("a function", ties="stable"),
    Cell("tokens", ties="stable"),
    Cell("sparse", judged="candidates"),
    Cell("a matrix", "both cut"),
)
ALL = itertools.starmap(Cell, itertools.product(*LEVELS))
LONG = pairwise_cover([cell for cell in ALL if cell.is_legal()], SHORT)
CELLS = [*SHORT, *(pytest.param(cell, marks=pytest.mark.long) for cell in LONG)]


@functools.cache
def measured(metrics, ties):
    """Returns a function that measures dense rows; its one program serves all inputs."""

    def measure(labels, scores, pool, ranked):
        arrays = labels.astype(np.float32), scores.astype(np.float32)
        return jrm.measure(
            metrics, jrm.rank(*arrays, pool, retrieved=ranked, ties=ties)
        )

    return measure


@pytest.mark.parametrize("cell", CELLS, ids=Cell.name)
def test_values(cell, tmp_path, monkeypatch):
    """Values equal `rank`'s, and items are in the order of their scores."""
    monkeypatch.setattr(host_blocks, "PART_BYTES", 32 * DIMS * 4)
    done = []
    evaluation = cell.evaluate(
        tmp_path, k=K, batch_size=16, progress=lambda *numbers: done.append(numbers)
    )
    assert done[-1] == (QUERIES, QUERIES) and sorted(done) == done
    rows = cell.rows()
    for metric, lists in measured(cell.metrics(), cell.ties)(*rows).items():
        actual = evaluation.lists[metric]
        assert isinstance(actual.values, np.ndarray)
        np.testing.assert_allclose(actual.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(actual.defined, lists.defined)
        np.testing.assert_array_equal(actual.weights, lists.weights)
        state, mean = evaluation.states[metric], lists.mean()
        np.testing.assert_allclose(state.compute(), mean.compute(), rtol=1e-6)
        np.testing.assert_allclose(state.std_error(), mean.std_error(), rtol=1e-5)
        np.testing.assert_array_equal(state.counts, mean.counts)
    _, scores, pool, ranked = rows
    for items, of_query, has_rank in zip(
        evaluation.retrieved_ids, scores, pool & ranked, strict=True
    ):
        ids = items[items >= 0]
        assert len({*ids.tolist()}) == min(has_rank.sum(), K) and has_rank[ids].all()
        order = np.argsort(-of_query, kind="stable")
        order = order[has_rank[order]][: ids.size]
        np.testing.assert_array_equal(of_query[ids], of_query[order])
        if cell.ties == "stable":
            np.testing.assert_array_equal(ids, order)
