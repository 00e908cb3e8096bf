"""The command `jax-rank-metrics demo`: trains image retrieval, and measures the result.

A query is an image of a handwritten digit, and every other image of that digit is
relevant to it. A small network is trained, and ndcg@10 and mrr are measured inside the
compiled step. Then every held-out image is a query for all other held-out images.
Held-out images are not used in training, and the queries are divided over all devices.

The images come with scikit-learn, so nothing is downloaded.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType

import jax_rank_metrics as jrm
from jax_rank_metrics._ground import optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAIN_METRICS = ("ndcg@10", "mrr")
METRICS = ("ndcg@10", "map", "mrr", "p@1", "rprec", "recall@10,20,50,100")
COMPARED = ("ndcg@10", "map", "mrr")

LAYERS = (64, 128, 64)  # the output is as wide as the raw images, the baseline
BATCH = 256
LEARNING_RATE = 2e-3
TEMPERATURE = 0.1
HELD_OUT = 600
STEPS_PER_REPORT = 10

Params = list[dict[str, jax.Array]]
States = dict[str, jrm.Mean]


class Images(NamedTuple):
    """Images of handwritten digits."""

    pixels: jax.Array  # [images, 64], from 0 to 1
    digits: jax.Array  # [images], the digit that each shows


def load_images(seed: int) -> tuple[Images, Images]:
    """Loads the training images and the held-out images."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    train_pixels, test_pixels, train_digits, test_digits = train_test_split(
        pixels.astype(np.float32) / 16,
        digits.astype(np.int32),
        test_size=HELD_OUT,
        stratify=digits,
        random_state=seed,
    )
    return (
        Images(jnp.asarray(train_pixels), jnp.asarray(train_digits)),
        Images(jnp.asarray(test_pixels), jnp.asarray(test_digits)),
    )


# The network


def init_network(key: jax.Array) -> Params:
    """Draws the weights of a multilayer perceptron at random; its biases are 0."""
    init = jax.nn.initializers.he_normal()
    keys = jax.random.split(key, len(LAYERS) - 1)
    return [
        {"kernel": init(key, (fan_in, fan_out)), "bias": jnp.zeros(fan_out)}
        for key, fan_in, fan_out in zip(keys, LAYERS[:-1], LAYERS[1:], strict=True)
    ]


def unit_length(vectors: jax.Array) -> jax.Array:
    """Scales vectors to length 1, so that their products are cosines."""
    return vectors / (jnp.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-6)


def embed(params: Params, pixels: jax.Array) -> jax.Array:
    """Embeds images `[images, 64]` as vectors of unit length, `[images, 64]`."""
    *hidden, last = params
    for layer in hidden:
        pixels = jax.nn.relu(pixels @ layer["kernel"] + layer["bias"])
    return unit_length(pixels @ last["kernel"] + last["bias"])


# Training


def softmax_loss(labels: jax.Array, scores: jax.Array, mask: jax.Array) -> jax.Array:
    """Cross-entropy between the relevant candidates and a softmax over the scores."""
    logits = jnp.where(mask, scores / TEMPERATURE, -jnp.inf)
    relevant = labels & mask
    log_probabilities = jnp.where(relevant, jax.nn.log_softmax(logits), 0)
    return -jnp.sum(log_probabilities) / jnp.maximum(jnp.sum(relevant), 1)


