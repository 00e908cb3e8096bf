"""ranx: dicts of queries to documents; grades are integers."""

from ranx import Qrels, Run, evaluate


def named(name):
    def value(case, k=None, rel=1):
        text = name + (f"@{k}" if k else "") + (f"-l{rel}" if rel != 1 else "")
        return evaluate(Qrels(case.integers), Run(case.run), text)

    return value


METRICS = {
    "ndcg": lambda case, k=None: named("ndcg")(case, k),
    "dcg": lambda case, k=None: named("dcg")(case, k),
    "rbp": lambda case, p=0.8: named(f"rbp.{100 * p:.0f}")(case),
    "bpref": lambda case, rel=1: named("bpref")(case, None, rel),
    "r_precision": lambda case, rel=1: named("r-precision")(case, None, rel),
    **{x: named(x) for x in ("recall", "precision", "hit_rate")},
    **{"ap": named("map"), "rr": named("mrr")},
}
