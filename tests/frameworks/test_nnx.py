"""Flax NNX: a train step, an evaluation, a scan."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters.nnx import RankingMetrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")


def loss_fn(model, batch):
    scores = model(batch.features)[..., 0]
    wrong = jnp.where(batch.labels >= 0, batch.labels - scores, 0.0)
    return jnp.mean(wrong**2), scores


def test_train_and_evaluate(lists, agree):
    """In a `MultiMetric` beside a loss, trained and evaluated inside `nnx.jit`."""
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    traced = []

    def metrics():
        return nnx.MultiMetric(
            rank=RankingMetrics(METRICS, undefined="skip"),
            loss=nnx.metrics.Average("loss"),
        )

    @nnx.jit
    def train_step(model, optimizer, metrics, batch):
        grads = nnx.value_and_grad(loss_fn, has_aux=True)
        (loss, scores), grad = grads(model, batch)
        metrics.update(loss=loss, labels=batch.labels, scores=scores)
        optimizer.update(model, grad)

    @nnx.jit
    def eval_step(model, metrics, batch, mask):
        traced.append(1)
        loss, scores = loss_fn(model, batch)
        metrics.update(
            loss=loss, labels=batch.labels, scores=scores, mask={"rank": mask}
        )

    learned = metrics()
    history = []
    for _ in range(3):
        learned.reset()
        for batch in lists.batches():
            train_step(model, optimizer, learned, batch)
        history.append(learned.compute())
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["rank"]["ndcg@5"] > history[0]["rank"]["ndcg@5"]

    for _ in range(2):
        evaluated = (
            metrics()
        )  # made anew, as an evaluation in a function of its own does
        for batch in lists.batches():
            mask = np.arange(4) < len(batch.labels)
            more = 4 - len(batch.labels)
            batch = jax.tree.map(
                lambda x, n=more: np.pad(x, [(0, n)] + [(0, 0)] * (x.ndim - 1)), batch
            )
            eval_step(model, evaluated, batch, mask)
    assert len(traced) == 1
    scores = loss_fn(model, lists)[1]
    agree(evaluated.compute()["rank"], lists.labels, scores, undefined="skip")
    state = evaluated.rank.states["mrr"]
    plain = jrm.reciprocal_rank(lists.labels, scores, undefined="skip")
    assert list(evaluated.rank.states) == list(METRICS)
    assert int(state.lists) == int(plain.lists)
    np.testing.assert_allclose(state.std_error(), plain.std_error(), atol=1e-6)


def test_scan_and_checkpoint(lists, agree):
    """As the carry of `nnx.scan`; its state goes on in another object."""
    scores = lists.features[..., 0]
    steps = jax.tree.map(lambda x: x[:8].reshape(2, 4, *x.shape[1:]), lists)

    @nnx.jit
    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def run(metrics, batch):
        metrics.update(labels=batch.labels, scores=batch.features[..., 0])
        return metrics

    metrics = run(RankingMetrics(METRICS), steps)
    later = RankingMetrics(METRICS)
    nnx.update(later, nnx.state(metrics))
    later.update(labels=lists.labels[8:], scores=scores[8:])
    agree(later.compute(), lists.labels, scores)
