"""Plots: the data, labels and legends on the axes."""

import dataclasses
import functools
import itertools
import subprocess
import sys

import jax
import matplotlib
import numpy as np
import pytest
from per_lists import evaluation_of

import jax_rank_metrics as jrm
from jax_rank_metrics._results.plots import drawing

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.container import ErrorbarContainer

plots = jrm.plots
KNOWN = np.array([True, True, True, False])


def lists(*values):
    return jrm.PerList(np.float32(values), np.ones(4, np.float32), KNOWN)


A, B = lists(1.0, 0.5, 0.25, 0.0), lists(0.0, 0.5, 0.5, 0.0)
CUTS = lists([0.0, 1.0], [0.5, 1.0], [0.5, 1.0], [0.0, 0.0])
RUNS = {
    "a": {"p@1,5": CUTS, "p@20": A, "recall@1,5": CUTS},
    "b": {"p@1": B, "recall@1": A, "mine": CUTS},
}

THREE_CUTS = lists(*np.linspace(0, 1, 12).reshape(4, 3))
COMPARISON = jrm.Comparison(
    difference=0.2,
    low=0.1,
    high=0.3,
    p=1e-5,
    p_corrected=3e-5,
    effect_size=0.5,
    wins=3,
    ties=0,
    losses=1,
    lists=4,
    n_eff=4.0,
    test="permutation",
    correction="holm",
    alternative="two-sided",
    margin=None,
    samples=99_999,
    level=0.95,
    lower_is_better=False,
)
changed = functools.partial(dataclasses.replace, COMPARISON)


def comparisons(by_system):
    """Returns those of a dict of systems to dicts of metrics."""
    return jrm.Comparisons(
        dataclasses.replace(x, system=system, metric=metric)
        for system, metrics in by_system.items()
        for metric, x in metrics.items()
    )


def leaderboard(count, groups=None):
    ranks = np.arange(1.0, count + 1)
    pairs = np.ones((count, count))
    return jrm.Leaderboard(
        systems=tuple(f"system {i}" for i in range(count)),
        means=1 / ranks,
        lows=0.9 / ranks,
        highs=1.1 / ranks,
        ranks=ranks,
        rank_lows=np.maximum(ranks - 1, 1),
        rank_highs=np.minimum(ranks + 2, count),
        p_first=np.full(count, 1 / count),
        p_beats=pairs / 2,
        p_corrected=pairs,
        groups=groups or ((0, count),),
        stability=None,
        metric="map",
        tasks=(),
        lists=4,
        samples=10,
        level=0.95,
        lower_is_better=False,
    )


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
    low, high = B.mean().confidence_interval(0.95)  # the first column of CUTS
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


def test_at_cutoffs_as_trec_eval_names_them(ax):
    plots.at_cutoffs({"a": {"ndcg_cut.5,10": CUTS, "P_5": A}}, "ndcg_cut", ax=ax)
    assert list(ax.lines[0].get_xdata()) == [5, 10]


def test_at_cutoffs_under_a_name_of_ones_own(ax):
    plots.at_cutoffs(RUNS["b"], "mine", ks=(3, 7), ax=ax)
    assert list(ax.lines[0].get_xdata()) == [3, 7] and ax.get_legend() is None
    # Without ax, the current one; of one list there is a line, and no band.
    plt.sca(ax)
    plots.at_cutoffs({"one": {"p@1,2": CUTS[1]}}, "p")
    assert list(ax.lines[1].get_ydata()) == [0.5, 1.0]
    assert np.isfinite(ax.get_ylim()).all()


def test_at_a_single_cutoff(ax):
    """The interval is a line, since a band would have no width."""
    plots.at_cutoffs({"a": {"p@5": A}}, "p", ax=ax)
    (line,) = ax.collections[0].get_segments()
    low, high = A.mean().confidence_interval(0.95)
    np.testing.assert_allclose(line, [[5, low], [5, high]], rtol=1e-5)


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
        *("mean -0.188, p=1", "95 % interval\n[-1.070, +0.695]"),
    ]
    (band,) = (x for x in ax.patches if x.get_label().startswith("95 %"))
    assert (band.get_y(), band.get_height()) == pytest.approx((-1.070, 1.765), abs=1e-3)
    assert list(ax.lines[-1].get_ydata()) == [-0.1875] * 2
    assert ax.get_ylabel() == "new − old"


