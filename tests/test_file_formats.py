"""Columns and formats of other programs, other compressions, open files, and subtopics."""

import gzip
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from late_imports import LateImport

import jax_rank_metrics as jrm
from jax_rank_metrics._command.arguments import run_names

pd = LateImport("pandas")

zstandard = pytest.importorskip("zstandard")

NAMES = ("query_id", "doc_id", "score")
SIDES = [
    *(("relevance", ("query_id", "doc_id", "relevance")), ("score", NAMES)),
    *(("relevance", ("qid", "docno", "label")), ("score", ("qid", "docno", "score"))),
    *((value, ("q_id", "doc_id", "score")) for value in ("relevance", "score")),
    *((value, ("query-id", "corpus-id", "score")) for value in ("relevance", "score")),
]
ROWS = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", 1)]


def read(value, *args, **options):
    """Reads judgements or a run, by the name of its number; returns rows."""
    function = jrm.read_qrels if value == "relevance" else jrm.read_run
    return function(*args, **options).rows()


@pytest.mark.parametrize(("value", "triple"), SIDES, ids=str)
def test_columns_of_other_programs(tmp_path, value, triple):
    """Tables and frames are read by the names that each program gives its columns."""
    frame = pl.DataFrame(ROWS, triple, orient="row")
    frame = frame.with_columns(docid=pl.lit(7), rank=pl.lit(1))  # of PyTerrier
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_parquet(tmp_path / "a.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert read(value, path) == ROWS
    dicts = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    for form in (frame, frame.lazy(), pd.DataFrame(frame.to_dicts())):
        sides = (form, dicts) if value == "relevance" else (dicts, form)
        joined = jrm.join(*sides)
        assert joined.query_ids.to_list() == ["q1", "q2"]
        assert joined.retrieved.sum() == 3


def test_zstd(tmp_path):
    """Text of every format may be packed by zstd, in several frames."""
    pack = zstandard.ZstdCompressor().compress
    plain = b"q1 Q0 a 1 0.5 t\nq1 Q0 b 2 0.25 t\n"
    parts = pack(plain[:16]) + pack(plain[16:])
    rows = [("q1", "a", 0.5), ("q1", "b", 0.25)]
    for name in ("run.trec.zst", "run.zstd", "run.txt"):
        (tmp_path / name).write_bytes(parts)
        assert jrm.read_run(tmp_path / name).rows() == rows
    table = tmp_path / "run.csv.zst"
    table.write_bytes(pack(b"qid,docno,score\nq1,a,0.5\nq1,b,0.25\n"))
    assert jrm.read_run(table).rows() == rows
    assert run_names([Path("x/bm25.csv.zst")]) == ["bm25"]
    for data in (parts[:-3], parts + b"junk", plain, b""):
        table.write_bytes(data)
        with pytest.raises(ValueError, match=r"csv\.zst: .*zstd file"):
            jrm.read_run(table)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python itself unpacks zstd")
def test_zstd_without_its_library(tmp_path, monkeypatch):
    """The message names the file and the extra."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "run.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(ModuleNotFoundError, match=r"run\.zst: zstd needs .*\[trec\]"):
        jrm.read_run(path)


@pytest.mark.parametrize("name", ["run.parquet.gz", "run.parquet.zst", "run.parquet"])
def test_packed_parquet(tmp_path, name):
    """Extensions of compression may follow that of Parquet, too, or be left out."""
    frame = pl.DataFrame([("q", "a", 1.0)], NAMES, orient="row")
    path = tmp_path / name
    frame.write_parquet(path)
    data = path.read_bytes()
    pack = zstandard.compress if name.endswith("zst") else gzip.compress
    path.write_bytes(pack(data))
    assert jrm.read_run(path).rows() == frame.rows()
    with path.open("rb") as file:
        assert jrm.read_run(file, format="parquet").rows() == frame.rows()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"run\.parquet.*truncated or corrupt"):
        jrm.read_run(path)


SUBTOPICS = [  # query, subtopic, document, relevance
    *(("q1", 1, "a", 1), ("q1", 2, "a", 0), ("q1", 9, "b", 2), ("q1", 1, "b", 1)),
    *(("q1", 2, "c", 0), ("q1", 2, "d", -2), ("q2", 1, "a", 1)),
]
SUBTOPIC_RUN = {"q1": {"a": 0.9, "x": 0.5, "b": 0.4}, "q2": {"b": 1.0}}


def subtopic_forms(folder):
    """Yields the same judgements of subtopics as files and frames of every form."""
    path = folder / "qrels.txt"
    lines = (" ".join(map(str, row)) + "\n" for row in SUBTOPICS)
    path.write_text("".join(lines))
    yield jrm.read_qrels(path, format="subtopics")
    names = ("query_id", "subtopic", "doc_id", "relevance")
    frame = pl.DataFrame(SUBTOPICS, names, orient="row")
    yield frame
    yield pd.DataFrame(frame.to_dicts()).rename(columns={"subtopic": "subtopic_id"})
    frame.write_csv(folder / "qrels.csv")
    yield jrm.read_qrels(folder / "qrels.csv")
    renamed = frame.select(q="query_id", d="doc_id", s="subtopic", r="relevance")
    renamed.write_ndjson(folder / "qrels.jsonl")
    yield jrm.read_qrels(folder / "qrels.jsonl", columns=("q", "d", "r", "s"))


def test_judgements_of_subtopics(tmp_path):
    """A document is relevant if it is to any subtopic; those to which none is do not count."""
    for form in subtopic_forms(tmp_path):
        joined = jrm.join(form, SUBTOPIC_RUN)
        of_q1 = np.flatnonzero(joined.segment_ids == 0)
        documents = joined.doc_ids[of_q1.tolist()].to_list()
        assert documents == ["x", "d", "c", "b", "a"]  # in the order of ndeval
        assert joined.labels[of_q1].tolist() == [0, 0, 0, 1, 1]
        assert joined.columns["judged"][of_q1].astype(int).tolist() == [0, 0, 1, 1, 1]
        subtopics = joined.columns["subtopics"]
        assert subtopics.shape == (len(joined.mask), 2)
        assert not subtopics[of_q1[:3]].any()
        assert subtopics[of_q1[3:]].tolist() == [[True, True], [True, False]]
    metrics = ("strec@1,3", "num_ret", "MAP-IA")
    values = joined.measure(metrics)
    assert list(values) == list(metrics)
    assert values["strec@1,3"].values.tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert values["num_ret"].values.tolist() == [3.0, 1.0]
    # (1/1 + 2/3) / 2 for the first subtopic and 1/3 for the second
    expected = [(5 / 6 + 1 / 3) / 2, 0]
    np.testing.assert_allclose(values["MAP-IA"].values, expected, rtol=1e-6)
    assert {*joined.arguments("strec")["columns"]} == {"subtopics"}


def test_subtopics_of_nothing_relevant():
    """One column stands for the subtopics, to which nothing is relevant."""
    judged = {"qid": ["q"], "docno": ["a"], "label": [0], "subtopic": ["1"]}
    subtopics = jrm.join(pl.DataFrame(judged), {"q": {"a": 1.0}}).columns["subtopics"]
    assert not subtopics.any() and subtopics.shape[1] == 1
