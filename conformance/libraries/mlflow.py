"""mlflow: ids in rank order, and relevant ids."""

import pandas as pd
from mlflow import metrics


def named(metric):
    def value(case, k):
        returned = pd.Series([x.ids for x in case.complete])
        relevant = pd.Series([x.relevant for x in case.complete])
        return metric(k).eval_fn(returned, relevant).aggregate_results["mean"]

    return value


METRICS = {
    "ndcg": named(metrics.ndcg_at_k),
    "recall": named(metrics.recall_at_k),
    "precision": named(metrics.precision_at_k),
}
