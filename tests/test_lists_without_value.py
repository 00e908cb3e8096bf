"""A list with a score of NaN, or a gain that overflows, has no value; others keep their bits.

Each way to rank is one program, which is run with numbers, and with one NaN of either sign.
"""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from cases import EVERY, POLICIES, metrics
from jax.sharding import PartitionSpec as P
from marks import long_but
from sources import draw, make_mesh, padded
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli

LISTS, ITEMS, BAD = 6, 24, 2
CUT = ("ndcg@3", "mrr@2", "err@3", "num_rel")
WHOLE = ("recall", "mrr", "rbp", "num_rel")
STOPS = ("mrr", "hit_rate@2", "num_rel")
KEY = jax.random.key(3)


def nan(bits):
    """A NaN of float32 with these bits; x86 makes negative ones of inf − inf."""
    return np.array([bits], np.uint32).view(np.float32)[0]


SIGNS = (0x7FC00000, 0xFFC00000)


def draw_lists(seed=5, shape=(LISTS, ITEMS)):
    """Draws labels, scores with some ties, and a mask; items 1, 2 and 3 are relevant."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(shape, np.float32)
    labels[:, 1:4] = 1, 2, 1
    scores = np.round(rng.normal(size=shape), 1).astype(np.float32)
    scores[:, 0] = np.inf, -np.inf, 0, -0.0, 1e-45, -1e-45
    mask = rng.random(shape) > 0.2
    mask[:, :5] = mask[:, -1] = True
    return labels, scores, mask


LABELS, SCORES, MASK = draw_lists()
IDS = np.tile(np.arange(1, 4, dtype=np.int32), (LISTS, 1))
ID_LABELS = LABELS[:, 1:4]


def rows(scores, names=CUT, k=3, **how):
    """Reads metrics of lists as rows."""
    return jrm.measure(names, jrm.rank(LABELS, scores, MASK, k=k, **how))


def packed(scores, names=WHOLE, **how):
    """Reads metrics of lists one after the other, with an empty one before the last."""
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    ids[ids == LISTS - 1] += 1
    arrays = (x.reshape(-1) for x in (jnp.asarray(LABELS), scores, jnp.asarray(MASK)))
    ranking = jrm.rank(*arrays, segment_ids=ids, num_segments=LISTS + 1, **how)
    return jrm.measure(names, ranking)


def over_devices(scores, names=CUT, **how):
    """Reads metrics of lists whose items are cut over four devices."""
    in_specs = (P(None, "x"),) * 3
    arrays = jnp.asarray(LABELS), scores, jnp.asarray(MASK)

    @jax.shard_map(mesh=make_mesh((4,), ("x",)), in_specs=in_specs, out_specs=P())
    def local(*arrays):
        return jrm.measure(names, jrm.rank(*arrays, items_axis="x", **how))

    return local(*arrays)


def by_scores(scores, names=WHOLE, **how):
    """Reads metrics of few relevant items among all scores."""
    return jrm.measure(names, jrm.rank_scores(scores, IDS, ID_LABELS, **how))


def from_table(scores, items):
    """Looks scores up as a similarity, so that a query has no part in others' scores."""
    return jnp.take(scores, items[:, 0], axis=-1)


def catalog(scores, names=WHOLE, relevant=IDS, k=None, **how):
    """Reads metrics of a catalogue whose queries are the scores of its items."""
    items = np.arange(ITEMS, dtype=np.int32)[:, None]
    how = {"similarity": from_table, "block_size": 7, "k": k} | how
    return jrm.measure(names, jrm.rank_catalog(scores, items, relevant, **how))


def is_small(query, item):
    """Labels items by their ids."""
    return (item[None] >= 1) & (item[None] < 4) & (query[:, None] >= 0)


