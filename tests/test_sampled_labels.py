"""Metrics of labels that are probabilities: over all labels there can be, and by draws."""

import functools
import itertools

import jax
import numpy as np
import pytest
from marks import long_rows

import jax_rank_metrics as jrm

LISTS, ITEMS, DRAWS = 3, 6, 400
TOTAL = functools.partial(jrm.insq, value="total_utility")
LINEAR = {"p@1,2": "p@1,2", "dcg@3": "dcg@3", "rbp": "rbp", "insq": TOTAL}
DRAWN = {"ndcg@3": "ndcg@3", "mrr": "mrr", "recall@1,3": "recall@1,3"}
METRICS = LINEAR | DRAWN


def drawn():
    """Draws probabilities, 0 and 1 and padding among them, and scores with ties."""
    rng = np.random.default_rng(0)
    probabilities = rng.random((LISTS, ITEMS)).astype(np.float32)
    probabilities[0, 5], probabilities[1, :4] = -1, 0
    probabilities[2, :4] = 1, 0, 0, 0
    return probabilities, rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32)


@functools.cache
def all_labels(name):
    """Measures a metric of all labels that there can be, and how likely these are."""
    probabilities, scores = drawn()
    bits = np.array(list(itertools.product([0, 1], repeat=ITEMS)), np.float32)
    labels = np.broadcast_to(bits[:, None], (len(bits), LISTS, ITEMS))
    labels = np.where(probabilities < 0, -1, labels)
    ranking = jrm.rank(labels, np.broadcast_to(scores, labels.shape))
    metric = METRICS[name]
    named = metric if isinstance(metric, str) else {"metric": metric}
    (lists,) = jrm.measure(named, ranking).values()
    chances = np.where(labels == 1, probabilities, 1 - probabilities)
    chances = np.where(labels < 0, 0.5, chances).astype(np.float64).prod(-1)
    values = np.asarray(lists.values, np.float64).reshape(len(bits), LISTS, -1)
    return values, np.asarray(lists.defined), chances


# The choices for undefined lists are told apart for one metric of each kind.
@pytest.mark.parametrize(
    "name, undefined",
    [
        *(("p@1,2", "one"), ("insq", "zero"), ("recall@1,3", "skip")),
        *long_rows(("p@1,2", "zero"), ("p@1,2", "skip"), ("insq", "skip")),
        *long_rows(("dcg@3", "skip"), ("rbp", "one"), ("ndcg@3", "one")),
        *long_rows(("recall@1,3", "zero"), ("recall@1,3", "one"), ("mrr", "zero")),
    ],
)
def test_all_labels_of_a_list(name, undefined):
    """Ties, padding, several cutoffs and sums: mean and variance over all 64 labels.

    Linear metrics are exact, others within five standard errors of draws.
    """
    values, defined, chances = all_labels(name)
    if undefined == "one":
        values = np.where(defined[..., None], values, 1)
    if undefined == "skip":
        chances = chances * defined
    known = (chances * defined).sum(0) > 0
    chances = (chances / np.maximum(chances.sum(0), 1e-30))[..., None]
    mean = (chances * values).sum(0)
    variance = (chances * (values - mean) ** 2).sum(0)
    arguments = METRICS[name], *drawn(), jax.random.key(3), DRAWS
    lists, actual = jrm.sampled_labels(*arguments, undefined=undefined)
    # Values in [0, 1]: their squared distance to the mean has at most this variance.
    slack = 5 * np.sqrt(variance / DRAWS) + 1e-6 if name in DRAWN else 2e-6
    if name in LINEAR:
        np.testing.assert_array_equal(lists.defined, known)
    for x, exact in ((lists.values, mean), (actual, variance)):
        assert (np.abs(np.asarray(x).reshape(mean.shape) - exact) <= slack).all()
    assert lists.undefined == undefined


def long_lists():
    """Draws probabilities, and scores without ties."""
    rng = np.random.default_rng(1)
    scores = np.tile(np.arange(64.0, dtype="f"), (8, 1))[:, rng.permutation(64)]
    return rng.random((8, 64)).astype("f"), scores


def test_long_lists():
    """Items too many for pairs add up as a formula says."""
    (p, scores), key = long_lists(), jax.random.key(0)
    lists, variance = jrm.sampled_labels("dcg", p, scores, key)
    ranked = np.take_along_axis(p, np.argsort(-scores, 1), 1).astype(np.float64)
    discounts = 1 / np.log2(np.arange(2, 66))
    np.testing.assert_allclose(lists.values, ranked @ discounts, rtol=1e-5)
    np.testing.assert_allclose(
        variance, (ranked * (1 - ranked)) @ discounts**2, rtol=1e-5
    )


@pytest.mark.long
def test_keys():
    """A key has draws of its own, which are the same again."""
    first, again, other = (
        jrm.sampled_labels("ndcg@5", *long_lists(), jax.random.key(i), 20).lists.values
        for i in (0, 0, 1)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.long
def test_certain_labels_and_weights():
    """Labels of 0 and 1 are what they are; masks and weights of lists apply."""
    labels = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    scores = np.array([[4.0, 3, 2, 1]] * 3)
    mask, weights = np.ones(labels.shape, bool), np.array([2.0, 1, 0])
    mask[0, 3] = False
    uncertain = np.where(mask, labels, 7)  # masked labels are never read
    ranking = jrm.rank(labels, scores, mask, list_weights=weights)
    for name, of in jrm.measure(("map", "p@3"), ranking).items():
        lists, variance = jrm.sampled_labels(
            name, uncertain, scores, jax.random.PRNGKey(0), 5,
            mask=mask, list_weights=weights,
        )  # fmt: skip
        for a, b in zip(jax.tree.leaves(lists), jax.tree.leaves(of), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        assert not variance.any()
