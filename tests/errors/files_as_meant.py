"""Columns that are no ranks, keys that repeat, and calls of `check` that mix arguments."""

import io

import polars as pl

import jax_rank_metrics as jrm

QRELS = {"q": {"a": 1}}
JOINED = jrm.join(QRELS, {"q": {"a": 0.5}})


def run(text, name="run", **options):
    """Reads a run."""
    file = io.BytesIO(text.encode())
    file.name = name
    return jrm.read_run(file, **options)


# fmt: off
CASES = {
    "a repeated query of JSON": (ValueError, "run.json: the key 'q1' is there twice; put all documents of a query into one object", lambda: run('{"q1": {"a": 1}, "q1": {"b": 2}}', "run.json")),
    "a repeated query, the first kept": (ValueError, "the key 'q1' is there twice", lambda: run('{"q1": {}, "q2": {"a": 1}, "q1": {"b": 2}}', "run.json", duplicates="first")),
    "a repeated query of judgements": (ValueError, "the key 'q' is there twice", lambda: jrm.read_qrels(io.BytesIO(b'{"q": {"a": 1}, "q": {"a": 1}}'), format="json")),
    "a repeated document of JSON": (ValueError, "document 'a' of query 'q1' is there already", lambda: run('{"q1": {"a": 1, "a": 2}}', "run.json")),
    "a repeated query, escaped": (ValueError, "the key 'A' is there twice", lambda: run('{"A": {"a": 1}, "\\u0041": {"b": 2}}', "run.json")),
    "a negative rank": (ValueError, "run.csv, line 2 ('q,a,-1'): the rank is -1; pass integers, counted from 0 or 1", lambda: run("qid,docno,rank\nq,a,-1\n", "run.csv")),
    "half a rank": (ValueError, "run, row 1: the rank is 1.5; pass integers", lambda: jrm.join(QRELS, pl.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "rank": [1.0, 1.5]}))),
    "a missing rank": (ValueError, "the rank is None", lambda: run("qid,docno,rank\nq,a,\n", "run.csv")),
    "a rank that is a word": (ValueError, "the rank is first", lambda: run("a,b,c\nq,a,first\n", "run.csv", format="msmarco", columns=("a", "b", "c"))),
    "two columns of ranks": (ValueError, "the columns may be qid, docno, rank or qid, docno, position; pass columns=", lambda: run("qid,docno,rank,position\nq,a,1,1\n", "run.csv")),
    "columns of ranks that are not there": (ValueError, "the column 'd' is not among a, b, c", lambda: run("a\tb\tc\nq\ta\t1\n", format="msmarco", columns=("a", "d", "c"))),
    "a hash before a bad rank": (ValueError, "line 1 ('#q Q0 d x 1 t'): the rank is 'x', which is not a number", lambda: run("#q Q0 d x 1 t\n")),
    "joined beside scores": (ValueError, "labels is a Joined, which has all arrays, but scores is given; leave it out", lambda: jrm.check(JOINED, [0.5])),
    "relevant beside labels": (ValueError, "relevant and labels are both given", lambda: jrm.check([1, 0], relevant=[[0]])),
    "arguments of two drivers": (ValueError, "seen is no argument of evaluate_embeddings; pass the arguments of one driver", lambda: jrm.check(queries=[[1.0]], items=[[1.0]], relevant=[[0]], seen=[[0]])),
    "queries without items": (TypeError, "items: got NoneType", lambda: jrm.check(queries=[[1.0]], relevant=[[0]])),
    "seen alone": (ValueError, "seen is given but relevant is None; pass both", lambda: jrm.check([1, 0], seen=[[0]])),
}
# fmt: on
