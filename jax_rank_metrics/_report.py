"""What the command `jax-rank-metrics evaluate` measures, and how it writes it down."""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import parse
from jax_rank_metrics._files.join import Joined
from jax_rank_metrics._results.numbers import estimates, needed
from jax_rank_metrics._states.merging import cutoffs
from jax_rank_metrics._types import Number

DEFAULT = ("ndcg@10", "map", "mrr", "recall@100")
# What trec_eval prints by itself, but for the number of queries.
OFFICIAL = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec", "P@5,10,15,20,30,100,200,500,1000"),
)
COUNTS = ("num_retrieved", "num_relevant", "num_relevant_retrieved")

# Options that trec_eval's rules set, unless a name says otherwise.
_OF_TREC = {
    "ndcg": ("gain_fn", "linear_gain"),
    "precision": ("denominator", '"k"'),
}


class Metric(NamedTuple):
    """A metric as it was asked for, and as it is measured."""

    typed: str
    name: str
    counts: bool  # whether trec_eval adds it up over queries


class Run(NamedTuple):
    """The values of a run, by the names of metrics as they were typed."""

    lists: dict[str, jrm.PerList]
    states: dict[str, jrm.Mean]
    query_ids: list[Any]


Runs = Mapping[str, Run]
Tests = Mapping[str, Mapping[str, jrm.Comparison]]  # by run and metric


def metrics_of(typed: Sequence[str], trec: bool, level: float | None) -> list[Metric]:
    """The metrics under what the whole call asks of them."""
    names = [*typed] or ["official" if trec else "default"]
    sets = {"official": OFFICIAL, "default": DEFAULT}
    flat = [one for name in names for one in sets.get(name, (name,))]
    return [_metric(name, trec, level) for name in dict.fromkeys(flat)]


def _metric(typed: str, trec: bool, level: float | None) -> Metric:
    bound, options = parse(typed), []
    name = bound.spec.name
    if trec and name in _OF_TREC and (name == "ndcg" or bound.k is not None):
        option, value = _OF_TREC[name]
        default = dict(bound.own)[option] == bound.spec.options[option]
        if default and option not in typed:
            options.append(f"{option}={value}")
    if level is not None and "relevance_threshold" in bound.spec.options:
        if not re.search(r"\b(rel|relevance_threshold)\s*=", typed):
            options.append(f"rel={level:g}")
    head, *ks = typed.split("@")
    head = head.rstrip()
    if options and head.endswith(")"):
        head, options = head[:-1], ["", *options]
        head += f"{', '.join(options)})"
    elif options:
        head += f"({', '.join(options)})"
    return Metric(typed, "@".join((head, *ks)), name in COUNTS)


def measured(metrics: Sequence[Metric], joined: Joined) -> Run:
    """Every metric of every list, from one ranking."""
    names = {metric.typed: metric.name for metric in metrics}
    lists = jrm.measure((*names.values(),), jrm.rank(**joined.arguments()))
    lists = {typed: lists[name] for typed, name in names.items()}
    kinds = {metric.typed: parse(metric.name).state for metric in metrics}
    states = {
        typed: one.geometric_mean() if kinds[typed] is jrm.GeometricMean else one.mean()
        for typed, one in lists.items()
    }
    lists, states = jax.device_get((lists, states))
    # In the order that was typed; a dict that went through JAX is in that of the names.
    return Run(
        {name: lists[name] for name in names},
        {name: states[name] for name in names},
        joined.query_ids.to_list(),
    )


def run_names(paths: Sequence[Path]) -> list[str]:
    """Files without extensions, with as many folders as tell them apart."""
    stems = [
        path.with_name(path.name.removesuffix(".gz")).with_suffix("") for path in paths
    ]
    for files in (stems, paths):
        for depth in range(1, max(len(path.parts) for path in files) + 1):
            names = ["/".join(path.parts[-depth:]) for path in files]
            if len({*names}) == len(names):
                return names
    raise ValueError(f"run {Counter(paths).most_common(1)[0][0]} is given twice")


def compared(runs: Runs, baseline: str, test: Any, level: Number) -> Tests:
    """Each run against the baseline, at every cutoff."""
    weights = [next(iter(run.lists.values())).weights for run in runs.values()]
    if any((one != weights[0]).any() for one in weights):
        raise ValueError(
            "runs lack different queries, and cannot be compared by them; pass "
            "--missing zero"
        )
    of = {
        name: {metric: values for metric, values in _flat(run)}
        for name, run in runs.items()
    }
    a = of.pop(baseline)
    return jrm.compare(a, of, test=test, level=level)


def _flat(run: Run) -> Iterator[tuple[str, Any]]:
    """Every cutoff, with its values of all lists."""
    for name, of, place in cutoffs(run.states):
        values, weights, defined = jax.tree.leaves(run.lists[of])
        yield name, jrm.PerList(values[place], weights, defined)


def _queries(run: Run) -> Iterator[tuple[Any, dict[str, float]]]:
    """The queries that count, with their values."""
    values = {name: lists.values.tolist() for name, lists in _flat(run)}
    weights = next(iter(run.lists.values())).weights
    for place in np.flatnonzero(weights > 0):
        yield (
            run.query_ids[place],
            {name: column[place] for name, column in values.items()},
        )


