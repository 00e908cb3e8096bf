"""One formula on every source of rankings: the same lists have the same values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, CORE, EVERY, FEW, KEYLESS_ORDERS, metrics
from marks import long_but
from sources import (
    CATALOGS,
    COUNTED,
    ITEMS,
    LISTS,
    SOURCES,
    WEIGHABLE,
    catalog,
    check_same,
    draw,
    packed,
    padded,
)

import jax_rank_metrics as jrm

KS = (1, 10)
POLICIES = (None, *KEYLESS_ORDERS)
BY_CHANCE = {n: c for n, c in CASES.items() if n == "expected_reciprocal_rank"}


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
    kind = {"plain": "sharded", "auto": "rows"}.get(source, source)
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


def check(actual, problem, ks, ties=None, cases=EVERY):
    """Checks values against rows, which one program measures for many sources."""
    rows = table("rows" if problem.columns else "labelled", ties, ks, cases)
    how = {"k": None if None in ks else ks, "ties": ties}
    expected = padded(problem, functools.partial(jrm.measure, rows), **how)
    check_same(actual, {name: expected[name] for name in actual})


def check_source(source, problem, ks, k, ties, cases=EVERY):
    """Checks what a source and its cut can serve."""
    problem = problem.for_source(source)
    then = functools.partial(jrm.measure, table(source, ties, ks, cases))
    check(SOURCES[source](problem, then, k=k, ties=ties), problem, ks, ties, cases)


@pytest.mark.parametrize(
    "source, ties, cases",
    [
        pytest.param("sharded", None, CORE, id="core"),
        *(
            pytest.param(
                source,
                None,
                BY_CHANCE,
                id=f"stops by chance-{source}",
                marks=pytest.mark.long,
            )
            for source in ("packed", "sharded")
        ),
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
    check_source(source, problem, KS, KS, ties, cases)


@pytest.mark.parametrize("source", long_but(("sharded",), WEIGHABLE))
def test_item_weights_on_every_source(source, rng):
    """Sources agree on weighted gains, and on the list weights that they imply."""
    problem = draw(rng, weigh_items=True)
    then = functools.partial(jrm.measure, ("ndcg@1,10", "auc"))
    how = {"k": ITEMS, "list_weights": None}
    check_same(SOURCES[source](problem, then, **how), padded(problem, then, **how))


@pytest.mark.long
@pytest.mark.parametrize(
    "source, ties",
    [
        ("catalog", None),
        ("catalog-sharded", None),
        *(("scores", ties) for ties in POLICIES),
        *(("packed", ties) for ties in POLICIES),
        *(("places", ties) for ties in POLICIES),
    ],
)
def test_whole_lists_on_every_source(source, ties, problem):
    """Sources agree without a cutoff, although a catalogue counts places then.

    With k=None it holds relevant items alone. A share is of all items, listed or not.
    """
    ks = (KS[-1], None, jrm.share(0.3))
    check_source(source, problem, ks, None, ties)


@pytest.mark.parametrize("kind", ["places", "catalog", "sharded"])
def test_what_sources_refuse(kind, problem):
    """A metric raises if a source does not know the metric's inputs."""

    def check(ranking):
        for name, case in EVERY.items():
            if kind in case.refused:
                with pytest.raises(ValueError, match=name.partition("-")[0]):
                    jrm.measure(metrics(KS, None, {name: case}), ranking)
        return jnp.zeros(LISTS)

    call = functools.partial(SOURCES[kind], problem.for_source(kind), check, k=KS)
    jax.eval_shape(call)


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
@pytest.mark.parametrize(
    "source", ["rows", "packed", "sharded", "scores", "catalog", "catalog-none"]
)
def test_random_ties_have_the_expected_mean(source, problem):
    """Means over 2,000 keys are within five standard errors, per list and cutoff."""
    number = 2_000
    then = functools.partial(jrm.measure, ("p@1,10", "ap@1,10"))
    expected = padded(problem, then, k=KS, ties="expected")

    k = None if source == "catalog-none" else KS
    sources = SOURCES | {"rows": padded, "catalog-none": catalog}
    make = functools.partial(sources[source], problem, then, k=k)
    keys = jax.random.split(jax.random.key(1), number)
    run = jax.jit(lambda: jax.lax.map(lambda key: make(ties="random", key=key), keys))
    actual = run()
    for name, lists in actual.items():
        values = np.asarray(lists.values, np.float64)
        margin = 5 * values.std(axis=0) / np.sqrt(number) + 1e-5
        difference = np.abs(values.mean(axis=0) - np.asarray(expected[name].values))
        assert (difference <= margin).all(), name


@pytest.mark.long
@pytest.mark.parametrize("source", ["ids", "retrieved"])
def test_what_was_retrieved(source, rng):
    """Lists in rank order give the values of ranked lists."""
    problem = draw(rng, weigh_items=source == "retrieved", tied=False)
    ks = (KS[-1], None, jrm.share(0.3))
    scores = np.where(problem.mask, problem.scores, -np.inf)
    ids = np.argsort(-scores, axis=-1, kind="stable")
    kept = np.take_along_axis(problem.mask, ids, axis=-1)
    how = {"list_weights": problem.list_weights}
    if source == "retrieved":
        arrays = problem.labels, problem.weights, problem.row_columns()
        names = ("pool_labels", "pool_weights", "pool_columns")
        how |= dict(zip(names, arrays, strict=True)) | {"pool_mask": problem.mask}
        labels, weights, how["columns"] = jax.tree.map(
            lambda x: x[np.arange(LISTS)[:, None], ids], arrays
        )
        actual = jrm.rank_retrieved(labels, kept, weights, **how)
    else:
        relevant = problem.relevant_ids
        is_there = np.take_along_axis(problem.mask, np.maximum(relevant, 0), axis=-1)
        judged = np.where((relevant >= 0) & is_there, relevant, -1)
        problem = problem.for_source("catalog")
        how["relevant_columns"], how["item_columns"] = problem.columns_beside_ids()
        retrieved = np.where(kept, ids, -1)
        actual = jrm.rank_ids(retrieved, judged, problem.relevant_labels, **how)
    check(jrm.measure(table(source, None, ks), actual), problem, ks)


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
    flat_arrays, options["num_segments"] = [*map(flat, arrays)], LISTS
    for dtype in (np.int32, np.int64):
        ranking = jrm.rank(*flat_arrays, segment_ids=ids.astype(dtype), **options)
        check_same(then(ranking), expected)
    nothing = (x[:0] for x in flat_arrays)
    empty = jrm.rank(*nothing, segment_ids=ids[:0], num_segments=LISTS)
    lists = jrm.average_precision.of(empty)
    assert not lists.values.any() and not lists.weights.any()


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
