"""`jrm.signature`: the choices behind a number as a text, which is read back."""

import functools
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_rank_metrics import _gains, _trec
from jax_rank_metrics._calls import names
from jax_rank_metrics._messages import short_errors
from jax_rank_metrics._metrics.metric import Metric
from jax_rank_metrics._metrics.spec import THRESHOLD, Bound, Spec
from jax_rank_metrics._share import share
from jax_rank_metrics._states.cutoff_names import cutoff_names
from jax_rank_metrics._states.mean import GeometricMean, Mean

# The version of all definitions; CHANGELOG.md says when one has changed.
DEFINITION = "1"

# The words of `conformance/` for metrics and options, and for functions.
_WORDS = {
    "average_precision": "ap",
    "reciprocal_rank": "rr",
    "expected_reciprocal_rank": "err",
    "rank_biased_precision": "rbp",
    "roc_auc": "auc",
    THRESHOLD: "rel",
    "gain_fn": "gain",
    "discount_fn": "discount",
    "max_label": "max_grade",
}
_FUNCTIONS: Mapping[Any, str] = {
    _gains.log_discount(2): "log2",
    _gains.log2_discount: "log2",
    _gains.log_discount(math.e): "ln",
    _gains.log2_rank_discount: "jk2002",
    _gains.reciprocal_discount: "reciprocal",
    _gains.exponential_gain: "exp2",
    _gains.linear_gain: "linear",
}
_BY_WORD = {word: function for function, word in _FUNCTIONS.items()}

# What other definitions of a metric do otherwise, and the package offers no choice of.
_FIXED = {
    "ndcg": {"threshold": "none", "ideal": "judged"},
    "dcg": {"threshold": "none"},
    "auc": {"depth": "returned"},
    "bpref": {"denominator": "least"},
    "err": {"worth": "exp2", "beyond": "clipped"},
    "rbp": {"beyond": "clipped"},
    "alpha_ndcg": {"ideal": "greedy"},
}

# The choices of rankings, means and files; the first is that of definition 1. A number may
# stand for "none".
_CHOICES = {
    "ties": "expected input input-reversed id-desc id-asc best worst random user-hash",
    "duplicates": "first error removed last",
    "rows": "error first last max",
    "unjudged": "zero removed",
    "negative": "removed zero unjudged error",
    "undefined": "zero one skip",
    "nan": "nan error last first",
    "infinite": "ranked unretrieved error",
    "scores": "float64 float32",
    "queries": "judged both listed run",
    "mean": "lists pooled geometric",
    "cut": "none",
    "relax": "none",
}
# Ties as `rank` and `join` call them, and as metrics read them by default.
_TIES = {"stable": "input", "trec": "id-desc", "tied": "expected"}
_READINGS = {"expected": "expected", "order": "hash", "own": "own"}

# What may stand beside a definition: facts about a number.
_FACTS = ("lists", "undefined-lists", "jrm")


class Signature(str):
    """The signature of a number, as `signature` makes it: the short form as a string.

    Two signatures are equal if all of their choices are.

    Attributes:
        fields: The choice of every option, also of those that the short form leaves out.
        long: The long form, which names all of them.
    """

    __slots__ = ()

    @property
    def fields(self) -> dict[str, str]:
        """The metric, its cutoffs, and the choice of every option, by name."""
        return fields(self)

    @property
    def long(self) -> str:
        """The long form: a field for every option."""
        head = self.partition("|")[0]
        _, *choices = self.fields.items()
        return "|".join([head, *(f"{x}:{y}" for x, y in choices["@" in head :])])


