"""The only place that sorts: scores in, items in rank order out.

Scores, and whatever breaks their ties, become *keys*: integer arrays that compare as the
items must be ranked, larger first. Two lowerings read them and give the same order:

- a full sort of the integers, with the items as payload;
- for a shallow cut, `lax.top_k`, which is fast for float32 alone. So a key can also be
  read as *digits*, float32 arrays that compare like the key when taken one after the
  other. The first digit nearly always decides; later ones are looked at only where items
  still tie across the cut.

`lax.top_k` must see device-local data: XLA gathers every score of a sharded operand.
Where the items of a list are cut over devices, or come block after block, each part is
ranked for itself, and then the candidates of all parts together.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from jax_rank_metrics import _devices, _sums
from jax_rank_metrics._inputs import GivenItems, ItemArrays
from jax_rank_metrics._types import pytree

T = TypeVar("T")
R = TypeVar("R")

# `lax.top_k` slows with depth; a sort is as good from this share of the list on.
TOP_K_SHARE = 0.25

# Long lists are searched by the maxima of blocks of this many items.
_BLOCK = 32

# Up to this length, lists are searched by one maximum after the other on CPU: a top-k
# there takes several times as long for an item of a short list as for one of a long one.
# Older versions of XLA find maxima item by item, which takes longer still.
_SHORT = 128 if jax.__version_info__ >= (0, 10) else 0

# From this many items on, a sort on CPU is worth sharing between cores. It is cut into more
# parts than there are cores, since XLA does not share them out evenly.
_MANY = 32_768
_SIDE_BY_SIDE = 16

# Whole numbers up to this one are counted rather than sorted.
_FEW = 16

# Policies under which index order is the last word on ties.
INDEX_ORDER = ("stable", "expected")

# Multiplier of a 32-bit mixer whose every step can be undone: positions never collide.
_MIX = 0x45D9F3B


class Key(NamedTuple):
    """One level of the ranking order, `[*lists, items]`, larger ranks first.

    `open_where` tells, of values of the first digit, where equal ones may still differ
    in later digits of this key.
    """

    integers: jax.Array
    digits: Callable[[], list[jax.Array]]
    open_where: Callable[[jax.Array], jax.Array]


class Order(NamedTuple):
    """Items in rank order.

    Shapes:
        items: `[*lists, depth]`.
        keys: `[*lists, depth]`, what ranked them.
        crosses: `[*lists]` bool, whether an item that has no rank may tie with the last
            one that has; None if that was not looked at.
    """

    items: ItemArrays
    keys: jax.Array
    crosses: jax.Array | None = None


class Candidates(NamedTuple):
    """Items on their way to a rank, each `[*lists, items]`.

    The best of some and the best of others hold the best of all, so that parts of a list
    can be ranked apart, and then their candidates together.
    """

    keys: jax.Array  # of the scores
    labels: jax.Array  # -1 where no item exists
    weights: jax.Array | None = None
    bits: jax.Array | None = None  # what breaks ties; None where `_best` can make it
    ids: jax.Array | None = None  # where known

    @classmethod
    def of(cls, keys: jax.Array, items: ItemArrays) -> "Candidates":
        """Every item of the lists."""
        return cls(keys, jnp.where(items.exists, items.labels, -1), items.weights)

    @property
    def exists(self) -> jax.Array:
        """Which items exist."""
        return self.labels >= 0

    def ordered(self, crosses: jax.Array | None = None) -> Order:
        """The same, known to be in rank order."""
        labels = jnp.where(self.exists, self.labels, jnp.zeros_like(self.labels))
        return Order(ItemArrays(labels, self.exists, self.weights), self.keys, crosses)

    def read(self) -> "Candidates":
        """Itself; see `Given`."""
        return self

    def at(self, indices: jax.Array) -> "Candidates":
        """Some of the items, by their places."""
        return jax.tree.map(lambda x: take(x, indices), self)


class Given(NamedTuple):
    """Items as they were passed, read where they are used; see `GivenItems`."""

    scores: jax.Array
    items: GivenItems
    bits: jax.Array | None = None  # as in `Candidates`

    def read(self) -> Candidates:
        """The same items, ready to be compared."""
        items = self.items.read()
        keys = score_key(lax.stop_gradient(self.scores), items.exists)
        return Candidates.of(keys, items)._replace(bits=self.bits)

    def at(self, indices: jax.Array) -> "Given":
        """Some of the items, by their places."""
        return jax.tree.map(lambda x: take(x, indices), self)


class Policy(NamedTuple):
    """How items are compared: by scores of a dtype, then by what breaks their ties."""

    ties: str | None
    dtype: jnp.dtype

    @property
    def by_index(self) -> bool:
        """Whether index order is the last word on ties."""
        return self.ties in INDEX_ORDER

    def levels(self, items: Candidates) -> list[Key]:
        """The keys of scores."""
        return _score_levels(items.keys, self.dtype, items.exists)

    def tie_breaks(self, items: Candidates, key: jax.Array | None) -> list[Key]:
        """The keys that part tied items."""
        if self.by_index:
            return []
        if self.ties in ("best", "worst"):
            values = (items.labels, items.weights)
            keys = [float_key(x) for x in values if x is not None]
            return [
                _integer_level(key if self.ties == "best" else ~key) for key in keys
            ]
        bits = self.bits(items.keys, key) if items.bits is None else items.bits
        assert bits is not None
        return [_integer_level(lax.bitcast_convert_type(bits, jnp.int32))]

    def bits(
        self, like: jax.Array, key: jax.Array | None, start: Any = 0
    ) -> jax.Array | None:
        """Random bits with a key, a hash of places without; None if neither is asked.

        Args:
            like: `[*lists, items]`, gives the shape.
            key: For the policy "random".
            start: The place in its list of the first item.
        """
        if self.ties == "random":
            assert key is not None
            return jax.random.bits(key, like.shape, jnp.uint32)
        if self.ties is None:
            place = lax.broadcasted_iota(jnp.uint32, like.shape, like.ndim - 1)
            return _mix(place + jnp.asarray(start).astype(jnp.uint32))
        return None


@pytree("hashed")
class Scored:
    """A block of items and their scores, read where they are used; see `GivenItems`.

    Shapes:
        scores: `[*lists, items]`, as they were computed.
        exists: The same shape, which items exist.
        labels: The same shape, or None where no comparison reads them.
        bits: As in `Candidates`, where they are random.
        first: `[]` int32, the id of the first item.
        ids: `[*lists, items]` int32; None where they count from `first`.
        hashed: Whether a hash of the ids breaks ties, static.
    """

    scores: jax.Array
    exists: jax.Array
    labels: jax.Array | None
    bits: jax.Array | None
    first: jax.Array
    ids: jax.Array | None
    hashed: bool

    def read(self) -> Candidates:
        """The same items, ready to be compared."""
        keys = score_key(self.scores, self.exists)
        labels = jnp.zeros((), jnp.float32) if self.labels is None else self.labels
        labels = jnp.where(self.exists, labels, jnp.asarray(-1, labels.dtype))
        ids = self.ids
        if ids is None:
            ids = self.first + lax.broadcasted_iota(
                jnp.int32, keys.shape, keys.ndim - 1
            )
        bits = _mix(ids.astype(jnp.uint32)) if self.hashed else self.bits
        return Candidates(keys, labels, bits=bits, ids=ids)

    def at(self, indices: jax.Array) -> "Scored":
        """Some of the items, by their places in the block."""
        parts = (self.scores, self.exists, self.labels, self.bits)
        scores, exists, labels, bits = jax.tree.map(lambda x: take(x, indices), parts)
        ids = self.first + indices
        return Scored(scores, exists, labels, bits, self.first, ids, self.hashed)


def outranked(
    items: Candidates, block: Candidates, policy: Policy
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Counts what a block holds around each of some items, `[*lists, items]` int32.

    The items of the block with better scores, those with equal ones, and of these the
    ones that rank before by whatever breaks ties.
    """
    equal = block.exists[..., None, :] & items.exists[..., :, None]
    no = jnp.zeros_like(equal)

    def look(by: Callable[[Candidates], list[Key]], equal: jax.Array):
        better = no
        for own, other in zip(by(items), by(block), strict=True):
            own, other = own.integers[..., :, None], other.integers[..., None, :]
            better = better | (equal & (other > own))
            equal = equal & (other == own)
        return better, equal

    better, equal = look(policy.levels, equal)
    earlier, same = look(lambda of: policy.tie_breaks(of, None), equal)
    assert items.ids is not None and block.ids is not None
    earlier = earlier | (same & (block.ids[..., None, :] < items.ids[..., :, None]))
    return count(better), count(equal), count(earlier)


