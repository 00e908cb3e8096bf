"""Comparisons, resampling, tables and plots, from per-list values and states.

    sheets.py     the contents of a table, and the table in every format; numbers as text
    inference     jrm.bootstrap; resampling, significance tests, errors and corrections
    systems       jrm.Systems, jrm.Seeds, jrm.paired and jrm.prediction_powered; values of
                  systems, read and paired
    comparisons   jrm.compare, jrm.leaderboard, jrm.tau_ap, jrm.minimum_detectable and
                  jrm.lists_needed
    tables        jrm.table and jrm.to_frame: results in all formats
    plots         the drawings of jrm.plots

Each entry imports only from the entries above it; a call goes from the bottom up.

How 5 systems × 3 metrics × 300 lists become comparisons with the first system:

    systems.read     any input as 15 `Record`s, each of a system, a task and a metric
    compare          12 pairs: the records a and b of one metric of two systems
    Record.lists     `ListValues` in NumPy, `[1 seed, 300, 1 cutoff]`, read at first use
    in_one_order     the 300 lists of every record in the order of the first record
    Differences      a and b side by side, `[2, 300 lists, 12 comparisons]`, and b − a
    compared         takes the differences, a `Subject` for each column (its systems,
                     metric and direction), and the `Question`: the options of the call
    tested           p, and half the width of the interval, for columns that share a test
    holm, …          p corrected for the number of comparisons, unless the test does it
    Comparisons      12 `Comparison`s, in Python numbers

A leaderboard is about one metric. It groups the records of 5 systems by task, computes
their means, and draws means that other lists might have given, `[samples, 5]`;
`ranks_and_wins` ranks the systems in every draw, for a `Leaderboard`. A table of means
turns records into `Estimates`, and `Estimates` into a `Sheet`; comparisons and
leaderboards make a `Sheet` of their own. A difference is always b − a: if it is above
0, b has the higher value. `paired` and `bootstrap` compute with JAX, also inside
`jax.jit`; `Bootstrap` states of batches and hosts can be merged. All other functions
run on the host, and return numbers, text or frames.
"""
