"""The contents of a table of comparisons: differences, p values, wins and losses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._results.comparisons.comparison import (
    Comparison,
    hypothesis_of,
    is_bound,
)
from jax_rank_metrics._results.sheets.export import count_text, fixed_point
from jax_rank_metrics._results.sheets.sheet import Cell, Sheet, number_with_interval
from jax_rank_metrics._results.systems.values import is_metric_name
from jax_rank_metrics._results.tables.significance import method_of
from jax_rank_metrics._states.cutoff_names import cutoff_names

_Names = tuple[str, ...]


def holds_comparisons(results: Any) -> bool:
    """Whether `results` is a comparison, or dicts of them as `compare` returns them."""
    while isinstance(results, Mapping | tuple) and results:
        children = results.values() if isinstance(results, Mapping) else results
        results = next(iter(children))
    return isinstance(results, Comparison)


def sheet_of_comparisons(results: Any, digits: int) -> Sheet:
    """Returns the contents of a table with a row for each comparison.

    Args:
        results: A comparison, or dicts of them as `compare` returns them.
        digits: Number of digits of the differences after the point.
    """
    rows = list(rows_of(results))
    comparisons = [comparison for _, comparison in rows]
    headings = name_headings(results)
    columns = _columns(comparisons, digits)
    return Sheet(
        headings,
        [("", heading) for heading in columns],
        [names for names, _ in rows],
        [[cell(comparison) for cell in columns.values()] for comparison in comparisons],
        _note(comparisons),
        "",
        [
            {**dict(zip(headings, names, strict=True)), **comparison.to_dict()}
            for names, comparison in rows
        ],
    )


def rows_of(results: Any, names: _Names = ()) -> Iterator[tuple[_Names, Comparison]]:
    """Yields each comparison, with the names that lead to it; a pair of runs has two."""
    if isinstance(results, Mapping):
        for key, children in results.items():
            keys = key if isinstance(key, tuple) else (key,)
            yield from rows_of(children, (*names, *map(str, keys)))
    elif isinstance(results, tuple):
        *parents, name = names or ("",)
        for label, child in zip(cutoff_names(name, len(results)), results, strict=True):
            yield from rows_of(child, (*parents, label))
    elif isinstance(results, Comparison):
        yield names, results
    else:
        raise TypeError(
            f"results: beside comparisons, {'/'.join(names)} is {kind_of(results)}; pass "
            "the result of jrm.compare"
        )


def name_headings(results: Any) -> list[str]:
    """The headings of the names that lead to a comparison."""
    keys = []
    while isinstance(results, Mapping):
        key, results = next(iter(results.items()))
        keys.append(key)
    if isinstance(results, tuple) and not keys:
        return ["cutoff"]
    are_pairs = [isinstance(key, tuple) for key in keys]
    known = (
        ["collection", "metric"] if any(are_pairs) else ["collection", "run", "metric"]
    )
    if len(keys) == 1 and not is_metric_name(keys[0]):
        known = ["run"]
    single_count = are_pairs.count(False)
    levels = [f"level {index + 1}" for index in range(single_count - len(known))]
    singles = iter((levels + known)[-single_count:])
    return [
        heading
        for is_pair in are_pairs
        for heading in (("baseline", "run") if is_pair else (next(singles),))
    ]


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
        columns["ties"] = count("ties")
    if len({x.lists for x in comparisons}) > 1:
        columns["lists"] = count("lists")
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
    parts = {}
    for x in comparisons:
        hypothesis = hypothesis_of(x)
        question = f"; p asks whether it is {hypothesis}" if hypothesis else ""
        level = f"Difference with {100 * x.level:g} % interval"
        parts[f"{level}{question}; {method_of(x)}"] = None
    if len({x.lists for x in comparisons}) == 1:
        parts[count_text(comparisons[0].lists, "list")] = None
    clusters = sorted({x.clusters for x in comparisons if x.clusters is not None})
    if clusters:
        parts[" or ".join(count_text(number, "cluster") for number in clusters)] = None
    seeds = {(x.seeds.seeds_a, x.seeds.seeds_b) for x in comparisons if x.seeds}
    for numbers in seeds:
        counts = " against ".join(str(number or 1) for number in numbers[::-1])
        parts[f"{counts} training seeds, P(better) is of a run of one seed"] = None
    return "; ".join([*parts, "d is Cohen's effect size"])
