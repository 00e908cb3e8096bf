"""Tables of comparisons and leaderboards, marks of significance, and LaTeX."""

import csv
import dataclasses
import io
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest
from made_results import board
from per_lists import lists_of

import jax_rank_metrics as jrm

SHIFTS = np.array([0.14, 0.12, 0.2, 0.15, 0.11, 0.3, 0.21, 0.13])
LOW = np.array([0.1, 0.5, 0.3, 0.2, 0.6, 0.4, 0.35, 0.26])
NOISY = LOW + 0.1 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
RUNS = {
    "bm25": {"mrr": lists_of(LOW), "map": lists_of(LOW / 2)},
    "noisy": {"mrr": lists_of(NOISY), "map": lists_of(NOISY / 2)},
    "good_1": {"mrr": lists_of(LOW + SHIFTS), "map": lists_of(LOW / 2)},
}
LEGEND = "† differs from bm25 (permutation test, Holm-corrected, p ≤ 0.05)"
SYSTEMS = {name: RUNS[name] for name in ("noisy", "good_1")}
COMPARISONS = jrm.compare(RUNS["bm25"], SYSTEMS)
BOARD = board(
    *(("good_1", "noisy", "bm25"), ((0, 1), (1, 3))), metric="mrr", lists=8, samples=1000,
    means=np.array([0.5, 0.35, 0.3375]), lows=np.array([0.4, 0.2, 0.2]), highs=np.array([0.6, 0.5, 0.5]),
    ranks=np.array([1.0, 2, 3]), rank_lows=np.array([1.0, 2, 2]), rank_highs=np.array([1.0, 3, 3]),
    p_first=np.array([1.0, 0, 0]), p_beats=np.array([[0.5, 1, 1], [0, 0.5, 0.75], [0, 0.25, 0.5]]),
    p_corrected=np.array([[1.0, 0.01, 0.02], [0.01, 1, 1], [0.02, 1, 1]]),
)  # fmt: skip


def rows_of(text):
    """The rows of a text table, each as its words."""
    return [line.split() for line in text.split("\n\n")[0].splitlines()[2:]]


@pytest.mark.parametrize("compare", ["bm25", COMPARISONS], ids=["name", "comparisons"])
def test_marks_name_what_differs(compare):
    """A mean has a mark if the corrected p is at most 1 − level; the note explains it."""
    text = jrm.table(RUNS, compare=compare)
    bm25, noisy, good = rows_of(text)
    assert bm25[1] == "0.339" and noisy[1] == "0.339" and good[1] == "0.509*†"
    assert COMPARISONS.select(system="good_1")["mrr"].p_corrected <= 0.05
    assert "†" not in good[4]
    assert text.endswith(f"; best is *; {LEGEND}")
    by_metric = jrm.table(RUNS, compare=compare, rows="metrics")
    assert by_metric.count("†") == 2 and "0.509*† [" in by_metric
    for format, mark in (
        ("markdown", "**0.509**<sup>†</sup> ["),
        ("html", "<td><b>0.509</b><sup>†</sup> ["),
        ("latex", r"\textbf{0}&\textbf{.509}\textsuperscript{\dag{}} & ["),
    ):
        assert mark in jrm.table(RUNS, compare=compare, format=format)
    records = json.loads(jrm.table(RUNS, compare=compare, format="json"))
    assert [record["marks"] for record in records] == ["", "", "", "", "†", ""]
    assert "†" not in jrm.table(RUNS)


def test_letters_of_pairs():
    """If all pairs are compared, a letter names the run that a mean differs from."""
    pairs = jrm.compare(RUNS, pairs="all")
    text = jrm.table(RUNS, compare=pairs)
    cells = [word for row in rows_of(text) for word in row[:3]]
    assert cells == "bm25 (A) 0.339C noisy (B) 0.339C good_1 (C) 0.509*AB".split()
    assert "; a capital: differs from the run that has it (permutation" in text
    names = [row[:2] for row in rows_of(jrm.table(pairs)) if len(row) > 8]
    assert ["bm25", "noisy"] in names and ["noisy", "good_1"] in names
    (first, *_) = csv.DictReader(io.StringIO(jrm.table(pairs, format="csv")))
    names = [first[x] for x in ("baseline", "system", "metric")]
    assert names == ["bm25", "noisy", "mrr"]


def test_letters_of_collections():
    """A letter means the same run in all collections, even if they have other runs."""
    results = {"first": RUNS, "second": {x: RUNS[x] for x in ("good_1", "bm25")}}
    pairs = {name: jrm.compare(runs, pairs="all") for name, runs in results.items()}
    bm25, _, good = rows_of(jrm.table(results, compare=pairs))
    assert bm25[1] == "(A)" and good[1] == "(C)"
    assert [x for x in bm25 if x.startswith("0.339")] == ["0.339C", "0.339C"]
    assert [x for x in good if x.startswith("0.509")] == ["0.509*AB", "0.509*A"]


