"""Bad files and bad calls that read or join them."""

import gzip
import io
import tarfile
import tempfile
from pathlib import Path

from arrow_tables import ArrowTable
from error_rows import rows_of
from late_imports import LateImport

import jax_rank_metrics as jrm
from jax_rank_metrics._runs.files.sources import Source
from jax_rank_metrics._runs.files.text import read_weights

pandas, pl = LateImport("pandas"), LateImport("polars")
pytrec_eval = LateImport("jax_rank_metrics.adapters.pytrec_eval")

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"x": 0}}
RUN = {"q1": {"a": 0.5}, "q3": {"x": 0.0}}
JUDGED = b'{"query_id":1,"doc_id":2,"relevance":3}\n'
FOLDER, PAIR = Path(__file__).parent, {"query_id": ["q"], "doc_id": ["a"]}
HEADER = b"query_id,doc_id,relevance\n"
TWICE = {"query_id": ["q"], "doc_id": ["a"], "relevance": [1], "qid": ["q"], "docno": ["a"], "label": [0]}  # fmt: skip

COMPRESSED_TWICE = gzip.compress(gzip.compress(b"q1 0 a 1\n"))


def reading(read, name, data, **options):
    """Reads a file of text, bytes or a frame; errors begin with its name and are short."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if hasattr(data, "write_parquet"):
            data.write_parquet(path)
        else:
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        try:
            read(path, **options)
        except ValueError as error:
            assert str(error).startswith(str(path)) and len(str(error)) < 600
            raise


def qrels(data, format=None, name="qrels", **options):
    """Reads judgements that were written into a file."""
    reading(jrm.read_qrels, name, data, format=format, **options)


def run(data, format=None, name="run", **options):
    """Reads a run that was written into a file."""
    reading(jrm.read_run, name, data, format=format, **options)


def lists_of(ids):
    """Makes a table of one query, whose documents are a list."""
    return pl.DataFrame({"query_id": ["q"], "doc_ids": [ids]})


def archive():
    """Returns a packed archive of a run."""
    data, file = b"q1 Q0 a 1 0.9 t\n", io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        member = tarfile.TarInfo("run")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def evaluated(run, measure="map", **options):
    """Evaluates a run as pytrec_eval does."""
    pytrec_eval.RelevanceEvaluator(QRELS, {measure}, **options).evaluate(run)


def open_as(mode):
    """Reads judgements from a file that was opened in a mode."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qrels.csv"
        path.write_bytes(HEADER + b"q,a,1\n")
        with path.open(mode) as opened:
            jrm.read_qrels(opened)


def weights(data):
    """Reads weights of queries from a file."""
    return reading(lambda path: read_weights(Source.of(path)), "weights", data)


def svmlight(scores=b"0.1\n"):
    """Joins judgements of svmlight with scores, by default with fewer."""
    judged = jrm.read_qrels(
        io.BytesIO(b"2 qid:7\n0 qid:7\n1 qid:3\n"), format="svmlight"
    )
    jrm.join(judged, jrm.read_run(io.BytesIO(scores), format="scores"))


def series_of_two_columns():
    """Joins a frame of pandas in which a column stands twice."""
    names = ["query_id", "doc_id", "doc_id", "score"]
    jrm.join(QRELS, pandas.DataFrame([["q", "a", "a", 1.0]], columns=names))