BY_ATTRIBUTES = jrm.by_attributes(is_small, np.arange(LISTS), np.arange(ITEMS))
RELAX = jrm.sigmoid_ranks(0.1)
SHORT = ("ndcg@3", "rbp", "num_rel")
WAYS = {
    **{f"rows {ties}": functools.partial(rows, ties=ties, key=KEY if ties == "random" else None, names=CUT if ties != "expected" else CUT[:2]) for ties in POLICIES},
    "rows, whole": functools.partial(rows, names=(*WHOLE, "tau", "gauc", "roc_auc"), k=None),
    "rows, stops": lambda scores: {"mrr": jrm.reciprocal_rank.per_list(LABELS, scores, MASK)},
    "packed": packed,
    "packed, stops": functools.partial(packed, names=STOPS),
    "packed, relax": functools.partial(packed, names=SHORT, relax=RELAX),
    "relax": functools.partial(rows, names=SHORT, k=None, relax=RELAX),
    "devices": functools.partial(over_devices, k=3),
    "devices, whole": functools.partial(over_devices, k=ITEMS, names=WHOLE),
    "scores": by_scores,
    "scores, cut": functools.partial(by_scores, names=CUT, k=3),
    "scores, attributes": lambda scores: jrm.measure(WHOLE, jrm.rank_scores(scores, BY_ATTRIBUTES)),
    "catalog": catalog,
    "catalog, cut": functools.partial(catalog, names=CUT, k=3),
    "catalog, one block": functools.partial(catalog, names=CUT, k=3, block_size=ITEMS),
    "catalog, attributes": functools.partial(catalog, names=STOPS, relevant=BY_ATTRIBUTES),
    "catalog, attributes, cut": functools.partial(catalog, names=CUT, relevant=BY_ATTRIBUTES, k=3),
}  # fmt: skip

DEFAULT = ("rows None", "packed", "devices", "catalog, cut")
EAGER = ("rows None", "packed", "relax", "scores", "catalog, cut")  # each source once


def same_bits(actual, expected):
    """True if arrays have the same bits."""
    x, y = (np.asarray(a) for a in (actual, expected))
    return x.dtype == y.dtype and x.tobytes() == y.tobytes()


def check(actual, expected, bad=BAD, what=""):
    """Checks that one list has no value, unless nothing reads places, and others theirs."""
    assert actual.keys() == expected.keys()
    for name, lists in expected.items():
        others = np.arange(len(lists.weights)) != bad
        for field in ("values", "weights", "defined"):
            x, y = (np.asarray(getattr(a, field)) for a in (actual[name], lists))
            assert same_bits(x[others], y[others]), (what, name, field)
        value = np.asarray(actual[name].values[bad])
        if name in ("num_rel", "num_retrieved"):
            assert same_bits(value, lists.values[bad]), (what, name)
        else:
            assert np.isnan(value).all(), (what, name)
            assert np.asarray(actual[name].defined[bad]).all(), (what, name)


@pytest.mark.parametrize("way", long_but(DEFAULT, WAYS))
def test_one_nan_in_one_list(way):
    """Eager and jitted, of either sign, wherever it stands among the items."""
    jitted = jax.jit(WAYS[way])
    expected = jitted(SCORES)
    for score in map(nan, SIGNS):
        for item in (2, ITEMS - 1):
            scores = SCORES.copy()
            scores[BAD, item] = score
            check(jitted(scores), expected, what=(way, item))
    if way in EAGER:
        check(WAYS[way](scores), WAYS[way](SCORES), what=(way, "eager"))


@pytest.mark.long
def test_every_metric(rng):
    """Only counts of the pool, and of retrieved items, stay numbers."""
    problem = draw(rng)
    cases = {name: case for name, case in EVERY.items() if case.has_k}
    then = functools.partial(jrm.measure, metrics((1, 3), cases=cases))
    scores, item = problem.scores.copy(), np.flatnonzero(problem.mask[BAD])[-1]
    scores[BAD, item] = nan(SIGNS[1])
    bad = dataclasses.replace(problem, scores=scores)
    check(*(padded(x, then, k=3) for x in (bad, problem)))


MEANS = ("ndcg@3", "recall@1,3")


