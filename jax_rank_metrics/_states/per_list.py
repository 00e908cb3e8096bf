"""One value per list, before any mean is taken."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._states import mean as _mean
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.moments import ValuesOfLists
from jax_rank_metrics._states.pairs import canonical
from jax_rank_metrics._types import Undefined, pytree


@pytree()
class PerList:
    """A metric of every list.

    Shapes:
        values: `[*lists]`, or `[*lists, len(k)]` where k is a tuple; 0 where undefined.
        weights: `[*lists]`, what each list counts for in a mean; 0 for a list that does
            not count: one without items, or of a weight that is not above 0.
        defined: `[*lists]` bool, whether the metric has a value there.
    """

    values: jax.Array
    weights: jax.Array
    defined: jax.Array

    def mean(self, undefined: Undefined = "zero") -> Mean:
        """The weighted mean over all lists, as a state that merges with others.

        Args:
            undefined: What a list counts for where the metric is undefined: "zero",
                "one", or "skip", which leaves it out.

        Raises:
            ValueError: if `undefined` is none of these.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3),
        ...                 jnp.array([True, True, False]))
        >>> [f"{lists.mean(u).compute():.2f}" for u in ("zero", "one", "skip")]
        ['0.50', '0.83', '0.75']
        """
        _inputs.option("undefined", undefined, Undefined)
        return _mean_of(canonical(self), undefined)


def means_of(lists: Sequence[PerList], undefined: str) -> list[Mean]:
    """`PerList.mean` of several metrics of the same lists, without its checks."""
    return _mean.means_of([entering(one, undefined) for one in lists])


def entering(lists: PerList, undefined: str) -> ValuesOfLists:
    """What counts in a mean of these lists, and for how much."""
    values, defined = lists.values, lists.defined
    if undefined == "one":
        at = defined[..., None] if values.ndim > defined.ndim else defined
        values = jnp.where(at, values, jnp.ones_like(values))
    counts = defined if undefined == "skip" else None
    return ValuesOfLists(values, lists.weights, defined, counts)


@partial(jax.jit, static_argnums=1)
def _mean_of(lists: PerList, undefined: str) -> Mean:
    return means_of([lists], undefined)[0]
