"""What pages show is what happens: their Python blocks run, and print what they say."""

import doctest
import re

import pytest

from jax_rank_metrics._calls import metric as metric_module
from jax_rank_metrics._calls import names as names_module


def blocks(page):
    """The Python blocks of a Markdown file."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def check(page):
    """Runs every block in order, as one session; metrics it makes are gone after it."""
    test = doctest.DocTestParser().get_doctest(
        "\n".join(blocks(page)), {}, page.stem, None, 0
    )
    names, output = dict(metric_module.NAMES), []
    with pytest.MonkeyPatch.context() as patch:
        for module in (metric_module, names_module):
            patch.setattr(module, "NAMES", names)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert test.examples and not output, "".join(output)
