"""llama_index: ids in rank order, cut by the `top_k` of a retriever, and relevant ids."""

from llama_index.core.evaluation.retrieval import metrics as of


def named(metric):
    def value(case, k=None):
        ids, relevant = case.only.ids[:k], case.only.relevant
        return metric().compute(expected_ids=relevant, retrieved_ids=ids).score

    return value


METRICS = {
    "ndcg": named(of.NDCG),
    "ap": named(of.AveragePrecision),
    "rr": named(of.MRR),
    "recall": named(of.Recall),
    "precision": named(of.Precision),
    "hit_rate": named(of.HitRate),
}
