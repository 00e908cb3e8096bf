"""Public functions under the transformations of JAX, and results that outlive them.

A row of a table is a function of `Arrays`. Each transform runs all rows of a table in one
program, and compares its results with the results of `jax.jit` on one device.
"""

import functools
import itertools
import pickle
from collections import namedtuple
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from marks import long, long_rows_but
from sources import make_mesh, put

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._values.double_floats import is_pair

LISTS, ITEMS, RANKS, BITS = 8, 16, 6, 12
KS, METRICS = (2, None), ("mrr@1,3", "ndcg@3")
RELAX = jrm.sigmoid_ranks(0.5)


# The arrays that rows read: of the items of lists, of their ranks, of lists, and of a
# catalogue.
OF_ITEMS = ("labels", "scores", "mask", "item_weights", "segments", "subtopics")
OF_RANKS = ("ids", "others", "top_labels", "top_mask", "above", "tied", "distances")
OF_LIST = ("relevant", "queries", "values", "defined", "weights", "lengths", "groups")
TABLES = ("embeddings", "counts", "genres", "is_item")
FIELDS = (*OF_ITEMS, *OF_RANKS, *OF_LIST, "names", *TABLES)
Arrays = namedtuple("Arrays", FIELDS)


def draw(seed):
    """Draws ties, padding, a list without items, and one without relevant items."""
    rng = np.random.default_rng(seed)
    shape, top = (LISTS, ITEMS), (LISTS, RANKS)

    def choice(options, shape):
        return rng.choice(np.float32(options), shape)

    def integers(start, stop, shape):
        return rng.integers(start, stop, shape).astype(np.int32)

    labels, mask = choice([0, 0, 1, 2], shape), rng.random(shape) < 0.8
    labels[1], mask[0] = 0, False
    ids, others = (integers(-3, ITEMS + 2, top) for _ in "ab")
    ids[0], others[1], others[2] = -1, -1, ids[2]
    orders = np.argsort(rng.random(shape)).astype(np.int32)
    relevant = orders[:, :2].copy()
    relevant[3, 1] = -1
    return Arrays(
        labels=labels,
        scores=np.round(rng.normal(size=shape) * 2).astype(np.float32),
        mask=mask,
        item_weights=choice([0.5, 1, 2.5], shape),
        segments=integers(-1, 3, shape),
        subtopics=rng.random((*shape, 2)) < 0.4,
        ids=ids,
        others=others,
        top_labels=labels[:, :RANKS],
        top_mask=mask[:, :RANKS],
        above=np.argsort(rng.random(top)).astype(np.int32),
        tied=np.ones(top, np.int32),
        distances=np.sort(choice([0, 0.25, 0.5, 0.75, 1], top)),
        relevant=relevant,
        queries=choice([-1, 0, 1, 2], (LISTS, 4)),
        values=rng.random((LISTS, 2)).astype(np.float32),
        defined=rng.random(LISTS) < 0.7,
        weights=choice([0.5, 1, 2.5], LISTS) * (np.arange(LISTS) != 4),
        lengths=np.full(LISTS, ITEMS, np.int32),
        groups=integers(-1, 3, LISTS),
        names=rng.permutation(100)[:LISTS].astype(np.int32),
        embeddings=choice([-1, 0, 1, 2], (ITEMS, 4)),
        counts=choice(range(40), ITEMS),
        genres=choice([0, 0, 1, 0.5], (ITEMS, 3)),
        is_item=rng.random(ITEMS) < 0.9,
    )


def same_group(query, item):
    """Labels the pairs of queries and items of one group."""
    return query[..., None] == item.reshape((1,) * query.ndim + (-1,))


def with_columns(x):
    """Ranks rows with the columns that metrics of subtopics and groups read."""
    columns = {"subtopics": x.subtopics, "groups": x.subtopics}
    how = {"k": 4, "ties": "stable", "list_weights": x.weights}
    return jrm.rank(x.labels, x.scores, x.mask, columns=columns, **how)


def known(x, name):
    """Ranks ids of items that have a column."""
    return jrm.rank_ids(in_catalog(x.ids), item_columns={name: getattr(x, name)})


def in_catalog(ids):
    """Makes padding of ids that are of no item."""
    return jnp.where(ids < ITEMS, ids, -1)


