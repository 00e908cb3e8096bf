"""The contenders: functions that turn a workload into a call that returns its result.

Each is imported in a process of its own. Preparing the call is not timed: it holds what a
user does once (converting data to the types of a library), and no part of the metric.
`bare` is the time JAX takes for the sorts and products that no metric can do without.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import FIVE
from workloads import Workload

Call = Callable[[], Any]
Prepare = Callable[[Workload, dict[str, np.ndarray]], Call | None]


def ours(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs this package."""
    import jax
    import jax.numpy as jnp

    import jax_rank_metrics as jrm

    arrays = {name: jnp.asarray(value) for name, value in data.items()}
    key = jax.random.key(0) if work.policy == "random" else None

    if work.task == "train":
        names = ("ndcg@10", "mrr")
        return _train(work, arrays, lambda *lists: jrm.evaluate(names, *lists))
    if work.task == "eager":
        return lambda: jax.block_until_ready(jrm.ndcg(**arrays, k=10))

    def states(labels: jax.Array, scores: jax.Array, mask: Any = None) -> Any:
        names = {
            "ndcg@10": ("ndcg@10",),
            "ndcg@k": (f"ndcg@{work.k}",),
            "five@10": FIVE,
            "ndcg": ("ndcg",),
            "ap": ("ap",),
            "mrr": ("mrr",),
        }[work.task]
        state = jrm.evaluate(names, labels, scores, mask, key=key, ties=work.policy)
        return jrm.compute(state)

    def packed(labels: jax.Array, scores: jax.Array, ids: jax.Array) -> Any:
        state = jrm.ndcg(labels, scores, segment_ids=ids, num_segments=work.shape[0])
        return state.compute()

    def catalog(queries: jax.Array, items: jax.Array, relevant: jax.Array) -> Any:
        ranking = jrm.rank_catalog(queries, items, relevant, k=100)
        return jrm.ndcg.of(ranking, k=100).mean().compute()

    def in_batch(scores: jax.Array) -> Any:
        ranking = jrm.rank_scores(scores, jnp.arange(len(scores))[:, None])
        return jrm.compute(jrm.mean(jrm.measure(("ndcg@10", "mrr"), ranking)))

    def pooled(labels: jax.Array, scores: jax.Array) -> Any:
        return jrm.pooled_roc_auc(labels, scores).compute()

    calls = {"packed": packed, "catalog": catalog, "in-batch": in_batch}
    calls |= {"pooled": pooled}
    run = jax.jit(calls.get(work.task, states))
    return lambda: jax.block_until_ready(run(**arrays))


