"""The command `jax-rank-metrics evaluate`: its options, its metrics and its output.

    request.py      the options, their checks that need no JAX, and the metrics they ask for
    words.py        the words after -m, which may be sets of measures
    measuring.py    from options to output: reading, measuring, notes on stderr
    report.py       values of runs as text, CSV, JSON, lines of trec_eval, and plots

`jax_rank_metrics.cli` declares the options, and `_files` reads the files. The
names of trec_eval are those of `_trec`.
"""
