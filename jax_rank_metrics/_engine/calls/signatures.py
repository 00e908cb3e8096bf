"""`jrm.signature`: the choices behind a number as a text, and metrics from such texts."""

import contextlib
import functools
import math
import typing
from typing import Any

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.metrics.metric import NAMES, Metric, with_state
from jax_rank_metrics._engine.metrics.spec import THRESHOLD, Bound, Spec
from jax_rank_metrics._engine.sources import similarities
from jax_rank_metrics._ground import gains, inputs, messages, shares
from jax_rank_metrics._values import mean

# The version of all definitions; CHANGELOG.md says when one has changed.
DEFINITION = "1"

# The words of `conformance/` for metrics, options and functions.
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
    "log_discount(2)": "log2",
    "log2_discount": "log2",
    f"log_discount({math.e})": "ln",
    "log2_rank_discount": "jk2002",
    "reciprocal_discount": "reciprocal",
    "exponential_gain": "exp2",
    "linear_gain": "linear",
}
_OF_WORDS = {word: name for name, word in _WORDS.items()}

# Choices that are fixed in the package, although other definitions of a metric make them in
# another way.
_FIXED = {
    "ndcg": {"threshold": "none", "ideal": "judged"},
    "dcg": {"threshold": "none"},
    "auc": {"depth": "returned"},
    "bpref": {"denominator": "least"},
    "err": {"worth": "exp2", "beyond": "clipped"},
    "rbp": {"beyond": "clipped"},
    "alpha_ndcg": {"ideal": "greedy"},
}

# The choices of rankings, means and files; the first is the choice of definition 1. But for
# ties, definition 1 has "hash" for metrics without a formula over ties, and "own" for
# metrics with a rule of their own. An option with the only choice "none" may be a number.
_CHOICES = {
    "ties": "expected input input-reversed id-desc id-asc best worst random user-hash "
    "hash own",
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
    "pool": "all candidates",
    "items": "all masked",
    "seen": "kept removed",
    "exclude": "none listed self both",
    "unknown": "error miss drop",
    "similarity": " ".join([*typing.get_args(similarities.SimilarityName), "custom"]),
    "document": "none custom",
    "weights": "none given",
    "side": "both head tail",
}
# Ties by their names in `rank`, `join` and metrics, with their words here.
_TIES = {"stable": "input", "trec": "id-desc", "tied": "expected", "order": "hash"}
# Fields of a text that are no choices, but facts about one number.
_FACTS = ("lists", "undefined-lists", "jrm")


class Signature(str):
    """The signature of a number, as `signature` makes it: the short form as a string.

    Two signatures are equal if all of their choices are equal.

    Attributes:
        fields: The choice of every option, also of options that the short form leaves out.
        long: The long form, which names the choice of every option.
        cutoffs: The cutoffs of the metric, in the order of its values; in the text,
            cutoffs are sorted.
    """

    cutoffs: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        """The metric, its cutoffs, and the choice of every option, by name."""
        return fields(self)

    @property
    def long(self) -> str:
        """The long form: a field for every option."""
        head = self.partition("|")[0]
        _, *choices = self.fields.items()
        return "|".join([head, *map(":".join, choices["@" in head :])])


