"""Comparisons and leaderboards that tests write down, so that nothing is computed."""

import dataclasses
import functools

import numpy as np
from per_lists import lists_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.comparisons.standings import Stability


def known(values, weights=None):
    """Makes the values of four lists; the last list is undefined."""
    return lists_of(values, weights, [True, True, True, False])


A, B = known([1.0, 0.5, 0.25, 0.0]), known([0.0, 0.5, 0.5, 0.0])
CUTS = known([[0.0, 1.0], [0.5, 1.0], [0.5, 1.0], [0.0, 0.0]])
COMPARISON = jrm.Comparison(
    difference=0.2, low=0.1, high=0.3, p=1e-5, p_corrected=3e-5, effect_size=0.5,
    wins=3, ties=0, losses=1, lists=4, n_eff=4.0, test="permutation", correction="holm",
    alternative="two-sided", margin=None, samples=99_999, level=0.95, lower_is_better=False,
)  # fmt: skip
changed = functools.partial(dataclasses.replace, COMPARISON)


def comparisons(by_system):
    """Returns the comparisons of a dict of systems to dicts of metrics."""
    return jrm.Comparisons(
        dataclasses.replace(x, system=system, metric=metric)
        for system, metrics in by_system.items()
        for metric, x in metrics.items()
    )


def board(systems, groups, **fields):
    """Returns a leaderboard of systems; some are in groups that overlap."""
    count = len(systems)
    ranks, pairs = np.arange(1.0, count + 1), np.ones((count, count))
    leaderboard = jrm.Leaderboard(
        systems=tuple(systems), means=1 / ranks, lows=0.9 / ranks, highs=1.1 / ranks,
        ranks=ranks, rank_lows=np.maximum(ranks - 1, 1), rank_highs=np.minimum(ranks + 2, count),
        p_first=np.full(count, 1 / count), p_beats=pairs / 2, p_corrected=pairs, groups=groups,
        stability=Stability(0.9, 0.8), metric="map", tasks=(), lists=4, samples=10, level=0.95, lower_is_better=False,
    )  # fmt: skip
    return dataclasses.replace(leaderboard, **fields)
