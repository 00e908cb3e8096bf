"""Worked examples, with the arithmetic beside them.

The discount of a rank is 1 / log2(1 + rank).
"""

import functools
from math import log2

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long
from per_lists import state_of

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ranking.pools import Pool

IN_ORDER = -np.arange(6, dtype=np.float32)
LABELS = np.array([3, 2, 3, 0, 1, 2], np.int32)


def close(values, expected, rtol=2e-7):
    """Asserts that values are equal up to the rounding of float32."""
    np.testing.assert_allclose(np.asarray(values), expected, rtol=rtol)


def half(ranks):
    return 0.5


# Lists by name: labels, and scores and weights unless they fall and are 1.
EXAMPLES = {
    "six": (LABELS,),
    "weighted": ([1, 0, 1], None, [1, 5, 3]),
    "without the first": ([1, 0, 1], None, [0, 5, 3]),
    **{f"{n} rising": (np.arange(n), np.arange(n)) for n in (2, 3, 100)},
    **{f"{n} falling": (np.arange(n),) for n in (2, 3, 100)},
}
METRICS = {
    "cg": jrm.cg,
    "dcg": jrm.dcg,
    "dcg linear": functools.partial(jrm.dcg, gain_fn=jrm.linear_gain),
    "dcg halved": functools.partial(jrm.dcg, discount_fn=half, k=2),
    "dcg of halves": functools.partial(jrm.dcg, gain_fn=half, discount_fn=half, k=2),
    "ndcg": jrm.ndcg,
    "ndcg of halves": functools.partial(jrm.ndcg, gain_fn=half),
    "ndcg linear": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=(6, None)),
    "precision": functools.partial(jrm.precision, k=(1, 2)),
    "map": jrm.average_precision,
    "mrr": jrm.reciprocal_rank,
    "tau": jrm.tau,
    "rho": jrm.rho,
}


@pytest.fixture(scope="module")
def measured():
    """Returns a function of the names of an example and a metric, which gives its value."""
    shape = (3, len(EXAMPLES), 100)
    labels, scores, weights = np.zeros(shape, np.float32)
    for row, example in enumerate(EXAMPLES.values()):
        example = [*example, *[None] * (3 - len(example))]
        size = len(example[0])
        defaults = 0, -np.arange(size), np.ones(size)
        for array, part, default in zip(
            (labels, scores, weights), example, defaults, strict=True
        ):
            array[row, :size] = default if part is None else part
    # Items without a weight are no items: they pad the lists.
    ranking = jrm.rank(labels, scores, None, weights)
    lists = jax.device_get(jrm.measure(METRICS, ranking))
    return lambda example, metric: lists[metric][[*EXAMPLES].index(example)]


def test_gains_of_six_documents(measured):
    """Labels are 3 2 3 0 1 2 in rank order."""
    linear = 3 + 2 / log2(3) + 3 / 2 + 1 / log2(6) + 2 / log2(7)
    exponential = 7 + 3 / log2(3) + 7 / 2 + 1 / log2(6) + 3 / log2(7)
    ideal = 3 + 3 / log2(3) + 2 / 2 + 2 / log2(5) + 1 / log2(6)
    assert round(linear, 3) == 6.861 and round(exponential, 3) == 13.848
    for metric, value in (
        ("cg", 3 + 2 + 3 + 0 + 1 + 2),
        ("dcg linear", linear),
        ("dcg", exponential),
        ("ndcg linear", [linear / ideal] * 2),
        ("dcg halved", (7 + 3) / 2),  # a discount may be one number, and so may a gain
        ("dcg of halves", 2 / 2 / 2),
        ("ndcg of halves", 1),
    ):
        close(measured("six", metric).values, value)
    assert f"{state_of([linear / ideal]):.3f}" == "0.961"


def test_the_ideal_is_of_the_pool():
    """Two judged documents that were never retrieved belong to the ideal order."""
    retrieved = jrm.rank_retrieved(
        LABELS, pool_labels=np.array([3, 3, 3, 2, 2, 2, 1, 0])
    )
    linear = 3 + 2 / log2(3) + 3 / 2 + 1 / log2(6) + 2 / log2(7)
    ideal = 3 + 3 / log2(3) + 3 / 2 + 2 / log2(5) + 2 / log2(6) + 2 / log2(7)
    assert round(ideal, 3) == 8.740
    lists = jrm.ndcg.of(retrieved, k=6, gain_fn=jrm.linear_gain)
    close(lists.values, linear / ideal)


