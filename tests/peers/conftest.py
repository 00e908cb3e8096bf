"""Data and tolerances that the comparisons with other libraries share.

Fixtures rather than a module of helpers, so that nothing depends on the import path.
"""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest


class Lists(NamedTuple):
    """A batch of lists without tied scores; arrays are `[lists, items]`."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray


@pytest.fixture
def lists() -> Lists:
    """Returns graded lists with every edge case that peers define, in the first rows."""
    rng = np.random.default_rng(20)
    shape = (14, 9)
    labels = rng.choice(np.float32([0, 0, 0, 0.5, 1, 2, 3]), shape)
    mask = rng.random(shape) < 0.7
    labels[0] = 0  # nothing relevant
    labels[1] = 2  # everything relevant
    labels[2] = np.where(labels[2] >= 1, 0.5, labels[2])  # a gain, but none relevant
    labels[3, -1], mask[3, -1] = 3, False  # the best item is masked
    mask[4] = False  # an empty list
    mask[5] = np.arange(shape[1]) == 4  # a single item
    labels[6], mask[6] = [0.5, 0, 1, 3, 2, 0, 0, 0, 1], True  # two relevant among ties
    scores = rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
    # Eighths are exact in every float dtype, and some scores are negative.
    return Lists(labels, (scores / 8 - 0.5).astype(np.float32), mask)


@pytest.fixture
def peer() -> Callable[..., np.ndarray]:
    """Calls a function of another library, without this suite's strict JAX settings."""

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> np.ndarray:
        with contextlib.ExitStack() as settings:
            settings.enter_context(jax.numpy_dtype_promotion("standard"))
            settings.enter_context(jax.numpy_rank_promotion("allow"))
            settings.enter_context(jax.debug_nans(False))
            return np.asarray(function(*args, **kwargs))

    return call


@pytest.fixture
def agree() -> Callable[[Any, Any], None]:
    """Asserts that our value is the peer's, to the rounding of float32."""

    def agree(ours: Any, theirs: Any) -> None:
        np.testing.assert_allclose(
            np.asarray(ours), np.asarray(theirs), rtol=2e-6, atol=1e-6, strict=False
        )
        assert np.shape(ours) == np.shape(theirs)

    return agree
