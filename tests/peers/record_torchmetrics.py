"""Writes `torchmetrics.json`, the numbers that `test_torchmetrics.py` compares with.

torch is too heavy to install for a test, so its numbers are kept. To make them again,
in an environment of its own:

    pip install torch==2.15.0 torchmetrics==1.9.0 numpy
    python tests/peers/record_torchmetrics.py

The file holds lists `[queries, items]` with label -1 as padding; the values of every
query at every cutoff, where null is the whole list; and at the first cutoff the mean of
every metric, for each of its policies on queries that have nothing relevant (for fall-out,
nothing else), and where all scores are below 0. Then values and means of lists of very unequal length, packed in
one row `[items]` in no order, with the query of each item in `indexes`.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torchmetrics
from torchmetrics import retrieval

QUERIES, ITEMS = 9, 7
KS = (3, 1, 20, None)
# Metrics of packed queries, where queries without items are absent.
LENGTHS = (1, 30, 0, 2, 12, 3, 0, 7, 1, 9, 4, 24)

METRICS = {
    "ndcg": (retrieval.RetrievalNormalizedDCG, {}),
    "map": (retrieval.RetrievalMAP, {}),
    "mrr": (retrieval.RetrievalMRR, {}),
    "precision": (retrieval.RetrievalPrecision, {}),
    "precision-adaptive": (retrieval.RetrievalPrecision, {"adaptive_k": True}),
    "recall": (retrieval.RetrievalRecall, {}),
    "hit_rate": (retrieval.RetrievalHitRate, {}),
    "r_precision": (retrieval.RetrievalRPrecision, {}),
    "fall_out": (retrieval.RetrievalFallOut, {}),
}


def draw():
    """Returns lists with every edge case: none or all relevant, one item, padding, ties."""
    rng = np.random.default_rng(1)
    shape = (QUERIES, ITEMS)
    graded = rng.choice([0, 0, 0, 1, 2, 3], shape)
    graded[0] = 0
    graded[1] = 2
    length = rng.integers(3, ITEMS + 1, (QUERIES, 1))
    length[2:4] = [[1], [ITEMS]]
    graded[2:4, 0] = 1
    graded = np.where(np.arange(ITEMS) < length, graded, -1)
    # Positive, since four of its metrics treat items that score 0 or less as irrelevant.
    scores = 1 + rng.permuted(np.tile(np.arange(ITEMS), (QUERIES, 1)), axis=1)
    return {
        "labels": graded.tolist(),
        "scores": scores.tolist(),
        "tied_scores": (1 + scores // 3).tolist(),
    }


def draw_packed():
    """Returns shuffled packed lists with every edge case."""
    rng = np.random.default_rng(8)
    indexes = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    items = indexes.size
    graded = rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 3, -1], items)
    graded[indexes == 0] = 1
    graded[indexes == 3] = -1  # all padding
    graded[indexes == 5] = 0
    graded[indexes == 7] = 2
    graded[indexes == 8] = 0
    order = rng.permutation(items)
    scores = 1 + rng.permutation(items)
    return {
        "indexes": indexes[order].tolist(),
        "labels": graded[order].tolist(),
        "scores": scores.tolist(),
        "tied_scores": (1 + scores // 16).tolist(),
    }


def queries_of_rows(labels):
    """Returns the query of every item, where each row is a query."""
    rows = np.arange(len(labels))[:, None]
    return np.broadcast_to(rows, np.shape(labels)).tolist()


def measure(name, labels, scores, indexes, **options):
    """Computes a metric of all queries."""
    metric_class, case_options = METRICS[name]
    # "neg" is the default of every metric except fall-out.
    options = {"empty_target_action": "neg", **case_options, **options}
    metric = metric_class(ignore_index=-1, **options)
    metric.update(
        torch.tensor(scores, dtype=torch.float32),
        torch.tensor(labels),
        indexes=torch.tensor(indexes),
    )
    return [round(float(x), 7) for x in metric.compute().reshape(-1)]


def mean(*args, **options):
    """Returns the mean of a metric over all queries."""
    return measure(*args, **options)[0]


def every_query(values, dim=None):
    """Returns the values of queries as they are, in place of an aggregation."""
    return values


def all_cases(lists, indexes):
    """Yields arguments of `measure` for every metric, and for ties in nDCG."""
    graded = lists["labels"]
    binary = np.minimum(graded, 1).tolist()  # every metric except nDCG refuses grades
    cases = {"ndcg-tied": ("ndcg", graded, lists["tied_scores"], indexes)}
    for name in METRICS:
        labels = graded if name == "ndcg" else binary
        cases[name] = (name, labels, lists["scores"], indexes)
    return cases


def cuts(name):
    """Returns the options of a metric at each of its cutoffs."""
    return [{}] if name == "r_precision" else [{"top_k": k} for k in KS]


def values_of(cases):
    """Records the value of every query at every cutoff."""
    return {
        case: [measure(*args, aggregation=every_query, **cut) for cut in cuts(args[0])]
        for case, args in cases.items()
    }


def means_of(cases):
    """Records means at the first cutoff, for each policy for empty queries."""
    return {
        case: {
            policy: mean(*args, empty_target_action=policy, **cuts(args[0])[0])
            for policy in ("neg", "pos", "skip")
        }
        for case, args in cases.items()
    }


def means_below_zero(cases):
    """Records values at the first cutoff, with scores shifted below 0."""
    return {
        case: mean(
            name,
            labels,
            (np.array(scores) - ITEMS - 1).tolist(),
            indexes,
            **cuts(name)[0],
        )
        for case, (name, labels, scores, indexes) in cases.items()
    }


def record():
    """Returns all inputs and outputs."""
    lists, packed = draw(), draw_packed()
    cases = all_cases(lists, queries_of_rows(lists["labels"]))
    packed_cases = all_cases(packed, packed["indexes"])
    return {
        "torchmetrics": torchmetrics.__version__,
        "torch": torch.__version__.partition("+")[0],
        "ks": KS,
        **lists,
        "values": values_of(cases),
        "means": means_of(cases),
        "means_of_negative_scores": means_below_zero(cases),
        "packed": {"queries": len(LENGTHS), **packed},
        "packed_values": values_of(packed_cases),
        "packed_means": means_of(packed_cases),
    }


def one_row_a_line(recorded):
    """Returns JSON with numbers side by side."""
    lines = []
    for name, value in recorded.items():
        if isinstance(value, dict):
            rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            text = "{\n    " + ",\n    ".join(rows) + "\n  }"
        else:
            text = json.dumps(value)
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    target = Path(__file__).with_name("torchmetrics.json")
    target.write_text(one_row_a_line(record()))
