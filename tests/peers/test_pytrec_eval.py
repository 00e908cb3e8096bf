"""The evaluator in place of pytrec_eval's, and the command's lines, with every edge case."""

import math
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import pytrec_eval as ours
from jax_rank_metrics.cli import app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("default")

LEVELLED = (
    *("ndcg_cut.1,3,7", "map_cut_2", "P.3", "recall.1,4", "success.2", "P_2", "ndcg"),
    *("map", "bpref", "infAP", "num_rel", "num_rel_ret", "Rprec", "set_F"),
    *("relative_P", "recip_rank", "set_P", "set_recall"),
)
COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")


def level_of(name):
    """Returns the recall level of a name of interpolated precision, else None."""
    return float(name[-4:]) if name.startswith("iprec") else None


def dicts(seed, values=(-1.5, 0.1, 0.1 + 1e-12, 2, 1e39, np.inf)):
    """Returns judgements and a run with few distinct scores; queries differ in both.

    The run names queries in another order, lacks some of them and holds one that was not
    judged, one without documents, and scores that only float64 distinguishes.
    """
    rng = np.random.default_rng(seed)
    # Neither in the order of numbers nor of UTF-16: bytes decide.
    ids = [f"d{i}" for i in range(37)] + ["é", "\U0001f600", "\ufb03"]
    qrels, run = {}, {}
    for query in (f"q{i}" for i in range(16)):
        levels = rng.choice([-2, -1, 0, 0, 1, 1, 2, 3], 40).tolist()
        scores = rng.choice(values, 40)
        kept = rng.random((2, 40)) < rng.choice([0.1, 0.5, 1], (2, 1))
        qrels[query] = {d: x for d, x, k in zip(ids, levels, kept[0], strict=True) if k}
        run[query] = {
            d: x for d, x, k in zip(ids, scores.tolist(), kept[1], strict=True) if k
        }
    qrels["q0"] = {d: min(x, 0) for d, x in qrels["q0"].items()} | {"d0": 0}
    qrels["q1"] = {"nowhere": 2}
    qrels["q2"] = {"d1": 3, "d2": -1}
    run["q3"] = {}
    run["unjudged"] = {"d0": 1.0}
    qrels["empty"], run["empty"] = {}, {"d0": 1.0}
    del run["q4"], qrels["q5"]
    return qrels, {query: run[query] for query in rng.permutation([*run]).tolist()}


def agree(actual, expected, qrels, level):
    """Asserts equal queries, in order, equal names, and equal values.

    Interpolated precision is compared if versions 9 and 10 ask for the same number of
    documents.
    """
    assert [*actual] == [*expected] and len(actual) > 10
    compared = set()
    for query, values in expected.items():
        assert {*actual[query]} == {*values}
        relevant = sum(x >= level for x in qrels[query].values())

        def differs(recall, relevant=relevant):
            number = recall * relevant
            return math.floor(number + 0.9) != math.floor(number + 0.5)

        for name, value in values.items():
            levels = {"11pt_avg": np.arange(11) / 10}.get(name, [level_of(name)])
            if levels[0] is not None and any(map(differs, levels)):
                continue
            if levels[0] is not None and math.isnan(value):  # if nothing is retrieved
                value = 0
            assert type(actual[query][name]) is float
            assert math.isclose(
                actual[query][name], value, rel_tol=3e-6, abs_tol=1e-6
            ), (query, name)
            compared.add(name)
    return compared


@pytest.fixture(scope="module")
def evaluator():
    """Returns an evaluator of all measures, with trec_eval's cutoffs."""
    return ours.RelevanceEvaluator(dicts(1)[0], ["all_trec", "official", "set"])


def test_every_measure_of_every_query(evaluator):
    qrels, run = dicts(1)
    expected = theirs.RelevanceEvaluator(qrels, ours.supported_measures).evaluate(run)
    compared = agree(evaluator.evaluate(run), expected, qrels, 1)
    assert compared == {*next(iter(expected.values()))} and len(compared) > 70


@pytest.mark.parametrize("judged_only", [False, True])
def test_families_and_levels(judged_only):
    qrels, run = dicts(2)
    expected, actual = (
        library.RelevanceEvaluator(qrels, LEVELLED, 2, judged_only).evaluate(run)
        for library in (theirs, ours)
    )
    compared = agree(actual, expected, qrels, 2)
    assert compared == {*next(iter(expected.values()))} and len(compared) > 15


def test_ties_matter():
    """The dicts above have ties that a mean over their orders values differently."""
    qrels, run = dicts(1)
    expected = theirs.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    joined = jrm.join(qrels, run, missing="zero", unjudged="skip")
    values = joined.measure("map")["map"].values
    means = dict(zip(joined.query_ids, values, strict=True))
    assert sum(abs(x["map"] - means[query]) > 1e-3 for query, x in expected.items()) > 5


