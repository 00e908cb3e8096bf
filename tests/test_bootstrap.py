"""The mergeable bootstrap: its draws, merging, and its intervals."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long
from per_lists import FEW, MANY, at, lists_of, mean_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import resample

KEY = jax.random.key(3)
SAMPLES = 20  # of most tests, which so share programs


# The draws of the ids -5, 0, 7 and 2³¹ − 1.
DRAWS = [
    [0, 1, 0, 2, 4, 1, 0, 1, 4, 0, 0, 0],
    [0, 0, 1, 0, 0, 1, 1, 3, 0, 0, 0, 1],
    [0, 0, 0, 1, 2, 0, 0, 1, 0, 2, 0, 0],
    [0, 1, 2, 1, 1, 0, 2, 0, 0, 1, 0, 1],
]


def boot(lists, ids, key=KEY):
    """Makes few resamples of the lists."""
    return jrm.bootstrap(lists, ids, samples=SAMPLES, key=key)


def draws(ids, samples):
    """Returns how often each list counts in each resample, `[lists, samples]`."""
    seeds = resample.seeds_of(KEY, samples)
    ids = np.asarray(ids, np.int32)
    return np.asarray(jax.jit(resample.poisson_draws)(ids, seeds[0], seeds[1:]))


def same(actual, expected):
    """Asserts that two states are equal to the precision of single floats."""
    chex.assert_trees_all_equal_shapes_and_dtypes(actual, expected)
    np.testing.assert_array_equal(actual.counts, expected.counts)
    chex.assert_trees_all_close(
        actual.sums.round(), expected.sums.round(), rtol=1e-6, atol=1e-6
    )


@pytest.mark.long
def test_draws_are_poisson():
    """Counts have the frequencies of a Poisson variable of mean 1, in every list."""
    n = draws(np.arange(1000), 1000)
    expected = np.exp(-1) / np.cumprod([1.0, 1, 2, 3, 4, 5, 6])
    result = np.bincount(n.ravel(), minlength=7)[:7] / n.size
    assert (abs(result - expected) < 5 * np.sqrt(expected / n.size)).all()
    assert abs(n.var() - 1) < 0.01 and n.max() <= 12
    neighbours = [np.corrcoef(n[i], n[i + 1])[0, 1] for i in range(200)]
    assert np.abs(neighbours).max() < 5 / np.sqrt(1000)


def test_replicates_by_hand(rng):
    """Replicates are Σ n·w·v / Σ n·w of the draws n, and errors are made of them."""
    values, weights = rng.random((MANY, 2)), rng.gamma(2, size=MANY)
    weights[3], ids = 0, np.arange(MANY) * 7 - 30
    state = boot(lists_of(values, weights), ids)
    n = draws(ids, SAMPLES)
    wn = n * weights[:, None]
    expected = (wn.T @ values) / wn.sum(0)[:, None]
    np.testing.assert_allclose(state.replicates(), expected, rtol=1e-5)
    plain = np.average(values, axis=0, weights=weights)
    np.testing.assert_allclose(state.compute(), plain, rtol=1e-6)
    assert state.lists == MANY - 1 and state.undefined == 0
    np.testing.assert_allclose(state.std_error(), expected.std(0), rtol=1e-4)
    result = state.confidence_interval(0.8)
    np.testing.assert_allclose(
        result, np.percentile(expected, (10, 90), axis=0), rtol=1e-5
    )


@pytest.mark.long
def test_blocks_of_lists(rng):
    """Lists and resamples may fill several blocks; the last block is padded."""
    samples, values = resample.RESAMPLES + 9, rng.random(1500)
    state = jrm.bootstrap(lists_of(values), jnp.arange(1500), samples=samples, key=KEY)
    n = draws(np.arange(1500), samples)
    np.testing.assert_allclose(state.replicates(), n.T @ values / n.sum(0), rtol=1e-6)
    np.testing.assert_allclose(state.compute(), values.mean(), rtol=1e-6)


def test_undefined_lists():
    """Undefined lists enter as in a `Mean`, as they or the call say, and are counted."""
    lists = lists_of(np.eye(1, MANY)[0], defined=np.arange(MANY) < 3)
    for of_values, of_call in (("skip", None), ("skip", "zero")):
        lists = dataclasses.replace(lists, undefined=of_values)
        options = {"samples": SAMPLES, "undefined": of_call}
        state = jrm.bootstrap(lists, jnp.arange(MANY), **options)
        plain = mean_of(dataclasses.replace(lists, undefined=of_call or of_values))
        np.testing.assert_allclose(state.compute(), plain.compute(), rtol=1e-6)
        np.testing.assert_array_equal(state.counts, plain.counts)


@pytest.mark.parametrize("kind", ["threefry2x32", *long("rbg")])
def test_any_cut_and_any_order(rng, kind):
    """Batches in any order merge into the state of all lists, with any kind of key."""
    key = jax.random.key(1, impl=kind)
    lists = lists_of(rng.random(MANY), rng.gamma(2, size=MANY))
    ids, order = rng.permutation(1000)[:MANY], rng.permutation(MANY)
    at_once = boot(lists, ids, key)
    first, second = (boot(at(lists, x), ids[x], key) for x in np.split(order, 2))
    same(jrm.merge(first, second), at_once)
    same(second.merge(first), at_once)
    chex.assert_trees_all_equal(first.merge(second), second.merge(first))


@pytest.mark.long
def test_metrics_share_draws(rng):
    """Draws are shared by the metrics of one call and of several, for any integer ids."""
    a, b = lists_of(rng.random(MANY)), lists_of(rng.random((MANY, 2)))
    ids = np.arange(MANY) - 20
    together = boot({"b": b, "a": a}, ids)
    assert list(together) == ["b", "a"]
    same(together["a"], boot(a, ids.astype(np.int8)))
    same(together["b"], boot(b, ids))
    with jax.enable_x64(True):
        wide = np.asarray(boot(a, ids.astype(np.int64)).replicates())
        far = np.asarray(boot(a, ids.astype(np.int64) + 2**40).replicates())
    np.testing.assert_allclose(wide, together["a"].replicates(), rtol=1e-5)
    assert not np.isclose(wide, far).any()
    rekeyed = boot(a, ids, jax.random.key(4))
    assert not np.isclose(rekeyed.replicates(), together["a"].replicates()).any()


def test_few_lists():
    """The mean of no list is 0, of one list its value; neither has an interval or NaN."""
    with jax.debug_nans(True):
        for number, weight, mean in ((0, 0, 0), (MANY, 0, 0), (MANY, 1, 0.5)):
            weights = weight * (np.arange(number) == 3)
            lists = lists_of(np.full(number, 0.5), weights)
            state = boot(lists, jnp.arange(number))
            assert state.compute() == mean and (state.replicates() == mean).all()
            assert state.std_error() == np.inf
            assert state.confidence_interval() == (-np.inf, np.inf)


def test_infinite_values():
    """An infinite mean has no interval, as in a `Mean`; NaN stays NaN."""
    for value, ends in ((np.inf, (-np.inf, np.inf)), (np.nan, (np.nan, np.nan))):
        lists = lists_of(np.where(np.arange(MANY) == 3, value, 0.5))
        state = boot(lists, jnp.arange(MANY))
        np.testing.assert_array_equal(state.confidence_interval(), ends)
        np.testing.assert_array_equal(state.std_error(), ends[1])


def test_ids_of_any_kind(rng):
    """Ids that are all equal warn; clusters share an id."""
    lists = lists_of(rng.random(MANY))
    with pytest.warns(UserWarning, match="ids are all 7: .* pass an id for each"):
        boot(lists, np.full(MANY, 7))
    # Lists with one id are drawn together, as clusters are.
    pairs = lists_of(np.repeat(rng.random(MANY // 2), 2))
    clusters = boot(pairs, np.arange(MANY) // 2)
    np.testing.assert_allclose(
        clusters.replicates(),
        boot(pairs[::2], np.arange(MANY // 2)).replicates(),
        rtol=1e-6,
    )


def test_draws_stay_as_they_are():
    """Draws are the same in every release, so that states that were saved still merge."""
    result = draws([-5, 0, 7, 2**31 - 1], 12)
    np.testing.assert_array_equal(result, DRAWS)
    seeds = resample.seeds_of(KEY, 12)
    pairs = jnp.asarray(jrm.hash_ids([-5, 0, 7, 2**31 - 1]))
    result = jax.jit(resample.poisson_draws)(pairs, seeds[0], seeds[1:])
    np.testing.assert_array_equal(result, DRAWS)
    # BLAKE2b of the bytes in UTF-8, the lower word first.
    words = [[-14850334, -357553956], [-174198443, 925841857]]
    assert jrm.hash_ids(["q7", "ü"]).tolist() == words
    assert jrm.hash_ids(np.array(["q7", "ü"])).tolist() == words
    assert jrm.hash_ids([b"q7", "ü".encode()]).tolist() == words
    grid = jrm.hash_ids(np.array([["q7"], ["ü"]], object))
    assert grid.tolist() == [[pair] for pair in words]


@pytest.mark.parametrize("x64", [False, *long(True)])
def test_ids_of_64_bits(x64):
    """Ids that differ in any of 64 bits have other draws, in any form and with any x64."""
    ids = [7, 7 + 2**32, 7 - 2**32, 2**63 + 7, 3_000_000_000, 3_000_000_000 - 2**32]
    ids += [2**31 - 1, -(2**31), "7", "q7"]
    numbers = np.array(ids[4:8])  # as int64
    lists = lists_of(np.eye(len(ids)))
    with jax.enable_x64(x64):
        state = boot(lists, ids)
        assert state.counts[0] == len(ids)
        # Each column is the share of one list, n / Σ n.
        shares = np.asarray(state.replicates()).T
        assert len(np.unique(shares, axis=0)) == len(ids)
        if not x64:
            traced = jax.jit(boot)(lists, jrm.hash_ids(ids))
            np.testing.assert_allclose(traced.replicates().T, shares, rtol=1e-6)
        few = lists_of(np.eye(FEW))
        expected = boot(few, numbers.tolist()).replicates()
        forms = [numbers, jrm.hash_ids(numbers), np.asarray(numbers, object)]
        if x64:
            forms += [jnp.asarray(numbers)]
        for form in forms:
            np.testing.assert_array_equal(boot(few, form).replicates(), expected)
        if x64:
            inside = jax.jit(boot)(few, jnp.asarray(numbers)).replicates()
            np.testing.assert_allclose(inside, expected, rtol=1e-6)
            # The same ids have the same draws as uint32 and as int64.
            small = np.array([7, 3_000_000_000, 4_294_967_295, 5], np.uint32)
            forms = small, small.astype(np.int64), jnp.asarray(small)
            replicates = [boot(few, form).replicates() for form in forms]
            np.testing.assert_array_equal(replicates[0], replicates[1])
            np.testing.assert_array_equal(replicates[0], replicates[2])
    with jax.enable_x64(True):
        wide = jnp.asarray(numbers)
    with jax.enable_x64(x64):  # an array of 64 bits outlives the option
        np.testing.assert_array_equal(boot(few, wide).replicates(), expected)
