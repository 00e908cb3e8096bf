"""The right results of a call, by loops in float64 that share no code with the package."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracle

MAX_ORDERS = 5_000


class Mismatch(Exception):
    """A difference between a call and the loops; `kind` names what differs."""

    def __init__(self, kind: str, text: str) -> None:
        """Joins both into a message."""
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class TooManyOrders(Exception):
    """Tied items have more orders than loops can walk through."""


@dataclasses.dataclass
class Lists:
    """The lists of a call, `[lists, items]` each.

    Attributes:
        labels: The relevance of items.
        scores: The scores by which items are ranked.
        exists: The items of the pool.
        ranked: The items of the pool that have a rank.
        weights: Item weights, or None.
        list_weights: `[lists]`, or None.
        ids: The ids of the items in the call; None for their indices.
        nan_raises: True if the call refuses scores that are NaN.
        holds_order: True if metrics with cutoffs read the order of the items returned.
        judges_listed: True if only items with a label above 0 were judged.
    """

    labels: np.ndarray
    scores: np.ndarray
    exists: np.ndarray
    ranked: np.ndarray
    weights: np.ndarray | None = None
    list_weights: np.ndarray | None = None
    ids: np.ndarray | None = None
    nan_raises: bool = False
    holds_order: bool = True
    judges_listed: bool = False


def relevant(label: float) -> float:
    """Returns 1 for a relevant item, else 0."""
    return float(label >= 1)


def always(labels: list[float]) -> bool:
    """Defined for every list."""
    return True


def two_classes(labels: list[float]) -> bool:
    """Defined if there are relevant and other items."""
    return len({label >= 1 for label in labels}) == 2


def has_others(labels: list[float]) -> bool:
    """Defined if an item is not relevant."""
    return any(label < 1 for label in labels)


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric of the oracle.

    Attributes:
        measure: `measure(list, order, k)`, or of tie groups if `reading` is "own".
        options: Arguments of `measure`.
        relevance: The relevance of an item, over which item weights are averaged; by
            default, the metric is defined if it is above 0 for some item.
        defined: True if the metric is defined, from the labels of the pool.
        reading: "closed", "order" or "own", as in the package.
        has_k: True if it takes cutoffs.
        needs: The items that it must know: "relevant" items, "pool", or "ranks" of all of
            it.
    """

    measure: Callable[..., float]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    relevance: Callable[[float], float] = relevant
    defined: Callable[[list[float]], bool] | None = None
    reading: str = "closed"
    has_k: bool = True
    needs: str = "relevant"

    def is_defined(self, labels: list[float]) -> bool:
        """True if a list whose pool has these labels has a value."""
        if self.defined is not None:
            return self.defined(labels)
        return any(self.relevance(label) > 0 for label in labels)


def _gain(measure: Callable[..., float], gain: Any, **fields: Any) -> Metric:
    return Metric(measure, {"gain": gain}, gain, **fields)


def _whole(measure: Callable[..., float], **fields: Any) -> Metric:
    return Metric(measure, has_k=False, **fields)


METRICS = {
    "ndcg": _gain(oracle.ndcg, oracle.exponential, needs="pool"),
    "ndcg(gain_fn=linear_gain)": _gain(oracle.ndcg, oracle.linear, needs="pool"),
    "dcg": _gain(oracle.dcg, oracle.exponential, defined=always),
    "cg": _gain(oracle.cg, oracle.linear, defined=always),
    "precision": Metric(oracle.precision),
    "precision(denominator=k)": Metric(oracle.precision, {"denominator": "k"}),
    "recall": Metric(oracle.recall),
    "recall(denominator=attainable)": Metric(
        oracle.recall, {"denominator": "attainable"}
    ),
    "recall(rel=2)": Metric(oracle.recall, {"threshold": 2}, lambda y: float(y >= 2)),
    "f1": Metric(oracle.f_score),
    "full_recall": Metric(oracle.full_recall),
    "hit_rate": Metric(oracle.hit_rate),
    "hit_rate(at_least=2)": Metric(oracle.hit_rate, {"at_least": 2}),
    "map": Metric(oracle.average_precision),
    "map(denominator=attainable)": Metric(
        oracle.average_precision, {"denominator": "attainable"}
    ),
    "map(denominator=hits)": Metric(
        oracle.average_precision, {"denominator": "hits"}, reading="order"
    ),
    "mrr": Metric(oracle.reciprocal_rank),
    "rbp": Metric(oracle.rank_biased_precision),
    "err": Metric(
        oracle.expected_reciprocal_rank,
        defined=lambda labels: any(label > 0 for label in labels),
        needs="pool",
    ),
    "fall_out": Metric(oracle.fall_out, defined=has_others, needs="pool"),
    "num_relevant_retrieved": Metric(oracle.num_relevant_retrieved, defined=always),
    "num_retrieved": Metric(oracle.num_retrieved, defined=always),
    "r_precision": _whole(oracle.r_precision),
    "map_at_r": _whole(oracle.map_at_r),
    "bpref": _whole(oracle.bpref, needs="pool"),
    "auc": _whole(oracle.roc_auc, defined=two_classes, needs="ranks"),
    "lrap": _whole(
        oracle.label_ranking_average_precision, reading="own", needs="ranks"
    ),
    "coverage_error": _whole(oracle.coverage_error, reading="own", needs="ranks"),
}


