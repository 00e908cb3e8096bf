"""A state of resampled means: the Poisson bootstrap."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._arithmetic import ratio, widen
from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states import intervals, moments
from jax_rank_metrics._states.double_floats import FloatPair, canonical
from jax_rank_metrics._states.merging import check_leaves, in_order, leaves_of
from jax_rank_metrics._states.per_list import PerList, filled_values
from jax_rank_metrics._states.state import State
from jax_rank_metrics._types import Key, ListIds, Number, Undefined

# How many draws exist at once: 4 MiB of counts, as floats; and of how many resamples.
DRAWS, RESAMPLES = 2**20, 2**10

# P(n ≤ j) of a Poisson variable n of mean 1, in units of 2⁻³²: n is how many of these a
# uniform word reaches. There is no more than 12, which is less likely than 2⁻³².
_AT_MOST = np.cumsum([math.exp(-1) / math.factorial(j) for j in range(12)])
THRESHOLDS = np.round(_AT_MOST * 2.0**32).astype(np.uint32)


@pytree()
class Bootstrap(State):
    """A weighted mean over lists, and what it is in many resamples of them.

    In each resample a list counts n times, n being a Poisson variable of mean 1, which is
    nearly how often it is drawn when as many lists are drawn as there are. Unlike that,
    it is drawn for every list alone: from the key, the id of the list and the number of
    the resample. So sums over the lists of a batch merge with those of others, and a list
    has the same draws in every batch, on every host and for every metric and system.

    Merges, reduces and all_reduces as `Mean`. Merge states of one key, and count every
    list once. In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one.

    Shapes:
        sums: `[2, 1 + samples, *k]`, Σ n·weight and Σ n·weight·value; the first of the
            resamples is the lists themselves, n = 1.
        counts: `[2]` int32, `lists` and `undefined`.

    An interval of whatever is computed from several means, of two metrics or two systems,
    is made of the same computation on their replicates:

        np.percentile(b.replicates() / a.replicates(), (2.5, 97.5), axis=0)

    The bootstrap of a difference alone is shorter by `bootstrap(paired(a, b), ids)`.

    References:
        Hanley & MacGibbon, Creating non-parametric bootstrap samples using Poisson
        frequencies, 2006.
        Chamandy, Muralidharan, Najmi & Naidu, Estimating uncertainty for massive data
        streams, 2012.
    """

    sums: FloatPair
    counts: jax.Array
    _must_share = "the same cutoffs and samples"

    def compute(self) -> jax.Array:
        """The weighted mean of the lists as they are, `[*k]`; 0 where nothing counted."""
        return _means(canonical(self))[self._at(0)]

    def replicates(self) -> jax.Array:
        """The weighted mean of every resample, `[samples, *k]`.

        A resample that happens to be empty, as one of ten lists is once in 20,000 times,
        has the mean of the lists as they are.
        """
        return _means(canonical(self))[self._at(slice(1, None))]

    def std_error(self) -> jax.Array:
        """Standard deviation of the replicates, `[*k]`; inf for fewer than two lists."""
        return _std_error(self.replicates(), self.lists)

    def confidence_interval(self, level: Number = 0.95) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of a percentile interval, each `[*k]`.

        Everything for fewer than two lists. It takes some hundreds of samples at a level
        of 0.95, and more at a higher one: both ends are told by the few beyond them.

        Args:
            level: The probability that the interval should cover, in (0, 1).

        Raises:
            TypeError: if the level is no number, or is known only inside `jax.jit`.
            ValueError: if the level is not between 0 and 1.
        """
        level = intervals.checked_level(level)
        return _percentiles(self.replicates(), self.lists, level)

    def _at(self, samples: Any) -> tuple[Any, ...]:
        return (*(slice(None),) * len(self._stacked), samples)


