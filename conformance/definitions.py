"""The value of each metric under each choice of options, in fractions and 45 digits.

Nothing is fast and nothing is shared: every value is the mean, the least or the largest
value over the orders of tied items, and each order is walked from its first rank.
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

# Values that a test can have instead of a number.
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


# The options of each metric; the first choice is the reference's.
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
    # It reads judged items alone, so that some choices have the same values.
    | (
        THRESHOLD
        | _without(
            "unjudged",
            duplicates=["error", "first", "last"],
            negative=["removed", "zero", "error"],
        )
        | UNDEFINED_AS
    ),
    "alpha_ndcg": {"ideal": ["greedy", "best"]} | _without("negative") | UNDEFINED_AS,
    "rbo": {"depth": ["extrapolated", "seen"]}
    | _without(
        "unjudged",
        "negative",
        ties=[*ITEMS["ties"], "shared"],
        duplicates=["error", "removed"],
    )
    | UNDEFINED_AS,
}
# The parameters of each metric, with the values that a test has by default.
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
WITH_REL = tuple(x for x, y in PARAMETERS.items() if "rel" in y)
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
    ("discount", "log10"): ("dcg",),
    ("k", "ignored"): (
        *("ndcg", "ap", "rr", "recall", "precision", "hit_rate", "err", "rbp"),
    ),
    ("k", "ideal"): ("ndcg",),
    ("ranks", "zero"): ("ap", "rr", "err"),
    ("ranks", "two"): ("ap", "rr", "err", "rbp"),
    ("ranks", "log2"): ("err",),
    ("chances", "last"): ("err",),
    ("factor", "missing"): ("rbp",),
    ("factor", "shares"): ("rbp",),
    ("p", "ignored"): ("rbp",),
    ("threshold", "above"): WITH_REL,
    ("threshold", "hits"): ("ap",),
    ("threshold", "equal"): ("rr",),
    ("negative", "counted"): ("ndcg", "dcg"),
    ("first", "highest"): ("rr",),
    ("denominator", "returned"): ("ap", "recall", "bpref"),
    ("denominator", "fewest"): ("precision", "r_precision"),
    ("worth", "raw"): ("rbp",),
    ("worth", "unscaled"): ("err",),
    ("worth", "full"): ("err",),
    ("max_grade", "list"): ("err",),
    ("beyond", "counted"): ("err",),
    ("unjudged", "zero"): ("bpref",),
}


# Mistakes that are not shown by lists with too many orders.
SHORT = {
    *(x for x in MISTAKES if x[0] in ("k", "p", "ranks", "factor", "first", "chances")),
    *(("worth", x) for x in ("raw", "unscaled", "full")),
    *(("threshold", "hits"), ("threshold", "equal"), ("beyond", "counted")),
}


class Prepared(NamedTuple):
    """Ranked lists in every order that counts, and the judged documents.

    Attributes:
        orders: Each a tuple of grades, None for documents without worth; all equally
            likely.
        pool: The grades of judged documents.
        reading: How the values of the orders become one: "mean", "least" or "largest".
        tied: The grades of each tie group, if there are too many orders to walk.
    """

    orders: tuple[tuple[Any, ...], ...]
    pool: tuple[Any, ...]
    reading: str
    tied: tuple[tuple[Any, ...], ...] = ()


def number(score: float | str) -> float:
    """Reads a score, which is a string if JSON has no number for it."""
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
    """Returns the distinct orders of members; equal members are exchangeable."""
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


def num_orders(groups: list[list[Any]]) -> int:
    """Returns how many distinct orders tie groups have."""
    product = 1
    for members in groups:
        product *= math.factorial(len(members))
        for count in Counter(map(repr, members)).values():
            product //= math.factorial(count)
    return product


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
MAX_ORDERS = 5000  # of a list; more are not walked one by one

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
        if num_orders(groups) > MAX_ORDERS:
            reading = READINGS.get(choices["ties"], "mean")
            tied = tuple(map(tuple, groups))
            return Prepared((), tuple(judged.values()), reading, tied)
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


def shared_ranks(groups: list[list[str]]) -> list[tuple[str, int]]:
    """Returns documents and their ranks; tied documents share the first of their ranks."""
    ranks, before = [], 0
    for docs in groups:
        ranks += [(doc, before + 1) for doc in docs]
        before += len(docs)
    return ranks


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
    """Adds two numbers; one or both may be fractions."""
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
    """Returns the discount of a rank, a fraction if its logarithm is a fraction."""
    if name == "reciprocal":
        return Fraction(1, rank)
    if name == "jk2002":
        return Fraction(1) if rank <= 2 else over(Fraction(1), log2(rank))
    if name in ("ln", "log10"):
        return 1 / mp.log(rank + 1, 10 if name == "log10" else mp.e)
    return over(Fraction(1), log2(rank + (2 if name == "shifted" else 1)))


def log2(x: int) -> Number:
    """Returns the logarithm to the base 2, a fraction if it is an integer."""
    if x & (x - 1) == 0:
        return Fraction(x.bit_length() - 1)
    return mp.log(x) / mp.log(2)


@cache
def gain_of(grade: Any, gain: str, threshold: str) -> Number:
    """Returns the worth of a grade; None is the grade of an unjudged document."""
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


def first_rank(choices: Choices) -> int:
    """Returns the rank of the first item, which a mistake changes."""
    return {"zero": 0, "two": 2}.get(choices.get("ranks", ""), 1)


# One order, one number. `at` holds parameters, `is_hit` tells if a grade is relevant.
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
    k = None if choices.get("k") == "ideal" else k
    return UNDEFINED if highest == 0 else over(dcg(gains[:k], name), highest)


@cache
def falling_gains(grades: tuple[Any, ...], gain: str, threshold: str) -> Any:
    """Returns the gains of grades, the largest first."""
    gains = (gain_of(grade, gain, threshold) for grade in grades)
    return tuple(sorted(gains, key=real, reverse=True))


ideal_dcg = cache(dcg)


def _dcg(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    names = choices["gain"], choices["threshold"]
    gains = [gain_of(grade, *names) for grade in order]
    return dcg(gains[: at["k"]], choices["discount"])


def hit_fn(at: Any, choices: Choices) -> Callable[[Any], bool]:
    """Returns what tells whether a grade is relevant."""
    if choices["threshold"] == "above-zero":
        return lambda grade: grade is not None and grade > 0
    if choices["threshold"] == "above":
        return lambda grade: grade is not None and grade > at["rel"]
    if choices["threshold"] == "equal":
        return lambda grade: grade is not None and grade == at["rel"]
    return lambda grade: grade is not None and grade >= at["rel"]


def _binary(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a formula of hits, the number of relevant items, k and choices."""

    def value(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
        is_hit = hit_fn(at, choices)
        num_relevant = sum(map(is_hit, pool))
        if not num_relevant:
            return UNDEFINED
        if choices["threshold"] == "hits":
            is_hit = hit_fn({"rel": 1}, choices)
        return formula([is_hit(x) for x in order], num_relevant, at.get("k"), choices)

    return value


def _share(a: Number | int, b: int) -> Fraction:
    return Fraction(a) / b if b else Fraction(0)


@_binary
def _ap(hits: Any, num_relevant: int, k: Any, choices: Choices) -> Any:
    found, terms = 0, Fraction(0)
    for rank, hit in enumerate(hits[:k], first_rank(choices)):
        if hit and not rank:
            return NULL
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
    first = first_rank(choices)
    ranks = [r for r, hit in enumerate(hits[: at["k"]], first) if hit]
    if ranks and not ranks[0]:
        return NULL
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
    scale = {"exp2": power_of_two(highest), "full": power_of_two(highest) - 1}
    scale["unscaled"] = Fraction(1)
    for rank, grade in enumerate(order[: at["k"]], first_rank(choices)):
        grade = max(grade or Fraction(0), Fraction(0))
        grade = grade if choices["beyond"] == "counted" else min(grade, highest)
        stops = over(grade, highest)
        if choices["worth"] != "linear":
            stops = over(power_of_two(grade) - 1, scale[choices["worth"]])
        if not rank and stops:
            return NULL
        if not rank:
            continue
        divisor = log2(1 + rank) if choices.get("ranks") == "log2" else Fraction(rank)
        value = plus(value, over(times(reaches, stops), divisor))
        reaches = Fraction(1) if choices.get("chances") == "last" else reaches
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
    at_stop, first = 1 - Fraction(str(at["p"])), first_rank(choices) - 1
    p = Fraction(4, 5) if choices.get("p") == "ignored" else 1 - at_stop
    depth = len(order) if at["k"] is None else at["k"]
    weights = sum((p**r for r in range(depth)), Fraction(0))
    factors = {"missing": Fraction(1), "shares": 1 / (weights or Fraction(1))}
    factor = factors.get(choices.get("factor", ""), at_stop)
    return factor * sum(
        (p**r * worth(x) for r, x in enumerate(order[: at["k"]], first)), Fraction(0)
    )


def _auc(order: Any, pool: Any, at: Any, choices: Choices) -> Any:
    is_hit = hit_fn(at, choices)
    hits = [is_hit(x) for x in order]
    hits_left = others_left = 0
    if choices["depth"] == "pool":  # documents not returned tie below all others
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
    divisor = num_relevant if choices["denominator"] == "relevant" else least
    above, terms = 0, Fraction(0)
    for grade in order:
        if is_hit(grade):
            terms += 1 - _share(min(above, num_relevant), divisor)
        elif grade is not None or reads_all:
            above += 1
    if choices["denominator"] == "returned":
        return _share(terms, sum(map(is_hit, order)))
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


# Long lists of tied items have too many orders. There, a metric of hits is a function of
# how many were found and of a sum of terms, one for each hit, and ranks are walked with all
# orders at once. A sum of gains needs the mean gain of a rank alone.
def walk(
    groups: list[list[bool]], cutoff: int | None, term: Any, reading: str
) -> dict[int, tuple[Any, Any]]:
    """Walks through the ranks of tied items.

    Args:
        groups: For each tie group, True for items that are hits.
        cutoff: The last rank, or None.
        term: A function of the number of hits up to a hit, and of its rank.
        reading: As `Prepared` has it.

    Returns:
        Maps numbers of hits to their probability, and to the sum of the terms times it; or
        for the other readings to 1, and to the least or the largest sum.
    """
    states: dict[int, tuple[Any, Any]] = {0: (mpf(1), mpf(0))}
    rank = before = 0
    pick = min if reading == "least" else max
    for members in groups:
        for num_drawn in range(len(members)):
            rank += 1
            if cutoff is not None and rank > cutoff:
                return states
            after: dict[int, tuple[Any, Any]] = {}
            for found, (chance, terms) in states.items():
                left = sum(members) - (found - before)
                odds = mpf(left) / (len(members) - num_drawn)
                for hit, share in ((1, odds), (0, 1 - odds)):
                    if not share:
                        continue
                    gained = term(found + 1, rank) if hit else mpf(0)
                    held = after.get(found + hit)
                    if reading == "mean":
                        new = chance * share, terms * share + chance * share * gained
                        if held:
                            new = held[0] + new[0], held[1] + new[1]
                    else:
                        new = mpf(1), terms + gained
                        if held:
                            new = mpf(1), pick(held[1], new[1])
                    after[found + hit] = new
            states = after
        before += sum(members)
    return states


def walked(metric: str, prepared: Prepared, at: Any, choices: Choices) -> Any:
    """Returns the value of a metric for a list with too many orders."""
    is_other = metric == "bpref" and choices["denominator"] == "returned"
    if is_other or {*choices.items()} & SHORT:
        return NULL  # short lists show this
    if metric in ("ndcg", "dcg") or (metric == "rbp" and choices["worth"] != "binary"):
        return _walked_gains(metric, prepared, at, choices)
    return _walked_hits(metric, prepared, at, choices)


def _walked_gains(metric: str, prepared: Prepared, at: Any, choices: Choices) -> Any:
    k, p = at["k"], real(Fraction(str(at.get("p", 0))))

    def gain(grade: Any) -> mpf:
        if metric != "rbp":
            return real(gain_of(grade, choices["gain"], choices["threshold"]))
        grade = max(grade or Fraction(0), Fraction(0))
        return real(min(grade / at["max_grade"], Fraction(1)))

    gains: list[mpf] = []
    for members in prepared.tied:
        rising = sorted(map(gain, members))
        if prepared.reading == "mean":
            rising = [sum(rising, mpf(0)) / len(rising)] * len(rising)
        gains += rising[:: -1 if prepared.reading == "largest" else 1]
    if metric == "rbp":
        if not any(map(gain, prepared.pool)):
            return UNDEFINED
        if any(x > at["max_grade"] for x in prepared.pool):
            return NULL if choices["beyond"] == "clipped" else ERROR
        return (1 - p) * sum((p**r * x for r, x in enumerate(gains[:k])), mpf(0))
    value = dcg(gains[:k], choices["discount"])
    if metric == "dcg":
        return value
    # An order of the same items has the ideal of all of them.
    order = tuple(x for y in prepared.tied for x in sorted(y, key=gain, reverse=True))
    share = _ndcg(order, prepared.pool, at, choices)
    if isinstance(share, str):
        return share
    names = choices["gain"], choices["threshold"]
    own = dcg([gain_of(x, *names) for x in order][:k], choices["discount"])
    if own == 0:  # nothing that was returned gains up to k
        return share
    return value * real(share) / real(own)


def _walked_hits(metric: str, prepared: Prepared, at: Any, choices: Choices) -> Any:
    is_hit = bool if metric == "err" else hit_fn(at, choices)
    pool, k, p = prepared.pool, at.get("k"), real(Fraction(str(at.get("p", 0))))
    reads_all = metric != "bpref" or choices.get("unjudged") == "zero"
    tied = [[x for x in y if reads_all or x is not None] for y in prepared.tied]
    groups = [[is_hit(x) for x in members] for members in tied]
    num_relevant, size = sum(map(is_hit, pool)), sum(map(len, groups))
    num_hits = sum(map(sum, groups))
    num_others, unjudged = size - num_hits, sum(x is None for y in tied for x in y)
    if not num_relevant:
        return UNDEFINED
    depth = size if k is None else k
    divisors = {"": num_relevant, "relevant": num_relevant, "k": depth}
    divisors |= {"attainable": min(depth, num_relevant), "returned": num_hits}
    divisors |= {"retrieved": min(depth, size), "fewest": min(depth, num_relevant)}
    divisors["least"] = min(num_relevant, len(pool) - num_relevant + unjudged)
    if metric == "r_precision":
        k, divisors["fewest"] = num_relevant, min(num_relevant, size)
    divisor = divisors.get(choices.get("denominator", ""))  # None: divide by the hits
    hits_left = others_left = 0
    if choices.get("depth") == "pool":
        hits_left = num_relevant - num_hits
        others_left = len(pool) - num_relevant - (num_others - unjudged)
    pairs = (num_hits + hits_left) * (num_others + others_left)
    stops = mpf(0)
    if metric == "auc" and not pairs:
        return UNDEFINED
    if metric == "err":
        ((grade,), highest) = {x for x in pool if x > 0}, Fraction(at["max_grade"])
        assert grade <= highest and "max_grade" not in choices, "grades"
        stops = real(grade / highest)
        if choices["worth"] == "exp2":
            stops = real(power_of_two(grade) - 1) / real(power_of_two(highest))
    terms = {
        "ap": lambda found, rank: mpf(found) / rank,
        "rr": lambda found, rank: mpf(found == 1) / rank,
        "rbp": lambda found, rank: (1 - p) * p ** (rank - 1),
        "auc": lambda found, rank: mpf(num_others - (rank - found)),
        "bpref": lambda found, rank: (
            1 - mpf(min(rank - found, num_relevant)) / (divisor or 1)
        ),
        "err": lambda found, rank: stops * (1 - stops) ** (found - 1) / rank,
    }

    def value(found: int, chance: Any, terms: Any) -> Any:
        if metric == "ap":
            return terms / ((found if divisor is None else divisor) or 1)
        if metric == "auc":
            beyond = num_hits * others_left + mpf(hits_left * others_left) / 2
            return (terms + chance * beyond) / pairs
        if metric == "bpref":
            return terms / num_relevant
        if metric == "hit_rate":
            return chance * (found > 0)
        if metric in ("recall", "precision", "r_precision"):
            return chance * found / (divisor or 1)
        return terms

    term = terms.get(metric, lambda found, rank: mpf(0))
    states = walk(groups, k, term, prepared.reading)
    values = [value(found, *state) for found, state in states.items()]
    if prepared.reading == "mean":
        return sum(values, mpf(0))
    return (min if prepared.reading == "least" else max)(values)


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


def rbo_of_ties(first: Any, second: Any, p: Fraction, depth: str) -> Any:
    """Returns rank-biased overlap whose agreement counts all of the tied documents.

    It follows Webber et al. for ties: documents that tie with rank d are there from d on,
    and the agreement is twice the overlap over the sizes of both. Lists of two lengths have
    no ties here, since equation 32 says nothing of them.
    """
    n = len(first)
    if not n or not len(second):
        return UNDEFINED
    has_ties = any(len({r for _, r in x}) < len(x) for x in (first, second))
    if not has_ties:
        return rbo([x for x, _ in first], [x for x, _ in second], p, depth)
    assert n == len(second), "ties in lists of two lengths"
    agreements = []
    for d in range(1, n + 1):
        tops = [{doc for doc, rank in x if rank <= d} for x in (first, second)]
        common = len(tops[0] & tops[1])
        agreements.append(Fraction(2 * common, sum(map(len, tops))))
    seen = sum((x * p**d for d, x in enumerate(agreements, 1)), Fraction(0))
    beyond = agreements[-1] * p**n if depth == "extrapolated" else 0
    return (1 - p) / p * seen + beyond


def _rbo_values(group: Mapping[str, Any], at: Any, choices: Choices) -> Any:
    sides = []
    for name in ("run", "other"):
        run = [(doc, number(score)) for doc, score in group[name]]
        if len(dict(run)) < len(run) and choices["duplicates"] == "error":
            return ERROR
        groups = tie_groups(run, choices)
        if isinstance(groups, str):
            return groups
        if choices["ties"] == "shared":
            seen: set[str] = set()
            for docs in groups:
                docs[:] = [x for x in dict.fromkeys(docs) if x not in seen]
                seen.update(docs)
            sides.append([shared_ranks(groups)])
            continue
        sides.append(
            [
                without_repeats(x, choices["duplicates"])
                for x in ordered(groups, choices["ties"])
            ]
        )
    p = Fraction(str(at["p"]))
    pairs = itertools.product(*sides)
    if choices["ties"] == "shared":
        return [rbo_of_ties(*next(pairs), p, choices["depth"])]
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
        if choices.get("k") == "ignored":
            at = {**at, "k": None}
        if not prepared.orders:
            return walked(metric, prepared, at, choices)
        formula, reading = FORMULAS[metric], prepared.reading
        values = [formula(x, prepared.pool, at, choices) for x in prepared.orders]
    if isinstance(values, str):
        return values
    if NULL in values:
        return NULL
    if isinstance(values[0], str):
        assert {*values} == {values[0]}, "a word for some orders alone"
        return values[0]
    if reading == "mean" or len(values) == 1:
        return over(total(values), Fraction(len(values)))
    return (min if reading == "least" else max)(values, key=real)