def orders(groups: list[list[int]], kinds: list[Any]) -> Iterator[list[int]]:
    """Yields one order of each arrangement of kinds; all of them are equally likely.

    Args:
        groups: Tied items.
        kinds: The kind of each item; items of one kind may change places.
    """
    number, parts = 1, []
    for group in groups:
        by_kind: dict[Any, list[int]] = {}
        for item in group:
            by_kind.setdefault(kinds[item], []).append(item)
        alike = sorted(by_kind.values(), key=len)
        sizes = [math.factorial(len(x)) for x in alike]
        number *= math.factorial(len(group)) // math.prod(sizes)
        if number > MAX_ORDERS:
            raise TooManyOrders
        parts.append(list(_arrangements(range(len(group)), alike)))
    for arrangement in itertools.product(*parts):
        yield [part[slot] for part in arrangement for slot in range(len(part))]


def _arrangements(slots: Any, alike: list[list[int]]) -> Iterator[dict[int, int]]:
    """Yields arrangements of the items, as dicts from slots to items."""
    if len(alike) == 1:
        yield dict(zip(slots, alike[0], strict=True))
        return
    for taken in itertools.combinations(slots, len(alike[0])):
        for placed in _arrangements([s for s in slots if s not in taken], alike[1:]):
            yield {**dict(zip(taken, alike[0], strict=True)), **placed}


class Row:
    """One list, its tie groups, and its order in the results of a call."""

    def __init__(self, lists: Lists, index: int, policy: str | None) -> None:
        """Finds the pool and the tie groups."""
        weights = None if lists.weights is None else lists.weights[index]
        exists, ranked = lists.exists[index], lists.ranked[index]
        labels = lists.labels[index]
        columns = {"judged": labels > 0} if lists.judges_listed else None
        self.list = oracle.List(labels, exists, weights, columns=columns)
        self.pool_labels = [self.list.labels[i] for i in self.list.pool]
        ranked_items = [i for i in self.list.pool if ranked[i]]
        self.groups = oracle.tie_groups(ranked_items, lists.scores[index])
        self.policy = policy
        self.names = (
            range(len(exists)) if lists.ids is None else lists.ids[index].tolist()
        )
        self.list_weight = (
            None if lists.list_weights is None else lists.list_weights[index]
        )
        self.order: list[int] | None = None  # the only one there is
        self.top: list[int] = []  # the first items of a random order
        self._all_orders: list[list[int]] | None = None
        if policy in ("stable", "best", "worst"):
            labels, weights = self.list.labels, self.list.weights
            self.order = oracle.one_order(self.groups, labels, weights, policy)
        elif all(len(group) == 1 for group in self.groups):
            self.order = [i for group in self.groups for i in group]

    def check_items(self, items: np.ndarray) -> None:
        """Raises unless these are the first items of an order that the policy allows."""
        by_name = {self.names[i]: i for group in self.groups for i in group}
        group_of = {i: n for n, group in enumerate(self.groups) for i in group}
        names = [int(name) for name in items if name >= 0]
        length = min(len(items), len(group_of))
        if len(names) != length or set(items[length:].tolist()) - {-1}:
            raise Mismatch("items", f"{items.tolist()} where {length} have a rank")
        if len(set(names)) < length or not set(names) <= set(by_name):
            raise Mismatch("items", f"{names}, of which some have no rank, or two")
        order = [by_name[name] for name in names]

        def place(item: int) -> tuple[float, ...]:
            if self.policy == "stable":
                return (group_of[item], item)
            if self.policy in ("best", "worst"):
                sign = -1 if self.policy == "best" else 1
                return (group_of[item], sign * self.list.labels[item])
            return (group_of[item],)

        full = self.order or [i for group in self.groups for i in group]
        expected = [place(i) for i in full[:length]]
        if [place(i) for i in order] != expected:
            right = [self.names[i] for i in full[:length]]
            raise Mismatch("items", f"{names}, where {right} is right")
        if self.policy == "random":
            self.top = order

    @property
    def all_orders(self) -> list[list[int]]:
        """Every order that the ties allow."""
        if self._all_orders is None:
            labels = self.list.labels
            weights = self.list.weights or [1.0] * len(labels)
            kinds = list(zip(labels, weights, strict=True))
            self._all_orders = list(orders(self.groups, kinds))
        return self._all_orders

    def weight(self, metric: Metric) -> float:
        """The weight of the list in a mean."""
        if not self.list.pool:
            return 0.0
        weight = self.list_weight
        if weight is None:
            weight = self.list.implied_weight(metric.relevance)
        return float(weight) if weight > 0 else 0.0

    def values(self, metric: Metric, k: int | None) -> list[float]:
        """Returns the right values: a single one, or one for each order of ties."""
        if metric.reading == "own":
            return [metric.measure(self.list, self.groups, **metric.options)]

        def measure(order: list[int]) -> float:
            return metric.measure(self.list, order, k, **metric.options)

        if self.order is not None:
            return [measure(self.order)]
        if k is not None and self.top:
            unseen = [i for g in self.groups for i in g if i not in self.top]
            if len(self.top) >= k or not unseen:
                return [measure(self.top + unseen)]
        values = [measure(order) for order in self.all_orders]
        if self.policy != "random" and metric.reading == "closed":
            return [math.fsum(values) / len(values)]
        return values


