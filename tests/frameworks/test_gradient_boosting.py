"""Gradient-boosted rankers: a row of their page gives one number there and here."""

import lightgbm
import numpy as np
import pytest
import xgboost
from pages import settings_of

import jax_rank_metrics as jrm

RNG = np.random.default_rng(7)
SIZES = RNG.integers(1, 60, 80)  # beyond 32, because XGBoost cuts a plain "ndcg" there
FEATURES = RNG.integers(0, 4, (SIZES.sum(), 3)).astype(np.float32)
LABELS = np.clip(FEATURES[:, 0] - 2 + RNG.integers(0, 4, len(FEATURES)), 0, 4)
IDS = np.repeat(np.arange(len(SIZES)), SIZES)
LABELS[IDS % 8 == 0] = 0  # nothing relevant in ten queries
ORDER = np.lexsort((-LABELS, IDS))  # best first, so that the order of input matters
FEATURES, LABELS = FEATURES[ORDER], LABELS[ORDER]
PACKING = {"segment_ids": IDS, "num_segments": len(SIZES)}


def of_xgboost(metric, *options):
    """Returns labels, the predictions of two small trees, and XGBoost's value for them."""
    labels = LABELS if metric.startswith("ndcg") else np.minimum(LABELS, 1)
    data, said = xgboost.DMatrix(FEATURES, labels, group=SIZES), {}
    params = {"objective": "rank:ndcg", "eval_metric": metric, "max_depth": 2}
    params |= {"nthread": 1} | dict(x.split("=") for x in options)
    watched = {"evals": [(data, "data")], "evals_result": said, "verbose_eval": False}
    booster = xgboost.train(params, data, 2, **watched)
    return labels, booster.predict(data), said["data"][metric][-1]


def of_lightgbm(metric):
    """The same of LightGBM, whose predictions are doubles: integers of their order."""
    name, _, cutoff = metric.partition("@")
    data, said = lightgbm.Dataset(FEATURES, LABELS, group=SIZES), {}
    params = {"objective": "lambdarank", "metric": name, "eval_at": [int(cutoff)]}
    params |= {"num_leaves": 4, "num_threads": 1, "verbose": -1}
    callback = lightgbm.record_evaluation(said)
    booster = lightgbm.train(params, data, 2, data, callbacks=[callback])
    scores = np.unique(booster.predict(FEATURES), return_inverse=True)[1]
    return LABELS, scores, said["training"][metric][-1]


LIBRARIES = {"XGBoost": of_xgboost, "LightGBM": of_lightgbm}
ROWS = [(library, *row) for library in LIBRARIES for row in settings_of(library)]


@pytest.mark.parametrize("library, call, name, undefined", ROWS, ids=str)
def test_a_row_gives_one_number(library, call, name, undefined):
    """Few distinct predictions tie in every query, and ties stay in the order of input."""
    labels, scores, theirs = LIBRARIES[library](*call)
    assert len(np.unique(scores)) < 20
    options = {"ties": "stable", "undefined": undefined, **PACKING}
    ours = jrm.compute(jrm.evaluate(name, labels, scores, **options))[name]
    np.testing.assert_allclose(float(ours), theirs, atol=3e-7)
    # The choices on the page matter: other ties or choices give other numbers.
    for change in {"ties": "expected"}, {"undefined": "skip"}:
        other = jrm.compute(jrm.evaluate(name, labels, scores, **options | change))
        assert abs(float(other[name]) - theirs) > 1e-3


def test_every_library_has_rows():
    """No table is left out because it is written in another way."""
    assert [row[0] for row in ROWS] == ["XGBoost"] * 7 + ["LightGBM"] * 2
