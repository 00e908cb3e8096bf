"""Places of items on every layout, against loops: they are exact.

The value of an item is a row of the identity matrix, its one-hot column. So an
`expected_sum` returns what the place of every single item is worth.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.places import few_ranks_cpu, tie_groups
from jax_rank_metrics._engine.places import place as places

LISTS, ITEMS, RELEVANT = 5, 96, 9
LIMITS = np.array([1, 3, 20, 60, 200], np.int32)  # a cutoff of each list
FACTORS = np.array([1, 2, 3, 4, 5], np.float32)
ONE_HOT = np.broadcast_to(np.eye(ITEMS, dtype=np.float32), (LISTS, ITEMS, ITEMS))


COLUMNS = {"one_hot": ONE_HOT}


def draw(rng, *, tied):
    """Draws labels, scores and a mask, with ties of at most two items, or of any number."""
    labels = rng.integers(-1, 4, (LISTS, ITEMS)).astype(np.float32)
    scores = rng.permuted(np.tile(np.arange(ITEMS) // 2, (LISTS, 1)), axis=-1)
    if tied:
        scores[0] = 7
        scores[1] = rng.integers(0, 2, ITEMS)
        scores[2] = rng.integers(0, 12, ITEMS)
        scores[3] = rng.permutation(ITEMS)
    return labels, scores.astype(np.float32), rng.random(labels.shape) > 0.1


# The results of the package: everything a formula can read of a place, for every item.


def label_2(items):
    return items.relevant(2)


def label_1(items):
    return items.relevant(1)


def grade(items):
    """Numbers of either sign, and not 0 for the label 0."""
    return 0.75 * items.labels - 0.5


def outlier(items):
    """Small numbers beside very large ones."""
    return jnp.where(items.labels >= 3, 1e7, items.labels + 0.125)


def one_hot(items):
    return items.columns["one_hot"]


def discount(ranks):
    return 1 / jnp.sqrt(ranks)


def numbers_of_place(place, which):
    """Packs the numbers of a place, all below 128, three to a float."""
    numbers = (place.above, place.tied, *place.counted_above, *place.counted_tied)
    first, second, third = numbers[3 * which - 3 : 3 * which]
    return first + 128 * second + 128**2 * third


def look(ranking, ks, limits=None):
    """Returns all numbers of the places of a ranking, and its first stops."""
    with_limits = (*ks, *(() if limits is None else (jnp.asarray(limits),)))

    def number(place, which):
        return (*place.counted_above, *place.counted_tied)[which - 1]

    def within(place, k, factor):
        return factor * place.within(k)

    def discounted(place, k):
        return place.sum(discount, k)

    of_items = functools.partial(ranking.expected_sum, one_hot)
    return {
        "place": of_items(numbers_of_place, (1, 2), counting=(label_2, label_1)),
        "sum": of_items(discounted, (*ks, *(() if limits is None else (limits,)))),
        "summed": of_items(number, (1, 2, 3, 4), counting=(grade, outlier)),
        "within": of_items(within, with_limits, per_list=(FACTORS,)),
        "first": ranking.expected_first(label_2, discount, with_limits[1:]),
    }


WHOLE = (7, None), LIMITS
CUT = ((1, 10),)


def program(rank, ks=WHOLE):
    """Compiles what a ranking of arrays tells of its places."""
    return jax.jit(lambda *arrays: look(rank(*arrays), *ks))


# The same by loops.


def groups_of(labels, scores, mask):
    """Returns the tie groups of the items that exist, the best first."""
    exists = [i for i in range(len(labels)) if mask[i] and labels[i] >= 0]
    exists.sort(key=lambda i: -scores[i])
    return [
        list(group) for _, group in itertools.groupby(exists, key=lambda i: scores[i])
    ]


def passing(tied, stops, ranks):
    """The probability that no user stops at the first `ranks` items of a group."""
    ranks = min(ranks, tied)
    return math.comb(tied - stops, ranks) / math.comb(tied, ranks)


def first_stop(groups, labels, k):
    """The mean of the discount at the first stop, and the probability of none by k."""
    above = 0
    for group in groups:
        stops = sum(labels[i] >= 2 for i in group)
        if stops:
            passed = functools.partial(passing, len(group), stops)
            ranks = range(1, min(len(group), k - above) + 1)
            chances = [
                (passed(j - 1) - passed(j)) / math.sqrt(above + j) for j in ranks
            ]
            return sum(chances), passed(max(len(ranks), 0))
        above += len(group)
    return 0.0, 1.0


def addends(label):
    """`grade` and `outlier` of an item with this label."""
    return 0.75 * label - 0.5, 1e7 if label >= 3 else label + 0.125


def loops(labels, scores, mask, ks, limits=None, cut=None):
    """Computes `look` item by item; items beyond a cut have no place."""
    lists, items = labels.shape
    number = len(ks) + (limits is not None)
    actual = {
        "place": np.zeros((lists, 6, items)),
        "summed": np.zeros((lists, 4, items)),
        "sum": np.zeros((lists, number, items)),
        "within": np.zeros((lists, number, items)),
        "first": (np.zeros((lists, number - 1)), np.zeros((lists, number - 1))),
    }
    for row in range(lists):
        groups = groups_of(labels[row], scores[row], mask[row])
        all_ks = [*ks, *(() if limits is None else (int(limits[row]),))]
        all_ks = [items if k is None else k for k in all_ks]
        above, counted, summed = 0, [0, 0], np.zeros(2)
        for group in groups:
            size, levels = len(group), labels[row, group]
            num_relevant = [(levels >= level).sum() for level in (2, 1)]
            numbers = np.array([addends(label) for label in levels]).sum(0)
            ranks = range(above + 1, above + size + 1)
            for i in group if cut is None or above < cut else ():
                actual["place"][row, :, i] = (above, size, *counted, *num_relevant)
                actual["summed"][row, :, i] = (*summed, *numbers)
                for column, k in enumerate(all_ks):
                    held = [1 / math.sqrt(rank) for rank in ranks if rank <= k]
                    actual["sum"][row, column, i] = sum(held)
                    actual["within"][row, column, i] = FACTORS[row] * len(held)
            above += len(group)
            counted = [x + y for x, y in zip(counted, num_relevant, strict=True)]
            summed = summed + numbers
        for column, k in enumerate(all_ks[1:]):
            for part, number in zip(
                actual["first"], first_stop(groups, labels[row], k), strict=True
            ):
                part[row, column] = number
    return actual


def check(actual, expected, only=None):
    """Asserts that places are equal and sums agree to 1e-6, of the items in `only`."""
    if only is not None:
        expected = expected | {
            name: np.where(only[:, None], expected[name], 0)
            for name in ("place", "summed", "sum", "within")
        }
    numbers = np.asarray(actual["place"]).astype(np.int64)[:, :, None]
    numbers = numbers // 128 ** np.arange(3)[:, None] % 128
    numbers = numbers.reshape(expected["place"].shape)
    np.testing.assert_array_equal(numbers, expected["place"])
    np.testing.assert_array_equal(actual["within"], expected["within"])
    # Sums of a group are as precise as if nothing larger stood above it.
    for name, limit in (("sum", 1e-6), ("summed", 2e-6)):
        np.testing.assert_allclose(actual[name], expected[name], limit, limit)
    for pair in zip(actual["first"], expected["first"], strict=True):
        np.testing.assert_allclose(*pair, rtol=0, atol=1e-6)


# The layouts.


def test_places_of_whole_rows(rng):
    """One program serves ties of two, of any number, and of all items of a list."""
    run = program(functools.partial(jrm.rank, columns=COLUMNS))
    for tied in (False, True):
        data = draw(rng, tied=tied)
        check(run(*data), loops(*data, *WHOLE))


def test_places_of_short_rows(rng):
    """With few ranks, all pairs of items are compared."""
    data = tuple(x[:, :11] for x in draw(rng, tied=True))
    rank = functools.partial(jrm.rank, columns={"one_hot": ONE_HOT[:, :11, :11]})
    check(program(rank)(*data), loops(*data, *WHOLE))


@pytest.mark.parametrize("cut", [10, *long(50)])
def test_places_across_a_cut(rng, cut):
    """The straddling group counts all items of the pool, with few ranks held and many.

    Items that were not retrieved are in no group, whatever their scores.
    """
    labels, scores, mask = draw(rng, tied=True)
    retrieved = rng.random(labels.shape) > 0.1
    rank = functools.partial(jrm.rank, k=cut, retrieved=retrieved, columns=COLUMNS)
    expected = loops(labels, scores, mask & retrieved, *CUT, cut=cut)
    check(program(rank, CUT)(labels, scores, mask), expected)


@pytest.mark.long
def test_places_of_packed_lists(rng):
    """Packed items may be shuffled, belong to no list, and tie across lists."""
    labels, scores, mask = draw(rng, tied=True)
    retrieved = rng.random(labels.shape) > 0.1
    labels[0], mask[0], retrieved[0] = np.abs(labels[0]), True, True
    scores[1] += scores[0, 0] - scores[1].max()
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS).reshape(LISTS, ITEMS)
    ids[:, 5] = -1
    order = rng.permutation(ids.size)
    flat = [x.reshape(-1)[order] for x in (labels, scores, mask)]
    how = {"retrieved": retrieved.reshape(-1)[order], "num_segments": LISTS}
    how["columns"] = {"one_hot": ONE_HOT.reshape(-1, ITEMS)[order]}

    def rank(labels, scores, mask, ids):
        return jrm.rank(labels, scores, mask, segment_ids=ids, **how)

    has_place = mask & retrieved & (ids >= 0)
    expected = loops(labels, scores, has_place, *WHOLE)
    check(program(rank)(*flat, ids.reshape(-1)[order]), expected)


def test_places_of_what_was_retrieved(rng):
    """Retrieved items have one rank each; gaps are closed."""
    labels, _, mask = draw(rng, tied=False)
    run = program(functools.partial(jrm.rank_retrieved, columns=COLUMNS))
    falling = np.broadcast_to(-np.arange(ITEMS), labels.shape)
    check(run(labels, mask), loops(labels, falling, mask, *WHOLE))


def test_places_by_counting(rng):
    """Counted places of listed items see all that tie; labels below 0 are not relevant."""
    _, scores, mask = draw(rng, tied=True)
    mask = np.broadcast_to(mask[0], mask.shape)
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant_labels = rng.integers(-1, 4, relevant.shape).astype(np.float32)
    labels, is_held = np.zeros((2, *scores.shape), np.float32)
    np.put_along_axis(labels, relevant, np.maximum(relevant_labels, 0), axis=-1)
    np.put_along_axis(is_held, relevant, relevant_labels >= 0, axis=-1)
    columns = {"one_hot": np.take_along_axis(ONE_HOT, relevant[..., None], axis=1)}

    def rank(scores, mask):
        how = {"item_mask": mask, "relevant_columns": columns}
        return jrm.rank_scores(scores, relevant, relevant_labels, **how)

    expected = loops(labels, scores, mask, *WHOLE)
    check(program(rank)(scores, mask[0]), expected, only=is_held > 0)


def test_places_among_listed_items_of_a_catalogue(rng):
    """A group across the cut holds unlisted items, which have the label 0."""
    cut, scores = 10, rng.integers(0, 6, (LISTS, ITEMS)).astype(np.float32)
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    listed = rng.integers(1, 4, relevant.shape).astype(np.float32)
    labels = np.zeros(scores.shape, np.float32)
    np.put_along_axis(labels, relevant, listed, axis=-1)

    def of_number(i, place, k):
        numbers = *place.counted_above, *place.counted_tied
        return place.within(k) / place.tied * numbers[i]

    @jax.jit
    def run(scores):
        ranking = jrm.rank_scores(scores, relevant, listed, k=cut)
        functions = [functools.partial(of_number, i) for i in range(4)]
        how = {"ks": (1, cut), "counting": (grade, outlier)}
        sums = [ranking.expected_sum(lambda x: x.labels, f, **how) for f in functions]
        return jnp.stack(sums)

    places = loops(labels, scores, labels >= 0, *CUT, cut=cut)
    above, tied = places["place"][:, 0], np.maximum(places["place"][:, 1], 1)
    for column, k in enumerate((1, cut)):
        chance = np.clip(k - above, 0, tied) / tied
        worth = labels * chance
        expected = (places["summed"] * worth[:, None]).sum(-1).T
        np.testing.assert_allclose(run(scores)[:, :, column], expected, rtol=2e-6)


@pytest.mark.long
def test_numbers_with_trailing_axes_are_summed_one_by_one(rng):
    """Each entry of a trailing axis is what the function without the axis gives."""
    labels, scores, mask = (x[:, :40] for x in draw(rng, tied=True))
    relevant = np.stack([rng.permutation(40)[:RELEVANT] for _ in range(LISTS)])
    listed = np.take_along_axis(np.abs(labels), relevant, -1) + 1

    def stacked(items):
        columns = [grade(items), items.relevant(2).astype(jnp.float32)]
        return jnp.stack(columns, -1)[..., None]

    def mean_above(place, k):
        (above,), (tied,) = place.counted_above, place.counted_tied
        return place.within(k) / place.tied * (above + tied / 2)

    def sums(ranking):
        return [
            ranking.expected_sum(label_1, mean_above, (7, None), counting=(fn,))
            for fn in (stacked, grade, label_2)
        ]

    @jax.jit
    def run(labels, scores, mask):
        flat = (x.reshape(-1) for x in (labels, scores, mask))
        ids = np.repeat(np.arange(LISTS, dtype=np.int32), 40)
        return [
            sums(jrm.rank(labels, scores, mask)),
            sums(jrm.rank(labels, scores, mask, ties="stable")),
            sums(jrm.rank(labels[:, :9], scores[:, :9], mask[:, :9])),
            sums(jrm.rank(*flat, segment_ids=ids, num_segments=LISTS)),
            sums(jrm.rank_scores(scores, relevant, listed)),
            sums(jrm.rank_scores(scores, relevant, listed, ties="stable")),
        ]

    for stacked_sums, grades, hits in run(labels, scores, mask):
        assert stacked_sums.shape == (LISTS, 2, 2, 1)
        expected = np.stack([grades, hits], axis=-1)[..., None]
        np.testing.assert_allclose(stacked_sums, expected, rtol=1e-5, atol=1e-5)
        assert np.ptp(stacked_sums) > 0


# Pairs of items.


@pytest.mark.long
def test_large_integer_labels_compare_as_integers(rng):
    """Labels that differ by 1 beyond 2²⁴ are in the order of small ones, on each layout."""
    small = rng.integers(1, 6, (LISTS, 20)).astype(np.int32)
    scores = rng.integers(0, 8, small.shape).astype(np.float32)
    mask = rng.random(small.shape) > 0.1
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), 20)
    slots = np.broadcast_to(np.arange(20), small.shape)

    @jax.jit
    def run(labels):
        flat = (x.reshape(-1) for x in (labels, scores, mask))
        rankings = {
            "rows": jrm.rank(labels, scores, mask),
            "definite": jrm.rank(labels, scores, mask, ties="stable"),
            "packed": jrm.rank(*flat, segment_ids=ids, num_segments=LISTS),
            "retrieved": jrm.rank_retrieved(labels, mask),
            "ids": jrm.rank_ids(slots, slots, labels),
        }
        rankings["few"] = jrm.rank_scores(scores, slots[:, :7], labels[:, :7])
        lists = {name: jrm.ordered_pair_accuracy.of(x) for name, x in rankings.items()}
        lists["tau"] = jrm.tau.of(rankings["rows"])
        lists["rho"] = jrm.rho.of(rankings["packed"])
        return {name: x.values for name, x in lists.items()}

    expected = run(small)
    for first, dtype in ((1_700_000_001, np.int32), (2**31 - 2, np.uint32)):
        labels = (small + np.int64(first - 1)).astype(dtype)
        for name, values in run(labels).items():
            np.testing.assert_array_equal(values, expected[name])
            assert np.ptp(values) > 0
    # Floats cannot tell these labels apart.
    labels = (small + 1_700_000_000).astype(np.float32)
    assert jrm.tau(labels, scores, mask).compute() == 0


@pytest.mark.parametrize("items", [1, 5, 32])
def test_bits_of_integers_give_what_pairs_give(rng, items):
    """Tie groups of a few items on CPU equal the groups of pairs, with all their sums."""
    keys = -np.sort(-rng.integers(-2, 3, (LISTS, items)).astype(np.int32), -1)
    keys[0], keys[1] = 0, -np.arange(items)
    exists = np.arange(items) < rng.integers(0, items + 1, (LISTS, 1))
    exists[:2] = True
    amounts = [x * exists for x in rng.integers(-1, 2, (2, LISTS, items))]
    amounts = [amounts[0] > 0, amounts[1].astype(np.int32), amounts[0] / np.float32(3)]

    @jax.jit
    def run(keys, exists, *amounts):
        place = tie_groups.of_pairs(keys, exists, amounts, jnp.float32)
        pairs = place.above, place.tied, place.counted_above, place.counted_tied
        return pairs, few_ranks_cpu.groups_of(keys, exists, amounts)

    pairs, bits = run(keys, exists, *amounts)
    for expected, actual in zip(*map(jax.tree.leaves, (pairs, bits)), strict=True):
        np.testing.assert_allclose(actual[exists], expected[exists], atol=1e-6)
        assert np.ptp(expected[exists]) > 0 or items == 1


def test_sums_over_a_few_ranks():
    """Sums of a table equal the sums of loops, for places that begin or end beyond it."""
    values = 1 / np.sqrt(np.arange(1, 10, dtype=np.float32))
    above, end = (x.reshape(-1) for x in np.indices((12, 12), np.int32))
    run = jax.jit(lambda above, end: few_ranks_cpu.sum_of_few(values, above, end))
    expected = [values[a:e].sum() for a, e in zip(above, end, strict=True)]
    np.testing.assert_allclose(run(above, end), expected, rtol=1e-6)


def test_unsigned_labels_compare_as_integers():
    """Labels from 2³¹ on are in order, and the label 0 does not mix with padding."""
    labels = np.array([[2**31 + 2, 9, 0, 2**31 + 1, 9, 0]] * 2, np.uint32)
    mask = labels != 9
    scores = np.tile(-np.arange(6, dtype=np.float32), (2, 1))

    @jax.jit
    def run():
        rankings = jrm.rank(labels, scores, mask), jrm.rank_retrieved(labels, mask)
        return [jrm.tau.of(ranking).values for ranking in rankings]

    # In the labels 3 1 2 1, four pairs are in order, and one is not.
    np.testing.assert_allclose(run(), 3 / math.sqrt(5 * 6), rtol=1e-6)


# Large groups.


def test_first_stops_of_huge_groups():
    """Products over 70,000 tied items do not drift."""
    items, k = 70_000, 17_500
    scores = np.zeros((1, items), np.float32)
    run = functools.partial(jrm.evaluate, (f"hr@{k},{2 * k}", f"mrr@{k}", "mrr"))
    for stops in (1, 2, 5):
        labels = np.zeros((1, items), np.float32)
        labels[0, :stops] = 1
        chance, reach = [], 1.0
        for j in range(items - stops + 1):
            chance.append(reach * stops / (items - j))
            reach *= (items - stops - j) / (items - j)
        weighed = np.array(chance) / np.arange(1, len(chance) + 1)
        actual = jrm.compute(run(labels, scores))
        # The probability that some stop is among the first n, by its complement.
        expected = [
            1 - math.prod((items - n - i) / (items - i) for i in range(stops))
            for n in (k, 2 * k)
        ]
        np.testing.assert_allclose(actual[f"hr@{k},{2 * k}"], expected, 0, 1e-6)
        sums = {f"mrr@{k}": weighed[:k].sum(), "mrr": weighed.sum()}
        for name, expected in sums.items():
            np.testing.assert_allclose(actual[name], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("table", [48, 64, 2**20])
def test_sums_beyond_the_table(monkeypatch, table):
    """Ranks beyond the table are added up in steps."""
    monkeypatch.setattr(places, "_TABLE", table)
    above = np.array([0, 0, 40, 47, 48, 49, 300, 999, 0], np.int32)
    tied = np.array([1, 1000, 30, 1, 1, 200, 700, 1, 48], np.int32)
    add = places.sum_of_many(above, tied, 1000, jnp.float32)
    limit = np.array([1, 500, 50, 47, 49, 60, 2, 1000, 9], np.int32)
    run = jax.jit(lambda limit: [add(discount, k) for k in (None, 45, 70, limit)])
    limit = jnp.asarray(limit)
    for actual, k in zip(run(limit), (None, 45, 70, limit), strict=True):
        ends = above + tied if k is None else np.minimum(above + tied, k)
        expected = [
            sum(1 / math.sqrt(rank) for rank in range(start + 1, end + 1))
            for start, end in zip(above, ends, strict=True)
        ]
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_sums_of_reciprocals_need_no_table():
    """Harmonic sums are exact to 3e-7 of a place's mean, at any depth and cutoff."""
    above = np.array([0, 0, 1, 7, 8, 9, 500, 10**6, 10**6], np.int32)
    tied = np.array([1, 9, 3, 2, 1, 10**6, 40, 1, 10**6], np.int32)
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, 2_000_001))])
    limit = np.array([1, 5, 2, 9, 8, 10**5, 520, 10**7, 1], np.int32)
    add = places.sum_of_many(above, tied, 2_000_000, jnp.float32)
    ks = (None, 5, 100, 700)
    run = jax.jit(lambda x: [add(jrm.reciprocal_discount, k) for k in (*ks, x)])
    for actual, k in zip(run(jnp.asarray(limit)), (*ks, limit), strict=True):
        ends = above + tied if k is None else np.minimum(above + tied, k)
        means = (harmonic[ends] - harmonic[np.minimum(above, ends)]) / tied
        np.testing.assert_allclose(np.asarray(actual) / tied, means, 3e-7, 3e-7)
    with jax.enable_x64(True):
        add = places.sum_of_many(above, tied, 2_000_000, jnp.float64)
        actual = add(jrm.reciprocal_discount, None)
    sums = harmonic[above + tied] - harmonic[above]
    np.testing.assert_allclose(actual, sums, rtol=1e-9)


def test_sums_over_millions_of_ranks():
    """Sums over millions of ranks are right beyond the table."""
    above, tied = np.array([[0, 1_000_000], [3_000_000, 500_000]], np.int32)
    add = places.sum_of_many(above, tied, 3_000_000, jnp.float32)
    (actual,) = jax.jit(lambda: (add(jrm.log2_discount, None),))()
    gains = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(2, 3_000_002)))])
    np.testing.assert_allclose(actual, gains[above + tied] - gains[above], rtol=1e-5)