def signature(
    metric: str | Bound | Metric[...] | functools.partial[mean.Mean],
    **choices: str | float | None,
) -> Signature:
    """Names the definition of a number: its metric, with all choices that can change it.

    Options and choices are named as in the conformance vectors. The short form, which is
    the string itself, names only choices that differ from definition 1, the defaults of the
    package in this release; the attribute `long` names all choices.

    Args:
        metric: A name such as "ndcg@10", a metric, or a `functools.partial` of one.
        **choices: Choices of rankings, means and files; None is definition 1.

            - `ties`: as for `rank` and `join`; "input" is the same as "stable", and
              "id-desc" the same as "trec"; or "input-reversed" or "id-asc". The default is
              "hash" for metrics without a formula over ties, and "own" for metrics with a
              rule of their own.
            - `duplicates`, for an id that repeats in a list: "first", "removed", "last" or
              "error", as in tables; `rows`, for a document that a query has in several rows
              of a table: "first", "last", "max" or "error".
            - `unjudged`, for documents without a judgement: "zero" or "removed".
            - `negative`, for labels below 0: "removed", "zero", "unjudged" or "error".
            - `undefined`: as for `PerList.mean`.
            - `nan`: "nan", "error", "last" or "first"; `infinite`, for scores of −∞:
              "ranked", "unretrieved" or "error"; `scores`: "float64", or "float32" if
              scores were rounded.
            - `queries`: "judged", or "both" for judged queries that the run has as well.
            - `mean`: "lists", or "geometric" as for "gm_map".
            - `cut`: how many documents of a list were kept, and `relax`, the temperature of
              soft ranks; "none" by default.
            - `pool`: "all", or "candidates" if lists name the items that are ranked;
              `items`: "masked" if not all items may be found; `seen`: "removed" if seen
              items leave a list; `exclude`, for other items that leave a list: "listed",
              "self" or "both"; `unknown`: as `unknown_items`.
            - `similarity`: as for `evaluate_embeddings`; `document`: "custom" if chunks
              have documents; `weights`: "given" if lists have weights; `side`: the side of
              the result of `evaluate_links`, "head", "tail" or "both".

    Returns:
        A `Signature`. Every function of yours is called `custom`, so a signature does not
        tell two such functions apart. It names neither the key of random ties nor the
        entries of arrays, such as weights.

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
        metric = binding.parse(metric)
    if not isinstance(metric, Bound):
        (metric,) = binding.bind_all({"metric": metric})
    chosen = _fields_of(metric)
    for option, choice in choices.items():
        if option not in _CHOICES:
            raise ValueError(
                f"{option} is no choice of rankings, means or files; pass one of "
                f"{', '.join(_CHOICES)}, or write options of {metric.spec.name} into its "
                "name, as in 'recall(rel=2)@10'"
            )
        words = _CHOICES[option].split()
        text = words[0] if choice is None else _TIES.get(str(choice), str(choice))
        if words == ["none"] and text != "none":
            text = _number(option, text)
        elif text not in words:
            raise ValueError(f"{option} is {choice!r}; pass one of {', '.join(words)}")
        # A metric with its own rule for ties reads them by this rule, whatever `ties` is.
        if text != words[0] and (option, chosen[option]) != ("ties", "own"):
            chosen[option] = text
    defaults = _fields_of(metric.spec.bind((), {}))
    texts = [":".join(pair) for pair in chosen.items() if pair not in defaults.items()]
    result = Signature("|".join([_head(metric), *texts, f"def:{DEFINITION}"]))
    result.cutoffs = tuple(map(_cutoff_text, _cutoffs(metric)))
    return result


def from_signature(text: str) -> functools.partial[mean.Mean]:
    """Returns the metric of a signature, with the options that the signature names.

    Choices of rankings, means and files, such as `ties` and `undefined`, are no options of
    a metric. They are in `signature(…).fields`; pass them to the call.

    Args:
        text: The short or the long form.

    Returns:
        A `functools.partial` of the metric, for `evaluate` and similar functions.

    Raises:
        ValueError: with the reason, if the text is of another version of the definitions,
            or of a definition that the package does not offer; if it holds a function of a
            user, an unknown field, choice or metric, or a number beyond its range.
        TypeError: if the text is not a string, the metric has no cutoffs, or an option is
            of another kind.

    >>> from_signature("ndcg@10|discount:log_discount(3)|def:1").keywords
    {'discount_fn': log_discount(base=3), 'k': 10}
    """
    choices = fields(text)
    head, at, cutoffs = text.partition("|")[0].partition("@")
    spec, typed = binding.parse(head).spec, []
    for word, option in _options_by_word(spec).items():
        if (choice := choices[word]) == "custom":
            raise ValueError(
                f"{word}:custom is a function of a user, which a text cannot hold; pass a "
                f"functools.partial of jrm.{spec.name} with that function"
            )
        # Some options that take functions are None by default.
        if callable(spec.options[option]) or option.endswith("_fn"):
            choice = _OF_WORDS.get(choice, choice)
        typed.append(f"{option}={choice}")
    bound = binding.parse(f"{head}({','.join(typed)}){at}{cutoffs}")
    _check_options(bound)
    if inputs.MAX_INT32 in _cutoffs(bound):  # this number means all larger cutoffs, too
        raise ValueError(f"k is {cutoffs}; pass ranks below {inputs.MAX_INT32}")
    # Write the signature again and compare, because a choice may have been lost, such as a
    # choice that only other definitions have.
    again = signature(bound, **{option: choices[option] for option in _CHOICES})
    are_read = {*_options_by_word(spec), spec.at, "cut", "relax"}
    for option, choice in again.fields.items():
        stated = choices.get(option, "none")
        # The text may spell an option that is read in another way, if it states the option.
        is_lost = stated == "none" or option not in are_read
        if is_lost and stated != choice:
            raise ValueError(
                f"{option}:{stated} is a definition that the package does not have; use "
                f"{option}:{choice}, which it has with these options, or pass other options"
            )
    options = dict(pair for pair in bound.options if pair not in spec.options.items())
    state = mean.STATES.get(choices["mean"], bound.state)
    metric = with_state(NAMES[spec.name.lower()], state)
    return functools.partial(metric, **options)


class _Unread(Exception):
    """A stand-in for a ranking, which raises itself when a formula reads it."""

    def __getattr__(self, name: str) -> typing.NoReturn:
        raise self


def _check_options(bound: Bound) -> None:
    """Raises if the formula refuses its options, which it checks before it reads lists."""
    options = dict(bound.options)
    for option, value in options.items():
        if isinstance(value, Bound):
            _check_options(value)
        elif option == THRESHOLD and value != bound.spec.options[option]:
            inputs.positive(option, value)
    with contextlib.suppress(_Unread):
        bound.spec.formula(_Unread(), **options)


def _number(option: str, text: str) -> str:
    """Returns the text of a number above 0, which is whole except for temperatures.

    Raises:
        ValueError: if the text is no such number.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    limit = inputs.MAX_INT32 if option == "cut" else inputs.MAX_FLOAT32
    if not 0 < number < limit or (option == "cut" and not number.is_integer()):
        kind = "a number of documents" if option == "cut" else "a number above 0"
        raise ValueError(f"{option} is {text!r}; pass {kind}")
    return _text(number)


