"""Saved values of a run: what `gate --save` writes, and what it takes for a baseline."""

import json
import re
from pathlib import Path

import numpy as np

from jax_rank_metrics._calls.signatures import fields
from jax_rank_metrics._command import report

# How the file begins, unlike a run of JSON.
_START = re.compile(rb'\s*\{\s*"signatures"\s*:')


def is_saved(path: Path) -> bool:
    """Whether a file holds saved values and no run, as its first letters tell."""
    if not path.is_file():  # a pipe can be read only once
        return False
    with path.open("rb") as file:
        return _START.match(file.read(80)) is not None


def text_of(run: report.Run) -> str:
    """Returns the values of all queries that count, with their signatures, as JSON."""
    queries = [str(run.query_ids[index]) for index in np.flatnonzero(run.is_counted)]
    columns = {label: x.values[run.is_counted] for label, x in run.lists.items()}
    values = {
        x: dict(zip(queries, y.tolist(), strict=True)) for x, y in columns.items()
    }
    signatures = {label: run.signatures[label] for label in run.lists}
    return report.indented({"signatures": signatures, "values": values})


def values_of(path: Path, run: report.Run) -> dict[str, np.ndarray]:
    """Reads saved values `[queries]`, of the metrics and the queries of a run.

    Raises:
        ValueError: if the file lacks a metric, or holds it under another signature, with
            the first field that differs; if it is of other queries, or cannot be read.
    """
    cure = "save the baseline anew"
    try:
        document = json.loads(path.read_text("utf-8"))
        saved, signatures = dict(document["values"]), dict(document["signatures"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not what --save wrote: {error!r}; {cure}"
        ) from error
    queries = [str(run.query_ids[index]) for index in np.flatnonzero(run.is_counted)]
    results: dict[str, np.ndarray] = {}
    for label, lists in run.lists.items():
        if label not in signatures:
            raise ValueError(
                f"{path} holds {', '.join(signatures)}, not {label}; {cure}"
            )
        before, after = fields(signatures[label]), run.signatures[label].fields
        for option in after | before:
            old, new = before.get(option, "none"), after.get(option, "none")
            if old != new:
                raise ValueError(
                    f"{path}: {label} was saved with {option}:{old}, and the candidate is "
                    f"measured with {option}:{new}; pass the options of then, or {cure}"
                )
        if differing := sorted({*queries} ^ saved[label].keys()):
            raise ValueError(
                f"{path} and the candidate differ in {len(differing)} queries, such as "
                f"{differing[0]!r}, which only one of them has; {cure}"
            )
        results[label] = np.zeros_like(lists.values)
        results[label][run.is_counted] = [saved[label][query] for query in queries]
    return results