def values(x):
    """The values of lists at two cutoffs, some of them undefined."""
    return jrm.PerList(x.values, x.weights, x.defined)


def squares(x, weights=None):
    """The values of another metric, all of them defined."""
    weights = x.weights if weights is None else weights
    return jrm.PerList(x.values**2, weights, np.ones(weights.shape, bool))


# fmt: off
RANKINGS = {
    "rank": lambda x: jrm.rank(x.labels, x.scores, x.mask, x.item_weights),
    "rank, cut": with_columns,
    "rank, retrieved": lambda x: jrm.rank(x.labels, jnp.where(x.segments < 0, jnp.nan, x.scores), x.mask, retrieved=(x.segments >= 0) & (x.weights[..., None] > 0), k=4),
    "rank, packed": lambda x: jrm.rank(x.labels, x.scores, x.mask, segment_ids=x.segments, num_segments=3),
    "rank, soft": lambda x: jrm.rank(x.labels, x.scores, relax=RELAX),
    "rank, packed, soft": lambda x: jrm.rank(x.labels, x.scores, segment_ids=x.segments, num_segments=3, relax=RELAX),
    "rank_retrieved": lambda x: jrm.rank_retrieved(x.top_labels, x.top_mask, pool_labels=x.labels),
    "rank_ids": lambda x: jrm.rank_ids(x.above, x.relevant, list_weights=x.weights),
    "rank_scores": lambda x: jrm.rank_scores(x.scores, x.relevant, item_mask=x.is_item),
    "rank_scores, cut": lambda x: jrm.rank_scores(x.scores, x.relevant, exclude_ids=x.others, list_weights=x.weights, k=4, ties="stable"),
    "rank_scores, labelled": lambda x: jrm.rank_scores(x.scores, jrm.by_attributes(same_group, x.groups, np.arange(ITEMS) % 3), k=4),
    "rank_catalog": lambda x: jrm.rank_catalog(x.queries, x.embeddings, x.relevant, k=None, block_size=5),
    "rank_catalog, cut": lambda x: jrm.rank_catalog(x.queries, x.embeddings, x.relevant, k=4, block_size=5, item_mask=x.is_item),
    "rank_catalog, labelled": lambda x: jrm.rank_catalog(x.queries, x.embeddings, jrm.by_attributes(same_group, x.groups, np.arange(ITEMS) % 3), k=4, block_size=5),
    "rank_places": lambda x: jrm.rank_places(x.top_labels, x.above, x.tied, x.top_mask, num_retrieved=x.lengths, retrieved=x.distances < 1),
}
OF_LISTS = {
    "alpha_ndcg": lambda x: jrm.alpha_ndcg.of(with_columns(x), k=3),
    "jaccard": lambda x: jrm.jaccard(x.ids, x.others, KS),
    "overlap": lambda x: jrm.overlap(x.ids, x.others, KS),
    "rank_biased_overlap": lambda x: jrm.rank_biased_overlap(x.ids, x.others),
    "kendall_tau": lambda x: jrm.kendall_tau(x.ids, x.others),
    "spearman_rho": lambda x: jrm.spearman_rho(x.ids, x.others),
    "popularity": lambda x: jrm.popularity.of(known(x, "counts"), k=KS),
    "novelty": lambda x: jrm.novelty.of(known(x, "counts"), k=KS, by="users", num_users=50),
    "intra_list_diversity": lambda x: jrm.intra_list_diversity.of(known(x, "embeddings"), k=KS),
    "serendipity": lambda x: jrm.serendipity.of(jrm.rank_ids(in_catalog(x.ids), in_catalog(x.relevant), item_columns={"counts": x.counts}), k=KS),
    "miscalibration": lambda x: jrm.miscalibration.of(jrm.rank_ids(in_catalog(x.ids), item_columns={"genres": x.genres}, profile_ids=in_catalog(x.others), profile_weights=x.distances), k=KS),
    "popularity_lift": lambda x: jrm.popularity_lift.of(jrm.rank_ids(in_catalog(x.ids), item_columns={"counts": x.counts}, profile_ids=in_catalog(x.others)), k=KS),
    "neighbor_recall": lambda x: jrm.neighbor_recall(x.distances, x.distances[..., ::2], KS, 0.1, x.ids),
    "sampled_labels": lambda x: jrm.sampled_labels("ndcg@3", x.item_weights / 3, x.scores, jax.random.key(0), 4),
    "slopes of soft ranks": lambda x: jax.grad(lambda scores: jrm.ndcg.per_list(x.labels, scores, relax=RELAX).values.sum())(x.scores),
    "slopes of packed soft ranks": lambda x: jax.grad(lambda scores: jrm.ndcg.per_list(x.labels, scores, segment_ids=x.segments, num_segments=3, relax=RELAX).values.sum())(x.scores),
    "paired": lambda x: jrm.paired(values(x), squares(x), "zero"),
    "over": lambda x: values(x).over(squares(x)),
}
STATES = {
    "evaluate": lambda x: jrm.evaluate(METRICS, x.labels, x.scores, x.mask, undefined="skip"),
    "mean": lambda x: values(x).mean("skip"),
    "mean, constant weights": lambda x: squares(x, np.ones(x.weights.shape, np.float32)).mean(),
    "mean of a ratio": lambda x: values(x).over(squares(x)).mean(),
    "geometric_mean": lambda x: values(x).geometric_mean(),
    "quantiles": lambda x: values(x).quantiles(bins=4),
    "quantiles, constant weights": lambda x: squares(x, np.ones(x.weights.shape, np.float32)).quantiles(bins=4),
    "by": lambda x: values(x).by(x.groups, 3),
    "bootstrap": lambda x: jrm.bootstrap(values(x), x.names, samples=5),
    "exposure": lambda x: jrm.exposure(x.ids, ITEMS),
    "exposure, discounted": lambda x: jrm.exposure(x.ids, ITEMS, jrm.log2_discount),
    "group_exposure": lambda x: jrm.group_exposure(with_columns(x), k=3),
    "pooled_roc_auc": lambda x: jrm.pooled_roc_auc(x.labels, x.scores, x.mask, bits=BITS),
    "pooled_roc_auc, weighted": lambda x: jrm.pooled_roc_auc(x.labels, x.scores, x.mask, x.item_weights, bits=BITS),
    "pooled_average_precision": lambda x: jrm.pooled_average_precision(x.labels, x.scores, x.mask, bits=BITS),
}
# fmt: on
ROWS = {"rankings": RANKINGS, "lists": OF_LISTS, "states": STATES}
# Random labels are drawn for the lists of a call, and in double precision other ones.
DRAWN = ("sampled_labels",)


