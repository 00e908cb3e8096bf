"""Groups of the items of a catalogue: every source has the numbers of rows with a column."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import oracle

import jax_rank_metrics as jrm
from jax_rank_metrics._formulas.groups import memberships

LISTS, ITEMS, GROUPS, RELEVANT, EXCLUDED = 6, 13, 3, 5, 6
KS = (1, 4, 9)


def label_times_groups(items):
    """The merit of items in their groups."""
    return items.labels[..., None] * memberships(items)


def draw(rng):
    """Draws tied scores, ids that are repeated, relevant and excluded, and fractions."""
    groups = rng.choice([0, 0, 1, 0.25, 1.5], (ITEMS, GROUPS)).astype(np.float32)
    groups[:, 2] = 0  # nobody's group
    groups[3, 0], groups[4, 1] = np.nan, -1  # read as 0
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant[0] = -1
    labels = rng.choice([0, 0.5, 1, 2], relevant.shape).astype(np.float32)
    labels[1] = 1
    exclude = rng.integers(-1, ITEMS, (LISTS, EXCLUDED))
    exclude[1] = relevant[1, 0]
    return {
        "scores": rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32),
        "groups": groups,
        "relevant": relevant.astype(np.int32),
        "labels": labels,
        "exclude": exclude.astype(np.int32),
        "item_mask": rng.random(ITEMS) < 0.85,
    }


def rows_of(data):
    """Returns labels and the mask `[lists, items]`, and the column of every list."""
    labels = np.zeros((LISTS, ITEMS), np.float32)
    mask = np.tile(data["item_mask"], (LISTS, 1))
    for row in range(LISTS):
        for i, label in zip(data["relevant"][row], data["labels"][row], strict=True):
            if i >= 0:
                labels[row, i] = label
        mask[row, data["exclude"][row][data["exclude"][row] >= 0]] = False
    groups = np.broadcast_to(data["groups"], (LISTS, ITEMS, GROUPS))
    return labels, mask, groups


@functools.partial(jax.jit, static_argnums=1)
def read(ranking, ks=KS):
    """Returns totals of groups over ranks and over the pool."""
    place_fn = jrm.positions(jrm.log2_discount)
    recalls = [jrm.group_recall.of(ranking, k=ks, group=g) for g in range(GROUPS)]
    return {
        "exposure": ranking.expected_sum(memberships, place_fn, ks),
        "merit": ranking.expected_sum(label_times_groups, place_fn, ks),
        "pool": ranking.pool_sum(memberships),
        "pool merit": ranking.pool_sum(label_times_groups),
        "recall": jnp.stack([lists.values for lists in recalls], -1),
        "defined": jnp.stack([lists.defined for lists in recalls], -1),
    }


def assert_same(actual, expected, names=None):
    """Asserts equal totals."""
    for name in names or expected:
        np.testing.assert_allclose(
            actual[name], expected[name], rtol=2e-6, atol=2e-6, err_msg=name
        )


def catalog(data, **how):
    """Ranks the catalogue in blocks that end inside of tie groups."""
    options = {
        "relevant_labels": data["labels"],
        "exclude_ids": data["exclude"],
        "item_mask": data["item_mask"],
        "item_groups": data["groups"],
    }
    items = np.arange(ITEMS)[:, None]
    return jrm.rank_catalog(
        data["scores"], items, data["relevant"], score_fn=of_items, **options | how
    )


def of_items(scores, items):
    """Looks up the scores of a block."""
    return scores[..., items[:, 0]]


def loops(data):
    """Returns the totals by loops over one list and all orders of tied items."""
    labels, mask, groups = rows_of(data)
    groups = np.where(groups > 0, groups, 0).astype(float)
    totals = {name: [] for name in ("exposure", "pool", "recall", "defined")}
    for row in range(LISTS):
        pool = oracle.existing(labels[row], mask[row])
        orders = list(oracle.all_orders(oracle.tie_groups(pool, data["scores"][row])))
        relevant = [i for i in pool if labels[row, i] >= 1]
        of_group = groups[row][relevant].sum(0)
        exposure, recall = np.zeros((len(KS), GROUPS)), np.zeros((len(KS), GROUPS))
        for order in orders:
            for at, k in enumerate(KS):
                for rank, i in enumerate(order[:k], 1):
                    exposure[at] += oracle.log2(rank) * groups[row, i] / len(orders)
                    recall[at] += (i in relevant) * groups[row, i] / len(orders)
        totals["exposure"].append(exposure)
        totals["pool"].append(groups[row][pool].sum(0))
        totals["recall"].append(recall / np.where(of_group > 0, of_group, 1))
        totals["defined"].append((of_group > 0) & bool(pool))
    return totals


def test_rows_and_blocks(rng):
    """Rows against loops over orders; a streamed catalogue against rows."""
    data = draw(rng)
    labels, mask, groups = rows_of(data)
    rows = read(jrm.rank(labels, data["scores"], mask, columns={"groups": groups}))
    assert_same(rows, loops(data), ("exposure", "pool", "recall", "defined"))
    assert_same(read(catalog(data, k=9, block_size=4)), rows)
    # Counted places tell what relevant items are worth.
    counted = read_merit(catalog(data, k=None, block_size=4))
    assert_same(counted, rows, counted)


@jax.jit
def read_merit(ranking):
    """Returns what of `read` is worth 0 for items with the label 0."""
    place_fn = jrm.positions(jrm.log2_discount)
    recalls = [jrm.group_recall.of(ranking, k=KS, group=g) for g in range(GROUPS)]
    return {
        "merit": ranking.expected_sum(label_times_groups, place_fn, KS),
        "pool": ranking.pool_sum(memberships),
        "recall": jnp.stack([lists.values for lists in recalls], -1),
    }
