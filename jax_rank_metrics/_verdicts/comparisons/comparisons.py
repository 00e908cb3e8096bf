"""Comparisons as `compare` returns them, found by name, as numbers and as text."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from jax_rank_metrics._ground import inputs, optional
from jax_rank_metrics._names import cutoff_names
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.comparisons.lists import ListPairs
from jax_rank_metrics._verdicts.inference import judges
from jax_rank_metrics._verdicts.systems import list_values
from jax_rank_metrics._verdicts.systems.seeds import SeedSummary

if TYPE_CHECKING:
    import pandas as pd

# The fields of a `Comparison` that name its task, systems and metric.
NAME_FIELDS = ("task", "baseline", "system", "metric", "cutoff")
# If fewer lists differ, the repr shows their number, because so few say little.
FEW_LISTS = 10
# The labels that a corrected p has in texts.
CORRECTION_NAMES = {"holm": "Holm", "maxT": "maxT", "fdr": "FDR", "tukey": "Tukey"}

# The fields of `Comparison.judge` that `to_dict` keeps.
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
        p: The probability of a difference of this size or more if the two systems were
            interchangeable. It counts differences in either direction, or in the
            direction of `alternative`. With a `margin`, it is the probability of a
            difference that is as far within the margin, if the true b − a lay at the
            margin. Its smallest value, 1 / (1 + `samples`), is an upper bound of p, and
            is printed as `p≤`.
        p_corrected: p corrected for the number of comparisons in the call: if all
            differences with a corrected p below 0.05 are called real, at most 5 % of calls
            call a difference real that is not. With the correction "fdr", on average
            5 % of the differences that are called real are false.
        effect_size: Cohen's d of paired differences: the weighted mean of the
            differences over their weighted standard deviation; computed from clusters,
            if there are any. NaN for fewer than two lists.
        wins: Number of lists in which b is better; None if neither higher nor lower
            values of the metric are better, as for `num_retrieved`.
        ties: Number of lists in which a and b are equal up to rounding.
        losses: Number of lists in which a is better, or None.
        lists: Number of lists that counted.
        n_eff: Effective number of lists, (Σ weight)² / Σ weight² (Kish 1965): `lists` if
            all weights are equal, and fewer otherwise. With clusters, the effective number
            of clusters. For ratios that weigh lists differently, the smaller number of
            the two systems.
        test: The test that gave p.
        correction: How p was corrected: "holm", "maxT", "fdr", or "tukey" for the test
            "tukey", whose p is corrected already.
        alternative: The direction of p and of the interval: "two-sided", "greater" for
            b − a above 0, or "less".
        margin: The difference, in units of the metric, that p asks b − a to stay within;
            None if p asks whether there is any difference.
        samples: Number of random permutations or resamples that gave p; 0 if all
            permutations were used, and for "t" and "mcnemar".
        level: The probability with which the interval should cover the difference.
        lower_is_better: True if b is better when b − a is below 0; None if `wins` is
            None.
        clusters: Number of clusters into which the lists were joined; None if each list
            counts by itself.
        judge: The same difference, estimated by `prediction_powered`, with the judge's
            own mean, the judge's bias, and the number of lists of people that would be
            as informative (`worth`). `lists`, `wins` and `n_eff` are about the lists
            that people labelled. None without a judge.
        seeds: The scores of training seeds, if a or b is `Seeds`; see `SeedSummary`.
        undefined: Number of lists in which the metric is undefined, or a value missing,
            for a or for b, whatever value these lists count as.
        task: The key of the task, such as a collection; None without tasks.
        baseline: The name of a, if all systems came in one dict; None otherwise.
        system: The name of b, if systems have names; None otherwise.
        metric: The name of the metric with its cutoff, such as "recall@5"; None for values
            without a name.
        cutoff: The cutoff after the "@" of the metric's name: an int, or text such as "1%".
            If the name has no cutoffs but the values have, the index of the column. None
            without cutoffs.
        signature: The `Signature` of the metric, as evaluations have it; None if values
            have no signature, if the signatures of a and b differ, and if `undefined`
            was passed to `compare`. Not part of `to_dict`.
        values: The values of all lists, for `Comparisons.lists`; not part of `to_dict`.
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
    judge: judges.PredictionPowered | None = None
    seeds: SeedSummary | None = None
    undefined: int = 0
    task: Hashable = None
    baseline: Hashable = None
    system: Hashable = None
    metric: str | None = None
    cutoff: int | str | None = None
    signature: str | None = None
    values: ListPairs | None = dataclasses.field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes for JSON, with None for numbers that are not finite.

        The names come first. `seeds` and `judge` become dicts as well; `judge` keeps only
        `other_lists`, `judge_mean`, `judge_bias`, `tuning` and `worth`.
        """
        return {
            name: sheets.json_number(value) for name, value in record_of(self).items()
        }

    def __repr__(self) -> str:
        """The difference, its interval, p, and the numbers of lists."""
        counts = [sheets.count_text(self.ties, "tie")]
        if self.wins is not None and self.losses is not None:
            wins = sheets.count_text(self.wins, "win")
            losses = sheets.count_text(self.losses, "loss", "es")
            counts = [f"{wins} {counts[0]} {losses}"]
        # Without a direction we cannot count wins, only lists that do not tie.
        differing = self.lists - self.ties
        if self.wins is not None and self.losses is not None:
            differing = self.wins + self.losses
        if self.ties and differing < FEW_LISTS:
            counts.append(
                f"{differing} of {sheets.count_text(self.lists, 'list')} differ"
            )
        else:
            counts.append(sheets.count_text(self.lists, "list"))
        if self.undefined:
            counts.append(f"{self.undefined} undefined")
        if self.clusters is not None:
            counts.append(sheets.count_text(self.clusters, "cluster"))
        if self.judge is not None:
            counts += [f"{self.judge.other_lists} of the judge alone"]
            counts += [f"worth {self.judge.worth:.3g}"]
        # With equal weights, n_eff is this number up to rounding, so it need not be
        # shown.
        independent = self.lists if self.clusters is None else self.clusters
        if self.n_eff < 0.995 * independent:
            counts.append(f"n_eff {self.n_eff:.3g}")
        if self.lower_is_better:
            counts.append("lower is better")
        if hypothesis := hypothesis_of(self):
            counts.insert(0, f"p is for {hypothesis}")
        # Adding 0 turns −0 into 0, because −0 would be printed with its sign.
        difference, low, high = (
            number + 0.0 for number in (self.difference, self.low, self.high)
        )
        return (
            f"Comparison({difference:+.3g} [{low:.3g}, {high:.3g}], "
            f"{p_text(self)}, {', '.join(counts)})"
        )


