"""Early recognition, against loops over one order and over all orders of tied items."""

import functools
import math

import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from quick_programs import quick_measure

import jax_rank_metrics as jrm

LISTS, ITEMS = 7, 8
SHARES = (0.07, 0.3, 0.5)
KS = (*map(jrm.share, SHARES), 1, 20, None)
ALPHA, MIN_FPR = 3.5, 0.4

METRICS = {
    "enrichment_factor": functools.partial(jrm.enrichment_factor, k=KS),
    "enrichment_factor-2": functools.partial(
        jrm.enrichment_factor, k=KS, relevance_threshold=2
    ),
    "rie": functools.partial(jrm.rie, alpha=ALPHA),
    "bedroc": functools.partial(jrm.bedroc, alpha=ALPHA),
    "bedroc-2": functools.partial(jrm.bedroc, alpha=ALPHA, relevance_threshold=2),
    "log_auc": functools.partial(jrm.log_auc, min_fpr=MIN_FPR),
    "log_auc-2": functools.partial(jrm.log_auc, min_fpr=MIN_FPR, relevance_threshold=2),
    "adjusted": functools.partial(jrm.log_auc, min_fpr=MIN_FPR, adjusted=True),
}


class Screen:
    """One list, as loops over an order of the items that have a rank."""

    def __init__(self, labels, pool, threshold):
        """Counts the active items and the decoys of the pool."""
        self.is_active = {i: labels[i] >= threshold for i in pool}
        self.num_active = sum(self.is_active.values())
        self.length = len(pool)

    def actives(self, order):
        """Yields the rank of each active item, and the number of decoys before it."""
        decoys = 0
        for rank, i in enumerate(order, 1):
            if self.is_active[i]:
                yield rank, decoys
            decoys += not self.is_active[i]

    def enrichment_factor(self, order):
        """Returns EF at each cutoff."""
        ends = [math.ceil(self.length * share) for share in SHARES]
        ends += [1, min(20, self.length), self.length]
        return [
            sum(rank <= end for rank, _ in self.actives(order))
            / end
            / (self.num_active / self.length)
            for end in ends
        ]

    def weight(self, ranks):
        """Returns the sum of the exponential weights of ranks."""
        return math.fsum(math.exp(-ALPHA * rank / self.length) for rank in ranks)

    def rie(self, order):
        """Returns RIE."""
        mean = self.weight(rank for rank, _ in self.actives(order)) / self.num_active
        return mean / (self.weight(range(1, self.length + 1)) / self.length)

    def bedroc(self, order):
        """Returns BEDROC, by the RIE of the best and of the worst order."""
        if self.num_active == self.length:
            return 1
        best = sorted(self.is_active, key=self.is_active.get, reverse=True)
        least, largest = self.rie(best[::-1]), self.rie(best)
        return (self.rie(order) - least) / (largest - least)

    def log_auc(self, order):
        """Integrates the steps of the ROC curve over the logarithm."""
        num_decoys, area = self.length - self.num_active, 0
        if num_decoys == 0:
            return 0
        found = [decoys for _, decoys in self.actives(order)]
        for step in range(num_decoys):  # the curve between step/N and (step + 1)/N
            start = max(step / num_decoys, MIN_FPR)
            end = max((step + 1) / num_decoys, MIN_FPR)
            area += sum(d <= step for d in found) * math.log(end / start)
        return area / self.num_active / -math.log(MIN_FPR)

    def adjusted(self, order):
        """Subtracts the area under the diagonal."""
        if self.length == self.num_active:
            return 0
        return self.log_auc(order) - (1 - MIN_FPR) / -math.log(MIN_FPR)


def draw(rng):
    """Draws ties, padding, an empty list, one without active items, and one of them."""
    labels = rng.choice(np.int32([0, 0, 0, 1, 2]), (LISTS, ITEMS))
    scores = rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32)
    mask = rng.random((LISTS, ITEMS)) < 0.8
    mask[0], labels[1], labels[2] = False, 0, 2
    labels[3, :2], mask[3, :2] = [2, 0], True
    return labels, scores, mask


def test_against_loops(rng):
    """Every metric, against the mean over all orders of tied items."""
    labels, scores, mask = draw(rng)
    results = quick_measure(METRICS, jrm.rank(labels, scores, mask))
    for row in range(LISTS):
        pool = oracle.existing(labels[row], mask[row])
        orders = list(oracle.all_orders(oracle.tie_groups(pool, scores[row])))
        for name, lists in results.items():
            kind, _, threshold = name.partition("-")
            screen = Screen(labels[row], pool, int(threshold or 1))
            defined = screen.num_active > 0
            if kind in ("log_auc", "adjusted"):
                defined = defined and screen.num_active < screen.length
            assert bool(lists.defined[row]) == defined, (name, row)
            expected = np.zeros_like(lists.values[row])
            if defined:
                expected = np.mean([getattr(screen, kind)(x) for x in orders], axis=0)
            np.testing.assert_allclose(
                lists.values[row], expected, atol=1e-6, err_msg=f"{name} of list {row}"
            )


