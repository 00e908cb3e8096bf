"""Reads judgements and runs from files, dicts and frames, and joins them to packed lists.

    read.py        `jrm.read_qrels` and `jrm.read_run`: formats, and repeated documents
    text.py        lines of fields between white space: TREC, svmlight, plain scores
    columnar.py    tables with named columns: CSV, TSV, JSON lines, Parquet
    frames.py      checks of columns of ids, scores and relevance
    join.py        `jrm.join`: judgements and a run as one set of lists
    joined.py      what it returns: packed arrays, and metrics of every query

All of this runs on the host. Polars parses the files; it is imported on first use.
"""
