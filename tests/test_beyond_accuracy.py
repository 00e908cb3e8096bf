"""Popularity, novelty and diversity against loops, also over all orders of tied items."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from jax.sharding import PartitionSpec as P
from marks import long
from sources import make_mesh

import jax_rank_metrics as jrm

ITEMS, USERS = 8, 50
# Some items were never seen, and one embedding is of zeros.
COUNTS = np.array([4, 0, 12, 1, 7, 0, 3, 40])
VECTORS = np.random.default_rng(0).normal(size=(ITEMS, 40)).astype(np.float32)
VECTORS[3], VECTORS[5] = 0, VECTORS[4] * 1e25
FACTS = {"counts": COUNTS, "embeddings": VECTORS}
SCORES = np.float32(
    [
        [9, 5, 5, 1, 5, 5, 5, 3],
        [1, 1, 2, 2, 0, 0, 0, 3],
        [1, 2, 3, 4, 5, 6, 7, 8],
    ]
)
WANTED = np.array([[1, 4], [2, 0], [-1, -1]])
METRICS = {
    "popularity": (oracle.popularity, {}),
    "popularity(log=False)": (oracle.popularity, {"log": False}),
    "novelty": (oracle.novelty, {}),
    f"novelty(by=users,num_users={USERS})": (oracle.novelty, {"num_users": USERS}),
    "intra_list_diversity": (oracle.intra_list_diversity, {}),
}


def means(cases, k):
    """The values of all metrics over all orders of tied items, `[metrics, lists]`."""
    found = [
        oracle.values(loops, cases, "expected", (k,), **options)[:, 0]
        for loops, options in METRICS.values()
    ]
    return np.array(found)


def cases_of(scores, mask=None):
    """Lists of the oracle that know the facts."""
    facts = {name: [table] * len(scores) for name, table in FACTS.items()}
    return oracle.lists(np.ones_like(scores), scores, mask, columns=facts)


def named(k):
    """The metrics by name, at one cutoff."""
    return [f"{name}@{k}" for name in METRICS]


def read(ranking, k):
    """The values of all metrics of a ranking, `[metrics, lists]`."""
    lists = jrm.measure(named(k), ranking)
    return jnp.stack([lists[name].values for name in named(k)])


def of_evaluation(k, model, **options):
    """The values of all metrics in an evaluation of users."""
    names, relevant = (f"recall@{k}", *named(k)), [[1, 4], [2, 0], [3]]
    how = {"item_columns": FACTS, **options}
    lists = jrm.evaluate_users(names, model, relevant, **how).lists
    return np.stack([lists[name].values for name in names[1:]])


def over_devices(k, spec):
    """Ranks items that devices share, whose facts are whole or cut as the items are."""

    def of_part(scores, facts):
        how = {"k": k, "items_axis": "items", "item_columns": facts}
        return read(jrm.rank_scores(scores, WANTED, **how), k)

    specs = P(None, "items"), dict.fromkeys(FACTS, spec)
    mesh = make_mesh((2,), ("items",))
    cut = jax.shard_map(of_part, mesh=mesh, in_specs=specs, out_specs=P())
    return cut(SCORES, FACTS)


QUERIES = np.eye(3, dtype=np.float32)
SOURCES = {
    "scores": lambda k: read(
        jrm.rank_scores(SCORES, WANTED, k=k, item_columns=FACTS), k
    ),
    "deeper": lambda k: read(
        jrm.rank_scores(SCORES, WANTED, k=7, item_columns=FACTS), k
    ),
    "blocks": lambda k: read(
        jrm.rank_catalog(
            QUERIES, SCORES.T, WANTED, k=k, block_size=3, item_columns=FACTS
        ),
        k,
    ),
    "matrix": lambda k: of_evaluation(k, SCORES),
    "embeddings": lambda k: of_evaluation(k, (QUERIES, SCORES.T.copy())),
    "candidates": lambda k: of_evaluation(k, SCORES, candidates=[range(ITEMS)] * 3),
    "parts": lambda k: over_devices(k, P("items")),
    "devices": lambda k: over_devices(k, P()),
}


@pytest.mark.parametrize(
    ("source", "k"),
    [
        *(("scores", 3), ("blocks", 4)),
        *(
            pytest.param(source, k, marks=pytest.mark.long)
            for source in SOURCES
            for k in (
                (2, 3, 4, 6) if source in ("scores", "blocks", "matrix") else (3,)
            )
            if (source, k) not in (("scores", 3), ("blocks", 4))
        ),
    ],
)
def test_values_are_means_over_all_orders(source, k):
    """The means are over the group that a cutoff parts, however much of it is held."""
    values = SOURCES[source](k)
    np.testing.assert_allclose(values, means(cases_of(SCORES), k), rtol=2e-5, atol=1e-6)


def drawn(rng):
    """Draws lists of ids with gaps and repeats, one empty and one with a single item."""
    ids = rng.integers(-3, ITEMS, (10, 6)).astype(np.int32)
    ids[0], ids[1, 1:], ids[1, 0] = -1, -1, 2
    ids[2] = (0, 1, 1, 4, 7, 7)
    return ids


@pytest.mark.parametrize("x64", [False, *long(True)])
def test_values_of_ids_are_those_of_loops(rng, x64):
    """Padding leaves a list, and a repeated id counts again."""
    ids = drawn(rng)
    with jax.enable_x64(x64):
        facts = {name: table.astype(float) for name, table in FACTS.items()}
        ranking = jrm.rank_ids(ids, item_columns=facts)
        for k in (2, None):
            names = named(k) if k else [*METRICS]
            lists = jrm.measure(names, ranking)
            for (loops, options), name in zip(METRICS.values(), names, strict=True):
                case = oracle.List([1], columns=FACTS)
                values = lists[name].values
                expected = [
                    loops(case, [int(i) for i in row if i >= 0], k, **options)
                    for row in ids
                ]
                assert values.dtype == (float if x64 else np.float32)
                rtol = 1e-12 if x64 else 5e-6
                np.testing.assert_allclose(values, expected, rtol, rtol)
                number = 2 if loops is oracle.intra_list_diversity else 1
                defined = (ids >= 0).sum(-1) >= number
                np.testing.assert_array_equal(lists[name].defined, defined)
                weights = (ids >= 0).any(-1)
                np.testing.assert_array_equal(lists[name].weights, weights)


def test_counts_that_a_program_holds():
    """A compiled function may read counts that it does not take as an argument."""
    counts = jnp.array([4, 1, 8])

    @jax.jit
    def novelty(ids):
        ranking = jrm.rank_ids(ids, item_columns={"counts": counts})
        return jrm.novelty.of(ranking, by="users", num_users=8).values

    assert novelty(np.array([2, 0])).item() == 0.5  # of 0 bits and of 1


@pytest.mark.long
@pytest.mark.parametrize(
    "metric",
    [
        *(jrm.popularity, jrm.novelty),
        functools.partial(jrm.novelty, by="users", num_users=10),
        jrm.intra_list_diversity,
    ],
    ids=str,
)
def test_laws(metric):
    """They are metrics like any other."""
    options = {"k": (2, 3, None)} | getattr(metric, "keywords", {})
    jrm.testing.check_metric(getattr(metric, "func", metric), **options)


@pytest.mark.long
def test_gradients_by_embeddings():
    """They are gradients of the mean over all orders."""
    import jax.test_util  # its import is slow

    def diversity(vectors):
        facts = {"embeddings": vectors}
        ranking = jrm.rank_scores(SCORES[:2], WANTED[:2], k=3, item_columns=facts)
        return jrm.intra_list_diversity.of(ranking, k=(2, 3)).values.sum()

    with jax.enable_x64(True):
        vectors = np.random.default_rng(1).normal(size=(ITEMS, 3))
        jax.test_util.check_grads(diversity, (vectors,), 1, ["rev"], rtol=1e-6)
        assert np.abs(jax.grad(diversity)(vectors)).min() > 0
