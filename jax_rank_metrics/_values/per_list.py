"""The values of a metric per list, before a mean is taken."""

import contextvars
import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._ground import arithmetic, inputs, pytrees, shards
from jax_rank_metrics._ground.inputs.list_ids import numbered
from jax_rank_metrics._ground.types import Number, PerListInput, Undefined
from jax_rank_metrics._values import clusters, histogram, list_arrays
from jax_rank_metrics._values.double_floats import canonical
from jax_rank_metrics._values.mean import (
    FLOOR,
    GeometricMean,
    Mean,
    geometric_mean_of,
    means_by_group,
    means_of,
)
from jax_rank_metrics._values.state import (
    fields_text,
    local_copy,
    shown_numbers,
    why_unreadable,
)

# True while a repr is made, because an error in `mean` may show the repr of the lists
# again.
_is_showing = contextvars.ContextVar("_is_showing", default=False)


@pytrees.pytree("undefined", "cutoff_weights", "is_ratio", "is_share")
class PerList(list_arrays.ListArrays):
    """The values of a metric, one per list.

    Shapes:
        values: `[*lists]`, or `[*lists, len(k)]` if k is a tuple; 0 if undefined.
        weights: `[*lists]`, the weight of each list in a mean; 0 for a list that does not
            count, because it has no items or its weight is not above 0.
        defined: `[*lists]` bool, True if the metric is defined for the list.
        undefined: The default of the argument `undefined` of `mean` and the other methods:
            "zero", "one" or "skip"; static.
        cutoff_weights: True if the weights of a list may differ between cutoffs, as after
            `over`; static. Then values, weights and `defined` are all `[*lists, len(k)]`.
        is_ratio: True if `over` made the values; static. Then `compare` accepts two
            systems that weigh the lists differently, which is an error for other
            values.
        is_share: True if all values must lie in [0, 1], as for recall but not for
            differences; static. Then a mean of values that are all 0 or 1 has the
            interval of a proportion. Boolean values always count as shares.

    Indexing selects lists, never cutoffs, by an integer, a slice, an array of integers or
    bools, or a tuple of any of them. A concrete index out of bounds raises IndexError;
    a traced index follows the rules of JAX.

    >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3),
    ...                 jnp.array([True, True, False]))
    >>> lists
    PerList(mean 0.500, 3 lists, 1 undefined)
    >>> lists[lists.defined]
    PerList(mean 0.750, 2 lists, 0 undefined)
    >>> len(lists), [float(part.values) for part in lists]
    (3, [1.0, 0.5, 0.0])
    """

    def __repr__(self) -> str:
        """Shows the mean and the counts: `PerList(mean 0.500, 3 lists, 1 undefined)`.

        The shape comes first unless it is `[]` or `[n]` for n lists that count:
        `PerList([2, 3], mean 0.500, 6 lists, 0 undefined)`. If the numbers cannot be
        read, only the dtype and the shape are shown: `PerList(traced, float32[3])`.
        """
        token = None
        try:
            shape = list(jnp.shape(self.values))
            local = local_copy(self)
            if local is None or _is_showing.get():
                kind = f"{self.values.dtype}{shape}"
                return f"PerList({', '.join([*why_unreadable(self), kind])})"
            token = _is_showing.set(True)
            with jax.ensure_compile_time_eval():
                state = local.mean()
                is_plain = shape in ([], [int(state.lists)])
            (mean, _), counts = shown_numbers(state)
            parts = [] if is_plain else [str(shape)]
            return f"PerList({', '.join([*parts, f'mean {mean}', counts])})"
        except Exception as error:  # as in `State.__repr__`
            return f"PerList({fields_text(self, error)})"
        finally:
            if token is not None:
                _is_showing.reset(token)

    def mean(self, undefined: Undefined | None = None) -> Mean:
        """Returns the weighted mean over all lists, as a state that can be merged.

        Args:
            undefined: How a list counts if its metric is undefined: "zero", "one", or
                "skip", which leaves the list out. None takes the choice that the values
                were made with: "zero", unless another choice was passed to a call such
                as `evaluate_users`.

        Raises:
            ValueError: if `undefined` is another choice.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3),
        ...                 jnp.array([True, True, False]))
        >>> [f"{lists.mean(choice).compute():.2f}" for choice in ("zero", "one", "skip")]
        ['0.50', '0.83', '0.75']
        """
        undefined = checked_undefined(self, undefined)
        return means_of((canonical(self),), undefined, (Mean,))[0]

    def geometric_mean(
        self, floor: Number = FLOOR, undefined: Undefined | None = None
    ) -> GeometricMean:
        """Returns the weighted geometric mean over all lists, as a state.

        For average precision, this is GMAP, trec_eval's `gm_map`.

        Args:
            floor: Every smaller value is raised to this number, which must be above 0;
                static. This includes undefined lists, because their value is 0.
            undefined: See `mean`.

        Raises:
            TypeError: if the floor is not a Python number.
            ValueError: if the floor is not above 0, or so small that JAX's default floats
                round it to 0; if `undefined` is another choice.

        >>> lists = PerList(jnp.array([0.25, 1.0, 0.0]), jnp.ones(3), jnp.ones(3, bool))
        >>> f"{lists[:2].geometric_mean():.3f}", f"{lists.geometric_mean(1 / 32):.3f}"
        ('0.500', '0.198')
        """
        floor = inputs.positive("floor", floor)
        dtype = jax.dtypes.canonicalize_dtype(float)
        if floor < jnp.finfo(dtype).tiny:
            raise ValueError(
                f"floor is {floor}, which {dtype.name} arithmetic rounds to 0; pass at "
                f"least {jnp.finfo(dtype).tiny:.1e}"
            )
        undefined = checked_undefined(self, undefined)
        return geometric_mean_of(canonical(self), floor, undefined)

    def quantiles(
        self,
        edges: Sequence[Number] | np.ndarray | None = None,
        bins: int = 100,
        undefined: Undefined | None = None,
    ) -> histogram.Histogram:
        """Returns the distribution of the values of lists, as a state that can be merged.

        Weights only decide which lists count.

        Args:
            edges: The edges of the bins, ascending; static. None makes bins of equal
                width on [0, 1].
            bins: Number of bins if `edges` is None; otherwise ignored.
            undefined: See `mean`.

        Raises:
            TypeError: if edges are not concrete numbers, or `bins` is not a Python int.
            ValueError: if edges do not ascend, or are fewer than two; if `bins` is below 1;
                if `undefined` is another choice.

        >>> lists = PerList(jnp.array([0.0, 0.2, 0.7, 1.0]), jnp.ones(4), jnp.ones(4, bool))
        >>> [f"{lists.quantiles().quantile(q):.2f}" for q in (0, 0.5, 1)]
        ['0.00', '0.45', '1.00']
        """
        undefined = checked_undefined(self, undefined)
        edges = histogram.edges_of(edges, bins)
        return histogram.histogram_of(canonical(self), edges, undefined)

    @overload
    def by(
        self, groups: PerListInput, num_groups: int, undefined: Undefined | None = None
    ) -> Mean: ...

    @overload
    def by(
        self,
        groups: Iterable[Hashable],
        num_groups: None = None,
        undefined: Undefined | None = None,
    ) -> dict[Hashable, Mean]: ...

    def by(
        self,
        groups: Any,
        num_groups: int | None = None,
        undefined: Undefined | None = None,
    ) -> Mean | dict[Hashable, Mean]:
        """Returns a mean for each group of lists, such as new and returning users.

        Args:
            groups: `[*lists]` integers, or bools for two groups. Lists with a number
                outside 0 … num_groups − 1 belong to no group. If `num_groups` is None,
                the names of the groups, of any kind, as for `Evaluation.by`; this works
                only outside `jax.jit`.
            num_groups: Number of groups; static. None if groups are names.
            undefined: See `mean`.

        Returns:
            States that are stacked along a first axis `[num_groups]`. They can be
            merged with the states of other batches and devices; `reduce` gives the mean
            of all groups together. If groups are names, a dict from names to states.

        Raises:
            TypeError: if groups are not integers, or `num_groups` is not a Python int.
            ValueError: if shapes differ; if `undefined` is another choice.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3), jnp.ones(3, bool))
        >>> states = lists.by(jnp.array([0, 1, 1]), num_groups=2)
        >>> states.compute().tolist(), states.lists.tolist(), states.reduce()
        ([1.0, 0.25], [1, 2], Mean(0.500 ± 0.289, 3 lists, 0 undefined))
        >>> {name: float(state) for name, state in lists.by(["a", "b", "b"]).items()}
        {'a': 1.0, 'b': 0.25}
        """
        undefined = checked_undefined(self, undefined)
        if num_groups is None:
            lists = range(self._list_shape[0] if self._list_shape else 0)
            names = inputs.by_ids("groups", groups, lists, "lists", inputs.keys_of)
            packed = numbered("groups", names)
            states = self.by(packed.segment_ids, packed.num_segments, undefined)
            states = jax.device_get(states)
            return {
                group: jax.tree.map(lambda leaf, at=index: leaf[at], states)
                for index, group in enumerate(packed.ids.tolist())
            }
        num_groups = inputs.positive_integer("num_groups", num_groups)
        if len(self._list_shape) == 1:
            groups = inputs.by_ids("groups", groups, range(*self._list_shape), "lists")
        array = inputs.array("groups", groups)
        # Pass on `groups`, not `array`, because NumPy turns an empty list of integers
        # into floats.
        groups = array if array.dtype == bool else inputs.integers("groups", groups)
        inputs.same_shape("groups", groups, "the lists", self._list_shape)
        return means_by_group(canonical(self), groups, num_groups, undefined)

    def over(self, denominator: "PerList") -> "PerList":
        """Returns values divided by others of the same lists, for ratios of means.

        The mean of the result is Σ weight·value / Σ weight·denominator, a quotient of
        sums; a mean of the lists' ratios would weigh lists by `weight` alone. For
        example, hits over relevant items give micro-averaged recall, and discounted
        gains over ideal gains weigh a list by its ideal gain. The standard error and
        the interval come from a ratio estimator (the delta method). Pure and jittable.

        Let a be a value and b the denominator. If a/b depends on b, a few lists with a
        large b dominate the ratio, and many samples lack such lists: with 100 lists
        whose b is lognormal(1), 95 % intervals contained the true ratio in 89 % of
        simulations. Measure more lists, or compare two systems.

        Args:
            denominator: Values of at least 0, for the same lists with the same weights,
                and with the same cutoffs or without cutoffs.

        Returns:
            The values a/b with the weights weight·b. A list is undefined, with weight 0, if
            b is 0 or undefined; an undefined a counts as 0. If b has cutoffs, weights
            and `defined` also have cutoffs.

        Raises:
            ValueError: if lists, cutoffs or weights differ; if a value of the denominator
                is below 0 or NaN. Inside `jax.jit`, the weights of a are used unchecked; a
                list whose denominator is below 0 is undefined, and a list whose denominator
                is NaN has the value NaN and its own weight.

        References:
            Cochran, Sampling Techniques, 1977, chapter 6 (the ratio estimator).

        >>> weights, known = jnp.ones(3), jnp.ones(3, bool)
        >>> hits = PerList(jnp.array([1.0, 2.0, 0.0]), weights, known)
        >>> relevant = PerList(jnp.array([1.0, 8.0, 0.0]), weights, known)
        >>> hits.over(relevant)  # 3 of 9 items
        PerList([3], mean 0.333, 2 lists, n_eff 1.25, 0 undefined)
        """
        _check_denominator(self, denominator)
        numerator, denominator = canonical((self, denominator))
        values, weights, defined = _ratios(numerator, denominator)
        cutoff_weights = denominator.has_cutoffs or numerator.cutoff_weights
        return PerList(values, weights, defined, self.undefined, cutoff_weights, True)

    def cluster(
        self, ids: Iterable[Hashable] | Any, undefined: Undefined | None = None
    ) -> "PerList":
        """Joins the lists of each cluster, such as a user's sessions, into one list.

        Lists of one user are similar, so 400 sessions of 40 users say less about a mean
        than 400 users. Errors, intervals and tests assume independent lists. The joined
        lists are independent, so their errors, intervals and tests are cluster-robust.
        Their mean stays the same.

        `cluster` runs on the host, outside `jax.jit`, and is exact if all lists of a
        cluster are in one call. Across batches and hosts, pass the ids to `bootstrap`,
        which resamples lists with the same id together.

        Args:
            ids: `[*lists]`, the id of the cluster of each list: integers, strings or any
                keys of dicts, as for `pack`.
            undefined: See `mean`. The choice applies to lists before they are joined.

        Returns:
            A list for each cluster, in the order in which ids first appear
            (`pack(ids).ids` names the clusters). Its value is the weighted mean of the
            cluster's lists, and its weight the sum of their weights. A cluster in which
            no list counts has the weight 0. NumPy arrays give NumPy arrays, and JAX
            arrays give JAX arrays.

        Raises:
            TypeError: if lists or ids are traced, or ids cannot be the keys of a dict.
            ValueError: if the number of ids is not the number of lists, if an id is
                missing, if lists lie on several hosts, or if `undefined` is another
                choice.

        References:
            Deng, Knoblich & Lu, Applying the delta method in metric analytics, KDD 2018.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3), jnp.ones(3, bool))
        >>> users = lists.cluster(["ann", "bob", "ann"])
        >>> users.values.tolist(), users.weights.tolist(), users.mean()
        ([0.5, 0.5], [2.0, 1.0], Mean(0.500 ± 0.000, 2 lists, n_eff 1.8, 0 undefined))
        """
        undefined = checked_undefined(self, undefined)
        values, weights, defined = clusters.joined(self, ids, undefined)
        static = undefined, self.cutoff_weights, self.is_ratio, self.is_share
        return PerList(values, weights, defined, *static)


