"""Common Loop Utils: a `Collection` in a jitted loop, and under pmap."""

import jax
import jax.numpy as jnp
import numpy as np
from clu import metrics as clu_metrics
from clu import values as clu_values
from flax import serialization

from jax_rank_metrics.adapters import clu

METRICS = ("recall@1,3", "ndcg@5", "mrr")

Both = clu_metrics.Collection.create(
    rank=clu.metric(METRICS), loss=clu_metrics.Average.from_output("loss")
)


def outputs(lists, size):
    """Padded to a batch, with clu's mask: a number for each example."""
    more = size - len(lists.labels)
    padded = [np.pad(x, [(0, more)] + [(0, 0)] * (x.ndim - 1)) for x in lists]
    mask = (np.arange(size) < len(lists.labels)).astype(np.float32)
    scores = padded[0].sum(-1)
    return {
        "labels": padded[1],
        "scores": scores,
        "loss": np.mean((padded[1] - scores) ** 2, -1),
        "mask": mask,
    }


def test_a_loop(lists, agree):
    """`single_from_model_output` in a jitted step, merged."""

    @jax.jit
    def step(metrics, outputs):
        return metrics.merge(Both.single_from_model_output(**outputs))

    found = Both.empty()
    for batch in lists.batches():
        found = step(found, outputs(batch, 4))
    whole = outputs(lists, 11)
    agree(found.compute()["rank"], lists.labels, whole["scores"])
    np.testing.assert_allclose(found.compute()["loss"], whole["loss"].mean(), rtol=1e-6)
    assert int(found.rank.states["mrr"].lists) == 11
    assert list(found.compute()["rank"]) == [*("recall@1 recall@3 ndcg@5 mrr").split()]
    values = found.compute_values()["rank"]
    np.testing.assert_allclose(values["mrr"].value, found.compute()["rank"]["mrr"])


def test_results_for_writers(lists):
    """One level of scalars, as clu's `write_values` takes them; and bytes of Flax."""
    found = Both.single_from_model_output(**outputs(lists, 11))
    flat = clu.flatten(found.compute_values())
    assert set(flat) == {
        "loss",
        *(f"rank/{name}" for name in ("recall@1", "recall@3", "ndcg@5", "mrr")),
    }
    assert all(isinstance(value, clu_values.Scalar) for value in flat.values())
    assert flat["rank/mrr"].value == found.compute()["rank"]["mrr"]
    assert clu.flatten(found.compute())["rank/mrr"] == flat["rank/mrr"].value
    restored = serialization.from_bytes(Both.empty(), serialization.to_bytes(found))
    assert restored.compute()["rank"] == found.compute()["rank"]


def test_many_devices(lists, agree):
    """`gather_from_model_output` under pmap, merged and unreplicated."""

    @jax.pmap
    def start(_):
        return Both.empty()

    def step(metrics, outputs):
        return metrics.merge(Both.gather_from_model_output(**outputs))

    step = jax.pmap(step, axis_name="batch")
    batch = outputs(lists, 16)
    cut = jax.tree.map(lambda x: jnp.reshape(x, (8, 2, *x.shape[1:])), batch)
    found = step(start(jnp.arange(8)), cut).unreplicate()
    agree(found.compute()["rank"], lists.labels, batch["scores"][:11])
    assert int(found.rank.states["mrr"].lists) == 11


def test_other_names(lists, agree):
    """Outputs are renamed as clu renames them."""
    renamed = clu.metric(METRICS, undefined="one").from_fun(
        lambda relevance, logits, **_: {"labels": relevance, "scores": logits}
    )
    scores = lists.features.sum(-1)
    found = renamed.from_model_output(relevance=lists.labels, logits=scores, other=1)
    agree(found.compute(), lists.labels, scores, undefined="one")
