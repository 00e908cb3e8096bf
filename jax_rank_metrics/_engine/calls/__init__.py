"""Many metrics in one call, and their names.

`binding.py` makes `Bound`s of the argument `metrics`. These go to `metrics/run.py` with
lists or a ranking, and values or states come back by name.

    binding.py      metrics as calls take them: names, sets of trec_eval, dicts of metrics
    evaluate.py     `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
    signatures.py   `jrm.signature` and `jrm.from_signature`: the choices behind a number
    sampled_labels.py  `jrm.sampled_labels`: a metric whose labels are probabilities
"""
