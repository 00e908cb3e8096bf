"""Lists that are drawn from a seed, and the values of a definition for them.

The vectors of v1 are few and short, and a definition that was derived from them may fail on
other data. Here data of every feature are drawn, most lists with one or two of them, and
the value of each test comes from `definitions`. Needs mpmath.
"""

import math
import random
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import conventions
import definitions
import generate

definitions.MAX_ORDERS = 50  # longer lists are computed, not walked

# Few sizes and cutoffs, since libraries of arrays compile for each.
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 17, 20, 25, 33, 40, 60, 100, 120, 200, 300)
TOLERANCE = 1e-5  # of sums of 300 terms in float32


def float32(score: float) -> float:
    """A score that float32 holds."""
    return struct.unpack("f", struct.pack("f", score))[0]


def scores_of(draw: random.Random, n: int, is_ranked: bool) -> list[float]:
    """Draws scores: distinct, coarse or constant, or such as float32 cannot tell apart."""
    kinds = ("fine", "coarse", "constant", "close")
    kind = draw.choices(kinds, (20, 1, 0, 0) if is_ranked else (8, 6, 1, 1))[0]
    if kind == "close":
        return [0.5 + draw.randrange(1 << 20) * 1e-14 for _ in range(n)]
    if kind == "constant":
        return [draw.choice((0.5, 0.0, -1.0, 3.0))] * n
    low, high = draw.choices(((0, 1), (-4, 4), (-1e5, 1e5)), (4, 2, 1))[0]
    steps = (1 << 22) if kind == "fine" else draw.choice((2, 4, 8, 16))
    places = [draw.randrange(1, steps + 1) for _ in range(n)]
    if kind == "fine":
        places = draw.sample(range(1, steps + 1), n)
    return [float32(low + (high - low) * x / (steps + 1)) for x in places]


def grades_of(draw: random.Random, n: int, is_ranked: bool) -> list[float]:
    """Draws grades, half of them 0 and 1, and most of ranked lists."""
    kinds = ("binary", "graded", "negative", "fractional", "large", "none")
    kind = draw.choices(kinds, (40 if is_ranked else 12, 5, 2, 2, 1, 1))[0]
    share = draw.choice((0.05, 0.2, 0.5, 0.9))
    if kind == "none":
        return [0] * n
    others = {
        "binary": (1,),
        "graded": (1, 2, 3, 4),
        "negative": (-2, -1, 1, 2) if draw.random() < 0.5 else (-1, 1),
        "fractional": (0.25, 0.5, 1.5, 2.5) if draw.random() < 0.5 else (0.5, 1),
        "large": draw.choice(((20, 31, 40), (1, 130))),
    }[kind]
    return [draw.choice(others) if draw.random() < share else 0 for _ in range(n)]