def record_of(comparison: Comparison) -> dict[str, Any]:
    """Returns the attributes of `to_dict`, before NaN and infinity become None."""
    fields = dataclasses.asdict(dataclasses.replace(comparison, values=None))
    del fields["values"], fields["signature"]
    if comparison.judge is not None:
        fields["judge"] = {name: fields["judge"][name] for name in _JUDGE_FIELDS}
    return {name: fields.pop(name) for name in NAME_FIELDS} | fields


def p_text(comparison: Comparison) -> str:
    """Writes p, and the corrected p if it differs: `p=0.012`, `p≤1e-05 (Holm ≤2e-05)`."""
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
    """Returns what a small p supports, such as `above 0`; "" for any difference."""
    # A margin turns "above 0" into "above −margin": b is not worse by that much.
    margin = comparison.margin or 0
    if comparison.alternative == "greater":
        return f"above {0 - margin:g}"
    if comparison.alternative == "less":
        return f"below {margin:g}"
    return f"within ±{margin:g}" if margin else ""


def is_significant(comparison: Comparison) -> bool:
    """True if the corrected p is at most 1 − level."""
    return comparison.p_corrected <= 1 - comparison.level


def is_bound(p: float, samples: int) -> bool:
    """True if p is the smallest value that random samples can give."""
    # p is a whole number over 1 + samples, and the smallest such number is 1.
    return samples > 0 and p * (1 + samples) < 1.5


