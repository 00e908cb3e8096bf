"""Tables of means, comparisons and leaderboards.

Results of any kind come in; text in all formats and pandas frames go out.

estimates.py  means and intervals of several runs, as numbers on the host
table.py      jrm.table: the contents of a table of means, its marks, and all formats
to_frame.py   jrm.to_frame: values of lists and records as pandas frames
"""