def bootstrap(
    lists: Any,
    ids: ListIds,
    *,
    samples: int = 1000,
    key: Key | None = None,
    undefined: Undefined | None = None,
) -> Any:
    """Resampled means of per-list values, as a state that merges with others.

    For percentile intervals of means, and of differences, ratios and whatever else is
    made of several, over lists that are never in one place; see `Bootstrap`. Pure and
    jittable. It takes about 0.1 s for 10,000 lists and 1,000 samples on two cores, little
    more for more metrics, and some 10 MiB beside its result, however many lists there are.

    Args:
        lists: A `PerList`, or any pytree of them, as `measure` gives.
        ids: `[*lists]` integers, an id of each list that is its own and stays: a query
            id, say, or its number in the file. Ids of one value have one set of draws,
            whatever their dtype. Integers that do not fit int32 raise, unless
            `jax_enable_x64` is on: number the lists then.
        samples: How many resamples.
        key: A PRNG key, the same on every host and for every system that is compared;
            None is `jax.random.key(0)`.
        undefined: See `PerList.mean`.

    Returns:
        The same pytree, with a `Bootstrap` for each `PerList`.

    Raises:
        ValueError: if `ids` has another shape than the lists; if `samples` is below 1;
            if ids do not fit.
        TypeError: if a leaf is no `PerList`; if ids are no integers.

    References:
        Oza & Russell, Online bagging and boosting, AISTATS 2001.

    >>> lists = PerList(jnp.array([1.0, 0.0, 1.0, 1.0]), jnp.ones(4), jnp.ones(4, bool))
    >>> state = bootstrap(lists, jnp.arange(4))
    >>> low, high = state.confidence_interval(0.9)
    >>> f"{state.compute():.2f}", bool(low < 0.75 < high), state.replicates().shape
    ('0.75', True, (1000,))
    """
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    check_leaves(lists, PerList, "lists")
    seeds = seeds_of(key, _inputs.positive_integer("samples", samples))
    ids = _inputs.integers("ids", ids)
    ids = ids if ids.dtype.itemsize == 8 else ids.astype(jnp.int32)
    for one in leaves_of(lists):
        _inputs.same_shape("ids", ids, "lists.weights", jnp.shape(one.weights))
    leaves, tree = jax.tree.flatten(
        canonical(lists), is_leaf=lambda x: isinstance(x, PerList)
    )
    states = _bootstrap(leaves, ids, seeds, undefined)
    return in_order(lists, jax.tree.unflatten(tree, states))


@partial(jax.jit, static_argnums=3)
def _bootstrap(
    lists: list[PerList], ids: jax.Array, seeds: jax.Array, undefined: Undefined | None
) -> list[Bootstrap]:
    dtype = jax.dtypes.canonicalize_dtype(float)
    columns, counts = [], []
    for one in lists:
        value, weight, entered = moments.columns_of(
            filled_values(one, undefined), dtype
        )
        columns += [weight, weight * value]
        counts.append(jnp.sum(entered.reshape(2, -1), axis=-1, dtype=jnp.int32))
    values = lax.stop_gradient(jnp.concatenate(columns, -1))
    values = values.reshape(ids.size, values.shape[-1])
    sums = resampled(values, ids.ravel(), seeds)
    states, start = [], 0
    for one, count in zip(lists, counts, strict=True):
        k = one.values.shape[one.weights.ndim :]
        end = start + 2 * math.prod(k)

        def part(x: jax.Array, start: int = start, end: int = end, k: Any = k):
            x = x[:, start:end].reshape(-1, 2, *k)
            return jnp.moveaxis(x, 1, 0)

        states.append(Bootstrap(jax.tree.map(part, sums), count))
        start = end
    return states


def seeds_of(key: Key | None, samples: int) -> jax.Array:
    """Random words of a key, `[1 + samples]`: one for all lists, one for each resample."""
    key = random.key(0) if key is None else _inputs.prng_key(key)
    return random.bits(key, (1 + samples,), jnp.uint32)


