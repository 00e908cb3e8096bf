"""Sharded lists: they give the same numbers, and no score leaves its device."""

import re

import jax
import numpy as np
import pytest
from cases import FEW, metrics
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

METRICS = ("ndcg@1,10", "mrr@10")  # the first orders, the second counts
COLLECTIVE = re.compile(
    r"= (.*?) (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)"
    r"(?:-start)?\("
)
ITEM = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "s32": 4,
    "u32": 4,
    "f32": 4,
    "s64": 8,
    "u64": 8,
    "f64": 8,
}


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


def make_mesh(kind, shape=(8,), names=("data",)):
    """Makes a mesh whose axes are all of one kind."""
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape))


def put(mesh, spec, arrays):
    """Shards arrays."""
    return [jax.device_put(x, NamedSharding(mesh, spec)) for x in arrays]


def collectives(compiled):
    """Lists the collectives of a program, and the bytes that each of them produces."""
    sizes = []
    for shapes, kind in COLLECTIVE.findall(compiled.as_text()):
        size = 0
        for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", shapes):
            size += ITEM[dtype] * int(np.prod([int(d) for d in dims.split(",") if d]))
        sizes.append((kind, size))
    return sizes


def check_equal(actual, expected):
    """Checks that means, errors and counts are the same."""
    for name, state in expected.items():
        np.testing.assert_allclose(actual[name].compute(), state.compute(), rtol=1e-6)
        np.testing.assert_allclose(
            actual[name].std_error(), state.std_error(), rtol=1e-5, atol=1e-7
        )
        assert actual[name].lists == state.lists
        assert actual[name].undefined == state.undefined


KINDS = pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto], ids=str)


@pytest.mark.parametrize(
    "kind",
    [AxisType.Explicit, pytest.param(AxisType.Auto, marks=pytest.mark.long)],
    ids=str,
)
@pytest.mark.long
def test_means_of_global_arrays(kind, data):
    """The plain call on sharded arrays gives the values of one device."""
    sharded = put(make_mesh(kind), P("data", None), data)
    table = metrics((1, 10, None), cases=FEW)
    check_equal(jrm.evaluate(table, *sharded), jrm.evaluate(table, *data))


@KINDS
@pytest.mark.long
def test_random_ties_of_global_arrays(kind, data):
    """With a shallow cut, Explicit meshes take the top-k of the lists on each device."""
    key = jax.random.key(3)
    sharded = put(make_mesh(kind), P("data", None), data)
    names = ("ndcg@10", "ap@10", "mrr@1,5")
    expected = jrm.evaluate(names, *data, key=key)
    actual = jrm.evaluate(names, *sharded, key=key)
    for name, state in expected.items():  # every device draws for its own lists
        assert actual[name].lists == state.lists
        difference = np.abs(actual[name].compute() - state.compute())
        assert (difference <= 6 * state.std_error() + 1e-6).all(), name


@pytest.mark.long
def test_two_mesh_axes(data):
    """Lists may be sharded over a tuple of axes, or along two axes."""
    mesh = make_mesh(AxisType.Explicit, (4, 2), ("a", "b"))
    expected = jrm.evaluate(METRICS, *data)
    sharded = put(mesh, P(("a", "b"), None), data)
    check_equal(jrm.evaluate(METRICS, *sharded), expected)
    deep = [x.reshape(8, 8, -1) for x in data]
    sharded = put(mesh, P("a", "b", None), deep)
    check_equal(jrm.evaluate(METRICS, *sharded), expected)


@pytest.mark.parametrize(
    "kind, ties",
    [
        (AxisType.Explicit, "random"),
        (AxisType.Auto, None),
        pytest.param(AxisType.Explicit, None, marks=pytest.mark.long),
        pytest.param(AxisType.Auto, "random", marks=pytest.mark.long),
    ],
    ids=str,
)
def test_no_collective_is_larger_than_the_state(kind, ties, data):
    """For ndcg@10 devices exchange their states, and no arrays of lists or items."""
    key = jax.random.key(0) if ties == "random" else None
    sharded = put(make_mesh(kind), P("data", None), data)

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
    [
        ("explicit", None),
        ("explicit", "random"),
        ("shard_map", None),
        ("shard_map", "random"),
        ("auto", None),
    ],
)
def test_scores_stay_where_they_are(call, ties, rng):
    """If lists and items are sharded, candidates and sums travel, and scores do not."""
    lists, items, k = 64, 4096, 10
    labels = rng.integers(0, 3, (lists, items)).astype(np.float32)
    scores = np.round(rng.normal(size=(lists, items)) * 50).astype(np.float32)
    key = jax.random.key(0) if ties == "random" else None
    kind = AxisType.Explicit if call == "explicit" else AxisType.Auto
    mesh = make_mesh(kind, (2, 4), ("data", "items"))
    spec = P("data", "items")

    def plain(labels, scores):
        return jrm.ndcg(labels, scores, key=key, ties=ties, k=k)

    def local(labels, scores):
        state = jrm.ndcg(labels, scores, key=key, ties=ties, k=k, items_axis="items")
        return jrm.all_reduce(state, "data")

    run = jax.jit(plain)
    if call == "shard_map":
        run = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=P()))
    arrays = put(mesh, spec, (labels, scores))
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
    expected = jrm.evaluate(("ndcg@10", "ap@5"), labels, scores, mask)
    mesh = make_mesh(AxisType.Explicit, (4, 2), ("a", "b"))
    spec = P(None, ("a", "b"))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=P())
    def local(*arrays):
        return jrm.evaluate(("ndcg@10", "ap@5"), *arrays, items_axis=("a", "b"))

    arrays = put(mesh, spec, (labels, scores, mask))
    check_equal(local(*arrays), expected)
    check_equal(jrm.evaluate(("ndcg@10", "ap@5"), *arrays), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    "kind, axes", [(AxisType.Explicit, "data"), (AxisType.Auto, ("a", "b"))]
)
def test_shard_map(kind, axes, data):
    """Local evaluation and one all-reduce pass the default check_vma with P()."""
    names = axes if isinstance(axes, tuple) else (axes,)
    mesh = make_mesh(kind, (4, 2) if len(names) == 2 else (8,), names)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P(axes), out_specs=P())
    def step(labels, scores, mask, weights):
        states = jrm.evaluate(METRICS, labels, scores, mask, weights)
        return jrm.all_reduce(states, axes)

    actual = step(*put(mesh, P(axes), data))
    check_equal(actual, jrm.evaluate(METRICS, *data))
    for leaf in jax.tree.leaves(actual):
        shards = [np.asarray(shard.data) for shard in leaf.addressable_shards]
        for shard in shards:
            np.testing.assert_array_equal(shard, shards[0])


