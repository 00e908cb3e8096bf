"""Lists of ids in rank order, of any kind and number, on either side of a join."""

import io
import json
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jax_rank_metrics as jrm

GOLD = {"q1": ["b"], "q2": ["a", "c"], "q3": ["d"], "q4": ["e", "f", "g"]}
RETRIEVED = {
    "q1": ["x", "b", "b"],
    "q2": ["c", "c", "a"],
    "q3": [],
    "q4": ["g", "x", "y", "x", "e"],
}
METRICS = (
    *("recall@2", "precision@3", "ndcg@10", "mrr"),
    *("map", "bpref", "err", "judged@3"),
)
NUMBERS = {x: i for i, x in enumerate("abcdefgxy")}
IGNORED = pytest.mark.filterwarnings("ignore::UserWarning")


def as_pandas(lists):
    return pd.DataFrame({"query_id": [*lists], "doc_ids": [*lists.values()]})


def as_rows(lists):
    columns = {"qid": [*lists], "docno": [np.array(x, object) for x in lists.values()]}
    return pd.DataFrame(columns)


def as_polars(lists):
    return pl.DataFrame({"query_id": [*lists], "doc_id": [*lists.values()]})


FORMS = {
    "dict": lambda lists: lists,
    "tuples": lambda lists: {query: tuple(ids) for query, ids in lists.items()},
    "Series": pd.Series,
    "pandas": as_pandas,
    "arrays in pandas": as_rows,
    "polars": as_polars,
    "lazy": lambda lists: as_polars(lists).lazy(),
    "lists": lambda lists: [*lists.values()],
}
FILES = {
    "lists.json": json.dumps,
    "lists.jsonl": lambda lists: "\n".join(
        json.dumps({"query_id": query, "doc_ids": ids}) for query, ids in lists.items()
    ),
    "pairs.jsonl": lambda lists: "\n".join(
        json.dumps({query: ids}) for query, ids in lists.items()
    ),
    "only.json": lambda lists: json.dumps([*lists.values()]),
    "only.jsonl": lambda lists: "\n".join(map(json.dumps, lists.values())),
}


def by_numbers(repeats="keep"):
    """Returns values of lists from padded arrays, by loops of no library."""
    arrays = []
    for lists in (RETRIEVED, GOLD):
        rows = np.full((len(lists), 5), -1)
        for row, ids in zip(rows, lists.values(), strict=True):
            row[: len(ids)] = [NUMBERS[x] for x in ids]
        arrays.append(rows)
    ranking = jrm.rank_ids(*arrays, repeats=repeats)
    return jrm.measure(METRICS, ranking)


def check_same(lists, reference):
    for name, x in reference.items():
        np.testing.assert_allclose(lists[name].values, x.values, 1e-6, err_msg=name)


@IGNORED
@pytest.mark.parametrize("repeats", ("keep", "remove"))
def test_a_join_is_a_ranking_of_ids(repeats):
    joined = jrm.join(GOLD, RETRIEVED, repeats=repeats)
    check_same(joined.measure(METRICS), by_numbers(repeats))
    ranking = jrm.rank_ids(RETRIEVED, GOLD, repeats=repeats)
    check_same(jrm.measure(METRICS, ranking), by_numbers(repeats))


@IGNORED
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_lists(form):
    sides = [FORMS[form](lists) for lists in (GOLD, RETRIEVED)]
    joined, queries = jrm.join(*sides), range(4) if form == "lists" else GOLD
    assert joined.query_ids.to_list() == [*queries]
    check_same(joined.measure(METRICS), by_numbers())


@IGNORED
@pytest.mark.parametrize("name", (*FILES, "lists.parquet"))
def test_files_of_lists(tmp_path, name):
    """Lists without queries are the lists of the queries 0, 1, 2 and 3."""
    frames, queries = [], range(4) if name.startswith("only") else GOLD
    for lists, read in ((GOLD, jrm.read_qrels), (RETRIEVED, jrm.read_run)):
        if name in FILES:
            (tmp_path / name).write_text(FILES[name](lists))
        else:
            as_polars(lists).write_parquet(tmp_path / name)
        frames.append(read(tmp_path / name))
        assert frames[-1].rows() == [*zip(queries, lists.values(), strict=True)]
    check_same(jrm.join(*frames).measure(METRICS), by_numbers())


def test_columns_of_lists(tmp_path):
    frame = pl.DataFrame({"question": ["q"], "sources": [["b", "a"]], "rank": [1]})
    frame.write_parquet(tmp_path / "run.parquet")
    run = jrm.read_run(tmp_path / "run.parquet", columns=("question", "sources"))
    assert run.rows() == [("q", ["b", "a"])]


def test_integers_and_order_of_queries():
    """Integers stay ids, also beside strings; lists are the lists of the first argument."""
    ranking = jrm.rank_ids([[7, 3], [9]], [[3], [9, 4]])
    assert ranking.items.tolist() == [[7, 3], [9, -1]]
    ranking = jrm.rank_ids({"q": ["7", 3], "r": [1]}, {"r": [1], "q": [3]})
    assert jrm.reciprocal_rank.of(ranking).values.tolist() == [0.5, 1.0]
    joined = jrm.join([[3], [9]], [["3"], ["8", "9"]])
    assert joined.measure("mrr")["mrr"].values.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("ids", [[-9, -5, 7], [-9, 2**63, 7], [*"abc"]])
