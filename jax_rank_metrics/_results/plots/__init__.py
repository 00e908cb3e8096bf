"""Plots of means, values, comparisons and leaderboards.

drawing.py   looks, legends, labels and numbers that the plots share
means.py     jrm.plots of means, at cutoffs and of groups
lists.py     jrm.plots of per-list values and their differences
verdicts.py  jrm.plots of comparisons and of leaderboards
"""