def test_what_compare_takes_and_returns(ax):
    """Two systems may come in one dict; a comparison holds nothing to draw."""
    plots.differences({"old": {"mrr": A}, "new": {"mrr": B}}, metric="mrr", ax=ax)
    assert legend(ax)[0] == "old better: 1 list" and ax.get_ylabel()[:9] == "new − old"
    with pytest.raises(TypeError, match="pass the values of both .* plots.forest"):
        plots.differences(COMPARISON, ax=ax)
    with pytest.raises(ValueError, match="b is missing"):
        plots.differences(A, ax=ax)
    ax.clear()
    assert plots.at_cutoffs({"a": {"p@1,5": CUTS}}, ax=ax).get_ylabel() == "p@k"
    with pytest.raises(ValueError, match="hold p, recall at cutoffs; pass metric="):
        plots.at_cutoffs(RUNS, ax=ax)


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


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:3 seeds hardly")
def test_differences_of_seeds(ax):
    """Bars are of means over seeds, and p is that of `compare`."""
    seeds = jrm.Seeds([[0.2, 0.5, 0.3], [0.3, 0.6, 0.4], [0.4, 0.7, 0.5]])
    baseline = [0.1, 0.2, 0.3]
    plots.differences(baseline, seeds, ax=ax)
    comparison = jrm.compare(baseline, seeds).only
    assert f"mean +0.233, p={comparison.p:.2g}" in legend(ax)
    np.testing.assert_allclose(ax.patches[1].get_data().values, [0.4, 0.2, 0.1])
    with pytest.raises(ValueError, match="fewer than three seeds"):
        plots.differences(baseline, jrm.Seeds(seeds.runs[:2]), ax=ax)


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
    users = evaluation_of({"mrr": A}, {"p@1,5": CUTS.mean()})
    plots.distribution(users, ax=ax)
    plots.at_cutoffs(users, "p", ax=ax)
    with pytest.raises(ValueError, match="a holds 'ndcg@5', 'mrr'; pass metric="):
        plots.differences(a, b, ax=ax)


def test_runs_look_different():
    """Each of twelve runs has its marker; two dozen do not share colour and dashes."""
    looks = [drawing.look(index) for index in range(24)]
    assert len({look.marker for look in looks[:12]}) == 12
    assert len({look[1:] for look in looks}) == 24
    assert len({(look.colour, look.dashes) for look in looks}) == 24


@pytest.mark.parametrize("draw", ["at_cutoffs", "distribution", "precision_recall"])
def test_twelve_runs_look_different_without_colour(draw, ax):
    """Their lines have different markers, dashes or fill."""
    runs = {
        f"system {i}": {"precision@1,5": CUTS, "recall@1,5": CUTS, "mrr": A}
        for i in range(12)
    }
    options = {"at_cutoffs": ("recall",), "distribution": (), "precision_recall": ()}
    if draw == "distribution":
        runs = {run: metrics["mrr"] for run, metrics in runs.items()}
    getattr(plots, draw)(runs, *options[draw], ax=ax)
    looks = {
        (x.get_marker(), x.get_linestyle(), x.get_markerfacecolor() == "none")
        for x in ax.lines
    }
    assert len(ax.lines) == len(looks) == 12


def boxes_of(texts):
    return [text.get_window_extent() for text in texts if text.get_text()]


def collide(boxes):
    return any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def is_within(box, outer):
    return (
        box.x0 >= outer.x0 - 1
        and box.x1 <= outer.x1 + 1
        and box.y0 >= outer.y0 - 1
        and box.y1 <= outer.y1 + 1
    )


def draw_at_cutoffs(runs, ax):
    plots.at_cutoffs(runs, "precision", ax=ax)


