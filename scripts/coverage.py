"""Prints how often intervals cover and tests raise false alarms.

The tables are for docs/intervals.md; "judges" and "favours" are for docs/judges.md.

    python scripts/coverage.py [TABLE …]

Every cell is a share, in percent, of many simulated data sets: data sets whose 95 %
interval holds the true mean, or in which a test finds p < 0.05. `compare` takes the data
sets of a cell at once, as the columns of one array.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference.judges import JudgedLists
from jax_rank_metrics._verdicts.inference.p_values import student_reach
from jax_rank_metrics._verdicts.inference.weighted_means import Summary

DATA_SETS, SAMPLES = 2000, 1999
JUDGED_SETS = 10_000  # of the tables of judges
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def reciprocal_ranks(rng, shape):
    """1 / rank of the first relevant item, which each rank down to 10 may be in 30 %."""
    ranks = rng.geometric(0.3, shape)
    return np.where(ranks <= 10, 1 / ranks, 0)


def mostly_zero(rng, shape, share=0.2):
    """Uniform in [0, 1] in this share of lists, and 0 in the others."""
    return (rng.random(shape) < share) * rng.random(shape)


def hits(share, rng, shape):
    """1 in this share of lists, and 0 in the others."""
    return (rng.random(shape) < share).astype(float)


KINDS: dict[str, Draw] = {
    "uniform": np.random.Generator.random,
    "reciprocal rank": reciprocal_ranks,
    "80 % zeros, else uniform": mostly_zero,
    "hits, 50 %": partial(hits, 0.5),
    "hits, 5 %": partial(hits, 0.05),
}


def print_table(
    title: str, header: Sequence[object], rows: list[tuple[object, ...]], cure: str
) -> None:
    """Prints rows as Markdown, with shares in percent, and failing ones in bold.

    Columns are false alarms, unless their name or the title says coverage, power or width.
    """
    print(f"\n**{title}**\n")
    print("|", " | ".join(map(str, header)), "|")
    text = sum(isinstance(cell, str) for cell in rows[0])
    print("|---" * text + "|--:" * (len(header) - text) + "|")
    has_failed = False
    for row in rows:
        cells = list(row[:text])
        for column, share in zip(header[text:], row[text:], strict=True):
            name = f"{title} {column}".lower()
            fails = share > 0.07
            if any(word in name for word in ("power", "coverage", "width")):
                fails = "coverage" in name and share < 0.92
            cells.append(f"**{100 * share:.1f}**" if fails else f"{100 * share:.1f}")
            has_failed |= fails
        print("|", " | ".join(map(str, cells)), "|", flush=True)
    if has_failed:
        print(f"\nBold numbers fail. {cure}")


def alarms(comparisons, p="p"):
    """The share of comparisons whose p is below 0.05."""
    return np.mean([getattr(comparison, p) < 0.05 for comparison in comparisons])


def compared(a, b, **options):
    """Compares the systems of many data sets, `[lists, data sets]` each."""
    return jrm.compare(a, b, samples=SAMPLES, **options)


def coverage_of_means():
    """Coverage of the intervals of a mean."""
    counts = (3, 5, 10, 30, 100, 500)
    rare = {"hits, 95 %": partial(hits, 0.95), "hits, 0.5 %": partial(hits, 0.005)}
    rows = []
    for name, draw in (KINDS | rare).items():
        truth = draw(np.random.default_rng(0), (4_000_000,)).mean()
        if name.startswith("hits"):
            truth = float(name[5:-2]) / 100
        covered = {method: [] for method in ("auto", "normal", "bootstrap")}
        for count in counts:
            values = draw(np.random.default_rng(count), (count, DATA_SETS))
            lists = per_list(values, is_share=name.startswith("hits"))
            state = lists.mean()
            resampled = jrm.bootstrap(lists, np.arange(count), samples=500)
            for method, shares in covered.items():
                if method == "bootstrap":
                    low, high = resampled.confidence_interval()
                else:
                    low, high = state.confidence_interval(method=method)
                # A bound that is the mean itself may be off by rounding.
                is_within = (low - 1e-6 <= truth) & (truth <= high + 1e-6)
                shares.append(np.mean(np.asarray(is_within)))
        rows += [(name, method, *shares) for method, shares in covered.items()]
    cure = (
        'Use "auto"; where that fails, too few lists are not 0, or not 1: measure more.'
    )
    print_table("Coverage of a mean", ("values", "method", *counts), rows, cure)


def coverage_of_differences():
    """Coverage of the interval of the mean difference of two equal systems of hits."""
    counts, rows = (10, 30, 100, 1000), []
    for share in (0.5, 0.1, 0.03):
        covered = []
        for count in counts:
            rng = np.random.default_rng(count)
            a, b = (per_list(hits(share, rng, (count, DATA_SETS))) for _ in range(2))
            low, high = jrm.paired(a, b).mean().confidence_interval()
            covered.append(np.mean((low <= 0) & (0 <= high)))
        rows.append((f"hits, {100 * share:g} %", *covered))
    print_table("Coverage of a difference of hits", ("values", *counts), rows, "")


def per_list(values, weights=None, is_share=False):
    """Makes a `PerList` of arrays."""
    weights = np.ones(len(values)) if weights is None else weights
    arrays = jnp.asarray(values), jnp.asarray(weights), jnp.asarray(weights) > 0
    return jrm.PerList(*arrays, is_share=is_share)


def equal_systems(draw, rng, count):
    """Draws values of equal systems; without `draw`, b is far better in few lists."""
    shape = (count, DATA_SETS)
    if draw is None:
        return np.ones(shape), rng.exponential(size=shape)
    return draw(rng, shape), draw(rng, shape)


def alarms_of_tests():
    """False alarms of tests of two equal systems."""
    counts, rows = (3, 5, 10, 30, 100), []
    for name, draw in (KINDS | {"differences, exponential": None}).items():
        for test in ("permutation", "t", "bootstrap"):
            shares = []
            for count in counts:
                a, b = equal_systems(draw, np.random.default_rng(count), count)
                shares.append(alarms(compared(a, b, test=test)))
            rows.append((name, test, *shares))
    cure = 'Where differences are skewed, take test="bootstrap", or measure more lists.'
    print_table(
        "False alarms of two equal systems", ("values", "test", *counts), rows, cure
    )


def alarms_of_weights():
    """False alarms of weighted lists, each data set with weights of its own."""
    counts, rows = (10, 30, 100), []
    for sigma in (1, 2):
        for test in ("t", "bootstrap"):
            shares = []
            for count in counts:
                rng = np.random.default_rng(count)
                a, b = ({}, {})
                for index in range(DATA_SETS):
                    weights = rng.lognormal(0, sigma, count)
                    values = rng.random((2, count))
                    if (
                        test == "bootstrap"
                        and weights.sum() ** 2 < 3 * weights @ weights
                    ):
                        continue  # refused
                    for side, of_side in zip((a, b), values, strict=True):
                        side[str(index)] = per_list(of_side, weights)
                shares.append(alarms(compared(a, b, test=test)))
            rows.append((f"lognormal({sigma})", test, *shares))
    cure = 'Use test="t", or an n_eff of 50.'
    header = ("weights", "test", *counts)
    print_table("False alarms of weighted lists", header, rows, cure)


def denominators(kind, rng, shape):
    """Draws the denominators of a and of b, `[lists, data sets]` each."""
    sigma = 1 if "(1)" in kind else 2
    a, b = rng.lognormal(0, sigma, (2, *shape))
    if "zeros" in kind:
        a, b = np.where(rng.random((2, *shape)) < 0.3, 0, (a, b))
    if "of a lognormal(0.5)" in kind:
        a = rng.lognormal(0, 0.5, shape)
    return a, 30 * b if "30 times" in kind else b


def values_over(kind, rng, denominator):
    """Draws values, which depend on their denominators or do not; as ratios."""
    values = rng.random(denominator.shape)
    if "depend" in kind:
        location = np.log(np.where(denominator > 0, denominator, 1))
        values = np.clip(0.5 + 0.1 * location + 0.4 * (values - 0.5), 0, 1)
    plain = jnp.ones(len(values)), jnp.ones(len(values), bool)
    numerator, denominator = (
        jrm.PerList(jnp.asarray(x), *plain) for x in (values * denominator, denominator)
    )
    return numerator.over(denominator)


def alarms_of_ratios():
    """False alarms of two equal ratios, and coverage of one."""
    counts, rows = (10, 30, 100), []
    for kind in (
        "lognormal(1)",
        "lognormal(2)",
        "lognormal(2), 30 % zeros",
        "lognormal(2), those of b 30 times as large",
        "lognormal(2), those of a lognormal(0.5)",
        "lognormal(2), on which values depend",
    ):
        for test in ("permutation", "t"):
            shares = []
            for count in counts:
                rng = np.random.default_rng(count)
                sides = denominators(kind, rng, (count, DATA_SETS))
                a, b = (values_over(kind, rng, side) for side in sides)
                shares.append(alarms(compared(a, b, test=test)))
            rows.append((kind, test, *shares))
    cure = "Measure more lists."
    header = ("denominators", "test", *counts)
    print_table("False alarms of two equal ratios", header, rows, cure)
    counts, rows = (5, 10, 30, 100, 500), []
    for kind in ("lognormal(1)", "lognormal(1), on which values depend"):
        weights = np.random.default_rng(0).lognormal(0, 1, (4_000_000, 1))
        lists = values_over(kind, np.random.default_rng(1), weights)
        truth = float(lists.mean().compute()[0])
        shares = []
        for count in counts:
            rng = np.random.default_rng(count)
            weights = rng.lognormal(0, 1, (count, DATA_SETS))
            low, high = values_over(kind, rng, weights).mean().confidence_interval()
            shares.append(np.mean((low <= truth) & (truth <= high)))
        rows.append((kind, *shares))
    cure = "Measure more lists."
    print_table("Coverage of a ratio", ("denominators", *counts), rows, cure)


def alarms_of_one_side():
    """False alarms of one-sided tests of equal systems, on the worse of both sides."""
    counts, rows = (10, 30, 50, 100, 200), []
    sparse = {"95 % zeros, else uniform": partial(mostly_zero, share=0.05)}
    skewed = {"differences, exponential": None}
    for name, draw in (KINDS | sparse | skewed).items():
        for test in ("permutation", "t", "bootstrap"):
            shares = []
            for count in counts:
                a, b = equal_systems(draw, np.random.default_rng(count), count)
                sides = (
                    alarms(compared(a, b, test=test, alternative=side))
                    for side in ("greater", "less")
                )
                shares.append(max(sides))
            rows.append((name, test, *shares))
    cure = 'Where differences are skewed, take test="bootstrap", or measure more lists.'
    header = ("values", "test", *counts)
    print_table("False alarms of one-sided tests", header, rows, cure)


def power_of_plans():
    """The power of tests for the difference that a plan says they detect in 80 %."""
    counts, rows = (10, 30, 100), []
    for name, draw in (KINDS | {"differences, exponential": None}).items():
        pilot = np.subtract(*equal_systems(draw, np.random.default_rng(0), 1000))
        for test in ("permutation", "t", "bootstrap"):
            shares = []
            for count in counts:
                size = jrm.minimum_detectable(pilot.ravel(), lists=count)
                a, b = equal_systems(draw, np.random.default_rng(count), count)
                shares.append(alarms(compared(a, b + size, test=test)))
            rows.append((name, test, *shares))
    print_table("Power where 80 % are planned", ("values", "test", *counts), rows, "")


def clustered(rng, clusters, size, correlation):
    """Values of lists in clusters, with this intraclass correlation."""
    common = rng.normal(size=(clusters, 1, DATA_SETS))
    private = rng.normal(size=(clusters, size, DATA_SETS))
    values = correlation**0.5 * common + (1 - correlation) ** 0.5 * private
    return values.reshape(clusters * size, DATA_SETS)


def alarms_of_clusters():
    """False alarms of 40 users with ten sessions each."""
    rows = []
    users = np.repeat(np.arange(40), 10)
    for correlation in (0.1, 0.3):
        rng = np.random.default_rng(10)
        a, b = (clustered(rng, 40, 10, correlation) for _ in range(2))
        shares = [
            alarms(compared(a, b, **options))
            for options in ({}, {"clusters": users}, {"clusters": users, "test": "t"})
        ]
        rows.append((f"{correlation}", *shares))
    header = ("correlation", "sessions", "users, permutation", "users, t")
    cure = "Pass clusters=users."
    print_table("False alarms of 40 users with ten sessions each", header, rows, cure)


def failures(rng, size):
    """Numbers of mean 0 and deviation 1; few are far below the others."""
    return 1 - rng.exponential(size=size)


def alarms_of_seeds():
    """False alarms of procedures that were trained from several seeds."""
    rows = []
    for share in (0.1, 0.3):
        shares = []
        for seeds in (1, 3, 5, 10):
            rng = np.random.default_rng(seeds)
            queries = rng.normal(size=(50, DATA_SETS))
            noise = 0.5 * rng.normal(size=(2, seeds, *queries.shape))
            runs = queries + noise + share * rng.normal(size=(2, seeds, 1, DATA_SETS))
            a, b = (jrm.Seeds(list(x)) if seeds > 1 else x[0] for x in runs)
            shares.append(alarms(compared(a, b)))
        rows.append((f"{share}", *shares))
    header = ("deviation of seeds", "1 (lists alone)", "3", "5", "10")
    cure = "Train five seeds or more."
    print_table("False alarms of equal procedures", header, rows, cure)
    rows = []
    for name, draw in (("normal", np.random.Generator.normal), ("skewed", failures)):
        shares = []
        for seeds in (3, 5, 10):
            rng = np.random.default_rng(seeds)
            queries = rng.normal(size=(50, DATA_SETS))
            fixed = queries + 0.5 * rng.normal(size=queries.shape)
            runs = queries + 0.5 * rng.normal(size=(seeds, *queries.shape))
            runs += draw(rng, size=(seeds, 1, DATA_SETS))
            shares.append(alarms(compared(fixed, jrm.Seeds(list(runs)))))
        rows.append((name, *shares))
    cure = "Train more seeds, and a system that was trained as often as the other one."
    header = ("means of seeds, beside a fixed system", "3", "5", "10")
    print_table("False alarms beside a fixed system", header, rows, cure)


def alarms_of_families():
    """False alarms and power among eight systems, and of 30 beside a baseline."""
    rng, cure = np.random.default_rng(1), "Correct for the number of comparisons."
    methods = {"none": {"test": "t"}, "Holm": {}, "maxT": {"correction": "maxT"}}
    methods["Tukey"] = {"test": "tukey"}
    found = {name: [] for name in methods}
    for _ in range(DATA_SETS):
        values = rng.normal(size=(50, 1)) + rng.normal(size=(50, 8))
        for name, options in methods.items():
            for best in (0, 0.75):  # by how much the first system is better
                systems = {i: values[:, i] + best * (i == 0) for i in range(8)}
                pairs = jrm.compare(systems, pairs="all", samples=999, **options)
                is_real = np.array([best > 0 and 0 in pair for pair in pairs])
                p = "p" if name == "none" else "p_corrected"
                is_found = np.array([getattr(x, p) for x in pairs.values()]) < 0.05
                any_alarm = is_found[~is_real].any()
                found[name].append((any_alarm, is_found[is_real].sum() / 7))
    header = ("correction", "any false alarm", "of the others", "power for the best")
    rows = []
    for name, shares in found.items():
        equal, better = np.array(shares[::2]), np.array(shares[1::2])
        rows.append((name, equal[:, 0].mean(), *better.mean(0)))
    print_table("28 pairs of eight systems, 50 lists", header, rows, cure)
    rows = []
    for name, correction in (("Holm", "holm"), ("maxT", "maxT")):
        rng, shares = np.random.default_rng(2), []
        for _ in range(DATA_SETS // 2):
            common, private = rng.normal(size=(50, 1)), rng.normal(size=(50, 30))
            noise = 0.8**0.5 * common + 0.2**0.5 * private
            for best in (0, 0.45):
                comparisons = compared(0 * noise, noise + best, correction=correction)
                shares.append(alarms(comparisons, "p_corrected"))
        alarm, power = np.mean(np.array(shares[::2]) > 0), np.mean(shares[1::2])
        rows.append((name, alarm, power))
    header = ("correction", "any false alarm", "power")
    print_table("30 comparisons that correlate by 0.8, 50 lists", header, rows, cure)


def few_lists_that_differ():
    """Rare hits: false alarms, and coverage and power if b has four times the hits."""
    tests = {
        "t": {"test": "t"},
        "permutation": {},
        "McNemar": {"test": "mcnemar"},
        "McNemar, mid-p": {"test": "mcnemar", "mid_p": True},
    }
    null_rows, rows = [], []
    for share, count in ((0.005, 100), (0.005, 1000), (0.02, 100), (0.02, 1000)):
        rng = np.random.default_rng(count)
        a, b, equal = (
            hits(x, rng, (count, DATA_SETS)) for x in (share, 4 * share, share)
        )
        name = f"{100 * share:g} % of {count}"
        null_rows.append(
            (name, *(alarms(compared(a, equal, **x)) for x in tests.values()))
        )
        by_t = compared(a, b, test="t")
        coverage = np.mean([x.low <= 3 * share <= x.high for x in by_t])
        powers = [alarms(compared(a, b, **x)) for x in tests.values()]
        rows.append((name, coverage, *powers))
    cure = (
        "Count wins and losses: ten or more, or McNemar's p in place of the interval."
    )
    print_table("False alarms of rare hits", ("hits of both", *tests), null_rows, cure)
    header = ("hits of a; b four times", "coverage of t")
    header += tuple(f"power of {name}" for name in tests)
    print_table("Rare hits that differ", header, rows, cure)


def coverage_of_ranks():
    """Coverage of the intervals of ranks: five systems, in 500 data sets."""
    counts, rows = (3, 5, 10, 30), []
    for name, sigma in (("equal", 0), ("lognormal(1)", 1), ("lognormal(2)", 2)):
        shares = []
        for count in counts:
            rng, covered = np.random.default_rng(count), []
            for _ in range(DATA_SETS // 4):
                truth = rng.normal(0, 0.2, 5)
                values = truth[:, None] + rng.normal(0, 0.4, (5, count))
                weights = rng.lognormal(0, sigma, count)
                board = jrm.leaderboard(
                    {i: per_list(x, weights) for i, x in enumerate(values)},
                    samples=SAMPLES,
                )
                ranks = 1 + (truth[:, None] < truth).sum(1)[list(board.systems)]
                covered += [(board.rank_lows <= ranks) & (ranks <= board.rank_highs)]
            shares.append(np.mean(covered))
        rows.append((name, *shares))
    cure = "Measure more lists."
    print_table("Coverage of ranks in a leaderboard", ("weights", *counts), rows, cure)


def judged(draw, correlation, rng, shape):
    """Draws values, and a judge's values for them, with a bias of 0.2 and normal noise."""
    values = draw(rng, shape)
    noise = rng.normal(size=shape)
    if correlation == 0:
        return values, 0.2 + noise
    spread = draw(np.random.default_rng(0), (1_000_000,)).std()
    scale = spread * np.sqrt(1 / correlation**2 - 1)
    return values, values + 0.2 + scale * noise


