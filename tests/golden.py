"""Values of definition 1 of every metric, which tests/golden.json freezes.

python tests/golden.py --record    writes the values of this version

The file maps signatures to the values of `LABELS` list by list, null for undefined values.
Who changes a value has changed a definition: the version rises, and CHANGELOG.md names the
metric.
"""

import functools
import json
import sys
from pathlib import Path

import numpy as np
import registry

import jax_rank_metrics as jrm

FILE = Path(__file__).parent / "golden.json"

# A graded list with ties, two with one relevant item, one without any, one without items.
LABELS = np.float32(
    [
        [1, 0, 4, 2, 0, 1, 3, 0],
        [0, 0, 0, 4, 0, 0, 0, 0],
        [4, 1, 1, 0, 0, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [4, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ]
)
SCORES = np.float32(
    [
        [5, 6, 4, 4, 3, 4, 0, 1],
        [1, 2, 3, 3, 2, 5, 0, 0],
        [1, 4, 9, 7, 2, 3, 5, 6],
        [1, 2, 2, 3, 0, 0, 4, 5],
        [3, 3, 2, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ]
)
EXISTS = np.array([[True] * 8] * 4 + [[True] * 4 + [False] * 4, [False] * 8])
INDEX = np.arange(LABELS.size).reshape(LABELS.shape)
COLUMNS = {
    "judged": INDEX % 5 != 2,
    "groups": np.stack([INDEX % 3 == 0, INDEX % 3 != 0], -1).astype(np.float32),
    "propensities": (1 / (1 + INDEX % 4)).astype(np.float32),
    "subtopics": np.stack([INDEX % x == 1 for x in (2, 3, 7)], -1)
    & (LABELS > 0)[..., None],
}
# They read the rank of the only relevant item.
OF_TARGET = (
    "adjusted_hit_rate",
    "adjusted_mean_rank_index",
    "adjusted_reciprocal_rank",
)


def metrics():
    """Returns each metric of the package under its defaults, at a cutoff if it has any.

    Metrics of lists of ids, which read columns of items, are left out: loops hold them.
    """
    results = {}
    for metric in registry.METRICS.values():
        if not {"groups"}.issuperset(metric.spec.item_columns):
            continue
        options = {"k": 3} if "k" in metric.spec.options else {}
        if metric.__name__ in OF_TARGET:
            options["relevance_threshold"] = 4
        partial = functools.partial(metric, **options)
        results[str(jrm.signature(partial))] = partial
    return results


def values(metrics):
    """Returns the values of all lists for each metric, None for undefined values."""
    ranking = jrm.rank(LABELS, SCORES, EXISTS, columns=COLUMNS)
    results = {}
    for name, lists in jrm.measure(metrics, ranking).items():
        columns = np.reshape(np.asarray(lists.values, np.float64), (len(LABELS), -1))
        defined = np.reshape(np.asarray(lists.defined), (len(LABELS), -1))
        columns = np.where(defined, columns, np.nan)
        results[name] = [
            [None if np.isnan(x) else float(f"{x:.8g}") for x in row]
            for row in columns.tolist()
        ]
    return results


if __name__ == "__main__" and sys.argv[1:] == ["--record"]:
    lines = [f"{json.dumps(x)}: {json.dumps(y)}" for x, y in values(metrics()).items()]
    FILE.write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n")
