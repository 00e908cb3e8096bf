"""The command `jax-rank-metrics demo`: learns to retrieve digits, and measures it.

A query is an image of a handwritten digit; relevant is every other image of that digit.
A small network is trained, with ndcg@10 and mrr measured inside the compiled step.
Then every held-out image queries all the other held-out ones, so that nothing in the
measurement was trained on, with the queries spread over all devices.

It reads nothing but scikit-learn's own copy of the images.
"""

import math
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, PartitionSpec

import jax_rank_metrics as jrm
from jax_rank_metrics._optional import import_optional

TRAIN_METRICS = ("ndcg@10", "mrr")
METRICS = ("ndcg@10", "map", "mrr", "p@1", "rprec", "recall@10,20,50,100")

COMPARED = ("ndcg@10", "map", "mrr")

LAYERS = (64, 128, 64)  # as wide at the end as the images it is compared with
BATCH = 256
LEARNING_RATE = 2e-3
TEMPERATURE = 0.1
HELD_OUT = 600
QUERIES_PER_DEVICE = 64
STEPS_PER_REPORT = 10

Params = list[dict[str, jax.Array]]
States = dict[str, jrm.Mean]
Lists = dict[str, jrm.PerList]


class Images(NamedTuple):
    """Images `[images, 64]` in 0..1 and the digits they show, `[images]`."""

    pixels: jax.Array
    digits: jax.Array


def load_images(seed: int) -> tuple[Images, Images]:
    """The images to train on and those held out."""
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
    """Random parameters of a multilayer perceptron."""
    init = jax.nn.initializers.he_normal()
    keys = jax.random.split(key, len(LAYERS) - 1)
    return [
        {"kernel": init(key, (fan_in, fan_out)), "bias": jnp.zeros(fan_out)}
        for key, fan_in, fan_out in zip(keys, LAYERS[:-1], LAYERS[1:], strict=True)
    ]


def unit_length(vectors: jax.Array) -> jax.Array:
    """The vectors, scaled so that their products are cosines."""
    return vectors / (jnp.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-6)


def embed(params: Params, pixels: jax.Array) -> jax.Array:
    """Images `[images, 64]` as vectors of unit length, as wide as the images."""
    *hidden, last = params
    for layer in hidden:
        pixels = jax.nn.relu(pixels @ layer["kernel"] + layer["bias"])
    return unit_length(pixels @ last["kernel"] + last["bias"])


# Training


def softmax_loss(labels: jax.Array, scores: jax.Array, mask: jax.Array) -> jax.Array:
    """Cross-entropy between the relevant candidates and a softmax over the scores."""
    logits = jnp.where(mask, scores / TEMPERATURE, -jnp.inf)
    relevant = labels & mask
    found = jnp.where(relevant, jax.nn.log_softmax(logits), 0)
    return -jnp.sum(found) / jnp.maximum(jnp.sum(relevant), 1)


def score_batch(
    params: Params, batch: Images
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """The loss; and labels, scores and mask `[batch, batch]` for the metrics."""
    embeddings = embed(params, batch.pixels)
    scores = embeddings @ embeddings.T
    labels = batch.digits[:, None] == batch.digits
    # No image is a candidate for itself. What is masked is never read, so that its
    # label, True, does no harm.
    mask = ~jnp.eye(len(labels), dtype=bool)
    return softmax_loss(labels, scores, mask), (labels, scores, mask)


def make_train_step(optimizer: Any) -> Callable[..., Any]:
    """A compiled step that trains on a random batch and measures it."""
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
        # The scores exist already: one ranking of them is all that the metrics cost.
        # Their states stay on the device until somebody wants to read them.
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
            # Start anew, so that each report is of the steps since the last.
            states = jrm.empty(TRAIN_METRICS)
    return params


# Measuring, over all devices


@cache  # so that both models share one compilation
def make_evaluate_batch(mesh: Mesh) -> Callable[..., tuple[States, Lists]]:
    """A compiled function that measures one batch of queries, sharded over the mesh.

    It gives states, which are all that an evaluation needs, and beside them the values of
    every query, by which two models are compared.
    """

    @jax.jit
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(PartitionSpec("data"), PartitionSpec(), PartitionSpec()),
        out_specs=(PartitionSpec(), PartitionSpec("data")),
    )
    def evaluate_batch(
        rows: jax.Array, embeddings: jax.Array, digits: jax.Array
    ) -> tuple[States, Lists]:
        # From here to `all_reduce` every device sees its own queries only.
        scores = embeddings[rows] @ embeddings.T
        labels = digits[rows][:, None] == digits
        query = rows[:, None]
        itself = query == jnp.arange(len(digits))
        # A padding query masks all of its candidates, and such a list does not count.
        mask = (query >= 0) & ~itself
        lists = jrm.measure(METRICS, jrm.rank(labels, scores, mask))
        return jrm.all_reduce(jrm.mean(lists), "data"), lists

    return evaluate_batch


