"""The commands `evaluate` and `gate`: their options, their metrics and their output.

    arguments.py    the options, their checks, the names of runs, and the words after -m,
                    which may be sets of measures; imports no JAX, so that the error for a
                    wrong option comes at once
    measuring.py    from options to output: reads, measures, and writes notes on stderr
    request.py      metrics with the options of the whole call
    report.py       runs with their values, and comparisons of runs; both as text, CSV,
                    JSON, lines of trec_eval, and plots
    gate.py         from options to a verdict: a candidate against a baseline or a floor

`jax_rank_metrics.cli` declares the options, `_runs.files` reads the files, and
`_names.trec` knows the names of trec_eval.
"""
