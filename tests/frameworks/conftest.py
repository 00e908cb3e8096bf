"""Fixtures of the frameworks' tests: lists, and a comparison with plain `evaluate`.

No test is skipped if a framework is missing: run the folder by its path, in an environment
with the extra "frameworks".
"""

import contextlib
import os
from typing import NamedTuple

import jax
import numpy as np
import pytest

os.environ["KERAS_BACKEND"] = "jax"  # before Keras is imported

import jax_rank_metrics as jrm

METRICS = ("recall@1,3", "ndcg@5", "mrr")


class Lists(NamedTuple):
    """Eleven lists of up to eight items, in batches of 4, 4 and 3; padding has −1."""

    features: np.ndarray  # [lists, items, 3]
    labels: np.ndarray  # [lists, items]

    def batches(self):
        """Yields four lists at a time, and three at the end."""
        for start in range(0, len(self.labels), 4):
            yield Lists(*(x[start : start + 4] for x in self))


@pytest.fixture(autouse=True)
def lenient():
    """Lifts this suite's strict settings of JAX, which the frameworks do not keep."""
    with contextlib.ExitStack() as settings:
        settings.enter_context(jax.numpy_dtype_promotion("standard"))
        settings.enter_context(jax.numpy_rank_promotion("allow"))
        yield


@pytest.fixture(scope="session")
def lists():
    """Lists whose labels can be learned from their features, up to noise."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(11, 8, 3)).astype(np.float32)
    noise = rng.normal(size=(11, 8))
    labels = np.clip(np.round(features.sum(-1) / 2 + noise), 0, 3)
    length = rng.integers(3, 9, size=(11, 1))
    return Lists(
        features, np.where(np.arange(8) < length, labels, -1).astype(np.float32)
    )


@pytest.fixture
def agree():
    """Asserts that flat results equal one call with all lists."""

    def agree(results, labels, scores, metrics=METRICS, **options):
        states = jrm.evaluate(metrics, labels, np.asarray(scores), **options)
        for name, value in jrm.compute(states, flat=True, host=True).items():
            np.testing.assert_allclose(results[name], value, atol=1e-6, err_msg=name)

    return agree
