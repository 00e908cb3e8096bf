"""Plots: the data, labels and legends on the axes."""

import functools

import numpy as np
import pytest
from late_imports import LateImport
from made_results import COMPARISON, CUTS, A, B, board, changed, comparisons, known
from per_lists import evaluation_of, mean_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.plots import drawing

container = LateImport("matplotlib.container")
patches = LateImport("matplotlib.patches")
plt = LateImport("matplotlib.pyplot")

plots = jrm.plots
HALF = [known(x.values, [0, 3, 1, 0]) for x in (A, B)]
GROUPS = np.array([0, 0, 2, 2])
RUNS = {
    "a": {"p@1,5": CUTS, "p@20": A, "recall@1,5": CUTS},
    "b": {"p@1": B, "recall@1": A, "mine": CUTS},
}
STEPS = {
    20: {"p@1,5": CUTS, "mrr": A},
    0: {"p@1,5": mean_of(CUTS), "mrr": A[:0]},
    10: {"mrr": mean_of(B)},
}
OF_TOOLS = {
    "a": {"ndcg@5": {"q1": 0.1, "q2": 0.5}, "mrr": {"q1": 0, "q2": 0}},
    "b": {"ndcg@5": {"q2": 0.75, "q1": 0.1}, "mrr": {"q1": 0, "q2": 0}},
}


@functools.cache
def by_group():
    """Returns states of two runs in three groups of lists; the second group is empty."""
    return {"a": A.by(GROUPS, 3), "b": B.by(GROUPS, 3)}


# As `UserEvaluation.by` returns them.
BY_USERS = evaluation_of(
    {"mrr": A, "p@1,5": CUTS}, {"mrr": mean_of(A), "p@1,5": mean_of(CUTS)}
).by([True, True, "warm", "warm"])
UNKNOWN = changed(difference=0.3, low=-np.inf, high=np.inf, p=1.0, p_corrected=1.0)
LOWER = changed(lower_is_better=True)
FAR = changed(difference=-30.0, low=-45.0, high=np.inf, margin=20.0)


MANY = comparisons(
    {
        "dense": {"mrr": COMPARISON, "ndcg@1": COMPARISON, "ndcg@5": UNKNOWN},
        "rerank": {"mrr": changed(p_corrected=0.2, p=0.1)},
    }
)
PAIRS = jrm.Comparisons(
    changed(baseline=a, system=b, metric="map") for a, b in ("ab", "ac", "bc")
)
QUESTIONS = {
    "one": changed(alternative="greater", margin=0.05, high=np.inf),
    "two": changed(margin=0.04),
}
SCALES = comparisons({x: {"ndcg@5": COMPARISON, "arp": FAR} for x in "ab"})


@pytest.fixture(scope="module")
def figure():
    """The figure of most tests, which is cleared before each of them."""
    figure = plt.figure()
    yield figure
    plt.close(figure)


@pytest.fixture
def ax(figure):
    figure.clear()
    figure.set_layout_engine(None)
    plt.figure(figure)
    return figure.subplots()


def shown(ax):
    """Returns the texts and the numbers that axes show."""
    errorbars = [x for x in ax.containers if hasattr(x, "has_xerr")]
    errorbars = [x for x in errorbars if len(x.lines[0].get_xdata())]
    arrows = [x for x in ax.lines if x.get_marker() in ("<", ">")]
    bands = [x for x in ax.patches if not isinstance(x, patches.StepPatch)]
    legend = ax.get_legend()
    return {
        "labels": (ax.get_xlabel(), ax.get_ylabel()),
        "legend": [x.get_text() for x in legend.get_texts()] if legend else [],
        "ticks": [x.get_text() for x in ax.get_xticklabels()],
        "rows": [x.get_text() for x in ax.get_yticklabels()],
        "texts": [x.get_text() for x in ax.texts],
        "lines": [x.get_xydata() for x in ax.lines],
        "points": [x.lines[0].get_xydata() for x in errorbars],
        "intervals": [y for x in errorbars for y in x.lines[2][0].get_segments()],
        "steps": [
            x.get_data().values for x in ax.patches if isinstance(x, patches.StepPatch)
        ],
        "bands": [x.get_extents().transformed(ax.transData.inverted()) for x in bands],
        "arrows": [x.get_xydata() for x in arrows],
    }


