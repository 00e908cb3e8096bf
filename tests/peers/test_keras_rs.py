"""Against keras_rs: masks and weights, and a result that depends on batching.

keras_rs breaks ties at random whatever `shuffle_ties` says, because it always passes a
mask on. So scores are distinct here. It gives masked items a score just below the least
score of the list, so that all scores must be finite.
"""

import functools
import os

import numpy as np
import pytest

import jax_rank_metrics as jrm

KS = (3, 20, None)
# The class of keras_rs with its options, and the relevance from which it derives list
# weights; None is 1 for labels of at least 1.
THEIRS = {
    "ndcg": ("NDCG", {}, jrm.exponential_gain),
    "ndcg-linear": ("NDCG", {"gain_fn": lambda labels: labels}, jrm.linear_gain),
    "dcg": ("DCG", {}, jrm.exponential_gain),
    "map": ("MeanAveragePrecision", {}, None),
    "mrr": ("MeanReciprocalRank", {}, None),
    "precision": ("PrecisionAtK", {}, None),
    "recall": ("RecallAtK", {}, None),
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


def keras_value(name, *batches, k):
    """Returns the mean over batches, each `(labels, scores, mask, weights)`."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras_rs

    metric_class, options, _ = THEIRS[name]
    metric = getattr(keras_rs.metrics, metric_class)(k=k, seed=0, **options)
    for labels, scores, mask, weights in batches:
        metric.update_state({"labels": labels, "mask": mask}, scores, weights)
    return metric.result()


def drawn_weights(shape):
    """Returns weights, some of them 0."""
    rng = np.random.default_rng(8)
    drawn = rng.uniform(0.5, 3, shape)
    return np.where(rng.random(shape) < 0.15, 0, drawn).astype(np.float32)


@pytest.mark.parametrize("kind", ["lists", "items"])
def test_weights_with_its_list_weights(kind, lists, recorded, agree):
    def by_keras_rs(*batch):
        return {name: [keras_value(name, batch, k=k) for k in KS] for name in THEIRS}

    weights = drawn_weights(lists.labels.shape[: 2 if kind == "items" else 1])
    assert (weights == 0).any()
    per_item = weights if kind == "items" else weights[:, None]
    per_item = np.broadcast_to(per_item, lists.labels.shape)
    theirs = recorded(f"weights of {kind}", by_keras_rs, *lists, weights)
    for gain_fn in {gain_fn for *_, gain_fn in THEIRS.values()}:
        list_weights = jrm.compat.keras_rs_list_weights(
            lists.labels, per_item, lists.mask, gain_fn=gain_fn
        )
        ranking = jrm.rank(*lists, per_item, list_weights=list_weights)
        for name, ours in jrm.measure(OURS, ranking).items():
            if THEIRS[name][-1] is gain_fn:
                agree(ours.mean().compute(), theirs[name])


# Three lists of two items with nDCG 1/log2(3), 1, and 0, having no relevant item.
LABELS = [[1, 0], [1, 0], [0, 0]]
SCORES = [[1, 2], [2, 1], [2, 1]]
WEIGHTS = [[1, 1], [5, 5], [1, 1]]
CUTS = {"ABC": 0.62566, "AC|B": 0.80442, "A|BC": 0.51190}


@pytest.mark.parametrize("cut", CUTS)
def test_cuts_into_batches_move_its_number_and_not_ours(cut, lists, recorded, agree):
    # In keras_rs the last list gets the mean weight of the others in its batch; here it
    # gets the mean weight of its items, 1. Every batch is padded to one shape, which saves
    # compilations; padding counts for nothing in both libraries.
    batches, states, plain = [], [], []
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
        ndcg, weighted = {"ndcg": OURS["ndcg"]}, {"list_weights": its_weights}
        for to, metrics, options in ((states, ndcg, weighted), (plain, OURS, {})):
            ranking = jrm.rank(*batches[-1], **options)
            to.append(jrm.measure(metrics, ranking)["ndcg"].mean())
    theirs = recorded(f"cut {cut}", lambda: keras_value("ndcg", *batches, k=None))
    np.testing.assert_allclose(theirs, CUTS[cut], atol=1e-5)
    agree(jrm.merge(*states).compute()[KS.index(None)], theirs)
    ours = jrm.merge(*plain).compute()[KS.index(None)]
    agree(ours, (1 / np.log2(3) + 5 * 1 + 1 * 0) / (1 + 5 + 1))
