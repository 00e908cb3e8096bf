"""The options that all batches of an evaluation share."""

from typing import NamedTuple, cast

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls import names
from jax_rank_metrics._items import GROUPS
from jax_rank_metrics._metrics.run import check_columns
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._sources.attributes import LabelFn
from jax_rank_metrics._types import AxisNames, ItemGroups, Key, Ties


class Plan(NamedTuple):
    """The options that all batches share, static.

    Attributes:
        bounds: The metrics, with their options.
        k: How many items are returned for each query.
        block_size: How many items `rank_catalog` scores at a time.
        ties: The tie policy.
        label_fn: What is relevant by attributes, if that is not known by ids.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are cut.
        counts_all: Whether metrics with a cutoff read counted places too, and not the
            top-k, which has `k` ranks then.
        skips_inf: Whether an item with a score of −∞ has no rank.
        finds_inf: Whether it is told for each query if an item that has a rank, of items
            in one block, has a score of −∞.
    """

    bounds: tuple[Bound, ...]
    k: int
    block_size: int
    ties: Ties | None
    label_fn: LabelFn | None = None
    items_axis: AxisNames | None = None
    counts_all: bool = False
    skips_inf: bool = False
    finds_inf: bool = False

    @property
    def top_k_metrics(self) -> tuple[Bound, ...]:
        """The metrics of the first ranks, which read the top-k."""
        return tuple(x for x in self.bounds if not self.counts_all and x.depth)

    @property
    def whole_list_metrics(self) -> tuple[Bound, ...]:
        """The metrics for which places are counted, such as those of whole lists."""
        return tuple(x for x in self.bounds if self.counts_all or x.depth is None)

    @property
    def ties_of_places(self) -> Ties | None:
        """The tie policy for counted places, which orders no ties that nobody reads."""
        # An expected value counts tied items, and needs no hash of them.
        reads_order = any(x.tie_reading == "order" for x in self.whole_list_metrics)
        return "expected" if self.ties is None and not reads_order else self.ties

    @property
    def depth(self) -> int:
        """The number of ranks in the top-k: for the recommendations and the cutoffs."""
        depths = [bound.depth for bound in self.top_k_metrics]
        return max([self.k, *(depth for depth in depths if depth is not None)])


def read_groups(
    item_groups: ItemGroups | jax.Array | None,
    plan: Plan,
    num_items: int | None,
) -> jax.Array | None:
    """Checks the memberships of items in groups, and that a metric reads them if any does.

    Args:
        item_groups: `[num_items, groups]`, or None.
        plan: The plan; groups do not go with attributes.
        num_items: How many items there are; None if that is not known yet.
    """
    if item_groups is not None and plan.label_fn is not None:
        raise ValueError(
            "item_groups is given, and relevant is by attributes; pass the ids of relevant "
            "items beside item_groups"
        )
    groups = _inputs.item_groups(item_groups, None, num_items)
    if groups is not None:
        # NaN means unknown; infinite weights such as 1/0 are cut off where they are read.
        of_items = _inputs.by_items("item_groups", item_groups)
        lowest = np.nanmin(np.asarray(of_items), initial=0)
        if lowest < 0 or not groups.any():
            raise ValueError(
                f"item_groups holds {lowest if lowest < 0 else 'no number above 0'}; pass "
                "how much of each item belongs to each group, and 0 or nan where that is "
                "not known"
            )
    columns = () if groups is None else (GROUPS,)
    check_columns(plan.bounds, columns, allow_unread=True)
    if groups is not None and not any(GROUPS in x.spec.columns for x in plan.bounds):
        raise ValueError(
            "item_groups is given, but no metric of this call reads groups; leave it out"
        )
    return groups


def make_plan(
    metrics: names.Metrics,
    k: int | None,
    block_size: int | None,
    ties: Ties | None,
    key: Key | None,
    **flags: bool,
) -> tuple[Plan, jax.Array | None]:
    """Checks the options that all batches share; see `Plan`.

    Without `k`, as many items are returned as the deepest cutoff of a top-k needs.
    Without `block_size`, the caller chooses it once it knows how many items there are.

    Args:
        metrics: The argument.
        k: The argument.
        block_size: The argument.
        ties: The argument.
        key: The argument.
        **flags: Fields of the plan that the driver sets.

    Returns:
        The plan, and the key of random ties or None, which is no static argument.
    """
    bounds, (policy, key) = names.bind_all(metrics), resolve(ties, key)
    block_size = 1 if block_size is None else block_size
    block_size = _inputs.positive_integer("block_size", block_size)
    name = cast(Ties | None, policy.name)
    plan = Plan(bounds, 0, block_size, name, **flags)
    if k is None and not plan.top_k_metrics and not plan.counts_all:
        raise ValueError(
            "no metric has a cutoff that is a number of items; pass k, how many items to "
            "return"
        )
    # Metrics may need more ranks than are returned, and never fewer; see `Plan.depth`.
    k = plan.depth if k is None else _inputs.positive_integer("k", k)
    return plan._replace(k=k), key
