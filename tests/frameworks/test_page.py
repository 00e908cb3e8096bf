"""The examples on the page about frameworks."""

import pytest
from pages import OF_FRAMEWORKS, wrong_examples


# See test_keras.
@pytest.mark.filterwarnings("ignore:__array__ impl:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:invalid escape")  # in cwl-eval, when it is compiled
@pytest.mark.filterwarnings("ignore:unsafe cast from uint64")  # in ranx, by numba
@pytest.mark.parametrize("page", OF_FRAMEWORKS, ids=lambda page: page.stem)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what the page shows."""
    wrong = wrong_examples(page)
    assert not wrong, wrong