@pytest.mark.long
def test_what_is_not_read_changes_nothing():
    """Scores of masked or unretrieved items, and lists of weight 0, change nothing."""
    scores, is_read = SCORES.copy(), np.ones(SCORES.shape, bool)
    scores[BAD, 2], is_read[BAD, 2] = nan(SIGNS[1]), False
    weights = (np.arange(LISTS) != BAD).astype(np.float32)
    for options in (
        {"mask": MASK & is_read},
        {"mask": MASK, "retrieved": is_read},
        {"mask": MASK, "weights": weights},
    ):
        with jax.debug_nans(True):
            of_nan, of_numbers = (
                jrm.evaluate(MEANS, LABELS, x, **options) for x in (scores, SCORES)
            )
        for x, y in zip(
            jax.tree.leaves(of_nan), jax.tree.leaves(of_numbers), strict=True
        ):
            assert same_bits(x, y), options
        assert all(np.isfinite(x.compute()).all() for x in of_nan.values())
    # Masked items of a streamed catalogue, labelled by attributes, change nothing either.
    how = {"names": STOPS, "relevant": BY_ATTRIBUTES, "item_mask": is_read.all(0)}
    of_nan, of_numbers = (catalog(x, **how) for x in (scores, SCORES))
    for name, lists in of_numbers.items():
        assert same_bits(of_nan[name].values, lists.values), name
    # Lists of one class, or in which chance is right, have no weight in a mean and change
    # nothing.
    labels = LABELS * (weights[:, None] > 0)
    for metric in (
        jrm.gauc,
        functools.partial(jrm.ordered_pair_accuracy, weighting="pairs"),
    ):
        means = [metric(labels, x, MASK).compute() for x in (scores, SCORES)]
        assert same_bits(*means) and np.isfinite(means[0])
    labels = np.tile(np.float32(np.arange(ITEMS) == 2), (LISTS, 1))
    mask = MASK & ((labels > 0) | (np.arange(LISTS) != BAD)[:, None])
    metric = functools.partial(jrm.adjusted_hit_rate, k=1)
    means = [metric(labels, x, mask).compute() for x in (scores, SCORES)]
    assert same_bits(*means) and np.isfinite(means[0])


def test_states_tables_and_comparisons():
    """NaN shows in means, errors, intervals and tables; comparisons name the lists."""
    scores = SCORES.copy()
    scores[BAD, 2] = np.nan
    ranking, numbers = (jrm.rank(LABELS, x, MASK) for x in (scores, SCORES))
    lists, known = (jrm.measure(MEANS, x) for x in (ranking, numbers))
    ndcg, other = lists["ndcg@3"], known["ndcg@3"]
    state, ids = ndcg.mean(), np.arange(LISTS) // 3
    assert str(state) == f"Mean(nan ± nan, {LISTS} lists, 0 undefined)"
    geometric = ndcg.geometric_mean()
    for mean, methods in ((state, ("auto", "wilson")), (geometric, ("t",))):
        assert np.isnan([mean.confidence_interval(method=x) for x in methods]).all()
        assert np.isnan(mean.compute()) and np.isnan(mean.std_error())
    for choice in ("one", "skip"):
        assert np.isnan(ndcg.mean(choice).merge(other.mean()).compute())
    assert np.isnan(ndcg.by(ids, 2).compute()).tolist() == [True, False]
    assert np.isnan(ndcg.cluster(ids).values).tolist() == [True, False]
    assert np.isnan(ndcg.quantiles().compute())
    assert np.isnan(jax.jit(lambda a, b: a.over(b).mean().compute())(other, ndcg))
    text = str(jrm.table({"a": lists, "b": known}))
    assert text.count("nan [nan, nan]") == 3
    for call in (jrm.compare, lambda a, b: jrm.leaderboard({"a": a, "b": b})):
        with pytest.raises(ValueError, match=f"not finite, at list {BAD}: "):
            call(ndcg, other)
    bad = dataclasses.replace(ndcg, values=jnp.full(LISTS, np.nan))
    with pytest.raises(ValueError, match="values .* at lists 0, 1, 2, 3, 4, …: "):
        jrm.compare(other, bad)


