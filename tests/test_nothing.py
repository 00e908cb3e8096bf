"""Nothing at all: no ids, items, lists or metrics have a stated value or one clear error."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

SCORES, VECTORS = np.zeros((2, 3), np.float32), np.eye(3, 4, dtype=np.float32)
NO_IDS = [[], []]  # which NumPy reads as floats

# What is called, and the numbers of lists and of undefined lists.
CASES = {
    "no ids among scores": (lambda: jrm.rank_scores(SCORES, NO_IDS), (2, 2)),
    "no ids in a catalogue": (
        lambda: jrm.rank_catalog(VECTORS[:2], VECTORS, NO_IDS, k=None),
        (2, 2),
    ),
    "no scores": (lambda: jrm.rank_scores(SCORES[:0], np.zeros((0, 0))), (0, 0)),
    "no relevant ids": (lambda: jrm.rank_ids([[1], [2]], NO_IDS), (2, 2)),
    "no items": (lambda: jrm.rank(NO_IDS, NO_IDS, NO_IDS), (0, 0)),
    "no packed items": (
        lambda: jrm.rank([], [], segment_ids=[], num_segments=2),
        (0, 0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rankings_of_nothing(name):
    """A list without relevant items is undefined, and one without items is no list."""
    ranking, (lists, undefined) = CASES[name]
    state = jrm.roc_auc.of(ranking()).mean()
    assert (int(state.lists), int(state.undefined)) == (lists, undefined)
    assert float(state.compute()) == 0


def test_resamples_of_no_metric():
    """Of no metric there is no state."""
    assert jrm.bootstrap({}, []) == {}
    assert jrm.pack([], known=["a"]).num_segments == 1


def test_few_users_of_many_items():
    """A batch is filled up to the users at hand where its scores are many."""
    from jax_rank_metrics._drivers import batches

    assert batches.batch_size_for(3, 1024, 2**17) == 32
    assert batches.batch_size_for(3, 1024, 2**17 + 1) == 4
    assert batches.batch_size_for(1, 1024, 2**24) == 1
    assert batches.batch_size_for(40, 1024, 2**24) == 32
