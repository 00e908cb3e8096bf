"""Runs of documents that are judged, retrieved or both, against trec_eval."""

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

# The metric here for each of its measures, with and without a cutoff.
WITH_CUTOFF = {
    "ndcg_cut": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "map_cut": jrm.average_precision,
    "P": functools.partial(jrm.precision, denominator="k"),
    "recall": jrm.recall,
    "success": jrm.hit_rate,
}
WITHOUT_CUTOFF = {
    "ndcg": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "map": jrm.average_precision,
    "recip_rank": jrm.reciprocal_rank,
    "Rprec": jrm.r_precision,
    "set_P": jrm.precision,
    "set_recall": jrm.recall,
    "set_F": jrm.f_score,
}


def our_metrics(level):
    """Returns all metrics, where documents of at least this level are relevant."""

    def at_level(name, metric, **k):
        if not name.startswith("ndcg"):  # which reads grades
            k["relevance_threshold"] = level
        return functools.partial(metric, **k)

    return {
        **{name: at_level(name, metric, k=KS) for name, metric in WITH_CUTOFF.items()},
        **{name: at_level(name, metric) for name, metric in WITHOUT_CUTOFF.items()},
    }


def trec_values(levels, retrieved, level=1, names=None, scores=None, **options):
    """Returns the values of pytrec_eval for every query, in the shapes of ours.

    Args:
        levels: `[queries, documents]`, below 0 where not judged.
        retrieved: `[queries, ranks]` documents in rank order, below 0 for none.
        level: The least level of a relevant document.
        names: The names of documents, which break its ties.
        scores: `[ranks]`, descending by default.
        options: The options of its evaluator.
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
    measures = {*(f"{name}.{ks}" for name in WITH_CUTOFF), *WITHOUT_CUTOFF}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrel, measures, relevance_level=level, **options
    )
    values = evaluator.evaluate(run)
    assert list(values) == list(run)
    return {
        **{
            name: np.array([[x[f"{name}_{k}"] for k in KS] for x in values.values()])
            for name in WITH_CUTOFF
        },
        **{
            name: np.array([x[name] for x in values.values()])
            for name in WITHOUT_CUTOFF
        },
    }


@pytest.fixture(scope="module")
def runs():
    """Returns levels `[queries, documents]` and retrieved documents `[queries, ranks]`."""
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
    assert levels[1].max() == 3 and levels[1, retrieved[1]].max() < 0  # all are missed
    return levels, retrieved


def labels_in_rank_order(levels, retrieved, unjudged):
    """Returns levels `[queries, ranks]`, −1 where nothing was retrieved."""
    labels = np.take_along_axis(levels, retrieved, axis=1)
    return np.where(retrieved < 0, -1, np.where(labels < 0, unjudged, labels))


@pytest.mark.parametrize("name", [*WITH_CUTOFF, *WITHOUT_CUTOFF])
def test_judged_documents_only(name, runs, agree):
    """Unjudged documents can leave the ranking, as padding does here."""
    labels = labels_in_rank_order(*runs, unjudged=-1)
    ranking = jrm.rank_retrieved(labels, pool_labels=runs[0])
    ours = jrm.measure(our_metrics(1), ranking)[name].values
    agree(ours, trec_values(*runs, judged_docs_only_flag=True)[name])


@pytest.mark.parametrize("name", [*WITH_CUTOFF, *WITHOUT_CUTOFF])
def test_scored_lists_of_higher_level(name, runs, agree):
    """Documents are relevant from a higher level on."""
    levels, _ = runs
    scores = np.random.default_rng(6).permuted(
        np.tile(np.arange(levels.shape[1]), (len(levels), 1)), axis=1
    )
    order = np.argsort(-scores, axis=1)
    retrieved = np.where(np.take_along_axis(levels, order, axis=1) >= 0, order, -1)
    ours = jrm.measure(our_metrics(2), jrm.rank(levels, scores))[name].values
    agree(ours, trec_values(levels, retrieved, level=2)[name])


@pytest.mark.parametrize("name", [*WITH_CUTOFF, *WITHOUT_CUTOFF])
def test_ties_by_falling_document_name(name, runs, agree):
    """Its order of ties is ours under "stable" if documents are sorted by falling name."""
    levels, scores = np.maximum(runs[0], 0), np.arange(runs[0].shape[1]) // 4
    retrieved = np.tile(np.arange(levels.shape[1]), (len(levels), 1))
    names = [f"d{99 - document}" for document in range(levels.shape[1])]
    theirs = trec_values(levels, retrieved, names=names, scores=scores)[name]
    tiled = np.tile(scores, (len(levels), 1))
    ranking = jrm.rank(levels, tiled, ties="stable")
    agree(jrm.measure(our_metrics(1), ranking)[name].values, theirs)


def test_queries_without_results_count_here(runs, agree):
    """Its mean is over the queries of the run, without `-c`; ours over all judged ones."""
    levels, retrieved = runs
    retrieved = retrieved.copy()
    retrieved[-1] = -1
    labels = labels_in_rank_order(levels, retrieved, unjudged=0)
    ours = jrm.average_precision.of(jrm.rank_retrieved(labels, pool_labels=levels))
    theirs = trec_values(levels[:-1], retrieved[:-1])["map"]
    agree(ours.mean().compute(), theirs.sum() / len(levels))
    agree(ours.mean("skip").lists, (levels.max(axis=1) > 0).sum())


def test_geometric_mean(runs, agree):
    """Geometric means agree; queries where nothing is relevant or retrieved get the floor."""
    levels, retrieved = runs
    labels = labels_in_rank_order(levels, retrieved, unjudged=0)
    ranking = jrm.rank_retrieved(labels, pool_labels=levels)
    ours = jrm.measure(("gm_map",), ranking)["gm_map"].geometric_mean()
    qrel, run = {}, {}
    for query, (judged, documents) in enumerate(zip(levels, retrieved, strict=True)):
        qrel[f"q{query}"] = {f"d{d}": int(x) for d, x in enumerate(judged) if x >= 0}
        run[f"q{query}"] = {
            f"d{d}": -float(i) for i, d in enumerate(documents) if d >= 0
        }
    theirs = pytrec_eval.RelevanceEvaluator(qrel, {"gm_map"}).evaluate(run)
    logs = [query["gm_map"] for query in theirs.values()]
    assert len(logs) == len(levels) and min(logs) < -11
    agree(ours.compute(), pytrec_eval.compute_aggregated_measure("gm_map", logs))
