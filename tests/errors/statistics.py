"""Bad calls of comparisons, leaderboards, seeds, judges, plans and systems."""

import functools

import jax
import numpy as np
from error_rows import rows_of
from late_imports import LateImport
from per_lists import evaluation_of, lists_of, measured, ratio_of, state_of

import jax_rank_metrics as jrm

pandas = LateImport("pandas")

X, NAN = np.arange(4.0), np.array([0, 1, np.nan, 3])
EIGHT, TWO = np.zeros(8), np.zeros(2)
BY_ID = {"q1": 0.1, "q2": 0.5, "q3": 0.9}
HEAVY, ENDLESS = lists_of(X, [1, 2, 1, 1]), lists_of(X, [1, np.inf, 1, np.nan])
NAMES = [f"q{i}" for i in range(4)]
SEEDS = jrm.Seeds(np.eye(5))
BOARD = {"a": np.array([0.1, 0.2, 0.4]), "b": np.array([0.3, 0.1, 0.4])}
PILOT = np.array([0.1, -0.05, 0.2, 0.0, 0.15, -0.1, 0.05, 0.1])
KNOWN = lists_of([0.5, 0, 0.25], None, [True, False, True])
SKIPPED = jrm.PerList(KNOWN.values, KNOWN.weights, KNOWN.defined, "skip")
# Values of people for 12 of the 40 lists of a judge.
JUDGE = {f"q{i}": i % 7 / 7 for i in range(40)}
HUMAN = {name: x**2 for name, x in JUDGE.items() if int(name[1:]) % 3 == 0}
PEOPLE, JUDGES = (
    {"old": x, "new": {y: z / 2 for y, z in x.items()}} for x in (HUMAN, JUDGE)
)
# The judge's values of a difference between systems, and the comparison with its help.
DIFFERENCES = {name: x - x**2 for name, x in JUDGE.items()}
PEOPLE_AND_JUDGES = functools.partial(jrm.compare, PEOPLE, judge=JUDGES)


def two_queries():
    """Joins a run of two queries without ids."""
    documents = {"p": {"d": 1}, "q": {"d": 1}}
    return jrm.join(documents, documents)


def ratios(count):
    """Makes the values of two ratios that weigh the lists differently, by system."""
    views = np.arange(1.0, count + 1)
    systems = {"old": ratio_of(views, 2 * views), "new": ratio_of(views, views + 1)}
    return {name: evaluation_of({"ctr": x}) for name, x in systems.items()}


RATIOS = [ratio_of(X, X + 1), ratio_of(X, X + 2)]


def pivoted(metric, names):
    """Returns a frame of two systems, whose columns begin with the metric."""
    columns = pandas.MultiIndex.from_product([[metric], ["old", "new"]], names=names)
    return pandas.DataFrame(np.stack([X, X**2], 1), columns=columns)


@functools.cache
def compared():
    """Compares a metric of cutoffs with another, for two systems and for one."""
    values = np.linspace(0, 1, 12)
    metrics = {"mrr": values, "recall@1,5": np.stack([values, values**2], 1)}
    systems = {"new": metrics, "same": metrics}
    return [jrm.compare(metrics, x, test="t") for x in (systems, metrics)]


@functools.cache
def judged():
    """Returns the mean of people with a judge."""
    return jrm.prediction_powered(HUMAN, JUDGE)


def resampled(values, samples=20):
    """Makes a `Bootstrap` of zeros, with the shapes of a bootstrap of these values."""
    lists, ids = lists_of(values), np.arange(len(values))
    shapes = jax.eval_shape(lambda: jrm.bootstrap(lists, ids, samples=samples))
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def heavy(weights):
    """Makes values of lists of these weights."""
    return lists_of(np.arange(len(weights)) % 3, weights)


def resample(*sides, **options):
    """Compares two sides by the bootstrap."""
    return jrm.compare(*sides, test="bootstrap", samples=99, **options)


# Tests of single lists.
OF_LISTS = [
    {"test": "tukey"},
    {"test": "mcnemar"},
    {"correction": "maxT"},
    {"mid_p": True},
]