def in_order(ranks: jax.Array, items: T) -> tuple[jax.Array, T]:
    """Ranks `[*lists, items]` in rising order, and what goes with them."""
    leaves, structure = jax.tree.flatten(items)
    ranks, *leaves = lax.sort((ranks, *leaves), num_keys=1)
    return ranks, jax.tree.unflatten(structure, leaves)


class Running(NamedTuple):
    """The best items of all that were seen so far, block after block.

    Shapes:
        best: `[*lists, depth]`, in rank order.
        tied: `[*lists]` int32, how many items seen so far tie with the last of them.
    """

    best: Candidates
    tied: jax.Array

    def extended(self, block: Scored, policy: Policy) -> "Running":
        """With the items of a further block."""
        depth = self.best.keys.shape[-1]
        # What scores less than the last of the best will not be among them.
        worth = block.read().keys >= self.best.keys[..., -1:]
        block = dataclasses.replace(block, exists=block.exists & worth)
        use_top_k, crosses = _top_k_pays(block.scores, depth), jnp.zeros((), bool)
        chosen = block
        if use_top_k:
            indices, crosses = _top_indices(block, policy, depth, None)
            chosen = block.at(indices)
        chosen = chosen.read()
        labels = chosen.labels.astype(self.best.labels.dtype)
        chosen = chosen._replace(labels=labels)
        every = jax.tree.map(
            lambda x, y: jnp.concatenate([x, y], axis=-1), self.best, chosen
        )
        best = _best(every, policy, depth, use_top_k).items
        tied = lax.cond(
            anywhere(crosses),
            lambda: _tied(block.read(), best),
            lambda: _tied(chosen, best),
        )
        return Running(best, self._tied_with(best) + tied)

    def over_devices(self, policy: Policy, axis_name: Any) -> "Running":
        """The best of what all devices saw."""
        every = jax.tree.map(lambda x: _devices.join(x, axis_name), self.best)
        best = _best(every, policy, self.best.keys.shape[-1]).items
        return Running(best, lax.psum(self._tied_with(best), axis_name))

    def _tied_with(self, best: Candidates) -> jax.Array:
        # What fell out tied with the last place of then, so it is counted while that key
        # stays the last one. Above it, nothing fell out.
        same = (self.best.keys[..., -1] == best.keys[..., -1]) & best.exists[..., -1]
        same = same & self.best.exists[..., -1]
        return jnp.where(same, self.tied, _tied(self.best, best))


