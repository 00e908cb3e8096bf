"""Batches of Grain: ragged lists, padded and evaluated on eight devices."""

import grain
import jax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

METRICS = ("recall@1,3", "ndcg@5", "mrr")


def test_sharded_evaluation(lists, agree):
    """The last batch is padded, and the results equal the results of one device."""
    real = lists.labels >= 0
    scores = lists.features.sum(-1)
    source = [(y[r], s[r]) for y, s, r in zip(lists.labels, scores, real, strict=True)]

    def pad(examples):
        return jrm.pad_lists(*zip(*examples, strict=True), lists=8, items=8)

    dataset = grain.MapDataset.source(source).batch(8, batch_fn=pad)
    sharding = NamedSharding(jax.make_mesh((8,), ("data",)), P("data"))

    @jax.jit
    def step(states, batch):
        return jrm.merge(states, jrm.evaluate(METRICS, *batch))

    states = jrm.empty(METRICS)
    for batch in dataset:
        states = step(states, jax.device_put(batch, sharding))
    assert len(dataset) == 2 and int(states["mrr"].lists) == 11
    agree(jrm.compute(states, flat=True), lists.labels, scores)
