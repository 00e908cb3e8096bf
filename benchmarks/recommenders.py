"""Measures `evaluate_users` beside a full argsort: `python benchmarks/recommenders.py`.

The data have the size of MovieLens 100k, and histories of similar lengths: 943 users, 1,682
items and 100,000 interactions. A share of the interactions is held out, and the rest was
seen. Milliseconds are CPU time, the best of several rounds in turn. The first call, which
compiles unless an earlier row has, is reported separately, in seconds.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import jax_rank_metrics as jrm

USERS, ITEMS, INTERACTIONS, LONGEST = 943, 1682, 100_000, 737


def draw(share: float) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Returns scores `[users, items]`, and the items held out and seen of each user."""
    rng = np.random.default_rng(0)
    activity = rng.lognormal(0, 1, USERS)
    lengths = np.clip(INTERACTIONS * activity / activity.sum(), 20, LONGEST).astype(int)
    popularity = -0.8 * np.log(np.arange(1, ITEMS + 1))
    held_out, seen = [], []
    for length in lengths:
        history = np.argsort(-popularity - rng.gumbel(size=ITEMS))[:length]
        is_held_out = rng.random(length) < share
        held_out.append(history[is_held_out])
        seen.append(history[~is_held_out])
    scores = rng.permuted(np.tile(np.arange(ITEMS), (USERS, 1)), axis=1)  # no ties
    return scores.astype(np.float32), held_out, seen


def by_argsort(
    scores: np.ndarray, held_out: list[np.ndarray], seen: list[np.ndarray]
) -> np.ndarray:
    """Returns the average precision of each user, from a full order in NumPy."""
    scores, labels = scores.copy(), np.zeros(scores.shape, bool)
    for user in range(len(scores)):
        scores[user, seen[user]] = -np.inf
        labels[user, held_out[user]] = True
    hits = np.take_along_axis(labels, np.argsort(-scores, axis=1), axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return (precision * hits).sum(1) / np.maximum(hits.sum(1), 1)


def seconds(call: Callable[[], Any]) -> float:
    """Returns how long a call occupies the CPU."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main(
    rounds: Annotated[int, typer.Option(help="rounds, of which the best counts")] = 5,
) -> None:
    """Prints a row for each share of held-out items and each choice of metrics."""
    names = "held out", "metrics", "first, s", "warm, ms", "argsort, ms", "ratio"
    table = Table(*names, box=MARKDOWN)
    for share in (0.2, 0.5, 1.0):
        scores, held_out, seen = draw(share)
        order = partial(by_argsort, scores, held_out, seen)
        for metrics in (("mrr", "map"), ("ndcg@10", "recall@10")):
            evaluate = partial(
                jrm.evaluate_users, metrics, scores, held_out, seen=seen, k=10
            )
            first = seconds(evaluate)
            if "map" in metrics:
                values = evaluate().lists["map"].values
                np.testing.assert_allclose(values, order(), atol=1e-6)
            times = [(seconds(evaluate), seconds(order)) for _ in range(rounds)]
            ours, numpy = (1e3 * min(column) for column in zip(*times, strict=True))
            numbers = (
                f"{first:.1f}",
                f"{ours:.0f}",
                f"{numpy:.0f}",
                f"{ours / numpy:.2f}",
            )
            table.add_row(f"{share:.0%}", ", ".join(metrics), *numbers)
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)