MEANS_AT_K = ("k (bands: 95 % intervals)", "p@k")
LISTS = "share of lists up to it"
# fmt: off
SHOWN = [
    # At cutoffs: a line for each run.
    (lambda ax: plots.at_cutoffs(RUNS, "p", ax=ax), {"lines": [[(1, 0.25), (5, 0.75), (20, 0.4375)], [(1, 0.25)]], "labels": MEANS_AT_K, "legend": ["a", "b"], "ticks": ["1", "5", "20"]}),
    (lambda ax: plots.at_cutoffs({"a": {"p@1,5": CUTS}}, ax=ax), {"labels": MEANS_AT_K}),
    (lambda ax: plots.at_cutoffs({"a": {"ndcg_cut.5,10": CUTS}}, "ndcg_cut", ax=ax), {"lines": [[(5, 0.25), (10, 0.75)]]}),
    (lambda ax: plots.at_cutoffs(RUNS["b"], "mine", ks=(3, 7), ax=ax), {"lines": [[(3, 0.25), (7, 0.75)]], "legend": []}),
    (lambda ax: plots.at_cutoffs(evaluation_of({"mrr": A}, {"p@1,5": mean_of(CUTS)}), ax=ax), {"lines": [[(1, 0.25), (5, 0.75)]]}),
    # A single list has no interval.
    (lambda ax: plots.at_cutoffs({"two": {"p@1": A}, "one": {"p@1": A[1]}}, ax=ax), {"legend": ["two", "one (no interval)"]}),
    # If cutoffs are close, the largest has the tick.
    (lambda ax: plots.at_cutoffs({f"p@{k}": A for k in (1, 10, 90, 95, 100)}, ax=ax), {"ticks": ["1", "10", "100"]}),
    # Curves go from step to step; those without lists or without the metric are left out.
    (lambda ax: plots.curve(STEPS, "p@5", ax=ax), {"lines": [[(0, 0.75), (20, 0.75)]], "legend": [], "labels": ("step (bands: 95 % intervals)", "p@5")}),
    (lambda ax: plots.curve({"a": STEPS, "b": {0.5: STEPS[10]}, "c": {1: {"map": A}}, "one": {5: {"mrr": A[1]}}}, "mrr", level=0.9, ax=ax), {
        "lines": [[(10, 0.25), (20, 0.4375)], [(0.5, 0.25)], [(5, 0.5)]], "legend": ["a", "b", "one (no interval)"], "labels": ("step (bands: 90 % intervals)", "mrr")}),
    # Nothing is between two epochs.
    (lambda ax: plots.curve({1: STEPS[10], 2: STEPS[20]}, "mrr", ax=ax), {"ticks": ["0", "1", "2", "3"]}),
    (lambda ax: plots.curve({7: evaluation_of({"mrr": A}, {"p@1,5": mean_of(CUTS)})}, "p@1", ax=ax), {"lines": [[(7, 0.25)]]}),
    (lambda ax: plots.precision_recall(RUNS, "p", ax=ax), {"lines": [[(0.25, 0.25), (0.75, 0.75)], [(0.4375, 0.25)]], "texts": ["1", "5", "1"], "labels": ("recall@k", "p@k")}),
    # Differences are above 0 if the second is better.
    (lambda ax: plots.differences(A, B, names=("old", "new"), ax=ax), {"steps": [[0, 0, 0, -1], [0.25, 0, 0, 0]], "bands": [[(0, -1.070), (4, 0.695)]],
        "legend": ["old higher: 1 list", "new higher: 1 list", "equal: 2 lists", "mean -0.188, p=1", "95 % interval\n[-1.070, +0.695]"],
        "labels": ("lists, by difference", "new − old")}),
    # The name of the metric says that lower is better, and `lower` does for others.
    (lambda ax: plots.differences({"old": A, "new": B}, metric="arp", ax=ax), {"steps": [[0.25, 0, 0, 0], [0, 0, 0, -1]], "labels": ("lists, by difference", "new − old, arp")}),
    (lambda ax: plots.differences(A, B, metric="mine", lower=True, ax=ax), {"steps": [[0.25, 0, 0, 0], [0, 0, 0, -1]],
        "legend": ["a better: 1 list", "b better: 1 list", "equal: 2 lists", "mean -0.188, p=1", "95 % interval\n[-1.070, +0.695]"]}),
    # Dicts of other tools are paired by their keys; lists that do not count are left out.
    (lambda ax: plots.differences(OF_TOOLS, metric="ndcg@5", ax=ax), {"steps": [[0, 0], [0.25, 0]]}),
    (lambda ax: plots.differences(*HALF, ax=ax), {"steps": [[0, 0], [0.25, 0]]}),
    (lambda ax: plots.distribution({"a": A, "b": B}, ax=ax), {"legend": ["a", "b"], "labels": ("value of a list (3 lists, 1 undefined\nleft out)", LISTS)}),
    (lambda ax: plots.distribution({"a": A, "b": B[:1]}, ax=ax), {"legend": ["a: 3 lists, 1 undefined left\nout", "b: 1 list"], "labels": ("value of a list", LISTS)}),
    (lambda ax: plots.distribution(HALF[0], ax=ax), {"lines": [[(0.25, 0), (0.25, 0.5), (0.5, 1)]], "labels": ("value of a list (2 lists)", LISTS)}),
    (lambda ax: plots.distribution(OF_TOOLS, metric="ndcg@5", ax=ax), {"labels": ("ndcg@5 of a list (2 lists)", LISTS)}),
    (lambda ax: plots.distribution(evaluation_of({"mrr": A}, {}), ax=ax), {"legend": []}),
    # A group without lists has no point.
    (lambda ax: plots.by_group(by_group(), ("cold", "none", "warm"), ax=ax), {"points": [[(-0.15, 0.75), (1.85, 0.125)], [(0.15, 0.25), (2.15, 0.25)]],
        "ticks": ["cold\n2 lists", "none\n0 lists", "warm\n2 lists"], "legend": ["a", "b"], "labels": ("", "mean and 95 % interval")}),
    # A cluster is a list, with the mean of its lists.
    (lambda ax: plots.by_group(A.cluster(np.array([0, 0, 1, 2]), undefined="skip").by(np.array([0, 0, 1]), 2), ax=ax), {
        "points": [[(0, (0.75 * 2 + 0.25) / 3)]], "ticks": ["0\n2 lists", "1\n0 lists"]}),
    (lambda ax: plots.by_group(BY_USERS, metric="p@5", ax=ax), {"points": [[(0, 1), (1, 0.5)]], "ticks": ["True\n2 lists", "warm\n2 lists"]}),
    (lambda ax: plots.by_group(dict.fromkeys("ab", BY_USERS), metric="mrr", ax=ax), {"legend": ["a", "b"]}),
    # Significant differences first, then the others; an end that is open is an arrow.
    (lambda ax: plots.forest(MANY, names=("BM25", "system"), ax=ax), {"rows": ["dense", "mrr", "ndcg@1", "ndcg@5", "rerank, mrr"],
        "labels": ("system − BM25, 95 % intervals\nsystem better →", ""), "texts": ["", "≤ 3e-05", "≤ 3e-05", "1", "0.2", "p (Holm)"],
        "legend": ["p ≤ 0.05 (Holm)", "p > 0.05 (Holm)"], "points": [[(0.2, 1), (0.2, 2)], [(0.3, 3), (0.2, 4)]], "intervals": [[(0.1, 1), (0.3, 1)], [(0.1, 2), (0.3, 2)],
        [(0.3, 3), (0.3, 3)], [(0.1, 4), (0.3, 4)]], "arrows": [[(0.3, 3), (-0.024, 3)], [(0.3, 3), (0.324, 3)]]}),
    (lambda ax: plots.forest(LOWER, ax=ax), {"labels": ("b − a, 95 % intervals\n← b better", "")}),
    (lambda ax: plots.forest(comparisons({None: {"map": COMPARISON, "arp": LOWER}}), ax=ax), {"rows": ["map", "arp ↓"], "labels": ("b − a, 95 % intervals\n↓: lower is better", "")}),
    (lambda ax: plots.forest(PAIRS, ax=ax), {"rows": ["b − a", "c − a", "c − b"], "labels": ("difference, map, 95 % intervals\nfirst better →", "")}),
    # A margin is shaded on the side that the question allows.
    (lambda ax: plots.forest(comparisons({None: QUESTIONS}), ax=ax), {"bands": [[(-0.05, 0.5), (0, -0.5)], [(-0.04, 1.5), (0.04, 0.5)]],
        "legend": ["p ≤ 0.05 (Holm)", "margin"], "arrows": [[(0.2, 0), (0.328, 0)]]}),
    # Large differences are divided by a power of ten, but not if they are alone.
    (lambda ax: plots.forest(SCALES, ax=ax), {"rows": ["a", "ndcg@5", "arp / 1000", "b", "ndcg@5", "arp / 1000"], "points": [[(0.2, 1), (-0.03, 2), (0.2, 4), (-0.03, 5)]]}),
    *((lambda ax, same=same: plots.forest(comparisons({None: same}), ax=ax), {"rows": list(same)}) for same in ({"arp": FAR}, {"ndcg": FAR, "arp": FAR}, {"new": FAR, "old": COMPARISON})),
    (lambda ax: plots.forest(jrm.compare({"p@1,5": CUTS}, {"new": {"p@1,5": CUTS}}), ax=ax), {"rows": ["new", "p@1", "p@5"]}),
    # Bars of groups that overlap stand side by side.
    (lambda ax: plots.ranks(board("abcd", ((0, 2), (1, 3), (3, 4))), ax=ax), {"rows": ["a", "b", "c", "d"], "texts": ["0.25"] * 4 + ["P(first)"],
        "points": [[(1, 0), (2, 1), (3, 2), (4, 3)]], "intervals": [[(1, 0), (3, 0)], [(1, 1), (4, 1)], [(2, 2), (4, 2)], [(3, 3), (4, 3)]],
        "legend": ["cannot be told apart", "rank, 95 % interval"], "labels": ("rank by map", "")}),
]
# fmt: on


