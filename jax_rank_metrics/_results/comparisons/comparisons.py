"""The sequence of comparisons that `compare` returns, found by what they compare."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import overload

from jax_rank_metrics._results.comparisons.comparison import (
    Comparison,
    hypothesis_of,
    is_bound,
    method_of,
)
from jax_rank_metrics._results.inference.question import Names
from jax_rank_metrics._results.sheets import layouts
from jax_rank_metrics._results.sheets.export import count_text, fixed_point
from jax_rank_metrics._results.sheets.sheet import Cell, Sheet, number_with_interval
from jax_rank_metrics._results.systems.values import listing
from jax_rank_metrics._states.cutoff_names import without_cutoff


class Comparisons(Sequence[Comparison]):
    """The comparisons of a call of `compare`: one for each task, system, metric and cutoff.

    It is a sequence, in the order of systems, then of tasks and metrics, then of cutoffs;
    and it prints as the table that `table` makes of it.

    >>> from jax_rank_metrics import compare
    >>> old = {"mrr": [0.2, 0.5, 0.5, 0.1], "recall@1,5": [[0, 1], [0, 1], [1, 1], [0, 0]]}
    >>> new = {"mrr": [0.4, 0.6, 0.5, 0.4], "recall@1,5": [[0, 1], [1, 1], [1, 1], [0, 1]]}
    >>> comparisons = compare(old, {"new": new, "odd": old})
    >>> len(comparisons), comparisons[0].system, comparisons[0].metric
    (6, 'new', 'mrr')
    >>> comparisons.select(system="new")["recall@5"].wins
    1
    >>> [x.cutoff for x in comparisons.select(system="odd", metric="recall")]
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

        A name is that of a metric, with its cutoff or without, a system, or a task.

        Raises:
            KeyError: if no comparison has the name, or several have.
        """
        if isinstance(index, slice):
            return Comparisons(self._comparisons[index])
        if not isinstance(index, str):
            return self._comparisons[index]
        # "recall" finds "recall@5", if that is the only cutoff.
        matches = [x for x in self if index in (x.task, x.system, *_metric_names(x))]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise KeyError(f"{index!r} names no comparison; there are {_listing(self)}")
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
        """Whether both hold equal comparisons in one order."""
        if not isinstance(other, Comparisons):
            return NotImplemented
        return self._comparisons == other._comparisons

    # Equal by value, and so without a hash, as lists are.
    __hash__ = None  # type: ignore[assignment]

    @property
    def only(self) -> Comparison:
        """The single comparison that there is.

        Raises:
            ValueError: if there are several, or none.
        """
        if len(self) == 1:
            return self._comparisons[0]
        raise ValueError(
            f"there are {len(self)} comparisons, {_listing(self)}; select one by task=, "
            "system=, metric= and cutoff="
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
        """Returns the comparisons that have all of these names, which may be none.

        Args:
            task: The key of the task; None is any.
            system: The name of the compared system; None is any.
            metric: The name of the metric, with its cutoff or without; None is any.
            cutoff: The cutoff, such as 10; None is any.
            baseline: The name of the system it is compared with, where all systems came in
                one dict; None is any.
        """
        return Comparisons(
            x
            for x in self
            # None was not asked for, and fits whatever the comparison is of.
            if task in (None, x.task)
            and system in (None, x.system)
            and baseline in (None, x.baseline)
            and metric in (None, *_metric_names(x))
            and cutoff in (None, x.cutoff)
        )

    @property
    def are_of_pairs(self) -> bool:
        """Whether systems are compared with several baselines, as all pairs are."""
        return len({x.baseline for x in self}) > 1

    def name_fields(self) -> list[str]:
        """The fields of names that any comparison has, but for cutoffs, in order.

        The only baseline is not among them.
        """
        return [
            field
            for field in Names._fields
            if any(getattr(x, field) is not None for x in self)
            and field != "cutoff"
            and (field != "baseline" or self.are_of_pairs)
        ]

    def sheet(self, digits: int) -> Sheet:
        """Returns the contents of a table with a row for each comparison.

        Args:
            digits: Number of digits of the differences after the point.
        """
        columns = _columns(self, digits)
        fields = self.name_fields()
        return Sheet(
            fields,
            [("", heading) for heading in columns],
            [[_text(getattr(x, field)) for field in fields] for x in self],
            [[cell(x) for cell in columns.values()] for x in self],
            _note(self),
            "",
            [x.to_dict() for x in self],
        )

    def __repr__(self) -> str:
        """A table with a row for each comparison."""
        return layouts.as_text(self.sheet(3).on_one_line()) if self else "Comparisons()"

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        return layouts.as_html(self.sheet(3).on_one_line()) if self else "Comparisons()"


def comparisons_in(results: object) -> Comparisons | None:
    """Returns comparisons, a single one too, as `Comparisons`; None for anything else."""
    if isinstance(results, Comparison):
        return Comparisons([results])
    return results if isinstance(results, Comparisons) else None


def _metric_names(x: Comparison) -> tuple[str, ...]:
    """The names of the metric: `("recall@5", "recall")`."""
    return () if x.metric is None else (x.metric, without_cutoff(x.metric))


def _listing(comparisons: Iterable[Comparison]) -> str:
    """Lists what is compared: `'new' recall@5`."""
    names = [
        " ".join(
            _text(name)
            for name in (x.task, x.baseline, x.system, x.metric)
            if name is not None
        )
        for x in comparisons
    ]
    return listing(names) or "none"


def _text(name: Hashable) -> str:
    return "" if name is None else str(name)


def _columns(
    comparisons: Sequence[Comparison], digits: int
) -> dict[str, Callable[[Comparison], Cell | None]]:
    """The cells of each column by its heading, without columns that would say nothing."""

    def difference(x: Comparison) -> Cell:
        return number_with_interval(x.difference, x.low, x.high, digits, "+")

    def better_run(x: Comparison) -> Cell | None:
        if x.seeds is None or x.seeds.b_beats_a is None:
            return None
        share, low, high = x.seeds.b_beats_a
        return number_with_interval(share, low, high, 2)

    def count(field: str) -> Callable[[Comparison], Cell | None]:
        def cell(x: Comparison) -> Cell | None:
            number = getattr(x, field)
            return None if number is None else Cell(f"{number:d}")

        return cell

    # A column that has one value in all rows stands in the note instead.
    columns: dict[str, Callable[[Comparison], Cell | None]] = {
        "difference": difference,
        "p": lambda x: Cell(p_number(x.p, x)),
    }
    if any(x.p_corrected != x.p for x in comparisons):
        columns["corrected p"] = lambda x: Cell(p_number(x.p_corrected, x))
    if any(x.seeds for x in comparisons):
        columns["P(better)"] = better_run
    columns["d"] = lambda x: Cell(fixed_point(x.effect_size, 2))
    if any(x.wins is not None for x in comparisons):
        columns |= {
            "wins": count("wins"),
            "ties": count("ties"),
            "losses": count("losses"),
        }
    else:
        # Without a direction, no list is a win or a loss.
        columns["ties"] = count("ties")
    if len({x.lists for x in comparisons}) > 1:
        columns["lists"] = count("lists")
    if any(x.judge for x in comparisons):
        columns["worth"] = lambda x: (
            x.judge and Cell(fixed_point(float(x.judge.worth), 1))
        )
    # Equal weights give the number of lists or clusters but for rounding.
    if any(x.n_eff < 0.995 * (x.clusters or x.lists) for x in comparisons):
        columns["n_eff"] = lambda x: Cell(fixed_point(x.n_eff, 1))
    return columns


def p_number(p: float, comparison: Comparison) -> str:
    """Writes a p value: `0.012`, `3.1e-04`, or `≤ 1e-05` where p is an upper bound."""
    if is_bound(comparison.p, comparison.samples):
        return f"≤ {p:.2g}"
    return f"{p:.3f}" if p >= 0.001 or p == 0 else f"{p:.1e}"


def _note(comparisons: Sequence[Comparison]) -> str:
    """Returns what all numbers have in common: the level, the test, the number of lists."""
    # The keys of a dict keep their order, and name what several comparisons share once.
    parts = {}
    for x in comparisons:
        hypothesis = hypothesis_of(x)
        question = f"; p asks whether it is {hypothesis}" if hypothesis else ""
        level = f"Difference with {100 * x.level:g} % interval"
        parts[f"{level}{question}; {method_of(x)}"] = None
    if len({x.lists for x in comparisons}) == 1:
        parts[count_text(comparisons[0].lists, "list")] = None
    judged = {x.judge.other_lists for x in comparisons if x.judge}
    if judged:
        numbers = " or ".join(map(str, sorted(judged)))
        parts[f"{numbers} of the judge alone, worth is in lists of people"] = None
    clusters = sorted({x.clusters for x in comparisons if x.clusters is not None})
    if clusters:
        parts[" or ".join(count_text(number, "cluster") for number in clusters)] = None
    seeds = dict.fromkeys(
        (x.seeds.seeds_a, x.seeds.seeds_b) for x in comparisons if x.seeds
    )
    for numbers in seeds:
        # b comes first, as in b − a; a side without `Seeds` is a single model.
        counts = " against ".join(str(number or 1) for number in numbers[::-1])
        parts[f"{counts} training seeds, P(better) is of a run of one seed"] = None
    return "; ".join([*parts, "d is Cohen's effect size"])
