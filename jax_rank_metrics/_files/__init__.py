"""Reads judgements and runs from files, dicts and frames, joins and measures them.

    read.py        `jrm.read_qrels` and `jrm.read_run`: formats, columns, repeated documents
    source.py      the bytes of a file, unpacked, and quoted in messages
    text.py        lines of fields between white space: TREC, svmlight, plain scores
    columnar.py    tables with named columns: CSV, TSV, JSON lines, Parquet; JSON by query
    frames.py      the names of columns, and checks of ids, scores and relevance
    listed.py      lists of ids as rows of documents; chunks as documents
    arguments.py   the arguments of `jrm.join` as frames
    join.py        `jrm.join`: judgements and a run as one set of lists
    lists.py       the documents that judgements and a run both have, by query; subtopics
    dicts.py       the same from dicts
    places.py      the places of the judged documents; the depth and ties of trec_eval
    measure.py     metrics of every query from these places
    remarks.py     what `join` warns of
    weights.py     the weights of queries
    packed.py      all documents as packed arrays
    joined.py      what `join` returns

All of this runs on the host, except for the metrics themselves. Polars parses the files; it
is imported on first use.
"""
