"""`jrm.testing.conformance`: finds the definition of a metric that a function follows.

The conformance vectors contain the value of each test under every published definition,
and the values that known mistakes give; `conformance/README.md` explains their format.
"""

import dataclasses
import functools
import inspect
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jax_rank_metrics._engine.calls import signatures
from jax_rank_metrics._ground import inputs

Form = Literal["arrays", "documents", "ranked", "queries"]
Json = Mapping[str, Any]
Choices = Mapping[str, str]  # from options to choices
Answers = list[tuple[Json, float | None]]  # tests with their answers

# The options that the arguments of each form cannot express.
_UNSAID = {"arrays": {"duplicates"}, "documents": set(), "queries": {"duplicates"}}
_UNSAID |= {"ranked": {"ties", "scores", "nan", "infinite"}}
_MAX_EXAMPLES = 3  # shown for each mistake


@dataclasses.dataclass(frozen=True)
class Failure:
    """An answer of a function that differs from the definition.

    Attributes:
        test: The id of the test.
        answer: The value; None if the function raised, or returned NaN or None.
        due: The value under the definition; None if it gives no value.
        mistake: The choices of a known mistake, or of another definition, under which
            the answer is right, such as "ideal:returned"; "" if there are none.
    """

    test: str
    answer: float | None
    due: float | None
    mistake: str

    def __str__(self) -> str:
        """Shows both values, as in `short-list/ndcg@5 is 1 and not 0.613147`."""
        values = self.answer, self.due
        texts = ["no value" if value is None else f"{value:.6g}" for value in values]
        return f"{self.test} is {' and not '.join(texts)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Conformance:
    """The definition that a function follows, and the answers that differ from it.

    Attributes:
        metric: The name of the metric.
        definition: A dict from options to choices.
        undecided: A dict from options to the choices that explain as many answers as
            the definition does; only options with several such choices.
        failures: The answers that differ from the definition.
        num_tests: The number of tests for which the function was called.
    """

    metric: str
    definition: Choices
    undecided: Mapping[str, list[str]]
    failures: tuple[Failure, ...]
    num_tests: int

    @property
    def ok(self) -> bool:
        """True if the definition explains every answer."""
        return not self.failures

    @property
    def differences(self) -> dict[str, str]:
        """The choices of the definition that differ from definition 1."""
        options, chosen = _options(self.metric), self.definition.items()
        return {option: name for option, name in chosen if name != options[option][0]}

    def __repr__(self) -> str:
        """Shows the definition in words, undecided options, and mistakes."""
        words = _vectors("means")["options"] | _vectors("lists")["options"]
        num_equal = self.num_tests - len(self.failures)
        lines = [f"{self.metric}: {num_equal} of {self.num_tests} answers follow"]
        for option, choice in self.differences.items():
            status, meaning, source = words[option][choice]
            cited = status if source == "none" else f"{status}; {source}"
            lines.append(f"  {option}:{choice}  {meaning} ({cited})")
        lines += [] if self.differences else ["  definition 1"]
        if self.undecided:
            lines.append(f"Not told by the answers: {', '.join(self.undecided)}")
        for mistake in dict.fromkeys(failure.mistake for failure in self.failures):
            group = [failure for failure in self.failures if failure.mistake == mistake]
            lines.append(f"{len(group)} as {mistake or 'no definition'}:")
            lines += [f"  {failure}" for failure in group[:_MAX_EXAMPLES]]
            lines += ["  …"] * (len(group) > _MAX_EXAMPLES)
        return "\n".join(lines)