def test_weights_beyond_floats():
    """The first rank is worth 1, also where e^(−α/n) is 0 as a float."""
    labels, scores = np.eye(3, dtype=np.int32), np.array([[3.0, 2.0, 1.0]] * 3)
    step = 321.9 / 3
    metrics = {
        x.__name__: functools.partial(x, alpha=321.9) for x in (jrm.rie, jrm.bedroc)
    }
    lists = jrm.measure(metrics, jrm.rank(labels, scores))
    worth = [math.exp(-step * rank) for rank in range(3)]
    np.testing.assert_allclose(lists["rie"].values, np.multiply(3, worth), atol=1e-6)
    np.testing.assert_allclose(lists["bedroc"].values, worth, atol=1e-6)


def test_items_without_a_rank_add_nothing(rng):
    """Active items and decoys that were not retrieved count in the pool alone."""
    labels, scores, mask = draw(rng)
    scores = rng.permuted(np.tile(np.float32(np.arange(ITEMS)), (LISTS, 1)), axis=1)
    retrieved = rng.random(scores.shape) < 0.6
    names = ("enrichment_factor", "rie", "bedroc", "log_auc")
    metrics = {name: METRICS[name] for name in names}
    results = jrm.measure(metrics, jrm.rank(labels, scores, mask, retrieved=retrieved))
    for row in range(LISTS):
        pool = oracle.existing(labels[row], mask[row])
        order = sorted(
            (i for i in pool if retrieved[row, i]), key=lambda i: -scores[row, i]
        )
        screen = Screen(labels[row], pool, 1)
        for name, lists in results.items():
            if lists.defined[row]:
                expected = getattr(screen, name)(order)
                np.testing.assert_allclose(lists.values[row], expected, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("metric", ("enrichment_factor", "log_auc"))
def test_laws_and_layouts(metric):
    """Every law on every layout."""
    partial = METRICS[metric]
    jrm.testing.check_metric(partial.func, **partial.keywords)


@pytest.mark.long
def test_long_lists(rng):
    """Places of many ranks, and single ones, in lists of 100,000 items."""
    labels = (rng.random((2, 100_000)) < 0.01).astype(np.int32)
    scores = rng.standard_normal(labels.shape).astype(np.float32)
    scores[1] = np.round(scores[1] * 20)
    results = jrm.evaluate(("rie", "bedroc", "logauc"), labels, scores)
    lists = jrm.measure(tuple(results), jrm.rank(labels, scores))
    for row in range(2):
        order = np.argsort(-scores[row], kind="stable")
        active = labels[row, order] == 1
        size, num_active = active.size, active.sum()
        ranks = np.arange(1, size + 1.0)
        decoys = np.minimum(np.cumsum(~active), size - num_active)
        share = np.maximum(decoys / (size - num_active), 1e-3)
        worth = {"rie": np.exp(-20 * ranks / size), "logauc": -np.log(share)}
        _, groups = np.unique(-scores[row, order], return_inverse=True)
        count = functools.partial(np.bincount, groups)
        rie = (count(worth["rie"]) / count() * count(active)).sum() / num_active
        assert lists["rie"].values[row] == pytest.approx(
            rie / worth["rie"].mean(), 1e-5
        )
        tops = worth["rie"][:num_active].mean(), worth["rie"][-num_active:].mean()
        assert lists["bedroc"].values[row] == pytest.approx(
            (rie - tops[1]) / (tops[0] - tops[1]), abs=1e-5
        )
        if row == 0:
            value = worth["logauc"][active].mean() / math.log(1000)
            assert lists["logauc"].values[row] == pytest.approx(value, abs=1e-5)


@pytest.mark.long
def test_a_random_order_is_worth_what_chance_gives():
    """Where all items tie, values are those of chance, to the digits of a float."""
    labels = jnp.zeros((1, 400), jnp.int32).at[0, :7].set(1)
    ranking = jrm.rank(labels, jnp.zeros(labels.shape))
    lists = jrm.measure(("ef@1%,10", "rie", "adjusted_log_auc"), ranking)
    np.testing.assert_allclose(lists["ef@1%,10"].values, 1, rtol=1e-6)
    np.testing.assert_allclose(lists["rie"].values, 1, rtol=1e-6)
    assert abs(lists["adjusted_log_auc"].values[0]) < 1e-3  # of steps, not of a line
