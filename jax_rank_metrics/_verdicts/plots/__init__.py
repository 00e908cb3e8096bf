"""Plots of means, values, comparisons and leaderboards, for `jrm.plots`.

Results come in, and the `Axes` that they are drawn on go out.

drawing.py        looks, legends and labels that the plots share
mean_plots.py     means at cutoffs, over steps and of groups
list_plots.py     per-list values and their differences
verdict_plots.py  comparisons and leaderboards
"""
