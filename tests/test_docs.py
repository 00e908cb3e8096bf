"""The pages of docs/: what they show is what happens."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
SHOWING = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.long
@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.stem)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what it says."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    test = doctest.DocTestParser().get_doctest(
        "\n".join(blocks), {}, page.stem, None, 0
    )
    output = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert test.examples and not output, "".join(output)


def test_readme_names_every_page():
    """None is hidden, and none is named that is not there."""
    named = re.findall(r"\((docs/[^)]*\.md)\)", (ROOT / "README.md").read_text())
    assert {*named} == {f"docs/{page.name}" for page in PAGES}
