"""`Systems`: values read once, which every function takes in place of the values."""

import jax.numpy as jnp
import numpy as np
import pytest
from late_imports import LateImport
from per_lists import evaluation_of, lists_of, state_of

import jax_rank_metrics as jrm

pd, pl = LateImport("pandas"), LateImport("polars")
X = np.linspace(0, 1, 12) ** 2
SIDES = {"old": X, "new": X[::-1] + 0.1, "odd": np.sqrt(X)}
RUNS = {name: {"mrr": x, "p@1,5": np.stack([x, x], 1)} for name, x in SIDES.items()}
BY_ID = {
    name: {"map": dict(zip("abcdefghijkl", x, strict=True))}
    for name, x in SIDES.items()
}
EVALUATIONS = {
    name: evaluation_of({"mrr": lists_of(x)}, {"mrr": state_of(x)}, np.arange(12))
    for name, x in SIDES.items()
}
SEEDS = {
    name: {"map": jrm.Seeds([x, x**2, x**3, x / 2, x / 3])} for name, x in SIDES.items()
}
TASKS = {name: {"web": {"mrr": x}, "news": {"mrr": x / 2}} for name, x in SIDES.items()}


@pytest.mark.parametrize("values", [RUNS, BY_ID, EVALUATIONS, SEEDS, TASKS])
def test_every_function_takes_them(values):
    """Comparisons, leaderboards and tables equal the ones of the values themselves."""
    systems = jrm.Systems(values)
    options = {"test": "t", "pairs": "all"}
    assert jrm.compare(systems, **options) == jrm.compare(values, **options)
    alone = {"old": values["old"]}, {x: values[x] for x in ("new", "odd")}
    sides = jrm.compare(*map(jrm.Systems, alone), test="t")
    assert sides == jrm.compare(values["old"], alone[1], test="t")
    metric = systems.records[0].metric
    boards = [
        jrm.leaderboard(x, metric=metric, samples=50).to_dict()
        for x in (systems, values)
    ]
    assert boards[0] == boards[1]
    if values is TASKS:
        tasks = {x: {y: values[y][x] for y in values} for x in ("web", "news")}
        tables = systems, jrm.Systems(tasks, tasks_first=True), tasks
    else:
        tables = systems, values
    # A bootstrap of the default size takes long for seeds.
    test = jrm.compare(systems, test="t") if values is SEEDS else "old"
    texts = [jrm.table(x, compare=test) for x in tables]
    assert set(texts) == {texts[0]} and "differs from old" in texts[0]


def test_forms():
    """Values of any form are the same, paired by the ids that they come with."""
    pandas = pytest.importorskip("pandas")
    ids, order = [*"abcdefghijkl"], np.arange(12)[::-1]
    names = [ids[i] for i in order]
    by_id = {"mrr": dict(zip(names, X[order], strict=True))}
    forms = {
        "dict": by_id,
        "series": {"mrr": pandas.Series(X[order], names)},
        "frame": pandas.DataFrame({"mrr": X[order]}, names),
        "users": evaluation_of({"mrr": lists_of(X[order])}, users=names),
        "seeds": jrm.Seeds([by_id, {"mrr": pandas.Series(X, ids)}]),
    }
    first = pandas.Series(X, ids)
    for form, values in forms.items():
        (record,) = jrm.Systems(values)
        assert record.lists.ids == names and record.metric == "mrr", form
        np.testing.assert_allclose(record.lists.values[0, :, 0], X[order], rtol=1e-6)
        if form != "seeds":
            assert jrm.compare({"mrr": first}, values)["mrr"].ties == 12
        assert jrm.table({"x": values}).split()[3] == jrm.table({"mrr": X}).split()[3]
    systems = {x: y for x, y in forms.items() if x != "seeds"}
    assert jrm.leaderboard(systems, samples=9).p_corrected.min() == 1
    for array in (X, X.tolist(), jnp.asarray(X), lists_of(X)):
        (record,) = jrm.Systems(array)
        assert record.lists.ids is None and record.metric is None
        np.testing.assert_allclose(record.lists.values[0, :, 0], X, rtol=1e-6)


