"""LightGBM: predictions are the scores that a model without trees starts from."""

import lightgbm
import numpy as np


def value(case, metric, k):
    lists = case.complete
    scores = [y for x in lists for y in x.scores]
    data = lightgbm.Dataset(np.zeros((len(scores), 1)), init_score=scores)
    data.set_label([y for x in lists for y in x.labels])
    data.set_group([len(x.labels) for x in lists])
    options = {"objective": "lambdarank", "metric": metric, "eval_at": [k]}
    return lightgbm.Booster(options | {"verbose": -1}, data).eval_train()[0][2]


METRICS = {
    "ndcg": lambda case, k: value(case, "ndcg", k),
    "ap": lambda case, k: value(case, "map", k),
}
