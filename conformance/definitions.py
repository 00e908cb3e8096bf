"""What each metric is under each choice of options, in fractions and 45 digits.

Nothing is fast and nothing is shared: every value is the mean, the least or the largest
value over the orders of tied items, each of which is walked from its first rank.
"""

import itertools
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from mpmath import mp, mpf

mp.dps = 45
Number = Fraction | mpf
Choices = Mapping[str, str]

# What a test can have instead of a number.
UNDEFINED = "undefined"  # the option of this name decides
NULL = "null"
ERROR = "error"

ITEMS = {
    "ties": ["expected", "id-desc", "id-asc", "input", "input-reversed", "worst"],
    "duplicates": ["error", "first", "removed", "last"],
    "unjudged": ["zero", "removed"],
    "negative": ["removed", "zero", "unjudged", "error"],
    "nan": ["nan", "error", "last", "first"],
    "infinite": ["ranked", "unretrieved", "error"],
    "scores": ["float64", "float32"],
}
UNDEFINED_AS = {"undefined": ["zero", "one", "skip"]}
THRESHOLD = {"threshold": ["at-least", "above-zero"]}
GAINS = {"gain": ["exp2", "linear"], "threshold": ["none", "relevant"]}
BEYOND = {"beyond": ["clipped", "error"]}


def _without(*names: str, **changed: list[str]) -> dict[str, list[str]]:
    return {x: y for x, y in (ITEMS | changed).items() if x not in names}


# The options of each metric; the first choice is that of the reference.
OPTIONS: dict[str, dict[str, list[str]]] = {
    "ndcg": GAINS
    | {"discount": ["log2", "jk2002", "reciprocal"], "ideal": ["judged", "full"]}
    | ITEMS
    | UNDEFINED_AS,
    "dcg": GAINS | {"discount": ["log2", "ln", "jk2002", "reciprocal"]} | ITEMS,
    "ap": {"denominator": ["relevant", "attainable", "hits", "k"]}
    | (THRESHOLD | ITEMS | UNDEFINED_AS),
    "rr": THRESHOLD | ITEMS | UNDEFINED_AS,
    "recall": {"denominator": ["relevant", "attainable"]}
    | (THRESHOLD | ITEMS | UNDEFINED_AS),
    "precision": {"denominator": ["retrieved", "k"]}
    | (THRESHOLD | ITEMS | UNDEFINED_AS),
    "hit_rate": THRESHOLD | ITEMS | UNDEFINED_AS,
    "err": {"worth": ["exp2", "linear"]} | BEYOND | ITEMS | UNDEFINED_AS,
    "rbp": {"worth": ["binary", "graded"]}
    | (BEYOND | THRESHOLD | ITEMS | UNDEFINED_AS),
    "auc": {"depth": ["returned", "pool"]} | (THRESHOLD | ITEMS | UNDEFINED_AS),
    "r_precision": THRESHOLD | ITEMS | UNDEFINED_AS,
    "bpref": {"denominator": ["least", "relevant"]}
    | (THRESHOLD | _without("unjudged") | UNDEFINED_AS),
    "alpha_ndcg": {"ideal": ["greedy", "best"]} | _without("negative") | UNDEFINED_AS,
    "rbo": {"depth": ["extrapolated", "seen"]}
    | _without("unjudged", "negative", duplicates=["error", "removed"])
    | UNDEFINED_AS,
}
# The parameters of each metric, and what they are where a test does not say.
PARAMETERS: dict[str, dict[str, Any]] = {
    name: {"k": None, "rel": 1}
    for name in ("ap", "rr", "recall", "precision", "hit_rate")
} | {
    "ndcg": {"k": None},
    "dcg": {"k": None},
    "err": {"k": None, "max_grade": 4},
    "rbp": {"k": None, "rel": 1, "p": 0.8, "max_grade": 1},
    "auc": {"rel": 1},
    "r_precision": {"rel": 1},
    "bpref": {"rel": 1},
    "alpha_ndcg": {"k": None, "alpha": 0.5},
    "rbo": {"p": 0.9},
}
# Choices that known bugs make, by option: the metrics that can make them.
BINARY = ("ap", "rr", "recall", "precision", "hit_rate", "auc", "r_precision")
EVERY = tuple(OPTIONS)
MISTAKES: dict[tuple[str, str], tuple[str, ...]] = {
    ("ties", "best"): EVERY,
    ("duplicates", "counted"): EVERY,
    ("order", "input"): EVERY,
    ("order", "ascending"): EVERY,
    ("zeros", "signed"): EVERY,
    ("scores", "positive"): ("ap", "rr", "recall", "precision"),
    ("ideal", "returned"): ("ndcg",),
    ("ideal", "uncut"): ("ndcg",),
    ("discount", "shifted"): ("ndcg", "dcg"),
    ("negative", "counted"): ("ndcg", "dcg"),
    ("first", "highest"): ("rr",),
    ("denominator", "returned"): ("ap", "recall"),
    ("denominator", "fewest"): ("precision", "r_precision"),
    ("worth", "raw"): ("rbp",),
    ("max_grade", "list"): ("err",),
    ("unjudged", "zero"): ("bpref",),
}