def test_one_sided_letters():
    """If one side was asked, only the run that is above has the letter."""
    pairs = jrm.compare(RUNS, pairs="all", alternative="greater")
    bm25, noisy, good = rows_of(jrm.table(RUNS, compare=pairs))
    assert bm25[2] == noisy[2] == "0.339" and good[2] == "0.509*AB"
    assert "is above the run that has it" in jrm.table(RUNS, compare=pairs)


def test_clusters():
    """A mean over clusters counts clusters; a comparison says how many there are."""
    users = np.arange(8) // 2
    clustered = {
        run: {"mrr": by_metric["mrr"].cluster(users)} for run, by_metric in RUNS.items()
    }
    text = jrm.table(clustered, compare="bm25")
    assert "; 4 lists, 0 undefined" in text and "n_eff" not in text
    # Means of lists beside a test of clusters say so.
    tested = jrm.compare(RUNS, clusters=users)
    note = "; of 4 clusters, while intervals of means take lists as independent)"
    assert note in jrm.table(RUNS, compare=tested) and note not in text
    comparison = jrm.compare(RUNS["bm25"], RUNS["good_1"], clusters=users)
    text = jrm.table(comparison)
    assert "; 8 lists; 4 clusters; " in text and "n_eff" not in text
    alone = dataclasses.replace(comparison["mrr"], clusters=1)
    text = jrm.table(jrm.Comparisons([COMPARISONS[0], alone]))
    assert "; 8 lists; 1 cluster; " in text


LEGENDS = [
    ("greater", None, "† is above bm25", "above 0"),
    ("less", None, "† is below bm25", "below 0"),
    ("two-sided", 0.25, "† is within ±0.25 of bm25", "within ±0.25"),
    ("greater", 0.5, "† is less than 0.5 below bm25", "above -0.5"),
    ("less", 0.5, "† is less than 0.5 above bm25", "below 0.5"),
]


@pytest.mark.parametrize("alternative, margin, words, question", LEGENDS)
def test_legends_say_what_was_asked(alternative, margin, words, question):
    """Legends, and the note of the tests, depend on the alternative and the margin."""
    asked = {"alternative": alternative, "margin": margin}
    of_runs = jrm.Comparisons(dataclasses.replace(x, **asked) for x in COMPARISONS)
    assert words in jrm.table(RUNS, compare=of_runs)
    assert f"; p asks whether it is {question}; perm" in jrm.table(of_runs)


def test_collections_stand_side_by_side():
    """Each has its own best and its own marks; formats with two rows of headings use them."""
    short = {
        run: {"mrr": by_metric["mrr"][:2], "ndcg": by_metric["map"][:2]}
        for run, by_metric in RUNS.items()
    }
    results = {"Robust_04": RUNS, "Tiny": short}
    text = jrm.table(results, compare="bm25")
    headings = ["run", "Robust_04 mrr", "Robust_04 map", "Tiny mrr", "Tiny ndcg"]
    assert re.split("  +", text.splitlines()[0]) == headings
    assert text.count("0.509*†") == 1
    assert text.count("†") == 2  # the other in the legend
    assert "; Robust_04: 8 lists, 0 undefined; Tiny: 2 lists, 0 undefined; " in text
    by_collection = {
        name: jrm.compare(runs["bm25"], {k: runs[k] for k in SYSTEMS})
        for name, runs in results.items()
    }
    assert jrm.table(results, compare=by_collection) == text
    latex = jrm.table(results, format="latex")
    header = latex.split(r"\midrule")[0]
    assert (
        r" & \multicolumn{8}{c}{Robust\_04} & \multicolumn{8}{c}{Tiny} \\"
        "\n" + r"\cmidrule(lr){2-9}\cmidrule(lr){10-17}" + "\n"
        r"run & \multicolumn{4}{c}{mrr} & \multicolumn{4}{c}{map} & "
    ) in header
    html = jrm.table(results, format="html")
    assert (
        '<tr><th rowspan="2">run</th><th colspan="2">Robust_04</th>'
        '<th colspan="2">Tiny</th></tr>\n<tr><th>mrr</th><th>map</th><th>mrr</th>'
    ) in html
    rows = rows_of(jrm.table(results, rows="metrics"))
    assert [row[0] for row in rows] == ["Robust_04", "map", "Tiny", "ndcg"]
    records = json.loads(jrm.table(results, format="json"))
    assert records[-1]["collection"] == "Tiny" and len(records) == 12