def _tied(items: Candidates, best: Candidates) -> jax.Array:
    tied = (items.keys == best.keys[..., -1:]) & items.exists & best.exists[..., -1:]
    return count(tied)


def order(
    items: Given,
    ties: str | None,
    key: jax.Array | None,
    depth: int,
    axis_name: Any = None,
) -> Order:
    """The first `depth` ranks of every list.

    Items that do not exist come last.

    Args:
        items: Of every list.
        ties: As for `rank`; "expected" leaves tied items in index order. Two items tie
            where their keys are equal and both exist.
        key: For "random".
        depth: How many ranks.
        axis_name: Mesh axes over whose devices the items of every list are cut.
    """
    scores = items.scores
    policy = Policy(ties, scores.dtype)
    use_top_k, blocks = _top_k_pays(scores, depth), _blocks(scores, depth)

    def local(key: jax.Array | None, items: Given, axis_name: Any) -> _Chosen:
        if axis_name is None and blocks == 1:
            return _best(items, policy, depth, use_top_k, key)
        if axis_name is None:
            items = items._replace(bits=policy.bits(items.scores, key))
            chosen = _best(_split(items, blocks), policy, depth)
            return _best(_joined(chosen.items), policy, depth)
        part, here = lax.axis_index(axis_name), items.scores.shape[-1]
        if key is not None:
            key = jax.random.fold_in(key, part)
        items = items._replace(bits=policy.bits(items.scores, key, part * here))
        chosen = _best(items, policy, min(depth, here), use_top_k)
        every = jax.tree.map(lambda x: _devices.join(x, axis_name), chosen.items)
        return _best(every, policy, depth)

    ranked = _on_each_device(local, key, items, axis_name)
    return ranked.items.ordered(ranked.crosses)


def largest(
    x: jax.Array, exists: jax.Array, depth: int, axis_name: Any = None
) -> jax.Array:
    """The `depth` largest of non-negative floats in each list, descending, 0 where none."""
    x = jnp.where(exists, x, -1)
    use_top_k = x.dtype == jnp.float32 and _top_k_pays(x, depth)
    blocks = _blocks(x, depth)

    def local(_: Any, x: jax.Array, axis_name: Any) -> jax.Array:
        if axis_name is None and blocks == 1:
            return _largest(x, depth, use_top_k)
        if axis_name is None:
            return _largest(_joined(_largest(_split(x, blocks), depth)), depth)
        part = _largest(x, min(depth, x.shape[-1]), use_top_k)
        return _largest(_devices.join(part, axis_name), depth)

    return jnp.maximum(_on_each_device(local, None, x, axis_name), 0)


def order_segments(
    scores: jax.Array,
    items: ItemArrays,
    ids: jax.Array,
    starts: jax.Array,
    ties: str | None,
    key: jax.Array | None,
) -> tuple[Order, jax.Array]:
    """Every item of flat arrays, list after list and each in rank order.

    Args:
        scores: `[items]`.
        items: The same shape.
        ids: `[items]` int32, the list of every item; the number of lists where none.
        starts: `[lists + 1]` int32, where each begins once ids are in order.
        ties: As for `order`.
        key: As for `order`.

    Returns:
        The order, and the ids in it.
    """
    scores = lax.stop_gradient(scores)
    policy = Policy(ties, scores.dtype)
    flat = Candidates.of(score_key(scores, items.exists), items)
    if ties is None:
        bits = _mix(_place_in_list(ids).astype(jnp.uint32))
        keys = policy.tie_breaks(flat._replace(bits=bits), None)
    else:
        keys = policy.tie_breaks(flat, key)
    keys = [~level.integers for level in (*policy.levels(flat), *keys)]
    leaves, structure = jax.tree.flatten(flat)
    ids, *leaves = _sort(ids, keys, leaves, starts)
    return jax.tree.unflatten(structure, leaves).ordered(), ids


