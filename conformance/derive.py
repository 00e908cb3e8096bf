"""Derives the definition that explains most of a library's answers, and judges each answer.

A definition is one choice of every option of a metric. It is searched by coordinate ascent:
from the reference, and from each choice beside it, one option after another is set to the
choice that explains more answers. If that leaves answers that some choice explains, all
choices are tried, except choices that cannot explain more. A choice that explains no more
than the reference gives way to it, so that a definition differs from the reference only
where answers say so.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Definition = dict[str, str]
Bits = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Vectors:
    """The contents of the files of v1.

    Attributes:
        tests: Tests by file and id, each with the first tag of its group.
        options: The choices of each option of each metric; the first is the reference.
        meanings: The status, meaning and source of each choice of each option.
    """

    tests: dict[str, dict[str, Any]]
    options: dict[str, dict[str, list[str]]]
    meanings: dict[str, dict[str, list[str]]]


def vectors() -> Vectors:
    """Reads the files of v1."""
    result = Vectors({}, {}, {})
    for name in ("lists", "scores", "means"):
        file = json.loads((FOLDER / f"v1/{name}.json").read_text(encoding="ascii"))
        for metric, entry in file["metrics"].items():
            result.options.setdefault(metric, {}).update(entry["options"])
        for option, choices in file["options"].items():
            result.meanings.setdefault(option, {}).update(choices)
        for group in file["groups"]:
            for test in group["tests"]:
                key = f"{name}/{test['id']}"
                result.tests[key] = test | {"id": key, "tag": group["tags"][0]}
    return result


def parameters() -> dict[str, dict[str, Any]]:
    """Reads the parameters of each metric, with their defaults."""
    result: dict[str, dict[str, Any]] = {}
    for name in ("lists", "scores", "means"):
        file = json.loads((FOLDER / f"v1/{name}.json").read_text(encoding="ascii"))
        result |= {x: y["parameters"] for x, y in file["metrics"].items()}
    return result


def answers() -> dict[str, dict[str, Any]]:
    """Reads the recorded answers by library, in the order of their names."""
    records = [json.loads(path.read_text()) for path in FOLDER.glob("answers/*.json")]
    return {
        x["library"]: x for x in sorted(records, key=lambda x: x["library"].lower())
    }


def adapter(library: str) -> Path:
    """The file that asks a library."""
    return FOLDER / "libraries" / f"{library.lower().replace('-', '_')}.py"


def is_equal(answer: float | None, due: float | None) -> bool:
    """True if an answer equals a value, by the rule of the README."""
    if answer is None or due is None:
        return answer is due
    return abs(answer - due) <= 1e-6 * max(1, abs(due))


def explaining(test: dict, answer: float | None, is_error: bool) -> list[dict]:
    """The entries of a test that give an answer; for an error, the entries that refuse."""
    entries = [x for x in test["values"] if is_equal(answer, x["value"])]
    refusing = [x for x in entries if x.get("error", False) == is_error]
    return refusing if answer is None and refusing else entries


def held(test: dict, definition: Definition) -> dict:
    """The entry of a test whose choices include the choices of a definition."""
    (entry,) = (
        x
        for x in test["values"]
        if all(definition[option] in choices for option, choices in x["when"].items())
    )
    return entry


def exhaustive(bits: Bits, of_tests: list[int], most: int) -> Definition:
    """Searches all choices for a definition that explains more answers than were found.

    Args:
        bits: The entries that each choice of each option allows; no other options matter.
        of_tests: The test of each entry.
        most: The number of answers that have been explained.

    Returns:
        A choice of each option; empty if no choices explain more.
    """
    in_test: dict[int, int] = {}
    for i, test in enumerate(of_tests):
        in_test[test] = in_test.get(test, 0) | 1 << i

    def num_tests(entries: int) -> int:
        return sum(1 for x in in_test.values() if entries & x)

    # The option first whose choices say most, so that few of their products are tried.
    names = sorted(bits, key=lambda x: sum(map(int.bit_count, bits[x].values())))
    best: Definition = {}
    left = [(0, (1 << len(of_tests)) - 1, best)]
    while left:
        depth, entries, chosen = left.pop()
        if entries.bit_count() <= most or num_tests(entries) <= most:
            continue
        if depth == len(names):
            best, most = chosen, entries.bit_count()
            continue
        distinct = {entries & x: y for y, x in [*bits[names[depth]].items()][::-1]}
        for held, choice in sorted(distinct.items(), key=lambda x: x[0].bit_count()):
            left.append((depth + 1, held, chosen | {names[depth]: choice}))
    return best


def definition(
    tests: list[dict],
    record: dict,
    options: dict[str, list[str]],
    preferred: Definition | None = None,
) -> tuple[Definition, dict[str, list[str]]]:
    """Derives the definition of a metric.

    Args:
        tests: The tests of the metric that the library was asked.
        record: The answers of the library.
        options: The choices of the metric.
        preferred: Choices to take if they explain the same number of answers, and the
            reference explains fewer.

    Returns:
        The definition, and for each option the choices that explain the same number of
        answers, or only the preferred choice if it is one of them. If these are all
        choices, the answers do not depend on the option.
    """
    fitting = [
        explaining(test, record["answers"][test["id"]], test["id"] in record["errors"])
        for test in tests
    ]
    whens = [(i, x["when"]) for i, entries in enumerate(fitting) for x in entries]
    # A bit for each entry; entries of one test exclude each other.
    bits: Bits = {
        option: {
            choice: sum(
                1 << i
                for i, (_, x) in enumerate(whens)
                if choice in x.get(option, choices)
            )
            for choice in choices
        }
        for option, choices in options.items()
    }

    def count(chosen: Definition) -> int:
        result = (1 << len(whens)) - 1
        for option, choice in chosen.items():
            result &= bits[option][choice]
        return result.bit_count()

    open_options = [x for x in options if len({*bits[x].values()}) > 1]
    reference = {option: choices[0] for option, choices in options.items()}
    starts = [reference | {x: y} for x in open_options for y in options[x]]
    best, num_explained = reference, sum(map(bool, fitting))
    for chosen in starts:
        before = -1
        while (after := count(chosen)) > before:
            before = after
            for option in open_options:
                choices = [chosen | {option: x} for x in options[option]]
                chosen = max([chosen, *choices], key=count)
        best = max(best, chosen, key=count)
        if count(best) == num_explained:  # by some definition each; no other has more
            break
    if count(best) < num_explained:
        of_tests = [i for i, _ in whens]
        found = exhaustive({x: bits[x] for x in open_options}, of_tests, count(best))
        best |= found
    for option in open_options:
        usual = {
            x: y
            for x, y in (preferred or {}).items()
            if x == option and y in options[x]
        }
        best = max(best | {option: reference[option]}, best | usual, best, key=count)
    equal = {
        option: [x for x in choices if count(best | {option: x}) == count(best)]
        for option, choices in options.items()
    }
    for option, choice in (preferred or {}).items():
        if choice == best.get(option):
            equal[option] = [choice]
    return best, equal


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer, by the definition of its library.

    Attributes:
        kind: `reference`, `published`, `convention`, `refused`, `error` if a value is due,
            or `undefined`: a value that the definition does not give.
        due: The value of the definition.
        like: For `undefined`, the mistakes or the other definitions that give the answer.
    """

    kind: str
    due: float | None
    like: str = ""


