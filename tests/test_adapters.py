"""The adapters where their frameworks are missing; `tests/frameworks` has all else."""

import importlib
import sys

import pytest

from jax_rank_metrics._optional import import_optional
from jax_rank_metrics.adapters import tensorboard


@pytest.mark.parametrize(
    ("adapter", "library"),
    [
        *[(name, name) for name in ("clu", "keras", "sklearn", "transformers")],
        ("nnx", "flax"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, adapter, library):
    """With the extra that has it."""
    name = f"jax_rank_metrics.adapters.{adapter}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    # Another test may have imported what is inside it.
    for inside in [one for one in sys.modules if one.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, inside)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"{library}.*jax-rank-metrics\[frameworks\]"
    ):
        importlib.import_module(name)


def test_several_runs_are_no_states():
    """To be written as scalars, they would need names of their own."""
    with pytest.raises(TypeError, match="several runs"):
        tensorboard.write(None, {"one": {}, "two": {}}, 0)


def test_what_a_library_lacks_is_not_the_library(monkeypatch, tmp_path):
    """Such as Keras that looks for TensorFlow."""
    (tmp_path / "half_installed.py").write_text("import what_it_lacks")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="^No module named 'what_it_lacks'"):
        import_optional("half_installed", "this", "extra")
