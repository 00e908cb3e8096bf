"""Makes values of lists from the arrays that tests write down."""

import jax
import numpy as np

import jax_rank_metrics as jrm
from jax_rank_metrics._states.on_host import HostSums


def lists_of(values, weights=None, defined=None):
    """Makes a `PerList` from plain or traced arrays.

    Its arrays are of NumPy unless they are traced, so that nothing is compiled.
    """

    def cast(x, dtype):
        return x.astype(dtype) if isinstance(x, jax.Array) else np.asarray(x, dtype)

    values = cast(values, np.float32)
    size = values.shape[:1]
    weights = np.ones(size) if weights is None else weights
    defined = np.ones(size, bool) if defined is None else defined
    return jrm.PerList(values, cast(weights, np.float32), cast(defined, bool))


def state_of(values):
    """Makes the `Mean` of lists that weigh the same; it compiles nothing either."""
    return HostSums.of_lists(lists_of(values), jrm.Mean).state()


def evaluation_of(lists, states=None, users=None, undefined="zero"):
    """Makes the result of `evaluate_users` from values by metric; users count from 0.

    It compiles nothing.
    """
    users = (
        np.arange(len(next(iter(lists.values())).weights)) if users is None else users
    )
    shapes = jax.eval_shape(lambda: jrm.Exposure.empty(1, 1))
    return jrm.UserEvaluation(
        states=states or {},
        lists=lists,
        items=np.zeros((len(users), 1), np.int32),
        undefined=undefined,
        exposure=jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes),
        users=np.asarray(users),
    )
