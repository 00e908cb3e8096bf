"""haystack: documents in rank order, and relevant documents, whose score is their grade."""

from haystack import Document
from haystack.components import evaluators as of


def value(case, evaluator, grades=False):
    truth = [x.qrels if grades else dict.fromkeys(x.relevant) for x in case.complete]
    truth = [[Document(i, content=i, score=y) for i, y in x.items()] for x in truth]
    returned = [[Document(i, content=i) for i in x.ids] for x in case.complete]
    return evaluator.run(truth, returned)["score"]


METRICS = {
    "ndcg": lambda case: value(case, of.DocumentNDCGEvaluator(), grades=True),
    "ap": lambda case: value(case, of.DocumentMAPEvaluator()),
    "rr": lambda case: value(case, of.DocumentMRREvaluator()),
    "recall": lambda case: value(case, of.DocumentRecallEvaluator("multi_hit")),
    "hit_rate": lambda case: value(case, of.DocumentRecallEvaluator("single_hit")),
}
