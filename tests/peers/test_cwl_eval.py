"""Metrics of C/W/L against cwl_eval: its five columns, at its depth of 1000."""

import functools
import itertools

import numpy as np
import pytest

import jax_rank_metrics as jrm

LISTS, ITEMS, MAX_LABEL = 5, 30, 4
KS = (6, None)
COLUMNS = ("utility", "total_utility", "cost", "total_cost", "items")
GOAL = {"target": 2.0, "target_intercept": 0.9}
RATE = {"rate": 0.2, "rate_intercept": 0.8}

METRICS = {
    "inst": (jrm.inst, {"target": 1.5}, ("INST", 1.5)),
    "inst-3": (jrm.inst, {"target": 3}, ("INST", 3.0)),
    "insq": (jrm.insq, {"target": 1.5}, ("INSQ", 1.5)),
    "bpm": (jrm.bejeweled_player_model, {"target": 2}, ("BPM", 2, 10)),
    "bpm-long": (
        jrm.bejeweled_player_model,
        {"target": 50, "budget": 40.5},
        ("BPM", 50, 40.5),
    ),
    "bpm-dynamic": (
        jrm.bejeweled_player_model,
        {"target": 3, "budget": 12, "target_step": 0.7, "median_gain": 0.3},
        ("BPMD", 3, 12, 0.7, 0.0, 0.3),
    ),
    "ift-goal": (
        jrm.information_foraging,
        GOAL | {"target_rationality": 1.0, "rate": None},
        ("IFTGoal", 2.0, 0.9, 1.0),
    ),
    "ift-far": (  # no user is sure to stop
        jrm.information_foraging,
        {"target": 9.0, "rate": None, "target_rationality": 1.0},
        ("IFTGoal", 9.0, 0.9, 1.0),
    ),
    "ift-rate": (
        jrm.information_foraging,
        RATE | {"target": None, "rate_rationality": 10.0},
        ("IFTRate", 0.2, 0.8, 10.0),
    ),
    "ift": (
        jrm.information_foraging,
        GOAL | RATE | {"target_rationality": 100.0, "rate_rationality": 3.0},
        ("IFTGoalRate", 2.0, 0.9, 100.0, 0.2, 0.8, 3.0),
    ),
    "tbg": (jrm.time_biased_gain, {}, ("TBG", 224)),
    "tbg-22": (jrm.time_biased_gain, {"half_life": 22}, ("TBG", 22)),
}


def by_cwl_eval(peers, gains, costs):
    """Returns the five columns of one list, by metric."""
    from cwl.ruler import cwl_ruler
    from cwl.ruler.ranking import Ranking

    columns = {}
    for name, (peer, *options) in peers.items():
        metric = getattr(cwl_ruler, f"{peer}CWLMetric")(*options)
        metric.measure(Ranking("q", gains, costs))
        columns[name] = metric.get_scores()
    return columns


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


@pytest.mark.parametrize("with_costs", [False, True])
def test_five_columns(lists, with_costs, recorded):
    """A cutoff cuts the run; unknown costs are 1, like the costs of the ranks below it."""
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
    peers = {name: peer for name, (_, _, peer) in METRICS.items()}
    for row, (column, k) in itertools.product(range(LISTS), enumerate(KS)):
        gains = labels[row, mask[row]].astype(np.float64)[:k] / MAX_LABEL
        row_costs = costs[row, mask[row]].astype(np.float64)[:k]
        if not with_costs:
            row_costs = np.full(len(gains), np.nan)
        theirs = recorded("lists", lambda *x: by_cwl_eval(peers, *x), gains, row_costs)
        for name, expected in theirs.items():
            values = [measured[f"{name}-{x}"].values[row, column] for x in COLUMNS]
            np.testing.assert_allclose(
                values, expected, rtol=2e-6, atol=1e-6, err_msg=name
            )


DEPTH, LARGEST = 1000, 3.0


def beyond_by_rank(n):
    """Returns the share of a user's reading that INSQ gives to the ranks after n."""
    shares = (2 / (np.arange(1, DEPTH + 1) + 1)) ** 2
    return shares[n:].sum() / shares.sum()


@pytest.mark.parametrize(
    "of, peer, beyond",
    [
        ("rbp(p=0.5)", ("RBPCWLMetric", 0.5), lambda n: 0.5**n),
        ("rbp(p=0.9)", ("RBPCWLMetric", 0.9), lambda n: 0.9**n),
        ("insq", ("INSQCWLMetric", 1.0), beyond_by_rank),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_residuals(of, peer, beyond, recorded, agree):
    """Residuals add what the ranks after the n items are worth, such as p^n.

    The lists of cwl_eval go on with items of the largest gain.
    """
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, (6, 12)).astype(np.float32)
    judged = rng.random((6, 12)) < 0.5
    judged[:2] = [[False], [True]]
    lengths = rng.integers(1, 13, 6)
    of = f"{of.removesuffix(')')}{', ' if '(' in of else '('}max_label={LARGEST})"
    name = f"residual(of={of}, max_label={LARGEST})"
    mask = np.arange(12) < lengths[:, None]
    ranking = jrm.rank_retrieved(labels, mask, columns={"judged": judged})
    ours = jrm.measure((name,), ranking)[name].values

    def residuals(labels, judged, lengths):
        from cwl.ruler import cwl_ruler
        from cwl.ruler.ranking import Ranking

        name, option = peer
        metric, expected = getattr(cwl_ruler, name)(option), []
        metric.residuals = True
        for row, length in enumerate(lengths):
            gains = np.where(judged[row], labels[row] / LARGEST, np.nan)[:length]
            metric.measure(Ranking("q", gains, np.ones(length), max_n=DEPTH))
            expected.append(metric.residual_expected_utility - beyond(length))
        return expected

    theirs = recorded(str(peer), residuals, labels, judged, lengths)
    agree(ours, np.float32(theirs))