def largest_of_segments(x: jax.Array, exists: jax.Array, ids: jax.Array) -> jax.Array:
    """Non-negative floats `[items]` in descending order within each list of `ids`."""
    bits = _falling(jnp.where(exists, x, -1))
    return _risen(_sort_by((ids, bits), 2)[1], x.dtype)


def _place_in_list(ids: jax.Array) -> jax.Array:
    place = lax.iota(jnp.int32, ids.shape[0])
    ids, origin = lax.sort((ids, place), num_keys=2)
    first = jnp.concatenate([jnp.ones((1,), bool), ids[1:] != ids[:-1]])
    start = lax.cummax(jnp.where(first, place, 0))
    return lax.sort((origin, place - start), num_keys=1)[1]


def _largest(x: jax.Array, depth: int, use_top_k: bool = False) -> jax.Array:
    def by_top_k(x: jax.Array) -> jax.Array:
        return _top_k(x, depth)[0]

    def by_sort(x: jax.Array) -> jax.Array:
        # One integer operand is what every backend sorts best.
        return _risen(lax.sort(_falling(x), dimension=-1), x.dtype)[..., :depth]

    def by_counts(x: jax.Array) -> jax.Array:
        most = jnp.max(jnp.where(x == jnp.floor(x), x, jnp.inf), axis=-1, initial=0)
        counted = functools.partial(
            _counted, most=jnp.max(most, initial=0), depth=depth
        )
        return lax.cond(anywhere(most > _FEW), choose, counted, x)

    choose = by_top_k if use_top_k else by_sort
    if not _devices.has_whole(x) or (use_top_k and x.shape[-1] > _SHORT):
        return choose(x)
    return lax.platform_dependent(x, cpu=by_counts, default=choose)


def _counted(x: jax.Array, most: jax.Array, depth: int) -> jax.Array:
    """The `depth` largest of whole numbers up to `most`, descending, 0 for those below.

    The number at a rank is how many of 1, 2, … are reached by at least as many items.
    """
    first = x[..., :depth]
    rank = lax.broadcasted_iota(jnp.int32, first.shape, x.ndim - 1) + 1

    def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        number, sums = state
        reached = rank <= count(x >= number)[..., None]
        return number + 1, sums + reached.astype(x.dtype)

    # Zeros and one, typed as the numbers are, which may differ between devices.
    state = (jnp.minimum(most, 0) + 1, jnp.minimum(jnp.abs(first), 0))
    return lax.while_loop(lambda state: state[0] <= most, add, state)[1]


def _falling(x: jax.Array) -> jax.Array:
    # Integers that rise as non-negative floats fall; the greatest for all below 0.
    bits = lax.bitcast_convert_type(x, _sums.integer_like(x.dtype))
    return jnp.where(x < 0, -1, ~jnp.maximum(bits, 0))


def _risen(bits: jax.Array, dtype: jnp.dtype) -> jax.Array:
    return lax.bitcast_convert_type(~bits, dtype)


def score_key(scores: jax.Array, exists: jax.Array) -> jax.Array:
    """Integers that compare as scores rank: finite and ±inf, then NaN, then no item.

    Works on the bits of floats, because compilers fold `x + 0.0` and flush subnormals.
    Integer scores may share the least key with what does not exist; `_score_levels`
    tells these apart.
    """
    dtype = scores.dtype
    if dtype == jnp.bfloat16:
        bits = lax.bitcast_convert_type(scores, jnp.uint16).astype(jnp.uint32) << 16
        key = float_key(lax.bitcast_convert_type(bits, jnp.float32))
    elif jnp.issubdtype(dtype, jnp.floating):
        key = float_key(scores if dtype.itemsize >= 4 else scores.astype(jnp.float32))
    elif dtype in (jnp.uint32, jnp.uint64):
        signed = jnp.dtype(f"int{8 * dtype.itemsize}")
        key = lax.bitcast_convert_type(scores, signed) ^ jnp.iinfo(signed).min
    else:
        key = scores.astype(jnp.int64 if dtype == jnp.int64 else jnp.int32)
    return jnp.where(exists, key, jnp.iinfo(key.dtype).min)


def float_key(x: jax.Array) -> jax.Array:
    """Integers that compare like floats; −0.0 is 0.0 and NaN is below −inf."""
    integer = _sums.integer_like(x.dtype)
    info = jnp.iinfo(integer)
    bits = lax.bitcast_convert_type(x, integer)
    magnitude = bits & info.max
    infinity = (jnp.finfo(x.dtype).maxexp * 2 - 1) << jnp.finfo(x.dtype).nmant
    key = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude > infinity, info.min + 1, key)


