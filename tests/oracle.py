"""Every metric a second time, as literal loops in float64 over one list.

Written from the definitions and independent of the package: items are ranked by Python's
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
    """Returns the indices of the items that exist."""
    return [
        i
        for i in range(len(labels))
        if labels[i] >= 0
        and (mask is None or mask[i])
        and (weights is None or weights[i] > 0)
    ]


def tie_groups(indices, scores):
    """Returns groups of equal scores, best first; NaN is below -inf and ties with NaN."""

    def sort_key(i):
        score = scores[i].item() if hasattr(scores[i], "item") else scores[i]
        return (0, 0) if score != score else (1, score)

    groups = []
    for i in sorted(indices, key=sort_key, reverse=True):
        if groups and sort_key(groups[-1][0]) == sort_key(i):
            groups[-1].append(i)
        else:
            groups.append([i])
    return [sorted(group) for group in groups]


def all_orders(groups):
    """Yields every ranking that the tie groups allow."""
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [i for part in parts for i in part]


def one_order(groups, labels, weights, ties):
    """Returns the ranking under a policy that allows only one."""

    def label_and_weight(i):
        return (labels[i], 1 if weights is None else weights[i])

    if ties == "best":
        groups = [sorted(group, key=label_and_weight, reverse=True) for group in groups]
    elif ties == "worst":
        groups = [sorted(group, key=label_and_weight) for group in groups]
    return [i for group in groups for i in group]


class List:
    """One list: the pool of its items, in any order."""

    def __init__(self, labels, mask=None, weights=None):
        """Finds the items that exist."""
        self.labels = [float(y) for y in labels]
        self.weights = None if weights is None else [float(w) for w in weights]
        self.pool = existing(self.labels, mask, self.weights)

    def weight(self, i):
        """Returns the weight of an item, 1 without weights."""
        return 1.0 if self.weights is None else self.weights[i]

    def implied_weight(self, relevance):
        """Returns Σ w·r / Σ r, or the mean weight where nothing is relevant."""
        if not self.pool:
            return 0.0
        total = sum(relevance(self.labels[i]) for i in self.pool)
        if total > 0:
            weighed = sum(self.weight(i) * relevance(self.labels[i]) for i in self.pool)
            return weighed / total
        return sum(self.weight(i) for i in self.pool) / len(self.pool)

    def gained(self, order, k, gain, discount):
        """Returns Σ w·gain·discount / w̄ over ranks 1..k."""
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
    """Relevant items in the top k, over the items retrieved or over k."""
    retrieved = len(_top(order, k))
    divisor = k if denominator == "k" and k is not None else retrieved
    return _relevant(case, _top(order, k), threshold) / divisor if divisor else 0.0


def recall(case, order, k, denominator="relevant", threshold=1.0):
    """Relevant items in the top k, over all relevant items or those that fit into k."""
    divisor = _relevant(case, case.pool, threshold)
    if denominator == "attainable":
        divisor = min(divisor, len(order) if k is None else k)
    return _relevant(case, _top(order, k), threshold) / divisor if divisor else 0.0


def f_score(case, order, k, beta=1.0, threshold=1.0):
    """The weighted harmonic mean of precision and recall."""
    p = precision(case, order, k, threshold=threshold)
    r = recall(case, order, k, threshold=threshold)
    divisor = beta**2 * p + r
    return (1 + beta**2) * p * r / divisor if divisor else 0.0


def hit_rate(case, order, k, threshold=1.0):
    """1 if the top k holds a relevant item, else 0."""
    return float(_relevant(case, _top(order, k), threshold) > 0)


def average_precision(case, order, k, denominator="relevant", threshold=1.0):
    """The sum of the precision at relevant ranks, weighted, over a denominator."""
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
    divisor = {
        "relevant": relevant,
        "attainable": min(relevant, depth),
        "hits": hits,
        "k": depth,
    }[denominator]
    return total / divisor if divisor else 0.0


def reciprocal_rank(case, order, k, threshold=1.0):
    """1 / rank of the first relevant item."""
    for rank, i in enumerate(_top(order, k), 1):
        if case.labels[i] >= threshold:
            return 1 / rank
    return 0.0


def r_precision(case, order, k, threshold=1.0):
    """Precision at the number of relevant items."""
    relevant = _relevant(case, case.pool, threshold)
    hits = _relevant(case, order[:relevant], threshold)
    return hits / relevant if relevant else 0.0


def map_at_r(case, order, k, threshold=1.0):
    """The sum of the precision at the hits of the first R ranks, weighted, over R."""
    relevant = _relevant(case, case.pool, threshold)
    if not relevant:
        return 0.0
    scale = case.implied_weight(lambda label: float(label >= threshold))
    total = 0.0
    for rank in range(1, min(relevant, len(order)) + 1):
        i = order[rank - 1]
        if case.labels[i] >= threshold:
            hits = _relevant(case, order[:rank], threshold)
            total += case.weight(i) / scale * hits / rank
    return total / relevant


def rank_biased_precision(case, order, k, p=0.8, max_label=None, threshold=1.0):
    """The relevance that a user sees who goes on with the chance p."""

    def relevance(label):
        if max_label is not None:
            return min(label / max_label, 1)
        return float(label >= threshold)

    return (1 - p) * math.fsum(
        relevance(case.labels[i]) * p**depth for depth, i in enumerate(_top(order, k))
    )


def expected_reciprocal_rank(case, order, k, max_label=4.0, normalized=False):
    """The expected 1 / rank of the item at which a user stops."""

    def stops(order):
        total, goes_on = 0.0, 1.0
        for rank, i in enumerate(_top(order, k), 1):
            stop = (2 ** min(case.labels[i], max_label) - 1) / 2**max_label
            total += goes_on * stop / rank
            goes_on *= 1 - stop
        return total

    if not normalized:
        return stops(order)
    best = stops(sorted(case.pool, key=lambda i: -case.labels[i]))
    return stops(order) / best if best else 0.0


def average_relevance_position(case, order, k, gain=linear):
    """The mean rank, weighted by gain."""
    gains = [gain(case.labels[i]) for i in order]
    ranks = math.fsum(g * rank for rank, g in enumerate(gains, 1))
    return ranks / math.fsum(gains) if sum(gains) else 0.0


def fall_out(case, order, k, threshold=1.0):
    """The share of the non-relevant items that is retrieved."""
    top = _top(order, k)
    nonrelevant = len(case.pool) - _relevant(case, case.pool, threshold)
    false_hits = len(top) - _relevant(case, top, threshold)
    return false_hits / nonrelevant if nonrelevant else 0.0


def judged(case, order, k):
    """1 where anything is retrieved, since every item is judged."""
    return float(len(order) > 0)


def num_relevant_retrieved(case, order, k, threshold=1.0):
    """Relevant items in the top k."""
    return float(_relevant(case, _top(order, k), threshold))


def num_retrieved(case, order, k):
    """Ranks that hold an item."""
    return float(len(_top(order, k)))


def num_relevant(case, order, k, threshold=1.0):
    """Relevant items of the pool."""
    return float(_relevant(case, case.pool, threshold))


def interpolated_precision(case, order, k, level, threshold=1.0):
    """The best precision at a rank of at least this recall."""
    relevant = _relevant(case, case.pool, threshold)
    needed = math.floor(level * relevant + 0.5)
    best, hits = 0.0, 0
    for rank, i in enumerate(order, 1):
        hits += case.labels[i] >= threshold
        if hits >= needed:
            best = max(best, hits / rank)
    return best


def eleven_point_precision(case, order, k):
    """The mean interpolated precision over eleven levels of recall."""
    levels = [round(0.1 * i, 1) for i in range(11)]
    return sum(interpolated_precision(case, order, k, x) for x in levels) / 11


def bpref(case, order, k, threshold=1.0):
    """Binary preference, where every item is judged."""
    relevant = _relevant(case, case.pool, threshold)
    bound = min(relevant, len(case.pool) - relevant)
    total, nonrelevant_above = 0.0, 0
    for i in order:
        if case.labels[i] >= threshold:
            capped = min(nonrelevant_above, relevant)
            total += 1 - capped / bound if nonrelevant_above else 1
        else:
            nonrelevant_above += 1
    return total / relevant if relevant else 0.0


def inferred_average_precision(case, order, k, threshold=1.0):
    """Inferred average precision, where every item is judged."""
    relevant, tiny = _relevant(case, case.pool, threshold), 1e-5
    total, hits = 0.0, 0
    for rank, i in enumerate(order, 1):
        if case.labels[i] >= threshold:
            above = rank - 1
            share = (hits + tiny) / (above + 2 * tiny)
            total += 1 if not above else 1 / rank + above / rank * share
            hits += 1
    return total / relevant if relevant else 0.0


def of_groups(metric):
    """Marks a metric that reads tie groups, whatever the policy."""
    metric.of_groups = True
    return metric


def _pairs(case, groups, differ):
    """Counts pairs of items for which `differ` holds: in order, tied, and all."""
    position = {
        i: group_number for group_number, group in enumerate(groups) for i in group
    }
    items = list(position)
    pairs = [
        (position[i], position[j])
        for i in items
        for j in items
        if differ(case.labels[i], case.labels[j])
    ]
    return (
        sum(a < b for a, b in pairs),
        sum(a == b for a, b in pairs),
        len(pairs),
    )


def ordered_pair_accuracy(case, order, k):
    """The share of the pairs of different labels that is in order."""
    position = {i: offset for offset, i in enumerate(order)}
    pairs = [(i, j) for i in order for j in order if case.labels[i] > case.labels[j]]
    in_order = sum(position[i] < position[j] for i, j in pairs)
    return in_order / len(pairs) if pairs else 0.0


def roc_auc(case, order, k, threshold=1.0):
    """The share of the pairs of a relevant and another item that is in order."""
    position = {i: offset for offset, i in enumerate(order)}
    relevant = [i for i in order if case.labels[i] >= threshold]
    nonrelevant = [i for i in order if case.labels[i] < threshold]
    pairs = [(i, j) for i in relevant for j in nonrelevant]
    in_order = sum(position[i] < position[j] for i, j in pairs)
    return in_order / len(pairs) if pairs else 0.0


@of_groups
def label_ranking_loss(case, groups, threshold=1.0):
    """The share of the pairs of a relevant and another item that is not in order."""
    better, _, total = _pairs(case, groups, lambda x, y: x >= threshold > y)
    return 1 - better / total if total else 0.0


@of_groups
def label_ranking_average_precision(case, groups, threshold=1.0):
    """Precision down to the end of the tie group of every relevant item."""
    relevant = _relevant(case, case.pool, threshold)
    total, seen, hits = 0.0, 0, 0
    for group in groups:
        group_hits = _relevant(case, group, threshold)
        seen, hits = seen + len(group), hits + group_hits
        total += group_hits * hits / seen
    return total / relevant if relevant else 0.0


@of_groups
def coverage_error(case, groups, threshold=1.0):
    """Items down to the end of the tie group of the last relevant one."""
    seen, last = 0, 0
    for group in groups:
        seen += len(group)
        if _relevant(case, group, threshold):
            last = seen
    return float(last)


@of_groups
def inverse_negative_penalty(case, groups, threshold=1.0):
    """Relevant items over the end of the tie group of the last of them."""
    last = coverage_error(case, groups, threshold)
    return _relevant(case, case.pool, threshold) / last if last else 0.0


@of_groups
def tau(case, groups):
    """Kendall's tau-b, pair by pair."""
    better, tied, total = _pairs(case, groups, lambda x, y: x > y)
    number = sum(map(len, groups))
    differ = number * (number - 1) / 2 - sum(len(g) * (len(g) - 1) / 2 for g in groups)
    divisor = math.sqrt(total * differ)
    return (better - (total - better - tied)) / divisor if divisor else 0.0


