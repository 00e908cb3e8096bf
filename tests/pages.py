"""Lists the pages of docs/, and runs their examples as doctests."""

import doctest
import re
from pathlib import Path

import pytest
import registry

from jax_rank_metrics._engine.metrics import metric as metric_module
from jax_rank_metrics._names import facts

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
PAGES = [page for page in PAGES if not {"copies", "demo"} & set(page.parts)]
SHOWING = [page for page in PAGES if ">>>" in page.read_text()]
# The examples of these pages need libraries that the extra "test" lacks, so the tests of
# the folders tests/peers and tests/frameworks run them.
OF_PEERS = [page for page in SHOWING if page.stem == "learning-to-rank"]
OF_LIBRARIES = (
    *("frameworks", "gradient-boosting", "ir-measures", "keras-rs", "metrax"),
    *("nnx-on-a-mesh", "ranx", "rax", "scikit-learn", "torchmetrics", "trec-eval"),
)
OF_FRAMEWORKS = [page for page in SHOWING if page.stem in OF_LIBRARIES]


def blocks(page):
    """Returns the Python blocks of a Markdown file."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def settings_of(library):
    """Yields the rows of a library on the page of gradient-boosted rankers.

    A row has the library's metric, the name here, and its `undefined=`.
    """
    text = (ROOT / "docs" / "coming-from" / "gradient-boosting.md").read_text()
    _, _, table = text.partition(f"| {library} | here |")
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        there, here, undefined = line.strip("| ").split(" | ")
        [name], [choice] = re.findall('"(.+)"', here), re.findall('"(.+)"', undefined)
        yield re.findall("`([^`]+)`", there), name, choice


def wrong_examples(page):
    """Runs the Python blocks of a page in order, and returns a report of failures.

    It knows the metrics of the package alone, whatever modules of tests have registered.
    """
    test = doctest.DocTestParser().get_doctest(
        "\n".join(blocks(page)), {}, page.stem, None, 0
    )
    assert test.examples
    report = []
    of_tests = metric_module.NAMES.keys() - registry.NAMES.keys()
    with pytest.MonkeyPatch.context() as patch:
        for module, table in ((metric_module, "NAMES"), (facts, "FACTS")):
            known = getattr(module, table).items()
            kept = {name: value for name, value in known if name not in of_tests}
            patch.setattr(module, table, kept)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    return "".join(report)