def signature(
    metric: str | Bound | Metric[...] | functools.partial[Mean],
    **choices: str | float | None,
) -> Signature:
    """Names the definition of a number: its metric, with all choices that can change it.

    Options and choices have the words of the conformance vectors. The short form, which is
    the string itself, names what differs from definition 1, the defaults of the package in
    this release; the attribute `long` names all.

    Args:
        metric: A name such as "ndcg@10", a metric, or a `functools.partial` of one.
        **choices: What belongs to rankings, means and files; None is definition 1.

            - `ties`: as for `rank` and `join`, or "input" for "stable" and "id-desc" for
              "trec", "input-reversed" and "id-asc". Metrics without a formula over ties
              have "hash" by default, and those with a rule of their own "own".
            - `duplicates`, of an id in a list: "first", "removed", "last" or "error", as in
              tables, and `rows`, of which of them stay: "first", "last", "max" or "error".
            - `unjudged`, documents without a judgement: "zero" or "removed".
            - `negative`, labels below 0: "removed", "zero", "unjudged" or "error".
            - `undefined`: as for `PerList.mean`.
            - `nan`: "nan", "error", "last" or "first"; `infinite`, scores of −∞: "ranked",
              "unretrieved" or "error"; `scores`: "float64", or "float32" if rounded.
            - `queries`: "judged", or "both" for those that the run has as well.
            - `mean`: "lists", or "geometric" as for "gm_map".
            - `cut`: how many documents of a list were kept, and `relax`, the temperature of
              soft ranks; "none" by default.

    Returns:
        A `Signature`. A function of yours is called `custom`: two of them look alike. Of
        random ties the key is not named, nor are weights and other arrays.

    Raises:
        ValueError: if the metric is unknown, or an option or a choice is.
        TypeError: if the metric has no such option.

    >>> signature("ndcg@10")
    'ndcg@10|def:1'
    >>> signature("ndcg_cut_10", ties="trec", duplicates="error")
    'ndcg@10|gain:linear|ties:id-desc|duplicates:error|def:1'
    >>> signature("rprec").long[:57]
    'r_precision|rel:1|threshold:at-least|ties:expected|duplic'
    """
    if isinstance(metric, str):
        metric = names.parse(metric)
    if not isinstance(metric, Bound):
        (metric,) = names.bind_all({"metric": metric})
    checked, of_metric = _checked(metric, choices), _fields_of(metric)
    defaults = of_metric | _metric_fields(metric.spec.bind((), {}))
    items = (of_metric | checked).items()
    differing = [f"{x}:{y}" for x, y in items if y != defaults[x]]
    return Signature("|".join([_head(metric), *differing, f"def:{DEFINITION}"]))


def from_signature(text: str) -> functools.partial[Mean]:
    """Returns the metric of a signature, with the options that the signature names.

    What belongs to rankings, means and files, such as `ties` and `undefined`, is no option
    of a metric; it stands in `signature(…).fields`, and belongs to the call.

    Args:
        text: The short or the long form.

    Returns:
        A `functools.partial` of the metric, for `evaluate` and its kin.

    Raises:
        ValueError: with the reason, if it is of another version of the definitions, or of
            a definition that the package does not offer; if it holds a function of a user,
            or a field or metric that is unknown.
        TypeError: if it is not a string, or the metric has no cutoffs.

    >>> from_signature("ndcg@10|discount:log_discount(3)|def:1").keywords
    {'discount_fn': log_discount(base=3), 'k': 10}
    """
    bound, choices = _read(text)
    for option, offered in _metric_fields(bound).items():
        if offered == "custom":
            raise ValueError(
                f"{option}:custom is a function of a user, which no text holds; pass a "
                f"functools.partial of jrm.{bound.spec.name} with it"
            )
        if choices.get(option, offered) != offered:
            raise ValueError(
                f"{option}:{choices[option]} is a definition that the package does not "
                f"have; it has {option}:{offered}"
            )
    defaults = bound.spec.options
    options = {x: y for x, y in bound.options if y != defaults[x]}
    return functools.partial(names.NAMES[bound.spec.name.lower()], **options)


