"""Results of `compare`: comparisons found by their sides and metrics, and their table."""

import dataclasses

import numpy as np
from per_lists import lists_of

import jax_rank_metrics as jrm

LISTS = np.linspace(0, 1, 12)
METRICS = {"mrr": LISTS, "recall@1,5": np.stack([LISTS, LISTS**2], 1)}
LARGER = {name: values + 0.1 for name, values in METRICS.items()}
SYSTEMS = jrm.compare(METRICS, {"new": LARGER, "same": METRICS}, test="t")
ALONE = jrm.compare(METRICS, LARGER, test="t")


def test_a_sequence():
    """Comparisons stand system after system, then metric by metric and cutoff."""
    names = [(x.task, x.baseline, x.system, x.metric, x.cutoff) for x in SYSTEMS]
    metrics = [("mrr", None), ("recall@1", 1), ("recall@5", 5)]
    expected = [(None, None, x, *metric) for x in ("new", "same") for metric in metrics]
    assert names == expected and len(SYSTEMS) == 6
    assert SYSTEMS[-1].metric == "recall@5" and SYSTEMS[1] in SYSTEMS
    assert SYSTEMS[:3] == SYSTEMS.select(system="new") != SYSTEMS[3:]
    assert [*reversed(SYSTEMS)][0] is SYSTEMS[5]


def test_names():
    """A name finds the only comparison of a metric, a system or a task."""
    assert ALONE["recall@5"].cutoff == 5 and ALONE["mrr"].wins == 12
    assert jrm.compare(LISTS, {"new": LISTS + 0.1})["new"].wins == 12
    assert jrm.compare({"recall@5": LISTS}, {"recall@5": LISTS})["recall"].ties == 12


def test_select():
    """All names have to fit; nothing that fits is no error until it is asked for."""
    of_recall = SYSTEMS.select(metric="recall")
    assert [x.cutoff for x in of_recall] == [1, 5, 1, 5]
    assert of_recall.select(system="same", cutoff=5).only == SYSTEMS[5]
    assert len(SYSTEMS.select(metric="recall@5")) == 2
    nothing = SYSTEMS.select(task="web")
    assert len(nothing) == 0 and repr(nothing) == "Comparisons()"
    assert jrm.compare(LISTS, LISTS).only.metric is None


def test_tasks_and_baselines():
    """The key before a metric is its task, and systems of one dict have a baseline."""
    by_task = {"web": METRICS, "news": LARGER}
    systems = jrm.compare({"a": by_task, "b": by_task, "c": by_task}, pairs="all")
    assert [x.task for x in systems[:6]] == ["web"] * 3 + ["news"] * 3
    pairs = dict.fromkeys((x.baseline, x.system) for x in systems)
    assert [*pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    chosen = systems.select(baseline="b", task="news", metric="mrr").only
    assert chosen.system == "c" and chosen.ties == 12
    assert str(systems).split()[:4] == ["task", "baseline", "system", "metric"]


def test_cutoffs_without_a_name():
    """Columns of values without a name are numbered; other cutoffs are texts."""
    wide = METRICS["recall@1,5"]
    unnamed = jrm.compare(wide, wide + 0.1, test="t")
    assert [(x.metric, x.cutoff) for x in unnamed] == [("[0]", 0), ("[1]", 1)]
    shares = jrm.compare({"p@1%,10": wide}, {"p@1%,10": wide}, test="t")
    assert [x.cutoff for x in shares] == ["1%", 10]


def test_a_table():
    """Comparisons print as the table that `table` makes, as text and in notebooks."""
    assert repr(SYSTEMS) == jrm.table(SYSTEMS)
    assert SYSTEMS._repr_html_() == jrm.table(SYSTEMS, format="html")
    assert repr(SYSTEMS).split()[:3] == ["system", "metric", "difference"]


def test_lists(rng):
    """Lists stand worst first by their part of the difference, in each direction."""
    a, b = rng.random((2, 5))
    weights = np.array([1.0, 2, 0, 1, 3])
    values = {"old": (a, weights), "new": (b, weights)}
    for metric, sign in (("ndcg@10", 1), ("fall_out@3", -1)):
        lists = {x: {metric: lists_of(*y)} for x, y in values.items()}
        frame = jrm.compare(lists, test="t").lists()
        effects = sign * frame["difference"] * frame["weight"]
        assert effects.is_monotonic_increasing and sorted(frame["list"]) == [0, 1, 3, 4]
        np.testing.assert_allclose(frame["b"], b[frame["list"]], rtol=1e-6)
        np.testing.assert_allclose(frame["b"] - frame["a"], frame["difference"])
    both = SYSTEMS.select(system="new", metric="recall")
    assert len(both.lists()) == 24 and both.lists()["metric"].nunique() == 2
    assert jrm.Comparisons([dataclasses.replace(SYSTEMS[0], values=None)]).lists().empty


def test_documents_of_lists():
    """Documents are the ones that moved within the cutoff, found by the ids of lists."""
    qrels = {"q1": {"x": 1, "y": 2, "z": 1}, "q2": {"x": 1, "n": 0}}
    runs = {
        "old": jrm.join(qrels, {"q1": list("xyz"), "q2": list("nx")}),
        "new": jrm.join(qrels, {"q1": list("ynz"), "q2": list("nx")}),
    }
    values = {x: y.measure("recall@2") for x, y in runs.items()}
    frames = [jrm.to_frame(x, ["q1", "q2"]).iloc[::-1] for x in values.values()]
    by_id = jrm.compare(dict(zip(values, frames, strict=True)))
    for comparisons in (jrm.compare(values), by_id):
        frame = comparisons.lists(runs).set_index("list")
        assert frame["missed"]["q1"] == [("x", 1, None)] and not frame["missed"]["q2"]
        assert frame["gained"]["q1"] == [("y", 2, 1)]
        frame = comparisons.lists(runs, relevance_threshold=2).set_index("list")
        assert not frame["missed"]["q1"] and frame["gained"]["q1"]


def test_documents_that_tie_across_the_cutoff():
    """They moved if another share of their tie lies within it, whatever its mean rank is."""
    qrels = {"q": {"x": 1}}
    runs = {
        "third": jrm.join(qrels, {"q": list("abx")}),
        "second": jrm.join(qrels, {"q": list("axb")}),
        "2 to 4": jrm.join(qrels, {"q": {"a": 2, "x": 1, "b": 1, "c": 1}}),
        "1 to 3": jrm.join(qrels, {"q": {"a": 1, "x": 1, "b": 1}}),
        "fourth": jrm.join(qrels, {"q": list("abcx")}),
    }
    values = {name: run.measure("recall@2") for name, run in runs.items()}
    for a, b, moved, ranks in (
        ("third", "2 to 4", "gained", (3, (2, 4))),
        ("second", "1 to 3", "missed", (2, (1, 3))),
        ("2 to 4", "1 to 3", "gained", ((2, 4), (1, 3))),
        ("1 to 3", "fourth", "missed", ((1, 3), 4)),
    ):
        comparisons = jrm.compare({a: values[a], b: values[b]}, test="t")
        [row] = comparisons.list_rows(runs, None)
        assert row[moved] == [("x", *ranks)] and len(row["missed"] + row["gained"]) == 1
        assert (row["difference"] > 0) == (moved == "gained")
    whole = {name: runs[name].measure("recall") for name in ("second", "1 to 3")}
    [row] = jrm.compare(whole, test="t").list_rows(runs, None)
    assert not row["missed"] and not row["gained"]  # there is no cutoff
