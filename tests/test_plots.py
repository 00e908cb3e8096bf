"""Plots: the data, labels and legends on the axes."""

import subprocess
import sys
import types

import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._results import drawing

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.container import ErrorbarContainer

plots = jrm.plots
KNOWN = jnp.array([True, True, True, False])


def lists(*values):
    return jrm.PerList(jnp.array(values), jnp.ones(4), KNOWN)


A, B = lists(1.0, 0.5, 0.25, 0.0), lists(0.0, 0.5, 0.5, 0.0)
CUTS = lists([0.0, 1.0], [0.5, 1.0], [0.5, 1.0], [0.0, 0.0])
RUNS = {
    "a": {"p@1,5": CUTS, "p@20": A, "recall@1,5": CUTS.mean()},
    "b": {"p@1": B, "recall@1": A, "mine": CUTS},
}


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_at_cutoffs(ax):
    assert plots.at_cutoffs(RUNS, "p", ax=ax) is ax
    a, b = ax.lines
    assert list(a.get_xdata()) == [1, 5, 20] and list(b.get_xdata()) == [1]
    np.testing.assert_allclose(a.get_ydata(), [0.25, 0.75, 0.4375])
    low, high = (float(x[0]) for x in CUTS.mean().confidence_interval(0.95))
    band = ax.collections[0].get_paths()[0].vertices
    at_1 = band[band[:, 0] == 1, 1]
    np.testing.assert_allclose([at_1.min(), at_1.max()], [low, high], rtol=1e-5)
    assert (ax.get_xlabel(), ax.get_ylabel(), legend(ax)) == (
        *("k (bands: 95 % intervals)", "p@k"),
        ["a", "b"],
    )
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "5", "20"]
    with pytest.raises(ValueError, match="hold no 'ndcg' at a cutoff"):
        plots.at_cutoffs(RUNS, "ndcg", ax=ax)


def test_at_cutoffs_under_a_name_of_ones_own(ax):
    plots.at_cutoffs(RUNS["b"], "mine", ks=(3, 7), ax=ax)
    assert list(ax.lines[0].get_xdata()) == [3, 7] and ax.get_legend() is None
    # Without ax, the current one; of one list there is a line, and no band.
    plt.sca(ax)
    plots.at_cutoffs({"one": {"p@1,2": CUTS[1]}}, "p")
    assert list(ax.lines[1].get_ydata()) == [0.5, 1.0]
    assert np.isfinite(ax.get_ylim()).all()


