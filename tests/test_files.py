"""Files of every program are read as written, and an error says where the file is wrong."""

import bz2
import fractions
import gzip
import io
import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from arrow_tables import ArrowTable, Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from late_imports import LateImport
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._command.arguments import run_names
from jax_rank_metrics._runs.files import text

pd = LateImport("pandas")

FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
NAMES = ("query_id", "doc_id", "score")

# The blanks of C separate the fields of TREC. NUL ends a string there, so no file has it.
plain_ids = st.text(
    st.characters(exclude_characters="# \t\r\n\v\f\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=5,
).filter(lambda text: not text.startswith("\ufeff"))
any_ids = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"),
    min_size=1,
    max_size=5,
)  # In tables, a line break is what two stray quotes leave.
numbers = st.floats(allow_nan=False)


def rows_of(ids):
    rows = st.tuples(ids, ids, numbers)
    return st.lists(rows, min_size=1, max_size=5, unique_by=lambda row: row[:2])


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def write(path, format, rows, end="\n", packed=False, mark=False):
    """Writes a run, without help of the library except for Parquet."""
    if format == "parquet":
        pl.DataFrame(rows, NAMES, orient="row").write_parquet(path)
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        return
    if format == "trec":
        lines = [f"{query} Q0\t{doc} 1  {score!r} tag" for query, doc, score in rows]
    elif format == "jsonl":
        # JSON has no infinity: numbers are written as strings.
        rows = [(query, doc, repr(score)) for query, doc, score in rows]
        lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows]
    else:
        mid = "," if format == "csv" else "\t"
        fields = (
            (quoted(query), quoted(doc), repr(score)) for query, doc, score in rows
        )
        lines = map(mid.join, (NAMES, *fields))
    data = "".join(line + end for line in lines).encode()
    data = b"\xef\xbb\xbf" * mark + data
    path.write_bytes(gzip.compress(data) if packed else data)


