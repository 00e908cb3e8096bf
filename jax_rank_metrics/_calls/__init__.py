"""Many metrics in one call, and their names.

names.py     parses names such as 'ndcg(gain_fn=linear_gain)@10', answers unknown ones, and
             says in which direction a metric is better
sampled_labels.py  a metric of labels that are probabilities
evaluate.py  `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
"""