def draw_precision_recall(runs, ax):
    plots.precision_recall(runs, ax=ax)
    assert len(ax.texts) >= 2 and not collide(boxes_of(ax.texts))


def draw_by_group(runs, ax):
    groups = {run: x["mrr"].by(np.array([0, 0, 1, 1]), 3) for run, x in runs.items()}
    names = ("new customers", "frequent customers", "nobody")
    names = (*names[:2], max(names[2], *runs, key=len))
    plots.by_group(groups, names, ax=ax)


def draw_distribution(runs, ax):
    plots.distribution(runs, metric="mrr", ax=ax)


def draw_differences(runs, ax):
    metrics, names = list(runs.values())[:2], tuple(runs)[:2]
    plots.differences(*metrics, names=names, metric="mrr", ax=ax)


def draw_forest(runs, ax):
    metrics = {run: {"mrr": COMPARISON} for run in runs}
    cutoffs = {"p@1": COMPARISON, "p@5": COMPARISON}
    plots.forest(comparisons({**metrics, "last": cutoffs}), ax=ax)


def draw_ranks(runs, ax):
    board = dataclasses.replace(leaderboard(len(runs)), systems=tuple(runs))
    plots.ranks(board, ax=ax)


LONG_NAME = "system {}, trained with mined negatives on all data"  # 50 characters


@pytest.mark.parametrize(
    ("count", "width", "name"),
    [
        pytest.param(2, 6, "system {}", marks=pytest.mark.long),
        (12, 3.3, "system {}"),
        (4, 5, LONG_NAME),
    ],
)
@pytest.mark.parametrize(
    "draw",
    [
        *(draw_at_cutoffs, draw_precision_recall, draw_by_group, draw_distribution),
        *(draw_differences, draw_forest, draw_ranks),
    ],
)
def test_nothing_collides(draw, count, width, name):
    """The legend stands beside the data, within the figure, and labels have their room."""
    metrics = {"precision@1,5,10": lists(*np.eye(4, 3)), "recall@1,5,10": THREE_CUTS}
    runs = {name.format(i): {**metrics, "mrr": (A, B)[i % 2]} for i in range(count)}
    figure, ax = plt.subplots(figsize=(width, 0.75 * width))
    draw(runs, ax)
    figure.canvas.draw()
    legend_box = ax.get_legend().get_window_extent()
    outside = [legend_box, ax.get_window_extent()]
    outside += boxes_of([ax.xaxis.label, ax.yaxis.label])
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = boxes_of(
            text
            for at, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            if low <= at <= high
        )
        assert not collide(ticks)
        outside += ticks
    assert not collide(outside)
    for box in outside:
        assert is_within(box, figure.bbox)
    # The data keep the most of the figure.
    assert ax.get_window_extent().size.min() > 0.25 * figure.bbox.size.min()
    plt.close(figure)


def test_legends_of_panels_do_not_reach_into_their_neighbours():
    """The figure gets a layout engine if it has none, and keeps its own otherwise."""
    runs = {f"system {i}": {"p@1,5": CUTS} for i in range(4)}
    for layout in (None, "tight"):
        figure, panels = plt.subplots(1, 2, figsize=(9, 3), layout=layout)
        engine = figure.get_layout_engine()
        for panel in panels:
            plots.at_cutoffs(runs, "p", ax=panel)
        assert engine is None or figure.get_layout_engine() is engine
        figure.canvas.draw()
        assert not collide([panel.get_tightbbox() for panel in panels])
        assert panels[1].get_tightbbox().x1 <= figure.bbox.x1 + 1
        plt.close(figure)


def test_axes_in_places_of_their_own():
    """They stay there; an `Axes` of a subfigure has its own width."""
    figure = plt.figure()
    ax = figure.add_axes((0.2, 0.2, 0.5, 0.7))
    plots.at_cutoffs(RUNS, "p", ax=ax)
    figure.canvas.draw()
    assert figure.get_layout_engine() is None
    assert ax.get_position().bounds == pytest.approx((0.2, 0.2, 0.5, 0.7))
    plt.close(figure)
    figure = plt.figure(figsize=(6, 3))
    ax, _ = (part.subplots() for part in figure.subfigures(1, 2))
    assert drawing.is_narrow(ax)
    plots.forest(COMPARISON, ax=ax)
    plt.close(figure)


