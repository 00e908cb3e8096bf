"""Expands the words after `-m`: sets of measures, and lines about a whole run."""

import re
from collections.abc import Sequence

from jax_rank_metrics._trec import NOT_MEASURED, RUN_LINES, SETS

DEFAULT = ("ndcg@10", "map", "mrr", "recall@100")

# Measures of ndeval that are divided by the value of a list which need not exist.
_NOT_OF_NDEVAL = ("alpha-DCG", "nERR-IA", "nNRBP")


def words_or_default(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the words after `-m`, or the name of the default set if there are none.

    >>> words_or_default(["map", "P.5"], trec=True)
    ['map', 'P.5']
    >>> words_or_default([], trec=True), words_or_default([], trec=False)
    (['official'], ['default'])
    """
    return [*words] or ["official" if trec else "default"]


def metric_names(words: Sequence[str], trec: bool) -> list[tuple[str, bool]]:
    """Returns the names of metrics, and whether each has the meaning of trec_eval.

    Raises:
        ValueError: if a word is a measure of trec_eval that this package does not have, or
            several metrics.
    """
    names = []
    for word in words_or_default(words, trec):
        if len(typed := _metrics_in(word)) > 1:
            raise ValueError(
                f"-m {word}: pass -m for each metric, as in -m {' -m '.join(typed)}"
            )
        if word in NOT_MEASURED:
            raise ValueError(
                f"-m {word}: this measure of trec_eval is not available; leave it out"
            )
        if word.partition("@")[0] in _NOT_OF_NDEVAL:
            raise ValueError(
                f"-m {word}: this measure of ndeval is not available; pass alpha-nDCG, "
                "ERR-IA or NRBP, or alpha_dcg, which is not divided by anything"
            )
        if word == "default":
            names += [(name, trec) for name in DEFAULT]
        for name in SETS.get(word, () if word == "default" else (word,)):
            if name not in RUN_LINES and name not in NOT_MEASURED:
                names.append((name, trec or word in SETS))
    return names


def _metrics_in(word: str) -> list[str]:
    """Returns the metrics that stand in one word, with commas or blanks between them.

    Commas also stand between cutoffs, which are numbers, and between options.

    >>> _metrics_in("ap(rel=2, denominator=hits)@5, 10,map")
    ['ap(rel=2, denominator=hits)@5, 10', 'map']
    """
    # The outermost parentheses that are closed, and all that are still open.
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, letter in enumerate(word):
        if letter == "(":
            opened.append(index)
        elif letter == ")" and opened:
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, index + 1))
    letters = list(word)
    for start, stop in pairs:
        letters[start:stop] = "_" * (stop - start)
    masked = "".join(letters)
    ends = [x.span() for x in re.finditer(r"(?<=[^,;\s])[,;\s]++(?=[A-Za-z])", masked)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(word)]
    return [word[start:stop] for start, stop in zip(starts, stops, strict=True)]


def not_measured(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the measures of the requested sets that this package does not have."""
    return [name for name in _members(words, trec) if name in NOT_MEASURED]


def run_lines(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the requested lines about a whole run, among "runid" and "num_q"."""
    members = _members(words, trec)
    return [name for name in RUN_LINES if name in members]


def _members(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the words with sets replaced by their members, each once."""
    sets = [SETS.get(word, (word,)) for word in words_or_default(words, trec)]
    return [*dict.fromkeys(name for members in sets for name in members)]