@pytest.mark.parametrize(("draw", "expected"), SHOWN)
def test_what_figures_show(draw, expected, ax):
    assert draw(ax) is ax
    actual = shown(ax)
    for part, values in expected.items():
        if not values or isinstance(values[0], str):
            assert actual[part] == values
            continue
        assert len(actual[part]) == len(values)
        for array, value in zip(actual[part], values, strict=True):
            np.testing.assert_allclose(array, value, rtol=1e-3, atol=1e-6)


def test_intervals_are_those_of_the_mean(ax):
    """They are bands, a line if a band would have no width, and error bars."""
    expected = mean_of(A).confidence_interval(0.95)
    plots.at_cutoffs({"a": {"p@5": A}}, ax=ax)
    (line,) = ax.collections[0].get_segments()
    np.testing.assert_allclose(line, [(5, x) for x in expected], rtol=1e-5)
    ax.clear()
    plots.at_cutoffs({"a": {"p@1": A, "p@5": B}}, ax=ax)
    band = ax.collections[0].get_paths()[0].vertices
    at_1 = band[band[:, 0] == 1, 1]
    np.testing.assert_allclose([at_1.min(), at_1.max()], expected, rtol=1e-5)
    ax.clear()
    known = {x: {"mrr": A} for x in (1, 3, 4, 6)}
    plots.curve({**known, 2: {"mrr": A[1]}, 5: {"mrr": A[1]}}, "mrr", ax=ax)
    first, last = ax.collections[0].get_segments()
    np.testing.assert_allclose(first, [(1, x) for x in expected], rtol=1e-5)
    np.testing.assert_allclose(last, [(6, x) for x in expected], rtol=1e-5)
    (band,) = ax.collections[1].get_paths()
    assert {*band.vertices[:, 0]} == {3, 4}
    ax.clear()
    plots.by_group({0: {"mrr": mean_of(A)}}, ax=ax)
    bar = shown(ax)["intervals"][0]
    np.testing.assert_allclose(bar, [(0, x) for x in expected], rtol=1e-5)


