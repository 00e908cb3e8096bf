"""`rank_places`: the places of judged items, counted elsewhere.

Whole lists, ranked by their scores, are the truth. Places are counted in them by loops.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CORE, EVERY, TOP, metrics
from sources import check_same, count_places

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.while_tracing import constant

LISTS, ITEMS = 6, 40
KS = (1, 5, None)


@dataclasses.dataclass(frozen=True)
class Lists:
    """Whole lists: some items are judged, some retrieved, every one of them either."""

    labels: np.ndarray  # [lists, items]; 0 for unjudged items and labels below 0
    scores: np.ndarray
    mask: np.ndarray
    retrieved: np.ndarray
    is_listed: np.ndarray  # in the judgements, perhaps with a relevance below 0
    columns: dict[str, np.ndarray]

    def ranked(self):
        """Ranks the whole lists."""
        options = {"retrieved": self.retrieved, "columns": self.columns}
        return jrm.rank(self.labels, self.scores, self.mask, **options)

    def places(self):
        """Returns the arguments of `rank_places`, `[lists, items]`."""
        has_rank = self.mask & self.retrieved
        above, tied = count_places(self.scores, has_rank)
        # Items without a rank have odd numbers, and items that do not exist have NaN.
        above, tied = np.where(has_rank, above, -7), np.where(has_rank, tied, 99)
        labels = np.where(self.mask & self.is_listed, self.labels, np.nan)
        arrays = {"labels": labels, "above": above, "tied": tied}
        return arrays | {
            "mask": self.mask & self.is_listed,
            "retrieved": self.retrieved,
            "num_retrieved": has_rank.sum(-1),
            "columns": self.columns,
        }


def draw(rng, *, tied):
    """Draws lists with every kind of item, one of them empty, one with nothing retrieved."""
    shape = (LISTS, ITEMS)
    is_listed = rng.random(shape) < 0.4
    labels = np.where(is_listed, rng.choice([0, 0, 1, 2, 2.5], shape), 0)
    is_below_0 = is_listed & (labels == 0) & (rng.random(shape) < 0.3)
    retrieved = rng.random(shape) < 0.8
    retrieved[1] = False
    mask = (rng.random(shape) < 0.9) & (is_listed | retrieved)
    mask[0] = False
    columns_of_top = is_listed.argmax(1)
    labels[np.arange(LISTS), columns_of_top] = TOP
    labels[2] = 0
    scores = rng.permutation(LISTS * ITEMS).reshape(shape).astype(np.float32)
    if tied:
        scores = np.round(rng.normal(size=shape) * 2).astype(np.float32)
        scores[3] = 0
    subtopics = (rng.random((*shape, 3)) < 0.3) & is_listed[..., None]
    columns = {
        "judged": is_listed & ~is_below_0,
        "pooled": is_listed,
        "subtopics": subtopics,
        "propensities": rng.random(shape).astype(np.float32),
        "groups": (rng.random((*shape, 2)) < 0.5) & is_listed[..., None],
    }
    labels = labels.astype(np.float32)
    return Lists(labels, scores, mask, retrieved, is_listed, columns)


LABELS, ONES = np.array([[1, 0, 1]]), np.ones((1, 3), np.int32)
ABOVE = np.array([[0, 1, 2]])


def rank_three(labels=LABELS, above=ABOVE, tied=ONES, num_retrieved=(9,), **options):
    """Ranks a list of three items, with changes to good arguments."""
    return jrm.rank_places(
        labels, above, tied, num_retrieved=np.array(num_retrieved), **options
    )


# Metrics that read columns, or all retrieved items, in a way of their own.
SPECIAL = (
    *(
        "bpref",
        "judged",
        "num_nonrelevant_retrieved",
        "fall_out",
        "set_average_precision",
    ),
    *("subtopic_recall", "group_recall", "propensity_scored_recall"),
)


@pytest.mark.long
@pytest.mark.parametrize("tied", [False, True])
def test_many_metrics(tied, rng):
    """They have the values of the whole lists, or name the inputs that they lack.

    Metrics without a closed form are read if no items tie. `test_layouts.py` reads every
    other metric, for lists whose items were all retrieved.
    """
    lists = draw(rng, tied=tied)
    ranking, served = jrm.rank_places(**lists.places()), {}
    for name, case in EVERY.items():
        if tied and name == "time_biased_gain":  # a closed form, as there are no costs
            continue
        if "places" not in case.refused and (case.closed_form or not tied):
            if name in (*CORE, *SPECIAL) if tied else not case.closed_form:
                served[name] = case
            continue
        bound = case.partial(KS)
        reason = "tied is above 1|the label 0|every item|listed items"
        with pytest.raises(ValueError, match=f"{case.metric.__name__}: .*({reason})"):
            case.metric.of(ranking, **bound.keywords)
    table = metrics(KS, cases=served)
    check_same(jrm.measure(table, ranking), jrm.measure(table, lists.ranked()))


def test_a_user_whom_unlisted_items_stop():
    """The first item that is not relevant may be one whose place is not held."""
    ranking = rank_three()
    with pytest.raises(ValueError, match="an item with the label 0 has the value 1"):
        ranking.expected_first(lambda items: items.labels < 1, jnp.sqrt, (None,))
    ranking.expected_first(lambda items: items.labels >= 1, jnp.sqrt, (None,))


@pytest.mark.long
def test_tables_are_as_long_as_the_listed_items(rng):
    """A traced number of items, which may be anything, makes no table of all of them."""
    arguments = draw(rng, tied=False).places()
    metrics = ("11pt_avg", "precision_at_multiples@0.5,2")

    def run(arguments):
        return jrm.measure(metrics, jrm.rank_places(**arguments))

    lowered = jax.jit(run).lower(arguments)
    program = lowered.compile()
    constants = program.memory_analysis().temp_size_in_bytes
    assert constants < 2**24 and len(lowered.as_text()) < 2**24
    check_same(program(arguments), run(arguments))


@pytest.mark.long
def test_what_is_traced():
    """Traced places are not checked: tied items stand at the first of their ranks."""
    labels, above, tied = np.ones((1, 2)), np.array([[1, 1]]), np.array([[2, 2]])

    @jax.jit
    def run(labels, above, tied, number):
        ranking = jrm.rank_places(labels, above, tied, num_retrieved=number)
        return jrm.measure(("p_plus", "num_ret", "mrr"), ranking)

    lists = run(labels, above, tied, np.array([1]))
    assert lists["num_ret"].values.tolist() == [2]  # never fewer than are listed
    # Both at rank 2: (1 + 1)/(2 + 2) of the first, and (2 + 2)/(2 + 2) of the second.
    np.testing.assert_allclose(lists["p_plus"].values, [3 / 4], rtol=1e-6)
    np.testing.assert_allclose(lists["mrr"].values, [1 / 2])


def test_cutoffs_need_short_tables():
    """A program with a cutoff does not hold the sums over all ranks there could be."""
    place = np.zeros((4, 70), np.int32)
    ranked = jax.jit(
        lambda *x: jrm.dcg.of(jrm.rank_places(*x, num_retrieved=place[:, 0]), k=(5, 99))
    )
    text = ranked.lower(place, place, place).as_text()
    assert len(text) < 1_000_000  # such a table alone would have eight million


def test_constants_take_one_program_each(compilations):
    """A formula's values of unlisted items and ranks are compiled as a whole, once."""
    ranking = rank_three(above=[[0, 3, 3]], tied=[[1, 2, 2]])

    def gain(labels):
        return jnp.where(labels > 1, jnp.exp2(labels), jnp.sqrt(labels)) * 3

    def discount(ranks):
        return 1 / jnp.log1p(jnp.sqrt(ranks) + 1)

    compilations.clear()  # programs of the ranking
    jrm.dcg.of(ranking, gain_fn=gain, discount_fn=discount, k=(1, 100, None))
    assert 1 <= len(compilations) <= 4  # the metric itself is one
    compilations.clear()
    jrm.dcg.of(ranking, gain_fn=gain, discount_fn=discount, k=(2, 90, None))
    assert len(compilations) == 1


