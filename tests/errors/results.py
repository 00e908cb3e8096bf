"""Bad calls of `table`, `to_frame`, the plots and `compare`, and of metric names in results."""

import functools
import types

import jax
import numpy as np
from late_imports import LateImport
from made_results import COMPARISON, CUTS, A, B, board
from per_lists import lists_of, state_of

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.calls.binding import parse
from jax_rank_metrics.adapters import tensorboard

pandas = LateImport("pandas")
pyplot = LateImport("matplotlib.pyplot")


RUNS = {"bm25": {"mrr": A}, "noisy": {"mrr": B}}
SINGLE = {"p@1": A, "recall@1": A}
OF_TOOLS = dict.fromkeys("ab", {"ndcg@5": {"q1": 0.1}, "mrr": {"q1": 0}})
MEAN = state_of(A.values)
WRITER = types.SimpleNamespace(add_scalar=print)
OF_CUTS = state_of([[0.0, 1.0]])
USERS = dict.fromkeys((True, "warm"), {"mrr": MEAN, "p@1,5": OF_CUTS})
STEPS = {0: {"p@1,5": CUTS, "mrr": A}}
VALUES = np.linspace(0, 1, 12) ** 2
JOINED = dict(zip("abc", map(lists_of, (VALUES, VALUES[::-1] + 0.3, VALUES + 0.1)), strict=True))  # fmt: skip
IDS = [f"q{index}" for index in range(20)]


def by_metric(lists):
    """Runs of one metric."""
    return {run: {"mrr": values} for run, values in lists.items()}


@functools.cache
def compared(pairs="baseline"):
    """Comparisons of twelve lists."""
    return jrm.compare(by_metric(JOINED), pairs=pairs)


def of_other_values(pairs, runs):
    """Marks runs by comparisons of other values."""
    return jrm.table(by_metric(JOINED | runs), compare=compared(pairs))


def drawn(plot, *arguments, **options):
    """Draws in a figure that is closed at once."""
    try:
        getattr(jrm.plots, plot)(*arguments, **options)
    finally:
        pyplot.close("all")