@pytest.mark.parametrize("name", ["official", "set", "all_trec"])
def test_sets(name):
    """A set has the members of their set, without measures that are not available here."""
    missing = theirs.supported_nicknames[name] - ours.supported_nicknames[name]
    assert not missing & ours.supported_measures
    assert ours.supported_nicknames[name] <= theirs.supported_nicknames[name]


def test_values_over_all_queries(evaluator):
    qrels, run = dicts(1)
    measures = {"map", "gm_map", "gm_bpref", "num_ret", "num_rel", "ndcg_cut.5"}
    expected = theirs.RelevanceEvaluator(qrels, measures).evaluate(run)
    actual = evaluator.evaluate(run)
    states = evaluator.states
    for name in next(iter(expected.values())):
        means = [
            library.compute_aggregated_measure(
                name, [x[name] for x in of_query.values()]
            )
            for library, of_query in ((ours, actual), (theirs, expected))
        ]
        np.testing.assert_allclose(*means, rtol=2e-6)
        if not name.startswith("num_"):
            assert float(states[name]) == pytest.approx(means[1], rel=2e-6)
    assert int(states["map"].lists) == len(expected)
    assert evaluator.lists["ndcg_cut_5"].values.tolist() == [
        x["ndcg_cut_5"] for x in actual.values()
    ]


@pytest.mark.parametrize("level", [1, 2])
def test_lines_of_the_command(tmp_path, level):
    """The command prints the official measures as trec_eval does, topic by topic and overall.

    Scores are exact in float32, since pytrec_eval rounds scores of lines to it.
    """
    qrels, run = dicts(3, [-3, -1.5, 1e-3, 0.25, 2])
    for name, side, line in (
        ("qrels", qrels, "{} 0 {} {}\n"),
        ("run", run, "{}\tQ0 {}  1 {!r} mine\n"),
    ):
        triples = ((q, doc, x) for q, docs in side.items() for doc, x in docs.items())
        (tmp_path / name).write_text("".join(line.format(*x) for x in triples))
    with (tmp_path / "qrels").open() as judged, (tmp_path / "run").open() as lines:
        sides = theirs.parse_qrel(judged), theirs.parse_run(lines)
    measures = {*theirs.supported_nicknames["official"]} - {"runid", "num_q"}
    evaluator = theirs.RelevanceEvaluator(sides[0], measures, relevance_level=level)
    expected = evaluator.evaluate(sides[1])
    words = ["evaluate", str(tmp_path / "qrels"), str(tmp_path / "run"), "--trec"]
    options = ["-q", "--format", "trec", "-l", str(level)]
    done = CliRunner().invoke(app(), [*words, *options])
    assert done.exit_code == 0, done.output
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    printed = {(name.strip(), topic): value for name, topic, value in lines}
    assert printed.pop(("runid", "all")) == "mine"  # the tag of its lines
    assert printed.pop(("num_q", "all")) == str(len(expected))
    checked = 0
    for (name, topic), text in printed.items():
        if level_of(name) is not None:  # which differs by version
            continue
        values = [of_topic[name] for of_topic in expected.values()]
        value = expected[topic][name] if topic != "all" else np.mean(values)
        if name == "gm_map":
            value = np.exp(value)
        elif name in COUNTS:
            assert text == f"{sum(values) if topic == 'all' else value:.0f}"
        if name not in COUNTS:
            assert text == f"{value:6.4f}".strip(), (name, topic)
        checked += 1
    names = len({name for name, _ in printed}) - 11
    assert names == 17 and checked == names * (len(expected) + 1) - len(expected)


def test_runs_without_results():
    """Runs that are empty, share no query or hold no document."""
    qrels = {"q": {"a": 1, "b": 2}, "p": {"a": 0}}
    measures = {"map", "num_rel", "num_ret"}
    for run in ({}, {"other": {"a": 1.0}}, {"q": {}}, {"q": {}, "p": {}}):
        expected, actual = (
            library.RelevanceEvaluator(qrels, measures).evaluate(run)
            for library in (theirs, ours)
        )
        assert actual == expected
    for library in (theirs, ours):  # and without a measure
        assert library.RelevanceEvaluator(qrels, set()).evaluate({"q": {}}) == {"q": {}}
    evaluator = ours.RelevanceEvaluator({}, measures)
    assert evaluator.evaluate({"q": {"a": 1.0}}) == {} and evaluator.states == {}
    evaluator = ours.RelevanceEvaluator({"q": {"a": 1}}, {"map"})
    assert evaluator.evaluate({"q": ["b", "a"]}) == {"q": {"map": 0.5}}  # in rank order
