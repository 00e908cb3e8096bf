"""Every metric a second time, as literal loops in float64 over one list.

Written from the definitions and independent of the package: items are ranked by Python's
`sorted`, and ties are averaged by walking through every order of the tied items.
"""

import copy
import functools
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


def tie_groups(indices, scores):
    """Returns groups of equal scores, best first."""

    def sort_key(i):
        return scores[i].item() if hasattr(scores[i], "item") else scores[i]

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
    """One list: the pool of its items, in any order.

    Attributes:
        pool: The items that exist.
        ranked: The items of the pool that have a rank.
        order: The order of `ranked` that some call took, if the list is compared with it.
    """

    def __init__(
        self,
        labels,
        mask=None,
        weights=None,
        scores=None,
        columns=None,
        retrieved=None,
        order=None,
    ):
        """Finds the items that exist."""
        self.labels = [float(y) for y in labels]
        self.weights = None if weights is None else [float(w) for w in weights]
        self.scores, self.columns, self.order = scores, columns or {}, order
        self.pool = [
            i
            for i, label in enumerate(self.labels)
            if label >= 0 and (mask is None or mask[i]) and self.weight(i) > 0
        ]
        self.ranked = [i for i in self.pool if retrieved is None or retrieved[i]]

    @functools.cached_property
    def groups(self):
        """The tie groups of the items that have a rank."""
        return tie_groups(self.ranked, self.scores)

    @functools.cached_property
    def all_orders(self):
        """Every ranking that the ties allow."""
        return list(all_orders(self.groups))

    def has(self, column, i):
        """True if an item has a flag, such as `judged`, or there is no such column."""
        return column not in self.columns or bool(self.columns[column][i])

    def without_unjudged(self):
        """Returns the list with the label 0 for unjudged items."""
        labels = [y * self.has("judged", i) for i, y in enumerate(self.labels)]
        case = copy.copy(self)
        case.labels = labels
        return case

    @functools.cached_property
    def topics(self):
        """The topics of each item; an unknown entry is none."""
        return [
            {t for t, x in enumerate(row) if x == x and x != 0}
            for row in self.columns["subtopics"]
        ]

    @functools.cached_property
    def pool_topics(self):
        """The topics that some item of the pool has."""
        return sorted(set().union(*(self.topics[i] for i in self.pool)))

    @functools.cached_property
    def members(self):
        """The membership of each item in each group; unknown entries are 0."""
        groups = np.asarray(self.columns["groups"], np.float64)
        return np.where(groups > 0, groups, 0.0)

    def group_totals(self, worth=lambda label: 1.0):
        """Sums memberships, times the worth of items, over the pool."""
        rows = (worth(self.labels[i]) * self.members[i] for i in self.pool)
        return sum(rows, np.zeros(self.members.shape[-1]))

    def weight(self, i):
        """Returns the weight of an item, 1 without weights."""
        return 1.0 if self.weights is None else self.weights[i]

    def implied_weight(self, relevance):
        """Returns Σ w·r / Σ r, or the mean weight if nothing is relevant."""
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
    """DCG over the DCG of the best order of the pool."""
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
    """Relevant items in the top k, over all relevant items or over min(relevant, k)."""
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


def full_recall(case, order, k, threshold=1.0):
    """1 if the top k holds every relevant item, else 0."""
    hits = _relevant(case, _top(order, k), threshold)
    return float(0 < hits == _relevant(case, case.pool, threshold))


def hit_rate(case, order, k, threshold=1.0, at_least=1):
    """1 if the top k holds `at_least` relevant items or more, else 0."""
    return float(_relevant(case, _top(order, k), threshold) >= at_least)


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
    return precision(case, order, relevant, "k", threshold)


def map_at_r(case, order, k, threshold=1.0):
    """Average precision of the first R ranks, for R relevant items."""
    relevant = _relevant(case, case.pool, threshold)
    return average_precision(case, order, relevant, threshold=threshold)


def rank_biased_precision(case, order, k, p=0.8, max_label=None, threshold=1.0):
    """The relevance that a user sees who goes on with the chance p."""

    def relevance(label):
        if max_label is not None:
            return min(label / max_label, 1)
        return float(label >= threshold)

    return (1 - p) * math.fsum(
        relevance(case.labels[i]) * p**depth for depth, i in enumerate(_top(order, k))
    )


