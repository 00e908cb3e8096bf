"""RecTools: tables of ranked and of relevant items, by user."""

import pandas as pd
from rectools import metrics


def named(metric):
    def value(case, k):
        users = ["user_id", "item_id"]
        relevant = [(x.query, doc) for x in case.complete for doc in x.relevant]
        ranked = [(x.query, *y) for x in case.filled for y in enumerate(x.ids, 1)]
        reco = pd.DataFrame(ranked, columns=["user_id", "rank", "item_id"])
        return metric(k=k).calc(reco, pd.DataFrame(relevant, columns=users))

    return value


METRICS = {
    "ndcg": named(metrics.NDCG),
    "ap": named(metrics.MAP),
    "rr": named(metrics.MRR),
}
METRICS |= {"recall": named(metrics.Recall), "precision": named(metrics.Precision)}
METRICS["hit_rate"] = named(metrics.HitRate)
