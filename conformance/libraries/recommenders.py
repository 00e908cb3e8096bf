"""recommenders: tables of relevant items and of predictions; nDCG with binary gains."""

import pandas as pd
from recommenders.evaluation import python_evaluation as of


def value(case, metric, k):
    lists, users = case.filled, ["userID", "itemID"]
    judged = [(x.query, doc, 1) for x in lists if x.qrels for doc in x.relevant]
    returned = [(x.query, *pair) for x in lists for pair in x.pairs or ()]
    true = pd.DataFrame(judged, columns=[*users, "rating"]).astype({"rating": float})
    predicted = pd.DataFrame(returned, columns=[*users, "prediction"])
    return metric(true, predicted, k=k)


METRICS = {
    "ndcg": lambda case, k: value(case, of.ndcg_at_k, k),
    "ap": lambda case, k: value(case, of.map_at_k, k),
    "recall": lambda case, k: value(case, of.recall_at_k, k),
    "precision": lambda case, k: value(case, of.precision_at_k, k),
}