def stops_by_rank(scores, chances):
    """The probability that a user stops at each rank, the mean over all orders of ties.

    Adds the items of a tie group one by one, the lowest chance first. The item added as the
    n-th is among the first j of n items with the probability j / n.
    """
    reached, stops = 1.0, []
    for score in np.unique(scores)[::-1]:
        tied = np.sort(chances[scores == score])
        stopped, j = np.zeros(len(tied) + 1), np.arange(len(tied) + 1)
        for number, chance in enumerate(tied, 1):
            both = chance + (1 - chance) * np.roll(stopped, 1)
            stopped += np.minimum(j / number, 1) * (both - stopped)
        stops.append(reached * np.diff(stopped))
        reached *= 1 - stopped[-1]
    return np.concatenate(stops)


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
    """The share of the items retrieved that is judged."""
    top = _top(order, k)
    return sum(case.has("judged", i) for i in top) / len(top) if top else 0.0


def num_nonrelevant_retrieved(case, order, k, threshold=1.0):
    """Judged items in the top k that are not relevant."""
    top = _top(order, k)
    return float(_judged_nonrelevant(case, top, threshold))


def _judged_nonrelevant(case, items, threshold):
    return sum(case.labels[i] < threshold and case.has("judged", i) for i in items)


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
    """Binary preference."""
    relevant = _relevant(case, case.pool, threshold)
    bound = min(relevant, _judged_nonrelevant(case, case.pool, threshold))
    total, nonrelevant_above = 0.0, 0
    for i in order:
        if case.labels[i] >= threshold:
            capped = min(nonrelevant_above, relevant)
            total += 1 - capped / bound if nonrelevant_above else 1
        else:
            nonrelevant_above += case.has("judged", i)
    return total / relevant if relevant else 0.0


def inferred_average_precision(case, order, k, threshold=1.0):
    """Inferred average precision: a sample of the pooled items is judged."""
    relevant, tiny = _relevant(case, case.pool, threshold), 1e-5
    total, hits, judged, pooled = 0.0, 0, 0, 0
    for rank, i in enumerate(order, 1):
        if case.labels[i] >= threshold:
            above = rank - 1
            share = (hits + tiny) / (judged + 2 * tiny)
            total += 1 / rank + pooled / rank * share if above else 1
        is_hit = case.labels[i] >= threshold
        hits += is_hit
        judged += is_hit or case.has("judged", i)
        pooled += is_hit or case.has("judged", i) or case.has("pooled", i)
    return total / relevant if relevant else 0.0


def reads(kind):
    """Marks a metric that reads more than an order; other metrics are passed one order.

    Args:
        kind: "groups", the tie groups whatever the policy; "places", the tie groups, or for
            one order, groups of one item; "orders", all orders of tied items at once.
    """

    def mark(metric):
        metric.reads = kind
        return metric

    return mark


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
    return (sum(a < b for a, b in pairs), sum(a == b for a, b in pairs), len(pairs))


def ordered_pair_accuracy(case, order, k):
    """The share of the pairs of different labels that is in order."""
    in_order, _, total = _pairs(case, [[i] for i in order], lambda x, y: x > y)
    return in_order / total if total else 0.0


def roc_auc(case, order, k, threshold=1.0):
    """The share of the pairs of a relevant and another item that is in order.

    A pair counts the product of the weights of its items.
    """
    position = {i: offset for offset, i in enumerate(order)}
    relevant = [i for i in order if case.labels[i] >= threshold]
    nonrelevant = [i for i in order if case.labels[i] < threshold]
    pairs = {
        (i, j): case.weight(i) * case.weight(j) for i in relevant for j in nonrelevant
    }
    in_order = sum(w for (i, j), w in pairs.items() if position[i] < position[j])
    return in_order / sum(pairs.values()) if pairs else 0.0


@reads("groups")
def label_ranking_loss(case, groups, threshold=1.0):
    """The share of the pairs of a relevant and another item that is not in order."""
    better, _, total = _pairs(case, groups, lambda x, y: x >= threshold > y)
    return 1 - better / total if total else 0.0


