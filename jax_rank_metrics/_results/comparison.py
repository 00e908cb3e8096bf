"""The result of a comparison, as numbers and as text."""

import dataclasses

from jax_rank_metrics._results.export import count_text, json_number


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """The difference between a baseline a and a system b over the same lists.

    Attributes:
        difference: The weighted mean of b − a.
        low: The lower end of an interval of the difference, at `level`.
        high: The upper end.
        p: The probability of a difference of this size or more, in either direction, if
            it made no difference which system is which. Its smallest value,
            1 / (1 + `samples`), is an upper bound, and is printed as `p≤`.
        p_holm: p corrected for the number of comparisons in the call (Holm 1979): if all
            differences with a corrected p below 0.05 are called real, any of them is
            false in 5 % of calls at most.
        effect_size: Cohen's d of paired differences: their mean over their standard
            deviation, both weighted. NaN for fewer than two lists.
        wins: Number of lists in which b is better; None for a metric such as
            `num_retrieved`, of which neither direction is better.
        ties: Number of lists in which both are equal up to rounding.
        losses: Number of lists in which a is better, or None.
        lists: Number of lists that counted.
        n_eff: Effective number of lists, (Σ weight)² / Σ weight² (Kish 1965): `lists`
            where all weights are equal, and fewer otherwise.
        test: The test that p is from.
        samples: Number of random permutations or resamples that p is from; 0 where
            all permutations were used, and for "t".
        level: The probability with which the interval should cover the difference.
        lower_is_better: Whether b is better where b − a is below 0; None as for `wins`.
    """

    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    effect_size: float
    wins: int | None
    ties: int
    losses: int | None
    lists: int
    n_eff: float
    test: str
    samples: int
    level: float
    lower_is_better: bool | None

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Returns the attributes for JSON, with None for numbers that are not finite."""
        return {
            name: json_number(value) for name, value in dataclasses.asdict(self).items()
        }

    def __repr__(self) -> str:
        """The difference, its interval, p, and the numbers of lists."""
        counts = [count_text(self.ties, "tie")]
        if self.wins is not None and self.losses is not None:
            wins = count_text(self.wins, "win")
            losses = count_text(self.losses, "loss", "es")
            counts = [f"{wins} {counts[0]} {losses}"]
        counts.append(count_text(self.lists, "list"))
        # Equal weights give the number of lists but for rounding.
        if self.n_eff < 0.995 * self.lists:
            counts.append(f"n_eff {self.n_eff:.3g}")
        if self.lower_is_better:
            counts.append("lower is better")
        difference, low, high = (
            x + 0.0 for x in (self.difference, self.low, self.high)
        )
        return (
            f"Comparison({difference:+.3g} [{low:.3g}, {high:.3g}], "
            f"{p_text(self)}, {', '.join(counts)})"
        )


def p_text(comparison: Comparison) -> str:
    """p, and the corrected p if it differs: `p=0.012`, or `p≤1e-05 (Holm ≤2e-05)`."""
    sign = "≤" if is_bound(comparison.p, comparison.samples) else "="
    text = f"p{sign}{comparison.p:.2g}"
    if comparison.p_holm != comparison.p:
        text += f" (Holm {sign.strip('=')}{comparison.p_holm:.2g})"
    return text


def is_bound(p: float, samples: int) -> bool:
    """Whether p is the smallest value that random samples can give."""
    return samples > 0 and p * (1 + samples) < 1.5
