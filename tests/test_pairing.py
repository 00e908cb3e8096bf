"""Pairing by list ids in `compare`, and the values of other tools that it reads."""

import dataclasses

import numpy as np
import pytest
from per_lists import evaluation_of, lists_of, mean_of

import jax_rank_metrics as jrm


def evaluation(users, undefined="zero", **metrics):
    """Per-user values in the form that `evaluate_users` gives."""
    return evaluation_of(metrics, None, users, undefined)


def test_users_are_paired_and_undefined_is_remembered():
    """`compare` counts undefined users as `evaluate_users` did, unless told otherwise."""
    known = [True, False, True]
    a = evaluation([7, 8, 9], "skip", mrr=lists_of([0.5, 0, 0.25], None, known))
    b = evaluation([9, 7, 8], "skip", mrr=lists_of([0.5, 1, 1], None))
    assert jrm.compare(a, b)["mrr"].difference == pytest.approx((0.5 + 0.25) / 2)
    assert jrm.compare(a, b)["mrr"].lists == 2
    counted = jrm.compare(a, b, undefined="zero")["mrr"]
    assert counted.difference == pytest.approx((0.5 + 1 + 0.25) / 3)
    assert jrm.compare(a, {"x": b, "y": a})["y"].ties == 2


def test_single_letters_are_ids():
    """Lists may be called as metrics are abbreviated, by one letter."""
    result = jrm.compare({"p": 0.1, "q": 0.2}, {"q": 0.5, "p": 0.2}).only
    assert (result.lists, result.wins) == (2, 2)
    assert result.difference == pytest.approx(0.2)


def test_lower_is_better():
    """The smaller value wins, and a count has no wins."""
    bad, good = np.full(5, 3.0), np.array([1.0, 1, 1, 2, 4])
    for name in ("arp", "fall_out(rel=2)@5", "coverage_error", "miscalibration@3"):
        result = jrm.compare({name: bad}, {"good": {name: good}})[name]
        assert (result.wins, result.losses) == (4, 1) and result.difference < 0
        assert "4 wins 0 ties 1 loss, 5 lists, lower is better)" in repr(result)
    # Popularity is not a registered metric: evaluate_users adds it.
    for name in ("num_ret", "popularity@10"):
        result = jrm.compare({name: bad}, {name: good})[name]
        assert result.wins is result.losses is None and "win" not in repr(result)
    assert jrm.compare({"ndcg": bad}, {"ndcg": good})["ndcg"].wins == 1
    for lower in (("latency",), "latency@3", True):
        result = jrm.compare({"latency@3": bad}, {"latency@3": good}, lower=lower)
        assert result["latency"].wins == 4
    assert jrm.compare(bad, good, lower=True).only.wins == 4


def test_values_remember_what_is_undefined():
    """`compare` and `paired` count such lists as values say."""
    known = [True, False, True]
    a = lists_of([0.5, 0, 0.25], None, known)
    b = lists_of([0.75, 1, 0.5], None, known)
    skipped = [dataclasses.replace(x, undefined="skip") for x in (a, b)]
    assert jrm.compare(*skipped).only.lists == 2 and jrm.compare(a, b).only.lists == 3
    assert mean_of(jrm.paired(*skipped)).lists == 2
    for call in (jrm.compare, jrm.paired):
        call(a, skipped[1], undefined="one")
