"""Cutoffs that are shares of a list: `jrm.share`."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ranking.totals import cutoff_of
from jax_rank_metrics.testing import COLUMNS

LENGTHS = (1, 3, 8, 13, 13)
# ceil(0.3·n) of each length.
CUTOFFS = (1, 1, 3, 4, 4)
# Metrics that between them read cutoffs in every way that formulas do.
READERS = (
    *("ndcg", "precision(denominator=k)", "nerr", "alpha_ndcg", "err_ia", "mrr"),
    "adjusted_mrr",
)
WITH_CUTOFFS = sorted(
    name
    for name in jrm.__all__
    if isinstance(metric := getattr(jrm, name), jrm.Metric)
    and "k" in metric.spec.options
    and {"groups"}.issuperset(metric.spec.item_columns)  # others need lists of ids
)


def draw(rng, topics=2):
    """Draws lists of different lengths with ties, each with one relevant item."""
    lists, items = len(LENGTHS), max(LENGTHS)
    mask = np.arange(items) < np.array(LENGTHS)[:, None]
    labels = np.zeros((lists, items), np.int32)
    labels[np.arange(lists), rng.integers(0, LENGTHS)] = 1
    scores = rng.integers(0, 5, (lists, items)).astype(np.float32)
    subtopics = rng.random((lists, items, topics)) < 0.6
    subtopics[0] = True
    order = rng.permuted(np.tile(np.arange(items), (lists, 1)), axis=1)
    take = [np.take_along_axis(x, order, 1) for x in (labels, scores, mask)]
    subtopics = np.take_along_axis(subtopics, order[..., None], axis=1)
    columns = {name: column(rng, mask.shape) for name, column in COLUMNS.items()}
    return *take, columns | {"subtopics": subtopics}


@pytest.mark.parametrize(
    "metrics", [READERS, *long(WITH_CUTOFFS)], ids=["readers", "all"]
)
def test_metrics_at_a_share_and_at_ranks(rng, metrics):
    """At a share, a list has its value at the rank at which the share ends."""
    labels, scores, mask, columns = draw(rng)
    ends = sorted(set(CUTOFFS))
    names = [f"{name}@30%,{','.join(map(str, ends))}" for name in metrics]
    ranking = jrm.rank(labels, scores, mask, columns=columns)
    slots = [1 + ends.index(rank) for rank in CUTOFFS]
    for name, lists in jax.device_get(jrm.measure(names, ranking)).items():
        expected = lists.values[np.arange(len(LENGTHS)), slots]
        np.testing.assert_allclose(
            lists.values[:, 0], expected, atol=1e-6, err_msg=name
        )
        if lists.defined.ndim > 1:  # of ratios, by cutoff
            expected = lists.defined[np.arange(len(LENGTHS)), slots]
            np.testing.assert_array_equal(lists.defined[:, 0], expected, name)


@pytest.mark.long
def test_layouts():
    """Shares are of each list on every layout, also if lists are packed."""
    metric = jrm.num_relevant_retrieved
    jrm.testing.check_metric(metric, k=(jrm.share(0.3), jrm.share(1), 5))


@pytest.mark.parametrize("x64", [False, True])
def test_cutoffs_are_those_of_float64(rng, x64):
    """ceil(share·n) agrees with NumPy's float64, for lists up to the longest possible."""
    fractions = [0.07, 0.1, 1 / 3, np.round(rng.random(), 2) + 0.001]
    if not x64:
        fractions += [1.0, np.nextafter(1, 0), 1e-9, 1e-300, rng.random()]
    lengths = np.concatenate([np.arange(3000), rng.integers(0, 2**31, 3000)])
    lengths = np.append(lengths, [2**31 - 1, 2**24 + 1, 100_000]).astype(np.int32)
    with jax.enable_x64(x64):
        cutoffs = jax.jit(lambda x: [cutoff_of(jrm.share(f), x) for f in fractions])
        for fraction, ranks in zip(fractions, cutoffs(lengths), strict=True):
            assert ranks.dtype == jnp.int32
            np.testing.assert_array_equal(ranks, np.ceil(fraction * lengths))
    assert cutoffs(lengths)[0][100] == 8  # of 0.07 · 100, which is just above 7


def test_names():
    """Names spell shares in percent, and results of several cutoffs are named after them."""
    names = ["recall@12.5%", "recall@2", "mrr@7%"]
    assert (
        list(jrm.compute(jrm.empty(("recall@ 12.5%,2", "mrr@7%")), flat=True)) == names
    )
    for fraction in (0.01, 0.07, 0.005, 0.007, 1.0, 1e-5, 0.29, 1 / 3):
        share = jrm.share(fraction)
        assert jrm.share.of_percent(str(share)[:-1]) == share
        assert eval(repr(share), {"share": jrm.share}) == share
    assert str(jrm.share(1)) == "100%" and str(jrm.share(0.005)) == "0.5%"

    default = (jrm.share(0.25), 10)

    @jrm.metric(names=("depth_at_shares",))
    def number_at_shares(ranking, *, k=default):
        values = ranking.depth(ranking.cutoffs(k))
        return ranking.per_list(values, True, k, lambda items: items.labels)

    states = jrm.evaluate("depth_at_shares", np.eye(8), np.eye(8))
    assert jrm.compute(states, flat=True, host=True) == {
        "depth_at_shares@25%": 2.0,
        "depth_at_shares@10": 8.0,
    }


def test_shares_are_values():
    """Equal shares are one value, whatever number they were made of."""
    numbers = (0.1, np.float32(0.1), np.float64(0.1))
    assert len(set(map(jrm.share, numbers))) == 1
    assert jrm.share(np.int64(1)) == jrm.share(1) == jrm.share(1.0)
    assert pickle.loads(pickle.dumps(jrm.share(0.01))) == jrm.share(0.01)
    assert repr((jrm.share(0.01), 10)) == "(share(0.01), 10)"
