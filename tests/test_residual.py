"""Residuals of unjudged items: the metrics that have one, and its sums."""

import functools
import math

import numpy as np
import pytest
from drawn import draw

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics.metric import NAMES

LINEAR = {m.spec.name: m for m in NAMES.values() if m.spec.linear}


def _of(metric, **options):
    return functools.partial(metric, **options)


def test_options_in_names():
    """A metric in a name may have options of its own, which the name of a residual keeps."""
    names = ("residual@2", "residual(of=dcg(gain_fn=linear_gain), max_label=2)@1,2")
    bounds = [NAMES["residual"].spec.bind((), {"of": of}) for of in (jrm.dcg, jrm.dcg)]
    assert bounds[0] == bounds[1]
    assert hash(bounds[0]) == hash(bounds[1])
    ranking = jrm.rank_retrieved(
        np.array([1, 0]), columns={"judged": np.array([True, False])}
    )
    values = [np.asarray(x.values) for x in jrm.measure(names, ranking).values()]
    np.testing.assert_allclose(values[0], 0.2 * 0.8, rtol=1e-6)
    np.testing.assert_allclose(values[1], [0, 2 / math.log2(3)], rtol=1e-6)


@pytest.mark.long
def test_documents_of_files():
    """Documents of a run that were not judged, or have a relevance below 0, are unjudged."""
    qrels = {"q1": {"a": 2, "b": -1, "c": 0, "unseen": 1}, "q2": {"a": 1}}
    run = {"q1": {"c": 9.0, "b": 8.0, "x": 7.0, "a": 6.0}, "q2": {"y": 1.0, "z": 1.0}}
    joined = jrm.join(qrels, run)
    values = joined.measure("residual(of=rbp(p=0.5))@3")["residual(of=rbp(p=0.5))@3"]
    np.testing.assert_allclose(values.values, [1 / 4 + 1 / 8, 1 / 2 + 1 / 4], rtol=1e-6)


@pytest.mark.long
def test_what_linear_metrics_promise(rng):
    """Labels of two sets of items add up; a residual is the difference of two calls."""
    labels, scores, mask, _, columns = draw(rng, 7, 8)
    shared = {"mask": mask, "retrieved": rng.random(mask.shape) < 0.85}
    judged = columns["judged"]
    judged[4], judged[5] = True, False
    whole, known, unknown, filled = (
        jrm.measure(LINEAR, jrm.rank(x, scores, **shared))
        for x in (
            labels,
            np.where(judged, labels, 0),
            np.where(judged, 0, labels),
            np.where(judged, labels, np.float32(4)),
        )
    )
    table = {name: _of(jrm.residual, of=x, max_label=4.0) for name, x in LINEAR.items()}
    residuals = jrm.measure(table, jrm.rank(labels, scores, columns=columns, **shared))
    for name in LINEAR:
        all_labels, first, second, highest = (
            np.asarray(x[name].values) for x in (whole, known, unknown, filled)
        )
        np.testing.assert_allclose(all_labels, first + second, 1e-5, err_msg=name)
        actual = residuals[name].values
        np.testing.assert_allclose(actual, highest - first, 1e-5, 1e-6, err_msg=name)
