"""The order of many systems, and how sure it is.

standings.py    the result of a leaderboard, as numbers and as text
tasks.py        the values of the one metric of a leaderboard, by task
orders.py       drawn means of systems, and the orders that they give
task_means.py   means of many systems over the same lists, and their errors
tau_ap.py       jrm.tau_ap: the AP rank correlation of two orders of systems
leaderboard.py  jrm.leaderboard: the order of many systems, and how sure it is
"""
