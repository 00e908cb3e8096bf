"""The result of a comparison, as numbers and as text."""

import dataclasses
from collections.abc import Hashable
from typing import Any

from jax_rank_metrics._results.inference.prediction_powered import PredictionPowered
from jax_rank_metrics._results.inference.question import Names
from jax_rank_metrics._results.sheets.export import count_text, json_number
from jax_rank_metrics._results.systems.seed_scores import SeedSummary

# Fewer lists that differ say little, however many there are.
FEW_LISTS = 10
# How a corrected p is called beside p.
CORRECTION_NAMES = {"holm": "Holm", "maxT": "maxT", "fdr": "FDR", "tukey": "Tukey"}

# What a record has of a judge.
_JUDGE_FIELDS = ("other_lists", "judge_mean", "judge_bias", "tuning", "worth")

_TESTS = {
    "permutation": "permutation test",
    "bootstrap": "bootstrap test",
    "t": "t test",
    "tukey": "randomised Tukey HSD",
    "mcnemar": "McNemar's test",
}


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """The difference between a baseline a and a system b over the same lists.

    Attributes:
        difference: The weighted mean of b − a.
        low: The lower end of an interval of the difference, at `level`.
        high: The upper end.
        p: The probability of a difference of this size or more, in either direction or in
            that of `alternative`, if it made no difference which system is which; with a
            `margin`, of one as far within it, if b − a lay at the margin. Its smallest
            value, 1 / (1 + `samples`), is an upper bound, and is printed as `p≤`.
        p_corrected: p corrected for the number of comparisons in the call: if all
            differences with a corrected p below 0.05 are called real, any of them is
            false in 5 % of calls at most. With the correction "fdr", 5 % of those that
            are called real are false, on average.
        effect_size: Cohen's d of paired differences: their mean over their standard
            deviation, both weighted; of clusters, where there are any. NaN for fewer than
            two lists.
        wins: Number of lists in which b is better; None for a metric such as
            `num_retrieved`, of which neither direction is better.
        ties: Number of lists in which both are equal up to rounding.
        losses: Number of lists in which a is better, or None.
        lists: Number of lists that counted.
        n_eff: Effective number of lists, (Σ weight)² / Σ weight² (Kish 1965): `lists`
            where all weights are equal, and fewer otherwise. With clusters, their number;
            of ratios that weigh lists differently, the smaller of the two.
        test: The test that p is from.
        correction: How p was corrected: "holm", "maxT", "fdr", or "tukey" for that test,
            whose p is its own correction.
        alternative: What p and the interval are about: "two-sided", "greater" for b − a
            above 0, or "less".
        margin: The difference, in units of the metric, that p asks b − a to stay within;
            None where p asks whether there is any difference.
        samples: Number of random permutations or resamples that p is from; 0 where
            all permutations were used, and for "t" and "mcnemar".
        level: The probability with which the interval should cover the difference.
        lower_is_better: Whether b is better where b − a is below 0; None as for `wins`.
        clusters: Number of clusters that `lists` were joined to; None if each is its own.
        judge: The same difference as `prediction_powered` has it: what the judge says by
            itself, how far it is off, and how many labelled lists it is worth. `lists`,
            `wins` and `n_eff` are those of people. None without a judge.
        seeds: The scores of training seeds, where a or b is `Seeds`; see `SeedSummary`.
        task: The key of the task, such as a collection; None without tasks.
        baseline: The name of a, where all systems came in one dict; None otherwise.
        system: The name of b, where systems have names; None otherwise.
        metric: The name of the metric with its cutoff, such as "recall@5"; None for values
            without a name.
        cutoff: What follows the "@" of its name: an int, or text such as "1%". Of a
            metric whose name has no cutoffs, the index of the column. None without cutoffs.
    """

    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    effect_size: float
    wins: int | None
    ties: int
    losses: int | None
    lists: int
    n_eff: float
    test: str
    correction: str
    alternative: str
    margin: float | None
    samples: int
    level: float
    lower_is_better: bool | None
    clusters: int | None = None
    judge: PredictionPowered | None = None
    seeds: SeedSummary | None = None
    task: Hashable = None
    baseline: Hashable = None
    system: Hashable = None
    metric: str | None = None
    cutoff: int | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes for JSON, with None for numbers that are not finite.

        The names come first. `seeds` becomes a dict as well, and so does `judge`, without
        what the comparison has already.
        """
        return {name: json_number(value) for name, value in record_of(self).items()}

    def __repr__(self) -> str:
        """The difference, its interval, p, and the numbers of lists."""
        counts = [count_text(self.ties, "tie")]
        if self.wins is not None and self.losses is not None:
            wins = count_text(self.wins, "win")
            losses = count_text(self.losses, "loss", "es")
            counts = [f"{wins} {counts[0]} {losses}"]
        # Without a direction there are no wins, and all that do not tie differ.
        differing = self.lists - self.ties
        if self.wins is not None and self.losses is not None:
            differing = self.wins + self.losses
        if self.ties and differing < FEW_LISTS:
            counts.append(f"{differing} of {count_text(self.lists, 'list')} differ")
        else:
            counts.append(count_text(self.lists, "list"))
        if self.clusters is not None:
            counts.append(count_text(self.clusters, "cluster"))
        if self.judge is not None:
            counts += [f"{self.judge.other_lists} of the judge alone"]
            counts += [f"worth {self.judge.worth:.3g}"]
        # Equal weights give the number of lists but for rounding.
        independent = self.lists if self.clusters is None else self.clusters
        if self.n_eff < 0.995 * independent:
            counts.append(f"n_eff {self.n_eff:.3g}")
        if self.lower_is_better:
            counts.append("lower is better")
        if hypothesis := hypothesis_of(self):
            counts.insert(0, f"p is for {hypothesis}")
        # Adding 0 makes 0 of −0, which would be printed with its sign.
        difference, low, high = (
            x + 0.0 for x in (self.difference, self.low, self.high)
        )
        return (
            f"Comparison({difference:+.3g} [{low:.3g}, {high:.3g}], "
            f"{p_text(self)}, {', '.join(counts)})"
        )


def record_of(comparison: Comparison) -> dict[str, Any]:
    """Returns the attributes as they are, names first."""
    fields = dataclasses.asdict(comparison)
    if comparison.judge is not None:
        fields["judge"] = {name: fields["judge"][name] for name in _JUDGE_FIELDS}
    return {name: fields.pop(name) for name in Names._fields} | fields


def p_text(comparison: Comparison) -> str:
    """p, and the corrected p if it differs: `p=0.012`, or `p≤1e-05 (Holm ≤2e-05)`."""
    sign = "≤" if is_bound(comparison.p, comparison.samples) else "="
    text = f"p{sign}{comparison.p:.2g}"
    corrected = f"{comparison.p_corrected:.2g}"
    if corrected != f"{comparison.p:.2g}":
        name = CORRECTION_NAMES[comparison.correction]
        text += f" ({name} {sign.strip('=')}{corrected})"
    return text


def method_of(comparison: Comparison) -> str:
    """Names the test and the correction: `permutation test, Holm-corrected`."""
    test = _TESTS[comparison.test]
    if comparison.correction == comparison.test:  # Tukey's test needs no correction.
        return test
    return f"{test}, {CORRECTION_NAMES[comparison.correction]}-corrected"


def hypothesis_of(comparison: Comparison) -> str:
    """Returns what a small p speaks for, such as `above 0`; "" for any difference."""
    # A margin turns "above 0" into "above −margin": b is not worse by that much.
    margin = comparison.margin or 0
    if comparison.alternative == "greater":
        return f"above {0 - margin:g}"
    if comparison.alternative == "less":
        return f"below {margin:g}"
    return f"within ±{margin:g}" if margin else ""


def is_significant(comparison: Comparison) -> bool:
    """Whether the corrected p is at most 1 − level."""
    return comparison.p_corrected <= 1 - comparison.level


def is_bound(p: float, samples: int) -> bool:
    """Whether p is the smallest value that random samples can give."""
    # p is a whole number over 1 + samples, and 1 is the smallest one.
    return samples > 0 and p * (1 + samples) < 1.5