@reads("groups")
def label_ranking_average_precision(case, groups, threshold=1.0):
    """Precision down to the end of the tie group of every relevant item."""
    relevant = _relevant(case, case.pool, threshold)
    total, seen, hits = 0.0, 0, 0
    for group in groups:
        group_hits = _relevant(case, group, threshold)
        seen, hits = seen + len(group), hits + group_hits
        total += group_hits * hits / seen
    return total / relevant if relevant else 0.0


@reads("groups")
def coverage_error(case, groups, threshold=1.0):
    """Items down to the end of the tie group of the last relevant one."""
    seen, last = 0, 0
    for group in groups:
        seen += len(group)
        if _relevant(case, group, threshold):
            last = seen
    return float(last)


@reads("groups")
def inverse_negative_penalty(case, groups, threshold=1.0):
    """Relevant items over the end of the tie group of the last of them."""
    last = coverage_error(case, groups, threshold)
    relevant = _relevant(case, case.pool, threshold)
    has_all_ranks = relevant == _relevant(case, case.ranked, threshold)
    return relevant / last if last and has_all_ranks else 0.0


@reads("groups")
def tau(case, groups):
    """Kendall's tau-b, pair by pair."""
    better, tied, total = _pairs(case, groups, lambda x, y: x > y)
    number = sum(map(len, groups))
    differ = number * (number - 1) / 2 - sum(len(g) * (len(g) - 1) / 2 for g in groups)
    divisor = math.sqrt(total * differ)
    return (better - (total - better - tied)) / divisor if divisor else 0.0


@reads("groups")
def rho(case, groups):
    """The correlation of mean ranks."""
    labels = sorted((case.labels[i] for i in case.ranked), reverse=True)
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


def _mean_rank(case, groups, threshold):
    """The mean rank of the tie group of the first relevant item, or inf without one."""
    above = 0
    for group in groups:
        if _relevant(case, group, threshold):
            return above + (len(group) + 1) / 2
        above += len(group)
    return math.inf


@reads("places")
def realistic_hit_rate(case, groups, k, threshold=1.0, rank="realistic"):
    """1 if the mean rank is at most k."""
    rank = _mean_rank(case, groups, threshold)
    return float(rank <= (k or math.inf) and rank < math.inf)


@reads("places")
def realistic_reciprocal_rank(case, groups, k, threshold=1.0, rank="realistic"):
    """1 over the mean rank, 0 beyond k."""
    rank = _mean_rank(case, groups, threshold)
    return 1 / rank if rank <= (k or math.inf) else 0.0


def mean_over_ranks(case, position, k):
    """The mean of a function of ranks, 0 beyond k, over all ranks."""
    ranks = range(1, len(case.pool) + 1)
    values = [position(rank) for rank in ranks if k is None or rank <= k]
    return math.fsum(values) / max(len(ranks), 1)


def _above_chance(case, value, position, k, threshold):
    expected = mean_over_ranks(case, position, k)
    is_defined = _relevant(case, case.pool, threshold) and expected < 1 - 1e-9
    return (value - expected) / (1 - expected) if is_defined else 0.0


@reads("places")
def adjusted_hit_rate(case, groups, k, threshold=1.0):
    """The hit rate, corrected for the hit rate of a random order."""
    value = realistic_hit_rate(case, groups, k, threshold)
    return _above_chance(case, value, lambda rank: 1.0, k, threshold)


@reads("places")
def adjusted_reciprocal_rank(case, groups, k, threshold=1.0):
    """The reciprocal rank, corrected for the reciprocal rank of a random order."""
    value = realistic_reciprocal_rank(case, groups, k, threshold)
    return _above_chance(case, value, reciprocal, k, threshold)


@reads("places")
def adjusted_mean_rank_index(case, groups, k, threshold=1.0):
    """The mean rank, corrected for the mean rank of a random order."""
    rank, last = _mean_rank(case, groups, threshold), len(case.pool)
    return 1 - (rank - 1) / ((last - 1) / 2) if last > 1 and rank < math.inf else 0.0


# Retrieved items, precision at multiples of R, and early recognition.


