"""The adapter for Flax NNX: train steps, evaluation, transforms, checkpoints."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint
import pytest
from flax import nnx, serialization

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters.nnx import RankingMetrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")


def loss_fn(model, batch):
    scores = model(batch.features)[..., 0]
    wrong = jnp.where(batch.labels >= 0, batch.labels - scores, 0.0)
    return jnp.mean(wrong**2), scores


def test_train_and_evaluate(lists, agree):
    """A `MultiMetric` with a loss, in train and evaluation steps under `nnx.jit`."""
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
            num_padded = 4 - len(batch.labels)
            batch = jax.tree.map(
                lambda x, n=num_padded: np.pad(x, [(0, n)] + [(0, 0)] * (x.ndim - 1)),
                batch,
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


def test_scanned_and_restored_without_a_target(lists, agree, tmp_path):
    """It is a carry of `nnx.scan`, and a pure dict of it goes into another object.

    Orbax saves and restores the dict.
    """
    scores = lists.features[..., 0]
    names = (*METRICS, "recall(rel=2)@1,3", "gm_map")
    steps = jax.tree.map(lambda x: x[:8].reshape(2, 4, *x.shape[1:]), lists)

    @nnx.jit
    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def run(metrics, batch):
        metrics.update(labels=batch.labels, scores=batch.features[..., 0])
        return metrics

    metrics, later = run(RankingMetrics(names), steps), RankingMetrics(names)
    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        saved = nnx.to_pure_dict(nnx.state(metrics))
        checkpointer.save(tmp_path / "metrics", saved)
        checkpointer.wait_until_finished()
        restored = checkpointer.restore(tmp_path / "metrics")
    state = nnx.state(later)
    nnx.replace_by_pure_dict(state, restored)
    nnx.update(later, state)
    later.update(labels=lists.labels[8:], scores=scores[8:])
    agree(later.compute(), lists.labels, scores, names)


def test_states_restored_without_a_target(lists, tmp_path):
    """Orbax then makes dicts of arrays of states, and the message names the target."""
    states = jrm.evaluate(METRICS, lists.labels, lists.features.sum(-1))
    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "states", states)
        checkpointer.wait_until_finished()
        for call in (jrm.compute, lambda x: jrm.merge(states, x)):
            with pytest.raises(TypeError, match=r"the target empty\(metrics\)"):
                call(checkpointer.restore(tmp_path / "states"))
        restored = checkpointer.restore(tmp_path / "states", jrm.empty(METRICS))
    assert repr(jrm.merge(states, restored)) == repr(jrm.merge(states, states))


def test_metrics_under_vmap(lists, agree):
    """`reset` keeps the axis of models that `nnx.vmap` made, and all else of its state."""
    names = (*METRICS, "gm_map", "pooled_roc_auc(bits=8)")
    metrics = nnx.vmap(lambda: RankingMetrics(names), axis_size=3)()
    update = nnx.vmap(
        lambda metrics, labels, scores: metrics.update(labels=labels, scores=scores),
        in_axes=(0, None, 0),
    )
    scores = np.stack([lists.features[..., i] for i in range(3)])
    zeros = jax.tree.map(np.asarray, metrics.states)
    for _ in range(2):
        update(metrics, lists.labels, scores)
        for i in range(3):
            values = {name: x[i] for name, x in metrics.compute().items()}
            values.pop("pooled_roc_auc(bits=8)")
            agree(values, lists.labels, scores[i], names[:-1])
        metrics.reset()
        jax.tree.map(np.testing.assert_array_equal, metrics.states, zeros)


def test_in_batch(lists):
    """Scores and relevant ids, or a ranking, stand in place of labels."""
    scores = jax.random.normal(jax.random.key(0), (6, 6))
    relevant_ids, mask = jnp.arange(6)[:, None], jnp.arange(6) < 5
    names = ("mrr", "recall@1,3", "gm_map")
    expected = jrm.evaluate(
        names, jnp.eye(6)[:5], scores[:5], undefined="skip", ties="stable"
    )
    metrics = RankingMetrics(names, undefined="skip", ties="stable")
    batch = nnx.MultiMetric(rank=metrics, accuracy=nnx.metrics.Accuracy())
    update = nnx.jit(lambda metrics, **batch: metrics.update(**batch))
    labels = jnp.zeros(6, int)  # of classes
    update(
        batch,
        logits=scores,
        labels=labels,
        mask=mask,
        scores=scores,
        relevant_ids=relevant_ids,
    )
    for name, value in jrm.compute(expected).items():
        np.testing.assert_allclose(metrics.states[name].compute(), value, rtol=1e-6)
    metrics = RankingMetrics(names)
    ranking = jrm.rank_scores(scores[:5], relevant_ids[:5], ties="stable")
    update(metrics, ranking=ranking, labels=labels)
    for name, value in jrm.compute(expected).items():
        np.testing.assert_allclose(metrics.states[name].compute(), value, rtol=1e-6)
    with pytest.raises(ValueError, match="ranked already; pass mask to the function"):
        metrics.update(ranking=ranking, mask=mask)
    with pytest.raises(ValueError, match="ranked already; pass ties to the"):
        RankingMetrics("mrr", ties="stable").update(ranking=ranking)
    with pytest.raises(
        ValueError, match="pooled_roc_auc reads the labels .*pass labels"
    ):
        RankingMetrics("pooled_roc_auc").update(ranking=ranking)


def test_serialized_and_pickled(lists):
    """`flax.serialization` takes states, and pickle the metric."""
    metrics = RankingMetrics((*METRICS, "gm_map"), undefined="skip")
    metrics.update(labels=lists.labels, scores=lists.features[..., 0])
    for states in (
        metrics.states,
        jrm.exposure(np.array([[0, 2], [1, 2]]), num_items=3),
        jrm.ndcg.per_list(lists.labels, lists.features[..., 0]),
    ):
        content = serialization.to_bytes(states)
        zeros = jax.tree.map(jnp.zeros_like, states)
        restored = serialization.from_bytes(zeros, content)
        jax.tree.map(np.testing.assert_array_equal, restored, states)
    with pytest.raises(ValueError, match="which has the leaves"):
        serialization.from_bytes(metrics.states["mrr"], content)
    copy = pickle.loads(pickle.dumps(metrics))
    assert copy.compute() == metrics.compute()
    copy.update(labels=lists.labels, scores=lists.features[..., 0])
    assert int(copy.states["mrr"].lists) == 2 * int(metrics.states["mrr"].lists)


def test_shard_map(lists, agree):
    """With `axis_name`, each update counts the lists of all devices once."""
    mesh = jax.make_mesh((8,), ("data",))
    spec = jax.P("data")
    metrics = RankingMetrics(METRICS, axis_name="data")
    padded = jax.tree.map(
        lambda x: np.pad(x, [(0, 5)] + [(0, 0)] * (x.ndim - 1)), lists
    )
    mask = np.arange(16) < 11

    @nnx.jit
    @nnx.shard_map(mesh=mesh, in_specs=(jax.P(), spec, spec, spec), out_specs=jax.P())
    def eval_step(metrics, labels, scores, mask):
        metrics.update(labels=labels, scores=scores, mask=mask)

    scores = padded.features[..., 0]
    batch = jax.device_put((padded.labels, scores, mask), jax.NamedSharding(mesh, spec))
    for _ in range(2):
        eval_step(metrics, *batch)
    agree(metrics.compute(), lists.labels, scores[:11])
    assert int(metrics.states["mrr"].lists) == 22


def test_shard_map_without_an_axis_name():
    """The message names the axis to pass."""
    mesh, spec = jax.make_mesh((8,), ("data",)), jax.P("data")
    metrics = RankingMetrics("mrr")

    @nnx.jit
    @nnx.shard_map(mesh=mesh, in_specs=(jax.P(), spec), out_specs=jax.P())
    def eval_step(metrics, labels):
        metrics.update(labels=labels, scores=labels)

    labels = jax.device_put(np.eye(8), jax.NamedSharding(mesh, spec))
    with pytest.raises(ValueError, match="pass axis_name='data' to RankingMetrics"):
        eval_step(metrics, labels)


def test_missing_arguments(lists):
    """Messages name the argument that was meant by a name of other libraries."""
    with pytest.raises(TypeError, match="got 2 arrays without a name; pass labels="):
        RankingMetrics("mrr").update(lists.labels, lists.labels)
    with pytest.raises(TypeError, match="scores are missing; pass scores=logits"):
        RankingMetrics("mrr").update(labels=lists.labels, logits=lists.labels)
    for name, meant in {
        "masks": "mask",
        "weight": "weights",
        "column": "columns",
    }.items():
        arguments = {"labels": lists.labels, "scores": lists.labels, name: 1}
        with pytest.raises(TypeError, match=f"got {name}, .*; pass {meant}=…"):
            RankingMetrics("mrr").update(**arguments)
    with pytest.raises(TypeError, match="labels are missing; pass labels=…"):
        RankingMetrics("mrr").update(scores=lists.labels)
    with pytest.raises(TypeError, match="option k.*ndcg@10"):
        RankingMetrics("ndcg", k=10)


def test_metrics_of_all_items(lists):
    """They are named beside others, and hold the states of `pooled_roc_auc`."""
    metrics = RankingMetrics(("mrr", "pooled_roc_auc(bits=8)"))
    scores = lists.features.sum(-1)
    for part in (slice(0, 4), slice(4, None)):
        metrics.update(labels=lists.labels[part], scores=scores[part])
    expected = jrm.pooled_roc_auc(lists.labels, scores, bits=8)
    state = metrics.states["pooled_roc_auc(bits=8)"]
    np.testing.assert_array_equal(state.sums.high, expected.sums.high)
    assert list(metrics.compute()) == ["mrr", "pooled_roc_auc(bits=8)"]
    for name, error in (
        ("pooled_roc_auc@3", ValueError),
        ("pooled_roc_auc(x=1)", TypeError),
    ):
        with pytest.raises(error):
            RankingMetrics(name)
    with pytest.raises(ValueError, match="takes no weights"):
        RankingMetrics("pooled_average_precision").update(
            labels=lists.labels, scores=scores, weights=2.0
        )
