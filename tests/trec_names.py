"""The measures that trec_eval and this package both have, by trec_eval's names."""

KS = (3, 20)

CUT = ("map_cut", "ndcg_cut", "P", "recall", "success")
COUNTS = ("num_ret", "num_rel", "num_rel_ret")
WHOLE = ("map", "recip_rank", "Rprec", "set_P", "set_recall", "set_F", "bpref", "infAP")
NAMES = (*(f"{name}_{k}" for name in CUT for k in KS), *WHOLE, *COUNTS)

# What asks pytrec_eval for them.
ASKED = {*(f"{name}.{','.join(map(str, KS))}" for name in CUT), *WHOLE, *COUNTS}