def resampled(values: jax.Array, ids: jax.Array, seeds: jax.Array) -> FloatPair:
    """Σ n·values over lists, `[1 + samples, columns]`, of values `[lists, columns]`."""
    (lists, columns), samples = values.shape, len(seeds) - 1
    width = min(samples, RESAMPLES)
    size = max(min(DRAWS // width, lists), 1)
    blocks, chunks = -(-lists // size), -(-samples // width)
    # Padding has id 0 and sums of 0.
    rest = blocks * size - lists
    values = jnp.pad(values, ((0, rest), (0, 0))).reshape(blocks, size, columns)
    ids = jnp.pad(ids, (0, rest)).reshape(blocks, size)
    start = jnp.zeros((1 + width, columns), values.dtype)
    start = _mesh.match_varying(FloatPair.of(start), (values, ids))

    def resamples(of_each: jax.Array) -> FloatPair:
        def add(
            total: FloatPair, block: tuple[jax.Array, jax.Array]
        ) -> tuple[FloatPair, None]:
            values, ids = block
            n = _draws(ids, seeds[0], of_each).astype(values.dtype)
            n = jnp.concatenate([jnp.ones((size, 1), n.dtype), n], axis=-1)
            # Of few lists, so that plain sums lose nothing; blocks add in pairs.
            sums = jnp.matmul(n.T, values, precision=lax.Precision.HIGHEST)
            return total + FloatPair.of(sums), None

        return lax.scan(add, start, (values, ids))[0]

    of_each = jnp.pad(seeds[1:], (0, chunks * width - samples)).reshape(chunks, width)
    sums = lax.map(resamples, of_each)

    def joined(x: jax.Array) -> jax.Array:
        several = x[:, 1:].reshape(-1, columns)[:samples]
        return jnp.concatenate([x[0, :1], several])

    return jax.tree.map(joined, sums)


def _draws(ids: jax.Array, of_all: jax.Array, of_each: jax.Array) -> jax.Array:
    """Poisson variables of mean 1, `[lists, samples]` int32, each of its id alone."""
    words = mix(ids.astype(jnp.uint32) ^ of_all)
    if ids.dtype.itemsize == 8:  # the draws are those of 32 bits where the id fits them
        fits = ids == ids.astype(jnp.int32).astype(ids.dtype)
        words = jnp.where(fits, words, mix(words ^ (ids >> 32).astype(jnp.uint32)))
    words = mix(words[:, None] + of_each[None, :])
    reached = [(words >= limit).astype(jnp.int32) for limit in THRESHOLDS]
    return sum(reached, jnp.zeros_like(reached[0]))


@jax.jit
def _means(state: Bootstrap) -> jax.Array:
    axis = len(state._stacked)

    def at(place: int) -> jax.Array:
        return jnp.take(state.sums.round(), place, axis=axis)

    weight = at(0)
    means = ratio(at(1), weight)
    plain = jnp.take(means, jnp.array([0]), axis=axis)
    return jnp.where(weight > 0, means, jnp.broadcast_to(plain, means.shape))


@jax.jit
def _std_error(replicates: jax.Array, lists: jax.Array) -> jax.Array:
    error = jnp.std(replicates, axis=lists.ndim)
    return jnp.where(_several(lists, error), error, jnp.inf)


@jax.jit
def _percentiles(
    replicates: jax.Array, lists: jax.Array, level: Number
) -> tuple[jax.Array, jax.Array]:
    tails = jnp.asarray([(1 - level) / 2, (1 + level) / 2], replicates.dtype)
    low, high = jnp.quantile(replicates, tails, axis=lists.ndim)
    several = _several(lists, low)
    return jnp.where(several, low, -jnp.inf), jnp.where(several, high, jnp.inf)


def _several(lists: jax.Array, like: jax.Array) -> jax.Array:
    return jnp.broadcast_to(widen(lists > 1, like), like.shape)
