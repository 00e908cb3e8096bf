"""The page that trains with the losses of rax and the optimisers of optax."""

import warnings
from pathlib import Path

import jax
import pages
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("rax")
pytestmark = pytest.mark.filterwarnings("default")

PAGE = Path(__file__).parents[2] / "docs" / "learning-to-rank.md"


def test_examples_of_the_page():
    """As a user runs it, whose JAX is not strict."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        pages.check(PAGE)
