"""Ranks of one relevant item: refused lists, and ranks by chance."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics.run import raise_refused

# The target is one of three tied items below another, so that its ranks are 2, 3 and 4.
LABELS, SCORES = np.array([0, 1, 0, 0, 0]), np.array([5.0, 3, 3, 3, 1])
# The second list of these labels and scores has two relevant items.
SEVERAL = np.array([[1, 0, 0], [1, 0, 1]]), np.array([[3.0, 2, 1], [1, 2, 2]])
REALISTIC = functools.partial(jrm.reciprocal_rank, rank="realistic")


def test_lists_of_several_relevant_items():
    """They raise if they are known; inside `jax.jit`, the first relevant item is read."""
    labels, scores = SEVERAL
    match = "rank='realistic' reads the rank of the only .* relevant in list 1; pass"
    joined = jrm.join({"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}})
    for call, text in (
        (lambda: REALISTIC(labels, scores), match),
        (lambda: jrm.measure("mrr(rank=realistic)", jrm.rank(labels, scores)), match),
        (
            lambda: jrm.evaluate(("hits(rank=realistic)@2,3", "map"), labels, scores),
            match,
        ),
        (
            lambda: jrm.adjusted_mean_rank_index(labels, scores),
            "rank_index.* in list 1",
        ),
        (lambda: joined.measure("mrr(rank=realistic)"), "are relevant in list 0"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    # One relevant item of a larger label passes.
    graded = REALISTIC(labels * np.array([1, 1, 2]), scores, relevance_threshold=2)
    assert float(graded.compute()) == pytest.approx(1 / 1.5 / 2)
    traced = jax.jit(
        lambda x: jrm.reciprocal_rank.per_list(x, scores, rank="realistic")
    )
    np.testing.assert_allclose(traced(jnp.asarray(labels)).values, [1, 1 / 1.5])


@pytest.mark.parametrize(
    "lists, where",
    [
        (True, ""),
        ([False, True], " in list 1"),
        ([[False], [True]], r" in list \(1, 0\)"),
    ],
    ids=str,
)
def test_messages_name_the_list(lists, where):
    """The message has the index of the first list that is refused, if it has one."""
    with pytest.raises(ValueError, match=f"^several{where}; pass one$"):
        raise_refused({"several{}; pass one": np.array(lists)})


@pytest.mark.long
def test_other_readings():
    """A key picks a rank, and soft ranks agree."""
    draws = {float(REALISTIC(LABELS, SCORES, key=jax.random.key(i))) for i in range(12)}
    np.testing.assert_allclose(sorted(draws), [1 / 4, 1 / 3, 1 / 2], rtol=1e-6)
    relax = jrm.sigmoid_ranks(0.1)
    soft = jrm.reciprocal_rank(LABELS, SCORES, relax=relax).compute()
    np.testing.assert_allclose(REALISTIC(LABELS, SCORES, relax=relax).compute(), soft)
