"""What the plots share: an `Axes`, colours, and the numbers of lines and lists."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.estimates import Estimate, Results, estimates
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, Color universal design, 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")


def axes(ax: "Axes | None") -> "Axes":
    """The one given, or the current one."""
    pyplot = import_optional("matplotlib.pyplot", "jrm.plots", "plots")
    return pyplot.gca() if ax is None else ax


def look(place: int) -> tuple[str, str]:
    """Colour and marker of a run."""
    return COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]


def legend(ax: "Axes") -> None:
    """A legend where anything has a name."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)


def counted(count: int) -> str:
    """A number of lists, in words."""
    return f"{count} list{'' if count == 1 else 's'}"


def lines(
    results: Results, metric: str, level: Number, ks: Sequence[int] | None = None
) -> dict[str, dict[int, Estimate]]:
    """Of each run that has the metric at cutoffs, the numbers at each, in order."""
    lines = {}
    for run, found in estimates(results, level).items():
        cuts = {}
        for name, numbers in found.items():
            head, _, k = name.rpartition("@")
            if head == metric and k.isdecimal():
                cuts[int(k)] = numbers
        for place, k in enumerate(ks or ()):
            if f"{metric}[{place}]" in found:
                cuts[k] = found[f"{metric}[{place}]"]
        if cuts:
            lines[run] = dict(sorted(cuts.items()))
    if not lines:
        raise ValueError(
            f"results hold no {metric!r} at a cutoff; pass the name before the @, such as "
            "'recall' for 'recall@1,5,10', or ks for a name of your own"
        )
    return lines


def values(name: str, lists: Any) -> tuple[np.ndarray, ...]:
    """Values, weights and where defined, of all lists along one axis."""
    if not isinstance(lists, PerList):
        raise TypeError(
            f"{name} is {_inputs.kind_of(lists)}; pass a PerList, as measure gives it"
        )
    if jnp.ndim(lists.values) != jnp.ndim(lists.weights):
        raise ValueError(f"{name} has several cutoffs; measure one, such as 'recall@5'")
    parts = jax.device_get((lists.values, lists.weights, lists.defined))
    return tuple(part.reshape(-1) for part in parts)
