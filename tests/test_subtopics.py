"""Metrics of subtopics, against loops over one list in float64 and against each other."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from quick_programs import quick_measure

import jax_rank_metrics as jrm

LISTS, ITEMS, TOPICS = 6, 7, 3
KS = (1, 3, 20, None)
ALPHA, PATIENCE = 0.3, 0.8

METRICS = {
    "alpha_dcg": functools.partial(jrm.alpha_dcg, k=KS, alpha=ALPHA),
    "alpha_ndcg": functools.partial(jrm.alpha_ndcg, k=KS, alpha=ALPHA),
    "err_ia": functools.partial(jrm.err_ia, k=KS, alpha=ALPHA),
    "nrbp": functools.partial(jrm.nrbp, p=PATIENCE, alpha=ALPHA),
    "subtopic_recall": functools.partial(jrm.subtopic_recall, k=KS),
    "precision_ia": functools.partial(jrm.precision_ia, k=KS),
    "precision_ia-k": functools.partial(jrm.precision_ia, k=KS, denominator="k"),
    "average_precision_ia": functools.partial(jrm.average_precision_ia, k=KS),
}
CLOSED = ("precision_ia", "precision_ia-k", "average_precision_ia")


class Query:
    """One list: the topics of its items, and loops over an order of the items."""

    def __init__(self, has, pool):
        """Finds the topics of the pool."""
        self.has = [[bool(x) for x in row] for row in np.asarray(has) != 0]
        self.pool = pool
        self.topics = [
            t for t in range(len(self.has[0])) if any(self.has[i][t] for i in pool)
        ]

    def gain(self, i, before, alpha=ALPHA):
        """Returns the gain of an item after the items before it."""
        terms = [
            (1 - alpha) ** sum(self.has[j][t] for j in before)
            for t in self.topics
            if self.has[i][t]
        ]
        return math.fsum(terms)

    def gained(self, order, k, discount):
        """Returns Σ discount·gain over the first k ranks."""
        top = order[:k]
        return math.fsum(
            discount(r) * self.gain(i, top[: r - 1]) for r, i in enumerate(top, 1)
        )

    def alpha_dcg(self, order, k):
        """Returns α-DCG."""
        return self.gained(order, k, oracle.log2)

    def alpha_ndcg(self, order, k):
        """Divides by the greedy order, where the first of equal gains is taken."""
        greedy, remaining = [], sorted(self.pool)
        while remaining and len(greedy) != k:
            gains = [self.gain(i, greedy) for i in remaining]
            best = next(x for x, gain in enumerate(gains) if gain > max(gains) - 1e-12)
            greedy.append(remaining.pop(best))
        return self.alpha_dcg(order, k) / self.alpha_dcg(greedy, k)

    def err_ia(self, order, k):
        """Divides by the value of items that have every topic, at all ranks."""
        ranks = range(1, (len(order) if k is None else k) + 1)
        full_coverage = math.fsum((1 - ALPHA) ** (r - 1) / r for r in ranks)
        return (
            self.gained(order, k, oracle.reciprocal) / len(self.topics) / full_coverage
        )

    def nrbp(self, order, k):
        """Returns NRBP of the whole list."""
        values = self.gained(order, None, lambda r: PATIENCE ** (r - 1))
        return (1 - (1 - ALPHA) * PATIENCE) / len(self.topics) * values

    def subtopic_recall(self, order, k):
        """Returns the share of the topics that is covered."""
        seen = {t for i in order[:k] for t in self.topics if self.has[i][t]}
        return len(seen) / len(self.topics)

    def mean(self, metric, order, k, **options):
        """Returns the mean of a metric over topics, each as the relevance."""
        values = []
        for t in self.topics:
            case = oracle.List([row[t] for row in self.has])
            case.pool = self.pool
            values.append(metric(case, order, k, **options))
        return math.fsum(values) / len(values)

    def value(self, name, order, k):
        """Returns a metric by its name."""
        if name in CLOSED:
            name, _, denominator = name.partition("-")
            options = {"denominator": denominator} if denominator else {}
            metric = getattr(oracle, name.removesuffix("_ia"))
            return self.mean(metric, order, k, **options)
        return getattr(self, name)(order, k)


def draw(rng, lists=LISTS, items=ITEMS):
    """Draws ties, padding, labels independent of topics, and a list without any topic."""
    subtopics = (rng.random((lists, items, TOPICS)) < 0.35).astype(np.float32)
    subtopics[0] = 0
    subtopics[1, :, 1] = 0
    scores = rng.integers(0, 4, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) < 0.8
    labels = rng.integers(0, 2, (lists, items)).astype(np.float32)
    subtopics[2] *= mask[2, :, None]
    subtopics[2, 0], mask[2, 0] = 1, True
    return labels, scores, mask, subtopics


def measure(labels, scores, mask, subtopics, metrics=METRICS, **how):
    """Returns the results of metrics, and the ranking they read."""
    ranking = jrm.rank(labels, scores, mask, columns={"subtopics": subtopics}, **how)
    return quick_measure(metrics, ranking), ranking


def check_same(results, expected):
    """Asserts equal values, weights and defined lists."""
    for name, lists in expected.items():
        close = functools.partial(
            np.testing.assert_allclose, rtol=1e-6, atol=1e-6, err_msg=name
        )
        close(results[name].values, lists.values)
        close(results[name].weights, lists.weights)
        np.testing.assert_array_equal(results[name].defined, lists.defined, name)


def test_against_loops(rng):
    """Every metric at every cutoff; closed forms against all orders of tied items."""
    labels, scores, mask, subtopics = draw(rng)
    results, ranking = measure(labels, scores, mask, subtopics)
    for row in range(LISTS):
        pool = oracle.existing(labels[row], mask[row])
        query = Query(subtopics[row], pool)
        order = [int(i) for i in ranking.items[row] if i >= 0]
        groups = oracle.tie_groups(pool, scores[row])
        for name, lists in results.items():
            assert lists.defined[row] == bool(query.topics)
            if not query.topics:
                np.testing.assert_array_equal(lists.values[row], 0)
                continue
            orders = list(oracle.all_orders(groups)) if name in CLOSED else [order]
            ks = (None,) if name == "nrbp" else KS
            expected = [
                math.fsum(query.value(name, candidate, k) for candidate in orders)
                / len(orders)
                for k in ks
            ]
            np.testing.assert_allclose(
                np.atleast_1d(lists.values[row]), expected, atol=1e-6, err_msg=name
            )


def test_what_is_masked_is_not_read(rng):
    """Nothing in padding changes a value; every number except 0 and NaN is a topic."""
    labels, scores, mask, subtopics = draw(rng)
    expected, _ = measure(labels, scores, mask, subtopics)
    garbage = rng.choice(np.float32([np.nan, np.inf, -1, 3]), subtopics.shape)
    dirty = np.where(mask[..., None], subtopics * np.float32(-2.5), garbage)
    results, _ = measure(labels, scores, mask, dirty)
    check_same(results, expected)


@pytest.mark.long
def test_packed_lists(rng):
    """Packed items lie in any order; the greedy order breaks ties by index in the list."""
    labels, scores, mask, subtopics = draw(rng)
    expected, _ = measure(labels, scores, mask, subtopics, ties="stable")
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    order = np.argsort(np.tile(np.arange(ITEMS), LISTS), kind="stable")  # interleaved
    flat = [
        x.reshape(-1, *x.shape[2:])[order] for x in (labels, scores, mask, subtopics)
    ]
    results, _ = measure(
        *flat, ties="stable", segment_ids=ids[order], num_segments=LISTS
    )
    check_same(results, expected)


@pytest.mark.long
def test_retrieved_lists(rng):
    """Lists of which some items were judged and not returned."""
    labels, scores, mask, subtopics = draw(rng)
    scores = rng.permuted(np.tile(np.float32(np.arange(ITEMS)), (LISTS, 1)), axis=1)
    returned = rng.random(scores.shape) < 0.7
    expected, ranking = measure(labels, scores, mask, subtopics, retrieved=returned)
    items = np.asarray(ranking.items)
    slots = np.maximum(items, 0)
    listed = jrm.rank_retrieved(
        np.where(items < 0, -1, np.take_along_axis(labels, slots, 1)),
        pool_labels=labels,
        pool_mask=mask,
        columns={"subtopics": np.take_along_axis(subtopics, slots[..., None], 1)},
        pool_columns={"subtopics": subtopics},
    )
    check_same(jrm.measure(METRICS, listed), expected)


@pytest.mark.long
def test_under_jit_and_vmap(rng):
    """Under vmap, the loop of the greedy order ends when all lists are done."""
    labels, scores, mask, subtopics = draw(rng)
    expected, _ = measure(labels, scores, mask, subtopics, ties="stable")

    def measure_list(*arrays):
        return measure(*arrays, ties="stable")[0]

    results = jax.jit(jax.vmap(measure_list))(labels, scores, mask, subtopics)
    check_same(results, expected)


@pytest.mark.long
@pytest.mark.parametrize("tied", [True, False])
def test_intent_aware_metrics_are_means_over_topics(tied, rng):
    """Long lists: whole, cut inside a tie group and packed, with groups of any size or pairs."""
    items, ks = 70, (4, 33, 40)
    labels, scores, mask, subtopics = draw(rng, items=items)
    if not tied:  # pairs at most
        pair_scores = np.tile(np.float32(np.arange(items) // 2), (LISTS, 1))
        scores = rng.permuted(pair_scores, axis=1)
    subtopics = subtopics.astype(bool)
    counterparts = {
        "precision_ia": jrm.precision,
        "average_precision_ia": jrm.average_precision,
    }
    intent_aware = {
        name: functools.partial(getattr(jrm, name), k=ks) for name in counterparts
    }
    per_topic_metrics = {
        name: functools.partial(metric, k=ks) for name, metric in counterparts.items()
    }
    topic_labels = np.moveaxis(subtopics, -1, 0)
    copies = [np.tile(x, (TOPICS, 1, 1)) for x in (scores, mask)]
    topic_results = jrm.measure(
        per_topic_metrics, jrm.rank(topic_labels.astype(np.int32), *copies)
    )
    num_topics = np.maximum((topic_labels & mask).any(-1).sum(0), 1)

    def check(results):
        for name, lists in topic_results.items():
            expected = np.asarray(lists.values).sum(0) / num_topics[:, None]
            np.testing.assert_allclose(results[name].values, expected, atol=1e-6)

    for k in (None, 40):
        check(measure(labels, scores, mask, subtopics, intent_aware, k=k)[0])
    flat = (x.reshape(-1, *x.shape[2:]) for x in (labels, scores, mask, subtopics))
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), items)
    check(measure(*flat, intent_aware, segment_ids=ids, num_segments=LISTS)[0])


def test_soft_ranks(rng):
    """Soft ranks of one topic after the other give the mean over topics."""
    labels, scores, mask, subtopics = draw(rng)
    soft = jrm.sigmoid_ranks(0.5)
    results, _ = measure(
        *(labels, scores, mask, subtopics), ("average_precision_ia",), relax=soft
    )
    topic_values = [
        jrm.average_precision.per_list(topic, scores, mask, relax=soft).values
        for topic in np.moveaxis(subtopics, -1, 0)
    ]
    num_topics = np.maximum(
        (subtopics.astype(bool) & mask[..., None]).any(1).sum(-1), 1
    )
    expected = np.sum(topic_values, 0) / num_topics
    np.testing.assert_allclose(
        results["average_precision_ia"].values, expected, rtol=1e-6, atol=1e-6
    )


def metrics_of_ordered(ks):
    """Returns the metrics that need no whole lists, at these cutoffs."""
    return {
        name: functools.partial(metric.func, **metric.keywords | {"k": ks})
        for name, metric in METRICS.items()
        if name not in ("nrbp", "alpha_ndcg")
    }


@pytest.mark.long
def test_items_over_devices(rng):
    """Every metric except alpha-nDCG, whose ideal order needs whole lists."""
    data = draw(rng, items=16)

    def run(*data, metrics=None):
        return measure(
            *data, metrics or metrics_of_ordered((1, 5)), items_axis="model", k=5
        )[0]

    expected, _ = measure(*data, metrics_of_ordered((1, 5)), k=5)
    check_same(over_devices(run, P(None, "model"), P())(*data), expected)
    alone = functools.partial(run, metrics=("alpha_ndcg@5",))
    with pytest.raises(ValueError, match="greedy ideal"):
        over_devices(alone, P(None, "model"), P())(*data)


@pytest.mark.long
def test_lists_over_devices(rng):
    """The greedy order ends on each device when its own lists are done."""
    data, metrics = draw(rng, lists=8), {"alpha_ndcg": METRICS["alpha_ndcg"]}
    expected, _ = measure(*data, metrics, ties="stable")

    def run(*data):
        return measure(*data, metrics, ties="stable")[0]

    check_same(over_devices(run, P("model"), P("model"))(*data), expected)


def over_devices(run, in_specs, out_specs):
    """Maps `run` over four devices, by which arrays are sharded."""
    devices, kind = jax.devices()[:4], (AxisType.Auto,)
    mesh = jax.make_mesh((4,), ("model",), axis_types=kind, devices=devices)
    return jax.jit(
        jax.shard_map(run, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    )


@pytest.mark.long
def test_ids_of_relevant_items(rng):
    """The relevant ids are those with topics; other items take ranks too."""
    _, scores, _, subtopics = draw(rng)
    scores = rng.permuted(np.tile(np.float32(np.arange(ITEMS)), (LISTS, 1)), axis=1)
    ids = np.where(subtopics.any(-1), np.arange(ITEMS, dtype=np.int32), -1)
    labels, mask = subtopics.any(-1).astype(np.float32), np.ones(scores.shape, bool)
    table = metrics_of_ordered(KS) | {"nrbp": METRICS["nrbp"]}
    expected, _ = measure(labels, scores, mask, subtopics, table)
    few = jrm.rank_scores(scores, ids, columns={"subtopics": subtopics})
    check_same(jrm.measure(table, few), expected)
    with pytest.raises(ValueError, match="greedy ideal"):
        jrm.alpha_ndcg.of(few)


@pytest.mark.long
def test_item_weights_weigh_lists_alone(rng):
    """Item weights imply list weights as in metrics of labels, and leave values alone."""
    labels, scores, mask, subtopics = draw(rng)
    weights = rng.gamma(2, size=labels.shape).astype(np.float32)
    columns = {"subtopics": subtopics}
    ranking = jrm.rank(labels, scores, mask, weights, columns=columns)
    table = ("strec@3", "average_precision_ia", "recall")
    results = jrm.measure(table, ranking)
    expected, _ = measure(labels, scores, mask, subtopics, table)
    for name in table[:2]:
        np.testing.assert_allclose(results[name].values, expected[name].values, 1e-6)
        np.testing.assert_array_equal(results[name].weights, results["recall"].weights)


def test_counts_may_have_any_axes(rng):
    """Counted functions may have trailing axes: each entry counts as if it were alone."""
    labels, scores, mask, subtopics = draw(rng)
    columns = {"a": subtopics, "b": subtopics[..., :2] == 0}
    ranking = jrm.rank(labels, scores, mask, columns=columns)

    def combined(items):
        return (items.columns["a"] > 0)[..., None] & items.columns["b"][..., None, :]

    def entry(items, topic, column):
        return combined(items)[..., topic, column]

    def place_fn(place, k):
        (above, labeled_above), (tied, _) = place.counted_above, place.counted_tied
        return (above + 0.5 * tied + labeled_above) * place.within(k)

    @jax.jit
    def run(ranking):
        return ranking.expected_sum(
            combined,
            place_fn,
            (2, None),
            counting=(combined, lambda items: items.labels > 0),
        )

    @jax.jit
    def run_each(ranking):
        fns = [
            functools.partial(entry, topic=topic, column=column)
            for topic in range(TOPICS)
            for column in range(2)
        ]
        values = [
            ranking.expected_sum(
                fn, place_fn, (2, None), counting=(fn, lambda items: items.labels > 0)
            )
            for fn in fns
        ]
        return jnp.stack(values, -1).reshape(LISTS, 2, TOPICS, 2)

    np.testing.assert_allclose(run(ranking), run_each(ranking), rtol=1e-6)
    assert run(ranking).any()


@pytest.mark.parametrize(
    "metric, subtopics, error, message",
    [
        ("strec", np.ones(3), ValueError, "one entry for each item and subtopic"),
        ("strec", np.ones((3, 0)), ValueError, "one entry for each item and subtopic"),
        ("strec", np.ones((3, 2, 1)), ValueError, "one entry for each"),
        ("strec", np.ones((2, 2)), ValueError, "one entry per item"),
        ("strec", np.ones((3, 2), complex), TypeError, "subtopics"),
        ("strec", None, ValueError, "reads the column 'subtopics'"),
        ("alpha_ndcg(alpha=1.5)", np.ones((3, 2)), ValueError, "from 0 to 1"),
        ("err_ia(alpha=True)", np.ones((3, 2)), TypeError, "from 0 to 1"),
        ("nrbp(p=1.0)", np.ones((3, 2)), ValueError, "below 1"),
        ("precision_ia(denominator=n)", np.ones((3, 2)), ValueError, "denominator"),
    ],
)
def test_errors(metric, subtopics, error, message):
    columns = None if subtopics is None else {"subtopics": subtopics}
    with pytest.raises(error, match=message):
        jrm.evaluate(metric, np.ones(3), np.arange(3.0), columns=columns)


def test_unknown_subtopics_are_none():
    """NaN in the column means that the item lacks the subtopic."""
    columns = {"subtopics": np.float32([[1, np.nan], [np.nan, np.nan]])}
    state = jrm.subtopic_recall(np.ones(2), np.float32([2, 1]), columns=columns, k=1)
    assert state.compute() == 1


@pytest.fixture(scope="module")
def three_items():
    """Ranks two items of one topic before one of another."""
    columns = {"subtopics": np.float32([[1, 0], [1, 0], [0, 1]])}
    return jrm.rank(np.ones(3, np.float32), np.float32([3, 2, 1]), columns=columns)


def test_err_ia_at_cutoffs_beyond_the_list(three_items):
    """Against loops over all ranks up to k; the largest cutoffs take no more time."""
    ks, most = (3, 100, 4_096, 4_097, 100_000), 2**31 - 1
    table = {
        str(alpha): functools.partial(jrm.err_ia, k=(*ks, most), alpha=alpha)
        for alpha in (0.0, 0.0001, 0.5, 1.0)
    }
    for name, lists in jax.device_get(jrm.measure(table, three_items)).items():
        alpha = float(name)
        gained = (1 + (1 - alpha) / 2 + 1 / 3) / 2
        for k, value in zip(ks, lists.values, strict=False):
            ranks = np.arange(1, k + 1)
            full = np.sum((1 - alpha) ** (ranks - 1.0) / ranks)
            np.testing.assert_allclose(value, gained / full, rtol=3e-7)
        # Of a sum over 2^31 - 1 ranks: the harmonic number, or a series of the logarithm.
        ends = {0: np.log(most) + np.euler_gamma, 1: 1}
        limit = ends[alpha] if alpha in ends else -np.log(alpha) / (1 - alpha)
        np.testing.assert_allclose(lists.values[-1], gained / limit, rtol=3e-7)


def test_the_ends_of_alpha(three_items):
    """With alpha 0 nothing is used up; with 1 the second item of a topic is worth 0."""
    second, third = 1 / math.log2(3), 1 / math.log2(4)
    gains = {0: 1 + second + third, 1: 1 + third}
    ideals = {0: 1 + second + third, 1: 1 + second}
    table = {
        f"{metric.__name__} {alpha}": functools.partial(metric, alpha=alpha, k=3)
        for metric in (jrm.alpha_dcg, jrm.alpha_ndcg)
        for alpha in gains
    }
    values = {n: x.values for n, x in jrm.measure(table, three_items).items()}
    for alpha, gain in gains.items():
        np.testing.assert_allclose(values[f"alpha_dcg {alpha}"], gain, rtol=1e-6)
        ratio = gain / ideals[alpha]
        np.testing.assert_allclose(values[f"alpha_ndcg {alpha}"], ratio, rtol=1e-6)
