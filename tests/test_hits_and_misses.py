"""Only hits and misses have the interval of a proportion."""

import numpy as np
import pytest
from cases import CASES
from marks import long_but
from per_lists import lists_of

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums

LABELS = np.eye(12, 4, dtype=np.float32)
IDS = np.tile(np.arange(4), (12, 1))
ONES, ALL = np.ones(12, np.float32), np.ones(12, bool)
RANKING = jrm.rank(LABELS, LABELS)


def recalls():
    """The recall of lists; four of them have a relevant item, in the first rank."""
    return jrm.recall.of(RANKING, k=1)


SHARES = {
    "recall": recalls,
    "overlap": lambda: jrm.overlap(IDS, IDS),
    "bools": lambda: jrm.PerList(LABELS[:, 0] > 0, ONES, ALL),
    "some lists": lambda: recalls()[:9],
    "clusters": lambda: recalls().cluster(range(12)),
}
OTHERS = {
    "floats of a user": lambda: lists_of(LABELS[:, 0]),
    "a difference": lambda: jrm.paired(recalls(), recalls()),
    "a ratio": lambda: recalls().over(lists_of(ONES)),
    "a mean rank": lambda: jrm.average_relevance_position.of(RANKING),
    "gains": lambda: jrm.dcg.of(RANKING, k=1),
    "counts": lambda: jrm.num_relevant.of(RANKING),
    "correlations": lambda: jrm.kendall_tau(IDS, IDS),
    "small shares": lambda: jrm.PerList(ONES * 1e-7, ONES, ALL, is_share=True),
}


SHORT = ("recall", "clusters", "a ratio", "correlations", "small shares")


@pytest.mark.parametrize("name", long_but(SHORT, SHARES | OTHERS))
def test_intervals(name):
    """Only shares have Wilson's interval, by a state and on the host."""
    lists = (SHARES | OTHERS)[name]()
    for sums in HostSums.of_state(lists.mean()), HostSums.of_lists(lists, jrm.Mean):
        (auto,) = sums.estimates(0.95, "auto")
        (student,) = sums.estimates(0.95, "t")
        if name in OTHERS:
            assert (auto.low, auto.high) == (student.low, student.high)
        else:
            (wilson,) = sums.estimates(0.95, "wilson")
            assert (auto.low, auto.high) == (wilson.low, wilson.high)


def test_every_metric_declares_its_range():
    """A metric is a share if its values lie in [0, 1] without item weights.

    Means that weigh lists by their possible gain are ratios of sums.
    """
    for name, case in CASES.items():
        spec = case.metric.spec
        is_share = spec.is_share
        if callable(is_share):
            is_share = is_share(spec.options | case.options)
        is_ratio = case.metric.__name__.startswith("propensity_scored")
        assert is_share == (case.bounded and not is_ratio), name


def test_differences_of_rare_hits():
    """For two equal systems, few intervals of the mean difference leave out 0."""
    rng, misses = np.random.default_rng(0), 0
    for _ in range(400):
        a, b = (rng.random((2, 30)) < 0.03).astype(np.float32)
        paired = jrm.paired(lists_of(a), lists_of(b))
        (estimate,) = HostSums.of_lists(paired, jrm.Mean).estimates(0.95, "auto")
        misses += not estimate.low <= 0 <= estimate.high
    assert misses <= 20
