"""Two systems or more: how large a difference is, and whether it may be chance."""

import dataclasses
from typing import Any

import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._results import chance, pairing
from jax_rank_metrics._results.export import json_number
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._types import ComparisonTest, Key, Number, Undefined


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """A baseline a beside a system b, over lists that both have; see `compare`.

    Attributes:
        difference: The weighted mean of b − a: above 0, b is better.
        low: The lower end of an interval of the difference, at `level`.
        high: The upper end.
        p: How likely a difference of this size or more is, to either side, if it makes
            none which system is which.
        p_holm: The same, corrected for the number of comparisons in the call (Holm 1979):
            calling real all that are below 0.05 is wrong about any of them in 5 % of
            calls at most.
        effect_size: Cohen's d of paired differences: their mean over their standard
            deviation, both weighted. NaN for fewer than two lists.
        wins: Lists in which b is better.
        ties: Lists in which both are equal, but for rounding.
        losses: Lists in which a is better.
        lists: How many lists counted.
        test: How p was computed.
        level: The probability that the interval should cover.
    """

    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    lists: int
    test: str
    level: float

    def to_dict(self) -> dict[str, float | int | str | None]:
        """The attributes by name, fit for json: None stands for what is not finite."""
        return {
            name: json_number(value) for name, value in dataclasses.asdict(self).items()
        }

    def __repr__(self) -> str:
        """The difference, its interval, p, and of how many lists."""
        holm = "" if self.p_holm == self.p else f" (Holm {self.p_holm:.2g})"
        return (
            f"Comparison({self.difference:+.3g} [{self.low:.3g}, {self.high:.3g}], "
            f"p={self.p:.2g}{holm}, {self.wins} wins {self.ties} ties "
            f"{self.losses} losses, {self.lists} lists)"
        )