def test_states_are_marked_by_their_comparisons():
    """States hold no values of lists, but a comparison made before them suffices."""
    states = {run: jrm.mean(by_metric) for run, by_metric in RUNS.items()}
    assert jrm.table(states, compare=COMPARISONS) == jrm.table(RUNS, compare="bm25")


def test_a_baseline_is_named_where_it_is_in_the_table():
    """A run without a comparison is not the baseline unless its means say so."""
    runs = {name: RUNS[name] for name in ("bm25", "good_1")}
    assert "differs from bm25 (" in jrm.table(runs, compare=COMPARISONS)
    runs = {"oracle": {"mrr": lists_of(LOW + 0.3)}, "good_1": RUNS["good_1"]}
    assert "differs from the baseline (" in jrm.table(runs, compare=COMPARISONS)
    runs = {"good_1": RUNS["good_1"]}
    assert "differs from the baseline (" in jrm.table(runs, compare=COMPARISONS)


def test_comparisons():
    """A row is a comparison; names that repeat stand once, and a bounded p says so."""
    text = jrm.table(COMPARISONS)
    lines = text.splitlines()
    headings = "system|metric|difference|p|corrected p|d|wins|ties|losses"
    assert re.split("  +", lines[0].strip()) == headings.split("|")
    names = [line[:12].split() for line in lines[2:6]]
    assert names == [["noisy", "mrr"], ["map"], ["good_1", "mrr"], ["map"]]
    x = COMPARISONS.select(system="good_1")["mrr"]
    interval = f"+{x.difference:.3f} [{x.low:.3f}, {x.high:.3f}]"
    assert interval in lines[4] and lines[4].split()[-3:] == ["8", "0", "0"]
    assert f"{x.p:.3f}" in lines[4] and f"{x.p_corrected:.3f}" in lines[4]
    assert lines[-1] == (
        "Difference with 95 % interval; permutation test, Holm-corrected; 8 lists; d is "
        "Cohen's effect size"
    )
    many = lists_of(np.linspace(0, 1, 30)), lists_of(np.linspace(0.1, 1.2, 30))
    comparison = jrm.compare(*many, samples=999)
    for format, bound in (
        *(("text", "≤ 0.001"), ("markdown", "≤ 0.001"), ("html", "≤ 0.001")),
        ("latex", r"$\leq$ 0&.001 &"),
    ):
        assert bound in jrm.table(comparison, format=format)
    comparison = jrm.compare(*many)
    assert "≤ 1e-05" in jrm.table(comparison)
    assert r"$\leq$ $10^{-5}$ &" in jrm.table(comparison, format="latex")


def test_records_have_all_fields():
    """CSV and JSON hold what `to_dict` holds, the names first."""
    records = json.loads(jrm.table(COMPARISONS, format="json"))
    assert records == [x.to_dict() for x in COMPARISONS]
    assert list(records[0])[:5] == ["task", "baseline", "system", "metric", "cutoff"]
    (_, _, row, _) = csv.DictReader(io.StringIO(jrm.table(COMPARISONS, format="csv")))
    assert list(row) == list(records[0]) and float(row["p"]) == records[2]["p"]
    assert row["margin"] == ""  # None
    (mean, *_) = json.loads(jrm.table({"a": {"mrr": lists_of([0.3])}}, format="json"))
    assert mean["low"] is None and mean["mean"] == pytest.approx(0.3)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*seeds")
def test_seeds():
    """Seeds stand for a run; the probability of a better run has a column, or several."""
    seeds = [
        {"mrr": lists_of(LOW + SHIFTS + noise)} for noise in (0.01, 0.02, 0.03, 0.05)
    ]
    runs = {"bm25": {"mrr": RUNS["bm25"]["mrr"]}, "tuned": jrm.Seeds(seeds)}
    bm25, tuned = rows_of(jrm.table(runs, compare="bm25"))
    assert tuned[1] == "0.536*†" and bm25[1] == "0.339"
    assert "; 8 lists, 4 training seeds, 0 undefined; " in jrm.table(runs)
    records = json.loads(jrm.table(runs, format="json"))
    assert [record["seeds"] for record in records] == [None, 4]
    comparison = jrm.compare(runs["bm25"], {"tuned": runs["tuned"]}, samples=999)
    text = jrm.table(comparison)
    assert "4 against 1 training seeds" in text and "1.00 [1.00, 1.00]" in text
    (row,) = csv.DictReader(io.StringIO(jrm.table(comparison, format="csv")))
    assert (row["seeds_b"], float(row["b_beats_a_value"])) == ("4", 1)
    (record,) = json.loads(jrm.table(comparison, format="json"))
    assert record["seeds"]["b_beats_a"]["value"] == 1 and float(row["iqm_b_low"]) > 0.5


