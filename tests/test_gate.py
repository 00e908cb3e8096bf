"""The command `gate`: verdicts, their error rates, and the reports that explain them."""

import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._command.gate import (
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    exit_codes,
    limits_of_mean,
)
from jax_rank_metrics._values.intervals import student_quantiles
from jax_rank_metrics._verdicts.comparisons import power
from jax_rank_metrics._verdicts.inference.margin_bounds import MarginBounds
from jax_rank_metrics._verdicts.inference.p_values import holm, student_p
from jax_rank_metrics._verdicts.inference.weighted_means import Summary

QUERIES = 40
# In which of 40 queries a run has the relevant document at rank 1, else at 2 or nowhere.
RUNS = {
    "hits": "1" * 40,
    "old": "1" * 38 + "2-",
    "same": "1" * 37 + "2-1",
    "bad": "1" * 10 + "2" * 28 + "--",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qrels = [f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(QUERIES)]
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    documents = {"1": "ab", "2": "ba", "-": "b"}
    for name, ranks in RUNS.items():
        run = [
            f"q{i} Q0 {document} 0 {-rank} t\n"
            for i, x in enumerate(ranks)
            for rank, document in enumerate(documents[x])
        ]
        (tmp_path / f"{name}.txt").write_text("".join(run))
    return tmp_path


def invoke(*words):
    done = CliRunner().invoke(
        cli.app(), ["gate", "qrels.txt", *" ".join(words).split()]
    )
    assert not done.stderr, done.output
    return done.exit_code, done.stdout


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (
            "old.txt same.txt -m recall@1,2 --margin .2",
            0,
            "not worse: same against old",
        ),
        # One metric is worse, and the other one cannot tell.
        ("old.txt bad.txt -m recall@1,2 --margin .02", 1, "worse: bad against old"),
        ("old.txt same.txt -m recall@1,2 --margin .02", 3, "cannot tell: same against"),
        (
            "old.txt same.txt -m recall@1,2 --margin .02 --undecided pass",
            0,
            "cannot tell",
        ),
        # The point estimate decides only what the bounds leave open.
        *(
            (f"{words} --undecided estimate", code, "cannot tell")
            for words, code in (
                ("old.txt same.txt -m recall@1,2 --margin .02", 0),
                ("hits.txt old.txt -m recall@1,2 --margin .02", 1),
                ("hits.txt old.txt -m fall_out@1 --margin .02", 1),
                ("old.txt same.txt -m fall_out@1 --margin .02", 0),
                ("hits.txt -m recall@1,2 --at-least .95", 0),
                ("old.txt -m recall@1,2 --at-least .96", 1),
            )
        ),
        ("bad.txt -m recall@1,2 --at-least .8 --undecided estimate", 1, "worse"),
        # Lower values of this metric are better.
        ("old.txt bad.txt -m fall_out@1 --margin .1", 1, "worse"),
        ("bad.txt old.txt -m fall_out@1 --margin .1", 0, "not worse"),
        # Floors: hits have an exact bound, also if all are hits.
        ("old.txt -m recall@1,2 --at-least .8", 0, "not worse: old against 0.8"),
        ("hits.txt -m recall@1,2 --at-least .95", 3, "cannot tell"),
        ("bad.txt -m recall@1,2 --at-least .8", 1, "worse"),
        ("old.txt -m recall@1,2 --at-least .93", 3, "cannot tell"),
        ("old.txt -m fall_out@1 --at-least .5", 0, "not worse"),
    ],
)
def test_verdicts(folder, words, code, part):
    """The exit code is the verdict, which the first line names."""
    actual, text = invoke(words)
    assert actual == code and text.startswith(part), text


def test_reports(folder):
    """Text, Markdown and JSON hold the numbers of `compare` and of a plan, and why."""
    words = "old.txt bad.txt -m recall@1,2 --margin .02 --format"
    _, text = invoke(words, "json")
    document = json.loads(text)
    at_1, at_2 = document["metrics"]
    assert (document["exit_code"], document["verdict"]) == (1, "worse")
    assert (at_1["verdict"], at_2["verdict"]) == ("worse", "cannot tell")
    values = [np.array([x == "1" for x in RUNS[y]]) for y in ("old", "bad")]
    expected = jrm.compare(*values, test="t", level=0.9, margin=0.02).only
    for name in ("difference", "low", "high"):
        assert at_1[name] == pytest.approx(getattr(expected, name), rel=1e-6)
    columns = np.subtract(*values[::-1], dtype=float)[:, None], np.ones((40, 1))
    plan = power.MarginPlan(MarginBounds.of(*columns, np.ones(1)), 0.9, 0.05)
    assert at_1["needed"] == plan.lists_needed(0.02, 40)
    assert at_1["detectable"] == pytest.approx(plan.detectable(), rel=1e-5)
    (row, *_) = document["queries"]
    assert row["missed"] == [["a", 1.0, 2.0]] and row["difference"] == -1
    _, text = invoke(words, "markdown")
    assert "| recall@1 | worse " in text and "| q10  | a (1 → 2) |" in text
    assert "| q38  | a (2 → –) |" in text


