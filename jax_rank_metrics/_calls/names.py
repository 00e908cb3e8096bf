"""Metrics by their names: what a name stands for and says, or was probably meant to."""

import ast
import difflib
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import jax

from jax_rank_metrics import _formulas as _formulas  # registers the metrics
from jax_rank_metrics import _gains, _inputs, _trec
from jax_rank_metrics._messages import short, short_errors
from jax_rank_metrics._metrics.metric import AFTER_REGISTRATION, NAMES, Metric
from jax_rank_metrics._metrics.spec import SHARED, Bound
from jax_rank_metrics._share import share
from jax_rank_metrics._states.cutoff_names import without_cutoff
from jax_rank_metrics._states.mean import GeometricMean, Mean

_OF_USERS = (
    "jrm.{0}(ids, counts) measures it; evaluate_users(…, seen=…) does so at its k"
)
_OF_ALL_LISTS = (
    "it belongs to all lists together: evaluation.exposure.{0}() after evaluate_users, or "
    "jrm.exposure(ids, num_items).{0}()"
)
_OF_TWO_RANKINGS = (
    "jrm.{0}(first, second) compares two rankings; tau and rho compare scores with "
    "labels"
)
_OF_MORE = "the function jrm.{0} measures it, which reads more than labels and scores"

# Names of what is no metric of labels and scores, and where it is found.
_ELSEWHERE = {
    **dict.fromkeys(("popularity", "novelty"), _OF_USERS),
    **dict.fromkeys(("coverage", "gini", "entropy", "personalization"), _OF_ALL_LISTS),
    "exposure": "jrm.exposure(ids, num_items) measures it, over all lists together",
    "intra_list_diversity": (
        "jrm.{0}(ids, features) measures it; evaluate_users(…, embeddings=…) does so at "
        "its k"
    ),
    **dict.fromkeys(
        ("kendall_tau", "spearman_rho", "rank_biased_overlap", "overlap", "jaccard"),
        _OF_TWO_RANKINGS,
    ),
    **dict.fromkeys(
        (
            *("serendipity", "popularity_lift", "miscalibration", "neighbor_recall"),
            "group_exposure",
        ),
        _OF_MORE,
    ),
}
_SYNONYMS = {
    "rbo": "rank_biased_overlap",
    "ild": "intra_list_diversity",
    "diversity": "intra_list_diversity",
    "catalog_coverage": "coverage",
    "item_coverage": "coverage",
}

MAX_LENGTH = 80  # of a name that is compared with those that are known

