"""Against rax: lists of very unequal length packed along one axis.

rax compares all pairs of items, so lists are short. Scores of -inf and NaN are not
compared, since they have another meaning in rax or none; `test_rax.py` compares -inf. rax
has no hit rate, F score or R-precision, and is not told the number of lists, so that a list
without items has no value.
"""

import functools
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    rax = pytest.importorskip("rax")
pytestmark = pytest.mark.filterwarnings("default")

KS = (1, 4, 50, None)
# The empty list is in the middle, where its neighbours could leak into it.
LENGTHS = (1, 60, 2, 0, 17, 3, 9, 5, 8, 1)
EMPTY, NOTHING_RELEVANT, ALL_RELEVANT, ALL_MASKED = 3, 5, 6, 7

THEIRS = {
    "ndcg": rax.ndcg_metric,
    "dcg": rax.dcg_metric,
    "mrr": rax.mrr_metric,
    "precision": rax.precision_metric,
    "recall": rax.recall_metric,
    "ap": rax.ap_metric,
}
OURS = {
    "ndcg": functools.partial(jrm.ndcg, k=KS),
    "dcg": functools.partial(jrm.dcg, k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
    "ap": functools.partial(jrm.average_precision, k=KS),
}
NAMES = pytest.mark.parametrize("name", OURS)


class Packed(NamedTuple):
    """Items of all lists, in arrays `[items]`."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    segment_ids: np.ndarray


def draw(shuffled):
    """Returns graded lists, contiguous or interleaved, without tied scores."""
    rng = np.random.default_rng(8)
    ids = np.repeat(np.arange(len(LENGTHS), dtype=np.int32), LENGTHS)
    labels = rng.choice(np.float32([0, 0, 0, 0.5, 1, 2, 3]), ids.size)
    labels[ids == NOTHING_RELEVANT] = 0
    labels[ids == ALL_RELEVANT] = 2
    mask = rng.random(ids.size) < 0.7
    mask[ids == ALL_MASKED] = False
    labels[0], mask[0] = 1, True  # a list of one relevant item
    scores = (rng.permutation(ids.size) / 8 - 5).astype(np.float32)
    order = rng.permutation(ids.size) if shuffled else np.arange(ids.size)
    return Packed(*(x[order] for x in (labels, scores, mask, ids)))


@pytest.fixture(params=[False, True], ids=["in-order", "shuffled"])
def packed(request):
    """The lists, contiguous and interleaved."""
    return draw(request.param)


@pytest.fixture
def rax_lists(peer):
    """Returns the values of rax for every list at every cutoff, read off the items."""

    def values(name, packed, where=None, **options):
        results = rax_items(peer, name, packed, where, reduce_fn=None, **options)
        # A list has its value at its first item, and 0 at all others.
        lists = np.zeros((*results.shape[:-2], len(LENGTHS), len(KS)))
        for segment in range(len(LENGTHS)):
            mine = (packed.segment_ids == segment)[..., None]
            lists[..., segment, :] = np.where(mine, results, 0).sum(axis=-2)
        return lists

    return values


def rax_items(peer, name, packed, where=None, **options):
    """Returns a function of rax at every cutoff, along a last axis."""
    labels, scores = jnp.asarray(packed.labels), jnp.asarray(packed.scores)
    options |= {
        "segments": jnp.asarray(packed.segment_ids),
        "where": None if where is None else jnp.asarray(where),
    }
    columns = [peer(THEIRS[name], scores, labels, topn=k, **options) for k in KS]
    return np.stack(columns, axis=-1)


def rank(packed, mask=None, weights=None, **options):
    """Returns our ranking of the lists."""
    return jrm.rank(
        packed.labels,
        packed.scores,
        mask,
        weights,
        segment_ids=packed.segment_ids,
        num_segments=len(LENGTHS),
        **options,
    )


@NAMES
@pytest.mark.parametrize("masked", [False, True], ids=["whole", "masked"])
def test_every_list_and_cutoff(name, masked, packed, rax_lists, agree):
    mask = packed.mask if masked else None
    ours = jrm.measure(OURS, rank(packed, mask))[name]
    agree(ours.values, rax_lists(name, packed, mask))
    assert not ours.values[EMPTY].any() and ours.values[0].all()


@NAMES
@pytest.mark.parametrize("masked", [False, True], ids=["whole", "masked"])
def test_mean_leaves_out_lists_without_items(name, masked, packed, peer, agree):
    mask = packed.mask if masked else None
    ours = jrm.measure(OURS, rank(packed, mask))[name].mean()
    agree(ours.compute(), rax_items(peer, name, packed, mask))
    exists = np.ones_like(packed.mask) if mask is None else mask
    assert ours.lists == np.unique(packed.segment_ids[exists]).size < len(LENGTHS)


@NAMES
def test_ids_of_no_list(name, packed, rax_lists, agree):
    # rax measures it like any other list; here it is masked.
    ids = np.where(packed.mask, packed.segment_ids, -1).astype(np.int32)
    ours = jrm.measure(OURS, rank(packed._replace(segment_ids=ids)))[name]
    agree(ours.values, rax_lists(name, packed, packed.mask))


@NAMES
def test_rows_of_packed_lists(name, rax_lists, agree):
    rows = Packed(*(np.stack(x) for x in zip(draw(False), draw(True), strict=True)))
    ours = jrm.measure(OURS, rank(rows, rows.mask))[name]
    agree(ours.values, rax_lists(name, rows, rows.mask))


@NAMES
def test_ties_in_index_order(name, packed, rax_lists, agree):
    # Without a key, rax leaves tied items in the order of the input, our "stable".
    tied = packed._replace(scores=np.floor(packed.scores / 4))
    ours = jrm.measure(OURS, rank(tied, tied.mask, ties="stable"))[name]
    agree(ours.values, rax_lists(name, tied, tied.mask))


@NAMES
def test_random_ties_have_the_expected_value_as_mean(name, packed, rax_lists):
    tied = packed._replace(scores=np.floor(packed.scores / 4))
    copies = 500
    many = Packed(*(np.tile(x, (copies, 1)) for x in tied))
    theirs = rax_lists(name, many, many.mask, key=jax.random.key(0))
    error = 5 * theirs.std(axis=0) / np.sqrt(copies) + 1e-5
    assert (error > 1e-3).any()  # the order was random
    ours = np.asarray(jrm.measure(OURS, rank(tied, tied.mask))[name].values)
    np.testing.assert_array_less(np.abs(theirs.mean(axis=0) - ours), error)


@pytest.mark.parametrize("name", ["dcg", "ndcg"])
def test_item_weights(name, packed, rax_lists, agree):
    # The DCG of rax is Σ w·gain·discount; ours is divided by w̄, the weight of the list. In
    # nDCG, w̄ cancels.
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 3, packed.labels.shape).astype(np.float32)
    ours = jrm.measure(OURS, rank(packed, packed.mask, weights))[name]
    values = ours.values * ours.weights[:, None] if name == "dcg" else ours.values
    theirs = rax_lists(name, packed, packed.mask, weights=jnp.asarray(weights))
    agree(values, theirs)


@pytest.mark.parametrize("name", ["dcg", "ndcg"])
def test_approximations(name, packed, peer, agree):
    ranks = functools.partial(
        rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(x / 0.2)
    )
    labels, scores = jnp.asarray(packed.labels), jnp.asarray(packed.scores)
    segments = {"segments": jnp.asarray(packed.segment_ids)}
    theirs = functools.partial(THEIRS[name], rank_fn=ranks, **segments)

    def ours(scores):
        ranking = rank(packed._replace(scores=scores), relax=jrm.sigmoid_ranks(0.2))
        return getattr(jrm, name).of(ranking).mean().compute()

    agree(ours(scores), peer(theirs, scores, labels))
    agree(jax.grad(ours)(scores), peer(jax.grad(theirs), scores, labels))
