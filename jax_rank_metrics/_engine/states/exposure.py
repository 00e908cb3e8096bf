"""The state of recommendations: how often each item was shown."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering import sort
from jax_rank_metrics._engine.ordering.keys import float_key
from jax_rank_metrics._ground import arithmetic, inputs, pytrees
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values import double_floats
from jax_rank_metrics._values.state import State


@pytrees.pytree("k")
class Exposure(State):
    """Counts how often each item of a catalogue was shown, over all lists.

    The function `exposure` makes it. It merges, reduces and all_reduces as `Mean` does, and
    one count per item moves between devices. Merge only states of one catalogue, of one
    discount and of lists of one length. A count that reaches 2³¹ − 1 stays there.

    Without a discount a state holds only integers, so it is the same however its lists were
    split into batches and over devices. Sums of discounts are pairs of floats: in float32,
    their relative error is within ranks · 6e-8, and merging does not increase this error.

    Numbers are computed in JAX's default floats: within 1e-5 for a million items and ten
    million lists in float32, and within 1e-12 if `jax_enable_x64` is on.

    States stacked by vmap, scan or pmap have the stacked axes before the axes shown here.

    Shapes:
        k: The number of ranks, which is the last axis of the ids; static. Lists may have
            fewer items.
        counts: `[num_items]` int32, the number of ranks in all lists that show the item.
        tally: `[3]` int32: the number of lists, the number of empty lists, and the number
            of lists with a NaN score. The items of a list with a NaN score are not known,
            so if there is such a list, all numbers are NaN. A tally of only two numbers
            means that there is no such list.
        sums: `[num_items]` floats, as a pair of arrays: the sum of the multipliers of the
            ranks that show the item; None without a `discount_fn`.

    >>> from jax_rank_metrics import exposure
    >>> state = exposure(jnp.array([[0, 1], [0, 2], [-1, -1]]), num_items=4)
    >>> state.merge(state).counts.tolist(), state
    ([4, 2, 2, 0], Exposure(coverage 0.750, gini 0.375, 3 lists, 1 undefined))
    """

    k: int
    counts: jax.Array
    tally: jax.Array
    sums: double_floats.FloatPair | None = None
    _must_share = "one catalogue, one discount and lists of one length"
    _text = "coverage {}, gini {}"

    @property
    def _tally(self) -> jax.Array:
        return self.tally[..., :2]

    def _shown(self) -> tuple[jax.Array, ...]:
        return self.coverage(), self.gini()

    @classmethod
    def empty(cls, num_items: int, k: int, discounted: bool = False) -> "Exposure":
        """Returns the state of no lists, the identity of merge.

        Args:
            num_items: Number of items in the catalogue.
            k: Length of the lists.
            discounted: True if the state will be merged with states of a `discount_fn`.
        """
        num_items = inputs.positive_integer("num_items", num_items)
        k = inputs.positive_integer("k", k)
        counts = jnp.zeros(num_items, jnp.int32)
        sums = double_floats.FloatPair.of(_floats(counts)) if discounted else None
        return cls(k, counts, jnp.zeros(3, jnp.int32), sums)

    @property
    def non_empty(self) -> jax.Array:
        """Number of lists that had items, `[]` int32."""
        return self.lists - self.undefined

    def compute(self) -> jax.Array:
        """Catalogue coverage; see `coverage`."""
        return self.coverage()

    def coverage(self) -> jax.Array:
        """Catalogue coverage: the share of all items that were shown at least once.

        References:
            Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender
            systems by coverage and serendipity, RecSys 2010. Equals RecBole's
            `itemcoverage` if no item is padding.

        >>> Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0])).coverage().item()
        0.75
        """
        return _if_known(self, _coverage(self))

    def gini(self) -> jax.Array:
        """Gini index of exposure: 0 if all items are exposed equally.

        `Σ (2i − n − 1)·c_i / (n·Σ c)`, with the exposures c_1 ≤ … ≤ c_n of all n items,
        shown or not: their counts, or their sums of multipliers with a `discount_fn`. The
        index is (n − 1)/n if a single item takes all ranks, and 0 if nothing was shown.

        References:
            Gini, Variabilità e mutabilità, 1912. The Gini index of counts equals RecBole's
            `giniindex` and LensKit's `ListGini`. The Gini index of discounts equals
            LensKit's `ExposureGini`, whose default multiplier is 0.85^(rank − 1).

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> state.gini().item()  # (-3·0 - 1·1 + 1·1 + 3·2) / (4·4)
        0.375
        """
        return _if_known(self, _gini(double_floats.canonical(self)))

    def entropy(self) -> jax.Array:
        """Shannon entropy of exposure, `−Σ p·ln p`, with p an item's share of exposure.

        The exposure of an item is its count, or its sum of multipliers with a
        `discount_fn`. The entropy ranges from 0, if a single item takes all ranks, to the
        logarithm of the number of items. It is 0 if nothing was shown.

        References:
            Shannon, A mathematical theory of communication, 1948. RecBole's
            `shannonentropy` is this divided by the number of items that were shown.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> f"{state.entropy():.4f}"  # (2·ln 2 + ln 4 + ln 4) / 4
        '1.0397'
        """
        return _if_known(self, _entropy(double_floats.canonical(self)))

    def personalization(self) -> jax.Array:
        """Personalization: 1 − the share of items that two lists have in common.

        `1 − Σ |A ∩ B| / Σ (|A| + |B|)/2`, with both sums over all pairs of the U lists that
        are not empty. The number of items that two lists share is divided by the mean of
        their lengths, as in the index of Sørensen and Dice, and a pair counts in proportion
        to this mean. Both sums follow from the counts c alone: they are `Σ c·(c − 1)/2` and
        `(U − 1)·Σ c / 2`, so no pair is ever formed. The value is 0 for fewer than two
        lists.

        The items of a list are taken to be distinct: an id that a list repeats counts as if
        another list had it. A `discount_fn` changes nothing.

        References:
            Zhou, Kuscsik, Liu, Medo, Wakeling and Zhang, Solving the apparent
            diversity-accuracy dilemma of recommender systems, PNAS 107(10), 2010
            (inter-user diversity, for lists of one length). For lists of one length it
            equals recmetrics' `personalization`, which otherwise is 1 − the mean cosine
            `|A ∩ B| / √(|A|·|B|)`, and needs all pairs.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> state.personalization().item()  # two lists of two, and one item in both
        0.5

        The lists {0, 2, 3} and {0}: one item in both, and two in each on average.

        >>> Exposure(3, jnp.array([2, 0, 1, 1]), jnp.array([2, 0])).personalization().item()
        0.5
        """
        return _if_known(self, _personalization(self))


@jax.jit
def _if_known(state: Exposure, number: jax.Array) -> jax.Array:
    """Returns the number, or NaN if the items of a list are unknown: it had a NaN score."""
    return jnp.where(jnp.any(state.tally[..., 2:] > 0, axis=-1), jnp.nan, number)


def _floats(counts: jax.Array) -> jax.Array:
    return counts.astype(jax.dtypes.canonicalize_dtype(float))


def _exposures(state: Exposure) -> jax.Array:
    """Returns how much each item is exposed, `[num_items]`."""
    return _floats(state.counts if state.sums is None else state.sums.round())


@jax.jit
def _coverage(state: Exposure) -> jax.Array:
    return _floats(arithmetic.count(state.counts > 0)) / state.counts.shape[-1]


@jax.jit
def _gini(state: Exposure) -> jax.Array:
    exposures = _exposures(state)
    # The keys of floats of at least 0 are their bits, so keys convert back.
    keys = sort.sort_by([float_key(exposures)])[0]
    exposures = lax.bitcast_convert_type(keys, exposures.dtype)
    size = exposures.shape[-1]
    # `sort_by` sorts in descending order, so the factors 2i − n − 1 descend too.
    factors = (size - 1 - 2 * arithmetic.iota(keys)).astype(exposures.dtype) / size
    return ratio(arithmetic.total(factors * exposures), arithmetic.total(exposures))


@jax.jit
def _entropy(state: Exposure) -> jax.Array:
    exposures = _exposures(state)
    shares = ratio(exposures, arithmetic.total(exposures)[..., None])
    total = arithmetic.total(shares * jnp.log(jnp.where(shares > 0, shares, 1)))
    return jnp.where(total < 0, -total, 0)  # never −0.0


@jax.jit
def _personalization(state: Exposure) -> jax.Array:
    counts, lists = _floats(state.counts), _floats(state.non_empty)[..., None]
    # The chance that a random rank shows an item, times the chance that a random other
    # list shows it too, summed over items.
    shares = ratio(counts, arithmetic.total(counts)[..., None])
    common = arithmetic.total(shares * ratio(counts - 1, lists - 1))
    return jnp.where(lists[..., 0] > 1, 1 - common, 0)
