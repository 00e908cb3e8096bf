"""Metrics: formulas with a description, called one by one or measured together.

    metric.py    `jrm.metric` makes a `Metric` of a formula and registers its names;
                 `parse` reads a name such as 'ndcg(gain_fn=linear_gain)@10'; `Metric`
                 has the forms in which a metric is called
    spec.py      `Spec`, the description of a metric; `Bound`, a metric with its options
    run.py       `Bound`s, measured together by one compiled ranking

A formula is a function of a `Ranking` and of its own keyword options; the docstring of
`jrm.metric` has an example. The metric that is made of a formula can be called by name, on
every layout and under every tie policy.
"""
