"""Tables: their cells, notes and marks in every format."""

import csv
import dataclasses
import io
from functools import partial

import numpy as np
import pytest
from per_lists import evaluation_of, lists_of, mean_of, state_of

import jax_rank_metrics as jrm


def state(*values):
    """The state of lists with these values, each `[]` or `[cutoffs]`."""
    return state_of(values)


def share(*values):
    """A state of values that lie in [0, 1]."""
    return state_of(values, is_share=True)


RUNS = {
    "a_1|x": {"mrr": share(0.0, 1.0), "rank": state(1.0, 3.0)},
    "b & <c>": {"mrr": share(1.0, 1.0), "p@1,5": share([0.0, 0.5], [1.0, 0.5])},
}
LINES = """\
run      mrr                    rank                      p@1                    p@5
-------  ---------------------  ------------------------  ---------------------  ---------------------
a_1|x    0.500  [0.095, 0.905]  2.000* [-10.706, 14.706]  –                      –
b & <c>  1.000* [0.342, 1.000]  –                         0.500* [0.095, 0.905]  0.500* [0.500, 0.500]

Mean and 95 % interval; 2 lists, 0 undefined; best is *"""


def test_text():
    text = jrm.table(RUNS)
    assert [line.rstrip() for line in text.splitlines()] == LINES.splitlines()
    assert repr(text) == str(text) and isinstance(text, str)


def test_direction():
    """The best is the lowest if the metric says so, and counts have no best."""
    runs = {
        "low": {"arp": state(1.0, 2.0), "num_ret": state(3.0), "own@2": state(0.1)},
        "high": {"arp": state(2.0, 4.0), "num_ret": state(9.0), "own@2": state(0.3)},
    }
    low, high = jrm.table(runs, rows="runs").splitlines()[2:4]
    assert "1.500*" in low and low.count("*") == 1
    assert "0.300*" in high and high.count("*") == 1
    counts = {run: {"num_ret": metrics["num_ret"]} for run, metrics in runs.items()}
    assert "*" not in jrm.table(counts)


def test_zeros_that_are_best():
    """A warning names a metric that is better when lower and undefined in some lists."""
    zeros = lists_of([3.0, 2.0, 0.0], defined=[1, 1, 0])
    runs = {"a": {"arp": zeros, "mrr": zeros}, "b": {"arp": zeros, "mrr": zeros}}
    marked = partial(jrm.table, compare="a")
    ranked = partial(jrm.leaderboard, metric="arp")
    warning = r"best: arp \(1 of 3 lists\); evaluate"
    for call in (jrm.table, marked, jrm.compare, ranked):
        with pytest.warns(UserWarning, match=warning) as record:
            call(runs)
        assert len(record) == 1 and record[0].filename == __file__
    with pytest.warns(UserWarning, match=r"arp \(1 of 3 lists\), mrr \(1 of 3"):
        jrm.table(runs, lower="mrr")
    states = {x: {"arp": mean_of(y["arp"])} for x, y in runs.items()}
    with pytest.warns(UserWarning, match=warning + ".*a state does not tell if"):
        jrm.table(states)
    # No warning if the choice is not 0, or was made in this call.
    skipped = dataclasses.replace(zeros, undefined="skip")
    jrm.table({"a": {"arp": skipped}, "b": {"arp": skipped}})
    jrm.compare(runs, undefined="zero")


def test_runs_with_other_lists():
    """Ids and numbers of lists that differ leave no best mean, and the note says why."""
    pandas = pytest.importorskip("pandas")
    values = {"q1": 0.25, "q2": 0.5}
    same = {"a": {"mrr": values}, "b": {"mrr": pandas.Series([1, 0.2], ["q2", "q1"])}}
    assert "*" in jrm.table(same) and "different" not in jrm.table(same)
    for run in ({"q1": 1.0, "q3": 0.2}, jrm.Seeds([{"q1": 1.0, "q2": 0.2, "q3": 0.3}])):
        text = jrm.table({**same, "c": {"mrr": run}})
        assert "*" not in text and "runs have different lists" in text
    # Without ids, the numbers of lists of states and of values tell.
    for run in (lists_of([1.0, 0.2, 0.3]), share(1.0, 0.2, 0.3)):
        for other in (lists_of([0.5, 0.2]), share(0.5, 0.2)):
            text = jrm.table({"a": {"mrr": run}, "b": {"mrr": other}})
            assert "*" not in text and "runs have different lists" in text


