"""The order of many systems, and how sure it is.

In the order of a call of `jrm.leaderboard`:

leaderboard.py  jrm.leaderboard: the order of many systems, and how sure it is
tasks.py        the values of the one metric of a leaderboard, by task
task_means.py   means of many systems over the same lists, and their errors
orders.py       drawn means of systems, and the orders that they give
standings.py    the result of a leaderboard, as numbers and as text

And by itself:

tau_ap.py       jrm.tau_ap: the AP rank correlation of two orders of systems
"""
