"""Against the recorded numbers of torchmetrics; see `record_torchmetrics.py`."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import jax_rank_metrics as jrm

RECORDED = json.loads(Path(__file__).with_name("torchmetrics.json").read_text())
KS = tuple(RECORDED["ks"])

# The options with which ours agrees. Its average precision is the mean over the relevant
# items that it retrieved.
OURS = {
    "ndcg": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=KS),
    "map": functools.partial(jrm.average_precision, denominator="hits", k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, denominator="k", k=KS),
    "precision-adaptive": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
    "hit_rate": functools.partial(jrm.hit_rate, k=KS),
    "r_precision": jrm.r_precision,
    "fall_out": functools.partial(jrm.fall_out, k=KS),
}
CASES = [*OURS, "ndcg-tied"]
POLICIES = pytest.mark.parametrize(
    "undefined, policy", [("zero", "neg"), ("one", "pos"), ("skip", "skip")]
)


def ours_of(case, shift=0.0):
    """Returns our values of every query, at every cutoff where there are cutoffs."""
    tied = case == "ndcg-tied"
    scores = np.float32(RECORDED["tied_scores" if tied else "scores"])
    ranking = jrm.rank(np.array(RECORDED["labels"]), scores + np.float32(shift))
    return jrm.measure(OURS, ranking)["ndcg" if tied else case]


def test_everything_recorded_is_compared():
    for kind in ("values", "means", "packed_values", "packed_means"):
        assert set(CASES) == set(RECORDED[kind])


@pytest.mark.parametrize("case", CASES)
def test_every_query(case, agree):
    theirs = np.array(RECORDED["values"][case]).T
    ours = ours_of(case).values
    agree(ours, theirs[:, 0] if ours.ndim == 1 else theirs)


@POLICIES
@pytest.mark.parametrize("case", CASES)
def test_queries_with_nothing_relevant(case, undefined, policy, agree):
    theirs = RECORDED["means"][case][policy]
    ours = np.ravel(ours_of(case).mean(undefined).compute())[0]
    agree(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_scores_below_zero_are_not_relevant_to_four_of_its_metrics(case, agree):
    # The same order, shifted below 0; ours only reads the order.
    theirs = RECORDED["means_of_negative_scores"][case]
    moved = np.ravel(ours_of(case, shift=-8).mean().compute())[0]
    agree(moved, RECORDED["means"][case]["neg"])
    if case in ("map", "mrr", "precision", "precision-adaptive", "recall"):
        assert theirs == 0 < moved
    else:
        agree(moved, theirs)


def packed_of(case):
    """Returns our values of every packed query."""
    packed = RECORDED["packed"]
    tied = case == "ndcg-tied"
    ranking = jrm.rank(
        np.array(packed["labels"]),
        np.float32(packed["tied_scores" if tied else "scores"]),
        segment_ids=np.int32(packed["indexes"]),
        num_segments=packed["queries"],
    )
    return jrm.measure(OURS, ranking)["ndcg" if tied else case]


def present():
    """Packed queries of at least one item; torchmetrics knows no empty ones."""
    packed = RECORDED["packed"]
    exists = np.array(packed["labels"]) >= 0
    return np.unique(np.array(packed["indexes"])[exists])


@pytest.mark.parametrize("case", CASES)
def test_every_packed_query(case, agree):
    theirs = np.array(RECORDED["packed_values"][case]).T
    ours = packed_of(case)
    values = np.asarray(ours.values)[present()]
    agree(values, theirs[:, 0] if values.ndim == 1 else theirs)
    absent = np.setdiff1d(np.arange(RECORDED["packed"]["queries"]), present())
    assert absent.size == 3 and not np.asarray(ours.weights)[absent].any()


@POLICIES
@pytest.mark.parametrize("case", CASES)
def test_packed_queries_with_nothing_relevant(case, undefined, policy, agree):
    state = packed_of(case).mean(undefined)
    agree(np.ravel(state.compute())[0], RECORDED["packed_means"][case][policy])
    assert state.undefined == 2
    assert state.lists == present().size - 2 * (undefined == "skip")


def test_log_auc():
    """`binary_logauc` of torchmetrics 1.9.0, with `fpr_range=(0.001, 1.0)`, of this draw."""
    rng = np.random.default_rng(0)
    labels = (rng.random(4000) < 0.05).astype(int)
    scores = rng.permutation(4000).astype(np.float32) / 4000 + 0.2 * labels
    ranks = np.argsort(np.argsort(scores)).astype(np.float32)  # nothing ties
    value = jrm.log_auc(labels, ranks).compute()
    assert float(value) == pytest.approx(0.2915389835834503, abs=1e-6)