def text(choices: Definition) -> str:
    """A definition as text."""
    return ", ".join(f"{option}: {choice}" for option, choice in choices.items())


def verdict(test: dict, record: dict, chosen: Definition, data: Vectors) -> Verdict:
    """Judges the answer to a test by the definition of the library."""
    answer, is_error = record["answers"][test["id"]], test["id"] in record["errors"]
    entry, options = held(test, chosen), data.options[test["metric"]]
    reference = {option: choices[0] for option, choices in options.items()}
    if is_equal(answer, entry["value"]):
        if is_error:
            return Verdict("refused", None)
        if is_equal(answer, held(test, reference)["value"]):
            return Verdict("reference", answer)
        statuses = {
            data.meanings[option][chosen[option]][0]
            for option, choices in entry["when"].items()
            if reference[option] not in choices
        }
        kind = "convention" if "convention" in statuses else "published"
        return Verdict(kind, answer)
    if answer is None:
        return Verdict("error", entry["value"])
    mistakes = [
        ", ".join(f"{x}: {y[0]}" for x, y in mistake["when"].items())
        for mistake in test.get("mistakes", [])
        if is_equal(answer, mistake["value"])
    ]
    definitions = [
        text({x: y[0] for x, y in entry["when"].items() if chosen[x] not in y})
        for entry in test["values"]
        if is_equal(answer, entry["value"])
    ]
    return Verdict(
        "undefined", entry["value"], " or ".join((mistakes or definitions)[:2])
    )
