"""Plots of means, values, comparisons and leaderboards.

drawing.py   colours, legends and numbers that the plots share
labels.py    labels of ticks and points that do not collide
means.py     jrm.plots of means, at cutoffs and of groups
lists.py     jrm.plots of per-list values and their differences
verdicts.py  jrm.plots of comparisons and of leaderboards
"""
