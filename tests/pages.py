"""The pages of docs/, and what runs their examples: what they show is what happens."""

import doctest
import re
from pathlib import Path

import pytest

from jax_rank_metrics._calls import metric as metric_module
from jax_rank_metrics._calls import names as names_module

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
SHOWING = [page for page in PAGES if ">>>" in page.read_text()]
# Pages whose examples need libraries that the extra "test" has not; these folders run them.
OF_PEERS = [page for page in SHOWING if page.stem == "learning-to-rank"]
OF_FRAMEWORKS = [page for page in SHOWING if page.stem == "frameworks"]


def blocks(page):
    """The Python blocks of a Markdown file."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def wrong_examples(page):
    """What differs from what a page says, of its Python blocks run in order.

    Metrics that it makes are gone after it.
    """
    test = doctest.DocTestParser().get_doctest(
        "\n".join(blocks(page)), {}, page.stem, None, 0
    )
    assert test.examples
    names, output = dict(metric_module.NAMES), []
    with pytest.MonkeyPatch.context() as patch:
        for module in (metric_module, names_module):
            patch.setattr(module, "NAMES", names)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    return "".join(output)
