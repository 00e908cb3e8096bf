"""The page that trains with the losses of rax and the optimisers of optax."""

import warnings

import jax
import pytest
from pages import OF_PEERS, wrong_examples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("rax")
pytestmark = pytest.mark.filterwarnings("default")


def test_examples_of_the_page():
    """Runs the page as users do, without strict settings of JAX."""
    (page,) = OF_PEERS
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        wrong = wrong_examples(page)
    assert not wrong, wrong
