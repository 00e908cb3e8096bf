"""Writes the conformance vectors, `v1/*.json`: the same bytes in every run.

    python conformance/generate.py [folder]

Needs mpmath. It fails if two different values of a test are closer than ten tolerances, or
if a choice of all options has not exactly one value.
"""

import hashlib
import itertools
import json
import random
import re
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import definitions
import meanings
from definitions import ERROR, NULL, OPTIONS, PARAMETERS, UNDEFINED, Number, real
from groups import GROUPS
from meanings import MEANINGS
from mpmath import mpf, nstr

SPACING = mpf("1e-5")
SAME = mpf("1e-30")
RANDOM_CHOICES = 3  # of each test
OF_MEANS = {"queries": ["judged", "both", "listed", "run"], "mean": ["lists"]}
POOLED = ("recall", "precision")
# Mistakes that would stand everywhere are shown only in groups that are about them.
SHOWN_WITH = {
    ("order", "ascending"): {"basic", "unsorted"},
    ("discount", "shifted"): {"discount"},
    ("discount", "log10"): {"discount"},
    ("ranks", "zero"): {"discount", "cascade"},
    ("ranks", "two"): {"discount", "cascade"},
    ("ranks", "log2"): {"cascade"},
    ("chances", "last"): {"cascade"},
    ("beyond", "counted"): {"large grades"},
    ("k", "ignored"): {"cutoff"},
    ("k", "ideal"): {"denominator"},
    ("p", "ignored"): {"persistence"},
    ("factor", "missing"): {"persistence"},
    ("factor", "shares"): {"persistence"},
    ("threshold", "hits"): {"threshold"},
    ("threshold", "equal"): {"graded"},
    ("threshold", "above"): {"threshold"},
    ("worth", "unscaled"): {"cascade"},
    ("worth", "full"): {"cascade"},
    ("ideal", "uncut"): {"cutoff", "graded"},
    ("denominator", "fewest"): {"denominator", "basic", "pool"},
    ("ties", "best"): {"ties", "constant", "close scores", "signed zero"},
}
AS_NUMBERS = {"zero": Fraction(0), "one": Fraction(1), "skip": NULL}
Choices = dict[str, str]


