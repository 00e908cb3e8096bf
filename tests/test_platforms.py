"""Variants for CPU alone agree with those for GPU and TPU."""

import jax
import numpy as np
import pytest
from cases import FEW, metrics
from jax import lax

import jax_rank_metrics as jrm

KS = (3, 40, None)


@pytest.fixture
def other_platforms(compiled_with):
    """Compiles the variants of other platforms for CPU."""

    def default(*args, default, **_):
        return default(*args)

    return lambda: compiled_with(lax, "platform_dependent", default)


@pytest.mark.parametrize(
    "items, cut, ties",
    [
        pytest.param(700, None, None, marks=pytest.mark.long),
        pytest.param(60, 7, "random", marks=pytest.mark.long),
        pytest.param(700, 7, "best", marks=pytest.mark.long),
    ],
)
def test_rows(rng, other_platforms, items, cut, ties):
    """Ranks short and long lists, with and without a cutoff, with and without ties."""
    labels = rng.integers(-1, 4, (5, items)).astype(np.float32)
    labels[-1] /= 2
    scores = rng.permuted(np.broadcast_to(np.arange(items), labels.shape), axis=-1)
    scores = np.where(np.arange(5)[:, None] < 3, scores // 4, scores)
    mask = rng.random(labels.shape) > 0.1
    compare(other_platforms, ties, labels, scores.astype(np.float32), mask, cut=cut)


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
        return ranking._held.items.labels, actual

    cpu_labels, cpu_values = of()
    with other_platforms():
        default_labels, default_values = of()
    np.testing.assert_array_equal(default_labels, cpu_labels)
    for name, values in cpu_values.items():
        np.testing.assert_allclose(
            default_values[name], values, 1e-6, 1e-7, err_msg=name
        )