def test_constants_while_jit_is_disabled():
    """They are computed by a program even then."""
    with jax.disable_jit():
        assert constant(lambda x: x + 1, np.zeros(1, np.float32)) == 1


def test_formulas_that_read_traced_values():
    """A formula may read traced values per item, but not in a function of ranks."""
    ranking, above = rank_three(above=[[0, 3, 5]]), np.array([0, 3, 5])

    def sums(added, place_fn=lambda place, k: place.counted_above[0]):
        def value(items):
            return jnp.where(items.exists, items.labels + added, 0)

        relevant = (lambda items: items.relevant(1), place_fn, (None,))
        return ranking.expected_sum(*relevant, counting=(value,))

    # Each of the items above is worth `added`, listed or not, and two have the label 1.
    expected = (above[[0, 2]] * 0.5).sum() + 1
    np.testing.assert_allclose(jax.jit(sums)(0.5), [[expected]])
    np.testing.assert_allclose(sums(0.5), [[expected]])
    with pytest.raises(TypeError, match="a function of ranks reads traced values"):
        tied = rank_three(above=[[0, 3, 3]], tied=[[1, 2, 2]])
        jax.jit(
            lambda p: tied.expected_sum(
                lambda items: items.relevant(1),
                jrm.positions(lambda ranks: ranks * p),
                (None,),
            )
        )(0.5)