# fmt: off
CASES = {
    # comparisons: lists paired by ids, or by position
    "lists without ids": (ValueError, "a has 8 lists and b has 2; pass .* within each group", lambda: jrm.compare(EIGHT, TWO), lambda: jrm.compare(EIGHT[:2], TWO) and jrm.compare(EIGHT[2:], EIGHT[2:])),
    "ids of one side": (ValueError, "7 are not in b: 'b', .* 'e', 'f', …", lambda: jrm.compare(EIGHT, TWO, ids=("abcdefgh", "ax")), lambda: jrm.compare(EIGHT[:1], TWO[:1], ids=("a", "a"))),
    "ids of the other side": (ValueError, "in b, 1 are not in a: 9;", lambda: jrm.compare(TWO, X[:3], ids=([1, 2], [1, 2, 9])), lambda: jrm.compare(TWO, X[:2], ids=([1, 2], [1, 2]))),
    "documents of more lists": (ValueError, "have 2 queries, but there are 3 lists without ids", lambda: jrm.compare({"a": X[:3], "b": X[:3]}, test="t").lists(dict.fromkeys("ab", two_queries())), lambda: [jrm.compare({"a": X[:2], "b": X[:2]}, test="t").lists(dict.fromkeys("ab", two_queries())), jrm.compare(dict.fromkeys("ab", {"p": 0, "q": 1}), test="t").lists(dict.fromkeys("ab", two_queries()))]),
    "ids that repeat": (ValueError, "ids of b hold 'x' more than once", lambda: jrm.compare(TWO, TWO, ids=("xy", "xx")), lambda: jrm.compare(TWO, TWO, ids=("xy", "xy"))),
    "more ids than lists": (ValueError, "3 ids were passed for a, which has 2 l", lambda: jrm.compare(TWO, TWO, ids=([1, 2, 3], [1, 2])), lambda: jrm.compare(TWO, TWO, ids=([1, 2], [1, 2]))),
    "an array of ids": (TypeError, "pass a tuple (ids_a, ids_b)", lambda: jrm.compare(TWO, TWO, ids=np.arange(2)), lambda: jrm.compare(TWO, TWO, ids=(np.arange(2), np.arange(2)))),
    **rows_of("ids of no sequence", TypeError, "ids of a are .*; pass a sequence", lambda x: jrm.compare(TWO, TWO, ids=x), [1, 2], ([{}, {}], [{}, {}]), follow=lambda: jrm.compare(TWO, TWO, ids=([1, 2], [2, 1]))),
    "ids beside their own": (ValueError, "a has list ids of its own; leave", lambda: jrm.compare(BY_ID, BY_ID, ids=([1, 2, 3], [1, 2, 3])), lambda: jrm.compare(BY_ID, BY_ID)),
    "ids of one alone": (ValueError, "a has list ids and b has none", lambda: jrm.compare(BY_ID, [0.1, 0.5, 0.9]), lambda: [jrm.compare(BY_ID, {"q1": 0.1, "q2": 0.5, "q3": 0.9}), jrm.compare([*BY_ID.values()], [0.1, 0.5, 0.9], ids=(BY_ID, BY_ID))]),
    "a list more": (ValueError, "of the lists in b, 1 are not in a: 'q4'", lambda: jrm.compare(BY_ID, {**BY_ID, "q4": 1}), lambda: jrm.compare(BY_ID, BY_ID)),
    "a system of fewer lists": (ValueError, "2 are not in a['B']: 'q2', 'q3'; p", lambda: jrm.compare({"A": BY_ID, "B": {"q1": 1}}), lambda: jrm.compare({"A": {"q1": 0.1}, "B": {"q1": 1}})),
    "a better system of fewer lists": (ValueError, "in a, 2 are not in b['C']", lambda: jrm.compare(BY_ID, {"B": BY_ID, "C": {"q1": 1}}), lambda: jrm.compare({"q1": 0.1}, {"B": {"q1": 0.1}, "C": {"q1": 1}})),
    # comparisons: values of lists
    "values of NaN": (ValueError, "b['map'] holds .* not finite, at list 2", lambda: jrm.compare({"map": X}, {"map": NAN}), lambda: jrm.compare({"map": X}, {"map": NAN}, undefined="skip").only.lists == 3 and jrm.compare({"map": X[[0, 1, 3]]}, {"map": NAN[[0, 1, 3]]}) and jrm.Systems({"map": NAN}, undefined="zero")),
    "values of NaN with ids": (ValueError, "b['x'].* at list 'q2'", lambda: jrm.compare(X, {"x": NAN}, ids=(NAMES, NAMES)), lambda: jrm.compare(X, {"x": NAN}, ids=(NAMES, NAMES), undefined="zero")),
    "other weights": (ValueError, "list 1 has weight 1 in a and 2 in b", lambda: jrm.compare(lists_of(X), HEAVY), lambda: jrm.compare(HEAVY, HEAVY)),
    "infinite weights": (ValueError, "list 1 has an infinite weight in a or b", lambda: jrm.compare(ENDLESS, ENDLESS), lambda: jrm.compare(HEAVY, HEAVY)),
    "a mean": (TypeError, "a is a Mean, which no longer holds per-list values", lambda: jrm.compare(state_of(X), X), lambda: jrm.compare(lists_of(X), X)),
    **rows_of("values of no numbers", TypeError, "b is not an array of numbers; pass a PerList", functools.partial(jrm.compare, X), ["x", "y"], [[1], [1, 2]], follow=lambda: jrm.compare(X, X)),
    "a value that is None": (ValueError, "b holds a value that is missing or not finite, at list 0 (1 of 4)", lambda: jrm.compare(X, [None, 1, 2, 3]), lambda: jrm.compare(X, [None, 1, 2, 3], undefined="skip").only.lists == 3),
    "values of three axes": (ValueError, "a has shape (1, 2, 2)", lambda: jrm.compare(np.zeros((1, 2, 2)), X), lambda: jrm.compare(np.zeros((4, 2)), np.zeros((4, 2)))),
    "values of no cutoffs": (ValueError, "a has shape (4, 0); pass a PerList", lambda: jrm.compare(np.zeros((4, 0)), np.zeros((4, 0))), lambda: [jrm.compare(np.zeros(4), np.zeros(4)), jrm.compare(np.zeros((4, 1)), np.zeros((4, 1)))]),
    "other cutoffs": (ValueError, "different cutoffs; pass values at", lambda: jrm.compare(np.zeros((4, 2)), np.zeros((4, 3))), lambda: jrm.compare(np.zeros((4, 2)), np.zeros((4, 2)))),
    "values inside a trace": (TypeError, "a is traced.*`paired` runs inside", lambda: jax.jit(jrm.compare)(lists_of(X), lists_of(X)), lambda: [jrm.compare(lists_of(X), lists_of(X)), jax.eval_shape(jrm.paired, lists_of(X), lists_of(X))]),
    "undefined as users have it": (ValueError, "undefined='skip' and .* 'zero'; pass undefin", lambda: jrm.compare(measured(BY_ID, undefined="skip"), measured(BY_ID)), lambda: jrm.compare(measured(BY_ID, undefined="skip"), measured(BY_ID), undefined="skip")),
    "undefined as values have it": (ValueError, "undefined='zero' and b with 'skip'", lambda: jrm.compare(KNOWN, SKIPPED), lambda: jrm.compare(KNOWN, SKIPPED, undefined="zero")),
    "paired: undefined as values have it": (ValueError, "undefined='zero' and b with 'skip'", lambda: jrm.paired(KNOWN, SKIPPED), lambda: jrm.paired(KNOWN, SKIPPED, undefined="zero")),
    "paired: other weights": (ValueError, "list 1 has weight 1 in a and 2 in b", lambda: jrm.paired(lists_of(X), HEAVY), lambda: jrm.paired(HEAVY, HEAVY)),
    "paired: other metrics": (ValueError, "differ in structure", lambda: jrm.paired({"x": HEAVY}, {"y": HEAVY}), lambda: jrm.paired({"x": HEAVY}, {"x": HEAVY})),
    "paired: other cutoffs": (ValueError, "shape of their values", lambda: jrm.paired(lists_of(X), lists_of(np.zeros((4, 2)))), lambda: jrm.paired(lists_of(X), lists_of(X))),
    "paired: arrays": (TypeError, "pytree of PerList", lambda: jrm.paired(X, X), lambda: jrm.paired(lists_of(X), lists_of(X))),
    "None for a query": (TypeError, "a['q2'] is None; pass a number for a list", lambda: jrm.compare({**BY_ID, "q2": None}, BY_ID), lambda: jrm.compare({**BY_ID, "q2": None}, BY_ID, undefined="skip").only.lists == 2 and jrm.compare({**BY_ID, "q2": 0}, BY_ID)),
    "None for queries of b": (TypeError, "b['q1'] is None; pass a number", lambda: jrm.compare(BY_ID, dict.fromkeys(BY_ID)), lambda: jrm.compare(BY_ID, dict.fromkeys(BY_ID, 0))),
    "text for a query": (TypeError, "a['x']['map']['q1'] is '0.5'; pass a number", lambda: jrm.compare(dict.fromkeys("xy", {"map": {"q1": "0.5", "q2": 1}})), lambda: jrm.compare(dict.fromkeys("xy", {"map": {"q1": 0.5, "q2": 1}}))),
    "None for a metric": (TypeError, "systems['x']['map'] is None; .* or the values of a metric", lambda: jrm.leaderboard({"x": {"map": None}, "y": {"map": X}}), lambda: jrm.leaderboard({"x": {"map": X}, "y": {"map": X}})),
    # comparisons: metrics and systems
    "other metrics": (ValueError, "a holds 'map' and b holds 'mrr'; pass values", lambda: jrm.compare({"map": X}, {"mrr": X}), lambda: [jrm.compare({"map": X}, {"map": X}), jrm.compare({"map": X}, {"x": {"map": X}})]),
    "numbers of metrics": (ValueError, "a holds one number for 'map', the name of a me", lambda: jrm.compare({"map": 0.3}, {"map": 0.4}), lambda: [jrm.compare({"map": BY_ID}, {"map": BY_ID}), jrm.compare({"map": X}, {"map": lists_of(X)})]),
    "numbers of a system": (ValueError, "one number for 'ndcg@10'", lambda: jrm.compare({"x": {"ndcg@10": 0.3, "own": 1}}, X), lambda: jrm.compare({"x": {"ndcg@10": X, "own": X}, "y": {"ndcg@10": X, "own": X}})),
    "no metrics": (ValueError, "a holds no metric; pass at least one", lambda: jrm.compare({}, {}), lambda: jrm.compare({"map": X}, {"map": X})),
    "no metrics below a name": (ValueError, "a holds no metric", lambda: jrm.compare({"map": {}}, {"map": {}}), lambda: jrm.compare({"map": X}, {"map": X})),
    "no systems": (ValueError, "a holds no system", lambda: jrm.compare({}), lambda: jrm.compare({"x": X, "y": X})),
    **rows_of("one system alone", ValueError, "a holds one system; pass b, or a dict", jrm.compare, X, {"x": X}, BY_ID, follow=lambda: [jrm.compare(X, X), jrm.compare({"x": X, "y": X})]),
    "metrics alone": (ValueError, "a holds the metrics 'map', 'mrr' of one", lambda: jrm.compare({"map": X, "mrr": X}), lambda: [jrm.compare({"x": {"map": X, "mrr": X}, "y": {"map": X, "mrr": X}}), jrm.compare({"map": X, "mrr": X}, {"map": X, "mrr": X})]),
    "systems of other metrics": (ValueError, "a['x'] holds 'map' and a['y'", lambda: jrm.compare({"x": {"map": X}, "y": {"mrr": X}}), lambda: jrm.compare({"x": {"map": X}, "y": {"map": X}})),
    "systems of other lists": (ValueError, "a['x'] has 4 lists and a['y'] has 3", lambda: jrm.compare({"x": X, "y": X[:3]}), lambda: jrm.compare({"x": X[:3], "y": X[:3]})),
    "all pairs of two sides": (ValueError, "pairs='all' takes all systems in one dict", lambda: jrm.compare(X, {"x": X}, pairs="all"), lambda: jrm.compare({"old": X, "x": X}, pairs="all")),
    "ids of systems": (ValueError, "leave ids out, and pass Series or dicts", lambda: jrm.compare({"x": X, "y": X}, ids=(X, X)), lambda: jrm.compare({"x": BY_ID, "y": BY_ID})),
    "several baselines": (ValueError, "several systems; pass the baseline alone", lambda: jrm.compare(jrm.Systems(PEOPLE), PEOPLE), lambda: [jrm.compare(PEOPLE["old"], PEOPLE), jrm.compare(jrm.Systems(PEOPLE))]),
    # comparisons: clusters
    "clusters of some lists": (ValueError, "2 lists have none: 'q2', 'q3'; pass the", lambda: jrm.compare(BY_ID, BY_ID, clusters={"q1": 1}), lambda: [jrm.compare(BY_ID, BY_ID, clusters={"q1": 1, "q2": 1, "q3": 2}), jrm.compare(BY_ID, BY_ID, clusters=[1, 1, 2])]),
    "no cluster of a list": (ValueError, "clusters is None at 1; pass an id", lambda: jrm.compare(TWO, TWO, clusters=["ann", None]), lambda: jrm.compare(TWO, TWO, clusters=["ann", "bob"])),
    "a cluster too few": (ValueError, "clusters have shape (1,)", lambda: jrm.compare(TWO, TWO, clusters=[1]), lambda: jrm.compare(TWO, TWO, clusters=[1, 2])),
    "clusters by a name": (TypeError, "clusters are 'user'; pass the id", lambda: jrm.compare(TWO, TWO, clusters="user"), lambda: [jrm.compare(TWO, TWO, clusters=["ann", "bob"]), jrm.compare(TWO, TWO, clusters={0: "ann", 1: "ann"})]),
    # comparisons: options, alone or beside another
    "an unknown test": (ValueError, "test is 'wilcoxon'", lambda: jrm.compare(TWO, TWO, test="wilcoxon"), lambda: [jrm.compare(TWO, TWO, test=x) for x in ("permutation", "bootstrap", "t", "tukey", "mcnemar")]),
    "t of the largest t": (ValueError, "which does not take correction='maxT'", lambda: jrm.compare(TWO, TWO, test="t", correction="maxT"), lambda: [jrm.compare(TWO, TWO, test="permutation", correction="maxT"), jrm.compare(TWO, TWO, test="t")]),
    "mid-p of a bootstrap": (ValueError, "'bootstrap', which does not take mid_p", lambda: jrm.compare(TWO, TWO, test="bootstrap", mid_p=True), lambda: [[jrm.compare(TWO, TWO, test=x, mid_p=True) for x in ("permutation", "mcnemar")], jrm.compare(TWO, TWO, test="bootstrap")]),
    "Tukey's test with a margin": (ValueError, "'tukey', which does not take margin", lambda: jrm.compare(TWO, TWO, test="tukey", margin=0.1), lambda: [[jrm.compare(TWO, TWO, test=x, margin=0.1) for x in ("permutation", "bootstrap", "t")], jrm.compare(TWO, TWO, test="tukey")]),
    "Tukey's test corrected": (ValueError, "does not take correction='fdr'", lambda: jrm.compare(TWO, TWO, test="tukey", correction="fdr"), lambda: [jrm.compare(TWO, TWO, test=x, correction="fdr") for x in ("permutation", "bootstrap", "t", "mcnemar")]),
    "Tukey's test of one side": (ValueError, "does not take alternative='less'", lambda: jrm.compare(TWO, TWO, test="tukey", alternative="less"), lambda: [jrm.compare(TWO, TWO, test=x, alternative="less") for x in ("permutation", "bootstrap", "t", "mcnemar")]),
    "the largest t of two sides with a margin": (ValueError, "does not take a two-sided margin", lambda: jrm.compare(TWO, TWO, margin=0.1, correction="maxT"), lambda: [jrm.compare(TWO, TWO, margin=0.1, correction="holm"), jrm.compare(TWO, TWO, margin=0.1, correction="maxT", alternative="greater")]),
    "a margin below 0": (ValueError, "margin is -0.1; pass a positive number", lambda: jrm.compare(TWO, TWO, margin=-0.1), lambda: jrm.compare(TWO, TWO, margin=0.1)),
    "some pairs": (ValueError, "pairs is 'some'", lambda: jrm.compare(TWO, TWO, pairs="some"), lambda: [jrm.compare({"x": X, "y": X}, pairs="all"), jrm.compare(TWO, TWO, pairs="baseline")]),
    "an unknown correction": (ValueError, "correction is 'bonferroni'", lambda: jrm.compare(TWO, TWO, correction="bonferroni"), lambda: [jrm.compare(TWO, TWO, correction=x) for x in ("holm", "maxT", "fdr")]),
    "an unknown alternative": (ValueError, "alternative is 'both'", lambda: jrm.compare(TWO, TWO, alternative="both"), lambda: [jrm.compare(TWO, TWO, alternative=x) for x in ("two-sided", "greater", "less")]),
    "lower of another metric": (ValueError, "lower names 'time', which is not a metric of the results; name only metrics that they hold: arp", lambda: jrm.compare({"arp": X}, {"arp": X}, lower="time"), lambda: jrm.compare({"arp": X}, {"arp": X}, lower="arp")),
    "lower of a system": (ValueError, "lower names 'x', .* one metric without a name", lambda: jrm.compare(X, {"x": X}, lower="x"), lambda: jrm.compare(X, {"x": X}, lower=True)),
    **rows_of("a test of seeds", ValueError, "values are Seeds; ", lambda x: jrm.compare(SEEDS, SEEDS, **x), *OF_LISTS, follow=lambda: [jrm.compare(SEEDS, SEEDS, test=x) for x in ("permutation", "t")]),
    **rows_of("a test of ratios", ValueError, "ratios that weigh the lists differently", lambda x: jrm.compare(*RATIOS, **x), *OF_LISTS, follow=lambda: [jrm.compare(*RATIOS, test=x) for x in ("permutation", "t")]),
    # comparisons: lists that count as few
    "six lists that count as one": (ValueError, "6 lists count as 1.1 .*'t' or test='permutation'", lambda: resample(*[heavy([100] + [1] * 5)] * 2), lambda: [jrm.compare(*[heavy([100] + [1] * 5)] * 2, test=x) for x in ("t", "permutation")]),
    "three clusters that count as one": (ValueError, "3 clusters count as 1", lambda: resample(*[heavy([100] + [1] * 5)] * 2, clusters=[0, 0, 1, 1, 2, 2]), lambda: [jrm.compare(*[heavy([100] + [1] * 5)] * 2, test=x, clusters=[0, 0, 1, 1, 2, 2]) for x in ("t", "permutation")]),
    # comparisons: names of results
    "a name of two systems": (KeyError, "'mrr' names 2 comparisons, 'new mrr', 'same m", lambda: compared()[0]["mrr"], lambda: compared()[0].select(system="new", metric="mrr").only.system == "new"),
    "a name of two cutoffs": (KeyError, "'recall' names 2 comparisons, 'recall@1', 're", lambda: compared()[1]["recall"], lambda: compared()[1].select(metric="recall", cutoff=5).only.cutoff == 5),
    "two names at once": (KeyError, "('new', 'mrr') names no comparison; pass one of the names 'new', 'mrr', ", lambda: compared()[0]["new", "mrr"], lambda: compared()[0].select(system="new")["mrr"]),
    **rows_of("metrics before systems", ValueError, "a has metrics, '.*', in level 0 of its columns; pass systems before metrics, as a.swaplevel(axis=1) has them", lambda x: jrm.compare(pivoted(*x)), ("mrr", None), ("cost", ["metric", "system"]), follow=lambda: jrm.compare(pivoted("mrr", None).swaplevel(axis=1))),
    **rows_of("a difference that is no number", ValueError, "pass a finite number", lambda x: jrm.lists_needed([0.1, -0.05, 0.2, 0], x), "0.05", None, np.array([0.1, 0.2]), follow=lambda: jrm.lists_needed([0.1, -0.05, 0.2, 0], 0.05)),
    "a name of nothing": (KeyError, "'ndcg' names no comparison; pass one of the names 'mrr', ", lambda: compared()[1]["ndcg"], lambda: compared()[1]["mrr"]),
    "an index beyond the last": (IndexError, "", lambda: compared()[1][3]),
    "only of three": (ValueError, "there are 3 comparisons", lambda: compared()[1].only, lambda: compared()[1].select(metric="mrr").only.metric == "mrr"),
    "only of none": (ValueError, "there are no comparisons; select by fewer of task=", lambda: compared()[1].select(task="web").only, lambda: compared()[1].select(metric="mrr").only.metric == "mrr"),
    # orders of systems
    "an order of fewer systems": (ValueError, "only one of them holds 'c'", lambda: jrm.tau_ap("ab", "abc"), lambda: jrm.tau_ap("abc", "abc") == 1),
    "an order of other systems": (ValueError, "only one of them holds 'd', 'c'", lambda: jrm.tau_ap("abd", "abc"), lambda: jrm.tau_ap("abc", "abc") == 1),
    "an order that repeats": (ValueError, "order holds 'a' more than once", lambda: jrm.tau_ap("aba", "abc"), lambda: jrm.tau_ap("bac", "abc")),
    "a reference that repeats": (ValueError, "reference holds 'b' more than once", lambda: jrm.tau_ap("abc", "abb"), lambda: jrm.tau_ap("abc", "abc")),
    "an order of one": (ValueError, "fewer than two systems; pass at least two", lambda: jrm.tau_ap("a", "a"), lambda: jrm.tau_ap("ab", "ab") == 1),
    # leaderboards
    "a leaderboard of one": (ValueError, "at least two systems", lambda: jrm.leaderboard({"a": X}), lambda: jrm.leaderboard({"a": X, "b": X})),
    "a leaderboard of two metrics": (ValueError, "pass metric=", lambda: jrm.leaderboard({x: {"mrr": y, "map": y} for x, y in BOARD.items()}), lambda: jrm.leaderboard({x: {"mrr": y, "map": y} for x, y in BOARD.items()}, metric="map")),
    "a leaderboard of other metrics": (ValueError, "different metrics: 'mrr', 'map'; pass the same metric", lambda: jrm.leaderboard({"a": {"mrr": X}, "b": {"map": X}}), lambda: jrm.leaderboard({"a": {"mrr": X}, "b": {"mrr": X}})),
    **rows_of("a leaderboard of other tasks", ValueError, "different tasks", lambda x: jrm.leaderboard({"a": {"t": X}, "b": x}), {"u": X}, X, follow=lambda: jrm.leaderboard({"a": {"t": X}, "b": {"t": X}})),
    "a leaderboard of nothing": (ValueError, "is empty", lambda: jrm.leaderboard({"a": {}, "b": X}), lambda: jrm.leaderboard({"a": {"map": X}, "b": {"map": X}})),
    "a leaderboard of geometric means": (ValueError, "is a geometric mean", lambda: jrm.leaderboard({x: {"gm_map": y} for x, y in BOARD.items()}), lambda: jrm.leaderboard({x: {"average_precision": y} for x, y in BOARD.items()})),
    "a leaderboard without a direction": (ValueError, "neither direction of num_retrieved is better, .* or lower=True", lambda: jrm.leaderboard({x: {"num_retrieved": y} for x, y in BOARD.items()}), lambda: [jrm.leaderboard({x: {"num_retrieved": y} for x, y in BOARD.items()}, lower=True), jrm.leaderboard({x: {"mrr": y} for x, y in BOARD.items()})]),
    "a leaderboard with the direction of another": (ValueError, "not a metric", lambda: jrm.leaderboard(BOARD, lower="mrr"), lambda: jrm.leaderboard(BOARD, lower=True)),
    "a leaderboard of undefined lists": (ValueError, "undefined", lambda: jrm.leaderboard(BOARD, undefined="none"), lambda: [jrm.leaderboard(BOARD, undefined=x) for x in ("zero", "one", "skip")]),
    "a leaderboard of no lists": (ValueError, "no list of .* counts in all systems; pass lists with a weight above 0", lambda: jrm.leaderboard({"a": [], "b": []}), lambda: jrm.leaderboard(BOARD)),
    "a leaderboard of other lists": (ValueError, "'b'] has 2; pass values of the same lists", lambda: jrm.leaderboard({"a": BOARD["a"], "b": BOARD["b"][:2]}), lambda: jrm.leaderboard({x: y[:2] for x, y in BOARD.items()})),
    **rows_of("a leaderboard of cutoffs", ValueError, "several cutoffs", jrm.leaderboard, {x: y[:, None] for x, y in BOARD.items()}, dict.fromkeys("ab", resampled(np.ones((3, 2)))), follow=lambda: [jrm.leaderboard({x: y[:, None][:, 0] for x, y in BOARD.items()}), jrm.leaderboard(dict.fromkeys("ab", resampled(np.ones(3))))]),
    "a leaderboard without ids of a system": (ValueError, "ids lack 'b'", lambda: jrm.leaderboard(BOARD, ids={"a": [1, 2, 3]}), lambda: jrm.leaderboard(BOARD, ids={"a": [1, 2, 3], "b": [3, 2, 1]})),
    "a leaderboard of NaN": (ValueError, "not finite", lambda: jrm.leaderboard({"a": BOARD["a"], "b": BOARD["b"] * np.nan}), lambda: jrm.leaderboard({"a": BOARD["a"], "b": BOARD["b"] * np.nan}, undefined="zero")),
    "a leaderboard of few seeds": (ValueError, "fewer than three seeds", lambda: jrm.leaderboard({"a": jrm.Seeds(np.eye(3)), "b": jrm.Seeds(np.eye(3)[:2])}), lambda: [jrm.leaderboard({"a": np.eye(3)[0], "b": np.eye(3)[1]}), jrm.leaderboard(dict.fromkeys("ab", jrm.Seeds(np.eye(3))))]),
    "a leaderboard of values and resamples": (ValueError, "only some values are Bootstrap", lambda: jrm.leaderboard({"a": resampled(BOARD["a"]), "b": BOARD["b"]}), lambda: [jrm.leaderboard(dict.fromkeys("ab", resampled(BOARD["a"]))), jrm.leaderboard(BOARD)]),
    "a leaderboard of resamples with ids": (TypeError, "hold no lists; leave ids out", lambda: jrm.leaderboard(dict.fromkeys("ab", resampled(BOARD["a"])), ids=dict.fromkeys("ab", [1, 2, 3])), lambda: jrm.leaderboard(dict.fromkeys("ab", resampled(BOARD["a"])))),
    "a leaderboard of tasks with ids of systems": (TypeError, "{task: ids}", lambda: jrm.leaderboard({x: {"t": y} for x, y in BOARD.items()}, ids=dict.fromkeys("ab", [1, 2, 3])), lambda: jrm.leaderboard({x: {"t": y} for x, y in BOARD.items()}, ids=dict.fromkeys("ab", {"t": [1, 2, 3]}))),
    # systems
    "a system of text": (TypeError, "values", lambda: jrm.Systems({"a": "x"}), lambda: [jrm.Systems({"a": X}), jrm.Systems({"a": {"map": X}})]),
    "a system of one number": (ValueError, "values", lambda: jrm.Systems({"mrr": 0.5}), lambda: [jrm.Systems({"mrr": X}), jrm.Systems({"mrr": BY_ID})]),
    "systems of states": (TypeError, "is a Mean, which no longer holds", lambda: jrm.compare(jrm.Systems({x: {"mrr": state_of(y)} for x, y in BOARD.items()})), lambda: jrm.compare(jrm.Systems({x: {"mrr": lists_of(y)} for x, y in BOARD.items()}))),
    "tasks of tasks": (TypeError, "'z' holds dicts", lambda: jrm.Systems({"x": {"y": {"z": {"mrr": X}}}}, tasks_first=True), lambda: jrm.Systems({"x": {"y": {"mrr": X}}}, tasks_first=True)),
    "a table of numbers": (ValueError, "one number for 'mrr', the name of a metric", lambda: jrm.table({"x": {"mrr": 0.5}, "y": {"mrr": 0.25}}), lambda: jrm.table({"x": {"mrr": X}, "y": {"mrr": BY_ID}})),
    # seeds
    **rows_of("few seeds", ValueError, "with fewer than three seeds", lambda x: jrm.compare(SEEDS, jrm.Seeds(x)), np.eye(5)[:1], np.eye(5)[:2], follow=lambda: [jrm.compare(*np.eye(5)[:2]), jrm.compare(SEEDS, SEEDS)]),
    "no seeds": (ValueError, "runs is empty", lambda: jrm.Seeds([]), lambda: jrm.Seeds([[0.1, 0.2], [0.1, 0.3]])),
    "seeds in a dict": (TypeError, "pass a list with the values of each seed", lambda: jrm.Seeds({"map": [0.1, 0.2]}), lambda: jrm.Seeds([{"map": [0.1]}, {"map": [0.2]}])),
    "seeds of other metrics": (ValueError, "the same metrics of every seed", lambda: jrm.Seeds([{"map": [0.1]}, {"mrr": [0.1]}]), lambda: jrm.Seeds([{"map": [0.1]}, {"map": [0.1]}])),
    "seeds of fewer lists": (ValueError, "values of the same lists", lambda: jrm.Seeds([[0.1, 0.2], [0.1]]), lambda: jrm.Seeds([[0.1], [0.1]])),
    "seeds of other lists": (ValueError, "'q1' (runs[1] holds 'q2'); pass values of the same lists", lambda: jrm.Seeds([{"q1": 0.1}, {"q2": 0.1}]), lambda: jrm.Seeds([{"q1": 0.1}, {"q1": 0.1}])),
    "seeds in two forms": (ValueError, "in one form", lambda: jrm.Seeds([{"q1": 0.1}, [0.1]]), lambda: [jrm.Seeds([{"q1": 0.1}, {"q1": 0.1}]), jrm.Seeds([[0.1], [0.1]])]),
    "seeds of other cutoffs": (ValueError, "different cutoffs; pass values at", lambda: jrm.Seeds([[0.1], [[0.1]]]), lambda: jrm.Seeds([[0.1], [0.1]])),
    "seeds of seeds": (TypeError, "is a Seeds", lambda: jrm.Seeds([jrm.Seeds([[0.1]])]), lambda: jrm.Seeds([[0.1]])),
    "seeds of other weights": (ValueError, "the same weights", lambda: jrm.Seeds([lists_of([0.1], [1]), lists_of([0.1], [2])]), lambda: jrm.Seeds([lists_of([0.1], [2]), lists_of([0.1], [2])])),
    "a normal interval of seeds": (ValueError, "knows no seeds", lambda: jrm.table({"x": {"mrr": SEEDS}}, method="normal"), lambda: jrm.table({"x": {"mrr": SEEDS}}, method="t")),
    # plans
    **rows_of("power", ValueError, "power", functools.partial(jrm.minimum_detectable, PILOT), 0, 1, 0.04, 80, follow=lambda: [jrm.minimum_detectable(PILOT, 0.8), jrm.minimum_detectable(PILOT, 0.06)]),
    **rows_of("a plan of two systems", TypeError, "of two systems; pass the difference of each list: paired(a, b)", jrm.minimum_detectable, (X, X), [X, X + 1], (HEAVY, HEAVY), ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]), (BY_ID, BY_ID), follow=lambda: [jrm.minimum_detectable(X[::-1] - X), jrm.minimum_detectable(jrm.paired(lists_of(X), lists_of(X[::-1]))), jrm.minimum_detectable(np.subtract([0.2, 0.3, 0.3], [0.1, 0.2, 0.3]))]),
    "lists for two systems": (TypeError, "differences is a tuple of two systems", lambda: jrm.lists_needed((X, X), 0.1), lambda: jrm.lists_needed(X[::-1] - X, 0.1)),
    "lists for two systems of a judge": (TypeError, "judge is a list of two systems", lambda: jrm.lists_needed(HUMAN, 0.1, judge=[JUDGE, JUDGE], others=3), lambda: jrm.lists_needed(HUMAN, 0.1, judge=DIFFERENCES, others=30)),
    "pairs of no system": (ValueError, "pairs names 'a', 'c', but has to name systems; pass names of baselines among 'a', 'b'", lambda: jrm.compare(BOARD, pairs=["a", "c"]), lambda: jrm.compare(BOARD, pairs=["a", "b"])),
    "pairs of no name": (ValueError, "pairs names none, but has to name systems; pass names", lambda: jrm.compare(BOARD, pairs=()), lambda: jrm.compare(BOARD, pairs=["b"])),
    "pairs of names, and b": (ValueError, "leave b out", lambda: jrm.compare(X, X, pairs=["a"]), lambda: jrm.compare({"a": X, "b": X}, pairs=["a"])),
    "a plan of an unknown alternative": (ValueError, "alternative", lambda: jrm.lists_needed(PILOT, 0.1, alternative="larger"), lambda: [jrm.lists_needed(PILOT, 0.1, alternative=x) for x in ("two-sided", "greater", "less")]),
    "a difference of NaN": (ValueError, "difference is nan", lambda: jrm.lists_needed(PILOT, np.nan), lambda: jrm.lists_needed(PILOT, 0.1)),
    "a plan of no lists": (ValueError, "lists", lambda: jrm.minimum_detectable(PILOT, lists=0), lambda: jrm.minimum_detectable(PILOT, lists=1)),
    "a pilot of NaN": (ValueError, "not finite", lambda: jrm.minimum_detectable([0.1, np.nan]), lambda: jrm.minimum_detectable(pandas.Series([0.1, np.nan, 0.2]).dropna())),
    "a pilot inside a trace": (TypeError, "traced", lambda: jax.jit(jrm.minimum_detectable)(PILOT), lambda: jrm.minimum_detectable(PILOT)),
    "a pilot of two seeds": (ValueError, "fewer than three seeds", lambda: jrm.minimum_detectable(jrm.Seeds(np.eye(5)[:2])), lambda: [jrm.minimum_detectable(np.eye(5)[0]), jrm.minimum_detectable(jrm.Seeds(np.eye(5)[:3]))]),
    **rows_of("a plan of half a judge", ValueError, "belong together", lambda x: jrm.lists_needed(HUMAN, 0.12, **x), {"judge": JUDGE}, {"others": 3}, follow=lambda: [jrm.lists_needed(HUMAN, 0.12, judge=JUDGE, others=30), jrm.lists_needed(HUMAN, 0.12)]),
    # judges
    "a judge that lacks a list": (ValueError, "1 are not in judge: 'q0'", lambda: jrm.prediction_powered(HUMAN, {x: y for x, y in JUDGE.items() if x != "q0"}), lambda: jrm.prediction_powered(HUMAN, JUDGE)),
    "people without ids": (ValueError, "human has no list ids", lambda: jrm.prediction_powered(list(HUMAN.values()), JUDGE), lambda: [jrm.prediction_powered(HUMAN, JUDGE), jrm.prediction_powered(pandas.Series(HUMAN), pandas.Series(JUDGE))]),
    "a judge without ids": (ValueError, "judge has no list ids", lambda: jrm.prediction_powered(HUMAN, list(JUDGE.values())), lambda: jrm.prediction_powered(HUMAN, JUDGE)),
    "a judge of fewer systems": (ValueError, "judge lacks", lambda: jrm.prediction_powered({"a": HUMAN, "b": HUMAN}, {"a": JUDGE}), lambda: jrm.prediction_powered({"a": HUMAN, "b": HUMAN}, {"a": JUDGE, "b": JUDGE})),
    "a judge of other weights": (ValueError, "another weight", lambda: jrm.prediction_powered(measured(HUMAN, dict.fromkeys(JUDGE, 1)), measured(JUDGE, dict.fromkeys(JUDGE, 1) | {"q3": 2})), lambda: jrm.prediction_powered(measured(HUMAN, dict.fromkeys(JUDGE, 1)), measured(JUDGE, dict.fromkeys(JUDGE, 1)))),
    "a judge of infinite weight": (ValueError, "infinite weight", lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, dict.fromkeys(JUDGE, 1) | {"q1": np.inf})), lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, dict.fromkeys(JUDGE, 1)))),
    "a judge of other undefined lists": (ValueError, "undefined", lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, undefined="skip")), lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, undefined="skip"), undefined="skip")),
    "a judge of seeds": (ValueError, "Seeds", lambda: jrm.prediction_powered(HUMAN, jrm.Seeds([JUDGE] * 3)), lambda: jrm.prediction_powered(HUMAN, JUDGE)),
    "a judge of NaN": (ValueError, "not finite", lambda: jrm.prediction_powered(HUMAN, JUDGE | {"q1": np.nan}), lambda: [jrm.prediction_powered(HUMAN, JUDGE | {"q1": np.nan}, undefined="skip"), jrm.prediction_powered(HUMAN, JUDGE | {"q1": np.nan}, undefined="zero"), jrm.prediction_powered(HUMAN, {x: y for x, y in JUDGE.items() if x != "q1"})]),
    "a judge of cutoffs": (ValueError, "cutoffs; pass values at", lambda: jrm.prediction_powered(measured(HUMAN), evaluation_of({"mrr": lists_of(np.ones((40, 2)))}, users=list(JUDGE))), lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE))),
    "a judge with clusters of some lists": (ValueError, "clusters", lambda: jrm.prediction_powered(HUMAN, JUDGE, clusters={"q1": 1}), lambda: [jrm.prediction_powered(HUMAN, JUDGE, clusters={x: x[:2] for x in JUDGE}), jrm.prediction_powered(HUMAN, JUDGE, clusters=np.arange(40) // 2)]),
    **rows_of("judges for values", TypeError, "PredictionPowered", lambda f: f({"a": judged(), "b": judged()}), jrm.compute, lambda x: jrm.compare(x, x), jrm.leaderboard, follow=lambda: [jrm.compute({"a": state_of(X)}), jrm.compare(PEOPLE), jrm.leaderboard(PEOPLE)]),
    "Wilson's interval of a judge": (ValueError, "knows no judge", lambda: jrm.table({"new": {"mrr": judged()}}, method="wilson"), lambda: jrm.table({"new": {"mrr": judged()}}, method="t")),
    "a table of judges that compares": (TypeError, "needs the values of every list", lambda: jrm.table({x: {"mrr": judged()} for x in ("old", "new")}, compare="old"), lambda: [jrm.table(jrm.compare(PEOPLE, judge=JUDGES)), jrm.table({x: {"mrr": y} for x, y in PEOPLE.items()}, compare="old")]),
    **rows_of("a test with a judge", ValueError, "pass 't' or 'bootstrap'", lambda x: jrm.compare(PEOPLE, judge=JUDGES, test=x), "permutation", "tukey", "mcnemar", follow=lambda: [jrm.compare(PEOPLE, judge=JUDGES, test=x, samples=99) for x in ("t", "bootstrap")]),
    "the largest t with a judge": (ValueError, "not take correction='maxT'; leave that option out", lambda: jrm.compare(PEOPLE, judge=JUDGES, correction="maxT"), PEOPLE_AND_JUDGES),
    "a pair of judges for a dict": (TypeError, "dict of systems", lambda: jrm.compare(PEOPLE, judge=(JUDGES["old"], JUDGES["new"])), PEOPLE_AND_JUDGES),
    "a dict of judges for a pair": (TypeError, "judge_a, judge_b", lambda: jrm.compare(PEOPLE["old"], PEOPLE["new"], judge=JUDGES), lambda: jrm.compare(PEOPLE["old"], PEOPLE["new"], judge=(JUDGES["old"], JUDGES["new"]))),
    "judges of other systems": (ValueError, "judge lacks", lambda: jrm.compare(PEOPLE, judge={"old": JUDGE, "odd": JUDGE}), PEOPLE_AND_JUDGES),
    "judges of other lists": (ValueError, "not in judge", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, {"q1": 0.5, "q2": 1.0})), PEOPLE_AND_JUDGES),
    "judges without ids": (ValueError, "list ids", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, list(JUDGE.values()))), PEOPLE_AND_JUDGES),
    "judges of seeds": (ValueError, "Seeds", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, jrm.Seeds([JUDGE] * 3))), PEOPLE_AND_JUDGES),
    "judges of ratios": (ValueError, "leave judge out", lambda: jrm.compare(ratios(12), judge=ratios(40)), lambda: jrm.compare(ratios(12))),
}
# Calls that raise when keys have been drawn.
LATE = {
    "a leaderboard of other resamples": (ValueError, "5, 6 samples", lambda: jrm.leaderboard({"a": resampled(BOARD["a"], 5), "b": resampled(BOARD["b"], 6)}), lambda: jrm.leaderboard(dict.fromkeys("ab", resampled(BOARD["a"], 5)))),
}
# fmt: on
