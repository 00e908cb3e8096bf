"""Judgements and runs from files, dicts and frames, as packed lists.

    read.py      `jrm.read_qrels` and `jrm.read_run`: formats, and what is done with repeats
    text.py      lines of blank-separated fields: TREC, svmlight, plain scores
    tables.py    named columns: CSV, TSV, JSON lines, Parquet
    frames.py    what a column of ids, of scores or of relevance may hold
    join.py      `jrm.join`: judgements and a run as one set of lists

Everything here is on the host. The files are parsed by polars, which is imported when it
is first needed.
"""
