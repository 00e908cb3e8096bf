"""Compilation: how often it happens, how many sorts there are, and which platforms."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CORE, FEW, metrics
from jax import export, lax
from marks import long_but, long_rows

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._ground import meshes

SHAPE = (16, 200)
PLATFORMS = ("cpu", "cuda", "tpu")


def inputs(seed=0, lists=16):
    """Draws a batch, which differs between seeds."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (lists, 200)).astype(np.float32)
    return labels, rng.normal(size=(lists, 200)).astype(np.float32)


def falling_gain(labels):
    """Gains fall as labels rise."""
    return 3 - labels


def lowered_sorts(function, *args):
    """Returns the types that a program sorts, and the types of its top-k, uncompiled."""
    text = jax.jit(function).lower(*args).as_text()
    types = re.findall(r'"stablehlo\.sort".*?\}\) : \((tensor<[^>]*>)', text, re.DOTALL)
    return types, re.findall(r"top_k.*?(tensor<[^>]*>)", text)


def number_of_sorts(metrics, labels, scores):
    """Counts the sorts and the top-k by which a program orders items."""
    sorts = lowered_sorts(functools.partial(jrm.evaluate, metrics), labels, scores)
    return sum(map(len, sorts))


@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_ties_of_whole_lists_are_not_gathered(name):
    """Accelerators read tied items in one loop over the list, without gathers."""
    traced = jax.jit(lambda *x: jrm.evaluate((name,), *x)).trace(*inputs())
    for platform in ("tpu", "cuda"):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert "stablehlo.gather" not in text
        assert text.count("stablehlo.while") == 1


@pytest.mark.long
def test_one_ranking_and_one_ideal_for_all():
    """Any number of metrics and cutoffs needs at most two ops that order."""
    names = ("ndcg@10", "map", "mrr", "recall@1,5,10")
    assert 1 <= number_of_sorts(names, *inputs()) <= 2
    gains = ("ndcg@10", "ndcg@5", "ndcg", "ndcg(gain_fn=linear_gain)@3")
    assert number_of_sorts(gains, *inputs()) == 2  # both gains rise with labels
    table = {
        "named": functools.partial(jrm.ndcg, k=(5, 10)),
        "own": functools.partial(jrm.ndcg, gain_fn=falling_gain),
    }
    assert number_of_sorts(table, *inputs()) == 3  # this gain does not rise with labels


@pytest.mark.long
def test_every_metric_in_three_sorts():
    """All metrics need a sort by scores, one by labels, and the ideal order."""
    registered = {metric.__name__: metric for metric in NAMES.values()}
    table = {
        name: metric for name, metric in registered.items() if not metric.spec.columns
    }
    x = jax.ShapeDtypeStruct((1024, 200), jnp.float32)
    assert number_of_sorts(table, x, x) <= 3


@pytest.mark.parametrize("ties", [None, "stable"])
def test_cutoffs_need_no_full_sort(ties):
    """Metrics at k need a top-k alone."""
    names = ("ndcg@10", "recall@10", "mrr@10")
    run = functools.partial(jrm.evaluate, names, ties=ties)
    sorted_types, top_k_types = lowered_sorts(run, *inputs())
    assert top_k_types and not any("x200x" in x for x in sorted_types), sorted_types
    whole, _ = lowered_sorts(functools.partial(jrm.evaluate, ("ndcg",)), *inputs())
    assert any("x200x" in x for x in whole)  # they are found at all


def test_retrieved_lists_are_not_sorted():
    """Rankings in order are read, and not sorted."""
    labels, _ = inputs()
    names = ("map", "mrr@10", "p@1,5", "rprec", "f1@3", "hit_rate@2", "dcg@7")
    above, tied = np.indices(SHAPE)[1] // 2 * 2, np.full(SHAPE, 2)
    at_places = jrm.rank_places(labels, above, tied, num_retrieved=np.full(16, 200))
    for ranking in (jrm.rank_retrieved(labels), at_places):
        assert lowered_sorts(functools.partial(jrm.measure, names), ranking) == ([], [])