class Comparisons(Sequence[Comparison]):
    """The comparisons of a call of `compare`: a sequence that names can select from.

    There is one for each task, system, metric and cutoff, in the order of systems, then
    of tasks and metrics, then of cutoffs. `Comparisons` prints as the table that
    `table` makes of it.

    >>> from jax_rank_metrics import compare
    >>> old = {"mrr": [0.2, 0.5, 0.5, 0.1], "recall@1,5": [[0, 1], [0, 1], [1, 1], [0, 0]]}
    >>> new = {"mrr": [0.4, 0.6, 0.5, 0.4], "recall@1,5": [[0, 1], [1, 1], [1, 1], [0, 1]]}
    >>> comparisons = compare(old, {"new": new, "odd": old})
    >>> len(comparisons), comparisons[0].system, comparisons[0].metric
    (6, 'new', 'mrr')
    >>> comparisons.select(system="new")["recall@5"].wins
    1
    >>> [row.cutoff for row in comparisons.select(system="odd", metric="recall")]
    [1, 5]
    """

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = tuple(comparisons)

    @overload
    def __getitem__(self, index: int | str) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> "Comparisons": ...
    def __getitem__(self, index: int | str | slice) -> "Comparison | Comparisons":
        """Returns the comparison at an index, or the only one that has a name.

        The name may be the name of a metric, with its cutoff or without, of a system or
        of a task.

        Raises:
            KeyError: if no comparison has the name, or several comparisons have it.
        """
        if isinstance(index, slice):
            return Comparisons(self._comparisons[index])
        if inputs.is_integer(index):
            return self._comparisons[index]
        # "recall" finds "recall@5", if that is the only cutoff.
        names = [(row.task, row.system, *_metric_names(row.metric)) for row in self]
        matches = [
            row
            for row, keys in zip(self, names, strict=True)
            if index is not None and index in keys
        ]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            known = dict.fromkeys(
                key for keys in names for key in keys if isinstance(key, str)
            )
            raise KeyError(
                f"{index!r} names no comparison; pass one of the names "
                f"{list_values.listing([*known])}"
            )
        raise KeyError(
            f"{index!r} names {len(matches)} comparisons, {_listing(matches)}; select one "
            "by task=, system=, metric= and cutoff="
        )

    def __len__(self) -> int:
        """Returns the number of comparisons."""
        return len(self._comparisons)

    def __iter__(self) -> Iterator[Comparison]:
        """Yields the comparisons."""
        return iter(self._comparisons)

    def __eq__(self, other: object) -> bool:
        """True if both hold equal comparisons in the same order."""
        if not isinstance(other, Comparisons):
            return NotImplemented
        return self._comparisons == other._comparisons

    # Comparisons are equal by value, so they have no hash, like Python's lists.
    __hash__ = None  # type: ignore[assignment]

    @property
    def only(self) -> Comparison:
        """The only comparison.

        Raises:
            ValueError: if there are several, or none.
        """
        if len(self) == 1:
            return self._comparisons[0]
        found, how = f"{len(self)} comparisons, {_listing(self)}", "one by"
        if not self._comparisons:
            found, how = "no comparisons", "by fewer of"
        raise ValueError(
            f"there are {found}; select {how} task=, system=, metric= and cutoff="
        )

    def select(
        self,
        *,
        task: Hashable = None,
        system: Hashable = None,
        metric: str | None = None,
        cutoff: int | str | None = None,
        baseline: Hashable = None,
    ) -> "Comparisons":
        """Returns the comparisons that have all of these names; there may be none.

        Args:
            task: The key of the task; None is any.
            system: The name of the compared system; None is any.
            metric: The name of the metric, with its cutoff or without; None is any.
            cutoff: The cutoff, such as 10; None is any.
            baseline: The name of the baseline, if all systems came in one dict; None is
                any.
        """
        return Comparisons(
            comparison
            for comparison in self
            # An argument that is None was not passed, so it fits every comparison.
            if task in (None, comparison.task)
            and system in (None, comparison.system)
            and baseline in (None, comparison.baseline)
            and metric in (None, *_metric_names(comparison.metric))
            and cutoff in (None, comparison.cutoff)
        )

    def lists(
        self,
        documents: Mapping[Any, Any] | None = None,
        relevance_threshold: float | None = None,
    ) -> "pd.DataFrame":
        """Returns a pandas frame of the lists of each comparison, worst first.

        The frame shows which lists made the difference, and with `documents` also why.

        Args:
            documents: The result of `join` for each system, by its name; systems must have
                come in one dict. If values have no ids, their lists must be all queries of
                the documents, in order.
            relevance_threshold: The lowest relevance of documents; None is any above 0.

        Returns:
            A row for each comparison and each list that counts in it, with the names of
            the comparison, "list", the values "a" and "b", their "difference" b − a,
            and "weight". Lists that pulled b down most come first, and lists that
            lifted b most come last. With documents, "missed" holds
            `(id, rank_a, rank_b)` of the relevant documents that b ranks lower than a
            does, and "gained" holds the same for documents that b ranks higher. A rank
            is None if the document was not retrieved. If the document ties, its rank is
            the mean rank of its tie group, or `(first, last)` if the tie group lies on
            both sides of the cutoff; then the share of the group within the cutoff
            counts. Documents that both rank below the cutoff are left out.

        Raises:
            KeyError: if documents lack a system or a list.
            ValueError: if values without ids have fewer or more lists than documents.
            ModuleNotFoundError: if pandas is not installed.

        >>> from jax_rank_metrics import compare, join
        >>> qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
        >>> old = join(qrels, {"q1": {"x": 2, "y": 1}, "q2": {"x": 2, "y": 1}})
        >>> new = join(qrels, {"q1": {"y": 2, "z": 1}, "q2": {"x": 2, "y": 1}})
        >>> runs = {"old": old, "new": new}
        >>> comparisons = compare({key: run.measure("mrr@2") for key, run in runs.items()})
        >>> frame = comparisons.lists(runs)
        >>> print(frame[["list", "a", "b", "missed"]].to_string(index=False))
        list   a   b           missed
          q1 1.0 0.0 [(x, 1.0, None)]
          q2 0.5 0.5               []
        """
        pandas = optional.import_optional("pandas", "Comparisons.lists", "frames")
        return pandas.DataFrame(self.list_rows(documents, relevance_threshold))

    def list_rows(
        self, documents: Mapping[Any, Any] | None, relevance_threshold: float | None
    ) -> list[dict[str, Any]]:
        """Returns the rows of `lists` without pandas."""
        rows: list[dict[str, Any]] = []
        for comparison in self:
            names = {field: getattr(comparison, field) for field in self.name_fields()}
            if pairs := comparison.values:
                pair_rows = pairs.rows(comparison, documents, relevance_threshold)
                rows += [names | row for row in pair_rows]
        return rows

    @property
    def are_of_pairs(self) -> bool:
        """True if there are several baselines, as when all pairs are compared."""
        return len({comparison.baseline for comparison in self}) > 1

    def name_fields(self) -> list[str]:
        """Returns the `NAME_FIELDS` that a table shows, in order.

        A field is left out if no comparison has such a name, and "baseline" if all
        comparisons share it. "cutoff" is always left out, because the name of the
        metric contains it.
        """
        return [
            field
            for field in NAME_FIELDS
            if any(getattr(comparison, field) is not None for comparison in self)
            and field != "cutoff"
            and (field != "baseline" or self.are_of_pairs)
        ]

    def sheet(self, digits: int) -> sheets.Sheet:
        """Returns the contents of a table with a row for each comparison.

        Args:
            digits: Number of digits of the differences after the point.
        """
        columns = _columns(self, digits)
        fields = self.name_fields()
        return sheets.Sheet(
            fields,
            [("", heading) for heading in columns],
            [[_text(getattr(row, field)) for field in fields] for row in self],
            [[cell(row) for cell in columns.values()] for row in self],
            _note(self),
            "",
            [row.to_dict() for row in self],
        )

    def __repr__(self) -> str:
        """Returns a table with a row for each comparison."""
        return sheets.as_text(self.sheet(3).on_one_line()) if self else "Comparisons()"

    def _repr_html_(self) -> str:
        """Returns the table for a notebook, as HTML."""
        return sheets.as_html(self.sheet(3).on_one_line()) if self else "Comparisons()"


