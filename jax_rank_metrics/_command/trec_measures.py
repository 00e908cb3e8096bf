"""The measures of trec_eval by its own names: families with parameters, and sets."""

import re
from typing import NamedTuple

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


class Family(NamedTuple):
    """A measure of trec_eval with a value, and a line of output, for each cutoff."""

    metric: str  # of this package, with the options that give the same values
    cutoffs: tuple[float, ...] = _CUTOFFS  # by default
    suffix: str = "_{:g}"  # the format of a cutoff, after the name of the family


FAMILIES = {
    "P": Family("precision(denominator=k)"),
    "iprec_at_recall": Family(
        "iprec", tuple(tenths / 10 for tenths in range(11)), "_{:.2f}"
    ),
    "map_cut": Family("ap"),
    "ndcg_cut": Family("ndcg(gain_fn=linear_gain)"),
    "recall": Family("recall"),
    "relative_P": Family("recall(denominator=attainable)"),
    "success": Family("hit_rate", (1, 5, 10)),
}
# Families whose names are also metrics of this package, which are without a cutoff.
AMBIGUOUS = ("P", "recall", "success")

# Lines about the whole run, which are no metrics.
RUN_LINES = ("runid", "num_q")

OFFICIAL = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
SETS = {
    "official": (*RUN_LINES, *OFFICIAL),
    "set": (
        *(*RUN_LINES, "num_ret", "num_rel", "num_rel_ret", "utility", "set_P"),
        *("set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "all_trec": (
        *(*RUN_LINES, *OFFICIAL, "relstring", "recall", "infAP", "gm_bpref"),
        *("utility", "11pt_avg", "ndcg", "relative_P", "Rprec_mult", "success"),
        *("map_cut", "ndcg_cut", "ndcg_rel", "Rndcg", "binG", "G", "set_P"),
        *("set_recall", "set_relative_P", "set_map", "set_F"),
        "num_nonrel_judged_ret",
    ),
}
NOT_MEASURED = (
    *("relstring", "utility", "Rprec_mult", "ndcg_rel", "Rndcg", "binG", "G"),
    *("set_relative_P", "set_map", "num_nonrel_judged_ret", "rbp_resid", "yaap"),
)

_NUMBER = r"\d*\.?\d+"
_FAMILY = re.compile(rf"({'|'.join(FAMILIES)})(?:\.({_NUMBER}(?:,{_NUMBER})*))?")


def family_of(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Returns a family as a metric with cutoffs, and the labels of its values.

    Returns None if the name is not that of a family.

    >>> family_of("P.5,10")
    ('precision(denominator=k)@5,10', ('P_5', 'P_10'))
    >>> family_of("P_5")
    """
    match = _FAMILY.fullmatch(name)
    if match is None:
        return None
    family = FAMILIES[match[1]]
    cutoffs = [*map(float, match[2].split(","))] if match[2] else family.cutoffs
    labels = tuple(match[1] + family.suffix.format(cutoff) for cutoff in cutoffs)
    return f"{family.metric}@{','.join(f'{cutoff:g}' for cutoff in cutoffs)}", labels