def groups(count=3):
    """States of groups of lists."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *[MEAN] * count)


def over_devices(lists):
    """Puts values of lists on four devices."""
    mesh, spec = jax.make_mesh((4,), ("q",)), jax.sharding.PartitionSpec("q")
    return jax.device_put(lists, jax.sharding.NamedSharding(mesh, spec))


def by_clusters(clusters, ids=IDS):
    """Compares twenty lists in clusters."""
    values = np.linspace(0, 1, 20)
    if ids is not None:
        values = dict(zip(ids, values, strict=True))
    return jrm.compare(values, values, clusters=clusters)


def unknown(name):
    """Asks for a metric that does not exist; its message is short."""
    try:
        jrm.evaluate((name,), np.zeros((2, 4)), np.zeros((2, 4)))
    except ValueError as error:
        assert len(str(error)) < 250
        raise


CASES = {
    # tables
    "geometric mean of seeds": (ValueError, "geometric mean", lambda: jrm.table({"gm_map": jrm.Seeds([[0.1, 0.4]] * 2)}), lambda: jrm.table({"mean of gm_map": jrm.Seeds([[0.1, 0.4]] * 2)})),
    "table format": (ValueError, "format is 'xml'", lambda: jrm.table(RUNS, format="xml"), lambda: [jrm.table(RUNS, format=word) for word in ("text", "markdown", "latex", "html", "csv", "json")]),
    "table rows": (ValueError, "rows is 'lists'", lambda: jrm.table(RUNS, rows="lists"), lambda: [jrm.table(RUNS, rows=word) for word in ("runs", "metrics")]),
    "table digits": (ValueError, "digits is -1", lambda: jrm.table(RUNS, digits=-1), lambda: jrm.table(RUNS, digits=0)),
    "table level": (ValueError, "level is 2", lambda: jrm.table(RUNS, level=2), lambda: jrm.table(RUNS, level=0.95)),
    "stars of no baseline": (ValueError, "stars are for one baseline; pass the name of the baseline as compare", lambda: jrm.table(RUNS, stars=(0.05,)), lambda: jrm.table(RUNS, compare="bm25", stars=(0.05,))),
    "stars of several baselines": (ValueError, "stars are for one baseline", lambda: jrm.table(RUNS, compare=[*RUNS], stars=(0.05,)), lambda: jrm.table(RUNS, compare="bm25", stars=(0.05,))),
    "a star of 1": (ValueError, "stars is 1; pass a number above 0 and below 1", lambda: jrm.table(RUNS, stars=1), lambda: jrm.table(RUNS, compare="bm25", stars=0.05) == jrm.table(RUNS, compare="bm25", stars=(0.05,))),
    "stars of 1": (ValueError, "stars is 1; pass a number above 0 and below 1", lambda: jrm.table(RUNS, stars=(1,)), lambda: jrm.table(RUNS, compare="bm25", stars=(0.99,))),
    "names of no metric": (ValueError, "names holds 'x', which is not in the table; pass some of [", lambda: jrm.table(RUNS, names={"x": "y"}), lambda: jrm.table(RUNS, names={"mrr": "y"})),
    "table of nothing": (ValueError, "empty", lambda: jrm.table({}), lambda: jrm.table({"mrr": A})),
    "table of a run of nothing": (ValueError, "empty", lambda: jrm.table({"a": {}}), lambda: jrm.table({"a": {"mrr": A}})),
    "table of a list": (TypeError, "results: got a list", lambda: jrm.table([RUNS]), lambda: (jrm.table(RUNS["bm25"]), jrm.table(RUNS))),
    "table of a number": (TypeError, "'mrr' is 0.5", lambda: jrm.table({"mrr": 0.5}), lambda: jrm.table({"mrr": MEAN})),
    "table of a state": (TypeError, "run 'b' is a Mean", lambda: jrm.table({"a": RUNS["bm25"], "b": MEAN}), lambda: jrm.table({"a": RUNS["bm25"], "b": {"mrr": MEAN}})),
    "table of stacked states": (ValueError, "stacked", lambda: jrm.table({"a": groups()}), lambda: jrm.table(jrm.reduce({"a": groups()}))),
    "table with a column twice": (ValueError, "'p@1'", lambda: jrm.table({"p@1,5": OF_CUTS, "p@1": MEAN}), lambda: jrm.table({"p@1,5": OF_CUTS, "first": MEAN})),
    "wilson of reciprocal ranks": (ValueError, "'mrr': method is 'wilson'.*'auto'", lambda: jrm.table({"hit@1": state_of([0.0, 1.0], is_share=True), "mrr": MEAN}, method="wilson"), lambda: (jrm.table({"hit@1": A.values > 0.4}, method="wilson"), [jrm.table({"hit@1": MEAN, "mrr": MEAN}, method=word) for word in ("t", "auto")])),
    "lower of no column": (ValueError, "lower names 'ranks'", lambda: jrm.table({"rank@1": MEAN, "mrr": MEAN}, lower=("ranks",)), lambda: jrm.table({"rank@1": MEAN, "mrr": MEAN}, lower=("rank", "mrr"))),
    "caption of text": (ValueError, "caption and label are for LaTeX, but format is 'text'; pass format='latex'", lambda: jrm.table(RUNS, caption="x"), lambda: (jrm.table(RUNS, caption="x", format="latex"), jrm.table(RUNS))),
    "label of text": (ValueError, "caption and label are for LaTeX", lambda: jrm.table(RUNS, label="x"), lambda: (jrm.table(RUNS, label="x", format="latex"), jrm.table(RUNS))),
    # marks in tables
    "marks of no run": (ValueError, "one of several runs, which are 'bm25', 'noisy'", lambda: jrm.table(RUNS, compare="bm52"), lambda: [jrm.table(RUNS, compare=run) for run in ("bm25", "noisy")]),
    "marks of baselines": (ValueError, "compare is 'bm52'; pass the name", lambda: jrm.table(RUNS, compare=["bm25", "bm52"]), lambda: jrm.table(RUNS, compare=["bm25", "noisy"])),
    "marks of no baselines": (ValueError, "compare is []; pass the name of one", lambda: jrm.table(RUNS, compare=[]), lambda: jrm.table(RUNS, compare=["bm25"])),
    "marks of one run": (ValueError, "one of several runs", lambda: jrm.table(RUNS["bm25"], compare="bm25"), lambda: jrm.table({"bm25": {"mrr": A}, "mine": {"mrr": B}}, compare="bm25")),
    "marks of a metric": (ValueError, "of the form {run: {metric: values}}", lambda: jrm.table(RUNS["noisy"], compare="mrr"), lambda: jrm.table({"noisy": {"mrr": B}, "mine": {"mrr": A}}, compare="noisy")),
    "marks without systems": (ValueError, "none of them is a run.*; pass comparisons of these runs", lambda: jrm.table(RUNS, compare=jrm.Comparisons([COMPARISON])), lambda: jrm.table(RUNS, compare=jrm.compare(RUNS))),
    "marks of numbers": (TypeError, "compare is a dict; pass the name", lambda: jrm.table(RUNS, compare={"noisy": 1.0}), lambda: (jrm.table(RUNS, compare="noisy"), jrm.table(RUNS, compare=["noisy", "bm25"]), jrm.table(RUNS, compare=jrm.compare(RUNS)))),
    "marks of a level": (TypeError, "compare is 0.05; pass the name of the baseline", lambda: jrm.table(RUNS, compare=0.05), lambda: jrm.table(RUNS, compare="noisy", level=0.95)),
    "marks of states": (TypeError, "results['bm25']['mrr'] is a Mean; pass what `measure` returns", lambda: jrm.table({run: {"mrr": MEAN} for run in RUNS}, compare="bm25"), lambda: (jrm.table(RUNS, compare="bm25"), jrm.table({run: {"mrr": MEAN} for run in "ab"}, compare=jrm.compare({run: {"mrr": A} for run in "ab"})))),
    "marks of comparisons": (ValueError, "compare is for the results of runs.*; leave that option out", lambda: jrm.table(jrm.Comparisons([COMPARISON]), compare="bm25"), lambda: jrm.table(jrm.Comparisons([COMPARISON]))),
    "marks of a leaderboard": (ValueError, "compare is for the results of runs.*; leave that option out", lambda: jrm.table(board("ab", ((0, 2),)), compare="bm25"), lambda: jrm.table(board("ab", ((0, 2),)))),
    "marks of several collections": (ValueError, "comparisons of each collection: 'Robust_04'", lambda: jrm.table({"Robust_04": RUNS, "Tiny": RUNS}, compare=jrm.Comparisons([COMPARISON])), lambda: jrm.table({"Robust_04": RUNS, "Tiny": RUNS}, compare={"Robust_04": jrm.compare(RUNS), "Tiny": jrm.compare(RUNS)})),
    "marks of more lists": (ValueError, "over 12 lists, but the results are of 3 and 3", lambda: of_other_values("baseline", {x: y[:3] for x, y in JOINED.items()}), lambda: of_other_values("baseline", {})),
    "marks of other values": (ValueError, "difference of +0.3 .* differ by +0", lambda: of_other_values("baseline", {"b": JOINED["a"]}), lambda: of_other_values("baseline", {})),
    "letters of more lists": (ValueError, "over 12 lists, but the results are of 3 and 3", lambda: of_other_values("all", {x: y[:3] for x, y in JOINED.items()}), lambda: of_other_values("all", {})),
    "letters of other values": (ValueError, "difference of +0.3 .* differ by +0", lambda: of_other_values("all", {"b": JOINED["a"]}), lambda: of_other_values("all", {})),
    # frames
    "frame of a state": (TypeError, "['mrr']: got a Mean", lambda: jrm.to_frame({"mrr": MEAN, "map": A}), lambda: (jrm.to_frame({"mrr": A, "map": A}), jrm.to_frame(jrm.compare(A, B)), jrm.to_frame(board("ab", ((0, 2),))))),
    "frame of a state with ids": (TypeError, "are not lists; leave ids out", lambda: jrm.to_frame({"mrr": MEAN}, [1, 2, 3, 4]), lambda: jrm.to_frame({"mrr": MEAN})),
    "frame of NaN": (ValueError, "['mrr'] is NaN at list 1, and in a frame NaN says", lambda: jrm.to_frame({"mrr": lists_of([0, np.nan])}), lambda: jrm.to_frame({"mrr": lists_of([0, np.nan], defined=[True, False])})["mrr"].isna().sum() == 1),
    "frame of values on devices": (ValueError, "['mrr'] lies on several devices; .*device_get", lambda: jrm.to_frame({"mrr": over_devices(A)}), lambda: jrm.to_frame({"mrr": jax.device_get(over_devices(A))})),
    "frame of nothing": (ValueError, "no metric", lambda: jrm.to_frame({}), lambda: jrm.to_frame({"mrr": A})),
    "frame of other lists": (ValueError, "2 and 4 lists", lambda: jrm.to_frame({"a": A, "b": A[:2]}), lambda: jrm.to_frame({"a": A[:2], "b": A[:2]})),
    "frame of fewer ids": (ValueError, "2 ids .* which has 4 lists", lambda: jrm.to_frame(SINGLE, ["a", "b"]), lambda: jrm.to_frame(SINGLE, list("abcd"))),
    "frame of an id twice": (ValueError, "'a' more than once", lambda: jrm.to_frame(SINGLE, list("abca")), lambda: jrm.to_frame(SINGLE, list("abcd"))),
    "frame with a column twice": (ValueError, "called 'p@1'", lambda: jrm.to_frame({"p@1,5": CUTS, "p@1": A}), lambda: jrm.to_frame({"p@1,5": CUTS, "first": A})),
    "frame of a leaderboard with ids": (TypeError, "leave ids out", lambda: jrm.to_frame(board("ab", ((0, 2),)), [1, 2]), lambda: jrm.to_frame(board("ab", ((0, 2),)))),
    # plots
    "cutoffs of no metric": (ValueError, "hold no 'ndcg' at a cutoff", lambda: drawn("at_cutoffs", {"a": SINGLE}, "ndcg"), lambda: (drawn("at_cutoffs", {"a": SINGLE}, "recall"), drawn("at_cutoffs", {"a": {"own": CUTS}}, "own", ks=(1, 5)))),
    "cutoffs of several metrics": (ValueError, "hold p, recall at cutoffs; pass metric=", lambda: drawn("at_cutoffs", {"a": SINGLE}), lambda: drawn("at_cutoffs", {"a": SINGLE}, metric="p")),
    "curve of cutoffs": (ValueError, "no 'p', but p@1, p@5, mrr; pass one of these names", lambda: drawn("curve", STEPS, "p"), lambda: [drawn("curve", STEPS, name) for name in ("p@1", "p@5", "mrr")]),
    "curve without lists": (ValueError, "no list for 'mrr'", lambda: drawn("curve", {1: {"mrr": A[:0]}}, "mrr"), lambda: drawn("curve", {1: {"mrr": A}}, "mrr")),
    "curve of nothing": (ValueError, "runs holds no metric; pass at least one", lambda: drawn("curve", {}, "mrr"), lambda: drawn("curve", STEPS, "mrr")),
    "curve of a run of nothing": (ValueError, "runs['b'] is empty", lambda: drawn("curve", {"a": STEPS, "b": {}}, "mrr"), lambda: drawn("curve", {"a": STEPS, "b": STEPS}, "mrr")),
    "curve of lists": (TypeError, "runs['b']: got a PerList", lambda: drawn("curve", {"a": STEPS, "b": A}, "mrr"), lambda: (drawn("curve", {"a": STEPS, "b": {1: {"mrr": A}}}, "mrr"), drawn("curve", STEPS, "mrr"))),
    "curve of runs": (TypeError, "step 'a' is not a finite number; pass a dict from steps", lambda: drawn("curve", {"a": SINGLE}, "p@1"), lambda: (drawn("curve", {1: SINGLE}, "p@1"), drawn("curve", {"a": {1: SINGLE}}, "p@1"))),
    "curve at NaN": (TypeError, "step nan is not a finite number", lambda: drawn("curve", {np.nan: SINGLE}, "p@1"), lambda: drawn("curve", {2: SINGLE}, "p@1")),
    "curve at a bool": (TypeError, "step True is not a finite number", lambda: drawn("curve", {True: SINGLE}, "p@1"), lambda: drawn("curve", {1: SINGLE}, "p@1")),
    "curve of states": (TypeError, "pass a dict from steps to dicts from metrics to states", lambda: drawn("curve", {1: MEAN}, "mrr"), lambda: drawn("curve", {1: {"mrr": MEAN}}, "mrr")),
    "curve of numbers": (ValueError, "holds one number for 'mrr'", lambda: drawn("curve", {1: {"mrr": 0.5}}, "mrr"), lambda: [drawn("curve", {1: {"mrr": lists}}, "mrr") for lists in (A, [0.5, 0.6], {"q": 0.5, "r": 0.6})]),
    "precision at other cutoffs": (ValueError, "'b' has no cutoff of both", lambda: drawn("precision_recall", {"b": {"p@2": A, "recall@1": A}}, "p"), lambda: drawn("precision_recall", {"b": {"p@2": A, "recall@2": A}}, "p")),
    "differences of a comparison": (TypeError, "pass the values of both .* plots.forest", lambda: drawn("differences", COMPARISON), lambda: (drawn("differences", A, B), drawn("forest", COMPARISON))),
    "differences of one run": (ValueError, "b is missing", lambda: drawn("differences", A), lambda: (drawn("differences", A, B), drawn("differences", {"a": A, "b": B}))),
    "differences of several metrics": (ValueError, "a holds 'ndcg@5', 'mrr'; pass metric=", lambda: drawn("differences", OF_TOOLS), lambda: [drawn("differences", OF_TOOLS, metric=name) for name in ("ndcg@5", "mrr")]),
    "differences of other lists": (ValueError, "a has 4 lists and b has 2; pass", lambda: drawn("differences", A, B[:2]), lambda: drawn("differences", A[:2], B[:2])),
    "differences of no list": (ValueError, "no list that counts; pass lists", lambda: drawn("differences", A[:0], B[:0]), lambda: drawn("differences", A, B)),
    "differences of states": (TypeError, "a is a Mean", lambda: drawn("differences", MEAN, B), lambda: [drawn("differences", lists, B) for lists in (A, [0.1, 0.2, 0.3, 0.4])]),
    "differences of cutoffs": (ValueError, "b has several cutoffs", lambda: drawn("differences", A, CUTS), lambda: drawn("differences", A, jrm.PerList(CUTS.values[:, 0], CUTS.weights, CUTS.defined))),
    "differences of ratios": (ValueError, "ratios whose weights differ", lambda: drawn("differences", A.over(A), B.over(B)), lambda: drawn("forest", jrm.compare(A.over(A), B.over(B)))),
    "differences of two seeds": (ValueError, "fewer than three seeds", lambda: drawn("differences", [1, 2], jrm.Seeds([[2, 5], [3, 6]])), lambda: drawn("differences", [1, 2], [2, 5])),
    "distribution of a state": (TypeError, "lists is a Mean", lambda: drawn("distribution", MEAN), lambda: [drawn("distribution", lists) for lists in (A, [0.1, 0.2])]),
    "distribution of undefined lists": (ValueError, "run 'c' has no list.*; leave the run out, or pass", lambda: drawn("distribution", {"c": A[3:]}), lambda: drawn("distribution", {"c": A})),
    "groups of lists": (TypeError, "got a PerList", lambda: drawn("by_group", A), lambda: drawn("by_group", A.by(np.array([0, 1, 0, 1]), 2))),
    "groups of a state": (ValueError, "stacked along one axis", lambda: drawn("by_group", MEAN), lambda: drawn("by_group", A.by(np.array([0, 1, 0, 1]), 2))),
    "groups of cutoffs": (ValueError, "one cutoff", lambda: drawn("by_group", jax.tree.map(lambda x: x[None], OF_CUTS)), lambda: drawn("by_group", A.by(np.array([0, 1, 0, 1]), 2))),
    "other groups of a run": (ValueError, "the same groups", lambda: drawn("by_group", {"a": groups(), "c": groups(2)}), lambda: drawn("by_group", {"a": groups(2), "c": groups(2)})),
    "names of other groups": (ValueError, "the same groups", lambda: drawn("by_group", {"a": groups()}, ("cold", "warm")), lambda: drawn("by_group", {"a": groups(3)}, ("cold", "warm", "hot"))),
    "other groups of users": (ValueError, "the same groups", lambda: drawn("by_group", {"a": USERS, "b": {"warm": USERS["warm"]}}, metric="mrr"), lambda: drawn("by_group", {"a": USERS, "b": USERS}, metric="mrr")),
    "groups of several metrics": (ValueError, "group 'True' holds mrr, p@1, p@5; pass", lambda: drawn("by_group", USERS), lambda: [drawn("by_group", USERS, metric=name) for name in ("mrr", "p@1")]),
    "groups of another metric": (ValueError, "group 'True' holds mrr, p@1", lambda: drawn("by_group", USERS, metric="map"), lambda: drawn("by_group", USERS, metric="p@5")),
    "groups of nothing": (ValueError, "holds no group", lambda: drawn("by_group", {}), lambda: drawn("by_group", groups(1))),
    "forest of nothing": (ValueError, "pass the result of compare", lambda: drawn("forest", jrm.Comparisons(())), lambda: drawn("forest", jrm.compare(A, B))),
    "forest of lists": (TypeError, "pass the result of compare", lambda: drawn("forest", {"a": A}), lambda: drawn("forest", jrm.compare({"a": A, "b": B}))),
    "ranks of lists": (TypeError, "pass the result of leaderboard", lambda: drawn("ranks", {"a": A}), lambda: drawn("ranks", jrm.leaderboard({"a": A, "b": B}))),
    # questions of comparisons
    "lists without clusters": (ValueError, "20 lists have none: 0, 1, 2, 3, 4, …", lambda: by_clusters(pandas.Series([0] * 20, IDS), ids=None), lambda: (by_clusters({id: 0 for id in IDS}), by_clusters([0, 1] * 10, ids=None), by_clusters(pandas.Series([0, 1] * 10), ids=None))),
    "clusters of an id twice": (ValueError, "ids of clusters hold 'q0' more than once", lambda: by_clusters(pandas.Series([0] * 20, ["q0", *IDS[:-1]])), lambda: by_clusters(pandas.Series([0, 1] * 10, IDS))),
    "tukey of other lists": (ValueError, "needs the same lists for all systems", lambda: jrm.compare(JOINED | {"c": lists_of(VALUES, defined=VALUES > 0)}, test="tukey", undefined="skip"), lambda: jrm.compare(JOINED | {"c": lists_of(VALUES, defined=VALUES > 0)}, test="tukey", undefined="zero")),
    "mcnemar of halves": (ValueError, "'mcnemar', but some values are not 0 or 1; pass test='permutation'", lambda: jrm.compare(np.ones(9), np.full(9, 0.5), test="mcnemar"), lambda: jrm.compare(np.ones(9), np.full(9, 0.5), test="permutation")),
    "mcnemar of weights": (ValueError, "takes neither clusters nor weights that differ", lambda: jrm.compare(*[lists_of(np.ones(9), np.arange(9) + 1)] * 2, test="mcnemar"), lambda: jrm.compare(*[lists_of(np.ones(9), np.arange(9) + 1)] * 2, test="permutation")),
    "a ratio and weights": (ValueError, "list 0 has weight .*; pass lists of the same", lambda: jrm.compare(lists_of(VALUES + 1).over(lists_of(VALUES + 1)), lists_of(VALUES, VALUES + 2)), lambda: jrm.compare(lists_of(VALUES + 1).over(lists_of(VALUES + 1)), lists_of(VALUES, VALUES + 1))),
    # names
    "unknown word": (ValueError, "is unknown; .*did you mean recall or", lambda: unknown("recal@3"), lambda: [parse(name) for name in ("recall@3", "strecall@3", "set_recall")]),
    "unknown without a line": (ValueError, "is unknown; .*did you mean .*hit_rate", lambda: unknown("hitrate@3"), lambda: [parse(name) for name in ("hit_rate@3", "hit@3")]),
    "unknown with a line": (ValueError, "is unknown; .*did you mean ndcg@10?", lambda: unknown("NDCG_10"), lambda: parse("ndcg@10")),
    "unknown with a dot": (ValueError, "is unknown; .*did you mean judged@20?", lambda: unknown("judged.20"), lambda: parse("judged@20")),
    "unknown without @": (ValueError, "is unknown; .*did you mean ndcg@10?", lambda: unknown("ndcg10"), lambda: parse("ndcg@10")),
    "unknown with at": (ValueError, "is unknown; .*did you mean recall@5?", lambda: unknown("recall_at_5"), lambda: parse("recall@5")),
    "name of coverage": (ValueError, "is unknown; .*evaluation.exposure.coverage()", lambda: unknown("coverage@20"), lambda: jax.eval_shape(lambda: jrm.exposure(np.zeros((1, 2), int), 3).coverage())),
    "name of exposure": (ValueError, "is unknown; .*jrm.exposure(ids, num_items)", lambda: unknown("exposure"), lambda: jax.eval_shape(lambda: jrm.exposure(np.zeros((1, 2), int), 3))),
    "name of tau": (ValueError, "is unknown; .*jrm.kendall_tau(first, second)", lambda: unknown("kendall-tau"), lambda: jax.eval_shape(lambda: (jrm.kendall_tau([1, 2], [2, 1]), jrm.evaluate(("tau", "rho"), VALUES, VALUES)))),
    "name of overlap": (ValueError, "is unknown; .*jrm.rank_biased_overlap(first, second)", lambda: unknown("RBO"), lambda: jax.eval_shape(lambda: jrm.rank_biased_overlap([1, 2], [2, 1]))),
    "name of diversity": (ValueError, "is unknown; .*did you mean intra_list_diversity?", lambda: unknown("ild@5"), lambda: parse("intra_list_diversity@5")),
    "unlike any name": (ValueError, "is unknown; .*pass a name such as 'ndcg@10'", lambda: unknown("xyzzy"), lambda: [parse(name) for name in ("ndcg@10", "map", "mrr", "recall(rel=2)@1,5")]),
    "name of a count of queries": (ValueError, "'num_q': this measure of trec_eval is no metric", lambda: parse("num_q"), lambda: jrm.empty(("map",))),
    "family with k": (ValueError, "gives k twice; pass it after @", lambda: parse("P.5,10@3"), lambda: [parse(name) for name in ("P.5,10", "P@3")]),
    "name of no function": (AttributeError, "has no attribute 'ndgc'", lambda: jrm.ndgc),
    "scalars of several runs": (TypeError, "several runs", lambda: tensorboard.write(None, {"one": {}, "two": {}}, 0), lambda: [tensorboard.write(WRITER, states, 0, f"{run}/") for run, states in {"one": {"mrr": MEAN}, "two": {"mrr": MEAN}}.items()]),
}  # fmt: skip