CASES = {
    # the evaluator of pytrec_eval
    **{
        f"the measure {name}": (ValueError, repr(name), lambda name=name: evaluated({}, name), lambda: evaluated({}, "ndcg_cut.1,10"))
        for name in ("yaap", "ndcg@10", "relstring", "Rndcg", "P.", "bpref_5", "P.0", "P.2.5")
    },
    "an evaluator at level 0": (ValueError, "relevance_level is 0", lambda: evaluated({}, relevance_level=0), lambda: evaluated({}, relevance_level=1)),
    "an evaluator of nan": (ValueError, "nan", lambda: evaluated({"q1": {"a": float("nan")}}), lambda: evaluated({"q1": {"a": 0.5}})),
    "an evaluator of a name": (TypeError, "query 'q1' holds 'a'; pass a list of ids", lambda: evaluated({"q1": "a"}), lambda: evaluated({"q1": ["a"]})),
    # the first bad line
    "too few fields": (ValueError, "qrels, line 2 .*is not of the form", lambda: qrels("q 0 a 1\nq 0 b\n")),
    "too many fields": (ValueError, "qrels, line 3 .*is not of the form", lambda: qrels("q 0 a 1\n\nq 0 b 1 1\n")),
    "no number": (ValueError, "qrels, line 2 .*'x', which is not a number", lambda: qrels("q 0 a 1\nq 0 b x\n"), lambda: qrels("q 0 a 1\nq 0 b 2\n")),
    "NaN": (ValueError, "qrels, line 1 .*pass a finite number", lambda: qrels("q 0 a nan\n"), lambda: qrels("q 0 a 1\n")),
    "a repeated pair": (ValueError, "qrels, line 3 .*appears earlier", lambda: qrels("q 0 a 1\nr 0 a 1\nq 0 a 0\n"), lambda: qrels("q 0 a 1\nr 0 a 1\nq 0 a 0\n", duplicates="first")),
    "bytes": (ValueError, "qrels, line 2 .*not UTF-8", lambda: qrels(b"q 0 a 1\nq 0 \xff 1\n"), lambda: qrels("q 0 a 1\nq 0 é 1\n".encode())),
    "a missing id": (ValueError, "qrels, line 4 .*missing", lambda: qrels(b"text," + HEADER + b'"a\nb",q,x,1\n,,x,1\n', "csv"), lambda: qrels(b"text," + HEADER + b'"a b",q,x,1\n,r,x,1\n', "csv")),
    "a missing field": (ValueError, "qrels, line 3 .*is missing", lambda: qrels(HEADER + b"\na,b\n", "csv"), lambda: qrels(HEADER + b"a,b,2\n", "csv")),
    "nothing but commas": (ValueError, "qrels, line 3 .*missing", lambda: qrels(HEADER + b"a,b,1\n,,\n", "csv"), lambda: qrels(HEADER + b"a,b,1\na,c,1\n", "csv")),
    "a field more": (ValueError, "qrels, line 2 .*has more fields than the first line; quote fields", lambda: qrels(HEADER + b"a,b,1,2\n", "csv"), lambda: qrels(HEADER + b'a,"b,1",2\n', "csv")),
    "an open quote": (ValueError, "qrels, line 2.*unexpected end", lambda: qrels(HEADER + b'a,"b,1\n', "csv")),
    "text after a quote": (ValueError, "qrels, line 2.*expected", lambda: qrels(HEADER + b'a,"b"c,1\n', "csv")),
    "no JSON before other lines": (ValueError, "qrels, line 2 .*is no JSON object", lambda: qrels(JUDGED + b'{"q\n' + JUDGED * 9, "jsonl"), lambda: qrels(JUDGED, "jsonl")),
    "no JSON": (ValueError, "qrels, line 3 .*is no JSON object", lambda: qrels(JUDGED + b'\n{"q\n', "jsonl"), lambda: qrels(JUDGED + b"\n", "jsonl")),
    "a key that is not there": (ValueError, "qrels, line 2 .*relevance is missing", lambda: qrels(JUDGED + b'{"query_id":1,"doc_id":3}\n', "jsonl"), lambda: qrels(JUDGED + b'{"query_id":1,"doc_id":3,"relevance":0}\n', "jsonl")),
    "half a character": (ValueError, "qrels, line 2 .*holds half a surrogate pair", lambda: qrels(b'{"query_id":"\\ud83d\\ude00","doc_id":2,"relevance":3}\n{"query_id":"q\\ud800","doc_id":2,"relevance":3}', "jsonl"), lambda: qrels(b'{"query_id":"\\ud83d\\ude00","doc_id":2,"relevance":3}\n', "jsonl")),
    "a repeated key": (ValueError, "qrels, line 1 .*appears twice", lambda: qrels(b'{"query_id":1,"doc_id":2,"relevance":3,"relevance":4}\n', "jsonl"), lambda: qrels(JUDGED, "jsonl")),
    "a repeated key that is escaped": (ValueError, "qrels, line 1 .*appears twice", lambda: qrels(rb'{"query_id":1,"doc_id":2,"relevance":3,"doc\u005fid":4}', "jsonl"), lambda: qrels(JUDGED, "jsonl")),
    "bare carriage returns": (ValueError, "qrels, line 1 .*a carriage return", lambda: qrels("q 0 a 1\rq 0 b 1\r"), lambda: qrels("q 0 a 1\r\nq 0 b 1\r\n")),
    "a carriage return in a table": (ValueError, "qrels, line 1 .*a carriage return", lambda: qrels(HEADER[:-1] + b"\ra,b,1\r", "csv"), lambda: qrels(HEADER[:-1] + b"\r\na,b,1\r\n", "csv")),
    "a carriage return in JSON": (ValueError, "qrels, line 3 .*a carriage return", lambda: qrels(JUDGED + b'{"query_id":1,"doc_id":3}\n{}\r{}', "jsonl"), lambda: qrels(JUDGED[:-1] + b"\r\n", "jsonl")),
    "a lost newline in svmlight": (ValueError, "qrels, line 2 .*two lines in one", lambda: qrels("1 qid:3 1:1 # qid:4\n1 qid:3 1:1 2 qid:3 1:1\n", "svmlight"), lambda: qrels("1 qid:3 1:1 # qid:4\n1 qid:3 1:1\n2 qid:3 1:1\n", "svmlight")),
    "documents judged for subtopics": (ValueError, "qrels, line 3 .*pass format='subtopics'", lambda: qrels("1 1 b 1\n1 1 a 1\n1 2 a 1\n"), lambda: qrels("1 1 b 1\n1 1 a 1\n1 2 a 1\n", "subtopics")),
    "a document judged twice for a subtopic": (ValueError, "qrels, line 3 ('q 1 a 0'): document 'a' of subtopic '1' of query 'q' appears earlier", lambda: qrels("q 1 a 1\nq 2 a 1\nq 1 a 0\n", "subtopics"), lambda: qrels("q 1 a 1\nq 2 a 1\nq 1 a 0\n", "subtopics", duplicates="last")),
    "svmlight without qid": (ValueError, "qrels, line 3 .*qid", lambda: qrels("# a comment\n1 qid:3 1:0.5\n1 1:2\n", "svmlight")),
    "a long line": (ValueError, f"line 1 ('{'x' * 80}…')", lambda: run("x" * 1000)),
    "compressed twice": (ValueError, "qrels: is packed twice; decompress it once", lambda: qrels(COMPRESSED_TWICE), lambda: qrels(gzip.decompress(COMPRESSED_TWICE))),
    "a mark between files": (ValueError, "qrels, line 2 .*: begins with a byte order mark, as if files had been concatenated", lambda: qrels("q 0 a 1\n\ufeffr 0 a 1\n"), lambda: qrels("q 0 a 1\nr 0 a 1\n")),
    "lines between stray quotes": (ValueError, "qrels.tsv, line 2 .*: doc_id is .*, with a line break; close the quote that begins it", lambda: qrels('query_id\tdoc_id\trelevance\nq\t"a\t1\nq\tb\t1\nq\tc"\t1\n', name="qrels.tsv"), lambda: qrels('query_id\tdoc_id\trelevance\nq\t"a"\t1\nq\tb\t1\nq\tc\t1\n', name="qrels.tsv")),
    "a line break in an id of JSON": (ValueError, "qrels, line 1 .*: doc_id is 'a\\nb', with a line break", lambda: qrels(JUDGED.replace(b"2", b'"a\\nb"'), "jsonl"), lambda: qrels(JUDGED.replace(b"2", b'"a b"'), "jsonl")),
    "a line break in a list of ids": (ValueError, "row 0: doc_id is 'a\\nb c', with a line break", lambda: run(lists_of(["a\nb", "c"]), "parquet"), lambda: run(lists_of(["a", "c"]), "parquet")),
    "a line break in JSON by query": (ValueError, "query 'q\\nr', document 'a': query_id is 'q\\nr', with a line break", lambda: run('{"q\\nr": {"a": 1}}', "json"), lambda: run('{"q r": {"a": 1}}', "json")),
    "documents that are dicts": (ValueError, "doc_id is {'id': 'a', 's': 1.0}, a dict; pass only the id in it", lambda: jrm.join({"q": ["a"]}, {"q": [{"id": "a", "s": 1.0}]}), lambda: jrm.join({"q": ["a"]}, {"q": ["a"]})),
    "a tar archive": (ValueError, "run.tar.gz: is a tar archive; pass a file in it, such as tarfile.open(path).extractfile(name)", lambda: run(archive(), name="run.tar.gz"), lambda: jrm.read_run(tarfile.open(fileobj=io.BytesIO(archive())).extractfile("run"))),
    # lines of runs that hold the next one, or an id with a blank
    "a lost newline after a tag": (ValueError, "line 1 .* two lines in one", lambda: run("q1 Q0 a 1 0.9 tq1 Q0 b 2 -1e-3 t\n"), lambda: run("q1 Q0 a 1 0.9 t\nq1 Q0 b 2 -1e-3 t\n")),
    "a lost newline after a blank": (ValueError, "line 1 .* two lines in one", lambda: run("q1 Q0 a 1 0.9 t q1 Q0 b 2 -1e-3 t\n"), lambda: run("q1 Q0 a 1 0.9 t\n q1 Q0 b 2 -1e-3 t\n")),
    "a lost newline without a tag": (ValueError, "line 1 .* two lines in one", lambda: run("q1 Q0 a 1 0.9  q1 Q0 b 2 -1e-3 t\n"), lambda: run("q1 Q0 a 1 0.9  t\nq1 Q0 b 2 -1e-3 t\n")),
    "a document with a blank": (ValueError, "line 2 .*the rank is 'doc', which is not a number", lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 my doc 2 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 my_doc 2 9.5 tag\n")),
    "a query with a blank": (ValueError, "line 2 .*the rank is 'doc', which is not a number", lambda: run("q1 Q0 a 1.0 11 my tag\nq 1 Q0 doc 2 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq_1 Q0 doc 2 9.5 tag\n")),
    "a dash for a rank": (ValueError, "line 2 .*the rank is '-', which is not a number", lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc - 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc 2 9.5 tag\n")),
    "NaN for a rank": (ValueError, "line 2 .*the rank is 'nan', which is not a number", lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc nan 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc 2 9.5 tag\n")),
    "a document with a blank before a number": (ValueError, "line 2 .*if an id holds a blank", lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc 7 2 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq1 Q0 doc_7 2 9.5 tag\n")),
    "a query with a blank before a number": (ValueError, "line 2 .*if an id holds a blank", lambda: run("q1 Q0 a 1.0 11 my tag\nq 1 Q0 7 2 9.5 tag\n"), lambda: run("q1 Q0 a 1.0 11 my tag\nq_1 Q0 7 2 9.5 tag\n")),
    # ranks of MS MARCO
    "integers beside a fraction": (ValueError, "run, line 2 .*score is 9007199254740993, which float64", lambda: run("q Q0 a 1 9007199254740992 t\nq Q0 b 2 9007199254740993 t\nq Q0 c 3 0.5 t\n"), lambda: run("q Q0 a 1 2 t\nq Q0 b 2 3 t\nq Q0 c 3 0.5 t\n")),
    "a rank of 0": (ValueError, "run.tsv, line 2 ('7 3 0'): the rank is 0", lambda: run("7 4 1\n7 3 0\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "half a rank": (ValueError, "run.tsv, line 2 ('7 3 1.5'): the rank is 1.5", lambda: run("7 4 1\n7 3 1.5\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "no rank": (ValueError, "run.tsv, line 2 ('7 3 nan'): the rank is nan", lambda: run("7 4 1\n7 3 nan\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "a rank without end": (ValueError, "run.tsv, line 2 ('7 3 inf'): the rank is inf", lambda: run("7 4 1\n7 3 inf\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "a rank of text": (ValueError, "run.tsv, line 2 ('7 3 x'): the rank is x", lambda: run("7 4 1\n7 3 x\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "a rank below 0": (ValueError, "run.tsv, line 2 ('7 3 -1'): the rank is -1", lambda: run("7 4 1\n7 3 -1\n", "msmarco", "run.tsv"), lambda: run("7 4 1\n7 3 2\n", "msmarco", "run.tsv")),
    "ranks in a table": (ValueError, "pass format='msmarco', if the first", lambda: run("7\t4\t1\n7\t3\t2\n", name="run.tsv"), lambda: run("7\t4\t1\n7\t3\t2\n", "msmarco", name="run.tsv")),
    "ranks for judgements": (ValueError, "pass columns=, the names that the first line has", lambda: qrels("7\t4\t1\n7\t3\t2\n", name="run.tsv"), lambda: qrels("q\td\tn\n7\t4\t1\n", name="run.tsv", columns=("q", "d", "n"))),
    "judgements for a run": (ValueError, "pass columns=, the names that the first line has", lambda: run("7\t0\t3\t1\n", name="qrels.tsv"), lambda: run("q\ti\td\tn\n7\t0\t3\t1\n", name="qrels.tsv", columns=("q", "d", "n"))),
    "ranks for scores": (ValueError, "pass format='msmarco' if its third field", lambda: run("7\t4\t1\n7\t3\t2\n", "trec", "run.tsv"), lambda: run("7\t4\t1\n7\t3\t2\n", "msmarco", "run.tsv")),
    # JSON by query
    "a missing colon": (ValueError, "qrels.json, line 2 (.*): is not JSON (Expecting ':'", lambda: qrels('{"q": {"a": 1},\n "r": {"a" 1}}', name="qrels.json"), lambda: qrels('{"q": {"a": 1},\n "r": {"a": 1}}', name="qrels.json")),
    "a list of rows": (ValueError, "query 0: holds .*; pass a list of ids, all strings or all integers", lambda: qrels('[["q", "a", 1]]', name="qrels.json"), lambda: qrels('[["q", "a", "b"]]', name="qrels.json")),
    "a list of documents": (ValueError, "query 'q': holds no object; pass an object", lambda: qrels('{"q": [1], "r": {}}', name="qrels.json"), lambda: qrels('{"q": ["1"], "r": []}', name="qrels.json")),
    "a number in quotes": (ValueError, "query 'q', document 'b': relevance is \"2\", which is not", lambda: qrels('{"q": {"a": 1, "b": "2"}}', name="qrels.json")),
    "a bool": (ValueError, "document 'a': relevance is true, which is not a number", lambda: qrels('{"q": {"a": true}}', name="qrels.json")),
    "null": (ValueError, "document 'a': relevance is null", lambda: qrels('{"q": {"a": null}}', name="qrels.json")),
    "a document twice": (ValueError, "query 'q', document 'a': document 'a' of query 'q' appears earlier", lambda: qrels('{"q": {"a": 1, "a": 2}}', name="qrels.json"), lambda: qrels('{"q": {"a": 1, "a": 2}}', name="qrels.json", duplicates="first")),
    "NaN in JSON": (ValueError, "document 'a': relevance is .*; pass a finite number", lambda: qrels('{"q": {"a": NaN}}', name="qrels.json"), lambda: qrels('{"q": {"a": 1}}', name="qrels.json")),
    "a document without a name": (ValueError, "query 'q', document '': doc_id is missing", lambda: qrels('{"q": {"": 1}}', name="qrels.json"), lambda: qrels('{"q": {"a": 1}}', name="qrels.json")),
    "half a character in JSON": (ValueError, r"the id '\ud800' holds half a surrogate pair", lambda: qrels('{"q": {"\\ud800": 1}}', name="qrels.json"), lambda: qrels('{"q": {"\\ud83d\\ude00": 1}}', name="qrels.json")),
    "JSON of nothing": (ValueError, "is empty; pass a file with at least one relevance", lambda: qrels("{}", name="qrels.json"), lambda: qrels('{"q": {"a": 1}}', name="qrels.json")),
    "brackets": (ValueError, "is not JSON that can be read", lambda: qrels("[" * 100_000, name="qrels.json"), lambda: qrels('{"q": {"a": 1}}', name="qrels.json")),
    # whole files
    "a table without names": (ValueError, "pass format='trec', if the first line", lambda: qrels("1185869\t0\t0\t1\n", "tsv"), lambda: qrels("1185869\t0\t0\t1\n", "trec")),
    "names with blanks": (ValueError, "not among query_id, ' doc_id', relevance;", lambda: qrels("query_id\t doc_id\trelevance\n", name="qrels.tsv"), lambda: qrels("query_id\t doc_id\trelevance\nq\ta\t1\n", name="qrels.tsv", columns=("query_id", " doc_id", "relevance"))),
    "other names": (ValueError, "'query_id' is not among user, item", lambda: qrels("user,item\n", name="qrels.csv"), lambda: qrels("user,item,stars\nq,a,1\n", name="qrels.csv", columns=("user", "item", "stars"))),
    "names of two programs": (ValueError, "qrels.csv: two sets of columns could be read: query_id, doc_id, relevance, and qid, docno, label; name the columns by columns=", lambda: qrels(",".join(TWICE) + "\nq,a,1,q,a,0\n", name="qrels.csv"), lambda: qrels(",".join(TWICE) + "\nq,a,1,q,a,0\n", name="qrels.csv", columns=("qid", "docno", "label"))),
    "xz": (ValueError, "qrels.tsv: is compressed by xz", lambda: qrels(b"\xfd7zXZ\x00" + b"\x00\xff" * 20, name="qrels.tsv"), lambda: qrels(gzip.compress(HEADER + b"q,a,1\n"), name="qrels.csv")),
    "bzip2": (ValueError, "qrels.tsv: is compressed by bzip2", lambda: qrels(b"BZh91AY&SY" + b"\x00\xff" * 20, name="qrels.tsv"), lambda: qrels(gzip.compress(HEADER + b"q,a,1\n"), name="qrels.csv")),
    "lz4": (ValueError, "qrels.tsv: is compressed by lz4", lambda: qrels(b"\x04\x22\x4d\x18" + b"\x00\xff" * 20, name="qrels.tsv"), lambda: qrels(gzip.compress(HEADER + b"q,a,1\n"), name="qrels.csv")),
    "compress": (ValueError, "qrels.Z: is compressed by Unix compress", lambda: qrels(b"\x1f\x9d\x90" + b"\x00\xff" * 20, name="qrels.Z"), lambda: qrels(b"q 0 a 1\n", name="qrels.Z")),
    "zip": (ValueError, "qrels.tsv: is compressed by zip", lambda: qrels(b"PK\x03\x04" + b"\x00\xff" * 20, name="qrels.tsv"), lambda: qrels(HEADER + b"q,a,1\n", name="qrels.csv")),
    "nothing": (ValueError, "is empty; pass a file", lambda: qrels("", "trec"), lambda: qrels("q 0 a 1\n", "trec")),
    "blanks": (ValueError, "is empty; pass a file", lambda: qrels("\n \n", "trec"), lambda: qrels("\nq 0 a 1\n", "trec")),
    "a byte order mark": (ValueError, "is empty; pass a file", lambda: qrels(b"\xef\xbb\xbf", "trec"), lambda: qrels(b"\xef\xbb\xbfq 0 a 1\n", "trec")),
    "queries of floats": (ValueError, "row 0: query_id is Float64; pass ids that", lambda: run(pl.DataFrame({"query_id": [1.5], "doc_id": ["a"], "score": [1.0]}), name="run.parquet"), lambda: run(pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]}), name="run.parquet")),
    "a file of text": (TypeError, "csv is open as text; open", lambda: open_as("r"), lambda: open_as("rb")),
    "an open file without a name": (ValueError, "the open file, line 1", lambda: jrm.read_qrels(io.BytesIO(b"q1 0 a\n"))),
    "lines for a path": (TypeError, "path: got .*list; pass a path, or a file", lambda: jrm.read_qrels(["q1 0 a 1"]), lambda: jrm.read_qrels(io.BytesIO(b"q1 0 a 1"))),
    "a bomb": (ValueError, "unpacks to more than 128 MiB, over 100 times its size", lambda: qrels(gzip.compress(bytes(2**20 + 1)) * 2**7), lambda: jrm.read_qrels(gzip.open(io.BytesIO(gzip.compress(b"q 0 a 1\n"))))),
    "a header of more fields than bytes": (ValueError, "run.csv, line 1 .*: has 20003 fields, far more than other lines", lambda: run("query_id,doc_id,score" + ",x" * 20_000 + "\nq,d,1" * 2000, name="run.csv"), lambda: run("query_id,doc_id,score\nq,d,1", name="run.csv")),
    "a long message": (ValueError, " … ", lambda: run("x" * 70 + " " + "y" * 10_000, columns=("q" * 1000, "d" * 1000, "s"), name="run.csv"), lambda: run("x,y,z\nq,a,1\n", columns=("x", "y", "z"), name="run.csv")),
    # keys that repeat, and columns that are no ranks
    "a repeated query of JSON": (ValueError, "run.json: the key 'q1' appears twice; put all documents of a query into one object", lambda: run('{"q1": {"a": 1}, "q1": {"b": 2}}', name="run.json"), lambda: run('{"q1": {"a": 1, "b": 2}}', name="run.json")),
    "a repeated query, the first kept": (ValueError, "the key 'q1' appears twice", lambda: run('{"q1": {}, "q2": {"a": 1}, "q1": {"b": 2}}', name="run.json", duplicates="first"), lambda: run('{"q1": {"b": 2}, "q2": {"a": 1}}', name="run.json", duplicates="first")),
    "a repeated query of judgements": (ValueError, "the key 'q' appears twice", lambda: qrels('{"q": {"a": 1}, "q": {"a": 1}}', "json"), lambda: qrels('{"q": {"a": 1}}', "json")),
    "a repeated query, escaped": (ValueError, "the key 'A' appears twice", lambda: run('{"A": {"a": 1}, "\\u0041": {"b": 2}}', name="run.json"), lambda: run('{"A": {"a": 1, "b": 2}}', name="run.json")),
    "a negative rank": (ValueError, "run.csv, line 2 ('q,a,-1'): the rank is -1; pass integers, counted from 0 or 1", lambda: run("qid,docno,rank\nq,a,-1\n", name="run.csv"), lambda: run("qid,docno,rank\nq,a,0\n", name="run.csv")),
    "half a rank of a frame": (ValueError, "run, row 1: the rank is 1.5; pass integers", lambda: jrm.join({"q": {"a": 1}}, pl.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "rank": [1.0, 1.5]})), lambda: jrm.join({"q": {"a": 1}}, pl.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "rank": [1, 2]}))),
    "a missing rank": (ValueError, "the rank is None", lambda: run("qid,docno,rank\nq,a,\n", name="run.csv"), lambda: run("qid,docno,rank\nq,a,1\n", name="run.csv")),
    "a rank that is a word": (ValueError, "the rank is first", lambda: run("a,b,c\nq,a,first\n", "msmarco", "run.csv", columns=("a", "b", "c")), lambda: run("a,b,c\nq,a,1\n", "msmarco", "run.csv", columns=("a", "b", "c"))),
    "two columns of ranks": (ValueError, "two sets of columns could be read: qid, docno, rank, and qid, docno, position; name the columns by columns=", lambda: run("qid,docno,rank,position\nq,a,1,1\n", name="run.csv"), lambda: run("qid,docno,rank,position\nq,a,1,1\n", name="run.csv", columns=("qid", "docno", "rank"))),
    "columns of ranks that are not there": (ValueError, "the column 'd' is not among a, b, c", lambda: run("a\tb\tc\nq\ta\t1\n", format="msmarco", columns=("a", "d", "c")), lambda: run("a\tb\tc\nq\ta\t1\n", format="msmarco", columns=("a", "b", "c"))),
    "a hash before a bad rank": (ValueError, "line 1 ('#q Q0 d x 1 t'): the rank is 'x', which is not a number", lambda: run("#q Q0 d x 1 t\n"), lambda: run("#q Q0 d 1 1 t\n")),
    # weights of queries
    "a weight that is a word": (ValueError, "weights, line 2 ('q2 x'): pass a query and its weight", lambda: weights("q1 1\nq2 x\n"), lambda: weights("q1 1\nq2 2\n")),
    "an infinite weight": (ValueError, "line 1 ('q1,inf'): pass finite weights", lambda: weights("q1,inf\n"), lambda: weights("q1,0\nq2,1\n")),
    "two weights of a query": (ValueError, "line 3 ('q1 2'): query 'q1' has a weight already", lambda: weights("query weight\nq1 1\nq1 2\n"), lambda: weights("query weight\nq1 1\n")),
    "no weights": (ValueError, "weights is empty", lambda: weights("query,weight\n\n"), lambda: weights("q1,1\n")),
    # options of files
    "a missing file": (FileNotFoundError, "qrels.csv", lambda: jrm.read_qrels(FOLDER / "qrels.csv")),
    "a folder": (OSError, str(FOLDER), lambda: jrm.read_qrels(FOLDER)),
    "columns of letters": (ValueError, "columns is 'abc'; pass three names: the columns of query, document and relevance", lambda: jrm.read_qrels("qrels.csv", columns="abc"), lambda: qrels("a,b,c\nq,d,1\n", name="qrels.csv", columns=("a", "b", "c"))),
    "columns of TREC": (ValueError, "have no column names", lambda: jrm.read_qrels("qrels.csv", columns=("a", "b", "c"), format="trec"), lambda: qrels("q 0 a 1\n", format="trec")),
    "judgements of scores": (ValueError, "format is 'scores'; pass None or one of trec", lambda: jrm.read_qrels("qrels.csv", format="scores"), lambda: qrels("q 0 a 1\n", format="trec")),
    "any duplicate": (ValueError, "duplicates is 'any'", lambda: jrm.read_qrels("qrels.csv", duplicates="any"), lambda: qrels("q 0 a 1\n", duplicates="max")),
    # joins
    "judged queries alone": (ValueError, "qrels: 2 queries ('q2', 'q3') have no documents in run", lambda: jrm.join(QRELS, {"q1": RUN["q1"]}), lambda: jrm.join(QRELS, {"q1": RUN["q1"]}, missing="zero")),
    "a query of the run alone": (ValueError, "run: query 'new' has no documents in qrels", lambda: jrm.join(QRELS, {"new": {"a": 1.0}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 1.0}, "new": {"a": 1.0}}, unjudged="skip")),
    "no common query": (ValueError, "no query in common", lambda: jrm.join(QRELS, {"new": {"a": 1.0}}, missing="skip", unjudged="skip"), lambda: jrm.join(QRELS, RUN, missing="skip", unjudged="skip")),
    "integers beside a fraction in a dict": (ValueError, "run holds 9007199254740993, which float64", lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 2**53, "b": 2**53 + 1, "c": 0.5}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 2, "b": 3, "c": 0.5}})),
    "a score of NaN": (ValueError, "score is nan", lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": float("nan")}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 0.5}})),
    "relevance beyond float32": (ValueError, "beyond float32", lambda: jrm.join({"q": {"a": 1e300}}, {"q": {"a": 1.0}}), lambda: jrm.join({"q": {"a": 3.4e38}}, {"q": {"a": 1.0}})),
    **rows_of("judgements of nothing", ValueError, "qrels is empty; pass at least one document", lambda x: jrm.join(x, {"q1": {"a": 1}}), {}, {"q1": {}}, follow=lambda: jrm.join({"q1": {"a": 1}}, {"q1": {"a": 1}})),
    "judgements of no row": (ValueError, "qrels is empty", lambda: jrm.join(pandas.DataFrame({"query_id": [], "doc_id": [], "relevance": []}), RUN), lambda: jrm.join(pandas.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "relevance": [1]}), {"q1": {"a": 1}})),
    "judgements without columns": (ValueError, "qrels has no columns; pass a frame of queries and", lambda: jrm.join(pandas.DataFrame(), {"q1": {"a": 1}}), lambda: jrm.join(pandas.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "relevance": [1]}), {"q1": {"a": 1}})),
    "a run of nothing": (ValueError, "run is empty", lambda: jrm.join(QRELS, {}), lambda: jrm.join({"q": ["a"]}, {"q": ["a"]})),
    "a score of None": (ValueError, "run, query 'q', document 'b': score is missing", lambda: jrm.join(QRELS, {"q": {"a": 1, "b": None}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 1, "b": 0.5}})),
    "half a character of a query": (ValueError, r"run: the id 'q\ud800' holds half a surrogate pair", lambda: jrm.join(QRELS, {"q\ud800": {"a": 1.0}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 1.0}})),
    "half a character of a document": (ValueError, r"qrels: the id 'd\ud800' holds half a surrogate pair", lambda: jrm.join({"q": {"d\ud800": 1}}, RUN), lambda: jrm.join({"q": {"d": 1}}, {"q": {"d": 1.0}})),
    "ids of several kinds": (ValueError, "several kinds", lambda: jrm.join({"q": {"a": 1}, 1: {"a": 1}}, RUN), lambda: jrm.join({"q": {"a": 1}, "1": {"a": 1}}, RUN, missing="zero", unjudged="skip")),
    "ties of a join": (ValueError, "ties is 'best'", lambda: jrm.join(QRELS, RUN, ties="best"), lambda: jrm.join(QRELS, RUN, ties="trec", missing="zero")),
    "depth of a join": (ValueError, "depth is 0", lambda: jrm.join(QRELS, RUN, depth=0), lambda: jrm.join(QRELS, RUN, depth=1, missing="zero")),
    "a pair twice": (ValueError, "appears twice", lambda: jrm.join(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [0, 1]}), RUN), lambda: jrm.join(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [0, 1], "subtopic": ["1", "2"]}), {"q": ["a"]})),
    "subtopics that are called otherwise": (ValueError, "qrels, row 1: document 'a' of query 'q' appears twice; pass it once, or add a column subtopic, which tells what", lambda: jrm.join(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [1, 1], "iteration": ["1", "2"]}), RUN), lambda: jrm.join(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [1, 1]}), {"q": ["a"]}, duplicates="first")),
    "two labels of PyTerrier": (ValueError, "qrels: two sets of columns could be read: qid, docno, label, and qid, docno, rel; keep only the columns to read", lambda: jrm.join(pl.DataFrame({"qid": ["q"], "docno": ["a"], "docid": [3], "label": [1], "rel": [1]}), RUN), lambda: jrm.join(pl.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1]}), {"q": ["a"]})),
    "a column twice": (ValueError, "several columns 'doc_id'; drop or rename", series_of_two_columns, lambda: jrm.join({"q": ["a"]}, pandas.DataFrame([["q", "a", 1.0]], columns=["query_id", "doc_id", "score"]))),
    "a query without documents": (ValueError, "query 'q' has no documents in run; pass missing='zero'", lambda: jrm.join({"q": {"a": 1}}, {"q": {}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {}}, missing="zero")),
    "an integer of 131 bits": (ValueError, "an integer beyond 128 bits; pass floats", lambda: jrm.join(QRELS, {"q": {"a": 2**130}}), lambda: jrm.join({"q": {"a": 1}}, {"q": {"a": 2.0**130}})),
    **rows_of("no relevance", ValueError, "no column 'relevance', only query_id, doc_id;", lambda x: jrm.join(x, RUN), pl.DataFrame(PAIR), ArrowTable(pl.DataFrame(PAIR)), follow=lambda: jrm.join(pl.DataFrame(PAIR | {"relevance": [1]}), {"q": ["a"]})),
    "a frame of two programs": (ValueError, "qrels: two sets of columns could be read: query_id, doc_id, relevance, and qid, docno, label; keep only the columns to read", lambda: jrm.join(pl.DataFrame(TWICE), RUN), lambda: jrm.join(pl.DataFrame(TWICE)[["qid", "docno", "label"]], {"q": ["a"]})),
    "two subtopics": (ValueError, "two columns could be the subtopic, subtopic or subtopic_id; keep only the columns to read", lambda: jrm.join(pl.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1], "subtopic": ["1"], "subtopic_id": ["1"]}), RUN), lambda: jrm.join(pl.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1], "subtopic": ["1"]}), {"q": ["a"]})),
    "scores of fewer items": (ValueError, "run has 1 scores without query_id, which do not belong to the 3 items of qrels", svmlight, lambda: svmlight(b"0.1\n0.2\n0.3\n")),
    "a list of judgements": (TypeError, "qrels: query 0 holds 1; pass a list of ids", lambda: jrm.join([1], RUN), lambda: jrm.join([[1]], [[1]])),
    # ranked lists
    "a letter for a list": (TypeError, "qrels: query 'q' holds 'd7'; pass a list of ids", lambda: jrm.join({"q": "d7"}, {"q": ["d7"]}), lambda: jrm.join({"q": ["d7"]}, {"q": ["d7"]})),
    "a ranked set": (TypeError, "run: query 'q' holds a set; pass a list of ids in rank order", lambda: jrm.join(QRELS, {"q": {"a", "b"}}), lambda: jrm.join({"q": {"a": 1}}, {"q": ["a", "b"]})),
    "pairs of ids": (TypeError, "qrels is a list of tuples of 2, like rows of a table; pass a dict", lambda: jrm.join([("q", "a"), ("q", "b")], RUN), lambda: jrm.join({"q": ["a", "b"]}, {"q": ["a"]})),
    "rows of csv.reader": (TypeError, "run holds rows of a table, such as ['q', 'Q0'", lambda: jrm.join(QRELS, [["q", "Q0", "a", "1", "0.5", "t"]]), lambda: jrm.join({"q": {"a": 1}}, pandas.DataFrame([["q", "a", 0.5]], columns=["query_id", "doc_id", "score"]))),
    "a scored pair twice": (ValueError, "run: document 'a' of query 'q' appears twice; pass it once, or pass duplicates='first'", lambda: jrm.join(QRELS, {"q": [("a", 1.0), ("a", 2.0)]}), lambda: jrm.join({"q": {"a": 1}}, {"q": [("a", 1.0), ("a", 2.0)]}, duplicates="first")),
    "plain scores of queries": (ValueError, "exclude_self: plain scores have no ids of documents", lambda: jrm.join({1: {0: 1}}, pl.DataFrame({"doc_id": [0], "score": [1.0]}), exclude_self=True), lambda: jrm.join({1: {0: 1}}, pl.DataFrame({"doc_id": [0], "score": [1.0]}))),
    "None in a list": (ValueError, "run, query 'q': doc_id is missing", lambda: jrm.join(QRELS, {"q": [None]}), lambda: jrm.join({"q": ["a"]}, {"q": ["a"]})),
    "ids of two kinds in a list": (ValueError, "run: doc_id holds values of several kinds", lambda: jrm.join(QRELS, {"q": ["a", 1]}), lambda: jrm.join({"q": ["a"]}, {"q": ["a", "1"]})),
    "no lists": (ValueError, "qrels is empty", lambda: jrm.join([], []), lambda: jrm.join([["a"]], [["a"]])),
    "empty judgements": (ValueError, "qrels is empty", lambda: jrm.join({"q": []}, {"q": ["a"]}), lambda: jrm.join({"q": ["a"]}, {"q": ["a"]})),
    "an empty list of no judgements": (ValueError, "run: query 'new' has no documents in qrels", lambda: jrm.join({"q": ["a"]}, {"q": ["a"], "new": []}), lambda: jrm.join({"q": ["a"]}, {"q": ["a"], "new": []}, unjudged="skip")),
    "lists and dicts": (TypeError, "query 'r' holds a list", lambda: jrm.join({"q": {"a": 1}, "r": ["b"]}, RUN), lambda: jrm.join({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["b"]})),
    "a list in a row and none in the next": (ValueError, "line 2 .*: doc_id is missing", lambda: run('{"query_id": "q", "doc_id": ["a"]}\n{"query_id": "r", "doc_id": null}', name="run.jsonl"), lambda: run('{"query_id": "q", "doc_id": ["a"]}\n{"query_id": "r", "doc_id": ["b"]}', name="run.jsonl")),
    "lists of unequal lengths": (ValueError, "row 0: score is missing, or its length differs from the other list; pass two lists", lambda: jrm.join(QRELS, pl.DataFrame({"query_id": ["q"], "doc_id": [["a", "b"]], "score": [[1.0]]})), lambda: jrm.join({"q": ["a"]}, pl.DataFrame({"query_id": ["q"], "doc_id": [["a", "b"]], "score": [[1.0, 0.5]]}))),
    "numbers beside lists": (ValueError, "row 0: score is Float64; pass lists, as in doc_id", lambda: jrm.join(QRELS, pl.DataFrame({"query_id": ["q"], "doc_id": [["a"]], "score": [1.0]})), lambda: jrm.join({"q": ["a"]}, pl.DataFrame({"query_id": ["q"], "doc_id": [["a"]], "score": [[1.0]]}))),
    "a query in two lines": (ValueError, "run.jsonl, line 1 .*: query 'q' appears twice", lambda: run('{"query_id": "q", "doc_ids": ["a"]}\n' * 2, name="run.jsonl"), lambda: run('{"query_id": "q", "doc_ids": ["a"]}\n', name="run.jsonl")),
    "a query without a list": (ValueError, "run.jsonl, line 1 .*: doc_id is not a list", lambda: run('{"query_id": "q", "doc_ids": "a"}', name="run.jsonl"), lambda: run('{"query_id": "q", "doc_ids": "a", "s": 1}', name="run.jsonl", columns=("query_id", "doc_ids", "s"))),
    "a query without a list in the next line": (ValueError, "run.jsonl, line 2 .*: holds \"b\"; pass a list of ids", lambda: run('{"q": ["a"]}\n{"r": "b"}', name="run.jsonl"), lambda: run('{"q": ["a"]}\n{"r": ["b"]}', name="run.jsonl")),
    "half a list": (ValueError, "run.jsonl, line 2 .*: is not JSON", lambda: run('["a"]\n["b"', name="run.jsonl"), lambda: run('["a"]\n["b"]', name="run.jsonl")),
    "a list of null": (ValueError, 'run.jsonl, line 1 .*: holds [null]; pass a list of ids', lambda: run("[null]", name="run.jsonl"), lambda: run('["a"]', name="run.jsonl")),
    "a chunk of no document": (ValueError, "document has no entry for 'b', a chunk in the run", lambda: jrm.join(QRELS, {"q": ["b"]}, document={"a": "x"}), lambda: jrm.join({"q": ["x"]}, {"q": ["b"]}, document={"a": "x", "b": "x"})),
    "a document that is a list": (TypeError, "document: got a list", lambda: jrm.join(QRELS, {"q": ["b"]}, document=["b"]), lambda: jrm.join({"q": ["x"]}, {"q": ["b"]}, document=lambda chunk: "x")),
    "a document of no kind": (ValueError, "document: doc_id holds values of several kinds", lambda: jrm.join(QRELS, {"q": ["b", "c"]}, document={"b": "x", "c": 1}), lambda: jrm.join({"q": ["x"]}, {"q": ["b", "c"]}, document={"b": "x", "c": "1"})),
    "repeats of a join": (ValueError, "repeats is 'drop'", lambda: jrm.join(QRELS, RUN, repeats="drop"), lambda: jrm.join(QRELS, RUN, repeats="keep", missing="zero")),
    "the largest score": (ValueError, "duplicates is 'max'; pass one of error, first, last", lambda: jrm.read_run("run.csv", duplicates="max"), lambda: run("q Q0 a 1 0.5 t\n", duplicates="last")),
    "judgements of numbers": (TypeError, "query 'q' holds", lambda: jrm.join({"q": 1}, RUN), lambda: jrm.join({"q": [1]}, {"q": [1]})),
    # joined lists
    "undefined of joined lists": (ValueError, "undefined is 'none'", lambda: jrm.join(QRELS, RUN, missing="zero").evaluate("map", "none"), lambda: jrm.join(QRELS, RUN, missing="zero").evaluate("map", "one")),
    "subtopics of joined lists": (ValueError, "alpha_ndcg reads subtopics, which", lambda: jrm.join(QRELS, RUN, missing="zero").measure(("map", "alpha_ndcg")), lambda: jrm.join(jrm.read_qrels(io.BytesIO(b"q 1 a 1\n"), format="subtopics"), {"q": ["a"]}).measure(("map", "alpha_ndcg"))),
    "unknown metric of joined lists": (ValueError, "'mapp' is unknown", lambda: jrm.join(QRELS, RUN, missing="zero").evaluate("mapp"), lambda: jrm.join(QRELS, RUN, missing="zero").evaluate("map")),
}  # fmt: skip
