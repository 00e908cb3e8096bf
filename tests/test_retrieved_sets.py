"""Measures of what was retrieved, and precision at multiples of R: trec_eval's families."""

import itertools
import math

import numpy as np
import pytest
from quick_programs import quick_measure

import jax_rank_metrics as jrm

MULTIPLES = (0.2, 0.5, 1, 1.6, 4)
METRICS = (
    *("set_map(rel=2)", "utility(worth=2, cost=0.5)@2,9", "rprec_mult@0.2,0.5,1,1.6,4"),
    "num_nonrel_judged_ret@1,4",
)


@pytest.fixture(scope="module")
def lists():
    """Returns labels, scores with ties, mask, retrieved and judged, `[lists, items]`."""
    rng = np.random.default_rng(3)
    shape = (7, 6)
    labels, scores = rng.choice([0, 0, 1, 2], shape), rng.integers(0, 3, shape)
    mask, retrieved, judged = rng.random((3, *shape)) < 0.8
    labels[0] = 0  # nothing relevant
    mask[1] = False  # an empty list
    retrieved[2] = False  # nothing was retrieved
    labels[3], mask[3], retrieved[3] = [0, 2, 2, 2, 0, 2], True, True
    return labels, scores, mask, retrieved, judged | (labels > 0)


def values_of_order(labels, judged, num_relevant, num_highly):
    """Returns the values of a list from its labels in rank order, metric by metric."""
    hits, highly = np.cumsum(labels >= 1), np.sum(labels >= 2)
    length = len(labels)

    def hits_at(rank):
        return int(hits[min(rank, length) - 1]) if min(rank, length) else 0

    ranks = [math.floor(multiple * num_relevant + 0.9) for multiple in MULTIPLES]
    depths = [min(k, length) for k in (2, 9)]
    nonrelevant = np.asarray(judged) & (labels < 1)
    return [
        [highly**2 / (length * num_highly) if length and num_highly else 0],
        [2 * hits_at(k) - 0.5 * (k - hits_at(k)) for k in depths],
        [hits_at(r) / r if r and num_relevant else 0 for r in ranks],
        [nonrelevant[:k].sum() for k in (1, 4)],
    ]


def test_values_are_means_over_the_orders_of_ties(lists):
    """Each is the mean of its definition over all orders of tied items."""
    labels, scores, mask, retrieved, judged = lists
    ranking = jrm.rank(
        *(labels, scores, mask), retrieved=retrieved, columns={"judged": judged}
    )
    measured = quick_measure(METRICS, ranking)
    ours = [measured[name].values for name in METRICS]
    for row in range(len(labels)):
        pool = labels[row][mask[row]]
        ranked = np.flatnonzero(mask[row] & retrieved[row])
        orders = [
            values_of_order(
                labels[row][[*order]],
                judged[row][[*order]],
                *((pool >= x).sum() for x in (1, 2)),
            )
            for order in itertools.permutations(ranked)
            if (np.diff(scores[row][[*order]]) <= 0).all()
        ]
        for metric, values in enumerate(zip(*orders, strict=True)):
            expected = (
                np.mean(values, axis=0) if mask[row].any() else np.zeros(len(values[0]))
            )
            np.testing.assert_allclose(
                np.atleast_1d(ours[metric][row]),
                expected,
                atol=1e-6,
                err_msg=METRICS[metric],
            )


def test_wrong_options_are_refused():
    """Multiples are positive numbers, and a cost is none below 0."""
    for name, why in (
        ("rprec_mult@0", "multiples is 0.0; pass a positive number"),
        ("rprec_mult(multiples=())", "multiples is empty"),
        ("utility(cost=-1)", "cost is -1; pass a number of at least 0"),
    ):
        with pytest.raises(ValueError, match=why):
            jrm.measure(name, jrm.rank_retrieved(np.array([1, 0])))


@pytest.mark.long
@pytest.mark.parametrize(
    "metric",
    [
        jrm.set_average_precision,
        jrm.utility,
        jrm.precision_at_multiples,
        jrm.num_nonrelevant_retrieved,
    ],
    ids=lambda metric: metric.__name__,
)
def test_laws(metric):
    """Each obeys the laws on every layout."""
    jrm.testing.check_metric(metric)
