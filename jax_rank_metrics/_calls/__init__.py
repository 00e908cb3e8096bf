"""What users call: metrics, by themselves or by name, one or many at once.

    metric.py    `jrm.metric` makes a metric of a formula, and registers its names
    run.py       one ranking for any number of metrics with their options, compiled
    names.py     'ndcg(gain_fn=linear_gain)@10' and dicts as metrics with options
    evaluate.py  many metrics at once

A formula is a function of a `Ranking` and of keyword options of its own; `jrm.metric`
shows one. It is then a metric like any other: under ties, on every layout, by name.
"""
