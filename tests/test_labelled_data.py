"""Labelled data: the same data in every form gives the same bits, or raises and says why."""

import datetime
import functools
import io
import zoneinfo

import jax
import numpy as np
import polars as pl
import pytest
import scipy.sparse
from arrow_tables import ArrowTable, Dataset
from late_imports import LateImport
from per_lists import lists_of

import jax_rank_metrics as jrm

pandas = LateImport("pandas")

RNG = np.random.default_rng(5)
COUNTS = np.array([9, 1, 4, 2])
IDS = np.array([[0, 3], [2, 1]])
TABLE = RNG.random((4, 3))
GROUPS = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])
SCORES = RNG.random((3, 4))
VECTORS = RNG.random((3, 3))
PAIRS = {0: [1], 1: [0, 3], 2: [2]}
LISTS = [PAIRS[i] for i in range(3)]
TRIPLES = np.array([[0, 0, 1], [2, 1, 3], [3, 0, 0]])
LABELS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
ORDER = [2, 0, 3, 1]  # of labels in which data is stored
USERS = functools.partial(jrm.evaluate_users, "mrr@2")
QUERIES = functools.partial(jrm.evaluate_embeddings, "mrr@2")
EVALUATION = USERS(SCORES, PAIRS, users=[2, 0, 1])
RECALL = "group_recall(group=1)@2"
LINKS = functools.partial(jrm.evaluate_links, "mrr", known=[], num_entities=4)


def same_class(query, item):
    """Labels of items that share the class of a query."""
    return query[:, None] == item[None]


def scores_of_links(entities, relations, side):
    """Scores of four entities."""
    steps = 2 + relations + 3 * (side == "head")
    return (entities[:, None] * 5 + np.arange(4) * steps[:, None]) % 3.5


# Calls whose first axis has ids: what it holds, the data, and the call.
CALLS = {
    "counts": ("item", COUNTS, lambda x: jrm.rank_ids(IDS, item_columns={"counts": x})),
    "lift": ("item", COUNTS, lambda x: jrm.popularity_lift.of(jrm.rank_ids(IDS, item_columns={"counts": x}, profile_ids=IDS[::-1]))),
    "serendipity": ("item", COUNTS, lambda x: jrm.serendipity.of(jrm.rank_ids(IDS, IDS[:, 1:], item_columns={"counts": x}))),
    "propensities": ("item", COUNTS, lambda x: jrm.label_propensities(x, 20)),
    "genres": ("item", GROUPS, lambda x: jrm.miscalibration.of(jrm.rank_ids(IDS, item_columns={"genres": x}, profile_ids=IDS[::-1]))),
    "mask": ("item", COUNTS > 1, lambda x: USERS(SCORES, PAIRS, item_mask=x)),
    "mask of embeddings": ("item", COUNTS > 1, lambda x: QUERIES(VECTORS, TABLE, LISTS, item_mask=x)),
    "mask of scores": ("item", COUNTS > 1, lambda x: jrm.rank_scores(SCORES, [[1], [0], [2]], item_mask=x)),
    "mask of a catalogue": ("item", COUNTS > 1, lambda x: jrm.rank_catalog(VECTORS, TABLE, [[1], [0], [2]], k=2, item_mask=x)),
    "groups": ("item", GROUPS, lambda x: jrm.evaluate_users(RECALL, SCORES, PAIRS, item_columns={"groups": x})),
    "groups of ids": ("item", GROUPS, lambda x: jrm.rank_ids(IDS, IDS, item_columns={"groups": x})),
    "features": ("item", TABLE, lambda x: jrm.evaluate_users("intra_list_diversity@2", SCORES, PAIRS, item_columns={"embeddings": x})),
    "items of a model": ("item", TABLE, lambda x: USERS((VECTORS, x), PAIRS)),
    "users of a model": ("user", VECTORS, lambda x: USERS((x, TABLE), PAIRS)),
    "items": ("item", TABLE, lambda x: QUERIES(VECTORS, x, LISTS)),
    "queries": ("query", VECTORS, lambda x: QUERIES(x, TABLE, LISTS)),
    "items of a catalogue": ("item", TABLE, lambda x: jrm.rank_catalog(VECTORS, x, IDS[[0, 1, 0]], k=2)),
    "attributes": ("item", COUNTS, lambda x: QUERIES(VECTORS, TABLE, jrm.by_attributes(same_class, [9, 1, 4], x))),
    "groups of users": ("user", np.array(["a", "b", "a"]), lambda x: EVALUATION.by(x[[2, 0, 1]] if isinstance(x, np.ndarray) else x)),
    "clusters": ("list", np.array([5, 5, 7]), lambda x: jrm.compare([0.1, 0.2, 0.5], [0.3, 0.3, 0.4], clusters=x, test="t")),
    "clusters of lists": ("list", np.array([5, 5, 7]), lambda x: lists_of([0.1, 0.2, 0.5]).cluster(x)),
}  # fmt: skip
# The data that calls do not read from a dict, since a dict is a pytree or no array.
NO_DICTS = ("attributes", "items", "queries", "items of a model", "users of a model")


