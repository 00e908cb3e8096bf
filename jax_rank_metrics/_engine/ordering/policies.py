"""Tie policies: what the order of items with equal scores means."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._ground import pytrees

# The number of bits of a hash that breaks ties, which a float32 holds exactly.
HASH_BITS = 22


@pytrees.pytree("name")
class Policy:
    """A tie policy, which answers every question about itself.

    Nothing else compares names of policies. How a *metric* reads ties is another matter;
    see `metric`.

    Attributes:
        name: As users pass it, after `resolve`. Sources without scores have "none" where
            nothing ties, and "tied" where the order within tie groups is unknown; that is
            also the policy of a call in which nothing reads this order.
        seeds: `[*lists, 2]` uint32, by which hashes differ between lists: random ones, or
            those of users; None where they do not, or where none are drawn yet.
    """

    name: str | None
    seeds: jax.Array | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether formulas are given tie groups instead of one definite order."""
        return self.name in (None, "expected", "tied")

    @property
    def forbids_order(self) -> bool:
        """Whether a metric that needs one definite order must raise."""
        return self.name in ("expected", "tied")

    @property
    def order_error(self) -> str:
        """The message for a metric that needs one definite order and has none."""
        reason, cure = "ties is 'expected'", "pass ties=None or another policy"
        if self.name == "tied":
            reason, cure = "tied is above 1", "break ties first, so that it is always 1"
        return (
            f"{reason}, but this metric has no closed form over the orders of tied items; "
            f"{cure}"
        )

    @property
    def reads_labels(self) -> bool:
        """Whether labels, and then weights, order tied items."""
        return self.name in ("best", "worst")

    @property
    def is_worst(self) -> bool:
        """Whether the lowest labels come first among tied items."""
        return self.name == "worst"

    @property
    def is_hashed(self) -> bool:
        """Whether tied items are ordered by a hash of their indices or ids."""
        return self.name in (None, "expected", "random")

    @property
    def hashes_own_index(self) -> bool:
        """Whether the hash that orders tied items is of their indices in their own list.

        That holds without a key: a list is then ordered in the same way wherever it
        stands in a packed array. With a key, the index in the array serves as well.
        """
        return self.name in (None, "expected")

    @property
    def keeps_index_order(self) -> bool:
        """Whether tied items stay in index order, as under "stable"."""
        return not self.reads_labels and not self.is_hashed

    def drawn(self, key: jax.Array | None, lists: tuple[int, ...]) -> "Policy":
        """Returns the policy with seeds of its own for every list, if it is random.

        Seeds that it has already stay.
        """
        if self.name != "random" or self.seeds is not None:
            return self
        assert key is not None
        return Policy(self.name, jax.random.bits(key, (*lists, 2), jnp.uint32))
