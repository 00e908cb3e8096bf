"""Many metrics in one call, and their names.

`binding.py` turns the argument `metrics` into `Bound`s, metrics with their options. From
these and from lists or a ranking, `metrics/run.py` computes a dict from names to values or
states.

    binding.py      the argument `metrics`: names, sets of trec_eval, dicts of metrics
    evaluate.py     `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
    signatures.py   `jrm.signature` and `jrm.from_signature`: the choices behind a number
    sampled_labels.py  `jrm.sampled_labels`: a metric whose labels are probabilities
"""
