"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    paired.py      jrm.paired: the difference of two systems, list by list
    resampling.py  draws of lists that do not depend on batches, and sums over them
    bootstrap.py   jrm.bootstrap: a state of resampled means, which merges as `Mean` does
    values.py      per-list values of this package and of other tools, read into NumPy
    differences.py the difference of two systems in every list
    pairing.py     pairs systems, and their lists by ids
    columns.py     the differences of all comparisons side by side, and their means
    seeds.py       jrm.Seeds: several training seeds in place of a system's values
    seed_scores.py what the mean scores of seeds say: interquartile means, wins of runs
    two_way.py     errors and resamples of means over lists and seeds
    direction.py   the direction in which a metric is better
    sign_flips.py  Fisher's randomisation test, and its largest t of several comparisons
    tukey.py       the randomised Tukey test of all pairs of several systems
    mcnemar.py     McNemar's exact test of values of 0 and 1
    chance.py      Student's t and the studentised bootstrap
    corrections.py corrections of p values: Holm, Benjamini–Hochberg
    question.py    the options of a comparison
    outcomes.py    runs the tests: p values, and how far intervals reach
    verdicts.py    makes the comparisons of a call, with p corrected in their family
    comparison.py  the result of a comparison, as numbers and as text
    compare.py     jrm.compare: how large a difference is, and whether it may be chance
    power.py       jrm.minimum_detectable and lists_needed: how to plan an experiment
    systems.py     the values of one metric, of one system or of many
    task_means.py  means of many systems over the same lists, and their errors
    orders.py      resampled means of systems, and the orders that they give
    pair_flips.py  sign flips of all pairs of many systems
    leaderboard.py jrm.leaderboard: the order of many systems, and how sure it is
    standings.py   the result of a leaderboard, as numbers and as text
    tau_ap.py      jrm.tau_ap: the AP rank correlation of two orders of systems
    estimates.py   means and intervals of several runs, as numbers on the host
    export.py      numbers as CSV, JSON and fixed-point text
    significance.py  marks of the means that differ from those of a baseline
    sheet.py       the contents of a table, before it has a format
    mean_table.py  the sheet of means
    comparison_table.py  the sheet of comparisons
    layouts.py     a sheet as text, Markdown and HTML
    latex.py       a sheet as LaTeX
    table.py       jrm.table: means, comparisons and leaderboards in all formats
    drawing.py     colours, legends and numbers that the plots share
    plot_labels.py labels of ticks and points that do not collide
    plot_means.py  jrm.plots of means, at cutoffs and of groups
    plot_lists.py  jrm.plots of per-list values and their differences
    plot_verdicts.py  jrm.plots of comparisons and of leaderboards

A difference is always b − a: above 0, b has the higher value. `paired` and `bootstrap` are
arrays and sums, for `jax.jit`, many batches and many hosts. All other functions are for the
end, where values are in one place: they run as they are called, and return Python numbers.
"""
