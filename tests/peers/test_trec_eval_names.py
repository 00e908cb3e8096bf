"""Against trec_eval by the names of its own measures, on runs with every edge."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from trec_names import ASKED, COUNTS, NAMES

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("default")

LEVELS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ELEVEN = [column for column, level in enumerate(LEVELS) if level != 0.25]

AT_LEVELS = tuple(f"iprec_at_recall_{level:.2f}" for level in (0.0, 0.25, 0.7))

# A level of a document outside of the qrels; -1 is in them, for one not judged.
OUTSIDE = -2


class Runs(NamedTuple):
    """Documents `[queries, documents]`: scores tie, and `number` names a document."""

    levels: np.ndarray
    number: np.ndarray
    scores: np.ndarray
    retrieved: np.ndarray

    @property
    def order(self):
        """Its order: by score, then the last name first, then what is not retrieved."""
        keys = (-self.number, -self.scores, ~self.retrieved)
        return np.lexsort(keys, axis=1)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(12)
    shape = queries, documents = 14, 64
    levels = rng.choice([OUTSIDE, OUTSIDE, -1, -1, 0, 0, 1, 1, 2, 3], shape)
    number = rng.permuted(np.tile(np.arange(documents), (queries, 1)), axis=1)
    scores = rng.integers(0, 12, shape)
    retrieved = rng.random(shape) < rng.random((queries, 1))
    levels[0] = np.minimum(levels[0], 0)  # nothing relevant
    levels[1] = np.where(retrieved[1], OUTSIDE, 1)  # all relevant are missed
    levels[2] = np.where(levels[2] == 0, 1, levels[2])  # none judged non-relevant
    retrieved[3] = number[3] == 5  # one document
    retrieved[4] = levels[4] <= 0  # none relevant
    levels[5] = np.where(np.arange(documents) < 45, 1, 0)  # 0.7 of 45 is below 31.5
    retrieved[5:7] = True
    return Runs(levels, number, scores, retrieved)


def ours_of(runs, names, way):
    """By both ways to say that relevant documents were not retrieved."""
    labels, order = np.maximum(runs.levels, 0), runs.order
    columns = {"judged": runs.levels >= 0, "pooled": runs.levels > OUTSIDE}
    if way == "scored":
        places = np.argsort(order, axis=1)  # distinct scores, as ties go otherwise here
        ranking = jrm.rank(labels, -places, retrieved=runs.retrieved, columns=columns)
    else:
        ranked = [np.take_along_axis(x, order, 1) for x in (labels, *columns.values())]
        ranking = jrm.rank_retrieved(
            ranked[0],
            np.take_along_axis(runs.retrieved, order, axis=1),
            pool_labels=labels,
            pool_mask=runs.levels > OUTSIDE,
            columns=dict(zip(columns, ranked[1:], strict=True)),
            pool_columns=columns,
        )
    return jrm.measure(names, ranking)


def theirs_of(runs):
    """Its values of every query, by name."""
    qrels, run = {}, {}
    for query, numbers in enumerate(runs.number):
        names = [f"d{number:02}" for number in numbers]
        columns = (
            x[query].tolist() for x in (runs.levels, runs.scores, runs.retrieved)
        )
        documents = [*zip(names, *columns, strict=True)]
        qrels[f"q{query}"] = {name: y for name, y, _, _ in documents if y > OUTSIDE}
        run[f"q{query}"] = {name: float(s) for name, _, s, found in documents if found}
    levels = ",".join(map(str, LEVELS))
    measures = {*ASKED, f"iprec_at_recall.{levels}", "11pt_avg"}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    assert list(found) == list(run)
    names = next(iter(found.values()))
    return {name: [one[name] for one in found.values()] for name in names}


def interpolated(runs, needed):
    """Interpolated precision `[queries, levels]`, by its definition."""
    values = np.zeros((len(runs.levels), len(LEVELS)))
    for query, order in enumerate(runs.order):
        levels = runs.levels[query]
        relevant = levels[order][: runs.retrieved[query].sum()] >= 1
        hits = np.cumsum(relevant)
        for column, level in enumerate(LEVELS):
            enough = hits >= needed(level * (levels >= 1).sum())
            precisions = (hits / np.arange(1, len(hits) + 1))[enough]
            values[query, column] = precisions.max(initial=0)
    return values


def version_9(number):
    """How many relevant documents are so many."""
    return math.floor(number + 0.9)


def version_10(number):
    """The same, to the nearest, and a half up."""
    return math.floor(number + 0.5)


@pytest.mark.parametrize("way", ["scored", "in rank order"])
def test_every_query_and_all(way, runs):
    names = (*NAMES, *AT_LEVELS, "iprec_at_recall", "11pt_avg")
    ours, theirs = ours_of(runs, names, way), theirs_of(runs)

    def agree(name, per_query, of_all):
        for found, expected in (
            (ours[name].values, per_query),
            (ours[name].mean().compute(), of_all),
        ):
            np.testing.assert_allclose(
                found, expected, rtol=2e-6, atol=1e-6, err_msg=name
            )

    for name in NAMES:
        of_all = pytrec_eval.compute_aggregated_measure(name, theirs[name])
        if name in COUNTS:  # it adds counts up, and ours is a mean
            of_all = of_all / len(runs.levels)
        agree(name, theirs[name], of_all)
    # pytrec_eval has version 9, and ours is version 10, which the loop tells once it is
    # seen to tell version 9.
    old, new = (interpolated(runs, rule) for rule in (version_9, version_10))
    all_levels = [theirs[f"iprec_at_recall_{level:.2f}"] for level in LEVELS]
    np.testing.assert_allclose(np.transpose(all_levels), old, rtol=1e-12)
    np.testing.assert_allclose(theirs["11pt_avg"], old[:, ELEVEN].mean(axis=1))
    assert (old != new)[:, ELEVEN].sum() >= 5
    columns = [LEVELS.index(level) for level in (0.0, 0.25, 0.7)]
    for name, column in zip(AT_LEVELS, columns, strict=True):
        agree(name, new[:, column], new[:, column].mean())
    eleven = new[:, ELEVEN]
    agree("iprec_at_recall", eleven, eleven.mean(axis=0))
    agree("11pt_avg", eleven.mean(axis=1), eleven.mean())
