"""The page of the frameworks: what it shows is what happens."""

import pytest
from pages import OF_FRAMEWORKS, wrong_examples


# See test_keras.
@pytest.mark.filterwarnings("ignore:__array__ impl:DeprecationWarning")
@pytest.mark.parametrize("page", OF_FRAMEWORKS, ids=lambda page: page.stem)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what it says."""
    wrong = wrong_examples(page)
    assert not wrong, wrong
