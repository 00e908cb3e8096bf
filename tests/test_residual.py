"""What unjudged items could add: which metrics have a residual, and how it adds up."""

import functools
import math

import numpy as np
import oracle
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._metrics.metric import NAMES
from jax_rank_metrics._ranking import with_labels

LISTS, ITEMS = 7, 8
KS = (3, 20, None)
LARGEST = 3.0


def _of(metric, **options):
    return functools.partial(metric, **options)


# The metric of each residual, and what an item is worth: from its label, its rank, and the
# number of ranks that count.
METRICS = {
    "rbp": (
        _of(jrm.rank_biased_precision, p=0.6),
        lambda label, rank, depth: 0.4 * 0.6 ** (rank - 1) * (label >= 1),
    ),
    "graded rbp": (
        _of(jrm.rank_biased_precision, p=0.6, max_label=4),
        lambda label, rank, depth: 0.4 * 0.6 ** (rank - 1) * label / 4,
    ),
    "dcg": (
        jrm.dcg,
        lambda label, rank, depth: oracle.exponential(label) * oracle.log2(rank),
    ),
    "a gain of 1 for the label 0": (
        _of(jrm.cg, gain_fn=lambda labels: labels + 1),
        lambda label, rank, depth: label + 1,
    ),
    "precision": ("p", lambda label, rank, depth: (label >= 1) / depth),
    "number of relevant items": (
        _of(jrm.num_relevant_retrieved, relevance_threshold=2),
        lambda label, rank, depth: float(label >= 2),
    ),
}
RESIDUALS = {
    name: functools.partial(jrm.residual, k=KS, of=of, max_label=LARGEST)
    for name, (of, _) in METRICS.items()
}


def draw(rng, lists=LISTS, items=ITEMS):
    """Draws ties and padding, an empty list, one all judged and one not judged at all.

    Some items are in the pool and have no rank.
    """
    shape = (lists, items)
    labels = rng.integers(0, int(LARGEST) + 1, shape).astype(np.float32)
    scores = rng.integers(0, 4, shape).astype(np.float32)
    mask, judged = rng.random(shape) < 0.85, rng.random(shape) < 0.5
    mask[0], judged[1], judged[2], labels[3] = False, True, False, 0
    return labels, scores, mask, judged, rng.random(shape) < 0.85


def test_errors():
    """Metrics that are not linear in gains raise, and so do options at the wrong place."""
    arguments = {"labels": np.ones(3), "scores": np.arange(3.0)}
    columns = {"judged": np.array([True, False, True])}
    known = "cg, dcg, insq, num_relevant_retrieved, precision, rank_biased_precision"
    for of, message in (
        ("ndcg", known),
        (jrm.average_precision, known),
        ("nothing", "of is 'nothing'"),
        (_of(jrm.dcg, k=3), "pass k to residual"),
    ):
        with pytest.raises(ValueError, match=message):
            jrm.residual(**arguments, columns=columns, of=of)
    with pytest.raises(ValueError, match="reads the column 'judged'"):
        jrm.residual(**arguments)
    for of in ("dcg", "cg"):  # their mean weight depends on the judgements
        with pytest.raises(ValueError, match="weights weighs items, and their mean"):
            jrm.residual(**arguments, weights=np.ones(3), columns=columns, of=of)
    with pytest.raises(ValueError, match="linear=True"):
        jrm.metric(columns=("judged",), linear=True)(_reads_pool)
    relabelled = with_labels(jrm.rank_retrieved(np.ones(3)), lambda items: items.labels)
    with pytest.raises(ValueError, match="does not read ideal_sum"):
        _reads_pool(relabelled)
    few = jrm.rank_places(
        np.array([1]),
        np.array([0]),
        np.array([1]),
        num_retrieved=3,
        columns={"judged": np.array([True])},
    )
    with pytest.raises(ValueError, match="worth 1.0, but this ranking holds only"):
        jrm.residual.of(few, k=3)