def test_cutoffs_that_are_close_share_a_tick(ax):
    """Labels do not run together; the largest cutoff keeps its own."""
    lists = {f"p@{k}": A for k in (1, 10, 90, 95, 100)}
    plots.at_cutoffs(lists, "p", ax=ax)
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["1", "10", "100"]


def test_a_group_of_one_list_has_no_interval(ax):
    """Its marker is hollow, on a dotted line, and the legend says so."""
    plots.by_group(A.by(np.array([1, 0, 1, 1]), 3), ax=ax)
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    hollow = [x for x in ax.lines if x.get_markerfacecolor() == ax.get_facecolor()]
    assert [line.get_xdata()[0] for line in (*dotted, *hollow)] == [0, 0]
    assert legend(ax) == ["no interval"]
    ax.clear()
    plots.at_cutoffs({"two": {"p@1,5": CUTS}, "one": {"p@1": A[1]}}, "p", ax=ax)
    assert legend(ax) == ["two", "one (no interval)"]


@pytest.mark.long
def test_labels_of_many_groups_are_turned(ax):
    plots.by_group(A.by(np.array([0, 0, 9, 9]), 20), ax=ax)
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {90}
    ax.figure.canvas.draw()
    assert not collide(boxes_of(ax.get_xticklabels()))


def test_lists_that_do_not_count_are_not_shown(ax):
    weights = np.float32([0, 3, 1, 0])
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
    groups = np.array([0, 0, 2, 2])
    runs = {"a": A.by(groups, 3), "b": B.by(groups, 3)}
    plots.by_group(runs, ("cold", "none", "warm"), ax=ax)
    a, b = (x for x in ax.containers if isinstance(x, ErrorbarContainer))
    # A group without lists has no point.
    np.testing.assert_allclose(a.lines[0].get_xydata(), [[-0.15, 0.75], [1.85, 0.125]])
    np.testing.assert_allclose(b.lines[0].get_xydata(), [[0.15, 0.25], [2.15, 0.25]])
    low, high = A[:2].mean().confidence_interval(0.95)
    bar = a.lines[2][0].get_segments()[0]
    np.testing.assert_allclose(bar[:, 1], [low, high], rtol=1e-5)
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["cold\n2 lists", "none\n0 lists", "warm\n2 lists"]
    assert legend(ax) == ["a", "b"]
    different = jax.tree.map(lambda x: x[:2], jax.device_get(runs["a"]))
    for states, names in (({**runs, "c": different}, None), (runs, ("cold", "warm"))):
        with pytest.raises(ValueError, match="the same groups"):
            plots.by_group(states, names, ax=ax)


def test_by_group_of_clusters(ax):
    """A cluster is a list, with the mean of its lists."""
    clusters = A.cluster(np.array([0, 0, 1, 2]), undefined="skip")
    plots.by_group(clusters.by(np.array([0, 0, 1]), 2), ax=ax)
    points = ax.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(points, [[0, (0.75 * 2 + 0.25) / 3]])
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks[0] == "0\n2 lists"


def test_by_group_of_users(ax):
    """Groups of `UserEvaluation.by` have names, and of several metrics one is picked."""
    groups = {
        True: {"mrr": A[:2].mean(), "p@1,5": CUTS[:2].mean()},
        "warm": {"mrr": A[2:].mean(), "p@1,5": CUTS[2:].mean()},
    }
    plots.by_group(groups, metric="p@5", ax=ax)
    points = ax.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(points, [[0, 1], [1, 0.5]])
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["True\n2 lists", "warm\n2 lists"]
    ax.clear()
    plots.by_group({"a": groups, "b": groups}, metric="mrr", ax=ax)
    assert legend(ax) == ["a", "b"]
    for metric in (None, "ndcg"):
        with pytest.raises(ValueError, match="group 'True' holds mrr, p@1, p@5; pass"):
            plots.by_group(groups, metric=metric, ax=ax)
    with pytest.raises(ValueError, match="the same groups"):
        plots.by_group(
            {"a": groups, "b": {"warm": groups["warm"]}}, metric="mrr", ax=ax
        )


