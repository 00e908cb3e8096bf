"""Files are read as they are meant: ids with "#", columns of ranks, long integers."""

import io

import polars as pl
import pytest
from late_imports import LateImport
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._files import text

pd = LateImport("pandas")

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


def test_the_score_decides_beside_a_rank():
    """As in files of TREC; a rank that is named is read."""
    table = "qid,docno,rank,score\nq,a,1,0.5\nq,b,2,0.7\n"
    assert read(jrm.read_run, table, "x.csv") == [("q", "a", 0.5), ("q", "b", 0.7)]
    named = read(jrm.read_run, table, "x.csv", columns=("qid", "docno", "rank"))
    assert named == [("q", "a", -1), ("q", "b", -2)]
    joined = jrm.join({"q": {"a": 1}}, pl.read_csv(table.encode()))
    assert joined._places.above.tolist() == [1]


def test_long_integers_in_text_stay_apart():
    """Times in nanoseconds are no doubles; one score that is no integer makes all these."""
    time = 1_700_000_000_000_000_001
    for lines, name in (
        ("q Q0 a 1 {} t\nq Q0 b 2 {} t\n", "run"),
        ("qid,docno,score\nq,a,{}\nq,b,{}\n", "run.csv"),
        ('{{"q": {{"a": {}, "b": {}}}}}', "run.json"),
    ):
        rows = read(jrm.read_run, lines.format(time, time + 1), name)
        assert rows == [("q", "a", time), ("q", "b", time + 1)]
        rows = read(jrm.read_run, lines.format(time, 0.5), name)
        assert rows == [("q", "a", float(time)), ("q", "b", 0.5)]
