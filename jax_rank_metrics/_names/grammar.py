"""Reads the names of metrics, with options and cutoffs; gives advice on unknown names.

A name is `name(option=value, …)@k,k`, or a name of trec_eval.
"""

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable

from jax_rank_metrics._ground import gains, messages, shares
from jax_rank_metrics._names import facts, trec

SHORT = {"rel": "relevance_threshold"}

# The errors of Python's parser for text that is no Python or is nested too deeply.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# Quantifiers are possessive, so that a hostile text still takes linear time.
_GRAMMAR = re.compile(
    r"\s*+(?P<name>[\w\-]++(?:\.[\d.,]*\d)?)\s*+(?P<options>\(.*\))?\s*+(@(?P<k>[^@]*))?\s*+"
)

_OF_ALL_LISTS = (
    "it is measured over all lists together; call evaluation.exposure.{0}() after "
    "evaluate_users, or jrm.exposure(ids, num_items).{0}()"
)
_OF_TWO_RANKINGS = (
    "call jrm.{0}(first, second) to compare two rankings; or pass tau or rho, which "
    "compare scores with labels"
)
_OF_MORE = "call the function jrm.{0}, which reads more than labels and scores"

# A dict from measures that are no metrics of labels and scores to the advice how to get
# them.
_ELSEWHERE = {
    **dict.fromkeys(("coverage", "gini", "entropy", "personalization"), _OF_ALL_LISTS),
    "exposure": "call jrm.exposure(ids, num_items), which measures all lists together",
    **dict.fromkeys(
        ("kendall_tau", "spearman_rho", "rank_biased_overlap", "overlap", "jaccard"),
        _OF_TWO_RANKINGS,
    ),
    **dict.fromkeys(("neighbor_recall", "group_exposure"), _OF_MORE),
}
_SYNONYMS = {
    "rbo": "rank_biased_overlap",
    "ild": "intra_list_diversity",
    "diversity": "intra_list_diversity",
    "catalog_coverage": "coverage",
    "item_coverage": "coverage",
}

MAX_LENGTH = 80  # an unknown name is compared with known names up to this length

# A cutoff at the end of a name, as other libraries write it: "ndcg_10", "recall_at_5",
# "hr10", "judged.20".
_CUTOFF = re.compile(r"(?P<name>.*?[^\W\d_])(?:_?at)?[_.]?(?P<k>\d+(?:,\d+)*)")


class MetricName(str):
    """The name of a metric as the value of an option, as in "residual(of=rbp(p=0.9))"."""


