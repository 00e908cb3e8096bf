"""`jax-rank-metrics gate`: a run against a baseline, with a verdict as the exit code."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jax_rank_metrics._calls.names import direction_of
from jax_rank_metrics._command import measuring, report, request
from jax_rank_metrics._command.arguments import Options, write_out
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
FIELDS = ("baseline", "candidate", "difference", "low", "high")
PLANS = ("queries", "power", "detectable", "needed")
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
    is_worse, has_changed = np.zeros(np.shape(low), bool), True
    while has_changed:  # Metrics that are not refuted yet share alpha.
        refuted = bounds(alpha / np.maximum((~is_worse).sum(0), 1))[1] < -margin
        is_worse, has_changed = refuted, bool((refuted != is_worse).any())
    return np.where(is_worse, WORSE, np.where(low > -margin, NOT_WORSE, UNDECIDED))


def gate(options: Options) -> int:
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
    lowers = {label: direction_of((label,)) for label in run.means}
    for label, lower in lowers.items():
        if lower is None or label not in run.lists:
            raise ValueError(f"-m {label} has no direction, or no values of queries")
    values: Any = report.saved_values(path, run) if has_saved else {}
    if floor is not None:  # A baseline that has this value in every query.
        baseline, margin = f"{floor:g}", margin or 0.0
        values = dict.fromkeys(run.lists, floor)
    if values:  # Of no documents that are known, so that none has moved.
        lists = {x: _with_values(y, values[x]) for x, y in run.lists.items()}
        measured.insert(0, (baseline, run._replace(lists=lists), joined))
    systems = {x: y.lists for x, y, _ in measured}
    documents = {x: y for x, _, y in measured}

    @functools.cache
    def tests(alpha: float) -> Comparisons:
        return compare(systems, test="t", level=1 - 2 * alpha, undefined="zero")

    def intervals(alpha: float) -> np.ndarray:
        if floor is None:
            return np.array([(x.low, x.high) for x in tests(alpha)])
        # As `evaluate` has it: that of hits is Wilson's, which never has the width 0.
        sums = [HostSums.of_lists(x, Mean) for x in run.lists.values()]
        means = [x.estimates(1 - 2 * alpha, "auto")[0] for x in sums]
        return np.array([(x.low, x.high) for x in means], np.float64) - floor

    def bounds(alpha: float) -> tuple[np.ndarray, np.ndarray]:
        is_lower = np.array([*lowers.values()])[:, None]
        low, high = np.where(is_lower, -intervals(alpha)[:, ::-1], intervals(alpha)).T
        return low, high

    rows = tests(alpha).list_rows(documents, options.level)
    by_metric = {x: [row for row in rows if row["metric"] == x] for x in lowers}
    differences: dict[str, PerList] = {}
    for label, of_label in by_metric.items():
        pairs = [(x["difference"], x["weight"]) for x in of_label]
        x: Any = np.reshape(pairs, (-1, 2)).T
        differences[label] = PerList(x[0], x[1], x[1] > 0)
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
        findings[-1] |= zip(FIELDS + PLANS, numbers, strict=True)
        if options.signature:
            findings[-1]["signature"] = run.signatures[label]
    code = WORSE if WORSE in codes else max(codes)
    verdict = VERDICTS[code]
    if options.undecided == "pass" and code == UNDECIDED:
        code = NOT_WORSE
    if options.save is not None:
        text = report.as_json({name: run}, Comparisons(()), per_query=True)
        options.save.write_text(text, "utf-8")
    if options.format == "json":
        document = {"verdict": verdict, "exit_code": code, "margin": margin}
        document |= {"alpha": alpha, "metrics": findings, "queries": rows}
        write_out(sheet.json_of(document))
    else:
        headline = f"{verdict}: {name} against {baseline}, margin {margin:g}"
        worst = [x for label in lowers for x in by_metric[label][:MAX_QUERIES]]
        sheets = _sheets(findings, [x for x in worst if x["difference"]], alpha)
        as_text = sheet.as_markdown if options.format == "markdown" else sheet.as_text
        write_out("\n\n".join([headline, *map(as_text, sheets)]) + "\n")
    return code


def _sheets(
    findings: list[dict[str, Any]], decided: list[dict[str, Any]], alpha: float
) -> list[sheet.Sheet]:
    """Returns the table of metrics, and that of the queries that decided, if any did."""
    texts = dict.fromkeys(x["signature"] for x in findings if "signature" in x)
    note = "; ".join([NOTE.format(100 - 100 * alpha), *texts])
    sheets = [_sheet(findings, ("metric", "verdict"), FIELDS + PLANS, note)]
    if decided:
        columns = ("metric", "list", "missed", "gained")
        sheets.append(_sheet(decided, columns, ("a", "b", "difference"), MOVES))
    return sheets


def _with_values(lists: PerList, values: float | np.ndarray) -> PerList:
    """Returns lists with other values, which are all defined."""
    defined = lists.defined | True
    return dataclasses.replace(lists, values=0 * lists.values + values, defined=defined)


def _sheet(rows: list[Any], texts: Any, numbers: Any, note: str) -> sheet.Sheet:
    """Returns a table of some fields of records."""
    names = [[_text(row[x]) for x in texts] for row in rows]
    cells = [[sheet.Cell(_text(row[x])) for x in numbers] for row in rows]
    headings = [("", x) for x in numbers]
    return sheet.Sheet(texts, headings, names, cells, note, "", []).on_one_line()


def _text(x: Any) -> str:
    """Writes a name, a number, or documents with their ranks: `d7 (2 → –)`."""
    if isinstance(x, list):
        texts = [f"{y} ({_text(a)} → {_text(b)})" for y, a, b in x[:MAX_DOCUMENTS]]
        return ", ".join(texts) + ", …" * (len(x) > MAX_DOCUMENTS)
    x = sheet.json_number(x)
    return "–" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)
