"""Reads judgements and runs from files, dicts and frames, joins and measures them.

What comes in: files, or any data by query and document. What goes out: a `Joined`, whose
`arguments()` are those of `jrm.rank`, or the values of every query. In the order of a call:

    read.py        `jrm.read_qrels` and `jrm.read_run`: formats, columns, repeated documents
    sources.py     the bytes of a file, unpacked, and quoted in messages
    text.py        lines of fields between white space: TREC, svmlight, scores alone, and
                   weights of queries
    columnar.py    tables with named columns: CSV, TSV, JSON lines, Parquet; JSON by query
    frames.py      frames of what was read: columns, checks, lists of ids as rows, chunks of
                   documents
    tables.py      tables of scored items, of any library or format: whole, or in parts of
                   whole lists
    join.py        `jrm.join`: makes frames of its arguments, joins these, and warns
    judged_run.py  `JudgedRun`: by query, the judged documents, those of the run, and which
                   of them are the same; all documents as packed arrays
    joined.py      `Joined`, what `join` returns: the places of judged documents, with the
                   depth and ties of trec_eval, and metrics of every query from these

All of this runs on the host, except for the metrics themselves. Polars parses the files; it
is imported on first use.
"""
