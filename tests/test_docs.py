"""The pages of docs/: what they show is what happens, and none is hidden."""

import ast
import inspect
import re

import numpy as np
import processes
import pytest
from pages import OF_FRAMEWORKS, OF_PEERS, PAGES, ROOT, SHOWING, blocks, wrong_examples

import jax_rank_metrics as jrm


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [page for page in SHOWING if page not in OF_PEERS + OF_FRAMEWORKS],
    ids=lambda page: page.stem,
)
def test_examples_of_a_page(page):
    """Every Python block runs, in order, and prints what it says."""
    wrong = wrong_examples(page)
    assert not wrong, wrong


@pytest.mark.long
def test_program_of_several_processes(tmp_path):
    """The whole program of the page, as two processes of two devices: one number."""
    program = tmp_path / "evaluate.py"
    shown = blocks(ROOT / "docs" / "many-devices.md")
    program.write_text(*[block for block in shown if "distributed.init" in block])
    address = f"127.0.0.1:{processes.free_port()}"
    own = [[program, address, 2, number] for number in range(2)]
    printed = processes.together(own, tmp_path, JAX_NUM_CPU_DEVICES="2")
    # Libraries print lines of their own between them.
    lines, other = (re.findall("^(?:gathered|global) (.*)", x, re.M) for x in printed)
    assert lines == other and len(lines) == 2

    metrics, states = ("ndcg@10", "mrr"), []
    for number, lists in enumerate((100, 150)):
        rng = np.random.default_rng(number)
        labels = rng.integers(0, 3, (lists, 24))
        scores = np.round(rng.normal(size=labels.shape), 1).astype(np.float32)
        states.append(jrm.evaluate(metrics, labels, scores))
    expected = jrm.compute(jrm.merge(*states), host=True)
    for line in lines:
        assert ast.literal_eval(line) == pytest.approx(expected, rel=1e-6)


def test_the_site_has_every_page():
    """None is hidden."""
    index = (ROOT / "docs" / "index.md").read_text()
    assert {page.stem for page in PAGES} - {"index"} <= set(index.split())


def test_links_lead_somewhere():
    """To files of the repository; the site's build sees to places inside of a page."""
    for page in (ROOT / "README.md", *PAGES):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_site_has_every_name():
    """What is public has its docstring on a page of the site."""
    text = "\n".join(page.read_text() for page in (ROOT / "docs/api").glob("*.rst"))
    shown = re.findall(r"^\.\. auto(?:function|class):: (\w+)", text, re.M)
    assert len(shown) == len(set(shown))
    modules = inspect.getmembers(jrm, inspect.ismodule)
    public = {name for name in vars(jrm) if not name.startswith("_")}
    public -= {name for name, _ in modules}
    assert public <= set(shown), sorted(public - set(shown))