def conformance(
    function: Callable[..., object],
    metric: str,
    signature: str | None = None,
    *,
    form: Form = "arrays",
) -> Conformance:
    """Names the definition of a metric that a function follows, and its mistakes.

    A name such as ndcg has several published definitions. The function is called for
    small lists whose values under each definition are known, and the result is the
    definition that explains the most answers. If several choices of an option explain
    the same number, the first of them is taken; choices of definition 1, that is, of
    the defaults of this package, come first. For an answer that differs from the
    definition, the result names the known mistake that gives this answer.

    The function may call a program in any language. It takes two arguments, which
    `form` describes, and returns a number; NaN, None and an exception mean no value.
    Parameters of a test are passed by keyword if the function has parameters of these
    names: `k`, which is left out for whole lists, `rel`, the smallest relevant grade,
    `p`, `max_grade` and `alpha`. Tests for which the function cannot be called are left
    out.

    Args:
        function: The function.
        metric: ndcg, dcg, ap, rr, recall, precision, hit_rate, err, rbp, auc,
            r_precision, bpref, alpha_ndcg or rbo.
        signature: The definition that the function is meant to follow, such as
            "ndcg@10|gain:linear|ties:id-desc|def:1", as `jax_rank_metrics.signature`
            returns it; rbo has none. Options that the signature does not name have the
            choices of definition 1. None derives the definition from the answers.
        form: The arguments of the function, for a list of documents:

            - "arrays": labels and scores, `[items]` float64 NumPy arrays. They cannot
              express documents that were judged but not returned, or that repeat.
            - "documents": judgements `{id: grade}`, and the run as pairs `(id, score)`
              in the order of the input; ids may repeat. For alpha_ndcg, judgements are
              `{id: [subtopic, …]}`; for rbo, the two arguments are runs.
            - "ranked": the same judgements, and the ids of the run, best first.
            - "queries": `{query: {id: grade}}` and `{query: {id: score}}`, for means over
              queries, and for lists as a single query.

    Returns:
        A `Conformance`, which prints the definition in words. Its `ok` is True if every
        answer follows the definition; `failures` holds the other answers.

    Raises:
        ValueError: if the metric or the form is unknown; if the signature is for
            another metric, or has a choice that no test has; if no answer is a number.
        TypeError: if the function is not callable.

    >>> def hit_rate(labels, scores, k=None):
    ...     best_first = np.argsort(-scores, kind="stable")
    ...     return float(np.any(labels[best_first][:k] >= 1))
    >>> result = conformance(hit_rate, "hit_rate")
    >>> result.ok, result.differences
    (True, {'ties': 'input', 'negative': 'zero', 'nan': 'last'})
    """
    inputs.option("form", form, Form)
    options = _options(metric, form)
    elected = None if signature is None else _elected(signature, metric, options)
    answers = _answers(function, metric, form)
    fitting = [_causes(test["values"], answer) for test, answer in answers]

    def count(choices: Choices) -> int:
        return sum(any(_holds(when, choices) for when in whens) for whens in fitting)

    definition = elected or _derived(options, count)
    failures = []
    for test, answer in answers:
        (due,) = filter(lambda due: _holds(due["when"], definition), test["values"])
        if not _is_equal(answer, due["value"]):
            mistake = _mistake(test, answer, definition)
            failures.append(Failure(test["id"], answer, due["value"], mistake))
    best, undecided = count(definition), {}
    for option, names in options.items():
        equal = [name for name in names if count({**definition, option: name}) == best]
        undecided |= {option: equal} if len(equal) > 1 else {}
    return Conformance(metric, definition, undecided, tuple(failures), len(answers))


@functools.cache
def _vectors(name: str) -> Json:
    """Reads a file of the vectors, from the wheel or from a checkout's top folder."""
    paths = [top / f"conformance/v1/{name}.json" for top in Path(__file__).parents[1:3]]
    return json.loads(next(filter(Path.is_file, paths)).read_text("ascii"))


def _options(metric: str, form: Form = "queries") -> dict[str, list[str]]:
    """Returns the choices that a form can express; definition 1's choice comes first."""
    headers = _vectors("lists")["metrics"]
    inputs.option("metric", metric, headers)
    options = dict(headers[metric]["options"])
    if form == "queries":
        options |= _vectors("means")["metrics"].get(metric, {}).get("options", {})
    # The reference of the vectors raises for repeats, but definition 1 keeps their
    # rank, so move "error" to the end.
    options["duplicates"] = sorted(options["duplicates"], key="error".__eq__)
    if form == "arrays":  # ties cannot be broken by ids
        options["ties"] = [name for name in options["ties"] if name[:3] != "id-"]
    return options


def _elected(signature: str, metric: str, options: Json) -> dict[str, str]:
    """Returns the choice of each option in a signature; raises if a choice is unknown."""
    choices = signatures.fields(signature)
    if choices["metric"] != metric:
        raise ValueError(
            f"signature is {signature!r}, but metric is {metric!r}; pass the signature of "
            "this metric"
        )
    for option, names in options.items():
        inputs.option(f"{option} of signature", choices[option], names)
    return {option: choices[option] for option in options}


