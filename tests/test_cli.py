"""The command line: its output, and one line on stderr for every error."""

import ast
import csv
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import polars as pl
import pytest
from spoken import words_of_python
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._command import request
from jax_rank_metrics._command.arguments import (
    DEFAULT,
    in_options,
    members,
    run_names,
)
from jax_rank_metrics._engine.calls.binding import parse
from jax_rank_metrics._names.trec import NOT_MEASURED, OFFICIAL

QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 0\nq2 0 a 1\nq2 0 b 2\n"
RUNS = {
    "good.txt": "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.5 t\nq2 Q0 b 1 0.9 t\n",
    "bad.txt": "q1 Q0 b 1 0.9 t\nq1 Q0 a 2 0.5 t\nq2 Q0 x 1 0.9 t\n",
}
METRICS = ("-m", "recall@1,2")  # a single metric, since each takes time to compile


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    for name, text in RUNS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def invoke(*words):
    return CliRunner().invoke(cli.app(), ["evaluate", *words])


def printed(*words):
    done = invoke("qrels.txt", *words)
    assert done.exit_code == 0 and not done.stderr, done.output
    return done.stdout


def test_weights(folder):
    """Means weigh queries; queries of weight 0 are left out."""
    words = ("good.txt", *METRICS, "--format", "csv", "--weights", "weights.csv")
    for weight, mean in ((3, (3 * 1 + 0.5) / 4), (0, 0.5)):
        (folder / "weights.csv").write_text(f"query,weight\nq1,{weight}\nq2,1\n")
        [_, row] = csv.DictReader(io.StringIO(printed(*words)))
        assert row["metric"] == "recall@2" and float(row["mean"]) == mean
    (folder / "weights.csv").write_text("q1 0\n")
    assert "such as 'q2', have no weight" in invoke("qrels.txt", *words).stderr


