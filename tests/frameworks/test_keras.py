"""The adapter for Keras 3 on JAX: compile, fit, evaluate, save."""

import keras
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters.keras import RankingMetrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")
WEIGHTED = ("map",)

# Keras asks NumPy for a copy in a way that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ impl:DeprecationWarning")


def of_items(labels, scores):
    """Returns a loss for each item, so that items may be weighted."""
    return keras.ops.where(labels >= 0, (labels - scores) ** 2, 0)


def of_lists(labels, scores):
    """Returns a loss for each list."""
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
    """Keras spreads results in all logs; sample weights are weights of lists."""
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
    logs = model.evaluate(
        *lists, sample_weight=weights, batch_size=4, verbose=0, return_dict=True
    )
    names = {"recall@1", "recall@3", "ndcg@5", "mrr", "map", "loss"}
    assert set(fitted.history) == names | {f"val_{name}" for name in names}
    scores = model.predict(lists.features, verbose=0)
    last = {name: fitted.history[f"val_{name}"][-1] for name in names}
    for result in (logs, last):
        agree(result, lists.labels, scores, undefined="skip")
        agree(result, lists.labels, scores, WEIGHTED, weights=weights)
    (metric,) = [m for m in model.metrics[1].metrics if m.name == "ranking"]
    assert int(metric.states["mrr"].lists + metric.states["mrr"].undefined) == 11


def test_item_weights(lists, agree):
    """Sample weights are weights of items if the loss is per item."""
    weights = np.linspace(0.5, 2, 88, dtype=np.float32).reshape(11, 8)
    model = compiled(of_items)
    logs = model.evaluate(
        *lists, sample_weight=weights, batch_size=4, verbose=0, return_dict=True
    )
    scores = model.predict(lists.features, verbose=0)
    agree(logs, lists.labels, scores, WEIGHTED, weights=weights)


def test_saved(lists, agree, tmp_path):
    """A loaded model has its metrics; a configuration makes an equal metric."""
    model, path = compiled(of_lists), tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path, custom_objects={"of_lists": of_lists})
    logs = loaded.evaluate(*lists, batch_size=4, verbose=0, return_dict=True)
    scores = model.predict(lists.features, verbose=0)
    agree(logs, lists.labels, scores, undefined="skip")
    metric = RankingMetrics("mrr", ties="worst", name="one")
    copy = RankingMetrics.from_config(metric.get_config())
    assert copy.get_config() == metric.get_config()
    copy.update_state(lists.labels, np.zeros_like(lists.labels))
    agree(copy.result(), lists.labels, 0 * lists.labels, "mrr", ties="worst")
    copy.reset_state()
    assert int(copy.states["mrr"].lists) == 0


@pytest.mark.parametrize("shape", [(3, 4, 1), (4, 1)])
def test_single_items(shape):
    """The last axis of a Dense(1) is refused: it would make a list of each item."""
    ones = np.ones(shape, np.float32)
    for labels, scores in ((ones, ones), (ones[..., 0], ones), (ones, ones[..., 0])):
        with pytest.raises(ValueError, match=r"y_\w+ has shape .*Reshape"):
            RankingMetrics("mrr").update_state(labels, scores)


def test_two_outputs(lists, agree, tmp_path):
    """A prefix keeps the results of both outputs, in a loaded model too."""
    keras.utils.set_random_seed(0)
    features = keras.Input((8, 3))
    outputs = {
        name: keras.layers.Reshape((8,), name=name)(keras.layers.Dense(1)(features))
        for name in ("clicks", "sales")
    }
    model = keras.Model(features, outputs)
    model.compile(
        "sgd",
        "mse",
        metrics={
            name: [RankingMetrics(METRICS, prefix=f"{name}_")] for name in outputs
        },
    )
    model.save(tmp_path / "model.keras")
    labels = {"clicks": lists.labels, "sales": lists.labels[:, ::-1]}
    for trained in (model, keras.saving.load_model(tmp_path / "model.keras")):
        logs = trained.evaluate(
            lists.features, labels, batch_size=4, verbose=0, return_dict=True
        )
        scores = trained.predict(lists.features, verbose=0)
        for name in outputs:
            of_output = {
                key.removeprefix(f"{name}_"): value
                for key, value in logs.items()
                if key.startswith(f"{name}_")
            }
            agree(of_output, labels[name], scores[name])


def test_functions_cannot_be_saved():
    """Metrics of functions are refused when saved, not when the model is loaded."""
    with pytest.raises(ValueError, match="cannot be saved; pass names"):
        RankingMetrics({"mine": jrm.ndcg}).get_config()


def test_a_single_axis():
    """A batch of scores without an axis of items is no list."""
    with pytest.raises(
        ValueError, match=r"y_true has shape \(4,\), so that all items are one"
    ):
        RankingMetrics("mrr").update_state(np.ones(4), np.ones(4))


def test_other_backends(monkeypatch):
    """A backend other than JAX is refused by its name."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(RuntimeError, match="runs on torch; .*KERAS_BACKEND=jax"):
        RankingMetrics("mrr")
