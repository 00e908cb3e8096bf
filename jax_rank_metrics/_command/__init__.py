"""The command `jax-rank-metrics evaluate`: its options, its metrics and its output.

    evaluate.py         from options to output: checks, reading, notes on stderr
    request.py          metrics with the options of the call, and names for runs
    trec_measures.py    the families and sets of trec_eval's measures
    report.py           values of runs as text, CSV, JSON, lines of trec_eval, and plots

`jax_rank_metrics.cli` declares the options, and `_files` reads the files.
"""