def test_markers_are_hollow_where_nothing_is_known(ax):
    """A group of one list is hollow on a dotted line; so are insignificant differences."""
    plots.by_group(A.by(np.array([1, 0, 1, 1]), 3), ax=ax)
    dotted = [x for x in ax.lines if x.get_linestyle() == ":"]
    hollow = [x for x in ax.lines if x.get_markerfacecolor() == ax.get_facecolor()]
    assert [x.get_xdata()[0] for x in (*dotted, *hollow)] == [0, 0]
    assert shown(ax)["legend"] == ["no interval"]
    ax.clear()
    plots.forest(MANY, ax=ax)
    full, empty = (x.lines[0].get_markerfacecolor() for x in ax.containers)
    assert full != empty == ax.get_facecolor()
    assert {x.get_linestyle() for x in ax.lines if x.get_marker() in "<>"} == {":"}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:3 seeds hardly")
def test_differences_of_seeds(ax):
    """Bars are of means over seeds, and p equals the p of `compare`."""
    seeds = jrm.Seeds([[0.2, 0.5, 0.3], [0.3, 0.6, 0.4], [0.4, 0.7, 0.5]])
    baseline = [0.1, 0.2, 0.3]
    plots.differences(baseline, seeds, ax=ax)
    comparison = jrm.compare(baseline, seeds).only
    assert f"mean +0.233, p={comparison.p:.2g}" in shown(ax)["legend"]
    np.testing.assert_allclose(shown(ax)["steps"][1], [0.4, 0.2, 0.1])


