"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    paired.py      jrm.paired: the difference of two systems, list by list
    resampling.py  draws of lists that do not depend on batches, and sums over them
    bootstrap.py   jrm.bootstrap: a state of resampled means, which merges as `Mean` does
    values.py      per-list values of this package and of other tools, read into NumPy
    pairing.py     pairs the lists of two systems by their ids, and takes differences
    direction.py   the direction in which a metric is better
    chance.py      p values and intervals: sign flips, the bootstrap, Student's t; Holm
    comparison.py  the result of a comparison, as numbers and as text
    compare.py     jrm.compare: how large a difference is, and whether it may be chance
    estimates.py   means and intervals of several runs, as numbers on the host
    export.py      numbers as CSV, JSON and fixed-point text
    table.py       jrm.table: means as text, Markdown, LaTeX, HTML and CSV
    drawing.py     colours, legends and numbers that the plots share
    plot_means.py  jrm.plots of means, at cutoffs and of groups
    plot_lists.py  jrm.plots of per-list values and their differences

A difference is always b − a: above 0, b has the higher value. `paired` and `bootstrap` are
arrays and sums, for `jax.jit`, many batches and many hosts. All other functions are for the
end, where values are in one place: they run as they are called, and return Python numbers.
"""
