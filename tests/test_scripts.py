"""Scripts whose answers decide what runs."""

import importlib.util
from pathlib import Path

import pytest

FILES = {
    "pyproject.toml": """
        [project]
        dependencies = ["jax"]
        [project.optional-dependencies]
        bench = ["jax-rank-metrics[demo]"]
        demo = ["optax"]
        docs = ["sphinx"]
    """,
    "jax_rank_metrics/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jax_rank_metrics._public import *",
    "jax_rank_metrics/_public.py": "from jax_rank_metrics._metrics import recall as recall\nfrom jax_rank_metrics._plots import plot as plot",
    "jax_rank_metrics/_metrics.py": "def recall():\n    import jax_rank_metrics._sums",
    "jax_rank_metrics/_sums.py": '"""Sums."""\n\nTOTAL = 1  # at first',
    "jax_rank_metrics/_plots.py": "def plot(): pass",
    "jax_rank_metrics/adapters/__init__.py": "",
    "jax_rank_metrics/adapters/loop.py": "import jax_rank_metrics as jrm\nprint(jrm.recall)",
    "tests/pages.py": "PAGES = ()",
    "tests/frameworks/test_loop.py": "from pages import PAGES",
    "docs/frameworks.md": "Words.\n\n```python\n1\n```\n\n| a | b |\n",
}
# Changes in files, and True if the tests of frameworks have to run then.
CHANGES = [
    ("jax_rank_metrics/adapters/loop.py", "recall", "recall, 1", True),
    ("jax_rank_metrics/_sums.py", "1 ", "2 ", True),
    ("jax_rank_metrics/_sums.py", "at first", "at last", False),
    ("jax_rank_metrics/_sums.py", "Sums.", "Numbers.\n\n    As before.", False),
    ("jax_rank_metrics/_plots.py", "pass", "return", False),
    ("jax_rank_metrics/_public.py", "._plots", "._metrics", False),
    ("jax_rank_metrics/_public.py", "._metrics", "._plots", True),
    ("tests/pages.py", "()", "[]", True),
    ("tests/frameworks/test_loop.py", "PAGES", "PAGES as pages", True),
    ("docs/frameworks.md", "Words", "Prose", False),
    ("docs/frameworks.md", "1", "2", True),
    ("docs/frameworks.md", "| b", "| c", True),
    ("pyproject.toml", "optax", "flax", True),
    ("pyproject.toml", "sphinx", "mkdocs", False),
]  # fmt: skip


@pytest.fixture
def framework_digest(tmp_path, monkeypatch):
    """The script, for a small repository in a folder of its own."""
    path = Path(__file__).parent.parent / "scripts" / "framework_digest.py"
    if not path.exists():
        pytest.skip("there are no scripts beside the tests")
    spec = importlib.util.spec_from_file_location("framework_digest", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    return script


def test_digests_of_frameworks(framework_digest):
    """They change with all that the tests of frameworks read, and with nothing else."""
    root = framework_digest.ROOT
    before = framework_digest.digest(root)
    for name, old, new, changes in CHANGES:
        text = FILES[name].replace(old, new)
        assert text != FILES[name]
        (root / name).write_text(text)
        framework_digest.public_modules.cache_clear()
        assert (framework_digest.digest(root) != before) == changes, (name, new)
        (root / name).write_text(FILES[name])


def test_recorded_digests(framework_digest, monkeypatch):
    """The check fails until the digest is recorded, and again after a change."""

    def run(*options):
        monkeypatch.setattr("sys.argv", ["framework_digest.py", *options])
        framework_digest.main()

    with pytest.raises(SystemExit, match="have to run"):
        run("--check")
    run("--record")
    run("--check")
    (framework_digest.ROOT / "tests/frameworks/test_loop.py").write_text("")
    with pytest.raises(SystemExit, match="have to run"):
        run("--check")