def test_runs_look_different(ax):
    """Twelve runs by their markers alone; two dozen do not share colour and dashes."""
    looks = [drawing.look(index) for index in range(24)]
    assert len({(look["color"], look["ls"]) for look in looks}) == 24
    plots.distribution({f"{i}": A for i in range(12)}, ax=ax)
    assert len({line.get_marker() for line in ax.lines}) == 12


def test_a_curve_of_many_steps_has_few_markers(ax):
    """A curve of 25 has one at each step, and markers of two runs stand apart."""
    runs = {
        x: {step: {"mrr": A} for step in range(y)} for x, y in (("a", 25), ("b", 99))
    }
    few, many = plots.curve({**runs, "c": runs["b"]}, "mrr", ax=ax).lines[:2]
    assert few.get_markevery() is None
    assert many.get_markevery() == (3, 10)
    assert ax.lines[2].get_markevery() != many.get_markevery()


def test_a_curve_of_seeds(ax):
    """The band at a step is the band of means over seeds."""
    seeds = jrm.Seeds([{"mrr": A}, {"mrr": B}])
    curve = plots.curve({0: seeds, 1: {"mrr": A}}, "mrr", ax=ax)
    band = curve.collections[0].get_paths()[0].vertices
    at_0, at_1 = (np.ptp(band[band[:, 0] == step, 1]) for step in (0, 1))
    np.testing.assert_allclose(curve.lines[0].get_ydata()[0], (0.4375 + 0.25) / 2)
    assert at_0 > at_1


LONG_NAME = "system {}, trained with mined negatives on all data"  # 50 characters


@pytest.mark.parametrize(("width", "name"), [(3.3, "system {}"), (5, LONG_NAME)])
def test_legends_stand_outside_the_axes(width, name):
    names = [name.format(i) for i in range(4)]
    runs = {x: {"p@1,5": CUTS, "recall@1,5": CUTS, "mrr": (A)} for x in names}
    standings = board(names, ((0, 4),))
    for plot, *arguments in (
        (plots.at_cutoffs, runs, "p"),
        (plots.curve, {x: {0: runs[x], 9: runs[x]} for x in names}, "mrr"),
        (plots.precision_recall, runs, "p"),
        (plots.by_group, dict.fromkeys(names, by_group()["a"]), names[:3]),
        (plots.distribution, dict.fromkeys(names, A)),
        (plots.differences, dict(zip(names, (A, B), strict=False))),
        (plots.forest, comparisons(dict.fromkeys(names, {"mrr": COMPARISON}))),
        (plots.ranks, standings),
    ):
        figure, ax = plt.subplots(figsize=(width, 0.75 * width))
        plot(*arguments, ax=ax)
        figure.draw_without_rendering()
        legend, frame = (x.get_window_extent() for x in (ax.get_legend(), ax))
        assert not legend.overlaps(frame)
        assert figure.bbox.padded(1).contains(*legend.min)
        assert figure.bbox.padded(1).contains(*legend.max)
        plt.close(figure)


