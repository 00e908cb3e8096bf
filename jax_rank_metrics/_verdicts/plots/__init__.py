"""Plots of means, values, comparisons and leaderboards, for `jrm.plots`.

Each plot takes results, and returns the `Axes` that it has drawn on.

drawing.py        looks, legends and labels that the plots share
mean_plots.py     means at cutoffs, over steps and of groups
list_plots.py     per-list values and their differences
verdict_plots.py  comparisons and leaderboards
"""
