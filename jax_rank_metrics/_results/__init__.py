"""Results that people read: numbers of several runs, compared and shown.

`numbers` reads the states of runs, `table` writes them down, and `drawing` has what the
plots share.
"""