@pytest.mark.long
def test_lists_of_ids_and_pooled_items():
    """Functions of a ranking's order, or of all items as one list, have no value either."""
    scores = SCORES.copy()
    scores[BAD, 2] = nan(SIGNS[1])
    rankings = [
        [jrm.rank(LABELS, x, MASK, ties=ties) for x in (scores, SCORES)]
        for ties in (None, "stable")
    ]
    for of_order, function in ((0, lambda x: jrm.overlap(rankings[0][1], x)),):
        check(*({"": function(x)} for x in rankings[of_order]))
    ranking, numbers = rankings[1]
    shown = jrm.exposure(ranking, ITEMS)
    shown = shown.merge(jrm.Exposure.empty(ITEMS, ITEMS))
    assert str(shown) == f"Exposure(coverage nan, gini nan, {LISTS} lists, 0 undefined)"
    assert np.isnan([shown.entropy(), shown.personalization()]).all()
    assert np.isfinite(jrm.exposure(numbers, ITEMS).gini())
    for pooled in (jrm.pooled_roc_auc, jrm.pooled_average_precision):
        state = jrm.merge(pooled(LABELS, SCORES, MASK), pooled(LABELS, scores, MASK))
        assert np.isnan([state.compute(), *state.bounds()]).all()
        assert int(state.undefined) == 0
        assert np.isfinite(pooled(LABELS, scores, MASK & (scores == scores)).compute())


def test_soft_ranks_without_a_gradient():
    """A list that has no value has no gradient, and others have theirs."""
    scores = SCORES[1:5].copy()
    scores[1, 2] = np.nan

    def value(scores):
        return jrm.ndcg(LABELS[1:5], scores, relax=RELAX).compute()

    slope = np.asarray(jax.grad(value)(scores))
    assert np.isfinite(slope).all() and not slope[1].any()
    assert slope[[0, 2, 3]].any(-1).all()


# Gains


SMALL = np.tile(np.float32([1, 0, 2, 0, 0, 3]), (4, 1))
LARGE = SMALL.copy()
LARGE[BAD, 3] = 200  # at the last rank
FALLING = np.tile(np.float32([5, 4, 3, 0, 2, 1]), (4, 1))
GROUPS = np.tile(np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 0, 1]], (4, 1, 1))
GAIN = {"gain_fn": jrm.exponential_gain}
PLAYS = {"a": {"x": 3, "y": 2}, "b": {"x": 150, "y": 5000}}
RUN = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 2.0, "y": 1.0}}


def shifted(labels):
    """A gain that rises with labels, which the package does not know."""
    return jrm.exponential_gain(labels) + 1


OF_GAINS = {
    "ndcg": functools.partial(jrm.ndcg, k=(1, None)),
    "ndcg, shifted": functools.partial(jrm.ndcg, k=1, gain_fn=shifted),
    "dcg": functools.partial(jrm.dcg, k=1),
    "cg": functools.partial(jrm.cg, **GAIN),
    "q": functools.partial(jrm.q_measure, **GAIN),
    "p+": functools.partial(jrm.p_plus, **GAIN),
    "o": functools.partial(jrm.o_measure, **GAIN),
    "arp": functools.partial(jrm.average_relevance_position, **GAIN),
    "dtr": functools.partial(jrm.disparate_treatment_ratio, **GAIN),
    "dir": functools.partial(jrm.disparate_impact_ratio, **GAIN),
}
WITHOUT = {
    "linear": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "mrr": jrm.reciprocal_rank,
}


