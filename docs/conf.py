"""Configures the site, which this command builds.

sphinx-build -W --keep-going -b html docs build/site
"""

import inspect
import os
import re
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")  # autodoc imports the Keras adapter

import jax_rank_metrics
from jax_rank_metrics import Metric, __version__
from jax_rank_metrics._engine.metrics.metric import NAMES

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COPIES = DOCS / "copies"

project = "jax_rank_metrics"
copyright = "the jax_rank_metrics authors"
release = version = __version__
html_title = f"{project} {version}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_extra_path = ["llms.txt"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks show their stored outputs; CI executes them

# Docstrings name shapes in words; annotations would hide the names of the arguments.
autodoc_typehints = "none"
napoleon_use_rtype = False
napoleon_custom_sections = [("Shapes", "params_style")]
# `code` in a docstring is a link where it names an object, and code elsewhere.
default_role = "py:obj"
exclude_patterns = ["demo"]

# A copied example has neither prompts nor what they print.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# One file of MathJax that draws formulas without fonts, and so without a network.
if mathjax := find_spec("sphinx-mathjax-offline"):
    folder = Path(mathjax.origin).parent / "static" / "mathjax"
    html_static_path.append(str(folder / "tex-svg.js"))
mathjax_path = "tex-svg.js"

# The libraries that adapters import. Those that are not installed are imitated, since
# docstrings can be read without them.
adapters = (ROOT / "jax_rank_metrics" / "adapters").glob("*.py")
imports = r'(?:framework|import_optional)\(\s*"(\w+)'
libraries = re.findall(imports, "".join(path.read_text() for path in adapters))
autodoc_mock_imports = [
    name for name in sorted({*libraries}) if find_spec(name) is None
]


typesetting = runpy.run_path(str(DOCS / "typesetting.py"))
# Names in the index of what compares two rankings, and has no name for `evaluate`.
ALIASES = {
    "rank_biased_overlap": ("rank_biased_overlap", "rbo"),
    **{
        x: (x,) for x in ("overlap", "jaccard", "kendall_tau", "spearman_rho", "tau_ap")
    },
    "neighbor_recall": ("neighbor_recall",),
}
# What the arguments are that all metrics share, where one of them is described.
ARGUMENTS = (
    "`mask` says which items exist, `weights` what items or lists count, and `ties` what "
    "equal scores mean; :func:`rank` describes these and {}. `undefined` says what a list "
    "without a value counts; :doc:`/metrics` describes it."
)
FILTER = """<form class="filter" hidden>
<input type="search" aria-label="Filter metrics" placeholder="name, word or library">
{boxes}
<output></output>
</form>"""


