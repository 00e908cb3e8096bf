"""Adapters whose framework is missing; `tests/frameworks` has all other tests."""

import importlib
import re
import sys

import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._ground import optional
from jax_rank_metrics._ground.optional import LazyLibrary, import_optional
from jax_rank_metrics.adapters import ogb

OF_FRAMEWORKS = (
    "clu ir_measures keras sentence_transformers sklearn transformers".split()
)
EXTRAS = [(name, name, "frameworks") for name in OF_FRAMEWORKS]
EXTRAS += [("nnx", "flax", "frameworks"), ("pytrec_eval", "polars", "trec")]
EXTRAS += [
    (lambda: jrm.to_frame({"mrr": [0.5]}), "pandas", "frames"),
    (lambda: jrm.plots.distribution([0.5]), "matplotlib.pyplot", "plots"),
]


@pytest.mark.parametrize(("adapter", "library", "extra"), EXTRAS)
def test_a_missing_framework_is_named(monkeypatch, adapter, library, extra):
    """The message names the extra that installs it, also in calls that need it."""
    name = f"jax_rank_metrics.adapters.{adapter}"
    load = adapter if callable(adapter) else lambda: importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name, raising=False)
    # Another test may have imported its submodules.
    for module in [x for x in sys.modules if x.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"{library.split('.')[0]}.*{re.escape(optional.INSTALL.format(extra))}"
    with pytest.raises(ModuleNotFoundError, match=message):
        load()


def test_edges_of_own_data():
    """OGB's evaluator takes names of one's own, and negatives of unequal number."""
    evaluator = ogb.Evaluator("mine", "mrr")
    negatives = [[-1, -3, -4], [-4], []]  # below the 0 of padding
    scores = {"y_pred_pos": np.float32([-3, -4, -2]), "y_pred_neg": negatives}
    values = evaluator.eval(scores)
    # Ranks 2.5, of one that is better and one that ties, then 1.5, and 1.
    np.testing.assert_allclose(values["mrr_list"], [1 / 2.5, 1 / 1.5, 1], rtol=1e-6)
    assert values["hits@1_list"].tolist() == [0, 0, 1]
    assert values["hits@3_list"].tolist() == [1, 1, 1]
    with pytest.raises(
        ValueError,
        match="name is 'mine'; pass .*, or any name together with eval_metric",
    ):
        ogb.Evaluator("mine")
    with pytest.raises(
        ValueError, match="y_pred_pos has 3 edges, but y_pred_neg has 1"
    ):
        evaluator.eval(scores | {"y_pred_neg": [[1, 2]]})


def test_a_missing_dependency_is_not_the_library(monkeypatch, tmp_path):
    """An error of a library that is installed is kept: Keras may lack TensorFlow."""
    (tmp_path / "half_installed.py").write_text("import its_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="^No module named 'its_dependency'"):
        import_optional("half_installed", "this", "extra")


def test_questions_about_a_missing_library_do_not_import_it():
    """Tools that look at modules, such as Sphinx, ask whether what they find is wrapped."""
    library = LazyLibrary("there_is_no_such_library", "a test", "trec")
    assert not hasattr(library, "__wrapped__")
    with pytest.raises(ModuleNotFoundError, match="a test needs there_is_no_such"):
        _ = library.DataFrame
