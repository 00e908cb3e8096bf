"""Against FairRankTune: the exposure of groups."""

import functools

import numpy as np
import pandas as pd
import pytest

import jax_rank_metrics as jrm

LISTS, ITEMS, GROUPS = 8, 12, 3


def geometric(ranks):
    """Returns the attention that FairRankTune's AWRF gives to ranks, for p = 0.2."""
    return 100 * 0.2 * 0.8 ** (ranks - 1)


@pytest.fixture(scope="module")
def data():
    """Returns relevance, scores and the group of each item; every group has merit."""
    rng = np.random.default_rng(5)
    labels = rng.choice(np.float32([0, 0.5, 1]), (LISTS, ITEMS))
    labels[:, :GROUPS] = 1
    scores = rng.permuted(np.tile(np.float32(np.arange(ITEMS)), (LISTS, 1)), axis=1)
    groups = rng.integers(0, GROUPS, (LISTS, ITEMS))
    groups[:, :GROUPS] = np.arange(GROUPS)
    return labels, scores, groups


def clicks(relevance):
    """Returns relevance times the attention of ranks."""
    return relevance / np.log2(np.arange(len(relevance)) + 2)


def relevances(relevance):
    """Returns relevance itself."""
    return relevance


RATIO = {"combo": "MinMaxRatio"}
# Its function with its options, and the inputs that it reads besides groups; and ours.
CASES = {
    "parity": ("EXP", {"combo": "MaxMinDiff"}, ()),
    "ratio": ("EXP", RATIO, ()),
    "geometric": ("AWRF", {"p": 0.2, "combo": "MaxMinDiff"}, ()),
    "treatment": ("EXPU", RATIO, (relevances,)),
    "impact": ("EXPRU", RATIO, (relevances, clicks)),
    "ndkl": ("NDKL", {}, ()),
}
OURS = {
    "parity": jrm.exposure_parity,
    "ratio": functools.partial(jrm.exposure_parity, comparison="ratio"),
    "geometric": functools.partial(jrm.exposure_parity, discount_fn=geometric),
    "treatment": jrm.disparate_treatment_ratio,
    "impact": jrm.disparate_impact_ratio,
    "ndkl": jrm.ndkl,
}


def by_fairranktune(case, labels, scores, groups):
    """Returns the value of each list; each argument is computed from ranked relevance."""
    from FairRankTune import Metrics

    (name, options, arguments), values = case, []
    for y, order, members in zip(labels, np.argsort(-scores), groups, strict=True):
        frames = [pd.DataFrame(argument(y[order])) for argument in arguments]
        groups_of_items = dict(enumerate(members.tolist()))
        function = functools.partial(getattr(Metrics, name), **options)
        values.append(function(pd.DataFrame(order), groups_of_items, *frames))
    return [value[0] if isinstance(value, tuple) else value for value in values]


def test_against_fairranktune(data, recorded, agree):
    """List by list; its NDKL adds 1e-7 to every share."""
    labels, scores, groups = data
    ranking = jrm.rank(labels, scores, columns={"groups": np.eye(GROUPS)[groups]})
    ours = jrm.measure(OURS, ranking)
    for name, case in CASES.items():
        theirs = recorded(name, functools.partial(by_fairranktune, case), *data)
        agree(ours[name].values, theirs)
