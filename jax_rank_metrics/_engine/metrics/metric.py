"""`jrm.metric`: makes a metric of a formula over a `Ranking`, and registers its names."""

from __future__ import annotations  # `help` shows the names of types, not their unions

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec

from jax_rank_metrics._engine import by_options
from jax_rank_metrics._engine.metrics import run
from jax_rank_metrics._engine.metrics.spec import Bound, Spec
from jax_rank_metrics._engine.places import soft_places
from jax_rank_metrics._engine.ranking.ranking import Ranking
from jax_rank_metrics._engine.sources import item_columns as item_columns_
from jax_rank_metrics._engine.sources import list_arguments
from jax_rank_metrics._ground import inputs, messages, shares, types
from jax_rank_metrics._names import facts, grammar, trec
from jax_rank_metrics._values import mean
from jax_rank_metrics._values.per_list import PerList

P = ParamSpec("P")


class Metric(Generic[P]):
    """A metric: a function that returns a mean, with two other forms.

    `metric(labels, scores, …)` returns the mean over all lists, `metric.per_list(…)` the
    value of every list, and `metric.of(ranking, …)` the values of a ranking that exists
    already. The first two accept the arguments of `rank`, except `k`: a metric that has
    cutoffs has its own option of that name.
    """

    spec: Spec
    __name__: str
    __qualname__: str

    def __init__(self, spec: Spec, state: type[mean.Mean] = mean.Mean) -> None:
        """Makes a metric with the name and the docstring of its formula."""
        functools.update_wrapper(self, spec.formula, updated=())
        self.spec = spec
        self.state = state  # what its values are aggregated into
        self.__signature__ = _signature(
            spec, [*_LISTS, _UNDEFINED, *_LIST_OPTIONS], mean.Mean
        )

    def __get__(self, instance: object, owner: object = None) -> Metric[P]:
        """Returns the metric; `help` shows an object with this method as a function."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickles by reference, as functions do."""
        if self.state is not mean.Mean:
            return with_state, (NAMES[self.spec.name.lower()], self.state)
        return self.__qualname__

    def __repr__(self) -> str:
        """Returns `<metric ndcg>`."""
        return f"<metric {self.__qualname__}>"

    if TYPE_CHECKING:
        # The signatures that editors complete. The `ListOptions` are spelled out, because a
        # type cannot unpack them beside a ParamSpec. Nor can it say that all arguments
        # after the key must be passed by name, as calls require.

        def __call__(
            self,
            labels: types.Labels,
            scores: types.Scores,
            mask: types.Mask | None = None,
            weights: types.Weights | None = None,
            key: types.Key | None = None,
            undefined: types.Undefined = "zero",
            ties: types.Ties | None = None,
            list_weights: types.ListWeights | None = None,
            segment_ids: types.SegmentIds | None = None,
            num_segments: int | None = None,
            items_axis: types.AxisNames | None = None,
            retrieved: types.Mask | None = None,
            columns: types.Columns | None = None,
            relax: soft_places.sigmoid_ranks | None = None,
            *args: P.args,
            **options: P.kwargs,
        ) -> mean.Mean: ...

        def per_list(
            self,
            labels: types.Labels,
            scores: types.Scores,
            mask: types.Mask | None = None,
            weights: types.Weights | None = None,
            key: types.Key | None = None,
            ties: types.Ties | None = None,
            list_weights: types.ListWeights | None = None,
            segment_ids: types.SegmentIds | None = None,
            num_segments: int | None = None,
            items_axis: types.AxisNames | None = None,
            retrieved: types.Mask | None = None,
            columns: types.Columns | None = None,
            relax: soft_places.sigmoid_ranks | None = None,
            *args: P.args,
            **options: P.kwargs,
        ) -> PerList: ...

        def of(
            self, ranking: Ranking, *args: P.args, **options: P.kwargs
        ) -> PerList: ...

    else:

        def __call__(self, *args, undefined="zero", **arguments):
            """Returns the mean over all lists, as a mergeable state."""
            inputs.option("undefined", undefined, types.Undefined)
            (bound,), lists = _bind(self.spec, *args, **arguments)
            bounds = (bound._replace(state=self.state),)
            return run.mean_lists(bounds, lists, undefined)[self.spec.name]

        @functools.cached_property
        def per_list(self):
            """The value of every list, a function of the arguments of the metric."""

            def per_list(*args, **arguments):
                """Returns the value of every list, from the arguments of the metric."""
                bounds, lists = _bind(self.spec, *args, **arguments)
                return run.measure_lists(bounds, lists)[self.spec.name]

            return _form(self, per_list, [*_LISTS, *_LIST_OPTIONS])

        @functools.cached_property
        def of(self):
            """The value of every list, a function of a ranking."""

            def of(ranking, *args, **options):
                """Returns the value of every list of a ranking that exists already."""
                bound = self.spec.bind(args, options)
                return run.measure_ranking((bound,), ranking)[self.spec.name]

            return _form(self, of, [_RANKING])


