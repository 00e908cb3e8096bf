"""Metrics by name: `name[(option=value, …)][@k[,k…]]`, in the field's terms."""

import ast
import difflib
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jax_rank_metrics import _gains, _inputs
from jax_rank_metrics._formulas.cumulated_gain import cg, dcg, ndcg
from jax_rank_metrics._formulas.hits import (
    f_score,
    hit_rate,
    precision,
    r_precision,
    recall,
)
from jax_rank_metrics._formulas.positions import average_precision, reciprocal_rank
from jax_rank_metrics._metric import Bound, Metric

Metrics = str | Sequence[str] | Mapping[str, Any]

# Every public name, with what it is; the first of each metric is its own.
NAMES: dict[str, Metric[...]] = {
    **dict.fromkeys(("cg",), cg),
    **dict.fromkeys(("dcg",), dcg),
    **dict.fromkeys(("ndcg",), ndcg),
    **dict.fromkeys(("precision", "p", "prec"), precision),
    **dict.fromkeys(("recall", "r"), recall),
    **dict.fromkeys(("f_score", "f", "f1"), f_score),
    **dict.fromkeys(("hit_rate", "hr", "hit", "success"), hit_rate),
    **dict.fromkeys(("average_precision", "ap", "map"), average_precision),
    **dict.fromkeys(("reciprocal_rank", "rr", "mrr"), reciprocal_rank),
    **dict.fromkeys(("r_precision", "rprec"), r_precision),
}
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

_GRAMMAR = re.compile(
    r"\s*(?P<name>[\w\-]+)\s*(?P<options>\(.*\))?\s*(@(?P<k>[^@]*))?\s*"
)


def parse(text: str) -> Bound:
    """A metric from its name.

    >>> parse("recall(rel=2)@1,5")
    Bound(name='recall(rel=2)@1,5', metric=jax_rank_metrics.recall, \
own=(('k', (1, 5)), ('relevance_threshold', 2)))

    Raises:
        ValueError: if the text is not a name, or an option's value is none.
        TypeError: if the metric has no such option.
    """
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise ValueError(
            f"metric name {text!r} is not of the form name(option=value)@k; pass, for "
            "example, 'ndcg@10', 'recall@1,5' or 'ap(denominator=hits)@5'"
        )
    name = match["name"].lower().replace("-", "_")
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(
            f"metric name {text!r}: {match['name']!r} is unknown; {hint or 'pass'} "
            f"{'Known are' if hint else 'one of'} {', '.join(NAMES)}"
        )
    own = _options(text, match["options"])
    if match["k"] is not None:
        if "k" in own:
            raise ValueError(f"metric name {text!r} gives k twice; pass it after @")
        own["k"] = _cutoffs(text, match["k"])
    return NAMES[name].bind((), own)._replace(name=text)


def bind_all(metrics: Metrics) -> tuple[Bound, ...]:
    """Metrics under the names of their results, from names or from a dict."""
    if isinstance(metrics, str):
        metrics = (metrics,)
    if isinstance(metrics, Mapping):
        bounds = [_bind(name, value) for name, value in metrics.items()]
    else:
        bounds = [_parse_one(text) for text in metrics]
    if not bounds:
        raise ValueError("metrics is empty; pass at least one, such as ('ndcg@10',)")
    names = [bound.name for bound in bounds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"metrics names {repeated[0]!r} twice; pass each once")
    return tuple(bounds)


def cutoff_names(name: str, count: int) -> list[str]:
    """A name for every cutoff of a result: 'recall@1,5' is 'recall@1' and 'recall@5'."""
    head, at, tail = name.rpartition("@")
    ks = [k.strip() for k in tail.split(",")]
    if at and len(ks) == count:
        return [f"{head}@{k}" for k in ks]
    return [f"{name}[{place}]" for place in range(count)]


def _parse_one(text: Any) -> Bound:
    if not isinstance(text, str):
        raise TypeError(
            f"metrics holds {text!r}; pass names, or a dict of names to metrics"
        )
    return parse(text)


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
        if option not in metric.options and option in metric.__signature__.parameters:
            raise TypeError(
                f"metrics: {name!r} sets {option!r}, which is of the ranking all metrics "
                f"share; pass {option} to the call instead"
            )
    return metric.bind(args, own)._replace(name=name)


def _cutoffs(text: str, ks: str) -> int | tuple[int, ...]:
    try:
        cutoffs = tuple(int(k) for k in ks.split(","))
    except ValueError as error:
        raise ValueError(
            f"metric name {text!r}: {ks!r} after @ is not a list of integers; pass, for "
            "example, @10 or @1,5,10"
        ) from error
    _inputs.cutoffs(cutoffs)
    return cutoffs[0] if len(cutoffs) == 1 else cutoffs


def _options(text: str, options: str | None) -> dict[str, Any]:
    if options is None:
        return {}
    try:
        call = ast.parse(f"f{options}", mode="eval").body
    except SyntaxError as error:
        raise ValueError(
            f"metric name {text!r}: cannot read {options!r}; pass (option=value, …)"
        ) from error
    if (
        not isinstance(call, ast.Call)
        or call.args
        or None in [k.arg for k in call.keywords]
    ):
        raise ValueError(f"metric name {text!r}: pass options as (option=value, …)")
    return {
        SHORT.get(str(keyword.arg), str(keyword.arg)): _value(text, keyword.value)
        for keyword in call.keywords
    }


def _value(text: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return FUNCTIONS.get(node.id, node.id)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and not node.keywords
    ):
        function = FUNCTIONS.get(node.func.id)
        if isinstance(function, type):
            return function(*(_value(text, arg) for arg in node.args))
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise ValueError(
            f"metric name {text!r}: {ast.unparse(node)!r} is no value; pass a Python "
            "literal, or the name of an option, a gain or a discount"
        ) from error