JUDGED: dict[str, Draw] = {
    "uniform": np.random.Generator.random,
    "70 % zeros, else uniform": partial(mostly_zero, share=0.3),
    "uniform, weights lognormal(1)": np.random.Generator.random,
}


def coverage_of_judges(list_count=1000, blocks=20):
    """Coverage and width of means by people and a judge, and by people alone."""
    correlations = (0, 0.5, 0.9)
    rows = []
    for name, draw in JUDGED.items():
        truth = 0.15 if "zeros" in name else 0.5
        for count in (20, 30, 100):
            covered, widths = np.zeros((2, len(correlations), 2))
            for column, correlation in enumerate(correlations):
                rng = np.random.default_rng(count)
                for _ in range(blocks):
                    shape = (list_count, JUDGED_SETS // blocks)
                    values, judge = judged(draw, correlation, rng, shape)
                    weights = np.ones(shape)
                    if "weights" in name:
                        weights = rng.lognormal(0, 1, shape)
                    sides = (values[:count], weights[:count]), (judge, weights)
                    rounding = np.zeros(shape[1])
                    lists = JudgedLists.of(*sides, rounding, np.arange(count))
                    alone = Summary.of(*sides[0])
                    for side, of in enumerate((lists.summary(), alone)):
                        reach = student_reach(of.error, of.freedom, 0.95)
                        covered[column, side] += np.mean(abs(of.mean - truth) <= reach)
                        widths[column, side] += np.median(reach)
            coverage = (covered / blocks).T
            width = widths[:, 0] / widths[:, 1]
            rows.append((name, count, coverage[1, 0], *coverage[0], *width))
    header = ["values", "labels", "coverage of people alone"]
    header += [f"coverage, {x:g}" for x in correlations]
    header += [f"width, {x:g}" for x in correlations]
    rows = [(name, str(count), *numbers) for name, count, *numbers in rows]
    cure = "Label more lists: no judge shows a tail that people have not seen."
    print_table("Means by people and a judge", header, rows, cure)


def alarms_of_judges(lists=1000, blocks=20):
    """False alarms of two equal systems; a judge favours one of them by 0.2."""
    import pandas as pd

    rows = []
    for name, draw in list(JUDGED.items())[:2]:
        for test in ("t", "bootstrap"):
            shares = []
            for count in (20, 30, 100):
                rng, found = np.random.default_rng(count), []
                for _ in range(blocks if test == "t" else blocks // 4):
                    shape = (lists, JUDGED_SETS // blocks)
                    a, judge_a = judged(draw, 0.7, rng, shape)
                    b, judge_b = judged(draw, 0.7, rng, shape)
                    frames = [pd.DataFrame(x) for x in (a[:count], b[:count])]
                    judges = pd.DataFrame(judge_a - 0.2), pd.DataFrame(judge_b)
                    found.append(alarms(compared(*frames, judge=judges, test=test)))
                shares.append(np.mean(found))
            rows.append((name, test, *shares))
    header = ("values", "test", "20", "30", "100")
    print_table("False alarms with a judge that favours b", header, rows, "")


TABLES = {
    "means": coverage_of_means,
    "differences": coverage_of_differences,
    "tests": alarms_of_tests,
    "weights": alarms_of_weights,
    "ratios": alarms_of_ratios,
    "sides": alarms_of_one_side,
    "plans": power_of_plans,
    "clusters": alarms_of_clusters,
    "seeds": alarms_of_seeds,
    "families": alarms_of_families,
    "few": few_lists_that_differ,
    "ranks": coverage_of_ranks,
    "judges": coverage_of_judges,
    "favours": alarms_of_judges,
}


def main():
    """Prints all tables, or the named tables."""
    warnings.simplefilter("ignore")  # of few samples for the number of columns
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
