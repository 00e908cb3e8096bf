"""Comparisons and orders of systems, and plans of experiments.

Values of systems come in; `Comparisons` of Python numbers and `Leaderboard`s of NumPy
arrays go out. In the order of a call:

compare.py      jrm.compare: how large a difference is, and whether it may be chance
outcomes.py     the options of a call, its tests, and p corrected in its family
comparisons.py  Comparison and Comparisons, their names and their table
lists.py        the lists of a comparison, worst first, and the documents that moved
leaderboard.py  jrm.leaderboard: means of many systems over tasks, and their errors
standings.py    Leaderboard; drawn means and the orders that they give; jrm.tau_ap
power.py        jrm.minimum_detectable and jrm.lists_needed: how to plan an experiment
"""
