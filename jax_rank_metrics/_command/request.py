"""Interprets the words of the command: the metrics to measure, and names for runs."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jax_rank_metrics._calls.names import parse
from jax_rank_metrics._command.trec_measures import (
    AMBIGUOUS,
    NOT_MEASURED,
    OFFICIAL,
    RUN_LINES,
    SETS,
    family_of,
)
from jax_rank_metrics._states.geometric import GeometricMean
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import cutoff_names

__all__ = ("DEFAULT", "OFFICIAL", "Metric", "metrics_of", "run_names")

DEFAULT = ("ndcg@10", "map", "mrr", "recall@100")
COUNTS = ("num_retrieved", "num_relevant", "num_relevant_retrieved")

# The columns of `Joined`.
_COLUMNS = ("judged", "pooled")

# Options that trec_eval's rules set, unless a name says otherwise.
_TREC_OPTIONS = {
    "ndcg": ("gain_fn", "linear_gain"),
    "precision": ("denominator", '"k"'),
    "rank_biased_precision": ("p", "0.9"),
}


class Metric(NamedTuple):
    """A metric of the command, hashable."""

    typed: str  # by the user, or the member of a set
    name: str  # for `jrm.measure`, with the options of the whole call
    labels: tuple[str, ...]  # a name in the results for each cutoff
    state: type[Mean]
    is_count: bool  # trec_eval sums counts over queries


def requested(typed: Sequence[str], trec: bool) -> list[str]:
    """Returns the names that were typed, or else the name of the default set."""
    return [*typed] or ["official" if trec else "default"]


def metrics_of(typed: Sequence[str], trec: bool, level: float | None) -> list[Metric]:
    """Returns the metrics with the options that `--trec` and `--level` give them.

    Raises:
        ValueError: if the level is not above 0; if a name is unknown, or its metric reads
            more than files hold; if two metrics have the same label.
        TypeError: if a metric has no such option.
    """
    if level is not None and not 0 < level < math.inf:
        raise ValueError(f"--level is {level}; pass a number above 0")
    metrics = dict.fromkeys(
        _metric(name, by_trec, level) for name, by_trec in _expanded(typed, trec)
    )
    owners: dict[str, str] = {}
    for metric in metrics:
        for label in metric.labels:
            if label in owners:
                raise ValueError(
                    f"-m: {owners[label]!r} and {metric.typed!r} both hold {label!r}; "
                    "leave one of them out"
                )
            owners[label] = metric.typed
    return [*metrics]


def not_measured(typed: Sequence[str], trec: bool) -> list[str]:
    """Returns the measures of the requested sets that this package does not have."""
    members = [name for word in requested(typed, trec) for name in SETS.get(word, ())]
    return [name for name in dict.fromkeys(members) if name in NOT_MEASURED]


def _expanded(typed: Sequence[str], trec: bool) -> Iterator[tuple[str, bool]]:
    """Yields the name of every metric, and whether it has the meaning of trec_eval."""
    for word in requested(typed, trec):
        if word in NOT_MEASURED:
            raise ValueError(
                f"-m {word}: this measure of trec_eval is not available; leave it out"
            )
        if word == "default":
            yield from ((name, trec) for name in DEFAULT)
        for name in SETS.get(word, () if word == "default" else (word,)):
            if name not in RUN_LINES and name not in NOT_MEASURED:
                yield name, trec or word in SETS


def _metric(typed: str, trec: bool, level: float | None) -> Metric:
    name, labels = typed, None
    family = family_of(typed) if trec or typed not in AMBIGUOUS else None
    if family is not None:
        name, labels = family
    if typed == "gm_bpref":
        name = "bpref"
    name = _with_options(name, trec, level)
    bound = parse(name)
    for column in bound.spec.columns:
        if column not in _COLUMNS:
            raise ValueError(
                f"-m {typed} reads the column {column!r}, which files of judgements and "
                "runs do not hold; measure it from Python"
            )
    if labels is None:
        number = bound.num_values
        labels = (typed,) if number is None else tuple(cutoff_names(typed, number))
    state = GeometricMean if typed == "gm_bpref" else bound.state
    return Metric(typed, name, labels, state, bound.spec.name in COUNTS)


def _with_options(name: str, trec: bool, level: float | None) -> str:
    """Returns the name with the options of the whole call that it does not set itself."""
    bound, options = parse(name), []
    metric = bound.spec.name
    if (
        trec
        and metric in _TREC_OPTIONS
        and (metric != "precision" or bound.k is not None)
    ):
        option, value = _TREC_OPTIONS[metric]
        default = dict(bound.options)[option] == bound.spec.options[option]
        if default and not re.search(rf"\b{option}\s*=", name):
            options.append(f"{option}={value}")
    if level is not None and "relevance_threshold" in bound.spec.options:
        if not re.search(r"\b(rel|relevance_threshold)\s*=", name):
            options.append(f"rel={level:.17g}")
    head, *ks = name.split("@")
    head = head.rstrip()
    if options and head.endswith(")"):
        head = f"{head[:-1]}, {', '.join(options)})"
    elif options:
        head += f"({', '.join(options)})"
    return "@".join((head, *ks))


def run_names(paths: Sequence[Path]) -> list[str]:
    """Returns a name for each run: its file without extensions.

    Files of the same name also get as many folders as distinguish them.

    Raises:
        ValueError: if a path is given twice.
    """
    stems = [
        path.with_name(re.sub(r"(\.\w*[a-z]\w*)?(\.gz)?$", "", path.name, flags=re.I))
        for path in paths
    ]
    for files in (stems, paths):
        for depth in range(1, max(len(path.parts) for path in files) + 1):
            names = ["/".join(path.parts[-depth:]) for path in files]
            if len({*names}) == len(names):
                return names
    raise ValueError(f"run {Counter(paths).most_common(1)[0][0]} is given twice")