def comparisons_in(results: object) -> Comparisons | None:
    """Returns one or several comparisons as `Comparisons`; None for anything else."""
    if isinstance(results, Comparison):
        return Comparisons([results])
    return results if isinstance(results, Comparisons) else None


def _metric_names(metric: str | None) -> tuple[str, ...]:
    """Returns the names that find a metric: `("recall@5", "recall")`."""
    return () if metric is None else (metric, cutoff_names.without_cutoff(metric))


def _listing(comparisons: Iterable[Comparison]) -> str:
    """Returns the names of comparisons for a message: `'new recall@5', 'new mrr'`."""
    names = [
        " ".join(
            _text(name)
            for name in (row.task, row.baseline, row.system, row.metric)
            if name is not None
        )
        for row in comparisons
    ]
    return list_values.listing(names) or "none"


def _text(name: Hashable) -> str:
    return "" if name is None else str(name)


def _columns(
    comparisons: Sequence[Comparison], digits: int
) -> dict[str, Callable[[Comparison], sheets.Cell | None]]:
    """Returns a dict from headings to functions that make the cells of the column.

    Columns that would say nothing are left out.
    """

    def difference(row: Comparison) -> sheets.Cell:
        ends = row.low, row.high
        return sheets.number_with_interval(row.difference, *ends, digits, "+")

    def better_run(row: Comparison) -> sheets.Cell | None:
        if row.seeds is None or row.seeds.b_beats_a is None:
            return None
        return sheets.number_with_interval(*row.seeds.b_beats_a, 2)

    def count(field: str) -> Callable[[Comparison], sheets.Cell | None]:
        def cell(row: Comparison) -> sheets.Cell | None:
            number = getattr(row, field)
            return None if number is None else sheets.Cell(f"{number:d}")

        return cell

    # If all rows have the same number of lists, the note says it instead of a column.
    columns: dict[str, Callable[[Comparison], sheets.Cell | None]] = {
        "difference": difference,
        "p": lambda row: sheets.Cell(p_number(row.p, row)),
    }
    if any(row.p_corrected != row.p for row in comparisons):
        columns["corrected p"] = lambda row: sheets.Cell(p_number(row.p_corrected, row))
    if any(row.seeds for row in comparisons):
        columns["P(better)"] = better_run
    columns["d"] = lambda row: sheets.Cell(sheets.fixed_point(row.effect_size, 2))
    if any(row.wins is not None for row in comparisons):
        columns |= {
            "wins": count("wins"),
            "ties": count("ties"),
            "losses": count("losses"),
        }
    else:
        # Without a direction, no list is a win or a loss.
        columns["ties"] = count("ties")
    if len({row.lists for row in comparisons}) > 1:
        columns["lists"] = count("lists")
    if any(row.judge for row in comparisons):
        columns["worth"] = lambda row: (
            row.judge and sheets.Cell(sheets.fixed_point(float(row.judge.worth), 1))
        )
    # With equal weights, n_eff is the number of lists or clusters up to rounding.
    if any(row.n_eff < 0.995 * (row.clusters or row.lists) for row in comparisons):
        columns["n_eff"] = lambda row: sheets.Cell(sheets.fixed_point(row.n_eff, 1))
    return columns


