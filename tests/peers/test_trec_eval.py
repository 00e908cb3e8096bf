"""Against trec_eval: runs of documents that are judged, retrieved, or both."""

import functools
import warnings

import numpy as np
import pytest

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("default")

KS = (1, 3, 5, 20)

# Our metric of each of its measures.
CUT = {
    "ndcg_cut": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "map_cut": jrm.average_precision,
    "P": functools.partial(jrm.precision, denominator="k"),
    "recall": jrm.recall,
    "success": jrm.hit_rate,
}
WHOLE = {
    "ndcg": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "map": jrm.average_precision,
    "recip_rank": jrm.reciprocal_rank,
    "Rprec": jrm.r_precision,
    "set_P": jrm.precision,
    "set_recall": jrm.recall,
    "set_F": jrm.f_score,
}


def our_metrics(level):
    """All of ours, with documents of at least this level relevant."""

    def at_level(name, metric, **k):
        if not name.startswith("ndcg"):  # it reads grades
            k["relevance_threshold"] = level
        return functools.partial(metric, **k)

    return {
        **{name: at_level(name, metric, k=KS) for name, metric in CUT.items()},
        **{name: at_level(name, metric) for name, metric in WHOLE.items()},
    }


def trec_values(levels, retrieved, level=1, names=None, scores=None, **options):
    """Its values of every query, of the shapes of ours.

    Args:
        levels: `[queries, documents]`, below 0 where not judged.
        retrieved: `[queries, ranks]` documents in rank order, below 0 for none.
        level: The least level of a relevant document.
        names: Names of documents, by which it orders ties.
        scores: `[ranks]`, falling by default.
        options: Of its evaluator.
    """
    names = names or [f"d{document}" for document in range(levels.shape[1])]
    scores = -np.arange(retrieved.shape[1]) if scores is None else scores
    qrel = {
        f"q{query}": {names[d]: int(x) for d, x in enumerate(row) if x >= 0}
        for query, row in enumerate(levels)
    }
    run = {
        f"q{query}": {
            names[d]: float(s) for d, s in zip(row, scores, strict=True) if d >= 0
        }
        for query, row in enumerate(retrieved)
    }
    ks = ",".join(map(str, KS))
    measures = {*(f"{name}.{ks}" for name in CUT), *WHOLE}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrel, measures, relevance_level=level, **options
    )
    found = list(evaluator.evaluate(run).items())
    assert [query for query, _ in found] == list(run)
    return {
        **{
            name: np.array([[one[f"{name}_{k}"] for k in KS] for _, one in found])
            for name in CUT
        },
        **{name: np.array([one[name] for _, one in found]) for name in WHOLE},
    }


@pytest.fixture(scope="module")
def runs():
    """Levels `[queries, documents]` and what was retrieved, `[queries, ranks]`."""
    rng = np.random.default_rng(5)
    queries, documents, ranks = 15, 14, 10
    levels = rng.choice([-1, -1, 0, 0, 1, 2, 3], (queries, documents))
    order = rng.permuted(np.tile(np.arange(documents), (queries, 1)), axis=1)
    count = rng.integers(2, ranks + 1, (queries, 1))
    levels[0] = np.minimum(levels[0], 0)  # nothing relevant
    levels[1] = np.where(np.isin(np.arange(documents), order[1, :ranks]), -1, 3)
    levels[2] = 1  # everything relevant, more than is retrieved
    count[3:5] = [[1], [ranks]]
    retrieved = np.where(np.arange(ranks) < count, order[:, :ranks], -1)
    assert levels[1].max() == 3 and levels[1, retrieved[1]].max() < 0  # all missed
    return levels, retrieved


def labels_in_rank_order(levels, retrieved, unjudged):
    """Levels `[queries, ranks]`, with -1 where nothing was retrieved."""
    labels = np.take_along_axis(levels, retrieved, axis=1)
    return np.where(retrieved < 0, -1, np.where(labels < 0, unjudged, labels))


@pytest.mark.parametrize("name", [*CUT, *WHOLE])
def test_judged_documents_only(name, runs, agree):
    # What is not judged leaves the ranking, as padding does here.
    labels = labels_in_rank_order(*runs, unjudged=-1)
    ranking = jrm.rank_retrieved(labels, pool_labels=runs[0])
    ours = jrm.measure(our_metrics(1), ranking)[name].values
    agree(ours, trec_values(*runs, judged_docs_only_flag=True)[name])


@pytest.mark.parametrize("name", [*CUT, *WHOLE])
def test_scored_lists_of_higher_level(name, runs, agree):
    levels, _ = runs
    scores = np.random.default_rng(6).permuted(
        np.tile(np.arange(levels.shape[1]), (len(levels), 1)), axis=1
    )
    order = np.argsort(-scores, axis=1)
    retrieved = np.where(np.take_along_axis(levels, order, axis=1) >= 0, order, -1)
    ours = jrm.measure(our_metrics(2), jrm.rank(levels, scores))[name].values
    agree(ours, trec_values(levels, retrieved, level=2)[name])


@pytest.mark.parametrize("name", [*CUT, *WHOLE])
def test_ties_by_falling_document_name(name, runs, agree):
    # In index order, if documents are sorted so: our "stable".
    levels, scores = np.maximum(runs[0], 0), np.arange(runs[0].shape[1]) // 4
    everything = np.tile(np.arange(levels.shape[1]), (len(levels), 1))
    names = [f"d{99 - document}" for document in range(levels.shape[1])]
    theirs = trec_values(levels, everything, names=names, scores=scores)[name]
    tiled = np.tile(scores, (len(levels), 1))
    ranking = jrm.rank(levels, tiled, ties="stable")
    agree(jrm.measure(our_metrics(1), ranking)[name].values, theirs)


def test_queries_without_results_count_here(runs, agree):
    # Its average is over the queries of the run, unless told otherwise; ours over all
    # that have judgements.
    levels, retrieved = runs
    retrieved = retrieved.copy()
    retrieved[-1] = -1
    labels = labels_in_rank_order(levels, retrieved, unjudged=0)
    ours = jrm.average_precision.of(jrm.rank_retrieved(labels, pool_labels=levels))
    theirs = trec_values(levels[:-1], retrieved[:-1])["map"]
    agree(ours.mean().compute(), theirs.sum() / len(levels))
    agree(ours.mean("skip").lists, (levels.max(axis=1) > 0).sum())


def test_geometric_mean(runs, agree):
    # Of every query, also where nothing is relevant or found: these have its floor.
    levels, retrieved = runs
    labels = labels_in_rank_order(levels, retrieved, unjudged=0)
    ranking = jrm.rank_retrieved(labels, pool_labels=levels)
    ours = jrm.measure(("gm_map",), ranking)["gm_map"].geometric_mean()
    qrel, run = {}, {}
    for query, (judged, found) in enumerate(zip(levels, retrieved, strict=True)):
        qrel[f"q{query}"] = {f"d{d}": int(x) for d, x in enumerate(judged) if x >= 0}
        run[f"q{query}"] = {f"d{d}": -float(i) for i, d in enumerate(found) if d >= 0}
    theirs = pytrec_eval.RelevanceEvaluator(qrel, {"gm_map"}).evaluate(run)
    logs = [query["gm_map"] for query in theirs.values()]
    assert len(logs) == len(levels) and min(logs) < -11
    agree(ours.compute(), pytrec_eval.compute_aggregated_measure("gm_map", logs))
