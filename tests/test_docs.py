"""The pages of docs/: what they show is what happens."""

import re

import pytest
from pages import OF_FRAMEWORKS, PAGES, ROOT, SHOWING, wrong_examples


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [page for page in SHOWING if page not in OF_FRAMEWORKS],
    ids=lambda page: page.stem,
)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what it says."""
    wrong = wrong_examples(page)
    assert not wrong, wrong


def test_readme_names_every_page():
    """None is hidden, and none is named that is not there."""
    named = re.findall(r"\((docs/[^)]*\.md)\)", (ROOT / "README.md").read_text())
    assert {*named} == {f"docs/{page.name}" for page in PAGES}