def test_padding_of_lists(ids):
    """In lists, −1 alone is padding; in arrays, every number below 0."""
    a, b, c = ids
    for make in (list, lambda rows: dict(zip("xy", rows, strict=True))):
        first, second = make([[a, -1, b], [c, a, -1]]), make([[b, -1], [b, c]])
        found = jrm.recall.of(jrm.rank_ids(first, second), k=(1, 2)).values
        np.testing.assert_array_equal(found, [[0, 1], [0.5, 0.5]])
        shared = jrm.overlap(first, second, k=(1, 2)).values
        np.testing.assert_array_equal(shared, [[0, 1], [0, 0.5]])
    assert jrm.recall.of(jrm.rank_ids([a, b], [b, -1])).values == 1
    array = np.array([[-9, 7, -5], [-9, 5, 7]])
    found = jrm.recall.of(jrm.rank_ids(array, [[-9, 7], [7]]), k=1).values
    np.testing.assert_array_equal(found, [0.5, 0])


def test_labels_and_weights_of_ids():
    graded = {"q": {"a": 1, "b": 3}, "r": {"c": 2}}
    retrieved = {"r": ["x", "c"], "q": ["a", "b"]}
    ranking = jrm.rank_ids(retrieved, graded, list_weights={"q": 3, "r": 1})
    labels = [[0, 2], [1, 3]]
    pool = [[2, -1], [1, 3]]
    reference = jrm.rank_retrieved(labels, pool_labels=pool, list_weights=[1, 3])
    check_same(jrm.measure(METRICS[:5], ranking), jrm.measure(METRICS[:5], reference))
    assert jrm.ndcg.of(ranking).weights.tolist() == [1, 3]
    orders = {"r": [2], "q": [1, 3]}  # other than the order of the ids
    ids = {query: [*labels] for query, labels in graded.items()}
    same = jrm.rank_ids(retrieved, ids, orders)
    assert jrm.ndcg.of(same).values.tolist() == jrm.ndcg.of(ranking).values.tolist()
    padded = jrm.rank_ids([[1, -1], [2]], [[-1, 1, -1], [2]])
    assert jrm.recall.of(padded).values.tolist() == [1, 1]
    lists = jrm.rank_ids([["a", "b"]], [{"b"}], [[2]])
    assert jrm.cg.of(lists).values.tolist() == [2.0]
    single = jrm.rank_ids(["a", "b"], ["b"])
    assert float(jrm.reciprocal_rank.of(single).values) == 0.5


@pytest.mark.parametrize("docs", ["doc_id", "doc_ids"])
@pytest.mark.parametrize("ending", ["", "s"])
def test_numbers_beside_lists(docs, ending):
    """They are read under every name of the columns, and equal the numbers of dicts."""
    expected = jrm.join({"q": {"a": 2, "b": 0}}, {"q": {"a": 1.0, "b": 2.0}})
    judged = pl.DataFrame(
        {"query_id": ["q"], docs: [["a", "b"]], f"relevance{ending}": [[2, 0]]}
    )
    run = pl.DataFrame(
        {"query_id": ["q"], docs: [["a", "b"]], f"score{ending}": [[1.0, 2.0]]}
    )
    file = io.BytesIO(judged.write_ndjson().encode())
    for x in (judged, jrm.read_qrels(file, format="jsonl")):
        check_same(jrm.join(x, run).measure(METRICS), expected.measure(METRICS))


def test_check_reads_ranked_lists():
    """It reports ids that are retrieved twice or never, in ids of any kind."""
    remarks = jrm.check(retrieved_ids=RETRIEVED, relevant_ids=GOLD)
    assert len(remarks) == 1 and "an id twice in 3 of 3 lists" in remarks[0], remarks
    assert not jrm.check(retrieved_ids=[["a"], ["b"]], relevant_ids=[{"a"}, {"b"}])


def test_remarks():
    gold = {"q1": [], "q2": ["a", "a"], "q3": ["c"]}
    run = {"q1": ["x"], "q2": ["a", "x"], "q3": []}
    with pytest.warns(UserWarning) as warned:
        joined = jrm.join(gold, run)
    assert [str(x.message) for x in warned] == [*joined.remarks]
    starts = ("of 3 lists, such as the list of 'q1', nothing is relevant",
              "of 3 lists, such as the list of 'q3', nothing was retrieved",
              "of 3 lists, such as the list of 'q2', a judged document appears twice")  # fmt: skip
    assert len(joined.remarks) == 3
    assert all(x in y for x, y in zip(starts, joined.remarks, strict=True))
    lists = joined.measure("recall")["recall"]
    assert lists.values.tolist() == [0, 1, 0]
    assert lists.defined.tolist() == [False, True, True]