def set_average_precision(case, order, k, threshold=1.0):
    """Precision times recall of all that has a rank."""
    p = precision(case, order, None, threshold=threshold)
    return p * recall(case, order, None, threshold=threshold)


def utility(case, order, k, worth=1.0, cost=1.0, threshold=1.0):
    """The worth of the relevant items in the top k, less the cost of the other items."""
    hits = _relevant(case, _top(order, k), threshold)
    return worth * hits - cost * (len(_top(order, k)) - hits)


def precision_at_multiples(case, order, k, multiples, threshold=1.0):
    """Precision at one multiple of the number of relevant items."""
    rank = math.floor(multiples * _relevant(case, case.pool, threshold) + 0.9)
    return precision(case, order, rank, "k", threshold)


def enrichment_factor(case, order, k, threshold=1.0):
    """The density of relevant items in the top k, over their density in the pool."""
    length, relevant = len(case.pool), _relevant(case, case.pool, threshold)
    end = length if k is None else min(k, length)
    hits = _relevant(case, _top(order, k), threshold)
    return hits / end / (relevant / length) if relevant else 0.0


def rie(case, order, k, alpha, threshold=1.0):
    """Robust initial enhancement: the mean worth of active items over the mean of ranks."""
    length, active = len(case.pool), _relevant(case, case.pool, threshold)
    if not active:
        return 0.0
    worth = [math.exp(-alpha * rank / length) for rank in range(1, length + 1)]
    pairs = zip(order, worth, strict=False)
    gained = [w for i, w in pairs if case.labels[i] >= threshold]
    return math.fsum(gained) / active / (math.fsum(worth) / length)


def bedroc(case, order, k, alpha, threshold=1.0):
    """RIE, scaled so that the worst order has 0 and the best order 1."""
    active = _relevant(case, case.pool, threshold)
    if active in (0, len(case.pool)):
        return float(active > 0)
    worst = sorted(case.pool, key=lambda i: case.labels[i] >= threshold)
    least, largest = (rie(case, x, k, alpha, threshold) for x in (worst, worst[::-1]))
    return (rie(case, order, k, alpha, threshold) - least) / (largest - least)


def log_auc(case, order, k, min_fpr, adjusted=False, threshold=1.0):
    """The steps of the ROC curve, integrated over the logarithm of false positives."""
    active = _relevant(case, case.pool, threshold)
    decoys = len(case.pool) - active
    if not active or not decoys:
        return 0.0
    hits = [case.labels[i] >= threshold for i in order]
    above = [hits[:rank].count(False) for rank, is_hit in enumerate(hits) if is_hit]
    area = 0.0
    # The curve between step / decoys and (step + 1) / decoys.
    for step in range(decoys):
        start, end = (max((step + x) / decoys, min_fpr) for x in (0, 1))
        area += sum(x <= step for x in above) * math.log(end / start)
    area /= active * -math.log(min_fpr)
    return area - (1 - min_fpr) / -math.log(min_fpr) if adjusted else area


# Measures of NTCIR.


class _Blended:
    """One order of a list; only relevant items gain."""

    def __init__(self, case, order, beta, gain, threshold):
        """Takes the gains of the order and of the pool."""

        def gains_of(items):
            return [gain(case.labels[i]) * (case.labels[i] >= threshold) for i in items]

        self.hits = [case.labels[i] >= threshold for i in order]
        self.gains, self.beta = gains_of(order), beta
        self.ideal = sorted(gains_of(case.pool), reverse=True)
        self.num_relevant = _relevant(case, case.pool, threshold)

    def ratio(self, rank):
        """Returns the blended ratio at a rank."""
        gained, ideal = (math.fsum(x[:rank]) for x in (self.gains, self.ideal))
        return (sum(self.hits[:rank]) + self.beta * gained) / (rank + self.beta * ideal)

    def hit_ranks(self, k):
        """Returns the ranks of relevant items in the top k."""
        return [rank for rank, is_hit in enumerate(_top(self.hits, k), 1) if is_hit]