def run_command(*words, **streams):
    """Runs the command in a process of its own."""
    command = [sys.executable, "-m", "jax_rank_metrics", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **streams)


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [("evaluate", "qrels.txt", "good.txt", *METRICS), ("--version",)]
)
def test_a_full_disk_is_one_line(folder, words):
    """Output that cannot be written is an error, also if nothing is buffered."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with open("/dev/full", "w") as full:
        done = run_command(*words, stdout=full, env=environment)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


@pytest.mark.long
def test_any_encoding(folder):
    """Signs that a terminal lacks are escaped."""
    words = ("evaluate", "qrels.txt", "good.txt", "bad.txt", "--compare", "t", *METRICS)
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run_command(*words, stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0 and "recall@2" in done.stdout, done.stderr


def test_a_figure_that_fails(folder, monkeypatch):
    """The numbers are printed, and the old figure stays."""
    (folder / "figure.png").write_text("old")

    def fail(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    done = invoke("qrels.txt", "good.txt", *METRICS, "--plot", "figure.png")
    assert done.exit_code == 1 and "the disk is full" in done.stderr
    assert "recall@2" in done.stdout
    assert (folder / "figure.png").read_text() == "old"
    assert not [*folder.glob(".*")]


def test_signatures_on_request(folder):
    """They name the options of the call, below tables and in CSV and JSON."""
    words = ("good.txt", "bad.txt", *METRICS, "--signature", "--compare", "t")
    choices = "duplicates:error|negative:unjudged|nan:error|def:1"
    texts = {f"recall@{k}": f"recall@{k}|{choices}" for k in (1, 2)}
    note = "; ".join(texts.values())
    assert printed(*words).count(note) == 2  # of the means and of the comparisons
    assert json.loads(printed(*words, "--format", "json"))["signatures"] == texts
    rows = csv.DictReader(io.StringIO(printed(*words, "--format", "csv")))
    assert {x["metric"]: x["signature"] for x in rows} == texts
    options = ("--trec", "-M", "1", "-J", "-l", "2", "--duplicates", "max")
    done = invoke("qrels.txt", *words, *options, "--format", "json")
    choices = (
        "ties:id-desc|duplicates:error|rows:max|unjudged:removed|negative:unjudged"
    )
    choices = f"recall@1|rel:2|{choices}|nan:error|queries:both|cut:1|def:1"
    assert json.loads(done.stdout)["signatures"]["recall@1"] == choices
    assert "def:1" not in printed(*words[:4])


def test_ties_that_a_metric_reads_in_one_order(folder):
    """A note tells, unless ids order them."""
    (folder / "tied.txt").write_text(
        "q1 Q0 a 1 0.5 t\nq1 Q0 b 2 0.5 t\nq2 Q0 b 1 0.9 t\n"
    )
    words = ("qrels.txt", "tied.txt", "-m", "11pt_avg")
    note = "tied: items tie for 1 of 2 lists, as in list 0, and 11pt_avg has no formula"
    assert note in invoke(*words).stderr
    assert not invoke(*words, "--trec").stderr
    assert not invoke("qrels.txt", "good.txt", *words[2:]).stderr


def test_formats(folder):
    """Every format holds the same means."""
    runs = ("good.txt", "bad.txt", *METRICS)
    text = printed(*runs)
    assert "recall@2" in text and "0.750* [-2.427, 3.927]" in text
    for format, part in (("markdown", "|"), ("html", "<table>")):
        assert part in printed(*runs, "--format", format)
    rows = [*csv.DictReader(io.StringIO(printed(*runs, "--format", "csv")))]
    means = {(row["run"], row["metric"]): float(row["mean"]) for row in rows}
    assert means[("good", "recall@2")] == 0.75 and means[("bad", "recall@2")] == 0.5
    document = json.loads(printed(*runs, "--format", "json", "-q", "--compare", "t"))
    assert document["runs"]["bad"]["recall@2"]["mean"] == 0.5
    assert document["queries"]["good"]["q2"] == {"recall@1": 0.5, "recall@2": 0.5}
    tested = document["comparisons"]["bad"]["recall@1"]
    assert (tested["difference"], tested["baseline"]) == (-0.75, "good")


def test_queries_and_comparisons(folder):
    """Values by query and comparisons stand in every format that can hold them."""
    runs = ("good.txt", "bad.txt", *METRICS)
    text = printed(*runs, "-q", "--compare", "permutation", "--baseline", "bad")
    assert re.search(r"good +recall@1 +\+0.750 \[", text)
    assert "† differs from bad (permutation test, Holm-corrected, p ≤ 0.05)" in text
    latex = printed(*runs, "--compare", "t", "--format", "latex")
    assert latex.count(r"\begin{tabular}") == 2 and "& $-$0&.750 & [" in latex
    assert re.search(r"bad .*\n-.*\nq1 +0.0000 +1.0000\nq2 +0.0000 +0.0000\n", text)
    rows = [*csv.DictReader(io.StringIO(printed(*runs, "-q", "--format", "csv")))]
    assert {"run": "bad", "query": "q1", "metric": "recall@2", "value": "1.0"} in rows
    text = printed(*runs, "--compare", "bootstrap", "--format", "csv")
    assert text.startswith("task,baseline,system,metric,cutoff,difference,")
    assert "\n,good,bad,recall@1,1," in text
    lines = printed("good.txt", *METRICS, "--format", "trec", "-q").splitlines()
    assert lines[0] == f"{'recall@1':22}\tq1\t1.0000" and len(lines) == 6


def test_tags_of_runs(folder):
    """The tag stands in trec_eval's place, unless there is no tag or runs share it."""
    (folder / "mine.txt").write_text("q1\tQ0\ta\t1\t0.9\tbm25+ 1\nq2 Q0 x 1 1 u\n")
    (folder / "table.csv").write_text("query_id,doc_id,score\nq1,a,1\nq2,a,1\n")
    words = (*METRICS, "--format", "trec", "-m", "runid")
    for files, tags in (
        (["good.txt"], ["t"]),
        (["good.txt", "bad.txt"], ["good", "bad"]),
        (["mine.txt", "good.txt", "table.csv"], ["bm25+", "t", "table"]),
    ):
        lines = [x.split("\t") for x in printed(*files, *words).splitlines()]
        assert [x[2] for x in lines if x[0].strip() == "runid"] == tags


def test_judged_documents_only(folder):
    """Documents without judgements leave the run, and later ones move up."""
    run = "q1 Q0 x 1 0.9 t\nq1 Q0 a 2 0.5 t\nq2 Q0 b 1 0.9 t\n"
    (folder / "new.txt").write_text(run)
    for flags, mean in (((), 0.25), (("-J",), 0.75)):
        text = printed("new.txt", *METRICS, *flags, "--format", "json")
        assert json.loads(text)["runs"]["new"]["recall@1"]["mean"] == mean