def _bind(
    spec: Spec,
    labels: Any = None,
    scores: Any = None,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    key: types.Key | None = None,
    *args: object,
    **arguments: Any,
) -> tuple[tuple[Bound], list_arguments.ScoredLists]:
    """Splits the metric's options from the arguments of lists, and checks both."""
    if spec.prepared or not spec.reads_labels:
        _check_item_columns(spec, arguments.get("columns"))
    if scores is None:
        raise TypeError(
            f"{spec.name} needs labels and scores; pass both, or pass a ranking as "
            f"{spec.name}.of(ranking)"
        )
    options = {
        name: arguments.pop(name)
        for name in arguments.keys() - list_arguments.ListOptions.__annotations__.keys()
    }
    bound = spec.bind(args, options)
    return (bound,), list_arguments.checked(
        labels, scores, mask, weights, key, **arguments
    )


def _check_item_columns(spec: Spec, columns: types.Columns | None) -> None:
    """Raises if a metric is called without the item columns that it reads."""
    missing = [name for name in spec.item_columns if name not in (columns or {})]
    if missing:
        facts_of_items = ", ".join(f"{name!r}: {name}" for name in missing)
        k = ", k=10" if "k" in spec.options else ""
        is_own = not str(spec.formula.__module__).startswith(messages.PACKAGE)
        call = f"{'' if is_own else 'jrm.'}{spec.name}.of"
        ids = "ids, relevant_ids" if spec.reads_labels else "ids"
        raise TypeError(
            f"{spec.name} reads the column {missing[0]!r} of ranked items; write "
            f"{call}(jrm.rank_ids({ids}, item_columns={{{facts_of_items}}}){k})"
        )


# A dict from the id of each type in `types` to its name there. It is keyed by identity,
# because equal types have several names.
_TYPE_NAMES = {id(alias): name for name, alias in vars(types).items()}


def _named(parameter: inspect.Parameter) -> inspect.Parameter:
    """Returns a parameter whose type appears under its name in `types`."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        return parameter.replace(annotation=annotation.replace("types.", ""))
    return parameter.replace(annotation=_TYPE_NAMES.get(id(annotation), annotation))


def _by_name(name: str, annotation: object, default: object) -> inspect.Parameter:
    """Returns a parameter that is passed by name."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return _named(inspect.Parameter(name, kind, default=default, annotation=annotation))


# The parameters of metrics, for `help`: labels to key, then the options of `rank`.
_LISTS = [*map(_named, inspect.signature(list_arguments.checked).parameters.values())][
    :-1
]
_LIST_OPTIONS = [
    _by_name(name, reference.__forward_arg__, None)
    for name, reference in list_arguments.ListOptions.__annotations__.items()
]
_UNDEFINED = _by_name("undefined", "Undefined", "zero")
_RANKING = inspect.Parameter(
    "ranking", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Ranking"
)


def _signature(
    spec: Spec, parameters: Sequence[inspect.Parameter], returns: type
) -> inspect.Signature:
    """Returns the signature for `help`: these parameters, then the metric's options."""
    _, *taken = inspect.signature(spec.formula).parameters.values()
    options = [_by_name(field.name, field.annotation, field.default) for field in taken]
    return inspect.Signature([*parameters, *options], return_annotation=returns)


def _form(
    metric: Metric[...],
    function: Callable[..., PerList],
    parameters: Sequence[inspect.Parameter],
) -> Callable[..., PerList]:
    """Makes a form of a metric look like a function beside its formula."""
    function.__module__ = metric.__module__
    function.__qualname__ = f"{metric.__qualname__}.{function.__name__}"
    function.__signature__ = _signature(metric.spec, parameters, PerList)  # type: ignore
    return function


@functools.cache
def with_state(metric: Metric[...], state: type[mean.Mean]) -> Metric[...]:
    """Returns the metric with another state for its values, as "gm_map" has."""
    return metric if state is metric.state else Metric(metric.spec, state)


