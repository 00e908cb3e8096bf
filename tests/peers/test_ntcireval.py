"""Measures of NTCIR against pyNTCIREVAL."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

peer = pytest.importorskip("pyNTCIREVAL.metrics")

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


def check(values, lists, make_metric, cutoff=None):
    """Compares the values of every list with those of a metric of the peer."""
    for row, labels in enumerate(lists):
        counts = np.bincount(labels, minlength=4).tolist()
        ranked = [(str(i), int(label)) for i, label in enumerate(labels[:ITEMS])]
        expected = make_metric(counts).compute(ranked[:cutoff])
        np.testing.assert_allclose(values[row], expected, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_metrics(lists, beta):
    """At a cutoff, pyNTCIREVAL divides Q by min(k, R), and P+ and O know none."""
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
    values, grades = measured(lists, metrics), GRADES
    check(values["q"], lists, lambda n: peer.QMeasure(n, grades, beta))
    check(values["q@5"], lists, lambda n: peer.QMeasure(n, grades, beta, 5))
    check(values["nerr"], lists, lambda n: peer.nERR(n, grades, 5))
    for column, k in enumerate((5, None)):
        p_plus, o_measure = values["p"][:, column], values["o"][:, column]
        check(p_plus, lists, lambda n: peer.PPlusMeasure(n, grades, beta), k)
        check(o_measure, lists, lambda n: peer.OMeasure(n, grades, beta), k)
