"""Against rax: the same lists, masks and cutoffs."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    rax = pytest.importorskip("rax")
pytestmark = pytest.mark.filterwarnings("default")

KS = (4, 20, None)


def linear(labels):
    """The gain that is the label itself, for rax."""
    return labels


# The function of rax with its options, and ours; each with every cutoff.
THEIRS = {
    "ndcg": (rax.ndcg_metric, {}),
    "ndcg-linear": (
        rax.ndcg_metric,
        {"gain_fn": linear, "discount_fn": jnp.reciprocal},
    ),
    "dcg": (rax.dcg_metric, {}),
    "mrr": (rax.mrr_metric, {}),
    "precision": (rax.precision_metric, {}),
    "recall": (rax.recall_metric, {}),
    "ap": (rax.ap_metric, {}),
}
OURS = {
    "ndcg": functools.partial(jrm.ndcg, k=KS),
    "ndcg-linear": functools.partial(
        jrm.ndcg,
        gain_fn=jrm.linear_gain,
        discount_fn=jrm.reciprocal_discount,
        k=KS,
    ),
    "dcg": functools.partial(jrm.dcg, k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
    "ap": functools.partial(jrm.average_precision, k=KS),
}


@pytest.fixture
def rax_values(peer):
    """Returns the values of rax for every list at every cutoff, or their means."""

    def values(name, labels, scores, mask=None, per_list=True, **kwargs):
        function, options = THEIRS[name]
        options = options | kwargs | ({"reduce_fn": None} if per_list else {})
        labels, scores = jnp.asarray(labels), jnp.asarray(scores)
        where = None if mask is None else jnp.asarray(mask)
        columns = [
            peer(function, scores, labels, where=where, topn=k, **options) for k in KS
        ]
        return np.stack(columns, axis=-1)

    return values


@pytest.mark.parametrize("name", OURS)
def test_every_list_and_cutoff(name, lists, rax_values, agree):
    ours = jrm.measure(OURS, jrm.rank(*lists))[name]
    agree(ours.values, rax_values(name, *lists))


@pytest.mark.parametrize("name", OURS)
def test_mean_leaves_out_empty_lists_only(name, lists, rax_values, agree):
    ours = jrm.measure(OURS, jrm.rank(*lists))[name]
    agree(ours.mean().compute(), rax_values(name, *lists, per_list=False))


@pytest.mark.parametrize("name", OURS)
def test_negative_labels_are_its_where(name, lists, rax_values, agree):
    labels = np.where(lists.mask, lists.labels, np.float32(-1))
    ours = jrm.measure(OURS, jrm.rank(labels, lists.scores))[name]
    agree(ours.values, rax_values(name, labels, lists.scores, labels >= 0))


@pytest.mark.parametrize("name", OURS)
def test_ties_in_index_order(name, lists, rax_values, agree):
    # Without a key, rax leaves tied items in the order of the input, our "stable".
    tied = lists._replace(scores=np.floor(2 * lists.scores))
    ours = jrm.measure(OURS, jrm.rank(*tied, ties="stable"))[name]
    agree(ours.values, rax_values(name, *tied))


@pytest.mark.parametrize("name", OURS)
def test_random_ties_have_the_expected_value_as_mean(name, lists, rax_values):
    scores = np.floor(2 * lists.scores)
    row, copies = 6, 3000
    assert lists.mask[row].all()
    many = [np.tile(x[row], (copies, 1)) for x in (lists.labels, scores)]
    theirs = rax_values(name, *many, key=jax.random.key(0)).astype(np.float64)
    error = 5 * theirs.std(axis=0) / np.sqrt(copies) + 1e-6
    assert (error > 1e-3).any()  # the order was random
    ours = jrm.measure(OURS, jrm.rank(lists.labels, scores, lists.mask))[name]
    difference = np.abs(theirs.mean(axis=0) - np.asarray(ours.values)[row])
    np.testing.assert_array_less(difference, error)


@pytest.mark.parametrize("tied", [False, True])
def test_pairs_in_order(tied, lists, peer, agree):
    # rax counts a tie as 0, and we as ½: with ties, ours is the mean of its share of pairs
    # in order and of the share that is not out of order.
    scores = np.floor(2 * lists.scores) if tied else lists.scores
    ours = jrm.measure(("opa",), jrm.rank(lists.labels, scores, lists.mask))["opa"]
    where = jnp.asarray(lists.mask)
    theirs, falling = (
        peer(
            rax.opa_metric,
            jnp.asarray(x),
            jnp.asarray(lists.labels),
            where=where,
            reduce_fn=None,
        )
        for x in (scores, -scores)
    )
    agree(ours.values, (theirs + np.asarray(ours.defined) * (1 - falling)) / 2)
    assert (theirs < ours.values).any() == tied


@pytest.mark.parametrize("name", ["dcg", "ndcg", "ndcg-linear"])
def test_item_weights(name, lists, rax_values, agree):
    # The DCG of rax is Σ w·gain·discount; ours is divided by w̄, the weight of the list. In
    # nDCG, w̄ cancels.
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 3, lists.labels.shape).astype(np.float32)
    ours = jrm.measure({name: OURS[name]}, jrm.rank(*lists, weights))[name]
    values = ours.values * ours.weights[:, None] if name == "dcg" else ours.values
    agree(values, rax_values(name, *lists, weights=jnp.asarray(weights)))


def some_infinitely_low(lists):
    """Returns the lists with half of the scores at -inf."""
    return lists._replace(scores=np.where(lists.scores > 0, lists.scores, -np.inf))


@pytest.mark.parametrize("name", OURS)
def test_infinitely_low_scores_are_not_retrieved_there(name, lists, rax_values, agree):
    # Here, items that were not retrieved have no rank, but stay in the pool.
    low = some_infinitely_low(lists)
    order = np.argsort(-low.scores, axis=1)
    values = low.mask & (low.scores > -np.inf)
    labels, values = (
        np.take_along_axis(x, order, axis=1) for x in (low.labels, values)
    )
    ranking = jrm.rank_retrieved(
        labels, values, pool_labels=low.labels, pool_mask=low.mask
    )
    ours = jrm.measure(OURS, ranking)[name].values
    agree(ours, rax_values(name, *low))


def test_infinitely_low_scores_are_scores_here(lists, rax_values, agree):
    no_cutoff = KS.index(None)
    low = some_infinitely_low(lists)
    ours = jrm.measure(OURS, jrm.rank(*low))["recall"].values[:, no_cutoff]
    agree(ours, jrm.measure(OURS, jrm.rank(*lists))["recall"].values[:, no_cutoff])
    assert (rax_values("recall", *low)[:, no_cutoff] < ours).any()


@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_approximations(name, lists, peer, agree):
    # Without masks: in rax, items that do not exist get the first rank.
    ranks = functools.partial(
        rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(x / 0.2)
    )
    theirs = functools.partial(THEIRS[name][0], rank_fn=ranks)
    labels, scores = jnp.asarray(lists.labels), jnp.asarray(lists.scores)
    metric, relax = getattr(jrm, name), jrm.sigmoid_ranks(0.2)
    gradient = jax.grad(lambda x: metric(labels, x, relax=relax).compute())(scores)
    agree(gradient, peer(jax.grad(theirs), scores, labels))
    agree(metric(labels, scores, relax=relax).compute(), peer(theirs, scores, labels))