def q_measure(
    case, order, k, beta=1.0, denominator="relevant", gain=linear, threshold=1.0
):
    """The sum of the blended ratio at relevant ranks, over a denominator."""
    blended = _Blended(case, order, beta, gain, threshold)
    divisor = blended.num_relevant
    if denominator == "attainable":
        divisor = min(divisor, len(order) if k is None else k)
    total = math.fsum(map(blended.ratio, blended.hit_ranks(k)))
    return total / divisor if divisor else 0.0


def p_plus(case, order, k, beta=1.0, gain=linear, threshold=1.0):
    """The mean blended ratio of the relevant items down to the first of the best."""
    blended = _Blended(case, order, beta, gain, threshold)
    ranks = blended.hit_ranks(k)
    if not ranks:
        return 0.0
    best = max(ranks, key=lambda rank: (blended.gains[rank - 1], -rank))
    ratios = [blended.ratio(rank) for rank in ranks if rank <= best]
    return math.fsum(ratios) / len(ratios)


def o_measure(case, order, k, beta=1.0, gain=linear, threshold=1.0):
    """The blended ratio of the first relevant item."""
    blended = _Blended(case, order, beta, gain, threshold)
    ranks = blended.hit_ranks(k)
    return blended.ratio(ranks[0]) if ranks else 0.0


# C/W/L: a user who goes from rank to rank, by a chance that depends on the gain so far.


def inst(rank, gains, costs, target=1.0):
    """The chance to go on of INST, after the items down to a rank."""
    n = rank + 2 * target - math.fsum(gains)
    return ((n - 1) / n) ** 2


def insq(rank, gains, costs, target=1.0):
    """The chance to go on of INSQ, who does not look at the gain."""
    return inst(rank, [], costs, target)


def bejeweled_player_model(
    rank, gains, costs, target, budget, target_step=0, budget_step=0, median_gain=0.5
):
    """The chance to go on of the Bejeweled player model; its limits move with the rank."""
    for r in range(1, rank + 1):
        if math.fsum(gains[:r]) >= target - 1e-6:
            return 0
        if math.fsum(costs[:r]) >= budget - 1e-6:
            return 0
        target += target_step * (gains[r - 1] - median_gain)
        budget += budget_step * (gains[r - 1] - median_gain)
    return 1


def information_foraging(
    rank, gains, costs, target, rate, target_rationality, rate_rationality
):
    """The chance to go on of information foraging."""
    gained = math.fsum(gains)
    chance = 1 - 1 / (1 + 0.9 * math.exp(target_rationality * (target - gained)))
    lag = rate - gained / math.fsum(costs)
    return chance / (1 + 0.9 * math.exp(rate_rationality * lag))


def time_biased_gain(rank, gains, costs, half_life):
    """The chance to go on of time-biased gain."""
    return 2 ** (-costs[-1] / half_life)


def browsing(
    case, order, k, chance, value, max_rank, max_label=None, threshold=1.0, **options
):
    """One of the five values of a user who reads an order, and then empty ranks.

    Args:
        case: The list.
        order: Its items.
        k: Items below this rank count as not retrieved.
        chance: `chance(rank, gains, costs, **options)`, that the user goes on.
        value: "utility", "total_utility", "cost", "total_cost" or "items".
        max_rank: The last rank that can be read.
        max_label: The label of the gain 1; None for binary gains.
        threshold: The least label of a relevant item, for binary gains.
        **options: Options of the model.
    """
    if not any(case.labels[i] > 0 for i in case.pool):
        return 0.0
    costs_of = case.columns.get("costs", [1.0] * len(case.labels))
    gains, costs = [0.0] * max_rank, [1.0] * max_rank
    for slot, i in enumerate(_top(order, k)[:max_rank]):
        label, cost = case.labels[i], float(costs_of[i])
        relevance = label >= threshold if max_label is None else label / max_label
        gains[slot], costs[slot] = min(float(relevance), 1.0), cost if cost > 0 else 1.0
    view, items, gain, cost, gain_at_stop, cost_at_stop = 1.0, 0, 0, 0, 0, 0
    for r in range(1, max_rank + 1):
        items += view
        gain += view * gains[r - 1]
        cost += view * costs[r - 1]
        goes_on = chance(r, gains[:r], costs[:r], **options)
        if chance is time_biased_gain and r == max_rank:
            goes_on = 0  # everybody stops at the last rank
        gain_at_stop += view * (1 - goes_on) * math.fsum(gains[:r])
        cost_at_stop += view * (1 - goes_on) * math.fsum(costs[:r])
        view *= goes_on
        if not view:
            break
    return {
        "utility": gain / items,
        "total_utility": gain_at_stop,
        "cost": cost / items,
        "total_cost": cost_at_stop,
        "items": items,
    }[value]


