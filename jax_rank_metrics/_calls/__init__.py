"""The calls of the public interface: metrics one by one, or many at once by name.

    metric.py    `jrm.metric` turns a formula into a metric and registers its names
    spec.py      the description of a metric as registered, and a metric with its options
    run.py       metrics with their options, measured by one compiled ranking
    names.py     parses names such as 'ndcg(gain_fn=linear_gain)@10', and dicts of metrics
    suggestions.py  answers to unknown names
    evaluate.py  `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once

A formula is a function of a `Ranking` and of its own keyword options; the docstring of
`jrm.metric` has one. The metric made of it is like any other: it can be called by name,
on every layout and under every tie policy.
"""