def _score_levels(key: jax.Array, dtype: jnp.dtype, exists: jax.Array) -> list[Key]:
    if dtype.itemsize <= 2 and not jnp.issubdtype(dtype, jnp.floating):
        return [_short_level(key)]  # a masked -2^31 is exact too
    if jnp.issubdtype(dtype, jnp.floating):
        return [_float32_level(key) if dtype.itemsize <= 4 else _integer_level(key)]
    return [_integer_level(key), _short_level(exists.astype(jnp.int32))]


def _short_level(key: jax.Array) -> Key:
    return Key(key, lambda: [_float32(key)], lambda first: jnp.zeros_like(first, bool))


def _float32_level(key: jax.Array) -> Key:
    # No float lies below -inf, so NaN and what does not exist share its first digit; the
    # second, constant for all others, tells the three apart.
    least, infinity = jnp.iinfo(jnp.int32).min, 0x7F800000

    def digits() -> list[jax.Array]:
        clipped = jnp.maximum(key, -infinity)
        bits = jnp.where(clipped < 0, least - clipped, clipped)
        below = jnp.minimum(key, least + 2) - least
        return [lax.bitcast_convert_type(bits, jnp.float32), _float32(below)]

    return Key(key, digits, lambda first: first == -jnp.inf)


def _integer_level(key: jax.Array) -> Key:
    # 24 bits at a time are exact in float32; only the first digit keeps the sign.
    bits = 8 * key.dtype.itemsize

    def digits() -> list[jax.Array]:
        shifts = [*range(bits - 24, 0, -24), 0]
        return [_float32(key >> shifts[0])] + [
            _float32((key >> low) & ((1 << (high - low)) - 1))
            for high, low in zip(shifts, shifts[1:], strict=False)
        ]

    return Key(key, digits, lambda first: jnp.ones_like(first, bool))


def _mix(x: jax.Array) -> jax.Array:
    for _ in range(2):
        x = (x ^ (x >> 16)) * jnp.uint32(_MIX)
    return x ^ (x >> 16)


def _float32(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32)


def _same(x: jax.Array, y: jax.Array) -> jax.Array:
    # As bits: processors may flush subnormal floats before they compare them.
    bits = [lax.bitcast_convert_type(value, jnp.int32) for value in (x, y)]
    return bits[0] == bits[1]


