"""Against ir_measures: the tools cwl_eval and gdeval that it calls, and its Judged@k."""

import shutil
import warnings

import numpy as np
import pytest

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ir_measures = pytest.importorskip("ir_measures")
pytestmark = pytest.mark.filterwarnings("default")

QUERIES, DOCUMENTS = 12, 30
OURS = (
    "rbp(p=0.8)",
    "rbp(p=0.5, rel=2)",
    "err@5",
    "err@40",
    "judged@5",
    "judged@40",
    "judged",
)


@pytest.fixture(scope="module")
def runs():
    """Returns levels `[queries, documents]` in rank order, -1 for unjudged, and lengths."""
    rng = np.random.default_rng(4)
    levels = rng.choice([-1, -1, 0, 0, 1, 2, 3, 4], (QUERIES, DOCUMENTS))
    lengths = rng.integers(1, DOCUMENTS + 1, QUERIES)
    levels[0] = np.minimum(levels[0], 0)  # nothing relevant
    lengths[1:3] = [1, DOCUMENTS]
    levels[3] = -1
    levels[3, lengths[3] - 1] = 4  # the last one is the only one judged
    return levels, lengths


@pytest.fixture(scope="module")
def ours(runs):
    levels, lengths = runs
    values = np.arange(DOCUMENTS) < lengths[:, None]
    labels, judged = np.maximum(levels, 0), {"judged": levels >= 0}
    ranking = jrm.rank_retrieved(
        labels, values, pool_labels=labels, columns=judged, pool_columns=judged
    )
    return jrm.measure(OURS, ranking)


@pytest.mark.parametrize(
    "provider, measure, name, rounded",
    [
        ("cwl_eval", "RBP(p=0.8,rel=1)", "rbp(p=0.8)", 0),
        ("cwl_eval", "RBP(p=0.5,rel=2)", "rbp(p=0.5, rel=2)", 0),
        ("gdeval", "ERR@5", "err@5", 5e-6),
        ("gdeval", "ERR@40", "err@40", 5e-6),
        ("judged", "Judged@5", "judged@5", 0),
        ("judged", "Judged@40", "judged@40", 0),
        ("judged", "Judged", "judged", 0),
    ],
)
def test_every_query(provider, measure, name, rounded, runs, ours):
    if provider == "gdeval" and shutil.which("perl") is None:
        pytest.skip("gdeval is a script of Perl")
    levels, lengths = runs
    qrels = [
        ir_measures.Qrel(str(query), f"d{document}", int(level))
        for (query, document), level in np.ndenumerate(levels)
        if level >= 0
    ]
    run = [
        ir_measures.ScoredDoc(str(query), f"d{document}", float(-document))
        for query, length in enumerate(lengths)
        for document in range(length)
    ]
    measure = ir_measures.parse_measure(measure)
    calculate = ir_measures.providers.registry[provider].evaluator([measure], qrels)
    results = {value.query_id: value.value for value in calculate.iter_calc(run)}
    theirs = [results[str(query)] for query in range(QUERIES)]
    np.testing.assert_allclose(
        ours[name].values, theirs, rtol=2e-6, atol=1e-6 + rounded
    )
    assert len({*theirs}) > 3
