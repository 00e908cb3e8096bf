"""The pages of docs/: their examples run, their links resolve, and the site has them all."""

import ast
import doctest
import importlib.util
import inspect
import re
import runpy
import tomllib

import numpy as np
import processes
import pytest
from pages import OF_FRAMEWORKS, OF_PEERS, PAGES, ROOT, SHOWING, blocks, wrong_examples

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics.metric import NAMES

README = ROOT / "README.md"
OF_THE_EXTRA_TEST = [x for x in (README, *SHOWING) if x not in OF_PEERS + OF_FRAMEWORKS]


@pytest.mark.long
@pytest.mark.parametrize("page", OF_THE_EXTRA_TEST, ids=lambda page: page.stem)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what the page shows."""
    wrong = wrong_examples(page)
    assert not wrong, wrong


@pytest.mark.long
def test_program_of_several_processes(tmp_path):
    """The program of the page gives one number as two processes of two devices each."""
    program = tmp_path / "evaluate.py"
    page_blocks = blocks(ROOT / "docs" / "many-devices.md")
    program.write_text(*[block for block in page_blocks if "distributed.init" in block])
    address = f"127.0.0.1:{processes.free_port()}"
    commands = [[program, address, 2, process] for process in range(2)]
    outputs = processes.together(commands, tmp_path, JAX_NUM_CPU_DEVICES="2")
    # Libraries print lines of their own in between.
    first_lines, second_lines = (
        re.findall("^(?:gathered|global) (.*)", output, re.M) for output in outputs
    )
    assert first_lines == second_lines and len(first_lines) == 2

    metrics, states = ("ndcg@10", "mrr"), []
    for process, lists in enumerate((100, 150)):
        rng = np.random.default_rng(process)
        labels = rng.integers(0, 3, (lists, 24))
        scores = np.round(rng.normal(size=labels.shape), 1).astype(np.float32)
        states.append(jrm.evaluate(metrics, labels, scores))
    expected = jrm.compute(jrm.merge(*states), host=True)
    for line in first_lines:
        assert ast.literal_eval(line) == pytest.approx(expected, rel=1e-6)


def test_the_site_has_every_page():
    """Every page is in a table of contents."""
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES}
    listed = re.findall(r"^(?:[^`:<\n]* <)?/?([\w/-]+)>?$", index, re.M)
    assert pages - {"index"} <= set(listed)


def test_the_site_needs_no_framework(monkeypatch):
    """Libraries of adapters are imitated if they are not installed."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    imitated = runpy.run_path(str(ROOT / "docs" / "conf.py"))["autodoc_mock_imports"]
    of_adapters = {
        *("clu", "flax", "ir_measures", "keras", "polars", "sentence_transformers"),
        *("sklearn", "torch", "tqdm", "transformers"),
    }
    missing = {x for x in of_adapters if importlib.util.find_spec(x) is None}
    assert {*imitated} == missing


def test_links_lead_somewhere():
    """Links name files that exist; the build of the site checks anchors."""
    for page in (README, *PAGES):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_site_has_every_name():
    """Every public name has its docstring on a page of the site."""
    text = "\n".join(page.read_text() for page in (ROOT / "docs/api").rglob("*.rst"))
    documented = re.findall(r"^\.\. auto(?:function|class):: (\w+)", text, re.M)
    assert len(documented) == len(set(documented))
    modules = inspect.getmembers(jrm, inspect.ismodule)
    public = {*jrm.__all__} - {name for name, _ in modules}
    assert public <= set(documented), sorted(public - set(documented))


def test_examples_of_docstrings_show_their_output():
    """A docstring with an example shows what it returns."""
    for name in jrm.__all__:
        doc = inspect.getdoc(getattr(jrm, name)) or ""
        examples = doctest.DocTestParser().get_examples(doc)
        assert not examples or any(example.want for example in examples), name


def test_formulas_are_typeset():
    """Fractions span what they divide, and the symbols below a formula are mathematics."""
    module = runpy.run_path(str(ROOT / "docs" / "typesetting.py"))
    for formula, expected in {
        "P@k = hits@k / min(k, n)": r"\mathrm{P}@k=\frac{\mathrm{hits}@k}{\min(k,n)}",
        "Σ_i g_i · r_i / Σ_i g_i": r"\frac{\sum_ig_i\cdotr_i}{\sum_ig_i}",
        "Σ_i x_i · (a + b) / (n · R) − 1": r"\sum_ix_i\cdot\frac{a+b}{n\cdotR}-1",
        "(1 + b) · P · R / (b · P + R)": r"\frac{(1+b)\cdotP\cdotR}{b\cdotP+R}",
        "(C − D) / √(P_s · P_l)": r"\frac{C-D}{\sqrt{P_s\cdotP_l}}",
    }.items():
        assert module["tex"](formula).replace(" ", "") == expected
    text = "Text.\n\n.. math:: x = a_i / R\n\nR is large. `R`\n:param R: R."
    lines = text.splitlines()
    typeset = module["docstring"](lines)
    assert r":math:`R` is large. `R`" in typeset[-3] and typeset[-2] == lines[-1]
    assert jrm.ndcg in NAMES.values()
    for metric in {id(metric): metric for metric in NAMES.values()}.values():
        typeset = module["docstring"]((inspect.getdoc(metric) or "").splitlines())
        for line in typeset:
            assert line.count("{") == line.count("}"), line


def test_supported_versions():
    """The page on stability names the least versions that the package requires."""
    text = (ROOT / "docs" / "stability.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [jax_bound] = [x for x in project["dependencies"] if x.startswith("jax>=")]
    assert f"Python {project['requires-python'].removeprefix('>=')} and later" in text
    assert f"JAX {jax_bound.removeprefix('jax>=')} and later" in text


def test_the_sidebar_is_short():
    """Titles in the table of contents have four words at most."""
    index = (ROOT / "docs" / "index.md").read_text()
    titles = re.findall(r"^([^`:<\n]+) <[\w/-]+>$", index, re.M)
    for page in re.findall(r"^[a-z][\w/-]+$", index, re.M):
        paths = [ROOT / "docs" / f"{page}.{suffix}" for suffix in ("md", "rst")]
        text = next(path for path in paths if path.exists()).read_text()
        titles.append(text.splitlines()[0].removeprefix("# "))
    for page in (ROOT / "docs" / "api").glob("*/*.rst"):
        titles.append(page.read_text().splitlines()[0])
    assert len(titles) >= len(PAGES) - 1
    assert [title for title in titles if len(title.split()) > 4] == []


def test_the_readme_is_short_and_begins_with_the_ten_lines():
    """Its first block of Python, which the site includes, is ten lines and a table."""
    readme = README.read_text()
    assert len(readme.splitlines()) <= 150
    lines = blocks(README)[0].splitlines()
    assert sum(line.startswith((">>>", "...")) for line in lines) == 10
    assert "pip install ." in readme.partition(">>>")[0]


def test_check_is_in_sight():
    """`jrm.check` is on the first screen of the README, and in the quick start."""
    first_screen, _, _ = README.read_text().partition("\n## ")
    assert "jrm.check(" in first_screen
    assert "jrm.check(" in (ROOT / "notebooks" / "1-quick-start.ipynb").read_text()