def _top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """`lax.top_k` of what holds no NaN: the lowest of equal indices first."""
    if depth * _BLOCK * 8 > x.shape[-1]:
        return _plain_top_k(lax.optimization_barrier(x), depth)
    # The top items lie in the `depth` blocks of the largest maxima, or in what is too
    # short for a block: any other block has that many items before its own. With these
    # blocks in index order, and only they are looked into, the lowest index wins here too.
    head = x.shape[-1] // _BLOCK * _BLOCK
    cut = x[..., :head].reshape((*x.shape[:-1], head // _BLOCK, _BLOCK))
    _, blocks = _plain_top_k(jnp.max(cut, axis=-1), depth)
    blocks = lax.sort(blocks, dimension=-1)
    here = lax.broadcasted_iota(jnp.int32, (*blocks.shape, _BLOCK), x.ndim)
    inside = blocks[..., None] * _BLOCK + here
    rest = lax.broadcasted_iota(jnp.int32, x[..., head:].shape, x.ndim - 1) + head
    places = jnp.concatenate([_devices.flat(inside), rest], axis=-1)
    top, chosen = _plain_top_k(take(x, places), depth)
    return top, take(places, chosen)


def _plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    # XLA finds its top-k among sorts that are sliced. A slice of the result, moved into
    # that slice, would hide it, and the whole list would be sorted. One barrier each:
    # XLA's partitioner aborts where one takes both results of a top-k.
    top, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(top), lax.optimization_barrier(indices)


def _quick_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """`_top_k` where it is always looked at, and so worth more to compile."""
    default = functools.partial(_top_k, depth=depth)
    if x.shape[-1] > _SHORT:
        return default(x)
    cpu = functools.partial(_by_maxima, depth=depth)
    return lax.platform_dependent(x, cpu=cpu, default=default)


def _by_maxima(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """`_top_k` by one maximum after the other.

    An item's key and place are one whole number, as a float64: unlike maxima of integers,
    those of floats are found by vectors.
    """
    width = 1 << x.shape[-1].bit_length()  # a power of two, so that nothing is rounded
    with jax.enable_x64(True):
        place = lax.broadcasted_iota(jnp.float64, x.shape, x.ndim - 1)
        number = float_key(x).astype(jnp.float64) * width - place

        def step(above: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(number < above[..., None], number, -jnp.inf)
            best = jnp.max(below, axis=-1)
            return best, best

        above = _devices.varying_as(jnp.full(x.shape[:-1], jnp.inf), x)
        best = lax.scan(step, above, None, length=depth)[1]
        place = jnp.ceil(best / width) * width - best
        indices = jnp.moveaxis(place, 0, -1).astype(jnp.int32)
    return take(x, indices), indices


def count(x: jax.Array) -> jax.Array:
    """How many along the last axis, int32. Quicker in floats, which add up vectors."""
    if x.shape[-1] >= 2**24:
        return jnp.sum(x, axis=-1, dtype=jnp.int32)
    return jnp.sum(x.astype(jnp.float32), axis=-1).astype(jnp.int32)


def take(x: jax.Array, indices: jax.Array) -> jax.Array:
    """Items of the last axis by their places, which must be in bounds."""
    return jnp.take_along_axis(x, indices, axis=-1, mode="promise_in_bounds")


class _Chosen(NamedTuple):
    items: Candidates  # in rank order
    crosses: jax.Array | None  # as in `Order`


def _best(
    items: Candidates | Given | Scored,
    policy: Policy,
    depth: int,
    use_top_k: bool = False,
    key: jax.Array | None = None,
) -> _Chosen:
    """The first `depth` in rank order."""
    if use_top_k:
        indices, crosses = _top_indices(items, policy, depth, key)
        return _Chosen(items.at(indices).read(), crosses)
    every = items.read()
    levels = [*policy.levels(every), *policy.tie_breaks(every, key)]
    leaves, structure = jax.tree.flatten(every)
    leaves = _sort(None, [~level.integers for level in levels], leaves)
    ranked = jax.tree.unflatten(structure, leaves)
    return _Chosen(jax.tree.map(lambda x: x[..., :depth], ranked), None)


def _sort(
    ids: jax.Array | None,
    keys: list[jax.Array],
    payload: list[jax.Array],
    starts: jax.Array | None = None,
) -> list[jax.Array]:
    """Sorts lists by falling keys, stable; `payload[0]` is the complement of `keys[0]`.

    Ascending in ~key is descending in key, for the least integer too.
    """
    first = [] if ids is None else [ids]
    operands = (*first, *keys, *payload[1:])  # no need to carry the first key twice
    number = len(first) + len(keys)
    ranked = _sort_by(operands, number, starts)
    return [*ranked[: len(first)], ~ranked[len(first)], *ranked[number:]]


def _sort_by(
    operands: tuple[jax.Array, ...], number: int, starts: jax.Array | None = None
) -> tuple[jax.Array, ...]:
    """Stable sort of `operands` along the last axis by the first `number` of them.

    `starts` are those of `order_segments`, where the first is the ids.
    """

    def together(*operands: jax.Array) -> tuple[jax.Array, ...]:
        return lax.sort(operands, is_stable=True, num_keys=number)

    if any(key.dtype != jnp.int32 for key in operands[:number]):
        return together(*operands)
    on_cpu = _one_by_one(number)
    if number == len(operands) == 2:
        on_cpu = _as_one
    elif number == 2 and starts is not None:
        on_cpu = _in_segments(starts)
    return lax.platform_dependent(*operands, cpu=on_cpu, default=together)


def _as_one(first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A sort by two keys and of nothing else."""
    with jax.enable_x64(True):
        wide = (first.astype(jnp.int64) << 32) | _unsigned(second)
        wide = _sort_alone(wide, (first, second))
        return (wide >> 32).astype(jnp.int32), _signed(wide)


def _sort_alone(x: jax.Array, made_of: Sequence[jax.Array]) -> jax.Array:
    """A sort of one operand on CPU, of some lists beside others.

    XLA sorts all lists of an operand on one core.
    """
    known = all(isinstance(size, int) for size in x.shape)
    if not known or x.size < _MANY or not all(map(_devices.has_whole, made_of)):
        return lax.sort(x)
    flat = x.reshape(-1, x.shape[-1])
    parts = min(_SIDE_BY_SIDE, flat.shape[0])
    ends = [flat.shape[0] * part // parts for part in range(parts + 1)]
    ranked = [lax.sort(flat[a:b]) for a, b in itertools.pairwise(ends)]
    return jnp.concatenate(ranked).reshape(x.shape)


def _unsigned(key: jax.Array) -> jax.Array:
    # The same order from 0 on, as 64 bits.
    return key.astype(jnp.int64) - jnp.iinfo(jnp.int32).min


def _signed(wide: jax.Array) -> jax.Array:
    # The key again, from the low half.
    return ((wide & 0xFFFFFFFF) + jnp.iinfo(jnp.int32).min).astype(jnp.int32)


def _in_segments(starts: jax.Array) -> Callable[..., tuple[jax.Array, ...]]:
    """A sort by ids and one key.

    Where ids are in order as they come, as they mostly are, and no list is too long, all
    of it is one sort, and a quick one, since most of it has been done.
    """
    bits = 31 - starts.shape[0].bit_length()  # what is left for places

    def together(ids: jax.Array, key: jax.Array, *payload: jax.Array):
        start = jnp.take(starts, ids, mode="clip")
        with jax.enable_x64(True):
            place = lax.iota(jnp.int64, ids.shape[0]) - start.astype(jnp.int64)
            wide = (ids.astype(jnp.int64) << 32) | _unsigned(key)
            wide = lax.sort((wide << bits) | place)
            place = (wide & ((1 << bits) - 1)).astype(jnp.int32)
            key = _signed(wide >> bits)
        place = start + place
        return ids, key, *(take(x, place) for x in payload)

    def sort(ids: jax.Array, *operands: jax.Array) -> tuple[jax.Array, ...]:
        place = lax.iota(jnp.int32, ids.shape[0]) - jnp.take(starts, ids, mode="clip")
        other = (place < 0) | (place >> bits > 0)
        other = anywhere(other, ids[1:] < ids[:-1])
        return lax.cond(other, _one_by_one(2), together, ids, *operands)

    return sort if bits > 0 else _one_by_one(2)


def _one_by_one(number: int) -> Callable[..., tuple[jax.Array, ...]]:
    """A sort by one key after the other, the last first, each with places as payload.

    A key and a place are one 64-bit integer. Sorting a single operand is several times
    faster on CPU than sorting several, and stable for nothing.
    """

    def sort(*operands: jax.Array) -> tuple[jax.Array, ...]:
        shape, along = operands[0].shape, operands[0].ndim - 1
        place = order = lax.broadcasted_iota(jnp.int32, shape, along)
        first = operands[0]
        for key in reversed(operands[:number]):
            key = key if order is place else take(key, order)
            with jax.enable_x64(True):
                wide = (key.astype(jnp.int64) << 32) | place.astype(jnp.int64)
                wide = _sort_alone(wide, operands)
                moved = wide.astype(jnp.int32)
                first = (wide >> 32).astype(jnp.int32)  # in order, and read already
            order = moved if order is place else take(order, moved)
        return first, *(take(x, order) for x in operands[1:])

    return sort


def _top_indices(
    items: Candidates | Given | Scored,
    policy: Policy,
    depth: int,
    key: jax.Array | None,
) -> tuple[jax.Array, jax.Array]:
    """Indices of the first `depth` in rank order, and `Order.crosses`."""
    every = items.read()
    levels = policy.levels(every)
    first = levels[0].digits()[0]
    top, indices = _quick_top_k(first, min(depth + 1, first.shape[-1]))
    beyond, top, indices = top[..., depth:], top[..., :depth], indices[..., :depth]

    # `top_k` leaves equal digits in index order. Look further only where that may be
    # wrong: a later key differs, and the tie is not one of padding alone.
    here = items.at(indices).read().exists
    crosses = _crosses(items, levels[0], here, top[..., -1], beyond)
    repeats = _same(top[..., 1:], top[..., :-1]) & (here[..., 1:] | here[..., :-1])
    unsettled = (crosses, repeats)
    if policy.by_index:
        unsettled = (
            crosses & levels[0].open_where(top[..., -1]),
            repeats & levels[0].open_where(top[..., 1:]),
        )

    def settle() -> jax.Array:
        # All of it in here, so that it costs nothing where no tie asks for it.
        every = items.read()
        scores, breaks = policy.levels(every), policy.tie_breaks(every, key)
        chosen = _top_by_digits([*scores, *breaks], top, indices, unsettled[0])
        scores = policy.levels(items.at(chosen).read())
        keys = [level.integers for level in scores]
        keys += [take(level.integers, chosen) for level in breaks]
        return lax.sort((*[~key for key in keys], chosen), num_keys=len(keys) + 1)[-1]

    settled = lax.cond(anywhere(*unsettled), settle, lambda: indices)
    return settled, crosses


def _crosses(
    items: Candidates | Given | Scored,
    level: Key,
    here: jax.Array,
    last: jax.Array,
    beyond: jax.Array,
) -> jax.Array:
    """`Order.crosses`.

    Args:
        items: Of every list.
        level: The first key.
        here: `[*lists, depth]`, whether the chosen items exist.
        last: `[*lists]`, the first digit of the last of them.
        beyond: `[*lists, 0 or 1]`, that of the item after it.
    """
    tied, exists = jnp.any(_same(last[..., None], beyond), -1), here[..., -1]
    # Padding may stand before an item whose later digits put it above.
    unsure = tied & ~exists & level.open_where(last)
    left = lax.cond(
        anywhere(unsure),
        lambda: count(items.read().exists) > count(here),
        lambda: exists,
    )
    return tied & (exists | (unsure & left))


@jax.custom_batching.custom_vmap
def anywhere(*tied: jax.Array) -> jax.Array:
    """Whether anything holds: a scalar under `jax.vmap` too, of the whole batch.

    To choose by it between two ways to the same result. A choice for each element of a
    batch would take both ways for all.
    """
    # Floats, as for `count`.
    most = [jnp.max(x.astype(jnp.float32), initial=0) for x in tied]
    return jnp.stack(most).max() > 0


@anywhere.def_vmap
def _anywhere(
    size: int, batched: list[bool], *tied: jax.Array
) -> tuple[jax.Array, bool]:
    del size, batched
    return anywhere(*tied), False


class _Search(NamedTuple):
    """How far the top items of lists are known, each with a last axis."""

    chosen: jax.Array  # indices of the top items; settled are those before `filled`
    filled: jax.Array  # how many
    tied: jax.Array  # items among which the rest is
    open: jax.Array  # whether these are more than the places left for them
    first: jax.Array  # the first digit, of the present key, of the last place


def _top_by_digits(
    levels: list[Key], top: jax.Array, indices: jax.Array, crosses: jax.Array
) -> jax.Array:
    """Indices of the top items by all keys in turn, as a set.

    `top, indices` are `lax.top_k` of the first digit of the first key, and `crosses` is
    `Order.crosses`. Each further digit chooses among the items that tie with the last
    place so far, for the places they leave open, and is looked at only where it matters.
    """
    depth, items = top.shape[-1], levels[0].integers.shape[-1]
    if depth == items:
        return indices
    places = lax.broadcasted_iota(jnp.int32, (*top.shape[:-1], depth + 1), top.ndim - 1)

    def search(before: _Search, level: Key, number: int) -> _Search:
        digit = jnp.where(before.tied, level.digits()[number], -jnp.inf)
        top, indices = _top_k(digit, depth + 1)
        left = depth - before.filled
        moved = take(indices, jnp.maximum(places[..., :depth] - before.filled, 0))
        chosen = jnp.where(places[..., :depth] >= before.filled, moved, before.chosen)
        last, beyond = take(top, left - 1), take(top, left)
        above = ~_same(top, last) & (places < left)
        after = _Search(
            chosen,
            before.filled + count(above)[..., None],
            before.tied & _same(digit, last),
            _same(last, beyond),
            last if number == 0 else before.first,
        )
        # A list that is known already may have padding among its ties.
        return jax.tree.map(lambda x, y: jnp.where(before.open, x, y), after, before)

    last, first = top[..., -1:], levels[0].digits()[0]
    filled = count(~_same(top, last))[..., None]
    state = _Search(indices, filled, _same(first, last), crosses[..., None], last)
    for level in levels:
        for number in range(len(level.digits())):
            if level is levels[0] and number == 0:
                continue
            needed = state.open
            if number > 0:
                needed = needed & level.open_where(state.first)
            look = functools.partial(search, level=level, number=number)
            state = lax.cond(anywhere(needed), look, lambda state: state, state)
    return state.chosen


def _top_k_pays(x: jax.Array, depth: int) -> bool:
    return 0 < depth <= TOP_K_SHARE * x.shape[-1] and _devices.unseen(x) == 1


def _blocks(x: jax.Array, depth: int) -> int:
    """Into how many blocks to cut lists, so that each can be sorted where it is.

    XLA gathers every score of an axis that it sorts. Where items may be cut over
    devices, only candidates need to meet.
    """
    blocks = _devices.unseen(x)
    pays = depth * blocks <= TOP_K_SHARE * x.shape[-1] and x.shape[-1] % blocks == 0
    return blocks if pays else 1


def _split(items: T, blocks: int) -> T:

    def cut(x: jax.Array) -> jax.Array:
        return x.reshape((*x.shape[:-1], blocks, x.shape[-1] // blocks))

    return jax.tree.map(cut, items)


def _joined(items: T) -> T:
    return jax.tree.map(_devices.flat, items)


def _on_each_device(
    fn: Callable[[jax.Array | None, T, Any], R],
    key: jax.Array | None,
    arrays: T,
    axis_name: Any,
) -> R:
    """Calls `fn(key, arrays, axis_name)`, device by device where arrays are sharded.

    `arrays` is a pytree of arrays `[*lists, items]`. Where JAX types say that they are
    sharded, every device has its own part, and `axis_name` tells over which mesh axes
    items are cut, if they are. What `fn` returns must be equal over those.
    """
    sharding = jax.typeof(jax.tree.leaves(arrays)[0]).sharding
    *lists, items = (_names(entry) for entry in sharding.spec)
    over_lists = tuple(name for names in lists for name in names)
    if not over_lists and not items:
        return fn(key, arrays, axis_name)
    if axis_name is not None:
        raise ValueError(
            f"items_axis is {axis_name!r}, but the type of scores says already how they "
            "are sharded; leave items_axis out, or call inside jax.shard_map over it"
        )
    spec = PartitionSpec(*sharding.spec)
    arrays = jax.tree.map(lambda x: jax.sharding.reshard(x, sharding), arrays)

    def local(key: jax.Array | None, arrays: T) -> R:
        # Every device breaks the ties of its own lists.
        if key is not None and over_lists:
            key = jax.random.fold_in(key, lax.axis_index(over_lists))
        return fn(key, arrays, items or None)

    return jax.shard_map(
        local,
        mesh=sharding.mesh,
        in_specs=(PartitionSpec(), spec),
        out_specs=PartitionSpec(*sharding.spec[:-1]),
        axis_names={*over_lists, *items},
    )(key, arrays)


def _names(entry: Any) -> tuple[str, ...]:
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
