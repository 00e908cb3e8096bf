"""Tables: what is in them, in every format."""

import csv
import io
import sys

import jax
import jax.numpy as jnp
import pytest

import jax_rank_metrics as jrm


def state(*values):
    """The state of lists with these values, each `[]` or `[cutoffs]`."""
    lists = jnp.ones(len(values))
    return jrm.Mean.of(jnp.array(values), lists, lists > 0)


RUNS = {
    "a_1|x": {"mrr": state(0.0, 1.0), "rank": state(1.0, 3.0)},
    "b & <c>": {"mrr": state(1.0, 1.0), "p@1,5": state([0.0, 0.5], [1.0, 0.5])},
}
LINES = """\
run      mrr                     rank                   p@1                     p@5
-------  ----------------------  ---------------------  ----------------------  ---------------------
a_1|x    0.500  [-0.480, 1.480]  2.000* [0.040, 3.960]  –                       –
b & <c>  1.000* [1.000, 1.000]   –                      0.500* [-0.480, 1.480]  0.500* [0.500, 0.500]

Mean and 95 % interval; 2 lists, 0 undefined; best is *"""


def test_text():
    found = jrm.table(RUNS)
    assert [line.rstrip() for line in found.splitlines()] == LINES.splitlines()
    assert repr(found) == str(found) and isinstance(found, str)


@pytest.mark.parametrize(
    "format, parts",
    [
        ("markdown", [r"| a\_1\|x", "b & \\<c\\>", "| **1.000** [1.000, 1.000]"]),
        (
            "latex",
            [
                r"a\_1\textbar{}x",
                r"b \& \textless{}c\textgreater{}",
                r"& \textbf{1.000} [1.000, 1.000]",
                r"\end{tabular}",
                "% Mean and 95 % interval",
            ],
        ),
        (
            "html",
            [
                "<td>a_1|x",
                "<td>b &amp; &lt;c&gt;",
                "<td><b>1.000</b> [1.000, 1.000]",
                "<caption>Mean and 95 % interval",
            ],
        ),
    ],
)
def test_marked_up(format, parts):
    found = jrm.table(RUNS, format=format)
    for part in [*parts, "0.500 [-0.480, 1.480]", "p@5", "–"]:
        assert part in found, found


def test_notebooks_show_html():
    shown = jrm.table(RUNS, format="html")
    for format in ("text", "markdown", "html"):
        assert jrm.table(RUNS, format=format)._repr_html_() == shown
    # These are asked for to be copied.
    for format in ("latex", "csv"):
        assert jrm.table(RUNS, format=format)._repr_html_() is None


def test_csv_has_all_digits():
    (first, *_, last) = csv.DictReader(io.StringIO(jrm.table(RUNS, format="csv")))
    assert list(first) == "run metric mean std_error low high lists undefined".split()
    assert (first["run"], first["metric"], first["lists"]) == ("a_1|x", "mrr", "2")
    low, _ = RUNS["a_1|x"]["mrr"].confidence_interval()
    assert float(first["low"]) == pytest.approx(float(low), rel=1e-7)
    assert (last["run"], last["metric"], last["mean"]) == ("b & <c>", "p@5", "0.5")


def test_one_run_has_metrics_as_rows():
    lines = jrm.table(RUNS["a_1|x"], digits=1, level=0.5).splitlines()
    assert [line.split() for line in lines if line] == [
        ["metric", "mean"],
        ["--------", "--------------"],
        ["mrr", "0.5", "[0.2,", "0.8]"],
        ["rank", "2.0", "[1.3,", "2.7]"],
        "Mean and 50 % interval; 2 lists, 0 undefined".split(),
    ]
    assert jrm.table(RUNS, rows="metrics").splitlines()[2].startswith("mrr")


def test_the_best():
    """The largest or the smallest, all that print alike, and no NaN."""
    runs = {
        "a": {"rank@1": state(1.0), "mrr": state(0.12341)},
        "b": {"rank@1": state(2.0), "mrr": state(0.12342)},
        "c": {"rank@1": state(float("nan")), "mrr": state(0.1)},
    }
    for lower, best in (((), "b"), (("rank",), "a"), ("rank@1", "a")):
        rows = [line.split() for line in jrm.table(runs, lower=lower).splitlines()[2:5]]
        assert [row[0] for row in rows if row[1].endswith("*")] == [best]
        assert [row[0] for row in rows if row[4].endswith("*")] == ["a", "b"]
    with pytest.raises(ValueError, match="lower names 'ranks'"):
        jrm.table(runs, lower=("ranks",))


def test_values_of_lists_are_averaged():
    known = jnp.array([True, False])
    lists = jrm.PerList(jnp.array([1.0, 0.0]), jnp.ones(2), known)
    counts = {"a": {"mrr": lists}, "b": {"mrr": lists[:1]}}
    text = jrm.table(counts)
    assert "0.500" in text and "; 1 to 2 lists, 0 to 1 undefined;" in text
    assert "[-inf, inf]" in text  # of one list there is no interval


@pytest.mark.parametrize(
    "results, options, error, message",
    [
        (RUNS, {"format": "xml"}, ValueError, "format is 'xml'"),
        (RUNS, {"rows": "lists"}, ValueError, "rows is 'lists'"),
        (RUNS, {"digits": -1}, ValueError, "digits is -1"),
        (RUNS, {"level": 2}, ValueError, "level is 2"),
        ({}, {}, ValueError, "empty"),
        ({"a": {}}, {}, ValueError, "empty"),
        ([RUNS], {}, TypeError, "results: got a list"),
        ({"mrr": 0.5}, {}, TypeError, "'mrr' is 0.5"),
        ({"a": RUNS["a_1|x"], "b": state(1.0)}, {}, TypeError, "run 'b' is a Mean"),
        ({"a": jax.tree.map(lambda x: x[None], state(1.0))}, {}, ValueError, "stacked"),
        ({"p@1,5": state([0.0, 1.0]), "p@1": state(0.0)}, {}, ValueError, "'p@1'"),
    ],
)
def test_no_table(results, options, error, message):
    with pytest.raises(error, match=message):
        jrm.table(results, **options)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tabulate", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"tabulate.*jax-rank-metrics\[tables\]"
    ):
        jrm.table(RUNS)
    assert jrm.table(RUNS, format="csv")