def test_retrieved_without_one_relevant_document():
    """A B C D E are retrieved; A, C, E and Q are relevant; Q was not retrieved."""

    @jax.jit
    def values(labels, pool):
        by_number = jrm.rank_retrieved(labels, num_relevant=4)
        by_pool = jrm.rank_retrieved(labels, pool_labels=pool)
        names = ("p@3,4,5", "r@3,4,5", "f1@3,4,5")
        return [
            [lists.values for lists in jrm.measure(names, ranking).values()]
            for ranking in (by_number, by_pool)
        ]

    for results in values(np.array([1, 0, 1, 0, 1]), np.array([1, 0, 1, 0, 1, 1])):
        close(results[0], [2 / 3, 2 / 4, 3 / 5])
        close(results[1], [2 / 4, 2 / 4, 3 / 4])
        close(results[2], [4 / 7, 1 / 2, 2 / 3])


def test_fewer_relevant_documents_than_were_retrieved():
    """Retrieved items count if values are unknown; known values would raise."""
    labels, mask = [[1, 0, 1], [1, 1, 1]], [[True] * 3, [True, True, False]]
    jrm.rank_retrieved(labels, np.array(mask), num_relevant=[2, 2])

    @jax.jit
    def traced(num_relevant):
        ranking = jrm.rank_retrieved([1, 1, 1], num_relevant=num_relevant)
        return jrm.measure(("recall@1,3", "map", "num_relevant"), ranking)

    for number, relevant in ((1, 3), (3, 3), (6, 6)):
        results = traced(jnp.int32(number))
        close(results["recall@1,3"].values, [1 / relevant, 3 / relevant])
        close(results["map"].values, 3 / relevant)
        close(results["num_relevant"].values, relevant)
    # Metrics say which graded labels are relevant.
    graded = jrm.rank_retrieved([1, 1, 2], num_relevant=1)
    close(jrm.recall.of(graded, relevance_threshold=2).values, 1)
    close(jrm.recall.of(graded).values, 1)


def test_two_tied_documents():
    """A best order exists, and a key draws one of two orders."""
    labels, scores = np.array([0, 1], np.int32), np.ones(2, np.float32)
    policies = {"best": 1, "worst": 1 / 2}

    @jax.jit
    def of_policies(key):
        orders = [{"ties": ties} for ties in policies] + [{"key": key}]
        return [
            jrm.reciprocal_rank.per_list(labels, scores, **order).values
            for order in orders
        ]

    *values, drawn = of_policies(jax.random.key(0))
    close(values, list(policies.values()))
    assert float(drawn) in (1.0, 0.5)


def test_item_weights(measured):
    """Gains are weighted relative to the mean weight of the relevant items."""
    mean_weight = (1 + 3) / 2
    average_precision = (1 / mean_weight * 1 + 3 / mean_weight * 2 / 3) / 2
    close(measured("weighted", "map").values, average_precision)
    close(measured("weighted", "map").weights, mean_weight)
    close(measured("weighted", "ndcg").values, (1 + 3 / 2) / (3 + 1 / log2(3)))
    close(measured("weighted", "precision").values[1], 1 / 2)
    close(measured("weighted", "mrr").values, 1)
    # The first item has no weight, as if it were masked.
    close(measured("without the first", "map").weights, 3)
    close(measured("without the first", "mrr").values, 1 / 2)


def test_retrieved_padding_moves_up():
    """Masked items leave the ranking, and later items move up."""
    labels = np.array([[0, 9, 1, 1], [1, 0, -1, 1]], np.int32)
    mask = np.array([[True, False, True, True], [True, True, True, True]])
    retrieved = jrm.rank_retrieved(labels, mask)
    lists = jrm.measure(("mrr", "map", "ndcg@2"), retrieved)
    close(lists["mrr"].values, [1 / 2, 1])
    close(lists["map"].values, [(1 / 2 + 2 / 3) / 2, (1 + 2 / 3) / 2])
    second = 1 / log2(3)
    close(lists["ndcg@2"].values, [second / (1 + second), 1 / (1 + second)])


