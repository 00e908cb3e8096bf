"""What the words of the command ask for: metrics, and what runs are called."""

import math
import re
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import parse
from jax_rank_metrics._states.merging import cutoffs

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


def metrics_of(typed: Sequence[str], trec: bool, level: float | None) -> list[Metric]:
    """The metrics under what the whole call asks of them."""
    if level is not None and not 0 < level < math.inf:
        raise ValueError(f"--level is {level}; pass a number above 0")
    names = [*typed] or ["official" if trec else "default"]
    sets = {"official": OFFICIAL, "default": DEFAULT}
    flat = [one for name in names for one in sets.get(name, (name,))]
    metrics = [_metric(name, trec, level) for name in dict.fromkeys(flat)]
    states = jrm.empty(tuple({one.name: None for one in metrics}))
    try:
        deque(cutoffs({one.typed: states[one.name] for one in metrics}), maxlen=0)
    except ValueError as error:
        twice = str(error).removeprefix("flat: ").split(";")[0]
        raise ValueError(f"-m: {twice}; leave one of them out") from error
    return metrics


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
            options.append(f"rel={level:.17g}")
    head, *ks = typed.split("@")
    head = head.rstrip()
    if options and head.endswith(")"):
        head, options = head[:-1], ["", *options]
        head += f"{', '.join(options)})"
    elif options:
        head += f"({', '.join(options)})"
    return Metric(typed, "@".join((head, *ks)), name in COUNTS)


def run_names(paths: Sequence[Path]) -> list[str]:
    """Files without extensions, with as many folders as tell them apart."""
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
