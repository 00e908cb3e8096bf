"""The command `jax-rank-metrics evaluate`: what it is asked for, and what it writes.

    request.py  metrics under the options of the whole call, and the names of runs
    report.py   what is measured and compared, as text, CSV, JSON, lines of trec_eval, plots

Its options are declared in `jax_rank_metrics.cli`, and files are read by `_files`.
"""