@FUZZ
@given(
    st.sampled_from(FORMATS).flatmap(
        lambda format: st.tuples(
            st.just(format), rows_of(plain_ids if format == "trec" else any_ids)
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_runs_are_read_as_written(tmp_path, format_rows, end, packed, mark):
    """Ids of any characters and doubles of any size survive in every format."""
    format, rows = format_rows
    path = tmp_path / f"run{'.gz' * packed}"
    write(path, format, rows, end, packed, mark)
    assert jrm.read_run(path, format=format).rows() == rows


@FUZZ
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text("q1 0.5\t\n\r\"'{}:[],#naif-e\ufeff\x85", max_size=60).map(str.encode),
    ),
    st.sampled_from([*FORMATS, "svmlight", "scores", "subtopics", "json", "msmarco"]),
    st.booleans(),
    st.integers(0, 30),
)
def test_junk_is_read_or_refused_by_name(tmp_path, data, format, packed, cut):
    """Arbitrary bytes raise nothing but ValueError, with the name of the file."""
    path = tmp_path / f"junk{'.gz' * packed}"
    path.write_bytes(gzip.compress(data)[: 40 - cut] if packed else data)
    is_of_judgements = format in ("svmlight", "subtopics")
    read = jrm.read_qrels if is_of_judgements else jrm.read_run
    try:
        frame = read(path, format=format)
    except ValueError as error:
        assert str(path) in str(error) and len(str(error)) < 600
    else:
        assert frame.height and not frame.null_count().sum_horizontal().item()


SAME_PAIR = "q Q0 a 1 1.0 t\nq Q0 b 1 2 t\nq Q0 a 1 -inf t\n"
TWO_PROGRAMS = "query_id,doc_id,relevance,qid,docno,label\nq,a,1,q,a,0\n"
BESIDE_RANKS = "qid,docno,rank,score\nq,a,1,0.5\nq,b,2,0.7\n"
NANOSECONDS = 1_700_000_000_000_000_001  # which no double holds
TWO_SCORES = {"run": "q Q0 a 1 {} t\nq Q0 b 2 {} t\n", "run.csv": "qid,docno,score\nq,a,{}\nq,b,{}\n", "run.json": '{{"q": {{"a": {}, "b": {}}}}}'}  # fmt: skip

# Files: the function that reads them, their names, contents, options, and the rows.
FILES = {
    # Text after the tag and comments are not read, and ranks need not count from 1.
    "words after the tag": (jrm.read_run, "run", "q1 Q0 a 1 0.9 bm25 of 7 May 2020 with k1 0.9\r\n", {}, [("q1", "a", 0.9)]),
    "ranks of any kind": (jrm.read_run, "run", "q1 Q0 a 1.0 11 my tag\nq1 Q0 doc -1 9 9.5\r\n", {}, [("q1", "a", 11.0), ("q1", "doc", 9.0)]),
    "a comment": (jrm.read_run, "run", "# of today\nq #0 a 1 0.5 my tag\r\n", {}, [("q", "a", 0.5)]),
    "keys elsewhere in an object": (jrm.read_run, "run.jsonl", '{"query_id": "query_id", "doc_id": "\\u0041", "score": 2, "of": {"score": 1}}\n', {}, [("query_id", "A", 2.0)]),
    "the first of duplicates": (jrm.read_run, "run", SAME_PAIR, {"duplicates": "first"}, [("q", "a", 1.0), ("q", "b", 2.0)]),
    "the last of duplicates": (jrm.read_run, "run", SAME_PAIR, {"duplicates": "last"}, [("q", "b", 2.0), ("q", "a", -np.inf)]),
    "the best of duplicates": (jrm.read_qrels, "qrels.txt", "q1 0 a 1\nq2 0 z 1\nq1 0 a 3\nq1 0 a 2\n", {"duplicates": "max"}, [("q1", "a", 3), ("q2", "z", 1)]),
    "ids of JSON": (jrm.read_run, "run.ndjson", '{"user": 1, "item": "x", "score": 2, "other": [1]}\n', {"columns": ("user", "item", "score")}, [(1, "x", 2.0)]),
    "ids of packed text": (jrm.read_qrels, "qrels.tsv.gz", gzip.compress(b"query_id\tdoc_id\trelevance\n007\tx\t0.5\n"), {}, [("007", "x", 0.5)]),
    # These begin with the first bytes of zlib.
    **{f"{text!r}": (jrm.read_qrels, "qrels", f"{text}0 a 1\n", {}, [(text.strip(), "a", 1)]) for text in ("x^1 ", "x^1  ", "x\x011 ", "x\x011  ")},
    # MS MARCO: judgements without a header, and ranks.
    "judgements of MS MARCO": (jrm.read_qrels, "qrels.tsv", "7\t0\t3\t1\r\n7\t0\t4\t0\r\n", {}, [("7", "3", 1), ("7", "4", 0)]),
    "judgements with a header": (jrm.read_qrels, "qrels.tsv", "query_id\tQ0\tdoc_id\trelevance\n7\t0\t3\t1\n", {}, [("7", "3", 1)]),
    "ranks of MS MARCO": (jrm.read_run, "run.tsv", "7\t4\t1\n7\t3\t2\n", {"format": "msmarco"}, [("7", "4", -1), ("7", "3", -2)]),
    "a run between tabs": (jrm.read_run, "run.tsv", "7\tQ0\t4\t1\t0.5\ttag\n", {}, [("7", "4", 0.5)]),
    # Dicts as pytrec_eval and ranx write them, packed or not.
    "judgements by query": (jrm.read_qrels, "qrels.json", '{"q1": {"a": 2, "b": -1}, "q2": {}, "q3": {"a": 0}}', {}, [("q1", "a", 2), ("q1", "b", -1), ("q3", "a", 0)]),
    "a run by query": (jrm.read_run, "run.json.gz", gzip.compress(b'{"q1": {"a": 0.25, "b": -Infinity, "c": 3}}'), {}, [("q1", "a", 0.25), ("q1", "b", -np.inf), ("q1", "c", 3)]),
    # Only an argument tells which columns of two programs are meant.
    "columns of two programs": (jrm.read_qrels, "qrels.csv", TWO_PROGRAMS, {"columns": ("qid", "docno", "label")}, [("q", "a", 0)]),
    # The score decides beside a rank, as in files of TREC; a rank that is named is read.
    "a score beside a rank": (jrm.read_run, "x.csv", BESIDE_RANKS, {}, [("q", "a", 0.5), ("q", "b", 0.7)]),
    "a rank beside a score": (jrm.read_run, "x.csv", BESIDE_RANKS, {"columns": ("qid", "docno", "rank")}, [("q", "a", -1), ("q", "b", -2)]),
    # A document may be judged once for each subtopic.
    "subtopics that repeat": (jrm.read_qrels, "qrels", "q 1 a 1\nq 2 a 1\nq 1 a 0\n", {"format": "subtopics", "duplicates": "last"}, [("q", "a", 1, "2"), ("q", "a", 0, "1")]),
    # Long integers stay apart; one score that is no integer makes doubles of all.
    **{f"{score} in {name}": (jrm.read_run, name, lines.format(NANOSECONDS, score), {}, [("q", "a", type(score)(NANOSECONDS)), ("q", "b", score)]) for name, lines in TWO_SCORES.items() for score in (NANOSECONDS + 1, 0.5)},
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_rows_of_files(tmp_path, case):
    """Paths and open files, which are named and stay open, give the same rows."""
    read, name, data, options, rows = FILES[case]
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    frame = read(path, **options)
    assert frame.rows() == rows and frame.columns[:2] == [*NAMES[:2]]
    with path.open("rb") as file:
        assert read(file, **options).rows() == rows
        assert not file.closed


PLAIN_RUN = "".join(f"q{i // 9} Q0 d{i} {i} {i % 7 - 3.25} tag\n" for i in range(40))
# Changes of a plain run. After some of them, it cannot be split at every separator.
CHANGES = {
    "as it is": lambda text: text,
    "tabs": lambda text: text.replace(" ", "\t"),
    "without the last newline": lambda text: text[:-1],
    "quotes": lambda text: text.replace("d17", '"d17'),
    "infinite": lambda text: text.replace("0.75", "-inf"),
    "a tab": lambda text: text.replace(" d17", "\td17"),
    "a form feed": lambda text: text.replace(" d17", "\fd17"),
    "two spaces": lambda text: text.replace(" d17", "  d17"),
    "a space for a field": lambda text: text.replace("q1 Q0 d17", "q1  d17"),
    "a space before": lambda text: text.replace("q3", " q3"),
    "words after the tag": lambda text: text.replace("tag", "tag and words"),
    "no tag": lambda text: text.replace(" tag", "", 17),
    "a comment": lambda text: text.replace("q3 ", "# a b c 1 d\nq3 ", 1),
    "an id with #": lambda text: text.replace("q3 ", "#q3 ", 1),
    "a blank line": lambda text: text.replace("q3", "\nq3", 1),
    "not a number": lambda text: text.replace("0.75", "O.75"),
    "NaN": lambda text: text.replace("0.75", "nan"),
    "a lost newline": lambda text: text.replace("tag\nq3", "tagq3", 1),
}


@pytest.mark.filterwarnings("ignore:.*scores rise with the ranks")
@pytest.mark.parametrize("name", CHANGES)
def test_plain_lines_are_read_like_all_lines(tmp_path, monkeypatch, name):
    """Splitting plain lines in chunks gives what matching the pattern gives."""
    path = tmp_path / "run.txt"
    path.write_text(CHANGES[name](PLAIN_RUN))

    def result():
        try:
            return jrm.read_run(path).rows()
        except ValueError as error:
            return str(error)

    monkeypatch.setattr(text, "CHUNK", 99)
    fast = result()
    is_plain = text._plain_fields(path.read_bytes(), text.RUN) is not None
    assert is_plain == (name in [*CHANGES][:5] or name in ("NaN", "an id with #"))
    monkeypatch.setattr(text, "_plain_fields", lambda data, form: None)
    assert fast == result()


HASH_RUN = "#metoo Q0 #d 1 17 t\n#metoo Q0 b 2 16 t\n# Q0 d 3 -inf t\nq Q0 # 1 1e-3 t\n"
HASH_QRELS = "#metoo 0 b 1\n#metoo 0 #d 0\n# 0 d 1\nq 0 # 2\n"
COMMENTS = "# of today\n#\n#bm25 with k1 and b 0.4\n## a b c\n"


def read(reader, data, name="run", **options):
    """Reads text as a file of this name."""
    file = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    file.name = name
    return reader(file, **options).rows()


@pytest.mark.parametrize("change", [str, COMMENTS.__add__, "{}\n\n#\n".format])
def test_ids_may_begin_with_a_hash(monkeypatch, change):
    """Lines of data are never comments, with the quick reader or the pattern."""
    for _ in range(2):
        assert read(jrm.read_run, change(HASH_RUN)) == [
            ("#metoo", "#d", 17), ("#metoo", "b", 16), ("#", "d", -float("inf")),
            ("q", "#", 0.001),
        ]  # fmt: skip
        rows = [("#metoo", "b", 1), ("#metoo", "#d", 0), ("#", "d", 1), ("q", "#", 2)]
        assert read(jrm.read_qrels, change(HASH_QRELS)) == rows
        of_topics = read(jrm.read_qrels, change(HASH_QRELS), format="subtopics")
        assert of_topics == [(*row, "0") for row in rows]
        ranks = change("#a\td\t1\n#a\t#e\t2\n")
        expected = [("#a", "d", -1), ("#a", "#e", -2)]
        assert read(jrm.read_run, ranks, format="msmarco") == expected
        svm = change("1 qid:7 # 0\n#2 qid:7\n")
        assert read(jrm.read_qrels, svm, format="svmlight") == [(7, 0, 1)]
        monkeypatch.setattr(text, "_plain_fields", lambda data, form: None)


def test_hashes_beside_trec_eval(tmp_path):
    """Its reader sees the same documents, and the command gives it the same numbers."""
    trec_eval = pytest.importorskip("pytrec_eval")
    paths = tmp_path / "qrels.txt", tmp_path / "run.txt"
    for path, lines in zip(paths, (HASH_QRELS, HASH_RUN), strict=True):
        path.write_text(lines)
    with paths[0].open() as qrels, paths[1].open() as run:
        qrels, run = trec_eval.parse_qrel(qrels), trec_eval.parse_run(run)
    assert {(q, d, s) for q, docs in run.items() for d, s in docs.items()} == {
        *jrm.read_run(paths[1]).rows()
    }
    values = trec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    words = ["evaluate", *map(str, paths), "--trec", "-m", "recip_rank", "-q"]
    output = CliRunner().invoke(cli.app(), [*words, "--format", "trec"]).stdout
    for query, value in values.items():
        assert f"\t{query}\t{value['recip_rank']:.4f}\n" in output


RANKS = {
    "query,document,rank": {"columns": ("query", "document", "rank")},
    "query,document,Position": {"columns": ("query", "document", "Position")},
    "a,b,place": {"columns": ("a", "b", "place"), "format": "msmarco"},
    "qid,docno,rank": {},
    "query_id,doc_id,ranking": {},
    "q_id,doc_id,position": {},
    "query-id,corpus-id,rank": {"format": "csv"},
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("header", RANKS)
def test_a_column_of_ranks_is_read_as_ranks(tmp_path, header, first):
    """In every table lower ranks are better, whether they begin with 0 or 1."""
    table, options = f"{header}\nq,b,{first + 1}\nq,a,{first}\n", RANKS[header]
    expected = [("q", "b", -1.0 - first), ("q", "a", -first)]
    assert read(jrm.read_run, table, "run.csv", **options) == expected
    frame = pl.read_csv(table.encode())
    of_any = {name: x for name, x in options.items() if name != "format" or x != "csv"}
    tabs = frame.write_csv(separator="\t")
    name = "run.tsv" if options.get("format") != "msmarco" else "dev.small"
    assert read(jrm.read_run, tabs, name, **of_any) == expected
    assert read(jrm.read_run, frame.write_ndjson(), "run.jsonl", **of_any) == expected
    frame.write_parquet(tmp_path / "run.parquet")
    assert jrm.read_run(tmp_path / "run.parquet", **of_any).rows() == expected
    if not options:
        for run in (frame, pd.DataFrame(frame.to_dict(as_series=False))):
            joined = jrm.join({"q": {"a": 1}}, run)
            assert joined._places.above.tolist() == [0]


SIDES = [
    *(("relevance", ("query_id", "doc_id", "relevance")), ("score", NAMES)),
    *(("relevance", ("qid", "docno", "label")), ("score", ("qid", "docno", "score"))),
    *(("relevance", ("qid", "docid", "rel")), ("score", ("qid", "docid", "score"))),
    ("relevance", ("qid", "docno", "rel")),
    *((value, ("q_id", "doc_id", "score")) for value in ("relevance", "score")),
    *((value, ("query-id", "corpus-id", "score")) for value in ("relevance", "score")),
]
ROWS = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", 1)]


@pytest.mark.parametrize(("value", "triple"), SIDES, ids=str)
def test_columns_of_other_programs(tmp_path, value, triple):
    """Tables and frames are read by the names that each program gives its columns."""
    frame = pl.DataFrame(ROWS, triple, orient="row")
    # PyTerrier has ranks, too; these would give other numbers if they were read.
    frame = frame.with_columns(rank=pl.Series([2, 1, 1]))
    if "docid" not in triple:
        frame = frame.with_columns(docid=pl.lit(7))
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_parquet(tmp_path / "a.parquet")
    for path in sorted(tmp_path.iterdir()):
        read_file = jrm.read_qrels if value == "relevance" else jrm.read_run
        assert read_file(path).rows() == ROWS
    dicts = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    for form in (
        frame,
        frame.lazy(),
        pd.DataFrame(frame.to_dicts()),
        ArrowTable(frame),
        Dataset(frame),
    ):
        sides = (form, dicts) if value == "relevance" else (dicts, form)
        joined = jrm.join(*sides)
        assert joined.query_ids.to_list() == ["q1", "q2"]
        assert joined._places.above.tolist() == [0, 1, 0]


def test_zstd(tmp_path):
    """Text of every format may be packed by zstd, in several frames."""
    pack = pytest.importorskip("zstandard").ZstdCompressor().compress
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
    for data in (parts[:-3], parts + b"junk"):
        table.write_bytes(data)
        with pytest.raises(ValueError, match=r"csv\.zst: .*zstd file"):
            jrm.read_run(table)


def test_files_that_are_open(tmp_path):
    """The first bytes tell if a file is packed, and the name tells its format."""
    table, rows = b"query_id,doc_id,relevance\nq,a,1\n", [("q", "a", 1)]
    path, archive = tmp_path / "qrels.csv.gz", tmp_path / "all.tar.gz"
    path.write_bytes(gzip.compress(table))
    member = tarfile.TarInfo("qrels.csv")
    member.size = len(table)
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(table))
    remote = io.BytesIO(table)
    remote.path = "bucket/qrels.csv"  # as files of fsspec
    with gzip.open(path) as unpacked, tarfile.open(archive) as tar:
        assert jrm.read_qrels(unpacked).rows() == rows
        assert jrm.read_qrels(tar.extractfile("qrels.csv"), format="csv").rows() == rows
    assert jrm.read_qrels(remote).rows() == rows
    assert jrm.read_qrels(io.StringIO(table.decode()), format="csv").rows() == rows
    for name, pack in ("q.csv.bz2", bz2.compress), ("q.csv.gz", bytes):
        (tmp_path / name).write_bytes(pack(table))
    assert jrm.read_qrels(tmp_path / "q.csv.gz").rows() == rows  # unpacked by a browser
    with bz2.open(tmp_path / "q.csv.bz2") as unpacked:
        assert jrm.read_qrels(unpacked, format="csv").rows() == rows


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
    """An extension of compression may follow the one of Parquet, too, or be left out."""
    frame = pl.DataFrame([("q", "a", 1.0)], NAMES, orient="row")
    path = tmp_path / name
    frame.write_parquet(path)
    data = path.read_bytes()
    packers = {".zst": "zstandard"}
    pack = pytest.importorskip(packers.get(path.suffix, "gzip")).compress
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
    """A document is relevant if it is to a subtopic; subtopics without any are left out."""
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


def test_svmlight_and_its_scores(tmp_path):
    """Plain scores belong to the items of an svmlight file, in their order."""
    qrels, run = tmp_path / "test.svm", tmp_path / "scores.txt"
    qrels.write_text("# LETOR\n2 qid:7 1:0.5 2:0.1 # doc 3\n0 qid:7\n1 qid:3 1:1\n")
    run.write_text("0.1\n0.2\n-1e3\n")
    judged, scores = jrm.read_qrels(qrels), jrm.read_run(run, format="scores")
    assert judged.rows() == [(7, 0, 2), (7, 1, 0), (3, 2, 1)]
    joined = jrm.join(judged, scores)
    assert joined.query_ids.to_list() == [7, 3] and joined.retrieved[:3].all()


QRELS = {"q1": {"a": 1, "b": 0, "c": -1, "d": 2}, "q2": {"a": 1}, "q3": {"x": 0}}
RUN = {"q1": {"a": 0.5, "e": 0.5 + 1e-12, "c": 0.1}, "q3": {"x": -np.inf, "a": -0.0, "b": 0.0}}  # fmt: skip


def items_of(joined, query):
    """Returns label, retrieved, judged and pooled of a query, by document."""
    of_query = joined.segment_ids == joined.query_ids.to_list().index(query)
    assert joined.mask[of_query].all() and (joined.segment_ids >= 0)[joined.mask].all()
    columns = (joined.labels, joined.retrieved, *joined.columns.values())
    rows = zip(*(x[of_query].tolist() for x in columns), strict=True)
    return dict(zip(joined.doc_ids.filter(of_query), rows, strict=True))


def scores_of(joined, query):
    """Returns the scores of the documents that were retrieved for a query."""
    kept = joined.segment_ids == joined.query_ids.to_list().index(query)
    kept &= joined.retrieved
    scores = joined.scores[kept].tolist()
    return dict(zip(joined.doc_ids.filter(kept), scores, strict=True))


def test_join():
    """Labels, ties, missing queries and depth, by hand."""
    joined = jrm.join(QRELS, RUN, missing="zero")
    assert repr(joined) == "Joined(3 queries, 5 judged, 6 retrieved)"
    assert items_of(joined, "q1") == {
        "a": (1, True, True, True),
        "b": (0, False, True, True),
        "c": (0, True, False, True),
        "d": (2, False, True, True),
        "e": (0, True, False, False),
    }
    scores = scores_of(joined, "q1")
    assert scores["e"] > scores["a"] > scores["c"]
    scores = scores_of(joined, "q3")
    assert scores["a"] == scores["b"] > scores["x"]
    by_trec = jrm.join(QRELS, RUN, missing="skip", ties="trec")
    assert "3 queries, 1 skipped" in repr(by_trec)
    scores = scores_of(by_trec, "q3")
    assert scores["b"] > scores["a"] > scores["x"]
    # Equal in float32, which would put "b" first.
    close = jrm.join({"q": {"a": 1}}, {"q": {"a": 1 + 1e-9, "b": 1.0}}, ties="trec")
    scores = scores_of(close, "q")
    assert scores["a"] > scores["b"]
    for lists in (joined, by_trec):
        assert lists.labels.dtype == lists.scores.dtype == np.int32
        assert lists.labels.shape == (12,) == lists.doc_ids.shape  # of 9 items
    kept = jrm.join(QRELS, RUN, missing="zero", depth=1)
    assert [*scores_of(kept, "q1")] == ["e"] and [*scores_of(kept, "q3")] == ["b"]
    assert items_of(kept, "q1")["a"] == (1, False, True, True)


def test_join_takes_kinds_of_ids():
    """Integers and strings are compared as text."""
    numbers = jrm.join({1: {10: 1.5}}, {"1": {"10": 3.0}})
    assert numbers.query_ids.to_list() == ["1"] and numbers.retrieved[0]
    assert numbers.labels.dtype == np.float32
    of_ints = jrm.join({"q": {"a": 1, "b": 0.5}}, {"q": {"a": 1, "b": 0.5}})
    assert sorted(of_ints.labels[of_ints.mask]) == [0.5, 1]
    same = jrm.join({1: {10: 1}}, {1: {10: 3.0}})
    assert same.query_ids.to_list() == [1] and same.doc_ids.to_list() == [10]


@pytest.mark.parametrize("to_id", [str, int])
@pytest.mark.parametrize(
    "scores",
    [
        (fractions.Fraction(1, 2), fractions.Fraction(1, 3), 0.25),
        (np.float32(2), 1, False),
        (np.uint64(2**63 - 1), 2**63 - 2, True),  # which float64 makes equal
    ],
    ids=str,
)
def test_join_takes_kinds_of_numbers(to_id, scores):
    """Scores are compared as they are, whatever the classes of scores and ids."""
    ids = [*map(to_id, range(3))]
    joined = jrm.join({"q": {ids[2]: 1}}, {"q": dict(zip(ids, scores, strict=True))})
    assert joined.doc_ids.to_list()[:3] == ids
    assert joined.scores[:3].tolist() == [3, 2, 1]


@pytest.mark.parametrize("query", ["q", 1])
def test_a_run_without_documents_counts_as_zero(query):
    """Its queries are there, so that it has found nothing."""
    joined = jrm.join({query: {"a": 1}}, {query: {}}, missing="zero")
    assert joined.query_ids.to_list() == [query]
    assert joined.measure("mrr")["mrr"].values.tolist() == [0]
    assert joined.retrieved.sum() == 0
