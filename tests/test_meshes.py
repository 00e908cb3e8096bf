"""Sharded lists: they give the same numbers, and no score leaves its device."""

import functools
import itertools
import math
import re

import jax
import numpy as np
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from marks import long_rows
from sources import check_same, make_mesh, put

import jax_rank_metrics as jrm

COLLECTIVE = re.compile(
    r"= (.*?) (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)"
    r"(?:-start)?\("
)


@pytest.fixture
def data(rng):
    """Draws lists with few distinct scores, NaN padding and item weights."""
    shape = (64, 100)
    labels = rng.choice([0, 0, 0, 1, 2], shape).astype(np.float32)
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32)
    mask = rng.random(shape) > 0.2
    scores[~mask] = np.nan
    weights = rng.gamma(2, size=shape).astype(np.float32)
    return labels, scores, mask, weights


def collectives(compiled):
    """Lists the collectives of a program, and the bytes that each of them produces."""
    sizes = []
    for shapes, kind in COLLECTIVE.findall(compiled.as_text()):
        size = 0
        for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", shapes):
            item_size = 1 if dtype == "pred" else int(dtype[1:]) // 8
            size += item_size * math.prod(int(d) for d in dims.split(",") if d)
        sizes.append((kind, size))
    return sizes


@pytest.mark.parametrize(
    "kind, is_local",
    [(AxisType.Explicit, False), (AxisType.Explicit, True), (AxisType.Auto, False)],
    ids=str,
)
def test_a_loop_compiles_once(kind, is_local, compilations, rng):
    """If `empty` lies on the mesh, a step of every epoch is the same program."""
    mesh = make_mesh((8,), ("data",), kind)

    def plain(carried, labels, scores):
        return jrm.merge(carried, jrm.evaluate("mrr", labels, scores))

    def local(carried, labels, scores):
        states = jrm.all_reduce(jrm.evaluate("mrr", labels, scores), "data")
        return jrm.merge(carried, states)

    specs = (P(), P("data"), P("data"))
    mapped = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P())
    step = jax.jit(mapped if is_local else plain)
    batch = put(mesh, [rng.integers(0, 2, (8, 4)), rng.normal(size=(8, 4))], "data")
    for epoch in range(2):
        states = put(mesh, jrm.empty("mrr"))
        compilations.clear()
        for _ in range(3):
            states = step(states, *batch)
        assert len(compilations) == (1 if epoch == 0 else 0)
        assert states["mrr"].lists == 24


@pytest.mark.parametrize(
    "kind, ties",
    [
        (AxisType.Explicit, "random"),
        (AxisType.Auto, None),
        *long_rows((AxisType.Explicit, None), (AxisType.Auto, "random")),
    ],
    ids=str,
)
def test_no_collective_is_larger_than_the_state(kind, ties, data):
    """For ndcg@10 devices exchange their states, and no arrays of lists or items."""
    key = jax.random.key(0) if ties == "random" else None
    sharded = put(make_mesh((8,), ("data",), kind), data, "data", None)

    def step(labels, scores, mask, weights):
        return jrm.ndcg(labels, scores, mask, weights, key, ties=ties, k=10)

    lowered = jax.jit(step).lower(*sharded)
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(lowered.out_info))
    actual = collectives(lowered.compile())
    assert actual, "the mean must be reduced over devices"
    assert max(size for _, size in actual) <= 8 * state, (state, actual)


@pytest.mark.long
@pytest.mark.parametrize(
    "call, ties",
    [*itertools.product(("explicit", "shard_map"), (None, "random")), ("auto", None)],
)
def test_scores_stay_where_they_are(call, ties, rng):
    """If lists and items are sharded, candidates and sums travel, and scores do not."""
    lists, items, k = 64, 4096, 10
    labels = rng.integers(0, 3, (lists, items)).astype(np.float32)
    scores = np.round(rng.normal(size=(lists, items)) * 50).astype(np.float32)
    key = jax.random.key(0) if ties == "random" else None
    kind = AxisType.Explicit if call == "explicit" else AxisType.Auto
    mesh = make_mesh((2, 4), ("data", "items"), kind)
    spec = P("data", "items")

    def plain(labels, scores):
        return jrm.ndcg(labels, scores, key=key, ties=ties, k=k)

    def local(labels, scores):
        state = jrm.ndcg(labels, scores, key=key, ties=ties, k=k, items_axis="items")
        return jrm.all_reduce(state, "data")

    run = jax.jit(plain)
    if call == "shard_map":
        run = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=P()))
    arrays = put(mesh, (labels, scores), *spec)
    compiled = run.lower(*arrays).compile()
    actual = collectives(compiled)
    # Each device receives k candidates from all devices of the axis, for its lists.
    candidates = lists // 2 * 4 * k * 4
    scores_here = lists // 2 * items // 4 * 4
    # XLA combines collectives; even so they are far smaller than the scores.
    assert actual and max(size for _, size in actual) <= 4 * candidates, actual
    assert 4 * candidates < scores_here / 5
    if ties != "random":
        value = compiled(*arrays).compute()
        np.testing.assert_allclose(value, plain(labels, scores).compute(), rtol=1e-6)


