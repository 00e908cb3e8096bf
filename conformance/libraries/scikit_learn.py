"""scikit-learn: arrays of one list; a cutoff only for nDCG and DCG."""

from sklearn.metrics import (
    average_precision_score,
    dcg_score,
    ndcg_score,
    roc_auc_score,
)

METRICS = {
    "ndcg": lambda case, k=None: ndcg_score(
        [case.only.labels], [case.only.scores], k=k
    ),
    "dcg": lambda case, k=None: dcg_score([case.only.labels], [case.only.scores], k=k),
    "ap": lambda case: average_precision_score(case.only.binary, case.only.scores),
    "auc": lambda case: roc_auc_score(case.only.binary, case.only.scores),
}
