"""ir_measures: dicts of queries to documents; grades are integers."""

import ir_measures as of


def value(case, measure, k=None):
    measure = measure @ k if k else measure
    return of.calc_aggregate([measure], case.integers, case.run)[measure]


METRICS = {
    "ndcg": lambda case, k=None: value(case, of.nDCG, k),
    "ap": lambda case, k=None, rel=1: value(case, of.AP(rel=rel), k),
    "rr": lambda case, k=None, rel=1: value(case, of.RR(rel=rel), k),
    "recall": lambda case, k, rel=1: value(case, of.R(rel=rel), k),
    "precision": lambda case, k, rel=1: value(case, of.P(rel=rel), k),
    "hit_rate": lambda case, k, rel=1: value(case, of.Success(rel=rel), k),
    "r_precision": lambda case, rel=1: value(case, of.Rprec(rel=rel)),
    "bpref": lambda case, rel=1: value(case, of.Bpref(rel=rel)),
    "rbp": lambda case, k=None, rel=1, p=0.8: value(case, of.RBP(p=p, rel=rel), k),
    "err": lambda case, k: value(case, of.ERR, k),
}