def copy_pages_of_the_repository():
    """Copies pages from outside docs/ to a folder where Sphinx finds them."""
    shutil.rmtree(COPIES, ignore_errors=True)
    COPIES.mkdir()
    for pattern in (
        "BENCHMARKS.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "notebooks/*.ipynb",
    ):
        for page in ROOT.glob(pattern):
            shutil.copy(page, COPIES)


def link_verbs(app, name, source):
    """Links each function on the page of all to its docstring."""
    if name == "verbs":
        link = r"| {obj}`\1 <jax_rank_metrics.\1>`"
        source[0] = re.sub(r"(?m)^\| `([\w.]+)`", link, source[0])


def prepare_source(app, name, source):
    """Points links between pages at the copies, and those of metrics at docstrings."""
    text = re.sub(r"\]\((?:\.\./)?docs/", "](/", source[0])
    text = re.sub(r"\n\n```", "\n```", text)  # the end of a doctest, for its parser
    if name == "metrics":
        text = prepare_overview(text)
    copied = r"notebooks/|(?=BENCHMARKS|CHANGELOG|CONTRIBUTING)"
    source[0] = re.sub(rf"\]\(\.\./(?:{copied})", "](/copies/", text)


def prepare_overview(text):
    """Links metrics to their docstrings, colours what ties mean, and adds the filter."""
    boxes = []
    for kind in re.findall(r"(?m)^- \*([\w ]+)\* means", text):
        style = "ties-" + kind.replace(" ", "-")
        text = re.sub(rf"(?<=\| ){kind}(?=[ ,])", f"[{kind}]{{.{style}}}", text)
        text = text.replace(f"- *{kind}* means", f"- [{kind}]{{.{style}}} means")
        box = f'<input type="checkbox" value="{kind}" checked>'
        boxes.append(f'<label>{box} <span class="{style}">{kind}</span></label>')
    # Each row of a table begins with a metric.
    text = re.sub(r"(?m)^\| `(\w+)`", r"| {obj}`\1 <jax_rank_metrics.\1>`", text)
    return text.replace("<!-- filter -->", FILTER.format(boxes="\n".join(boxes)))


def prepare_part(app, path, name, content):
    """Prepares a part of the README that a page includes, as its own text."""
    prepare_source(app, name, content)


def typeset_docstring(app, what, name, target, options, lines):
    """Typesets the formulas of a docstring, which are plain text for `help`."""
    lines[:] = typesetting["docstring"](lines)


def sign_metrics(app, what, name, target, options, signature, returns):
    """Shows what calls of a metric pass by position, its options, and policies."""
    if not isinstance(target, Metric):  # a default that is a function has a name
        return re.sub(r"<function (\w+)>", r"\1", signature or "") or None, returns
    parameters = inspect.signature(target).parameters
    by_position = [x for x in parameters.values() if x.kind is not x.KEYWORD_ONLY]
    by_name = [parameters[x] for x in (*target.spec.options, "ties", "undefined")]
    texts = [*map(without_type, by_position), "*", *map(without_type, by_name)]
    return f"({', '.join(texts)}, **arguments_of_rank)", returns


def without_type(parameter):
    """Returns the name of a parameter, with its default."""
    default = parameter.default
    if default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={getattr(default, '__name__', repr(default))}"


def describe_arguments(app, what, name, target, options, lines):
    """Says beside the options of a metric which arguments all metrics share."""
    if not isinstance(target, Metric):
        return
    described = {"labels", "scores", "mask", "weights", "ties", "undefined"}
    described.update(target.spec.options)
    names = [x for x in inspect.signature(target).parameters if x not in described]
    text = ARGUMENTS.format(", ".join(f"`{x}`" for x in names))
    headings = (i for i, line in enumerate(lines) if line.startswith(".. rubric::"))
    start = next(headings, len(lines))
    lines[start:start] = [rf":param \*\*arguments_of_rank: {text}", ""]


def index_aliases(app, doctree):
    """Enters every name of a metric into the index, where the search looks first."""
    from sphinx import addnodes

    names = {id(metric): [] for metric in NAMES.values()}
    for alias, metric in NAMES.items():
        names[id(metric)].append(alias)
    for node in doctree.findall(addnodes.index):
        for kind, _, target, _, key in list(node["entries"]):
            _, is_public, name = target.partition(f"{project}.")
            known = vars(jax_rank_metrics).get(name) if is_public else None
            for alias in names.get(id(known), ALIASES.get(name, ())):
                node["entries"].append((kind, alias, target, "main", key))


def draw_narrow(app, page, template, context, doctree):
    """Shows the narrow drawing of a figure on a telephone, if it has one."""

    def with_narrow(image):
        folders, name = image[1], f"{image[2]}-narrow.svg"
        if not (DOCS / "_static" / name).exists():
            return image[0]
        source = f'media="(max-width: 46em)" srcset="{folders}_static/{name}"'
        return f"<picture><source {source}>{image[0]}</picture>"

    image = r'<img [^>]*src="((?:\.\./)*)_images/([\w-]+)\.svg"[^>]*>'
    if "body" in context:
        context["body"] = re.sub(image, with_narrow, context["body"])


def setup(app):
    """Registers the functions above."""
    copy_pages_of_the_repository()
    app.connect("source-read", link_verbs)
    app.connect("source-read", prepare_source)
    app.connect("include-read", prepare_part)
    app.connect("autodoc-process-docstring", typeset_docstring)
    app.connect("autodoc-process-docstring", describe_arguments)
    app.connect("autodoc-process-signature", sign_metrics)
    app.connect("doctree-read", index_aliases)
    app.connect("html-page-context", draw_narrow)