@pytest.mark.long
def test_pmap(data):
    """The same works inside pmap, with states merged inside or after it."""

    def local(*arrays):
        states = jrm.evaluate(METRICS, *arrays)
        return states, jrm.all_reduce(states, "d")

    split = [x.reshape(8, 8, -1) for x in data]
    stacked, merged = jax.pmap(local, axis_name="d")(*split)
    expected = jrm.evaluate(METRICS, *data)
    check_equal(jrm.reduce(stacked), expected)
    check_equal(jax.tree.map(lambda x: x[0], merged), expected)


@pytest.mark.long
def test_rank_and_measure_under_a_mesh(data):
    """Rankings of sharded arrays are sharded and can be read later."""
    mesh = make_mesh(AxisType.Explicit)
    sharded = put(mesh, P("data", None), data)
    with jax.set_mesh(mesh):
        ranking = jax.jit(lambda *x: jrm.rank(*x, k=10))(*sharded)
        lists = jax.jit(lambda r: jrm.measure(("ndcg@10", "p@1,5"), r))(ranking)
        states = jax.jit(jrm.mean)(lists)
    expected = jrm.evaluate(("ndcg@10", "p@1,5"), *data)
    check_equal(states, expected)
    assert not lists["ndcg@10"].values.sharding.is_fully_replicated


@pytest.mark.long
def test_retrieved_lists_under_a_mesh(data):
    """`rank_retrieved` needs no sort, sharded or not."""
    labels, _, mask, _ = data
    sharded = put(make_mesh(AxisType.Explicit), P("data", None), (labels, mask))
    actual = jrm.mean(jrm.measure(METRICS, jrm.rank_retrieved(*sharded)))
    expected = jrm.mean(jrm.measure(METRICS, jrm.rank_retrieved(labels, mask)))
    check_equal(actual, expected)


def test_random_ties_of_a_catalogue_by_keys_that_differ():
    """A key per shard of lists breaks ties of items that are cut over another axis.

    Everything ties, so the key alone orders the items: a permutation for each list, in
    which the relevant item stands at the rank that counting gives it.
    """
    mesh = make_mesh(AxisType.Auto, (2, 4), ("data", "model"))
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


def lists_and_ids(rng):
    """Draws labels and scores of sixteen items, and takes the ids of the first four."""
    labels = rng.integers(0, 3, (8, 16)).astype(np.float32)
    scores = rng.normal(size=labels.shape).astype(np.float32)
    return labels, scores, np.tile(np.arange(4), (8, 1))


@pytest.mark.long
@pytest.mark.parametrize("sharded", ["labels", "scores", "mask", "pool"])
def test_arrays_of_which_one_is_sharded(sharded, rng):
    """A ranking may be read where its arrays were sharded in different ways."""
    mesh = make_mesh(AxisType.Explicit)
    labels, scores, _ = lists_and_ids(rng)
    arrays = {"labels": labels, "scores": scores, "mask": labels < 2, "pool": labels}

    def run(arrays):
        if sharded == "pool":
            ranking = jrm.rank_retrieved(labels, pool_labels=arrays["pool"])
        else:
            ranking = jrm.rank(arrays["labels"], arrays["scores"], arrays["mask"])
        return jrm.measure(("ndcg@3", "mrr"), ranking)

    expected = run(arrays)
    (array,) = put(mesh, P("data"), [arrays[sharded]])
    actual = run(arrays | {sharded: array})
    for name, lists in expected.items():
        np.testing.assert_allclose(actual[name].values, lists.values, rtol=1e-6)


REFUSED = {
    "labels": lambda x: jrm.ndcg(x[0], np.ones(16), **PACKED),
    "mask": lambda x: jrm.ndcg(np.ones(16), np.ones(16), x[0] > 0, **PACKED),
    "the last axis of labels": lambda x: jrm.rank_retrieved(x),
    "the last axis of pool_labels": lambda x: jrm.rank_retrieved(IDS, pool_labels=x),
    "the last axis of relevant_ids": lambda x: jrm.rank_ids(IDS, x.astype(int)),
}
IDS = np.zeros((8, 1), np.int32)
PACKED = {"segment_ids": np.zeros(16, np.int32), "num_segments": 1}


@pytest.mark.parametrize("name", REFUSED)
def test_sharded_arrays_that_are_refused(name):
    """The error names the array and gives advice that works, before compilation."""
    mesh = make_mesh(AxisType.Explicit)
    (array,) = put(mesh, P(None, "data"), [np.ones((8, 16), np.float32)])
    with pytest.raises(ValueError, match=f"{name} is sharded.*jax.device_get") as info:
        REFUSED[name](array)
    assert re.search(r"jax.shard_map|shard the lists instead", str(info.value))
    array = jax.device_get(array)
    jax.eval_shape(lambda: REFUSED[name](array))  # accepted
