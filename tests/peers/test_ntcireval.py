"""Measures of NTCIR against pyNTCIREVAL."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

LISTS, ITEMS, UNRETRIEVED = 6, 20, 5
GRADES = (1, 3, 7)  # the gains of the labels 1, 2 and 3


@pytest.fixture(scope="module")
def lists():
    """Lists in rank order; the last items were judged, but not retrieved."""
    rng = np.random.default_rng(11)
    labels = rng.choice([0, 0, 0, 1, 2, 3], (LISTS, ITEMS + UNRETRIEVED))
    labels[0, :ITEMS] = 0
    labels[1, :4] = [0, 2, 1, 2]  # the preferred item is the first of two
    return labels


def measured(lists, metrics):
    """Returns the values of metrics."""
    retrieved = np.arange(lists.shape[1]) < ITEMS
    scores = np.tile(-np.arange(lists.shape[1], dtype=np.float32), (LISTS, 1))
    results = jrm.measure(
        metrics,
        jrm.rank(lists, scores, retrieved=jnp.asarray(np.tile(retrieved, (LISTS, 1)))),
    )
    return {name: np.asarray(lists.values) for name, lists in results.items()}


def by_ntcireval(name, cutoff, *options):
    """Returns a function of lists: a metric of pyNTCIREVAL of each."""

    def values(lists):
        from pyNTCIREVAL import metrics

        for labels in lists:
            counts = np.bincount(labels, minlength=4).tolist()
            ranked = [(str(i), int(label)) for i, label in enumerate(labels[:ITEMS])]
            metric = getattr(metrics, name)(counts, GRADES, *options)
            yield metric.compute(ranked[:cutoff])

    return lambda lists: [*values(lists)]


@pytest.mark.long
@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_metrics(lists, beta, recorded):
    """At a cutoff, pyNTCIREVAL divides Q by min(k, R); P+ and O know no cutoff."""
    options = {"beta": beta, "gain_fn": jrm.exponential_gain}
    metrics = {
        "q": functools.partial(jrm.q_measure, **options),
        "q@5": functools.partial(
            jrm.q_measure, k=5, denominator="attainable", **options
        ),
        "p": functools.partial(jrm.p_plus, k=(5, None), **options),
        "o": functools.partial(jrm.o_measure, k=(5, None), **options),
        "nerr": functools.partial(
            jrm.expected_reciprocal_rank, k=5, max_label=3, normalized=True
        ),
    }
    values = measured(lists, metrics)
    for ours, name, cutoff, *options in (
        (values["q"], "QMeasure", None, beta),
        (values["q@5"], "QMeasure", None, beta, 5),
        (values["nerr"], "nERR", None, 5),
        (values["p"][:, 0], "PPlusMeasure", 5, beta),
        (values["p"][:, 1], "PPlusMeasure", None, beta),
        (values["o"][:, 0], "OMeasure", 5, beta),
        (values["o"][:, 1], "OMeasure", None, beta),
    ):
        peer = by_ntcireval(name, cutoff, *options)
        theirs = recorded(f"{name}{options}@{cutoff}", peer, lists)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