VALUES = np.linspace(0, 1, 12) ** 2
JOINED = {
    "a": lists_of(VALUES),
    "b": lists_of(VALUES[::-1] + 0.3),
    "c": lists_of(VALUES + 0.1),
}


@pytest.mark.parametrize("pairs", ["baseline", "all"])
def test_comparisons_of_the_values_of_the_table(pairs):
    """Lists that a comparison leaves out, and clusters, are no other values."""
    known = VALUES > 0.2
    skipped = {x: {"mrr": lists_of(y.values, defined=known)} for x, y in JOINED.items()}
    for options in ({}, {"undefined": "skip"}, {"clusters": np.arange(12) // 2}):
        compared = jrm.compare(skipped, pairs=pairs, **options)
        assert "differs from" in jrm.table(skipped, compare=compared)
    # Ratios may weigh other lists than their baseline.
    ratios = {
        x: {"p": lists_of(np.eye(12)[i]).over(lists_of(np.arange(12) != 3 * i))}
        for i, x in enumerate("abc")
    }
    jrm.table(ratios, compare=jrm.compare(ratios, pairs=pairs, samples=2000))


def marks_in(table):
    """The letters beside the means of a table of one metric, by its names of runs."""
    rows = [line.split("  ") for line in table.splitlines()[2:] if "[" in line]
    return {row[0]: "".join(filter(str.isalpha, row[1])) for row in rows}


def test_several_baselines():
    """Each has a letter, in every format, and p is corrected for their comparisons."""
    runs = {"z": JOINED["b"], **JOINED, "mine": lists_of(VALUES + 0.2)}
    runs = {x: {"mrr": y} for x, y in runs.items()}
    text = jrm.table(runs, compare=["c", "a"], digits=2)
    compared = jrm.compare(runs, pairs=["c", "a"])
    assert [(x.baseline, x.system) for x in compared] == [
        *(("c", x) for x in ("a", "z", "b", "mine")),
        *(("a", x) for x in ("z", "b", "mine")),
    ]
    differing = {x.system: "" for x in compared}
    for x in compared:
        if x.p_corrected <= 0.05:
            differing[x.system] += {"c": "A", "a": "B"}[x.baseline]
    marks = marks_in(text)
    assert marks == {
        **{x: differing[x] for x in ("z", "b", "mine")},
        **{"a (B)": "A", "c (A)": "B"},
    }
    assert marks["mine"] == "AB"
    assert jrm.table(runs, compare=compared, digits=2) == text
    two = {x: runs[x] for x in ("mine", "a", "c")}
    assert marks_in(jrm.table(two, compare=("a", "c"))) == {
        **{"mine": "AB", "a (A)": "B", "c (B)": "A"}
    }
    for format, mark in (
        ("markdown", "<sup>AB</sup>"),
        ("html", "<sup>AB</sup>"),
        ("latex", r"\textsuperscript{AB}"),
        ("csv", ",AB\n"),
    ):
        assert mark in jrm.table(runs, compare=("c", "a"), format=format)


def test_unequal_weights_are_told():
    """The note has the effective number of lists, and −0 has no sign."""
    heavy = mean_of(lists_of([-1e-5, 0.0, 0.0], [8.0, 1.0, 1.0]))
    text = jrm.table({"x": heavy, "y": state(0.1, 0.2, 0.3)})
    assert "; 3 lists, n_eff 1.5 to 3.0, 0 undefined" in text
    assert "0.000 [" in text and "-0.000" not in text


MARKED_UP = {
    "markdown": (r"| a\_1\|x", r"b & \<c\>", "| **1.000** [0.342, 1.000]", "0.500 [0.095, 0.905]", "–"),
    "latex": (
        *(r"a\_1\textbar{}x", r"b \& \textless{}c\textgreater{}", r"& \textbf{1}&\textbf{.000} & [0.342, & 1.000]"),
        *(r"& 0&.500 & [0.095, & 0.905]", r"\multicolumn{4}{c}{--}", r"\end{tabular}", "\\toprule"),
        *("\\footnotesize\\raggedright\nMean and 95 \\% interval;\n", r"\begin{tabular}{@{}l" + 4 * "r@{}l@{~}r@{~}r" + "@{}}"),
    ),
    "html": (
        *("<td>a_1|x", "<td>b &amp; &lt;c&gt;", "<td><b>1.000</b> [0.342, 1.000]"),
        *("<caption>Mean and 95 % interval", "0.500 [0.095, 0.905]", "–"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("format", MARKED_UP)
def test_marked_up(format):
    text = jrm.table(RUNS, format=format)
    for part in (*MARKED_UP[format], "p@5"):
        assert part in text, text


def test_notebooks_show_html():
    html = jrm.table(RUNS, format="html")
    for format in ("text", "markdown", "html"):
        assert jrm.table(RUNS, format=format)._repr_html_() == html
    # These are asked for to be copied.
    for format in ("latex", "csv"):
        assert jrm.table(RUNS, format=format)._repr_html_() is None


def test_csv_has_all_digits():
    (first, *_, last) = csv.DictReader(io.StringIO(jrm.table(RUNS, format="csv")))
    fields = "run metric mean std_error low high lists undefined n_eff"
    assert list(first) == fields.split()
    assert (first["run"], first["metric"], first["lists"]) == ("a_1|x", "mrr", "2")
    low, _ = RUNS["a_1|x"]["mrr"].confidence_interval()
    assert float(first["low"]) == pytest.approx(float(low), rel=1e-6)
    assert (last["run"], last["metric"], last["mean"]) == ("b & <c>", "p@5", "0.5")


def test_one_run_has_metrics_as_rows():
    lines = jrm.table(RUNS["a_1|x"], digits=1, level=0.5).splitlines()
    assert [line.split() for line in lines if line] == [
        ["metric", "mean"],
        ["------", "--------------"],
        ["mrr", "0.5", "[0.3,", "0.7]"],
        ["rank", "2.0", "[1.0,", "3.0]"],
        "Mean and 50 % interval; 2 lists, 0 undefined".split(),
    ]
    assert jrm.table(RUNS, rows="metrics").splitlines()[2].startswith("mrr")


def test_the_best():
    """The largest or the smallest mean is marked, with all means that print the same.

    No mean is marked if the mean of a run is NaN or has overflowed.
    """
    runs = {
        "a": {"rank@1": state(1.0), "mrr": state(0.12341)},
        "b": {"rank@1": state(2.0), "mrr": state(0.12342)},
        "c": {"rank@1": state(1.5), "mrr": state(0.1)},
    }
    for lower, best in (((), "b"), (("rank",), "a"), ("rank@1", "a")):
        rows = [line.split() for line in jrm.table(runs, lower=lower).splitlines()[2:5]]
        assert [row[0] for row in rows if row[1].endswith("*")] == [best]
        assert [row[0] for row in rows if row[4].endswith("*")] == ["a", "b"]
    for mean in (np.nan, np.inf):
        runs["c"]["mrr"] = state(mean)
        assert jrm.table(runs).count("*") == 2  # of the ranks, and in the note


def test_values_of_lists_are_averaged():
    lists = lists_of([0.8, 0.0], defined=[1, 0])
    counts = {"a": {"mrr": lists}, "b": {"mrr": lists[:1]}, "c": {"mrr": lists[:0]}}
    text = jrm.table(counts)
    assert "0.400" in text and "; 0 to 2 lists, 0 to 1 undefined;" in text
    assert "[-inf, inf]" in text  # of one list there is no interval


def test_lists_that_are_left_out_are_others():
    """No mean is the best beside one of other lists, by their weights or by "skip"."""
    whole = {"mrr": lists_of([0.5, 0.25, 0.75])}
    for some in (
        lists_of([0.5, 0.5, 0.5], [1, 1, 0]),
        dataclasses.replace(
            lists_of([0.5, 0.5, 0], defined=[1, 1, 0]), undefined="skip"
        ),
    ):
        for runs in (
            {"a": whole, "b": {"mrr": some}},
            {"a": {"mrr": some}, "b": whole},
        ):
            text = jrm.table({"a": runs["a"], "b": runs["b"]})
            assert "different lists" in text and "*" not in text
            if some.undefined == "zero":
                named = {x: evaluation_of(y, users=[*"xyz"]) for x, y in runs.items()}
                assert "different lists" in jrm.table(named)
        same = {"a": {"mrr": some}, "b": {"mrr": some}}
        assert "best is *" in jrm.table(same)


def test_means_without_intervals():
    """Every format has the means and marks alone; CSV keeps all numbers."""
    runs = {
        x: {"mrr": lists_of(y)} for x, y in {"a": [0.5, 0.25], "b": [1, 0.5]}.items()
    }
    text = jrm.table(runs, intervals=False)
    assert text.splitlines()[2:4] == ["a    0.375", "b    0.750*"]
    assert "interval" not in text and "Mean; 2 lists" in text
    for format in ("markdown", "latex", "html"):
        assert (
            "[" not in jrm.table(runs, intervals=False, format=format).split("Mean")[0]
        )
    of_csv = [jrm.table(runs, format="csv", intervals=x) for x in (True, False)]
    assert of_csv[0] == of_csv[1]
    with pytest.raises(ValueError, match="intervals=False is for the results of runs"):
        jrm.table(jrm.compare(runs, test="t"), intervals=False)


def test_marks_of_several_levels_and_names_of_metrics():
    """A mean has a mark for each level that it reaches; records keep the names."""
    noise = np.tile([-0.1, 0.1], 20)
    shifts = {"bm25": 0.0, "weak": 0.04, "strong": 0.2, "worse": -0.3}
    runs = {x: {"mrr": 0.5 + y + noise * (y > 0)} for x, y in shifts.items()}
    p = {row.system: row.p_corrected for row in jrm.compare(runs)}
    assert 0.01 < p["weak"] <= 0.05 and max(p["strong"], p["worse"]) < 0.001
    options = {"compare": "bm25", "stars": (0.01, 0.05), "names": {"mrr": "MRR_1"}}
    text = jrm.table(runs, **options, intervals=False)
    marks = dict(line.split() for line in text.splitlines()[2:6])
    assert marks == dict(
        bm25="0.500", weak="0.540†", strong="0.700*††", worse="0.200††"
    )
    assert text.split()[:2] == ["run", "MRR_1"] and "mrr" not in text
    assert (
        "†, †† differs from bm25 (permutation test, Holm-corrected, p ≤ 0.05, 0.01)"
        in text
    )
    for format, heading in (
        ("latex", r"MRR\_1"),
        ("html", "<th>MRR_1<"),
        ("markdown", r"MRR\_1"),
    ):
        assert heading in jrm.table(runs, **options, format=format)
    assert "weak,mrr," in jrm.table(runs, **options, format="csv")
    for results in (runs, jrm.compare(runs)):  # metrics in rows
        names = {"names": {"mrr": "MRR"}}
        rows = {"rows": "metrics"} if results is runs else {}
        assert " MRR " in f" {jrm.table(results, **names, **rows)}".replace("\n", " ")


def test_geometric_means_of_values():
    """Values with the name of a geometric mean have this mean, as their states do."""
    values = lists_of([0.1, 0.4])
    assert "0.200 [" in jrm.table({"gm_map(rel=2)": values})
    assert "0.250 [" in jrm.table({"map": values})
