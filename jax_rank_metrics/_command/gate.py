"""`jax-rank-metrics gate`: a run against a baseline, with a verdict as the exit code."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax_rank_metrics._command import measuring, report, request
from jax_rank_metrics._command.arguments import CommandOptions, write_out
from jax_rank_metrics._names import directions
from jax_rank_metrics._results import sheet
from jax_rank_metrics._results.comparisons import power
from jax_rank_metrics._results.comparisons.compare import compare
from jax_rank_metrics._results.comparisons.comparisons import Comparisons
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList

# Verdicts by their exit codes; 2 is that of a wrong call.
NOT_WORSE, WORSE, UNDECIDED = 0, 1, 3
VERDICTS = {NOT_WORSE: "not worse", WORSE: "worse", UNDECIDED: "cannot tell"}
POWER = 0.9  # of the margin and the number of queries that a report names
MAX_QUERIES, MAX_DOCUMENTS = 10, 3  # of each metric and of each query, in tables
NUMBERS = (
    "baseline candidate difference low high queries power detectable needed".split()
)
NOTE = (
    "Bounds are one-sided, at {:.4g} %; power is the share of equal runs that pass, "
    "90 % at the detectable margin and with the queries needed"
)
MOVES = "Queries that decided; missed: relevant documents that fell, gained: that rose"


def verdicts(bounds: Callable[[Any], Any], margin: float, alpha: float) -> np.ndarray:
    """Returns the exit code of each metric, `[metrics, …]`.

    A metric is not worse if its lower bound lies above −margin: all have to pass, and
    each shows it by itself. It is worse if its upper bound lies below −margin: as any
    such metric fails the run, Holm's method holds the probability of a false one.

    Args:
        bounds: The lower and the upper bound of differences, `[metrics, …]`, each of which
            errs with the probability passed, `[]` or `[…]`; above 0 is better.
        margin: The largest loss that may pass.
        alpha: The probability of a false verdict.
    """
    low, _ = bounds(alpha)
    is_worse = np.zeros(np.shape(low), bool)
    for _ in low:  # Metrics that are not refuted yet share alpha.
        is_worse = bounds(alpha / np.maximum((~is_worse).sum(0), 1))[1] < -margin
    return np.where(is_worse, WORSE, np.where(low > -margin, NOT_WORSE, UNDECIDED))


def gate(options: CommandOptions) -> int:
    """Measures a candidate and its baseline, prints the verdict, and returns its code.

    Raises:
        ValueError: as `measuring.evaluate`; if there is no margin, with those that these
            queries can tell; for a metric without values of queries, or a direction; if
            a saved baseline has another signature.
    """
    metrics = request.metrics_of(options.words, options.trec, options.level)
    (baseline, path), *_ = options.paths.items()
    floor, margin, alpha = options.at_least, options.margin, options.alpha
    has_saved = floor is None and report.is_saved(path)
    measured = list(measuring.measured(options, metrics, has_saved))
    runs = {name: run for name, run, _ in measured}
    measuring.note_all(runs)
    report.check_values_per_query(runs, "gate")
    name, run, joined = measured[-1]
    lowers = {label: directions.is_lower_better((label,)) for label in run.means}
    for label, lower in lowers.items():
        if lower is None or label not in run.lists:
            raise ValueError(f"-m {label} has no direction, or no values of queries")
    if floor is not None:
        baseline, margin = f"{floor:g}", margin or 0.0
    if len(measured) == 1:  # Of no documents that are known, so that none has moved.
        values: Any = dict.fromkeys(run.lists, floor)
        values = report.saved_values(path, run) if has_saved else values
        lists = {
            x: PerList(0 * y.values + values[x], y.weights, y.defined | True)
            for x, y in run.lists.items()
        }
        measured.insert(0, (baseline, run._replace(lists=lists), joined))
    systems = {x: y.lists for x, y, _ in measured}
    documents = {x: y for x, _, y in measured}

    @functools.cache
    def tests(alpha: float) -> Comparisons:
        return compare(systems, test="t", level=1 - 2 * alpha, undefined="zero")

    def intervals(alpha: float) -> np.ndarray:
        results: Any = tests(alpha)
        if floor is not None:
            # As `evaluate` has it: that of hits is Wilson's, which never has the width 0.
            sums = [HostSums.of_lists(x, Mean) for x in run.lists.values()]
            results = [x.estimates(1 - 2 * alpha, "auto")[0] for x in sums]
        return np.array([(x.low, x.high) for x in results], np.float64) - (floor or 0.0)

    def bounds(alpha: float) -> np.ndarray:
        signs = np.array([-1 if x else 1 for x in lowers.values()])
        ends = signs[:, None] * intervals(alpha)
        return np.stack([ends.min(1), ends.max(1)])

    pairs: Any = {x.metric: x.values for x in tests(alpha)}
    differences = {
        x: PerList(y.b - y.a, y.weights, y.weights > 0) for x, y in pairs.items()
    }
    plan: Any = {"level": 1 - alpha, "alternative": "greater"}
    detectable: Any = power.minimum_detectable(differences, POWER, **plan)
    if margin is None:
        margins = ", ".join(f"{x:.4g} of {label}" for label, x in detectable.items())
        raise ValueError(
            "--margin is missing; pass the largest loss that may pass. With these queries "
            f"nine in ten runs that equal the baseline pass at a margin of {margins}"
        )
    needed: Any = power.lists_needed(differences, margin, POWER, **plan)
    shares: Any = power.power_at(differences, margin, 1 - alpha)
    codes = verdicts(bounds, margin, alpha).tolist()
    findings: list[dict[str, Any]] = []
    parts = lowers, codes, tests(alpha), intervals(alpha).tolist()
    for label, code, x, ends in zip(*parts, strict=True):
        mean = float(run.means[label].mean)
        numbers = mean - x.difference, mean, x.difference, *ends
        numbers += x.lists, shares[label], detectable[label], needed[label]
        findings.append({"metric": label, "verdict": VERDICTS[code]})
        findings[-1] |= zip(NUMBERS, numbers, strict=True)
    note = NOTE.format(100 - 100 * alpha)
    table = _sheet(findings, ("metric", "verdict"), NUMBERS, note)
    if options.signature:
        table = table.with_signatures(run.signatures)
    code = WORSE if WORSE in codes else max(codes)
    verdict = VERDICTS[code]
    if options.undecided == "pass" and code == UNDECIDED:
        code = NOT_WORSE
    if options.save is not None:
        text = report.as_json({name: run}, Comparisons(()), per_query=True)
        options.save.write_text(text, "utf-8")
    rows = tests(alpha).list_rows(documents, options.level)
    if options.format == "json":
        document = {"verdict": verdict, "exit_code": code, "margin": margin}
        document |= {"alpha": alpha, "metrics": table.records, "queries": rows}
        write_out(sheet.json_of(document))
        return code
    of_metrics = itertools.groupby(rows, lambda row: row["metric"])
    decided = [y for _, x in of_metrics for y in [*x][:MAX_QUERIES] if y["difference"]]
    columns = ("metric", "list", "missed", "gained"), ("a", "b", "difference")
    sheets = [table, _sheet(decided, *columns, MOVES)] if decided else [table]
    as_text = sheet.as_markdown if options.format == "markdown" else sheet.as_text
    headline = f"{verdict}: {name} against {baseline}, margin {margin:g}"
    write_out("\n\n".join([headline, *map(as_text, sheets)]) + "\n")
    return code


def _sheet(rows: list[Any], texts: Any, numbers: Any, note: str) -> sheet.Sheet:
    """Returns a table of some fields of records."""
    names = [[_text(row[x]) for x in texts] for row in rows]
    cells = [[sheet.Cell(_text(row[x])) for x in numbers] for row in rows]
    headings = [("", x) for x in numbers]
    return sheet.Sheet(texts, headings, names, cells, note, "", rows).on_one_line()


def _text(x: Any) -> str:
    """Writes a name, a number, or documents with their ranks: `d7 (2 → –)`."""
    if isinstance(x, list):
        texts = [f"{y} ({_text(a)} → {_text(b)})" for y, a, b in x[:MAX_DOCUMENTS]]
        return ", ".join(texts) + ", …" * (len(x) > MAX_DOCUMENTS)
    x = sheet.json_number(x)
    return "–" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)
