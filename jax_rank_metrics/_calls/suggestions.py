"""Answers to unknown names of metrics: what was meant, or where it is found."""

import difflib
import re
from collections.abc import Iterable

_OF_USERS = (
    "jrm.{0}(ids, counts) measures it; evaluate_users(…, seen=…) does so at its k"
)
_OF_ALL_LISTS = (
    "it belongs to all lists together: evaluation.exposure.{0}() after evaluate_users, or "
    "jrm.exposure(ids, num_items).{0}()"
)
_OF_TWO_RANKINGS = (
    "jrm.{0}(first, second) compares two rankings; tau and rho compare scores with "
    "labels"
)
_OF_MORE = "the function jrm.{0} measures it, which reads more than labels and scores"

# Names of what is no metric of labels and scores, and where it is found.
_ELSEWHERE = {
    **dict.fromkeys(("popularity", "novelty"), _OF_USERS),
    **dict.fromkeys(("coverage", "gini", "entropy", "personalization"), _OF_ALL_LISTS),
    "exposure": "jrm.exposure(ids, num_items) measures it, over all lists together",
    "intra_list_diversity": (
        "jrm.{0}(ids, features) measures it; evaluate_users(…, embeddings=…) does so at "
        "its k"
    ),
    **dict.fromkeys(
        ("kendall_tau", "spearman_rho", "rank_biased_overlap", "overlap", "jaccard"),
        _OF_TWO_RANKINGS,
    ),
    **dict.fromkeys(
        (
            *("serendipity", "popularity_lift", "miscalibration", "neighbor_recall"),
            "group_exposure",
        ),
        _OF_MORE,
    ),
}
_SYNONYMS = {
    "rbo": "rank_biased_overlap",
    "ild": "intra_list_diversity",
    "diversity": "intra_list_diversity",
    "catalog_coverage": "coverage",
    "item_coverage": "coverage",
}

MAX_LENGTH = 80  # of a name that is compared with those that are known

# A cutoff at the end of a name, as others write it: "ndcg_10", "recall_at_5", "hr10",
# "judged.20".
_CUTOFF = re.compile(r"(?P<name>.*?[^\W\d_])(?:_?at)?[_.]?(?P<k>\d+(?:,\d+)*)")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns what to pass in place of a name that is unknown.

    Args:
        name: In lower case, with underscores, without options and what follows @.
        known: The names of metrics.

    >>> suggestion("ndcg_10", ["ndcg", "map"])
    'did you mean ndcg@10?'
    >>> suggestion("recal", ["recall", "map"])
    'did you mean recall?'
    """
    known, function = list(known), _SYNONYMS.get(name, name)
    if function in _ELSEWHERE:
        return _ELSEWHERE[function].format(function)
    cutoff = _CUTOFF.fullmatch(name)
    if cutoff is not None and cutoff["name"] in known:
        return f"did you mean {cutoff['name']}@{cutoff['k']}?"
    similar = difflib.get_close_matches(name[:MAX_LENGTH], known, n=3, cutoff=0.6)
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return (
        "pass a name such as 'ndcg@10', 'map', 'mrr' or 'recall(rel=2)@1,5', which the "
        "page 'All metrics' of the documentation lists"
    )