def run(table, x, but=()):
    """Calls the rows of a table, and measures the rankings that they return."""
    return read(table, called(table, x, but))


def called(table, x, but=()):
    return {name: row(x) for name, row in ROWS[table].items() if name not in but}


def read(table, results):
    if table != "rankings":
        return results
    return {name: jrm.measure(METRICS, ranking) for name, ranking in results.items()}


@functools.cache
def outside(table):
    """Calls the rows of a table outside of `jax.jit`."""
    return called(table, draw(0))


@functools.cache
def in_jit(table, seed=0):
    """Returns what the rows of a table return in a program on one device."""
    return jax.device_get(program_of(table)(draw(seed)))


@functools.cache
def program_of(table):
    """Compiles the rows of a table as one program."""
    return jax.jit(partial(run, table))


def sum_of(pair):
    return np.asarray(pair.high, float) + np.asarray(pair.low, float)


def same(actual, expected, limit=1e-6):
    """Checks dtypes and numbers leaf by leaf, and counts exactly; pairs are one number."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for (path, x), y in zip(
        jax.tree_util.tree_leaves_with_path(expected, is_leaf=is_pair),
        jax.tree.leaves(actual, is_leaf=is_pair),
        strict=True,
    ):
        name, limits = jax.tree_util.keystr(path), {"rtol": limit, "atol": limit}
        if is_pair(x):
            x, y = map(sum_of, (x, y))
        assert np.asarray(y).dtype == np.asarray(x).dtype, name
        if np.asarray(x).dtype.kind != "f":
            limits = {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(y, x, **limits, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("table", ROWS)
def test_plain_calls(table, compilations):
    """They return what programs do, and compile nothing for other data of the same shapes."""
    check(table, read(table, outside(table)))
    compilations.clear()
    same(run(table, draw(1)), in_jit(table, 1))
    assert not compilations


@pytest.mark.long
def test_exported():
    """Rankings are exported for every platform, but for one that holds a user's function."""
    but = ("rank_catalog, labelled",)
    program = jax.jit(lambda *x: called("rankings", Arrays(*x), but))
    exported = export.export(program, platforms=("cpu", "cuda", "tpu"))(*draw(0))
    rankings = export.deserialize(exported.serialize()).call(*draw(0))
    check("rankings", read("rankings", rankings))


