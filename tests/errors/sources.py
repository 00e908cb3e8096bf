"""Bad calls of the sources of rankings, and of functions that prepare their arguments."""

import array
import functools

import jax
import jax.numpy as jnp
import numpy as np
from array_likes import Tensor
from cases import CASES as METRICS
from error_rows import traced
from sources import make_mesh

import jax_rank_metrics as jrm

SCORES = np.zeros((2, 3), np.float32)
IDS = np.zeros((2, 1), np.int32)
PERSON = np.zeros(3, int)
LABELS, ABOVE = np.array([[1, 0, 1]]), np.array([[0, 1, 2]])
ONES = np.ones((1, 3), np.int32)
TOPICS = np.ones((2, 3, 3), np.float32)
PACKED = {"segment_ids": [0, 0, 2, 1, -1], "num_segments": 2}
FLAT = np.zeros(5, np.float32)
WIDE = np.array([2**32 + 5, 7])


def scores(*arguments, **changes):
    """Ranks two lists of three items by a matrix of scores."""
    arguments += (SCORES, IDS)[len(arguments) :]
    return jax.eval_shape(lambda: jrm.rank_scores(*arguments, **changes))


def catalog(similarity=None, queries=SCORES, items=TOPICS, **changes):
    """Ranks items of two axes, whose scores a function has to give."""
    options = {"k": None, "block_size": 1} | changes
    options |= {} if similarity is None else {"similarity": similarity}
    return jax.eval_shape(lambda: jrm.rank_catalog(queries, items, IDS, **options))


def places(labels=LABELS, above=ABOVE, tied=ONES, num_retrieved=(9,), **options):
    """Ranks a list of three items by their places."""
    return jrm.rank_places(
        labels, above, tied, num_retrieved=np.array(num_retrieved), **options
    )


def over_items():
    """Returns how the items of a list are cut over three devices."""
    mesh = make_mesh((3,), ("items",), jax.sharding.AxisType.Explicit)
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "items"))


def by_person(query, item):
    """Labels items of the same person."""
    return query[:, None] == item[None]


def by(label_fn=by_person, query=PERSON[:2], item=PERSON, **changes):
    """Ranks two lists of three items, which a function labels."""
    return scores(SCORES, jrm.by_attributes(label_fn, query, item), **changes)


def by_numbers(*numbers):
    """Ranks three items, which have numbers in double precision, as queries have."""
    item, table = np.array(numbers), np.eye(3)
    relevant = jrm.by_attributes(lambda *_: table, 0 * np.nan_to_num(item), {"x": item})
    with jax.enable_x64(False):
        return jrm.rank_scores(table, relevant)


def as_strings_or_float32(*numbers):
    """Ranks items by numbers that are given as strings, and as float32."""
    strings, item = np.array(numbers).astype(str), np.float32(numbers)
    by(lambda query, item: by_person(query, item["x"]), strings[:2], {"x": strings})
    by(lambda query, item: by_person(query, item["x"]), item[:2], {"x": item})


def column_of_lists():
    """Returns a column of lists, as a frame holds it: an array of objects."""
    column = np.empty(2, object)
    column[:] = [[1, 0], [0, 1, 1]]
    return Tensor(column)


def in_32_bits(call):
    """Calls a function with integers of 32 bits."""
    with jax.enable_x64(False):
        return call()


def in_64_bits(call):
    """Calls a function with numbers of 64 bits."""
    with jax.enable_x64():
        return call()


def shaped(call, values, **options):
    """Makes a call without a program, which `check` has not."""
    if call is jrm.check:
        return call(values, values, **options)
    return jax.eval_shape(lambda: call(values, values, **options))


@functools.cache
def known_lists(call, query_ids=(0, 0, 2, 1, 7)):
    """Makes a call with ids of lists that `pack` has numbered, and with room for more."""
    packed = jrm.pack(query_ids)
    ids, count = packed.segment_ids, packed.num_segments
    shaped(call, FLAT[: len(ids)], segment_ids=ids, num_segments=count)
    shaped(call, FLAT, segment_ids=np.array(PACKED["segment_ids"]), num_segments=3)


@functools.cache
def of_sizes(call, sizes=(2, 3)):
    """Makes a call with lists of two and of three items."""
    ids = np.repeat(np.arange(len(sizes)), sizes)
    return shaped(call, FLAT, segment_ids=ids, num_segments=9)


# Calls that take the ids of packed lists.
PACKS = {
    "rank": jrm.rank,
    "ndcg": jrm.ndcg,
    "lists": jrm.recall.per_list,
    "evaluate": lambda *x, **options: jrm.evaluate("map", *x, **options),
    "a program": lambda y, s, **options: jax.jit(lambda y: jrm.ndcg(y, s, **options))(
        y
    ),  # closed over, and so known
}
OF_SIZES = "segment_ids has shape (2,), but labels has shape (5,); pass the list of each item; if these are sizes of lists, pass np.repeat(np.arange(len(sizes)), sizes)"
OWN_GAIN = METRICS["ndcg-own-functions"].options["gain_fn"]
# Forms of integers that 32 bits do not hold.
WIDE_FORMS = {
    "tensor": Tensor(WIDE),
    "column": array.array("q", WIDE),
    "memory": memoryview(WIDE),
    "list": WIDE.tolist(),
}


# fmt: off
def pooled(metric):
    """The second list retrieves two items of the label 0; one of them was judged."""
    labels, pool = [[1, 0, 0, 1], [1, 0, 0, 1]], [[1, 1, 0, 0], [1, 1, 0, -1]]
    return jrm.measure(metric, jrm.rank_retrieved(labels, pool_labels=pool))


