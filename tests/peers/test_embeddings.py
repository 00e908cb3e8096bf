"""`evaluate_embeddings` against pytrec_eval and scikit-learn."""

import warnings

import numpy as np
import pytest

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytrec_eval = pytest.importorskip("pytrec_eval")
sklearn_metrics = pytest.importorskip("sklearn.metrics")
pytestmark = pytest.mark.filterwarnings("default")

MEASURES = {
    "ndcg_cut.10": "ndcg(gain_fn=linear_gain)@10",
    "map_cut.10": "map@10",
    "recall.5": "recall@5",
    "map": "map",
    "recip_rank": "mrr",
}


@pytest.fixture(scope="module")
def data():
    """Vectors, graded labels `[queries, items]`, and candidates `[queries, n]`."""
    rng = np.random.default_rng(2)
    queries, items = (rng.normal(size=(n, 12)).astype(np.float32) for n in (25, 300))
    labels = rng.choice([0, 0, 0, 0, 0, 1, 2], (25, 300))
    candidates = np.argsort(-(queries @ items.T), axis=1)[:, :40]
    return queries, items, labels, candidates


@pytest.mark.parametrize("reranked", [False, True])
def test_trec_eval(data, reranked):
    """All items, and candidates: judged documents that were not retrieved count too."""
    import scipy.sparse

    queries, items, labels, candidates = data
    listed = candidates if reranked else np.tile(np.arange(300), (25, 1))
    found = jrm.evaluate_embeddings(
        tuple(MEASURES.values()),
        queries,
        items,
        scipy.sparse.csr_array(labels),
        similarity="l2",
        candidates=candidates if reranked else None,
    )
    distances = np.square(queries[:, None].astype(np.float64) - items).sum(-1)
    run = {
        f"q{i}": {f"d{item}": -float(distances[i, item]) for item in ids}
        for i, ids in enumerate(listed)
    }
    qrels = {
        f"q{i}": {f"d{item}": int(label) for item, label in enumerate(row) if label}
        for i, row in enumerate(labels)
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES)).evaluate(run)
    for measure, name in MEASURES.items():
        expected = [theirs[f"q{i}"][measure.replace(".", "_")] for i in range(25)]
        values = np.ravel(found.lists[name].values)
        np.testing.assert_allclose(values, expected, atol=1e-5, err_msg=name)


def test_scikit_learn(data):
    """The precision of the nearest neighbours, one out: accuracy of a 1-NN classifier."""
    neighbors = pytest.importorskip("sklearn.neighbors")
    _, items, _, _ = data
    classes = (items[:, 0] > 0) * 2 + (items[:, 1] > 0)
    found = jrm.evaluate_embeddings(
        "precision@1",
        items,
        items,
        jrm.by_attributes(
            lambda query, item: query[:, None] == item[None], classes, classes
        ),
        similarity="l2",
        exclude_self=True,
    )
    nearest = neighbors.NearestNeighbors(n_neighbors=1).fit(items).kneighbors()[1]
    np.testing.assert_array_equal(found.items, nearest)
    expected = sklearn_metrics.accuracy_score(classes, classes[nearest[:, 0]])
    np.testing.assert_allclose(found.states["precision@1"].compute(), expected, 1e-6)
