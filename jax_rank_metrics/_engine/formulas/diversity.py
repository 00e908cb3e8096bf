"""Diversity: how different the items of a list are from each other."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas.label_fns import item_exists
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Items, Ranking
from jax_rank_metrics._ground import arithmetic
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.types import Cut, Cutoffs
from jax_rank_metrics._values import per_list

_EMBEDDINGS = "embeddings"


def _unit_vectors(embeddings: jax.Array) -> jax.Array:
    """Returns vectors of length 1, with their squared lengths as one more feature.

    A vector of zeros stays unchanged, so its squared length is 0. Squared lengths contain
    the rounding errors of the vectors.
    """
    if embeddings.ndim != 2:
        raise ValueError(
            f"{_EMBEDDINGS!r} has shape {embeddings.shape}; pass an array [num_items, "
            "features]"
        )
    # Divide by the largest entry first, so that no square overflows.
    largest = jnp.max(jnp.abs(embeddings), axis=-1, keepdims=True)
    vectors = ratio(embeddings, largest)
    lengths = jnp.sqrt(jnp.sum(vectors * vectors, axis=-1, keepdims=True))
    units = ratio(vectors, lengths)
    squared_lengths = jnp.sum(units * units, axis=-1, keepdims=True)
    return jnp.concatenate([units, squared_lengths], axis=-1)


@metric(item_columns={_EMBEDDINGS: _unit_vectors}, reads_labels=False)
def intra_list_diversity(ranking: Ranking, *, k: Cutoffs = None) -> per_list.PerList:
    """Intra-list diversity: 1 − the mean cosine of all pairs of the first k items.

    It is 0 if all embeddings point the same way, 1 if they are orthogonal, and at most
    n/(n − 1) for n items. Work and memory grow with ranks·features, not with the number
    of pairs.

    Undefined (fewer than two items): 0. Reads the item column `embeddings`, `[num_items,
    features]`; an embedding of zeros has the cosine 0 with all other embeddings. Rows in
    `columns=` must be unit vectors, with their squared lengths, 1 or 0, as one more
    feature.

    Args:
        k: A cutoff of at least 2, or a tuple of such cutoffs. A ranking of counted places
            needs a cutoff.

    Raises:
        ValueError: if k is 1, which leaves no pair; if embeddings have another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from jax_rank_metrics import rank_ids
        >>> facts = {"embeddings": jnp.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])}
        >>> ranking = rank_ids(jnp.array([0, 1, 2]), item_columns=facts)
        >>> lists = intra_list_diversity.of(ranking, k=(2, 3))
        >>> [f"{value:.4f}" for value in lists.values]  # one pair of three is parallel
        ['1.0000', '0.6667']

    References:
        Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic
        diversification, WWW 2005; Castells, Hurley and Vargas, Novelty and diversity in
        recommender systems, Recommender Systems Handbook, 2015.
    """
    ks = ranking.cutoffs(k)
    if 1 in [cut for cut in ks if isinstance(cut, int)]:
        raise ValueError(f"k is {k}, but diversity needs pairs of items; pass k >= 2")
    # The chance that items i and j are both within k is the product of their chances,
    # unless both are in the tie group across k. If K of the group's t items are within k,
    # an item of the group has the chance K/t, but a pair has K(K − 1)/(t(t − 1)).
    within = ranking.expected_sum(_vector, positions(), ks)
    parted = ranking.expected_sum(_vector, _is_parted, ks)
    tied = ranking.expected_sum(item_exists, _is_parted, ks)
    held = ranking.expected_sum(item_exists, _chance_if_parted, ks)
    chance = ratio(held, tied)
    pair_excess = ratio(held * (held - 1), tied * (tied - 1)) - chance**2
    # Σ chance²·|u|²; the chance is 1 or 0 outside of the parted group.
    own_squares = within[..., -1] - chance * (1 - chance) * parted[..., -1]
    cosines = _squared_sum(within) - own_squares
    cosines = cosines + pair_excess * (_squared_sum(parted) - parted[..., -1])
    sizes = ranking.depth(ks)
    values = 1 - ratio(cosines, sizes * (sizes - 1))
    has_pairs = ranking.depth((None,))[..., 0] > 1
    return ranking.per_list(values, has_pairs, k, item_exists)


def _squared_sum(sums: jax.Array) -> jax.Array:
    """Returns |Σ u|² of sums of unit vectors u and their squared lengths.

    It is Σ |u|² + Σ_{i≠j} u_i·u_j; the second sum has the cosines of all pairs.
    """
    return arithmetic.total(sums[..., :-1] * sums[..., :-1])


def _vector(items: Items) -> jax.Array:
    """Reads the unit vectors of items, and their squared lengths."""
    column, lists = items.columns[_EMBEDDINGS], items.exists.shape
    if column.ndim != len(lists) + 1:
        raise ValueError(
            f"columns: {_EMBEDDINGS!r} has shape {column.shape} for items of shape "
            f"{lists}; pass unit vectors, each followed by 1, [*lists, items, features + 1]"
        )
    return column


def _is_parted(place: Place, k: Cut) -> jax.Array:
    """True for places whose tie group is neither wholly within k nor wholly beyond it."""
    within = place.within(k)
    return (within > 0) & (within < place.tied)


def _chance_if_parted(place: Place, k: Cut) -> jax.Array:
    """Returns the chance of an item of the parted group to be within k; 0 for others."""
    return jnp.where(_is_parted(place, k), place.within(k) / place.tied, 0)
