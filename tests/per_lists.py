"""Makes values of lists from the arrays that tests write down."""

import jax.numpy as jnp

import jax_rank_metrics as jrm


def lists_of(values, weights=None, defined=None):
    """Makes a `PerList` from plain arrays."""
    values = jnp.asarray(values, jnp.float32)
    lists = values.shape[0]
    weights = jnp.ones(lists) if weights is None else jnp.asarray(weights)
    defined = jnp.ones(lists, bool) if defined is None else jnp.asarray(defined)
    return jrm.PerList(values, weights.astype(jnp.float32), defined)
