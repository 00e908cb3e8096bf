"""How the site is built.

sphinx-build -W --keep-going -b html docs build/site
"""

import os
import re
import shutil
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")  # its adapter is imported to be shown

from jax_rank_metrics import __version__

DOCS = Path(__file__).parent
COPIES = DOCS / "copies"

project = "jax_rank_metrics"
copyright = "the jax_rank_metrics authors"
release = version = __version__
html_title = f"{project} {version}"
html_theme = "furo"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks show what they keep; CI runs them by itself

# Docstrings name shapes in words; annotations would hide the names of the arguments.
autodoc_typehints = "none"
napoleon_use_rtype = False
napoleon_custom_sections = [("Shapes", "params_style")]
# `code` in a docstring is a link where it names something, and code where it does not.
default_role = "py:obj"
exclude_patterns = ["demo"]


def copy_what_lies_outside():
    """Pages of the repository that the site shows too, where Sphinx looks for them."""
    shutil.rmtree(COPIES, ignore_errors=True)
    COPIES.mkdir()
    names = ("BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "notebooks/*.ipynb")
    for name in names:
        for page in DOCS.parent.glob(name):
            shutil.copy(page, COPIES)


def link_to_copies(app, name, source):
    """What a page links to beside docs/ on a code host is a copy here."""
    source[0] = source[0].replace("](../docs/", "](/")
    source[0] = re.sub(r"\]\(\.\./(?:notebooks/)?", "](/copies/", source[0])


def name_functions(app, what, name, one, options, signature, returns):
    """A default that is a function goes by its name."""
    return re.sub(r"<function (\w+)>", r"\1", signature or "") or None, returns


def setup(app):
    """Tells Sphinx of the above."""
    copy_what_lies_outside()
    app.connect("source-read", link_to_copies)
    app.connect("autodoc-process-signature", name_functions)