def score_batch(
    params: Params, batch: Images
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Returns the loss, and the labels, scores and mask `[batch, batch]` for the metrics.

    Rows are queries and columns are candidates: every image of the batch is a query for
    the other images.
    """
    embeddings = embed(params, batch.pixels)
    scores = embeddings @ embeddings.T
    labels = batch.digits[:, None] == batch.digits
    # No image is a candidate for itself, so mask it. Its label is True, but masked
    # items are not read.
    mask = ~jnp.eye(len(labels), dtype=bool)
    return softmax_loss(labels, scores, mask), (labels, scores, mask)


def make_train_step(optimizer: Any) -> Callable[..., Any]:
    """Makes a compiled step that trains on a random batch and measures it."""
    import optax

    @jax.jit
    def train_step(
        params: Any, opt_state: Any, states: States, images: Images, key: jax.Array
    ) -> tuple[Any, Any, States, jax.Array]:
        rows = jax.random.choice(key, len(images.digits), (BATCH,), replace=False)
        batch = Images(images.pixels[rows], images.digits[rows])
        value_and_grad = jax.value_and_grad(score_batch, has_aux=True)
        (loss, lists), grads = value_and_grad(params, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        # The scores exist already, so the metrics cost only one ranking. The states
        # stay on the device until they are read.
        states = jrm.merge(states, jrm.evaluate(TRAIN_METRICS, *lists))
        return params, opt_state, states, loss

    return train_step


def train(
    params: Params,
    images: Images,
    steps: int,
    key: jax.Array,
    report: Callable[[int, float, dict[str, jax.Array]], None],
) -> Params:
    """Trains, and calls `report(step, loss, means)` every few steps."""
    import optax

    optimizer = optax.adam(LEARNING_RATE)
    opt_state = optimizer.init(params)
    train_step = make_train_step(optimizer)
    states = jrm.empty(TRAIN_METRICS)
    for step in range(1, steps + 1):
        step_key = jax.random.fold_in(key, step)
        params, opt_state, states, loss = train_step(
            params, opt_state, states, images, step_key
        )
        if step % STEPS_PER_REPORT == 0 or step == steps:
            report(step, float(loss), jrm.compute(states))
            # Start from empty states, so that each report covers the steps since the
            # last report.
            states = jrm.empty(TRAIN_METRICS)
    return params


# Measuring, over all devices


def same_digit(query_digits: jax.Array, item_digits: jax.Array) -> jax.Array:
    """Returns labels `[queries, items]`; images of the query's digit are relevant."""
    return query_digits[:, None] == item_digits[None]


def evaluate(embeddings: jax.Array, digits: jax.Array) -> jrm.Evaluation:
    """Measures how well images retrieve all other images of their digit."""
    # Pass the axis type, because its default differs among versions of JAX.
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    return jrm.evaluate_embeddings(
        METRICS,
        embeddings,
        embeddings,
        jrm.by_attributes(same_digit, digits, digits),
        exclude_self=True,
        mesh=mesh,
        queries_axis="data",
    )


# Output


def train_with_progress(
    console: Any, params: Params, images: Images, steps: int, key: jax.Array
) -> Params:
    """Trains while a progress bar shows the loss and the metrics."""
    from rich import progress

    columns = (
        progress.TextColumn("training"),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[values]}"),
    )
    with progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=steps, values="compiling")

        def report(step: int, loss: float, means: dict[str, jax.Array]) -> None:
            parts = [f"loss {loss:.3f}"]
            parts += [f"{name} {means[name]:.3f}" for name in TRAIN_METRICS]
            bar.update(task, completed=step, values="  ".join(parts))

        return train(params, images, steps, key, report)


def draw(evaluations: dict[str, jrm.Evaluation]) -> "Figure":
    """Draws recall at cutoffs, and each query's `map` with and without training."""
    library = optional.import_optional("matplotlib.figure", "demo --save", "plots")
    figure: Figure = library.Figure(figsize=(10, 3.6), layout="constrained")
    recall_ax, difference_ax, distribution_ax = figure.subplots(1, 3)
    jrm.plots.at_cutoffs(evaluations, "recall", ax=recall_ax)
    (baseline, before), (trained, after) = evaluations.items()
    names = (baseline, trained)
    jrm.plots.differences(before, after, names=names, metric="map", ax=difference_ax)
    jrm.plots.distribution(evaluations, metric="map", ax=distribution_ax)
    return figure


def run(steps: int, seed: int, save: Path | None) -> None:
    """Trains, prints how raw pixels and the network retrieve, and compares the two.

    With `save`, a directory, it also writes a table and plots there.
    """
    from rich.console import Console

    console, start = Console(), time.perf_counter()
    images, held_out = load_images(seed)
    init_key, train_key = jax.random.split(jax.random.key(seed))
    params = init_network(init_key)
    params = train_with_progress(console, params, images, steps, train_key)
    models = {"raw pixels": unit_length, "trained": partial(embed, params)}
    evaluations = {
        name: evaluate(model(held_out.pixels), held_out.digits)
        for name, model in models.items()
    }
    print(f"\nHeld-out queries\n{jrm.table(evaluations, rows='metrics')}")
    baseline, trained = (
        {name: evaluation.lists[name] for name in COMPARED}
        for evaluation in evaluations.values()
    )
    print(f"\n{' against '.join(reversed(models))}")
    for comparison in jrm.compare(baseline, trained):
        print(f"{comparison.metric:8} {comparison}")
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        table = jrm.table(evaluations, format="markdown", rows="metrics")
        (save / "table.md").write_text(f"{table}\n")
        draw(evaluations).savefig(save / "plots.png", dpi=90)
        print(f"\nWrote table.md and plots.png to {save}")
    seconds = time.perf_counter() - start
    print(
        f"\n{len(images.digits)} images to train on, {HELD_OUT} held out; "
        f"{jax.device_count()} device(s), {seconds:.1f} s in all"
    )