def one_list(draw: random.Random, is_ranked: bool) -> dict[str, Any]:
    """Draws a list: judgements, and a run, in rank order or in any order."""
    n = draw.choice(SIZES)
    ids = [f"d{x}" for x in draw.sample(range(4 * n + 9), n)]
    scores = scores_of(draw, n, is_ranked)
    judged = dict(zip(ids, grades_of(draw, n, is_ranked), strict=True))
    if is_ranked:
        scores.sort(reverse=True)
    run: list[list[Any]] = [list(x) for x in zip(ids, scores, strict=True)]
    places = draw.sample(range(n), min(n, draw.randint(1, 3)))
    special = draw.random() / (3 if is_ranked and draw.random() < 0.9 else 1)
    if is_ranked and special < 0.06 and n > 1:  # repeated, with the next lower score
        place = places[0]
        lower = [x for x in scores if x < scores[place]] or [scores[place] - 2]
        run.insert(place + 1, [run[place][0], (scores[place] + lower[0]) / 2])
    elif is_ranked and special < 0.3:
        pass
    elif special < 0.1:
        for place in places:
            run[place][1] = "NaN"
    elif special < 0.18:
        for place in places:
            run[place][1] = draw.choice(("Infinity", "-Infinity"))
    elif special < 0.25 and n > 1:
        for place in places[: n // 2]:
            run.insert(draw.randrange(n), [run[place][0], draw.choice(scores)])
    if draw.random() < (0.35 if is_ranked else 0.2):
        for doc in draw.sample(ids, draw.randint(1, n)):
            if len(judged) > 1:
                del judged[doc]
    if draw.random() < (0.35 if is_ranked else 0.2):
        more = [f"e{x}" for x in range(draw.choice((1, 3, 30)))]
        judged |= dict(zip(more, grades_of(draw, len(more), is_ranked), strict=True))
    judged = dict(draw.sample([*judged.items()], len(judged)))
    return {"qrels": judged, "run": run}


def groups(seed: int, num_lists: int, metrics: Mapping[str, Any]) -> list[Any]:
    """Draws groups, each with a test of every metric.

    Args:
        seed: The same seed draws the same lists.
        num_lists: The number of groups; one in twelve has two to five lists.
        metrics: Maps names of metrics to their parameters and defaults.
    """
    definitions._PREPARED.clear()  # of lists that are gone
    definitions._VALUES.clear()
    result = []
    for number in range(num_lists):
        draw = random.Random(f"{seed} {number}")
        group: dict[str, Any] = {"id": f"{seed}-{number}"}
        is_ranked = draw.random() < 0.45  # as lists of ids need it
        if draw.random() < 1 / 12:
            sizes = range(draw.randint(2, 5))
            group["queries"] = [one_list(draw, is_ranked) for _ in sizes]
        else:
            group |= one_list(draw, is_ranked)
        size = max(len(x["run"]) for x in group.get("queries", [group]))
        group["tests"] = [
            {"id": f"{group['id']}/{metric}", "metric": metric}
            | drawn_parameters(draw, size, defaults)
            for metric, defaults in metrics.items()
        ]
        result.append(group)
    return result


def drawn_parameters(
    draw: random.Random, size: int, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Draws a value of each parameter of a metric, a third of the time all defaults."""
    if draw.random() < 1 / 3:
        return dict(defaults)
    cutoffs = [None, 1, 2, 3, 5, 10, 20, 100, size, size + 1, 2 * size]
    drawn = {
        "k": draw.choice(cutoffs),
        "rel": draw.choice((1, 1, 1, 2, 3)),
        "p": draw.choice((0.8, 0.5, 0.95)),
    }
    return {x: drawn.get(x, default) for x, default in defaults.items()}


def features(group: Mapping[str, Any], test: Mapping[str, Any]) -> set[str]:
    """The features of a test."""
    queries = group.get("queries", [group])
    found = {"several lists"} if len(queries) > 1 else set()
    for query in queries:
        found |= set(_features(query, test))
    return found


def _features(query: Mapping[str, Any], test: Mapping[str, Any]) -> Iterable[str]:
    qrels, grades = query["qrels"], [*query["qrels"].values()]
    docs = [doc for doc, _ in query["run"]]
    scores = [float(score) for _, score in query["run"]]
    numbers = [x for x in scores if not math.isnan(x)]
    finite = [x for x in numbers if math.isfinite(x)]
    n, k, rel = len(docs), test.get("k"), test.get("rel", 0)
    hits = [x >= rel if "rel" in test else x > 0 for x in grades]
    facts = {
        "more than 32 items": n > 32,
        "a cutoff": k is not None,
        "no cutoff": "k" in test and k is None,
        "k>n": k is not None and k > n,
        "threshold": rel > 1,
        "pool": bool({*qrels} - {*docs}),
        "unjudged": bool({*docs} - {*qrels}),
        "graded": not {*grades} <= {0, 1},
        "one item": n == 1,
        "scores beyond 1": any(x > 1 for x in numbers),
        "scores of 0 or less": any(x <= 0 for x in numbers),
        "ties": len({*map(float32, numbers)}) < len(numbers),
        "nothing relevant": not any(hits),
        "nothing else judged": all(hits),
        "constant": n > 1 and len({*scores}) == 1,
        "close scores": len({*map(float32, finite)}) < len({*finite}),
        "fractional grades": any(x % 1 for x in grades),
        "negative grades": min(grades) < 0,
        "large grades": max(grades) > 30,
        "infinite scores": len(finite) < len(numbers),
        "NaN": len(numbers) < n,
        "repeats": len({*docs}) < n,
    }
    return (feature for feature, holds in facts.items() if holds)


def holds(
    group: Mapping[str, Any],
    test: Mapping[str, Any],
    answer: float | None,
    choices: Mapping[str, str],
) -> bool:
    """True if an answer equals the value of a definition, as far as float32 tells.

    Args:
        group: The drawn group.
        test: A test of the group.
        answer: The answer, or None for no value.
        choices: A choice for each option of the metric, mistakes and conventions too.
    """
    metric = test["metric"]
    at = {x: test[x] for x in definitions.PARAMETERS[metric]}
    value = conventions.value_of(group, metric, at, choices, generate.value_of)
    if answer is None or isinstance(value, str):
        return answer is None and isinstance(value, str)
    due = float(generate.resolved(value, choices))
    return abs(answer - due) <= TOLERANCE * max(1, abs(due))
