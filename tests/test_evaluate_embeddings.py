"""`evaluate_embeddings`: similarities, candidates, errors. For values see test_drivers.py."""

import copy
import operator
import pickle
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.sources import similarities
from jax_rank_metrics._runs.drivers import batching

QUERIES, ITEMS, DIMS = 9, 26, 4
METRICS = ("ndcg@4", "recall@1,5", "mrr", "map")


def vectors(rng):
    """Draws vectors of whole numbers; some are equal and one is 0."""
    queries, items = (
        rng.integers(-9, 10, (n, DIMS)).astype(np.float32) for n in (QUERIES, ITEMS)
    )
    items[[7, 20, 25]] = items[[3, 4, 4]]
    items[11] = 0
    return queries, items


def test_batches_of_candidates():
    """A long list does not widen the batches of others, nor fill a batch with padding."""
    widths = np.array([50, 60, 5000, 0, 55, 1200, 52, 48, 1300, 64])
    divided = batching.batches_by_width(
        widths, lambda _: 4, 1e5, np.arange(10).reshape(2, 5)
    )
    queries, padded = [], []
    for batch in divided:
        indices, (_, width) = batch.indices, batch.widths
        members = indices[indices >= 0]
        assert (widths[members] <= width).all()
        queries += members.tolist()
        padded.append((len(indices), width))
    assert sorted(queries) == list(range(10))
    assert padded == [(2, 5000), (2, 1200), (4, 64), (4, 64)]
    whole = list(
        batching.batches_by_width(widths, lambda _: 16, 1, np.arange(10)[None])
    )
    assert [(len(x.indices), x.widths) for x in whole] == [(16, (0, 5000))]


def test_scores_of_similarities(rng):
    """They equal float64, equal vectors tie, and an offset of all vectors costs no bits."""
    queries, items = (rng.normal(size=(n, 40)).astype(np.float32) for n in (33, 130))
    items[[64, 129]] = items[[0, 1]]
    queries[5] = items[8] = 0

    def scores(name, queries, items):
        similarity = similarities.read_similarity(name, queries, items)
        score = jax.jit(similarity.scores)
        return np.asarray(score(jnp.asarray(queries), jnp.asarray(items)))

    cosines = scores("cosine", queries, items)
    expected = exact_cosines(queries.astype(np.float64), items.astype(np.float64))
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    assert not cosines[5].any() and not cosines[:, 8].any()
    np.testing.assert_array_equal(cosines[:, [64, 129]], cosines[:, [0, 1]])
    for offset in (0, 100):
        moved = [(x + np.float32(offset)).astype(np.float32) for x in (queries, items)]
        exact = [x.astype(np.float64) for x in moved]
        distances = np.square(exact[0][:, None] - exact[1]).sum(-1)
        orders = scores("l2", *moved)
        gaps = distances - distances[:, :1]
        np.testing.assert_allclose(2 * (orders[:, :1] - orders), gaps, atol=1e-4)
        np.testing.assert_array_equal(orders[:, [64, 129]], orders[:, [0, 1]])
    whole = [rng.integers(0, 256, (n, 64)).astype(np.uint8) for n in (20, 90)]
    distances = np.square(whole[0][:, None].astype(int) - whole[1]).sum(-1)
    orders = scores("l2", *whole)
    gaps = distances[:, :1] - distances
    np.testing.assert_array_equal(2 * (orders - orders[:, :1]), gaps)
    packed = [rng.integers(0, 256, (n, 9)).astype(np.uint8) for n in (20, 90)]
    bits = [np.unpackbits(x, axis=-1) for x in packed]
    distances = (bits[0][:, None] != bits[1]).sum(-1)
    np.testing.assert_array_equal(scores("hamming", *packed), -distances)


@pytest.mark.parametrize("scales", [(-83, -83), (66, 126), (0, -120)])
def test_cosines_of_vectors_of_any_length(rng, scales):
    """Powers of two change no bit, also if squares would over- or underflow."""
    queries, items = vectors(rng)
    expected = similarities.cosine(jnp.asarray(queries), jnp.asarray(items))
    scaled = [
        jnp.asarray(np.ldexp(x / 16, n))
        for x, n in zip((queries, items), scales, strict=True)
    ]
    np.testing.assert_array_equal(similarities.cosine(*scaled), expected)
    exact = exact_cosines(queries.astype(np.float64), items.astype(np.float64))
    np.testing.assert_allclose(expected, exact, atol=1e-6)


def exact_cosines(queries, items):
    """Cosines of all pairs, 0 for zero vectors."""
    lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(items, axis=1))
    return np.divide(queries @ items.T, lengths, where=lengths > 0, out=0 * lengths)


def test_results_go_on_as_they_are(rng):
    """Groups, `compute`, copies and names take the result of a call."""
    relevant = {query: [query, query + 3] for query in range(QUERIES - 1)}
    arguments = "recall@3", *vectors(rng), relevant
    evaluation = jrm.evaluate_embeddings(*arguments, undefined="skip")
    groups = evaluation.by(["short"] * 4 + ["long"] * 5)
    assert [int(states["recall@3"].lists) for states in groups.values()] == [4, 4]
    assert isinstance(evaluation.retrieved_ids, np.ndarray)
    choices = "negative:error|undefined:skip|nan:error|scores:float32|def:1"
    assert evaluation.signature == {"recall@3": f"recall@3|{choices}"}
    means = jrm.compute(evaluation, host=True)
    assert means == jrm.compute(evaluation.states, flat=True, host=True)
    for other in (copy.copy(evaluation), pickle.loads(pickle.dumps(evaluation))):
        assert str(other) == str(evaluation)
        assert other.signature == evaluation.signature
        assert other != evaluation and len({other, evaluation}) == 2