def fields(text: str) -> dict[str, str]:
    """Returns all that a signature says: "metric", its cutoffs, and every option.

    Args:
        text: The short or the long form. It may be of a definition that only the
            conformance vectors have.

    Raises:
        ValueError: as `from_signature`, but for definitions that the package does not have
            and functions of users.

    >>> choices = fields("ndcg@10|gain:linear|def:1")
    >>> [choices[x] for x in ("metric", "k", "gain", "discount", "ideal", "ties")]
    ['ndcg', '10', 'linear', 'log2', 'judged', 'expected']
    """
    bound, choices = _read(text)
    name, at, cutoffs = _head(bound).partition("@")
    head = {"metric": name} | ({bound.spec.at: cutoffs} if at else {})
    return head | _fields_of(bound) | choices | {"def": DEFINITION}


def by_label(signatures: Mapping[str, str]) -> dict[str, Signature]:
    """Returns the signature of each cutoff of metrics, by the label of its value.

    >>> signatures = by_label({"recall@1,5": "recall@1,5|rel:2|def:1", "mine": "ap|def:1"})
    >>> for label, text in signatures.items():
    ...     print(label, text)
    recall@1 recall@1|rel:2|def:1
    recall@5 recall@5|rel:2|def:1
    mine ap|def:1
    """
    results: dict[str, Signature] = {}
    for name, text in signatures.items():
        head, bar, choices = text.partition("|")
        metric, at, cutoffs = head.partition("@")
        ks = cutoffs.split(",")
        labels = _trec.value_names(name) or [name]
        labels = cutoff_names(name, len(ks)) if len(ks) > 1 else labels
        texts = [Signature(f"{metric}{at}{k}{bar}{choices}") for k in ks]
        results |= zip(labels, texts, strict=True)
    return results


def _custom(x: Any) -> Any:
    """Stands for a function of a user, of which a text has no more than that."""
    raise TypeError("a signature does not hold the functions of a user")


def _options_by_word(spec: Spec) -> dict[str, str]:
    """Returns the options of a metric, but for its cutoffs, by their words."""
    return {_WORDS.get(x, x): x for x in spec.options if x != spec.at}


def _head(bound: Bound) -> str:
    """Returns the name of a metric with its cutoffs: `recall@1,all`."""
    spec, at = bound.spec, dict(bound.options).get(bound.spec.at)
    name = _WORDS.get(spec.name, spec.name)
    # A metric of a user may have a cutoff by default.
    if at in (None, (None,)) and spec.options.get(spec.at) is None:
        return name
    cutoffs = at if isinstance(at, tuple) else (at,)
    return f"{name}@{','.join('all' if k is None else _text(k) for k in cutoffs)}"


def _metric_fields(bound: Bound) -> dict[str, str]:
    """Returns the fields of a metric, also of what the package offers no choice of."""
    spec, options = bound.spec, dict(bound.options)
    if spec.name == "residual" and isinstance(options["of"], str):
        options["of"] = names.parse(options["of"])
    results = {}
    for word, option in _options_by_word(spec).items():
        results[word] = _FUNCTIONS.get(options[option]) or _text(options[option])
    results |= {"threshold": "at-least"} if THRESHOLD in options else {}
    results |= _FIXED.get(_WORDS.get(spec.name, spec.name), {})
    if spec.name == "rank_biased_precision":  # in the vectors, grades are a choice
        is_binary = options["max_label"] is None
        results["worth"] = "binary" if is_binary else "graded"
        results["max_grade"] = "1" if is_binary else results["max_grade"]
    return results


def _fields_of(bound: Bound) -> dict[str, str]:
    """Returns all fields, of which those of a call are of definition 1."""
    of_call = {option: words.split()[0] for option, words in _CHOICES.items()}
    return _metric_fields(bound) | of_call | {"ties": _READINGS[bound.tie_reading]}


