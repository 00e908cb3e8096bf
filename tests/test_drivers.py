"""Inputs of every kind, on every executor, have the values of dense rows ranked at once."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import scipy.sparse
from jax.sharding import AxisType
from padded_tokens import padded

import jax_rank_metrics as jrm
from jax_rank_metrics._sources import host_blocks

QUERIES, ITEMS, DIMS, K = 45, 99, 4, 5
ONE_BLOCK = ("ndcg@3", "recall@1,5", "mrr", "map")
METRICS = ONE_BLOCK[:3]  # these need not all items at once, whatever is relevant

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


def sparse(table):
    """Returns a sparse matrix of scipy."""
    return scipy.sparse.csr_array(table)


def lists_of(table):
    """Returns the ids of each row as a list, of which the first is repeated."""
    return [[*ids[:1], *ids, -1] for ids in map(np.flatnonzero, table)]


def product(queries, items):
    """A similarity of one's own."""
    return queries @ items.T


def same_class(query, item):
    """Relevant is the same class, and what is of the same shop leaves."""
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
MAXSIM = np.array(
    [
        [(q @ x.T).max(1).sum() if len(x) else -np.inf for x in ITEM_TOKENS]
        for q in QUERY_TOKENS
    ]
)


def in_a_file(tokens, folder):
    """The same tokens, with vectors in a file that is mapped."""
    tokens.vectors.tofile(folder / "tokens")
    shape = tokens.vectors.shape
    vectors = np.memmap(folder / "tokens", np.float32, "r", shape=shape)
    return jrm.Tokens(vectors, tokens.mask)


class Input(NamedTuple):
    """The arguments of a driver, and the dense rows that they stand for."""

    driver: Callable[..., jrm.Evaluation]
    arguments: dict[str, Any]
    labels: np.ndarray = LABELS
    scores: np.ndarray = PRODUCTS
    pool: np.ndarray = np.ones(LABELS.shape, bool)
    ranked: np.ndarray = np.ones(LABELS.shape, bool)
    metrics: tuple[str, ...] = ONE_BLOCK


def of_users(model, relevant=LABELS, **options):
    """Users who have seen what is excluded."""
    options |= {"seen": sparse(EXCLUDED), "item_mask": MASK}
    # A row of the matrix may be empty, whose user is none of those with a pair.
    options = {"users": np.arange(QUERIES), **options}
    arguments = {"model": model, "relevant": sparse(relevant), **options}
    return Input(jrm.evaluate_users, arguments, relevant, pool=~EXCLUDED & MASK)


def of_queries(items=CATALOG, **options):
    """Queries whose items are scored by products, some of them excluded."""
    arguments = {"queries": VECTORS, "items": items, "relevant": sparse(LABELS)}
    arguments |= {"exclude": lists_of(EXCLUDED), "block_size": 16, **options}
    return Input(jrm.evaluate_embeddings, arguments, pool=~EXCLUDED)


def by_class(items=CATALOG, **options):
    """Queries to whom items are relevant by attributes, in blocks."""
    case = of_queries(items, relevant=BY_CLASS, exclude=None, **options)
    return case._replace(labels=OF_CLASS, pool=OTHER_SHOP, metrics=METRICS)


def of_gallery():
    """Vectors that are ranked for one another, but not for themselves."""
    is_same = CLASSES[0][:, None] == CLASSES[0]
    case = of_queries(
        VECTORS, relevant=sparse(is_same), exclude=None, exclude_self=True
    )
    others, whole = ~np.eye(QUERIES, dtype=bool), np.ones((QUERIES, QUERIES), bool)
    return Input(*case[:2], is_same, VECTORS @ VECTORS.T, others, whole)


def of_tokens(queries=QUERY_TOKENS, items=ITEM_TOKENS, **options):
    """Queries and items with a vector for each token."""
    options |= {"queries": queries, "similarity": "maxsim", "item_mask": MASK}
    case = of_queries(items, **options)
    return case._replace(scores=MAXSIM, pool=~EXCLUDED & MASK)


def memory_map(folder):
    """Writes the items to a file, and maps it."""
    CATALOG.tofile(folder / "items")
    return np.memmap(folder / "items", np.float32, "r", shape=CATALOG.shape)


def blocks():
    """Yields items in unequal blocks, of which one is empty."""
    yield from np.split(CATALOG, [40, 40, 77])


