"""Prints how often 95 % intervals cover the mean: the table in docs/intervals.md.

    python scripts/coverage.py [SIMULATIONS]

For each kind of per-list values and each number of lists, it draws many data sets and
counts in how many of them the interval of each method holds the true mean.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random

import jax_rank_metrics as jrm

LISTS = (5, 10, 30, 100, 200, 500)
SAMPLES = 500
METHODS = ("auto", "normal", "bootstrap")


def mostly_zero(key, shape):
    """0 in 80 % of lists, and uniform in [0, 1] in the others."""
    is_zero, value = random.split(key)
    return ~random.bernoulli(is_zero, 0.8, shape) * random.uniform(value, shape)


def hits(share, key, shape):
    """1 in this share of lists, and 0 in the others."""
    return random.bernoulli(key, share, shape).astype(jnp.float32)


def rare_differences(key, shape):
    """The difference of two systems that disagree in 2 % of lists, where b wins 2 of 3."""
    differs, sign = random.split(key)
    signs = jnp.where(random.bernoulli(sign, 2 / 3, shape), 1.0, -1.0)
    return random.bernoulli(differs, 0.02, shape) * signs


def equal(key, shape):
    """Weights of 1."""
    del key
    return jnp.ones(shape)


def unequal(key, shape):
    """Weights that differ by orders of magnitude: lognormal, with σ = 2."""
    return jnp.exp(2 * random.normal(key, shape))


class Kind(NamedTuple):
    """How the values and weights of lists are drawn, and the mean of the values."""

    values: Callable[..., jax.Array]
    mean: float
    weights: Callable[..., jax.Array] = equal


KINDS = {
    "uniform": Kind(random.uniform, 0.5),
    "uniform, lognormal weights": Kind(random.uniform, 0.5, unequal),
    "exponential": Kind(random.exponential, 1.0),
    "80 % zeros, else uniform": Kind(mostly_zero, 0.1),
    "hits, 50 %": Kind(partial(hits, 0.5), 0.5),
    "hits, 95 %": Kind(partial(hits, 0.95), 0.95),
    "hits, 2 %": Kind(partial(hits, 0.02), 0.02),
    "differences, 2 % not 0": Kind(rare_differences, 0.02 / 3),
}


@partial(jax.jit, static_argnums=(0, 1, 3))
def coverage(kind, count, key, simulations):
    """The share of simulated data sets that each method covers, `[methods]`."""
    draw_values, mean, draw_weights = KINDS[kind]

    def covers(key):
        value_key, weight_key = random.split(key)
        values = draw_values(value_key, (count,))
        weights = draw_weights(weight_key, (count,))
        lists = jrm.PerList(values, weights, jnp.ones(count, bool))
        state = lists.mean()
        covered = []
        for method in METHODS:
            if method == "bootstrap":
                ids = jnp.arange(count)
                resampled = jrm.bootstrap(lists, ids, samples=SAMPLES, key=key)
                low, high = resampled.confidence_interval()
            else:
                low, high = state.confidence_interval(method=method)
            covered.append((low <= mean) & (mean <= high))
        return jnp.stack(covered)

    keys = random.split(key, simulations)
    return jnp.mean(jax.lax.map(covers, keys, batch_size=20), axis=0)


def main():
    """Prints the table as Markdown."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print("| values | method |", " | ".join(map(str, LISTS)), "|")
    print("|---" * 2 + "|--:" * len(LISTS) + "|")
    for kind in KINDS:
        columns = [coverage(kind, n, random.key(n), simulations) for n in LISTS]
        for index, method in enumerate(METHODS):
            numbers = [f"{100 * float(column[index]):.1f}" for column in columns]
            print(f"| {kind} | {method} |", " | ".join(numbers), "|", flush=True)


if __name__ == "__main__":
    main()