def _checked(bound: Bound, choices: Mapping[str, Any]) -> dict[str, str]:
    """Returns the choices of a call, or of other definitions, that are not None.

    Raises:
        ValueError: if the metric has no such field, or the field no such choice.
    """
    known, name = _fields_of(bound), bound.spec.name
    results = {"mean": "geometric"} if bound.state is GeometricMean else {}
    for option, choice in choices.items():
        if option not in known or option in _options_by_word(bound.spec):
            raise ValueError(
                f"{option} is no choice of rankings, means or files; they have "
                f"{', '.join(_CHOICES)}, and options of {name} belong to the metric, as in "
                "'recall(rel=2)@10'"
            )
        text = choice if isinstance(choice, str) else _text(choice)
        text = _TIES.get(text, text) if option == "ties" else text
        words = _CHOICES.get(option, "").split()
        is_number = words == ["none"] and re.fullmatch(r"\d[\d.e+-]*", text)
        if choice is None:
            continue
        if words and text not in (known[option], *words) and not is_number:
            raise ValueError(f"{option} is {choice!r}; pass one of {', '.join(words)}")
        results[option] = text
    # It reads ties in its own way, whatever the call says.
    return results | ({"ties": "own"} if bound.tie_reading == "own" else {})


def _text(value: object) -> str:
    """Writes the value of an option as the names of metrics do, without `|` and `:`."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Bound):
        defaults, name = value.spec.options, value.spec.name
        options = [f"{x}={_text(y)}" for x, y in value.options if y != defaults[x]]
        return _WORDS.get(name, name) + f"({','.join(options)})" * bool(options)
    if isinstance(value, tuple):
        return f"({''.join(f'{_text(x)},' for x in value)})"
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) < 2**53
        return (str(int(value)) if is_whole else repr(value)).replace("inf", "1e999")
    if isinstance(value, str) and not (value.isidentifier() and value.isascii()):
        return ascii(value).replace("|", r"\x7c").replace(":", r"\x3a")
    if value is None or isinstance(value, int | str | share):
        return str(value)
    if isinstance(value, _gains.log_discount):
        return f"log_discount({_text(value.base)})"
    name = getattr(value, "__name__", "")
    return name if _gains.FUNCTIONS.get(name) is value else "custom"


@short_errors()
def _read(text: str) -> tuple[Bound, dict[str, str]]:
    """Returns the metric of a signature, and its choices that are no options of it.

    Raises:
        ValueError: if a field is unknown, is there twice or cannot be read; if it is of
            another version of the definitions.
        TypeError: if it is not a string, or the metric has no cutoffs.
    """
    if not isinstance(text, str):
        raise TypeError(f"signature is {text!r}; pass a string")
    head, *parts = text.strip().split("|")
    choices: dict[str, str] = {}
    for part in parts:
        option, _, choice = part.partition(":")
        if not choice or option in choices:
            raise ValueError(f"{text!r}: {option!r} is not once there as option:choice")
        choices[option] = choice
    version = choices.pop("def", "none")
    if version != DEFINITION:
        raise ValueError(
            f"{text!r} is of def:{version}, and the definitions of this release are "
            f"def:{DEFINITION}; CHANGELOG.md says what changed"
        )
    name, at, cutoffs = head.partition("@")
    named = names.parse(name)
    spec, options = named.spec, dict(named.options)
    if at:
        texts = cutoffs.split(",")
        ks = [None if x == "all" else names.cutoffs_in(x, spec.at) for x in texts]
        options[spec.at] = tuple(ks) if len(ks) > 1 else ks[0]
    if spec.name == "rank_biased_precision":
        if choices.get("worth") == "graded":
            choices = {"max_grade": "1"} | choices
            del choices["worth"]
        elif choices.pop("max_grade", "1") != "1":
            raise ValueError(f"{text!r}: max_grade is read with worth:graded alone")
    for word, option in _options_by_word(spec).items():
        if (choice := choices.pop(word, None)) == "custom":
            options[option] = _custom
        elif callable(spec.options[option]) and choice in _BY_WORD:
            options[option] = _BY_WORD[choice]
        elif choice is not None:
            (pair, *further) = names.options_in(f"({option}={choice})")
            if further:
                raise ValueError(f"{text!r}: {word} has more than one value")
            options[option] = pair[1]
    bound = spec.bind((), options)._replace(state=named.state)
    choices = {x: y for x, y in choices.items() if x not in _FACTS}
    return bound, _checked(bound, choices)