def compare(
    a: Any,
    b: Any,
    *,
    ids: tuple[Any, Any] | None = None,
    test: ComparisonTest = "permutation",
    samples: int = 100_000,
    level: Number = 0.95,
    key: Key | None = None,
    undefined: Undefined = "zero",
) -> Any:
    """Whether b differs from a, list by list: by b − a, which is above 0 where b is better.

    Two intervals that overlap are no test. Each tells how a system's mean would vary over
    other lists; but the lists are the same, and one that is hard for a is hard for b.
    Their differences vary less than either, so systems whose intervals overlap may well
    differ beyond doubt. What counts is the interval of the difference, which is here.

    "permutation" is the test to prefer (Fisher's randomisation test, on the mean): it
    supposes nothing but that a and b might have been swapped in each list. "bootstrap"
    supposes that the lists are a sample of many, and agrees with it above some 50 lists.
    "t" also supposes that the mean of differences is normally distributed, and takes no
    time. Smucker et al. find the three nearly alike on 50 lists, and the sign and the
    Wilcoxon tests, which are not here, to say otherwise of the mean too often. Look at the
    size of a difference before its p: of many lists, any difference is significant.

    Runs as it is called, not inside `jax.jit`, where `paired` and `bootstrap` do. 100,000
    permutations of 10,000 lists take about a second on two cores, as many resamples for
    "bootstrap" about seven. Both need some 10 MiB, and 4 bytes (32 for the bootstrap) for
    each sample and comparison.

    Args:
        a: The baseline: a `PerList`, an array `[lists]` or `[lists, cutoffs]` of values,
            or a dict of these, as `measure` gives, or of dicts.
        b: The same of another system; or a dict of systems, each with what a holds.
        ids: How lists are paired: None by position, or `(ids_a, ids_b)`, an id for every
            list, integers or strings or anything hashable, in any order. The ids of b are
            those of all its systems.
        test: "permutation", "bootstrap" or "t".
        samples: How many permutations or resamples. All 2ⁿ permutations are taken instead
            where they are no more than this, n being the lists in which anything differs.
        level: The probability that the interval should cover, in (0, 1). It is one of
            Student's t, and of percentiles with "bootstrap".
        key: A PRNG key. None is `jax.random.key(0)`, so that a p value is the same in
            every run.
        undefined: What a value counts for where the metric is undefined: "zero", "one",
            or "skip", which keeps the lists in which both are defined.

    Returns:
        A `Comparison` for every metric of every system, in dicts as those of b; where
        there are several cutoffs, a tuple of them. p is `#{|t*| ≥ |t|}` over all
        permutations, or `(1 + #{|t*| ≥ |t|}) / (1 + samples)`, t being the mean difference:
        with its sign flipped in random lists, or of resampled lists and moved by −t.
        p is 1 where nothing differs, and for fewer than two lists. Lists without a weight
        above 0 do not count; where none does, the difference is 0, from −inf to inf.

    Raises:
        ValueError: if a and b hold other metrics or cutoffs; if their lists differ in
            number without ids, or in weights; if ids repeat or are missing on one side;
            if a value is NaN or infinite; if an option is none of those above.
        TypeError: if a or b is traced, or holds no per-list values.

    References:
        Smucker, Allan & Carterette, A comparison of statistical significance tests for
        information retrieval evaluation, CIKM 2007.
        Fisher, The design of experiments, 1935, section 21.
        Holm, A simple sequentially rejective multiple test procedure, 1979.
        Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006; Laboratory
        experiments in information retrieval, 2018 (effect sizes).
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.

    >>> a, b = [0.2, 0.5, 0.5, 0.1], [0.4, 0.6, 0.5, 0.4]
    >>> compare(a, b)
    Comparison(+0.15 [-0.0554, 0.355], p=0.25, 3 wins 1 ties 0 losses, 4 lists)
    >>> compare({"map": a}, {"larger": {"map": b}, "smaller": {"map": a}})["larger"]["map"]
    Comparison(+0.15 [-0.0554, 0.355], p=0.25 (Holm 0.5), 3 wins 1 ties 0 losses, 4 lists)
    """
    _inputs.option("test", test, ComparisonTest)
    _inputs.option("undefined", undefined, Undefined)
    samples, level = _inputs.count("samples", samples), checked_level(level)
    key = random.key(0) if key is None else _inputs.prng_key(key)
    pairs = pairing.pairs_of(a, b)
    numbers = [side.number for side in next(iter(pairs.values()))]
    order, names = pairing.orders(ids, *numbers)
    found = {
        path: pairing.differences(one, two, order, names, undefined)
        for path, (one, two) in pairs.items()
    }
    values = np.concatenate([one.values for one in found.values()], axis=1)
    weights = np.concatenate(
        [
            np.broadcast_to(one.weights[:, None], one.values.shape)
            for one in found.values()
        ],
        axis=1,
    )
    comparisons = iter(_compared(values, weights, test, samples, level, key))
    results: dict[pairing.Path, Any] = {}
    for path, one in found.items():
        each = tuple(next(comparisons) for _ in range(one.values.shape[1]))
        results[path] = each if one.several else each[0]
    return pairing.nested(results)


def _compared(
    values: np.ndarray,
    weights: np.ndarray,
    test: str,
    samples: int,
    level: float,
    key: Any,
) -> list[Comparison]:
    """A comparison for each column of differences and weights, `[lists, columns]`."""
    counts = weights > 0
    lists = counts.sum(0)
    total = np.where(lists > 0, weights.sum(0), 1)
    mean = (weights * values).sum(0) / total
    # The standard error of `Mean.std_error`.
    more = lists / np.maximum(lists - 1, 1)
    squares = np.where(counts, values - mean, 0) ** 2
    error = np.sqrt(more * (weights**2 * squares).sum(0)) / total
    spread = np.sqrt(more * (weights * squares).sum(0) / total)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(mean == 0, 0, mean / spread)
    effect = np.where(lists > 1, effect, np.nan)
    margin = [
        chance.student_margin(*one, level) for one in zip(error, lists, strict=True)
    ]
    low, high = mean - margin, mean + margin
    if test == "t":
        p = np.array([chance.student(*x) for x in zip(mean, error, lists, strict=True)])
    elif test == "permutation":
        p = chance.permuted(weights * values, key, samples)
    else:
        p = np.ones(len(mean))
        some = np.flatnonzero(lists > 1)
        if some.size:
            p[some], low[some], high[some] = chance.bootstrapped(
                values[:, some], weights[:, some], key, samples, level
            )
    columns = (mean, low, high, p, chance.holm(p), effect)
    columns += tuple(
        np.sum(counts & found, axis=0)
        for found in (values > 0, values == 0, values < 0)
    )
    return [
        Comparison(*row, test=test, level=level)
        for row in zip(*(x.tolist() for x in (*columns, lists)), strict=True)
    ]
