"""`jrm.share`: a cutoff that is a share of the list."""

import dataclasses
from decimal import Decimal

import numpy as np

from jax_rank_metrics._ground import messages


@dataclasses.dataclass(frozen=True, repr=False)
class share:
    """A cutoff that is a share of each list, such as its first percent.

    Metrics accept it as `k`, alone or in a tuple with other cutoffs; names of metrics
    spell it in percent: "ndcg@1%,10". The cutoff of a list of n items is ceil(share·n).
    As in RDKit, the product is rounded to float64 before the ceiling is taken: 1 % of 100
    items is 1 item, but 7 % are 8 items, since 0.07·100 is 7.000000000000001. The cutoff
    depends neither on the dtype of scores nor on whether JAX computes in 64 bits.

    n is the number of all items that exist in the list, with or without a rank:

    - in a catalogue, every item that is neither masked nor excluded, listed or not;
    - for `rank_places`, the retrieved items, and the judged items that were not retrieved;
    - for `rank_retrieved`, the items of `pool_labels`, or the retrieved items if
      `pool_labels` was not passed.

    If only `num_relevant` is known of a pool, n is unknown, and a share raises.

    A share reads whole lists, as None does. `rank` and the other functions that rank
    accept no share: pass k=None to them. Two shares of the same fraction are equal, so they
    share one compilation.

    Args:
        fraction: A Python or NumPy number above 0 and at most 1.

    Raises:
        ValueError: if the fraction is not above 0 and at most 1.
        TypeError: if the fraction is not a number.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import precision
    >>> labels, scores = jnp.array([1, 0, 0, 1, 0]), -jnp.arange(5.0)
    >>> precision(labels, scores, k=(share(0.2), share(0.4), 1)).compute().tolist()
    [1.0, 0.5, 1.0]
    >>> share(0.01), str(share(0.01))
    (share(0.01), '1%')
    """

    fraction: float | int

    @messages.short_errors()
    def __post_init__(self) -> None:
        value: object = self.fraction
        kinds = (int, float, np.integer, np.floating)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"share is {value!r}; pass a Python number, such as 0.01")
        # A NumPy float is the decimal it prints as: 0.1, not 0.10000000149.
        fraction = float(str(value))
        if not 0 < fraction <= 1:
            raise ValueError(
                f"share is {value!r}; pass a number above 0 and at most 1, such as 0.01 "
                "for the first percent"
            )
        object.__setattr__(self, "fraction", fraction)

    @classmethod
    def of_percent(cls, text: str) -> "share":
        """Reads a number of percent: "0.7" is `share(0.007)`.

        Raises:
            ValueError: if the text is not a number, or not above 0 and at most 100.
        """
        # Do not divide by 100: 0.7 / 100 is 0.006999999999999999.
        return cls(float(f"{text.strip()}e-2"))

    def __repr__(self) -> str:
        return f"share({self.fraction!r})"

    def __str__(self) -> str:
        percent = Decimal(repr(self.fraction)).scaleb(2).normalize()
        return f"{percent:f}%"