INPUTS = {
    "embeddings of users": lambda _: of_users((VECTORS, CATALOG)),
    "a matrix": lambda _: of_users(PRODUCTS),
    "a function": lambda _: of_users(lambda users: PRODUCTS[users]),
    "queries": lambda _: of_queries(item_mask=MASK)._replace(pool=~EXCLUDED & MASK),
    "l2": lambda _: of_queries(similarity="l2")._replace(scores=-DISTANCES),
    "a similarity": lambda _: of_queries(similarity=product),
    "candidates": lambda _: of_queries(candidates=lists_of(CANDIDATES))._replace(
        ranked=CANDIDATES
    ),
    "attributes": lambda _: by_class(),
    "attributes in one block": lambda _: by_class(block_size=None)._replace(
        metrics=ONE_BLOCK
    ),
    "a gallery": lambda _: of_gallery(),
    "a list of blocks": lambda _: of_queries([*blocks()], item_mask=MASK)._replace(
        pool=~EXCLUDED & MASK
    ),
    "a function of blocks": lambda _: of_queries(blocks, similarity="l2")._replace(
        scores=-DISTANCES
    ),
    "an iterator": lambda _: by_class(blocks())._replace(metrics=METRICS[:2]),
    "a memory map": lambda folder: of_queries(memory_map(folder)),
    "lists of tokens": lambda _: of_tokens(),
    "tokens on devices": lambda _: of_tokens(
        *(padded(x, wrap=jax.numpy.asarray) for x in (QUERY_TOKENS, ITEM_TOKENS))
    ),
    "tokens in a file": lambda folder: of_tokens(
        padded(QUERY_TOKENS), in_a_file(padded(ITEM_TOKENS), folder)
    ),
    "an iterator of tokens": lambda _: of_tokens(
        items=(ITEM_TOKENS[i : i + 30] for i in range(0, ITEMS, 30))
    ),
    "tokens of candidates": lambda _: of_tokens(
        candidates=lists_of(CANDIDATES)
    )._replace(ranked=CANDIDATES),
}
MESH = {"mesh": jax.make_mesh((2, 4), ("q", "i"), axis_types=(AxisType.Auto,) * 2)}
EXECUTORS = {
    "one device": {},
    "queries cut": MESH | {"queries_axis": "q"},
    "items cut": MESH | {"items_axis": "i"},
    "both cut": MESH | {"queries_axis": "q", "items_axis": "i"},
}
# Blocks are read by one device, and labels of whole lists need all items on each.
REFUSED = {
    *itertools.product(
        ("a list of blocks", "a function of blocks", "an iterator"), [*EXECUTORS][1:]
    ),
    *itertools.product(["attributes in one block"], ("items cut", "both cut")),
}
# Cells that no other one proves; `pytest -m long` runs the rest.
SHORT = {
    ("embeddings of users", "both cut"),
    ("a function", "one device"),
    ("queries", "one device"),
    ("candidates", "one device"),
    ("attributes in one block", "one device"),
    ("a function of blocks", "one device"),
    ("a matrix", "items cut"),
    ("lists of tokens", "one device"),
    ("tokens on devices", "both cut"),
}
# Forms of tokens, whose scores are known before any device sees them.
SAME_SCORES = {
    *itertools.product(
        ("tokens in a file", "an iterator of tokens", "tokens of candidates"),
        ("queries cut", "items cut"),
    )
}
CELLS = [
    pytest.param(*cell, marks=[pytest.mark.long] * (cell not in SHORT))
    for cell in itertools.product(INPUTS, EXECUTORS)
    if cell not in REFUSED | SAME_SCORES
]


@functools.cache
def measured(metrics):
    """A function that measures dense rows, of which one program serves all inputs."""

    def measure(labels, scores, pool, ranked):
        arrays = labels.astype(np.float32), scores.astype(np.float32)
        return jrm.measure(metrics, jrm.rank(*arrays, pool, retrieved=ranked))

    return measure


@pytest.mark.parametrize("name, executor", CELLS)
def test_values(name, executor, tmp_path, monkeypatch):
    """They are those of `rank`, and items are in the order of their scores."""
    monkeypatch.setattr(host_blocks, "PART_BYTES", 32 * DIMS * 4)
    case, done = INPUTS[name](tmp_path), []
    evaluation = case.driver(
        case.metrics,
        k=K,
        batch_size=16,
        progress=lambda *numbers: done.append(numbers),
        **case.arguments,
        **EXECUTORS[executor],
    )
    assert done[-1] == (QUERIES, QUERIES) and sorted(done) == done
    gathered = evaluation.gather()
    rows = case.labels, case.scores, case.pool, case.ranked
    for metric, lists in measured(case.metrics)(*rows).items():
        actual = gathered.lists[metric]
        assert isinstance(actual.values, np.ndarray)
        np.testing.assert_allclose(actual.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(actual.defined, lists.defined)
        np.testing.assert_array_equal(actual.weights, lists.weights)
        state, mean = evaluation.states[metric], lists.mean()
        np.testing.assert_allclose(state.compute(), mean.compute(), rtol=1e-6)
        np.testing.assert_allclose(state.std_error(), mean.std_error(), rtol=1e-5)
        np.testing.assert_array_equal(state.counts, mean.counts)
    for items, scores, has_rank in zip(
        gathered.items, case.scores, case.pool & case.ranked, strict=True
    ):
        ids = items[items >= 0]
        assert len({*ids.tolist()}) == min(has_rank.sum(), K) and has_rank[ids].all()
        best = np.sort(scores[has_rank])[::-1][: ids.size]
        np.testing.assert_array_equal(scores[ids], best)


@pytest.mark.parametrize("name, executor", sorted(REFUSED))
def test_refused(name, executor, tmp_path):
    """The message says what stands in the way."""
    case, match = INPUTS[name](tmp_path), "items come in blocks; pass a memory-mapped"
    if name == "attributes in one block":
        match = "map"
    with pytest.raises(ValueError, match=match):
        case.driver(case.metrics, k=K, **case.arguments, **EXECUTORS[executor])