def leaves(result):
    """The numbers of a result."""
    if isinstance(result, jrm.Evaluation):
        result = result.lists, result.retrieved_ids
    if isinstance(result, jrm.Comparison):
        result = result.difference, result.p
    return [np.asarray(x) for x in jax.tree.leaves(result)]


def forms_of(data, unit):
    """Returns the same data under its labels, in another order than the order of ids."""
    order = [i for i in ORDER if i < len(data)]
    index = pandas.Index(order)
    make = pandas.Series if data.ndim == 1 else pandas.DataFrame
    named = make(data[order], index=index)
    columns = {"x": data[order]} if data.ndim == 1 else dict(enumerate(data[order].T))
    columns = {unit + "_id": order} | {f"c{key}": x for key, x in columns.items()}
    named_columns = {key: list(x) for key, x in columns.items()}
    return {
        "labels": named,
        "default": make(data),
        "dict": dict(zip(order, data[order], strict=True)),
        "column": pandas.DataFrame(columns),
        "polars": pl.DataFrame(named_columns),
        "lazy": pl.LazyFrame(named_columns),
        "arrow": ArrowTable(pl.DataFrame(named_columns)),
        "dataset": Dataset(pl.DataFrame(named_columns)),
        "wrong": make(data[order], index=[f"x{i}" for i in order]),
        "few": named.iloc[1:],
        "masked": np.ma.masked_array(data, np.arange(len(data)).reshape(-1, *[1] * (data.ndim - 1)) + 0 * data.astype(bool) == 1),
    }  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_axes_with_ids(name):
    """Every form gives the bits of the array; labels of others, and masks, raise."""
    unit, data, call = CALLS[name]
    expected = leaves(call(data))
    forms = forms_of(data, unit)
    if name in NO_DICTS:
        del forms["dict"]
    for form, text in (("wrong", "to_numpy|lists have none"), ("few", None)):
        with pytest.raises(ValueError, match=text):
            call(forms.pop(form))
    with pytest.raises(TypeError, match="masked"):
        call(forms.pop("masked"))
    for form in forms:
        for x, y in zip(leaves(call(forms[form])), expected, strict=True):
            np.testing.assert_array_equal(x, y, form)


def test_matrices_of_scores():
    """Frames of scores are read by users and by items; of functions, by items alone."""
    expected = USERS(SCORES, PAIRS)
    frame = pandas.DataFrame(SCORES)
    mixed = frame.loc[[2, 0, 1], [3, 1, 0, 2]]
    with_users = mixed.reset_index(names="user").rename(columns=str)
    polars = pl.DataFrame(with_users.to_dict("list"))
    forms = (
        frame,
        mixed,
        with_users,
        polars,
        polars.lazy(),
        ArrowTable(polars),
        Dataset(polars),
    )
    for model in (*forms, pl.DataFrame(SCORES), lambda u: mixed.loc[u]):
        np.testing.assert_array_equal(
            USERS(model, PAIRS).retrieved_ids, expected.retrieved_ids
        )
    ids = [[1], [0], [2]]
    ranking = jrm.rank_scores(SCORES, ids)
    by_items = jrm.rank_scores(frame[[3, 1, 0, 2]], ids)
    np.testing.assert_array_equal(*(jrm.reciprocal_rank.of(x).values for x in (ranking, by_items)))  # fmt: skip