def test_precision_recall(ax):
    plots.precision_recall(RUNS, "p", ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.25, 0.25], [0.75, 0.75]])
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[0.4375, 0.25]])
    assert [text.get_text() for text in ax.texts] == ["1", "5", "1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("recall@k", "p@k")
    with pytest.raises(ValueError, match="'b' has no cutoff of both"):
        plots.precision_recall({**RUNS, "b": {"p@2": A, "recall@1": A}}, "p", ax=ax)


def test_differences(ax):
    """Above 0 where the second is better, as in `paired`."""
    plots.differences(A, B, names=("old", "new"), ax=ax)
    losses, wins = (patch.get_data().values for patch in ax.patches[:2])
    assert wins.tolist() == [0.25, 0, 0, 0] and losses.tolist() == [0, 0, 0, -1]
    assert legend(ax) == [
        *("old higher: 1 list", "new higher: 1 list", "equal: 2 lists"),
        "mean -0.188",
    ]
    assert ax.get_xlabel().endswith("\nmean in [-1.070, +0.695], p=1")
    assert list(ax.lines[-1].get_ydata()) == [-0.1875] * 2
    assert ax.get_ylabel() == "new − old"


def test_differences_where_lower_is_better(ax):
    """The name of the metric says which system is better, and `lower` does for others."""
    for options in ({"metric": "arp"}, {"metric": "mine", "lower": True}):
        ax.clear()
        plots.differences(A, B, names=("old", "new"), ax=ax, **options)
        assert legend(ax)[:2] == ["old better: 1 list", "new better: 1 list"]
        won_by_old, _ = (patch.get_data().values for patch in ax.patches[:2])
        assert won_by_old.tolist() == [0.25, 0, 0, 0]
        assert ax.get_ylabel() == f"new − old, {options['metric']}"
    ax.clear()
    plots.differences(A, B, metric="num_ret", ax=ax)
    assert legend(ax)[:2] == ["a higher: 1 list", "b higher: 1 list"]


def test_values_of_other_tools(ax):
    """Dicts by list id are paired by their keys, and a metric is picked by its name."""
    a = {"ndcg@5": {"q1": 0.1, "q2": 0.5}, "mrr": {"q1": 0, "q2": 0}}
    b = {"ndcg@5": {"q2": 0.75, "q1": 0.1}, "mrr": {"q1": 0, "q2": 0}}
    plots.differences(a, b, metric="ndcg@5", ax=ax)
    assert ax.patches[1].get_data().values.tolist() == [0.25, 0]
    assert legend(ax)[2] == "equal: 1 list"
    ax.clear()
    plots.distribution({"a": a, "b": b}, metric="ndcg@5", ax=ax)
    assert legend(ax) == ["a", "b"]
    assert ax.get_xlabel() == "ndcg@5 of a list (2 lists)"
    users = types.SimpleNamespace(
        states={"p@1,5": CUTS.mean()},
        lists={"mrr": A},
        users=range(4),
        undefined="zero",
    )
    plots.distribution(users, ax=ax)
    plots.at_cutoffs(users, "p", ax=ax)
    with pytest.raises(ValueError, match="a holds 'ndcg@5', 'mrr'; pass metric="):
        plots.differences(a, b, ax=ax)


def test_runs_look_different():
    """Two dozen runs share neither colour and marker nor colour and dashes."""
    looks = [drawing.look(index) for index in range(24)]
    assert len({(look.colour, look.marker) for look in looks}) == 24
    assert len({(look.colour, look.dashes) for look in looks}) == 24


def test_the_legend_is_above_the_data(ax):
    """However high the data reaches: no line, band or bar lies behind it."""
    runs = {f"system {i}": {"p@1,5": CUTS} for i in range(8)}
    plots.at_cutoffs(runs, "p", ax=ax)
    ax.figure.canvas.draw()
    below = ax.get_legend().get_window_extent().ymin
    tops = [c.get_window_extent().ymax for c in (*ax.lines, *ax.collections)]
    assert max(tops) < below


def test_cutoffs_that_are_close_share_a_tick(ax):
    """Labels do not run together; the largest cutoff keeps its own."""
    lists = {f"p@{k}": A for k in (1, 10, 90, 95, 100)}
    plots.at_cutoffs(lists, "p", ax=ax)
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["1", "10", "100"]


def test_a_group_of_one_list_has_no_interval(ax):
    """Its marker is hollow, and that of many groups has its label turned."""
    plots.by_group(A.by(jnp.array([1, 0, 1, 1]), 2), ax=ax)
    assert [line.get_markerfacecolor() for line in ax.lines].count("none") == 1
    ax.clear()
    plots.by_group(A.by(jnp.array([0, 0, 9, 9]), 10), ax=ax)
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {90}


def test_lists_that_do_not_count_are_not_shown(ax):
    weights = jnp.array([0.0, 3.0, 1.0, 0.0])
    half, different = (jrm.PerList(x.values, weights, KNOWN) for x in (A, B))
    plots.differences(half, different, ax=ax)
    assert ax.patches[0].get_data().values.size == 2
    assert list(ax.lines[-1].get_ydata()) == [0.0625] * 2
    plots.distribution(half, ax=ax)
    assert ax.get_xlabel() == "value of a list (2 lists)"


def test_distribution(ax):
    plots.distribution({"a": A, "b": B}, ax=ax)
    assert ax.get_xlabel() == "value of a list (3 lists, 1 undefined left out)"
    assert legend(ax) == ["a", "b"]
    x, y = ax.lines[0].get_data()
    assert list(x[1:]) == [0.25, 0.5, 1.0] and y[-1] == 1.0


def test_distribution_of_different_lists(ax):
    plots.distribution({"a": A, "b": B[:1]}, ax=ax)
    assert legend(ax) == ["a: 3 lists, 1 undefined left out", "b: 1 list"]
    assert ax.get_xlabel() == "value of a list"
    with pytest.raises(ValueError, match="run 'c' has no list"):
        plots.distribution({"c": A[3:]}, ax=ax)


def test_by_group(ax):
    groups = jnp.array([0, 0, 2, 2])
    runs = {"a": A.by(groups, 3), "b": B.by(groups, 3)}
    plots.by_group(runs, ("cold", "none", "warm"), ax=ax)
    a, b = (x for x in ax.containers if isinstance(x, ErrorbarContainer))
    # A group without lists has no point.
    np.testing.assert_allclose(a.lines[0].get_xydata(), [[-0.15, 0.75], [1.85, 0.125]])
    np.testing.assert_allclose(b.lines[0].get_xydata(), [[0.15, 0.25], [2.15, 0.25]])
    low, high = (float(x[0]) for x in runs["a"].confidence_interval(0.95))
    bar = a.lines[2][0].get_segments()[0]
    np.testing.assert_allclose(bar[:, 1], [low, high], rtol=1e-5)
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["cold\n2 lists", "none\n0 lists", "warm\n2 lists"]
    assert legend(ax) == ["a", "b"]
    different = A.by(groups, 4)
    for states, names in (({**runs, "c": different}, None), (runs, ("cold", "warm"))):
        with pytest.raises(ValueError, match="the same groups"):
            plots.by_group(states, names, ax=ax)


def test_what_cannot_be_drawn(ax):
    groups = jnp.zeros(4, int)
    for draw, error, message in (
        (
            lambda: plots.differences(A, B[:2], ax=ax),
            ValueError,
            "a has 4 lists and b has 2; pass ids=",
        ),
        (lambda: plots.differences(A[:0], B[:0], ax=ax), ValueError, "no list that"),
        (lambda: plots.differences(A.mean(), B, ax=ax), TypeError, "a is a Mean"),
        (
            lambda: plots.differences(A, CUTS, ax=ax),
            ValueError,
            "b has several cutoffs",
        ),
        (lambda: plots.distribution(A.mean(), ax=ax), TypeError, "lists is a Mean"),
        (lambda: plots.by_group(A, ax=ax), TypeError, "got a PerList"),
        (lambda: plots.by_group(A.mean(), ax=ax), ValueError, "stacked along one axis"),
        (lambda: plots.by_group(CUTS.by(groups, 1), ax=ax), ValueError, "one cutoff"),
    ):
        with pytest.raises(error, match=message):
            draw()


def test_matplotlib_is_not_imported_before_it_is_needed(monkeypatch):
    code = "import sys, jax_rank_metrics as jrm; jrm.plots.at_cutoffs; sys.exit(any(x in sys.modules for x in ('matplotlib', 'tabulate')))"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"matplotlib.*jax-rank-metrics\[plots\]"
    ):
        plots.distribution(A)