# A cutoff at the end of a name, as others write it: "ndcg_10", "recall_at_5", "hr10",
# "judged.20".
_CUTOFF = re.compile(r"(?P<name>.*?[^\W\d_])(?:_?at)?[_.]?(?P<k>\d+(?:,\d+)*)")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns what to pass in place of a name that is unknown.

    Args:
        name: In lower case, with underscores, without options and what follows @.
        known: The names of metrics.

    >>> suggestion("ndcg_10", ["ndcg", "map"])
    'did you mean ndcg@10?'
    >>> suggestion("recal", ["recall", "map"])
    'did you mean recall?'
    """
    known, function = list(known), _SYNONYMS.get(name, name)
    if function in _ELSEWHERE:
        return _ELSEWHERE[function].format(function)
    cutoff = _CUTOFF.fullmatch(name)
    if cutoff is not None and cutoff["name"] in known:
        return f"did you mean {cutoff['name']}@{cutoff['k']}?"
    similar = difflib.get_close_matches(name[:MAX_LENGTH], known, n=3, cutoff=0.6)
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return (
        "pass a name such as 'ndcg@10', 'map', 'mrr' or 'recall(rel=2)@1,5', which the "
        "page 'All metrics' of the documentation lists"
    )


# A name, several names (or what they were parsed to), or a dict from names of results to
# metrics.
Metrics = (
    str | Sequence[str | Bound] | Mapping[str, Metric[...] | functools.partial[Mean]]
)

# Names of metrics of which lower values are better, or whether this holds for all.
Lower = bool | str | Sequence[str]

SHORT = {"rel": "relevance_threshold"}

# Names whose values are aggregated into another state than `Mean`.
STATES: dict[str, type[Mean]] = dict.fromkeys(("gm_map", "gm_bpref"), GeometricMean)

# Functions that are not registered metrics, but whose results are named after them.
_LOWER_IS_BETTER = {
    "popularity": None,
    "popularity_lift": None,
    "novelty": None,
    "miscalibration": True,
}

# What Python's parser raises for text that it cannot read or that is nested too deeply.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# Quantifiers are possessive, so that a text from outside is read in linear time.
_GRAMMAR = re.compile(
    r"\s*+(?P<name>[\w\-]++(?:\.[\d.,]*\d)?)\s*+(?P<options>\(.*\))?\s*+(@(?P<k>[^@]*))?\s*+"
)


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
        raise TypeError(short(message))
    return _parsed(text)


@functools.lru_cache(maxsize=1024)
@short_errors()
def _parsed(text: str) -> Bound:
    """Returns what `parse` does, once until another metric is registered."""
    measure = _trec.with_options(text)
    if cure := _trec.instead_of(measure):
        raise ValueError(f"metric name {text!r}: parameters are not read; pass {cure}")
    match = _GRAMMAR.fullmatch(measure)
    if match is None:
        raise ValueError(
            f"metric name {text!r} is not of the form name(option=value)@k; pass, for "
            "example, 'ndcg@10', 'recall@1,5' or 'ap(denominator=hits)@5'"
        )
    family, typed = _trec.meaning(match["name"].lower().replace("-", "_"))
    name = family.metric
    if name not in NAMES:
        if match["name"] in (*_trec.RUN_LINES, *_trec.NOT_MEASURED):
            raise ValueError(
                f"metric name {text!r}: this measure of trec_eval is no metric here; "
                "leave it out"
            )
        raise ValueError(
            f"metric name {text!r}: {match['name']!r} is unknown; "
            f"{suggestion(name, NAMES)}"
        )
    try:
        spec = NAMES[name].spec
        preset = spec.presets.get(name, {}).items()
        of_family = options_in(f"({family.options})")
        options = [*preset, *of_family, *options_in(match["options"])]
        texts = [x for x in (typed, match["k"]) if x is not None]
        if family.cutoffs and not texts and spec.at not in dict(options):
            texts = [",".join(family.cutoffs)]
        options += [(spec.at, cutoffs_in(cutoffs, spec.at)) for cutoffs in texts]
        bound = spec.bind((), dict(options))
    except (TypeError, ValueError) as error:
        raise type(error)(f"metric name {text!r}: {error}") from error
    option_names = [option for option, _ in options]
    for option in option_names:
        if option_names.count(option) > 1:
            cure = "each option once"
            if match["k"] and option == spec.at:
                cure = "it after @"
            raise ValueError(f"metric name {text!r} gives {option} twice; pass {cure}")
    return bound._replace(name=text, state=STATES.get(name, Mean))


AFTER_REGISTRATION.append(_parsed.cache_clear)


def name_and_options(text: str) -> tuple[str, dict[str, object]]:
    """Splits the name of a metric, in lower case, from the options in its parentheses.

    >>> name_and_options("map(rel=1)@5"), name_and_options("MAP")
    (('map', {'relevance_threshold': 1}), ('map', {}))
    """
    match = _GRAMMAR.fullmatch(_trec.with_options(text))
    if match is None:
        return text, {}
    return match["name"].lower(), dict(options_in(match["options"]))


def lower_is_better(name: str) -> bool | None:
    """Whether lower values of the metric of this name are better.

    Returns:
        None if neither direction is better; False if no metric has the name.

    >>> lower_is_better("fall_out(rel=2)@10"), lower_is_better("ndcg@10")
    (True, False)
    """
    metric = _trec.metric_part(name)
    if metric not in NAMES:
        return _LOWER_IS_BETTER.get(metric, False)
    direction = NAMES[metric].spec.lower_is_better
    if not callable(direction):
        return direction
    without_level = re.sub(r"\[[^\[\]]*\]$", "", name)
    return direction(dict(parse(without_level).options))


def is_lower_better(name: str, lower: Lower = ()) -> bool | None:
    """Whether lower values are better, by the metric itself or because `lower` names it.

    Args:
        name: A name in results, such as "ndcg@10".
        lower: Names of metrics, with or without cutoffs, or True for all.

    Returns:
        None for a metric of which neither direction is better.
    """
    # `lower` may name "recall" for "recall@5", or that cutoff alone.
    if lower is True or {name, without_cutoff(name)} & set(_names_in(lower)):
        return True
    return lower_is_better(name)


def direction_of(path: Sequence[Hashable], lower: Lower = ()) -> bool | None:
    """Whether lower values are better, by the keys that lead to them, as `is_lower_better`.

    The metric is named by the last key that this package or `lower` knows. If it knows
    none, higher values are better unless `lower` is True.
    """
    # ("web", "arp", "new") has the direction of "arp".
    names = [key for key in reversed(path) if isinstance(key, str)]
    for name in names:
        direction = is_lower_better(name, lower)
        if direction is not False or is_metric_name(name):
            return direction
    return lower is True


def warn_of_zeros(
    counts: Iterable[tuple[Sequence[Hashable], tuple[int, int]]],
    lower: Lower = (),
    of_states: bool = False,
    stacklevel: int = 3,
) -> None:
    """Warns of metrics that are better when lower, and count undefined lists as 0.

    Args:
        counts: As for `remark_on_zeros`, as the next two.
        lower: See there.
        of_states: See there.
        stacklevel: That of the warning, seen from this function.
    """
    for remark in remark_on_zeros(counts, lower, of_states):
        warnings.warn(remark, stacklevel=stacklevel)


def remark_on_zeros(
    counts: Iterable[tuple[Sequence[Hashable], tuple[int, int]]],
    lower: Lower = (),
    of_states: bool = False,
) -> list[str]:
    """Remarks on metrics that are better when lower, and count undefined lists as 0.

    Args:
        counts: The keys that lead to each metric, with the number of lists in which it is
            undefined and counts as 0, and the number of all lists.
        lower: As for `is_lower_better`.
        of_states: Whether some of the numbers are those of states.
    """
    # Keys of a dict, so that a metric of many systems is named once.
    texts = {
        f"{path[-1] if path else 'the metric'} ({undefined} of {lists} lists)": None
        for path, (undefined, lists) in counts
        if undefined and direction_of(path, lower)
    }
    if not texts:
        return []
    return [
        "lower is better, and lists in which the metric is undefined count as 0, as if "
        f"they were best: {', '.join(texts)}; evaluate with undefined='skip' to leave "
        "them out, or with 'one'"
        + (" (a state does not say whether that was done)" if of_states else "")
    ]


def check_lower(lower: Lower, names: Iterable[Hashable]) -> None:
    """Raises ValueError if `lower` names a metric that is not among `names`.

    A metric may be named without its cutoff: "mine" names "mine@5" and "mine[0]". A bool
    names none.
    """
    # Keys that are no text, such as numbers of systems, are no names of metrics.
    known = {name: None for name in names if isinstance(name, str)}
    for name in _names_in(lower):
        if name not in known and name not in map(without_cutoff, known):
            metrics = (
                ", ".join(known) or "one metric without a name: pass True or False"
            )
            raise ValueError(
                f"lower names {name!r}, which is not a metric of the results; they hold "
                f"{metrics}"
            )


def _names_in(lower: Lower) -> Sequence[str]:
    if isinstance(lower, bool):
        return ()
    return (lower,) if isinstance(lower, str) else lower


def is_metric_name(key: object) -> bool:
    """Whether a key of a dict names a metric of this package, as typed or as in results.

    Options and cutoffs may follow, and the names of trec_eval count as well. Names that a
    caller has made up do not.

    >>> [is_metric_name(key) for key in ("P@5", "ndcg(gain=exp2)@10", "map_cut_10", "mine")]
    [True, True, True, False]
    """
    return isinstance(key, str) and _trec.metric_part(key) in NAMES


def kind_of_mean(name: str) -> type[Mean]:
    """The state that a metric of this name is aggregated into.

    >>> kind_of_mean("gm_map(rel=2)").__name__, kind_of_mean("mine@5").__name__
    ('GeometricMean', 'Mean')
    """
    return STATES.get(_trec.metric_part(name), Mean)


@short_errors()
def bind_all(metrics: Metrics) -> tuple[Bound, ...]:
    """Returns each metric with its options and the name of its result.

    A set of trec_eval stands for those of its measures that are metrics here.

    >>> [(bound.name, bound.k) for bound in bind_all(("map", "recall@1,5"))]
    [('map', None), ('recall@1,5', (1, 5))]
    >>> [bound.name for bound in bind_all("set")][-3:]
    ['set_relative_P', 'set_map', 'set_F']
    """
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
        bounds = [
            metric if isinstance(metric, Bound) else parse(metric)
            for entry in metrics
            for metric in (isinstance(entry, str) and _trec.members(entry)) or [entry]
        ]
    if not bounds:
        raise ValueError("metrics is empty; pass at least one, such as ('ndcg@10',)")
    names = [bound.name for bound in bounds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"metrics names {repeated[0]!r} twice; pass each once")
    return tuple(bounds)


def _bind(name: object, value: object) -> Bound:
    """Returns the metric of one entry of a dict: a metric, or a partial of one."""
    if not isinstance(name, str):
        raise TypeError(f"metrics: key {name!r} is not a string; pass names as keys")
    options: Mapping[str, object] = {}
    metric, args = value, ()
    if isinstance(value, functools.partial):
        metric, args, options = value.func, value.args, value.keywords
    if not isinstance(metric, Metric):
        raise TypeError(
            f"metrics: {name!r} is {value!r}; pass a metric such as jrm.ndcg, or "
            "functools.partial(jrm.ndcg, k=10)"
        )
    for option in options:
        if option not in metric.spec.options and option in SHARED:
            raise TypeError(
                f"metrics: {name!r} sets {option!r}, which belongs to the ranking that all "
                f"metrics share; pass {option} to the call instead"
            )
    return metric.spec.bind(args, options)._replace(name=name)


def cutoffs_in(text: str, option: str) -> object:
    """Returns what follows the @ of a name: `10` for "10", `(1, 5)` for "1,5".

    >>> cutoffs_in("0.5%,10", "k"), cutoffs_in("0.5", "recall_levels")
    ((share(0.005), 10), 0.5)
    """
    read: Callable[[str], object] = _rank_or_share if option == "k" else float
    try:
        cutoffs = tuple(read(k.strip()) for k in text.split(","))
    except ValueError as error:
        kind = "integers and percentages" if option == "k" else "numbers"
        raise ValueError(
            f"{text!r} after @ is not a list of {kind}; pass, for example, @10 or @1,5,10"
            + (" or @1%, above 0 % and at most 100 %" if option == "k" else "")
        ) from error
    repeated = [k for i, k in enumerate(cutoffs) if k in cutoffs[:i]]
    if repeated:
        raise ValueError(f"the cutoff {repeated[0]} is there twice; pass each once")
    return cutoffs[0] if len(cutoffs) == 1 else cutoffs


def _rank_or_share(text: str) -> int | share | None:
    if text == "all":
        return None
    return share.of_percent(text[:-1]) if text.endswith("%") else int(text)


def options_in(text: str | None) -> list[tuple[str, object]]:
    """Returns the names and values of the options in the parentheses of a metric's name.

    Abbreviations of option names are spelt out. None stands for a name without
    parentheses.

    >>> options_in("(rel=2, denominator=hits)"), options_in(None)
    ([('relevance_threshold', 2), ('denominator', 'hits')], [])
    """
    try:
        call = ast.parse(f"f{text or '()'}", mode="eval").body
    except _UNREADABLE as error:
        raise ValueError(f"cannot read {text!r}; pass (option=value, …)") from error
    # `(a=1)(b=2)` parses as a call of the result of `(a=1)`, but only one pair is allowed.
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.args
        or None in [keyword.arg for keyword in call.keywords]
    ):
        raise ValueError("pass options once, as (option=value, …)")
    return [
        (SHORT.get(str(keyword.arg), str(keyword.arg)), _value(keyword.value))
        for keyword in call.keywords
    ]


def _value(node: ast.expr) -> object:
    """Returns the value of an option: a literal, a word, a gain, a discount or a metric."""
    if isinstance(node, ast.Name):
        value = _gains.FUNCTIONS.get(node.id, node.id)
        if isinstance(value, type):
            parameters = " and ".join(inspect.signature(value).parameters)
            raise ValueError(
                f"{node.id} needs a {parameters}; pass, for example, {node.id}(2)"
            )
        return value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id.lower() in NAMES:
            return parse(ast.unparse(node))
        function = _gains.FUNCTIONS.get(node.func.id)
        if isinstance(function, type):
            args = [_value(arg) for arg in node.args]
            keywords = {str(k.arg): _value(k.value) for k in node.keywords}
            try:
                inspect.signature(function).bind(*args, **keywords)
                return function(*args, **keywords)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{ast.unparse(node)!r}: {error}; pass, for example, "
                    f"{node.func.id}(2)"
                ) from error
    try:
        return ast.literal_eval(node)
    except (TypeError, *_UNREADABLE) as error:
        raise ValueError(
            f"{ast.unparse(node)!r} is not a literal; pass a Python literal, or the name "
            "of a gain, a discount, a metric or a choice"
        ) from error
