"""Metrics of C/W/L against cwl_eval: its five columns, at its depth of 1000."""

import functools
import itertools

import numpy as np
import pytest

import jax_rank_metrics as jrm

ranking = pytest.importorskip("cwl.ruler.ranking")
ruler = pytest.importorskip("cwl.ruler.cwl_ruler")

LISTS, ITEMS, MAX_LABEL = 5, 30, 4
KS = (6, None)
COLUMNS = ("utility", "total_utility", "cost", "total_cost", "items")
GOAL = {"target": 2.0, "target_intercept": 0.9}
RATE = {"rate": 0.2, "rate_intercept": 0.8}

METRICS = {
    "inst": (jrm.inst, {"target": 1.5}, ruler.INSTCWLMetric(1.5)),
    "inst-3": (jrm.inst, {"target": 3}, ruler.INSTCWLMetric(3.0)),
    "insq": (jrm.insq, {"target": 1.5}, ruler.INSQCWLMetric(1.5)),
    "bpm": (jrm.bejeweled_player_model, {"target": 2}, ruler.BPMCWLMetric(2, 10)),
    "bpm-long": (
        jrm.bejeweled_player_model,
        {"target": 50, "budget": 40.5},
        ruler.BPMCWLMetric(50, 40.5),
    ),
    "bpm-dynamic": (
        jrm.bejeweled_player_model,
        {"target": 3, "budget": 12, "target_step": 0.7, "median_gain": 0.3},
        ruler.BPMDCWLMetric(3, 12, 0.7, 0.0, 0.3),
    ),
    "ift-goal": (
        jrm.information_foraging,
        GOAL | {"target_rationality": 1.0, "rate": None},
        ruler.IFTGoalCWLMetric(2.0, 0.9, 1.0),
    ),
    "ift-far": (  # nobody is sure to stop
        jrm.information_foraging,
        {"target": 9.0, "rate": None, "target_rationality": 1.0},
        ruler.IFTGoalCWLMetric(9.0, 0.9, 1.0),
    ),
    "ift-rate": (
        jrm.information_foraging,
        RATE | {"target": None, "rate_rationality": 10.0},
        ruler.IFTRateCWLMetric(0.2, 0.8, 10.0),
    ),
    "ift": (
        jrm.information_foraging,
        GOAL | RATE | {"target_rationality": 100.0, "rate_rationality": 3.0},
        ruler.IFTGoalRateCWLMetric(2.0, 0.9, 100.0, 0.2, 0.8, 3.0),
    ),
    "tbg": (jrm.time_biased_gain, {}, ruler.TBGCWLMetric(224)),
    "tbg-22": (jrm.time_biased_gain, {"half_life": 22}, ruler.TBGCWLMetric(22)),
}


@pytest.fixture(scope="module")
def lists():
    """Lists without ties, with items of unknown cost, and one that is short."""
    rng = np.random.default_rng(24)
    labels = rng.integers(0, MAX_LABEL + 1, (LISTS, ITEMS)).astype(np.float32)
    labels[0] = np.arange(ITEMS) % 7 == 5
    mask = np.arange(ITEMS) < np.array([ITEMS, 4, ITEMS, 17, ITEMS])[:, None]
    costs = rng.choice([1.0, 2.5, 0.4, np.nan], (LISTS, ITEMS)).astype(np.float32)
    scores = np.tile(-np.arange(ITEMS, dtype=np.float32), (LISTS, 1))
    return labels, scores, mask, costs


@pytest.mark.long
@pytest.mark.parametrize("with_costs", [False, True])
def test_five_columns(lists, with_costs):
    """A cutoff cuts the run; unknown costs are 1, as those of the ranks that follow."""
    labels, scores, mask, costs = lists
    metrics = {
        f"{name}-{value}": functools.partial(
            metric, **options, k=KS, value=value, max_label=MAX_LABEL
        )
        for name, (metric, options, _) in METRICS.items()
        for value in COLUMNS
    }
    columns = {"costs": costs} if with_costs else None
    measured = jrm.measure(metrics, jrm.rank(labels, scores, mask, columns=columns))
    for row, (column, k) in itertools.product(range(LISTS), enumerate(KS)):
        gains = labels[row, mask[row]].astype(np.float64)[:k] / MAX_LABEL
        row_costs = costs[row, mask[row]].astype(np.float64)[:k]
        if not with_costs:
            row_costs = np.full(len(gains), np.nan)
        peer_list = ranking.Ranking(str(row), gains, row_costs)
        for name, (_, _, peer) in METRICS.items():
            peer.measure(peer_list)
            for value, expected in zip(COLUMNS, peer.get_scores(), strict=True):
                np.testing.assert_allclose(
                    measured[f"{name}-{value}"].values[row, column],
                    expected,
                    rtol=2e-6,
                    atol=1e-6,
                    err_msg=f"{name} {value}",
                )


@pytest.mark.long
def test_deeper_lists():
    """Ranks beyond 1000 are not read, as in cwl_eval."""
    rng = np.random.default_rng(7)
    labels = (rng.random((1, 1100)) < 0.1).astype(np.float32)
    scores = np.arange(1100, 0, -1, dtype=np.float32)[None]
    names = ("insq(target=1.5)", "tbg(half_life=224)")
    measured = jrm.evaluate(names, labels, scores)
    for name, peer in zip(names, ("insq", "tbg"), strict=True):
        gains = labels[0].astype(np.float64)
        peer_list = ranking.Ranking("0", gains, np.full(1100, np.nan))
        expected = METRICS[peer][2].measure(peer_list)
        np.testing.assert_allclose(measured[name].compute(), expected, atol=1e-6)
