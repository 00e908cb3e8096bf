"""Interprets the arguments of the command: metrics to measure, and names for runs."""

import itertools
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

# The options that metrics have under the rules of trec_eval, unless a name sets them.
_TREC_OPTIONS = {
    "ndcg": ("gain_fn", "linear_gain"),
    "precision": ("denominator", '"k"'),
    "rank_biased_precision": ("p", "0.9"),
}


class Metric(NamedTuple):
    """A metric to measure, hashable."""

    word: str  # after -m, or the member of a set
    name: str  # for `jrm.measure`, with the options of the whole call
    labels: tuple[str, ...]  # the name of each value in the results
    state: type[Mean]
    is_count: bool  # trec_eval sums counts over queries


def words_or_default(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the words after `-m`, or the name of the default set if there are none.

    >>> words_or_default(["map", "P.5"], trec=True)
    ['map', 'P.5']
    >>> words_or_default([], trec=True), words_or_default([], trec=False)
    (['official'], ['default'])
    """
    return [*words] or ["official" if trec else "default"]


def metrics_of(words: Sequence[str], trec: bool, level: float | None) -> list[Metric]:
    """Returns the metrics with the options that `--trec` and `--level` give them.

    Args:
        words: The names after `-m` of metrics, families and sets; empty for the default.
        trec: Whether names and options have the meaning of trec_eval.
        level: The lowest relevance that is relevant; None keeps that of each metric.

    Raises:
        ValueError: if the level is not above 0; if a name is unknown, or its metric reads
            more than files hold; if two metrics have the same label.
        TypeError: if a metric has no such option.
    """
    if level is not None and not 0 < level < math.inf:
        raise ValueError(f"--level is {level}; pass a number above 0")
    metrics = dict.fromkeys(
        _metric(name, is_trec, level) for name, is_trec in _expanded(words, trec)
    )
    owners: dict[str, str] = {}
    for metric in metrics:
        for label in metric.labels:
            if label in owners:
                raise ValueError(
                    f"-m: {owners[label]!r} and {metric.word!r} both hold {label!r}; "
                    "leave one of them out"
                )
            owners[label] = metric.word
    return [*metrics]


def not_measured(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the measures of the requested sets that this package does not have."""
    sets = [SETS.get(word, ()) for word in words_or_default(words, trec)]
    names = dict.fromkeys(itertools.chain.from_iterable(sets))
    return [name for name in names if name in NOT_MEASURED]


def _expanded(words: Sequence[str], trec: bool) -> Iterator[tuple[str, bool]]:
    """Yields the name of every metric, and whether it has the meaning of trec_eval."""
    for word in words_or_default(words, trec):
        if word in NOT_MEASURED:
            raise ValueError(
                f"-m {word}: this measure of trec_eval is not available; leave it out"
            )
        if word == "default":
            yield from ((name, trec) for name in DEFAULT)
        for name in SETS.get(word, () if word == "default" else (word,)):
            if name not in RUN_LINES and name not in NOT_MEASURED:
                yield name, trec or word in SETS


def _metric(word: str, trec: bool, level: float | None) -> Metric:
    """Returns the metric of a word that is not a set; see `metrics_of`."""
    name, labels = word, None
    family = family_of(word) if trec or word not in AMBIGUOUS else None
    if family is not None:
        name, labels = family
    if word == "gm_bpref":
        name = "bpref"
    name = _with_options(name, trec, level)
    bound = parse(name)
    for column in bound.spec.columns:
        if column not in _COLUMNS:
            raise ValueError(
                f"-m {word} reads the column {column!r}, which files of judgements and "
                "runs do not hold; measure it from Python"
            )
    if labels is None:
        number = bound.num_values
        labels = (word,) if number is None else tuple(cutoff_names(word, number))
    state = GeometricMean if word == "gm_bpref" else bound.state
    return Metric(word, name, labels, state, bound.spec.name in COUNTS)


def _with_options(name: str, trec: bool, level: float | None) -> str:
    """Returns the name with the options of the whole call that it does not set itself.

    >>> _with_options("map@5", trec=False, level=2), _with_options("map(rel=3)", False, 2)
    ('map(rel=2)@5', 'map(rel=3)')
    """
    bound, options = parse(name), []
    metric = bound.spec.name
    if (
        trec
        and metric in _TREC_OPTIONS
        and (metric != "precision" or bound.k is not None)
    ):
        option, value = _TREC_OPTIONS[metric]
        is_default = dict(bound.options)[option] == bound.spec.options[option]
        if is_default and not re.search(rf"\b{option}\s*=", name):
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
    """Returns a name for each run: that of its file, without the extension and `.gz`.

    If names are equal, all of them begin with as many folders as distinguish them. If only
    the extensions differ, names keep these. An extension contains a letter: `.9` is none.

    Raises:
        ValueError: if a path is given twice.

    >>> run_names([Path("x/bm25.run.gz"), Path("x/k1=0.9")])
    ['bm25', 'k1=0.9']
    >>> run_names([Path("x/bm25.run"), Path("y/bm25.run")])
    ['x/bm25', 'y/bm25']
    >>> run_names([Path("x/bm25.run"), Path("x/bm25.csv")])
    ['bm25.run', 'bm25.csv']
    """
    stems = [
        path.with_name(re.sub(r"(\.\w*[a-z]\w*)?(\.gz)?$", "", path.name, flags=re.I))
        for path in paths
    ]
    for candidates in (stems, paths):
        for depth in range(1, max(len(path.parts) for path in candidates) + 1):
            names = ["/".join(path.parts[-depth:]) for path in candidates]
            if len({*names}) == len(names):
                return names
    raise ValueError(f"run {Counter(paths).most_common(1)[0][0]} is given twice")