class Prepared(NamedTuple):
    """Ranked lists in every order that counts, and what was judged.

    Attributes:
        orders: Each a tuple of grades, None for what is worth nothing; all equally likely.
        pool: The grades of what was judged.
        reading: How the values of the orders become one: "mean", "least" or "largest".
    """

    orders: tuple[tuple[Any, ...], ...]
    pool: tuple[Any, ...]
    reading: str


def number(score: float | str) -> float:
    """Reads a score, which is a string where JSON has no number."""
    return float(score) if isinstance(score, str) else score


def rounded(score: float) -> float:
    """Rounds a score to float32."""
    return struct.unpack("f", struct.pack("f", score))[0]


def tie_groups(run: list[tuple[str, float]], choices: Choices) -> Any:
    """Returns the ids of a run as tie groups, best first, or NULL or ERROR."""
    if choices["scores"] == "float32":
        run = [(doc, rounded(score)) for doc, score in run]
    if any(math.isnan(score) for _, score in run):
        if choices["nan"] in ("nan", "error"):
            return NULL if choices["nan"] == "nan" else ERROR
    if any(math.isinf(score) for _, score in run):
        if choices["infinite"] == "error":
            return ERROR
        if choices["infinite"] == "unretrieved":
            run = [(doc, score) for doc, score in run if score != -math.inf]
    order = choices.get("order", "descending")
    if order == "input":
        return [[doc] for doc, _ in run]

    def key(score: float) -> tuple[float, ...]:
        if math.isnan(score):
            return (1.0 if choices["nan"] == "first" else -1.0, 0.0, 0.0)
        sign = math.copysign(1, score) if choices.get("zeros") == "signed" else 0.0
        return (0.0, score + 0.0, sign if score == 0 else 0.0)

    groups: dict[tuple[float, ...], list[str]] = {}
    for doc, score in run:
        groups.setdefault(key(score), []).append(doc)
    return [groups[x] for x in sorted(groups, reverse=order == "descending")]


def arrangements(members: list[Any]) -> list[tuple[Any, ...]]:
    """Returns the distinct orders of members, of which equal ones are exchangeable."""
    counts = Counter(map(repr, members))
    values = {repr(x): x for x in members}

    def walk(num_left: int) -> Iterator[tuple[Any, ...]]:
        if not num_left:
            yield ()
        for name in sorted(counts):
            if counts[name]:
                counts[name] -= 1
                yield from ((values[name], *rest) for rest in walk(num_left - 1))
                counts[name] += 1

    return list(walk(len(members)))


def ordered(groups: list[list[Any]], ties: str) -> list[tuple[Any, ...]]:
    """Returns the orders of tie groups under a policy."""
    if ties == "input":
        chosen = [[tuple(x)] for x in groups]
    elif ties == "input-reversed":
        chosen = [[tuple(reversed(x))] for x in groups]
    elif ties in ("id-desc", "id-asc"):
        chosen = [
            [tuple(sorted(x, key=str.encode, reverse=ties == "id-desc"))]
            for x in groups
        ]
    else:
        chosen = [arrangements(x) for x in groups]
    return [tuple(itertools.chain(*parts)) for parts in itertools.product(*chosen)]


READINGS = {"worst": "least", "best": "largest"}


_ITEM_OPTIONS = (*ITEMS, "order", "zeros")
_PREPARED: dict[Any, Prepared | str] = {}
_VALUES: dict[Any, Any] = {}