@messages.short_errors()
def read(text: str) -> tuple[str, list[tuple[str, object]]]:
    """Returns the name of a metric in lower case, and the options that the text sets.

    >>> read("mrr(rel=2)@1,5")
    ('mrr', [('relevance_threshold', 2), ('k', (1, 5))])
    >>> read("P.5,10")  # as trec_eval writes it
    ('precision', [('denominator', 'k'), ('k', (5, 10))])

    Raises:
        ValueError: if the text is not a name, or the value of an option is not a literal.
    """
    measure = trec.with_options(text)
    if cure := trec.instead_of(measure):
        raise ValueError(
            f"metric name {text!r}: the parameters of this measure are not read; pass "
            f"{cure}"
        )
    match = _GRAMMAR.fullmatch(measure)
    if match is None:
        raise ValueError(
            f"metric name {text!r} is not of the form name(option=value)@k; pass, for "
            "example, 'ndcg@10', 'recall@1,5' or 'ap(denominator=hits)@5'"
        )
    family, typed = trec.meaning(match["name"].lower().replace("-", "_"))
    name, known = family.metric, facts.FACTS.get(family.metric, facts.Facts())
    if not known.is_metric:
        if match["name"] in (*trec.RUN_LINES, *trec.NOT_MEASURED):
            raise ValueError(
                f"metric name {text!r}: this measure of trec_eval is no metric here; "
                "leave it out"
            )
        raise ValueError(
            f"metric name {text!r}: {match['name']!r} is unknown; "
            f"{suggestion(name, facts.metric_names())}"
        )
    try:
        options = [
            *known.preset.items(),
            *options_in(f"({family.options})"),
            *options_in(match["options"]),
        ]
        texts = [cutoffs for cutoffs in (typed, match["k"]) if cutoffs is not None]
        if family.cutoffs and not texts and known.at not in dict(options):
            texts = [",".join(family.cutoffs)]
        options += [(known.at, cutoffs_in(cutoffs, known.at)) for cutoffs in texts]
    except ValueError as error:
        raise ValueError(f"metric name {text!r}: {error}") from error
    option_names = [option for option, _ in options]
    for option in option_names:
        if option_names.count(option) > 1:
            cure = "each option once"
            if match["k"] and option == known.at:
                cure = "it after @"
            raise ValueError(f"metric name {text!r} gives {option} twice; pass {cure}")
    return name, options


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the advice for an unknown name.

    Args:
        name: The name in lower case, with underscores, without options and cutoffs.
        known: The names of metrics.

    >>> suggestion("ndcg_10", ["ndcg", "map"])
    'did you mean ndcg@10?'
    >>> suggestion("recal", ["recall", "map"])
    'did you mean recall?'
    """
    known, function = list(known), _SYNONYMS.get(name, name)
    if function in _ELSEWHERE:
        return _ELSEWHERE[function].format(function)
    if function != name:
        return f"did you mean {function}?"
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


def name_and_options(text: str) -> tuple[str, dict[str, object]]:
    """Splits the name of a metric, in lower case, from the options in its parentheses.

    >>> name_and_options("map(rel=1)@5"), name_and_options("MAP")
    (('map', {'relevance_threshold': 1}), ('map', {}))
    """
    match = _GRAMMAR.fullmatch(trec.with_options(text))
    if match is None:
        return text, {}
    return match["name"].lower(), dict(options_in(match["options"]))


def cutoffs_in(text: str, option: str) -> object:
    """Reads the text after the @ of a name: `10` for "10", `(1, 5)` for "1,5".

    >>> cutoffs_in("0.5%,10", "k"), cutoffs_in("0.5", "recall_levels")
    ((share(0.005), 10), 0.5)
    """
    read: Callable[[str], object] = _rank_or_share if option == "k" else float
    try:
        cutoffs = tuple(read(k.strip()) for k in text.split(","))
    except ValueError as error:
        kind, example = "numbers", "@0.5 or @0.1,0.5"
        if option == "k":
            kind = "integers and percentages"
            example = "@10 or @1,5,10 or @1%, above 0 % and at most 100 %"
        raise ValueError(
            f"{text!r} after @ is not a list of {kind}; pass, for example, {example}"
        ) from error
    repeated = [k for i, k in enumerate(cutoffs) if k in cutoffs[:i]]
    if repeated:
        raise ValueError(f"the cutoff {repeated[0]} is given twice; pass it once")
    return cutoffs[0] if len(cutoffs) == 1 else cutoffs


def _rank_or_share(text: str) -> int | shares.share | None:
    if text == "all":
        return None
    return shares.share.of_percent(text[:-1]) if text.endswith("%") else int(text)


def options_in(text: str | None) -> list[tuple[str, object]]:
    """Returns the names and values of the options in the parentheses of a metric's name.

    Abbreviated option names are spelt out. Pass None for a name without parentheses.

    >>> options_in("(rel=2, denominator=hits)"), options_in(None)
    ([('relevance_threshold', 2), ('denominator', 'hits')], [])
    """
    try:
        call = ast.parse(f"f{text or '()'}", mode="eval").body
    except _UNREADABLE as error:
        raise ValueError(f"cannot read {text!r}; pass (option=value, …)") from error
    # `(a=1)(b=2)` parses as a call of the result of `f(a=1)`, so demand a call of a name.
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.args
        or None in [keyword.arg for keyword in call.keywords]
    ):
        raise ValueError(
            "the parentheses hold more than options; pass options once, as "
            "(option=value, …)"
        )
    return [
        (SHORT.get(str(keyword.arg), str(keyword.arg)), _value(keyword.value))
        for keyword in call.keywords
    ]


def _value(node: ast.expr) -> object:
    """Returns the value of an option: a literal, a word, a gain, a discount or a metric."""
    if isinstance(node, ast.Name):
        value = gains.FUNCTIONS.get(node.id, node.id)
        if isinstance(value, type):
            parameters = " and ".join(inspect.signature(value).parameters)
            raise ValueError(
                f"{node.id} needs a {parameters}; pass, for example, {node.id}(2)"
            )
        return value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id.lower() in facts.FACTS:
            return MetricName(ast.unparse(node))
        function = gains.FUNCTIONS.get(node.func.id)
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
