"""The provider for ir_measures against its own, on runs with ties and every edge case."""

import math
import shutil
import warnings

import numpy as np
import pytest
from late_imports import LateImport

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    irm = pytest.importorskip("ir_measures")

from jax_rank_metrics._engine.calls.binding import parse
from jax_rank_metrics.adapters.ir_measures import Provider, _name_of, provider, register

pd = LateImport("pandas")
pytestmark = pytest.mark.filterwarnings("default")

GAINS = {1: 3, 2: 1}
MEASURES = [
    *(irm.P @ 3, irm.P(rel=2) @ 1000, irm.R(rel=2) @ 5, irm.Success @ 2),
    *(irm.AP, irm.AP(rel=2) @ 5, irm.RR, irm.RR(rel=2), irm.Rprec(rel=2)),
    *(irm.nDCG, irm.nDCG @ 3, irm.nDCG(gains=GAINS) @ 5),
    *(irm.Bpref, irm.Bpref(rel=2), irm.infAP, irm.infAP(rel=2)),
    *(irm.SetP, irm.SetP(rel=2), irm.SetR(rel=2), irm.SetF, irm.SetF(beta=2.0)),
    *(irm.SetP(relative=True), irm.SetAP, irm.SetAP(rel=2)),
    *(irm.NumRet, irm.NumRet(rel=1), irm.NumRet(rel=2), irm.NumRel, irm.NumQ),
    *(irm.IPrec @ 0.0, irm.IPrec @ 1.0, irm.IPrec(rel=2) @ 1.0),  # as in version 9
]
BROWSING = [
    *(irm.INST(max_rel=2), irm.INST(T=2.0, max_rel=4), irm.INSQ(max_rel=2)),
    *(
        irm.INSQ(T=1.5, max_rel=1),
        irm.BPM(max_rel=2) @ 5,
        irm.BPM(T=2.0, max_rel=4) @ 12,
    ),
    *(irm.SDCG(max_rel=2) @ 3, irm.SDCG(max_rel=3) @ 100),
]
JUDGED_ONLY = [
    measure(judged_only=True) for measure in (irm.AP, irm.nDCG @ 5, irm.Success @ 2)
]


@pytest.fixture(scope="module")
def runs():
    """Returns judgements and a run; queries are missing on both sides."""
    rng, qrels, run = np.random.default_rng(3), {}, {}
    for query in map(str, range(16)):
        documents = [f"d{i}" for i in rng.permutation(40)[: rng.integers(1, 41)]]
        scores = rng.choice([-1.0, 0.5, 0.5 + 1e-12, 2.0], len(documents)).tolist()
        run[query] = dict(zip(documents, scores, strict=True))
        judged = rng.permutation(40)[: rng.integers(1, 30)].tolist()
        levels = rng.choice([-1, 0, 0, 1, 2], len(judged)).tolist()
        qrels[query] = {f"d{i}": x for i, x in zip(judged, levels, strict=True)}
    qrels["1"] = {"d0": 0}
    del run["2"], qrels["3"]
    return qrels, run


def values(calculate, measures, qrels, run):
    """Returns the value of each measure of each query."""
    return {
        (str(x.measure), x.query_id): x.value
        for x in calculate.iter_calc(measures, qrels, run)
    }


@pytest.mark.parametrize("measures", [MEASURES, JUDGED_ONLY])
def test_pytrec_eval(runs, measures):
    """Equal values for every query, and aggregates, under ties too."""
    theirs = values(irm.pytrec_eval, measures, *runs)
    ours = values(provider, measures, *runs)
    assert {*ours} == {*theirs} and len(ours) == 15 * len(measures)
    for key, value in theirs.items():
        assert math.isclose(ours[key], value, rel_tol=3e-6, abs_tol=1e-6), key
    means, expected = (
        x.calc_aggregate(measures, *runs) for x in (provider, irm.pytrec_eval)
    )
    for measure, value in expected.items():
        assert math.isclose(means[measure], value, rel_tol=3e-6, abs_tol=1e-6)


def test_interpolated_precision_is_that_of_version_10():
    """For three relevant documents, a recall of .4 needs one, and two in version 9."""
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 1}}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    ours, theirs = (
        x.calc_aggregate([irm.IPrec @ 0.4], qrels, run)[irm.IPrec @ 0.4]
        for x in (provider, irm.pytrec_eval)
    )
    assert (ours, theirs) == (1.0, 0.75)


@pytest.mark.parametrize(
    ("name", "measures", "rounded"),
    [
        ("msmarco", [irm.RR @ 3, irm.RR(rel=2) @ 10], 0),
        ("cwl_eval", [irm.RBP(rel=1), irm.RBP(p=0.5, rel=2), *BROWSING], 0),
        ("judged", [irm.Judged, irm.Judged @ 1, irm.Judged @ 7, irm.Judged @ 100], 0),
        ("gdeval", [irm.nDCG(dcg="exp-log2") @ 5, irm.ERR @ 5, irm.ERR @ 20], 5e-6),
    ],
)
def test_other_providers(runs, name, measures, rounded):
    """Measures that have other rules for ties there agree if nothing ties."""
    if name == "gdeval" and shutil.which("perl") is None:
        pytest.skip("gdeval is a script of Perl")
    qrels, run = runs
    qrels = {q: {d: max(x, 0) for d, x in docs.items()} for q, docs in qrels.items()}
    rng = np.random.default_rng(5)
    run = {
        query: dict(zip(docs, rng.permutation(len(docs)).tolist(), strict=True))
        for query, docs in run.items()
    }
    theirs = values(irm.providers.registry[name], measures, qrels, run)
    ours = values(provider, measures, qrels, run)
    assert {*ours} == {*theirs}
    for key, value in theirs.items():
        assert math.isclose(ours[key], value, rel_tol=3e-6, abs_tol=2e-6 + rounded), key


