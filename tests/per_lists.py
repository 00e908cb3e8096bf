"""Makes values of lists from the arrays that tests write down, or draws them.

Each number of lists compiles the programs of states anew, so tests of states draw `MANY`
lists, or write down a `FEW` and leave the rest without weight.
"""

import jax
import numpy as np
from late_imports import LateImport

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums

stats = LateImport("scipy.stats")

FEW, MANY = 4, 40


def lists_of(values, weights=None, defined=None, is_share=False):
    """Makes a `PerList` from plain or traced arrays.

    Its arrays are of NumPy unless they are traced, so that nothing is compiled.
    """

    def cast(x, dtype):
        return x.astype(dtype) if isinstance(x, jax.Array) else np.asarray(x, dtype)

    values = cast(values, np.float32)
    size = values.shape[:1]
    weights = np.ones(size) if weights is None else weights
    defined = np.ones(size, bool) if defined is None else defined
    arrays = values, cast(weights, np.float32), cast(defined, bool)
    return jrm.PerList(*arrays, is_share=is_share)


def padded(values, weights=None, defined=None, size=FEW):
    """Makes `size` lists; lists beyond the given values have no weight."""
    lists = lists_of(values, weights, defined)
    rest = size - len(lists.weights)
    return jax.tree.map(
        lambda x: np.pad(x, [(0, rest), *[(0, 0)] * (x.ndim - 1)]), lists
    )


def ratio(numerators, denominators):
    """Makes the `PerList` of a ratio."""
    return lists_of(numerators).over(lists_of(denominators))


def ratio_of(numerator, denominator):
    """Makes the `PerList` of a ratio of positive weights without a program."""
    values, weights = numerator / np.asarray(denominator), np.asarray(denominator)
    how = {"cutoff_weights": values.ndim > 1, "is_ratio": True}
    return jrm.PerList(values, weights, np.ones(values.shape, bool), **how)


def drawn(rng, shape=(), dtype=np.float32):
    """Draws `MANY` values in [0, 1]; some do not count, or are undefined and 0."""
    values = np.clip(rng.normal(0.5, 0.5, (MANY, *shape)), 0, 1)
    weights = rng.gamma(2, size=MANY) * (rng.random(MANY) < 0.8)
    defined = rng.random(MANY) < 0.8
    values = np.where(defined.reshape(-1, *(1,) * len(shape)), values, 0)
    return jrm.PerList(values.astype(dtype), weights.astype(dtype), defined)


def state_of(values, weights=None, is_share=False):
    """Makes the `Mean` of lists that are all defined; it compiles nothing either."""
    return mean_of(lists_of(values, weights, is_share=is_share))


def mean_of(lists):
    """Makes the `Mean` of lists on the host."""
    return HostSums.of_lists(lists, jrm.Mean).state()


def stacked(states):
    """Stacks states along a new axis."""
    return jax.tree.map(lambda *x: np.stack(x), *states)


def at(tree, index):
    """Selects some of the lists, or of stacked states."""
    return jax.tree.map(lambda x: x[index], tree)


def in_batches(tree, count):
    """Cuts lists into `count` batches of one size."""
    return jax.tree.map(lambda x: x.reshape(count, -1, *x.shape[1:]), tree)


def exact(values, weights, ids=None):
    """Returns a mean, its standard error and the effective number of lists, in float64.

    Lists of one id are a cluster. The error then equals statsmodels' `cov_type="cluster"`,
    but for the factor n/(n − 1): n is the effective number of clusters here and their
    number there.
    """
    values, weights = (np.asarray(x, np.float64) for x in (values, weights))
    ids = np.arange(len(values)) if ids is None else ids
    kept = weights > 0
    values, weights = values[kept], weights[kept]
    _, clusters = np.unique(np.asarray(ids)[kept], return_inverse=True)
    mean = weights @ values / weights.sum()
    scores = np.bincount(clusters, weights * (values - mean))
    n = weights.sum() ** 2 / (np.bincount(clusters, weights) ** 2).sum()
    return mean, np.sqrt((scores**2).sum() * n / (n - 1)) / weights.sum(), n


def measured(values, weights=None, gaps=(), undefined="zero"):
    """Makes the result of a driver from values, and weights, by id; gaps are undefined."""
    defined = [name not in gaps for name in values]
    weights = None if weights is None else [weights[name] for name in values]
    lists = lists_of(np.where(defined, [*values.values()], 0), weights, defined)
    return evaluation_of({"mrr": lists}, None, [*values], undefined)


def power_of(shift, freedom, sides=2):
    """Returns the power of a t test at 0.05 of a mean that is `shift` errors above 0."""
    limit = stats.t.isf(0.05 / sides, freedom)
    below = np.nan_to_num(stats.nct.cdf(-limit, freedom, shift)) if sides == 2 else 0
    return stats.nct.sf(limit, freedom, shift) + below


def evaluation_of(lists, states=None, users=None, undefined="zero"):
    """Makes the result of `evaluate_users` from values by metric, and compiles nothing."""
    users = (
        np.arange(len(next(iter(lists.values())).weights)) if users is None else users
    )
    return jrm.UserEvaluation(
        states=states or {},
        lists=lists,
        retrieved_ids=np.zeros((len(users), 1), np.int32),
        undefined=undefined,
        users=np.asarray(users),
        shown_rows=np.full((len(users), 1), -1, np.int32),
        num_items=1,
    )