def test_forest(ax):
    """A row for each comparison: difference, interval and p; significant ones are full."""
    unknown = changed(difference=0.3, low=-np.inf, high=np.inf, p=1.0, p_corrected=1.0)
    plots.forest(
        comparisons(
            {
                "dense": {"mrr": COMPARISON, "ndcg@1": COMPARISON, "ndcg@5": unknown},
                "rerank": {"mrr": changed(p_corrected=0.2, p=0.1)},
            }
        ),
        names=("BM25", "system"),
        ax=ax,
    )
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == ["dense", "mrr", "ndcg@1", "ndcg@5", "rerank, mrr"]
    assert ax.get_xlabel() == "system − BM25, 95 % intervals\nsystem better →"
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["", "≤ 3e-05", "≤ 3e-05", "1", "0.2", "p (Holm)"]
    assert legend(ax) == ["p ≤ 0.05 (Holm)", "p > 0.05 (Holm)"]
    intervals = [x for x in ax.containers if len(x.lines[0].get_xdata())]
    filled = [x.lines[0].get_markerfacecolor() != ax.get_facecolor() for x in intervals]
    assert filled == [True, True, False, False]
    bar = intervals[0].lines[2][0].get_segments()[0]
    np.testing.assert_allclose(bar, [[0.1, 1], [0.3, 1]])
    ends = [x for x in ax.lines if x.get_marker() in "<>" and x.get_linestyle() == ":"]
    assert [list(x.get_ydata()) for x in ends] == [[3, 3], [3, 3]]
    assert sorted(x.get_xdata()[1] for x in ends) == sorted(ax.get_xlim())


def test_forest_of_other_questions(ax):
    """The direction, margins and open ends are those of each comparison."""
    lower = changed(lower_is_better=True)
    plots.forest(lower, ax=ax)
    assert ax.get_xlabel() == "b − a, 95 % intervals\n← b better"
    ax.clear()
    plots.forest(comparisons({None: {"map": COMPARISON, "arp": lower}}), ax=ax)
    assert [x.get_text() for x in ax.get_yticklabels()] == ["map", "arp ↓"]
    assert ax.get_xlabel().endswith("\n↓: lower is better")
    ax.clear()
    of_pairs = [
        changed(baseline=a, system=b, metric="map") for a, b in ("ab", "ac", "bc")
    ]
    plots.forest(jrm.Comparisons(of_pairs), ax=ax)
    assert [x.get_text() for x in ax.get_yticklabels()] == ["b − a", "c − a", "c − b"]
    assert ax.get_xlabel() == "difference, map, 95 % intervals\nfirst better →"
    ax.clear()
    greater = changed(alternative="greater", margin=0.05, high=np.inf)
    plots.forest(
        comparisons({None: {"one": greater, "two": changed(margin=0.04)}}), ax=ax
    )
    shades = [
        x.get_paths()[0].get_extents() for x in ax.collections if x.get_zorder() == 0
    ]
    np.testing.assert_allclose(
        [x.intervalx for x in shades], [[-0.05, 0], [-0.04, 0.04]]
    )
    assert "margin" in legend(ax)
    (arrow,) = (line for line in ax.lines if line.get_marker() == ">")
    assert list(arrow.get_xdata()) == [0.2, ax.get_xlim()[1]]
    for wrong, error in ((jrm.Comparisons(()), ValueError), ({"a": A}, TypeError)):
        with pytest.raises(error, match="pass the result of compare"):
            plots.forest(wrong, ax=ax)


