"""Nothing at all: no ids, items, lists or metrics have a stated value or one clear error."""

import numpy as np
import pytest
from marks import long

import jax_rank_metrics as jrm

SCORES, VECTORS = np.zeros((2, 3), np.float32), np.eye(3, 4, dtype=np.float32)
NO_IDS = [[], []]  # which NumPy reads as floats

# The calls, and the numbers of lists and of undefined lists.
CASES = {
    "no ids among scores": (lambda: jrm.rank_scores(SCORES, NO_IDS), (2, 2)),
    "no ids in a catalogue": (lambda: jrm.rank_catalog(VECTORS[:2], VECTORS, NO_IDS, k=None), (2, 2)),
    "no scores": (lambda: jrm.rank_scores(SCORES[:0], np.zeros((0, 0))), (0, 0)),
    "no relevant ids": (lambda: jrm.rank_ids([[1], [2]], NO_IDS), (2, 2)),
    "no items": (lambda: jrm.rank(NO_IDS, NO_IDS, NO_IDS), (0, 0)),
    "no packed items": (lambda: jrm.rank([], [], segment_ids=[], num_segments=2), (0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rankings_of_nothing(name):
    """A list without relevant items is undefined, and one without items is no list."""
    ranking, (lists, undefined) = CASES[name]
    state = jrm.roc_auc.of(ranking()).mean()
    assert (int(state.lists), int(state.undefined)) == (lists, undefined)
    assert float(state.compute()) == 0


@pytest.mark.parametrize("shape", [*long((0,), (3, 0)), (0, 2)])
def test_values_of_no_lists(shape):
    """They have the mean 0, empty groups and clusters, and differ in nothing."""
    of_lists = shape[:1] if shape[-1] else shape
    arrays = [np.zeros(x, y) for x, y in ((shape, float), (of_lists, float))]
    lists = jrm.PerList(*arrays, np.zeros(of_lists, bool))
    mean, ids = lists.mean(), np.zeros(of_lists, int)
    assert int(mean.lists) == 0 and not np.any(mean.compute())
    for value in (lists, mean, lists.quantiles([0, 1]), lists.geometric_mean()):
        assert "0 lists" in repr(value) and "Error" not in repr(value)
    groups = [lists.by(ids, 2), lists.by(ids.tolist(), 2)]
    assert all(x.lists.tolist() == [0, 0] for x in groups)
    assert lists.cluster(ids).values.shape == (0, *shape[len(of_lists) :])
    assert int(jrm.bootstrap(lists, ids, samples=2).lists) == 0
    assert int(lists.over(lists).mean().lists) == 0
    frame = jrm.to_frame({"mrr": lists})
    assert len(frame) == 0 == jrm.Systems(frame).records[0].lists.list_count
    for values in (lists, frame):
        for comparison in jrm.compare(values, values):
            assert (comparison.difference, comparison.p, comparison.lists) == (0, 1, 0)
    assert "0 lists" in jrm.table({"mrr": lists})
    with pytest.raises(ValueError, match=r"no list of|several cutoffs"):
        jrm.leaderboard({"a": lists, "b": lists})


def test_resamples_of_no_metric():
    """Without metrics there are no states."""
    assert jrm.bootstrap({}, []) == {}
    assert jrm.pack([], known=["a"]).num_segments == 1


def test_few_users_of_many_items():
    """A batch of few users with many scores is not filled up to 32 users."""
    from jax_rank_metrics._runs.drivers import batching

    assert batching.batch_size_for(3, 1024, 2**17) == 32
    assert batching.batch_size_for(3, 1024, 2**17 + 1) == 4
    assert batching.batch_size_for(1, 1024, 2**24) == 1
    assert batching.batch_size_for(40, 1024, 2**24) == 32


def test_adapters_of_nothing():
    """They return what the frameworks do, and write the mean of no lists."""
    from jax_rank_metrics.adapters import pytrec_eval, tensorboard

    for qrels, run, expected in (
        ({}, {}, {}),
        ({"q1": {"a": 1}}, {}, {}),
        ({"q1": {}}, {"q1": {"a": 1.0}}, {}),
        ({"q1": {"a": 1}}, {"q1": {}}, {"q1": {"map": 0}}),
    ):
        assert pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run) == expected
    scalars = []

    class Writer:
        def add_scalar(self, *scalar):
            scalars.append(scalar)

    tensorboard.write(Writer(), {"p@1,2": jrm.Mean.empty((2,))}, 7)
    assert scalars == [("p@1", 0, 7), ("p@2", 0, 7)]
