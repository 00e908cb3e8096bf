"""Tables of means, comparisons and leaderboards.

estimates.py     means and intervals of several runs, as numbers on the host
significance.py  marks of the means that differ from those of a baseline
mean_table.py    the sheet of means
frames.py        jrm.to_frame: values of lists and records as pandas frames
table.py         jrm.table: means, comparisons and leaderboards in all formats
"""
