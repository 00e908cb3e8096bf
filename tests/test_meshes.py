"""Sharded lists: they give the same numbers, and no score leaves its device."""

import re

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from pages import ROOT, wrong_examples

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


@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto], ids=str)
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
def test_page_of_many_devices(monkeypatch):
    """The examples of the page hold for meshes as old JAX makes them, too."""
    make = jax.make_mesh

    def make_as_before(shape, names):
        return make(shape, names, (AxisType.Auto,) * len(shape))

    monkeypatch.setattr(jax, "make_mesh", make_as_before)
    wrong = wrong_examples(ROOT / "docs" / "many-devices.md")
    assert not wrong, wrong


@pytest.mark.parametrize(
    "kind, is_local",
    [(AxisType.Explicit, False), (AxisType.Explicit, True), (AxisType.Auto, False)],
    ids=str,
)
def test_a_loop_compiles_once(kind, is_local, compilations, rng):
    """Where `empty` lies on the mesh, a step of every epoch is the same program."""
    mesh = make_mesh(kind)

    def plain(carried, labels, scores):
        return jrm.merge(carried, jrm.evaluate("mrr", labels, scores))

    def local(carried, labels, scores):
        states = jrm.all_reduce(jrm.evaluate("mrr", labels, scores), "data")
        return jrm.merge(carried, states)

    specs = (P(), P("data"), P("data"))
    mapped = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P())
    step = jax.jit(mapped if is_local else plain)
    batch = put(mesh, P("data"), [rng.integers(0, 2, (8, 4)), rng.normal(size=(8, 4))])
    for epoch in range(2):
        states = jax.device_put(jrm.empty("mrr"), NamedSharding(mesh, P()))
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


@pytest.mark.long
@pytest.mark.parametrize("number", [4, 200])
def test_relevant_ids_are_cut_in_any_way(number, rng):
    """Repeated ids are found in the whole list, however its type cuts it."""
    mesh = make_mesh(AxisType.Explicit, (2, 2), ("data", "model"))
    scores = rng.normal(size=(4, 400)).astype(np.float32)
    ids = np.argsort(rng.random((4, 400)))[:, :number]
    repeated = np.concatenate([ids[:, : number // 2]] * 2, axis=1)
    sharded = *put(mesh, P("data"), [scores]), *put(mesh, P(None, "model"), [repeated])
    recall = jax.jit(lambda x, y: jrm.recall.of(jrm.rank_scores(x, y, k=200), k=200))
    expected = recall(scores, ids[:, : number // 2])
    np.testing.assert_array_equal(recall(*sharded).values, expected.values)


REFUSED = {
    "labels": lambda x: jrm.ndcg(x[0], np.ones(16), **PACKED),
    "mask": lambda x: jrm.ndcg(np.ones(16), np.ones(16), x[0] > 0, **PACKED),
    "the last axis of labels": lambda x: jrm.rank_retrieved(x),
    "the last axis of pool_labels": lambda x: jrm.rank_retrieved(IDS, pool_labels=x),
    "the last axis of relevant_ids": lambda x: jrm.rank_ids(IDS, x.astype(int)),
}
IDS = np.zeros((8, 1), np.int32)
PACKED = {"segment_ids": np.zeros(16, np.int32), "num_segments": 1}


def test_lists_that_explicit_axes_cut_in_different_ways():
    """Lists of one call are brought into one cut, and the bootstrap reads them whole."""
    mesh = make_mesh(AxisType.Explicit, (2, 4), ("data", "model"))
    arrays = np.arange(1, 9, dtype=np.float32), np.ones(8, np.float32), np.ones(8, bool)
    lists = jrm.PerList(*arrays)
    a, b = (jrm.PerList(*put(mesh, P(axis), arrays)) for axis in mesh.axis_names)
    (ids,) = put(mesh, P("data"), [np.arange(8) // 2])
    with jax.set_mesh(mesh):
        ratios, replicates = a.over(b), jrm.bootstrap(a, ids).replicates()
    np.testing.assert_array_equal(ratios.values, np.ones(8))
    np.testing.assert_array_equal(ratios.weights, arrays[0])
    expected = jrm.bootstrap(lists, np.arange(8) // 2).replicates()
    np.testing.assert_allclose(replicates, expected, rtol=1e-6)


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


def test_sharded_ranks_are_refused():
    """Lists without labels have to be whole on a device, too."""
    (ids,) = put(make_mesh(AxisType.Explicit), P(None, "data"), [np.zeros((2, 8), int)])
    with pytest.raises(ValueError, match="first has its ranks sharded over devices"):
        jrm.overlap(ids, ids)
    with pytest.raises(ValueError, match="its neighbours sharded over devices"):
        jrm.neighbor_recall(ids, ids)
