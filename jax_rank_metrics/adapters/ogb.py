"""The evaluator of OGB's link prediction, for scores of JAX or NumPy.

A program that calls `ogb.linkproppred.Evaluator` can call this class instead:

    from jax_rank_metrics.adapters.ogb import Evaluator

It needs neither torch nor ogb. It returns the numbers of OGB 1.3.6 on tensors of torch; on
arrays of NumPy, OGB raises if the metric is the reciprocal rank. OGB compares in two ways:

- *hits@k* has one pool of negative edges for all positive edges. A positive edge that ties
  with the k-th best negative edge is not a hit: its rank is pessimistic.
- *mrr* has its own negative edges for each positive edge, and reads the mean of the best
  and the worst rank: `rank="realistic"` of `reciprocal_rank` and `hit_rate`. In this class,
  the number of negative edges may differ from edge to edge.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.calls.evaluate import measure
from jax_rank_metrics._engine.formulas.order_agreement import roc_auc
from jax_rank_metrics._engine.sources.catalog import rank_scores
from jax_rank_metrics._engine.sources.rank import rank
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.inputs import padding
from jax_rank_metrics._values.per_list import PerList

# The metric of each data set.
METRICS = {
    "ogbl-ppa": "hits@100",
    "ogbl-collab": "hits@50",
    "ogbl-citation2": "mrr",
    "ogbl-wikikg2": "mrr",
    "ogbl-ddi": "hits@20",
    "ogbl-biokg": "mrr",
    "ogbl-vessel": "rocauc",
}
Value = float | np.ndarray | jax.Array
Scores = types.ArrayLike | Sequence[Any]  # an array, or a sequence of arrays

_HITS, _MRR = "hits(rank=realistic)@1,3,10", "mrr(rank=realistic)"


class Evaluator:
    """Evaluates the scores of edges, like OGB's class of the same name.

    Attributes:
        name: The data set, such as "ogbl-ddi".
        eval_metric: The metric of the data set: "hits@" and a number, "mrr" or "rocauc".
            This attribute may be set.
        lists: A dict from names to the values of each positive edge in the last call of
            `eval`, a `PerList` for intervals and comparisons. Empty for "rocauc".

    >>> evaluator = Evaluator("ogbl-wikikg2")
    >>> scores = {"y_pred_pos": jnp.array([0.9, 0.5]),
    ...           "y_pred_neg": jnp.array([[0.2, 0.1], [0.5, 0.7]])}
    >>> results = evaluator.eval(scores)
    >>> results["mrr_list"].tolist(), results["hits@3_list"].tolist()
    ([1.0, 0.4000000059604645], [1.0, 1.0])
    >>> evaluator.lists["mrr"].mean()
    Mean(0.700 ± 0.300, 2 lists, 0 undefined)
    >>> scores["y_pred_neg"] = [[0.7, 0.95], []]  # of unequal lengths
    >>> evaluator.eval(scores)["mrr_list"].tolist()
    [0.5, 1.0]
    >>> scores["y_pred_neg"] = jnp.array([0.2, 0.1, 0.5, 0.7])
    >>> mine = Evaluator("mine", "hits@2")  # the second best of .7 .5 .2 .1 is .5
    >>> mine.eval(scores)
    {'hits@2': 0.5}
    """

    lists: dict[str, PerList]

    def __init__(self, name: str, eval_metric: str | None = None) -> None:
        """Looks up the metric of a data set, unless a metric is passed.

        Raises:
            ValueError: if no metric is passed, and OGB has no data set of link prediction
                with this name.
        """
        if eval_metric is None and name not in METRICS:
            raise ValueError(
                f"name is {name!r}; pass one of {', '.join(METRICS)}, or any name together "
                "with eval_metric"
            )
        self.name = name
        self.eval_metric = eval_metric or METRICS[name]
        self.lists = {}

    def eval(self, input_dict: Mapping[str, Scores]) -> dict[str, Value]:
        """Evaluates positive edges among negative edges.

        Args:
            input_dict: "y_pred_pos", `[edges]`, the scores of positive edges, and
                "y_pred_neg", the scores of negative edges: `[negatives]`, or, for "mrr",
                `[edges, negatives]`, or a list of arrays of unequal lengths, which may be
                empty. Arrays are of JAX or NumPy. NumPy's float64 scores are compared as
                float64.

        Returns:
            OGB's dict: "hits@k" or "rocauc" as a float; for "mrr", float32 arrays `[edges]`
            named "hits@1_list", "hits@3_list", "hits@10_list" and "mrr_list". These are
            arrays of JAX if the positive scores are of JAX, and otherwise of NumPy.

        Raises:
            ValueError: if a key is missing, if an array has another shape, if scores are
                NaN, or if OGB has no such `eval_metric`.
        """
        mask, negatives = None, input_dict.get("y_pred_neg")
        if self.eval_metric == "mrr" and isinstance(negatives, (list, tuple)):
            padded, mask = padding.pad_lists(negatives, lists=len(negatives))
            input_dict = {**input_dict, "y_pred_neg": padded}
        is_wide = any(
            not isinstance(scores, jax.Array) and np.asarray(scores).dtype == np.float64
            for scores in input_dict.values()
        )
        with jax.enable_x64(True) if is_wide else contextlib.nullcontext():
            is_reciprocal = self.eval_metric == "mrr"
            positive = _read(input_dict, "y_pred_pos", 1)
            negative = _read(input_dict, "y_pred_neg", 2 if is_reciprocal else 1)
            dtype = inputs.float_dtype(positive, negative)
            positive, negative = positive.astype(dtype), negative.astype(dtype)
            if is_reciprocal:
                values = self._reciprocal_ranks(positive, negative, mask)
                xp = jnp if isinstance(input_dict["y_pred_pos"], jax.Array) else np
                return {name: xp.asarray(values[name]) for name in values}
            if self.eval_metric == "rocauc":
                self.lists = {}
                labels = np.arange(len(positive) + len(negative)) < len(positive)
                scores = jnp.concatenate([positive, negative])
                return {"rocauc": float(roc_auc(labels, scores).compute())}
            return self._hits(positive, negative)

    @property
    def K(self) -> int:
        """The cutoff of "hits@k".

        Raises:
            ValueError: if the metric is not "hits@" and a cutoff.
        """
        name, _, cutoff = self.eval_metric.partition("@")
        if name != "hits" or not cutoff.isdecimal() or not int(cutoff):
            raise ValueError(
                f"eval_metric is {self.eval_metric!r}; pass 'hits@' and a cutoff, 'mrr' or "
                "'rocauc'"
            )
        return int(cutoff)

    def _hits(self, positive: jax.Array, negative: jax.Array) -> dict[str, Value]:
        if len(negative) < self.K:
            hits = jnp.ones(positive.shape, bool)
        else:
            exists = np.ones(len(negative), bool)
            best = rank(exists, negative, k=self.K, ties="stable").items
            hits = positive > negative[best[-1]]
        weights = jnp.ones(positive.shape, jnp.float32)
        lists = PerList(hits, weights, weights > 0)
        self.lists = {self.eval_metric: lists}
        return {self.eval_metric: int(hits.sum()) / len(hits)}

    def _reciprocal_ranks(
        self, positive: jax.Array, negative: jax.Array, mask: np.ndarray | None
    ) -> dict[str, Value]:
        """Evaluates edges among negative edges; `mask` is False for padding."""
        if len(positive) != len(negative):
            raise ValueError(
                f"y_pred_pos has {len(positive)} edges, but y_pred_neg has "
                f"{len(negative)} rows; pass a row of negative edges for each positive edge"
            )
        scores = jnp.concatenate([positive[:, None], negative], axis=1)
        first = np.zeros((len(scores), 1), np.int32)
        if mask is not None:
            mask = np.pad(mask, ((0, 0), (1, 0)), constant_values=True)
        values = measure((_HITS, _MRR), rank_scores(scores, first, item_mask=mask))
        hits, reciprocal_ranks = values[_HITS], values[_MRR]
        weighting = reciprocal_ranks.weights, reciprocal_ranks.defined
        columns = zip((1, 3, 10), hits.values.T, strict=True)
        self.lists = {
            f"hits@{k}": PerList(column, *weighting, is_share=True)
            for k, column in columns
        }
        self.lists["mrr"] = reciprocal_ranks
        return {
            f"{name}_list": jnp.asarray(lists.values, jnp.float32)
            for name, lists in self.lists.items()
        }


def _read(input_dict: Mapping[str, Scores], name: str, num_axes: int) -> jax.Array:
    """Returns the scores with this name, checked."""
    if name not in input_dict:
        raise ValueError(f"input_dict lacks {name!r}; pass it")
    scores = inputs.real(name, input_dict[name])
    if scores.ndim != num_axes or not scores.size:
        shape = "[edges, negatives]" if num_axes == 2 else "[edges]"
        raise ValueError(f"{name} has shape {scores.shape}; pass {shape}")
    if jnp.isnan(scores).any():
        raise ValueError(f"{name} holds nan; pass numbers")
    return scores
