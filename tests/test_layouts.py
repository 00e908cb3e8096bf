"""One formula on every source of rankings: the same lists have the same values.

The lists are those of a catalogue: one pool of items, of which each list leaves some out,
with many tied scores. Every source is handed the same lists in its own way.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, CORE, EVERY, FEW, KEYLESS_ORDERS, TOP, metrics
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from quick_programs import quick_jit

import jax_rank_metrics as jrm
from jax_rank_metrics.testing import COLUMNS

LISTS, ITEMS, RELEVANT, EXCLUDED = 8, 48, 9, 5
KS = (1, 10)


@dataclasses.dataclass(frozen=True)
class Problem:
    """Lists, as rows and as a catalogue."""

    labels: np.ndarray  # [lists, items]
    scores: np.ndarray
    mask: np.ndarray
    weights: np.ndarray | None
    list_weights: np.ndarray
    relevant_ids: np.ndarray
    relevant_labels: np.ndarray
    exclude_ids: np.ndarray
    item_mask: np.ndarray
    item_groups: np.ndarray  # [items, groups]
    listed_columns: dict  # [lists, relevant, ...]: those of all other items are 0
    columns: tuple  # the names of those that are passed, `groups` among them

    def rows(self, **changes):
        """Returns the arguments of `rank`."""
        options = {
            "list_weights": self.list_weights,
            "weights": self.weights,
            "columns": self.row_columns(),
        }
        arrays = (self.labels, self.scores, self.mask)
        return arrays, options | changes

    def row_columns(self):
        """Returns the columns of every item, `[lists, items, ...]`."""
        columns = {}
        for name in self.columns:
            if name == "groups":
                columns[name] = np.stack([self.item_groups] * LISTS)
                continue
            listed = self.listed_columns[name]
            columns[name] = np.zeros((LISTS, ITEMS, *listed.shape[2:]), listed.dtype)
            for row, ids in enumerate(self.relevant_ids):
                columns[name][row, ids[ids >= 0]] = listed[row, ids >= 0]
        return columns

    def columns_beside_ids(self):
        """Returns the columns of listed items, and the groups of all."""
        columns = {n: self.listed_columns[n] for n in self.columns if n != "groups"}
        return columns, self.item_groups if "groups" in self.columns else None

    def for_source(self, source):
        """Returns the problem with the columns that a source accepts."""
        names = {"labelled": ()}.get(source, self.columns)
        if source in COUNTED:  # costs of items that are not listed are not known
            names = tuple(name for name in names if name != "costs")
        return dataclasses.replace(self, columns=names)


def draw(rng, *, weigh_items=False, tied=True):
    """Draws graded labels, a list without items, and one without relevant items."""
    scores = rng.permutation(LISTS * ITEMS).reshape(LISTS, ITEMS).astype(np.float32)
    if tied:
        scores = np.round(rng.normal(size=(LISTS, ITEMS)) * 2).astype(np.float32)
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant[0] = -1
    relevant[1, 3:] = -1
    exclude = np.stack([rng.permutation(ITEMS)[:EXCLUDED] for _ in range(LISTS)])
    exclude[1] = -1
    relevant_labels = rng.choice([0, 0.5, 1, 1.75, 2, 3], relevant.shape).astype(
        np.float32
    )
    relevant_labels[np.arange(LISTS), rng.integers(3, size=LISTS)] = TOP
    item_mask = rng.random(ITEMS) > 0.1
    labels = np.zeros((LISTS, ITEMS), np.float32)
    mask = np.broadcast_to(item_mask, labels.shape).copy()
    for row in range(LISTS):
        for place, label in zip(relevant[row], relevant_labels[row], strict=True):
            if place >= 0:
                labels[row, place] = label
        mask[row, exclude[row][exclude[row] >= 0]] = False
    weights = rng.gamma(2, size=labels.shape).astype(np.float32)
    return Problem(
        labels,
        scores,
        mask,
        weights if weigh_items else None,
        rng.gamma(2, size=LISTS).astype(np.float32),
        relevant.astype(np.int32),
        relevant_labels,
        exclude.astype(np.int32),
        item_mask,
        COLUMNS["groups"](rng, (ITEMS,)),
        {name: column(rng, relevant.shape) for name, column in COLUMNS.items()},
        tuple(COLUMNS),
    )


@pytest.fixture
def problem(rng):
    """Draws lists with tied scores."""
    return draw(rng)


def table(source, ties, ks=KS, cases=EVERY):
    """All metrics that a source and its cut can serve.

    Policies differ in the order alone, so that under one of them two tell all: the one
    that reads every rank, and the one that counts.
    """
    if ties is not None:
        cases = {
            n: CORE[n] for n in ("average_precision", "reciprocal_rank") if n in CORE
        }
    if None not in ks:
        cases = {name: case for name, case in cases.items() if case.has_k}
    kind = {"plain": "sharded"}.get(source, source)
    if source == "places" or (source in COUNTED and None in ks):
        kind = "places"
    elif source in (*CATALOGS, "labelled", "ids"):
        kind = "catalog"
    cases = {n: c for n, c in cases.items() if kind not in c.refused}
    if source == "labelled":  # has no columns
        cases = {n: c for n, c in cases.items() if not c.columns}
    if source == "places" and ties is None:  # ties are no order
        cases = {n: c for n, c in cases.items() if c.closed_form}
    return metrics(ks, ties, cases)


def make_mesh(shape, names, kind=AxisType.Auto):
    """Makes a mesh over the first devices."""
    devices = jax.devices()[: int(np.prod(shape))]
    kinds = (kind,) * len(shape)
    return jax.make_mesh(shape, names, axis_types=kinds, devices=devices)


# The sources: each a function of a problem and of `k, ties, key` that gives a ranking, or
# what `then` reads from it.


def padded(problem, then=lambda ranking: ranking, **how):
    """Ranks lists as rows."""
    arrays, options = problem.rows(**how)
    return then(jrm.rank(*arrays, **options))


def packed(problem, then=lambda ranking: ranking, order=None, **how):
    """Ranks packed lists, with items shuffled unless their order matters."""
    arrays, options = problem.rows(**how)
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    if order is None:
        order = np.arange(ids.size)
        if how.get("ties") not in (None, "stable"):
            order = np.random.default_rng(5).permutation(ids.size)
    if options["weights"] is not None:
        options["weights"] = options["weights"].reshape(-1)[order]
    flat = (x.reshape(-1)[order] for x in arrays)
    options["columns"] = {
        name: x.reshape(-1, *x.shape[2:])[order]
        for name, x in options["columns"].items()
    }
    return then(jrm.rank(*flat, segment_ids=ids[order], num_segments=LISTS, **options))


def sharded(problem, then=lambda ranking: ranking, devices=(1, 8), **how):
    """Ranks inside shard_map, with items and lists cut over one mesh axis each."""
    arrays, options = problem.rows(**how)
    mesh = make_mesh(devices, ("data", "model"))
    key = options.pop("key", None)
    of_items = {name: options.pop(name) for name in ("weights", "columns")}
    list_weights = options.pop("list_weights")

    @quick_jit
    @jax.shard_map(
        mesh=mesh,
        in_specs=(P("data", "model"), P("data"), P()),
        out_specs=P("data"),
    )
    def run(items, list_weights, key):
        *arrays, of_items = items
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        how = options | of_items | {"list_weights": list_weights, "key": key}
        return then(jrm.rank(*arrays, items_axis="model", **how))

    return run((*arrays, of_items), list_weights, key)


def plain(problem, then=lambda ranking: ranking, kind=AxisType.Explicit, **how):
    """Ranks by the plain call on arrays whose lists and items are sharded."""
    arrays, options = problem.rows(**how)
    mesh = make_mesh((2, 4), ("data", "model"), kind)

    def put(x, spec):
        return None if x is None else jax.device_put(x, NamedSharding(mesh, spec))

    for name in ("weights", "columns"):
        options[name] = jax.tree.map(
            lambda x: put(x, P("data", "model")), options[name]
        )
    options["list_weights"] = put(options["list_weights"], P("data"))
    return then(jrm.rank(*(put(x, P("data", "model")) for x in arrays), **options))


def catalog(problem, then=lambda ranking: ranking, block_size=7, devices=None, **how):
    """Ranks a catalogue; queries are one-hot, so that products are the scores."""
    items = problem.scores.T
    options = {
        "relevant_labels": problem.relevant_labels,
        "exclude_ids": problem.exclude_ids,
        "list_weights": problem.list_weights,
    }
    options["columns"], groups = problem.columns_beside_ids()
    queries, relevant_ids = np.eye(LISTS, dtype=np.float32), problem.relevant_ids
    key = how.pop("key", None)
    how |= {"block_size": block_size, "item_groups": groups}
    if devices is None:
        options |= how | {"item_mask": problem.item_mask, "key": key}
        return then(jrm.rank_catalog(queries, items, relevant_ids, **options))
    mesh = make_mesh(devices, ("data", "model"))

    @quick_jit
    @jax.shard_map(
        mesh=mesh,
        in_specs=(P("data"), P("model"), P()),
        out_specs=P("data"),
    )
    def run(lists, of_items, key):
        queries, relevant_ids, options = lists
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        return then(
            jrm.rank_catalog(
                queries,
                of_items[0],
                relevant_ids,
                **options,
                **how,
                item_mask=of_items[1],
                items_axis="model",
                key=key,
            )
        )

    return run((queries, relevant_ids, options), (items, problem.item_mask), key)


def from_table(query, item):
    """Labels items by tables in place of attributes."""
    return item["labels"][:, query].T, ~item["mask"][:, query].T


def labelled(problem, then=lambda ranking: ranking, block_size=7, **how):
    """Ranks a catalogue whose items a function labels."""
    return then(
        jrm.rank_catalog(
            np.eye(LISTS, dtype=np.float32),
            problem.scores.T,
            jrm.by_attributes(
                from_table,
                np.arange(LISTS),
                {"labels": problem.labels.T, "mask": problem.mask.T},
            ),
            list_weights=problem.list_weights,
            block_size=block_size,
            **how,
        )
    )


def places(problem, then=lambda ranking: ranking, k=None, ties=None):
    """Counts the places of listed items, and passes nothing else."""
    del k
    ids, shape = np.maximum(problem.relevant_ids, 0), problem.relevant_ids.shape
    above, tied = np.zeros(shape, int), np.ones(shape, int)
    for row, exists in enumerate(problem.mask):
        labels, scores = problem.labels[row], problem.scores[row]
        for column, item in enumerate(ids[row]):
            is_tied = exists & (scores == scores[item])
            above[row, column] = (exists & (scores > scores[item])).sum()
            if ties is None:
                tied[row, column] = max(is_tied.sum(), 1)
                continue
            sign = {"stable": 0, "best": -1, "worst": 1}[ties]
            order = sorted(np.flatnonzero(is_tied), key=lambda i: sign * labels[i])
            above[row, column] += order.index(item) if exists[item] else 0
    is_listed = problem.relevant_ids >= 0
    columns, groups = problem.columns_beside_ids()
    return then(
        jrm.rank_places(
            problem.relevant_labels,
            *(above, tied),
            is_listed & np.take_along_axis(problem.mask, ids, 1),
            num_retrieved=problem.mask.sum(-1),
            columns=columns if groups is None else columns | {"groups": groups[ids]},
            list_weights=problem.list_weights,
        )
    )


WEIGHABLE = {
    "packed": packed,
    "sharded": functools.partial(sharded, devices=(2, 4)),
    "plain": plain,
}
CATALOGS = {
    "catalog": catalog,
    "catalog-sharded": functools.partial(catalog, block_size=4, devices=(2, 4)),
}
COUNTED = CATALOGS | {"places": places}
SOURCES = WEIGHABLE | COUNTED | {"labelled": labelled}
POLICIES = (None, *KEYLESS_ORDERS)


def check_same(actual, expected):
    """Checks that values, weights and defined lists are the same."""
    assert actual.keys() == expected.keys()
    for name, lists in expected.items():
        np.testing.assert_allclose(
            actual[name].values,
            lists.values,
            rtol=CASES[name].rtol if name in CASES else 1e-6,
            atol=1e-6,
            err_msg=name,
        )
        np.testing.assert_allclose(
            actual[name].weights, lists.weights, rtol=1e-6, err_msg=name
        )
        np.testing.assert_array_equal(actual[name].defined, lists.defined, name)


@pytest.mark.parametrize(
    "source, ties, cases",
    [
        pytest.param("sharded", None, CORE, id="core"),
        *(
            pytest.param(
                source, ties, EVERY, id=f"{source}-{ties}", marks=pytest.mark.long
            )
            for source in SOURCES
            for ties in POLICIES
        ),
    ],
)
def test_every_metric_on_every_source(source, ties, cases, rng):
    """Sources agree at cutoffs, under policies without a key; weights may break ties."""
    problem = draw(rng, weigh_items=source in WEIGHABLE and ties is not None)
    problem = problem.for_source(source)
    then = functools.partial(jrm.measure, table(source, ties, cases=cases))
    expected = quick_jit(lambda: padded(problem, then, k=KS, ties=ties))()
    actual = SOURCES[source](problem, then, k=KS, ties=ties)
    check_same(actual, expected)


@pytest.mark.long
@pytest.mark.parametrize("source", WEIGHABLE)
def test_item_weights_on_every_source(source, rng):
    """Sources agree on weighted gains, and on the list weights that they imply."""
    problem = draw(rng, weigh_items=True)
    then = functools.partial(jrm.measure, ("ndcg@1,10",))
    expected = padded(problem, then, k=KS, list_weights=None)
    check_same(SOURCES[source](problem, then, k=KS, list_weights=None), expected)


@pytest.mark.long
def test_items_that_the_compiler_divides(problem):
    """The plain call agrees on a mesh of Auto axes, which the compiler partitions."""
    then = functools.partial(jrm.measure, metrics(KS, None, FEW))
    actual = plain(problem, then, AxisType.Auto, k=KS)
    check_same(actual, padded(problem, then, k=KS))


@pytest.mark.long
@pytest.mark.parametrize(
    "source, ties",
    [
        ("catalog", None),
        ("catalog-sharded", None),
        *(("packed", ties) for ties in POLICIES),
        *(("places", ties) for ties in POLICIES),
    ],
)
def test_whole_lists_on_every_source(source, ties, problem):
    """Sources agree without a cutoff, where a catalogue counts places."""
    ks = (KS[-1], None)
    problem = problem.for_source(source)
    then = functools.partial(jrm.measure, table(source, ties, ks))
    expected = padded(problem, then, k=ks, ties=ties)
    # With k=None a catalogue counts places, and holds relevant items alone.
    k = None if source in COUNTED else ks
    check_same(SOURCES[source](problem, then, k=k, ties=ties), expected)


@pytest.mark.parametrize("kind", ["places", "catalog", "sharded"])
def test_what_sources_refuse(kind, problem):
    """A metric raises where a source does not know what it reads."""
    problem = problem.for_source(kind)
    for name, case in EVERY.items():
        if kind in case.refused:
            then = functools.partial(jrm.measure, metrics(KS, None, {name: case}))
            with pytest.raises(ValueError, match=name.partition("-")[0]):
                jax.eval_shape(lambda then=then: SOURCES[kind](problem, then, k=KS))


@pytest.mark.long
def test_a_cut_beyond_the_catalogue(problem):
    """A cutoff beyond the list ranks every item, also for gains of the label 0."""
    ks = (*KS, None)
    names = ("ndcg-own-functions", "r_precision")
    cases = {name: CASES[name] for name in names}
    then = functools.partial(jrm.measure, metrics(ks, None, cases))
    expected = padded(problem, then, k=ks)
    check_same(catalog(problem, then, k=10 * ITEMS), expected)


@pytest.mark.long
@pytest.mark.parametrize("source", ["packed", "sharded", "catalog", "catalog-none"])
def test_random_ties_have_the_expected_mean(source, problem):
    """Means over 2,000 keys are within five standard errors, per list and cutoff."""
    number = 2_000
    then = functools.partial(jrm.measure, ("p@1,10", "ap@1,10"))
    expected = padded(problem, then, k=KS, ties="expected")

    def every_key(values_of):
        keys = jax.random.split(jax.random.key(1), number)
        return jax.lax.map(values_of, keys)

    if source == "sharded":
        # One program for all keys: the loop is inside shard_map.
        arrays, options = problem.rows(k=KS, ties="random", columns={})
        mesh = make_mesh((2, 4), ("data", "model"))

        @jax.jit
        @jax.shard_map(
            mesh=mesh,
            in_specs=(P("data", "model"), P("data")),
            out_specs=P(None, "data"),
        )
        def run(arrays, list_weights):
            def values_of(key):
                key = jax.random.fold_in(key, jax.lax.axis_index("data"))
                changes = {"list_weights": list_weights, "key": key}
                return then(
                    jrm.rank(*arrays, items_axis="model", **(options | changes))
                )

            return every_key(values_of)

        actual = run(arrays, options["list_weights"])
    else:
        k = None if source == "catalog-none" else KS
        make = functools.partial(SOURCES.get(source, catalog), problem, then, k=k)
        actual = jax.jit(lambda: every_key(lambda key: make(ties="random", key=key)))()
    for name, lists in actual.items():
        values = np.asarray(lists.values, np.float64)
        margin = 5 * values.std(axis=0) / np.sqrt(number) + 1e-5
        difference = np.abs(values.mean(axis=0) - np.asarray(expected[name].values))
        assert (difference <= margin).all(), name


@pytest.mark.long
@pytest.mark.parametrize("source", ["ids", "retrieved"])
def test_what_was_retrieved(source, rng):
    """Lists in rank order give the values of ranked lists."""
    problem = draw(rng, tied=False)
    ks = (*KS, None)
    scores = np.where(problem.mask, problem.scores, -np.inf)
    ids = np.argsort(-scores, axis=-1, kind="stable")
    kept = np.take_along_axis(problem.mask, ids, axis=-1)
    if source == "retrieved":
        in_order = functools.partial(np.take_along_axis, indices=ids, axis=1)
        actual = jrm.rank_retrieved(
            in_order(problem.labels),
            kept,
            pool_labels=problem.labels,
            pool_mask=problem.mask,
            columns={
                name: x[np.arange(LISTS)[:, None], ids]
                for name, x in problem.row_columns().items()
            },
            pool_columns=problem.row_columns(),
            list_weights=problem.list_weights,
        )
    else:
        judged = (problem.relevant_ids >= 0) & np.take_along_axis(
            problem.mask, np.maximum(problem.relevant_ids, 0), axis=-1
        )
        problem = problem.for_source("catalog")
        columns, groups = problem.columns_beside_ids()
        actual = jrm.rank_ids(
            np.where(kept, ids, -1),
            np.where(judged, problem.relevant_ids, -1),
            problem.relevant_labels,
            columns=columns,
            item_groups=groups,
            list_weights=problem.list_weights,
        )
    then = functools.partial(jrm.measure, table(source, None, ks))
    expected = padded(problem, then, k=ks)
    check_same(then(actual), expected)


# Packed lists


@pytest.mark.long
def test_packed_ids(problem):
    """Ids may have any order and integer type; items of no list are padding."""
    then = functools.partial(jrm.measure, metrics(KS, None, FEW))
    expected = packed(problem, then, k=KS, ties="best")
    ids = np.repeat(np.arange(LISTS), ITEMS)
    order = np.random.default_rng(0).permutation(ids.size + 20)
    ids = np.append(ids, [-1, -7, -LISTS, -(2**31)] * 5)[order]

    def flat(x):
        x = x.reshape(LISTS * ITEMS, *x.shape[2:])
        padding = np.nan if x.dtype == np.float32 else True
        return np.append(x, np.full((20, *x.shape[1:]), padding, x.dtype), 0)[order]

    arrays, options = problem.rows(k=KS, ties="best")
    options["columns"] = {name: flat(x) for name, x in options["columns"].items()}
    for dtype in (np.int32, np.int64):
        ranking = jrm.rank(
            *map(flat, arrays),
            segment_ids=ids.astype(dtype),
            num_segments=LISTS,
            **options,
        )
        check_same(then(ranking), expected)


@pytest.mark.long
def test_packed_with_leading_axes(problem):
    """There may be several rows of packed lists, or none."""
    arrays, options = problem.rows()
    then = functools.partial(jrm.measure, ("map", "mrr"))
    rows = [x.reshape(2, -1) for x in arrays]
    ids = np.tile(np.repeat(np.arange(LISTS // 2, dtype=np.int32), ITEMS), (2, 1))
    weights = options["list_weights"].reshape(2, -1)

    def run(arrays, ids, weights):
        return then(
            jrm.rank(
                *arrays, segment_ids=ids, num_segments=LISTS // 2, list_weights=weights
            )
        )

    expected = padded(problem, then)
    actual = run(rows, ids, weights)
    assert actual["map"].values.shape == (2, LISTS // 2)
    together = jax.tree.map(lambda x: x.reshape(LISTS, *x.shape[2:]), actual)
    check_same(together, expected)
    nothing = run([x[:, :0] for x in rows], ids[:, :0], weights)
    assert all((x.values == 0).all() and not x.weights.any() for x in nothing.values())


def test_empty_segments_do_not_count():
    """A list without items does not count; one without relevant items is undefined."""
    state = jrm.ndcg(
        jnp.array([1, 0, 0]),
        jnp.array([0.9, 0.5, 0.1]),
        segment_ids=jnp.array([3, 3, 1]),
        num_segments=5,
        undefined="one",
    )
    assert (int(state.lists), int(state.undefined), float(state.compute())) == (2, 1, 1)


@pytest.mark.long
def test_packed_memory_grows_with_items():
    """Temporaries are a few arrays of the size of the input, for every metric."""
    items = 30_000
    x = jax.ShapeDtypeStruct((items,), jnp.float32)
    ids = jax.ShapeDtypeStruct((items,), jnp.int32)

    def run(labels, scores, ids):
        return jrm.evaluate(
            ("ndcg@10", "map", "mrr", "hit_rate@10", "p@5"),
            *(labels, scores),
            segment_ids=ids,
            num_segments=3_000,
        )

    memory = jax.jit(run).lower(x, x, ids).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 100 * 4 * items


# Catalogues


@pytest.mark.long
@pytest.mark.parametrize("kind, ties", [("integers", "stable"), ("reals", None)])
def test_embeddings(kind, ties, rng):
    """Integer-valued embeddings give the ids of the dense result, in blocks of any size."""
    queries, items = rng.normal(size=(6, 16)), rng.normal(size=(300, 16))
    if kind == "integers":
        queries, items = np.round(queries), np.round(items)
    queries, items = queries.astype(np.float32), items.astype(np.float32)
    relevant = np.stack([rng.permutation(300)[:7] for _ in range(6)])
    labels = np.zeros((6, 300), np.float32)
    np.put_along_axis(labels, relevant, 1, axis=-1)
    scores = queries @ items.T
    then = functools.partial(jrm.measure, ("ndcg@1,10,20", "ap@20"))
    expected = then(jrm.rank(labels, scores, k=20, ties=ties))
    for block_size in (1, 64):
        ranking = jrm.rank_catalog(
            queries, items, relevant, k=20, ties=ties, block_size=block_size
        )
        actual = then(ranking)
        if kind == "integers":
            check_same(actual, expected)
        for name, lists in expected.items():
            np.testing.assert_allclose(actual[name].values, lists.values, atol=1e-5)
        if ties == "stable":
            order = np.argsort(-scores, axis=-1, kind="stable")[:, :20]
            np.testing.assert_array_equal(ranking.items, order)


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.bfloat16])
@pytest.mark.long
def test_embeddings_of_every_type(dtype, rng):
    """Products are exact where their sums fit the wider type."""
    queries = rng.integers(-3, 4, (4, 8)).astype(np.float32)
    items = rng.integers(-3, 4, (50, 8)).astype(np.float32)
    relevant = np.array([[3, 7, 9]] * 4)
    expected = jrm.rank_catalog(queries, items, relevant, k=5)
    actual = jrm.rank_catalog(
        jnp.asarray(queries, dtype), jnp.asarray(items, dtype), relevant, k=5
    )
    np.testing.assert_array_equal(actual.items, expected.items)
    np.testing.assert_allclose(
        jrm.ndcg.of(actual, k=5).values, jrm.ndcg.of(expected, k=5).values, 1e-6
    )


@pytest.mark.long
def test_a_catalogue_where_everything_ties(rng):
    """Constant scores give the mean over all orders, streamed and counted alike."""
    items = 2_000
    relevant = np.stack([rng.permutation(items)[:5] for _ in range(3)])
    labels = np.zeros((3, items), np.float32)
    np.put_along_axis(labels, relevant, 1, axis=-1)
    names = ("mrr", "map", "ndcg", "hit_rate@10", "p@10", "ap@10", "rprec", "mrr@10")
    then = functools.partial(jrm.measure, names)
    expected = then(jrm.rank(labels, np.zeros_like(labels)))
    queries, vectors = np.zeros((3, 2), np.float32), np.ones((items, 2), np.float32)
    actual = then(jrm.rank_catalog(queries, vectors, relevant, k=None, block_size=300))
    for name in names:
        np.testing.assert_allclose(
            actual[name].values, expected[name].values, rtol=1e-5, err_msg=name
        )
    with_k = tuple(name for name in names if "@" in name)
    actual = jrm.measure(
        with_k, jrm.rank_catalog(queries, vectors, relevant, k=10, block_size=300)
    )
    for name in with_k:
        np.testing.assert_allclose(
            actual[name].values, expected[name].values, 1e-5, err_msg=name
        )


@pytest.mark.long
@pytest.mark.parametrize("k", [100, None])
def test_the_matrix_of_scores_never_exists(k, rng):
    """A million items need a tenth of the memory of their scores."""

    def run(queries, items, relevant, exclude):
        ranking = jrm.rank_catalog(
            queries, items, relevant, k=k, exclude_ids=exclude, block_size=4096
        )
        return jrm.measure(("mrr",) if k is None else ("ndcg@10", "mrr@100"), ranking)

    def shapes(queries, items):
        return (
            jax.ShapeDtypeStruct((queries, 64), jnp.float32),
            jax.ShapeDtypeStruct((items, 64), jnp.float32),
            jax.ShapeDtypeStruct((queries, 5), jnp.int32),
            jax.ShapeDtypeStruct((queries, 20), jnp.int32),
        )

    compiled = jax.jit(run).lower(*shapes(256, 1_000_000)).compile()
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert temporary < 0.1 * 4 * 256 * 1_000_000, temporary
    queries = rng.normal(size=(16, 64)).astype(np.float32)
    items = rng.normal(size=(20_000, 64)).astype(np.float32)
    relevant = rng.permutation(20_000).astype(np.int32)[: 16 * 5].reshape(16, 5)
    exclude = np.full((16, 20), -1, np.int32)
    labels = np.zeros((16, 20_000), np.float32)
    np.put_along_axis(labels, relevant, 1, axis=-1)
    actual = run(queries, items, relevant, exclude)
    expected = jrm.evaluate(tuple(actual), labels, queries @ items.T)
    for name, lists in actual.items():
        np.testing.assert_allclose(
            lists.mean().compute(), expected[name].compute(), rtol=1e-4
        )
