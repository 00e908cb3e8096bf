"""Lists that tests draw: with ties, padding, unknown entries, and lists that do not count."""

import numpy as np
from cases import TOP

from jax_rank_metrics.testing import COLUMNS, Lists


def draw(rng, lists=12, items=48, *, weigh_items=True):
    """Draws graded labels, few distinct scores, a mask, and lists that do not count."""
    shape = (lists, items)
    labels = rng.choice([0, 0, 0, 1, 2, 0.5, 1.75], shape).astype(np.float32)
    labels[np.arange(lists), rng.integers(items, size=lists)] = TOP
    labels[0] = 0
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32) / 4
    mask = rng.random(shape) > 0.25
    mask[1] = False
    mask[2, :2] = True
    mask[2, 3:] = False
    size = shape if weigh_items else lists
    weights = rng.gamma(2, size=size).astype(np.float32)
    weights[3] = 0
    columns = {name: column(rng, shape) for name, column in COLUMNS.items()}
    columns["subtopics"][4], columns["groups"][5] = 0, np.nan
    return Lists(labels, scores, mask, weights, columns)


def draw_short(rng, lists, items=7, *, weighted=False):
    """Draws short lists with many ties, graded labels and padding of three kinds.

    One of the last lists has nothing relevant, one no topics, one only unknown groups, and
    one a single group; some costs, groups and topics are unknown.
    """
    shape = (lists, items)
    labels = rng.integers(-1, 4, shape).astype(np.float32)
    labels[rng.random(lists) < 0.8, rng.integers(items)] = TOP
    scores = rng.integers(0, 3, shape).astype(np.float32)
    mask = rng.random(shape) > 0.2
    weights = None
    if weighted:
        weights = np.round(rng.random(shape) * 3 + 0.01, 2).astype(np.float32)
        weights[rng.random(shape) < 0.1] = 0
    columns = {name: column(rng, shape) for name, column in COLUMNS.items()}
    for name, unknown in (("costs", 0), ("costs", np.nan), ("propensities", 0)):
        columns[name][rng.random(shape) < 0.1] = unknown
    for name in ("groups", "subtopics"):
        columns[name][rng.random(columns[name].shape) < 0.1] = np.nan
    labels[-1] = np.minimum(labels[-1], 0)
    columns["subtopics"][-2], columns["groups"][-3] = 0, np.nan
    columns["groups"][-4, :, 1:] = -1
    return Lists(labels, scores, mask, weights, columns)
