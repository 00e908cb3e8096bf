"""The adapter for Common Loop Utils: a `Collection` in a jitted loop, and under pmap."""

import importlib
import sys
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from clu import metrics as clu_metrics
from clu import values as clu_values
from flax import serialization

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import clu

METRICS = ("recall@1,3", "ndcg@5", "mrr")

Evaluation = clu_metrics.Collection.create(
    rank=clu.metric(METRICS), loss=clu_metrics.Average.from_output("loss")
)


def outputs(lists, size):
    """Returns a batch padded to a size, with clu's mask: a number for each example."""
    num_padded = size - len(lists.labels)
    padded = [np.pad(x, [(0, num_padded)] + [(0, 0)] * (x.ndim - 1)) for x in lists]
    mask = (np.arange(size) < len(lists.labels)).astype(np.float32)
    scores = padded[0].sum(-1)
    return {
        "labels": padded[1],
        "scores": scores,
        "loss": np.mean((padded[1] - scores) ** 2, -1),
        "mask": mask,
    }


def test_a_loop(lists, agree):
    """`single_from_model_output` in a jitted step, merged over batches."""

    @jax.jit
    def step(metrics, outputs):
        return metrics.merge(Evaluation.single_from_model_output(**outputs))

    evaluation = Evaluation.empty()
    for batch in lists.batches():
        evaluation = step(evaluation, outputs(batch, 4))
    all_outputs = outputs(lists, 11)
    agree(evaluation.compute()["rank"], lists.labels, all_outputs["scores"])
    np.testing.assert_allclose(
        evaluation.compute()["loss"], all_outputs["loss"].mean(), rtol=1e-6
    )
    assert int(evaluation.rank.states["mrr"].lists) == 11
    assert list(evaluation.compute()["rank"]) == [
        *("recall@1 recall@3 ndcg@5 mrr").split()
    ]
    values = evaluation.compute_values()["rank"]
    np.testing.assert_allclose(values["mrr"].value, evaluation.compute()["rank"]["mrr"])


def test_results_for_writers(lists):
    """`flatten` makes the level of scalars that writers take; Flax serialises states."""
    evaluation = Evaluation.single_from_model_output(**outputs(lists, 11))
    flat = clu.flatten(evaluation.compute_values())
    assert set(flat) == {
        "loss",
        *(f"rank/{name}" for name in ("recall@1", "recall@3", "ndcg@5", "mrr")),
    }
    assert all(isinstance(value, clu_values.Scalar) for value in flat.values())
    assert flat["rank/mrr"].value == evaluation.compute()["rank"]["mrr"]
    assert clu.flatten(evaluation.compute())["rank/mrr"] == flat["rank/mrr"].value
    restored = serialization.from_bytes(
        Evaluation.empty(), serialization.to_bytes(evaluation)
    )
    assert restored.compute()["rank"] == evaluation.compute()["rank"]


def test_write_values(monkeypatch, lists):
    """clu's own function takes flat results; the writers beside it need TensorFlow."""
    plugins = "tensorboard.plugins"
    for name in ("tensorflow", "tensorboard", plugins, f"{plugins}.hparams"):
        monkeypatch.setitem(sys.modules, name, mock.MagicMock())
    write_values = importlib.import_module("clu.metric_writers.utils").write_values
    evaluation = Evaluation.single_from_model_output(**outputs(lists, 11))
    writer = mock.Mock()
    write_values(writer, 7, clu.flatten(evaluation.compute_values()))
    ((step, scalars),) = [call.args for call in writer.write_scalars.call_args_list]
    assert step == 7 and [*scalars][:2] == ["rank/recall@1", "rank/recall@3"]
    assert float(scalars["rank/mrr"]) == evaluation.compute()["rank"]["mrr"]


def test_many_devices(lists, agree):
    """`gather_from_model_output` under pmap is merged and unreplicated."""

    @jax.pmap
    def start(_):
        return Evaluation.empty()

    def step(metrics, outputs):
        return metrics.merge(Evaluation.gather_from_model_output(**outputs))

    step = jax.pmap(step, axis_name="batch")
    batch = outputs(lists, 16)
    cut = jax.tree.map(lambda x: jnp.reshape(x, (8, 2, *x.shape[1:])), batch)
    evaluation = step(start(jnp.arange(8)), cut).unreplicate()
    agree(evaluation.compute()["rank"], lists.labels, batch["scores"][:11])
    assert int(evaluation.rank.states["mrr"].lists) == 11


def test_in_batch():
    """Scores and relevant ids, or a ranking, stand in place of labels."""
    scores = jax.random.normal(jax.random.key(0), (4, 4))
    ids = jnp.arange(4)[:, None]
    expected = jrm.evaluate("mrr", jnp.eye(4), scores)["mrr"]
    for outputs in (
        {"scores": scores, "relevant_ids": ids},
        {"ranking": jrm.rank_scores(scores, ids), "loss": 1.0},
    ):
        metrics = jax.jit(clu.metric("mrr").from_model_output)(**outputs)
        assert repr(metrics.states["mrr"]) == repr(expected)


def test_other_names(lists, agree):
    """`from_fun` renames outputs."""
    renamed = clu.metric(METRICS, undefined="one").from_fun(
        lambda relevance, logits, **_: {"labels": relevance, "scores": logits}
    )
    scores = lists.features.sum(-1)
    evaluation = renamed.from_model_output(
        relevance=lists.labels, logits=scores, other=1
    )
    agree(evaluation.compute(), lists.labels, scores, undefined="one")
