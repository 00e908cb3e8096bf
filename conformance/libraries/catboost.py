"""CatBoost: arrays of all lists, with their group ids; nDCG and DCG of the type `Base`."""

from catboost.utils import eval_metric


def value(case, metric):
    labels = [y for x in case.complete for y in x.labels]
    scores = [y for x in case.filled for y in x.scores]
    groups = [i for i, x in enumerate(case.complete) for _ in x.labels]
    return eval_metric(labels, scores, metric, group_id=groups)[0]


def named(name):
    return lambda case, k=None, rel=1: value(
        case, f"{name}:top={k or -1};border={rel - 0.001}"
    )


METRICS = {"ap": named("MAP"), "rr": named("MRR"), "recall": named("RecallAt")}
METRICS["precision"] = named("PrecisionAt")
METRICS["ndcg"] = lambda case, k=None: value(case, f"NDCG:top={k or -1}")
METRICS["dcg"] = lambda case, k=None: value(case, f"DCG:top={k or -1}")
METRICS["auc"] = lambda case: value(case, "QueryAUC:type=Classic")
