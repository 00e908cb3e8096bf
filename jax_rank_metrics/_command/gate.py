"""`jax-rank-metrics gate`: a run against a baseline, with a verdict as the exit code."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax_rank_metrics._command import arguments, measuring, report, request
from jax_rank_metrics._names import directions
from jax_rank_metrics._runs.files.joined import digests_of
from jax_rank_metrics._values import on_host
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.moments import Moments
from jax_rank_metrics._values.per_list import PerList
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.comparisons import power
from jax_rank_metrics._verdicts.comparisons.compare import compare
from jax_rank_metrics._verdicts.comparisons.comparisons import Comparisons
from jax_rank_metrics._verdicts.comparisons.lists import ListPairs
from jax_rank_metrics._verdicts.inference import margin_bounds

# The exit codes of verdicts; 2 is the exit code of a wrong call.
NOT_WORSE, WORSE, UNDECIDED = 0, 1, 3
IDENTICAL = "identical"  # the verdict if all rankings are equal, for any margin
VERDICTS = {NOT_WORSE: "not worse", WORSE: "worse", UNDECIDED: "cannot tell"}
POWER = 0.9  # the power for which a report names a margin and a number of queries
MAX_QUERIES, MAX_DOCUMENTS = 10, 3  # in tables: queries per metric, documents per query
NUMBERS = (
    "baseline candidate difference low high queries power detectable needed".split()
)
NOTE = (
    "Bounds are one-sided, at {:.4g} %; power is the share of equal runs that pass, "
    "90 % at the detectable margin and with the queries needed"
)
MOVES = "Queries that decided; missed: relevant documents that fell, gained: that rose"


def exit_codes(bounds: Callable[[Any], Any], margin: float, alpha: float) -> np.ndarray:
    """Returns the exit code of each metric, `[metrics, …]`.

    A metric is not worse if its lower bound lies above −margin. All metrics have to pass,
    so each is tested at the full alpha. A metric is worse if its upper bound lies below
    −margin. A single worse metric fails the run, so Holm's method limits the probability of
    any false verdict "worse".

    Args:
        bounds: A function from the error probability of each bound, `[]` or `[…]`, to the
            lower and the upper bounds of differences, `[metrics, …]`. Differences above 0
            are better.
        margin: The largest loss that may pass.
        alpha: The probability of a false verdict.
    """
    low, _ = bounds(alpha)
    is_worse = np.zeros(np.shape(low), bool)
    for _ in low:  # The metrics that are not worse so far share alpha.
        is_worse = bounds(alpha / np.maximum((~is_worse).sum(0), 1))[1] < -margin
    return np.where(is_worse, WORSE, np.where(low > -margin, NOT_WORSE, UNDECIDED))


def limits_of_mean(lists: PerList, alpha: float) -> tuple[float, float]:
    """Returns the one-sided bounds of a mean, each wrong with the probability `alpha`.

    The bounds of hits are exact (Clopper and Pearson, 1934), because the bounds of Wilson
    are wrong too often where nearly all lists are hits: a single list would do.
    """
    from scipy.special import betaincinv

    total = on_host.HostSums.of_lists(lists, Mean)
    result = total.estimates(1 - 2 * alpha, "auto")[0]
    if Moments(*total.sums).fractional[0] > 0 or not result.n_eff > 0:
        return result.low, result.high
    hits = result.mean * result.n_eff
    misses = result.n_eff - hits
    low = betaincinv(hits, misses + 1, alpha) if hits > 0 else 0.0
    high = betaincinv(hits + 1, misses, 1 - alpha) if misses > 0 else 1.0
    return float(low), float(high)


def gate(options: arguments.CommandOptions) -> int:
    """Measures a candidate and its baseline, prints the verdict, and returns its code.

    Raises:
        ValueError: as `measuring.evaluate`; if there is no margin (the message names the
            margins that these queries can detect); if a metric has no values of queries, or
            no direction; if a saved baseline cannot be used; see `report.saved_values`.
    """
    metrics = request.metrics_of(options.words, options.trec, options.level)
    (baseline, path), *_ = options.paths.items()
    floor, margin, alpha = options.at_least, options.margin, options.alpha
    if floor is not None and not math.isfinite(floor):
        raise ValueError(f"--at-least is {floor}; pass a finite number")
    has_saved = floor is None and report.is_saved(path)
    measured = list(measuring.measured(options, metrics, has_saved))
    systems = {name: run for name, run, _, _ in measured}
    documents = {name: joined for name, _, joined, _ in measured}
    notes = itertools.starmap(measuring.skipped_queries, documents.items())
    measuring.note_all(systems, itertools.chain.from_iterable(notes))
    report.check_values_per_query(systems, "gate")
    name, run, joined, _ = measured[-1]
    means = report.estimates(run, options.confidence)
    lowers = {label: directions.is_lower_better((label,)) for label in run}
    signs = np.array([-1 if is_lower else 1 for is_lower in lowers.values()])
    for label, lower in lowers.items():
        if lower is None or label not in report.of_values(run):
            raise ValueError(
                f"-m {label} has no direction, or no values of queries; leave it out"
            )
    if floor is not None:
        baseline, margin = f"{floor:g}", margin or 0.0
    rankings: dict[str, str] = {}  # from queries to digests, of a saved baseline
    if len(measured) == 1:  # Take the candidate's documents, so no document has moved.
        values: Any = dict.fromkeys(run.lists, floor)
        if has_saved:
            judgements = digests_of(joined).judgements
            values, rankings = report.saved_values(path, run, judgements)
        lists = {
            label: PerList(
                0 * metric_lists.values + values[label],
                metric_lists.weights,
                metric_lists.defined | True,
            )
            for label, metric_lists in run.lists.items()
        }
        systems = {baseline: dataclasses.replace(run, lists=lists)} | systems
        documents = {baseline: joined} | documents

    @functools.cache
    def tests(alpha: float) -> Comparisons:
        # Any margin will do, because bounds do not depend on it.
        options: Any = {"margin": margin or 1.0, "level": 1 - 2 * alpha}
        return compare(systems, test="t", undefined="zero", **options)

    def intervals(alpha: float) -> np.ndarray:
        results: Any = tests(alpha)
        if floor is None:
            return np.array([(result.low, result.high) for result in results])
        limits = [limits_of_mean(lists, alpha) for lists in run.lists.values()]
        return np.array(limits) - floor

    def bounds(alpha: float) -> np.ndarray:
        ends = signs[:, None] * intervals(alpha)
        return np.stack([ends.min(1), ends.max(1)])

    pairs: Any = {test.metric: test.values for test in tests(alpha)}
    signed_pairs = zip(pairs.items(), signs, strict=True)
    plans = {label: _plan(pair, sign, alpha) for (label, pair), sign in signed_pairs}
    if margin is None:
        margins = ", ".join(
            f"{plan.detectable():.4g} of {label}" for label, plan in plans.items()
        )
        raise ValueError(
            "--margin is missing; pass the largest loss that may pass. With these queries "
            f"nine in ten runs that equal the baseline pass at a margin of {margins}"
        )
    codes = exit_codes(bounds, margin, alpha).tolist()
    is_identical = floor is None and not any(
        np.any(pair.a != pair.b) for pair in pairs.values()
    )
    if is_identical:  # so far; documents below the cutoffs may have moved
        rankings = rankings or digests_of(documents[baseline]).rankings
        is_identical = rankings == digests_of(joined).rankings
    verdicts = VERDICTS
    if is_identical:
        codes = [NOT_WORSE for _ in codes]
        verdicts = VERDICTS | {NOT_WORSE: IDENTICAL}
    findings: list[dict[str, Any]] = []
    parts = lowers, codes, tests(alpha), intervals(alpha).tolist()
    for label, code, test, ends in zip(*parts, strict=True):
        mean = float(means[label].mean)
        numbers = mean - test.difference, mean, test.difference, *ends
        plan = plans[label]
        numbers += test.lists, plan.power_at(margin), plan.detectable()
        numbers += (plan.lists_needed(margin, test.lists),)
        findings.append({"metric": label, "verdict": verdicts[code]})
        findings[-1] |= zip(NUMBERS, numbers, strict=True)
    note = NOTE.format(100 - 100 * alpha)
    table = _sheet(findings, ("metric", "verdict"), NUMBERS, note)
    if options.signature:
        table = table.with_signatures(run.signature)
    code = WORSE if WORSE in codes else max(codes)
    verdict = verdicts[code]
    if options.undecided == "estimate" and code == UNDECIDED:
        estimates = signs * [row["difference"] for row in findings]
        code = WORSE if (estimates < -margin).any() else NOT_WORSE
    if options.undecided == "pass" and code == UNDECIDED:
        code = NOT_WORSE
    if options.save is not None:
        text = report.as_json(
            {name: run}, Comparisons(()), True, options.confidence, {name: joined}
        )
        options.save.write_text(text, "utf-8")
    rows = tests(alpha).list_rows(documents, options.level)
    if options.format == "json":
        document = {"verdict": verdict, "exit_code": code, "margin": margin}
        document |= {"alpha": alpha, "metrics": table.records, "queries": rows}
        arguments.write_out(sheets.json_of(document))
        return code
    rows_by_metric = itertools.groupby(rows, lambda row: row["metric"])
    first_rows = (row for _, group in rows_by_metric for row in [*group][:MAX_QUERIES])
    decided = [row for row in first_rows if row["difference"]]
    columns = ("metric", "list", "missed", "gained"), ("a", "b", "difference")
    tables = [table, _sheet(decided, *columns, MOVES)] if decided else [table]
    as_text = sheets.as_markdown if options.format == "markdown" else sheets.as_text
    headline = f"{verdict}: {name} against {baseline}, margin {margin:g}"
    arguments.write_out("\n\n".join([headline, *map(as_text, tables)]) + "\n")
    return code


def _plan(pairs: ListPairs, sign: int, alpha: float) -> power.MarginPlan:
    """Returns the plan of a metric; `sign` is the sign of improvements."""
    gains = sign * (pairs.b - pairs.a)[:, None]
    columns = gains, pairs.weights[:, None], np.array([pairs.largest])
    return power.MarginPlan(margin_bounds.MarginBounds.of(*columns), POWER, alpha)


def _sheet(rows: list[Any], texts: Any, numbers: Any, note: str) -> sheets.Sheet:
    """Returns a table of some fields of records."""
    names = [[_text(row[field]) for field in texts] for row in rows]
    cells = [[sheets.Cell(_text(row[field])) for field in numbers] for row in rows]
    headings = [("", field) for field in numbers]
    return sheets.Sheet(texts, headings, names, cells, note, "", rows).on_one_line()


def _text(field: Any) -> str:
    """Writes a name, a number, or documents with their ranks: `d7 (2 → 9–12)`."""
    if isinstance(field, tuple):
        return "–".join(map(_text, field))
    if isinstance(field, list):
        documents = field[:MAX_DOCUMENTS]
        texts = [f"{name} ({_text(a)} → {_text(b)})" for name, a, b in documents]
        return ", ".join(texts) + ", …" * (len(field) > MAX_DOCUMENTS)
    field = sheets.json_number(field)
    if field is None:
        return "–"
    return f"{field:.4g}" if isinstance(field, float) else str(field)