@of_groups
def rho(case, groups):
    """The correlation of mean ranks."""
    labels = sorted((case.labels[i] for i in case.pool), reverse=True)
    ends = np.cumsum([len(group) for group in groups])
    score_ranks, label_ranks = [], []
    for group, end in zip(groups, ends, strict=True):
        for i in group:
            tied = [rank for rank, y in enumerate(labels, 1) if y == case.labels[i]]
            score_ranks.append(end - (len(group) - 1) / 2)
            label_ranks.append(sum(tied) / len(tied))
    if len(set(score_ranks)) < 2 or len(set(label_ranks)) < 2:
        return 0.0
    return float(np.corrcoef(score_ranks, label_ranks)[0, 1])


def of_places(metric):
    """Marks a metric that reads tie groups, and an order as groups of one item."""
    metric.of_places = True
    return metric


def _mean_rank(case, groups, threshold):
    """The mean rank of the tie group of the first relevant item; inf where none ranks."""
    above = 0
    for group in groups:
        if _relevant(case, group, threshold):
            return above + (len(group) + 1) / 2
        above += len(group)
    return math.inf


@of_places
def realistic_hit_rate(case, groups, k, threshold=1.0):
    """1 if the mean rank is at most k."""
    rank = _mean_rank(case, groups, threshold)
    return float(rank <= (k or math.inf) and rank < math.inf)