@pytest.mark.parametrize("as_dicts", (False, True))
def test_remark_on_ids_that_print_alike(as_dicts):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    sides = [{"q": [x, "a"]} for x in (composed, decomposed)]
    if as_dicts:
        sides = [{"q": dict.fromkeys(x["q"], 1)} for x in sides]
    with pytest.warns(UserWarning, match=r"'caf\\xe9' and 'cafe\\u0301' print alike"):
        jrm.join(*sides)
    assert not jrm.join(sides[0], sides[0]).remarks


@IGNORED
def test_a_query_that_a_side_lacks():
    """An empty list is an answer; a query that is not there at all is none."""
    run = {"q1": ["b"], "q2": [], "q4": []}
    assert "1 skipped" in repr(jrm.join(GOLD, run, missing="skip"))
    joined = jrm.join({"q1": ["b"]}, {"q1": ["b"], "q9": []}, unjudged="skip")
    assert joined.query_ids.to_list() == ["q1"]


@IGNORED
def test_a_query_of_nothing_at_all():
    """A query without judgements or documents counts as one without anything relevant."""
    gold = {"q1": [], "q2": [], "q3": ["a"]}
    retrieved = {"q1": [], "q2": ["b"], "q3": []}
    lists = jrm.join(gold, retrieved).measure(("recall", "ndcg", "judged@5"))
    for values in lists.values():
        assert values.weights.tolist() == [1, 1, 1]
    assert lists["recall"].defined.tolist() == [False, False, True]
    assert repr(jrm.join(gold, retrieved)) == "Joined(3 queries, 1 judged, 1 retrieved)"
    for sides in (([[]], [["a"]]), ([["a"]], [[]])):
        assert jrm.recall.of(jrm.rank_ids(*sides)).values.tolist() == [0]


@pytest.mark.parametrize("is_dict", (False, True))
def test_documents_of_chunks(is_dict):
    """Only the best chunk of a document stays, in lists and beside scores."""
    chunks = ["b#1", "c#0", "b#0", "d#1"]
    document = {x: x[0] for x in chunks} if is_dict else lambda chunk: chunk[0]
    for run in (chunks, dict(zip(chunks, (4.0, 3.0, 2.0, 1.0), strict=True))):
        for doc_id, rank in (("b", 1), ("c", 2), ("d", 3)):
            joined = jrm.join({"q": [doc_id]}, {"q": run}, document=document)
            assert joined.measure("mrr")["mrr"].values == np.float32(1 / rank)
        assert joined.doc_ids.drop_nulls().sort().to_list() == ["b", "c", "d"]


def hit(docid, score):
    """Returns what a searcher returns."""
    return types.SimpleNamespace(docid=docid, score=score)


@pytest.mark.parametrize("make", [lambda *pair: pair, hit], ids=["tuples", "objects"])
def test_scored_documents_in_lists(make):
    """Pairs of an id and a number are scored, and a tuple of ids is a list."""
    run = {"q": [make("b", 1), make("a", np.float32(1.5))], "r": [make("x", 1)]}
    for qrels in {"q": [("a", 2)], "r": [("b", 1)]}, {"q": ("a", "x"), "r": ("a", "b")}:
        joined = jrm.join(qrels, run)
        assert joined.measure("mrr")["mrr"].values.tolist() == [1, 0]
    graded = jrm.join({"q": [("a", 2), ("b", 1)]}, {"q": ["a"]})
    assert sorted(graded.labels[graded.mask].tolist()) == [1, 2]


def test_documents_that_repeat_in_rows():
    """`duplicates` chooses a row, and chunks of a document may repeat."""
    rows = {"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    frame = pl.DataFrame(rows)
    for option, value in ("first", 0.5), ("last", 1):
        joined = jrm.join({"q": ["a"]}, frame, duplicates=option)
        assert joined.measure("mrr")["mrr"].values.tolist() == [value]
    judged = frame.rename({"score": "relevance"})
    assert jrm.join(judged, {"q": ["a"]}, duplicates="max").labels.max() == 3
    joined = jrm.join({"q": ["A"]}, frame, document=str.upper)
    assert joined.measure("mrr")["mrr"].values.tolist() == [1]


def test_queries_that_are_documents():
    """`exclude_self` compares ids, of any kind, and keeps every query."""
    qrels = {1: {1: 1, 2: 1}, 3: {3: 1}}
    run = {"1": {"1": 9, "2": 8}, "3": {"3": 1}}
    joined = jrm.join(qrels, run, exclude_self=True)
    assert joined.query_ids.to_list() == ["1", "3"] and not joined.remarks
    assert joined.measure("recall@1")["recall@1"].values.tolist() == [1, 0]
    with pytest.warns(UserWarning, match="2 of 2 queries find .*exclude_self=True"):
        jrm.join(qrels, run)
    below = run | {"1": {"1": 8, "2": 9}}  # as ids that are equal by chance
    assert not jrm.join(qrels, below).remarks
    with pytest.warns(UserWarning, match="no document has the id of its query"):
        jrm.join({"q": ["a"]}, {"q": ["a"]}, exclude_self=True)
