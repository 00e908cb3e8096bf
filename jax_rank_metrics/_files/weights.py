"""The weights of queries, from a file."""

import math
import re

from jax_rank_metrics._files.source import Source, check_utf8, content, quote_line


def read_weights(source: Source) -> dict[str, float]:
    """Returns the weight of each query, by its id.

    Lines hold a query and its weight, between them white space or a comma. Blank lines are
    skipped, and so is a header: a first line whose second field is no number.

    Raises:
        ValueError: with the file and the line, if a line has another form, a weight is
            below 0 or not finite, or a query repeats; or if there is none.
        OSError: if the file cannot be opened.
    """
    data = content(source)
    check_utf8(source, data)
    weights: dict[str, float] = {}
    for number, line in enumerate(data.decode().split("\n"), 1):
        query, *texts = re.split(r"\s*,\s*|\s+", line.strip())
        if not query and not texts:
            continue
        weight = _number(texts)
        if weight is None and number == 1 and len(texts) == 1:
            continue
        if weight is None:
            problem = "pass a query and its weight"
        elif not 0 <= weight < math.inf:
            problem = "pass finite weights of at least 0"
        elif query in weights:
            problem = f"query {query!r} has a weight already"
        else:
            weights[query] = weight
            continue
        raise ValueError(f"{source}, {quote_line(number, data)}: {problem}")
    if not weights:
        raise ValueError(f"{source} is empty; pass lines of a query and its weight")
    return weights


def _number(texts: list[str]) -> float | None:
    """Returns the number that the only text spells; None if there is none."""
    try:
        [text] = texts
        return float(text)
    except ValueError:
        return None
