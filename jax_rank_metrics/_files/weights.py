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
        fields = re.split(r",|\s+", line.strip().replace(", ", ","))
        if fields == [""]:
            continue
        try:
            query, text = fields
            weight = float(text)
        except ValueError:
            if number == 1 and len(fields) == 2:
                continue
            problem = "pass a query and its weight"
        else:
            problem = ""
            if not 0 <= weight < math.inf:
                problem = "pass finite weights of at least 0"
            elif query in weights:
                problem = f"query {query!r} has a weight already"
            weights[query] = weight
        if problem:
            raise ValueError(f"{source}, {quote_line(number, data)}: {problem}")
    if not weights:
        raise ValueError(f"{source} is empty; pass lines of a query and its weight")
    return weights
