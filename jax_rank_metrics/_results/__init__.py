"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    paired.py      jrm.paired: the difference of two systems, list by list
    resampling.py  draws of lists that do not depend on batches, and sums over them
    bootstrap.py   jrm.bootstrap: a state that holds resampled means, and merges as `Mean`
    compare.py     jrm.compare: how large a difference is, and whether it may be chance
    values.py      per-list values of this package and of others, read into NumPy
    comparison.py  the result of a comparison
    pairing.py     pairs the lists of two systems by their ids, and takes differences
    direction.py   which direction of a metric is better
    chance.py      p values and intervals: sign flips, the bootstrap, Student's t; Holm
    estimates.py   means and intervals of several runs, as numbers on the host
    table.py       jrm.table: the same as text, Markdown, LaTeX, HTML, CSV
    export.py      lines of CSV, and numbers of JSON
    drawing.py     what the functions of jrm.plots share

A difference is always b − a: above 0, b is better. `paired` and `bootstrap` are arrays and
sums, for `jax.jit`, many batches and many hosts. All other functions are for the end, where
values are in one place: they run as they are called, and return Python numbers.
"""
