"""Metrics by name: `name[(option=value, …)][@k[,k…]]`, in the field's terms."""

import ast
import difflib
import functools
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax

from jax_rank_metrics import _gains, _inputs
from jax_rank_metrics._calls import trec
from jax_rank_metrics._calls.metric import NAMES, Metric
from jax_rank_metrics._calls.run import SHARED, Bound
from jax_rank_metrics._states.geometric import GeometricMean
from jax_rank_metrics._states.mean import Mean

Metrics = str | Sequence[str] | Mapping[str, Any]

SHORT = {"rel": "relevance_threshold"}
FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        _gains.exponential_gain,
        _gains.linear_gain,
        _gains.log2_discount,
        _gains.log_discount,
        _gains.reciprocal_discount,
    )
}

# Names that say what is kept of the metric, where that is not the `Mean`.
STATES: dict[str, type[Mean]] = {"gm_map": GeometricMean}

# Functions that are no metrics of labels, but after which results are named.
_LOWER_IS_BETTER = {"popularity": True}

# What Python's parser raises for text that it cannot read, or that is too deep for it.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

_GRAMMAR = re.compile(
    r"\s*(?P<name>[\w\-]+(?:\.\d+)?)\s*(?P<options>\(.*\))?\s*(@(?P<k>[^@]*))?\s*"
)


def parse(text: Any) -> Bound:
    """A metric from its name.

    >>> parse("mrr(rel=2)@1,5").own
    (('k', (1, 5)), ('relevance_threshold', 2))

    Raises:
        ValueError: if the text is not a name, or an option's value is none.
        TypeError: if it is no text, or the metric has no such option.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"metrics holds {text!r}; pass names, or a dict of names to metrics"
        )
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise ValueError(
            f"metric name {text!r} is not of the form name(option=value)@k; pass, for "
            "example, 'ndcg@10', 'recall@1,5' or 'ap(denominator=hits)@5'"
        )
    name = match["name"].lower().replace("-", "_")
    name, meant = trec.meaning(name)
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(
            f"metric name {text!r}: {match['name']!r} is unknown; {hint or 'pass'} "
            f"{'Known are' if hint else 'one of'} {', '.join(NAMES)}"
        )
    try:
        spec = NAMES[name].spec
        given = [*meant, *_options(match["options"])]
        if match["k"] is not None:
            given.append((spec.at, _cutoffs(match["k"], spec.at)))
        bound = spec.bind((), dict(given))
    except (TypeError, ValueError) as error:
        raise type(error)(f"metric name {text!r}: {error}") from error
    options = [option for option, _ in given]
    for option in options:
        if options.count(option) > 1:
            cure = "each option once"
            if match["k"] and option == spec.at:
                cure = "it after @"
            raise ValueError(f"metric name {text!r} gives {option} twice; pass {cure}")
    return bound._replace(name=text, state=STATES.get(name, Mean))


def lower_is_better(name: str) -> bool | None:
    """Whether lower values of the metric of this name are better.

    Takes the names of results: as typed, and as `compute(…, flat=True)` writes them.

    >>> lower_is_better("fall_out(rel=2)@10"), lower_is_better("ndcg@10")
    (True, False)

    Returns:
        None for a metric of which neither high nor low values are better; False for a
        name that is not the name of a metric.
    """
    metric = name.partition("@")[0].strip().lower()
    if metric in _LOWER_IS_BETTER:
        return _LOWER_IS_BETTER[metric]
    try:
        return parse(re.sub(r"\[\d+\]$", "", name)).spec.lower_is_better
    except (TypeError, ValueError):
        return False


def bind_all(metrics: Metrics) -> tuple[Bound, ...]:
    """Metrics under the names of their results, from names or from a dict."""
    if isinstance(metrics, str):
        metrics = (metrics,)
    if not isinstance(metrics, Iterable) or isinstance(metrics, jax.Array):
        example = "{'ndcg': jrm.ndcg}"
        raise TypeError(
            f"metrics: got {_inputs.kind_of(metrics)}; pass names such as 'ndcg@10', or "
            f"a dict of names to metrics such as {example}"
        )
    if isinstance(metrics, Mapping):
        bounds = [_bind(name, value) for name, value in metrics.items()]
    else:
        bounds = [one if isinstance(one, Bound) else parse(one) for one in metrics]
    if not bounds:
        raise ValueError("metrics is empty; pass at least one, such as ('ndcg@10',)")
    names = [bound.name for bound in bounds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"metrics names {repeated[0]!r} twice; pass each once")
    return tuple(bounds)


def _bind(name: Any, value: Any) -> Bound:
    if not isinstance(name, str):
        raise TypeError(f"metrics: key {name!r} is not a string; pass names as keys")
    own: dict[str, Any] = {}
    metric, args = value, ()
    if isinstance(value, functools.partial):
        metric, args, own = value.func, value.args, value.keywords
    if not isinstance(metric, Metric):
        raise TypeError(
            f"metrics: {name!r} is {value!r}; pass a metric such as jrm.ndcg, or "
            "functools.partial(jrm.ndcg, k=10)"
        )
    for option in own:
        if option not in metric.spec.options and option in SHARED:
            raise TypeError(
                f"metrics: {name!r} sets {option!r}, which is of the ranking all metrics "
                f"share; pass {option} to the call instead"
            )
    return metric.spec.bind(args, own)._replace(name=name)


def _cutoffs(ks: str, of: str) -> Any:
    kind: Any = int if of == "k" else float
    try:
        cutoffs = tuple(kind(k) for k in ks.split(","))
    except ValueError as error:
        kinds = "integers" if of == "k" else "numbers"
        raise ValueError(
            f"{ks!r} after @ is not a list of {kinds}; pass, for example, @10 or @1,5,10"
        ) from error
    return cutoffs[0] if len(cutoffs) == 1 else cutoffs


def _options(options: str | None) -> list[tuple[str, Any]]:
    try:
        call = ast.parse(f"f{options or '()'}", mode="eval").body
    except _UNREADABLE as error:
        raise ValueError(f"cannot read {options!r}; pass (option=value, …)") from error
    # `(a=1)(b=2)` calls what `(a=1)` gives; only one pair of brackets is of a name.
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.args
        or None in [k.arg for k in call.keywords]
    ):
        raise ValueError("pass options once, as (option=value, …)")
    return [
        (SHORT.get(str(one.arg), str(one.arg)), _value(one.value))
        for one in call.keywords
    ]


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        found = FUNCTIONS.get(node.id, node.id)
        if isinstance(found, type):
            needed = " and ".join(inspect.signature(found).parameters)
            raise ValueError(
                f"{node.id} needs a {needed}; pass, for example, {node.id}(2)"
            )
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = FUNCTIONS.get(node.func.id)
        if isinstance(function, type):
            args = [_value(arg) for arg in node.args]
            own = {str(k.arg): _value(k.value) for k in node.keywords}
            try:
                inspect.signature(function).bind(*args, **own)
                return function(*args, **own)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{ast.unparse(node)!r}: {error}; pass, for example, "
                    f"{node.func.id}(2)"
                ) from error
    try:
        return ast.literal_eval(node)
    except (TypeError, *_UNREADABLE) as error:
        raise ValueError(
            f"{ast.unparse(node)!r} is no value; pass a Python literal, or the name of an "
            "option, a gain or a discount"
        ) from error