@pytest.mark.parametrize(
    "ties, k",
    [
        *((None, 10), ("stable", None), ("worst", 10)),
        *long_rows((None, None), ("stable", 10), ("worst", None)),
    ],
)
def test_one_relevant_item_needs_no_order(k, ties):
    """In a step, places of the diagonal are counted: no loop, sort, top-k or branch.

    Only a policy that reads labels looks at them, in a branch for scores that tie. A metric
    that needs places of other items, too, has the items ranked.
    """
    ids = jnp.arange(64, dtype=jnp.int32)[:, None]
    options = {"relevant_labels": 2 * np.ones_like(ids), "exclude_ids": 63 - ids}
    scores = jax.ShapeDtypeStruct((64, 64), jnp.float32)

    def texts(metrics):
        def step(scores):
            ranking = jrm.rank_scores(scores, ids, k=k, ties=ties, **options)
            return jrm.mean(jrm.measure(metrics, ranking))

        traced = jax.jit(step).trace(scores)
        return [traced.lower(lowering_platforms=(x,)).as_text() for x in PLATFORMS]

    branches = ["stablehlo.case", "stablehlo.if"] if ties != "worst" else []
    for program in texts(("ndcg@10", "mrr@10", "recall@1,5", "map@10")):
        for operation in ("stablehlo.while", "stablehlo.sort", "top_k", *branches):
            assert operation not in program
    if k is not None:
        own = functools.partial(jrm.dcg, k=10, gain_fn=falling_gain)
        assert all("top_k" in program for program in texts({"own": own}))


def test_nothing_is_of_the_size_of_items_squared():
    """No metric compares all pairs of items."""
    labels, scores = inputs()
    table = metrics((1, 10, None))
    text = jax.jit(lambda *x: jrm.evaluate(table, *x)).lower(labels, scores).as_text()
    sizes = [
        int(np.prod([int(d) for d in dims.split("x")[:-1]]))
        for dims in re.findall(r"tensor<((?:\d+x)+\w+)>", text)
    ]
    # Cutoffs multiply the size of the input by a small number, never by the items.
    assert max(sizes) < labels.size * 16


def floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def integers(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def streamed(k, queries, items, relevant, excluded):
    """Measures a catalogue in blocks."""
    how = {"k": k, "exclude_ids": excluded, "block_size": 4096}
    ranking = jrm.rank_catalog(queries, items, relevant, **how)
    return jrm.measure(("mrr",) if k is None else ("ndcg@10", "mrr@100"), ranking)


def soft(labels, scores, **packing):
    """The slopes of soft average precision."""
    relax, per_list = jrm.sigmoid_ranks(0.3), jrm.average_precision
    how = {"relax": relax} | packing
    return jax.value_and_grad(lambda x: per_list(labels, x, **how).compute())(scores)


LONG, FLAT, SOFT = floats(64, 100_000), floats(30_000), floats(64, 2000)
CATALOG = floats(256, 64), floats(1_000_000, 64), integers(256, 5), integers(256, 20)
SOFT_LISTS = {"segment_ids": np.repeat(np.arange(64), 2000), "num_segments": 64}
# fmt: off
# Programs, the arrays that they read, and for how many numbers they may need memory.
MEMORY = {
    # A few arrays of the size of the lists.
    **{
        f"{name}, {ties}": (functools.partial(jrm.evaluate, name, ties=ties), (LONG, LONG), arrays * LONG.size)
        for name, ties, arrays in (("ndcg@10", "stable", 2.5), ("ndcg@10", "expected", 4.5), ("ndcg", "stable", 7), ("ndcg", "expected", 16))
    },
    "packed": (lambda y, s, ids: jrm.evaluate(("ndcg@10", "map", "mrr", "hit_rate@10", "p@5"), y, s, segment_ids=ids, num_segments=3_000), (FLAT, FLAT, integers(30_000)), 100 * FLAT.size),
    # A tenth of the scores of a million items, which never exist.
    **{f"catalog, {k}": (functools.partial(streamed, k), CATALOG, 0.1 * 256 * 1_000_000) for k in (100, None)},
    # A few blocks of comparisons with 64 items, and never all pairs.
    "soft": (soft, (SOFT, SOFT), 3 * 64 * SOFT.size),
    "soft, packed": (functools.partial(soft, **SOFT_LISTS), [floats(SOFT.size)] * 2, 3 * 64 * SOFT.size),
}
# fmt: on


@pytest.mark.parametrize("name", long_but(("soft",), MEMORY))
def test_programs_need_little_memory(name):
    """Temporaries are few arrays of the size of the input."""
    program, arrays, numbers = MEMORY[name]
    memory = jax.jit(program).lower(*arrays).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 4 * numbers


FIVE = ("ndcg@10", "precision@10", "recall@10", "mrr@10", "hit_rate@10")


@pytest.mark.parametrize(
    "names, limit",
    [
        *((FIVE, 2_000), (("map",), 1_450), (("mrr",), 740)),
        *long_rows((("ndcg@10",), 950), (("ndcg",), 1_550)),
    ],
    ids=["five@10", "map", "mrr", "ndcg@10", "ndcg"],
)
def test_programs_stay_small(names, limit):
    """Optimised programs have few instructions, on which compile time depends.

    The text of a program also holds the Python frames it came from, which do not count.
    """
    lists = jax.ShapeDtypeStruct((1024, 1000), jnp.float32)
    step = jax.jit(lambda *x: jrm.compute(jrm.evaluate(names, *x)))
    text = step.lower(lists, lists).compile().as_text()
    instructions = [line for line in text.splitlines() if " = " in line]
    assert len(instructions) < limit


def always(jaxpr):
    """Yields the equations outside of branches and loops, which always run."""
    for equation in jaxpr.eqns:
        yield equation
        if equation.primitive.name not in ("cond", "while"):
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
            ):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from always(inner)


