"""XGBoost: predictions are the margins that a model without trees starts from."""

import numpy as np
import xgboost


def value(case, measure, k):
    scores = [y for x in case.complete for y in x.scores]
    data = xgboost.DMatrix(np.zeros((len(scores), 1)), base_margin=scores)
    data.set_label([y for x in case.complete for y in x.labels])
    data.set_group([len(x.labels) for x in case.complete])
    options = {
        "objective": "rank:ndcg",
        "eval_metric": measure + (f"@{k}" if k else ""),
    }
    return xgboost.Booster(options, [data]).eval(data).rpartition(":")[2]


METRICS = {
    "ndcg": lambda case, k=None: value(case, "ndcg", k),
    "ap": lambda case, k=None: value(case, "map", k),
    "precision": lambda case, k: value(case, "pre", k),
}