def test_nothing_retrieved():
    """A query that retrieved nothing counts as 0; one without any judged item does not count."""
    nothing = np.full((2, 3), -1)
    retrieved = jrm.rank_retrieved(nothing, num_relevant=np.array([2, 0]))
    pool = jrm.rank_retrieved(nothing, pool_labels=np.array([[1, 0], [-1, -1]]))
    for metric, ranking in ((jrm.recall, retrieved), (jrm.ndcg, pool)):
        state = metric.of(ranking, k=2).mean()
        assert state.lists == 1 and state.compute() == 0 and state.undefined == 0


@pytest.mark.parametrize("name", ["exponential_gain", "linear_gain"])
def test_gains(name):
    """Gains are exact for integer labels and accurate for small ones."""
    gain = getattr(jrm, name)
    labels = np.array([0, 1, 2, 24, 100, 127, 1e-6, 0.5, 3.7], np.float32)
    exact = 2.0 ** labels.astype(np.float64) - 1 if name[0] == "e" else labels
    gains = jax.jit(gain)(labels)
    close(gains, exact, rtol=3e-7)
    np.testing.assert_array_equal(gains[:4], exact[:4])


def test_discounts():
    """Discounts are multipliers, never divisors."""
    ranks = jnp.array([1.0, 2.0, 7.0])
    close(jrm.log2_discount(ranks), [1, 1 / log2(3), 1 / 3])
    close(jrm.log_discount(2)(ranks), [1, 1 / log2(3), 1 / 3], rtol=1e-6)
    close(jrm.reciprocal_discount(ranks), [1, 1 / 2, 1 / 7])


def test_a_perfect_order_correlates_exactly(measured):
    """Correlations are exactly 1, or -1 in the reverse order, without rounding."""
    for metric in ("tau", "rho"):
        for size in (2, 3, 100):
            assert measured(f"{size} rising", metric).values == 1
            assert measured(f"{size} falling", metric).values == -1


@pytest.mark.parametrize("p", [0.998, *long(0.99, 0.9999)])
def test_long_lists_of_patient_users(p):
    """Powers of a chance near 1 hold seven digits however long the list is."""
    size = 4_000
    ranks = np.arange(1, size + 1)
    labels, scores = np.ones(size, np.float32), -ranks.astype(np.float32)
    columns = {"subtopics": np.ones((size, 1), np.float32)}
    metrics = {
        "rbp": functools.partial(jrm.rank_biased_precision, p=p),
        "nrbp": functools.partial(jrm.nrbp, p=p, alpha=0.0),
        "alpha_dcg": functools.partial(jrm.alpha_dcg, alpha=1 - p),
    }
    lists = jrm.measure(metrics, jrm.rank(labels, scores, columns=columns))
    close(lists["rbp"].values, 1 - p**size, rtol=3e-7)
    close(lists["nrbp"].values, 1 - p**size, rtol=3e-7)
    gains = p ** (ranks - 1) / np.log2(1 + ranks)
    close(lists["alpha_dcg"].values, np.sum(gains), rtol=3e-7)


def test_a_sure_stop_at_the_first_rank():
    """The first item stops the user; 2^-127 is below the smallest normal float32."""
    max_labels = (1, 4, 126, 127)
    labels = np.array([[label, 0] for label in (*max_labels, 0)], np.int32)
    scores = np.array([[2, 1]] * len(labels), np.int32)
    metrics = {
        str(label): functools.partial(jrm.expected_reciprocal_rank, max_label=label)
        for label in max_labels
    }
    measured = jrm.measure(metrics, jrm.rank(labels, scores))
    for row, label in enumerate(max_labels):
        lists = jax.device_get(measured[str(label)])
        close(lists.values[[row, -1]], [1 - 2.0**-label, 0])
        assert lists.defined[[row, -1]].tolist() == [True, False]


def test_tiny_labels():
    """A scale of the labels changes neither a ratio of gains nor its `defined`."""
    labels = np.float32([[1e-20], [1], [1e20]]) * np.float32([1, 0, 3])
    ranking = jrm.rank(labels, np.stack([IN_ORDER[:3]] * 3))
    ratio, position = jrm.measure(
        ("ndcg(gain_fn=linear_gain)", "arp"), ranking
    ).values()
    close(ratio.values, [(1 + 3 / 2) / (3 + 1 / log2(3))] * 3)
    close(position.values, [(1 * 1 + 3 * 3) / 4] * 3)
    assert position.defined.all()