def _csv(head: Sequence[str], rows: Iterator[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def as_csv(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """One table: of queries, of comparisons, or of means."""
    if per_query:
        rows = (
            (name, query, metric, value)
            for name, run in runs.items()
            for query, values in _queries(run)
            for metric, value in values.items()
        )
        return _csv(("run", "query", "metric", "value"), rows)
    if tests:
        found = [
            {"run": name, "metric": metric, **one.to_dict()}
            for name, of_run in tests.items()
            for metric, one in of_run.items()
        ]
        return _csv([*found[0]], (list(one.values()) for one in found))
    states = {name: run.states for name, run in runs.items()}
    return jrm.table(states, format="csv", level=level)


def as_json(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """All there is, with null for what is not finite."""

    def number(x: Any) -> Any:
        return None if isinstance(x, float) and not math.isfinite(x) else x

    states = {name: run.states for name, run in runs.items()}
    found: dict[str, Any] = {
        "runs": {
            run: {
                name: {
                    what: number(np.asarray(x).item())
                    for what, x in one._asdict().items()
                }
                for name, one in metrics.items()
            }
            for run, metrics in estimates(states, level).items()
        }
    }
    if tests:
        found["comparisons"] = {
            run: {name: one.to_dict() for name, one in metrics.items()}
            for run, metrics in tests.items()
        }
    if per_query:
        found["queries"] = {
            name: {str(query): values for query, values in _queries(run)}
            for name, run in runs.items()
        }
    return f"{json.dumps(found, indent=1, ensure_ascii=False)}\n"


def as_text(
    runs: Runs, tests: Tests, per_query: bool, level: Number, format: Any, baseline: str
) -> str:
    """Tables, and comparisons below."""
    parts = []
    for name, run in runs.items() if per_query else ():
        body = [[query, *values.values()] for query, values in _queries(run)]
        head = [name, *(metric for metric, _ in _flat(run))]
        tabulate = needed("tabulate", "--per-query", "trec").tabulate
        parts.append(tabulate(body, head, floatfmt=".4f", disable_numparse=[0]))
    states = {name: run.states for name, run in runs.items()}
    rows = "metrics" if len(runs) < 4 else "runs"
    parts.append(str(jrm.table(states, format=format, level=level, rows=rows)))
    for name, of_run in tests.items():
        width = max(map(len, of_run))
        lines = [f"{metric:{width}} {one}" for metric, one in of_run.items()]
        parts.append("\n".join([f"{name} against {baseline}", *lines]))
    return "\n\n".join(parts) + "\n"


def as_trec(
    runs: Runs, metrics: Sequence[Metric], per_query: bool, official: bool
) -> str:
    """Lines of measure, query and value, as trec_eval prints them."""
    counts = {metric.typed for metric in metrics if metric.counts}
    lines: list[str] = []

    def line(name: str, query: Any, value: Any) -> None:
        shown = value if isinstance(value, str) else f"{value:6.4f}"
        lines.append(f"{_trec_name(name):<22}\t{query}\t{shown}\n")

    for run_name, run in runs.items():
        queries = dict(_queries(run))
        for query in sorted(queries, key=str) if per_query else ():
            for name, value in queries[query].items():
                if name != "gm_map":  # the mean of logarithms is of all queries
                    line(name, query, f"{value:.0f}" if name in counts else value)
        if official:
            line("runid", "all", run_name)
            line("num_q", "all", str(len(queries)))
        for name, value in jrm.compute(run.states, flat=True, host=True).items():
            of_all = sum(values[name] for values in queries.values())
            line(name, "all", f"{of_all:.0f}" if name in counts else value)
    return "".join(lines)


def _trec_name(name: str) -> str:
    """A name with a cutoff of ours, as trec_eval writes it."""
    head, *cutoff = name.split("@")
    if cutoff and head == "iprec":
        return f"iprec_at_recall_{float(cutoff[0]):.2f}"
    return f"P_{cutoff[0]}" if cutoff and head == "P" else name


def drawn(runs: Runs, baseline: str, path: Path, level: Number) -> None:
    """Writes a figure of the first metric: its distribution, differences and cutoffs."""
    library = needed("matplotlib.figure", "--plot", "plots")
    metric, lists = next(iter(_flat(runs[baseline])))
    first = {name: dict(_flat(run))[metric] for name, run in runs.items()}
    head, at, _ = metric.rpartition("@")
    cut = at and sum(name.startswith(f"{head}@") for name, _ in _flat(runs[baseline]))
    others = [name for name in runs if name != baseline]
    panels = 1 + len(others) + bool(cut and cut > 1)
    figure = library.Figure(figsize=(4 * panels, 3.6), layout="constrained")
    axes = iter(figure.subplots(1, panels, squeeze=False)[0])
    jrm.plots.distribution(first, ax=next(axes)).set_title(metric)
    for name in others:
        names = (baseline, name)
        jrm.plots.differences(lists, first[name], names=names, ax=next(axes))
    if cut and cut > 1:
        states = {name: run.states for name, run in runs.items()}
        jrm.plots.at_cutoffs(states, head, level=level, ax=next(axes))
    figure.savefig(path, dpi=120)