@pytest.mark.long
def test_items_axis_by_a_tuple_of_axes(data):
    """Items may be sharded over two mesh axes; a mask makes uneven parts equal."""
    labels, scores, mask, _ = (x[:, :90] for x in data)
    padding = ((0, 0), (0, 96 - 90))
    mask = np.pad(mask, padding)
    labels, scores = (
        np.pad(x, padding, constant_values=np.nan) for x in (labels, scores)
    )
    measured = functools.partial(jrm.measure, ("ndcg@10", "ap@5"))
    expected = measured(jrm.rank(labels, scores, mask, k=10))
    mesh = make_mesh((4, 2), ("a", "b"), AxisType.Explicit)
    spec = P(None, ("a", "b"))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=P())
    def local(*arrays):
        return measured(jrm.rank(*arrays, k=10, items_axis=("a", "b")))

    arrays = put(mesh, (labels, scores, mask), *spec)
    for ranked in (local, lambda *arrays: measured(jrm.rank(*arrays, k=10))):
        check_same(ranked(*arrays), expected)


def test_random_ties_of_a_catalogue_by_keys_that_differ():
    """A key per shard of lists breaks ties of items that are cut over another axis.

    Everything ties, so the key alone orders the items: a permutation for each list. The
    relevant item stands at the rank that counting gives it.
    """
    mesh = make_mesh((2, 4), ("data", "model"), AxisType.Auto)
    queries, items = np.ones((4, 3), np.float32), np.ones((16, 3), np.float32)
    relevant_ids = np.arange(4)[:, None]

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=(P("data"), P("model"), P("data")), out_specs=P("data")
    )
    def run(queries, items, relevant_ids):
        key = jax.random.fold_in(jax.random.key(0), jax.lax.axis_index("data"))
        options = {"items_axis": "model", "block_size": 2, "ties": "random", "key": key}
        ordered = jrm.rank_catalog(queries, items, relevant_ids, k=16, **options)
        counted = jrm.rank_catalog(queries, items, relevant_ids, k=None, **options)
        return ordered.items, jrm.reciprocal_rank.of(counted).values

    order, values = run(queries, items, relevant_ids)
    np.testing.assert_array_equal(np.sort(order), [range(16)] * 4)
    ranks = np.argmax(order == relevant_ids, axis=-1) + 1
    np.testing.assert_allclose(values, 1 / ranks, rtol=1e-6)
    assert len({tuple(ids) for ids in order.tolist()}) == 4


@pytest.mark.long
@pytest.mark.parametrize("number", [4, 200])
def test_relevant_ids_are_cut_in_any_way(number, rng):
    """Repeated ids are found in the whole list, however its type cuts it."""
    mesh = make_mesh((2, 2), ("data", "model"), AxisType.Explicit)
    scores = rng.normal(size=(4, 400)).astype(np.float32)
    ids = np.argsort(rng.random((4, 400)))[:, :number]
    repeated = np.concatenate([ids[:, : number // 2]] * 2, axis=1)
    sharded = put(mesh, scores, "data"), put(mesh, repeated, None, "model")
    recall = jax.jit(lambda x, y: jrm.recall.of(jrm.rank_scores(x, y, k=200), k=200))
    expected = recall(scores, ids[:, : number // 2])
    np.testing.assert_array_equal(recall(*sharded).values, expected.values)


def test_lists_that_explicit_axes_cut_in_different_ways():
    """Lists of one call are brought into one cut, and the bootstrap reads them whole."""
    mesh = make_mesh((2, 4), ("data", "model"), AxisType.Explicit)
    arrays = np.arange(1, 9, dtype=np.float32), np.ones(8, np.float32), np.ones(8, bool)
    lists = jrm.PerList(*arrays)
    a, b = (jrm.PerList(*put(mesh, arrays, axis)) for axis in mesh.axis_names)
    ids = put(mesh, np.arange(8) // 2, "data")
    with jax.set_mesh(mesh):
        ratios, replicates = a.over(b), jrm.bootstrap(a, ids).replicates()
    np.testing.assert_array_equal(ratios.values, np.ones(8))
    np.testing.assert_array_equal(ratios.weights, arrays[0])
    expected = jrm.bootstrap(lists, np.arange(8) // 2).replicates()
    np.testing.assert_allclose(replicates, expected, rtol=1e-6)
