"""Lists so long that they are ranked and added up by other means than short ones."""

import jax
import numpy as np
import pytest
from cases import CASES, POLICIES, metrics
from test_brute_force import compare

import jax_rank_metrics as jrm
from jax_rank_metrics import _ordering, _some_lists, _sums


def draw(rng, items, lists=3):
    """Distinct scores, padding, and graded labels of which one list's are not whole."""
    labels = rng.integers(-1, 4, (lists, items)).astype(np.float32)
    labels[-1] /= 2
    scores = rng.permuted(np.broadcast_to(np.arange(items), labels.shape), axis=-1)
    mask = rng.random(labels.shape) > 0.1
    return labels, (scores - items // 2).astype(np.float32), mask


@pytest.fixture
def part(request, compiled_with):
    """How long the parts are by which long sums are taken."""
    with compiled_with(_sums, "_PART", request.param):
        yield request.param


@pytest.mark.parametrize(
    "ties, whole", [("stable", True), ("expected", False)], ids=["whole", "halves"]
)
@pytest.mark.parametrize("part", [256], indirect=True)
def test_long_lists_equal_loops(rng, part, ties, whole):
    """Counted ideal orders, sums by parts, tops by blocks and what is left of them."""
    labels, scores, mask = (x[: 2 if whole else 3] for x in draw(rng, 700))
    ks = (1, 2, None)
    cases = {n: c for n, c in CASES.items() if c.closed_form}
    ranking = jrm.rank(labels, scores, mask, ties=ties)
    found = jrm.measure(metrics(ks, ties), ranking)
    for name, case in cases.items():
        compare(found[name], case, (labels, scores, mask, None), "stable", ks)
    cut = {n: c for n, c in cases.items() if c.has_k}
    found = jrm.measure(
        metrics((1, 2), ties, cut), jrm.rank(labels, scores, mask, k=2, ties=ties)
    )
    for name, case in cut.items():
        compare(found[name], case, (labels, scores, mask, None), "stable", (1, 2))


@pytest.mark.parametrize("part", [256, 1024], indirect=True)
def test_padding_of_long_lists_changes_nothing(rng, part):
    """Whatever the parts that a long list is cut into, bit for bit."""
    labels, scores, mask = draw(rng, 700)
    names = ("ndcg", "dcg", "map", "mrr", "ndcg@5", "rprec")
    found = jrm.evaluate(names, labels, scores, mask)
    more = [(0, 0), (0, 333)]
    wide = [np.pad(x, more, constant_values=np.nan) for x in (labels, scores)]
    wider = jrm.evaluate(names, *wide, np.pad(mask, more))
    for name, state in found.items():
        np.testing.assert_array_equal(wider[name].compute(), state.compute(), name)


@pytest.mark.parametrize("distinct", [2, 300], ids=["few-scores", "some-ties"])
def test_blocks_rank_as_a_sort_does(rng, lowering, distinct):
    """The top of long lists, with ties inside blocks, across them and across the cut."""
    items, key = 5003, jax.random.key(3)
    labels = rng.permuted(np.broadcast_to(np.arange(items), (6, items)), axis=-1)
    scores = rng.integers(0, distinct, labels.shape).astype(np.float32)
    scores[0] = np.where(rng.random(items) < 0.001, 1, np.nan)
    scores[1] = np.where(rng.random(items) < 0.001, 1, -np.inf)
    mask = rng.random(labels.shape) > 0.2
    mask[2] = rng.random(items) < 0.001
    for ties in POLICIES:
        own = {"ties": ties, "key": key if ties == "random" else None}
        found = jrm.rank(labels, scores, mask, k=12, **own)
        with lowering("sort"):
            expected = jrm.rank(labels, scores, mask, k=12, **own)
        for one, other in zip(
            (found.ranked.labels, found.ranked.exists, found.length),
            (expected.ranked.labels, expected.ranked.exists, expected.length),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other, str(ties))


@pytest.mark.parametrize("lists", [(3, 7), (40,)], ids=str)
def test_sorts_side_by_side_rank_as_one(rng, compiled_with, lists):
    """However many lists there are for the parts of a sort."""
    labels = rng.integers(0, 4, (*lists, 30)).astype(np.float32)
    scores = rng.integers(0, 9, labels.shape).astype(np.float32)
    mask, key = rng.random(labels.shape) > 0.2, jax.random.key(5)
    for ties in POLICIES:
        own = {"ties": ties, "key": key if ties == "random" else None}
        expected = jrm.rank(labels, scores, mask, **own)
        with compiled_with(_ordering, "_MANY", 1):
            found = jrm.rank(labels, scores, mask, **own)
        for one, other in zip(
            jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
        ):
            np.testing.assert_array_equal(one, other, str(ties))


@pytest.mark.parametrize("shuffled", [False, True], ids=["in-order", "shuffled"])
def test_packed_lists_of_any_length(rng, shuffled):
    """However many lists there are, and so however few bits are left for their items."""
    labels, scores, _ = draw(rng, 700)
    ids = np.repeat(np.arange(3, dtype=np.int32), 700)
    flat = [labels.reshape(-1), scores.reshape(-1), ids]
    if shuffled:
        order = rng.permutation(ids.size)
        flat = [x[order] for x in flat]
    expected = jrm.ndcg.per_list(labels, scores, k=(3, None)).values
    for number in (3, 2**20, 2**22):
        found = jrm.ndcg.per_list(
            *flat[:2], segment_ids=flat[2], num_segments=number, k=(3, None)
        )
        np.testing.assert_allclose(found.values[:3], expected, rtol=1e-6)
        assert not found.defined[3:].any()


@pytest.mark.parametrize(
    "how, tied, k",
    [("plain", "some", None), ("plain", "all", 6), ("vmap", "some", 6)]
    + [
        pytest.param(*case, marks=pytest.mark.long)
        for case in (
            ("plain", "one", 6),
            ("plain", "some", 6),
            ("plain", "one", None),
            ("plain", "all", None),
            ("vmap", "some", None),
            ("shard_map", "some", 6),
            ("shard_map", "some", None),
        )
    ],
)
def test_lists_that_tie_are_looked_at_a_few_at_a_time(rng, compiled_with, how, tied, k):
    """Whichever lists they are: the same as where all are looked at together."""
    lists = (8, 7, 37)
    labels = rng.integers(-1, 4, lists).astype(np.float32)
    weights = rng.integers(0, 3, lists) / 2 + 0.25
    scores = rng.permuted(np.broadcast_to(np.arange(37.0), lists), axis=-1)
    ties = {"one": 0, "some": 0.4, "all": 1}[tied] > rng.random((8, 7))
    ties[5, 3] |= tied == "one"
    scores = np.where(ties[..., None], scores // 9, scores).astype(np.float32)

    names = (
        "ndcg@3,6",
        "dcg@6",
        "map@3,6",
        "mrr@6",
        "recall@3",
        "precision@6",
        "hit@6",
    )
    names += ("ndcg", "map", "mrr", "hit", "rprec") if k is None else ()

    def of(labels, scores, weights):
        ranking = jrm.rank(labels, scores, weights=weights, k=k, ties="expected")
        found = jrm.measure(names, ranking)
        return {name: each.values for name, each in found.items()}

    arrays = labels, scores, weights.astype(np.float32)
    expected = jax.jit(of)(*arrays)
    again = {"plain": of, "vmap": jax.vmap(of)}.get(how)
    if again is None:
        auto = (jax.sharding.AxisType.Auto,)
        mesh = jax.make_mesh((8,), ("lists",), axis_types=auto)
        spec = jax.sharding.PartitionSpec("lists")
        again = jax.shard_map(of, mesh=mesh, in_specs=spec, out_specs=spec)
    with compiled_with(_some_lists, "_ONE_LOOK", 5 * 37):
        again = jax.jit(again)(*arrays)
    for name, found in again.items():
        # Under vmap, XLA works average precision out in other loops: a last bit.
        rtol = 3e-7 if how == "vmap" else 0
        np.testing.assert_allclose(found, expected[name], rtol, err_msg=name)


@pytest.mark.parametrize("ks", [(2, 6), (None,)], ids=["top-k", "whole"])
def test_each_metric_alone_where_some_lists_tie(rng, compiled_with, ks):
    """Compiled for itself, since what others read keeps nothing of it alive."""
    labels = rng.integers(-1, 4, (20, 30)).astype(np.float32)
    scores = rng.permuted(np.broadcast_to(np.arange(30.0), labels.shape), axis=-1)
    scores = np.where(np.arange(20)[:, None] < 7, scores // 4, scores)
    scores = scores.astype(np.float32)
    cases = {name: c for name, c in CASES.items() if c.has_k or None in ks}
    # All metrics from one ranking, and all lists at once.
    ranking = jrm.rank(labels, scores, k=ks)
    expected = jrm.measure(metrics(ks, None, cases), ranking)
    for name, case in cases.items():
        own = {"k": ks} if case.has_k else {}
        with compiled_with(_some_lists, "_ONE_LOOK", 4 * 30):
            found = case.metric.per_list(labels, scores, **case.options, **own)
        np.testing.assert_allclose(
            found.values, expected[name].values, 3e-7, err_msg=name
        )