def prepare(group: Mapping[str, Any], choices: Choices) -> Prepared | str:
    """Returns the orders of a group, or NULL or ERROR; kept for the next call."""
    key = id(group), tuple(choices.get(x) for x in _ITEM_OPTIONS)
    if key not in _PREPARED:
        _PREPARED[key] = _prepared(group, choices)
    return _PREPARED[key]


def _prepared(group: Mapping[str, Any], choices: Choices) -> Prepared | str:
    run = [(doc, number(score)) for doc, score in group.get("run", ())]
    judged = dict(group.get("subtopics") or group.get("qrels") or {})
    if "subtopics" in group:
        judged = {doc: tuple(topics) for doc, topics in judged.items()}
    else:
        judged = {doc: Fraction(grade) for doc, grade in judged.items()}
        negative = {doc for doc, grade in judged.items() if grade < 0}
        if negative and choices["negative"] == "error":
            return ERROR
        if choices["negative"] == "removed":
            run = [x for x in run if x[0] not in negative]
        if choices["negative"] in ("removed", "unjudged"):
            judged = {
                doc: grade for doc, grade in judged.items() if doc not in negative
            }
        elif choices["negative"] == "zero":
            judged |= dict.fromkeys(negative, Fraction(0))
    repeats = len(dict(run)) < len(run)
    if repeats and choices["duplicates"] == "error":
        return ERROR
    if choices["duplicates"] == "last":
        run, repeats = list(dict(run).items()), False
    if choices.get("unjudged") == "removed":
        run = [(doc, score) for doc, score in run if doc in judged]
    groups = tie_groups(run, choices)
    if isinstance(groups, str):
        return groups
    worth = dict(judged)
    if choices["scores"] == "positive":
        worth = {doc: worth.get(doc) for doc, score in run if score > 0}
    is_definite = choices["ties"] not in ("expected", "worst", "best")
    if not is_definite and not repeats:
        groups = [[worth.get(doc) for doc in docs] for docs in groups]
        orders = ordered(groups, choices["ties"])
    else:
        orders = [
            tuple(
                worth.get(doc) for doc in without_repeats(order, choices["duplicates"])
            )
            for order in ordered(groups, choices["ties"])
        ]
    reading = READINGS.get(choices["ties"], "mean")
    return Prepared(tuple(orders), tuple(judged.values()), reading)


def without_repeats(order: tuple[str, ...], duplicates: str) -> list[str | None]:
    """Returns an order in which what an earlier id repeats is None, or left out."""
    if duplicates == "counted":
        return list(order)
    seen: set[str] = set()
    kept: list[str | None] = []
    for doc in order:
        if doc not in seen:
            kept.append(doc)
        elif duplicates == "first":
            kept.append(None)
        seen.add(doc)
    return kept


# Sums and weights.
def plus(a: Number, b: Number) -> Number:
    """Adds two numbers, one of which may be a fraction."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return real(a) + real(b)


def times(a: Number, b: Number) -> Number:
    """Multiplies two numbers; a fraction of 0 stays one."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    if a == 0 or b == 0:
        return Fraction(0)
    return real(a) * real(b)