def _reads_pool(ranking, *, k=None):
    return ranking.ideal_sum(lambda items: items.labels, np.ones_like, (k,))


def test_options_in_names():
    """A metric in a name may have options of its own, which the name of a residual keeps."""
    names = ("residual@2", "residual(of=dcg(gain_fn=linear_gain), max_label=2)@1,2")
    bounds = [NAMES["residual"].spec.bind((), {"of": of}) for of in (jrm.dcg, jrm.dcg)]
    assert bounds[0] == bounds[1]
    assert hash(bounds[0]) == hash(bounds[1])
    ranking = jrm.rank_retrieved(
        np.array([1, 0]), columns={"judged": np.array([True, False])}
    )
    values = [np.asarray(x.values) for x in jrm.measure(names, ranking).values()]
    np.testing.assert_allclose(values[0], 0.2 * 0.8, rtol=1e-6)
    np.testing.assert_allclose(values[1], [0, 2 / math.log2(3)], rtol=1e-6)


@pytest.mark.long
def test_documents_of_files():
    """Documents of a run that were not judged, or have a relevance below 0, are unjudged."""
    qrels = {"q1": {"a": 2, "b": -1, "c": 0, "unseen": 1}, "q2": {"a": 1}}
    run = {"q1": {"c": 9.0, "b": 8.0, "x": 7.0, "a": 6.0}, "q2": {"y": 1.0, "z": 1.0}}
    joined = jrm.join(qrels, run)
    values = joined.measure("residual(of=rbp(p=0.5))@3")["residual(of=rbp(p=0.5))@3"]
    np.testing.assert_allclose(values.values, [1 / 4 + 1 / 8, 1 / 2 + 1 / 4], rtol=1e-6)


@pytest.mark.long
def test_differences_of_two_calls(rng):
    """Equal to measuring with all unjudged labels replaced, which nothing shares."""
    labels, scores, mask, judged, retrieved = draw(rng, items=40)
    weights = rng.gamma(2, size=len(labels)).astype(np.float32)
    insq = _of(jrm.insq, max_rank=100, max_label=4)
    metrics = {name: of for name, (of, _) in METRICS.items()} | {"insq": insq}
    table = {
        name: functools.partial(jrm.residual, k=(1, 3), of=of, max_label=LARGEST)
        for name, of in metrics.items()
    }
    shared = {"mask": mask, "weights": weights, "retrieved": retrieved}
    ranking = jrm.rank(labels, scores, columns={"judged": judged}, k=3, **shared)
    results = jrm.measure(table, ranking)
    for name, of in metrics.items():
        metric = jrm.precision if of == "p" else of
        lowest, highest = (
            jrm.measure(
                {name: functools.partial(metric, k=(1, 3))},
                jrm.rank(np.where(judged, labels, np.float32(x)), scores, **shared),
            )[name]
            for x in (0, LARGEST)
        )
        difference = np.asarray(highest.values) - np.asarray(lowest.values)
        np.testing.assert_allclose(
            results[name].values, difference, rtol=1e-5, atol=1e-6, err_msg=name
        )
        np.testing.assert_allclose(results[name].weights, lowest.weights, rtol=1e-6)


@pytest.mark.long
def test_linear_metrics_are_additive(rng):
    """Labels of two sets of items add up: what `linear` promises of each metric."""
    labels, scores, mask, in_first, retrieved = draw(rng)
    linear = {m.spec.name: m for m in NAMES.values() if m.spec.linear}
    parts = (labels, np.where(in_first, labels, 0), np.where(in_first, 0, labels))
    whole, *halves = (
        jrm.measure(linear, jrm.rank(x, scores, mask, retrieved=retrieved))
        for x in parts
    )
    for name, lists in whole.items():
        total = sum(np.asarray(half[name].values) for half in halves)
        np.testing.assert_allclose(lists.values, total, rtol=1e-5, err_msg=name)
