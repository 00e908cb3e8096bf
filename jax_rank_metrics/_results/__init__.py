"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    sheets        a table before it has a format, and its text, Markdown, HTML and LaTeX
    inference     jrm.bootstrap; resampling, tests of chance, errors and corrections
    systems       jrm.Systems, jrm.Seeds and jrm.paired; values of systems, read and paired
    comparisons   jrm.compare, jrm.minimum_detectable and jrm.lists_needed
    leaderboards  jrm.leaderboard and jrm.tau_ap: the order of many systems
    tables        jrm.table: means, comparisons and leaderboards in all formats
    plots         what jrm.plots draws

Each package imports only from those above it.

A difference is always b − a: above 0, b has the higher value. `paired` and `bootstrap` are
arrays and sums, for `jax.jit`, many batches and many hosts. All other functions are for the
end, where values are in one place: they run as they are called, and return Python numbers.
"""
