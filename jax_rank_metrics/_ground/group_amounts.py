"""Measures of how unequal groups are, from the amounts `[…, groups]` that groups got.

Amounts are not negative. The fairness metrics of single lists and the state of all lists
share these functions.
"""

import jax
import jax.numpy as jnp

from jax_rank_metrics._ground import arithmetic, types
from jax_rank_metrics._ground.arithmetic import ratio


def shares(amounts: jax.Array) -> jax.Array:
    """Divides amounts by their total; if the total is 0, all shares are 0.

    >>> shares(jnp.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    return ratio(amounts, arithmetic.total(amounts)[..., None])


def jensen_shannon(amounts: jax.Array, target: jax.Array) -> jax.Array:
    """Jensen–Shannon divergence of the shares in two totals, from 0 to ln 2, `[…]`.

    It is half the sum of the Kullback–Leibler divergences of both distributions from their
    mean, in nats; its root is a distance. Amounts are divided by their totals first.

    >>> f"{jensen_shannon(jnp.array([3.0, 0.0]), jnp.array([0.0, 5.0])):.4f}"  # ln 2
    '0.6931'
    """
    p, q = shares(amounts), shares(target)
    middle = (p + q) / 2
    return (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2


def _relative_entropy(p: jax.Array, q: jax.Array) -> jax.Array:
    """Returns Σ p·ln(p/q); q must be above 0 wherever p is, and have the total of p."""
    # Because the totals are equal, the terms may be p·ln(p/q) − p + q. No such term is
    # negative, so nothing cancels if p and q are close.
    quotient = jnp.where(p > 0, p, 1) / jnp.where(q > 0, q, 1)
    terms = p * jnp.log(jnp.where(p > 0, quotient, 1)) - (p - q)
    return arithmetic.total(jnp.maximum(terms, 0))


def compared(
    amounts: jax.Array, is_present: jax.Array, comparison: types.Comparison
) -> jax.Array:
    """Compares the largest amount of a group with the smallest, `[…]`.

    Args:
        amounts: `[…, groups]`.
        is_present: Bool, True for groups that exist; broadcasts with the amounts.
        comparison: "difference", the largest minus the smallest; "ratio", the smallest over
            the largest, 0 if all amounts are 0.

    >>> present = jnp.array([True, True, False])
    >>> [f"{compared(jnp.array([4.0, 1.0, 0.0]), present, by):.2f}"
    ...  for by in ("difference", "ratio")]
    ['3.00', '0.25']
    """
    largest = jnp.max(jnp.where(is_present, amounts, 0), axis=-1)
    smallest = jnp.min(jnp.where(is_present, amounts, largest[..., None]), axis=-1)
    if comparison == "difference":
        return largest - smallest
    return ratio(smallest, largest)


def has_several(is_present: jax.Array) -> jax.Array:
    """Returns True where at least two groups exist, bool `[…]`."""
    return jnp.sum(is_present, axis=-1, dtype=jnp.int32) >= 2