def _near(actual: float, expected: float) -> bool:
    return abs(actual - expected) <= 3e-6 * max(1.0, abs(expected))


def check(
    lists: Lists,
    metrics: list[tuple[str, Metric, tuple[int, ...]]],
    policy: str | None,
    undefined: str,
    outcome: dict[str, Any],
) -> None:
    """Raises `Mismatch` if a call differs from the loops.

    Args:
        lists: The lists that are ranked.
        metrics: The key in the outcome, the metric, and its cutoffs (empty for all ranks).
        policy: The policy for ties.
        undefined: The choice for undefined lists.
        outcome: The results of the call: some of "lists", "states" and "items".
    """
    rows = [Row(lists, index, policy) for index in range(len(lists.labels))]
    if "items" in outcome:
        items = np.asarray(outcome["items"])
        for index, row in enumerate(rows):
            try:
                row.check_items(items[index])
            except Mismatch as mismatch:
                text = f"list {index}: {mismatch.args[0]}"
                raise Mismatch(mismatch.kind, text) from None
            if not lists.holds_order:
                row.top = []
    for key, metric, ks in metrics:
        expected = [[row.values(metric, k) for k in ks or (None,)] for row in rows]
        weights = np.array([row.weight(metric) for row in rows])
        is_defined = np.array([metric.is_defined(row.pool_labels) for row in rows])
        is_defined &= weights > 0
        if "lists" in outcome:
            values = _check_lists(
                key, outcome["lists"][key], expected, weights, is_defined
            )
        elif all(len(x) == 1 for row in expected for x in row):
            values = np.array([[x[0] for x in row] for row in expected])
        else:
            continue
        if "states" in outcome:
            state = outcome["states"][key]
            _check_state(key, state, values, weights, is_defined, undefined)


def _check_lists(
    key: str,
    lists: Any,
    expected: list[list[list[float]]],
    weights: np.ndarray,
    is_defined: np.ndarray,
) -> np.ndarray:
    """Compares the values of each list; returns them as `[lists, ks]`."""
    number = len(expected)
    values = np.asarray(lists.values, np.float64).reshape(number, -1)
    if values.shape[1] != len(expected[0]):
        raise Mismatch("shape", f"{key} has the shape {np.shape(lists.values)}")
    actual_weights = np.asarray(lists.weights, np.float64).reshape(-1)
    actual_defined = np.asarray(lists.defined).reshape(-1)
    for index in range(number):
        at = f"{key} of list {index}"
        if not _near(actual_weights[index], weights[index]):
            text = f"{at}: weight {actual_weights[index]}, {weights[index]} is right"
            raise Mismatch("weights", text)
        if actual_defined[index] != is_defined[index]:
            raise Mismatch("defined", f"{at}: {actual_defined[index]} is wrong")
        for actual, right in zip(values[index], expected[index], strict=True):
            right = right if is_defined[index] else [0.0]
            if not any(_near(actual, x) for x in right):
                raise Mismatch("values", f"{at}: {actual}, right is {right[:3]}")
    return values


def _check_state(
    key: str,
    state: Any,
    values: np.ndarray,
    weights: np.ndarray,
    is_defined: np.ndarray,
    undefined: str,
) -> None:
    """Compares a mean, its counts and its standard error."""
    counts = weights > 0
    num_undefined = int((counts & ~is_defined).sum())
    if undefined == "skip":
        counts &= is_defined
    values = np.where(is_defined[:, None], values, float(undefined == "one"))[counts]
    w = weights[counts][:, None]
    for name, number in (("lists", len(values)), ("undefined", num_undefined)):
        if int(getattr(state, name)) != number:
            text = f"{name} of {key}: {getattr(state, name)}, right is {number}"
            raise Mismatch("counts", text)
    mean = (w * values).sum(0) / w.sum() if len(values) else np.zeros(values.shape[1])
    computed = np.ravel(state.compute())
    if not all(map(_near, computed, mean)):
        raise Mismatch("mean", f"{key}: {computed}, right is {mean}")
    if len(values) > 1:
        n = w.sum() ** 2 / (w**2).sum()
        spread = np.sqrt((w**2 * (values - mean) ** 2).sum(0) * n / (n - 1)) / w.sum()
        error = np.ravel(state.std_error())
        if not np.allclose(error, spread, rtol=2e-3, atol=1e-5 + 2e-3 * np.abs(mean)):
            raise Mismatch("error", f"{key}: {error}, right is {spread}")