def over(a: Number, b: Number) -> Number:
    """Divides two numbers."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a / b
    return Fraction(0) if a == 0 else real(a) / real(b)


def real(x: Number) -> mpf:
    """Returns a number to 45 digits."""
    return _real(x) if isinstance(x, Fraction) else x


@cache
def _real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def total(numbers: Any) -> Number:
    """Adds fractions first, so that they stay exact."""
    exact, rest = Fraction(0), mpf(0)
    has_rest = False
    for x in numbers:
        if isinstance(x, Fraction):
            exact += x
        else:
            rest, has_rest = rest + x, True
    return real(exact) + rest if has_rest else exact


@cache
def discount(name: str, rank: int) -> Number:
    """Returns what a rank is worth, a fraction where its logarithm is one."""
    if name == "reciprocal":
        return Fraction(1, rank)
    if name == "jk2002":
        return Fraction(1) if rank <= 2 else over(Fraction(1), log2(rank))
    if name == "ln":
        return 1 / mp.log(rank + 1)
    return over(Fraction(1), log2(rank + (2 if name == "shifted" else 1)))


def log2(x: int) -> Number:
    """Returns the logarithm to the base 2, a fraction where it is an integer."""
    if x & (x - 1) == 0:
        return Fraction(x.bit_length() - 1)
    return mp.log(x) / mp.log(2)


@cache
def gain_of(grade: Any, gain: str, threshold: str) -> Number:
    """Returns what a grade is worth; None is what was not judged."""
    if grade is None or (threshold == "relevant" and grade < 1):
        return Fraction(0)
    return grade if gain == "linear" else power_of_two(grade) - 1


def power_of_two(grade: Fraction) -> Number:
    """Returns 2 to the power of a grade."""
    if grade.denominator == 1:
        return Fraction(2) ** int(grade)
    return mpf(2) ** real(grade)


def dcg(gains: Any, name: str) -> Number:
    """Sums gains by discount."""
    return total(times(x, discount(name, r)) for r, x in enumerate(gains, 1) if x)


# One order, one number. `at` holds parameters, `is_hit` says what is relevant.
def _ndcg(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    name, k, ideal = choices["discount"], at["k"], choices["ideal"]
    names = choices["gain"], choices["threshold"]
    gains = [gain_of(grade, *names) for grade in order]
    best = falling_gains(pool, *names)
    if not best or best[0] <= 0:
        return UNDEFINED
    if ideal == "full":
        if k is None:
            return NULL
        best = best[:1] * k
    elif ideal == "returned":
        best = falling_gains(order, *names)
    highest = ideal_dcg(best if ideal == "uncut" else best[:k], name)
    return UNDEFINED if highest == 0 else over(dcg(gains[:k], name), highest)


@cache
def falling_gains(grades: tuple[Any, ...], gain: str, threshold: str) -> Any:
    """Returns the gains of grades, the largest first."""
    gains = (gain_of(grade, gain, threshold) for grade in grades)
    return tuple(sorted(gains, key=real, reverse=True))


ideal_dcg = cache(dcg)


def _dcg(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    names = choices["gain"], choices["threshold"]
    return dcg(
        [gain_of(grade, *names) for grade in order][: at["k"]], choices["discount"]
    )


def hit_fn(at: Any, choices: Choices) -> Callable[[Any], bool]:
    """Returns what tells whether a grade is relevant."""
    if choices["threshold"] == "above-zero":
        return lambda grade: grade is not None and grade > 0
    return lambda grade: grade is not None and grade >= at["rel"]


def _binary(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a formula of hits, the number of relevant items, k and choices."""

    def value(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
        is_hit = hit_fn(at, choices)
        num_relevant = sum(map(is_hit, pool))
        if not num_relevant:
            return UNDEFINED
        return formula([is_hit(x) for x in order], num_relevant, at.get("k"), choices)

    return value


def _share(a: Number | int, b: int) -> Fraction:
    return Fraction(a) / b if b else Fraction(0)


@_binary
def _ap(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    found, terms = 0, Fraction(0)
    for rank, hit in enumerate(hits[:k], 1):
        if hit:
            found += 1
            terms += Fraction(found, rank)
    depth = len(hits) if k is None else k
    denominators = {"relevant": num_relevant, "hits": found, "k": depth}
    denominators |= {"attainable": min(depth, num_relevant), "returned": sum(hits)}
    return _share(terms, denominators[choices["denominator"]])


@_binary
def _recall(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    depth = len(hits) if k is None else k
    denominators = {"relevant": num_relevant, "returned": sum(hits)}
    denominators["attainable"] = min(depth, num_relevant)
    return _share(sum(hits[:k]), denominators[choices["denominator"]])


@_binary
def _precision(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    depth = len(hits) if k is None else k
    denominators = {"k": depth, "retrieved": min(depth, len(hits))}
    denominators["fewest"] = min(depth, num_relevant)
    return _share(sum(hits[:k]), denominators[choices["denominator"]])


@_binary
def _hit_rate(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    return Fraction(any(hits[:k]))


@_binary
def _r_precision(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    is_mistake = choices.get("denominator") == "fewest"
    divisor = min(num_relevant, len(hits)) if is_mistake else num_relevant
    return _share(sum(hits[:num_relevant]), divisor)


def _rr(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    is_hit = hit_fn(at, choices)
    if not any(map(is_hit, pool)):
        return UNDEFINED
    if choices.get("first") == "highest":
        grades = [x for x in order if x is not None]
        highest = max(grades, default=0)
        hits = [x is not None and x == highest and x > 0 for x in order]
    else:
        hits = [is_hit(x) for x in order]
    ranks = [r for r, hit in enumerate(hits[: at["k"]], 1) if hit]
    return Fraction(1, ranks[0]) if ranks else Fraction(0)


def _err(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    highest = Fraction(at["max_grade"])
    if choices.get("max_grade") == "list":
        highest = max((x for x in pool), default=highest)
    if any(x > highest for x in pool) and choices["beyond"] == "error":
        return ERROR
    if not any(x > 0 for x in pool):
        return UNDEFINED
    value, reaches = Fraction(0), Fraction(1)
    for rank, grade in enumerate(order[: at["k"]], 1):
        grade = min(max(grade or Fraction(0), Fraction(0)), highest)
        stops = over(grade, highest)
        if choices["worth"] == "exp2":
            stops = over(power_of_two(grade) - 1, power_of_two(highest))
        value = plus(value, over(times(reaches, stops), Fraction(rank)))
        reaches = times(reaches, 1 - stops)
    return value


def _rbp(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    is_hit, highest = hit_fn(at, choices), Fraction(at["max_grade"])
    is_graded = choices["worth"] == "graded"
    if is_graded and any(x > highest for x in pool) and choices["beyond"] == "error":
        return ERROR

    def worth(grade: Any) -> Fraction:
        if choices["worth"] == "binary" or grade is None or grade < 0:
            return Fraction(is_hit(grade))
        return min(grade / highest, Fraction(1)) if is_graded else grade

    if not any(worth(x) > 0 for x in pool):
        return UNDEFINED
    p = Fraction(str(at["p"]))
    return (1 - p) * sum(
        (p**r * worth(x) for r, x in enumerate(order[: at["k"]])), Fraction(0)
    )


def _auc(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    is_hit = hit_fn(at, choices)
    hits = [is_hit(x) for x in order]
    hits_left = others_left = 0
    if choices["depth"] == "pool":  # what was not returned ties below all else
        hits_left = sum(map(is_hit, pool)) - sum(hits)
        others_left = len(pool) - sum(map(is_hit, pool))
        others_left -= sum(x is not None and not is_hit(x) for x in order)
    above, pairs = 0, Fraction(0)
    for hit in hits:
        above += hit
        pairs += 0 if hit else above
    pairs += sum(hits) * others_left + Fraction(hits_left * others_left, 2)
    num_hits = sum(hits) + hits_left
    num_others = len(hits) - sum(hits) + others_left
    return pairs / (num_hits * num_others) if num_hits and num_others else UNDEFINED


def _bpref(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    is_hit = hit_fn(at, choices)
    num_relevant = sum(map(is_hit, pool))
    num_others = len(pool) - num_relevant
    if not num_relevant:
        return UNDEFINED
    reads_all = choices.get("unjudged") == "zero"
    num_others += sum(x is None for x in order) if reads_all else 0
    least = min(num_relevant, num_others)
    divisor = least if choices["denominator"] == "least" else num_relevant
    above, terms = 0, Fraction(0)
    for grade in order:
        if is_hit(grade):
            terms += 1 - _share(min(above, num_relevant), divisor)
        elif grade is not None or reads_all:
            above += 1
    return terms / num_relevant


def _alpha_sum(order: Any, at: Any) -> Number:
    kept, seen = 1 - Fraction(str(at["alpha"])), Counter()
    gains = []
    for topics in order[: at["k"]]:
        gains.append(sum((kept ** seen[x] for x in topics or ()), Fraction(0)))
        seen.update(topics or ())
    return dcg(gains, "log2")


def _alpha_ndcg(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    if not any(pool):
        return UNDEFINED
    if choices["ideal"] == "best":
        ideal = max((_alpha_sum(x, at) for x in arrangements(list(pool))), key=real)
    else:
        ideal = greedy(tuple(pool), at["k"], at["alpha"])
    return over(_alpha_sum(order, at), ideal)


@cache
def greedy(pool: tuple[Any, ...], k: int | None, alpha: float) -> Number:
    """Returns the α-DCG of the greedy order, which must not hang on how it breaks ties."""
    kept, values = 1 - Fraction(str(alpha)), set()

    def walk(order: tuple[Any, ...], left: tuple[Any, ...]) -> None:
        if not left or len(order) == k:
            values.add(_alpha_sum(order, {"k": None, "alpha": alpha}))
            return
        seen = Counter(itertools.chain(*order))
        gains = [sum((kept ** seen[x] for x in y), Fraction(0)) for y in left]
        for y in {left[i] for i, gain in enumerate(gains) if gain == max(gains)}:
            i = left.index(y)
            walk((*order, y), left[:i] + left[i + 1 :])

    walk((), pool)
    numbers = sorted(map(real, values))
    assert numbers[-1] - numbers[0] < mpf(10) ** -40, "greedy orders differ in value"
    return min(values, key=real)


FORMULAS: dict[str, Callable[..., Any]] = {
    "ndcg": _ndcg,
    "dcg": _dcg,
    "ap": _ap,
    "rr": _rr,
    "recall": _recall,
    "precision": _precision,
    "hit_rate": _hit_rate,
    "err": _err,
    "rbp": _rbp,
    "auc": _auc,
    "r_precision": _r_precision,
    "bpref": _bpref,
    "alpha_ndcg": _alpha_ndcg,
}


def rbo(first: Any, second: Any, p: Fraction, depth: str) -> Any:
    """Returns rank-biased overlap of two orders, equation 32 of Webber et al."""
    shorter, longer = sorted((first, second), key=len)
    s, n = len(shorter), len(longer)
    if not s:
        return UNDEFINED
    common = [len({*shorter[:d]} & {*longer[:d]}) for d in range(n + 1)]
    seen = sum((Fraction(common[d], d) * p**d for d in range(1, n + 1)), Fraction(0))
    if depth == "seen":
        return (1 - p) / p * seen
    assumed = sum(
        (Fraction(common[s] * (d - s), s * d) * p**d for d in range(s + 1, n + 1)),
        Fraction(0),
    )
    beyond = Fraction(common[n] - common[s], n) + Fraction(common[s], s)
    return (1 - p) / p * (seen + assumed) + beyond * p**n


def _rbo_values(group: Mapping[str, Any], at: Any, choices: Choices) -> Any:
    sides = []
    for name in ("run", "other"):
        run = [(doc, number(score)) for doc, score in group[name]]
        if len(dict(run)) < len(run) and choices["duplicates"] == "error":
            return ERROR
        groups = tie_groups(run, choices)
        if isinstance(groups, str):
            return groups
        sides.append(
            [
                without_repeats(x, choices["duplicates"])
                for x in ordered(groups, choices["ties"])
            ]
        )
    p = Fraction(str(at["p"]))
    pairs = itertools.product(*sides)
    return [rbo(first, second, p, choices["depth"]) for first, second in pairs]


def value_of(
    group: Mapping[str, Any], metric: str, at: Mapping[str, Any], choices: Choices
) -> Any:
    """Returns the value of a metric for one list under one choice of each option.

    Args:
        group: With run, and qrels, subtopics or other.
        metric: The name.
        at: A value of each parameter of the metric.
        choices: A choice for each of its options, and perhaps a mistake.

    Returns:
        A number, UNDEFINED, NULL or ERROR.
    """
    key = [
        (x, y) for x, y in choices.items() if x not in ("undefined", "queries", "mean")
    ]
    key = id(group), metric, tuple(at.items()), tuple(key)
    if key not in _VALUES:
        _VALUES[key] = _value_of(group, metric, at, choices)
    return _VALUES[key]


def _value_of(
    group: Mapping[str, Any], metric: str, at: Mapping[str, Any], choices: Choices
) -> Any:
    if metric == "rbo":
        values = _rbo_values(group, at, choices)
        reading = READINGS.get(choices["ties"], "mean")
    else:
        prepared = prepare(group, choices)
        if isinstance(prepared, str):
            return prepared
        formula, reading = FORMULAS[metric], prepared.reading
        values = [formula(x, prepared.pool, at, choices) for x in prepared.orders]
    if isinstance(values, str):
        return values
    if isinstance(values[0], str):
        assert {*values} == {values[0]}, "a word for some orders alone"
        return values[0]
    if reading == "mean" or len(values) == 1:
        return over(total(values), Fraction(len(values)))
    return (min if reading == "least" else max)(values, key=real)