@pytest.mark.parametrize("table", [*long("rankings", "lists"), "states"])
def test_pickled(table):
    """Rankings, values and states survive `pickle`, with their structure and all bits."""
    results = program_of(table)(draw(0)) if table == "states" else outside(table)
    copies = pickle.loads(pickle.dumps(results))
    same(copies, results, 0)
    if table == "lists":  # printing others would compile many programs
        assert repr(copies) == repr(results)


ONE_LIST = Arrays(*(None if name in TABLES else 0 for name in FIELDS))


def in_vmap(table, x, but=()):
    """Maps the rows of a table over the leading axis of lists."""
    mapped = jax.vmap(lambda x: called(table, x, but), (ONE_LIST,))
    return jax.device_get(jax.jit(lambda x: read(table, mapped(x)))(x))


@pytest.mark.long
@pytest.mark.parametrize("table", ["rankings", "lists"])
def test_vmap(table):
    """A list by itself has the value that it has among others; rankings are read outside."""
    check(table, in_vmap(table, draw(0), DRAWN))


def in_batches(x):
    """Cuts arrays into two batches of lists, along a new leading axis."""

    def split(name, array):
        return array if name in TABLES else array.reshape(2, 4, *array.shape[1:])

    return Arrays(*map(split, FIELDS, x))


def joined(table, results):
    """Joins the batches of values of lists, which states are not."""
    if table == "states":
        return results
    return jax.tree.map(lambda x: np.reshape(x, (LISTS, *x.shape[2:])), results)


@functools.cache
def empty():
    """Makes the states of no lists; a `Bootstrap` has none."""
    mean, histogram = jrm.Mean.empty((2,)), jrm.Histogram.empty((2,), bins=4)
    pooled = jrm.PooledRocAuc.empty(BITS)
    return {
        "evaluate": jrm.empty(METRICS),
        "mean": mean,
        "mean, constant weights": mean,
        "mean of a ratio": mean,
        "geometric_mean": jrm.GeometricMean.empty((2,)),
        "quantiles": histogram,
        "quantiles, constant weights": histogram,
        "by": jax.tree.map(lambda x: np.stack([x] * 3), mean),
        "exposure": jrm.Exposure.empty(ITEMS, RANKS),
        "exposure, discounted": jrm.Exposure.empty(ITEMS, RANKS, discounted=True),
        "group_exposure": jrm.GroupExposure.empty(2),
        "pooled_roc_auc": pooled,
        "pooled_roc_auc, weighted": pooled,
        "pooled_average_precision": jrm.PooledAveragePrecision.empty(BITS),
    }


READ = """compute std_error confidence_interval n_eff bounds positives negatives replicates
    coverage gini entropy personalization non_empty min max shares parity treatment_ratio
    impact_ratio lists undefined""".split()
# They sum the lists of a batch in single floats, and batches in pairs of floats.
IN_SINGLE_FLOATS = ("bootstrap", "exposure, discounted")


@jax.jit
def numbers(states):
    """Reads all numbers of states."""

    def numbers_of(state):
        read = {name: getattr(state, name) for name in READ if hasattr(state, name)}
        return {name: x() if callable(x) else x for name, x in read.items()}

    return jax.tree.map(numbers_of, states, is_leaf=lambda x: hasattr(x, "merge"))


def same_states(actual, expected):
    """Checks sums to twice the precision of floats, and all numbers that are read of them."""
    for name, state in expected.items():
        limit = 1e-6 if name in IN_SINGLE_FLOATS else 1e-12
        same({name: actual[name]}, {name: state}, limit)
    same(numbers(actual), numbers(expected))


def check(table, actual):
    """Checks the results of the rows of a table that were run."""
    expected = {name: in_jit(table)[name] for name in actual}
    (same_states if table == "states" else same)(jax.device_get(actual), expected)


