"""Reads judgements and runs from files, dicts and frames, joins and measures them.

The input is files, or any data keyed by query and document. The output is a `Joined`, whose
`arguments()` can be passed to `jrm.rank`, or the values of every query. The files of this
folder, in the order of a call:

    read.py        `jrm.read_qrels` and `jrm.read_run`: formats, columns, repeated documents
    sources.py     unpacks the bytes of a file, and quotes them in messages
    text.py        lines of fields between white space: TREC, svmlight, scores alone, and
                   weights of queries
    columnar.py    tables with named columns: CSV, TSV, JSON lines, Parquet; JSON by query
    frames.py      frames of judgements and runs: columns, checks, lists of ids as rows,
                   chunks of documents
    tables.py      tables of scored items, of any library or format: whole, or in parts of
                   whole lists
    join.py        `jrm.join`: makes frames of its arguments, joins the frames, and warns
    judged_run.py  `JudgedRun`: for each query, the judged documents, the retrieved
                   documents, and which documents are both; all documents as packed arrays
    joined.py      `Joined`, which `join` returns: the ranks of judged documents, with the
                   depth and ties of trec_eval, and the metrics of every query

All of this runs on the host, except for the metrics themselves. Polars parses the files; it
is imported on first use.
"""
