"""Many metrics in one call, and their names.

names.py     parses names such as 'ndcg(gain_fn=linear_gain)@10', and answers unknown ones
sampled_labels.py  a metric of labels that are probabilities
evaluate.py  `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
"""