@pytest.mark.parametrize("vmap", [False, True], ids=["batch", "vmap"])
def test_random_ties_cost_only_where_there_are_some(vmap):
    """Random bits are computed in a branch, under vmap too."""
    labels, scores = inputs()
    key = (
        jax.random.split(jax.random.key(0), len(labels)) if vmap else jax.random.key(0)
    )

    def random(labels, scores, key):
        return jrm.evaluate(("ndcg@10", "mrr@10"), labels, scores, key=key)

    call = jax.vmap(random) if vmap else random
    program = jax.make_jaxpr(call)(labels, scores, key)

    def draws_bits(equation):
        return any(
            x.aval.dtype == jnp.uint32 and x.aval.size >= labels.size
            for x in equation.outvars
        )

    equations = list(always(program.jaxpr))
    assert any(equation.primitive.name == "cond" for equation in equations)
    assert not any(map(draws_bits, equations))


def test_equal_options_share_a_program(compilations):
    """Options that compare equal, and other data of a shape, compile nothing."""

    def eager(seed, ks):
        labels, scores = inputs(seed)
        state = jrm.dcg(labels, scores, k=ks, discount_fn=jrm.log_discount(3))
        state.compute(), state.std_error(), state.confidence_interval(0.9)
        jrm.compute(jrm.merge({"dcg": state}, {"dcg": state}), flat=True)

    eager(0, (1, 10))
    assert compilations  # they are listed at all
    compilations.clear()
    eager(1, [1, 10])
    assert not compilations


@pytest.mark.long
@pytest.mark.parametrize("ties, ks", [(None, (1, 10, None)), ("random", (1, 10))])
def test_exports_for_every_platform(ties, ks):
    """Every metric exports; the round trip through bytes gives the same states."""
    labels, scores = inputs()
    table = metrics(ks, ties, CORE if ties is None else FEW)

    def step(labels, scores, key):
        key = key if ties == "random" else None
        return jrm.evaluate(table, labels, scores, key=key, ties=ties)

    key = jax.random.PRNGKey(0)
    exported = export.export(jax.jit(step), platforms=PLATFORMS)(labels, scores, key)
    restored = export.deserialize(exported.serialize())
    assert restored.platforms == PLATFORMS
    actual, expected = restored.call(labels, scores, key), step(labels, scores, key)
    for name, state in expected.items():
        np.testing.assert_allclose(actual[name].compute(), state.compute(), rtol=1e-6)


# Lists may be long and tie, pairs of items put places back, and blocks are multiplied.
EXPORTED = {
    "cut": (1000, lambda x, y: jrm.ndcg.per_list(x, y // 2, k=3)),
    "cut, stable": (1000, lambda x, y: jrm.ndcg.per_list(x, y // 2, k=3, ties="stable")),
    "pairs": (6, lambda x, y: jrm.tau.per_list(x, y)),
    "catalog": (6, lambda x, y: jrm.ndcg.of(jrm.rank_catalog(y, jnp.eye(6), (x[:, :1] > 2).astype(int), k=3), k=3)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTED)
def test_exports_for_any_number_of_lists(name):
    """The number of lists may be symbolic."""
    items, step = EXPORTED[name]
    of_any = jax.ShapeDtypeStruct(export.symbolic_shape(f"b, {items}"), jnp.float32)
    exported = export.export(jax.jit(lambda *x: step(*x).values), platforms=PLATFORMS)
    x, y = (np.random.default_rng(i).random((3, items), np.float32) for i in range(2))
    actual = exported(of_any, of_any).call(x, y)
    np.testing.assert_allclose(actual, step(x, y).values, rtol=1e-6)


def test_a_condition_of_a_batch_stays_a_branch():
    """Under vmap, one branch serves the whole batch; a select would compute both."""

    def settled(x):
        return lax.cond(meshes.unvmap_any(x > 3), lambda: x + 1, lambda: x)

    x = jnp.arange(6.0).reshape(3, 2)
    assert " cond[" in str(jax.make_jaxpr(jax.vmap(settled))(x))
    np.testing.assert_array_equal(jax.vmap(settled)(x), x + 1)
