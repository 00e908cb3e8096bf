"""The measures that both trec_eval and this package have, by the names of trec_eval."""

KS = (3, 20)

WITH_CUTOFF = ("map_cut", "ndcg_cut", "P", "recall", "success")
COUNTS = ("num_ret", "num_rel", "num_rel_ret")
WITHOUT_CUTOFF = (
    "map",
    "recip_rank",
    "Rprec",
    "set_P",
    "set_recall",
    "set_F",
    "bpref",
    "infAP",
)
NAMES = (*(f"{name}_{k}" for name in WITH_CUTOFF for k in KS), *WITHOUT_CUTOFF, *COUNTS)

# The names that request them from pytrec_eval.
PYTREC_EVAL_NAMES = {
    *(f"{name}.{','.join(map(str, KS))}" for name in WITH_CUTOFF),
    *WITHOUT_CUTOFF,
    *COUNTS,
}