# Every registered name, in lower case.
NAMES: dict[str, Metric[...]] = {}


def parse(text: object) -> Bound:
    """Returns the metric that a name stands for, bound to the options in the name.

    >>> parse("mrr(rel=2)@1,5").options
    (('k', (1, 5)), ('rank', None), ('relevance_threshold', 2))
    >>> parse("recall.5,10").k  # as trec_eval writes it
    (5, 10)

    Raises:
        ValueError: if the text is not a name, or the value of an option is not a literal.
        TypeError: if it is not a string, or the metric has no such option.
    """
    if not isinstance(text, str):
        message = f"metrics holds {text!r}; pass names, or a dict of names to metrics"
        raise TypeError(messages.short(message))
    return _parsed(text)


@functools.lru_cache(maxsize=1024)
@messages.short_errors()
def _parsed(text: str) -> Bound:
    """Parses a name, and keeps the result until another metric is registered."""
    name, options = grammar.read(text)
    try:
        bound = NAMES[name].spec.bind(
            (),
            {
                option: parse(value) if isinstance(value, grammar.MetricName) else value
                for option, value in options
            },
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"metric name {text!r}: {error}") from error
    return bound._replace(name=text, state=mean.STATES[facts.FACTS[name].mean])


def metric(
    *,
    names: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    ties: types.TieReading | Callable[[dict[str, Any]], types.TieReading] = "expected",
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    order_columns: Sequence[str] = (),
    order_free: bool | Callable[[dict[str, Any]], bool] = False,
    at: str = "k",
    lower_is_better: bool | None | Callable[[dict[str, Any]], bool | None] = False,
    is_share: bool | Callable[[dict[str, Any]], bool] = False,
    linear: bool = False,
    item_columns: Sequence[str] | Mapping[str, item_columns_.Prepare | None] = (),
    reads_labels: bool = True,
) -> Callable[[Callable[Concatenate[Ranking, P], PerList]], Metric[P]]:
    """Makes a metric of a formula, and registers its names.

    A formula is a function of a `Ranking` and of keyword-only options, each hashable and
    with a default; an option `k` holds the cutoffs. It reads the ranking through
    `expected_sum`, `expected_first` and totals over the pool, and returns
    `ranking.per_list(…)`. Such a formula is right on every layout and under every tie
    policy.

    Args:
        names: Further names of the metric for `evaluate` and `measure`, in lower case;
            the name of the function is always one. A dict maps each to the options that
            it stands for: `{"nerr": {"normalized": True}}`.
        ties: How the formula reads tied items if the caller chose no policy; or a
            function of the options that returns one of these values.

            - "expected": it reads tie groups, and returns the exact mean over all orders
              of tied items.
            - "order": it needs one definite order, which is by hash if there is no key.
            - "own": it reads tie groups under every policy, by a rule of its own.
        columns: Columns that the formula reads beside the labels; calls must pass them in
            `columns=`.
        optional_columns: Columns that calls may omit; the formula looks for them in
            `items.columns`.
        order_columns: Optional columns; if a call passes one, the formula needs one
            definite order, whatever `ties` says.
        order_free: True if the formula uses the order only through `expected_first` with a
            Boolean `stop_fn` and no `value_fn`. The first item that stops is then found by
            counting, without a sort. Or a function of the options that returns this.
        at: The option that `@` sets in a name. If it is a tuple, the values have a last
            axis with one entry for each of its elements.
        lower_is_better: True for errors and costs; None if neither direction is better,
            as for a count; or a function of the options that returns one of these values.
            Tables, comparisons and plots read the direction to tell which system is better.
        is_share: True if all values lie in [0, 1]: the mean of values that are all 0 or 1
            then has the interval of a proportion. Or a function of the options that
            returns this.
        linear: True if the value of a list is a sum over its items, in which each item adds
            a function of its label times a factor that depends on its rank, and the
            divisor of the sum depends on no label. `residual` takes such metrics.
        item_columns: Further columns that the formula reads, with properties of items, such
            as a price: calls pass them in `item_columns=` if items are known by id, and
            otherwise in `columns=`. A catalogue knows the columns of unlisted items only
            by their total, so functions of items must be linear in them; this is tested,
            and a function that is not linear raises. A dict maps names to functions that
            prepare a whole column, `[num_items, …]`, once: with `{"price": jnp.log}` the
            formula reads the logarithm of the price, in which it is linear. None prepares
            nothing. Rows in `columns=` are read unchanged, so pass them prepared.
        reads_labels: False if the formula reads no labels. It then also measures rankings
            without relevant ids.

    Raises:
        ValueError: if another metric has one of the names, or a linear metric needs
            columns.

    >>> import jax.numpy as jnp
    >>> import jax_rank_metrics as jrm
    >>> def label(items):
    ...     return items.labels
    >>> @metric(names=("top",))
    ... def top_label(ranking, *, k=1):
    ...     ks = ranking.cutoffs(k)
    ...     values = ranking.expected_sum(label, jrm.positions(), ks)
    ...     return ranking.per_list(values, True, k, label)
    >>> state = jrm.evaluate("top@1", jnp.array([2, 3]), jnp.array([0.9, 0.9]))["top@1"]
    >>> f"{state.compute():.1f}"  # either may be first
    '2.5'
    """

    def register(formula: Callable[Concatenate[Ranking, P], PerList]) -> Metric[P]:
        _, *parameters = inspect.signature(formula).parameters.values()
        name = formula.__name__
        if linear and (columns or item_columns):
            raise ValueError(
                f"{name}: a metric with linear=True reads labels alone; leave out columns"
            )
        presets = names if isinstance(names, Mapping) else dict.fromkeys(names, {})
        _refuse_taken(formula, (name, *presets))
        functions = (
            item_columns
            if isinstance(item_columns, Mapping)
            else dict.fromkeys(item_columns)
        )
        prepared = [
            (column, item_columns_.register(column, function, name))
            for column, function in functions.items()
            if function is not None
        ]
        spec = Spec(
            name=name,
            formula=formula,
            options={parameter.name: parameter.default for parameter in parameters},
            tie_reading=ties,
            columns=(*columns, *functions),
            optional_columns=tuple(optional_columns),
            order_free=order_free,
            at=at,
            is_share=is_share,
            linear=linear,
            item_columns=(*functions,),
            prepared=(*prepared,),
            reads_labels=reads_labels,
            order_columns=tuple(order_columns),
        )
        registered: Metric[P] = Metric(spec)
        ks = spec.options.get(at)
        ks = ks if isinstance(ks, tuple) else ()
        texts = [str(k) if isinstance(k, shares.share) else f"{k:g}" for k in ks]
        _register(
            registered,
            {
                alias: facts.Facts(
                    is_metric=True,
                    reads_labels=reads_labels,
                    lower_is_better=lower_is_better,
                    mean="geometric" if alias in trec.GEOMETRIC else "lists",
                    options=spec.options,
                    preset=preset,
                    at=at,
                    cutoffs=(*texts,),
                )
                for alias, preset in {name: {}, **presets}.items()
            },
        )
        return registered

    return register


