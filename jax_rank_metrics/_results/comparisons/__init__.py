"""Comparisons of systems, and plans of experiments.

In the order of a call of `jrm.compare`:

compare.py      jrm.compare: how large a difference is, and whether it may be chance
verdicts.py     makes the comparisons of a call, with p corrected in their family
outcomes.py     runs the tests: p values, and how far intervals reach
comparison.py   the result of a comparison, as numbers and as text
comparisons.py  jrm.Comparisons: those of a call, found by their names; their table

And by itself:

power.py        jrm.minimum_detectable and lists_needed: how to plan an experiment
"""
