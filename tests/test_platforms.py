"""Variants for CPU alone agree with those for GPU and TPU."""

import jax
import numpy as np
import pytest
from cases import FEW, metrics
from jax import lax
from marks import long
from test_long_lists import draw

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ranking import data_of

KS = (3, 40, None)


@pytest.fixture
def other_platforms(compiled_with):
    """Compiles the variants of other platforms for CPU."""

    def default(*args, default, **_):
        return default(*args)

    return lambda: compiled_with(lax, "platform_dependent", default)


@pytest.mark.long
@pytest.mark.parametrize(
    "items, cut, ties", [(700, None, None), (60, 7, "random"), (700, 7, "best")]
)
def test_rows(rng, other_platforms, items, cut, ties):
    """Ranks short and long lists, with and without a cutoff, with and without ties."""
    labels, scores, mask = draw(rng, items, lists=5)
    scores[:3] //= 4
    compare(other_platforms, ties, labels, scores, mask, cut=cut)


@pytest.mark.parametrize("cut", [15, *long(3)])
def test_order_on_gpu(rng, compiled_with, cut):
    """Floats take the top-k kernel of GPUs, which knows neither NaN nor short lists.

    Many scores are among the least floats; two of them tie on either side of 0. Some lists
    are masked but for a few items.
    """

    def on_gpu(*args, default, cuda=None, **_):
        return (cuda or default)(*args)

    special = [np.inf, -np.inf, np.nan, 3.4028235e38, -3.4028235e38, -3.4028233e38, -1]
    tiny = np.float32(1e-45) * np.arange(-4, 5)
    scores = np.empty((18, 600), np.float32)
    for row, pool in enumerate([tiny, special[1:], [*special, *tiny]] * 6):
        scores[row] = rng.choice(np.array(pool, np.float32), 600)
    # There are fewer floats next below 0 than ranks, so the scores after them count.
    scores[::2] = np.where(rng.random(scores[::2].shape) < 0.99, -2, scores[::2])
    mask = rng.random(scores.shape) < rng.choice([0.005, 0.02, 0.5], (18, 1))
    with compiled_with(lax, "platform_dependent", on_gpu):
        ranking = jrm.rank(np.ones_like(scores), scores, mask, ties="stable", k=cut)
    numbers = scores.astype(np.float64)
    numbers = np.where(np.isinf(numbers), np.copysign(1e300, numbers), numbers)
    numbers = np.where(np.isnan(numbers), 2e300, numbers)
    is_least = np.abs(numbers) < 3e-45
    numbers = np.where(is_least, np.sign(numbers) * 1e-45, numbers)
    order = np.argsort(np.where(mask, -numbers, np.inf), axis=-1, kind="stable")
    exists = np.take_along_axis(mask, order, axis=-1)
    np.testing.assert_array_equal(ranking.items, np.where(exists, order, -1)[:, :cut])


@pytest.mark.long
def test_packed_lists(rng, other_platforms):
    """Ranks packed lists of several lengths."""
    ids = np.sort(rng.integers(0, 9, 300)).astype(np.int32)
    labels = rng.integers(0, 4, ids.size).astype(np.float32)
    scores = rng.integers(0, 30, ids.size).astype(np.float32)
    compare(other_platforms, "worst", labels, scores, segment_ids=ids, num_segments=9)


def compare(other_platforms, ties, labels, scores, mask=None, cut=None, **options):
    """Rankings are the same, and values differ only by the order of sums."""
    key = jax.random.key(7) if ties == "random" else None
    ks = tuple(k for k in KS if cut is None or (k and k <= cut))
    table = metrics(ks, ties, FEW)

    def of():
        ranking = jrm.rank(labels, scores, mask, key=key, k=cut, ties=ties, **options)
        actual = {name: x.values for name, x in jrm.measure(table, ranking).items()}
        return data_of(ranking).items_held.items.labels, actual

    cpu_labels, cpu_values = of()
    with other_platforms():
        default_labels, default_values = of()
    np.testing.assert_array_equal(default_labels, cpu_labels)
    for name, values in cpu_values.items():
        np.testing.assert_allclose(
            default_values[name], values, 1e-6, 1e-7, err_msg=name
        )
