"""`to_frame`: results as pandas frames, which other functions of this package read."""

import io
import itertools
import math

import jax
import numpy as np
import polars as pl
import pytest
from late_imports import LateImport
from made_results import board
from per_lists import evaluation_of, lists_of, state_of

import jax_rank_metrics as jrm

pandas = LateImport("pandas")


LISTS = {
    "mrr": lists_of([0.5, 0.0, 1.0], [1, 2, 3], [1, 0, 1]),
    "recall@1,5": lists_of([[0.0, 1.0], [0.5, 0.5], [0.0, 0.0]]),
    "mine": lists_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], defined=[1, 1, 0]),
}
EXPECTED = {
    "mrr": [0.5, math.nan, 1.0],
    "recall@1": [0.0, 0.5, 0.0],
    "recall@5": [1.0, 0.5, 0.0],
    "mine[0]": [1.0, 3.0, math.nan],
    "mine[1]": [2.0, 4.0, math.nan],
}


def test_lists():
    """A frame has a column for each cutoff, a row for each id, and NaN if undefined."""
    for ids in (None, ["q1", "q2", "q3"], pl.Series(["x", "y", "z"]), np.arange(7, 10)):
        frame = jrm.to_frame(LISTS, ids)
        index = range(3) if ids is None else list(ids)
        expected = pandas.DataFrame(EXPECTED, index=pandas.Index(index, name="list"))
        pandas.testing.assert_frame_equal(frame, expected, check_dtype=False)
    # Several axes of lists become rows in C order.
    wide = {"mrr": lists_of(np.zeros(4))}
    wide["mrr"] = jax.tree.map(lambda x: x.reshape(2, 2), wide["mrr"])
    assert jrm.to_frame(wide, "abcd").index.tolist() == list("abcd")


def test_evaluations():
    """Rows are users by their ids, or queries; what other functions read is the same."""
    lists = {"recall@1,2": lists_of([[0.0, 0.5], [1.0, 1.0], [0.0, 1.0]])}
    evaluation = evaluation_of(lists, users=[3, 0, 1])
    frame = jrm.to_frame(evaluation)
    assert frame.index.tolist() == [3, 0, 1]
    assert (frame.index.name, list(frame)) == ("user", ["recall@1", "recall@2"])
    np.testing.assert_array_equal(frame, lists["recall@1,2"].values)
    with pytest.raises(ValueError, match="ids of users; leave ids out"):
        jrm.to_frame(evaluation, [1, 2, 3])
    compared = jrm.compare(frame, frame * 2, test="t")
    assert compared["recall@2"].lists == 3
    queries = jrm.Evaluation({}, LISTS, np.zeros((3, 1), np.int32), "zero")
    assert jrm.to_frame(queries, "abc").index.tolist() == list("abc")


@pytest.mark.parametrize("undefined", [None, "zero", "one", "skip"])
def test_undefined_lists_are_read_again(undefined):
    """NaN counts as `undefined` says to all that read frames, and raises without it.

    It comes from CSV and parquet, too.
    """
    a = {"mrr": lists_of([0.5, 0, 1], defined=[1, 0, 1]), "p@1,5": LISTS["recall@1,5"]}
    b = {x: lists_of(np.asarray(y.values)[::-1] ** 2) for x, y in a.items()}
    frames = [jrm.to_frame(x) for x in (a, b)]
    files = [io.BytesIO() for _ in frames]
    for frame, file in zip(frames, files, strict=True):
        pl.read_csv(frame.to_csv().encode()).write_parquet(file)
        file.seek(0)

    def results(a, b):
        """Everything that reads values of lists."""
        systems, of_people = {"a": a, "b": b}, (a, b)
        if isinstance(a, dict):
            of_people = [evaluation_of(x) for x in (a, b)]  # which have ids
        people = jrm.prediction_powered(*of_people, undefined=undefined)["mrr"]
        board = jrm.leaderboard(systems, metric="mrr", samples=9, undefined=undefined)
        compared = jrm.compare(a, b, undefined=undefined)
        means = [
            y
            for x in jrm.table(systems, undefined=undefined).splitlines()[2:]
            for y in x.split()
        ]
        return [(x.difference, x.p) for x in compared], str(board), means, str(people)

    if undefined is None:
        for wrong in (
            frames[0],
            frames[0]["mrr"],
            pl.from_pandas(frames[0].reset_index()),
        ):
            for call in (
                lambda x: jrm.compare(x, x),
                lambda x: jrm.leaderboard({"a": x, "b": x}, metric="mrr"),
                lambda x: jrm.table({"a": x} if hasattr(x, "columns") else {"mrr": x}),
                lambda x: jrm.Systems({"a": x, "b": x}),
                lambda x: jrm.Seeds([x, x]),
            ):
                with pytest.raises(ValueError, match=r"at list 1 \(1 of 3\); say what"):
                    call(wrong)
        return
    (differences, *texts) = results(a, b)
    for forms in (
        frames,
        [pandas.read_csv(io.StringIO(x.to_csv())) for x in frames],
        [pl.read_parquet(x) for x in files],
    ):
        again, *rest = results(*forms)
        np.testing.assert_allclose(again, differences, rtol=1e-6)
        assert rest == texts
    columns = [x["mrr"] for x in frames]
    again = [(x.difference, x.p) for x in jrm.compare(*columns, undefined=undefined)]
    np.testing.assert_allclose(again, differences[:1], rtol=1e-6)


