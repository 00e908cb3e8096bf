"""The options of a comparison, and what they have to do with each other."""

from collections.abc import Hashable
from typing import NamedTuple

import jax

from jax_rank_metrics._choices import Alternative, ComparisonTest, Correction


class Question(NamedTuple):
    """The options of a call of `compare`, which hold for all of its comparisons."""

    key: jax.Array
    samples: int
    level: float
    test: ComparisonTest = "permutation"
    correction: Correction = "holm"
    alternative: Alternative = "two-sided"
    margin: float | None = None
    mid_p: bool = False

    def check(self) -> None:
        """Raises ValueError if an option has no meaning beside another."""
        of_pairs = ("permutation", "bootstrap", "t", "mcnemar")
        # What was passed, and the tests that know it.
        options = {
            "correction='maxT'": (self.correction == "maxT", ("permutation",)),
            "correction='fdr'": (self.correction == "fdr", of_pairs),
            "mid_p": (self.mid_p, ("permutation", "mcnemar")),
            "margin": (self.margin, ("permutation", "bootstrap", "t")),
            f"alternative={self.alternative!r}": (
                self.alternative != "two-sided",
                of_pairs,
            ),
        }
        for option, (is_passed, tests) in options.items():
            if is_passed and self.test not in tests:
                raise ValueError(
                    f"test is {self.test!r}, which has no {option}; pass the test "
                    f"{' or '.join(map(repr, tests))}, or leave it out"
                )
        if (
            self.correction == "maxT"
            and self.margin
            and self.alternative == "two-sided"
        ):
            raise ValueError(
                "correction is 'maxT', which takes no margin of two sides; pass 'holm', or "
                "the alternative 'greater' or 'less'"
            )

    def hypotheses(self) -> list[tuple[float, Alternative]]:
        """Lists what is to be refuted: a shift of differences, and the side that refutes.

        Equivalence refutes two hypotheses, and its p is the larger of the two.
        """
        if self.margin is None:
            return [(0.0, self.alternative)]
        # That b − a is above −margin is shown by differences b − a + margin above 0.
        sides: list[tuple[float, Alternative]] = [
            (self.margin, "greater"),
            (-self.margin, "less"),
        ]
        return [side for side in sides if self.alternative in ("two-sided", side[1])]


class Names(NamedTuple):
    """The names of what is compared; see `Comparison`."""

    task: Hashable = None
    baseline: Hashable = None
    system: Hashable = None
    metric: str | None = None
    cutoff: int | str | None = None


class Subject(NamedTuple):
    """The systems, the metric and the family of a comparison."""

    direction: bool | None  # whether lower values are better; see `Comparison`
    systems: tuple[int, int] = (0, 1)
    metric: int = 0  # the number of the metric and the cutoff
    in_family: bool = True
    names: Names = Names()