def test_merged_states():
    """States of batches merge to the state of all lists, in any order and from a stack.

    `empty` has their structure, and adds nothing.
    """
    x, expected = draw(0), in_jit("states")
    stacked = in_vmap("states", in_batches(x))
    first, second = (jax.tree.map(lambda x, at=at: x[at], stacked) for at in (0, 1))
    merged = jrm.merge(first, second)
    same_states(merged, expected)
    same(jrm.merge(second, first), merged, 0)
    same_states(jrm.reduce(stacked), expected)
    of_all = {name: expected[name] for name in empty()}
    same(jrm.merge(empty(), of_all), of_all, 0)
    same(jrm.merge(of_all, empty()), of_all, 0)


@pytest.mark.parametrize(
    "names", [("exposure", "mean", "quantiles"), *long(tuple(STATES))]
)
def test_stacked_states(names):
    """Each state of a stack has the numbers that it has by itself."""
    stacked = in_vmap("states", in_batches(draw(0)), {*STATES} - {*names})
    of_stack = numbers(stacked)
    for at in (0, 1):
        x, y = (jax.tree.map(lambda x, at=at: x[at], x) for x in (stacked, of_stack))
        same(y, numbers(x))


MESH = make_mesh((2, 4), ("a", "b"), AxisType.Explicit)
AUTO = make_mesh((2, 4), ("a", "b"))
BOTH = P(("a", "b"))
# How to cut arrays of lists and items, other arrays of lists, and the items of a catalogue.
WAYS = {
    "lists": (BOTH, BOTH, None),
    "axes": (P("a", "b"), P("a", "b"), None),
    "some": (BOTH, BOTH, None),  # and every second array is not on the mesh
    "others": (BOTH, BOTH, None),
    "items": (P("a", "b"), P("a"), P("b")),
    "apart": (P(None, "b"), P("a"), P("a")),
}
# If a call refuses arrays that are cut, it says why.
PACKED = dict.fromkeys(
    ("rank, packed", "rank, packed, soft", "slopes of packed soft ranks"),
    " is sharded over devices, as P",
)
CUT_LISTS = {
    "rank_catalog, labelled": "label_fn labels the items in 4 blocks",
    **PACKED,
}
CUT_ITEMS = {
    **CUT_LISTS,
    "rank": "k is None, but the items of a list are sharded",
    "rank, soft": "relax is given, but the items of a list are sharded",
    "slopes of soft ranks": "relax is given, but the items of a list are sharded",
    "rank_retrieved": "the last axis of pool_labels is sharded",
    "alpha_ndcg": "the greedy ideal needs every item of a list",
}


def cut(x, way, mesh=MESH):
    """Puts arrays on a mesh, but for tables that have to be whole, and for names."""
    of_items, of_lists, of_tables = WAYS[way]

    def cut_array(at, name, array):
        spec = of_items if name in OF_ITEMS else of_lists
        if name in (*TABLES, "names"):
            spec = of_tables if name in ("embeddings", "is_item") else None
        if way in ("some", "others") and at % 2 == (way == "others"):
            spec = None
        return array if spec is None else put(mesh, array, *spec)

    return Arrays(*map(cut_array, range(len(FIELDS)), FIELDS, x))


CELLS = long_rows_but([("states", "lists")], itertools.product(ROWS, WAYS))


@pytest.mark.parametrize("table, way", CELLS)
def test_mesh(table, way):
    """Types say how arrays are cut: calls return the same, or say why they cannot."""
    x = cut(in_batches(draw(0)) if way == "axes" else draw(0), way)
    refused = CUT_ITEMS if way in ("items", "apart") else CUT_LISTS
    for name in {*refused} & {*ROWS[table]}:
        with pytest.raises(ValueError, match=refused[name]):
            jax.eval_shape(lambda name=name: run(table, x, {*ROWS[table]} - {name}))
    # Under "apart", functions of ids are cut as under "items"; one reads items that are not.
    is_cut_before = table == "lists" and way == "apart"
    but = {*refused, *OF_LISTS} - {"sampled_labels"} if is_cut_before else refused
    actual = jax.jit(lambda x: run(table, x, but))(x)
    if way == "lists" and table != "states":  # no device has them all
        specs = [leaf.sharding.spec for leaf in jax.tree.leaves(actual)]
        assert {spec[0] for spec in specs} == {("a", "b")}
    check(table, joined(table, actual) if way == "axes" else actual)