def test_queries_without_values(folder):
    """A geometric mean has no value for each query; the table lists the queries alone."""
    assert printed("good.txt", "-m", "gm_map", "-q").startswith("good\n----\nq1\nq2\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "inches"),
    [
        ("bad.txt -m recall@1,2 -m mrr@1", 3 * 3.6),
        ("bad.txt -m ndcg_cut.1,2 -m mrr@1", 3 * 3.6),
        ("bad.txt -m recall@1", 2 * 3.6),
        # Forests: a row for each run, or below each run one for each metric.
        ("bad.txt new.txt -m recall@1 -m mrr@1", 3.6 + 1.2 + 0.28 * 4),
        ("bad.txt new.txt -m recall@1 -m mrr@1 --compare t", 3.6 + 1.2 + 0.28 * 6),
        ("bad.txt -m recall@1 --compare t", 2 * 3.6 + 1.2 + 0.28 * 2),
    ],
)
def test_plot(folder, words, inches):
    """Panels show the metric, its differences or tests, and its cutoffs."""
    (folder / "new.txt").write_text((folder / "bad.txt").read_text())
    done = invoke("qrels.txt", "good.txt", *words.split(), "--plot", "plot.png")
    assert done.exit_code == 0, done.output
    image = (folder / "plot.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    width, height = (int.from_bytes(image[x : x + 4], "big") for x in (16, 20))
    assert width == 4 * 120 and abs(height - 120 * inches) <= 1


def test_options_of_the_call_go_into_metrics():
    """`--trec` and `--level` set the options that a name leaves open."""

    def metrics(*typed, trec=True, level=None):
        bounds = [x.bound for x in request.metrics_of(typed, trec, level)]
        return [(x.spec.name, dict(x.options)) for x in bounds]

    def parsed(*names):
        return [(x.spec.name, dict(x.options)) for x in map(parse, names)]

    unchanged = ("ndcg_cut_5", "ndcg(gain_fn=exponential_gain)")
    linear = ("ndcg(gain_fn=linear_gain)", "ndcg(gain_fn=linear_gain)@5")
    assert metrics("ndcg", "ndcg@5", *unchanged) == parsed(*linear, *unchanged)
    unchanged = ("P_5", "set_P", "p(denominator=retrieved)@5")
    assert metrics("p@5", *unchanged) == parsed("p(denominator=k)@5", *unchanged)
    of_level = metrics("map", "map(rel=1)@5", "ndcg", trec=False, level=2)
    assert of_level == parsed("map(rel=2)", "map(rel=1)@5", "ndcg")
    assert metrics("p@5", level=2) == parsed("p(denominator=k, rel=2)@5")
    assert metrics() == metrics("official") and len(metrics()) == len(OFFICIAL)
    assert metrics(trec=False) == parsed(*DEFAULT)
    assert metrics("rbp", "rbp(p=0.8)@5") == parsed("rbp(p=0.9)", "rbp(p=0.8)@5")
    # Options of a residual go into its metric.
    for name, of, options in (
        ("residual@5", "rbp(p=0.9)", {}),
        ("residual(of=P, max_label=2)@5", "P(denominator=k)", {}),
        ("residual(of=P)", "P", {}),
        ("residual", "rbp(p=0.9, rel=2)", {"level": 2}),
    ):
        ((_, residual),) = metrics(name, **options)
        assert residual["of"].options == parse(of).options


def test_names_of_runs(tmp_path):
    """Runs are named by their files, with as much of the path as distinguishes them."""

    def names(*paths):
        return run_names([tmp_path / path for path in paths])

    assert names("x/bm25.run.gz", "y/mine.csv") == ["bm25", "mine"]
    assert names("x/bm25.run", "y/bm25.run") == ["x/bm25", "y/bm25"]
    assert names("x/bm25.run", "x/bm25.csv") == ["bm25.run", "bm25.csv"]
    assert names("x/k1=0.9", "x/k1=1.2.txt") == ["k1=0.9", "k1=1.2"]


def test_families_and_sets_of_trec_eval():
    """Families and sets expand to the names that trec_eval prints."""

    def labels(*typed, trec=False):
        metrics = request.metrics_of(typed, trec, None)
        return [label for metric in metrics for label in metric.labels]

    expected = "P_5 P_10 iprec_at_recall_0.20 success_3".split()
    assert labels("P.5,10", "iprec_at_recall.0.2", "success.3") == expected
    assert len(labels("ndcg_cut")) == len(labels("P", trec=True)) == 9
    assert labels("P") == ["P"] and labels("P@5", trec=True) == ["P@5"]
    assert labels("official")[-1] == "P_1000"
    official = request.metrics_of(["official"], False, None)
    assert official[-1].bound.name == "P.5,10,15,20,30,100,200,500,1000"
    everything = labels("all_trec")
    assert {"relative_P_5", "gm_bpref", "set_F"} < {*everything}
    assert {"set_map", "Rprec_mult_0.20", "unj_20", "rbp", "rbp_resid"} < {*everything}
    typed = ("rbp.p=0.8", "utility.2,-1,0,0")
    assert labels(*typed, trec=True) == ["rbp_p=0.8", "utility_2,-1,0,0"]
    with_p, utility = request.metrics_of(typed, True, 2)
    assert {("p", 0.8), ("relevance_threshold", 2)} < {*with_p.bound.options}
    assert {("worth", 2), ("cost", 1)} < {*utility.bound.options}
    assert not {"Rndcg", "num_q"} & {*everything}
    assert "Rndcg" in {*members(["all_trec"], False)} & {*NOT_MEASURED}


def test_queries_that_are_documents(folder):
    """`--exclude-self` takes them out of their own lists; a hidden file is a run."""
    (folder / "qrels.txt").write_text("a 0 b 1\n")
    (folder / ".hidden").write_text("a Q0 a 1 2 t\na Q0 b 2 1 t\n")
    words = (".hidden", "-m", "mrr", "--exclude-self", "--format", "json")
    assert json.loads(printed(*words))["runs"][".hidden"]["mrr"]["mean"] == 1


def test_documents_of_chunks(folder):
    """`--document` has the values and signatures of `join`, for every choice of rows."""
    lines = ["x", "a#1 1 9", "b#2 2 8", "a#1 3 7", "b#1 4 6"]
    rows = [f"q1 Q0 {line} t\n" for line in lines[1:]]
    (folder / "chunks.txt").write_text("".join([*rows, "q2 Q0 b 1 1 t\n"]))
    of_chunk = "--document", r"^([^#]+)(#\d)?", "--format", "json"
    for name in ("error", "last", "max"):
        words = ("chunks.txt", *METRICS, *of_chunk, "--duplicates", name, "--signature")
        results = json.loads(printed(*words))
        # The rows of chunks equal the rows of a frame.
        run = pl.DataFrame(
            [("q1", *row.split()[2::2][:2]) for row in rows] + [("q2", "b", "1")],
            ("query_id", "doc_id", "score"),
            orient="row",
        )
        run = run.with_columns(pl.col("score").cast(float))
        qrels, document = jrm.read_qrels("qrels.txt"), lambda chunk: chunk.split("#")[0]
        joined = jrm.join(qrels, run, document=document, duplicates=name)
        evaluation = joined.evaluation("recall@1,2")
        mean = results["runs"]["chunks"]["recall@1"]["mean"]
        assert mean == evaluation["recall@1,2"].compute()[0]
        signature = joined.signature("recall@1")["recall@1"]
        assert results["signatures"]["recall@1"] == signature


SPOKEN = {  # what qrels.txt and run.json hold, and the options
    "repeats": ("q1 0 a 1\n", '{"q1": ["a", "a"]}', ()),
    "missing": ("q1 0 a 1\nq2 0 a 1\n", '{"q1": ["a"]}', ()),
    "unjudged": ("q1 0 a 1\n", '{"q1": ["a"], "q2": ["a"]}', ()),
    "duplicates": ("q1 0 a 1\nq1 0 a 1\n", '{"q1": ["a"]}', ()),
    "exclude self": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--exclude-self",)),
    "not exclude self": ("a 0 b 1\nb 0 a 1\n", '{"a": ["a"], "b": ["b"]}', ()),
    "chunks": ("q1 0 a 1\n", '{"q1": ["a#1"]}', ()),
    "subtopics": ("q1 0 a 1\n", '{"q1": ["a"]}', ("-m", "alpha-nDCG@5")),
    "columns": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--run-columns", "a,b,c")),
    "confidence": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--confidence", "2")),
    "no judgement": ('{"q1": []}', '{"q1": ["a"]}', ("--qrels-format", "json")),
    "nothing relevant": ('{"q1": [], "q2": ["a"]}', '{"q1": ["a"], "q2": []}', ("--qrels-format", "json")),
    "level": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--level", "3")),
    "an option of means": ("q1 0 a 1\n", "{}", ("-m", "map(undefined=skip)")),
    "an option of rankings": ("q1 0 a 1\n", "{}", ("-m", "map(ties=trec)")),
    "a function": ("q1 0 a 1\n", "{}", ("-m", "neighbor_recall")),
    "an item column": ("q1 0 a 1\n", '{"q1": ["a"]}', ("-m", "novelty@5")),
    "of all lists": ("q1 0 a 1\n", "{}", ("-m", "coverage")),
    "of two rankings": ("q1 0 a 1\n", "{}", ("-m", "rbo")),
    "a column": ("q1 0 a 1\n", "{}", ("-m", "dtr")),
    "gains": ("q1 0 a 999\n", '{"q1": ["a"]}', ("-m", "ndcg")),
    "run format": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--run-format", "tsv")),
    "weights": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--weights", "weights.txt")),
    "document": ("q1 0 a 1\n", '{"q1": ["a"]}', ("--document", "(b)")),
    "scores": ("1 qid:1\n", "0.5\n", (*"--qrels-format svmlight --run-format scores".split(), "--document", "(b)")),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOKEN)
def test_messages_have_words_of_the_command(folder, case):
    """None names an argument of Python, which is no option."""
    qrels, run, options = SPOKEN[case]
    (folder / "qrels.txt").write_text(qrels)
    (folder / "run.json").write_text(run)
    (folder / "weights.txt").write_text("q1 1e30\n")
    done = invoke("qrels.txt", "run.json", *METRICS, *options)
    assert done.stderr and not words_of_python(done.stderr), done.stderr


def test_warnings_have_words_of_the_command(folder):
    """Warnings of `compare` are lines of the command, and errors name its options."""
    (folder / "weights.txt").write_text("q1 1000\nq2 1\n")
    words = ("qrels.txt", "good.txt", "bad.txt", *METRICS, "--compare")
    heavy = invoke(*words, "bootstrap", "--weights", "weights.txt").stderr
    assert "pass --compare t or --compare permutation" in heavy
    few = invoke(*words, "bootstrap", "--confidence", "0.99999").stderr
    assert few.startswith("jax-rank-metrics: ") and few.count("\n") == 1, few
    assert not words_of_python(few) and "from Python, more is possible" in few


ROOMS = (
    *("_command", "_names", "_runs/files", "_values/remarks.py", "_ground/gains.py"),
    *("_ground/inputs/list_ids.py", "_verdicts/systems/list_values.py"),
    *("_verdicts/systems/reading.py", "_verdicts/comparisons/outcomes.py"),
)
# Options of metrics, which follow -m, and arguments that the command never passes.
OF_OTHERS = {
    *("denominator=", "gain_fn=", "of=", "worth=", "cost=", "option=", "level="),
    *("alternative=", "correction=", "filled=", "metric=", "`paired`"),
}


def test_every_message_has_words_of_the_command():
    """All texts of the modules that raise and warn in the command are translated."""
    package, texts = pathlib.Path(jrm.__file__).parent, []
    for room in ROOMS:
        for path in sorted((package / room).glob("*.py")) or [package / room]:
            nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
            ids = {
                id(node.value)
                for node in nodes
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            }  # docstrings
            for node in nodes:
                if isinstance(node, ast.JoinedStr):
                    ids |= {*map(id, node.values)}
                    parts = [getattr(part, "value", None) for part in node.values]
                    texts.append(
                        "".join(p if isinstance(p, str) else "'x'" for p in parts)
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if id(node) not in ids:
                        texts.append(node.value)
    assert len(texts) > 500
    texts = [text for text in texts if " " in text and len(text) < 600]
    left = {text: words_of_python(in_options(text)) for text in texts}
    assert not {text: words for text, words in left.items() if {*words} - OF_OTHERS}


def test_trec_cuts_fractions_of_grades(folder):
    """Decimals of grades are cut, as trec_eval cuts them, and a note says so."""
    (folder / "qrels.txt").write_text("q1 0 a .7\nq1 0 b 1.9\nq1 0 x -.5\nq2 0 b 1\n")
    words = ("qrels.txt", "good.txt", "--trec", "-m", "ndcg", "-m", "num_rel")
    done = invoke(*words, "--format", "csv", "-q")
    values = [row["value"] for row in csv.DictReader(io.StringIO(done.stdout))]
    assert [round(float(value), 4) for value in values] == [0.6309, 1, 1, 1]
    assert "3 of 4 judgements are fractions, such as 0.7" in done.stderr


def test_unjudged_documents_of_trec_eval(folder):
    """An unjudged document has the weight of its rank, whatever the level is."""
    (folder / "run.txt").write_text("q1 Q0 x 1 9 t\nq1 Q0 a 2 8 t\nq2 Q0 b 1 9 t\n")
    words = ("run.txt", "--trec", "--format", "trec", "-l", "2", "-m", "unj.1,4")
    lines = printed(*words, "-m", "rbp_resid").split()
    assert lines == "unj_1 all 0.5000 unj_4 all 0.1250 rbp_resid all 0.0500".split()


def test_official_measures_have_one_meaning(folder):
    """Precision at 5 divides by 5 wherever it is called P_5; P@5 keeps its name."""
    words = ("good.txt", "--format", "trec", "-m", "P_5")
    lines = printed(*words, "-m", "P@5").split()
    assert lines == "P_5 all 0.2000 P@5 all 0.7500".split()
    done = invoke("qrels.txt", "good.txt", "--format", "trec", "-m", "official")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[:2] == [["runid", "all", "t"], ["num_q", "all", "2"]]
    assert ["P_5", "all", "0.2000"] in lines
    assert ["iprec_at_recall_0.30", "all", "1.0000"] in lines
    assert len({name for name, *_ in lines}) == len(lines)
    lines = printed("good.txt", "--format", "trec", "-m", "num_q").splitlines()
    assert lines == [f"{'num_q':22}\tall\t2"]


def test_runs_over_different_queries_are_not_compared(folder):
    """Every run says how many queries it lacks; no mean is called the best."""
    (folder / "part.txt").write_text(RUNS["good.txt"].partition("q2")[0])
    words = ("qrels.txt", "part.txt", "bad.txt", "--missing", "skip", *METRICS)
    done = invoke(*words)
    assert done.exit_code == 0 and "*" not in done.stdout
    assert done.stdout.count("Mean and 95 % interval") == 2
    assert "part lacks 1 of 2 judged queries" in done.stderr
    assert "bad lacks" not in done.stderr and "cannot be compared" in done.stderr
    done = invoke(*words, "--compare", "t")
    assert done.exit_code == 1 and "pass --missing zero" in done.stderr
    assert "*" in printed("part.txt", "bad.txt", "--missing", "zero", *METRICS)


def test_directions_are_those_of_metrics(folder):
    """Wins follow the metric, whatever a run is called; counts have none."""
    (folder / "arp.txt").write_text(RUNS["bad.txt"])
    words = ("good.txt", "arp.txt", "--compare", "t", "--format", "json")
    words += ("-m", "fall_out", "-m", "relative_P.5", "-m", "num_ret")
    done = invoke("qrels.txt", *words)
    assert re.fullmatch(r".*: fall_out: .* 1 of 2 .* as 0, .*best\n", done.stderr)
    tests = json.loads(done.stdout)["comparisons"]["arp"]
    assert (tests["fall_out"]["wins"], tests["fall_out"]["losses"]) == (0, 1)
    assert (tests["relative_P_5"]["wins"], tests["relative_P_5"]["losses"]) == (0, 1)
    assert tests["num_ret"]["difference"] == 0 and not tests["num_ret"]["wins"]


def test_stdin(folder):
    """A dash is stdin, plain or packed, for one of the files."""
    words = ["evaluate", "qrels.txt", "-", "bad.txt", *METRICS, "--format", "csv"]
    for data in (RUNS["good.txt"].encode(), gzip.compress(RUNS["good.txt"].encode())):
        done = CliRunner().invoke(cli.app(), words, input=data)
        assert done.exit_code == 0, done.output
        assert "\nstdin,recall@1,0.75" in done.stdout, done.output
    done = CliRunner().invoke(cli.app(), words, input=b"q1 Q0 a\n")
    assert done.exit_code == 1 and "stdin, line 1" in done.stderr


def test_formats_of_both_files(folder):
    """Judgements and runs have a format and columns each."""
    (folder / "qrels.tsv").write_text(QRELS.replace(" ", "\t"))
    words = ("qrels.tsv", "good.txt", *METRICS)
    done = invoke(*words, "--qrels-format", "tsv")
    assert "pass --qrels-format trec, if the first line" in done.stderr, done.stderr
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    (folder / "run.csv").write_text("user,item,score\nq1,a,1\nq2,a,1\n")
    done = invoke("qrels.txt", "run.csv")
    assert "pass --run-columns, the names that the first line has" in done.stderr, (
        done.stderr
    )
    assert printed("run.csv", "--run-columns", "user,item,score", *METRICS)


PROGRAM = """
import runpy
import sys
import jax_rank_metrics as jrm
assert "jax" not in sys.modules
# Unpickling a function in another process imports its module alone.
from jax_rank_metrics._engine.calls.binding import parse
assert parse("ndcg@10").spec.name == "ndcg"
assert "jax_rank_metrics._public" not in sys.modules
from jax_rank_metrics import *
assert ndcg is jrm.ndcg and plots is jrm.plots and "merge" in vars(jrm)
assert jrm.plots.at_cutoffs and not {"matplotlib", "polars", "rich", "typer"} & {*sys.modules}
jrm.merge = "mock"
assert "merge" in dir(jrm) and jrm.merge == "mock"
sys.argv[1:] = "evaluate qrels.txt good.txt --format trec -m num_q".split()
runpy.run_module("jax_rank_metrics", run_name="__main__")
"""


def test_a_process_from_its_first_import_to_a_closed_pipe(folder):
    """Importing the package imports no JAX; the first name that is used brings them all.

    Libraries for plots, files and the command are not imported before they are needed.
    If the reader of stdout stops, as `head` does, stderr stays empty to the end.
    """
    command, pipe = [sys.executable, "-c", PROGRAM], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == "" and process.wait()


@pytest.mark.parametrize("baseline", ["bad", "bad.txt", "./bad.txt"])
def test_the_baseline_is_a_name_or_a_file(folder, baseline):
    """The other run is compared with it."""
    words = ("good.txt", "bad.txt", *METRICS, "--compare", "t", "--format", "json")
    tests = json.loads(printed(*words, "--baseline", baseline))["comparisons"]
    assert [*tests] == ["good"]


def test_version_and_completion():
    """The command knows its version and completes the names of metrics."""
    done = CliRunner().invoke(cli.app(), ["--version"])
    assert done.exit_code == 0 and done.stdout.split()[1] == jrm.__version__
    assert cli._metric_names("ndcg") == ["ndcg", "ndcg_cut"]


ERRORS = {
    "No such file": "none.txt good.txt",
    "line 1 ('q1 0 a 1')": "qrels.txt qrels.txt",
    "is unknown": "qrels.txt good.txt -m nonsense",
    "has no option": "qrels.txt good.txt -m mrr(depth=3)",
    "--per-query goes with --format": "qrels.txt good.txt -q --format html",
    "--compare goes with --format": "qrels.txt good.txt bad.txt --compare t --format trec",
    "--signature goes with --format": "qrels.txt good.txt --signature --format trec",
    "pass --per-query alone": "qrels.txt good.txt -q --signature --format csv",
    "is one table": "qrels.txt good.txt bad.txt --compare t -q --format csv",
    "pass one of them": "qrels.txt good.txt -c --missing skip",
    "--baseline x is none of good": "qrels.txt good.txt --baseline x",
    "--baseline a.txt may be any of x/a, y/a": "qrels.txt x/a.txt y/a.txt --baseline a.txt",
    "-m ndcg@10,map: pass -m for each metric, as in -m ndcg@10 -m map": "qrels.txt good.txt -m ndcg@10,map",
    "'map'; if it is a metric, pass -m for each, as in -m ndcg@10 -m map": "-m ndcg@10 map qrels.txt good.txt",
    "--level is nan": "qrels.txt good.txt -l nan",
    "'recall@1,2' and 'recall@2' both hold 'recall@2'; leave one of them out": "qrels.txt good.txt -m recall@1,2 -m recall@2",
    "add -m map": "qrels.txt good.txt bad.txt -m gm_map --compare t",
    "there is no folder": "qrels.txt good.txt --plot none/plot.png",
    "needs two runs": "qrels.txt good.txt --compare t",
    "good.txt is given twice": "qrels.txt good.txt good.txt",
    "part.txt: qrels: query 'q2' has no documents in run": "qrels.txt part.txt",
    "other.txt: run: query 'q7' has no documents in qrels": "qrels.txt other.txt",
    "have no column names": "qrels.txt good.txt --qrels-columns a,b,c",
    # The name of a file is no argument, whatever it looks like.
    "columns=x.txt: is empty": "qrels.txt columns=x.txt",
    "no documents in run; pass --missing zero to count": "qrels.txt part.txt",
    "no documents in qrels; pass --unjudged skip to leave": "qrels.txt other.txt",
    "appears earlier; pass --duplicates first or --duplicates last": "qrels.txt twice.txt",
    "judgements of subtopics; pass --qrels-format subtopics": "subtopics.txt good.txt",
    "alpha_ndcg@10 reads subtopics, which the judgements do not have; pass judgements of --qrels-format subtopics": "qrels.txt good.txt -m alpha_ndcg@10",
    "-m alpha-DCG@5: this measure of ndeval is not available": "subtopics.txt good.txt -m alpha-DCG@5",
    "--level 2.0: a document of subtopics.txt is relevant if": "subtopics.txt good.txt --qrels-format subtopics -l 2",
    "-m Rndcg: this measure of trec_eval is not available": "qrels.txt good.txt -m Rndcg",
    "-m num_q is a line of --format trec": "qrels.txt good.txt -m num_q",
    "--confidence is 95.0; pass a number between 0 and 1": "qrels.txt good.txt --confidence 95",
    "- is given twice": "- -",
    "--plot: a geometric mean has no value per query": "qrels.txt good.txt -m gm_map --plot plot.png",
    "--plot plot.xyz: figures are not written as '.xyz'": "none.txt good.txt --plot plot.xyz",
    "nine in ten runs that equal the baseline pass at a margin of 13.14 of recall@1, 13.14 of recall@2": "gate qrels.txt good.txt bad.txt -m recall@1,2",
    "pass -m, a baseline and a candidate; or": "gate qrels.txt good.txt bad.txt --margin 0.1",
    "if there is no baseline yet, the candidate": "gate qrels.txt good.txt -m mrr --margin 0.1",
    "none.txt'": "gate qrels.txt none.txt good.txt -m mrr --margin 0.1",
    "gate: a geometric mean has no value": "gate qrels.txt good.txt bad.txt -m gm_map --margin 0.1",
    "-m num_ret has no direction": "gate qrels.txt good.txt bad.txt -m num_ret --margin 0.1",
    "-m gm_map has no direction, or no values of queries": "gate qrels.txt good.txt bad.txt -m gm_map -m num_ret --margin 0.1",
    "good.txt: --document (.+)# has no match in 'a'": "qrels.txt good.txt --document (.+)#",
    "--document .+# has no group; put": "qrels.txt good.txt --document .+#",
    "--document (: missing )": "qrels.txt good.txt --document (",
    "--alpha is 1.0; pass a number between 0 and 0.5": "gate qrels.txt good.txt bad.txt -m recall@1,2 --margin 0.1 --alpha 1",
}  # fmt: skip


@pytest.mark.parametrize("why", list(ERRORS))
def test_errors_are_one_line(folder, why):
    """An error of the user is one line on stderr, and the exit code is 1, or 2 of gate."""
    (folder / "part.txt").write_text(RUNS["good.txt"].partition("q2")[0])
    (folder / "other.txt").write_text(RUNS["good.txt"] + "q7 Q0 a 1 0 t\n")
    (folder / "twice.txt").write_text(RUNS["good.txt"] + "q1 Q0 a 1 0 t\n")
    (folder / "subtopics.txt").write_text("q1 1 a 1\nq1 2 a 1\n")
    (folder / "columns=x.txt").write_text("")
    words = ERRORS[why].split()
    code = 2 if words[0] == "gate" else 1  # 1 is a verdict of `gate`
    done = CliRunner().invoke(cli.app(), words if code == 2 else ["evaluate", *words])
    assert isinstance(done.exception, SystemExit) and done.exit_code == code
    assert done.stderr.count("\n") == 1 and why in done.stderr, done.stderr
    assert not done.stdout and not words_of_python(done.stderr.replace("columns=x", ""))


WITHOUT_JAX = """
import runpy
import sys
sys.modules["jax"] = None  # importing it raises
sys.argv[1:] = ["--help"]
try:
    runpy.run_module("jax_rank_metrics", run_name="__main__")
except SystemExit as done:
    assert done.code == 0
from typer.testing import CliRunner
from jax_rank_metrics.cli import app
for words, code in (
    (["--help"], 0),
    (["--version"], 0),
    (["evaluate", "--help"], 0),
    (["evaluate", "qrels.txt"], 2),
    (["evaluate", "none.txt", "good.txt"], 1),
    (["evaluate", "qrels.txt", "good.txt", "-m", "Rndcg"], 1),
    (["evaluate", "qrels.txt", "good.txt", "--compare", "t"], 1),
    (["gate", "--help"], 0),
    (["gate", "qrels.txt", "good.txt", "-m", "mrr"], 2),
):
    done = CliRunner().invoke(app(), words)
    assert done.exit_code == code and "halted" not in done.stderr, done.output
"""


def test_help_and_wrong_options_do_not_wait_for_jax(folder):
    """The help, the version and errors in the options come without it."""
    command = [sys.executable, "-c", WITHOUT_JAX]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_wrong_usage_is_2():
    """The exit code of a wrong command line is 2."""
    for words in (("qrels.txt",), ("a", "b", "--format", "xml"), ("a", "b", "-M", "0")):
        done = invoke(*words)
        assert done.exit_code == 2 and not done.stdout
        assert done.stderr.count("\n") <= 5


def test_an_option_without_its_value():
    """It lists its choices, if it has any."""
    for words in (
        "evaluate a b --compare",
        "gate a b --undecided",
        "evaluate a b --plot",
    ):
        done = CliRunner().invoke(cli.app(), words.split())
        reason = {"--compare": "tukey", "--undecided": "pass"}.get(words.split()[-1])
        assert done.exit_code == 2 and (reason or "requires an arg") in done.stderr


def test_a_missing_library(monkeypatch, capsys):
    """The message names the extra to install, and 1 is no exit code of `gate`."""
    for missing, command, extra, code in (
        ("typer", "demo", "demo", 1),
        ("optax", "demo", "demo", 1),
        ("typer", "evaluate", "trec", 1),
        ("typer", "gate", "trec", 2),
    ):
        monkeypatch.setattr(cli.sys, "argv", ["jax-rank-metrics", command])
        with monkeypatch.context() as patch:
            patch.setitem(cli.sys.modules, missing, None)
            with pytest.raises(SystemExit, match=f"^{code}$"):
                cli.main()
        line = capsys.readouterr().err
        assert re.search(rf"{missing}, which is not .*\[{extra}\]", line), line
        assert line.count("\n") == 1


def test_a_defect_is_no_verdict(folder, monkeypatch):
    """Whatever goes wrong in `gate`, its exit code is not the code of a worse run."""
    monkeypatch.setattr("jax_rank_metrics._command.gate.gate", lambda _: 1 / 0)
    words = "gate qrels.txt good.txt bad.txt -m mrr --margin 0.1".split()
    done = CliRunner().invoke(cli.app(), words)
    assert done.exit_code == 2 and "Traceback" in done.stderr


def test_scored_tables(folder):
    """A table is a run with its own labels, and one suffices."""
    rows = "qid,clicked,pred,id\nq1,1,0.5,a\nq1,0,0.6,b\nq2,1,0.3,a\nq2,0,0.1,b\n"
    (folder / "a.csv").write_text(rows)
    (folder / "b.csv").write_text(rows.replace("0.5", "0.7"))
    assert "0.750" in invoke("--scored", "a.csv", "-m", "mrr").stdout
    wide = f"qid,label,score\n1,1,{2**60}\n1,0,{2**60 + 1}\n"
    (folder / "wide.csv").write_text(wide)
    assert "0.500" in invoke("--scored", "wide.csv", "-m", "mrr").stdout
    words = ("--scored", "a.csv", "b.csv", "-m", "mrr", "--item", "id")
    assert "1.000" in invoke(*words, "--compare", "t").stdout
    (folder / "b.csv").write_text(rows.replace("q1,0", "q1,1"))
    result = invoke(*words)
    assert "b.csv: item 'b' of list 'q1' has the label 1, and 0 in" in result.stderr
    result = invoke("--scored", "a.csv", "--label", "y")
    assert "a.csv has no column y; pass --label one of qid" in result.stderr
    assert "pass --scored, too" in invoke("--list", "qid", "a.csv", "b.csv").stderr
    assert "Missing argument" in invoke("a.csv").stderr
