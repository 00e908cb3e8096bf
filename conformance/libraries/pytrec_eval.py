"""pytrec_eval: dicts of queries to documents, with values by query; grades are integers."""

from pytrec_eval import RelevanceEvaluator


def value(case, measure, rel=1):
    evaluator = RelevanceEvaluator(case.integers, {measure}, relevance_level=rel)
    values = evaluator.evaluate(case.run).get(case.only.query, {})
    return next(iter(values.values()), None)


METRICS = {
    "ndcg": lambda case, k=None: value(case, f"ndcg_cut.{k}" if k else "ndcg"),
    "ap": lambda case, k=None, rel=1: value(case, f"map_cut.{k}" if k else "map", rel),
    "recall": lambda case, k, rel=1: value(case, f"recall.{k}", rel),
    "precision": lambda case, k, rel=1: value(case, f"P.{k}", rel),
    "hit_rate": lambda case, k, rel=1: value(case, f"success.{k}", rel),
    "rr": lambda case, rel=1: value(case, "recip_rank", rel),
    "r_precision": lambda case, rel=1: value(case, "Rprec", rel),
    "bpref": lambda case, rel=1: value(case, "bpref", rel),
}
