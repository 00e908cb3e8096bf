"""Writes `torchmetrics.json`, the numbers that `test_torchmetrics.py` compares with.

torch is too heavy to install for a test, so its numbers are kept. To make them again,
in an environment of its own:

    pip install torch==2.13.0 torchmetrics==1.9.0 numpy
    python tests/peers/record_torchmetrics.py

The file holds lists `[queries, items]` with label -1 as padding; the values of every
query at every cutoff, where null is the whole list; and at the first cutoff the mean of
every metric, for each of its policies on queries that have nothing relevant, and where
all scores are below 0.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torchmetrics
from torchmetrics import retrieval

QUERIES, ITEMS = 9, 7
KS = (3, 1, 20, None)

METRICS = {
    "ndcg": (retrieval.RetrievalNormalizedDCG, {}),
    "map": (retrieval.RetrievalMAP, {}),
    "mrr": (retrieval.RetrievalMRR, {}),
    "precision": (retrieval.RetrievalPrecision, {}),
    "precision-adaptive": (retrieval.RetrievalPrecision, {"adaptive_k": True}),
    "recall": (retrieval.RetrievalRecall, {}),
    "hit_rate": (retrieval.RetrievalHitRate, {}),
    "r_precision": (retrieval.RetrievalRPrecision, {}),
}


def draw():
    """Lists with every edge: none or all relevant, one item, padding, ties."""
    rng = np.random.default_rng(1)
    shape = (QUERIES, ITEMS)
    graded = rng.choice([0, 0, 0, 1, 2, 3], shape)
    graded[0] = 0
    graded[1] = 2
    length = rng.integers(3, ITEMS + 1, (QUERIES, 1))
    length[2:4] = [[1], [ITEMS]]
    graded[2:4, 0] = 1
    graded = np.where(np.arange(ITEMS) < length, graded, -1)
    # Positive, since four of its metrics take what scores 0 or less for irrelevant.
    scores = 1 + rng.permuted(np.tile(np.arange(ITEMS), (QUERIES, 1)), axis=1)
    return {
        "labels": graded.tolist(),
        "scores": scores.tolist(),
        "tied_scores": (1 + scores // 3).tolist(),
    }


def measure(name, labels, scores, **options):
    """What one metric computes of all queries."""
    metric_class, own = METRICS[name]
    metric = metric_class(ignore_index=-1, **own, **options)
    labels = torch.tensor(labels)
    queries = torch.arange(len(labels))[:, None].expand(labels.shape)
    metric.update(torch.tensor(scores, dtype=torch.float32), labels, indexes=queries)
    return [round(float(x), 7) for x in metric.compute().reshape(-1)]


def mean(name, labels, scores, **options):
    """Its mean over all queries."""
    return measure(name, labels, scores, **options)[0]


def every_query(values, dim=None):
    """An aggregation that leaves the values of queries as they are."""
    return values


def record():
    """All inputs and outputs."""
    lists = draw()
    graded = lists["labels"]
    binary = np.minimum(graded, 1).tolist()  # all but nDCG refuse others
    cases = {"ndcg-tied": ("ndcg", graded, lists["tied_scores"])}
    for name in METRICS:
        cases[name] = (name, graded if name == "ndcg" else binary, lists["scores"])
    values, means, negative = {}, {}, {}
    for case, (name, labels, scores) in cases.items():
        cut = [{}] if name == "r_precision" else [{"top_k": k} for k in KS]
        values[case] = [
            measure(name, labels, scores, aggregation=every_query, **k) for k in cut
        ]
        means[case] = {
            policy: mean(name, labels, scores, empty_target_action=policy, **cut[0])
            for policy in ("neg", "pos", "skip")
        }
        below = (np.array(scores) - ITEMS - 1).tolist()
        negative[case] = mean(name, labels, below, **cut[0])
    return {
        "torchmetrics": torchmetrics.__version__,
        "torch": torch.__version__.partition("+")[0],
        "ks": KS,
        **lists,
        "values": values,
        "means": means,
        "means_of_negative_scores": negative,
    }


def one_row_a_line(recorded):
    """JSON with numbers side by side."""
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
