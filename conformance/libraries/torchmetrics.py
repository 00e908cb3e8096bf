"""torchmetrics: flat tensors of all lists, with their indexes."""

import torch
from torchmetrics import retrieval


def named(name, field="binary"):
    def value(case, k=None):
        lists = case.complete
        labels = torch.tensor([y for x in lists for y in getattr(x, field)])
        scores = torch.tensor([y for x in lists for y in x.scores])
        indexes = [i for i, x in enumerate(lists) for _ in x.scores]
        options = {} if name == "RPrecision" else {"top_k": k}
        metric = getattr(retrieval, f"Retrieval{name}")(**options)
        return metric(scores, labels, indexes=torch.tensor(indexes, dtype=int))

    return value


NAMES = {"ap": "MAP", "rr": "MRR", "recall": "Recall", "precision": "Precision"}
NAMES |= {"hit_rate": "HitRate", "auc": "AUROC", "r_precision": "RPrecision"}
METRICS = {metric: named(name) for metric, name in NAMES.items()}
METRICS["ndcg"] = named("NormalizedDCG", "labels")
