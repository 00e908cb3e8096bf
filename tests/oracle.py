"""Every metric again, as literal loops in float64 over one list.

Written from the definitions, without a look at the package: items are ranked by Python's
`sorted`, and ties are averaged by walking through every order of the tied items.
"""

import itertools
import math

import numpy as np


def exponential(label):
    """Gain 2^y − 1."""
    return 2.0**label - 1


def linear(label):
    """Gain y."""
    return float(label)


def log2(rank):
    """Discount 1 / log2(1 + r)."""
    return 1 / math.log2(1 + rank)


def reciprocal(rank):
    """Discount 1 / r."""
    return 1 / rank


def existing(labels, mask=None, weights=None):
    """Indices of the items that exist."""
    return [
        i
        for i in range(len(labels))
        if labels[i] >= 0
        and (mask is None or mask[i])
        and (weights is None or weights[i] > 0)
    ]


def tie_groups(indices, scores):
    """Groups of equal scores, the best first; NaN is below -inf and ties with NaN."""

    def place(i):
        score = scores[i].item() if hasattr(scores[i], "item") else scores[i]
        return (0, 0) if score != score else (1, score)

    groups = []
    for i in sorted(indices, key=place, reverse=True):
        if groups and place(groups[-1][0]) == place(i):
            groups[-1].append(i)
        else:
            groups.append([i])
    return [sorted(group) for group in groups]


def all_orders(groups):
    """Every ranking that the tie groups allow."""
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [i for part in parts for i in part]


def one_order(groups, labels, weights, ties):
    """The ranking of a policy that has just one."""

    def worth(i):
        return (labels[i], 1 if weights is None else weights[i])

    if ties == "best":
        groups = [sorted(group, key=worth, reverse=True) for group in groups]
    elif ties == "worst":
        groups = [sorted(group, key=worth) for group in groups]
    return [i for group in groups for i in group]


class List:
    """One list: what a metric may know of it, in any order."""

    def __init__(self, labels, mask=None, weights=None):
        """Reads the pool."""
        self.labels = [float(y) for y in labels]
        self.weights = None if weights is None else [float(w) for w in weights]
        self.pool = existing(self.labels, mask, self.weights)

    def weight(self, i):
        """The weight of an item, 1 without weights."""
        return 1.0 if self.weights is None else self.weights[i]

    def implied_weight(self, relevance):
        """Σ w·r / Σ r, or the mean weight where nothing is relevant."""
        if not self.pool:
            return 0.0
        total = sum(relevance(self.labels[i]) for i in self.pool)
        if total > 0:
            weighed = sum(self.weight(i) * relevance(self.labels[i]) for i in self.pool)
            return weighed / total
        return sum(self.weight(i) for i in self.pool) / len(self.pool)

    def gained(self, order, k, gain, discount):
        """Σ w·gain·discount / w̄ over ranks 1..k."""
        if not self.pool:
            return 0.0
        scale = self.implied_weight(gain)
        terms = [
            self.weight(i) / scale * gain(self.labels[i]) * discount(rank)
            for rank, i in enumerate(order, 1)
            if k is None or rank <= k
        ]
        return math.fsum(terms)


def cg(case, order, k, gain=linear):
    """Cumulated gain."""
    return case.gained(order, k, gain, lambda rank: 1.0)


def dcg(case, order, k, gain=exponential, discount=log2):
    """Discounted cumulated gain."""
    return case.gained(order, k, gain, discount)


def ndcg(case, order, k, gain=exponential, discount=log2):
    """DCG over that of the best order of the pool."""
    best = sorted(
        case.pool, key=lambda i: case.weight(i) * gain(case.labels[i]), reverse=True
    )
    ideal = case.gained(best, k, gain, discount)
    return case.gained(order, k, gain, discount) / ideal if ideal > 0 else 0.0


def _relevant(case, items, threshold):
    return sum(case.labels[i] >= threshold for i in items)


def _top(order, k):
    return order if k is None else order[:k]


def precision(case, order, k, denominator="retrieved", threshold=1.0):
    """Hits over the items retrieved, or over k."""
    retrieved = len(_top(order, k))
    below = k if denominator == "k" and k is not None else retrieved
    return _relevant(case, _top(order, k), threshold) / below if below else 0.0


def recall(case, order, k, denominator="relevant", threshold=1.0):
    """Hits over the relevant items, or over as many as can be reached."""
    below = _relevant(case, case.pool, threshold)
    if denominator == "attainable":
        below = min(below, len(order) if k is None else k)
    return _relevant(case, _top(order, k), threshold) / below if below else 0.0


def f_score(case, order, k, beta=1.0, threshold=1.0):
    """The weighted harmonic mean of precision and recall."""
    p = precision(case, order, k, threshold=threshold)
    r = recall(case, order, k, threshold=threshold)
    below = beta**2 * p + r
    return (1 + beta**2) * p * r / below if below else 0.0


def hit_rate(case, order, k, threshold=1.0):
    """Whether there is a hit."""
    return float(_relevant(case, _top(order, k), threshold) > 0)


def average_precision(case, order, k, denominator="relevant", threshold=1.0):
    """Precision at the ranks of hits, with weights, over a denominator."""
    relevant = _relevant(case, case.pool, threshold)
    if not relevant:
        return 0.0
    scale = case.implied_weight(lambda label: float(label >= threshold))
    total, hits = 0.0, 0
    for rank, i in enumerate(_top(order, k), 1):
        if case.labels[i] >= threshold:
            hits += 1
            total += case.weight(i) / scale * hits / rank
    depth = len(order) if k is None else k
    below = {
        "relevant": relevant,
        "attainable": min(relevant, depth),
        "hits": hits,
        "k": depth,
    }[denominator]
    return total / below if below else 0.0


def reciprocal_rank(case, order, k, threshold=1.0):
    """1 over the rank of the first hit."""
    for rank, i in enumerate(_top(order, k), 1):
        if case.labels[i] >= threshold:
            return 1 / rank
    return 0.0


def r_precision(case, order, k, threshold=1.0):
    """Precision at the number of relevant items."""
    relevant = _relevant(case, case.pool, threshold)
    hits = _relevant(case, order[:relevant], threshold)
    return hits / relevant if relevant else 0.0


def value(metric, labels, scores, mask, weights, ties, k, **options):
    """A metric of one list under a policy; "expected" walks through every order."""
    case = List(labels, mask, weights)
    groups = tie_groups(case.pool, scores)
    if ties == "expected":
        values = [metric(case, order, k, **options) for order in all_orders(groups)]
        return math.fsum(values) / len(values)
    order = one_order(groups, case.labels, case.weights, ties)
    return metric(case, order, k, **options)


def values(metric, labels, scores, mask, weights, ties, ks, **options):
    """`value` for every list and cutoff, `[lists, ks]`."""
    return np.array(
        [
            [
                value(
                    metric,
                    labels[row],
                    scores[row],
                    None if mask is None else mask[row],
                    None if weights is None else weights[row],
                    ties,
                    k,
                    **options,
                )
                for k in ks
            ]
            for row in range(len(labels))
        ]
    )