SUBTOPICS = [
    *(irm.alpha_nDCG @ 3, irm.alpha_nDCG(alpha=0.25) @ 10, irm.ERR_IA @ 10),
    *(irm.NRBP(beta=0.75), irm.AP_IA, irm.P_IA @ 10, irm.StRecall @ 3),
    *(irm.alpha_nDCG(rel=2) @ 3, irm.ERR_IA(rel=2) @ 5, irm.NRBP(rel=2)),
    *(irm.AP_IA(rel=2), irm.P_IA(rel=2) @ 2, irm.StRecall(rel=2) @ 2),
]


@pytest.mark.parametrize("form", ["rows", "frame"])
def test_subtopics(form, recorded):
    """The field or column `iteration` tells the subtopic, as it does to pyndeval."""
    rng, rows, run = np.random.default_rng(6), [], {}
    for query in ("q1", "q2", "q3"):
        scores = rng.permutation(30).tolist()
        run[query] = {f"d{10 + i}": float(x) for i, x in enumerate(scores) if x < 20}
        for doc, topic in np.argwhere(rng.random((30, 4)) < 0.4):
            rows.append((query, f"d{10 + doc}", int(rng.integers(-1, 4)), f"t{topic}"))
    qrels = [irm.Qrel(*row) for row in rows]

    def by_pyndeval(*_):
        theirs = {}  # one by one: of several levels in a call, one would get values
        for measure in SUBTOPICS:
            theirs |= values(irm.pyndeval, [measure], qrels, run)
        return {f"{measure} {query}": x for (measure, query), x in theirs.items()}

    data = [x for *_, x, _ in rows], [x for docs in run.values() for x in docs.values()]
    theirs = recorded("subtopics", by_pyndeval, *data)
    judged = pd.DataFrame(rows, columns=irm.Qrel._fields) if form == "frame" else qrels
    ours = values(provider, [*SUBTOPICS, irm.AP], judged, run)
    assert len(theirs) == 3 * len(SUBTOPICS) == len(ours) - 3
    for key, value in theirs.items():
        assert ours[tuple(key.split())] == pytest.approx(float(value), abs=2e-6), key


def test_names_of_measures():
    """They are names of metrics, with the same meaning unless ours means something else."""
    others = {"P", "nDCG", "NumRet(rel=1)", "NumRet(rel=2)", "NumQ", "SetF(beta=2.0)"}
    others.add("SetP(relative=True)")
    names = {str(measure): _name_of(measure) for measure in MEASURES}
    compared = {
        text
        for text in names
        if not {text, text.partition("@")[0].partition("(")[0]} & others
    }
    assert {"AP(rel=2)@5", "RR", "SetAP(rel=2)", "IPrec@0.0", "NumRel"} <= compared
    for text in compared:
        assert parse(text)[1:] == parse(names[text])[1:], text


def test_expected_ties(runs):
    """The mean over orders differs from trec_eval's order, and doubles are compared."""
    expected = values(Provider(ties="expected"), [irm.AP], *runs)
    broken = values(provider, [irm.AP], *runs)
    assert sum(abs(expected[key] - x) > 1e-3 for key, x in broken.items()) > 5
    with pytest.raises(ValueError, match="ties is 'first'"):
        Provider(ties="first")


def test_forms_of_runs(runs):
    """Frames and iterators of named tuples give the same as dicts."""
    qrels, run = (
        [(query, doc, x) for query, docs in side.items() for doc, x in docs.items()]
        for side in runs
    )
    expected = provider.calc_aggregate([irm.AP], *runs)
    as_frames = (
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
    )
    tuples = (irm.Qrel(*row) for row in qrels), (irm.ScoredDoc(*row) for row in run)
    for arguments in (as_frames, tuples):
        assert provider.calc_aggregate([irm.AP], *arguments) == expected
    evaluator = provider.evaluator([irm.AP, irm.NumQ], runs[0])
    assert evaluator.calc_aggregate({}) == {irm.AP: 0, irm.NumQ: 0}
    assert evaluator.calc_aggregate(runs[1])[irm.AP] == expected[irm.AP]


def test_registered(monkeypatch, runs):
    """The functions of the library then use the provider, and others for the rest."""
    monkeypatch.setattr(irm.DefaultPipeline, "providers", [irm.compat])
    try:
        assert register() is register() is irm.providers.registry["jax_rank_metrics"]
        assert irm.DefaultPipeline.providers == [provider, irm.compat]
        calls = []
        monkeypatch.setattr(
            Provider,
            "_evaluator",
            lambda *args, call=Provider._evaluator: calls.append(1) or call(*args),
        )
        assert irm.calc_aggregate([irm.AP, irm.Compat], *runs)[irm.AP] > 0
        assert calls == [1]
    finally:
        del irm.providers.registry["jax_rank_metrics"]


@pytest.mark.parametrize(
    "measure",
    [irm.Compat, irm.RBP, irm.alpha_DCG @ 5, irm.nNRBP, irm.INST(min_rel=1, max_rel=2)],
)
def test_measures_that_are_left_to_others(measure):
    assert not provider.supports(measure)


def test_a_measure_that_is_refused():
    with pytest.raises(ValueError, match="Compat is not supported"):
        provider.evaluator([irm.Compat], {"q": {"a": 1}})
