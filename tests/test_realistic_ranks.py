"""Ranks of one relevant item: their mean under ties, refused lists, and chance."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._metrics.run import raise_refused

# The target is one of three tied items below another, so that its ranks are 2, 3 and 4.
LABELS, SCORES = np.array([0, 1, 0, 0, 0]), np.array([5.0, 3, 3, 3, 1])
NAMES = (
    "mrr(rank=realistic)",
    "hits(rank=realistic)@2,3",
    "amri",
    "adjusted_hits@2,3",
    "adjusted_mrr",
)


def test_a_target_among_three_tied_items():
    """Its mean rank is 3, whose worth is that of a rank 3; the mean over ranks is not."""
    states = jrm.compute(jrm.evaluate((*NAMES, "mrr"), LABELS, SCORES))
    np.testing.assert_allclose(states[NAMES[0]], 1 / 3, rtol=1e-6)
    assert states[NAMES[1]].tolist() == [0, 1]
    np.testing.assert_allclose(states["amri"], 1 - 2 / 2, atol=1e-7)
    chance = np.array([2 / 5, 3 / 5])
    expected = (np.array([0, 1]) - chance) / (1 - chance)
    np.testing.assert_allclose(states[NAMES[3]], expected, rtol=1e-6)
    harmonic = (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5
    expected = (1 / 3 - harmonic) / (1 - harmonic)
    np.testing.assert_allclose(states[NAMES[4]], expected, rtol=1e-6)
    np.testing.assert_allclose(states["mrr"], (1 / 2 + 1 / 3 + 1 / 4) / 3, rtol=1e-6)


# Of these labels and scores, the second list has two relevant items.
SEVERAL = np.array([[1, 0, 0], [1, 0, 1]]), np.array([[3.0, 2, 1], [1, 2, 2]])
REALISTIC = functools.partial(jrm.reciprocal_rank, rank="realistic")


def test_lists_of_several_relevant_items():
    """They raise where they are known; inside `jax.jit` the first of them is read."""
    labels, scores = SEVERAL
    match = "rank='realistic' reads the rank of the only .* relevant in list 1; pass"
    with pytest.raises(ValueError, match=match):
        REALISTIC(labels, scores)
    ranking = jrm.rank(labels, scores)
    with pytest.raises(ValueError, match=match):
        jrm.measure(NAMES[:2], ranking)
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
def test_other_calls_refuse():
    """Every call of a metric raises, and one relevant item of a larger label passes."""
    labels, scores = SEVERAL
    joined = jrm.join({"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}})
    index = jrm.adjusted_mean_rank_index
    for call, match in (
        (lambda: jrm.evaluate((NAMES[1], "map"), labels, scores), "in list 1"),
        (lambda: index(labels, scores), "adjusted_mean_rank_index"),
        (lambda: joined.measure(NAMES[:1]), "are relevant in list 0"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    graded = REALISTIC(labels * np.array([1, 1, 2]), scores, relevance_threshold=2)
    assert float(graded.compute()) == pytest.approx(1 / 1.5 / 2)


@pytest.mark.long
def test_other_readings():
    """A key picks a rank, and soft ranks agree."""
    draws = {float(REALISTIC(LABELS, SCORES, key=jax.random.key(i))) for i in range(12)}
    np.testing.assert_allclose(sorted(draws), [1 / 4, 1 / 3, 1 / 2], rtol=1e-6)
    relax = jrm.sigmoid_ranks(0.1)
    soft = jrm.reciprocal_rank(LABELS, SCORES, relax=relax).compute()
    np.testing.assert_allclose(REALISTIC(LABELS, SCORES, relax=relax).compute(), soft)
