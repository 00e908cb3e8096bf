"""Against scikit-learn: cumulated gain under ties, and metrics of classifiers on lists."""

import functools

import numpy as np
import pytest

import jax_rank_metrics as jrm

sklearn_metrics = pytest.importorskip("sklearn.metrics")
pytestmark = pytest.mark.filterwarnings("default", "ignore:No positive class")

KS = (1, 3, 5, None)

# scikit-learn's function, and ours; both average over ties.
THEIRS = {
    "dcg": sklearn_metrics.dcg_score,
    "dcg-log10": functools.partial(sklearn_metrics.dcg_score, log_base=10),
    "ndcg": sklearn_metrics.ndcg_score,
}
OURS = {
    "dcg": functools.partial(jrm.dcg, gain_fn=jrm.linear_gain, k=KS),
    "dcg-log10": functools.partial(
        jrm.dcg, gain_fn=jrm.linear_gain, discount_fn=jrm.log_discount(10), k=KS
    ),
    "ndcg": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=KS),
}


def tied(scores, width):
    """Returns scores in which `width` neighbouring values tie."""
    return np.floor(scores * 8 / width).astype(np.float32)


@pytest.mark.parametrize("width", [1, 2, 4, 100])
@pytest.mark.parametrize("name", OURS)
def test_cumulated_gain_of_every_list(name, width, lists, agree):
    scores = tied(lists.scores, width)
    ours = jrm.measure(OURS, jrm.rank(lists.labels, scores, lists.mask))[name].values
    compared = 0
    for row, exists in enumerate(lists.mask):
        if exists.sum() < 2:  # scikit-learn refuses it
            continue
        arrays = lists.labels[row : row + 1, exists], scores[row : row + 1, exists]
        agree(ours[row], [THEIRS[name](*arrays, k=k) for k in KS])
        compared += 1
    assert compared >= 10


# scikit-learn's function for lists, and its value if ours is undefined.
MULTI_LABEL = {
    "lrap": (sklearn_metrics.label_ranking_average_precision_score, "one"),
    "coverage_error": (sklearn_metrics.coverage_error, "zero"),
    "label_ranking_loss": (sklearn_metrics.label_ranking_loss, "zero"),
}
MEASURED = (*MULTI_LABEL, "auc", "gauc")


@pytest.mark.parametrize("name", MULTI_LABEL)
def test_multi_label_ranking_of_tied_lists(name, lists, agree):
    scores = np.floor(2 * lists.scores)
    theirs, undefined = MULTI_LABEL[name]
    ranking = jrm.rank(lists.labels, scores, lists.mask)
    ours = jrm.measure(MEASURED, ranking)[name]
    values = np.where(ours.defined, ours.values, undefined == "one")
    rows = np.flatnonzero(
        lists.mask.sum(axis=1) > 1
    )  # scikit-learn refuses shorter ones
    for row in rows:
        exists = lists.mask[row]
        arrays = lists.labels[row : row + 1, exists] >= 1, scores[row : row + 1, exists]
        agree(values[row], theirs(*arrays))
    assert len(rows) >= 10
    weights = np.linspace(0.5, 2, len(scores), dtype=np.float32)
    mean = jrm.evaluate(
        (name,), lists.labels, scores, weights=weights, undefined=undefined
    )
    expected = theirs(lists.labels >= 1, scores, sample_weight=weights)
    agree(mean[name].compute(), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_roc_auc_of_tied_lists(lists, agree, rng, weighted):
    scores = np.floor(2 * lists.scores)
    weights = rng.gamma(1, size=scores.shape).astype(np.float32) if weighted else None
    list_weights = np.ones(len(scores), np.float32)
    ranking = jrm.rank(
        *(lists.labels, scores, lists.mask, weights), list_weights=list_weights
    )
    measured = jrm.measure(MEASURED, ranking)
    ours = measured["auc"]
    for row, exists in enumerate(lists.mask):
        relevant = lists.labels[row, exists] >= 1
        assert ours.defined[row] == (0 < relevant.sum() < relevant.size)
        if ours.defined[row]:
            sample_weight = None if weights is None else weights[row, exists]
            theirs = sklearn_metrics.roc_auc_score(
                relevant, scores[row, exists], sample_weight=sample_weight
            )
            agree(ours.values[row], theirs)
    assert ours.defined.sum() >= 6
    # Lists of one class are left out of the weighted mean, whatever `undefined` says.
    values = np.asarray(ours.values)[ours.defined]
    expected = np.average(values, weights=lists.mask.sum(1)[ours.defined])
    for undefined in ("zero", "one", "skip"):
        state = measured["gauc"].mean(undefined)
        agree(state.compute(), expected)
        assert state.lists == len(values)


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True])
def test_pooled_auc_of_a_million_sigmoids(rng, weighted):
    """It is exact to 1e-5, and always within bounds, which are narrower with more bits."""
    logits = rng.normal(size=10**6)
    clicks = rng.random(10**6) < 1 / (1 + np.exp(2 - logits))
    scores = (1 / (1 + np.exp(-logits))).astype(np.float32)
    weights = rng.gamma(1, size=10**6).astype(np.float32) if weighted else None
    exact = sklearn_metrics.roc_auc_score(clicks, scores, sample_weight=weights)
    widths = []
    for bits, error in ((12, 2e-3), (16, 1e-5), (20, 3e-7)):
        state = jrm.pooled_roc_auc(clicks, scores, None, weights, bits=bits)
        low, high = map(float, state.bounds())
        assert low <= exact <= high
        np.testing.assert_allclose(float(state), exact, atol=error)
        widths.append(high - low)
    assert widths[0] > 10 * widths[1] > 100 * widths[2]
    if not weighted:
        average = jrm.pooled_average_precision(clicks, scores, bits=20)
        low, high = map(float, average.bounds())
        exact = sklearn_metrics.average_precision_score(clicks, scores)
        assert low <= exact <= high