def padded_batches(queries: int, size: int) -> Iterator[np.ndarray]:
    """The rows of all queries, `size` at a time; -1 fills up the last batch."""
    rows = np.arange(math.ceil(queries / size) * size, dtype=np.int32)
    rows[queries:] = -1
    yield from rows.reshape(-1, size)


def evaluate(embeddings: jax.Array, digits: jax.Array) -> tuple[States, Lists]:
    """Every image queries all the others."""
    devices = jax.device_count()
    # Said in full, since the default type of an axis differs among versions of JAX.
    mesh = jax.make_mesh((devices,), ("data",), axis_types=(AxisType.Auto,))
    evaluate_batch = make_evaluate_batch(mesh)
    states, parts = jrm.empty(METRICS), []
    for rows in padded_batches(len(digits), QUERIES_PER_DEVICE * devices):
        of_batch, lists = evaluate_batch(rows, embeddings, digits)
        states = jrm.merge(states, of_batch)
        parts.append(jax.device_get(lists))
    # Queries that are padding have no weight, so they stay out of every comparison.
    lists = jax.tree.map(lambda *x: np.concatenate(x), *parts)
    return {name: states[name] for name in METRICS}, lists


# What the user sees


def make_progress(console: Any) -> Any:
    """A progress bar with the loss and the metrics beside it."""
    from rich import progress

    return progress.Progress(
        progress.TextColumn("training"),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[values]}"),
        console=console,
    )


def train_with_progress(
    console: Any, params: Params, images: Images, steps: int, key: jax.Array
) -> Params:
    """Trains behind a progress bar."""
    with make_progress(console) as bar:
        task = bar.add_task("training", total=steps, values="compiling")

        def report(step: int, loss: float, means: dict[str, jax.Array]) -> None:
            shown = [f"loss {loss:.3f}"]
            shown += [f"{name} {means[name]:.3f}" for name in TRAIN_METRICS]
            bar.update(task, completed=step, values="  ".join(shown))

        return train(params, images, steps, key, report)


def draw(states: dict[str, States], lists: dict[str, Lists]) -> Any:
    """A figure of recall at cutoffs, and of the difference that training makes."""
    library = import_optional("matplotlib.figure", "demo --save", "plots")
    figure = library.Figure(figsize=(10, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    jrm.plots.at_cutoffs(states, "recall", ax=left)
    one, two = lists
    a, b = (lists[run]["map"] for run in (one, two))
    jrm.plots.differences(a, b, names=(one, two), ax=middle)
    middle.set_title("average precision of every query")
    jrm.plots.distribution({one: a, two: b}, ax=right)
    right.set_title("average precision")
    return figure


def run(steps: int, seed: int, save: Path | None) -> None:
    """Trains, measures before and after, and prints and compares both."""
    from rich.console import Console

    console, start = Console(), time.perf_counter()
    images, held_out = load_images(seed)
    init_key, train_key = jax.random.split(jax.random.key(seed))
    params = init_network(init_key)
    params = train_with_progress(console, params, images, steps, train_key)
    states: dict[str, States] = {}
    lists: dict[str, Lists] = {}
    models = {"raw pixels": unit_length, "trained": partial(embed, params)}
    for run, model in models.items():
        states[run], lists[run] = evaluate(model(held_out.pixels), held_out.digits)
    print(f"\nHeld-out queries\n{jrm.table(states, rows='metrics')}")
    one, two = ({name: of[name] for name in COMPARED} for of in lists.values())
    print(f"\n{' against '.join(reversed(models))}")
    for name, found in jrm.compare(one, two).items():
        print(f"{name:8} {found}")
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        (save / "table.md").write_text(
            f"{jrm.table(states, format='markdown', rows='metrics')}\n"
        )
        draw(states, lists).savefig(save / "plots.png", dpi=90)
        print(f"\nWrote table.md and plots.png to {save}")
    seconds = time.perf_counter() - start
    print(
        f"\n{len(images.digits)} images to train on, {HELD_OUT} held out; "
        f"{jax.device_count()} device(s), {seconds:.1f} s in all"
    )
