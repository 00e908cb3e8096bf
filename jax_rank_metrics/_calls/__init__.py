"""What users call: metrics, by themselves or by name, one or many at once.

    metric.py    `jrm.metric` makes a metric of a formula, and registers its names
    run.py       one ranking for any number of metrics, compiled
    names.py     'ndcg(gain_fn=linear_gain)@10' and dicts as metrics with options
    evaluate.py  many metrics at once

A formula is a function of a `Ranking` and of keyword options of its own:

    @jrm.metric(names=("p_mid",))
    def mid_precision(ranking, *, k=10, relevance_threshold=1.0):
        relevant = lambda items: items.relevant(relevance_threshold)
        ks = ranking.cutoffs(k)
        hits = ranking.expected_sum(relevant, jrm.positions(), ks)
        some = ranking.num_relevant(relevance_threshold) > 0
        return ranking.per_list(hits / ranking.depth(ks), some, k, relevant)

and is then a metric like any other: under ties, on every layout, by name.
"""