def test_users_of_pairs():
    """Pairs name the users that have one, and lists name all users."""
    model, pairs = RNG.random((6, 5)), [(1, 2), (4, 0)]
    users, items = map(list, zip(*pairs, strict=True))
    matrix = scipy.sparse.csr_array((np.ones(2), (users, items)), shape=(6, 5))
    columns = {"user": users, "item": items}
    stored = scipy.sparse.csr_array(([1.0, 0], ([1, 4], [2, 0])), shape=(6, 5))
    frames = pandas.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns)
    frames += (ArrowTable(pl.DataFrame(columns)), Dataset(pl.DataFrame(columns)))
    series = pandas.Series([[2], [0]], index=users)
    entries = np.int8([100, 100, 1]), ([1, 1, 4], [2, 2, 0])  # 200 does not fit
    twice = scipy.sparse.coo_array(entries, shape=(6, 5))
    forms = (*frames, matrix, twice, {1: [2], 4: [0]}, series, stored)
    for relevant in forms:
        evaluation = jrm.evaluate_users("mrr@3", model, relevant)
        assert evaluation.users.tolist() == users
    assert USERS(model, series[::-1]).users.tolist() == users[::-1]
    assert "nothing" not in str(USERS(model, matrix))
    rows = [[], [2], [], [], [0], []]
    for relevant in (rows, dict(enumerate(rows))):
        evaluation = jrm.evaluate_users(("mrr@3", "dcg@3"), model, relevant)
        assert str(evaluation).endswith(
            "6 users, 4 with nothing relevant, which count 0)"
        )
    evaluation = USERS(model, matrix, users=np.arange(6), undefined="skip")
    assert str(evaluation).endswith("4 with nothing relevant, which are left out)")


def test_triples():
    """Frames of triples are read by the names of their columns."""
    frame = pandas.DataFrame(TRIPLES, columns=["head", "relation", "tail"])
    mixed = frame[["tail", "head", "relation"]]
    expected = leaves(LINKS(score_fn=scores_of_links, triples=TRIPLES)["both"])
    short = mixed.set_axis(["T", "H", "R"], axis=1)
    polars = pl.DataFrame(mixed.to_dict("list"))
    tables = polars.lazy(), ArrowTable(polars), Dataset(polars)
    for triples in (frame, mixed, short, polars, *tables, pandas.DataFrame(TRIPLES)):
        got = leaves(LINKS(score_fn=scores_of_links, triples=triples)["both"])
        for x, y in zip(got, expected, strict=True):
            np.testing.assert_array_equal(x, y)


A = {"mrr": [0.1, 0.5, 0.2, 0.9], "p@1": [0.0, 1.0, 0.0, 1.0]}
B = {"mrr": [0.3, 0.25, 0.95, 0.6], "p@1": [1.0, 0.0, 1.0, 0.0]}
A_IDS, B_IDS = [3, 1, 2, 0], [2, 3, 0, 1]
# Lists of b that only a judge has seen.
MORE = {"mrr": [*B["mrr"], 0.4, 0.7], "p@1": [*B["p@1"], 1.0, 0.0]}


