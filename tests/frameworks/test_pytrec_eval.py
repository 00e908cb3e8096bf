"""The evaluator of dicts in the loops of MTEB and BEIR, in place of pytrec_eval."""

import copy
import math
import warnings

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from beir.retrieval import custom_metrics as beir_metrics
    from beir.retrieval import evaluation as beir_evaluation
    from mteb._evaluators import retrieval_metrics as mteb_metrics

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import pytrec_eval

KS = [1, 3, 5, 10, 100]


@pytest.fixture(scope="module")
def dicts():
    """Returns judgements and a run with ties; some queries are named as documents are."""
    rng = np.random.default_rng(7)
    qrels, run = {}, {}
    for query in rng.permutation([f"{i}" for i in range(30)]).tolist():
        documents = rng.permutation(40)[:25]
        scores = np.round(rng.normal(size=25), 1).tolist()
        run[query] = {f"{d}": x for d, x in zip(documents, scores, strict=True)}
        levels = rng.choice([0, 1, 2], 15).tolist()
        qrels[query] = {
            f"{d}": x for d, x in zip(rng.permutation(40)[:15], levels, strict=True)
        }
    # MTEB's queries are in the order of the run in one of its steps.
    return dict(sorted(qrels.items())), run


def agree(ours, theirs):
    """Asserts equal keys, and numbers equal up to the rounding to five digits."""
    if isinstance(theirs, dict):
        assert {*ours} == {*theirs}
        for name, value in theirs.items():
            agree(ours[name], value)
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            agree(*pair)
    else:
        assert math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1.1e-5) or (
            math.isnan(ours) and math.isnan(theirs)
        )


@pytest.mark.parametrize("skip_first_result", [False, True])
def test_mteb(monkeypatch, dicts, skip_first_result):
    """All values agree, abstention's too, which read queries in the order of the run."""
    qrels, run = dicts
    arguments = run, qrels, KS, skip_first_result
    theirs = mteb_metrics.calculate_retrieval_scores(*arguments)
    monkeypatch.setattr(mteb_metrics, "pytrec_eval", pytrec_eval)
    ours = mteb_metrics.calculate_retrieval_scores(*arguments)
    assert [*ours.all_scores] == [*theirs.all_scores] == [*run]
    agree(tuple(ours), tuple(theirs))
    assert 0.1 < theirs.ndcg["NDCG@10"] < 0.9 and len(theirs.naucs) > 50


@pytest.mark.parametrize("ignore_identical_ids", [False, True])
def test_beir(monkeypatch, dicts, ignore_identical_ids):
    qrels, run = dicts

    def evaluate():
        copied = copy.deepcopy(run)  # it removes documents
        return beir_evaluation.EvaluateRetrieval.evaluate(
            qrels, copied, KS, ignore_identical_ids=ignore_identical_ids
        )

    theirs = evaluate()
    monkeypatch.setattr(beir_evaluation, "pytrec_eval", pytrec_eval)
    agree(evaluate(), theirs)
    assert 0.1 < theirs[0]["NDCG@10"] < 0.9


def test_measures_of_their_own(dicts):
    """The rules of "My number differs" hold without ties: MTEB by query, BEIR's means."""
    rng, (qrels, run) = np.random.default_rng(8), dicts
    run = {
        query: dict(zip(docs, rng.permutation(len(docs)).tolist(), strict=True))
        for query, docs in run.items()
    }
    qrels = {
        query: {doc: x for doc, x in docs.items() if int(doc) < 30}
        for query, docs in qrels.items()
    }
    empty, *others = run
    qrels[empty] = {doc: 0 for doc in qrels[empty]}
    names = ("mrr@1,3,5", "recall(denominator=attainable)@1,3,5", "hit_rate@1,3,5")
    ks, unjudged = [1, 3, 5], {"missing": "zero", "unjudged": "skip"}
    joined = jrm.join(qrels, run, **unjudged)
    assert {*joined.query_ids} == {*qrels}
    values = joined.measure(names)
    in_order = [[*joined.query_ids].index(query) for query in run]
    mrr, recall, hits = (values[name].values[in_order].T for name in names)
    agree(mrr.tolist(), [*mteb_metrics.mrr(qrels, run, ks).values()])
    theirs = mteb_metrics.recall_cap(qrels, run, ks).values()
    assert all(x[0] is None for x in theirs)
    agree(recall[:, 1:].tolist(), [x[1:] for x in theirs])
    # A hole is a document that was judged for no query.
    judged = dict.fromkeys((doc for docs in qrels.values() for doc in docs), 0)
    anywhere = jrm.join({query: judged for query in qrels}, run, **unjudged)
    holes = 1 - anywhere.measure("judged@1,3,5")["judged@1,3,5"].values[in_order].T
    agree(holes.tolist(), [*mteb_metrics.hole(qrels, run, ks).values()])
    # BEIR divides by all judged queries, and recall by 0 if nothing is relevant.
    del run[others[0]], run[empty], qrels[empty]
    values = jrm.join(qrels, run, **unjudged).measure(names)
    functions = beir_metrics.mrr, beir_metrics.recall_cap, beir_metrics.top_k_accuracy
    for function, name in zip(functions, names, strict=True):
        means = np.mean(values[name].values, axis=0).tolist()
        agree(means, [*function(qrels, run, ks).values()])
    assert len(run) < len(qrels)
