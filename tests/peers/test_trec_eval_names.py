"""Values under the names of trec_eval, on runs with every edge case, against trec_eval."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from trec_names import COUNTS, NAMES, PYTREC_EVAL_NAMES

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("default")

LEVELS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ELEVEN = [column for column, level in enumerate(LEVELS) if level != 0.25]

AT_LEVELS = tuple(f"iprec_at_recall_{level:.2f}" for level in (0.0, 0.25, 0.7))

# The level of a document that is not in the qrels; −1 is in them, and means not judged.
NOT_POOLED = -2


class Runs(NamedTuple):
    """Documents `[queries, documents]` with tied scores; a document is named by `number`."""

    levels: np.ndarray
    number: np.ndarray
    scores: np.ndarray
    retrieved: np.ndarray

    @property
    def order(self):
        """The order of trec_eval: by score, ties by the last name; not retrieved ones last."""
        keys = (-self.number, -self.scores, ~self.retrieved)
        return np.lexsort(keys, axis=1)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(12)
    shape = queries, documents = 14, 64
    levels = rng.choice([NOT_POOLED, NOT_POOLED, -1, -1, 0, 0, 1, 1, 2, 3], shape)
    number = rng.permuted(np.tile(np.arange(documents), (queries, 1)), axis=1)
    scores = rng.integers(0, 12, shape)
    retrieved = rng.random(shape) < rng.random((queries, 1))
    levels[0] = np.minimum(levels[0], 0)  # nothing relevant
    levels[1] = np.where(retrieved[1], NOT_POOLED, 1)  # all relevant are missed
    levels[2] = np.where(levels[2] == 0, 1, levels[2])  # none judged non-relevant
    retrieved[3] = number[3] == 5  # one document
    retrieved[4] = levels[4] <= 0  # none relevant
    levels[5] = np.where(np.arange(documents) < 45, 1, 0)  # 0.7 of 45 is below 31.5
    retrieved[5:7] = True
    return Runs(levels, number, scores, retrieved)


def ours_of(runs, names, way):
    """Returns our values, by either way to declare relevant documents not retrieved."""
    labels, order = np.maximum(runs.levels, 0), runs.order
    columns = {"judged": runs.levels >= 0, "pooled": runs.levels > NOT_POOLED}
    if way == "scored":
        ranks = np.argsort(
            order, axis=1
        )  # distinct scores, since ties would be averaged
        ranking = jrm.rank(labels, -ranks, retrieved=runs.retrieved, columns=columns)
    else:
        ranked = [np.take_along_axis(x, order, 1) for x in (labels, *columns.values())]
        ranking = jrm.rank_retrieved(
            ranked[0],
            np.take_along_axis(runs.retrieved, order, axis=1),
            pool_labels=labels,
            pool_mask=runs.levels > NOT_POOLED,
            columns=dict(zip(columns, ranked[1:], strict=True)),
            pool_columns=columns,
        )
    return jrm.measure(names, ranking)


def theirs_of(runs):
    """Returns the values of pytrec_eval for every query, by name."""
    qrels, run = {}, {}
    for query, numbers in enumerate(runs.number):
        names = [f"d{number:02}" for number in numbers]
        columns = (
            x[query].tolist() for x in (runs.levels, runs.scores, runs.retrieved)
        )
        documents = [*zip(names, *columns, strict=True)]
        qrels[f"q{query}"] = {name: y for name, y, _, _ in documents if y > NOT_POOLED}
        run[f"q{query}"] = {name: float(s) for name, _, s, kept in documents if kept}
    levels = ",".join(map(str, LEVELS))
    measures = {*PYTREC_EVAL_NAMES, f"iprec_at_recall.{levels}", "11pt_avg"}
    values = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    assert list(values) == list(run)
    names = next(iter(values.values()))
    return {name: [of_query[name] for of_query in values.values()] for name in names}


def interpolated(runs, num_required):
    """Returns interpolated precision `[queries, levels]`, from its definition."""
    values = np.zeros((len(runs.levels), len(LEVELS)))
    for query, order in enumerate(runs.order):
        levels = runs.levels[query]
        relevant = levels[order][: runs.retrieved[query].sum()] >= 1
        hits = np.cumsum(relevant)
        for column, level in enumerate(LEVELS):
            reaches_level = hits >= num_required(level * (levels >= 1).sum())
            precisions = (hits / np.arange(1, len(hits) + 1))[reaches_level]
            values[query, column] = precisions.max(initial=0)
    return values


def version_9(number):
    """Returns the number of documents that version 9 requires for a recall level."""
    return math.floor(number + 0.9)


def version_10(number):
    """Returns the number that version 10 requires: the nearest, with halves up."""
    return math.floor(number + 0.5)


@pytest.mark.parametrize("way", ["scored", "in rank order"])
def test_every_query_and_all(way, runs):
    """Values by query and means agree; interpolated precision is that of version 10."""
    names = (*NAMES, *AT_LEVELS, "iprec_at_recall", "11pt_avg")
    ours, theirs = ours_of(runs, names, way), theirs_of(runs)

    def agree(name, per_query, of_all):
        for actual, expected in (
            (ours[name].values, per_query),
            (ours[name].mean().compute(), of_all),
        ):
            np.testing.assert_allclose(
                actual, expected, rtol=2e-6, atol=1e-6, err_msg=name
            )

    for name in NAMES:
        of_all = pytrec_eval.compute_aggregated_measure(name, theirs[name])
        if name in COUNTS:  # it sums counts, and ours is a mean
            of_all = of_all / len(runs.levels)
        agree(name, theirs[name], of_all)
    # pytrec_eval contains version 9, and ours follows version 10. The loop above computes
    # both: since it agrees with pytrec_eval on version 9, it can be trusted on version 10.
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