def checked_undefined(lists: PerList, undefined: Undefined | None) -> Undefined:
    """Returns `undefined`, or the default of the lists if `undefined` is None.

    Raises:
        ValueError: if `undefined` is another choice.
    """
    choice = lists.undefined if undefined is None else undefined
    inputs.option("undefined", choice, Undefined)
    return choice


def undefined_unless(lists: PerList, is_kept: np.ndarray | jax.Array) -> PerList:
    """Returns the same lists, after making the lists that are not kept undefined.

    Args:
        lists: Values of NumPy, or of JAX.
        is_kept: `[*lists]` bool, a NumPy or JAX array like the values.
    """
    defined = lists.defined & arithmetic.widen(is_kept, lists.defined)
    values = arithmetic.where_kept(defined, lists.values, 0)
    return dataclasses.replace(lists, values=values, defined=defined)


def weighed_by(lists: PerList, weights: np.ndarray | jax.Array) -> PerList:
    """Returns lists whose weights are multiplied; lists with the factor 0 do not count.

    Args:
        lists: Values of NumPy, or of JAX.
        weights: `[*lists]`, the factors, at least 0, in a NumPy or JAX array like the
            values.
    """
    factors = arithmetic.widen(weights, lists.weights).astype(lists.weights.dtype)
    return dataclasses.replace(
        undefined_unless(lists, weights > 0), weights=lists.weights * factors
    )