def _arguments(group: Json, form: Form) -> tuple[object, ...] | None:
    """Returns a function's arguments for a group; None if the form cannot express it."""
    if form == "queries":
        is_list = all(group.get(name) for name in ("qrels", "run"))
        queries = group.get("queries", [group] if is_list else [])
        qrels = {row["id"]: dict(row["qrels"]) for row in queries if "qrels" in row}
        run = {row["id"]: dict(_pairs(row["run"])) for row in queries if "run" in row}
        return (qrels, run) if queries else None
    sides = [_pairs(group[name]) for name in ("run", "other") if name in group]
    judged = group.get("subtopics", group.get("qrels"))
    if form == "arrays":
        scores = dict(sides[0])
        if "qrels" not in group or judged.keys() != scores.keys():
            return None
        labels = [judged[doc] for doc in scores]
        return np.array(labels, float), np.array([*scores.values()], float)
    if form == "ranked":
        best_first = (sorted(side, key=lambda pair: -pair[1]) for side in sides)
        sides = [[doc for doc, _ in side] for side in best_first]
    return tuple(sides) if judged is None else (dict(judged), *sides)


def _pairs(run: list[list[Any]]) -> list[tuple[str, float]]:
    """Returns pairs of ids and scores; in JSON, infinity and NaN are strings."""
    return [(doc, float(score)) for doc, score in run]


def _answers(function: Callable[..., object], metric: str, form: Form) -> Answers:
    """Calls a function for the tests that fit it, and returns tests with answers."""
    signature, answers, error = inspect.signature(function), [], None
    defaults = _vectors("lists")["metrics"][metric]["parameters"]
    names = ["lists", "scores"] + ["means"] * (form == "queries")
    groups = [group for name in names for group in _vectors(name)["groups"]]
    tests = [(group, test) for group in groups for test in group["tests"]]
    for group, test in tests:
        fits = all(_UNSAID[form].isdisjoint(entry["when"]) for entry in test["values"])
        arguments = _arguments(group, form)
        if test["metric"] != metric or arguments is None or not fits:
            continue
        # Pass even default values, because the function may have other defaults. Whole
        # lists have no `k`.
        values, named = defaults | test, defaults.keys() & signature.parameters.keys()
        named |= {name for name in defaults if values[name] != defaults[name]}
        chosen = [name for name in defaults if name in named]
        keywords = {name: values[name] for name in chosen if values[name] is not None}
        try:
            signature.bind(*arguments, **keywords)
        except TypeError:
            continue
        try:
            value = float(np.asarray(function(*arguments, **keywords)).item())
        except Exception as refusal:  # also of a program in another language
            value, error = math.nan, refusal
        answers.append((test, None if math.isnan(value) else value))
    if all(answer is None for _, answer in answers):
        raise ValueError(
            f"function returns no number in any of {len(answers)} tests of {metric}; pass "
            f"a function of two arguments of the form {form!r}, and of keywords such as k"
        ) from error
    return answers


def _holds(when: Json, choices: Choices) -> bool:
    """True if an entry of the vectors applies to these choices."""
    return all(choices.get(option) in names for option, names in when.items())


def _is_equal(answer: float | None, due: float | None) -> bool:
    if answer is None or due is None:
        return answer is due
    return abs(answer - due) <= _vectors("lists")["tolerance"] * max(1, abs(due))


def _causes(entries: list[Json], answer: float | None) -> list[Json]:
    """Returns the choices of all entries that have this answer as their value."""
    return [entry["when"] for entry in entries if _is_equal(answer, entry["value"])]


def _derived(options: Json, count: Callable[[Choices], int]) -> dict[str, str]:
    """Returns the choice of each option that explains the most answers.

    Starts from definition 1 and changes one option at a time, until no change explains more
    answers. Ties go to the option's first choice. Each group of vectors tests a single
    feature, so this finds the definition of every function that follows a definition.
    """
    choices, previous = {option: names[0] for option, names in options.items()}, None
    while choices != previous:
        previous = choices
        for option, names in options.items():
            choices = max(({**choices, option: name} for name in names), key=count)
    return choices


def _mistake(test: Json, answer: float | None, definition: Choices) -> str:
    """Returns the fewest changes to the definition after which it gives the answer.

    If several sets of changes are equally small, a known mistake comes first.
    """
    entries = [*test.get("mistakes", ()), *test["values"]]
    unmet = [
        [pair for pair in when.items() if definition.get(pair[0]) not in pair[1]]
        for when in _causes(entries, answer)
    ]
    fewest = min(unmet, key=len, default=[])
    return "|".join(f"{option}:{' or '.join(names)}" for option, names in fewest)
