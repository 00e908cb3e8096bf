"""Comparisons, resampling, tables and plots, made of per-list values and of states.

    sheets.py      a table before it has a format, and in all formats; numbers as text
    inference     jrm.bootstrap; resampling, tests of chance, errors and corrections
    systems       jrm.Systems, jrm.Seeds, jrm.paired and jrm.prediction_powered; values of
                  systems, read and paired
    comparisons   jrm.compare, jrm.leaderboard, jrm.tau_ap, jrm.minimum_detectable and
                  jrm.lists_needed
    tables        jrm.table and jrm.to_frame: results in all formats
    plots         what jrm.plots draws

Each imports only from those above it; a call goes the other way.

How 5 systems × 3 metrics × 300 lists become comparisons with the first system:

    systems.read     any input as 15 `Record`s, each of a system, a task and a metric
    compare          12 pairs: the records a and b of one metric of two systems
    Record.lists     `ListValues` in NumPy, `[1 seed, 300, 1 cutoff]`, read when asked for
    in_one_order     the 300 lists of each record in the order of those of the first
    Differences      a and b side by side, `[2, 300 lists, 12 comparisons]`, and b − a
    compared         takes these, a `Subject` for each column (which systems, which metric,
                     which direction), and the `Question`: the options of the call
    tested           p and half the width of the interval, of columns that share a test
    holm, …          p corrected in its family, unless the test has done so
    Comparisons      12 `Comparison`s, in Python numbers

A leaderboard is of one metric: it groups the records of 5 systems by task, and computes
their means and those that other lists may have given, `[samples, 5]`;
`ranks_and_wins` ranks the systems in every draw, for a `Leaderboard`. A table of means
makes `Estimates` of records, and of these a `Sheet`; comparisons and leaderboards make
their own. A difference is always b − a: above 0, b has the higher value. `paired` and
`bootstrap` compute with JAX, inside `jax.jit` too; a `Bootstrap` merges over batches and
hosts. All other functions run on the host, and return numbers, text or frames.
"""
