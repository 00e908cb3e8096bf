"""The command `jax-rank-metrics evaluate`: its options, its metrics and its output.

    arguments.py    the options, and what can be said of them without JAX: their checks,
                    names for runs, and the words after -m, which may be sets of measures
    measuring.py    from options to output: reading, measuring, notes on stderr
    request.py      metrics with the options of the whole call
    report.py       values of runs as text, CSV, JSON, lines of trec_eval, and plots

`jax_rank_metrics.cli` declares the options, and `_files` reads the files. The
names of trec_eval are those of `_trec`.
"""
