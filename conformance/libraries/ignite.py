"""ignite: tensors of scores and labels of one list."""

import torch
from ignite.metrics import rec_sys


def named(metric, field="binary"):
    def value(case, k):
        scores = torch.tensor([case.only.scores])
        labels = torch.tensor([getattr(case.only, field)], dtype=torch.float)
        state = metric(top_k=[k])
        state.update((scores, labels))
        return state.compute()[0]

    return value


METRICS = {"hit_rate": named(rec_sys.HitRate), "ndcg": named(rec_sys.NDCG, "labels")}