def chosen(**arguments: object) -> dict[str, str]:
    """Returns the second choice of each option whose argument is not None."""
    passed = [name for name, argument in arguments.items() if argument is not None]
    return {name: _CHOICES[name].split()[1] for name in passed}


@messages.short_errors()
def fields(text: str) -> dict[str, str]:
    """Returns all fields of a signature: "metric", its cutoffs, and every option.

    Args:
        text: The short or the long form. It may be of a definition that only the
            conformance vectors have.

    Raises:
        ValueError: as `from_signature`, except for definitions that the package does not
            have and functions of users, which are allowed.

    >>> choices = fields("ndcg@10|gain:linear|def:1")
    >>> [choices[x] for x in ("metric", "k", "gain", "discount", "ideal", "ties")]
    ['ndcg', '10', 'linear', 'log2', 'judged', 'expected']
    """
    if not isinstance(text, str):
        raise TypeError(f"signature is {text!r}; pass a string")
    head, *parts = text.split("|")
    pairs = [part.partition(":")[::2] for part in parts]
    choices = {option: choice for option, choice in pairs if option not in _FACTS}
    if choices.get("def") != DEFINITION:
        raise ValueError(
            f"{text!r} is of def:{choices.get('def', 'none')}, but the definitions of this "
            f"release are def:{DEFINITION}; CHANGELOG.md says what changed"
        )
    bound = binding.parse(head)
    name, at, ks = _head(bound).partition("@")
    defaults = _fields_of(bound.spec.bind((), {})) | {"def": DEFINITION}
    for option, _ in pairs:
        if option not in (*defaults, *_FACTS):
            raise ValueError(
                f"{text!r}: {option} is no choice or option of {name}; leave it out"
            )
        if [word for word, _ in pairs].count(option) > 1:
            raise ValueError(f"{text!r} has {option} twice; pass it once")
    return {"metric": name} | ({bound.spec.at: ks} if at else {}) | defaults | choices


