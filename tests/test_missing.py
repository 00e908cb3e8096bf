"""A missing value has the meaning in the table of docs/numerics.md, in every library."""

import functools
import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import long_but

import jax_rank_metrics as jrm

PAGE = (Path(__file__).parent.parent / "docs" / "numerics.md").read_text()
SECTION = PAGE.partition("## Missing values")[2].partition("\n## ")[0]
MEANINGS = dict(re.findall(r"^\| (an? .*?) +\| (.*?) +\|$", SECTION, re.M))

SLOT = 2  # the place of the missing value
USERS = ["p", "q", "r", "s"]
LABELS, SCORES = [1.0, 0.0, 1.0, 0.0], [0.4, 0.3, 0.2, 0.1]
BOOLS, NUMBERS = [True, False, True, False], [0, 1, 2, 3]
ROWS = np.tile(np.float32(SCORES), (4, 1))
KINDS = {"None": None, "nan": float("nan"), "NA": pd.NA, "NaT": pd.NaT}
OWN_DTYPES = {float: ["Float64", "float64"], int: ["Int64", "float64"], bool: ["boolean"], str: ["string", "category", "str"]}  # fmt: skip
ARROW = {float: "double[pyarrow]", int: "int64[pyarrow]", bool: "bool[pyarrow]", str: "string[pyarrow]"}  # fmt: skip


def put(values, cell):
    """Returns the values, with another cell in the slot."""
    return [*values[:SLOT], cell, *values[SLOT + 1 :]]


def forms(values):
    """Returns the values of a column, with one missing, in every library."""
    [kind] = {*map(type, values)}
    found = {}
    for name, missing in KINDS.items():
        cells = put(values, missing)
        array = np.empty(4, object)
        array[:] = cells
        found |= {f"list, {name}": cells, f"object, {name}": array}
        found[f"Series, {name}"] = pd.Series(cells, dtype=object)
    if kind is list:
        return found | {"polars": pl.Series(put(values, None))}
    dtypes = OWN_DTYPES[kind] + [ARROW[kind]] * bool(
        importlib.util.find_spec("pyarrow")
    )
    found |= {x: pd.Series(put(values, None), dtype=x) for x in dtypes}
    found["polars"] = pl.Series(put(values, None))
    if kind in (float, int):
        found["numpy"] = np.array(put(values, np.nan), float)
    return found


def frame(x, column="mrr", **columns):
    """Returns a frame of the library that the column is of."""
    columns = {**columns, column: x}
    return pl.DataFrame(columns) if isinstance(x, pl.Series) else pd.DataFrame(columns)


def by_user(x):
    """Returns values or lists by user, whatever they were held in."""
    return dict(zip(USERS, x, strict=True))


def numbers(states):
    """Returns the means of states."""
    return {name: float(state.compute()) for name, state in states.items()}


def evaluate(labels=LABELS, scores=SCORES, **how):
    """Returns means of a list, or of several."""
    return numbers(jrm.evaluate(("mrr", "ndcg"), labels, scores, **how))


def users(relevant=((0,), (1,), (2,), (3,)), **how):
    """Returns means of users, and the remarks on them."""
    found = jrm.evaluate_users(("mrr", "recall@2"), np.eye(4), [*relevant] if isinstance(relevant, tuple) else relevant, **how)  # fmt: skip
    return numbers(found)


def queries(**how):
    """Returns means of queries."""
    how = {"relevant": [[0], [1], [2], [3]]} | how
    return numbers(jrm.evaluate_embeddings(("mrr",), np.eye(4), np.eye(4), **how, k=2))


def join(qrels=None, run=None, **how):
    """Returns means of queries of dicts or frames."""
    qrels = by_user([["0"]] * 4) if qrels is None else qrels
    run = by_user([["0"]] * 4) if run is None else run
    return numbers(jrm.join(qrels, run, **how).evaluate(("mrr", "ndcg")))


def rows_of(value, column, x):
    """Returns a frame of judgements or of a run, with one given column."""
    ids = {"query_id": ["p", "p", "q", "q"], "doc_id": ["0", "1", "2", "3"]}
    return frame(x, **{**ids, value: [1, 0, 2, 1], "column": column})


def saved(folder, frames):
    """Returns the paths of a frame as CSV, Parquet and JSON lines."""
    frames = pl.DataFrame(
        {name: [*frames[name]] for name in frames.columns}, strict=False
    )
    paths = [folder / f"rows.{kind}" for kind in ("csv", "parquet", "jsonl")]
    for path, write in zip(paths, (frames.write_csv, frames.write_parquet, frames.write_ndjson), strict=True):  # fmt: skip
        write(path)
    return paths


