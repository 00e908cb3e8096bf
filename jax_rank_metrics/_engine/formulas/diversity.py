"""Diversity: how different the items of a list are from each other."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.formulas import id_lists
from jax_rank_metrics._ground import arithmetic, inputs, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values import per_list


def intra_list_diversity(
    ids: types.RankedIds | ranking.Ranking,
    embeddings: types.Embeddings,
    k: types.RankCutoffs = None,
) -> per_list.PerList:
    """Intra-list diversity: 1 − the mean cosine of all pairs of the first k items.

    It is 0 where all items point the same way, 1 where they are orthogonal, and at most
    n/(n − 1) for n items. Work and memory grow with ranks·features, not with the number
    of pairs.

    Undefined (fewer than two items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        embeddings: `[num_items, features]`. An embedding of zeros has the cosine 0 with
            all others. One that holds NaN makes the value of its list NaN.
        k: Cutoff of at least 2, or a tuple of them; None is all items.

    Raises:
        ValueError: as `popularity`; if k is 1, which leaves no pair.
        TypeError: if ids are not integers.

    References:
        Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic
        diversification, WWW 2005; Castells, Hurley and Vargas, Novelty and diversity in
        recommender systems, Recommender Systems Handbook, 2015.

    >>> embeddings = jnp.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> lists = intra_list_diversity(jnp.array([0, 1, 2]), embeddings, k=(2, 3))
    >>> [f"{value:.4f}" for value in lists.values]  # one pair of three is parallel
    ['1.0000', '0.6667']
    """
    ks = inputs.rank_cutoffs(k)
    if 1 in ks:
        raise ValueError(f"k is {k}; diversity is of pairs, pass k >= 2")
    embeddings = inputs.catalog_array("embeddings", embeddings, ("features",))
    return id_lists.measure(_mean_distance, ids, embeddings, k)


def _mean_distance(
    vectors: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    """1 − the mean cosine of all pairs, without forming pairs.

    With unit vectors u, |Σ u|² = Σ |u|² + Σ_{i≠j} u_i·u_j: the sum of the cosines of all
    ordered pairs is what remains of the squared length of the sum of the unit vectors
    when their own squared lengths are subtracted.
    """
    del table
    is_tied = is_within.dtype != jnp.bool_
    is_within = is_within.astype(vectors.dtype)
    # Divided by the largest entry first, so that no square overflows.
    largest = jnp.max(jnp.abs(vectors), axis=-1, keepdims=True, initial=0)
    has_nan = arithmetic.dot(is_within, jnp.isnan(largest).astype(vectors.dtype)) > 0
    vectors = ratio(vectors, largest)
    squared_lengths = arithmetic.total(vectors * vectors)[..., None]
    units = ratio(vectors, jnp.sqrt(jnp.where(squared_lengths > 0, squared_lengths, 1)))
    # As computed: 0 for a vector of zeros, otherwise 1 up to rounding.
    squared_lengths = arithmetic.total(units * units)[..., None]

    def total_cosine(worth: jax.Array) -> jax.Array:
        sum_of_squares = arithmetic.dot(worth * worth, squared_lengths)[..., 0]
        unit_sums = arithmetic.dot(worth, units)  # [*lists, len(ks), features]
        return arithmetic.total(unit_sums * unit_sums) - sum_of_squares

    sizes, cosines = arithmetic.total(is_within), total_cosine(is_within)
    if is_tied:
        # Items i and j are both within k by the product of their chances, unless both
        # are of the group that k parts: K of its t items have the chances K/t, and pairs
        # of these K(K − 1)/(t(t − 1)).
        is_parted = ((is_within > 0) & (is_within < 1)).astype(is_within.dtype)
        tied, within = map(arithmetic.total, (is_parted, is_parted * is_within))
        of_pairs = ratio(within * (within - 1), tied * (tied - 1))
        of_pairs = of_pairs - ratio(within, tied) ** 2
        cosines = cosines + of_pairs * total_cosine(is_parted)
    distances = 1 - ratio(cosines, sizes * (sizes - 1))
    return jnp.where(has_nan[..., 0], jnp.nan, distances), 2
