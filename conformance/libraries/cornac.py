"""cornac: indices of items in rank order, or scores of all items, and relevant items."""

import numpy as np
from cornac.metrics import AUC, MAP, MRR, NDCG, HitRatio, Precision, Recall


def named(metric):
    def value(case, k=None):
        items = list({**case.only.qrels, **dict(case.only.pairs)})
        order = np.array([items.index(x) for x in case.only.ids], int)
        relevant = np.array([items.index(x) for x in case.only.relevant], int)
        return metric(k or -1).compute(gt_pos=relevant, pd_rank=order)

    return value


def scored(case, metric):
    scores, relevant = case.only.scores, np.flatnonzero(case.only.binary)
    return metric.compute(np.arange(len(scores)), np.array(scores), relevant)


METRICS = {"ndcg": named(NDCG), "recall": named(Recall), "hit_rate": named(HitRatio)}
METRICS |= {"precision": named(Precision), "rr": lambda x: named(lambda _: MRR())(x)}
METRICS["ap"] = lambda case: scored(case, MAP())
METRICS["auc"] = lambda case: scored(case, AUC())
