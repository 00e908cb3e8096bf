"""Bad calls of sources, metrics, states and names: what every call has in common."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from error_rows import traced
from sources import make_mesh, put

import jax_rank_metrics as jrm

Y = np.zeros((2, 3), np.float32)
S = np.zeros((2, 3), np.float32)
CONFORMS = jrm.testing.conformance
NDCG = functools.partial(jrm.ndcg, Y, S)
RANK = functools.partial(jrm.rank, Y, S)
EVAL = functools.partial(jrm.evaluate, labels=Y, scores=S)
RETRIEVED = functools.partial(jrm.rank_retrieved, Y)
IDS = np.zeros((2, 3), np.int32)
PACKED = {"segment_ids": np.zeros((2, 4), np.int32), "num_segments": 1}
LISTS = jrm.PerList(Y[:, 0], np.ones(2, np.float32), np.ones(2, bool))
MASKED = np.ma.masked_array([1, 2], [0, 1])
GROUPS = {"groups": np.ones((2, 3, 2), np.float32)}
ROWS = {"segment_ids": IDS, "num_segments": 2}
TIES = (
    "expected input input-reversed id-desc id-asc best worst random user-hash hash own"
)


def CATALOG(**changes):
    """Ranks a catalogue of five items."""
    defaults = {
        "queries": np.ones((2, 3), np.float32),
        "items": np.ones((5, 3), np.float32),
        "relevant_ids": IDS,
        "k": 2,
    }
    return jrm.rank_catalog(**(defaults | changes))


def at(array, index, value):
    """Returns a copy of an array in which one number differs."""
    copy = array.copy()
    copy[index] = value
    return copy


def zero(labels, scores, **options):
    """A metric that is 0 for all lists, under all options."""
    del labels, scores, options
    return 0.0


def plus_one(labels):
    """A gain by which irrelevant items are worth something, too."""
    return labels + 1


def keyed(labels, scores, key):
    """Measures one list with its key."""
    return jrm.ndcg(labels, scores, key=key)


ITEMS = jax.sharding.PartitionSpec(None, "model")


def sharded(kind=jax.sharding.AxisType.Explicit, axes=ITEMS):
    """Returns lists whose items are sharded over two devices, by their type."""
    mesh = make_mesh((2,), ("model",), kind)
    return put(mesh, np.zeros((2, 4), np.float32), *axes)


def over_items(call, **options):
    """Traces a function inside shard_map, with labels whose items lie on two devices."""
    labels, out = sharded(jax.sharding.AxisType.Auto), jax.sharding.PartitionSpec()
    how = {"mesh": labels.sharding.mesh, "in_specs": ITEMS, "out_specs": out}
    return jax.eval_shape(jax.shard_map(call, **how, **options), labels)


def gathered(labels):
    """Returns the labels of whole lists, inside `over_items`."""
    return jax.lax.all_gather(labels, "model", axis=1, tiled=True)


def labelled_catalog(block_size):
    """Ranks a catalogue whose items are sharded, and labelled in blocks."""
    labels = jrm.by_attributes(lambda q, i: q[:, None] == i[None], IDS[:, 0], IDS[:, 0])
    return CATALOG(queries=np.ones((2, 4), np.float32), items=sharded(), relevant_ids=labels, block_size=block_size)  # fmt: skip


# Shapes of rankings are enough for these errors, and compile nothing.


def cut():
    """Returns a ranking that is cut above the end of its lists."""
    return jax.eval_shape(lambda: jrm.rank(Y, S, k=2))


def packed():
    """Returns a ranking of packed lists."""
    packing = {"segment_ids": IDS[0], "num_segments": 1}
    return jax.eval_shape(lambda: jrm.rank(Y[0], S[0], **packing))


CASES = {
    # shapes
    "scores shape": (ValueError, "scores .*(2, 4).*labels .*(2, 3).*equal shape", lambda: jrm.ndcg(Y, np.zeros((2, 4), np.float32)), traced(lambda: jrm.ndcg(Y, S))),
    "scores broadcast": (ValueError, "scores .*(1, 3).*nothing is broadcast", lambda: jrm.ndcg(Y, S[:1]), traced(lambda: jrm.ndcg(Y, np.broadcast_to(S[:1], Y.shape)))),
    "labels scalar": (ValueError, "labels has shape (); pass an array with an axis of items", lambda: jrm.ndcg(1.0, 1.0), traced(lambda: jrm.ndcg([1.0], [1.0]))),
    "mask shape": (ValueError, "mask .*(3,).*labels .*(2, 3)", lambda: NDCG(np.ones(3, bool)), traced(lambda: NDCG(np.broadcast_to(np.ones(3, bool), Y.shape)))),
    "weights shape": (ValueError, "weights .*(3,).*(2,) (one per list).*(2, 3) (one per item)", lambda: NDCG(weights=np.ones(3, np.float32)), traced(lambda: (NDCG(weights=2.0), NDCG(weights=Y[:, 0]), NDCG(weights=Y)))),
    "list_weights rank": (ValueError, "list_weights .*(2, 3).*one number per list.*(2,)", lambda: NDCG(list_weights=Y), traced(lambda: NDCG(list_weights=Y[:, 0]))),
    "list_weights scalar": (ValueError, "list_weights .*().*(2,)", lambda: NDCG(list_weights=1.0), traced(lambda: NDCG(list_weights=np.full(2, 1.0)))),
    "key batch": (ValueError, "key has shape (2,).*jax.vmap one key per list", lambda: NDCG(key=jax.random.split(jax.random.key(0))), traced(lambda: (NDCG(key=jax.random.key(0)), jax.vmap(keyed)(Y, S, jax.random.split(jax.random.key(0)))))),
    "legacy key batch": (ValueError, "key has shape (2, 2)", lambda: NDCG(key=jax.random.split(jax.random.PRNGKey(0))), traced(lambda: (NDCG(key=jax.random.key(0)), jax.vmap(keyed)(Y, S, jax.random.split(jax.random.PRNGKey(0)))))),
    # dtypes
    "complex scores": (TypeError, "scores: dtype is complex64.*float array", lambda: jrm.ndcg(Y, S.astype(np.complex64)), traced(lambda: jrm.ndcg(Y, S.astype(np.complex64).real))),
    "text labels": (TypeError, "labels: .*array of numbers", lambda: jrm.ndcg(np.array([["a"]]), S), traced(lambda: jrm.ndcg(np.array([[1]]), S[:1, :1]))),
    "float mask": (TypeError, "mask: dtype is float32; pass mask != 0", lambda: NDCG(Y), traced(lambda: NDCG(Y != 0))),
    "integer mask": (TypeError, "mask: dtype is int32; pass mask != 0", lambda: NDCG(np.ones((2, 3), np.int32)), traced(lambda: NDCG(np.ones((2, 3), np.int32) != 0))),
    "masked array": (TypeError, "labels: got a masked NumPy array.*labels.filled(0).*getmaskarray", lambda: jrm.ndcg(np.ma.masked_array([1, 2], [0, 1]), [0.1, 0.2]), traced(lambda: jrm.ndcg(MASKED.filled(0), [0.1, 0.2], mask=~np.ma.getmaskarray(MASKED)))),
    "ragged labels": (ValueError, "labels: lists differ in length; pad and mask, as jrm.pad_lists does, or pack with segment_ids", lambda: jrm.ndcg([[1, 0], [1]], [[0.1, 0.2], [0.3]]), traced(lambda: (jrm.ndcg(*jrm.pad_lists([[1, 0], [1]], [[0.1, 0.2], [0.3]])), jrm.ndcg([1, 0, 1], [0.1, 0.2, 0.3], segment_ids=[0, 0, 1], num_segments=2)))),
    "ragged ids": (ValueError, "relevant_ids: lists differ in length; pad with -1", lambda: jrm.rank_catalog(Y[:, :2], Y[:, :2], [[1, 2], [3]], k=1), traced(lambda: jrm.rank_catalog(Y[:, :2], Y[:, :2], [[1, 2], [3, -1]], k=1))),
    "traced lists": (TypeError, "labels: got a list of traced values; pass one array.*jnp.stack(labels)", lambda: jax.jit(lambda a, b: jrm.ndcg([a, a], [b, b]))(1.0, 2.0), traced(lambda: jax.jit(lambda a, b: jrm.ndcg(jnp.stack([a, a]), jnp.stack([b, b])))(1.0, 2.0))),
    "labels of no kind": (ValueError, "labels is None at 1; pass a value there", lambda: jrm.ndcg(["a", None], [0.1, 0.2]), traced(lambda: jrm.ndcg([1, 0], [0.1, 0.2]))),
    "k as mask": (TypeError, "mask is 10, but a mask is an array of bools; if .* pass k=10 by name", lambda: jrm.ndcg(Y, S, 10), traced(lambda: (jrm.ndcg(Y, S, k=10), jrm.ndcg(Y, S, Y == 0)))),
    "no labels": (TypeError, "labels: got NoneType", lambda: jrm.ndcg(None, S), traced(lambda: jrm.ndcg(Y, S))),
    "seed as key": (TypeError, "key: got int.*jax.random.key(0)", lambda: NDCG(key=0), traced(lambda: NDCG(key=jax.random.key(0)))),
    "float key": (TypeError, "key: dtype is float32", lambda: NDCG(key=Y[0]), traced(lambda: NDCG(key=jax.random.key(0)))),
    # k
    "k zero": (ValueError, "k is 0.*k >= 1", lambda: NDCG(k=0), traced(lambda: NDCG(k=1))),
    "k negative": (ValueError, "k is (5, -1).*k >= 1", lambda: NDCG(k=(5, -1)), traced(lambda: NDCG(k=(5, 1)))),
    "k bool": (TypeError, "k is True.*not bool", lambda: NDCG(k=True), traced(lambda: [NDCG(k=k) for k in (1, None, (1, 2), jrm.share(0.01))])),
    "k float": (TypeError, "k is 10.0.*not float", lambda: NDCG(k=10.0), traced(lambda: [NDCG(k=k) for k in (10, None, (10, 1), jrm.share(0.01))])),
    "share zero": (ValueError, "share is 0; pass a number above 0 and at most 1", lambda: jrm.share(0), lambda: jrm.share(0.01)),
    "share NaN": (ValueError, "share is nan", lambda: jrm.share(float("nan")), lambda: jrm.share(1)),
    "share of percent": (ValueError, "share is 5; .*0.01 for the first percent", lambda: jrm.share(5), lambda: jrm.share(0.05)),
    "share text": (TypeError, "share is '1%'.*Python number", lambda: jrm.share("1%"), lambda: jrm.share(0.01)),
    "share bool": (TypeError, "share is True.*Python number", lambda: jrm.share(True), lambda: jrm.share(1.0)),
    "share array": (TypeError, "share is .*Python number", lambda: jrm.share(jnp.array(0.1)), lambda: jrm.share(float(jnp.array(0.1)))),
    "share of a rank": (TypeError, "k is share(0.1), but only metrics take a share of a list as a cutoff; pass an int", lambda: RANK(k=jrm.share(0.1)), traced(lambda: (jrm.ndcg.of(RANK(k=None), k=jrm.share(0.1)), RANK(k=1)))),
    "share of a catalogue": (TypeError, "k is (1, share(0.1)).*pass an int", lambda: jrm.rank_catalog(Y, Y, IDS[:, :1], k=(1, jrm.share(0.1))), traced(lambda: [jrm.rank_catalog(Y, Y, IDS[:, :1], k=k) for k in (1, None)])),
    "share of ids": (TypeError, "k is share(0.1).*pass an int", lambda: jrm.overlap(IDS, IDS, k=jrm.share(0.1)), traced(lambda: [jrm.overlap(IDS, IDS, k=k) for k in (1, None)])),
    "share of neighbours": (TypeError, "k is share(0.1).*pass an int", lambda: jrm.neighbor_recall(S, S, jrm.share(0.1)), traced(lambda: [jrm.neighbor_recall(S, S, k) for k in (1, None)])),
    "share of an unknown pool": (ValueError, "pool_labels is None.*pass pool_labels", lambda: jrm.precision.of(jrm.rank_retrieved(Y, num_relevant=[3, 3]), k=jrm.share(0.5)), traced(lambda: jrm.precision.of(RETRIEVED(pool_labels=Y), k=jrm.share(0.5)))),
    "name share": (ValueError, "'1%%' after @ is not a list of integers and percentages.*or @1%", lambda: EVAL(("ndcg@1%%",)), traced(lambda: EVAL(("ndcg@1%", "ndcg@10", "mrr@1,5,10")))),
    "name share zero": (ValueError, "'5,0%' after @ is not a list of integers and percentages", lambda: EVAL(("ndcg@5,0%",)), traced(lambda: EVAL(("ndcg@5,1%",)))),
    "name of a cutoff twice": (ValueError, "metric name 'recall@1,5,1': the cutoff 1 is given twice; pass it once", lambda: EVAL(("recall@1,5,1",)), traced(lambda: EVAL(("recall@1,5",)))),
    "name of a share twice": (ValueError, "the cutoff 5% is given twice", lambda: EVAL(("ndcg@5%,5.0%",)), traced(lambda: EVAL(("ndcg@5%",)))),
    "name of trec_eval with a cutoff twice": (ValueError, "the cutoff 5 is given twice", lambda: EVAL(("P.5,5",)), traced(lambda: EVAL(("P.5",)))),
    "name share of levels": (ValueError, "'10%' after @ is not a list of numbers", lambda: EVAL(("iprec_at_recall@10%",)), traced(lambda: EVAL(("iprec_at_recall@0.1,0.5", "iprec_at_recall@0.5")))),
    "k empty": (ValueError, "k is empty.*pass an int", lambda: NDCG(k=()), traced(lambda: [NDCG(k=k) for k in (1, None, (1, 2))])),
    "k array": (TypeError, "k is a JAX array.*Python int", lambda: NDCG(k=jnp.array(3)), lambda: jax.eval_shape(functools.partial(NDCG, k=int(jnp.array(3))))),
    "k traced": (TypeError, "k is a JAX array.*cannot be traced", lambda: jax.jit(lambda k: NDCG(k=k))(3), traced(lambda: jax.jit(lambda k: NDCG(k=k), static_argnums=0)(3))),
    "rank k": (ValueError, "k is 0", lambda: RANK(k=0), traced(lambda: RANK(k=1))),
    "k beyond the ranking": (ValueError, "k is 3.*cut at k=2", lambda: jrm.ndcg.of(cut(), k=3), traced(lambda: jrm.ndcg.of(RANK(k=3), k=3))),
    "whole of a cut ranking": (ValueError, "k is None.*cut at k=2", lambda: jrm.ndcg.of(cut()), traced(lambda: jrm.ndcg.of(RANK(k=None)))),
    "share of a cut ranking": (ValueError, "k differs from list to list.*cut at k=2; rank with k=None", lambda: jrm.ndcg.of(cut(), k=jrm.share(0.5)), traced(lambda: jrm.ndcg.of(RANK(k=None), k=jrm.share(0.5)))),
    "r_precision of a cut ranking": (ValueError, "k differs from list to list.*cut at k=2", lambda: jrm.r_precision.of(cut()), traced(lambda: jrm.r_precision.of(RANK(k=None)))),
    "measure beyond": (ValueError, "k is 3.*cut at k=2", lambda: jrm.measure(("p@1,3",), cut()), traced(lambda: jrm.measure(("p@1,3",), RANK(k=3)))),
    "r_precision has no k": (TypeError, "r_precision has no option 'k'", lambda: jrm.r_precision(Y, S, k=3)),
    # ties
    "ties name": (ValueError, "ties is 'first'.*expected, random, stable, best, worst", lambda: NDCG(ties="first"), traced(lambda: [NDCG(ties=ties) for ties in (None, "best")])),
    "random without key": (ValueError, "ties is 'random' but key is None.*jax.random.key", lambda: NDCG(ties="random"), traced(lambda: NDCG(ties="random", key=jax.random.key(0)))),
    "expected without closed form": (ValueError, "ties is 'expected'.*no closed form.*ties=None", lambda: jrm.average_precision(Y, S, ties="expected", denominator="hits"), traced(lambda: [jrm.average_precision(Y, S, ties=ties, denominator="hits") for ties in (None, "stable")])),
    # options
    "undefined": (ValueError, "undefined is 'nan'; pass one of zero, one, skip", lambda: NDCG(undefined="nan"), traced(lambda: [NDCG(undefined=word) for word in ("zero", "one", "skip")])),
    "undefined of mean": (ValueError, "undefined is 0", lambda: LISTS.mean(0), traced(lambda: [LISTS.mean(word) for word in ("zero", "one", "skip")])),
    "denominator of precision": (ValueError, "denominator is 'relevant'; pass one of retrieved, k", lambda: jrm.precision(Y, S, denominator="relevant"), traced(lambda: [jrm.precision(Y, S, denominator=word) for word in ("retrieved", "k")])),
    "denominator of recall": (ValueError, "denominator is 'k'; pass one of relevant, attainable", lambda: jrm.recall(Y, S, denominator="k"), traced(lambda: [jrm.recall(Y, S, k=2, denominator=word) for word in ("relevant", "attainable")])),
    "denominator of ap": (ValueError, "denominator is 'min'.*relevant, attainable, hits, k", lambda: jrm.average_precision(Y, S, denominator="min"), traced(lambda: [jrm.average_precision(Y, S, denominator=word) for word in ("relevant", "attainable", "hits", "k")])),
    "threshold": (ValueError, "relevance_threshold is 0; pass a positive", lambda: jrm.recall(Y, S, relevance_threshold=0), traced(lambda: jrm.recall(Y, S, relevance_threshold=0.5))),
    "threshold kind": (TypeError, "relevance_threshold is '2'", lambda: jrm.reciprocal_rank(Y, S, relevance_threshold="2"), traced(lambda: jrm.reciprocal_rank(Y, S, relevance_threshold=2))),
    "beta": (ValueError, "beta is -1", lambda: jrm.f_score(Y, S, beta=-1), traced(lambda: jrm.f_score(Y, S, beta=1))),
    "beta infinite": (ValueError, "beta is inf", lambda: jrm.f_score(Y, S, beta=float("inf")), traced(lambda: jrm.f_score(Y, S, beta=1e3))),
    "gains of a wrong shape": (ValueError, "gain_fn gave gains of shape (3,).*one gain per label", lambda: NDCG(gain_fn=lambda y: y[0]), traced(lambda: NDCG(gain_fn=lambda y: y))),
    "discount without base": (TypeError, "discount_fn is the class log_discount; pass an instance", lambda: NDCG(discount_fn=jrm.log_discount), traced(lambda: NDCG(discount_fn=jrm.log_discount(2)))),
    "undefined of per_list": (TypeError, "no option 'undefined'; pass it to the mean, as in .mean('skip')", lambda: jrm.ndcg.per_list(Y, S, undefined="skip"), traced(lambda: jrm.ndcg.per_list(Y, S).mean("skip"))),
    "ties of a ranking": (TypeError, "no option 'ties'.*pass it to jrm.rank", lambda: jrm.ndcg.of(cut(), ties="best"), traced(lambda: jrm.ndcg.of(jrm.rank(Y, S, ties="best")))),
    "ranking of labels": (TypeError, "ranking: got an array of float32 (2, 3); pass a Ranking, which jrm.rank returns", lambda: jrm.recall.of(Y, k=3), traced(lambda: jrm.recall.of(jrm.rank(Y, S), k=3))),
    "ranking none": (TypeError, "ranking: got None", lambda: jrm.recall.of(None), traced(lambda: jrm.recall.of(jrm.rank(Y, S)))),
    "ranking a state": (TypeError, "ranking: got a Mean", lambda: jrm.measure("ndcg", jrm.Mean.empty()), traced(lambda: jrm.measure("ndcg", jrm.rank(Y, S)))),
    "complex gains": (TypeError, "ndcg: a function returned complex64; return real", lambda: NDCG(gain_fn=lambda y: y.astype(complex)), traced(lambda: NDCG(gain_fn=lambda y: y.astype(complex).real))),
    "complex discounts": (TypeError, "ndcg: a function returned complex64; return real", lambda: NDCG(discount_fn=lambda ranks: ranks.astype(complex)), traced(lambda: NDCG(discount_fn=lambda ranks: ranks.astype(complex).real))),
    "gain not callable": (TypeError, "gain_fn is 'linear'.*function", lambda: NDCG(gain_fn="linear"), traced(lambda: NDCG(gain_fn=jrm.linear_gain))),
    "array option": (TypeError, "beta is an array.*static", lambda: jrm.f_score(Y, S, beta=jnp.array(1.0)), lambda: jax.eval_shape(functools.partial(jrm.f_score, Y, S, beta=float(jnp.array(1.0))))),
    "unhashable option": (TypeError, "denominator is {'k'}, which has no hash; pass a hashable value, such as the default 'retrieved'", lambda: jrm.precision(Y, S, denominator={"k"}), traced(lambda: jrm.precision(Y, S, denominator="retrieved"))),
    "an option in a list": (ValueError, "denominator is ('k',); pass one of retrieved, k", lambda: jrm.precision(Y, S, denominator=["k"]), traced(lambda: jrm.precision(Y, S, denominator="k"))),
    "unknown option": (TypeError, "ndcg has no option 'topn'.*k, gain_fn, discount_fn", lambda: NDCG(topn=5)),
    "too many positions": (TypeError, "ndcg: got 7 positional arguments too many.*options by name", lambda: jrm.ndcg(Y, S, *[None] * 5, "zero", *[None] * 3, 10), traced(lambda: jrm.ndcg(Y, S, k=10, undefined="zero"))),
    "log base kind": (TypeError, "base is 'a'; pass a Python number above 1", lambda: jrm.log_discount("a"), lambda: jrm.log_discount(2)),
    "log base infinite": (ValueError, "base is inf", lambda: jrm.log_discount(float("inf")), lambda: jrm.log_discount(1e6)),
    "log base": (ValueError, "base is 1", lambda: jrm.log_discount(1), lambda: jrm.log_discount(1.5)),
    # names
    "unknown metric": (ValueError, "'ndgc' is unknown; did you mean ndcg", lambda: EVAL(("ndgc@10",)), traced(lambda: EVAL(("ndcg@10",)))),
    "name gain": (TypeError, "'dtr(gain_fn=lin_gain)': gain_fn is 'lin_gain'.*such as linear_gain", lambda: EVAL(("dtr(gain_fn=lin_gain)",)), traced(lambda: EVAL(("dtr(gain_fn=linear_gain)",), columns=GROUPS))),
    "name gain unlike any": (TypeError, "gain_fn is 'xyz'.*one of exponential_gain, linear_gain", lambda: EVAL(("dtr(gain_fn=xyz)",)), traced(lambda: [EVAL((f"dtr(gain_fn={name})",), columns=GROUPS) for name in ("exponential_gain", "log_discount(2)", "reciprocal_discount")])),
    "name residual": (ValueError, "'residual(of=ndcg)@2': of is .*linear in gains", lambda: EVAL(("residual(of=ndcg)@2",)), traced(lambda: [EVAL(f"residual(of={name})@2", columns={"judged": Y == 0}) for name in ("dcg", "precision")])),
    "name kind": (TypeError, "bedroc(alpha='x'): alpha is 'x'; pass a positive", lambda: EVAL(("bedroc(alpha='x')",)), traced(lambda: EVAL(("bedroc(alpha=20)",)))),
    "name share of nothing": (ValueError, "'ef@0.0%': '0.0%' after @.*above 0 % and at most 100 %", lambda: EVAL(("ef@0.0%",)), traced(lambda: EVAL(("ef@1%", "ef@10", "ef@1,5,10")))),
    "metric name form": (ValueError, "'ndcg@10@5'.*name(option=value)@k", lambda: EVAL(("ndcg@10@5",)), traced(lambda: EVAL(("ndcg@10", "recall@1,5", "ap(denominator=hits)@5")))),
    "name k": (ValueError, "'ten' after @.*@10", lambda: EVAL(("ndcg@ten",)), traced(lambda: EVAL(("ndcg@10",)))),
    "name k zero": (ValueError, "'ndcg@0': k is 0", lambda: EVAL(("ndcg@0",)), traced(lambda: EVAL(("ndcg@1",)))),
    "name option": (TypeError, "recall has no option 'beta'", lambda: EVAL(("recall(beta=2)@3",))),
    "name value": (ValueError, "'1 + x' is not a literal", lambda: EVAL(("recall(rel=1 + x)@3",)), traced(lambda: EVAL(("recall(rel=2)@3", "ndcg(gain_fn=linear_gain)", "ap(denominator=hits)")))),
    "name syntax": (ValueError, "cannot read", lambda: EVAL(("recall(rel=)@3",)), traced(lambda: EVAL(("recall(rel=2)@3",)))),
    "name positional": (ValueError, "(option=value", lambda: EVAL(("recall(2)@3",)), traced(lambda: EVAL(("recall(rel=2)@3",)))),
    "name k twice": (ValueError, "gives k twice", lambda: EVAL(("recall(k=2)@3",)), traced(lambda: EVAL(("recall@2",)))),
    "names repeated": (ValueError, "names 'map' twice", lambda: EVAL(("map", "map")), traced(lambda: EVAL(("map",)))),
    "no names": (ValueError, "metrics is empty", lambda: EVAL(()), traced(lambda: EVAL(("ndcg@10",)))),
    "not a name": (TypeError, "metrics holds .*pass names", lambda: EVAL((jrm.ndcg,)), traced(lambda: (EVAL(("ndcg",)), EVAL({"ndcg": jrm.ndcg})))),
    "dict value": (TypeError, "'x' is 'ndcg'.*functools.partial", lambda: EVAL({"x": "ndcg"}), traced(lambda: (EVAL({"x": jrm.ndcg}), EVAL({"x": functools.partial(jrm.ndcg, k=10)})))),
    "dict key": (TypeError, "key 1 is not a string", lambda: EVAL({1: jrm.ndcg}), traced(lambda: EVAL({"1": jrm.ndcg}))),
    "ranking option in a partial": (TypeError, "'x' sets 'ties'.*pass ties to the call", lambda: EVAL({"x": functools.partial(jrm.ndcg, ties="best")}), traced(lambda: EVAL({"x": jrm.ndcg}, ties="best"))),
    "metric for metrics": (TypeError, "metrics: got .*; pass names such as 'ndcg@10', or .*{'ndcg': jrm.ndcg}", lambda: EVAL(jrm.ndcg), traced(lambda: (EVAL("ndcg@10"), EVAL({"ndcg": jrm.ndcg})))),
    "partial for metrics": (TypeError, "metrics: got a partial; pass names", lambda: EVAL(functools.partial(jrm.ndcg, k=3)), traced(lambda: (EVAL("ndcg@3"), EVAL({"ndcg": functools.partial(jrm.ndcg, k=3)})))),
    "none for metrics": (TypeError, "metrics: got None; pass names", lambda: EVAL(None), traced(lambda: EVAL("ndcg@10"))),
    "number for metrics": (TypeError, "metrics: got 10; pass names", lambda: EVAL(10), traced(lambda: EVAL("ndcg@10"))),
    "labels for metrics": (TypeError, "metrics: got an array of float32 (2, 3); pass names", lambda: jrm.evaluate(jnp.asarray(Y), S, S), traced(lambda: jrm.evaluate("ndcg@10", jnp.asarray(Y), S))),
    "empty of a metric": (TypeError, "metrics: got .*; pass names", lambda: jrm.empty(jrm.ndcg), lambda: (jrm.empty("ndcg@10"), jrm.empty({"ndcg": jrm.ndcg}))),
    "measure turned round": (TypeError, "metrics: got a Ranking; pass names", lambda: jrm.measure(cut(), "ndcg"), traced(lambda: jrm.measure("ndcg@2", cut()))),
    "name without k": (TypeError, "metric name 'rprec@5': r_precision has no option 'k'", lambda: EVAL("rprec@5")),
    "name unhashable": (ValueError, "'{[1]: 2}' is not a literal", lambda: EVAL("recall(rel={[1]:2})@3"), traced(lambda: EVAL("recall(rel=2)@3"))),
    "name option list": (TypeError, "recall(rel=[1])@3: relevance_threshold is (1,); pass a positive", lambda: EVAL("recall(rel=[1])@3"), traced(lambda: EVAL("recall(rel=1)@3"))),
    "name options twice": (ValueError, "pass options once", lambda: EVAL("recall(rel=2)(rel=3)@5"), traced(lambda: EVAL("recall(rel=2)@5"))),
    "name of a call": (ValueError, "pass options once", lambda: EVAL("recall(rel=2).x(rel=3)@5"), traced(lambda: EVAL("recall(rel=3)@5"))),
    "name option twice": (ValueError, "gives relevance_threshold twice", lambda: EVAL("recall(rel=2,rel=3)"), traced(lambda: EVAL("recall(rel=2)"))),
    "name option under two names": (ValueError, "gives relevance_threshold twice", lambda: EVAL("recall(rel=2,relevance_threshold=3)"), traced(lambda: EVAL("recall(relevance_threshold=3)"))),
    "name family": (ValueError, "metric name 'ndcg_cut.1,0': k is (1, 0)", lambda: EVAL("ndcg_cut.1,0"), traced(lambda: EVAL("ndcg_cut.1,5"))),
    "name of trec_eval alone": (ValueError, "metric name 'Rndcg': this measure of trec_eval is no metric here", lambda: EVAL(("map", "Rndcg")), traced(lambda: EVAL(("map",)))),
    "metric of soft places": (ValueError, "infap: this metric needs an order", lambda: EVAL(("ndcg", "infap"), relax=jrm.sigmoid_ranks(0.1)), traced(lambda: EVAL(("ndcg", "infap")))),
    "metric of a closed form": (ValueError, "infap: ties is 'expected'", lambda: EVAL(("ndcg", "infap"), ties="expected"), traced(lambda: [EVAL(("ndcg", "infap"), ties=ties) for ties in (None, "best")])),
    "metric of a cut": (ValueError, "p@5: k is 5, but the ranking was cut at k=2", lambda: jrm.measure(("p@1", "p@5"), cut()), traced(lambda: jrm.measure(("p@1", "p@5"), RANK(k=5)))),
    "name log without base": (ValueError, "log_discount needs a base; pass, for example, log_discount(2)", lambda: EVAL("ndcg(discount_fn=log_discount)@3"), traced(lambda: EVAL("ndcg(discount_fn=log_discount(2))@3"))),
    "name log of nothing": (ValueError, "'log_discount()'.*base.*log_discount(2)", lambda: EVAL("ndcg(discount_fn=log_discount())@3"), traced(lambda: EVAL("ndcg(discount_fn=log_discount(2))@3"))),
    "name log of two": (ValueError, "'log_discount(2, 3)'.*too many.*log_discount(2)", lambda: EVAL("ndcg(discount_fn=log_discount(2,3))@3"), traced(lambda: EVAL("ndcg(discount_fn=log_discount(3))@3"))),
    "name log of text": (ValueError, "\"log_discount('a')\".*base is 'a'", lambda: EVAL("ndcg(discount_fn=log_discount('a'))@3"), traced(lambda: EVAL("ndcg(discount_fn=log_discount(1.5))@3"))),
    "name log of one": (ValueError, "'log_discount(1)'.*base is 1", lambda: EVAL("ndcg(discount_fn=log_discount(1))@3"), traced(lambda: EVAL("ndcg(discount_fn=log_discount(2))@3"))),
    "function in a dict": (TypeError, "metrics: 'x' is <function.*pass a metric such as jrm.ndcg", lambda: EVAL({"x": lambda ranking: ranking}), traced(lambda: EVAL({"x": functools.partial(jrm.ndcg, k=10)}))),
    "name too deep": (ValueError, "metric name", lambda: EVAL(f"recall(rel={'(' * 500}1{')' * 500})"), traced(lambda: EVAL("recall(rel=1)@3"))),
    # retrieved
    "fewer relevant than retrieved": (ValueError, "num_relevant is 1, but 3 retrieved", lambda: jrm.rank_retrieved([1, 1, 1], num_relevant=1), traced(lambda: (jrm.rank_retrieved([1, 1, 1], num_relevant=4), jrm.rank_retrieved([1, 1, 1], pool_labels=[1, 1, 1, 1])))),
    "fewer relevant in one list": (ValueError, "num_relevant is 2 for list (1,), but 3 ", lambda: jrm.rank_retrieved([[1, 0, 1], [1, 1, 1]], num_relevant=[2, 2]), lambda: jrm.rank_retrieved([[1, 0, 1], [1, 1, 1]], num_relevant=[2, 3])),
    "number not whole": (ValueError, "num_relevant holds 3.5; pass whole numbers", lambda: RETRIEVED(num_relevant=[3.5, 1]), lambda: RETRIEVED(num_relevant=[3, 1])),
    "number nan": (ValueError, "num_relevant holds nan; pass whole numbers", lambda: RETRIEVED(num_relevant=[3, np.nan]), lambda: RETRIEVED(num_relevant=[3, 0])),
    "number negative": (ValueError, "num_relevant is -1 for list (0,); pass the number of all", lambda: RETRIEVED(num_relevant=[-1, 1]), lambda: (RETRIEVED(num_relevant=[2, 1]), RETRIEVED(num_relevant=[0, 1]))),
    "pool lacks ones": (ValueError, "3 retrieved items for list (1,) have a label of at least 1, but pool_labels holds 1", lambda: jrm.rank_retrieved(at(Y, 1, 1), pool_labels=np.eye(2, dtype=np.float32)), lambda: jrm.rank_retrieved(at(Y, 1, 1), pool_labels=np.ones((2, 3), np.float32))),
    "pool lacks grades": (ValueError, "1 retrieved items have a label of at least 2, but pool_labels holds 0", lambda: jrm.rank_retrieved(np.array([2, 0]), pool_labels=[[1.5, 1, 0], [3, 3, 3]][0]), lambda: jrm.rank_retrieved(np.array([2, 0]), pool_labels=[2, 0, 1.5])),
    "pool masks ones": (ValueError, "2 retrieved items for list (0,)", lambda: jrm.rank_retrieved(np.array([[1, 1]]), pool_labels=[[1, 1]], pool_mask=[[True, False]]), lambda: jrm.rank_retrieved(np.array([[1, 1]]), pool_labels=[[1, 1]], pool_mask=[[True, True]])),
    "pool shape": (ValueError, "pool_labels .*(3, 4).*labels .*(2, 3).*last axis", lambda: RETRIEVED(pool_labels=np.zeros((3, 4), np.float32)), traced(lambda: RETRIEVED(pool_labels=np.zeros((2, 4), np.float32)))),
    "pool mask": (ValueError, "pool_mask is given but pool_labels is None", lambda: RETRIEVED(pool_mask=np.ones((2, 3), bool)), traced(lambda: RETRIEVED(pool_labels=Y, pool_mask=np.ones((2, 3), bool)))),
    "pool mask shape": (ValueError, "pool_mask .*(2, 3).*pool_labels .*(2, 4)", lambda: RETRIEVED(pool_labels=np.zeros((2, 4), np.float32), pool_mask=np.ones((2, 3), bool)), traced(lambda: RETRIEVED(pool_labels=np.zeros((2, 4), np.float32), pool_mask=np.ones((2, 4), bool)))),
    "pool and number": (ValueError, "pool_labels and num_relevant are both given", lambda: RETRIEVED(pool_labels=Y, num_relevant=np.ones(2, np.float32)), traced(lambda: (RETRIEVED(pool_labels=Y), RETRIEVED(num_relevant=np.ones(2, np.float32))))),
    "number shape": (ValueError, "num_relevant .*(3,).*one number per list", lambda: RETRIEVED(num_relevant=np.ones(3, np.float32)), traced(lambda: RETRIEVED(num_relevant=np.ones(2, np.float32)))),
    "weights without pool's": (ValueError, "pool_weights is None; pass both", lambda: RETRIEVED(weights=Y, pool_labels=Y), traced(lambda: (RETRIEVED(weights=Y, pool_labels=Y, pool_weights=Y), RETRIEVED(pool_labels=Y)))),
    "pool's weights alone": (ValueError, "pool_weights is given; pass both", lambda: RETRIEVED(pool_labels=Y, pool_weights=Y), traced(lambda: (RETRIEVED(weights=Y, pool_labels=Y, pool_weights=Y), RETRIEVED(pool_labels=Y)))),
    "weights with number": (ValueError, "weights is per item, but num_relevant does not tell the weights of items", lambda: RETRIEVED(weights=Y, num_relevant=np.ones(2, np.float32)), traced(lambda: RETRIEVED(weights=Y, pool_labels=Y, pool_weights=Y))),
    "ndcg of a number": (ValueError, "pool_labels is None.*pass pool_labels", lambda: jrm.ndcg.of(jax.eval_shape(lambda: RETRIEVED(num_relevant=np.ones(2, np.float32)))), traced(lambda: jrm.ndcg.of(RETRIEVED(pool_labels=Y)))),
    # relevant ids that repeat
    "ids of a catalogue": (ValueError, "relevant_ids holds 0 more than once in list 0; pass each id", lambda: CATALOG(), traced(lambda: CATALOG(relevant_ids=[[0, -1, -1], [1, 0, -1]]))),
    "ids of scores": (ValueError, "relevant_ids holds 2 more than once in list (1, 0);", lambda: jrm.rank_scores(np.zeros((2, 1, 3), np.float32), [[[0, 1, 2]], [[2, -1, 2]]]), traced(lambda: jrm.rank_scores(np.zeros((2, 1, 3), np.float32), [[[0, 1, 2]], [[2, -1, -1]]]))),
    "ids of retrieved ids": (ValueError, "relevant_ids holds 3 more than once; pass", lambda: jrm.rank_ids(np.arange(3), np.array([3, 3, -1])), traced(lambda: jrm.rank_ids(np.arange(3), np.array([3, -1, -1])))),
    # packed lists
    "segments alone": (ValueError, "num_segments is None; pass the number of lists as num_segments", lambda: NDCG(segment_ids=IDS), traced(lambda: NDCG(segment_ids=IDS, num_segments=1))),
    "number of segments alone": (ValueError, "num_segments is given but segment_ids is None", lambda: NDCG(num_segments=2), traced(lambda: (NDCG(segment_ids=IDS, num_segments=2), NDCG()))),
    "segments shape": (ValueError, "segment_ids .*(2,).*labels .*(2, 3)", lambda: NDCG(segment_ids=IDS[0, :2], num_segments=2), traced(lambda: NDCG(segment_ids=IDS, num_segments=2))),
    "segments dtype": (TypeError, "segment_ids: dtype is float32; pass an array of integers", lambda: NDCG(segment_ids=S, num_segments=2), traced(lambda: NDCG(segment_ids=S.astype(int), num_segments=2))),
    "too many segments": (ValueError, "num_segments is 1073741824; pass at most 1073741823", lambda: NDCG(segment_ids=IDS, num_segments=2**30), traced(lambda: NDCG(segment_ids=IDS, num_segments=2**30 - 1))),
    "no segments": (ValueError, "num_segments is 0; pass an int of at least 1", lambda: NDCG(segment_ids=IDS, num_segments=0), traced(lambda: NDCG(segment_ids=IDS, num_segments=1))),
    "traced number of segments": (TypeError, "num_segments is a JAX array, but it is static; pass a Python int", lambda: NDCG(segment_ids=IDS, num_segments=jnp.array(2)), lambda: jax.eval_shape(functools.partial(NDCG, segment_ids=IDS, num_segments=int(jnp.array(2))))),
    "number of segments": (TypeError, "num_segments is 2.0; pass a Python int", lambda: NDCG(segment_ids=IDS, num_segments=2.0), traced(lambda: NDCG(segment_ids=IDS, num_segments=2))),
    "weights of packed lists": (ValueError, "weights .*(2,).*weights per list go into list_weights.*(2, 3) (one per item)", lambda: NDCG(weights=np.ones(2, np.float32), segment_ids=IDS, num_segments=2), traced(lambda: (NDCG(weights=2.0, **ROWS), NDCG(weights=Y, **ROWS), NDCG(list_weights=np.ones((2, 2)), **ROWS)))),
    "list_weights of packed lists": (ValueError, "list_weights .*(2,).*shape (2, 4)", lambda: NDCG(list_weights=np.ones(2, np.float32), segment_ids=IDS, num_segments=4), traced(lambda: NDCG(list_weights=np.ones((2, 4), np.float32), segment_ids=IDS, num_segments=4))),
    # items over devices
    "items axis outside": (ValueError, "items_axis is 'model', which is not a mesh axis in this context.*jax.shard_map", lambda: NDCG(items_axis="model", k=1), lambda: over_items(lambda y: jrm.ndcg(y, y, items_axis="model", k=1))),
    "items axis type": (TypeError, "items_axis is 3; pass a mesh axis", lambda: NDCG(items_axis=3, k=1), lambda: over_items(lambda y: (jrm.ndcg(y, y, items_axis="model", k=1), jrm.ndcg(y, y, items_axis=("model",), k=1)))),
    "items axis and segments": (ValueError, "segment_ids and items_axis are both given", lambda: over_items(lambda y: jrm.ndcg(y, y, segment_ids=y.astype(int), num_segments=2, items_axis="model", k=1)), lambda: over_items(lambda y: jrm.ndcg(y, y, items_axis="model", k=1))),
    "items axis without k": (ValueError, "k is None, but the items of a list are sharded over devices; pass k", lambda: over_items(lambda y: jrm.average_precision(y, y, items_axis="model")), lambda: over_items(lambda y: (jrm.average_precision(y, y, items_axis="model", k=3), jrm.average_precision(*[gathered(y)] * 2)), check_vma=False)),
    "r_precision over devices": (ValueError, "k is None, but the items of a list are sharded over devices", lambda: over_items(lambda y: jrm.r_precision(y, y, items_axis="model")), lambda: over_items(lambda y: jrm.r_precision(*[gathered(y)] * 2), check_vma=False)),
    "sharded items without k": (ValueError, "k is None, but the items of a list are sharded over devices", lambda: jrm.ndcg(sharded(), sharded()), lambda: (jax.eval_shape(functools.partial(jrm.ndcg, k=3), sharded(), sharded()), jax.eval_shape(lambda y: jrm.ndcg(y, y), jax.device_get(sharded())))),
    "items axis of a sharded type": (ValueError, "items_axis is 'model', which is not a mesh axis in this context", lambda: jrm.ndcg(sharded(), sharded(), k=1, items_axis="model"), lambda: over_items(lambda y: jrm.ndcg(y, y, k=1, items_axis="model"))),
    "sharded segments": (ValueError, "segment_ids is sharded over devices.*jax.shard_map", lambda: jrm.ndcg(sharded(), sharded(), segment_ids=sharded().astype(int), num_segments=2), lambda: jax.eval_shape(lambda *arrays: jrm.ndcg(*arrays[:2], segment_ids=arrays[2], num_segments=2), *jax.device_get([sharded(), sharded(), sharded().astype(int)]))),
    "sharded packed labels": (ValueError, "labels is sharded over devices.*jax.shard_map.*jax.device_get(labels)", lambda: jrm.ndcg(sharded(), np.ones((2, 4)), **PACKED), lambda: jax.eval_shape(lambda y: jrm.ndcg(y, np.ones((2, 4)), **PACKED), jax.device_get(sharded()))),
    "sharded packed mask": (ValueError, "mask is sharded over devices.*jax.device_get(mask)", lambda: jrm.ndcg(np.ones((2, 4)), np.ones((2, 4)), sharded() > 0, **PACKED), lambda: jax.eval_shape(lambda mask: jrm.ndcg(np.ones((2, 4)), np.ones((2, 4)), mask, **PACKED), jax.device_get(sharded() > 0))),
    "sharded retrieved labels": (ValueError, "the last axis of labels is sharded.*shard the lists instead.*jax.device_get(labels)", lambda: jrm.rank_retrieved(sharded()), lambda: (jax.eval_shape(jrm.rank_retrieved, jax.device_get(sharded())), jax.eval_shape(jrm.rank_retrieved, sharded(axes=("model",))))),
    "sharded pool": (ValueError, "the last axis of pool_labels is sharded.*jax.device_get(pool_labels)", lambda: RETRIEVED(pool_labels=sharded()), lambda: jax.eval_shape(lambda y: RETRIEVED(pool_labels=y), jax.device_get(sharded()))),
    "sharded relevant ids": (ValueError, "the last axis of relevant_ids is sharded.*jax.device_get(relevant_ids)", lambda: jrm.rank_ids(IDS, sharded().astype(int)), lambda: jax.eval_shape(functools.partial(jrm.rank_ids, IDS), jax.device_get(sharded().astype(int)))),
    "states reduced twice": (ValueError, "all_reduce over 'model': states are already equal", lambda: over_items(lambda y: jrm.all_reduce(jrm.ndcg(y, y, items_axis="model", k=1), "model")), lambda: over_items(lambda y: (jrm.ndcg(y, y, items_axis="model", k=1), jrm.merge(jrm.all_reduce(jrm.ndcg(y, y), "model"), jrm.ndcg(y, y, items_axis="model", k=1))))),
    # ids
    "a string of ids": (TypeError, "retrieved_ids: query 0 holds .*; pass a list of ids in rank order", lambda: jrm.rank_ids(np.array(["ab"]), [["a"]]), traced(lambda: jrm.rank_ids([["ab"]], [["a"]]))),
    "a list of ids beside lists of lists": (TypeError, "there is a list instead of an id; pass a list of lists for both", lambda: jrm.rank_ids(["a"], [["a"]]), traced(lambda: (jrm.rank_ids([["a"]], [["a"]]), jrm.rank_ids(["a"], ["a"])))),
    "other queries": (ValueError, "retrieved_ids has the query 'q', which relevant_ids lacks", lambda: jrm.rank_ids({"q": ["a"]}, {"r": ["a"]}), lambda: (jrm.rank_ids({"q": ["a"]}, {"q": ["a"]}), jrm.join({"r": ["a"], "q": ["a"]}, {"q": ["a"], "s": ["a"]}, missing="zero", unjudged="skip"))),
    "queries of one side": (ValueError, "retrieved_ids has 1 queries, and relevant_ids 1 lists", lambda: jrm.rank_ids({"q": ["a"]}, [["a"]]), lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a"]})),
    "no queries": (ValueError, "retrieved_ids has 0 queries", lambda: jrm.rank_ids({}, {}), lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a"]})),
    "a missing id": (ValueError, "retrieved_ids of query 'q' is None at 1; pass", lambda: jrm.rank_ids({"q": ["a", None]}, {"q": ["a"]}), lambda: jrm.rank_ids({"q": ["a", "b"]}, {"q": ["a"]})),
    "a relevant id twice": (ValueError, "relevant_ids holds 'a' twice in a list", lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a", "a"]}), lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a"]})),
    "dicts as ids": (TypeError, "retrieved_ids and relevant_ids: {'id': 'a'} is no id; pass integers or strings", lambda: jrm.rank_ids([[{"id": "a"}]], [["a"]]), lambda: jrm.rank_ids([["a"]], [["a"]])),
    "float ids of a list": (TypeError, "retrieved_ids and relevant_ids: 1.0 is no id; pass integers or strings", lambda: jrm.rank_ids([[1.0, 2.0], [3]], [[1], [3]]), lambda: jrm.rank_ids([[1, 2], [3]], [["1"], ["3"]])),
    "labels of other queries": (ValueError, "retrieved_ids has the query 'q', which relevant_labels lacks", lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a"]}, {"r": [1]}), lambda: jrm.rank_ids({"q": ["a"]}, {"q": ["a"]}, {"q": [1]})),
    "repeats of ids": (ValueError, "repeats is 'drop'", lambda: jrm.rank_ids([1], [1], repeats="drop"), lambda: [jrm.rank_ids([1], [1], repeats=word) for word in ("keep", "remove")]),
    "float ids": (TypeError, "retrieved_ids: dtype is float32; pass an array of integers", lambda: jrm.rank_ids(Y, IDS), traced(lambda: jrm.rank_ids(Y.astype(int), np.eye(2, 3, dtype=int) - 1))),
    "unsigned ids": (TypeError, "relevant_ids: dtype is uint32; pass signed integers", lambda: jrm.rank_ids(IDS, IDS.astype(np.uint32)), traced(lambda: jrm.rank_ids(IDS, IDS.astype(np.uint32).astype(int) - [0, 1, 1]))),
    "one id": (ValueError, "retrieved_ids has shape ()", lambda: jrm.rank_ids(3, IDS), traced(lambda: jrm.rank_ids([3], IDS[0] - [0, 1, 1]))),
    "lists of ids": (ValueError, "relevant_ids .*(3,).*retrieved_ids .*(2, 3).*last axis", lambda: jrm.rank_ids(IDS, IDS[0]), traced(lambda: jrm.rank_ids(IDS, IDS[:, :1]))),
    "labels of ids": (ValueError, "relevant_labels .*(2, 2).*relevant_ids .*(2, 3)", lambda: jrm.rank_ids(IDS, IDS, Y[:, :2]), traced(lambda: jrm.rank_ids(IDS, IDS - [0, 1, 1], Y))),
    "weights of ids": (ValueError, "list_weights .*(3,).*shape (2,)", lambda: jrm.rank_ids(IDS, IDS, list_weights=np.ones(3, np.float32)), traced(lambda: jrm.rank_ids(IDS, IDS - [0, 1, 1], list_weights=np.ones(2, np.float32)))),
    # catalogues
    "embeddings": (ValueError, "queries .*(2, 3).*items .*(5, 4).*[items, dims]", lambda: CATALOG(items=np.ones((5, 4), np.float32)), traced(lambda: (CATALOG(), CATALOG(items=np.ones((5, 4)), similarity=lambda queries, items: queries @ items[:, 1:].T)))),
    "item embeddings": (ValueError, "items .*(3,).*[items, dims]", lambda: CATALOG(items=np.ones(3, np.float32)), traced(lambda: CATALOG(items=np.ones((1, 3), np.float32)))),
    "no items": (ValueError, "items .*(0, 3).*at least one item", lambda: CATALOG(items=np.ones((0, 3), np.float32)), traced(lambda: CATALOG(items=np.ones((1, 3), np.float32)))),
    "relevant ids": (ValueError, "relevant_ids .*(3, 1).*queries .*(2, 3)", lambda: CATALOG(relevant_ids=np.zeros((3, 1), int)), traced(lambda: CATALOG(relevant_ids=np.zeros((2, 1), int)))),
    "excluded ids": (ValueError, "exclude_ids .*(3,).*queries .*(2, 3)", lambda: CATALOG(exclude_ids=IDS[0]), traced(lambda: CATALOG(exclude_ids=IDS))),
    "item mask": (ValueError, "item_mask .*(4,).*items .*(5,)", lambda: CATALOG(item_mask=np.ones(4, bool)), traced(lambda: CATALOG(item_mask=np.ones(5, bool)))),
    "item mask dtype": (TypeError, "item_mask: dtype is float.*; pass item_mask != 0", lambda: CATALOG(item_mask=np.ones(5, np.float32)), traced(lambda: CATALOG(item_mask=np.ones(5, np.float32) != 0))),
    "block size": (ValueError, "block_size is 0; pass an int of at least 1", lambda: CATALOG(block_size=0), traced(lambda: CATALOG(block_size=1))),
    "catalogue ties": (ValueError, "ties is 'first'", lambda: CATALOG(ties="first"), traced(lambda: [CATALOG(ties=ties) for ties in (None, "best")])),
    "catalogue k": (ValueError, "k is 0", lambda: CATALOG(k=0), traced(lambda: CATALOG(k=1))),
    "sharded catalogue of labels": (ValueError, "labels the items in 2 blocks.*'model'.*block_size of at least .*, 2, or .*jax.shard_map", lambda: labelled_catalog(1), lambda: labelled_catalog(2)),
    "catalogue gain": (ValueError, "the label 0 has the value 1.0.*rank_catalog(k=", lambda: jrm.dcg.of(jax.eval_shape(lambda: CATALOG(k=None)), gain_fn=plus_one), traced(lambda: [jrm.dcg.of(ranking, gain_fn=plus_one) for ranking in (RANK(), CATALOG(k=5), jrm.rank_scores(S, IDS[:, :1], k=3))])),
    "beyond a catalogue's cut": (ValueError, "k is None.*cut at k=2", lambda: jrm.reciprocal_rank.of(jax.eval_shape(CATALOG)), traced(lambda: jrm.reciprocal_rank.of(CATALOG(k=None)))),
    # states
    "merge nothing": (ValueError, "merge got no states", jrm.merge, lambda: jrm.merge(jrm.empty("map"))),
    "merge structures": (ValueError, "states differ in structure", lambda: jrm.merge(jrm.empty("map"), jrm.empty("mrr")), lambda: jrm.merge(jrm.empty("map"), jrm.empty("map"))),
    "merge no states": (TypeError, "states holds a float.*pytree of Mean", lambda: jrm.merge({"a": 1.0}, {"a": 2.0}), lambda: jrm.merge({"a": jrm.Mean.empty()}, {"a": jrm.Mean.empty()})),
    "merge what was restored without a target": (TypeError, "states holds an array of int32 (2,); pass a pytree of Mean, and restore .*empty(metrics)", lambda: jrm.merge(jrm.empty("map"), {"map": {"counts": np.zeros(2, np.int32)}}), lambda: jrm.merge(jrm.empty("map"), jax.tree.map(np.asarray, jrm.empty("map")))),
    "mean of states": (TypeError, "lists holds a Mean.*PerList", lambda: jrm.mean(jrm.empty("map")), lambda: jrm.mean({"map": LISTS})),
    "reduce unstacked": (ValueError, "without a leading axis", lambda: jrm.reduce(jrm.empty("map")), traced(lambda: jrm.reduce(jax.vmap(jrm.average_precision)(Y, S)))),
    "flat of a list": (TypeError, "flat needs a dict of states, but got list; pass a dict", lambda: jrm.compute([jrm.Mean.empty()], flat=True), lambda: (jrm.compute({"a": jrm.Mean.empty()}, flat=True), jrm.compute([jrm.Mean.empty()]))),
    # checks of values
    "check weights": (ValueError, "weights is -1.0 at (1,); pass weights of at least 0", lambda: jrm.check(Y, S, None, np.float32([1, -1])), lambda: jrm.check(Y, S, None, np.float32([1, 0]))),
    "check item weights": (ValueError, "weights is nan at (1, 2)", lambda: jrm.check(Y, S, None, at(Y, (1, 2), np.nan)), lambda: jrm.check(Y, S, None, at(Y, (1, 2), 0.5))),
    "check scores": (ValueError, "scores is nan at (0, 1)", lambda: jrm.check(Y, at(S, (0, 1), np.nan)), lambda: (jrm.check(Y, at(S, (0, 1), -9)), jrm.check(Y, at(S, (0, 1), np.nan), at(Y == 0, (0, 1), False)))),
    "check labels": (ValueError, "labels is nan at (1, 2)", lambda: jrm.check(at(Y, (1, 2), np.nan), S), lambda: (jrm.check(at(Y, (1, 2), 1), S), jrm.check(at(Y, (1, 2), np.nan), S, at(Y == 0, (1, 2), False)))),
    "check gains": (ValueError, "gain of labels is inf at (0, 0); scale", lambda: jrm.check(at(Y, (0, 0), 128), S), lambda: (jrm.check(at(Y, (0, 0), 1.28), S), jrm.check(at(Y, (0, 0), 128), S, gain_fn=jrm.linear_gain))),
    "check negative gain": (ValueError, "gain of labels is -1.0", lambda: jrm.check(Y, S, gain_fn=lambda y: y - 1), lambda: jrm.check(Y, S, gain_fn=lambda y: y + 0)),
    "check in a loss": (TypeError, "scores is traced; .*pass relax= to a metric, because without it the gradient by scores is 0", lambda: jax.grad(lambda s: jrm.check(Y, s))(S), lambda: (jrm.check(Y, S), jax.eval_shape(jax.grad(lambda s: jrm.ndcg(Y, s, relax=jrm.sigmoid_ranks(0.1)).compute()), S))),
    # definitions
    "a definition of no metric": (ValueError, "metric is 'mrr'; pass one of alpha_ndcg, ", lambda: CONFORMS(max, "mrr"), lambda: [CONFORMS(zero, name) for name in ("rr", "ap")]),
    "a definition in another form": (ValueError, "form is 'trec'", lambda: CONFORMS(max, "rr", form="trec"), lambda: [CONFORMS(zero, "rr", form=form) for form in ("arrays", "documents", "ranked", "queries")]),
    "a definition of no function": (TypeError, "0.5 is not a callable object", lambda: CONFORMS(0.5, "rr")),
    "a signature of another metric": (ValueError, "signature is 'ndcg@10|def:1', but metric is 'rr'; pass the signature of this metric", lambda: CONFORMS(max, "rr", "ndcg@10|def:1"), lambda: CONFORMS(zero, "rr", "rr|def:1")),
    "a field of no signature": (ValueError, "tie is no choice or option of rr; leave it out", lambda: CONFORMS(max, "rr", "rr|tie:input|def:1"), lambda: CONFORMS(zero, "rr", "rr|def:1")),
    "a choice of no option": (ValueError, "discount of signature is 'log_discount(3)'; pass one of log2, jk2002", lambda: CONFORMS(max, "ndcg", "ndcg|discount:log_discount(3)|def:1"), lambda: [CONFORMS(zero, "ndcg", f"ndcg|discount:{word}|def:1") for word in ("log2", "jk2002", "reciprocal")]),
    "an order of ids for arrays": (ValueError, "ties of signature is 'id-desc'; pass one of expected, input", lambda: CONFORMS(max, "rr", "rr|ties:id-desc|def:1"), lambda: [CONFORMS(zero, "rr", f"rr|ties:{word}|def:1") for word in ("expected", "input", "input-reversed", "worst")]),
    "a function that refuses": (ValueError, "returns no number in any of .* tests of rr; pass a function .* 'arrays'", lambda: CONFORMS(lambda labels, scores: None, "rr"), lambda: CONFORMS(lambda labels, scores, **options: 0.0, "rr")),
    "a function without arguments": (ValueError, "returns no number in any of 0 tests of rr", lambda: CONFORMS(lambda: 1.0, "rr"), lambda: CONFORMS(lambda labels, scores, **options: 1.0, "rr")),
    "a cutoff of a metric without": (TypeError, "roc_auc has no option 'k'", lambda: jrm.roc_auc(Y, Y, k=3)),
    "joined beside scores": (ValueError, "labels is a Joined, which has all arrays, but scores is given; leave it out", lambda: jrm.check(jrm.join({"q": {"a": 1}}, {"q": {"a": 0.5}}), [0.5]), lambda: jrm.check(jrm.join({"q": {"a": 1}}, {"q": {"a": 0.5}}))),
    "check traced": (TypeError, "labels is traced", lambda: jax.jit(jrm.check)(Y, S), lambda: jrm.check(Y, S)),
    "classes of axes": (ValueError, "query_labels has shape (2, 3); pass ids along one axis", lambda: jrm.compat.accuracy_calculator_list_weights(IDS), lambda: jrm.compat.accuracy_calculator_list_weights(IDS[0])),
    "keras shapes": (ValueError, "labels has shape (3,)", lambda: jrm.compat.keras_rs_list_weights(Y[0], Y[0]), lambda: jrm.compat.keras_rs_list_weights(Y, Y)),
    # signatures
    "a signature of another version": (ValueError, "'ndcg|def:2' is of def:2, but the definitions of this release are def:1", lambda: jrm.from_signature("ndcg|def:2")),
    "a signature without a version": (ValueError, "'ndcg@10|gain:linear' is of def:none, but the definitions of this release are def:1", lambda: jrm.from_signature("ndcg@10|gain:linear")),
    "a function in a signature": (ValueError, "gain:custom is a function of a user, which a text cannot hold; pass a functools.partial of jrm.ndcg with that function", lambda: jrm.from_signature("ndcg|gain:custom|def:1"), traced(lambda: EVAL({"ndcg": functools.partial(jrm.ndcg, gain_fn=plus_one)}))),
    "a field of no metric": (ValueError, "'ndcg|foo:1|def:1': foo is no choice or option of ndcg; leave it out", lambda: jrm.from_signature("ndcg|foo:1|def:1"), lambda: jrm.from_signature("ndcg|def:1")),
    "a definition of others": (ValueError, "ideal:full is a definition that the package does not have; use ideal:judged, which it has with these options", lambda: jrm.from_signature("ndcg|ideal:full|def:1"), lambda: jrm.from_signature("ndcg|ideal:judged|def:1")),
    "a field that stands twice": (ValueError, "'ndcg|gain:linear|gain:exp2|def:1' has gain twice; pass it once", lambda: jrm.from_signature("ndcg|gain:linear|gain:exp2|def:1"), lambda: jrm.from_signature("ndcg|gain:linear|def:1")),
    "the head of a signature as a field": (ValueError, "metric is no choice or option of ndcg; leave it out", lambda: jrm.from_signature("ndcg|metric:ap|def:1"), lambda: jrm.from_signature("ndcg|def:1")),
    "a field without a choice": (ValueError, "ties is ''; pass one of expected, input, ", lambda: jrm.from_signature("ndcg|ties|def:1"), lambda: [jrm.from_signature(f"ndcg|ties:{word}|def:1") for word in TIES.split()]),
    "two values of an option": (ValueError, "k:none is a definition that the package does not have; use k:3, which it has with these options, or pass other options", lambda: jrm.from_signature("rbp|p:0.9,k=3|def:1"), lambda: jrm.from_signature("rbp@3|p:0.9|def:1")),
    "a signature of an unknown metric": (ValueError, "metric name 'ndgc': 'ndgc' is unknown; did you mean ndcg", lambda: jrm.from_signature("ndgc|def:1"), lambda: (jrm.from_signature("ndcg|def:1"), jrm.from_signature("psndcg|def:1"))),
    "a cutoff of a signature": (TypeError, "r_precision has no option 'k'", lambda: jrm.from_signature("rprec@5|def:1")),
    "a grade that is not read": (ValueError, "worth:binary is a definition that the package does not have; use worth:graded, which it has with these options", lambda: jrm.from_signature("rbp|max_grade:4|def:1"), lambda: jrm.from_signature("rbp|max_grade:4|worth:graded|def:1")),
    "a signature of no text": (TypeError, "signature is 3; pass a string", lambda: jrm.from_signature(3), lambda: jrm.from_signature("ndcg|def:1")),
    "a choice of a signature": (ValueError, "ties is 'first'; pass one of expected, input, ", lambda: jrm.signature("ndcg", ties="first"), lambda: [jrm.signature("ndcg", ties=word) for word in TIES.split()]),
    "an option beside a metric": (ValueError, "rel is no choice of rankings, means or files; pass one of .*write options of recall into its name, as in 'recall(rel=2)@10'", lambda: jrm.signature("recall@5", rel=2), lambda: jrm.signature("recall(rel=2)@5")),
    "a signature of no metric": (TypeError, "metrics: 'metric' is 3", lambda: jrm.signature(3), lambda: (jrm.signature(jrm.ndcg), jrm.signature(functools.partial(jrm.ndcg, k=10)))),
    "a table of other signatures": (ValueError, "signatures has none of the metrics in the table; pass the signatures of these metrics", lambda: jrm.table({"mrr": np.float32([0.5, 1.0])}, signatures={"map": "ap|def:1"}), lambda: jrm.table({"mrr": np.float32([0.5, 1.0])}, signatures={"mrr": "rr|def:1"})),
    "sizes of groups by the name of LightGBM": (TypeError, "pass segment_ids=jrm.pack(group), and if it holds sizes of lists, pass segment_ids=jrm.pack(np.repeat(", lambda: jrm.evaluate("mrr", Y[0], S[0], group=[2, 1]), lambda: jrm.evaluate("mrr", Y[0], S[0], segment_ids=jrm.pack(np.repeat(np.arange(2), [2, 1])))),
    "strings as segments": (TypeError, "segment_ids holds strings; pass segment_ids=jrm.pack(ids)", lambda: jrm.rank(Y[0], S[0], segment_ids=["q", "q", "r"], num_segments=2), lambda: jrm.rank(Y[0], S[0], segment_ids=jrm.pack(["q", "q", "r"]))),
}  # fmt: skip