# Metrics of the column `subtopics`.


def _novelty(case, order, k, alpha, discount):
    """Sums discounted gains; an item with a topic takes the share α of its worth."""
    seen, gains = dict.fromkeys(case.pool_topics, 0), []
    for rank, i in enumerate(_top(order, k), 1):
        gain = math.fsum((1 - alpha) ** seen[t] for t in case.topics[i])
        gains.append(discount(rank) * gain)
        for topic in case.topics[i]:
            seen[topic] += 1
    return math.fsum(gains)


def alpha_dcg(case, order, k, alpha):
    """α-DCG."""
    return _novelty(case, order, k, alpha, log2)


def alpha_ndcg(case, order, k, alpha):
    """α-DCG over the α-DCG of the greedy order, which takes the first of equal gains."""
    greedy, remaining = [], sorted(case.pool)
    while remaining and len(greedy) != k:
        # The gain of an item after the greedy ones is what it adds without a discount.
        gains = [
            _novelty(case, [*greedy, i], None, alpha, lambda rank: 1.0)
            for i in remaining
        ]
        best = next(x for x, gain in enumerate(gains) if gain > max(gains) - 1e-12)
        greedy.append(remaining.pop(best))
    ideal = alpha_dcg(case, greedy, k, alpha)
    return alpha_dcg(case, order, k, alpha) / ideal if ideal else 0.0


def err_ia(case, order, k, alpha):
    """Divides by the value of items that have every topic, at all ranks."""
    ranks = range(1, (len(order) if k is None else k) + 1)
    full = math.fsum((1 - alpha) ** (rank - 1) / rank for rank in ranks)
    divisor = len(case.pool_topics) * full
    return _novelty(case, order, k, alpha, reciprocal) / divisor if divisor else 0.0


def nrbp(case, order, k, p, alpha):
    """NRBP of the whole list."""
    gained = _novelty(case, order, None, alpha, lambda rank: p ** (rank - 1))
    topics = len(case.pool_topics)
    return (1 - (1 - alpha) * p) * gained / topics if topics else 0.0


def subtopic_recall(case, order, k):
    """The share of the topics that the top k covers."""
    seen = set().union(*(case.topics[i] for i in _top(order, k)))
    return len(seen) / len(case.pool_topics) if case.pool_topics else 0.0


def over_topics(case, order, k, metric, **options):
    """The mean of a metric over topics, each as the relevance."""
    values = []
    for topic in case.pool_topics:
        of_topic = List([topic in topics for topics in case.topics])
        of_topic.pool = case.pool
        values.append(metric(of_topic, order, k, **options))
    return math.fsum(values) / len(values) if values else 0.0


# Metrics of the columns `groups`, `propensities` and `judged`.


def group_recall(case, order, k, group, threshold=1.0):
    """The share of the memberships of relevant items that the top k has."""

    def total(items):
        hits = [i for i in items if case.labels[i] >= threshold]
        return math.fsum(case.members[i][group] for i in hits)

    return total(_top(order, k)) / total(case.pool) if total(case.pool) else 0.0


def from_second_rank(rank):
    """Discount of the Fair Ranking track of TREC, 1 / log2(max(r, 2))."""
    return 1 / math.log2(max(rank, 2))


def exposures(case, orders, k, discount, worth=lambda label: 1.0):
    """The exposure of each group at the ranks up to k, the mean over orders."""
    sums = np.zeros(case.members.shape[-1])
    for order in orders:
        for rank, i in enumerate(_top(order, k), 1):
            sums += discount(rank) * worth(case.labels[i]) * case.members[i]
    return sums / len(orders)


def _target(case, target, threshold):
    """The exposure that each group should get, up to a factor."""
    if isinstance(target, tuple):
        return np.array(target)
    if target == "relevant":
        return case.group_totals(lambda label: float(label >= threshold))
    return case.group_totals()