@of_places
def realistic_reciprocal_rank(case, groups, k, threshold=1.0):
    """1 over the mean rank, 0 beyond k."""
    rank = _mean_rank(case, groups, threshold)
    return 1 / rank if rank <= (k or math.inf) else 0.0


def _chance(case, position, k):
    """The mean of a function of ranks, 0 beyond k, over all ranks."""
    ranks = range(1, len(case.pool) + 1)
    values = [position(rank) for rank in ranks if k is None or rank <= k]
    return math.fsum(values) / max(len(ranks), 1)


def _above_chance(case, value, position, k, threshold):
    expected = _chance(case, position, k)
    is_defined = _relevant(case, case.pool, threshold) and expected < 1 - 1e-9
    return (value - expected) / (1 - expected) if is_defined else 0.0


@of_places
def adjusted_hit_rate(case, groups, k, threshold=1.0):
    """The hit rate above that of a random order."""
    value = realistic_hit_rate(case, groups, k, threshold)
    return _above_chance(case, value, lambda rank: 1.0, k, threshold)


@of_places
def adjusted_reciprocal_rank(case, groups, k, threshold=1.0):
    """The reciprocal rank above that of a random order."""
    value = realistic_reciprocal_rank(case, groups, k, threshold)
    return _above_chance(case, value, reciprocal, k, threshold)


@of_places
def adjusted_mean_rank_index(case, groups, k, threshold=1.0):
    """The mean rank below that of a random order."""
    rank, last = _mean_rank(case, groups, threshold), len(case.pool)
    return 1 - (rank - 1) / ((last - 1) / 2) if last > 1 and rank < math.inf else 0.0


def value(metric, labels, scores, mask, weights, ties, k, **options):
    """Returns a metric of one list under a policy; "expected" averages every order."""
    case = List(labels, mask, weights)
    groups = tie_groups(case.pool, scores)
    if hasattr(metric, "of_groups"):
        return metric(case, groups, **options)
    if hasattr(metric, "of_places"):
        if ties != "expected":
            order = one_order(groups, case.labels, case.weights, ties)
            groups = [[item] for item in order]
        return metric(case, groups, k, **options)
    if ties == "expected":
        values = [metric(case, order, k, **options) for order in all_orders(groups)]
        return math.fsum(values) / len(values)
    order = one_order(groups, case.labels, case.weights, ties)
    return metric(case, order, k, **options)


def values(metric, labels, scores, mask, weights, ties, ks, **options):
    """Returns `value` of every list and cutoff, `[lists, ks]`."""
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