def p_number(p: float, comparison: Comparison) -> str:
    """Writes a p value: `0.012`, `3.1e-04`, or `≤ 1e-05` if p is an upper bound."""
    if is_bound(comparison.p, comparison.samples):
        return f"≤ {p:.2g}"
    return f"{p:.3f}" if p >= 0.001 or p == 0 else f"{p:.1e}"


def _note(comparisons: Sequence[Comparison]) -> str:
    """Returns facts about the whole table: the level, the test, the number of lists."""
    # Keys of a dict keep their order, and a text that several comparisons share is one key.
    parts = {}
    for comparison in comparisons:
        hypothesis = hypothesis_of(comparison)
        question = f"; p asks whether it is {hypothesis}" if hypothesis else ""
        level = f"Difference with {100 * comparison.level:g} % interval"
        parts[f"{level}{question}; {method_of(comparison)}"] = None
    if len({row.lists for row in comparisons}) == 1:
        parts[sheets.count_text(comparisons[0].lists, "list")] = None
    if any(undefined := [row.undefined for row in comparisons]):
        ends = dict.fromkeys([min(undefined), max(undefined)])
        parts[f"{' to '.join(map(str, ends))} undefined"] = None
    judged = {row.judge.other_lists for row in comparisons if row.judge}
    if judged:
        numbers = " or ".join(map(str, sorted(judged)))
        parts[f"{numbers} of the judge alone, worth is in lists of people"] = None
    clusters = sorted({row.clusters for row in comparisons if row.clusters is not None})
    if clusters:
        text = " or ".join(sheets.count_text(number, "cluster") for number in clusters)
        parts[text] = None
    seeds = dict.fromkeys(
        (row.seeds.seeds_a, row.seeds.seeds_b) for row in comparisons if row.seeds
    )
    for numbers in seeds:
        # b comes first, as in b − a; a side without `Seeds` is a single model.
        counts = " against ".join(str(number or 1) for number in numbers[::-1])
        parts[f"{counts} training seeds, P(better) is of a run of one seed"] = None
    return "; ".join([*parts, "d is Cohen's effect size"])