@reads("orders")
def attention_weighted_rank_fairness(
    case, orders, k, target=None, discount=from_second_rank, threshold=1.0
):
    """1 less the Jensen–Shannon divergence from a target."""
    exposed = exposures(case, orders, k, discount)
    wanted = _target(case, target, threshold)
    if not exposed.sum() or not wanted.sum():
        return 0.0
    p, q = exposed / exposed.sum(), wanted / wanted.sum()
    middle = (p + q) / 2
    entropies = [
        x * math.log(x / m)
        for shares in (p, q)
        for x, m in zip(shares, middle, strict=True)
        if x > 0
    ]
    return 1 - math.fsum(entropies) / 2


@reads("orders")
def expected_exposure(case, orders, k, part="loss", target=None, threshold=1.0):
    """The squared distance of the exposures of groups from a target, or a part of it."""
    exposed = exposures(case, orders, k, from_second_rank)
    if not case.group_totals().sum():
        return 0.0
    if target == "relevant":
        # An order of the whole pool by relevance, and then at random.
        is_relevant = [float(label >= threshold) for label in case.labels]
        ideal = list(all_orders(tie_groups(case.pool, is_relevant)))
        wanted = exposures(case, ideal, k, from_second_rank)
    else:
        ranks = range(1, len(_top(orders[0], k)) + 1)
        attention = math.fsum(map(from_second_rank, ranks))
        scale = 1 if target else 1 / len(case.pool)
        wanted = attention * scale * _target(case, target, threshold)
    factors = {
        "loss": (exposed - wanted, exposed - wanted),
        "disparity": (exposed, exposed),
        "relevance": (exposed, wanted),
    }
    return float(np.dot(*factors[part]))


def _worst_to_best(amounts, divisors, comparison="ratio"):
    """Compares the smallest quotient of the groups that there are with the largest."""
    quotients = [a / d for a, d in zip(amounts, divisors, strict=True) if d > 0]
    if len(quotients) < 2:
        return 0.0
    low, high = min(quotients), max(quotients)
    if comparison == "difference":
        return high - low
    return low / high if high else 0.0


@reads("orders")
def exposure_parity(case, orders, k, comparison="difference"):
    """Mean exposures of groups."""
    exposed = exposures(case, orders, k, log2)
    return _worst_to_best(exposed, case.group_totals(), comparison)


@reads("orders")
def disparate_treatment_ratio(case, orders, k, gain=linear):
    """Exposures of groups by their merit."""
    return _worst_to_best(exposures(case, orders, k, log2), case.group_totals(gain))


@reads("orders")
def disparate_impact_ratio(case, orders, k, gain=linear):
    """Clicks of groups by their merit."""
    clicks = exposures(case, orders, k, log2, gain)
    return _worst_to_best(clicks, case.group_totals(gain))


def ndkl(case, order, k, target=None):
    """The divergences of all first parts of an order, discounted."""
    wanted = _target(case, target, 1.0)
    if not case.group_totals().sum():
        return 0.0
    wanted, seen, terms, weights = wanted / wanted.sum(), 0.0, [], []
    for rank, i in enumerate(_top(order, k), 1):
        seen = seen + case.members[i]
        shares = seen / seen.sum() if seen.sum() else seen
        pairs = zip(shares, wanted, strict=True)
        divergence = math.fsum(p * math.log(p / t) for p, t in pairs if p > 0)
        terms.append(log2(rank) * divergence)
        weights.append(log2(rank))
    return math.fsum(terms) / math.fsum(weights) if weights else 0.0


def propensity_scored(case, order, k, measure, threshold=1.0):
    """The worth of the relevant items in the top k, over the worth of the best order."""
    possible = best_propensity_scored(case, k, measure, threshold)
    if not possible:
        return 0.0
    return _propensity_scored(case, order, k, measure, threshold) / possible


def best_propensity_scored(case, k, measure, threshold=1.0):
    """The value of the best order of the pool, which is what the list weighs."""

    def worth(i):
        return _inverse_propensity(case, i) * (case.labels[i] >= threshold)

    best = sorted(case.pool, key=worth, reverse=True)
    return _propensity_scored(case, best, k, measure, threshold)


