"""The only place that sorts: scores in, items in rank order out.

Scores, and whatever breaks their ties, become *keys*: integer arrays that compare as the
items must be ranked, larger first. Two lowerings read them and give the same order:

- a full sort of the integers, with the items as payload;
- for a shallow cut, `lax.top_k`, which is fast for float32 alone. So a key can also be
  read as *digits*, float32 arrays that compare like the key when taken one after the
  other. The first digit nearly always decides; later ones are looked at only where items
  still tie across the cut.

`lax.top_k` must see device-local data: XLA gathers every score of a sharded operand.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec

from jax_rank_metrics import _sums
from jax_rank_metrics._inputs import ItemArrays

# `lax.top_k` slows with depth; a sort is as good from this share of the list on.
TOP_K_SHARE = 0.25

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
    """Items in rank order, `[*lists, depth]`, and the keys that ranked them."""

    items: ItemArrays
    keys: jax.Array


def order(
    scores: jax.Array,
    items: ItemArrays,
    ties: str | None,
    key: jax.Array | None,
    depth: int,
) -> tuple[Order, jax.Array]:
    """The first `depth` ranks of every list, and the key of every item.

    `ties` as for `rank`; "expected" leaves tied items in index order. Items that do not
    exist come last. Two items tie where their keys are equal and both exist.
    """
    scores = lax.stop_gradient(scores)
    keys = score_key(scores, items.exists)
    payload = [jnp.where(items.exists, items.labels, -1)]
    if items.weights is not None:
        payload.append(items.weights)
    dtype, use_top_k = scores.dtype, _top_k_pays(keys.shape[-1], depth, keys)

    def local(random_key: jax.Array | None, keys: jax.Array, *payload: jax.Array):
        labels, exists = payload[0], payload[0] >= 0
        levels = _score_levels(keys, dtype, exists)

        def tie_breaks() -> list[Key]:
            return _tie_breaks(ties, labels, payload[1:], random_key)

        if use_top_k:
            final = ties in INDEX_ORDER
            return _by_top_k(levels, tie_breaks, final, exists, (keys, *payload), depth)
        return _by_sort([*levels, *tie_breaks()], (keys, *payload), depth)

    ranked_keys, labels, *weights = _on_each_device(local, key, keys, *payload)
    exists = labels >= 0
    labels = jnp.where(exists, labels, jnp.zeros_like(labels))
    ranked = ItemArrays(labels, exists, weights[0] if weights else None)
    return Order(ranked, ranked_keys), keys


def largest(x: jax.Array, exists: jax.Array, depth: int) -> jax.Array:
    """The `depth` largest of non-negative floats in each list, descending, 0 where none."""
    x = jnp.where(exists, x, -1)
    use_top_k = x.dtype == jnp.float32 and _top_k_pays(x.shape[-1], depth, x)

    def local(_: None, x: jax.Array):
        if use_top_k:
            return (_top_k(x, depth)[0],)
        # One integer operand is what every backend sorts best.
        bits = lax.bitcast_convert_type(x, _sums.integer_like(x.dtype))
        bits = ~lax.sort(jnp.where(x < 0, -1, ~jnp.maximum(bits, 0)), dimension=-1)
        return (lax.bitcast_convert_type(bits[..., :depth], x.dtype),)

    (x,) = _on_each_device(local, None, x)
    return jnp.maximum(x, 0)


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


def _tie_breaks(
    ties: str | None, labels: jax.Array, weights: Any, key: jax.Array | None
) -> list[Key]:
    if ties in INDEX_ORDER:
        return []
    if ties in ("best", "worst"):
        keys = [float_key(x) for x in (labels, *weights)]
        return [_integer_level(key if ties == "best" else ~key) for key in keys]
    if key is not None:
        bits = jax.random.bits(key, labels.shape, jnp.uint32)
    else:
        bits = _mix(lax.broadcasted_iota(jnp.uint32, labels.shape, labels.ndim - 1))
    return [_integer_level(lax.bitcast_convert_type(bits, jnp.int32))]


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
    # XLA finds its top-k among sorts that are sliced. A slice of the result, moved into
    # that slice, would hide it, and the whole list would be sorted. One barrier each:
    # XLA's partitioner aborts where one takes both results of a top-k.
    top, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(top), lax.optimization_barrier(indices)


def _take(x: jax.Array, indices: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, indices, axis=-1, mode="promise_in_bounds")


def _by_sort(
    levels: list[Key], payload: tuple[jax.Array, ...], depth: int
) -> tuple[jax.Array, ...]:
    # Ascending in ~key is descending in key, for the least integer too; and stable, so
    # that what no key tells apart stays in index order.
    keys = [~level.integers for level in levels]
    # The first key is also the first of the payload: no need to carry it twice.
    ranked = lax.sort((*keys, *payload[1:]), is_stable=True, num_keys=len(keys))
    ranked = (~ranked[0], *ranked[len(keys) :])
    return tuple(x[..., :depth] for x in ranked)


def _by_top_k(
    levels: list[Key],
    tie_breaks: Callable[[], list[Key]],
    final: bool,
    exists: jax.Array,
    payload: tuple[jax.Array, ...],
    depth: int,
) -> tuple[jax.Array, ...]:
    first = levels[0].digits()[0]
    top, indices = _top_k(first, depth)

    # `top_k` leaves equal digits in index order. Look further only where that may be
    # wrong: a later key differs, and the tie is not one of padding alone.
    tied = _same(first, top[..., -1:])
    crosses = jnp.sum(tied, -1) > jnp.sum(_same(top, top[..., -1:]), -1)
    crosses = crosses & jnp.any(tied & exists, -1)
    here = _take(exists, indices)
    repeats = _same(top[..., 1:], top[..., :-1]) & (here[..., 1:] | here[..., :-1])
    if final:
        crosses = crosses & levels[0].open_where(top[..., -1])
        repeats = repeats & levels[0].open_where(top[..., 1:])
    unsettled = jnp.any(crosses) | jnp.any(repeats)

    def settle() -> jax.Array:
        # Computed in here, so that it costs nothing where no tie asks for it.
        every = [*levels, *tie_breaks()]
        digits = [digit for level in every for digit in level.digits()]
        chosen = _top_by_digits(digits, top, indices)
        keys = [~_take(level.integers, chosen) for level in every]
        return lax.sort((*keys, chosen), num_keys=len(keys) + 1)[-1]

    indices = lax.cond(unsettled, settle, lambda: indices)
    return tuple(_take(x, indices) for x in payload)


def _top_by_digits(
    digits: list[jax.Array], top: jax.Array, indices: jax.Array
) -> jax.Array:
    """Indices of the top items by all digits in turn, as a set.

    `top, indices` are `lax.top_k` of the first digit. Each further digit chooses among
    the items that tie with the last place so far, for the places they leave open.
    """
    depth = top.shape[-1]
    places = lax.broadcasted_iota(jnp.int32, top.shape, top.ndim - 1)
    filled = jnp.zeros_like(indices[..., :1])
    chosen, tied = indices, jnp.ones_like(digits[0], bool)
    for number, digit in enumerate(digits):
        if number > 0:
            top, indices = _top_k(jnp.where(tied, digit, -jnp.inf), depth)
        moved = _take(indices, jnp.maximum(places - filled, 0))
        chosen = jnp.where(places >= filled, moved, chosen)
        last = _take(top, depth - 1 - filled)
        tied = tied & _same(digit, last)
        above = ~_same(top, last) & (places < depth - filled)
        filled = filled + jnp.sum(above, -1, keepdims=True, dtype=jnp.int32)
    return chosen


def _top_k_pays(items: int, depth: int, x: jax.Array) -> bool:
    mesh = jax.typeof(x).sharding.mesh
    partitioned = any(
        kind == AxisType.Auto and size > 1
        for kind, size in zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    )
    return depth <= TOP_K_SHARE * items and not partitioned


def _on_each_device(
    fn: Callable[..., tuple[jax.Array, ...]], key: jax.Array | None, *arrays: jax.Array
) -> tuple[jax.Array, ...]:
    """Calls `fn(key, *arrays)`, device by device where lists are sharded explicitly."""
    sharding = jax.typeof(arrays[0]).sharding
    names = [name for name in sharding.spec if name is not None]
    if not names:
        return fn(key, *arrays)
    if sharding.spec[-1] is not None:
        raise ValueError(
            f"scores: the items of a list are sharded over {sharding.spec[-1]!r}; "
            "reshard labels, scores, mask and weights so that only lists are sharded"
        )
    axes = tuple(
        n for name in names for n in (name if isinstance(name, tuple) else (name,))
    )
    spec = PartitionSpec(*sharding.spec)
    arrays = tuple(jax.sharding.reshard(x, sharding) for x in arrays)

    def local(*operands: jax.Array) -> tuple[jax.Array, ...]:
        if key is None:
            return fn(None, *operands)
        # Every device breaks the ties of its own lists.
        return fn(jax.random.fold_in(operands[0], lax.axis_index(axes)), *operands[1:])

    keys = () if key is None else (key,)
    return jax.shard_map(
        local,
        mesh=sharding.mesh,
        in_specs=(PartitionSpec(),) * len(keys) + (spec,) * len(arrays),
        out_specs=spec,
        axis_names=set(axes),
    )(*keys, *arrays)
