"""An `nnx.Metric`, for the train and evaluation steps of Flax NNX."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.calls.binding import Metrics
from jax_rank_metrics._ground.meshes import varying_axes
from jax_rank_metrics._ground.types import AxisNames
from jax_rank_metrics._values import merging, state
from jax_rank_metrics._values.merging import compute
from jax_rank_metrics.adapters._flax import register_states
from jax_rank_metrics.adapters._loop import bind_loop
from jax_rank_metrics.adapters._shared import framework

_nnx = framework("flax.nnx", __name__)
register_states()


class RankingMetrics(_nnx.Metric):
    """Ranking metrics whose states are updated in place, with one ranking per batch.

    Use it alone or with other metrics in an `nnx.MultiMetric`, inside `nnx.jit`, `nnx.scan`
    and other transforms. `nnx.jit` treats two objects with the same metrics and options
    as equal, so a new object for each evaluation compiles nothing again.

    Its state is a dict of arrays, keyed by metric and then by field of `Mean`. So the
    result of `nnx.to_pure_dict` may be saved, restored without a target, and put back by
    `nnx.replace_by_pure_dict`.

    >>> import jax.numpy as jnp
    >>> metrics = RankingMetrics(("mrr", "recall@1,2"), ties="stable")
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> metrics.update(labels=labels, scores=scores, loss=0.3)
    >>> {name: float(value) for name, value in metrics.compute().items()}
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> metrics.states["mrr"]
    Mean(0.750 ± 0.250, 2 lists, 0 undefined)
    """

    def __init__(
        self, metrics: Metrics, *, axis_name: AxisNames | None = None, **options: Any
    ):
        """Creates metrics of no lists.

        Args:
            metrics: As for `evaluate`; also "pooled_roc_auc(bits=20)" and
                "pooled_average_precision", which come last in results.
            axis_name: The mesh axis, or a tuple of axes, over which lists are divided
                inside `nnx.shard_map`. Every `update` then adds the lists of all devices,
                so the metrics stay equal on all devices, and their `in_specs` and
                `out_specs` are `P()`.
            **options: The arguments of `evaluate` that no batch changes, such as `ties`,
                `undefined` or `num_segments`. They are static, so they must be hashable.

        Raises:
            ValueError: if a name is unknown.
            TypeError: if `evaluate` has no such option.
        """
        # Keep plain hashable values, because nnx compares them to find compiled programs.
        self._loop = bind_loop(metrics, options)
        self._options = tuple(sorted(options.items()))
        self._axis_name = axis_name
        self._sums = _nnx.Dict()
        for path, leaf in jax.tree_util.tree_leaves_with_path(self._loop.empty()):
            *branches, name = _names(path)
            node = self._sums
            for branch in branches:
                if branch not in node:
                    node[branch] = _nnx.Dict()
                node = node[branch]
            node[name] = _nnx.metrics.MetricState(leaf)

    @property
    def states(self) -> dict[str, state.State]:
        """A dict from metrics to states, which merge and have standard errors."""
        zeros = self._loop.empty()
        leaves = [variable.get_value() for variable in self._variables(zeros)]
        return merging.in_order(zeros, jax.tree.structure(zeros).unflatten(leaves))

    def update(self, *arrays: Any, **batch: Any) -> None:
        """Adds the lists of a batch.

        Args:
            *arrays: An error, because all arguments must be passed by name.
            **batch: `labels`, `scores` and any other arguments of `evaluate` that come
                with a batch: `mask`, `weights`, `key`, `list_weights`, `segment_ids`,
                `retrieved`, `columns`. A mask may be `[*lists]`, for whole lists. Instead
                of labels, pass `relevant_ids` for `rank_scores`, or only a `ranking` of
                any source. Other names are ignored, because a `MultiMetric` passes the
                same arguments to all of its metrics, but a name that is almost the name of
                an argument raises.

        Raises:
            TypeError: if labels or scores are missing, or have no name; if a name is
                almost the name of an argument; as `evaluate`.
            ValueError: as `evaluate`; inside `nnx.shard_map`, if lists are divided over a
                mesh axis and there is no `axis_name`.
        """
        if arrays:
            raise TypeError(
                f"update got {len(arrays)} arrays without a name; pass labels=…, scores=…"
            )
        states = self._loop.evaluate(batch, dict(self._options))
        if self._axis_name is not None:
            states = merging.all_reduce(states, self._axis_name)
        elif axes := sorted(varying_axes(states) - varying_axes(self.states)):
            name = axes[0] if len(axes) == 1 else tuple(axes)
            raise ValueError(
                f"update is in a shard_map that divides the lists over {name!r}; pass "
                f"axis_name={name!r} to RankingMetrics, to add the lists of all devices"
            )
        self._assign(merging.merge(self.states, states))

    def reset(self) -> None:
        """Forgets all lists; axes that `nnx.vmap` has added remain."""
        self._assign(jax.tree.map(jnp.zeros_like, self.states))

    def compute(self) -> dict[str, jax.Array]:
        """Returns a dict of scalars, one for each metric and cutoff, such as "recall@5".

        Without lists, values are 0.
        """
        return compute(self.states, flat=True)

    def _assign(self, states: dict[str, state.State]) -> None:
        leaves = jax.tree.leaves(states)
        for variable, leaf in zip(self._variables(states), leaves, strict=True):
            variable.set_value(leaf)

    def _variables(self, states: dict[str, state.State]) -> Iterator[Any]:
        """Yields the variables of the leaves of states, in the order of `jax.tree`."""
        for path, _ in jax.tree_util.tree_leaves_with_path(states):
            node = self._sums
            for name in _names(path):
                node = node[name]
            yield node


def _names(path: tuple[Any, ...]) -> list[str]:
    """Returns the keys of dicts and names of attributes along the path to a leaf."""
    return [
        key.key if isinstance(key, jax.tree_util.DictKey) else key.name for key in path
    ]
