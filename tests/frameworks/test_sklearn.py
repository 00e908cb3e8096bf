"""The adapter for scikit-learn: cross-validation and search, multilabel and packed."""

import numpy as np
import pytest
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics import run
from jax_rank_metrics.adapters.sklearn import score, scorer


@pytest.fixture
def samples():
    """Samples with any number of five classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 5)).astype(np.float32)
    return X, (X + rng.normal(size=X.shape) > 0.3).astype(int)


def test_multilabel(samples):
    """Every sample is a list; both functions agree with folds by hand."""
    X, y = samples
    model, folds = OneVsRestClassifier(LogisticRegression()), KFold(3)
    by_hand = []
    for train, test in folds.split(X):
        scores = model.fit(X[train], y[train]).decision_function(X[test])
        by_hand.append(float(jrm.ndcg(y[test], scores.astype(np.float32), k=3)))
    results = cross_val_score(model, X, y, cv=folds, scoring=scorer("ndcg@3"))
    np.testing.assert_allclose(results, by_hand, atol=1e-6)
    scores_of = cross_validate(
        model,
        X,
        y,
        cv=folds,
        scoring={
            "ndcg": scorer("ndcg@3", response_method="predict_proba"),
            "first": scorer("average_relevance_position", greater_is_better=False),
        },
    )
    np.testing.assert_allclose(scores_of["test_ndcg"], by_hand, atol=1e-6)
    assert (scores_of["test_first"] < 0).all()


def test_doubles_do_not_tie():
    """Probabilities near 1, which differ in float64 alone, do not tie."""
    rng = np.random.default_rng(1)
    labels, far = rng.integers(0, 3, (6, 8)), rng.normal(size=(6, 8))
    near = 1 - 1e-9 * rng.permuted(np.tile(np.arange(8), (6, 1)), axis=1)
    for scores in (near, far):
        results = score(labels, scores, metric="ndcg(gain_fn=linear_gain)@5")
        expected = sklearn.metrics.ndcg_score(labels, scores, k=5)
        np.testing.assert_allclose(results, expected, rtol=1e-6)
    near[0, 3] = np.nan
    assert np.isfinite(score(labels, near, metric="mrr"))
    with pytest.raises(TypeError, match="tie"):
        scorer("ndcg@3", tie="stable")


def test_grid_search(samples):
    """The search prefers a model to one that only knows how frequent classes are."""
    X, y = samples
    learner = LogisticRegression()
    model = OneVsRestClassifier(learner)
    search = GridSearchCV(
        model,
        {"estimator": [DummyClassifier(), learner]},
        cv=KFold(3),
        scoring=scorer("ndcg@3"),
    ).fit(X, y)
    assert search.best_params_ == {"estimator": learner}
    folds = cross_val_score(model, X, y, cv=KFold(3), scoring=scorer("ndcg@3"))
    np.testing.assert_allclose(search.best_score_, folds.mean(), atol=1e-6)


def test_learning_to_rank(lists):
    """Samples are items; the ids of their queries reach the scorer and the folds."""
    real = lists.labels >= 0
    ids = np.broadcast_to(np.arange(11)[:, None], real.shape)[real]
    X, y = lists.features[real], lists.labels[real]
    with sklearn.config_context(enable_metadata_routing=True):
        results = cross_val_score(
            Ridge(),
            X,
            y,
            cv=GroupKFold(3),
            scoring=scorer("mrr", response_method="predict").set_score_request(
                query_ids=True
            ),
            params={"groups": ids, "query_ids": ids},
        )
    by_hand = []
    for train, test in GroupKFold(3).split(X, y, ids):
        model = Ridge().fit(X[train], y[train])
        rows = np.unique(ids[test])
        scores = model.predict(lists.features[rows].reshape(-1, 3)).reshape(-1, 8)
        by_hand.append(float(jrm.reciprocal_rank(lists.labels[rows], scores)))
    np.testing.assert_allclose(results, by_hand, atol=1e-6)


def test_folds_share_programs():
    """Folds of any size share few programs, with lists as rows or by their ids."""
    rng, programs = np.random.default_rng(2), run._mean_lists._cache_size()
    for num_lists in (1, 2, 10, 100, 1000, 1100):
        items = int(rng.integers(2, 300))
        labels = rng.integers(0, 2, (num_lists, items))
        scores = rng.permuted(np.tile(np.arange(items), (num_lists, 1)), axis=1)
        expected = float(jrm.reciprocal_rank(labels, scores))
        rows = score(labels, scores, metric="mrr")
        shuffle = rng.permutation(labels.size)
        ids = np.repeat(np.arange(num_lists), items)[shuffle]
        flat = (x.reshape(-1)[shuffle] for x in (labels, scores))
        by_id = score(*flat, query_ids=ids, metric="mrr")
        np.testing.assert_allclose([rows, by_id], expected, atol=1e-6)
        programs += 1  # that of `expected`
    # The widths 64, 256 and 1,024, each for up to 64 lists and for more.
    assert run._mean_lists._cache_size() - programs <= 6


def test_what_is_refused(samples):
    """Arguments of other shapes raise what `evaluate` raises."""
    _, labels = samples
    for wrong in (
        {"y_true": labels[0, :3], "y_score": labels[0, :2], "query_ids": [1, 1, 1]},
        {"y_true": labels[0], "y_score": labels[0], "query_ids": [1, 1, 1]},
        {"y_true": 1, "y_score": 0.5},
    ):
        with pytest.raises(ValueError, match="shape"):
            score(**wrong, metric="mrr")
    with pytest.raises(
        ValueError, match=r"query_ids has shape \(1,\), but y_true.*repeat"
    ):
        score(labels[0], labels[0], query_ids=[1], metric="mrr")


def test_nothing_at_all():
    """Without lists, or without items, the value is 0."""
    for shape in ((0, 3), (2, 0), (0,)):
        assert score(np.zeros(shape), np.zeros(shape), metric="mrr") == 0
    with pytest.raises(ValueError, match="query_ids is empty"):
        score([], [], query_ids=[], metric="mrr")


def test_few_lists_are_weighted(lists):
    """Weights of samples weigh lists if lists are rows, and items if lists have ids."""
    scores, weights = lists.features.sum(-1), np.linspace(0, 1, 11)
    rows = score(lists.labels[:10], scores[:10], weights[:10], metric="mrr")
    state = jrm.reciprocal_rank(
        lists.labels[:10], scores[:10], list_weights=weights[:10]
    )
    np.testing.assert_allclose(rows, float(state), atol=1e-6)
    real = lists.labels >= 0
    ids = np.broadcast_to(np.arange(11)[:, None], real.shape)[real]
    item_weights = np.random.default_rng(3).random(real.shape)
    by_id = score(
        *(lists.labels[real], scores[real], item_weights[real]),
        query_ids=ids,
        metric="ndcg@5",
    )
    state = jrm.ndcg(lists.labels, scores, weights=item_weights, k=5)
    np.testing.assert_allclose(by_id, float(state), atol=1e-6)