def of_normal(differences):
    """Returns Student's bounds of differences `[lists, metrics, samples]`."""
    lists, *shape = differences.shape
    columns = differences.reshape(lists, -1)
    summary = Summary.of(columns, np.ones_like(columns))
    mean, error, freedom = (x.reshape(shape) for x in summary[:3])

    def bounds(alpha):
        quantiles = student_quantiles(freedom, 1 - 2 * np.asarray(alpha))
        return mean - quantiles * error, mean + quantiles * error

    return bounds


def of_margins(differences):
    """Returns the bounds of differences `[lists, samples]` that the gate takes."""
    ranges = np.full(differences.shape[1], 20.0)
    known = MarginBounds.of(differences, np.ones_like(differences), ranges)

    def bounds(alpha):
        down, up = known.reach(1 - float(np.max(alpha)))
        return (known.mean - down)[None], (known.mean + up)[None]

    return bounds


def test_tables_of_scored_items(folder):
    """Verdicts and numbers equal the runs', also for a saved table and for a floor."""
    scores = {"1": (3, 2, 1), "2": (2, 3, 1), "-": (1, 3, 2)}  # of a, b and c
    for name, ranks in RUNS.items():
        rows = [
            f"q{i},{item},{int(item == 'a')},{score}\n"
            for i, x in enumerate(ranks)
            for item, score in zip("abc", scores[x], strict=True)
        ]
        (folder / f"{name}.csv").write_text("qid,doc,label,score\n" + "".join(rows))

    def gate(words):
        done = CliRunner().invoke(cli.app(), ["gate", "--scored", *words.split()])
        assert not done.stderr, done.output
        return done.exit_code, done.stdout

    words = "-m recall@1,2 --margin .02 --format json"
    _, text = invoke("old.txt bad.txt", words)
    expected = [pytest.approx(metric) for metric in json.loads(text)["metrics"]]
    gate(f"hits.csv old.csv {words} --item doc --save old.json")
    for tables in ("old.csv bad.csv", "old.json bad.csv --item doc"):
        code, text = gate(f"{tables} {words}")
        assert code == WORSE
        assert json.loads(text)["metrics"] == expected
    assert gate("bad.csv -m recall@1 --at-least .8")[0] == WORSE


def test_a_floor_that_is_no_number(folder):
    words = ["gate", "qrels.txt", "old.txt", "-m", "recall@1", "--at-least", "nan"]
    done = CliRunner().invoke(cli.app(), words)
    assert done.exit_code == 2
    assert "--at-least is nan; pass a finite number" in done.stderr


@pytest.mark.parametrize("lists", [1, 3, 12])
def test_bounds_of_hits(lists):
    """A bound is wrong with at most the probability alpha, for every rate of hits."""
    hits, rates = np.arange(lists + 1), np.linspace(0.01, 0.99, 99)[:, None]
    states = np.arange(lists) < hits[:, None]
    ones = np.ones(lists)
    low, high = np.transpose(
        [limits_of_mean(jrm.PerList(x, ones, ones > 0), 0.05) for x in states]
    )
    chances = [math.comb(lists, h) for h in hits] * rates**hits
    chances *= (1 - rates) ** (lists - hits)
    for is_wrong in (low > rates, high < rates):
        assert (chances * is_wrong).sum(1).max() <= 0.05
    assert low[-1] == pytest.approx(0.05 ** (1 / lists), rel=1e-5)


def test_error_rates(rng):
    """Verdicts keep the promises of the page, over 160 queries."""
    noise = rng.laplace(scale=0.5**0.5, size=(160, 1000))
    columns = noise[:, :1], np.ones((160, 1)), np.full(1, 20.0)
    margin = power.MarginPlan(MarginBounds.of(*columns), 0.9, 0.05).detectable()
    margin /= noise[:, 0].std(ddof=1)
    for shift, limit, code, least, most in (
        (0, 0.01, WORSE, 0, 0.05),
        (-0.21, 0.01, WORSE, 0.74, 0.9),
        (-0.1, 0.1, NOT_WORSE, 0.03, 0.07),
        (0, margin, NOT_WORSE, 0.86, 0.93),
    ):
        codes = exit_codes(of_margins(noise + shift), limit, 0.05)
        assert least <= np.mean(codes == code) <= most, (shift, code)


def test_worse_is_by_holm(rng):
    """Metrics share alpha as Holm's method does, and no metric has two verdicts."""
    x = rng.normal(-0.3, 1, size=(50, 4, 200))
    codes = exit_codes(of_normal(x), 0.05, 0.05)
    summary = Summary.of(x.reshape(50, -1) + 0.05, np.ones((50, 800)))
    p = student_p(*summary[:3], "less").reshape(4, 200)
    expected = np.stack([holm(p[:, i]) for i in range(200)], 1) <= 0.05
    assert ((codes == WORSE) == expected).all() and 0.2 < expected.mean() < 0.8
    assert {*codes.flat} == {NOT_WORSE, WORSE, UNDECIDED}