def test_forest_of_metrics_of_other_scales(ax):
    """Large differences are divided by a power of ten, which their labels name."""
    far = changed(difference=-30.0, low=-45.0, high=np.inf, margin=20.0)
    runs = {x: {"ndcg@5": COMPARISON, "arp": far, "mine": far} for x in "ab"}
    plots.forest(comparisons(runs), ax=ax)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == ["a", "ndcg@5", "arp", "mine", "b", "ndcg@5", "arp", "mine"]
    ax.clear()
    runs = {x: {"ndcg@5": COMPARISON, "arp": far} for x in "ab"}
    plots.forest(comparisons(runs), ax=ax)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == ["a", "ndcg@5", "arp / 1000", "b", "ndcg@5", "arp / 1000"]
    means = [list(x.lines[0].get_xdata()) for x in ax.containers]
    assert sum(means, []) == pytest.approx([0.2, -0.03] * 2)
    assert -1 < ax.get_xlim()[0] < ax.get_xlim()[1] < 1
    # Alone, and under the name of a system, they stay as they are.
    for same in (
        {"arp": far},
        {"ndcg": far, "arp": far},
        {"new": far, "old": COMPARISON},
    ):
        ax.clear()
        plots.forest(comparisons({None: same}), ax=ax)
        assert [text.get_text() for text in ax.get_yticklabels()] == list(same)


def test_forest_in_a_new_figure():
    """A figure that has no axes yet becomes as high as its rows need."""
    plots.forest(comparisons({f"system {i}": {None: COMPARISON} for i in range(40)}))
    assert plt.gcf().get_figheight() > 10
    plt.close()


def test_forest_of_compare(ax):
    """It takes what `compare` returns."""
    plots.forest(jrm.compare({"p@1,5": CUTS}, {"new": {"p@1,5": CUTS}}), ax=ax)
    assert [x.get_text() for x in ax.get_yticklabels()] == ["new", "p@1", "p@5"]


def test_ranks(ax):
    """Best first, and each bar spans a group; groups that overlap have their columns."""
    plots.ranks(leaderboard(4, groups=((0, 2), (1, 3), (3, 4))), ax=ax)
    assert [x.get_text() for x in ax.get_yticklabels()] == [
        f"system {i}" for i in range(4)
    ]
    assert ax.get_ylim() == (3.5, -0.5)  # the first on top
    intervals = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(intervals[0], [[1, 0], [3, 0]])
    np.testing.assert_allclose(ax.containers[0].lines[0].get_xdata(), [1, 2, 3, 4])
    bars = [x for x in ax.lines if x.get_linewidth() == 3]
    np.testing.assert_allclose([x.get_ydata() for x in bars], [[-0.3, 1.3], [0.7, 2.3]])
    assert bars[0].get_xdata()[0] < bars[1].get_xdata()[0]
    assert [x.get_text() for x in ax.texts] == ["0.25"] * 4 + ["P(first)"]
    assert "rank, 95 % interval" in legend(ax) and "cannot be told apart" in legend(ax)
    assert ax.get_xlabel() == "rank by map"
    with pytest.raises(TypeError, match="pass the result of leaderboard"):
        plots.ranks({"a": A}, ax=ax)


def test_what_cannot_be_drawn(ax):
    of_cutoffs = jax.tree.map(lambda x: x[None], jrm.Mean.empty((2,)))
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
        (
            lambda: plots.differences(A.over(A), B.over(B), ax=ax),
            ValueError,
            "ratios whose weights differ.*forest",
        ),
        (lambda: plots.distribution(A.mean(), ax=ax), TypeError, "lists is a Mean"),
        (lambda: plots.by_group(A, ax=ax), TypeError, "got a PerList"),
        (lambda: plots.by_group(A.mean(), ax=ax), ValueError, "stacked along one axis"),
        (lambda: plots.by_group(of_cutoffs, ax=ax), ValueError, "one cutoff"),
    ):
        with pytest.raises(error, match=message):
            draw()


@pytest.mark.long
def test_matplotlib_is_not_imported_before_it_is_needed(monkeypatch):
    code = "import sys, jax_rank_metrics as jrm; jrm.plots.at_cutoffs; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"matplotlib.*jax-rank-metrics\[plots\]"
    ):
        plots.distribution(A)