LISTS = jrm.PerList(np.float32(SCORES), np.ones(4, np.float32), np.ones(4, bool))
RELEVANT = by_user([["p"], ["q"], ["r"], ["s"]])
FOUND = by_user([["x", name] for name in "pqrs"])
NAMED = {"user_ids": USERS, "item_ids": USERS, "relevant": RELEVANT}
TRIPLES = {"head": NUMBERS, "relation": NUMBERS, "tail": NUMBERS}
ENTRIES = [[0], [1], [2], [3]]
TEXTS = [["0"]] * 4


def links(**columns):
    """Evaluates triples, in a frame."""
    triples = frame(columns["head"], "head", relation=NUMBERS, tail=NUMBERS)
    return jrm.evaluate_links("mrr", lambda h, r: np.zeros((len(h), 4)), triples, known=[[0, 0, 1]], num_entities=4, k=2)  # fmt: skip


@functools.cache
def evaluation():
    """Returns an evaluation of four users."""
    return jrm.evaluate_users(("mrr@2",), np.eye(4), ENTRIES)


def vs(values):
    """Returns other values in the form of the first."""
    is_series = isinstance(values, pd.Series)
    return (
        pd.Series(LABELS)
        if is_series
        else by_user(LABELS)
        if isinstance(values, dict)
        else LABELS
    )


