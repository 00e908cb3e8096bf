"""Keras 3 on JAX: compile, fit, evaluate, save."""

import keras
import numpy as np
import pytest

from jax_rank_metrics.adapters.keras import RankingMetrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")
WEIGHTED = ("map",)

# Keras asks NumPy for a copy in a way that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ impl:DeprecationWarning")


def of_items(labels, scores):
    """A loss for each item, so that items may be weighted."""
    return keras.ops.where(labels >= 0, (labels - scores) ** 2, 0)


def of_lists(labels, scores):
    """A loss for each list."""
    return keras.ops.mean(of_items(labels, scores), axis=-1)


def compiled(loss):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((8, 3)), keras.layers.Dense(1), keras.layers.Reshape((8,))]
    )
    model.compile(
        "sgd",
        loss,
        metrics=[RankingMetrics(METRICS, undefined="skip")],
        weighted_metrics=[RankingMetrics(WEIGHTED, name="weighted")],
    )
    return model


def test_fit_and_evaluate(lists, agree):
    """Dicts of results are spread in all logs, and sample weights are those of lists."""
    model, weights = compiled(of_lists), np.linspace(0.5, 2, 11, dtype=np.float32)
    fitted = model.fit(
        *lists,
        sample_weight=weights,
        batch_size=4,
        epochs=2,
        validation_data=(*lists, weights),
        validation_batch_size=4,
        verbose=0,
    )
    found = model.evaluate(
        *lists, sample_weight=weights, batch_size=4, verbose=0, return_dict=True
    )
    names = {"recall@1", "recall@3", "ndcg@5", "mrr", "map", "loss"}
    assert set(fitted.history) == names | {f"val_{name}" for name in names}
    scores = model.predict(lists.features, verbose=0)
    last = {name: fitted.history[f"val_{name}"][-1] for name in names}
    for result in (found, last):
        agree(result, lists.labels, scores, undefined="skip")
        agree(result, lists.labels, scores, WEIGHTED, weights=weights)
    (metric,) = [m for m in model.metrics[1].metrics if m.name == "ranking"]
    assert int(metric.states["mrr"].lists + metric.states["mrr"].undefined) == 11


def test_item_weights(lists, agree):
    """Sample weights of items, where the loss is one of items."""
    weights = np.linspace(0.5, 2, 88, dtype=np.float32).reshape(11, 8)
    model = compiled(of_items)
    found = model.evaluate(
        *lists, sample_weight=weights, batch_size=4, verbose=0, return_dict=True
    )
    scores = model.predict(lists.features, verbose=0)
    agree(found, lists.labels, scores, WEIGHTED, weights=weights)


def test_saved(lists, agree, tmp_path):
    """A saved model has its metrics; a configuration makes an equal one."""
    model, path = compiled(of_lists), tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path, custom_objects={"of_lists": of_lists})
    found = loaded.evaluate(*lists, batch_size=4, verbose=0, return_dict=True)
    scores = model.predict(lists.features, verbose=0)
    agree(found, lists.labels, scores, undefined="skip")
    metric = RankingMetrics("mrr", ties="worst", name="one")
    again = RankingMetrics.from_config(metric.get_config())
    assert again.get_config() == metric.get_config()
    again.update_state(lists.labels, np.zeros_like(lists.labels))
    agree(again.result(), lists.labels, 0 * lists.labels, "mrr", ties="worst")
    again.reset_state()
    assert int(again.states["mrr"].lists) == 0


def test_other_backends(monkeypatch):
    """Refused by name, since arrays of these are none of JAX."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(RuntimeError, match="runs on torch; .*KERAS_BACKEND=jax"):
        RankingMetrics("mrr")
