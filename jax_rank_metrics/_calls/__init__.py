"""Many metrics in one call, and their names.

`names.py` makes `Bound`s of names; lists, or a ranking, go with these to `_metrics.run`,
and values or states come back by name.

    names.py     parses names such as 'ndcg(gain_fn=linear_gain)@10', answers unknown ones,
                 and says in which direction a metric is better
    evaluate.py  `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
    signatures.py  `jrm.signature` and `jrm.from_signature`: the choices behind a number
    sampled_labels.py  `jrm.sampled_labels`: a metric whose labels are probabilities
"""
