"""LensKit: items in rank order, and the items of the test data."""

from lenskit.data import ItemList
from lenskit.metrics import ranking


def named(name, **options):
    def value(case, k=None):
        ranked = ItemList(item_ids=case.only.ids, ordered=True)
        relevant = ItemList(item_ids=case.only.relevant)
        return getattr(ranking, name)(n=k, **options).measure_list(ranked, relevant)

    return value


NAMES = {"ndcg": "NDCG", "dcg": "DCG", "ap": "AveragePrecision", "rr": "RecipRank"}
NAMES |= {"recall": "Recall", "precision": "Precision", "hit_rate": "Hit"}
METRICS = {metric: named(name) for metric, name in NAMES.items()}
METRICS["rbp"] = lambda case, k=None, p=0.8: named("RBP", patience=p)(case, k)
