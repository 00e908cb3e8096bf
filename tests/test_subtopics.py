"""Subtopics: soft ranks, unknown entries, and the ends of options."""

import functools
import math

import jax
import numpy as np
import oracle
import pytest
from drawn import draw_short

import jax_rank_metrics as jrm

LISTS = 6


def test_soft_ranks(rng):
    """Soft ranks of one topic after the other give the mean over topics."""
    data = draw_short(rng, LISTS)
    soft = jrm.sigmoid_ranks(0.5)
    results = jrm.average_precision_ia.of(data.ranked(relax=soft))
    topics = np.nan_to_num(data.columns["subtopics"])
    exists = data.mask & (data.labels >= 0)
    topic_values = [
        jrm.average_precision.per_list(topic, data.scores, exists, relax=soft).values
        for topic in np.moveaxis(topics, -1, 0)
    ]
    num_topics = (topics.astype(bool) & exists[..., None]).any(1).sum(-1)
    expected = np.sum(topic_values, 0) / np.maximum(num_topics, 1)
    np.testing.assert_allclose(results.values, expected, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope="module")
def three_items():
    """Ranks two items of one topic before one of another."""
    columns = {"subtopics": np.float32([[1, 0], [1, 0], [0, 1]])}
    scores = np.float32([3, 2, 1])
    return jrm.rank(np.ones(3, np.float32), scores, ties="stable", columns=columns)


def test_err_ia_at_cutoffs_beyond_the_list(three_items):
    """Values equal loops over all ranks up to k; the largest cutoffs take no more time."""
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
        # The sum over 2^31 - 1 ranks is the harmonic number, or a series of the logarithm.
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


@pytest.mark.long
def test_equal_gains_of_packed_lists(rng):
    """If items gain the same, the greedy order takes the first, whatever its rank."""
    topics, scores = rng.random((6, 20, 4)) < 0.3, rng.random((6, 20))
    labels, retrieved = topics.any(-1), rng.random((6, 20)) < 0.7
    in_rows = jrm.rank(
        labels, scores, retrieved=retrieved, columns={"subtopics": topics}
    )
    packed = jrm.rank(
        *(labels.ravel(), scores.ravel()),
        retrieved=retrieved.ravel(),
        columns={"subtopics": topics.reshape(-1, 4)},
        segment_ids=np.repeat(np.arange(6), 20),
        num_segments=6,
    )
    expected, actual = (jrm.alpha_ndcg.of(x, k=4).values for x in (in_rows, packed))
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.long
def test_tied_items_of_long_lists(rng):
    """Means over all orders, with one group, groups of unequal size, and hardly any."""
    scores = rng.integers(0, 8, (3, 500)).astype(np.float32)
    scores[0] = 0
    scores[2] = rng.permutation(500) // 2
    topics = rng.random((3, 500, 2)) < [0.02, 0.4]
    ranks = np.arange(1, 501)
    metrics = {
        "dcg": functools.partial(jrm.alpha_dcg, k=(10, None), alpha=0.1),
        "recall": functools.partial(jrm.subtopic_recall, k=100),
        "nrbp": functools.partial(jrm.nrbp, p=0.99),
    }
    ranking = jrm.rank(topics.any(-1), scores, columns={"subtopics": topics})
    actual = jrm.measure(metrics, ranking)
    for i in range(3):
        for name, q, cuts, values in (
            ("dcg", 0.9, [10, 500], 1 / np.log2(ranks + 1)),
            ("recall", 0.0, 100, np.full(500, 1 / 2)),
            ("nrbp", 0.5, 500, 0.99 ** (ranks - 1.0) * (1 - 0.5 * 0.99) / 2),
        ):
            worths = sum(
                oracle.stops_by_rank(scores[i], (1 - q) * x) / (1 - q)
                for x in topics[i].T
            )
            expected = np.cumsum(worths * values)[np.array(cuts) - 1]
            np.testing.assert_allclose(actual[name].values[i], expected, rtol=1e-6)