def test_leaderboards_and_comparisons(rng):
    """Rows are systems, or comparisons under their names, with all fields."""
    values = {x: {"mrr": rng.random(9), "p@1,2": rng.random((9, 2))} for x in "abc"}
    frame = jrm.to_frame(board("bac", ((0, 3),), p_first=np.array([0.5, 0.3, 0.2])))
    assert frame["system"].tolist() == list("bac")
    assert frame["p_first"].tolist() == [0.5, 0.3, 0.2]
    compared = jrm.compare(values, test="t", alternative="greater")
    frame = jrm.to_frame(compared).set_index(["system", "metric"])
    names = itertools.product("bc", ("mrr", "p@1", "p@2"))
    assert list(frame.index) == list(names)
    assert frame.loc[("c", "p@2"), "p"] == compared.select(system="c")["p@2"].p
    assert (frame["high"] == math.inf).all()
    of_mrr = {x: y["mrr"] for x, y in values.items()}
    pairs = jrm.to_frame(jrm.compare(of_mrr, pairs="all"))
    assert [*(pairs["baseline"] + pairs["system"])] == ["ab", "ac", "bc"]
    single = jrm.to_frame(jrm.compare(values["a"]["mrr"], values["b"]["mrr"]))
    assert len(single) == 1 and single["lists"].item() == 9
    runs = jrm.Seeds([rng.random(5) for _ in range(5)])
    of_seeds = jrm.to_frame(jrm.compare(rng.random(5), runs, samples=100))
    assert of_seeds["seeds_b"].item() == 5 and "iqm_b_low" in of_seeds


def test_seeds_and_systems(rng):
    """Seeds are means over seeds, and systems a level of the columns, as of `Systems`."""
    runs = rng.random((5, 6))
    frame = jrm.to_frame(jrm.Seeds([*runs]), "abcdef")
    expected = pandas.DataFrame({"value": runs.mean(0)}, pandas.Index([*"abcdef"]))
    pandas.testing.assert_frame_equal(frame, expected, check_names=False)
    systems = {"old": LISTS, "new": {**LISTS}}
    frame = jrm.to_frame(systems)
    pandas.testing.assert_frame_equal(frame, jrm.to_frame(jrm.Systems(systems)))
    assert frame.columns[:2].tolist() == [("old", "mrr"), ("old", "recall@1")]


def test_tasks_of_unequal_sizes(rng):
    """Rows of tasks stand below each other, and are read again, also through CSV."""
    tasks = {
        task: {
            x: {"mrr": dict(zip(ids, rng.random(len(ids)), strict=True))} for x in "ab"
        }
        for task, ids in (("web", "pqrs"), ("news", "xyz"))
    }
    frame = jrm.to_frame(tasks)
    assert frame.index.tolist() == [
        *(("web", x) for x in "pqrs"),
        *(("news", x) for x in "xyz"),
    ]
    assert frame["b", "mrr"]["news", "y"] == tasks["news"]["b"]["mrr"]["y"]
    text = frame.reset_index().to_csv(index=False)
    text = pandas.read_csv(io.StringIO(text), header=[0, 1])
    board = jrm.leaderboard(tasks, samples=9, tasks_first=True)
    for x in (frame, frame.reset_index(), text):
        assert jrm.table(x) == jrm.table(tasks)
        assert jrm.leaderboard(x, samples=9).to_dict() == board.to_dict()
    alone = {x: frame[x] for x in "ab"}
    polars = {
        x: pl.DataFrame(y.reset_index().to_dict("list")) for x, y in alone.items()
    }
    for x in (alone, polars):
        assert jrm.leaderboard(x, samples=9).to_dict() == board.to_dict()
    deep = jrm.Systems({x: {"de": {y: tasks[y][x] for y in tasks}} for x in "ab"})
    assert jrm.to_frame(deep).index[-1] == ("de, news", "z")


def test_groups():
    """Groups of an evaluation stand below each other, and runs beside each other."""
    runs = {
        run: evaluation_of(
            {"mrr": lists_of(values)}, {"mrr": state_of(values)}, [*"pqrs"]
        )
        for run, values in {
            "old": [0.1, 0.2, 0.3, 0.4],
            "new": [0.5, 1, 0, 0.25],
        }.items()
    }
    groups = {run: value.by([*"xyyx"]) for run, value in runs.items()}
    frame = jrm.to_frame(groups["new"])
    assert frame.index.tolist() == [("x", "p"), ("x", "s"), ("y", "q"), ("y", "r")]
    assert frame["mrr"].tolist() == [0.5, 0.25, 1, 0]
    frames = {run: jrm.to_frame(value) for run, value in groups.items()}
    both = jrm.to_frame(groups)
    pandas.testing.assert_frame_equal(both, pandas.concat(frames, axis=1))
    with pytest.raises(ValueError, match="results have 2 and 4 lists"):
        jrm.to_frame({"old": runs["old"], "new": groups["new"]["x"]})


def test_states():
    """Means of groups have a row each, with the fields of a table."""
    state = state_of(np.array([0.25, 0.75]))
    for groups in ({"short": {"mrr": state}, "long": {"mrr": state}}, {"mrr": state}):
        frame = jrm.to_frame(groups)
        text = jrm.table(groups, format="csv")
        pandas.testing.assert_frame_equal(
            frame,
            pandas.read_csv(io.StringIO(text), keep_default_na=False),
            check_dtype=False,
        )