# The calls that read the values of lists of two systems.
READERS = {
    "compare": jrm.compare,
    "systems": lambda a, b: jrm.compare(jrm.Systems({"a": a, "b": b})),
    "leaderboard": lambda a, b: jrm.leaderboard({"a": a, "b": b}, metric="mrr", samples=99),
    "table": lambda a, b: jrm.table({"a": a, "b": b}, compare="a"),
    "seeds": lambda a, b: jrm.to_frame({"mrr": jrm.Seeds([a, b]).mean_lists()["mrr"]}).to_dict(),
    "judge": jrm.prediction_powered,
    "planned": lambda a, b: (jrm.minimum_detectable(a), jrm.minimum_detectable(b)),
}  # fmt: skip
COLUMNS = (
    "qid",
    "query",
    "query_id",
    "user",
    "list",
    "Topic ID",
    "Unnamed: 0",
    "index",
)


@pytest.mark.parametrize("name", READERS)
def test_values_of_lists(name):
    """A column of ids is not a metric, in any form that frames are written in."""
    read = READERS[name]
    of_b = ([*B_IDS, 8, 9], MORE) if name == "judge" else (B_IDS, B)
    sides = (A_IDS, A), of_b
    expected = str(read(*({key: dict(zip(ids, x, strict=True)) for key, x in of.items()} for ids, of in sides)))  # fmt: skip
    for column in COLUMNS:
        frames = [pandas.DataFrame({column: ids, **x}) for ids, x in sides]
        assert str(read(*frames)) == expected, column
        polars = [pl.DataFrame(x.to_dict("list")) for x in frames]
        assert str(read(*polars)) == expected, column
        assert str(read(*(x.set_index(column) for x in frames))) == expected


def test_groups_in_a_stated_order():
    """Groups are in the order of a categorical column, or else of first appearance."""
    names = ["warm", "cold", "warm"]
    stated = pandas.Categorical(names, ["cold", "lukewarm", "warm"])
    forms = (
        stated,
        pandas.Series(stated, EVALUATION.users),
        pl.Series(names, dtype=pl.Enum(["cold", "warm"])),
    )
    for groups in forms:
        assert list(EVALUATION.by(groups)) == ["cold", "warm"]
    assert list(EVALUATION.by(names)) == ["warm", "cold"]


def test_groups_are_called_what_they_were():
    """Times keep their zone and their unit, and ids of several kinds their kind."""
    users = EVALUATION.users
    days = [datetime.datetime(2024, 1, day) for day in (1, 2, 1)]
    zone = zoneinfo.ZoneInfo("Asia/Tokyo")
    of_zone = [day.replace(tzinfo=zone) for day in days]
    of_polars, times = pl.Series(days), np.array(days, "datetime64[ns]")
    of_pandas = pandas.Series(times, users)
    forms = [
        (days, of_pandas),
        (days, of_pandas.astype("category")),
        (days, of_pandas.astype("datetime64[us]")),
        (days, pandas.DataFrame({"user": users, "day": times})),
        (days, times.astype("datetime64[us]")),
        ([*times], times),  # no date of Python holds nanoseconds
        ([*(times - times[1])], times - times[1]),
        (of_zone, of_pandas.dt.tz_localize(zone)),
        (of_zone, of_polars.dt.replace_time_zone("Asia/Tokyo")),
        ([day.date() for day in days], of_polars.dt.date()),
    ]
    mixed = ([*times], of_zone, ["1", 1, "1"], [(1, 2), (3,), (1, 2)])
    forms += [(names, dict(zip(users, names, strict=True))) for names in mixed]
    for names, groups in forms:
        keys, expected = list(EVALUATION.by(groups)), names[:2]
        assert keys == expected, groups
        assert [str(key)[:19] for key in keys] == [str(key)[:19] for key in expected]
    frame = pl.DataFrame({"user": users, "day": forms[8][1]})
    assert list(EVALUATION.by(frame)) == of_zone[:2]
    assert jrm.pack(forms[8][1]).ids.tolist() == of_zone[:2]
    # Each task has one list.
    tasks = frame.rename({"day": "task"}).with_columns(mrr=pl.Series([0.1, 0.2, 0.3]))
    for table in (tasks, pandas.DataFrame(tasks.to_dict(as_series=False))):
        assert {record.task for record in jrm.Systems(table).records} == {*of_zone[:2]}


