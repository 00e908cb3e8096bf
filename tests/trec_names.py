"""The measures that both trec_eval and this package have, by the names of trec_eval."""

KS = (3, 20)

WITH_CUTOFF = ("map_cut", "ndcg_cut", "P", "recall", "success", "relative_P")
COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
MULTIPLES = ("0.20", "0.70", "1.00", "1.60")
WITHOUT_CUTOFF = (
    *("map", "recip_rank", "Rprec", "set_P", "set_recall", "set_F", "set_map"),
    *("set_relative_P", "utility", "bpref", "infAP"),
)
NAMES = (
    *(f"{name}_{k}" for name in WITH_CUTOFF for k in KS),
    *(f"Rprec_mult_{multiple}" for multiple in MULTIPLES),
    *WITHOUT_CUTOFF,
    *COUNTS,
)

# The names that request them from pytrec_eval.
PYTREC_EVAL_NAMES = {
    *(f"{name}.{','.join(map(str, KS))}" for name in WITH_CUTOFF),
    f"Rprec_mult.{','.join(MULTIPLES)}",
    *WITHOUT_CUTOFF,
    *COUNTS,
}
