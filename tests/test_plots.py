"""Plots: what is on the axes, not how it looks."""

import subprocess
import sys

import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

import jax_rank_metrics as jrm

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
    assert (ax.get_xlabel(), ax.get_ylabel(), legend(ax)) == ("k", "p@k", ["a", "b"])
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
    losses, wins = (patch.get_data().values for patch in ax.patches)
    assert wins.tolist() == [0.25, 0, 0, 0] and losses.tolist() == [0, 0, 0, -1]
    assert legend(ax) == [
        *("old better: 1 list", "new better: 1 list", "equal: 2 lists", "mean -0.188"),
    ]
    assert list(ax.lines[-1].get_ydata()) == [-0.1875] * 2
    assert ax.get_ylabel() == "new − old"


def test_lists_that_do_not_count_are_not_shown(ax):
    weights = jnp.array([0.0, 3.0, 1.0, 0.0])
    half, other = (jrm.PerList(x.values, weights, KNOWN) for x in (A, B))
    plots.differences(half, other, ax=ax)
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
    other = A.by(groups, 4)
    for states, names in (({**runs, "c": other}, None), (runs, ("cold", "warm"))):
        with pytest.raises(ValueError, match="the same groups"):
            plots.by_group(states, names, ax=ax)


def test_what_cannot_be_drawn(ax):
    groups = jnp.zeros(4, int)
    for draw, error, message in (
        (
            lambda: plots.differences(A, B[:2], ax=ax),
            ValueError,
            r"of their values: \(4,\) and \(2,\)",
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