def _are_same(old: Spec, new: Spec) -> bool:
    """True if the new metric does the same as the old one, or replaces it on purpose.

    A function at module level is replaced on purpose, as when a notebook cell runs again.
    """
    return "<locals>" not in new.formula.__qualname__ or (
        old.prepared == new.prepared
        and by_options.do_the_same(old.formula, new.formula)
    )


def _refuse_taken(formula: Callable[..., Any], names: Iterable[str]) -> None:
    """Raises ValueError if the metric of another formula has one of the names."""
    origin = formula.__module__, formula.__qualname__
    for name in names:
        known = NAMES.get(name.lower())
        # A cell of a notebook may run twice.
        if known and (known.__module__, known.__qualname__) != origin:
            raise ValueError(
                f"metric name {name!r} is taken by {known.__name__}; choose another"
            )


def _register(
    registered: Metric[...], facts_by_name: Mapping[str, facts.Facts]
) -> None:
    """Adds a metric, and the facts about each of its names, to the registries."""
    replaced: set[tuple[str, str]] = set()
    for name in facts_by_name:
        known = NAMES.get(name.lower(), registered)
        if _are_same(known.spec, registered.spec):
            replaced.update(known.spec.prepared)
        else:
            messages.warn(
                f"the metric {name!r} of {registered.__qualname__} replaces another metric "
                "of the same name, which evaluate then no longer finds by its name; set "
                "the __name__ of each function before jrm.metric()(function)"
            )
    NAMES.update((name.lower(), registered) for name in facts_by_name)
    facts.FACTS.update((name.lower(), known) for name, known in facts_by_name.items())
    read = {pair for metric in NAMES.values() for pair in metric.spec.prepared}
    item_columns_.forget(replaced - read)
    _parsed.cache_clear()
