"""The mergeable state of what was recommended: how often each item was shown."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states.state import State


@pytree("k")
class Exposure(State):
    """How often each item was shown, over all lists: what a system makes of a catalogue.

    Made by `exposure`. It holds integers alone, so that it is the same however its lists
    were cut into batches and devices: it merges, reduces and all_reduces as `Mean`, and
    what moves between devices is one count per item. Merge states of one catalogue and
    of lists of one length. A count stays at 2³¹ − 1 once it is there.

    What is computed of the counts is in JAX's default floats: within 1e-5 for a million
    items and ten million lists in float32, and within 1e-12 where `jax_enable_x64` is on.

    States that vmap, scan or pmap has stacked have its axes before these.

    Shapes:
        k: How long lists are, static: the last axis of the ids.
        counts: `[num_items]` int32, in how many ranks of all lists each item stood.
        tally: `[2]` int32, how many lists there were, and how many of them were empty.

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
        """The state of no lists, the identity of merge.

        Args:
            num_items: How many items the catalogue has.
            k: How long lists are.
        """
        num_items, k = (
            _inputs.positive_integer("num_items", num_items),
            _inputs.positive_integer("k", k),
        )
        return cls(k, jnp.zeros(num_items, jnp.int32), jnp.zeros(2, jnp.int32))

    @property
    def non_empty(self) -> jax.Array:
        """How many lists had items, `[]` int32."""
        return self.lists - self.undefined

    def compute(self) -> jax.Array:
        """The catalogue coverage; see `coverage`."""
        return self.coverage()

    def coverage(self) -> jax.Array:
        """Catalogue coverage: the share of all items that were shown at all.

        References:
            Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender
            systems by coverage and serendipity, RecSys 2010. The same as RecBole's
            `itemcoverage`, where no item is padding.

        >>> Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0])).coverage().item()
        0.75
        """
        return _coverage(self)

    def gini(self) -> jax.Array:
        """Gini index of how often items were shown: 0 where all were shown alike.

        `Σ (2i − n − 1)·c_i / (n·Σ c)`, with the counts c in rising order and n the number
        of all items, shown or not; it reaches (n − 1)/n where one item alone is shown. 0
        where nothing was shown.

        References:
            Gini, Variabilità e mutabilità, 1912. The same as RecBole's `giniindex`.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> state.gini().item()  # (-3·0 - 1·1 + 1·1 + 3·2) / (4·4)
        0.375
        """
        return _gini(self)

    def entropy(self) -> jax.Array:
        """Shannon entropy of what was shown, `−Σ p·ln p`, with p an item's share.

        From 0, where one item alone is shown, to the logarithm of the number of items. 0
        where nothing was shown.

        References:
            Shannon, A mathematical theory of communication, 1948. RecBole's
            `shannonentropy` is this divided by the number of items that were shown.

        >>> state = Exposure(2, jnp.array([2, 0, 1, 1]), jnp.array([2, 0]))
        >>> f"{state.entropy():.4f}"  # (2·ln 2 + ln 4 + ln 4) / 4
        '1.0397'
        """
        return _entropy(self)

    def personalization(self) -> jax.Array:
        """How much lists differ: 1 − the mean share that two of them have in common.

        `1 − Σ c·(c − 1)/2 / (k·U·(U − 1)/2)` over all pairs of the U lists that are not
        empty. For lists of k distinct items each. 0 where there are not two lists.

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
    # In falling order, and so from the largest weight to the smallest.
    above = (size - 1 - 2 * _arithmetic.iota(counts)).astype(counts.dtype) / size
    return ratio(_arithmetic.total(above * counts), _arithmetic.total(counts))


@jax.jit
def _entropy(state: Exposure) -> jax.Array:
    counts = _floats(state.counts)
    shares = ratio(counts, _arithmetic.total(counts)[..., None])
    total = _arithmetic.total(shares * jnp.log(jnp.where(shares > 0, shares, 1)))
    return jnp.where(total < 0, -total, 0)  # never −0.0


@jax.jit
def _personalization(state: Exposure) -> jax.Array:
    counts, lists = _floats(state.counts), _floats(state.non_empty)[..., None]
    # The share of all other lists that have an item, for every list that has it.
    pairs = ratio(counts, lists) * ratio(counts - 1, lists - 1)
    common = _arithmetic.total(pairs) / state.k
    return jnp.where(lists[..., 0] > 1, 1 - common, 0)
