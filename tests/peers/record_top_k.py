"""Writes `top_k.json`, the numbers of RecBole and RecTools that `test_top_k.py` reads.

They are written for older versions of NumPy, so that their numbers are kept, with their
versions. To make them again, each in an environment of its own:

    pip install recbole==1.2.1 && python tests/peers/record_top_k.py recbole
    pip install rectools==0.19.0 "numpy<2" && python tests/peers/record_top_k.py rectools

The file holds recommended ids `[users, ranks]` and the items that each user likes; and for
each library its version, and means over the users under the calls of the page about it.
"""

import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np

USERS, ITEMS, RANKS = 30, 20, 6
FILE = Path(__file__).with_name("top_k.json")


def draw():
    """Returns recommended items, and relevant ones, from one to seven for a user."""
    rng = np.random.default_rng(11)
    ids = np.stack([rng.permutation(ITEMS)[:RANKS] for _ in range(USERS)])
    relevant = [
        rng.permutation(ITEMS)[: rng.integers(1, 8)].tolist() for _ in range(USERS)
    ]
    return {"ids": ids.tolist(), "relevant": relevant}


def recbole(lists):
    """Returns the top-k metrics of RecBole at 3."""
    np.float = float  # which RecBole reads, and NumPy 1.24 dropped
    import torch
    from recbole.evaluator import metrics

    hits = [
        [item in relevant for item in ids[:3]]
        for ids, relevant in zip(lists["ids"], lists["relevant"], strict=True)
    ]
    counts = [[len(relevant)] for relevant in lists["relevant"]]
    top_k = torch.tensor(np.concatenate([np.int64(hits), np.int64(counts)], axis=1))
    config = {"topk": [3], "metric_decimal_place": 10}
    names = ("Hit", "MRR", "MAP", "Recall", "NDCG", "Precision")
    return {
        f"{name}@3": getattr(metrics, name)(config).calculate_metric(
            {"rec.topk": top_k}
        )[f"{name.lower()}@3"]
        for name in names
    }


def rectools(lists):
    """Returns the ranking metrics of RecTools at 3."""
    import pandas as pd
    from rectools import metrics

    def frame(items_of_users):
        rows = [
            (user, item, rank)
            for user, items in enumerate(items_of_users)
            for rank, item in enumerate(items, 1)
        ]
        return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])

    recommended = frame(lists["ids"])
    interactions = frame(lists["relevant"]).drop(columns="rank")
    calls = (
        *("HitRate(k=3)", "MRR(k=3)", "MAP(k=3)", "Recall(k=3)", "Precision(k=3)"),
        *("NDCG(k=3, divide_by_achievable=True)", "Precision(k=3, r_precision=True)"),
    )
    return {
        call: float(eval(call, vars(metrics)).calc(recommended, interactions))
        for call in calls
    }


def main():
    """Records one library, and keeps what the file says of the other."""
    library = sys.argv[1]
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    recorded["lists"] = draw()
    recorded[library] = {
        "version": importlib.metadata.version(library),
        "values": {"recbole": recbole, "rectools": rectools}[library](
            recorded["lists"]
        ),
    }
    FILE.write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