def _check_denominator(a: PerList, b: PerList) -> None:
    """Raises ValueError unless b may divide a; see `PerList.over`."""
    shapes = [jnp.shape(lists.values) for lists in (a, b)]
    if a.has_cutoffs and b.has_cutoffs and shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"the numerator has values of shape {shapes[0]} and the denominator of "
            f"{shapes[1]}; pass values of the same cutoffs"
        )
    list_arrays.check_same_weights(a, b, ("the numerator", "the denominator"))
    if not all(map(inputs.is_readable, (b.values, b.weights, b.defined))):
        return
    values, _, defined = list_arrays.columns_of(b)
    is_wrong = ~(values >= 0) & defined  # unlike "< 0", this is True for NaN
    if is_wrong.any():
        index, column = inputs.first_index(is_wrong)
        raise ValueError(
            f"the denominator is {values[index, column]:g} in list {index}; pass values of "
            "at least 0"
        )


@jax.jit
def _ratios(a: PerList, b: PerList) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Computes the values, weights and `defined` of `PerList.over`.

    Weights and `defined` have cutoffs if b has cutoffs or the weights of a have them.
    """
    num_axes = len(list_arrays.list_shape_of(a))
    a, b = shards.align_with_sharded((a, b), num_axes)

    def with_cutoffs(x: jax.Array) -> jax.Array:
        return x[..., None] if x.ndim == num_axes else x

    dtype = inputs.float_dtype(a.values, b.values, a.weights)
    numerator, denominator = (
        arithmetic.where_kept(lists.defined, lists.values, 0).astype(dtype)
        for lists in (a, b)
    )
    weights, is_counted = a.weights.astype(dtype), b.defined & (b.weights > 0)
    if a.has_cutoffs or b.has_cutoffs:
        numerator = with_cutoffs(numerator)
        if b.has_cutoffs or a.cutoff_weights:
            denominator, weights, is_counted = map(
                with_cutoffs, (denominator, weights, is_counted)
            )
    values = arithmetic.ratio(numerator, arithmetic.widen(denominator, numerator))
    # If the divisor is NaN, make the value NaN and keep the weight, so that sums become
    # NaN.
    is_unknown = is_counted & jnp.isnan(denominator)
    values = jnp.where(arithmetic.widen(is_unknown, values), jnp.nan, values)
    denominator = jnp.where(is_unknown, jnp.ones_like(denominator), denominator)
    defined = is_counted & (denominator > 0)
    weights = jnp.where(defined, weights * denominator, 0)
    if weights.ndim > num_axes:
        weights, defined = (
            jnp.broadcast_to(array, values.shape) for array in (weights, defined)
        )
    return jnp.where(arithmetic.widen(defined, values), values, 0), weights, defined