# For each row of the table: the argument, good values, and calls that get them.
ERRORS = {
    "a label of `relevant`, `qrels` or a file": (LABELS, {
        "relevant": lambda x: users(frame(x, "label", user=NUMBERS, item=NUMBERS)),
        "qrels": lambda x: join(rows_of("relevance", "relevance", x)),
        "qrels, query": lambda x: join({"q": by_user(x)}, {"q": ["p"]}),
    }),
    "a score of a driver, of `join` or a file": (SCORES, {
        "run": lambda x: join(run=rows_of("score", "score", x), qrels={"p": ["0"], "q": ["2"]}),
        "run, query": lambda x: join({"q": ["p"]}, {"q": by_user(x)}),
    }),
    "a weight of a driver or of `join`": (LABELS, {
        "list_weights": lambda x: users(list_weights=x),
        "list_weights of names": lambda x: users(**NAMED, list_weights=by_user(x)),
        "list_weights of queries": lambda x: queries(list_weights=x),
        "list_weights of join": lambda x: jrm.join(RELEVANT, FOUND).evaluate("mrr", list_weights=by_user(x)),
    }),
    "a mask, or a column of bools": (BOOLS, {
        "mask": lambda x: evaluate(mask=x),
        "retrieved": lambda x: evaluate(retrieved=x),
        "columns": lambda x: jrm.evaluate("bpref", LABELS, SCORES, columns={"judged": x}),
        "item_mask": lambda x: users(item_mask=x),
    }),
    "a value of a list": (SCORES, {
        "a": lambda x: jrm.compare(x, vs(x)),
        "b": lambda x: jrm.compare(vs(x), x),
        "values": lambda x: [*jrm.Systems({"a": x})][0].lists,
        "values of dicts": lambda x: [*jrm.Systems({"a": by_user(x)})][0].lists,
        "values of frames": lambda x: [*jrm.Systems({"a": frame(x, query=USERS)})][0].lists,
        "runs": lambda x: jrm.Seeds([x, x]),
        "systems": lambda x: jrm.leaderboard({"a": x, "b": x}),
        "results": lambda x: jrm.table({"a": {"mrr": x}}),
    }),
    "a difference of `lists_needed` or `minimum_detectable`": (SCORES, {
        "differences": lambda x: jrm.lists_needed(x, 0.1),
        "differences of dicts": lambda x: jrm.minimum_detectable(by_user(x)),
    }),
    "a value of a judge": (SCORES, {
        "judge": lambda x: jrm.prediction_powered(by_user(SCORES), by_user(x)),
    }),
    "an id of a list, user, item, document, entity or subtopic": (USERS, {
        "query_ids": jrm.pack,
        "known": lambda x: jrm.pack(["q"], known=x),
        "ids": jrm.hash_ids,
        "ids of a": lambda x: jrm.compare(SCORES, LABELS, ids=(x, x)),
        "ids of values": lambda x: [*jrm.Systems({"a": frame(SCORES, query=x)})][0].lists,
        "user_ids": lambda x: users(user_ids=x),
        "item_ids": lambda x: users(item_ids=x),
        "relevant, users": lambda x: users(frame(x, "user", item=USERS), user_ids=USERS, item_ids=USERS),
        "relevant, items": lambda x: users(frame(x, "item", user=USERS), user_ids=USERS, item_ids=USERS, unknown_items="drop"),
        "relevant of user p": lambda x: users({"p": x}, user_ids=USERS, item_ids=USERS, unknown_items="miss"),
        "seen of user p": lambda x: users(**NAMED, seen={"p": x}),
        "qrels": lambda x: join(rows_of("relevance", "query_id", x)),
        "run": lambda x: join(run=rows_of("score", "doc_id", x)),
        "qrels, query 'q'": lambda x: join({"q": x}, {"q": ["p"]}),
        "run, query 'q'": lambda x: join({"q": ["p"]}, {"q": x}),
        "qrels, subtopics": lambda x: join(rows_of("relevance", "subtopic", x)),
        "document of '2'": lambda x: join(by_user(TEXTS), {"p": [*"0123"]}, document=dict(zip("0123", x, strict=True)), missing="skip"),
        "retrieved_ids of query 'q'": lambda x: jrm.rank_ids({"q": x}, {"q": ["p"]}),
        "relevant_ids of query 'q'": lambda x: jrm.rank_ids({"q": ["p"]}, {"q": x}),
    }),
    "an id of a list, user, item, document, entity or subtopic, of numbers": (NUMBERS, {
        "segment_ids": lambda x: evaluate(segment_ids=x, num_segments=4),
        "ids": jrm.hash_ids,
        "ids of exposure": lambda x: jrm.exposure(x, 4),
        "users": lambda x: users(users=x),
        "relevant of user 0": lambda x: users([x, [0], [1], [2]]),
        "relevant: the column 'item'": lambda x: users(frame(x, "item", user=NUMBERS)),
        "qrels": lambda x: join(rows_of("relevance", "doc_id", x)),
        "retrieved_ids": lambda x: jrm.rank_ids(x, [1]),
        "relevant_ids": lambda x: jrm.rank_ids([1], x),
        "first": lambda x: jrm.overlap(x, [1, 2, 0, 3]),
        "triples": lambda x: links(head=x),
    }),
    "a group or a cluster": (USERS, {
        "groups": lambda x: evaluation().by(x),
        "ids": LISTS.cluster,
        "clusters": lambda x: jrm.compare(SCORES, LABELS, clusters=x),
        "query_attributes": lambda x: jrm.rank_scores(ROWS, jrm.by_attributes(np.equal, x, USERS)),
    }),
    "a group or a cluster, of numbers": (NUMBERS, {
        "groups": lambda x: LISTS.by(x, 4),
        "clusters": lambda x: jrm.compare(SCORES, LABELS, clusters=x),
    }),
    "a list of `candidates`, of `rank_ids` or `overlap`, of a frame or a file": (ENTRIES, {
        "candidates of user 2": lambda x: users(candidates=x),
        "candidates of user r": lambda x: users(ENTRIES, candidates=by_user(x), user_ids=USERS),
        "candidates of query 2": lambda x: queries(candidates=x),
        "retrieved_ids": lambda x: jrm.rank_ids([*x], ENTRIES),
        "relevant_ids": lambda x: jrm.rank_ids(ENTRIES, [*x]),
        "first": lambda x: jrm.overlap(x, ENTRIES),
        "run": lambda x: join(run=frame(x, "doc_id", query_id=USERS)),
    }),
}  # fmt: skip
PLACES = re.compile(r" (?:at|list|row|user|query) \(?2\b|, 2\)|'r'|(?:user|at) r\b")


DEAR = (
    "a group or a cluster",
    "an id of a list, user, item, document, entity or subtopic",
)


@pytest.mark.parametrize("row", long_but(ERRORS.keys() - {*DEAR}, ERRORS))
def test_what_raises(row):
    """The error names the argument and the first place."""
    assert re.match("an error", MEANINGS[row.removesuffix(", of numbers")])
    values, calls = ERRORS[row]
    for name, call in calls.items():
        argument = re.match(r"\w+", name)[0]
        for form, x in forms(values).items():
            if (name, form) == ("columns", "list, nan"):
                continue  # NumPy makes floats of it, in which NaN may be known to a metric
            with pytest.raises((ValueError, TypeError)) as caught:
                call(x)
            text, is_named = str(caught.value), name in str(caught.value)
            assert is_named or argument in text, (name, form, text)
            assert (is_named and "'" in name) or PLACES.search(text), (
                name,
                form,
                text,
            )


