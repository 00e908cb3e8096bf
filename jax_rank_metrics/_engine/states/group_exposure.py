"""The state of exposure by group: how much each group of items got over all lists."""

from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics._ground import group_amounts, inputs, pytrees, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values import double_floats, per_list
from jax_rank_metrics._values.double_floats import FloatPair
from jax_rank_metrics._values.state import State

# The amounts that are summed for each group, in the order of `GroupExposure.sums`.
AMOUNTS = ("exposure", "size", "merit", "impact")


@pytrees.pytree()
class GroupExposure(State):
    """Exposure of groups of items over all lists, with their size and merit.

    The function `group_exposure` makes it. It merges, reduces and all_reduces as `Mean`
    does. If one list shows one group first, and a second list the other group, both lists
    together are fair: fairness is amortised over many lists, whereas the mean of a metric
    of single lists asks each list to be fair. Lists count by their weights.

    Methods that compare groups leave out groups without items, or without merit, and
    return 0 if fewer than two groups are left. States stacked by vmap, scan or pmap have
    the stacked axes before the axes shown here.

    Shapes:
        sums: `[4, groups]`, over lists, each times its weight: exposure, the attention that
            ranks 1..k give to the items of the group; size, their number; merit, the sum of
            their gains; impact, the sum of attention times gain.
        counts: `[2]` int32, the number of lists, and the number of lists whose items belong
            to no group.

    If a list has a NaN score or a gain that overflows, the sums are NaN, as are all numbers
    computed from them.

    >>> import jax_rank_metrics as jrm
    >>> columns = {"groups": jnp.array([[[1, 0], [0, 1]]] * 2)}
    >>> scores = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> ranking = jrm.rank(jnp.ones((2, 2)), scores, columns=columns)
    >>> jrm.group_exposure(ranking)  # each group is first once
    GroupExposure(awrf 1.000, 2 lists, 0 undefined)
    >>> f"{jrm.exposure_parity.of(ranking).mean().compute():.3f}"  # 1 − 1 / log2(3)
    '0.369'

    References:
        Biega, Gummadi and Weikum, Equity of attention: amortizing individual fairness in
        rankings, SIGIR 2018.
    """

    sums: FloatPair
    counts: jax.Array
    _must_share = "the same groups"
    _text = "awrf {}"

    @classmethod
    def empty(cls, num_groups: int) -> "GroupExposure":
        """Returns the state of no lists, the identity of merge."""
        num_groups = inputs.positive_integer("num_groups", num_groups)
        zeros = jnp.zeros((len(AMOUNTS), num_groups), float)
        return cls(FloatPair.of(zeros), jnp.zeros(2, jnp.int32))

    @classmethod
    def of(cls, lists: per_list.PerList) -> "GroupExposure":
        """Sums lists whose values are the amounts of all groups, one amount after another.

        Args:
            lists: Values `[*lists, 4·groups]`, in the order of `AMOUNTS`.
        """
        mean = lists.mean("zero")
        sums = jax.tree.map(lambda leaf: leaf.reshape(len(AMOUNTS), -1), mean.sum_wv)
        return cls(sums, mean.counts)

    def amounts(self) -> dict[str, jax.Array]:
        """Returns a dict from the names of the amounts to their sums, `[groups]` each."""
        return _amounts(double_floats.canonical(self))

    def compute(self) -> jax.Array:
        """`awrf` against the groups' shares of the items."""
        return self.awrf()

    def shares(self) -> jax.Array:
        """Each group's share of all exposure, `[groups]`; 0 if nothing was exposed.

        >>> GroupExposure(FloatPair.of(jnp.array([[3.0, 1.0]] * 4)),
        ...               jnp.array([1, 0])).shares().tolist()
        [0.75, 0.25]
        """
        return _shares(double_floats.canonical(self))

    def awrf(self, target: tuple[types.Number, ...] | None = None) -> jax.Array:
        """Attention-weighted rank fairness of all exposure; 0 if there is no exposure.

        Args:
            target: A share for each group; None is the groups' shares of the items.

        Raises:
            ValueError: if the target does not hold shares, one for each group.
        """
        if target is not None:
            num_groups = self.sums.high.shape[-1]
            target = inputs.group_shares("target", target, num_groups)
        return _awrf(double_floats.canonical(self), target)

    def parity(self, comparison: types.Comparison = "difference") -> jax.Array:
        """Compares the mean exposures of the items of groups; see `exposure_parity`.

        Raises:
            ValueError: if the comparison is neither "difference" nor "ratio".
        """
        inputs.option("comparison", comparison, types.Comparison)
        return _compared(double_floats.canonical(self), "exposure", "size", comparison)

    def treatment_ratio(self) -> jax.Array:
        """Exposure per merit, the worst group over the best one.

        See `disparate_treatment_ratio`.
        """
        return _compared(double_floats.canonical(self), "exposure", "merit", "ratio")

    def impact_ratio(self) -> jax.Array:
        """Impact per merit, the worst group over the best one.

        See `disparate_impact_ratio`.
        """
        return _compared(double_floats.canonical(self), "impact", "merit", "ratio")


def _amount(state: GroupExposure, name: str) -> jax.Array:
    return state.sums.round()[..., AMOUNTS.index(name), :]


def _where_known(state: GroupExposure, values: jax.Array) -> jax.Array:
    """Returns the values, with NaN for states that have a NaN among their sums."""
    unknown = jnp.any(jnp.isnan(state.sums.high), axis=(-2, -1))
    unknown = unknown.reshape(unknown.shape + (1,) * (values.ndim - unknown.ndim))
    return jnp.where(unknown, jnp.nan, values)


@jax.jit
def _amounts(state: GroupExposure) -> dict[str, jax.Array]:
    return {name: _amount(state, name) for name in AMOUNTS}


@jax.jit
def _shares(state: GroupExposure) -> jax.Array:
    return _where_known(state, group_amounts.shares(_amount(state, "exposure")))


@partial(jax.jit, static_argnums=1)
def _awrf(state: GroupExposure, target: tuple[float, ...] | None) -> jax.Array:
    exposed, targets = _amount(state, "exposure"), _amount(state, "size")
    if target is not None:
        targets = jnp.broadcast_to(jnp.asarray(target, targets.dtype), targets.shape)
    values = 1 - group_amounts.jensen_shannon(exposed, targets)
    return _where_known(state, jnp.where(jnp.sum(exposed, axis=-1) > 0, values, 0))


@partial(jax.jit, static_argnums=(1, 2, 3))
def _compared(
    state: GroupExposure, numerator: str, divisor: str, comparison: types.Comparison
) -> jax.Array:
    divisors = _amount(state, divisor)
    quotients = ratio(_amount(state, numerator), divisors)
    values = group_amounts.compared(quotients, divisors > 0, comparison)
    values = jnp.where(group_amounts.has_several(divisors > 0), values, 0)
    return _where_known(state, values)
