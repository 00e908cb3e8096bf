"""A list with a score that is NaN has no value; all other lists keep their bits.

Each way to rank is one program, which is run with numbers, and with one NaN of either sign.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import POLICIES
from jax.sharding import PartitionSpec as P
from sources import make_mesh

import jax_rank_metrics as jrm

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
    """Labels, scores of which some tie, and a mask; the items 1, 2 and 3 are relevant."""
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
    """Scores that a similarity looks up, so that a query has no part in those of others."""
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
    **{f"rows {ties}": functools.partial(rows, ties=ties, key=KEY if ties == "random" else None, names=CUT if ties != "expected" else SHORT) for ties in POLICIES},
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

DEFAULT = ("rows None", "packed", "devices", "scores", "catalog, cut", "relax")


def same_bits(actual, expected):
    """Whether arrays have the same bits."""
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
        if name == "num_rel":
            assert same_bits(value, lists.values[bad]), (what, name)
        else:
            assert np.isnan(value).all() and actual[name].defined[bad], (what, name)


@pytest.mark.parametrize(
    "way",
    [pytest.param(w, marks=() if w in DEFAULT else pytest.mark.long) for w in WAYS],
)
def test_one_nan_in_one_list(way):
    """Eager and jitted, of either sign, wherever it stands among the items."""
    jitted = jax.jit(WAYS[way])
    expected = jitted(SCORES)
    for score in map(nan, SIGNS):
        for item in (2, ITEMS - 1):
            scores = SCORES.copy()
            scores[BAD, item] = score
            check(jitted(scores), expected, what=(way, item))
    if "devices" not in way:
        check(WAYS[way](scores), WAYS[way](SCORES), what=(way, "eager"))
