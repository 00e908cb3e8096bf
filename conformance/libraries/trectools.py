"""trectools: files of judgements and of a run, in TREC format."""

import tempfile
from pathlib import Path

from trectools import TrecEval, TrecQrel, TrecRun


def value(case, name, k=None, **options):
    pairs = [(x.query, *y) for x in case.filled for y in x.pairs or ()]
    judged = [(x.query, *y) for x in case.filled for y in (x.qrels or {}).items()]
    run, qrels = (str(Path(tempfile.gettempdir(), x)) for x in ("run", "qrels"))
    Path(run).write_text("".join(f"{q} Q0 {doc} 0 {y} run\n" for q, doc, y in pairs))
    Path(qrels).write_text("".join(f"{q} 0 {doc} {y}\n" for q, doc, y in judged))
    function = getattr(TrecEval(TrecRun(run), TrecQrel(qrels)), f"get_{name}")
    return function(depth=k or 1000, **options)


NAMES = {"ndcg": "ndcg", "ap": "map", "rr": "reciprocal_rank", "precision": "precision"}
METRICS = {x: lambda case, k=None, y=y: value(case, y, k) for x, y in NAMES.items()}
METRICS["r_precision"] = lambda case: value(case, "rprec")
METRICS["bpref"] = lambda case: value(case, "bpref")
METRICS["rbp"] = lambda case, k=None, p=0.8: value(case, "rbp", k, p=p)[0]
