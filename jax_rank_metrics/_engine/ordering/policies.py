"""Tie policies, which say how items with equal scores are ordered, if at all."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._ground import pytrees

# The number of bits of a hash that breaks ties, which a float32 holds exactly.
HASH_BITS = 22


@pytrees.pytree("name")
class Policy:
    """A tie policy, and its properties.

    No other code compares names of policies. How a *metric* reads ties is another matter;
    see `metric`.

    Attributes:
        name: The name that users pass, after `resolve`. Sources without scores have "none"
            if nothing ties, and "tied" if the order within tie groups is unknown. "tied" is
            also the policy of a call in which nothing reads this order.
        seeds: `[*lists, 2]` uint32, which make hashes differ between lists: random seeds,
            or the seeds of users. None if hashes do not differ between lists, or if no
            seeds were drawn yet.
    """

    name: str | None
    seeds: jax.Array | None = None

    @property
    def is_grouped(self) -> bool:
        """True if formulas get tie groups instead of one definite order."""
        return self.name in (None, "expected", "tied")

    @property
    def forbids_order(self) -> bool:
        """True if a metric that needs one definite order must raise."""
        return self.name in ("expected", "tied")

    @property
    def order_error(self) -> str:
        """The error message for a metric that needs one definite order and has none."""
        reason, cure = "ties is 'expected'", "pass ties=None or another policy"
        if self.name == "tied":
            reason, cure = "tied is above 1", "break ties first, so that it is always 1"
        return (
            f"{reason}, but this metric has no closed form over the orders of tied items; "
            f"{cure}"
        )

    @property
    def reads_labels(self) -> bool:
        """True if labels, and then weights, order tied items."""
        return self.name in ("best", "worst")

    @property
    def is_worst(self) -> bool:
        """True if the lowest labels come first among tied items."""
        return self.name == "worst"

    @property
    def is_hashed(self) -> bool:
        """True if tied items are ordered by a hash of their indices or ids."""
        return self.name in (None, "expected", "random")

    @property
    def hashes_own_index(self) -> bool:
        """True if tied items are ordered by a hash of their indices in their own list.

        This is so for policies without a random key: a list then has the same order
        wherever it is in a packed array. With a key, the index in the array serves as well.
        """
        return self.name in (None, "expected")

    @property
    def keeps_index_order(self) -> bool:
        """True if tied items stay in index order, as under "stable"."""
        return not self.reads_labels and not self.is_hashed

    def drawn(self, key: jax.Array | None, lists: tuple[int, ...]) -> "Policy":
        """Returns the policy with new seeds for every list, if it is random.

        Seeds that the policy already has are kept.
        """
        if self.name != "random" or self.seeds is not None:
            return self
        assert key is not None
        return Policy(self.name, jax.random.bits(key, (*lists, 2), jnp.uint32))
