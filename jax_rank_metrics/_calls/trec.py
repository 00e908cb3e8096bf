"""The names of trec_eval that do not collide with names of this package."""

import re

from jax_rank_metrics._gains import linear_gain

# Names that end in a cutoff. As trec_eval defines them, precision divides by k even where
# fewer items were retrieved, and the gain is the label.
_WITH_CUTOFF: dict[str, tuple[str, dict[str, object]]] = {
    "map_cut": ("average_precision", {}),
    "ndcg_cut": ("ndcg", {"gain_fn": linear_gain}),
    "p": ("precision", {"denominator": "k"}),
    "recall": ("recall", {}),
    "success": ("hit_rate", {}),
}
_WITHOUT_CUTOFF = {
    "iprec_at_recall": "interpolated_precision",
    "recip_rank": "reciprocal_rank",
    "set_p": "precision",
    "set_recall": "recall",
    "set_f": "f_score",
}

_CUTOFF = re.compile(rf"({'|'.join(_WITH_CUTOFF)})_(\d+)")
_LEVEL = re.compile(r"(iprec_at_recall)_(\d\.\d+)")
_FAMILY = re.compile(
    rf"(?P<name>{'|'.join(_WITH_CUTOFF)})\.(?P<cutoffs>\d+(,\d+)*)", re.IGNORECASE
)


def meaning(name: str) -> tuple[str, list[tuple[str, object]]]:
    """Returns the metric and the options that a name in lower case stands for.

    >>> meaning("map_cut_10")
    ('average_precision', [('k', 10)])
    >>> meaning("ndcg")
    ('ndcg', [])
    """
    cutoff, level = _CUTOFF.fullmatch(name), _LEVEL.fullmatch(name)
    if cutoff:
        metric, options = _WITH_CUTOFF[cutoff[1]]
        return metric, [*options.items(), ("k", int(cutoff[2]))]
    if level:
        return _WITHOUT_CUTOFF[level[1]], [("recall_levels", float(level[2]))]
    return _WITHOUT_CUTOFF.get(name, name), []


def members(text: str) -> list[str]:
    """Returns the names in a family of trec_eval, or none if the text is not a family.

    >>> members("ndcg_cut.1,10")
    ['ndcg_cut_1', 'ndcg_cut_10']
    """
    family = _FAMILY.fullmatch(text.strip())
    if family is None:
        return []
    return [f"{family['name']}_{k}" for k in family["cutoffs"].split(",")]
