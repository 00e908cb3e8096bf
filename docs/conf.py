"""Configures the site, which this command builds.

sphinx-build -W --keep-going -b html docs build/site
"""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")  # autodoc imports the Keras adapter

from jax_rank_metrics import __version__

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
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks show their stored outputs; CI executes them

# Docstrings name shapes in words; annotations would hide the names of the arguments.
autodoc_typehints = "none"
napoleon_use_rtype = False
napoleon_custom_sections = [("Shapes", "params_style")]
# `code` in a docstring is a link where it names an object, and code elsewhere.
default_role = "py:obj"
exclude_patterns = ["demo"]

# The libraries that adapters import. Those that are not installed are imitated, since
# docstrings can be read without them.
adapters = (ROOT / "jax_rank_metrics" / "adapters").glob("*.py")
imports = r'(?:framework|import_optional)\(\s*"(\w+)'
libraries = re.findall(imports, "".join(path.read_text() for path in adapters))
autodoc_mock_imports = [
    name for name in sorted({*libraries}) if find_spec(name) is None
]


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


def home_page():
    """Returns the part of the README that the home page shares, with links from docs/."""
    readme = (ROOT / "README.md").read_text()
    _, start, text = readme.partition("<!-- home page from here -->\n")
    text, end, _ = text.partition("<!-- home page to here -->\n")
    assert start and end, "README.md lacks a marker of the home page"
    return re.sub(r"\]\((?!docs/|https?:)", "](../", text).replace("](docs/", "](")


def prepare_source(app, name, source):
    """Fills in the home page, and points links between pages at the copies."""
    text = source[0].replace("<!-- home page -->", home_page())
    text = re.sub(r"\]\((?:\.\./)?docs/", "](/", text)
    if name == "metrics":  # each row begins with a metric: link it to its docstring
        text = re.sub(r"(?m)^\| `(\w+)`", r"| {obj}`\1 <jax_rank_metrics.\1>`", text)
    copied = r"notebooks/|(?=BENCHMARKS|CHANGELOG|CONTRIBUTING)"
    source[0] = re.sub(rf"\]\(\.\./(?:{copied})", "](/copies/", text)


def tex(formula):
    """Writes a formula of a docstring as TeX: upright words, large sums and products."""
    formula = re.sub(r"[A-Za-z]{2,}|[A-Z](?=@)", r"\\mathrm{\g<0>}", formula)
    for plain, command in (
        (r"\mathrm{min}", r"\min"),
        (r"\mathrm{max}", r"\max"),
        (r"\mathrm{log}2", r"\log_2 "),
        ("Σ", r"\sum"),
        ("Π", r"\prod"),
        ("·", r"\cdot "),
        ("−", "-"),
    ):
        formula = formula.replace(plain, command)
    return formula


def typeset_docstring(app, what, name, target, options, lines):
    """Typesets the formulas of a docstring, which are plain text for `help`."""
    is_formula = False
    for index, line in enumerate(lines):
        directive, is_math, formula = line.partition(".. math::")
        if is_math:
            lines[index] = f"{directive}{is_math}{tex(formula)}"
        elif is_formula and line.startswith(" "):
            lines[index] = tex(line)
        is_formula = bool(is_math) or (is_formula and (not line or line[0] == " "))


def name_functions(app, what, name, target, options, signature, returns):
    """Shows a default that is a function by its name."""
    return re.sub(r"<function (\w+)>", r"\1", signature or "") or None, returns


def setup(app):
    """Registers the functions above."""
    copy_pages_of_the_repository()
    app.connect("source-read", prepare_source)
    app.connect("autodoc-process-docstring", typeset_docstring)
    app.connect("autodoc-process-signature", name_functions)