def test_penalty_of_items_without_a_rank():
    """Whoever looks for all relevant items never gets there if one has no rank."""
    ids, relevant_ids = np.array([[4, 7, 2]] * 3), np.array([[4, 2], [4, 9], [-1, -1]])
    lists = jrm.inverse_negative_penalty.of(jrm.rank_ids(ids, relevant_ids))
    close(lists.values, [2 / 3, 0, 0])
    assert lists.defined.tolist() == [True, False, False]
    labels = np.array([1, 0, 1, 0])
    for num_relevant, value in ((2, 2 / 3), (3, 0)):
        ranking = jrm.rank_retrieved(labels, num_relevant=num_relevant)
        lists = jrm.inverse_negative_penalty.of(ranking)
        close(lists.values, value)
        assert lists.defined == (value > 0)
    # R is of the pool: of three relevant items, the first three ranks are read.
    ranking = jrm.rank_retrieved(labels, num_relevant=3)
    close(jrm.map_at_r.of(ranking).values, (1 + 2 / 3) / 3)


@pytest.mark.long
@pytest.mark.parametrize("items", [2, 5, 12, 33])
def test_a_perfect_ranking_is_worth_exactly_one(rng, items):
    """It is 1 at every cutoff, in a call of its own and from a deeper ranking."""
    ks = (1, 3, 7, 10)
    labels = rng.integers(0, 5, (200, items)).astype(np.float32)
    labels[:, 0] = 4
    scores = np.argsort(np.argsort(labels, axis=-1), axis=-1).astype(np.float32)
    cut = jrm.rank(labels, scores, k=20)
    best_first = jrm.rank_retrieved(-np.sort(-labels, axis=-1))
    rankings = [jrm.ndcg.of(ranking, k=ks) for ranking in (cut, best_first)]
    for lists in (*rankings, jrm.ndcg.per_list(labels, scores, k=ks)):
        np.testing.assert_array_equal(lists.values, 1)
    for k in (*(k for k in ks if k < items), None):
        assert jrm.ndcg(labels, scores, k=k).compute() == 1


def test_levels_of_recall_are_decimal_numbers():
    """A float32 of 0.7 needs 4 of 5 relevant items, as 0.7 does; lists are tuples."""
    labels = np.array([1, 1, 1, 0, 1, 1], np.float32)
    precision = jrm.interpolated_precision
    metrics = {
        "number": functools.partial(precision, recall_levels=np.float32(0.7)),
        "list": functools.partial(precision, recall_levels=[0.7, 0.2]),
    }
    states = jrm.evaluate(metrics, labels, IN_ORDER)
    close(states["number"].compute(), 5 / 6)
    close(states["list"].compute(), [5 / 6, 1])


@pytest.mark.parametrize(
    ("option", "number"),
    [(np.float32(0.7), 0.7), (np.int64(1), 1), ((np.float16(0.1), 0.5), (0.1, 0.5))],
)
def test_options_of_numpy_are_those_of_python(option, number):
    """They are the same program, and compare as numbers do."""
    bind = jrm.interpolated_precision.spec.bind
    bound, expected = (bind((), {"recall_levels": x}) for x in (option, number))
    assert bound == expected and hash(bound) == hash(expected)
    level = bound.options[0][1]
    assert type(level) is type(number)


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (("precision@5", "precision@10", "recall@10", "f1@10", "num_rel_ret@10"), 1),
        (("ndcg@5", "ndcg@10"), 1),
        (("cg@5", "dcg(gain_fn=linear_gain)@10"), 1),
        (("map@5", "map@10"), 1),
        # Scaled gains, gains, and the linear gains of cg.
        (("ndcg@5", "ndcg@10", "dcg@5", "dcg@10", "cg@10"), 3),
    ],
)
def test_metrics_of_a_call_share_their_pass_over_the_pool(names, number, monkeypatch):
    """A tie group that straddles the cut is added up once per function of items."""
    passes, totals = [], Pool.totals

    def counted(self, *args):
        passes.append(args)
        return totals(self, *args)

    monkeypatch.setattr(Pool, "totals", counted)
    lists = jax.ShapeDtypeStruct((7, 123), jnp.float32)
    ranking = jax.eval_shape(lambda y, s: jrm.rank(y, s, k=10), lists, lists)
    jax.eval_shape(lambda ranking: jrm.measure(names, ranking), ranking)
    assert len(passes) == number
