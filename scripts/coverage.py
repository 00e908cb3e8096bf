"""Prints how often 95 % intervals cover the mean: the table in docs/intervals.md.

    python scripts/coverage.py [SIMULATIONS]

For each kind of per-list values and each number of lists, it draws many data sets, and
counts in how many of them the interval of each method holds the true mean.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
from jax import random

import jax_rank_metrics as jrm

LISTS = (5, 10, 20, 30, 50, 100, 200)
SAMPLES = 1000
METHODS = ("normal", "t", "wilson", "bootstrap")


def some(key, shape):
    """Nothing found in 80 % of lists, and anything from 0 to 1 in the others."""
    found, value = random.split(key)
    return random.bernoulli(found, 0.2, shape) * random.uniform(value, shape)


def hits(share, key, shape):
    """Values 0 or 1."""
    return random.bernoulli(key, share, shape).astype(jnp.float32)


# How values are drawn, their mean and their skewness.
KINDS = {
    "uniform": (random.uniform, 0.5, 0.0),
    "exponential": (random.exponential, 1.0, 2.0),
    "80 % zeros, else uniform": (some, 0.1, 2.37),
    "hits, 50 %": (partial(hits, 0.5), 0.5, 0.0),
    "hits, 90 %": (partial(hits, 0.9), 0.9, -2.67),
}


@partial(jax.jit, static_argnums=(0, 1, 3))
def coverage(kind, lists, key, simulations):
    """The share of simulated data sets that each method covers."""
    draw, mean, _ = KINDS[kind]
    of_hits = kind.startswith("hits")
    methods = [method for method in METHODS if method != "wilson" or of_hits]

    def covers(key):
        values = draw(key, (lists,))
        one = jrm.PerList(values, jnp.ones(lists), jnp.ones(lists, bool))
        state, found = one.mean(), []
        for method in methods:
            if method == "bootstrap":
                resampled = jrm.bootstrap(
                    one, jnp.arange(lists), samples=SAMPLES, key=key
                )
                low, high = resampled.confidence_interval()
            else:
                low, high = state.confidence_interval(method=method)
            found.append((low <= mean) & (mean <= high))
        return jnp.stack(found)

    found = jax.lax.map(covers, random.split(key, simulations), batch_size=20)
    return dict(zip(methods, jnp.mean(found, axis=0), strict=True))


def main():
    """Prints the table as Markdown."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print("| values | skewness | method |", " | ".join(map(str, LISTS)), "|")
    print("|---" * 3 + "|--:" * len(LISTS) + "|")
    for kind, (_, _, skewness) in KINDS.items():
        rows = [coverage(kind, n, random.key(n), simulations) for n in LISTS]
        for method in METHODS:
            if method not in rows[0]:
                continue
            numbers = [f"{100 * float(row[method]):.1f}" for row in rows]
            print(f"| {kind} | {skewness:.1f} | {method} |", " | ".join(numbers), "|")


if __name__ == "__main__":
    main()
