"""Measures the cost to trace and compile: `python benchmarks/compiling.py`.

Times are CPU seconds (user and system) of this process, the best of three rounds in which
the programs take turns. The first table holds metrics of 1,024 lists of 1,000 items, and
their ratio to ndcg@10 as it is written by hand. The second holds the train step of the demo
on a batch of 256, and the cost of the mean of ndcg@10 in it, with this package and with
rax.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import rax
from programs import FIVE, ndcg_by_hand

import jax_rank_metrics as jrm
from jax_rank_metrics import demo

ROUNDS = 3


def seconds_to_compile(
    programs: dict[str, Callable[..., Any]], arguments: tuple[Any, ...]
) -> dict[str, float]:
    """Returns the CPU seconds that each function takes for these arguments."""
    seconds = dict.fromkeys(programs, float("inf"))
    for _ in range(ROUNDS):
        for name, function in programs.items():
            jax.clear_caches()
            begin = time.process_time()
            jax.jit(function).lower(*arguments).compile()
            seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds


def metrics() -> dict[str, Callable[..., Any]]:
    """Returns ndcg@10 by hand, and the metrics, each with the mean over lists."""
    table = {"five@10": FIVE, **{name: (name,) for name in ("ndcg", "map", "mrr")}}
    table = {"ndcg@10": ("ndcg@10",), **table}

    def evaluate(names: tuple[str, ...]) -> Callable[..., Any]:
        return lambda *lists: jrm.compute(jrm.evaluate(names, *lists))

    ours = {name: evaluate(names) for name, names in table.items()}
    return {"ndcg@10 by hand": ndcg_by_hand, **ours}


def train_step(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a step of the demo that measures its scores."""
    optimizer = optax.adam(demo.LEARNING_RATE)

    def step(params: Any, opt_state: Any, batch: demo.Images) -> Any:
        value_and_grad = jax.value_and_grad(demo.score_batch, has_aux=True)
        (loss, lists), grads = value_and_grad(params, batch)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, loss, measure(*lists)

    return step


def main() -> None:
    """Prints both tables."""
    lists = (jax.ShapeDtypeStruct((1024, 1000), jnp.float32),) * 2
    jax.jit(ndcg_by_hand).lower(*lists).compile()  # starts the compiler
    seconds = seconds_to_compile(metrics(), lists)
    by_hand = seconds["ndcg@10 by hand"]
    print("| 1,024×1,000 | s | × by hand |\n|---|---:|---:|")
    for name, spent in seconds.items():
        print(f"| {name} | {spent:.2f} | {spent / by_hand:.1f} |")

    params = demo.init_network(jax.random.key(0))
    opt_state = optax.adam(demo.LEARNING_RATE).init(params)
    pixels, digits = jnp.zeros((256, 64)), jnp.zeros(256, jnp.int32)

    def of_rax(labels: jax.Array, scores: jax.Array, mask: jax.Array) -> jax.Array:
        labels = labels.astype(jnp.float32)
        return rax.ndcg_metric(scores, labels, where=mask, topn=10)

    steps = {
        "no metric": train_step(lambda *lists: None),
        "this": train_step(lambda *lists: jrm.ndcg(*lists, k=10).compute()),
        "rax": train_step(of_rax),
    }
    arguments = (params, opt_state, demo.Images(pixels, digits))
    seconds = seconds_to_compile(steps, arguments)
    print("\n| train step | s | added, s |\n|---|---:|---:|")
    for name, spent in seconds.items():
        print(f"| {name} | {spent:.2f} | {spent - seconds['no metric']:.2f} |")


if __name__ == "__main__":
    main()