def _options_by_word(spec: Spec) -> dict[str, str]:
    """Returns the options of a metric except its cutoffs, keyed by their words."""
    return {_WORDS.get(name, name): name for name in spec.options if name != spec.at}


def _head(bound: Bound) -> str:
    """Returns the name of a metric with its cutoffs: `recall@1,all`."""
    name = _WORDS.get(bound.spec.name, bound.spec.name)
    ks = sorted(_cutoffs(bound), key=_depth)
    return f"{name}@{','.join(map(_cutoff_text, ks))}" if ks else name


def _cutoffs(bound: Bound) -> tuple[object, ...]:
    """Returns the cutoffs of a metric in the order of its values; () for whole lists."""
    cutoffs = dict(bound.options).get(bound.spec.at)
    # A metric of a user may have a cutoff by default.
    if cutoffs in (None, (None,)) and bound.spec.options.get(bound.spec.at) is None:
        return ()
    return cutoffs if isinstance(cutoffs, tuple) else (cutoffs,)


def _cutoff_text(k: object) -> str:
    """Returns the name of a cutoff in texts."""
    return "all" if k is None else _text(k)


def _depth(k: Any) -> tuple[object, ...]:
    """Returns a key that sorts ranks before shares of a list, and whole lists last."""
    return k is None, isinstance(k, shares.share), getattr(k, "fraction", k)


def _fields_of(bound: Bound) -> dict[str, str]:
    """Returns all fields after the metric; choices of the call are as in definition 1."""
    spec, options, results = bound.spec, dict(bound.options), {}
    for word, option in _options_by_word(spec).items():
        value, default = options[option], spec.options[option]
        if isinstance(value, bool) and not isinstance(default, bool | None):
            value = int(value)  # True is the number 1
        text, is_function = _text(value), callable(value)
        results[word] = _WORDS.get(text, text) if is_function else text
    results |= {"threshold": "at-least"} if THRESHOLD in options else {}
    results |= _FIXED.get(_WORDS.get(spec.name, spec.name), {})
    if spec.name == "rank_biased_precision":  # in the vectors, grades are a choice
        results["worth"] = "binary" if options["max_label"] is None else "graded"
    results |= {option: words.split()[0] for option, words in _CHOICES.items()}
    results |= {"mean": "geometric"} if bound.state is mean.GeometricMean else {}
    return results | {"ties": _TIES.get(bound.tie_reading, bound.tie_reading)}


def _text(value: object) -> str:
    """Writes the value of an option as the names of metrics do, without `|`."""
    if isinstance(value, Bound):
        defaults, name = value.spec.options.items(), value.spec.name
        changed = [pair for pair in value.options if pair not in defaults]
        options = [f"{option}={_text(choice)}" for option, choice in changed]
        return _WORDS.get(name, name) + f"({','.join(options)})" * bool(options)
    if isinstance(value, tuple):
        return f"({''.join(f'{_text(part)},' for part in value)})"
    if isinstance(value, float):
        return str(value).removesuffix(".0").replace("inf", "1e999")
    if isinstance(value, str) and not (value.isidentifier() and value.isascii()):
        return repr(value).replace("|", r"\x7c")
    if value is None or isinstance(value, int | str | shares.share):
        return str(value)
    if isinstance(value, gains.log_discount):
        return f"log_discount({_text(float(value.base))})"
    return next((name for name, fn in gains.FUNCTIONS.items() if fn is value), "custom")