def test_layouts_of_the_user_are_kept():
    """An engine that the figure has, and axes in places of their own."""
    figure, ax = plt.subplots(layout="tight")
    engine = figure.get_layout_engine()
    plots.at_cutoffs(RUNS, "p", ax=ax)
    assert figure.get_layout_engine() is engine
    plt.close(figure)
    figure, panels = plt.subplots(2, 2, sharex=True, sharey="row")
    for upper, lower in panels.T:  # three of them have hidden labels
        plots.at_cutoffs(RUNS, "p", ax=upper)
        assert [1, 5, 20] == list(plots.at_cutoffs(RUNS, "p", ax=lower).get_xticks())
    plt.close(figure)
    figure, panels = plt.subplots(1, 2, sharey=True)
    for ax in panels:
        plots.forest(MANY, ax=ax)
    assert panels[0].get_ylim() == (4.5, -0.5) and shown(panels[1])["rows"] == []
    plt.close(figure)
    figure = plt.figure()
    ax = figure.add_axes((0.2, 0.2, 0.5, 0.7))
    plots.at_cutoffs(RUNS, "p", ax=ax)
    assert figure.get_layout_engine() is None
    assert ax.get_position().bounds == pytest.approx((0.2, 0.2, 0.5, 0.7))
    plt.close(figure)
    figure = plt.figure(figsize=(6, 3))
    ax, _ = (part.subplots() for part in figure.subfigures(1, 2))
    plots.forest(COMPARISON, ax=ax)
    plt.close(figure)


def test_labels_that_do_not_fit_are_turned_or_smaller(ax):
    """A figure that has no axes yet becomes as high as its rows need."""
    plots.by_group(A.by(np.array([0, 0, 9, 9]), 20), ax=ax)
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {90}
    many = comparisons({f"system {i}": {None: COMPARISON} for i in range(40)})
    ax.clear()
    plots.forest(many, ax=ax)
    plt.figure()
    higher = plots.forest(many)
    assert plt.gcf().get_figheight() > 10
    sizes = [x.get_yticklabels()[0].get_fontsize() for x in (ax, higher)]
    assert sizes[0] < sizes[1]
    plt.close()


def test_groups_meet_by_name():
    """Each group has its own mean under its name, in the order of `names` or first run."""
    turned = dict(reversed(BY_USERS.items()))
    drawn = []
    for states, names in (
        (BY_USERS, ["warm", True]),
        (turned, None),
        ({"a": turned, "b": BY_USERS}, None),
        ({"a": BY_USERS, "b": turned}, ["warm", "True"]),
    ):
        ax = plt.figure().gca()
        plots.by_group(states, names, metric="p@5", ax=ax)
        ticks = [x.get_text().split("\n")[0] for x in ax.get_xticklabels()]
        drawn.append((ticks, [line.get_ydata().tolist() for line in ax.lines][0]))
    assert drawn == [(["warm", "True"], drawn[0][1])] * 4 and drawn[0][1] == [0.5, 1]
    wrong = {"warm": BY_USERS["warm"], "cold": BY_USERS[True]}
    for states, names, text in (
        (
            BY_USERS,
            ["warm", "cold"],
            "states has the groups 'True', 'warm', and the names are 'warm', 'cold'",
        ),
        (
            BY_USERS,
            ["warm"],
            "the names are 'warm'; pass the same groups, in any order",
        ),
        (
            {"a": BY_USERS, "b": wrong},
            None,
            "run 'b' has the groups 'warm', 'cold', and the first run has",
        ),
        (
            by_group(),
            ["x", "y"],
            "run 'a' has the groups '0', '1', '2', and the names are 'x', 'y'",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            plots.by_group(states, names, metric="mrr", ax=plt.figure().gca())