def test_identical_rankings_pass_at_any_margin(folder):
    """A run beside itself passes, in another order of its lines, and from its saved file."""
    lines = (folder / "same.txt").read_text().splitlines()
    (folder / "again.txt").write_text("\n".join(reversed(lines)) + "\n")
    invoke(SAVED)
    for baseline in ("same.txt", "same.json"):
        code, text = invoke(f"{baseline} again.txt -m recall@1,2 --margin .000001")
        assert code == 0 and text.startswith("identical: again against"), text
        assert "recall@1  identical" in text
    # Equal values of other rankings are no proof: a document may have moved below.
    moved = [
        line.replace("q3 Q0 b 0 -1 t", "q3 Q0 b 0 -1 t\nq3 Q0 z 0 -2 t")
        for line in lines
    ]
    (folder / "moved.txt").write_text("\n".join(moved) + "\n")
    for baseline in ("same.txt", "same.json"):
        code, text = invoke(f"{baseline} moved.txt -m recall@1,2 --margin .000001")
        assert code == UNDECIDED, text
        code, _ = invoke(f"{baseline} moved.txt -m recall@1,2 --margin .2")
        assert code == NOT_WORSE


SAVED = "old.txt same.txt -m recall@1,2 --margin .2 --save same.json"


def test_a_saved_baseline_is_the_run_that_it_was_saved_from(folder):
    """A file of values stands in the place of its run, and says under which choices."""
    invoke(SAVED)
    document = json.loads((folder / "same.json").read_text())
    words = "qrels.txt same.txt -m recall@1,2 -q --signature --format json"
    printed = CliRunner().invoke(cli.app(), ["evaluate", *words.split()]).stdout
    assert json.loads(printed) == document
    assert list(document["signatures"]) == ["recall@1", "recall@2"]
    assert [*document["queries"]["same"]] == [f"q{i}" for i in range(QUERIES)]
    numbers = []
    for baseline in ("same.txt", "same.json"):
        words = f"{baseline} bad.txt -m recall@1,2 --margin .02 --format json"
        code, text = invoke(words)
        assert code == WORSE
        report = json.loads(text)
        for row in report["queries"]:  # no documents are known of the file
            del row["missed"], row["gained"]
        numbers.append([report["metrics"], report["queries"]])
    assert numbers[0] == numbers[1]
    _, text = invoke("same.json bad.txt -m recall@1 --margin .02 --signature")
    assert text.startswith("worse: bad against same,")
    assert f"; {document['signatures']['recall@1']}\n" in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        # Both signatures are named.
        ("-m recall@1 --trec", "holds recall@1.dup.* measured as .*ties:id-desc"),
        ("-m recall@1 --level 2", "holds recall@1.dup.* measured as .*rel:2"),
        ("-m recall@1 --depth 1", "holds recall@1.dup.* measured as .*cut:1"),
        ("-m recall@3", "holds no recall@3, .*, or save the"),
    ],
)
def test_a_baseline_of_another_signature_is_refused(folder, words, part):
    """Its numbers are of another definition, so that no verdict is printed."""
    invoke(SAVED)
    line = f"gate qrels.txt same.json bad.txt --margin .2 {words}"
    done = CliRunner().invoke(cli.app(), line.split())
    assert done.exit_code == 2 and not done.stdout
    assert re.search(f"same.json.* {part}", done.stderr), done.stderr


def test_a_baseline_that_is_not_of_these_queries_is_refused(folder):
    """A broken file, and a file of another version of the definitions, are refused, too."""
    invoke(SAVED)
    text = (folder / "same.json").read_text()
    for change, part in (
        (text.replace('"q7"', '"q77"'), "differ in 2 queries, such as 'q7'"),
        (text.replace("def:1", "def:2"), "|def:2, and the candidate is measured as"),
        (text.replace('"queries"', '"query"'), "cannot be read: KeyError"),
        (text[:-5], "cannot be read: JSONDecodeError"),
        (text.replace('"digests"', '"digest"'), "cannot be read: KeyError('digests')"),
        (re.sub('judgements": "..', 'judgements": "..', text), "other judgements"),
        (
            re.sub('(q7": {\\s*"recall@1": )[01].0', r"\1 7.0", text),
            "holds 7.0 as recall@1",
        ),
        (
            re.sub('(q7": {\\s*"recall@1": )[01].0', r"\1 NaN", text),
            "holds nan as recall@1",
        ),
        (re.sub('(q7": {\\s*"recall@1": )[01].0', r"\1 true", text), "holds True as"),
        (
            re.sub('(q7": {\\s*"recall@1": )[01].0', r'\1 "1"', text),
            "holds '1' as recall",
        ),
    ):
        (folder / "same.json").write_text(change)
        line = "gate qrels.txt same.json bad.txt --margin .2 -m recall@1"
        done = CliRunner().invoke(cli.app(), line.split())
        assert done.exit_code == 2 and part in done.stderr, done.stderr