def judged(metric):
    """Measures as `pooled` does, with a column of the judged items."""
    labels, pool = [[1, 0, 0, 1], [1, 0, 0, 1]], [[1, 1, 0, 0], [1, 1, 0, 0]]
    of_retrieved = np.array([[1, 1, 1, 1], [1, 1, 0, 1]]) > 0
    ranking = jrm.rank_retrieved(
        labels,
        pool_labels=pool,
        columns={"judged": of_retrieved},
        pool_columns={"judged": np.array([[1, 1, 1, 1], [1, 1, 1, 0]]) > 0},
    )
    return jrm.measure(metric, ranking)


LIMIT = 2**24


def turned(queries, items):
    """Scores of complex numbers."""
    return jax.lax.complex(queries @ items.T, queries @ items.T)


def long_lists(length):
    """A ranking of lists so long that their arrays are better not made."""
    x = jax.ShapeDtypeStruct((1, length), jnp.float32)
    return jax.eval_shape(lambda x: jrm.rank(x, x), x)


def beyond(ranks):
    """A place beyond the limit, among `ranks` ranks."""
    return jrm.rank_places([[1]], [[LIMIT + 99]], [[1]], num_retrieved=[ranks])


CASES = {
    # scores and cutoffs that no dtype of the devices holds
    "complex similarity": (TypeError, "similarity gives complex64 scores; return real numbers", lambda: jrm.rank_catalog(SCORES, SCORES, IDS, k=1, similarity=turned), traced(lambda: jrm.rank_catalog(SCORES, SCORES, IDS, k=1, similarity=lambda *x: turned(*x).real))),
    "a cutoff beyond float32": (ValueError, f"k is {LIMIT + 1}, but float32 cannot tell ranks beyond {LIMIT} apart; pass k of at most {LIMIT}, or None", lambda: jax.eval_shape(lambda x: jrm.recall.of(x, k=(5, LIMIT + 1)).values, long_lists(LIMIT + 9)), lambda: jax.eval_shape(lambda x: jrm.recall.of(x, k=(5, LIMIT, None)).values, long_lists(LIMIT + 9))),
    "a cutoff of places": (ValueError, f"k is {LIMIT + 100}, but float32 cannot tell ranks beyond", lambda: jrm.recall.of(beyond(LIMIT + 200), k=LIMIT + 100), lambda: [jrm.recall.of(beyond(LIMIT + 200), k=k) for k in (LIMIT, None)]),
    "a cutoff of scores": (ValueError, f"k is {LIMIT + 100}, but float32 cannot tell ranks beyond", lambda: jax.eval_shape(lambda x: jrm.measure(f"hit_rate@{LIMIT + 100}", jrm.rank_scores(x, IDS[:1])), jax.ShapeDtypeStruct((1, LIMIT + 200), jnp.float32)), lambda: jax.eval_shape(lambda x: jrm.measure(f"hit_rate@{LIMIT}", jrm.rank_scores(x, IDS[:1])), jax.ShapeDtypeStruct((1, LIMIT + 200), jnp.float32))),
    # arguments that would be accepted and not read
    "retrieved of another shape": (ValueError, "retrieved has shape .*but scores has shape", lambda: scores(retrieved=np.ones(3, bool)), lambda: scores(retrieved=np.ones((2, 3), bool))),
    "retrieved as numbers": (TypeError, "retrieved: dtype is float32.*retrieved != 0", lambda: scores(retrieved=SCORES), lambda: scores(retrieved=SCORES != 0)),
    "retrieved items that no pool says were judged": (ValueError, "more items of the label 0 were retrieved than pool_labels holds in list 1, .* pass 'judged' in columns and pool_columns", lambda: pooled("bpref"), lambda: judged("bpref")),
    "the same of their number": (ValueError, "more items of the label 0", lambda: pooled("num_nonrel_judged_ret@3"), lambda: judged("num_nonrel_judged_ret@3")),
    # scores
    "a score": (ValueError, "scores has shape", lambda: scores(np.float32(1)), lambda: scores(np.ones(1, np.float32), IDS[0])),
    "scores of no items": (ValueError, "at least one item", lambda: scores(SCORES[:, :0]), lambda: scores(SCORES[:, :1])),
    "ids of one list": (ValueError, "relevant_ids", lambda: scores(SCORES, IDS[:1]), lambda: scores(SCORES, IDS)),
    "ids that are floats": (TypeError, "relevant_ids", lambda: scores(SCORES, IDS + 0.5), lambda: scores(SCORES, IDS)),
    "labels of no ids": (ValueError, "relevant_labels", lambda: scores(SCORES, IDS, IDS[:, :0]), lambda: scores(SCORES, IDS, IDS)),
    "a mask of two items": (ValueError, "item_mask has shape", lambda: scores(item_mask=np.ones(2, bool)), lambda: [scores(item_mask=np.ones(shape, bool)) for shape in (3, (2, 3))]),
    "a mask of integers": (TypeError, "item_mask", lambda: scores(item_mask=np.ones(3, np.int32)), lambda: scores(item_mask=np.ones(3, np.int32) != 0)),
    "excluded ids of one list": (ValueError, "exclude", lambda: scores(exclude_ids=IDS[:1]), lambda: scores(exclude_ids=IDS)),
    **{
        f"an infinite weight of {name}": (ValueError, "weights holds inf, but sums in float32 .*; pass finite numbers", lambda call=call: call([1, np.inf]), traced(lambda call=call: call([1, 2])))
        for name, call in {
            "scores": lambda weights: scores(list_weights=weights),
            "items of a catalogue": lambda weights: catalog(items=SCORES, list_weights=weights),
            "ids": lambda weights: jrm.rank_ids(IDS, IDS, list_weights=weights),
            "retrieved items": lambda weights: jrm.rank_retrieved(IDS, weights=weights),
            "places": lambda weights: places(*[np.ones((2, 1), np.int32)] * 3, (9, 9), list_weights=weights),
            "pooled lists": lambda weights: jrm.pooled_roc_auc(IDS, IDS, None, weights),
        }.items()
    },
    "weights of three lists": (ValueError, "list_w", lambda: scores(list_weights=np.ones(3)), lambda: scores(list_weights=np.ones(2))),
    "k of scores": (ValueError, "k is 0", lambda: scores(k=0), lambda: scores(k=1)),
    "ties of scores": (ValueError, "ties", lambda: scores(ties="first"), lambda: scores(ties="stable")),
    "random ties of scores": (ValueError, "key", lambda: scores(ties="random"), lambda: scores(ties="random", key=jax.random.key(0))),
    "an axis of scores": (ValueError, "items_axis", lambda: scores(items_axis="model"), lambda: jax.eval_shape(jax.shard_map(lambda x: jrm.rank_scores(x, IDS, items_axis="model").num_relevant(1), mesh=make_mesh((3,), ("model",)), in_specs=jax.P(None, "model"), out_specs=jax.P()), SCORES)),
    "gains of unlisted items": (ValueError, "label 0", lambda: jrm.ndcg.of(scores(), gain_fn=OWN_GAIN), traced(lambda: [jrm.ndcg.of(jrm.rank(SCORES, SCORES), gain_fn=OWN_GAIN), jrm.ndcg.of(jrm.rank_scores(SCORES, IDS, k=2), k=2, gain_fn=OWN_GAIN), jrm.ndcg.of(jrm.rank_catalog(SCORES, SCORES, IDS, k=2), k=2, gain_fn=OWN_GAIN), jrm.ndcg.of(jrm.rank_scores(SCORES, IDS), gain_fn=jrm.linear_gain)])),
    "an order of counts": (ValueError, "has no order", lambda: scores().items, lambda: [scores(k=2).items, jrm.rank_ids(IDS, IDS).items]),
    "segments of rows": (ValueError, "not packed", lambda: jax.eval_shape(lambda: jrm.rank_retrieved(np.ones(3))).segment_ids),
    "a cut that limits counts": (ValueError, "k is 2", lambda: jrm.reciprocal_rank.of(jax.eval_shape(lambda: jrm.rank_catalog(np.eye(2), np.ones((3, 2)), IDS, k=1)), k=2), traced(lambda: jrm.reciprocal_rank.of(jrm.rank_catalog(np.eye(2), np.ones((3, 2)), IDS, k=2), k=2))),
    # similarities
    "scores of no item": (ValueError, "similarity gives", lambda: catalog(lambda queries, items: jnp.zeros((2,))), lambda: catalog(lambda queries, items: jnp.zeros((2, items.shape[0])))),
    "scores of all items": (ValueError, "similarity gives", lambda: catalog(lambda queries, items: jnp.zeros((2, 2))), lambda: catalog(lambda queries, items: jnp.zeros((2, items.shape[0])))),  # not of the block
    "a tuple of scores": (ValueError, "similarity gives", lambda: catalog(lambda queries, items: (jnp.zeros((2, items.shape[0])),)), lambda: catalog(lambda queries, items: jnp.zeros((2, items.shape[0])))),
    "an unknown similarity": (ValueError, "similarity is 'dots'", lambda: catalog("dots"), lambda: catalog("dot", items=SCORES)),
    "items of two axes": (ValueError, "or a function as similarity", catalog, lambda: [catalog(items=SCORES), catalog(lambda queries, items: jnp.einsum("qd,itd->qi", queries, items))]),
    "an array for tokens": (TypeError, "pass jrm.Tokens", lambda: catalog("maxsim", SCORES, jrm.Tokens(np.ones((3, 2, 6)))), lambda: catalog("maxsim", jrm.Tokens(np.ones((2, 2, 6)), np.ones((2, 2)) > 0), jrm.Tokens(np.ones((3, 2, 6))))),
    "tokens of other dims": (ValueError, "tokens, dims", lambda: catalog("maxsim", jrm.Tokens(np.ones((2, 2, 6))), jrm.Tokens(np.ones((3, 2, 7)))), lambda: catalog("maxsim", jrm.Tokens(np.ones((2, 2, 6))), jrm.Tokens(np.ones((3, 2, 6))))),
    "ids of other tokens": (ValueError, "relevant_ids", lambda: catalog("maxsim", *[jrm.Tokens(np.ones((3, 2, 6)))] * 2), lambda: catalog("maxsim", *[jrm.Tokens(np.ones((2, 2, 6)))] * 2)),
    # places
    "above of two items": (ValueError, "above has shape (1, 2), but labels", lambda: places(above=ABOVE[:, :2]), traced(places)),
    "tied of no list": (ValueError, "tied has shape (3,), but labels", lambda: places(tied=ONES[0]), traced(lambda: places(tied=ONES[0][None]))),
    "above of floats": (TypeError, "above: dtype is float32", lambda: places(above=np.float32(ABOVE)), traced(places)),
    "tied of bools": (TypeError, "tied: dtype is bool", lambda: places(tied=ONES > 0), traced(lambda: places(tied=(ONES > 0).astype(int)))),
    "a number of floats": (TypeError, "num_retrieved: dtype is float32", lambda: places(num_retrieved=(9.0,)), traced(lambda: places(num_retrieved=(9,)))),
    "numbers of two lists": (ValueError, "num_retrieved has shape (2,)", lambda: places(num_retrieved=(9, 9)), traced(lambda: places(num_retrieved=(9,)))),
    "a negative number": (ValueError, "num_retrieved is -1 at (0,)", lambda: places(num_retrieved=(-1,)), traced(lambda: places(num_retrieved=(3,)))),
    "above below 0": (ValueError, "above is -1 .*at (0, 0)", lambda: places(above=ABOVE - 1), lambda: places(above=ABOVE)),
    "tied with nothing": (ValueError, "tied is 0 at (0, 0)", lambda: places(tied=0 * ONES), lambda: places()),
    "below the last": (ValueError, "above is 2 and tied is 1 .*num_retrieved is 2", lambda: places(num_retrieved=(2,)), lambda: places(num_retrieved=(3,))),
    "a place between places": (ValueError, "above is 0 and tied is 2 at (0, 0), .* shares a rank", lambda: places(tied=2 * ONES), traced(lambda: places(above=[[0, 1, 1]], tied=[[1, 2, 2]]))),
    "more than a place holds": (ValueError, "lists more items than it holds", lambda: places(above=0 * ABOVE), traced(lambda: places(above=0 * ABOVE, tied=3 * ONES))),
    "two sizes of a place": (ValueError, "shares a rank", lambda: places(above=0 * ABOVE, tied=ABOVE + 1), traced(lambda: places(above=0 * ABOVE, tied=3 * ONES))),
    "retrieved of integers": (TypeError, "retrieved: dtype is int", lambda: places(retrieved=ONES), traced(lambda: places(retrieved=ONES != 0))),
    "retrieved of no list": (ValueError, "retrieved has shape", lambda: places(retrieved=ONES[0] > 0), traced(lambda: places(retrieved=ONES > 0))),
    "a mask of places": (TypeError, "mask: dtype is int", lambda: places(mask=ONES), traced(lambda: places(mask=ONES != 0))),
    "weights of places": (ValueError, "list_weights has shape", lambda: places(list_weights=np.ones(2)), traced(lambda: places(list_weights=np.ones(1)))),
    "columns of places": (ValueError, "columns['judged'] has shape", lambda: places(columns={"judged": ONES[0]}), traced(lambda: places(columns={"judged": ONES}))),
    "an order of places": (ValueError, "has no order; rank with a k, or with rank_ids", lambda: jax.eval_shape(places).items, lambda: [scores(k=2).items, jrm.rank_ids(IDS, IDS).items]),
    "tied places of an order": (ValueError, "infap: tied is above 1.*break ties first", lambda: jrm.measure(("infap",), places(above=[[0, 3, 3]], tied=[[1, 2, 2]])), traced(lambda: jrm.measure(("infap",), places(above=[[0, 1, 2]])))),
    "sharded places": (ValueError, "the last axis of labels is sharded", lambda: places(jax.device_put(LABELS, over_items())), lambda: places(jax.device_get(jax.device_put(LABELS, over_items())))),
    "parity of places": (ValueError, "pass item_columns=.* with the k of the metric", lambda: jrm.exposure_parity.of(jax.eval_shape(lambda: places(columns={"groups": np.eye(3, dtype=np.float32)[None]}))), traced(lambda: [jrm.exposure_parity.of(jrm.rank_scores(SCORES, IDS, k=2, item_columns={"groups": np.eye(3)}), k=2), jrm.exposure_parity.of(jrm.rank_catalog(SCORES, np.eye(3), IDS, k=2, item_columns={"groups": np.eye(3)}), k=2), jrm.exposure_parity.of(jrm.rank_ids(IDS, IDS, item_columns={"groups": np.eye(3)})), jrm.exposure_parity.of(jrm.rank(LABELS, LABELS, columns={"groups": np.eye(3)[None]}))])),
    # relevance by attributes
    "columns beside attributes": (ValueError, "relevant_columns is given, but relevant_ids are by attributes; leave that argument out", lambda: by(relevant_columns={"judged": [[1]]}), lambda: [by(), scores(relevant_columns={"judged": [[1], [1]]})]),
    "no query attributes": (ValueError, "query_attributes is None", lambda: by(query=None), lambda: [by(), by(lambda query, item: by_person(query["x"], item), query={"x": PERSON[:2]})]),
    "no item attributes": (ValueError, "item_attributes is empty", lambda: by(item={}), lambda: [by(), by(lambda query, item: by_person(query, item["x"]), item={"x": PERSON})]),
    "attributes of 64 bits": (ValueError, "query_attributes: int64 values .* do not fit int32.*, or jrm.hash_ids.*if these are attributes, or", lambda: by(query=PERSON[:2] + 2**40), lambda: by(lambda query, item: (query[:, None] == item[None]).all(-1), jrm.hash_ids(PERSON[:2] + 2**40), jrm.hash_ids(PERSON + 2**40))),
    "attributes of three queries": (ValueError, "shape (3,); .*queries, (2,)", lambda: by(query=PERSON), lambda: by(query=PERSON[:2])),
    "attributes of two items": (ValueError, "item_attributes['camera'] has shape", lambda: by(item={"person": PERSON, "camera": PERSON[:2]}), lambda: by(lambda query, item: by_person(query, item["camera"]), item={"person": PERSON, "camera": PERSON})),
    "a list of two attributes": (ValueError, "item_attributes has shape (2,)", lambda: by(item=[0, 0]), lambda: by(item=[0, 0, 0])),
    "labels of items alone": (ValueError, "label_fn gives an array of .*return labels of shape (2, 3)", lambda: by(lambda query, item: item), lambda: [by(by_person), by(lambda *x: (by_person(*x), by_person(*x)))]),
    "the name of a function": (TypeError, "label_fn is 'person'", lambda: by("person"), lambda: by(by_person)),
    "names beside numbers": (TypeError, "query_attributes and item_attributes: one holds numbers and the other names, which are never equal; pass", lambda: by(query=[0, 1], item=["a", "b", "c"]), lambda: by(query=["a", "b"], item=["a", "b", "c"])),
    "a name that is missing": (ValueError, "item_attributes is nan at 1; pass a name there too, such as 'unknown'", lambda: by(query=["a", "b"], item=["a", np.nan, "b"]), lambda: by(query=["a", "b"], item=["a", "unknown", "b"])),
    "names of two kinds": (TypeError, "names have no common order.*pass names of one kind", lambda: by(query=np.array(["2024-01-01"] * 2, "M8[D]"), item=np.array(["2024-01-01"] * 3, "M8[ns]")), lambda: by(query=np.array(["2024-01-01"] * 2, "M8[D]"), item=np.array(["2024-01-01"] * 3, "M8[D]"))),
    "floats for what leaves": (TypeError, "label_fn gives float.* as its second result, which marks items that leave", lambda: by(lambda *_: (jnp.zeros((2, 3)), jnp.zeros((2, 3)))), lambda: by(lambda *_: (jnp.zeros((2, 3)), jnp.zeros((2, 3)) > 0))),
    "ids with a gap": (ValueError, "item_attributes['x'] holds 20000001.0", lambda: by_numbers(20000000.0, 20000001.0, np.nan), lambda: as_strings_or_float32(20000000.0, 20000001.0, np.nan)),  # as pandas makes them
    "ids that round": (ValueError, "holds 1.500000001, which float32 .* rounds to 1.5", lambda: by_numbers(1.5, 1.5 + 1e-9, 0.0), lambda: as_strings_or_float32(1.5, 1.5 + 1e-9, 0.0)),
    "features with ids": (ValueError, "holds 16777217.0.*pass integers", lambda: by_numbers([0.5, 2.0**24 + 1], [1, 2], [3, 4]), lambda: by_numbers([0, 2**24 + 1], [1, 2], [3, 4])),
    # groups
    "groups of one axis": (ValueError, "3, groups", lambda: scores(item_columns={"groups": np.ones(3)}), lambda: scores(item_columns={"groups": np.ones(3)[:, None]})),
    "no group": (ValueError, "3, groups", lambda: scores(item_columns={"groups": np.ones((3, 0))}), lambda: scores(item_columns={"groups": np.ones((3, 1))})),
    "groups of two items": (ValueError, "3, groups", lambda: scores(item_columns={"groups": np.ones((2, 2))}), lambda: scores(item_columns={"groups": np.ones((3, 2))})),
    "groups as a column": (ValueError, "item_columns alone", lambda: scores(relevant_columns={"groups": np.ones((2, 1, 2))}, item_columns={"groups": np.ones((3, 2))}), lambda: scores(item_columns={"groups": np.ones((3, 2))})),
    "groups beside attributes": (ValueError, "item_columns is given, but relevant_ids are by attributes; leave that argument out", lambda: by(item_columns={"groups": np.ones((3, 2))}), lambda: [by(), scores(item_columns={"groups": np.ones((3, 2))})]),
    **{
        f"the group {group}": (error, "group", lambda group=group: jrm.group_recall(np.ones(3), np.arange(3.0), columns={"groups": np.ones((3, 2))}, group=group), lambda: traced(lambda: jrm.group_recall(np.ones(3), np.arange(3.0), columns={"groups": np.ones((3, 2))}, group=1))())
        for group, error in ((2, ValueError), (-1, ValueError), (True, TypeError))
    },
    "parity of a share": (ValueError, "use a metric with numbers as cutoffs", lambda: jrm.exposure_parity.of(scores(item_columns={"groups": np.ones((3, 1))}), k=jrm.share(0.5)), traced(lambda: [jrm.exposure_parity.of(ranking, k=2) for ranking in (jrm.rank(SCORES, SCORES, columns={"groups": np.ones((2, 3, 1))}), jrm.rank_scores(SCORES, IDS, k=2, item_columns={"groups": np.ones((3, 1))}))])),
    **{
        f"the target {target}": (ValueError, "pass a tuple of shares above 0", lambda target=target: jrm.ndkl(np.ones(3), np.arange(3.0), columns={"groups": np.ones((3, 2))}, target=target), traced(lambda: [jrm.ndkl(np.ones(3), np.arange(3.0), columns={"groups": np.ones((3, 2))}, target=shares) for shares in ((0.2, 0.8), None)]))
        for target in (0.5, "relevant", (0.0, 1.0))
    },
    # columns
    "no column": (ValueError, "subtopic_recall reads the column 'subtopics'", lambda: jrm.subtopic_recall(SCORES, SCORES), traced(lambda: jrm.subtopic_recall(SCORES, SCORES, columns={"subtopics": TOPICS}))),
    "no column for lists": (ValueError, "subtopic_recall reads the column 'subtopics'", lambda: jrm.subtopic_recall.per_list(SCORES, SCORES), traced(lambda: jrm.subtopic_recall.per_list(SCORES, SCORES, columns={"subtopics": TOPICS}))),
    "the column of another metric": (ValueError, "reads the column 'subtopics'", lambda: jrm.subtopic_recall(SCORES, SCORES, columns={"judged": SCORES > 0}), traced(lambda: jrm.subtopic_recall(SCORES, SCORES, columns={"subtopics": TOPICS}))),
    "a column too many": (ValueError, "'other', which no metric", lambda: jrm.subtopic_recall(SCORES, SCORES, columns={"subtopics": TOPICS, "other": SCORES}), traced(lambda: jrm.subtopic_recall(SCORES, SCORES, columns={"subtopics": TOPICS}))),
    "a column too many for lists": (ValueError, "'other', which no metric", lambda: jrm.subtopic_recall.per_list(SCORES, SCORES, columns={"subtopics": TOPICS, "other": SCORES}), traced(lambda: jrm.subtopic_recall.per_list(SCORES, SCORES, columns={"subtopics": TOPICS}))),
    "no column of a ranking": (ValueError, "reads the column 'subtopics'", lambda: jrm.subtopic_recall.of(jax.eval_shape(lambda: jrm.rank_retrieved(SCORES))), traced(lambda: jrm.subtopic_recall.of(jrm.rank_retrieved(SCORES, columns={"subtopics": TOPICS})))),
    "a column that nobody reads": (ValueError, "'judged', which no metric", lambda: jrm.evaluate(("ndcg",), SCORES, SCORES, columns={"judged": SCORES > 0}), traced(lambda: jrm.evaluate(("ndcg",), SCORES, SCORES))),
    "a column of two items": (ValueError, "columns['judged'] has shape (2, 2)", lambda: jrm.rank(SCORES, SCORES, columns={"judged": SCORES[:, :2]}), traced(lambda: jrm.rank(SCORES, SCORES, columns={"judged": SCORES}))),
    "a column of one list": (ValueError, "columns['judged'] has shape (3,)", lambda: jrm.rank(SCORES, SCORES, columns={"judged": SCORES[0]}), traced(lambda: jrm.rank(SCORES, SCORES, columns={"judged": SCORES}))),
    "a list of columns": (TypeError, "pass a dict", lambda: jrm.rank(SCORES, SCORES, columns=[SCORES]), traced(lambda: jrm.rank(SCORES, SCORES, columns={"judged": SCORES}))),
    "no columns of the pool": (ValueError, "pool_columns are", lambda: jrm.rank_retrieved(SCORES, pool_labels=SCORES, columns={"judged": SCORES > 0}), traced(lambda: jrm.rank_retrieved(SCORES, pool_labels=SCORES, columns={"judged": SCORES > 0}, pool_columns={"judged": SCORES > 0}))),
    "columns of no pool": (ValueError, "pool_labels is None", lambda: jrm.rank_retrieved(SCORES, pool_columns={"judged": SCORES > 0}), traced(lambda: jrm.rank_retrieved(SCORES, pool_labels=SCORES, columns={"judged": SCORES > 0}, pool_columns={"judged": SCORES > 0}))),
    "a column of all items": (ValueError, "columns['topics']", lambda: scores(relevant_columns={"topics": TOPICS}), lambda: scores(relevant_columns={"topics": TOPICS[:, :1]})),
    "retrieved items of one list": (ValueError, "retrieved has shape", lambda: jrm.rank(SCORES, SCORES, retrieved=SCORES[0] > 0), traced(lambda: jrm.rank(SCORES, SCORES, retrieved=SCORES > 0))),
    "retrieved items of floats": (TypeError, "retrieved", lambda: jrm.rank(SCORES, SCORES, retrieved=SCORES), traced(lambda: jrm.rank(SCORES, SCORES, retrieved=SCORES != 0))),
    "another reading of ranks": (ValueError, "rank is 'mean'; pass None or one of realistic", lambda: jrm.hit_rate.of(jax.eval_shape(lambda: jrm.rank(SCORES, SCORES)), rank="mean"), traced(lambda: [jrm.hit_rate.of(jrm.rank(SCORES, SCORES), rank=rank) for rank in (None, "realistic")])),
    # packed ids
    "ids of nothing": (ValueError, "query_ids is empty; pass at least one", lambda: jrm.pack([]), lambda: [jrm.pack(["a"]), jrm.pack([], known=["a"])]),
    "ids of nothing known": (ValueError, "known is empty; pass at least one", lambda: jrm.pack([], known=[]), lambda: jrm.pack([], known=["a"])),
    "no id": (ValueError, "query_ids is None at 1; pass an id there", lambda: jrm.pack([1, None]), lambda: jrm.pack([1, 2])),
    "nan as an id": (ValueError, "query_ids is nan at 1", lambda: jrm.pack([1.0, np.nan, 2.0]), lambda: jrm.pack([1.0, 0.0, 2.0])),
    "a fraction as an id": (ValueError, "query_ids is 1.5 at 1; pass integers", lambda: jrm.pack(np.array([1, 1.5])), lambda: [jrm.pack(ids) for ids in ([1, 2], ["1", "1.5"], np.array([1, 2.0]))]),
    "an inexact id": (ValueError, "below 16777216, where float32", lambda: jrm.pack(np.float32([2**24])), lambda: [jrm.pack(ids) for ids in ([2**24], ["16777216"], np.float64([2**24]), np.float32([2**24 - 1]))]),
    "ids of two axes": (ValueError, "query_ids has shape (2, 3); pass ids along one axis", lambda: jrm.pack(np.ones((2, 3), int)), lambda: jrm.pack(np.ones((2, 3), int).ravel())),
    "lists as ids": (TypeError, "query_ids holds [1] at 0, which cannot be", lambda: jrm.pack([[1], [2]]), lambda: [jrm.pack([1, 2]), jrm.pack(["1", "2"])]),
    "an unknown id": (ValueError, "query_ids is 'q9' at 1, which is not in known; known lacks 2 of 3 ids; pass the", lambda: jrm.pack(["a", "q9", "b"], known=["a", "c"]), lambda: [jrm.pack(["a", "q9", "b"], known=["a", "q9", "b"]), jrm.pack(["a"], known=["a", "c"])]),
    "an id that is known twice": (ValueError, "known holds 'a' more than once", lambda: jrm.pack(["a"], known=["a", "c", "a"]), lambda: jrm.pack(["a"], known=["a", "c"])),
    "traced ids": (TypeError, "query_ids is traced; pass ids outside", lambda: jax.jit(jrm.pack)(PERSON), lambda: jrm.pack(PERSON)),
    **{
        f"ids of no list, {kind}, {name}": (ValueError, "segment_ids is 2 at (2,), but num_segments is 2; .*jrm.pack", lambda call=call, make=make: call(FLAT, FLAT, segment_ids=make(), num_segments=2), lambda call=call: known_lists(call))
        for name, call in PACKS.items()
        for kind, make in {"list": lambda: PACKED["segment_ids"], "jax": lambda: jnp.array(PACKED["segment_ids"]), "narrow": lambda: np.array(PACKED["segment_ids"], np.int8), "unsigned": lambda: np.uint32([0, 0, 2, 1, 0])}.items()
    },
    **{
        f"sizes of lists, {kind}, {name}": (ValueError, OF_SIZES, lambda call=call, make=make: call(FLAT, FLAT, segment_ids=make(), num_segments=9), lambda call=call: of_sizes(call))
        for name, call in {**PACKS, "check": jrm.check}.items()
        for kind, make in {"list": lambda: [2, 3], "jax": lambda: jnp.array([2, 3]), "packed": lambda: jrm.pack([2, 3]).segment_ids}.items()
    },
    "sizes that are traced": (ValueError, OF_SIZES, lambda: jax.jit(lambda ids: jrm.ndcg(FLAT, FLAT, segment_ids=ids, num_segments=9))(np.array([2, 3])), lambda: of_sizes(jrm.ndcg)),
    "ids beyond int32": (ValueError, "segment_ids is 1099511627776 at .*jrm.pack", lambda: jrm.ndcg(FLAT, FLAT, segment_ids=np.array([0, 1, 2**40, 1, 0]), num_segments=2), lambda: known_lists(jrm.ndcg, (0, 1, 2**40, 1, 0))),
    # padded lists
    "lengths of a list": (ValueError, "list 1 has 1 items in argument 1, but 2 in argument 0", lambda: jrm.pad_lists([[1], [1, 2]], [[1], [2]]), lambda: jrm.pad_lists([[1], [1, 2]], [[1], [2, 3]])),
    "numbers of lists": (ValueError, "argument 1 has 2 lists, .* 0 has 1", lambda: jrm.pad_lists([[1]], [[1], [2]]), lambda: jrm.pad_lists([[1], [2]], [[1], [2]])),
    "a list longer than the width": (ValueError, "items is 2, but list 1 has 3 items; pass items=3", lambda: jrm.pad_lists([[1], [1, 2, 3]], items=2), lambda: [jrm.pad_lists([[1], [1, 2, 3]], items=items) for items in (3, None)]),
    "more lists than fit": (ValueError, "lists is 1, but there are 2 lists", lambda: jrm.pad_lists([[1], [1]], lists=1), lambda: [jrm.pad_lists([[1], [1]], lists=lists) for lists in (2, None)]),
    "a width of 0": (ValueError, "items is 0; pass an int of at least 1", lambda: jrm.pad_lists([[1]], items=0), lambda: jrm.pad_lists([[1]], items=1)),
    "numbers as lists": (ValueError, "list 0 of argument 0 has shape ()", lambda: jrm.pad_lists([1, 2]), lambda: jrm.pad_lists([[1], [2]])),
    "lists in a list": (ValueError, "list 1 of .* differ in length", lambda: jrm.pad_lists([[1], [[1], [2, 3]]]), lambda: jrm.pad_lists([[1], [1, 2, 3]])),
    "vectors of two lengths": (ValueError, "argument 0 has items of shape (2,) in list 0, and (3,) in list 2; pass vectors of one length", lambda: jrm.pad_lists([[[1, 2]], [], [[1, 2, 3]]]), lambda: [jrm.pad_lists([[[1, 2]], [], [[1, 2]]]), jrm.pad_lists([[1, 2], [], [1, 2, 3]])]),
    "vectors beside numbers": (ValueError, "argument 1 has items of shape () in list 0, and (2,) in list 1", lambda: jrm.pad_lists([[1], [1]], [[1], [[1, 2]]]), lambda: [jrm.pad_lists([[1], [1]], y) for y in ([[[1, 2]], [[1, 2]]], [[1], [1]])]),
    "a list of text": (TypeError, "list 0 of argument 0 is <U1; pass a list", lambda: jrm.pad_lists([["a"]]), lambda: jrm.pad_lists([[1.5]])),
    "a number as lists": (TypeError, "argument 0: got int; pass a sequence of lists", lambda: jrm.pad_lists(3), lambda: jrm.pad_lists([[3]])),
    "no lists": (ValueError, "pad_lists got no lists", jrm.pad_lists, lambda: jrm.pad_lists([[1, 0]], [[0.2, 0.1]])),
    "-1 among bools": (ValueError, "fill is -1, which bool cannot hold", lambda: jrm.pad_lists([[True]], fill=-1), lambda: jrm.pad_lists([[True]], fill=False)),
    "nan among bools": (ValueError, "fill is nan, which bool cannot hold", lambda: jrm.pad_lists([[True, False], [True]], fill=float("nan")), lambda: jrm.pad_lists([[True, False], [True]], fill=False)),
    "-1 among unsigned": (ValueError, "which uint8 cannot hold", lambda: jrm.pad_lists(np.ones((1, 1), np.uint8), fill=-1), lambda: jrm.pad_lists(np.ones((1, 1), np.uint8), fill=0)),
    "text among integers": (ValueError, "fill is 'x', which int64 cannot hold", lambda: jrm.pad_lists([[1]], fill="x"), lambda: jrm.pad_lists([[1]], fill=7)),
    "a traced argument": (TypeError, "argument 1 is traced; call pad_lists outside", lambda: jax.jit(lambda x: jrm.pad_lists([[1]], x))(SCORES), lambda: jrm.pad_lists([[1, 0, 1], [1, 1, 1]], SCORES)),
    "a traced list": (TypeError, "list 1 of argument 0 is traced", lambda: jax.jit(lambda x: jrm.pad_lists([[1], x]))(FLAT), lambda: jrm.pad_lists([[1], FLAT])),
    "traced numbers": (TypeError, "list 0 of argument 0 is traced", lambda: jax.jit(lambda x: jrm.pad_lists([[x, x]]))(1.0), lambda: jrm.pad_lists([[1.0, 1.0]])),
    "a column of lists": (TypeError, "labels: got a .* of lists; .*jrm.pad_lists", lambda: jrm.ndcg(column_of_lists(), [[0.1, 0.2]]), traced(lambda: jrm.ndcg(*jrm.pad_lists(list(np.asarray(column_of_lists())), [[0.1, 0.2], [0.1, 0.2, 0.3]])[:2]))),
    # integers that do not fit
    **{
        f"wide {kind} of ids": (ValueError, "retrieved_ids: int64 values .* do not fit", lambda wide=wide: in_32_bits(lambda: jrm.rank_ids(wide, [5])), lambda wide=wide: [jax.eval_shape(lambda: jrm.rank_ids(np.asarray(wide) % 2**31, [5])), in_64_bits(lambda: jrm.rank_ids(wide, [2**32 + 5]).items[0] == 2**32 + 5)])
        for kind, wide in WIDE_FORMS.items()
    },
    **{
        f"wide {kind} of scores": (ValueError, "scores: int64 values .* do not fit", lambda wide=wide: in_32_bits(lambda: jrm.reciprocal_rank([1, 0], wide)), lambda wide=wide: [jax.eval_shape(lambda: jrm.reciprocal_rank([1, 0], np.float64(wide))), in_64_bits(lambda: jax.eval_shape(lambda: jrm.reciprocal_rank([1, 0], wide)))])
        for kind, wide in WIDE_FORMS.items()
    },
    **{
        f"wide {type(weight).__name__}": (ValueError, "weights: .* do not fit int32", lambda weight=weight: in_32_bits(lambda: jrm.ndcg(FLAT, FLAT, weights=weight)), lambda: traced(lambda: jrm.ndcg(FLAT, FLAT, weights=2))())
        for weight in (2**40, np.int64(2**40), np.uint64(2**63))
    },
    # checks of values
    "a twice relevant id": (ValueError, "relevant_ids holds 4 more than once in list 1; pass each id of a list once", lambda: jrm.check(relevant_ids=[[4, 5, -1, -1], [4, 3, 4, -1]]), lambda: jrm.check(relevant_ids=[[4, 5, -1, -1], [4, 3, -1, -1]])),
    "an id beyond the items": (ValueError, "relevant_ids is 9 at (1, 0); there are 9 items; pass ids from 0", lambda: jrm.check(relevant_ids=[[4], [9]], num_items=9), lambda: jrm.check(relevant_ids=[[4], [-1]], num_items=9)),
    "an excluded id beyond": (ValueError, "exclude_ids is 9 at (0, 0); there are 5 items", lambda: jrm.check(relevant_ids=IDS, exclude_ids=IDS + 9, scores=np.ones((2, 5))), lambda: jrm.check(relevant_ids=IDS, exclude_ids=IDS + 4, scores=np.ones((2, 5)))),
    "nan among scores of ids": (ValueError, "scores is nan at (1, 2)", lambda: jrm.check(relevant_ids=IDS, scores=np.where(np.arange(10).reshape(2, 5) == 7, np.nan, 1)), lambda: jrm.check(relevant_ids=IDS, scores=np.where(np.arange(10).reshape(2, 5) == 7, -np.inf, 1))),
    "infinite gains of ids": (ValueError, "gain of labels is inf at (0, 0)", lambda: jrm.check(relevant_ids=IDS, relevant_labels=IDS + 200), lambda: [jrm.check(relevant_ids=IDS, relevant_labels=(IDS + 200) / 100), jrm.check(relevant_ids=IDS, relevant_labels=IDS + 200, gain_fn=jrm.linear_gain)]),
    "nan among labels of ids": (ValueError, "relevant_labels is nan at (0, 0)", lambda: jrm.check(relevant_ids=IDS, relevant_labels=IDS + np.nan), lambda: [jrm.check(relevant_ids=IDS, relevant_labels=IDS + 1), jrm.check(relevant_ids=IDS - 1, relevant_labels=IDS + np.nan)]),
    "a segment of no list": (ValueError, "segment_ids is 30 at (0,), but num_segments is 2", lambda: jrm.check([1, 0], [0.1, 0.2], segment_ids=[30, 30], num_segments=2), lambda: [jrm.check([1, 0], [0.1, 0.2], segment_ids=[30, 30], num_segments=31), known_lists(jrm.check, (30, 30))]),
    "nothing to check": (ValueError, "labels and relevant_ids are both None", jrm.check, lambda: [jrm.check([1, 0]), jrm.check(relevant_ids=IDS)]),
    "two numbers of items": (ValueError, "num_items is 9, but scores has 5 items; leave num_items out", lambda: jrm.check(relevant_ids=IDS, scores=np.ones((2, 5)), num_items=9), lambda: jrm.check(relevant_ids=IDS, scores=np.ones((2, 5)))),
    "a number of segments alone": (ValueError, "num_segments is given but labels is None", lambda: jrm.check(relevant_ids=IDS, num_segments=3), lambda: jrm.check([1, 0], relevant_ids=IDS, segment_ids=[0, 2], num_segments=3)),
    "a mask alone": (ValueError, "mask is given but labels is None", lambda: jrm.check(mask=[True], relevant_ids=IDS), lambda: jrm.check([1], mask=[True], relevant_ids=IDS)),
    "ids alone": (ValueError, "exclude_ids is given but relevant_ids is None", lambda: jrm.check([1, 0], exclude_ids=IDS), lambda: jrm.check(relevant_ids=IDS, exclude_ids=IDS)),
    "a threshold of 0": (ValueError, "relevance_threshold is 0; pass a positive", lambda: jrm.check([1, 0], relevance_threshold=0), lambda: jrm.check([1, 0], relevance_threshold=0.5)),
}
