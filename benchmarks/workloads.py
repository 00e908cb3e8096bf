"""The workloads: data, and the task to do with it. Nothing here is about contenders."""

import dataclasses
from collections.abc import Callable

import numpy as np

SHAPES = ((4096, 100), (1024, 1000), (64, 100_000))


@dataclasses.dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        task: The task that contenders implement: "ndcg@10", "five@10", "ndcg", "ap",
            "packed", "catalog", "train" (ndcg@10 and mrr inside the train step of the
            demo), "eager" (ndcg@10, not compiled by the caller), "mrr" (no cutoff),
            "in-batch" (ndcg@10 and mrr if query i should find item i), "pooled" (one ROC
            AUC of all items, which are clicks and sigmoids), and "ndcg@k", which this
            package, NumPy and bare JAX implement alone.
        shape: Lists and items; for "pooled" items; for "catalog" queries, items and
            dimensions; for "packed" lists and the longest list; for "train" images in a
            batch (each is a candidate for all others) and the width of the network.
        ties: The share of items whose score another item of the list has too.
        masked: True if a fifth of the items is padding.
        policy: The tie policy, for contenders that have a choice.
        k: The cutoff of "ndcg@k".
    """

    task: str
    shape: tuple[int, ...]
    ties: float = 0.0
    masked: bool = False
    policy: str = "expected"
    k: int = 10

    @property
    def name(self) -> str:
        """A unique and readable name, which heads the row."""
        task = self.task.replace("@k", f"@{self.k}")
        parts = [task, "×".join(f"{n:,}" for n in self.shape)]
        parts += [f"{self.ties:.0%} ties"] if self.ties else []
        parts += ["mask"] if self.masked else []
        parts += [self.policy] if self.policy != "expected" else []
        return " · ".join(parts)

    def data(self) -> dict[str, np.ndarray]:
        """Returns the arrays, the same in every process."""
        return _DATA.get(self.task, _rows)(self)


def _scores(
    rng: np.random.Generator, shape: tuple[int, ...], ties: float
) -> np.ndarray:
    scores = rng.permuted(
        np.broadcast_to(np.arange(shape[-1], dtype=np.float32), shape), axis=-1
    )
    if ties >= 0.5:
        # Few distinct scores: nearly every item ties with another.
        return np.floor(scores / shape[-1] * max(4, shape[-1] * (1 - ties) / 2))
    if ties:
        is_tied = rng.random(shape) < ties
        scores = np.where(is_tied, np.floor(scores / 10) * 10, scores)
    return scores.astype(np.float32)


def _rows(workload: Workload) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 3], workload.shape).astype(np.float32)
    data = {"labels": labels, "scores": _scores(rng, workload.shape, workload.ties)}
    if workload.masked:
        data["mask"] = rng.random(workload.shape) > 0.2
    return data


def _packed(workload: Workload) -> dict[str, np.ndarray]:
    lists, longest = workload.shape
    rng = np.random.default_rng(0)
    lengths = np.minimum(1 + rng.pareto(1.2, lists) * 12, longest).astype(int)
    ids = np.repeat(np.arange(lists, dtype=np.int32), lengths)
    scores = rng.permutation(ids.size).astype(np.float32)
    labels = rng.choice([0, 0, 0, 1], ids.size).astype(np.float32)
    return {"labels": labels, "scores": scores, "ids": ids}


def _train(workload: Workload) -> dict[str, np.ndarray]:
    images, _ = workload.shape
    rng = np.random.default_rng(0)
    return {
        "pixels": rng.random((images, 64), np.float32),
        "digits": rng.integers(0, 10, images).astype(np.int32),
    }


def _catalog(workload: Workload) -> dict[str, np.ndarray]:
    queries, items, dims = workload.shape
    rng = np.random.default_rng(0)
    return {
        "queries": rng.normal(size=(queries, dims)).astype(np.float32),
        "items": rng.normal(size=(items, dims)).astype(np.float32),
        "relevant": rng.integers(0, items, (queries, 5)).astype(np.int32),
    }


def _in_batch(workload: Workload) -> dict[str, np.ndarray]:
    return {"scores": np.random.default_rng(0).normal(size=workload.shape).astype("f")}


def _clicks(workload: Workload) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=workload.shape)
    labels = rng.random(workload.shape) < 1 / (1 + np.exp(2 - logits))
    scores = 1 / (1 + np.exp(-logits))
    return {"labels": labels.astype(np.float32), "scores": scores.astype(np.float32)}


_DATA: dict[str, Callable[[Workload], dict[str, np.ndarray]]] = {
    "packed": _packed,
    "catalog": _catalog,
    "train": _train,
    "in-batch": _in_batch,
    "pooled": _clicks,
}


def workloads() -> list[Workload]:
    """Returns all rows, in the order of the table."""
    wide = (1024, 1000)
    return [
        *(Workload("ndcg@10", shape) for shape in SHAPES),
        *(Workload("ndcg@10", shape, policy="stable") for shape in SHAPES),
        *(Workload("ndcg@10", shape, masked=True) for shape in SHAPES),
        *(Workload("ndcg@10", wide, ties=t) for t in (0.01, 0.9)),
        *(Workload("ndcg@10", wide, ties=t, policy="stable") for t in (0.01, 0.9)),
        *(Workload("ndcg@10", wide, ties=t, policy="random") for t in (0, 0.01, 0.9)),
        *(Workload("ndcg@k", shape, k=k) for shape in SHAPES for k in (20, 32, 100)),
        *(Workload("five@10", shape) for shape in SHAPES),
        *(
            Workload(task, shape, policy=policy)
            for task in ("ndcg", "ap")
            for shape in SHAPES
            for policy in ("expected", "stable")
        ),
        *(Workload("ndcg", wide, ties=t) for t in (0.01, 0.9)),
        *(Workload("mrr", shape) for shape in SHAPES),
        Workload("in-batch", (512, 512)),
        Workload("packed", (10_000, 1300)),
        *(Workload("packed", (lists, 1300)) for lists in (200, 200_000)),
        Workload("catalog", (1024, 200_000, 64)),
        *(Workload("train", (256, width)) for width in (128, 16_384)),
        Workload("eager", (8, 16)),
        Workload("pooled", (10_000_000,)),
    ]
