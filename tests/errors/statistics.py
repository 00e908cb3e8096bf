"""Bad calls of comparisons, leaderboards, seeds, judges, plans and systems."""

import functools

import jax
import numpy as np
from error_rows import rows_of
from per_lists import evaluation_of, lists_of, measured, ratio_of, state_of

import jax_rank_metrics as jrm

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
# What people say of 12 of the 40 lists of a judge.
JUDGE = {f"q{i}": i % 7 / 7 for i in range(40)}
HUMAN = {name: x**2 for name, x in JUDGE.items() if int(name[1:]) % 3 == 0}
PEOPLE, JUDGES = (
    {"old": x, "new": {y: z / 2 for y, z in x.items()}} for x in (HUMAN, JUDGE)
)


def ratios(count):
    """Makes the values of two ratios that weigh the lists differently, by system."""
    views = np.arange(1.0, count + 1)
    systems = {"old": ratio_of(views, 2 * views), "new": ratio_of(views, views + 1)}
    return {name: evaluation_of({"ctr": x}) for name, x in systems.items()}


RATIOS = [ratio_of(X, X + 1), ratio_of(X, X + 2)]


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
    """Makes a `Bootstrap` of zeros that is shaped as that of these values."""
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
    # comparisons: what is paired by ids, or by position
    "lists without ids": (ValueError, "a has 8 lists and b has 2; pass ids=", lambda: jrm.compare(EIGHT, TWO)),
    "ids of one side": (ValueError, "7 are not in b: 'b', .* 'e', 'f', …", lambda: jrm.compare(EIGHT, TWO, ids=("abcdefgh", "ax"))),
    "ids of the other side": (ValueError, "in b, 1 are not in a: 9;", lambda: jrm.compare(TWO, X[:3], ids=([1, 2], [1, 2, 9]))),
    "documents of more lists": (ValueError, "have 2 queries, and there are 3 lists without ids", lambda: jrm.compare({"a": X[:3], "b": X[:3]}, test="t").lists(dict.fromkeys("ab", jrm.join({"p": {"d": 1}, "q": {"d": 1}}, {"p": {"d": 1}, "q": {"d": 1}})))),
    "ids that repeat": (ValueError, "ids of b hold 'x' more than once", lambda: jrm.compare(TWO, TWO, ids=("xy", "xx"))),
    "more ids than lists": (ValueError, "3 ids were passed for a, which has 2 l", lambda: jrm.compare(TWO, TWO, ids=([1, 2, 3], [1, 2]))),
    "an array of ids": (TypeError, "pass a tuple (ids_a, ids_b)", lambda: jrm.compare(TWO, TWO, ids=np.arange(2))),
    **rows_of("ids of no sequence", TypeError, "ids of a are .*; pass a sequence", lambda x: jrm.compare(TWO, TWO, ids=x), [1, 2], ([{}, {}], [{}, {}])),
    "ids beside their own": (ValueError, "a has list ids of its own; leave", lambda: jrm.compare(BY_ID, BY_ID, ids=([1, 2, 3], [1, 2, 3]))),
    "ids of one alone": (ValueError, "a has list ids and b has none", lambda: jrm.compare(BY_ID, [0.1, 0.5, 0.9])),
    "a list more": (ValueError, "of the lists in b, 1 are not in a: 'q4'", lambda: jrm.compare(BY_ID, {**BY_ID, "q4": 1})),
    "a system of fewer lists": (ValueError, "2 are not in a['B']: 'q2', 'q3'; p", lambda: jrm.compare({"A": BY_ID, "B": {"q1": 1}})),
    "a better system of fewer lists": (ValueError, "in a, 2 are not in b['C']", lambda: jrm.compare(BY_ID, {"B": BY_ID, "C": {"q1": 1}})),
    # comparisons: values of lists
    "values of NaN": (ValueError, "b['map'] holds .* not finite, at list 2", lambda: jrm.compare({"map": X}, {"map": NAN})),
    "values of NaN with ids": (ValueError, "b['x'].* at list 'q2'", lambda: jrm.compare(X, {"x": NAN}, ids=(NAMES, NAMES))),
    "other weights": (ValueError, "list 1 has weight 1 in a and 2 in b", lambda: jrm.compare(lists_of(X), HEAVY)),
    "infinite weights": (ValueError, "list 1 has an infinite weight in a or b", lambda: jrm.compare(ENDLESS, ENDLESS)),
    "a mean": (TypeError, "a is a Mean, which no longer holds per-list values", lambda: jrm.compare(state_of(X), X)),
    **rows_of("values of no numbers", TypeError, "b is not an array of numbers; pass a PerList", functools.partial(jrm.compare, X), ["x", "y"], [[1], [1, 2]]),
    "a value that is None": (ValueError, "b holds a value that is missing or not finite, at list 0", lambda: jrm.compare(X, [None])),
    "values of three axes": (ValueError, "a has shape (1, 2, 2)", lambda: jrm.compare(np.zeros((1, 2, 2)), X)),
    "values of no cutoffs": (ValueError, "a has shape (4, 0); pass a PerList", lambda: jrm.compare(np.zeros((4, 0)), np.zeros((4, 0)))),
    "other cutoffs": (ValueError, "different cutoffs", lambda: jrm.compare(np.zeros((4, 2)), np.zeros((4, 3)))),
    "values inside a trace": (TypeError, "a is traced.*`paired` inside", lambda: jax.jit(jrm.compare)(lists_of(X), lists_of(X))),
    "undefined as users have it": (ValueError, "undefined='skip' and .* 'zero'; pass undefin", lambda: jrm.compare(measured(BY_ID, undefined="skip"), measured(BY_ID))),
    "undefined as values have it": (ValueError, "undefined='zero' and b with 'skip'", lambda: jrm.compare(KNOWN, SKIPPED)),
    "paired: undefined as values have it": (ValueError, "undefined='zero' and b with 'skip'", lambda: jrm.paired(KNOWN, SKIPPED)),
    "paired: other weights": (ValueError, "list 1 has weight 1 in a and 2 in b", lambda: jrm.paired(lists_of(X), HEAVY)),
    "paired: other metrics": (ValueError, "differ in structure", lambda: jrm.paired({"x": HEAVY}, {"y": HEAVY})),
    "paired: other cutoffs": (ValueError, "shape of their values", lambda: jrm.paired(lists_of(X), lists_of(np.zeros((4, 2))))),
    "paired: arrays": (TypeError, "pytree of PerList", lambda: jrm.paired(X, X)),
    "None for a query": (TypeError, "a['q2'] is None; pass a number for a list", lambda: jrm.compare({**BY_ID, "q2": None}, BY_ID)),
    "None for queries of b": (TypeError, "b['q1'] is None; pass a number", lambda: jrm.compare(BY_ID, dict.fromkeys(BY_ID))),
    "text for a query": (TypeError, "a['x']['map']['q1'] is '0.5'; pass a number", lambda: jrm.compare(dict.fromkeys("xy", {"map": {"q1": "0.5", "q2": 1}}))),
    "None for a metric": (TypeError, "systems['x']['map'] is None; .* or the values of a metric", lambda: jrm.leaderboard({"x": {"map": None}, "y": {"map": X}})),
    # comparisons: metrics and systems
    "other metrics": (ValueError, "a holds 'map' and b holds 'mrr'; pass values", lambda: jrm.compare({"map": X}, {"mrr": X})),
    "numbers of metrics": (ValueError, "a holds one number for 'map', the name of a me", lambda: jrm.compare({"map": 0.3}, {"map": 0.4})),
    "numbers of a system": (ValueError, "one number for 'ndcg@10'", lambda: jrm.compare({"x": {"ndcg@10": 0.3, "own": 1}}, X)),
    "no metrics": (ValueError, "a holds no metric; pass at least one", lambda: jrm.compare({}, {})),
    "no metrics below a name": (ValueError, "a holds no metric", lambda: jrm.compare({"map": {}}, {"map": {}})),
    "no systems": (ValueError, "a holds no system", lambda: jrm.compare({})),
    **rows_of("one system alone", ValueError, "a holds one system; pass b, or a dict", jrm.compare, X, {"x": X}, BY_ID),
    "metrics alone": (ValueError, "a holds the metrics 'map', 'mrr' of one", lambda: jrm.compare({"map": X, "mrr": X})),
    "systems of other metrics": (ValueError, "a['x'] holds 'map' and a['y'", lambda: jrm.compare({"x": {"map": X}, "y": {"mrr": X}})),
    "systems of other lists": (ValueError, "a['x'] has 4 lists and a['y'] has 3", lambda: jrm.compare({"x": X, "y": X[:3]})),
    "all pairs of two sides": (ValueError, "pairs='all' takes all systems in one dict", lambda: jrm.compare(X, {"x": X}, pairs="all")),
    "ids of systems": (ValueError, "without b, pass Series or dicts", lambda: jrm.compare({"x": X, "y": X}, ids=(X, X))),
    "several baselines": (ValueError, "several systems; pass the baseline alone", lambda: jrm.compare(jrm.Systems(PEOPLE), PEOPLE)),
    # comparisons: clusters
    "clusters of some lists": (ValueError, "2 lists have none: 'q2', 'q3'; pass the", lambda: jrm.compare(BY_ID, BY_ID, clusters={"q1": 1})),
    "no cluster of a list": (ValueError, "clusters is None at 1; pass an id", lambda: jrm.compare(TWO, TWO, clusters=["ann", None])),
    "a cluster too few": (ValueError, "clusters have shape (1,)", lambda: jrm.compare(TWO, TWO, clusters=[1])),
    "clusters by a name": (TypeError, "clusters are 'user'; pass the id", lambda: jrm.compare(TWO, TWO, clusters="user")),
    # comparisons: options, alone or beside another
    "an unknown test": (ValueError, "test is 'wilcoxon'", lambda: jrm.compare(TWO, TWO, test="wilcoxon")),
    "t of the largest t": (ValueError, "which has no correction='maxT'", lambda: jrm.compare(TWO, TWO, test="t", correction="maxT")),
    "mid-p of a bootstrap": (ValueError, "'bootstrap', which has no mid_p", lambda: jrm.compare(TWO, TWO, test="bootstrap", mid_p=True)),
    "Tukey's test with a margin": (ValueError, "'tukey', which has no margin", lambda: jrm.compare(TWO, TWO, test="tukey", margin=0.1)),
    "Tukey's test corrected": (ValueError, "has no correction='fdr'", lambda: jrm.compare(TWO, TWO, test="tukey", correction="fdr")),
    "Tukey's test of one side": (ValueError, "has no alternative='less'", lambda: jrm.compare(TWO, TWO, test="tukey", alternative="less")),
    "the largest t of two sides with a margin": (ValueError, "takes no margin of two sides", lambda: jrm.compare(TWO, TWO, margin=0.1, correction="maxT")),
    "a margin below 0": (ValueError, "margin is -0.1; pass a positive number", lambda: jrm.compare(TWO, TWO, margin=-0.1)),
    "some pairs": (ValueError, "pairs is 'some'", lambda: jrm.compare(TWO, TWO, pairs="some")),
    "an unknown correction": (ValueError, "correction is 'bonferroni'", lambda: jrm.compare(TWO, TWO, correction="bonferroni")),
    "an unknown alternative": (ValueError, "alternative is 'both'", lambda: jrm.compare(TWO, TWO, alternative="both")),
    "lower of another metric": (ValueError, "lower names 'time', which is not a metric", lambda: jrm.compare({"arp": X}, {"arp": X}, lower="time")),
    "lower of a system": (ValueError, "lower names 'x', .* one metric without a name", lambda: jrm.compare(X, {"x": X}, lower="x")),
    **rows_of("a test of seeds", ValueError, "but values are Seeds", lambda x: jrm.compare(SEEDS, SEEDS, **x), *OF_LISTS),
    **rows_of("a test of ratios", ValueError, "ratios that weigh the lists differently", lambda x: jrm.compare(*RATIOS, **x), *OF_LISTS),
    # comparisons: lists that count as few
    "six lists that count as one": (ValueError, "6 lists count as 1.1 .*'t' or test='permutation'", lambda: resample(*[heavy([100] + [1] * 5)] * 2)),
    "three clusters that count as one": (ValueError, "3 clusters count as 1", lambda: resample(*[heavy([100] + [1] * 5)] * 2, clusters=[0, 0, 1, 1, 2, 2])),
    # comparisons: names of results
    "a name of two systems": (KeyError, "'mrr' names 2 comparisons, 'new mrr', 'same m", lambda: compared()[0]["mrr"]),
    "a name of two cutoffs": (KeyError, "'recall' names 2 comparisons, 'recall@1', 're", lambda: compared()[1]["recall"]),
    "a name of nothing": (KeyError, "'ndcg' names no comparison; there are 'mrr', ", lambda: compared()[1]["ndcg"]),
    "an index beyond the last": (IndexError, "", lambda: compared()[1][3]),
    "only of three": (ValueError, "there are 3 comparisons", lambda: compared()[1].only),
    "only of none": (ValueError, "there are 0 comparisons", lambda: compared()[1].select(task="web").only),
    # orders of systems
    "an order of fewer systems": (ValueError, "only one of them holds 'c'", lambda: jrm.tau_ap("ab", "abc")),
    "an order of other systems": (ValueError, "only one of them holds 'd', 'c'", lambda: jrm.tau_ap("abd", "abc")),
    "an order that repeats": (ValueError, "order holds 'a' more than once", lambda: jrm.tau_ap("aba", "abc")),
    "a reference that repeats": (ValueError, "reference holds 'b' more than once", lambda: jrm.tau_ap("abc", "abb")),
    "an order of one": (ValueError, "fewer than two", lambda: jrm.tau_ap("a", "a")),
    # leaderboards
    "a leaderboard of one": (ValueError, "at least two systems", lambda: jrm.leaderboard({"a": X})),
    "a leaderboard of two metrics": (ValueError, "pass metric=", lambda: jrm.leaderboard({x: {"mrr": y, "map": y} for x, y in BOARD.items()})),
    "a leaderboard of other metrics": (ValueError, "different metrics", lambda: jrm.leaderboard({"a": {"mrr": X}, "b": {"map": X}})),
    **rows_of("a leaderboard of other tasks", ValueError, "different tasks", lambda x: jrm.leaderboard({"a": {"t": X}, "b": x}), {"u": X}, X),
    "a leaderboard of nothing": (ValueError, "is empty", lambda: jrm.leaderboard({"a": {}, "b": X})),
    "a leaderboard of geometric means": (ValueError, "is a geometric mean", lambda: jrm.leaderboard({x: {"gm_map": y} for x, y in BOARD.items()})),
    "a leaderboard without a direction": (ValueError, "neither direction", lambda: jrm.leaderboard({x: {"num_retrieved": y} for x, y in BOARD.items()})),
    "a leaderboard with the direction of another": (ValueError, "not a metric", lambda: jrm.leaderboard(BOARD, lower="mrr")),
    "a leaderboard of undefined lists": (ValueError, "undefined", lambda: jrm.leaderboard(BOARD, undefined="none")),
    "a leaderboard of no lists": (ValueError, "no list of", lambda: jrm.leaderboard({"a": [], "b": []})),
    "a leaderboard of other lists": (ValueError, "'b'] has 2; pass ids=", lambda: jrm.leaderboard({"a": BOARD["a"], "b": BOARD["b"][:2]})),
    **rows_of("a leaderboard of cutoffs", ValueError, "several cutoffs", jrm.leaderboard, {x: y[:, None] for x, y in BOARD.items()}, dict.fromkeys("ab", resampled(np.ones((3, 2))))),
    "a leaderboard without ids of a system": (ValueError, "ids hold no 'b'", lambda: jrm.leaderboard(BOARD, ids={"a": [1, 2, 3]})),
    "a leaderboard of NaN": (ValueError, "not finite", lambda: jrm.leaderboard({"a": BOARD["a"], "b": BOARD["b"] * np.nan})),
    "a leaderboard of few seeds": (ValueError, "fewer than three seeds", lambda: jrm.leaderboard({"a": jrm.Seeds(np.eye(3)), "b": jrm.Seeds(np.eye(3)[:2])})),
    "a leaderboard of values and resamples": (ValueError, "only some values are Bootstrap", lambda: jrm.leaderboard({"a": resampled(BOARD["a"]), "b": BOARD["b"]})),
    "a leaderboard of resamples with ids": (TypeError, "of values alone", lambda: jrm.leaderboard(dict.fromkeys("ab", resampled(BOARD["a"])), ids=dict.fromkeys("ab", [1, 2, 3]))),
    "a leaderboard of tasks with ids of systems": (TypeError, "{task: ids}", lambda: jrm.leaderboard({x: {"t": y} for x, y in BOARD.items()}, ids=dict.fromkeys("ab", [1, 2, 3]))),
    # systems
    "a system of text": (TypeError, "values", lambda: jrm.Systems({"a": "x"})),
    "a system of one number": (ValueError, "values", lambda: jrm.Systems({"mrr": 0.5})),
    "systems of states": (TypeError, "is a Mean, which no longer holds", lambda: jrm.compare(jrm.Systems({x: {"mrr": state_of(y)} for x, y in BOARD.items()}))),
    "tasks of tasks": (TypeError, "'z' holds dicts", lambda: jrm.Systems({"x": {"y": {"z": {"mrr": X}}}}, tasks_first=True)),
    "a table of numbers": (ValueError, "one number for 'mrr', the name of a metric", lambda: jrm.table({"x": {"mrr": 0.5}, "y": {"mrr": 0.25}})),
    # seeds
    **rows_of("few seeds", ValueError, "with fewer than three seeds", lambda x: jrm.compare(SEEDS, jrm.Seeds(x)), np.eye(5)[:1], np.eye(5)[:2]),
    "no seeds": (ValueError, "runs is empty", lambda: jrm.Seeds([])),
    "seeds in a dict": (TypeError, "pass a list with the values of each seed", lambda: jrm.Seeds({"map": [0.1, 0.2]})),
    "seeds of other metrics": (ValueError, "the same metrics of every seed", lambda: jrm.Seeds([{"map": [0.1]}, {"mrr": [0.1]}])),
    "seeds of fewer lists": (ValueError, "values of the same lists", lambda: jrm.Seeds([[0.1, 0.2], [0.1]])),
    "seeds of other lists": (ValueError, "pass the lists that both have", lambda: jrm.Seeds([{"q1": 0.1}, {"q2": 0.1}])),
    "seeds in two forms": (ValueError, "in one form", lambda: jrm.Seeds([{"q1": 0.1}, [0.1]])),
    "seeds of other cutoffs": (ValueError, "different cutoffs", lambda: jrm.Seeds([[0.1], [[0.1]]])),
    "seeds of seeds": (TypeError, "is a Seeds", lambda: jrm.Seeds([jrm.Seeds([[0.1]])])),
    "seeds of other weights": (ValueError, "the same weights", lambda: jrm.Seeds([lists_of([0.1], [1]), lists_of([0.1], [2])])),
    "a normal interval of seeds": (ValueError, "knows no seeds", lambda: jrm.table({"x": {"mrr": SEEDS}}, method="normal")),
    # plans
    **rows_of("power", ValueError, "power", functools.partial(jrm.minimum_detectable, PILOT), 0, 1, 0.04, 80),
    **rows_of("a plan of two systems", TypeError, "of two systems; pass the difference of each list: paired(a, b)", jrm.minimum_detectable, (X, X), [X, X + 1], (HEAVY, HEAVY), ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]), (BY_ID, BY_ID)),
    "lists for two systems": (TypeError, "differences is a tuple of two systems", lambda: jrm.lists_needed((X, X), 0.1)),
    "lists for two systems of a judge": (TypeError, "judge is a list of two systems", lambda: jrm.lists_needed(HUMAN, 0.1, judge=[JUDGE, JUDGE], others=3)),
    "pairs of no system": (ValueError, "pairs names 'a', 'c'; pass names of baselines among 'a', 'b'", lambda: jrm.compare(BOARD, pairs=["a", "c"])),
    "pairs of no name": (ValueError, "pairs names none; pass names", lambda: jrm.compare(BOARD, pairs=())),
    "pairs of names, and b": (ValueError, "leave b out", lambda: jrm.compare(X, X, pairs=["a"])),
    "a plan of an unknown alternative": (ValueError, "alternative", lambda: jrm.lists_needed(PILOT, 0.1, alternative="larger")),
    "a difference of NaN": (ValueError, "difference is nan", lambda: jrm.lists_needed(PILOT, np.nan)),
    "a plan of no lists": (ValueError, "lists", lambda: jrm.minimum_detectable(PILOT, lists=0)),
    "a pilot of NaN": (ValueError, "not finite", lambda: jrm.minimum_detectable([0.1, np.nan])),
    "a pilot inside a trace": (TypeError, "traced", lambda: jax.jit(jrm.minimum_detectable)(PILOT)),
    "a pilot of two seeds": (ValueError, "fewer than three seeds", lambda: jrm.minimum_detectable(jrm.Seeds(np.eye(5)[:2]))),
    **rows_of("a plan of half a judge", ValueError, "belong together", lambda x: jrm.lists_needed(HUMAN, 0.12, **x), {"judge": JUDGE}, {"others": 3}),
    # judges
    "a judge that lacks a list": (ValueError, "1 are not in judge: 'q0'", lambda: jrm.prediction_powered(HUMAN, {x: y for x, y in JUDGE.items() if x != "q0"})),
    "people without ids": (ValueError, "human has no list ids", lambda: jrm.prediction_powered(list(HUMAN.values()), JUDGE)),
    "a judge without ids": (ValueError, "judge has no list ids", lambda: jrm.prediction_powered(HUMAN, list(JUDGE.values()))),
    "a judge of fewer systems": (ValueError, "judge lacks", lambda: jrm.prediction_powered({"a": HUMAN, "b": HUMAN}, {"a": JUDGE})),
    "a judge of other weights": (ValueError, "another one", lambda: jrm.prediction_powered(measured(HUMAN, dict.fromkeys(JUDGE, 1)), measured(JUDGE, dict.fromkeys(JUDGE, 1) | {"q3": 2}))),
    "a judge of infinite weight": (ValueError, "infinite weight", lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, dict.fromkeys(JUDGE, 1) | {"q1": np.inf}))),
    "a judge of other undefined lists": (ValueError, "undefined", lambda: jrm.prediction_powered(measured(HUMAN), measured(JUDGE, undefined="skip"))),
    "a judge of seeds": (ValueError, "Seeds", lambda: jrm.prediction_powered(HUMAN, jrm.Seeds([JUDGE] * 3))),
    "a judge of NaN": (ValueError, "not finite", lambda: jrm.prediction_powered(HUMAN, JUDGE | {"q1": np.nan})),
    "a judge of cutoffs": (ValueError, "cutoffs", lambda: jrm.prediction_powered(measured(HUMAN), evaluation_of({"mrr": lists_of(np.ones((40, 2)))}, users=list(JUDGE)))),
    "a judge with clusters of some lists": (ValueError, "clusters", lambda: jrm.prediction_powered(HUMAN, JUDGE, clusters={"q1": 1})),
    **rows_of("judges for values", TypeError, "PredictionPowered", lambda f: f({"a": judged(), "b": judged()}), jrm.compute, lambda x: jrm.compare(x, x), jrm.leaderboard),
    "Wilson's interval of a judge": (ValueError, "knows no judge", lambda: jrm.table({"new": {"mrr": judged()}}, method="wilson")),
    "a table of judges that compares": (TypeError, "needs the values of every list", lambda: jrm.table({x: {"mrr": judged()} for x in ("old", "new")}, compare="old")),
    **rows_of("a test with a judge", ValueError, "pass 't' or 'bootstrap'", lambda x: jrm.compare(PEOPLE, judge=JUDGES, test=x), "permutation", "tukey", "mcnemar"),
    "the largest t with a judge": (ValueError, "maxT", lambda: jrm.compare(PEOPLE, judge=JUDGES, correction="maxT")),
    "a pair of judges for a dict": (TypeError, "dict of systems", lambda: jrm.compare(PEOPLE, judge=(JUDGES["old"], JUDGES["new"]))),
    "a dict of judges for a pair": (TypeError, "judge_a, judge_b", lambda: jrm.compare(PEOPLE["old"], PEOPLE["new"], judge=JUDGES)),
    "judges of other systems": (ValueError, "judge lacks", lambda: jrm.compare(PEOPLE, judge={"old": JUDGE, "odd": JUDGE})),
    "judges of other lists": (ValueError, "not in judge", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, {"q1": 0.5, "q2": 1.0}))),
    "judges without ids": (ValueError, "list ids", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, list(JUDGE.values())))),
    "judges of seeds": (ValueError, "Seeds", lambda: jrm.compare(PEOPLE, judge=dict.fromkeys(PEOPLE, jrm.Seeds([JUDGE] * 3)))),
    "judges of ratios": (ValueError, "leave judge out", lambda: jrm.compare(ratios(12), judge=ratios(40))),
}
# Calls that raise when keys have been drawn.
LATE = {
    "a leaderboard of other resamples": (ValueError, "5, 6 samples", lambda: jrm.leaderboard({"a": resampled(BOARD["a"], 5), "b": resampled(BOARD["b"], 6)})),
}
# fmt: on
