"""The ranking metrics of CatBoost, by the rows of the page of gradient-boosted rankers."""

import numpy as np
from pages import settings_of

import jax_rank_metrics as jrm

RNG = np.random.default_rng(7)
SIZES = RNG.integers(1, 40, 124)
IDS = np.repeat(np.arange(len(SIZES)), SIZES)
LABELS = RNG.choice(np.float32([0, 0, 0, 1, 2, 3, 4]), len(IDS))
LABELS[IDS % 8 == 0] = 0  # nothing relevant
SCORES = (LABELS + RNG.integers(0, 9, len(IDS))) / 8  # many tie


def asked(call):
    """Returns a function that asks CatBoost for a metric."""

    def ask(labels, scores, ids):
        from catboost.utils import eval_metric

        return eval_metric(labels, scores, call, group_id=ids)[0]

    return ask


def test_every_row(recorded):
    """Both metrics of a row give one number, with the worst order of ties."""
    rows = [*settings_of("CatBoost")]
    packing = {"segment_ids": IDS, "num_segments": len(SIZES)}
    ranking = jrm.rank(LABELS, np.float32(SCORES), ties="worst", **packing)
    lists = jrm.measure(tuple(name for _, name, _ in rows), ranking)
    assert len(rows) == len(lists) == 8
    for [call], name, undefined in rows:
        theirs = recorded(call, asked(call), LABELS, SCORES, IDS)
        ours = lists[name].mean(undefined=undefined)
        np.testing.assert_allclose(float(ours), theirs, atol=3e-7, err_msg=call)
