"""The pages of docs/, and what runs their examples."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
SHOWING = [page for page in PAGES if "```python" in page.read_text()]
# Pages whose examples need the extra "frameworks"; `tests/frameworks` runs them.
OF_FRAMEWORKS = [page for page in SHOWING if page.stem == "frameworks"]


def wrong_examples(page):
    """What differs from what a page says, of its Python blocks run in order."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    test = doctest.DocTestParser().get_doctest(
        "\n".join(blocks), {}, page.stem, None, 0
    )
    assert test.examples
    output = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    return "".join(output)
