"""`evaluate_users` against trec_eval, which reads the recommended items as a run."""

import numpy as np
import pytest
import scipy.sparse

import jax_rank_metrics as jrm

pytrec_eval = pytest.importorskip("pytrec_eval")

USERS, ITEMS = 30, 60
OURS = {
    "ndcg(gain_fn=linear_gain)@10": "ndcg_cut_10",
    "recall@10": "recall_10",
    "map@10": "map_cut_10",
    "mrr@10": "recip_rank",
}


@pytest.mark.parametrize("embedded", [True, False])
def test_recommendations(embedded, agree):
    """Graded interactions; the run holds the ten best items of each user."""
    rng = np.random.default_rng(5)
    queries, items = (
        rng.normal(size=(n, 6)).astype(np.float32) for n in (USERS, ITEMS)
    )
    scores = queries @ items.T
    seen = rng.random(scores.shape) < 0.2
    labels = np.where(seen, 0, rng.choice([0, 0, 0, 0, 0, 1, 2, 3], scores.shape))
    assert (labels.sum(1) > 0).all()
    run, relevant = {}, {}
    for user, row in enumerate(np.where(seen, -np.inf, scores)):
        best = np.argsort(-row)[:10]
        run[f"u{user}"] = {f"i{item}": float(row[item]) for item in best}
        relevant[f"u{user}"] = {f"i{i}": int(y) for i, y in enumerate(labels[user])}
    measures = {"ndcg_cut.10", "recall.10", "map_cut.10", "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(relevant, measures).evaluate(run)
    evaluation = jrm.evaluate_users(
        tuple(OURS),
        (queries, items) if embedded else scores,
        scipy.sparse.csr_array(labels),
        seen=scipy.sparse.csr_array(seen),
        batch_size=8,
    )
    for name, measure in OURS.items():
        values = [theirs[f"u{user}"][measure] for user in range(USERS)]
        agree(evaluation.lists[name].values, np.float32(values))