def test_written_frames():
    """Frames of `to_frame` are read through CSV, too; ids that no name says raise."""
    frames = [
        jrm.to_frame({key: lists_of(np.array(x)) for key, x in of.items()}, ids)
        for ids, of in ((A_IDS, A), (B_IDS, B))
    ]
    expected = jrm.compare(*frames)
    texts = [x.to_csv() for x in frames]
    forms = (
        [pandas.read_csv(io.StringIO(x), index_col=0) for x in texts],
        # Numbers of rows are no ids if there is a column of ids.
        [pandas.read_csv(io.StringIO(x.reset_index().to_csv())) for x in frames],
    )
    for a, b in forms:
        assert jrm.compare(a, b)["mrr"].p == expected["mrr"].p
        assert [x.metric for x in jrm.compare(a, b)] == ["mrr", "p@1"]
    systems = jrm.Systems(dict(zip("ab", frames, strict=True)))
    table = jrm.to_frame(systems)
    text = table.reset_index().to_csv(index=False)
    text = pandas.read_csv(io.StringIO(text), header=[0, 1])
    for frame in (table, table.reset_index(), text):
        assert jrm.compare(frame)["mrr"].p == expected["mrr"].p
        assert len(jrm.Systems(frame)) == 4
    for kind in (pandas.DataFrame, pl.DataFrame):
        # Rows pair by position, if nothing may be their ids.
        alone = jrm.compare(kind(A), kind(B))
        assert alone["mrr"].p == jrm.compare(A, B)["mrr"].p
        for ids in ([3, 1, 2, 0], list("dbca")):
            with pytest.raises(ValueError, match="column 'arm' .*set_index"):
                jrm.compare(kind({"arm": ids, **A}), kind({"arm": ids, **B}))


def test_axes_without_ids():
    """Arguments whose indexes are equal go by position; tests/errors has the others."""
    frame = pandas.DataFrame({"y": [1, 0, 1], "s": [0.2, 0.9, 0.4]}, index=[7, 7, 3])
    y, s = frame["y"], frame["s"]
    expected = jrm.ndcg(y.to_numpy(), s.to_numpy()).compute()
    assert jrm.ndcg(y, s).compute() == expected == jrm.ndcg(y, s.to_numpy()).compute()


@pytest.mark.parametrize("dtype", ["bool", "boolean", object])
def test_a_boolean_series_selects_lists_by_label(dtype):
    """Labels may be in any order; unknown labels raise, and arrays go by position."""
    lists = lists_of([0.5, 0.25, 1.0])
    kept = pandas.Series([True, False, True], index=[2, 0, 1], dtype=dtype)
    assert lists[kept].values.tolist() == [0.25, 1]
    named = kept.set_axis([*"abc"])
    with pytest.raises(ValueError, match=r"index has the labels .*\.to_numpy\(\)"):
        lists[named]
    some = pandas.Series([True, True, True], index=[0, 1, 7], dtype=dtype)
    with pytest.raises(
        ValueError, match=r"labels 0, 1, 7, without 2 \(1\), which are not"
    ):
        lists[some]
    assert lists[named.to_numpy(bool)].values.tolist() == [0.5, 1]
    assert lists[pandas.Series([2, 0], index=[7, 8])].values.tolist() == [1, 0.5]
    with pytest.raises(TypeError, match="lacks a value"):
        lists[pandas.Series([True, None, False], dtype="boolean")]


@pytest.mark.parametrize("kept", [[True, False, True], [2, 0], []])
def test_a_series_of_polars_selects_lists(kept):
    """It selects the same lists as a list of the same bools or numbers."""
    lists = lists_of([0.5, 0.25, 1.0])
    selected = lists[pl.Series(kept, dtype=None if kept else pl.Int64)]
    assert selected.values.tolist() == lists[kept].values.tolist()
