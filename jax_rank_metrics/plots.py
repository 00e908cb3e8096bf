"""Plots of results, by matplotlib (the extra "plots").

Each function draws on the `Axes` passed as `ax`, or else on the current axes, and
returns these axes, so that you can set titles, limits and styles. The colours are the
palette of Okabe and Ito, which can be told apart with any colour vision. Twelve systems
can also be told apart without colours, by their markers and dashes.

Legends and labels are outside the axes but inside the figure, so choose its `figsize` when
you make it, such as 3.3 inches for a column. A figure of subplots without a layout
engine gets the constrained layout, which makes room for legends and labels. If you
placed the axes yourself, save the figure with `bbox_inches="tight"`.

>>> import jax.numpy as jnp
>>> import jax_rank_metrics as jrm
>>> labels, scores = jnp.array([[1, 0, 1], [0, 1, 0]]), jnp.array([[3, 2, 1], [3, 2, 1]])
>>> lists = jrm.measure(("recall@1,2,3", "mrr"), jrm.rank(labels, scores))
>>> import matplotlib
>>> matplotlib.use("agg")
>>> [[float(y) for y in line.get_ydata()] for line in at_cutoffs(lists, "recall").lines]
[[0.25, 0.75, 1.0]]
"""

from jax_rank_metrics._engine import formulas as formulas  # registers the metrics
from jax_rank_metrics._verdicts.plots.list_plots import differences as differences
from jax_rank_metrics._verdicts.plots.list_plots import distribution as distribution
from jax_rank_metrics._verdicts.plots.mean_plots import at_cutoffs as at_cutoffs
from jax_rank_metrics._verdicts.plots.mean_plots import by_group as by_group
from jax_rank_metrics._verdicts.plots.mean_plots import curve as curve
from jax_rank_metrics._verdicts.plots.mean_plots import (
    precision_recall as precision_recall,
)
from jax_rank_metrics._verdicts.plots.verdict_plots import forest as forest
from jax_rank_metrics._verdicts.plots.verdict_plots import ranks as ranks
