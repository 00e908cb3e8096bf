"""Against rax: rows with masks; `test_layouts.py` compares packed lists with rows.

rax compares all pairs of items, so lists are short. It has no hit rate, F score or
R-precision.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

KS = (1, 4, 20, None)
LINEAR = {"gain_fn": lambda labels: labels, "discount_fn": jnp.reciprocal}
# The function of rax with its options, and ours; each with every cutoff.
THEIRS = {
    "ndcg": ("ndcg_metric", {}),
    "ndcg-linear": ("ndcg_metric", LINEAR),
    "dcg": ("dcg_metric", {}),
    "mrr": ("mrr_metric", {}),
    "precision": ("precision_metric", {}),
    "recall": ("recall_metric", {}),
    "ap": ("ap_metric", {}),
}
OUR_LINEAR = {"gain_fn": jrm.linear_gain, "discount_fn": jrm.reciprocal_discount}
OURS = {
    "ndcg": functools.partial(jrm.ndcg, k=KS),
    "ndcg-linear": functools.partial(jrm.ndcg, **OUR_LINEAR, k=KS),
    "dcg": functools.partial(jrm.dcg, k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
    "ap": functools.partial(jrm.average_precision, k=KS),
}


def rax_function(name, **options):
    """Returns a function of rax, with the options of its row."""
    import rax

    function, of_row = THEIRS[name]
    return functools.partial(getattr(rax, function), **of_row, **options)


def of_lists(name, labels, scores, mask=None, **options):
    """Returns the values of rax `[lists, cutoffs]`."""
    options = {name: jnp.asarray(x) for name, x in options.items()}
    options["where"] = None if mask is None else jnp.asarray(mask)
    arrays = jnp.asarray(scores), jnp.asarray(labels)
    function = rax_function(name, reduce_fn=None, **options)
    return np.stack([function(*arrays, topn=k) for k in KS], axis=-1)


@pytest.fixture
def rax_values(recorded):
    """Returns what a function of this module, by default `of_lists`, says of every name."""

    def values(kind, lists, names=OURS, of=of_lists, **options):
        theirs = {name: functools.partial(of, name, **options) for name in names}
        return recorded(kind, lambda *x: {n: f(*x) for n, f in theirs.items()}, *lists)

    return values


def with_gradient(name, labels, scores):
    """Returns the mean of rax under approximated ranks, and its gradient."""
    import rax

    ranks = functools.partial(
        rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(x / 0.2)
    )
    function = rax_function(name, rank_fn=ranks)
    arrays = jnp.asarray(scores), jnp.asarray(labels)
    return {"value": function(*arrays), "gradient": jax.grad(function)(*arrays)}


def in_order(name, labels, scores, mask):
    """Returns the share of pairs that rax finds in order."""
    import rax

    arrays = (jnp.asarray(x) for x in (scores, labels))
    return rax.opa_metric(*arrays, where=jnp.asarray(mask), reduce_fn=None)


def values_of(ranking):
    """Returns our values under every name."""
    return jrm.measure({**OURS, "opa": jrm.ordered_pair_accuracy}, ranking)


def rank(lists, weights=None, **options):
    """Returns our ranking, in programs that tests share."""
    weights = np.ones_like(lists.scores) if weights is None else weights
    return jrm.rank(*lists, weights, **options)


def tied(lists, levels):
    """Returns the lists with few distinct scores."""
    return lists._replace(scores=np.floor(levels * lists.scores))


def test_ties_in_index_order(lists, rax_values, agree):
    # Without a key, rax leaves tied items in the order of the input, our "stable".
    lists = tied(lists, 2)
    ours = values_of(rank(lists, ties="stable"))
    for name, theirs in rax_values("ties in index order", lists).items():
        agree(ours[name].values, theirs)


@pytest.mark.parametrize("levels", [None, 2], ids=["distinct", "tied"])
def test_pairs_in_order(levels, lists, rax_values, agree):
    # rax counts a tie as 0, and we as ½: with ties, ours is the mean of its share of pairs
    # in order and of the share that is not out of order.
    lists = tied(lists, levels) if levels else lists
    ours = values_of(rank(lists))["opa"]
    theirs, falling = (
        rax_values("pairs", lists._replace(scores=x), ["opa"], in_order)["opa"]
        for x in (lists.scores, -lists.scores)
    )
    agree(ours.values, (theirs + np.asarray(ours.defined) * (1 - falling)) / 2)
    assert (theirs < ours.values).any() == bool(levels)


def test_item_weights(lists, rax_values, agree):
    """Compares values under weights of items.

    The DCG of rax is Σ w·gain·discount; ours is divided by w̄, the weight of the list. In
    nDCG, w̄ cancels.
    """
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 3, lists.labels.shape).astype(np.float32)
    ours, options = values_of(rank(lists, weights)), {"weights": weights}
    names = ("ndcg", "ndcg-linear", "dcg")
    for name, theirs in rax_values("weighted", lists, names, **options).items():
        values = ours[name].values
        agree(values * ours[name].weights[:, None] if name == "dcg" else values, theirs)


def test_approximations(lists, rax_values, agree):
    # Without masks: in rax, items that do not exist get the first rank.
    labels, scores = data = lists[:2]
    both = rax_values("approximations", data, ["ndcg", "dcg"], with_gradient)
    for name, theirs in both.items():
        metric = getattr(jrm, name)

        def ours(scores, metric=metric):
            return metric(labels, scores, relax=jrm.sigmoid_ranks(0.2)).compute()

        value, gradient = jax.value_and_grad(ours)(scores)
        agree(value, theirs["value"])
        agree(gradient, theirs["gradient"])