def test_plots_and_plans_take_them():
    """Lines are of runs, and differences and plans of systems."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    systems = jrm.Systems(RUNS)
    axes = [
        jrm.plots.at_cutoffs(systems, "p"),
        jrm.plots.distribution(systems, metric="mrr", ax=pyplot.figure().gca()),
    ]
    for ax in axes:
        assert ax.get_legend_handles_labels()[1] == [*RUNS]
    pyplot.close("all")
    two = jrm.Systems({x: RUNS[x] for x in ("old", "new")})
    assert jrm.plots.differences(two, metric="mrr").get_ylabel() == "new − old, mrr"
    pyplot.close()
    assert jrm.minimum_detectable(systems).keys() == RUNS.keys()


def test_records():
    """A record has names, and values with their ids and weights; it prints by numbers."""
    systems = jrm.Systems(TASKS)
    assert len(systems) == 6 and jrm.Systems(systems).records == systems.records
    assert repr(systems) == "Systems(2 tasks × 3 systems × 1 metric, 12 lists)"
    names = [(x.system, x.task, x.metric) for x in systems]
    assert names[1:3] == [("old", "news", "mrr"), ("new", "web", "mrr")]
    weighted = jrm.Systems({"mrr": lists_of([0.5, 0.25], [1, 2], [1, 0])})
    (record,) = weighted
    assert (record.system, record.task, record.metric) == (None, None, "mrr")
    assert record.lists.weights.tolist() == [[1], [2]]
    assert record.lists.defined.tolist() == [[[True], [False]]]
    assert record.lists is record.lists
    by_id = jrm.Systems({"a": {"x": 1, "y": 0}, "b": {"y": 2, "x": 3}})
    assert [x.lists.ids for x in by_id] == [["x", "y"], ["y", "x"]]
    assert repr(by_id) == "Systems(2 systems × 1 metric, 2 lists)"
    seeds = jrm.Systems({"mrr": jrm.Seeds([X, X])})
    assert next(iter(seeds)).lists.values.shape == (2, 12, 1)


def test_values_are_read_at_once():
    """Values may change later, and states stand for values if values are not needed."""
    values = np.array([0.5, 1.0])
    systems = jrm.Systems({"a": values, "b": [1.0, 1.0]})
    values[:] = 0
    assert jrm.compare(systems, test="t").only.difference == 0.25
    states = jrm.Systems({x: {"mrr": state_of(y)} for x, y in SIDES.items()})
    assert "3 systems" in repr(states) and "old" in jrm.table(states)
    lists = {x: lists_of(y) for x, y in SIDES.items()}
    boots = {x: jrm.bootstrap(y, jnp.arange(12), samples=20) for x, y in lists.items()}
    board = jrm.leaderboard(jrm.Systems(boots), samples=50)
    assert board.to_dict() == jrm.leaderboard(boots, samples=50).to_dict()


def forms_of(values):
    """Values of lists q0, q1, …, with None for some, in the forms that people have."""
    ids = [f"q{i}" for i in range(len(values))]
    columns = {"list": ids, "mrr": values}
    nan = [np.nan if x is None else x for x in values]
    series = pd.Series(values, ids, object)
    return {
        "object": series,
        "floats": pd.Series(nan, ids),
        "nullable": series.astype("Float64"),
        "NA": series.where(series.notna(), pd.NA),
        "NaT": series.where(series.notna(), pd.NaT),
        "frame": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "lazy": pl.DataFrame(columns).lazy(),
        "dict": dict(zip(ids, values, strict=True)),
        "dict-of-NaN": dict(zip(ids, nan, strict=True)),
    }


MISSING = [0.5, None, 0.25, 1.0, 0.75, None, 0.0, 0.5]
WHOLE = [0.4, 0.9, 0.5, 0.9, 0.8, 0.1, 0.3, 0.6]
FORMS = "object floats nullable NA NaT frame polars lazy dict dict-of-NaN".split()


@pytest.mark.parametrize("form", [*FORMS, "array", "list"])
def test_missing_values_are_no_zeros(form):
    """They raise with their lists, or count as the caller says, in each library."""
    unnamed = {"array": np.array(MISSING, float), "list": MISSING}
    a = unnamed[form] if form in unnamed else forms_of(MISSING)[form]
    b = WHOLE if form in unnamed else forms_of(WHOLE)[form]
    systems, name = {"a": a, "b": b}, "1, 5" if form in unnamed else "'q1', 'q5'"
    of_table = systems if form in ("frame", "polars", "lazy") else {"a": {"mrr": a}}
    # In dicts, None has the error of values that are no numbers.
    text = rf"not finite, at lists {name} \(2 of 8\); "
    text = r"'q1'\] is None; pass a number for a list, or " if form == "dict" else text
    for call in (
        lambda how: jrm.compare(a, b, test="t", **how)[0].difference,
        lambda how: jrm.compare(systems, test="t", **how)[0].difference,
        lambda how: jrm.leaderboard(systems, samples=9, **how).means.tolist(),
        lambda how: jrm.table(of_table, **how),
        lambda how: jrm.table(jrm.Systems(of_table, **how)),
        lambda how: repr(jrm.Seeds([a, b], **how)),
    ):
        with pytest.raises(
            (ValueError, TypeError),
            match=f"{text}say what they count as: undefined='skip'",
        ):
            call({})
        results = [str(call({"undefined": how})) for how in ("skip", "zero", "one")]
        assert len({*results}) == 3 - ("nothing" in results[0])
    skipped = jrm.compare(a, b, test="t", undefined="skip")[0]
    kept = [i for i, x in enumerate(MISSING) if x is not None]
    expected = np.mean([WHOLE[i] - MISSING[i] for i in kept])
    assert skipped.difference == pytest.approx(expected)
    assert (skipped.lists, skipped.undefined) == (6, 2) and "2 undefined" in repr(
        skipped
    )
    for plan in (jrm.minimum_detectable, lambda x: jrm.lists_needed(x, 0.1)):
        with pytest.raises(
            (ValueError, TypeError), match=rf"{text}pass the lists .* \.dropna\(\)"
        ):
            plan(a)
        if hasattr(a, "dropna"):
            plan(a.dropna())


@pytest.mark.parametrize("form", FORMS)
def test_what_people_have_not_labelled(form):
    """A value that is missing is a list of the judge alone, and the judge has to have all."""
    people, judge = forms_of(MISSING)[form], forms_of(WHOLE)[form]
    kept = {f"q{i}": x for i, x in enumerate(MISSING) if x is not None}
    of_judge = forms_of(WHOLE)["dict"]
    expected = jrm.prediction_powered(kept, of_judge)
    result = jrm.prediction_powered(people, judge)
    result = result if not isinstance(result, dict) else result["mrr"]
    assert result == expected and (result.lists, result.other_lists) == (6, 2)
    if form == "dict":  # if one side has no value, the difference has none
        side, judges = {x: of_judge[x] for x in kept}, (of_judge, judge)
        some = jrm.compare(people, of_judge, judge=judges)
        assert repr(some) == repr(jrm.compare(kept, side, judge=judges))
    with pytest.raises(
        (ValueError, TypeError), match="judge.*'q1'.*say what they count"
    ):
        jrm.prediction_powered(judge, people)
    zero = jrm.prediction_powered(people, judge, undefined="zero")
    zero = zero if not isinstance(zero, dict) else zero["mrr"]
    assert (zero.lists, zero.undefined, zero.other_lists) == (8, 2, 0)


def test_ids_of_rows():
    """A row of means is left out, ids of any kinds pair, and a missing id raises."""
    for mean in ("All", "amean"):  # the latter of gdeval
        frame = pl.DataFrame({"qid": ["a", "b", mean], "mrr": [0.5, 0.25, 0.375]})
        with pytest.warns(UserWarning, match=f"'{mean}' is the mean of the others"):
            [record] = jrm.Systems({"x": frame})
        assert record.lists.ids == ["a", "b"]
    mixed = {1: 0.5, "1": 0.25, 2: 0.0}
    [record] = jrm.Systems({"x": mixed})
    assert record.lists.ids == [*mixed] and len(jrm.to_frame({"mrr": mixed})) == 3
    with pytest.raises(ValueError, match="the list 'mean' with .* not the mean"):
        jrm.Systems({"x": {"a": 0.5, "b": 0.25, "mean": 0.5}})
    for missing in (None, float("nan"), ""):
        with pytest.raises(
            ValueError,
            match="one is (None|nan) at 1|hold '', which is not an id; pass an id",
        ):
            jrm.Systems({"x": {"a": 0.5, missing: 0.25}})
    lists = {"a": 0.5, "b": 0.25, "all": 0.375}
    with pytest.warns(UserWarning, match="'all' is the mean") as warned:
        jrm.Systems({name: {"mrr": lists, "map": lists} for name in ("x", "y")})
    assert [text.filename for text in warned] == [__file__]  # once, and of this line