def test_gains_that_overflow():
    """Every metric that reads gains is NaN there alone, and others are numbers."""

    @jax.jit
    def measured(labels):
        ranking = jrm.rank(labels, FALLING, columns={"groups": GROUPS})
        return [jrm.measure(metrics, ranking) for metrics in (OF_GAINS, WITHOUT)]

    (actual, numbers), (expected, same) = measured(LARGE), measured(SMALL)
    check(actual, expected)
    for name, lists in numbers.items():
        is_other = np.arange(len(LARGE)) != BAD
        assert np.isfinite(lists.values).all() and lists.defined.all()
        np.testing.assert_array_equal(
            *(x.values[is_other] for x in (lists, same[name]))
        )
    weights = (np.arange(len(LARGE)) != BAD).astype(np.float32)
    with jax.debug_nans(True):
        mean = jrm.ndcg(LARGE, FALLING, weights=weights).compute()
        assert mean == jrm.ndcg(SMALL, FALLING, weights=weights).compute()
    assert np.isnan(jrm.ndcg(LARGE, FALLING, undefined="skip").compute())


@pytest.mark.long
@pytest.mark.parametrize(
    "weights", [None, np.full(LARGE.shape, 2, np.float32)], ids=["", "item-weights"]
)
def test_layouts_of_gains(weights):
    """Cut rows, packed lists, listed items and lists in rank order."""
    ids = np.repeat(np.arange(4), 6)
    flat = None if weights is None else weights.reshape(-1)
    rankings = [
        jrm.rank(LARGE, FALLING, weights=weights, k=2),
        jrm.rank(LARGE.reshape(-1), FALLING.reshape(-1), weights=flat, segment_ids=ids, num_segments=4),
    ]  # fmt: skip
    if weights is None:
        listed = np.tile(np.arange(6), (4, 1))
        rankings.append(jrm.rank_scores(FALLING, listed, LARGE))
        rankings.append(jrm.rank_retrieved(LARGE))
    for ranking in rankings:
        for lists in jrm.measure(("ndcg@2", "dcg@2"), ranking).values():
            assert np.isnan(lists.values).tolist() == [i == BAD for i in range(4)]


@pytest.mark.long
def test_the_host_raises(tmp_path):
    """Drivers, `join` and the command name the list, and an argument that helps."""
    match = "b' has a gain that overflows.*gain_fn=linear_gain.*log1p"
    joined = jrm.join(PLAYS, RUN)
    for names in (("ndcg@10", "mrr"), ("tau", "p_plus(gain_fn=exponential_gain)")):
        with pytest.raises(ValueError, match=match):
            joined.evaluate(names)
    values = joined.measure(("ndcg(gain_fn=linear_gain)@10",))
    assert f"{values['ndcg(gain_fn=linear_gain)@10'].values[1]:.3f}" == "0.649"
    skipped = jrm.join(PLAYS, {"a": RUN["a"]}, missing="skip")
    assert np.isfinite(skipped.evaluate(("ndcg",))["ndcg"].compute())

    relevant = scipy.sparse.csr_array(LARGE)
    cure = r"(user|query) 2 has a gain .*gain_fn=linear_gain"
    with pytest.raises(ValueError, match=cure):
        jrm.evaluate_users(("ndcg@2", "mrr"), FALLING, relevant)
    with pytest.raises(ValueError, match=cure):
        jrm.evaluate_embeddings(("dcg@2",), np.eye(4, 6), np.eye(6), relevant)

    paths = [tmp_path / "qrels.json", tmp_path / "run.json"]
    for path, lists in zip(paths, (PLAYS, RUN), strict=True):
        path.write_text(json.dumps(lists))
    words = ["evaluate", *map(str, paths), "-m", "ndcg(gain_fn=exponential_gain)@10"]
    done = CliRunner().invoke(cli.app(), words)
    assert done.exit_code and "gain_fn=linear_gain" in " ".join(done.stderr.split())


def test_states_are_jitted_with_large_gains():
    """Gains up to the largest float have their values, and trip no check of NaN."""
    labels = jnp.array([[127.0, 3, 1]])
    with jax.debug_nans(True):
        state = jax.jit(lambda y: jrm.evaluate(("ndcg", "dcg@1"), y, y))(labels)
    assert f"{state['ndcg']:.3f}" == "1.000" and np.isfinite(state["dcg@1"].compute())
