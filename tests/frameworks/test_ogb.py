"""The adapter for OGB: the numbers of its evaluator on tensors of torch."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import torch
from ogb import linkproppred as ogb_library
from ogb.linkproppred import Evaluator as TheirEvaluator

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import ogb

EDGES, NEGATIVES = 300, 180


def draw(rng, shape, dtype=np.float32):
    """Draws scores of few values, so that most edges tie."""
    return np.round(rng.normal(size=shape) * 3).astype(dtype) / 3


@pytest.mark.parametrize("name", ["ogbl-ddi", "ogbl-wikikg2", "ogbl-vessel"])
@pytest.mark.parametrize("kind", ["numpy", "jax", "float64"])
def test_numbers_of_every_data_set(name, kind, rng):
    """Floats and lists equal torch's, under ties, for each kind of metric."""
    dtype = np.float64 if kind == "float64" else np.float32
    theirs, ours = TheirEvaluator(name), ogb.Evaluator(name)
    assert theirs.eval_metric == ours.eval_metric
    shape = (EDGES, NEGATIVES) if ours.eval_metric == "mrr" else NEGATIVES
    scores = {
        "y_pred_pos": draw(rng, EDGES, dtype) + dtype(1),
        "y_pred_neg": draw(rng, shape, dtype),
    }
    if kind == "float64":  # ties in float32, but not in float64
        scores["y_pred_neg"] *= 1 + 1e-12
    expected = theirs.eval({key: torch.from_numpy(x) for key, x in scores.items()})
    if kind == "jax":
        scores = jax.tree.map(jnp.asarray, scores)
    actual = ours.eval(scores)
    assert actual.keys() == expected.keys()
    for key, value in expected.items():
        if isinstance(value, float):
            assert type(actual[key]) is float
            assert actual[key] == pytest.approx(value, abs=1e-7), key
        else:
            assert isinstance(actual[key], jax.Array if kind == "jax" else np.ndarray)
            np.testing.assert_allclose(actual[key], value.numpy(), rtol=1e-7)
            lists = ours.lists[key.removesuffix("_list")]
            mean = float(value.double().mean())
            assert float(lists.mean().compute()) == pytest.approx(mean, rel=1e-6)


def test_ragged_negatives(rng):
    """Edges with unequal numbers of negatives have the values of each edge by itself."""
    theirs, ours = TheirEvaluator("ogbl-wikikg2"), ogb.Evaluator("mine", "mrr")
    positive = draw(rng, 20)
    negative = [draw(rng, count) for count in rng.integers(1, 30, 20)]
    actual = ours.eval({"y_pred_pos": positive, "y_pred_neg": negative})
    for edge, scores in enumerate(negative):
        pair = {
            "y_pred_pos": torch.from_numpy(positive[edge : edge + 1]),
            "y_pred_neg": torch.from_numpy(scores[None]),
        }
        for key, value in theirs.eval(pair).items():
            assert actual[key][edge] == pytest.approx(float(value[0]), rel=1e-6), key


def test_metrics_of_all_data_sets():
    """Each data set has the metric that OGB looks up."""
    folder = Path(ogb_library.__file__).parent
    table = pd.read_csv(folder / "master.csv", index_col=0, keep_default_na=False)
    assert ogb.METRICS == table.loc["eval metric"].to_dict()


def test_fewer_negatives_than_the_cutoff(rng):
    """Every edge is a hit, as in OGB."""
    scores = {"y_pred_pos": draw(rng, 5), "y_pred_neg": draw(rng, 19)}
    tensors = {key: torch.from_numpy(x) for key, x in scores.items()}
    expected = TheirEvaluator("ogbl-ddi").eval(tensors)
    assert ogb.Evaluator("ogbl-ddi").eval(scores) == expected == {"hits@20": 1.0}


def test_lists_have_intervals(rng):
    """The values of edges give an interval, which OGB's mean of a list does not."""
    evaluator = ogb.Evaluator("ogbl-citation2")
    shape = (EDGES, NEGATIVES)
    evaluator.eval({"y_pred_pos": draw(rng, EDGES), "y_pred_neg": draw(rng, shape)})
    low, high = evaluator.lists["mrr"].mean().confidence_interval()
    assert low < evaluator.lists["mrr"].mean().compute() < high
    assert "mrr" in jrm.table({"a": evaluator.lists})


def test_bad_arguments(rng):
    """Errors name the argument and the values that it takes."""
    evaluator, two = ogb.Evaluator("ogbl-biokg"), draw(rng, (4, 2))
    with pytest.raises(ValueError, match="name is 'ogbl-none'; pass one of ogbl-ppa"):
        ogb.Evaluator("ogbl-none")
    for match, scores in (
        ("input_dict lacks 'y_pred_neg'", {"y_pred_pos": two[:, 0]}),
        (r"y_pred_pos has shape \(4, 2\)", {"y_pred_pos": two, "y_pred_neg": two}),
        ("y_pred_pos has 3 edges", {"y_pred_pos": two[:3, 0], "y_pred_neg": two}),
        ("holds nan", {"y_pred_pos": two[:, 0] * np.nan, "y_pred_neg": two}),
    ):
        with pytest.raises(ValueError, match=match):
            evaluator.eval(scores)
    evaluator.eval_metric = "accuracy"
    with pytest.raises(ValueError, match="eval_metric is 'accuracy'; pass 'hits@'"):
        evaluator.eval({"y_pred_pos": two[:, 0], "y_pred_neg": two[:, 1]})
