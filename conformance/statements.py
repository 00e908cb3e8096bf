"""Statements about a library: its definitions, and the lists that they leave open.

The definitions explain most of the answers to v1, with the conventions of `remarks.toml`.
Answers to drawn lists may refute them: if a test fails, one feature of its list is charged
with it. If another choice of an option gives all values of such lists, it is found; else
the feature is withdrawn: the definition says nothing of lists that have it.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import derive

# Conventions that have no order of their own.
WITHOUT_RULE = {"ties: random", "ties: unstated"}
# One sort serves all metrics; that it puts NaN anywhere may be seen in one of them alone.
SHARED = {"NaN"}
ANY_LIST = "any list"  # withdrawn if a list without features fails
# Later ones are rarer, and are charged with a failure before earlier ones.
FEATURES = (
    "a cutoff",
    "more than 32 items",
    "no cutoff",
    "k>n",
    "threshold",
    "pool",
    "unjudged",
    "graded",
    "one item",
    "several lists",
    "scores beyond 1",
    "scores of 0 or less",
    "ties",
    "nothing relevant",
    "nothing else judged",
    "constant",
    "close scores",
    "fractional grades",
    "negative grades",
    "large grades",
    "infinite scores",
    "NaN",
    "repeats",
)
# Maps options to the feature that a list must have for the choices to differ.
FEATURE_OF = {
    "ties": "ties",
    "nan": "NaN",
    "infinite": "infinite scores",
    "scores": "close scores",
    "negative": "negative grades",
    "duplicates": "repeats",
    "unjudged": "unjudged",
    "undefined": "nothing relevant",
    "mean": "several lists",
}
Definitions = dict[str, derive.Definition]


@cache
def data() -> derive.Vectors:
    """The vectors, read once."""
    return derive.vectors()


@cache
def remarks() -> dict[str, list[dict[str, Any]]]:
    """Remarks by library."""
    path = derive.FOLDER / "remarks.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def derived(record: Mapping[str, Any]) -> tuple[Definitions, dict[str, Any]]:
    """Derives the definitions of all metrics of a library.

    Args:
        record: Its answers.

    Returns:
        The definition of each metric, and for each option the choices that explain the same
        number of answers.
    """
    asked = [data().tests[x] for x in record["answers"]]
    by_metric: dict[str, list[Any]] = {}
    for test in asked:
        by_metric.setdefault(test["metric"], []).append(test)
    definitions: Definitions = {}
    all_equal: dict[str, Any] = {}
    preferred: derive.Definition = {}
    # The second time, a choice that one metric cannot tell is taken from the others.
    for _ in range(2):
        for metric, tests in by_metric.items():
            options = data().options[metric]
            definition, equal = derive.definition(tests, record, options, preferred)
            definitions[metric], all_equal[metric] = definition, equal
        certain = [
            (option, choices[0])
            for equal in all_equal.values()
            for option, choices in equal.items()
            if len(choices) == 1
        ]
        preferred = dict(sorted(certain, key=certain.count))
    return definitions, all_equal


def conventions(library: str, metric: str) -> list[dict[str, Any]]:
    """The remarks on a metric that say a choice."""
    found = remarks().get(library, [])
    return [x for x in found if metric in x["metrics"] and "choice" in x]


def stated(record: Mapping[str, Any], definitions: Definitions) -> Definitions:
    """Derived definitions with the conventions of remarks."""
    result = {metric: {**definition} for metric, definition in definitions.items()}
    for metric, definition in result.items():
        for remark in conventions(record["library"], metric):
            if remark["choice"] not in WITHOUT_RULE:
                option, _, choice = remark["choice"].partition(": ")
                definition[option] = choice
    return result


def claimed(record: Mapping[str, Any], definitions: Definitions) -> Definitions:
    """Stated definitions, with choices found by drawn lists."""
    found = record.get("random", {}).get("found", {})
    return {x: y | found.get(x, {}) for x, y in definitions.items()}


def without_reference(definitions: Definitions) -> Definitions:
    """Definitions without the choices of the reference, for the record."""
    return {
        metric: {
            option: choice
            for option, choice in definition.items()
            if choice != data().options[metric].get(option, [""])[0]
        }
        for metric, definition in definitions.items()
    }


def withdrawn(record: Mapping[str, Any], metric: str) -> dict[str, list[int]]:
    """Maps withdrawn features to numbers of tests, failures, and answers of no value."""
    tables = record.get("random", {}).get("features", {})
    found = {x: counts for x, counts in tables.get(metric, {}).items() if counts[1]}
    for feature in SHARED:
        own = tables.get(metric, {}).get(feature)
        if own and any(x.get(feature, [0, 0])[1] for x in tables.values()):
            found[feature] = own
    return found


@dataclass(frozen=True)
class Drawn:
    """A test of a drawn list.

    Attributes:
        features: The features of the list and the test.
        has_value: True if the library gave a value.
        holds: Returns True if its answer is due under a choice of each option.
    """

    features: set[str]
    has_value: bool
    holds: Callable[[derive.Definition], bool]


def recorded(
    record: Mapping[str, Any], tests: Mapping[str, Sequence[Drawn]]
) -> tuple[dict[str, Any], int]:
    """Adds the tests of drawn lists to the record of earlier ones.

    Args:
        record: The record of the library; drawn lists in it that were asked for other
            definitions are dropped.
        tests: Tests by metric.

    Returns:
        The new record of drawn lists, and the number of tests that refuted a statement:
        they failed, and had no feature that was withdrawn before.
    """
    of_v1 = stated(record, derived(record)[0])
    asked = without_reference(of_v1)
    random = record.get("random", {})
    if random.get("definitions") != asked:
        random = {"definitions": asked, "found": {}, "seeds": [], "features": {}}
    definitions = claimed({"random": random}, of_v1)
    refuted = 0
    before = {x: {*withdrawn({"random": random}, x)} for x in tests}
    found, after = {}, {}
    for metric, drawn in tests.items():
        before[metric] |= {
            FEATURE_OF[x["choice"].partition(":")[0]]
            for x in conventions(record["library"], metric)
            if x["choice"] in WITHOUT_RULE
        }
        definition, known = definitions[metric], random["features"].get(metric, {})
        refuted += sum(
            not x.features & before[metric] and not x.holds(definition) for x in drawn
        )
        new = {x for x in FEATURES if x not in known}
        found[metric] = told(metric, drawn, definition, before[metric], new)
        chosen = definition | found[metric]
        results = [(x.features, x.holds(chosen)) for x in drawn]
        after[metric] = charged(results, before[metric])
    suspects = Counter(feature for x in after.values() for feature in x)
    shared = SHARED & suspects.keys()
    for metric, drawn in tests.items():
        table = random["features"].setdefault(metric, {})
        if found[metric]:
            random["found"].setdefault(metric, {}).update(found[metric])
        chosen = definitions[metric] | found[metric]
        results = [(x.features, x.holds(chosen)) for x in drawn]
        all_guilty = charged(results, before[metric] | shared, suspects)
        for test, (features, holds) in zip(drawn, results, strict=True):
            guilty = features & all_guilty or {ANY_LIST} & all_guilty
            # A list with two withdrawn features says nothing of either.
            counted = guilty if len(guilty) == 1 else () if guilty else features | {""}
            for feature in counted:
                counts = table.setdefault(feature, [0, 0, 0])
                news = (1, not holds, not test.has_value)
                table[feature] = [x + y for x, y in zip(counts, news, strict=True)]
        random["features"][metric] = dict(sorted(table.items()))
    return random, refuted


def told(
    metric: str,
    tests: Sequence[Drawn],
    definition: derive.Definition,
    before: set[str],
    new: set[str],
) -> derive.Definition:
    """Finds choices that v1 did not tell, or does not have, with which all tests hold.

    Args:
        metric: The name.
        tests: The tests of the metric.
        definition: The definition that explains the answers to v1.
        before: Features that are withdrawn.
        new: Features that no list had before; other features have told already.

    Returns:
        Changed choices; a failing feature without a changed choice is withdrawn.
    """
    changed: derive.Definition = {}
    tried: set[str] = set()
    while True:
        chosen = definition | changed
        guilty = charged([(x.features, x.holds(chosen)) for x in tests], before)
        left = [x for x in guilty - before if x in new and x not in tried]
        if not left:
            return changed
        feature = max(left, key=FEATURES.index)
        tried.add(feature)
        others = guilty - {feature}
        clean = [x for x in tests if feature in x.features and not x.features & others]
        clean += [x for x in tests if not x.features & guilty]
        clean.sort(key=lambda x: x.holds(chosen))
        if clean[0].holds(chosen):  # other features are to blame
            continue
        for option, choice in alternatives(metric, feature, chosen):
            if option not in changed and all_hold(clean, chosen | {option: choice}):
                changed[option] = choice
                break


def all_hold(tests: Iterable[Drawn], choices: derive.Definition) -> bool:
    """True if all answers are due, and the evaluator knows the values of all tests."""
    try:
        return all(x.holds(choices) for x in tests)
    except AssertionError:
        return False


def alternatives(
    metric: str, feature: str, chosen: derive.Definition
) -> Iterable[tuple[str, str]]:
    """Yields other choices of the options that a feature is about, mistakes last."""
    about = {x for x, y in FEATURE_OF.items() if y == feature}
    options = data().options[metric]
    pairs = [(x, y) for x, choices in options.items() for y in choices]
    pairs += [
        (option, choice)
        for test in data().tests.values()
        if test["metric"] == metric
        for mistake in test.get("mistakes", ())
        for option, choices in mistake["when"].items()
        for choice in choices
    ]
    for option, choice in dict.fromkeys(pairs):
        is_about = option in about if about else option not in FEATURE_OF
        if is_about and chosen.get(option) != choice:
            yield option, choice


def charged(
    tests: Iterable[tuple[set[str], bool]],
    before: set[str],
    suspects: Mapping[str, int] = MappingProxyType({}),
) -> set[str]:
    """Finds features that every failing test has one of.

    Args:
        tests: The features of each, and whether it holds.
        before: Features that were found before.
        suspects: For features, the number of metrics for which they were found.

    Returns:
        Features of `before` and new ones. Tests with the fewest features are the clearest;
        of their features, the one with the most suspicions is taken, and among equals the
        one with the largest share of failing tests.
    """
    guilty = set(before)
    while True:
        left = [(features, holds) for features, holds in tests if not features & guilty]
        failing = [features for features, holds in left if not holds]
        if not failing or ANY_LIST in guilty:
            return guilty
        fewest = min(map(len, failing))
        if not fewest:
            return guilty | {ANY_LIST}
        num_tests = Counter(x for features, _ in left for x in features)
        num_failing = Counter(x for features in failing for x in features)
        candidates = {x for y in failing if len(y) == fewest for x in y}
        guilty.add(
            max(
                candidates,
                key=lambda x: (
                    x in SHARED,
                    suspects.get(x, 0),
                    num_failing[x] / (num_tests[x] + 1),
                    FEATURES.index(x),
                ),
            )
        )