@pytest.mark.long
@pytest.mark.parametrize("table", ROWS)
def test_auto_mesh(table):
    """Types do not say how arrays are cut, and the compiler divides the work."""
    actual = program_of(table)(cut(draw(0), "lists", AUTO))
    check(table, actual)
    if table != "states":
        assert not all(x.sharding.is_fully_replicated for x in jax.tree.leaves(actual))


@pytest.mark.parametrize("table", [*long("rankings", "lists"), "states"])
def test_shard_map(table):
    """Devices call with lists of their own; `all_reduce` gives all of them the same bits."""

    def local(x):
        results = run(table, x, DRAWN)
        return jrm.all_reduce(results, ("a", "b")) if table == "states" else results

    specs = Arrays(*(P() if name in TABLES else BOTH for name in FIELDS))
    out_specs = P() if table == "states" else BOTH
    mapped = jax.shard_map(local, mesh=AUTO, in_specs=(specs,), out_specs=out_specs)
    actual = jax.jit(mapped)(draw(0))
    check(table, actual)
    for leaf in jax.tree.leaves(actual) if table == "states" else ():
        bits = [np.asarray(shard.data).tobytes() for shard in leaf.addressable_shards]
        assert bits == bits[:1] * LISTS


# Functions of ids alone have no floats to take their precision from.
IN_SINGLE = ("jaccard", "overlap", "rank_biased_overlap", "kendall_tau", "spearman_rho")


@pytest.mark.long
@pytest.mark.parametrize("table", ROWS)
def test_double_precision(table):
    """Arrays of 64 bits give the same values; counts are still of 32 bits.

    States are read, merged and shown as others when the option is off again.
    """
    wide = [x.astype({"f": float, "i": int}.get(x.dtype.kind, bool)) for x in draw(0)]
    with jax.enable_x64(True):
        actual = jax.jit(lambda x: run(table, x, DRAWN))(Arrays(*wide))
    expected = {name: in_jit(table)[name] for name in actual}
    for name, results in expected.items():
        for x, y in zip(*map(jax.tree.leaves, (actual[name], results)), strict=True):
            is_wide = y.dtype == np.float32 and name not in IN_SINGLE
            assert x.dtype == (np.float64 if is_wide else y.dtype), name
    if table == "states":
        actual, expected = (
            {name: states[name] for name in empty()} for states in (actual, expected)
        )
        for name in {*empty()} - {"by"}:  # which is a stack, and shows its dtype
            assert repr(actual[name]) == repr(expected[name])
        actual = jax.device_get(jrm.merge(empty(), actual))
        same(numbers(actual), numbers(expected))
    actual = jax.device_get(actual)
    same(jax.tree.map(lambda x, y: x.astype(y.dtype), actual, expected), expected)


def read_outside(x):
    """Reads values and states as users do who print them, and returns texts and numbers."""
    lists = jrm.measure(METRICS, jrm.rank(x.labels, x.scores, k=4))
    places, gains = lists.values()
    of_others = jrm.mean(jrm.measure(METRICS, jrm.rank(*draw(1)[:2], k=4)))
    merged, shown = jrm.merge(jrm.mean(lists), of_others), jrm.exposure(x.ids, ITEMS)
    texts = [lists, merged, gains.quantiles(), shown, jrm.table({"x": lists})]
    chosen = [
        gains[3],
        gains[:5],
        [*gains][1],
        gains.over(gains),
        places[x.defined],
    ]
    states = {"bootstrap": jrm.bootstrap(gains, draw(0).names, samples=5)}
    states |= {"clusters": gains.cluster(draw(0).groups).mean()}
    states |= {
        "groups": gains.by(draw(0).groups, 3),
        "geometric": gains.geometric_mean(),
    }
    numbers_of = {name: (s.compute(), s.std_error()) for name, s in states.items()}
    read = chosen, numbers_of, jrm.compute(merged, flat=True, host=True)
    return "\n".join(map(repr, texts)), jax.tree.map(np.asarray, read)


@pytest.mark.long
@pytest.mark.parametrize("mesh", [MESH, AUTO], ids=["Explicit", "Auto"])
def test_outside_of_programs(mesh):
    """Results are selected, joined and printed as on one device, under `set_mesh` too."""
    place._table.cache_clear()  # as in a process that has measured nothing yet
    with jax.set_mesh(mesh):
        text, actual = read_outside(cut(draw(0), "lists", mesh))
    expected_text, expected = read_outside(draw(0))
    assert text == expected_text
    same(actual, expected)
