"""Writes `recommenders.json`, the numbers that `test_recommenders.py` compares with.

The libraries need an older NumPy, so their numbers are kept. To make them again, in an
environment of its own:

    pip install rectools==0.19.0 lenskit==2025.8.1 recmetrics==0.0.12 "numpy<2" "pyarrow<20"
    python tests/peers/record_recommenders.py

The file holds lists of recommended ids `[users, ranks]` that are 2 to 6 long, padded with
-1, the items that each user likes and has seen, the values of every user at every cutoff,
and the numbers of all lists together; personalization is of lists of one length.
"""

import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.utils.fixes
from lenskit.data import ItemList
from lenskit.metrics import ExposureGini, ListGini
from lenskit.metrics.ranking import GeometricRankWeight, LogRankWeight
from rectools.metrics import AvgRecPopularity, MeanInvUserFreq, Serendipity

# recmetrics imports what scikit-learn had before 1.0.
sklearn.utils.fixes.signature = inspect.signature
from recmetrics.metrics import personalization  # noqa: E402

USERS, ITEMS, RANKS = 30, 20, 6
KS = (1, 3, 6)


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


def frame(lists):
    """Returns a table with a row for every user, item and rank."""
    rows = [
        (user, item, rank)
        for user, items in enumerate(lists)
        for rank, item in enumerate(items, 1)
        if item >= 0
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def of_users(data):
    """Returns the values of RecTools for each user, `[users, cutoffs]`."""
    listed, relevant, seen = (frame(data[key]) for key in ("ids", "relevant", "seen"))
    columns = {"novelty": [], "popularity": [], "serendipity": []}
    for k in KS:
        values = {
            "novelty": MeanInvUserFreq(k).calc_per_user(listed, seen),
            "popularity": AvgRecPopularity(k).calc_per_user(listed, seen),
            "serendipity": Serendipity(k).calc_per_user(
                listed, relevant, seen, list(range(ITEMS))
            ),
        }
        for name, column in columns.items():
            column.append(values[name].sort_index().round(7).tolist())
    return {name: np.transpose(column).tolist() for name, column in columns.items()}


def of_all_lists(data):
    """Returns the numbers of LensKit and recmetrics, of all lists together."""
    lists = [[i for i in row if i >= 0] for row in data["ids"]]
    gini = {
        "counts": ListGini(items=ITEMS),
        "geometric": ExposureGini(items=ITEMS, weight=GeometricRankWeight(0.85)),
        "log2": ExposureGini(items=ITEMS, weight=LogRankWeight(offset=1)),
    }
    numbers = {}
    for name, metric in gini.items():
        parts = [
            metric.compute_list_data(ItemList(item_ids=row, ordered=True), None)
            for row in lists
        ]
        numbers[f"gini of {name}"] = float(metric.global_aggregate(parts))
    numbers["personalization"] = float(personalization(data["full_ids"]))
    return numbers


def main():
    """Writes the file."""
    warnings.simplefilter("ignore")
    data = draw()
    recorded = {"ks": KS, "lists": data, "users": of_users(data)}
    recorded["together"] = of_all_lists(data)
    Path(__file__).with_name("recommenders.json").write_text(
        json.dumps(recorded) + "\n"
    )


if __name__ == "__main__":
    main()