def _inverse_propensity(case, i):
    propensity = float(case.columns["propensities"][i])
    return 1 / propensity if propensity > 0 else 0.0


def _propensity_scored(case, order, k, measure, threshold):
    discount = log2 if measure == "ndcg" else lambda rank: 1.0
    gained = math.fsum(
        discount(rank) * _inverse_propensity(case, i)
        for rank, i in enumerate(_top(order, k), 1)
        if case.labels[i] >= threshold
    )
    relevant = _relevant(case, case.pool, threshold)
    depth = len(case.pool) if k is None else k
    ideal_ranks = range(1, min(depth, relevant) + 1)
    divisors = {
        "precision": depth,
        "recall": relevant,
        "ndcg": math.fsum(map(discount, ideal_ranks)),
    }
    return gained / divisors[measure] if relevant else 0.0


def residual(case, order, k, of, worth, max_label):
    """The value that unjudged items in the top k could add.

    Args:
        case: The list.
        order: Its items.
        k: The cutoff.
        of: The metric of the residual.
        worth: `worth(label, rank, depth)`, of an item in that metric; the depth is the
            number of ranks that count.
        max_label: The largest label there can be.
    """
    top = _top(order, k)
    return math.fsum(
        worth(max_label, rank, len(top)) - worth(0, rank, len(top))
        for rank, i in enumerate(top, 1)
        if not case.has("judged", i)
    )


# Metrics beyond accuracy, and the functions that all metrics share.


def popularity(case, order, k, log=True):
    """The mean count of the first items, or its logarithm."""
    counts = np.float64(case.columns["counts"])[_top(order, k)]
    return np.mean(np.log(np.maximum(counts, 1)) if log else counts) if order else 0.0


def novelty(case, order, k, num_users=None):
    """The mean information of the first items, among all interactions or all users."""
    counts = np.float64(case.columns["counts"])
    chances = np.maximum(counts[_top(order, k)], 1) / (num_users or counts.sum())
    return np.mean(-np.log2(chances)) if order else 0.0


def intra_list_diversity(case, order, k):
    """1 − the mean cosine of the pairs of the first items."""
    vectors = np.float64(case.columns["embeddings"])[_top(order, k)]
    pairs = [
        (a @ b) / ((np.linalg.norm(a) * np.linalg.norm(b)) or 1)
        for a, b in itertools.combinations(vectors, 2)
    ]
    return 1 - np.mean(pairs) if len(order) > 1 else 0.0


def lists(
    labels, scores, mask=None, weights=None, columns=None, retrieved=None, items=None
):
    """Returns a `List` for each row; `items` are the orders that a ranking took, if any."""

    def row_of(array, row):
        return None if array is None else array[row]

    orders = [None] * len(labels)
    if items is not None:
        orders = [[int(i) for i in row if i >= 0] for row in np.asarray(items)]
    return [
        List(
            labels[row],
            row_of(mask, row),
            row_of(weights, row),
            scores[row],
            {name: column[row] for name, column in (columns or {}).items()},
            row_of(retrieved, row),
            orders[row],
        )
        for row in range(len(labels))
    ]


def value(metric, case, ties, k, /, **options):
    """Returns a metric of one list under a policy.

    "expected" is the mean over every order of tied items, and "taken" the order that some
    ranking took.
    """
    reads = getattr(metric, "reads", "order")
    if reads == "groups":
        return metric(case, case.groups, **options)
    if reads == "orders":
        return metric(case, case.all_orders, k, **options)
    if reads == "places" and ties == "expected":
        return metric(case, case.groups, k, **options)
    if ties == "expected":
        values = [metric(case, order, k, **options) for order in case.all_orders]
        return math.fsum(values) / len(values)
    order = case.order
    if ties != "taken":
        order = one_order(case.groups, case.labels, case.weights, ties)
    if reads == "places":
        return metric(case, [[item] for item in order], k, **options)
    return metric(case, order, k, **options)


def values(metric, cases, ties, ks, /, **options):
    """Returns `value` of every list and cutoff, `[lists, ks]`."""
    return np.array(
        [[value(metric, case, ties, k, **options) for k in ks] for case in cases]
    )