def parse(text: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Returns the metric of a test, the parameters that it states, and all of them."""
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(\d+))?", text)
    assert match, text
    metric, inside, k = match.groups()
    stated = {}
    for part in filter(None, (inside or "").split(",")):
        name, number = part.split("=")
        stated[name] = float(number) if "." in number else int(number)
    at = PARAMETERS[metric] | stated
    if "k" in at:
        stated = {"k": k and int(k), **stated}
        at["k"] = stated["k"]
    assert "k" in at or k is None, text
    assert stated.keys() <= PARAMETERS[metric].keys(), text
    return metric, stated, at


def options_of(metric: str, is_mean: bool) -> dict[str, list[str]]:
    """Returns the choices of every option of a metric, the reference first."""
    if not is_mean:
        return OPTIONS[metric]
    pooled = {"mean": ["lists", "pooled"]} if metric in POOLED else {}
    return OPTIONS[metric] | OF_MEANS | pooled


def value_of(group: Mapping[str, Any], metric: str, at: Any, choices: Choices) -> Any:
    """Returns a number, NULL or ERROR of a list, or of the mean of several."""
    if "queries" not in group:
        return resolved(definitions.value_of(group, metric, at, choices), choices)
    queries = [query for query in group["queries"] if is_counted(query, choices)]
    if choices["mean"] == "pooled":
        parts = [pooled_parts(query, metric, at, choices) for query in queries]
        hits, others = (sum(x, Fraction(0)) for x in zip(*parts, strict=True))
        return resolved(hits / others if others else UNDEFINED, choices)
    values = [value_of(query, metric, at, choices) for query in queries]
    if ERROR in values:
        return ERROR
    values = [value for value in values if value is not NULL]
    if choices["mean"] == "batches":
        batches = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [mean(batch) for batch in batches]
    return mean(values) if values else NULL


def mean(values: list[Number]) -> Number:
    """Returns the mean of numbers."""
    return definitions.over(definitions.total(values), Fraction(len(values)))


def is_counted(query: Mapping[str, Any], choices: Choices) -> bool:
    """True if a query enters the mean."""
    needed = {"judged": ["qrels"], "run": ["run"]}
    names = needed.get(choices["queries"], ["qrels", "run"])
    is_empty = choices["queries"] == "both" and not query.get("run")
    return all(name in query for name in names) and not is_empty


def pooled_parts(query: Any, metric: str, at: Any, choices: Choices) -> Any:
    """Returns hits and the denominator of a query, for a share of sums."""
    prepared = definitions.prepare(query, choices)
    assert not isinstance(prepared, str)
    (order,), is_hit = prepared.orders, definitions.hit_fn(at, choices)
    depth = len(order) if at["k"] is None else at["k"]
    relevant = sum(map(is_hit, prepared.pool))
    denominators = {"relevant": relevant, "attainable": min(depth, relevant)}
    denominators |= {"k": depth, "retrieved": min(depth, len(order))}
    hits = sum(map(is_hit, order[: at["k"]]))
    return Fraction(hits), Fraction(denominators[choices["denominator"]])


def resolved(value: Any, choices: Choices) -> Any:
    """Returns what a list counts for that is undefined, or a value as it is."""
    return AS_NUMBERS[choices["undefined"]] if value is UNDEFINED else value


class Values:
    """The different values of a test, by number."""

    def __init__(self, name: str) -> None:
        """Holds none."""
        self.name, self.numbers = name, []
        self._about: list[float] = []  # as floats; most are far apart
        self._indices: dict[int, int] = {}
        self._held: list[Any] = []  # so that no other value gets the id of one

    def index(self, value: Any) -> int:
        """Returns the number of a value, which is a new one or equal to another."""
        if id(value) not in self._indices:
            self._indices[id(value)] = self._new_index(value)
            self._held.append(value)
        return self._indices[id(value)]

    def _new_index(self, value: Any) -> int:
        is_word = isinstance(value, str)
        about = 0.0 if is_word else float(value)
        for i, x in enumerate(self.numbers):
            if is_word or isinstance(x, str):
                if x is value:
                    return i
            elif abs(self._about[i] - about) < 2 * float(SPACING) * max(1.0, about):
                distance = abs(real(x) - real(value))
                if distance < SAME:
                    return i
                assert distance >= SPACING, f"{self.name}: {x} and {value} are close"
        self.numbers.append(value)
        self._about.append(about)
        return len(self.numbers) - 1


def may_matter(group: Mapping[str, Any], metric: str, is_mean: bool) -> Iterable[str]:
    """Names the options that the data of a group allow to change a value."""
    queries = group.get("queries", [group])
    runs = [x[name] for x in queries for name in ("run", "other") if name in x]
    of_items = {*definitions.ITEMS}
    for option in options_of(metric, is_mean):
        if option not in of_items:
            yield option
    judged = [x.get("subtopics", x.get("qrels", {})) for x in queries]
    scores = [[definitions.number(score) for _, score in run] for run in runs]
    if any(
        grade < 0 for x in judged for grade in x.values() if not isinstance(grade, list)
    ):
        yield from ("negative", "unjudged")
    elif any(
        doc not in x
        for x, q in zip(judged, queries, strict=True)
        for doc, _ in q.get("run", ())
    ):
        yield "unjudged"
    if any(len(dict(run)) < len(run) for run in runs):
        yield "duplicates"
    every = [score for x in scores for score in x]
    has_nan = any(x != x for x in every)
    if has_nan:
        yield "nan"
    if any(abs(x) == float("inf") for x in every):
        yield "infinite"
    rounds = any(
        len({*x}) > len({*map(definitions.rounded, clipped(x))}) for x in scores
    )
    if rounds:
        yield "scores"
    if has_nan or rounds or any(len({*x}) < len(x) for x in scores):
        yield "ties"


def clipped(scores: list[float]) -> list[float]:
    """Returns scores that float32 can hold, or infinite ones."""
    return [x if abs(x) < 3.4e38 else x * float("inf") for x in scores]


def boxes(options: tuple[Any, ...], values: tuple[int, ...]) -> Any:
    """Cuts a table of all choices into as few boxes of one value as halving finds.

    Args:
        options: Names and choices, `(name, (choice, …))`.
        values: The number of a value for each element of the product of the choices.

    Returns:
        Pairs of a box, `((name, (choice, …)), …)`, and the number of its value.
    """
    return _boxes(options, values)


@cache
def _boxes(options: tuple[Any, ...], values: tuple[int, ...]) -> Any:
    if len({*values}) == 1:
        return (((), values[0]),)
    best: Any = None
    stride = len(values)
    for i, (name, choices) in enumerate(options):
        stride //= len(choices)
        rest = options[:i] + options[i + 1 :]
        parts: dict[tuple[int, ...], list[str]] = {}
        for j, choice in enumerate(choices):
            part = tuple(
                x for n, x in enumerate(values) if n // stride % len(choices) == j
            )
            parts.setdefault(part, []).append(choice)
        if len(parts) == 1:
            return _boxes(rest, next(iter(parts)))
        found = tuple(
            (((name, tuple(chosen)), *box), value)
            for part, chosen in parts.items()
            for box, value in _boxes(rest, part)
        )
        if best is None or len(found) < len(best):
            best = found
    return best


def entry(box: Any, value: Any, order: list[str]) -> dict[str, Any]:
    """Returns a line of a test."""
    chosen = {name: list(choices) for name, choices in box}
    result: dict[str, Any] = {"when": {x: chosen[x] for x in order if x in chosen}}
    if isinstance(value, str):
        return result | {"value": None} | ({"error": True} if value is ERROR else {})
    result["value"] = float(nstr(real(value), 30))
    # A short decimal says itself which fraction it is.
    if isinstance(value, Fraction) and len(repr(result["value"])) > 8:
        exact = f"{value.numerator}/{value.denominator}"
        result |= {"exact": exact} if len(exact) < 12 else {}
    return result


def test_of(group: Mapping[str, Any], text: str, is_mean: bool) -> dict[str, Any]:
    """Returns a test of a group with all of its values, and checks it."""
    metric, stated, at = parse(text)
    name, options = f"{group['id']}/{text}", options_of(metric, is_mean)
    reference = {option: choices[0] for option, choices in options.items()}
    matters = {*may_matter(group, metric, is_mean)}
    open_options = tuple((x, tuple(y)) for x, y in options.items() if x in matters)
    values, names = Values(name), [x for x, _ in open_options]
    table = tuple(
        values.index(
            value_of(
                group, metric, at, reference | dict(zip(names, chosen, strict=True))
            )
        )
        for chosen in itertools.product(*(choices for _, choices in open_options))
    )
    cut = boxes(open_options, table)
    entries = [entry(box, values.numbers[i], [*options]) for box, i in cut]
    check(
        group, metric, at, options, [(dict(box), values.numbers[i]) for box, i in cut]
    )
    mistakes = list(mistakes_of(group, metric, at, reference, options, values))
    result = {"id": name, "metric": metric, **stated, "values": entries}
    return result | ({"mistakes": mistakes} if mistakes else {})


def check(group: Any, metric: str, at: Any, options: Any, cut: Any) -> None:
    """Draws choices of all options, and asserts that each has one value and has it once."""
    draw = random.Random(f"{group['id']} {metric} {at}")
    for _ in range(RANDOM_CHOICES):
        mine = {option: draw.choice(choices) for option, choices in options.items()}
        held = [x for box, x in cut if all(mine[name] in y for name, y in box.items())]
        assert len(held) == 1, (group["id"], metric, mine)
        value = value_of(group, metric, at, mine)
        if isinstance(value, str) or isinstance(held[0], str):
            assert value is held[0], (group["id"], metric, mine, value, held[0])
        else:
            assert abs(real(value) - real(held[0])) < SAME, (group["id"], metric, mine)


def mistakes_of(
    group: Any, metric: str, at: Any, reference: Choices, options: Any, values: Values
) -> Iterable[dict[str, Any]]:
    """Yields the values of mistakes that no definition has, beside the common choices."""
    num_right = len(values.numbers)
    mistakes = [x for x, metrics in definitions.MISTAKES.items() if metric in metrics]
    if "queries" in group:
        mistakes.append(("mean", "batches"))
    gains = options.get("gain", [""])
    for option, choice in mistakes:
        shown_with = SHOWN_WITH.get((option, choice))
        if shown_with and not shown_with & {*group["tags"]}:
            continue
        table = []
        for gain in gains:
            mine = reference | ({"gain": gain} if gain else {}) | {option: choice}
            value = value_of(group, metric, at, mine)
            table.append(-1 if isinstance(value, str) else values.index(value))
        for box, i in boxes((("gain", tuple(gains)),), tuple(table)):
            if i >= num_right:
                line = entry(box, values.numbers[i], ["gain"])
                line.pop("exact", None)
                yield {"when": {option: [choice]} | line.pop("when"), **line}


def header(name: str, groups: list[Any], text: str) -> dict[str, Any]:
    """Returns what a reader needs to know about a file, whose groups have a text."""
    is_mean = name == "means"
    metrics = sorted({test["metric"] for group in groups for test in group["tests"]})
    of_metrics = {
        metric: {
            "parameters": PARAMETERS[metric],
            "options": options_of(metric, is_mean),
            "undefined": meanings.UNDEFINED[metric],
        }
        for metric in metrics
    }
    pairs = {
        (option, choice)
        for x in of_metrics.values()
        for option, choices in x["options"].items()
        for choice in choices
    }
    lines = [
        y
        for group in groups
        for test in group["tests"]
        for y in test.get("mistakes", ())
    ]
    for line in lines:
        pairs |= {
            (option, choice)
            for option, choices in line["when"].items()
            for choice in choices
        }
    used = {
        option: {
            x: MEANINGS[option, x]
            for x in dict.fromkeys(y for o, y in MEANINGS if o == option)
            if (option, x) in pairs
        }
        for option in dict.fromkeys(option for option, _ in MEANINGS)
    }
    missing = pairs - MEANINGS.keys()
    assert not missing, missing
    return {
        "schema": "vectors-v1.schema.json",
        "format": 1,
        "title": meanings.TITLES[name],
        **meanings.ABOUT,
        "tests": sum(len(group["tests"]) for group in groups),
        "sha256": hashlib.sha256(text.encode("ascii")).hexdigest(),
        "tolerance": 1e-6,
        "options": {option: choices for option, choices in used.items() if choices},
        "metrics": of_metrics,
    }


def dumped(data: Any) -> str:
    """Returns compact JSON."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def written(name: str) -> str:
    """Returns the text of a file: a line for each choice, metric, group and test."""
    groups = []
    for group in GROUPS[name]:
        tests = [test_of(group, text, name == "means") for text in group["tests"]]
        groups.append(group | {"tests": tests})
    parts = []
    for group in groups:
        tests = ",\n".join(map(dumped, group["tests"]))
        data = dumped({x: y for x, y in group.items() if x != "tests"})
        parts.append(f'{data[:-1]},"tests":[\n{tests}]}}')
    text_of_groups = "\n".join(['"groups": [', ",\n".join(parts), "]", "}", ""])
    lines = ["{"]
    for key, value in header(name, groups, text_of_groups).items():
        if key not in ("options", "metrics"):
            lines.append(f'"{key}": {dumped(value)},')
            continue
        parts = [f'"{x}":{dumped(y)}' for x, y in value.items()]
        lines += [f'"{key}": {{', ",\n".join(parts), "},"]
    text = "\n".join([*lines, text_of_groups])
    names = [
        test["id"] for group in json.loads(text)["groups"] for test in group["tests"]
    ]
    assert len(names) == len({*names}), "an id is there twice"
    return text


def main() -> None:
    """Writes all files."""
    default = Path(__file__).parent / "v1"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(exist_ok=True)
    names = [group["id"] for groups in GROUPS.values() for group in groups]
    assert len(names) == len({*names}), "a group is there twice"
    for name in GROUPS:
        (folder / f"{name}.json").write_text(
            written(name), encoding="ascii", newline="\n"
        )


if __name__ == "__main__":
    main()
