"""Many metrics in one call, and their names.

names.py     parses names such as 'ndcg(gain_fn=linear_gain)@10', and dicts of metrics
suggestions.py  answers to unknown names
evaluate.py  `jrm.evaluate`, `jrm.measure` and `jrm.empty`: many metrics at once
"""
