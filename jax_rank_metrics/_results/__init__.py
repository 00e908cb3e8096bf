"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    sheets        a table before it has a format, and its text, Markdown, HTML and LaTeX
    inference     jrm.bootstrap; resampling, tests of chance, errors and corrections
    systems       jrm.Systems, jrm.Seeds, jrm.paired and jrm.prediction_powered; values of
                  systems, read and paired
    comparisons   jrm.compare, jrm.minimum_detectable and jrm.lists_needed
    leaderboards  jrm.leaderboard and jrm.tau_ap: the order of many systems
    tables        jrm.table: means, comparisons and leaderboards in all formats
    plots         what jrm.plots draws

Each package imports only from those above it.

How 5 systems × 3 metrics × 300 lists become comparisons with the first system:

    systems.read     any input as 15 `Record`s, each of a system, a task and a metric
    Record.lists     `ListValues` in NumPy, `[1 seed, 300, 1 cutoff]`, read when asked for
    pairing.pairs_of 12 `Pair`s: the records a and b of one metric of two systems
    in_one_order     the 300 lists of b in the order of those of a, by their ids
    differences_of   `Differences` b − a; side by side `[300 lists, 12 comparisons]`
    compared         takes these, a `Subject` for each column (which systems, which metric,
                     which direction), and the `Question`: the options of the call
    tested           p and the reach of the interval, of all columns that share a test
    holm, …          p corrected in its family, unless the test has done so
    Comparisons      12 `Comparison`s, in Python numbers

`Question` and `Subject` (inference) and `Differences` (systems) are all that comparisons
tell the tests: neither knows how the values were passed.

A leaderboard is of one metric: `read_tasks` gives the records of 5 systems in each task,
`means_of_tasks` their means and those that other lists may have given, `[samples, 5]`;
`orders.ranks_and_wins` ranks the systems in every draw, for a `Leaderboard`. A table of
means makes `Estimates` of records, and of these a `Sheet`, which has no format; comparisons
and leaderboards make their own `Sheet`, and `as_text`, `as_latex` and others write it.

A difference is always b − a: above 0, b has the higher value. `paired` and `bootstrap` are
arrays and sums, for `jax.jit`, many batches and many hosts. All other functions are for the
end, where values are in one place: they run as they are called, and return Python numbers.
"""
