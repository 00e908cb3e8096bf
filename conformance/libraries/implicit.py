"""implicit: a model that recommends ranked items, and a matrix of relevant items."""

import numpy as np
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix


def named(name):
    def value(case, k):
        users = [[*dict.fromkeys([*x.ids, *x.qrels])] for x in case.complete]
        ids = np.full((len(users), k), -1, np.int32)
        relevant = np.zeros((len(users), 1 + max(map(len, users))))
        for i, (x, items) in enumerate(zip(case.complete, users, strict=True)):
            ids[i, : len(x.ids)] = [items.index(y) for y in x.ids][:k]
            relevant[i, [items.index(y) for y in x.relevant]] = 1
        data = [csr_matrix(relevant)] * 2
        model = type(
            "Model", (), {"recommend": lambda _, x, *__, **___: (ids[x], None)}
        )
        return ranking_metrics_at_k(model(), *data, K=k, show_progress=False)[name]

    return value


METRICS = {"ndcg": named("ndcg"), "ap": named("map"), "precision": named("precision")}