def numpy(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs NumPy as a careful user writes it by hand; ties stand in any order."""
    if work.policy == "random" or work.task in ("train", "eager"):
        return None
    if work.task in ("packed", "catalog"):
        return {"packed": _numpy_packed, "catalog": _numpy_catalog}[work.task](
            work, data
        )
    if work.task == "pooled":
        return lambda: _numpy_auc(data["labels"], data["scores"])
    scores = data["scores"]
    labels, mask = data.get("labels"), data.get("mask")
    if labels is None:
        labels = np.eye(len(scores), dtype=np.float32)
    k = work.k if "@" in work.task else labels.shape[-1]
    discounts = 1 / np.log2(np.arange(2, k + 2))

    def order() -> tuple[np.ndarray, np.ndarray]:
        s, y = scores, labels
        if mask is not None:
            s, y = np.where(mask, s, -np.inf), np.where(mask, y, 0)
        if k < labels.shape[-1]:
            top = np.argpartition(s, -k, axis=-1)[:, -k:]
            inner = np.argsort(-np.take_along_axis(s, top, -1), axis=-1)
            top = np.take_along_axis(top, inner, -1)
        else:
            top = np.argsort(-s, axis=-1)
        return np.take_along_axis(y, top, -1), y

    def ndcg(ranked: np.ndarray, y: np.ndarray) -> np.ndarray:
        if k < y.shape[-1]:
            best = -np.sort(-np.partition(y, -k, axis=-1)[:, -k:], axis=-1)
        else:
            best = -np.sort(-y, axis=-1)
        ideal = (np.exp2(best) - 1) @ discounts
        dcg = (np.exp2(ranked) - 1) @ discounts
        return np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)

    def five() -> list[float]:
        ranked, y = order()
        hits, relevant = ranked >= 1, (y >= 1).sum(-1)
        first = hits.argmax(-1)
        any_hit = hits.any(-1)
        return [
            ndcg(ranked, y).mean(),
            (hits.sum(-1) / k).mean(),
            (hits.sum(-1) / np.maximum(relevant, 1)).mean(),
            np.where(any_hit, 1 / (first + 1), 0).mean(),
            any_hit.mean(),
        ]

    def ap() -> float:
        ranked, y = order()
        hits = ranked >= 1
        precision = np.cumsum(hits, -1) / np.arange(1, k + 1)
        total = np.maximum(hits.sum(-1), 1)
        return ((precision * hits).sum(-1) / total).mean()

    def mrr() -> float:
        best = np.where(labels >= 1, scores, -np.inf).max(-1, keepdims=True)
        return ((labels >= 1).any(-1) / (1 + (scores > best).sum(-1))).mean()

    def in_batch() -> list[float]:
        ranks = (scores > np.diag(scores)[:, None]).sum(-1) + 1
        return [
            np.where(ranks <= 10, 1 / np.log2(1 + ranks), 0).mean(),
            (1 / ranks).mean(),
        ]

    return {
        "mrr": mrr,
        "in-batch": in_batch,
        "ndcg@10": lambda: ndcg(*order()).mean(),
        "ndcg@k": lambda: ndcg(*order()).mean(),
        "ndcg": lambda: ndcg(*order()).mean(),
        "five@10": five,
        "ap": ap,
    }[work.task]


def _numpy_auc(labels: np.ndarray, scores: np.ndarray) -> float:
    is_positive = labels[np.argsort(scores)] >= 1
    below = np.cumsum(~is_positive)
    return below[is_positive].sum() / (is_positive.sum() * below[-1])


def _numpy_packed(work: Workload, data: dict[str, np.ndarray]) -> Call:
    labels, scores, ids = data["labels"], data["scores"], data["ids"]

    def run() -> float:
        order = np.lexsort((-scores, ids))
        best = np.lexsort((-labels, ids))
        starts = np.searchsorted(ids, np.arange(work.shape[0]))
        rank = np.arange(ids.size) - starts[ids]
        discounts = 1 / np.log2(rank + 2)
        gains = np.exp2(labels) - 1
        dcg = np.bincount(ids, gains[order] * discounts, work.shape[0])
        ideal = np.bincount(ids, gains[best] * discounts, work.shape[0])
        return np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0).mean()

    return run


def _numpy_catalog(work: Workload, data: dict[str, np.ndarray]) -> Call:
    queries, items, relevant = data["queries"], data["items"], data["relevant"]
    discounts = 1 / np.log2(np.arange(2, 102))

    def run() -> float:
        scores = queries @ items.T
        top = np.argpartition(scores, -100, axis=-1)[:, -100:]
        inner = np.argsort(-np.take_along_axis(scores, top, -1), axis=-1)
        top = np.take_along_axis(top, inner, -1)
        hits = (top[:, :, None] == relevant[:, None, :]).any(-1)
        return (hits @ discounts / discounts[:5].sum()).mean()

    return run


def bare(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs JAX without a metric: only the ranking, or the step that holds the metrics."""
    import jax
    import jax.numpy as jnp

    if work.masked or work.ties or work.policy != "expected":
        return None
    arrays = {name: jnp.asarray(value) for name, value in data.items()}
    if work.task == "train":
        return _train(work, arrays, None)
    if work.task == "eager":
        import jax_rank_metrics as jrm

        run = jax.jit(lambda labels, scores: jrm.ndcg(labels, scores, k=10))
        return lambda: jax.block_until_ready(run(**arrays))

    def catalog(queries: jax.Array, items: jax.Array, relevant: jax.Array) -> Any:
        _, top = jax.lax.top_k(queries @ items.T, 100)
        hits = (top[:, :, None] == relevant[:, None, :]).any(-1)
        discounts = 1 / np.log2(np.arange(2, 102, dtype=np.float32))
        return (hits @ discounts / discounts[:5].sum()).mean()

    def packed(labels: jax.Array, scores: jax.Array, ids: jax.Array) -> Any:
        return jax.lax.sort((ids, -scores, labels), num_keys=2)

    def top(labels: jax.Array, scores: jax.Array) -> Any:
        return jax.lax.top_k(scores, work.k), jax.lax.top_k(labels, work.k)

    def sort(labels: jax.Array, scores: jax.Array) -> Any:
        return jax.lax.sort((-scores, labels), num_keys=1)

    tasks = {"catalog": catalog, "packed": packed, "ndcg@10": top, "five@10": top}
    tasks |= {"ndcg@k": top}
    tasks |= {"in-batch": lambda scores: jax.lax.sort(scores, dimension=-1)}
    run = jax.jit(tasks.get(work.task, sort))
    return lambda: jax.block_until_ready(run(**arrays))


def _train(work: Workload, arrays: dict[str, Any], measure: Any) -> Call:
    """Runs the train step of the demo, with or without metrics of its scores."""
    import jax
    import optax

    from jax_rank_metrics import demo

    rows, width = work.shape
    layers = (64, width, 64)
    keys = jax.random.split(jax.random.key(0), 2)
    init = jax.nn.initializers.he_normal()
    params = [
        {"kernel": init(key, (fan_in, fan_out)), "bias": jax.numpy.zeros(fan_out)}
        for key, fan_in, fan_out in zip(keys, layers[:-1], layers[1:], strict=True)
    ]
    optimizer = optax.adam(demo.LEARNING_RATE)

    @jax.jit
    def step(params: Any, opt_state: Any, images: Any) -> Any:
        value_and_grad = jax.value_and_grad(demo.score_batch, has_aux=True)
        (loss, lists), grads = value_and_grad(params, images)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, loss, measure(*lists) if measure else None

    images = demo.Images(arrays["pixels"], arrays["digits"])
    assert images.pixels.shape[0] == rows
    opt_state = optimizer.init(params)
    return lambda: jax.block_until_ready(step(params, opt_state, images))


def sklearn(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs scikit-learn, which takes one list at a time if it averages ties."""
    from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

    if work.task == "pooled":
        return lambda: roc_auc_score(data["labels"], data["scores"])
    if (
        work.masked
        or work.policy == "random"
        or work.task not in ("ndcg@10", "ndcg", "ap")
    ):
        return None
    labels, scores = data["labels"], data["scores"]
    if work.task == "ap":
        binary = labels >= 1
        return lambda: np.mean(
            [average_precision_score(y, s) for y, s in zip(binary, scores, strict=True)]
        )
    gains, k = np.exp2(labels) - 1, 10 if "@" in work.task else None
    stable = work.policy == "stable"
    return lambda: ndcg_score(gains, scores, k=k, ignore_ties=stable)


def rax(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs rax, Google's learning to rank for JAX."""
    import jax
    import jax.numpy as jnp
    import rax as library

    if work.task in ("catalog", "eager", "ndcg@k") or work.policy != "expected":
        return None
    arrays = {name: jnp.asarray(value) for name, value in data.items()}
    if work.task == "train":

        def measure(labels: jax.Array, scores: jax.Array, mask: jax.Array) -> Any:
            y = labels.astype(jnp.float32)
            return (
                library.ndcg_metric(scores, y, where=mask, topn=10),
                library.mrr_metric(scores, y, where=mask),
            )

        return _train(work, arrays, measure)
    if work.task == "packed":
        where = {"segments": arrays["ids"]}
    else:
        where = {"where": arrays["mask"]} if work.masked else {}
    k = {"topn": 10} if "@" in work.task else {}
    ndcg, binary = library.ndcg_metric, lambda y: (y >= 1).astype(jnp.float32)

    def metrics(
        scores: jax.Array, labels: jax.Array, where: dict[str, jax.Array]
    ) -> Any:
        if work.task == "ap":
            return library.ap_metric(scores, binary(labels), **where)
        values = [ndcg(scores, labels, **where, **k)]
        if work.task == "five@10":  # it has no hit rate
            values += [
                metric(scores, binary(labels), **where, **k)
                for metric in (
                    library.precision_metric,
                    library.recall_metric,
                    library.mrr_metric,
                )
            ]
        return values

    run = jax.jit(metrics)
    return lambda: jax.block_until_ready(run(arrays["scores"], arrays["labels"], where))


def keras_rs(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs keras-rs on JAX, stateless so that it can be compiled."""
    import jax
    import jax.numpy as jnp
    import keras_rs as library

    names = {
        "ndcg@10": ("NDCG",),
        "ndcg": ("NDCG",),
        "ap": ("MeanAveragePrecision",),
        "five@10": ("NDCG", "PrecisionAtK", "RecallAtK", "MeanReciprocalRank"),
    }.get(work.task)
    if names is None or work.policy != "expected":
        return None
    k = {"k": 10} if "@" in work.task else {}
    metrics = [getattr(library.metrics, name)(**k) for name in names]

    @jax.jit
    def run(labels: jax.Array, scores: jax.Array, mask: jax.Array | None) -> Any:
        values = []
        for metric, name in zip(metrics, names, strict=True):
            y = labels if name == "NDCG" else (labels >= 1).astype(jnp.float32)
            state = [jnp.zeros_like(v.value) for v in metric.variables]
            y = y if mask is None else {"labels": y, "mask": mask}
            state = metric.stateless_update_state(state, y, scores)
            values.append(metric.stateless_result(state))
        return values

    arrays = {name: jnp.asarray(value) for name, value in data.items()}
    mask = arrays.get("mask")
    return lambda: jax.block_until_ready(run(arrays["labels"], arrays["scores"], mask))


def metrax(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs google-metrax."""
    import jax
    import jax.numpy as jnp
    import metrax as library

    if work.masked or work.policy != "expected":
        return None
    names = {
        "ndcg@10": ("NDCGAtK",),
        "ndcg": ("NDCGAtK",),
        "ap": ("AveragePrecisionAtK",),
        "five@10": ("NDCGAtK", "PrecisionAtK", "RecallAtK", "MRR"),
    }.get(work.task)
    if names is None:
        return None
    ks = np.array([10 if "@" in work.task else work.shape[-1]])

    @jax.jit
    def run(labels: jax.Array, scores: jax.Array) -> Any:
        values = []
        for name in names:
            y = labels if name == "NDCGAtK" else (labels >= 1).astype(jnp.float32)
            state = getattr(library, name).from_model_output(scores, y, ks=ks)
            values.append(state.compute())
        return values

    labels, scores = jnp.asarray(data["labels"]), jnp.asarray(data["scores"])
    return lambda: jax.block_until_ready(run(labels, scores))


def torchmetrics(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs torchmetrics, which looks lists up by their index, one after the other."""
    import torch
    from torchmetrics import retrieval as library

    if work.masked or work.policy != "expected":
        return None
    if work.task in ("catalog", "train", "eager", "ndcg@k"):
        return None
    k = {"top_k": 10} if "@" in work.task else {}
    names = {
        "ap": ("MAP",),
        "five@10": ("NormalizedDCG", "Precision", "Recall", "MRR", "HitRate"),
    }.get(work.task, ("NormalizedDCG",))
    labels, scores = (
        torch.from_numpy(data[name].reshape(-1)) for name in ("labels", "scores")
    )
    if work.task == "packed":
        ids = torch.from_numpy(data["ids"].astype(np.int64))
    else:
        ids = torch.arange(work.shape[0]).repeat_interleave(work.shape[1])
    graded, binary = labels.long(), labels >= 1

    def run() -> list[Any]:
        values = []
        for name in names:
            metric = getattr(library, f"Retrieval{name}")(**k)
            y = graded if name == "NormalizedDCG" else binary
            metric.update(scores, y, indexes=ids)
            values.append(metric.compute())
        return values

    return run


def _run(scores: np.ndarray) -> dict[str, dict[str, float]]:
    return {
        f"q{i}": {f"d{j}": float(s) for j, s in enumerate(row)}
        for i, row in enumerate(scores)
    }


def ranx(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs ranx on dictionaries converted once to its own types; it uses Numba."""
    import ranx as library

    if work.masked or work.policy != "expected":
        return None
    if work.task in ("catalog", "packed", "train", "eager", "ndcg@k"):
        return None
    if work.shape[0] * work.shape[1] > 2_000_000:
        return None  # minutes and gigabytes of dictionaries
    names = {
        "ndcg@10": ["ndcg_burges@10"],
        "ndcg": ["ndcg_burges"],
        "ap": ["map"],
        "five@10": [
            "ndcg_burges@10",
            "precision@10",
            "recall@10",
            "mrr@10",
            "hit_rate@10",
        ],
    }[work.task]
    labels, scores = data["labels"], data["scores"]
    qrels = {
        f"q{i}": {f"d{j}": int(y) for j, y in enumerate(row) if y > 0} or {"none": 0}
        for i, row in enumerate(labels)
    }
    runs = _run(scores)
    qrels, runs = library.Qrels(qrels), library.Run(runs)
    return lambda: library.evaluate(qrels, runs, names)


def pytrec_eval(work: Workload, data: dict[str, np.ndarray]) -> Call | None:
    """Runs trec_eval on dictionaries."""
    import pytrec_eval as library

    names = {
        "ndcg@10": {"ndcg_cut.10"},
        "ndcg": {"ndcg"},
        "ap": {"map"},
        "five@10": {"ndcg_cut.10", "P.10", "recall.10", "recip_rank", "success.10"},
    }.get(work.task)
    if work.masked or work.policy != "expected" or names is None:
        return None
    if work.shape[0] * work.shape[1] > 2_000_000:
        return None
    labels, scores = data["labels"], data["scores"]
    qrels = {
        f"q{i}": {f"d{j}": int(y) for j, y in enumerate(row)}
        for i, row in enumerate(labels)
    }
    runs = _run(scores)
    evaluator = library.RelevanceEvaluator(qrels, names)
    return lambda: evaluator.evaluate(runs)


# The modules that each contender imports, besides those it is built on.
MODULES = {
    # The package loads this module when its first name is used.
    "jax_rank_metrics": ("jax", "jax_rank_metrics._public"),
    "rax": ("jax", "rax"),
    "metrax": ("jax", "metrax"),
    "keras_rs": ("jax", "keras_rs"),
    "torchmetrics": ("torch", "torchmetrics.retrieval"),
    "ranx": ("numpy", "ranx"),
    "scikit-learn": ("numpy", "sklearn.metrics"),
    "pytrec_eval": ("numpy", "pytrec_eval"),
}

CONTENDERS: dict[str, Prepare] = {
    "jax_rank_metrics": ours,
    "numpy": numpy,
    "bare": bare,
    "scikit-learn": sklearn,
    "rax": rax,
    "metrax": metrax,
    "keras_rs": keras_rs,
    "torchmetrics": torchmetrics,
    "ranx": ranx,
    "pytrec_eval": pytrec_eval,
}
