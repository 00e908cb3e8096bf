"""The names of trec_eval, where they collide with none of ours."""

import re
from typing import Any

from jax_rank_metrics._gains import linear_gain

# As trec_eval means them: precision of k ranks, however many there are; its gain.
_AT_RANKS: dict[str, tuple[str, dict[str, Any]]] = {
    "map_cut": ("average_precision", {}),
    "ndcg_cut": ("ndcg", {"gain_fn": linear_gain}),
    "p": ("precision", {"denominator": "k"}),
    "recall": ("recall", {}),
    "success": ("hit_rate", {}),
}
_WHOLE = {
    "iprec_at_recall": "interpolated_precision",
    "recip_rank": "reciprocal_rank",
    "set_p": "precision",
    "set_recall": "recall",
    "set_f": "f_score",
}

_CUT = re.compile(rf"({'|'.join(_AT_RANKS)})_(\d+)")
_LEVEL = re.compile(r"(iprec_at_recall)_(\d\.\d+)")


def meaning(name: str) -> tuple[str, list[tuple[str, Any]]]:
    """The name of a metric and its options, for a name in lower case.

    >>> meaning("map_cut_10")
    ('average_precision', [('k', 10)])
    >>> meaning("ndcg")
    ('ndcg', [])
    """
    cut, level = _CUT.fullmatch(name), _LEVEL.fullmatch(name)
    if cut:
        metric, options = _AT_RANKS[cut[1]]
        return metric, [*options.items(), ("k", int(cut[2]))]
    if level:
        return _WHOLE[level[1]], [("recall_levels", float(level[2]))]
    return _WHOLE.get(name, name), []