def test_an_evaluation_is_a_mapping(rng):
    """Names lead to states, for Python and JAX; verdicts read it as one system."""
    relevant = {query: [query, query + 3] for query in range(QUERIES)}
    of_metrics = "recall@1,3", "mrr"
    first, second = (
        jrm.evaluate_embeddings(of_metrics, *vectors(rng), relevant) for _ in range(2)
    )
    assert isinstance(first, Mapping) and len(first) == 2 and "mrr" in first
    assert "map" not in first and first.get("map") is None
    assert tuple(first) == tuple(first.keys()) == of_metrics
    assert dict(first) == {**first} == first.states == dict(first.items())
    assert all(map(operator.is_, first.values(), first.states.values()))
    # Equality is identity, since arrays have no single answer.
    assert first == first and first != second and first != first.states
    assert hash(first) == hash(first) and {first: 1}[first] == 1
    # As before, JAX sees a leaf, so that operations on states take the dict.
    assert jax.tree.leaves(first) == [first]
    with pytest.raises(TypeError, match="holds a Evaluation; pass its .states"):
        jrm.merge(first, second)
    merged = jrm.merge(dict(first), second.states)
    assert int(merged["mrr"].lists) == 2 * QUERIES
    assert jrm.compute(first, host=True) == jrm.compute(dict(first), host=True)
    assert jrm.compute(first, flat=True).keys() == {"recall@1", "recall@3", "mrr"}
    # Verdicts see a system, whose keys are its metrics.
    assert str(jrm.table(first)) == str(jrm.table(dict(first)))
    pairs = jrm.compare(first, second), jrm.compare(first.lists, second.lists)
    assert [x.p for x in pairs[0]] == [x.p for x in pairs[1]]
    assert [x.metric for x in pairs[0]] == ["recall@1", "recall@3", "mrr"]
    systems = {"first": first, "second": second}
    assert repr(jrm.Systems(first)) == f"Systems(1 system × 2 metrics, {QUERIES} lists)"
    assert [*jrm.to_frame(systems).columns.levels[0]] == ["first", "second"]
    assert jrm.leaderboard(systems, metric="mrr").metric == "mrr"
    assert len(jrm.compare(systems)) == 3
    for function, error, message in (
        (jrm.compare, ValueError, "a holds one system"),
        (jrm.Seeds, TypeError, "runs is a Evaluation"),
        (jrm.plots.differences, ValueError, "b is missing"),
        (
            lambda x: jrm.compare(systems, judge=x),
            TypeError,
            "judge is a Evaluation; pass a dict of systems",
        ),
        (jrm.plots.by_group, TypeError, "got a Evaluation; pass the result of PerList"),
    ):
        with pytest.raises(error, match=message):
            function(first)
    axes = jrm.plots.distribution(first, metric="mrr")
    assert len(axes.get_lines()) == 1 and axes.get_xlabel().startswith("mrr of a list")


def nan_for_one_item(queries, items):
    """Returns products, with nan for items that begin with 7."""
    scores = queries @ items.T
    return jnp.where(items[:, :1].T == 7, jnp.nan, scores)


def identity(query, item):
    """Items of the query's identity are relevant; items of the identity 7 leave."""
    is_same = query[:, None] == item[None]
    return is_same, jnp.broadcast_to(item == 7, is_same.shape)


QUERY = np.eye(2, DIMS, dtype=np.float32)
ITEM = np.arange(12, dtype=np.float32).reshape(3, DIMS)


SEVEN = np.array([[7, 0, 0, 0], [1, 2, 3, 4], [5, 1, 1, 1]], np.float32)


@pytest.mark.parametrize(
    "change",
    [
        {"exclude": [[0], [0]]},
        {"item_mask": [False, True, True]},
        {"candidates": [[1, 2], [1, 2]]},
        {"candidates": [[1, 2], [2]], "relevant": [[0, 1], [0, 2]]},
        {"relevant": jrm.by_attributes(identity, [1, 2], [7, 1, 2])},
    ],
    ids=["excluded", "masked", "no candidate", "missed by candidates", "removed"],
)
def test_nan_of_items_that_are_read(change):
    """NaN stops an evaluation, whatever item has it, unless its score is not read."""
    arguments = {"relevant": [[1], [2]], "similarity": nan_for_one_item, **change}
    found = jrm.evaluate_embeddings("recall@2", QUERY, SEVEN, **arguments)
    assert 0 not in found.retrieved_ids
    read = {"exclude": None, "item_mask": None, "candidates": [[1, 2], [0, 1]]}
    if change.keys() == {"relevant"}:
        read["relevant"] = jrm.by_attributes(identity, [1, 2], [3, 1, 2])
    arguments |= {x: read[x] for x in read.keys() & {*change, "relevant"}}
    with pytest.raises(ValueError, match="similarity returns nan for finite vectors"):
        jrm.evaluate_embeddings("recall@2", QUERY, SEVEN, **arguments)