def test_names_that_lead_to_comparisons():
    """They are metrics or runs, and cutoffs have names of their own."""
    first, second = lists_of(LOW), lists_of(LOW + SHIFTS)
    cutoffs = [
        {"recall@1,5": jrm.PerList(jnp.stack([x.values] * 2, 1), x.weights, x.defined)}
        for x in (first, second)
    ]
    rows = rows_of(jrm.table(jrm.compare(*cutoffs)))
    assert [row[0] for row in rows] == ["recall@1", "recall@5"]
    for results, heading in (
        (jrm.compare({"mrr": first}, {"mrr": second}), "metric"),
        (jrm.compare(first, {"mine": second}), "system"),
        (jrm.compare(*(x["recall@1,5"] for x in cutoffs)), "metric"),
        (jrm.compare(first, second), "difference"),
        (jrm.compare({"web": {"mrr": first}}, {"web": {"mrr": second}}), "task"),
    ):
        assert jrm.table(results).split()[0] == heading


def test_leaderboard():
    """A row is a system with its group, its rank and its mean; JSON holds everything."""
    text = jrm.table(BOARD, digits=2)
    assert text.splitlines()[0].split() == ["system", "group", "rank", "mrr", "first"]
    assert [row[:2] for row in rows_of(text)] == [
        *(["good_1", "a"], ["noisy", "b"], ["bm25", "b"])
    ]
    assert "2 [2, 3]  0.35 [0.20, 0.50]   0.00" in text and BOARD._note() in text
    assert json.loads(jrm.table(BOARD, format="json")) == json.loads(
        json.dumps(BOARD.to_dict())
    )
    rows = [*csv.DictReader(io.StringIO(jrm.table(BOARD, format="csv")))]
    assert rows[1]["system"] == "noisy" and rows[1]["p_beats bm25"] == "0.75"
    assert rows[2]["p_corrected good_1"] == "0.02" and rows[0]["rank_high"] == "1.0"
    assert r"good\_1 & a & 1 & [1, & 1] & 0&.500 & [0.400, & 0.600] & 1&.00 \\" in (
        jrm.table(BOARD, format="latex")
    )


def cells_of(row):
    """The number of columns that a row of LaTeX fills."""
    spans = re.findall(r"\\multicolumn\{(\d+)\}", row)
    return row.count("&") - row.count(r"\&") + 1 + sum(int(n) - 1 for n in spans)


TABLES = {
    "means": (RUNS, {"compare": "bm25", "caption": r"Of \emph{runs}.", "label": "t:a"}),
    "holes": (
        {"a": {"mrr": lists_of([0.5, 1.0])}, "b": {"p@1": lists_of([1.0, 0.0])}},
        {},
    ),
    "whole": (RUNS, {"digits": 0, "compare": "bm25"}),
    "one": (RUNS["bm25"], {"rows": "metrics"}),
    "collections": ({"A": RUNS, "B": RUNS}, {"rows": "metrics"}),
    "comparisons": (COMPARISONS, {"label": "t:b"}),
    "difference": (COMPARISONS[0], {}),
    "leaderboard": (BOARD, {"caption": "A board"}),
}


@pytest.mark.parametrize("name", TABLES)
def test_latex_is_a_rectangle(name):
    """Every row fills the columns, braces match, and a caption or label makes a float."""
    results, options = TABLES[name]
    latex = jrm.table(results, format="latex", **options)
    assert latex.count("{") == latex.count("}")
    columns = re.search(r"\\begin\{tabular\}\{(.*)\} %", latex)
    letters = re.sub(r"@\{.*?\}", "", columns[1])
    rows = [line for line in latex.splitlines() if line.endswith(r" \\")]
    assert set(letters) <= {"l", "r"} and len(rows) > 1
    assert {cells_of(row) for row in rows} == {len(letters)}
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{minipage}{\wd0}"):
        assert latex.count(rule) == 1
    is_float = bool({"caption", "label"} & options.keys())
    assert latex.startswith(r"\begin{table}") == is_float
    assert latex.endswith(r"\end{table}") == is_float
    for option in {"caption", "label"} & options.keys():
        assert f"\\{option}{{{options[option]}}}" in latex


def test_latex_escapes_names():
    """A name is text, even one that would be an argument of the row above."""
    names = ["[x]", "*", "a & 100 %", "a\nb", "\\c{~^}$#"]
    latex = jrm.table({x: RUNS["bm25"] for x in names}, format="latex")
    for text in (
        *("{[}x] & ", "{*} & ", r"a \& 100 \% & ", "a b & "),
        r"\textbackslash{}c\{\textasciitilde{}\textasciicircum{}\}\$\# & ",
    ):
        assert f"\n{text}" in latex
