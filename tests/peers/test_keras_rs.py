"""Against keras_rs: batches, masks and weights, and where its result depends on batching.

keras_rs breaks ties at random whatever `shuffle_ties` says, because it always passes a
mask on. So scores are distinct here, except where ties are the subject. It gives masked
items a score just below the least score of the list, so that all scores must be finite.
"""

import functools
import os
import warnings

import numpy as np
import pytest

import jax_rank_metrics as jrm

os.environ["KERAS_BACKEND"] = "jax"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    keras_metrics = pytest.importorskip("keras_rs").metrics
pytestmark = pytest.mark.filterwarnings("default")

KS = (3, 20, None)


def linear(labels):
    """The gain that is the label itself, for keras_rs."""
    return labels


# The class of keras_rs with its options, and the relevance from which it derives list
# weights; None is 1 for labels of at least 1.
THEIRS = {
    "ndcg": (keras_metrics.NDCG, {}, jrm.exponential_gain),
    "ndcg-linear": (keras_metrics.NDCG, {"gain_fn": linear}, jrm.linear_gain),
    "dcg": (keras_metrics.DCG, {}, jrm.exponential_gain),
    "map": (keras_metrics.MeanAveragePrecision, {}, None),
    "mrr": (keras_metrics.MeanReciprocalRank, {}, None),
    "precision": (keras_metrics.PrecisionAtK, {}, None),
    "recall": (keras_metrics.RecallAtK, {}, None),
}
OURS = {
    "ndcg": functools.partial(jrm.ndcg, k=KS),
    "ndcg-linear": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=KS),
    "dcg": functools.partial(jrm.dcg, k=KS),
    "map": functools.partial(jrm.average_precision, k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
}


@pytest.fixture
def keras_value(peer):
    """Returns the mean over batches, each `(labels, scores, mask, weights)`."""

    def value(name, *batches, k):
        metric_class, options, _ = THEIRS[name]

        def run():
            metric = metric_class(k=k, seed=0, **options)
            for labels, scores, mask, weights in batches:
                metric.update_state({"labels": labels, "mask": mask}, scores, weights)
            return metric.result()

        return peer(run)

    return value


@pytest.fixture
def keras_values(keras_value):
    """Returns the mean of one batch at every cutoff."""
    return lambda name, *batch: [keras_value(name, batch, k=k) for k in KS]


def weights_of(kind, shape):
    """Returns weights of each kind by name, some of them 0."""
    rng = np.random.default_rng(8)
    if kind in ("none", "scalar"):
        return {"none": None, "scalar": np.float32(2.5)}[kind]
    drawn = rng.uniform(0.5, 3, shape if kind == "items" else shape[:1])
    return np.where(rng.random(drawn.shape) < 0.15, 0, drawn).astype(np.float32)


@pytest.mark.parametrize("kind", ["none", "scalar"])
@pytest.mark.parametrize("name", OURS)
def test_one_batch(name, kind, lists, keras_values, agree):
    weights = weights_of(kind, lists.labels.shape)
    ours = jrm.measure(OURS, jrm.rank(*lists, weights))[name].mean()
    agree(ours.compute(), keras_values(name, *lists, weights))


@pytest.mark.parametrize("name", OURS)
def test_negative_labels(name, lists, keras_values, agree):
    labels = np.where(lists.mask, lists.labels, np.float32(-1))
    everything = np.ones_like(lists.mask)
    ours = jrm.measure(OURS, jrm.rank(labels, lists.scores))[name].mean()
    agree(ours.compute(), keras_values(name, labels, lists.scores, everything, None))


@pytest.mark.parametrize("kind", ["lists", "items"])
@pytest.mark.parametrize("name", OURS)
def test_weights_with_its_list_weights(name, kind, lists, keras_values, agree):
    weights = weights_of(kind, lists.labels.shape)
    assert (weights == 0).any()
    per_item = weights if kind == "items" else weights[:, None]
    *_, gain_fn = THEIRS[name]
    list_weights = jrm.compat.keras_rs_list_weights(
        lists.labels,
        np.broadcast_to(per_item, lists.labels.shape),
        lists.mask,
        gain_fn=gain_fn,
    )
    ranking = jrm.rank(*lists, weights, list_weights=list_weights)
    ours = jrm.measure(OURS, ranking)[name].mean()
    agree(ours.compute(), keras_values(name, *lists, weights))


# Three lists of two items with nDCG 1/log2(3), 1, and 0, having no relevant item.
LABELS = [[1, 0], [1, 0], [0, 0]]
SCORES = [[1, 2], [2, 1], [2, 1]]
WEIGHTS = [[1, 1], [5, 5], [1, 1]]
CUTS = {"ABC": 0.62566, "AC|B": 0.80442, "A|BC": 0.51190}


@pytest.mark.parametrize("cut", CUTS)
def test_cuts_into_batches_move_its_number_and_not_ours(cut, lists, keras_value, agree):
    # In keras_rs the last list gets the mean weight of the others in its batch; here it
    # gets the mean weight of its items, 1. Every batch is padded to one shape, which saves
    # compilations; padding counts for nothing in both libraries.
    batches, states = [], []
    for names in cut.split("|"):
        rows = ["ABC".index(name) for name in names]
        labels, scores, mask, weights = (np.zeros_like(x) for x in (*lists, lists[0]))
        for padded, values in ((labels, LABELS), (scores, SCORES), (weights, WEIGHTS)):
            padded[: len(rows), :2] = np.float32(values)[rows]
        mask[: len(rows), :2] = True
        batches.append((labels, scores, mask, weights))
        its_weights = jrm.compat.keras_rs_list_weights(
            labels, weights, mask, gain_fn=jrm.exponential_gain
        )
        ranking = jrm.rank(*batches[-1], list_weights=its_weights)
        states.append(jrm.measure(OURS, ranking)["ndcg"].mean())
    theirs = keras_value("ndcg", *batches, k=None)
    np.testing.assert_allclose(theirs, CUTS[cut], atol=1e-5)
    agree(jrm.merge(*states).compute()[KS.index(None)], theirs)
    ours = jrm.merge(*(jrm.ndcg(*batch) for batch in batches)).compute()
    agree(ours, (1 / np.log2(3) + 5 * 1 + 1 * 0) / (1 + 5 + 1))


@pytest.mark.parametrize("name", ["ndcg", "map", "mrr", "precision"])
def test_random_ties_have_the_expected_value_as_mean(name, lists, keras_value):
    scores = np.floor(2 * lists.scores)
    row, copies = 6, 20_000
    many = [np.tile(x[row], (copies, 1)) for x in (lists.labels, scores, lists.mask)]
    assert many[-1].all()
    theirs = keras_value(name, (*many, None), k=3)
    ours = jrm.measure(OURS, jrm.rank(lists.labels, scores, lists.mask))[name]
    # Values in [0, 1] have a standard deviation of at most 1/2.
    difference = abs(theirs - ours.values[row, KS.index(3)])
    assert difference < 4 * 0.5 / np.sqrt(copies)
