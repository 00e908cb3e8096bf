"""The state of recommendations: how often each item was shown."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states.state import State


@pytree("k")
class Exposure(State):
    """Counts how often each item of a catalogue was shown, over all lists.

    The function `exposure` makes it. It holds only integers, so that it is the same however
    its lists were split into batches and over devices. It merges, reduces and all_reduces
    as `Mean` does, and one count per item moves between devices. Merge only states of one
    catalogue and of lists of one length. A count stays at 2³¹ − 1 once it is there.

    Numbers are computed from the counts in JAX's default floats: within 1e-5 for a million
    items and ten million lists in float32, and within 1e-12 where `jax_enable_x64` is on.

    States stacked by vmap, scan or pmap have the stacked axes before these.

    Shapes:
        k: The length of the lists, which is the last axis of the ids; static.
        counts: `[num_items]` int32, the number of ranks in all lists that show the item.
        tally: `[2]` int32, the number of lists and the number of empty ones among them.

    >>> from jax_rank_metrics import exposure
    >>> state = exposure(jnp.array([[0, 1], [0, 2], [-1, -1]]), num_items=4)
    >>> state.merge(state).counts.tolist(), state
    ([4, 2, 2, 0], Exposure(coverage 0.750, gini 0.375, 3 lists, 1 undefined))
    """

    k: int
    counts: jax.Array
    tally: jax.Array
    _must_share = "one catalogue and lists of one length"
    _text = "coverage {}, gini {}"

    @property
    def _tally(self) -> jax.Array:
        return self.tally

    def _shown(self) -> tuple[jax.Array, ...]:
        return self.coverage(), self.gini()

    @classmethod
    def empty(cls, num_items: int, k: int) -> "Exposure":
        """Returns the state of no lists, the identity of merge.

        Args:
            num_items: Number of items in the catalogue.
            k: Length of the lists.
        """
        num_items = _inputs.positive_integer("num_items", num_items)
        k = _inputs.positive_integer("k", k)
        return cls(k, jnp.zeros(num_items, jnp.int32), jnp.zeros(2, jnp.int32))

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
            `itemcoverage`, where no item is padding.

        >>> Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0])).coverage().item()
        0.75
        """
        return _coverage(self)

    def gini(self) -> jax.Array:
        """Gini index of the counts: 0 where all items were shown equally often.

        `Σ (2i − n − 1)·c_i / (n·Σ c)`, with the counts c_1 ≤ … ≤ c_n of all n items, shown
        or not. It reaches (n − 1)/n where a single item takes all ranks, and is 0 where
        nothing was shown.

        References:
            Gini, Variabilità e mutabilità, 1912. Equals RecBole's `giniindex`.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> state.gini().item()  # (-3·0 - 1·1 + 1·1 + 3·2) / (4·4)
        0.375
        """
        return _gini(self)

    def entropy(self) -> jax.Array:
        """Shannon entropy of exposure, `−Σ p·ln p`, with p an item's share of the counts.

        It ranges from 0, where a single item takes all ranks, to the logarithm of the
        number of items. 0 where nothing was shown.

        References:
            Shannon, A mathematical theory of communication, 1948. RecBole's
            `shannonentropy` is this divided by the number of items that were shown.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> f"{state.entropy():.4f}"  # (2·ln 2 + ln 4 + ln 4) / 4
        '1.0397'
        """
        return _entropy(self)

    def personalization(self) -> jax.Array:
        """Personalization: 1 − the mean share of items that two lists have in common.

        `1 − Σ c·(c − 1)/2 / (k·U·(U − 1)/2)` over all pairs of the U lists that are not
        empty, where each of these has k distinct items. 0 for fewer than two such lists.

        References:
            Zhou, Kuscsik, Liu, Medo, Wakeling and Zhang, Solving the apparent
            diversity-accuracy dilemma of recommender systems, PNAS 107(10), 2010
            (inter-user diversity).

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> state.personalization().item()  # two lists of two, and one item in both
        0.5
        """
        return _personalization(self)


def _floats(counts: jax.Array) -> jax.Array:
    return counts.astype(jax.dtypes.canonicalize_dtype(float))


@jax.jit
def _coverage(state: Exposure) -> jax.Array:
    return _floats(_arithmetic.count(state.counts > 0)) / state.counts.shape[-1]


@jax.jit
def _gini(state: Exposure) -> jax.Array:
    counts = _floats(sort_by([state.counts])[0])
    size = counts.shape[-1]
    # `sort_by` sorts in descending order, so the factors 2i − n − 1 descend too.
    factors = (size - 1 - 2 * _arithmetic.iota(counts)).astype(counts.dtype) / size
    return ratio(_arithmetic.total(factors * counts), _arithmetic.total(counts))


@jax.jit
def _entropy(state: Exposure) -> jax.Array:
    counts = _floats(state.counts)
    shares = ratio(counts, _arithmetic.total(counts)[..., None])
    total = _arithmetic.total(shares * jnp.log(jnp.where(shares > 0, shares, 1)))
    return jnp.where(total < 0, -total, 0)  # never −0.0


@jax.jit
def _personalization(state: Exposure) -> jax.Array:
    counts, lists = _floats(state.counts), _floats(state.non_empty)[..., None]
    # Per item, the share of all ordered pairs of lists in which both lists have it.
    both_have_it = ratio(counts, lists) * ratio(counts - 1, lists - 1)
    common = _arithmetic.total(both_have_it) / state.k
    return jnp.where(lists[..., 0] > 1, 1 - common, 0)