# For each row: good values, what stands in place of the missing one, a remark if there is
# one, and calls.
MEANT = {
    "a label of `rank`, `evaluate` or a metric": (LABELS, -1.0, None, {
        "labels": lambda x: evaluate(labels=x),
        "retrieved": lambda x: jrm.recall.of(jrm.rank_retrieved(x), k=3).values,
        "relevant_labels": lambda x: jrm.ndcg.of(jrm.rank_ids(NUMBERS, NUMBERS, x)).values,
    }),
    "a score of `rank`, `evaluate` or a metric": (SCORES, np.nan, None, {
        "scores": lambda x: evaluate(scores=x),
        "rank_scores": lambda x: jrm.ndcg.of(jrm.rank_scores(x, [1])).values,
    }),
    "a weight of `rank`, `evaluate` or a metric": (LABELS, 0.0, "weights is nan at .*2", {
        "weights of lists": lambda x: evaluate([LABELS] * 4, ROWS, weights=x),
        "weights of items": lambda x: evaluate(weights=x),
        "list_weights": lambda x: evaluate([LABELS] * 4, ROWS, list_weights=x),
    }),
    "a list of `relevant`, `seen`, `exclude`, `qrels` or `run`": (ENTRIES, [], "", {
        "relevant": users,
        "relevant of names": lambda x: users(by_user(x), user_ids=USERS),
        "seen": lambda x: users(ENTRIES, seen=x),
        "exclude": lambda x: queries(exclude=x),
        "qrels": lambda x: join(by_user(x), by_user(ENTRIES)),
        "run": lambda x: join(by_user(ENTRIES), by_user(x)),
    }),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("row", MEANT)
def test_what_is_read(row):
    """The numbers agree with the table, and there is a remark if the table says so."""
    values, meant, remark, calls = MEANT[row]
    assert ("with a remark" in MEANINGS[row]) == (remark is not None)
    for name, call in calls.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(put(values, meant))
        for form, x in forms(values).items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = call(x)
            np.testing.assert_equal(found, expected, f"{name}, {form}")
            texts = [str(warning.message) for warning in caught]
            assert remark is None or any(re.search(remark, x) for x in texts), name


@pytest.mark.long
def test_values_beside_a_judge():
    """Lists without a value of people count as lists of the judge alone."""
    assert (
        MEANINGS["a value of people, if there is a judge"]
        == "only the judge has labelled the list"
    )
    judge = by_user(LABELS)
    known = {user: value for user, value in by_user(SCORES).items() if user != "r"}
    expected = str(jrm.prediction_powered(known, judge))
    assert "1 of the judge alone" in expected
    for form, x in forms(SCORES).items():
        frames = frame(x, query=USERS), frame(LABELS, query=USERS)
        for pair in ((by_user(x), judge), frames):
            assert expected in str(jrm.prediction_powered(*pair)), form
    for choice in ("zero", "one", "skip"):
        table = {"a": pd.Series(put(SCORES, None), USERS, dtype="Float64")}
        mean = np.mean(
            put(SCORES, choice == "one") if choice != "skip" else [*known.values()]
        )
        [summary] = jrm.Systems(table, undefined=choice)
        assert summary.lists.scores().item() == pytest.approx(mean)


@pytest.mark.long
@pytest.mark.parametrize("column", ["query_id", "doc_id", "relevance", "score"])
def test_files(tmp_path, column):
    """Rows of CSV, Parquet and JSON lines lack nothing."""
    value = "score" if column == "score" else "relevance"
    read = jrm.read_run if value == "score" else jrm.read_qrels
    values = LABELS if column == value else USERS
    for x in (form for form in forms(values).values() if isinstance(form, pl.Series)):
        for path in saved(tmp_path, rows_of(value, column, x)):
            with pytest.raises(ValueError, match=f"(row 2|line [34]).*{column} is"):
                read(path)


def test_every_row_of_the_table():
    """Each row is tested, and no other."""
    tested = {row.removesuffix(", of numbers") for row in (*ERRORS, *MEANT)}
    assert MEANINGS.keys() == tested | {"a value of people, if there is a judge"}
