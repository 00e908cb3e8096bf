"""Writes `recommenders.json`, the numbers that `test_recommenders.py` compares with.

The libraries need an older NumPy, so their numbers are kept. To record a library again, in
an environment of its own:

    pip install rectools==0.19.0 "numpy<2"
    pip install lenskit==2025.8.1 "numpy<2"
    pip install recmetrics==0.0.12 "numpy<2"
    pip install recbole==1.2.1
    python tests/peers/record_recommenders.py rectools

The file holds lists of recommended ids `[users, ranks]` that are 2 to 6 long, padded with
-1, the items that each user likes and has seen, the values of every user at every cutoff,
and the numbers of all lists together; personalization is of lists of one length. `top_k`
holds other lists, and for two libraries their version, and means over the users under the
calls of the page about it.
"""

import importlib.metadata
import inspect
import json
import sys
import warnings
from pathlib import Path

import numpy as np

USERS, ITEMS, RANKS = 30, 20, 6
KS = (1, 3, 6)
FILE = Path(__file__).with_name("recommenders.json")


def draw():
    """Returns recommended, relevant and seen items; some items were never seen."""
    rng = np.random.default_rng(3)
    order = np.stack([rng.permutation(ITEMS) for _ in range(USERS)])
    lengths = rng.integers(2, RANKS + 1, (USERS, 1))
    ids = np.where(np.arange(RANKS) < lengths, order[:, :RANKS], -1)
    relevant = np.stack([rng.permutation(ITEMS)[:7] for _ in range(USERS)])
    chances = 1 / np.arange(1, ITEMS - 2)
    seen = [
        rng.choice(ITEMS - 3, rng.integers(1, 6), False, chances / chances.sum())
        for _ in range(USERS)
    ]
    return {
        "ids": ids.tolist(),
        "full_ids": order[:, :RANKS].tolist(),
        "relevant": relevant.tolist(),
        "seen": [row.tolist() for row in seen],
    }


def draw_top_k():
    """Returns recommended items, and relevant ones, from one to seven for a user."""
    rng = np.random.default_rng(11)
    ids = np.stack([rng.permutation(ITEMS)[:RANKS] for _ in range(USERS)])
    relevant = [
        rng.permutation(ITEMS)[: rng.integers(1, 8)].tolist() for _ in range(USERS)
    ]
    return {"ids": ids.tolist(), "relevant": relevant}


def frame(lists):
    """Returns a table with a row for every user, item and rank."""
    import pandas as pd

    rows = [
        (user, item, rank)
        for user, items in enumerate(lists)
        for rank, item in enumerate(items, 1)
        if item >= 0
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def rectools(recorded):
    """Records values for each user, `[users, cutoffs]`, and means of top-k lists."""
    from rectools import metrics

    data, lists = recorded["lists"], recorded["top_k"]["lists"]
    listed, relevant, seen = (frame(data[key]) for key in ("ids", "relevant", "seen"))
    columns = {"novelty": [], "popularity": [], "serendipity": []}
    for k in KS:
        values = {
            "novelty": metrics.MeanInvUserFreq(k).calc_per_user(listed, seen),
            "popularity": metrics.AvgRecPopularity(k).calc_per_user(listed, seen),
            "serendipity": metrics.Serendipity(k).calc_per_user(
                listed, relevant, seen, list(range(ITEMS))
            ),
        }
        for name, column in columns.items():
            column.append(values[name].sort_index().round(7).tolist())
    recorded["users"] = {n: np.transpose(x).tolist() for n, x in columns.items()}
    recommended = frame(lists["ids"])
    interactions = frame(lists["relevant"]).drop(columns="rank")
    calls = (
        *("HitRate(k=3)", "MRR(k=3)", "MAP(k=3)", "Recall(k=3)", "Precision(k=3)"),
        *("NDCG(k=3, divide_by_achievable=True)", "Precision(k=3, r_precision=True)"),
    )
    record_top_k(
        recorded,
        "rectools",
        {
            call: float(eval(call, vars(metrics)).calc(recommended, interactions))
            for call in calls
        },
    )


def record_top_k(recorded, library, values):
    """Records means of a library beside its version."""
    version = importlib.metadata.version(library)
    recorded["top_k"][library] = {"version": version, "values": values}


def recbole(recorded):
    """Records top-k metrics at 3."""
    np.float = float  # which RecBole reads, and NumPy 1.24 dropped
    import torch
    from recbole.evaluator import metrics

    lists = recorded["top_k"]["lists"]
    hits = [
        [item in relevant for item in ids[:3]]
        for ids, relevant in zip(lists["ids"], lists["relevant"], strict=True)
    ]
    counts = [[len(relevant)] for relevant in lists["relevant"]]
    top_k = torch.tensor(np.concatenate([np.int64(hits), np.int64(counts)], axis=1))
    config = {"topk": [3], "metric_decimal_place": 10}
    names = ("Hit", "MRR", "MAP", "Recall", "NDCG", "Precision")
    values = {
        f"{name}@3": getattr(metrics, name)(config).calculate_metric(
            {"rec.topk": top_k}
        )[f"{name.lower()}@3"]
        for name in names
    }
    record_top_k(recorded, "recbole", values)


def lenskit(recorded):
    """Records the Gini indices of all lists together."""
    from lenskit.data import ItemList
    from lenskit.metrics import ExposureGini, ListGini
    from lenskit.metrics.ranking import GeometricRankWeight, LogRankWeight

    lists = [[i for i in row if i >= 0] for row in recorded["lists"]["ids"]]
    gini = {
        "counts": ListGini(items=ITEMS),
        "geometric": ExposureGini(items=ITEMS, weight=GeometricRankWeight(0.85)),
        "log2": ExposureGini(items=ITEMS, weight=LogRankWeight(offset=1)),
    }
    for name, metric in gini.items():
        parts = [
            metric.compute_list_data(ItemList(item_ids=row, ordered=True), None)
            for row in lists
        ]
        number = float(metric.global_aggregate(parts))
        recorded["together"][f"gini of {name}"] = number


def recmetrics(recorded):
    """Records the personalization of lists of one length."""
    import sklearn.utils.fixes

    # recmetrics imports what scikit-learn had before 1.0.
    sklearn.utils.fixes.signature = inspect.signature
    from recmetrics.metrics import personalization

    number = float(personalization(recorded["lists"]["full_ids"]))
    recorded["together"]["personalization"] = number


def main():
    """Records one library, and keeps what the file says of the others."""
    warnings.simplefilter("ignore")
    recorded = json.loads(FILE.read_text())
    recorded |= {"ks": KS, "lists": draw()}
    recorded["top_k"]["lists"] = draw_top_k()
    libraries = (rectools, recbole, lenskit, recmetrics)
    {x.__name__: x for x in libraries}[sys.argv[1]](recorded)
    FILE.write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
