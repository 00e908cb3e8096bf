"""Draws that sources and drivers share: metrics, policies, labels, vectors."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from fuzzing.case import Case, Cut, InvalidCase
from fuzzing.loops import METRICS

Rng = np.random.Generator

CUTOFFS = ((1, 3), (2, 10), (5,))
POLICIES = (None, None, None, "expected", "stable", "best", "worst", "random")
MESHES = ((2, 1), (1, 2), (2, 2), (8, 1), (1, 8), (4, 2), (3, 1), (2, 3))
SIMILARITIES = ("dot", "dot", "cosine", "l2", "hamming")


def pick(rng: Rng, values: Any) -> Any:
    """Draws one of several values."""
    return values[int(rng.integers(len(values)))]


def chance(rng: Rng, share: float) -> bool:
    """Draws True with this probability."""
    return bool(rng.random() < share)


def metrics(rng: Rng, *, cut: bool, whole: bool) -> tuple[Cut, ...]:
    """Draws up to three metrics, with cutoffs, without cutoffs, or of both kinds."""
    cuts = pick(rng, CUTOFFS)
    with_k = [name for name, metric in METRICS.items() if metric.has_k]
    chosen = []
    for _ in range(int(rng.integers(1, 4))):
        if cut and (not whole or chance(rng, 0.6)):
            chosen.append(Cut(pick(rng, with_k), cuts))
        else:
            chosen.append(Cut(pick(rng, list(METRICS))))
    return tuple(dict.fromkeys(chosen))


def policy(rng: Rng, chosen: tuple[Cut, ...]) -> dict[str, Any]:
    """Draws `ties` and `key`; "expected" only if all metrics have closed forms."""
    ties = pick(rng, POLICIES)
    if ties == "expected" and any(c.metric.reading == "order" for c in chosen):
        ties = None
    options: dict[str, Any] = {} if ties is None else {"ties": ties}
    if ties == "random" or (ties is None and chance(rng, 0.15)):
        options["key"] = int(rng.integers(100))
    return options


def undefined(rng: Rng) -> dict[str, Any]:
    """Draws what an undefined list counts for."""
    value = pick(rng, ("zero", "zero", "one", "skip"))
    return {} if value == "zero" else {"undefined": value}


def few_labels(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
    """Draws up to three graded relevant items for each list, in some lists none."""
    labels = np.zeros(shape, np.float32)
    for row in labels:
        number = min(int(rng.integers(4)), shape[1])
        ids = rng.permutation(shape[1])[:number]
        row[ids] = rng.choice([0.5, 1, 1, 2, 3], number)
    return labels


def few_of(rng: Rng, shape: tuple[int, int], most: int = 4) -> np.ndarray:
    """Draws up to `most` items for each list, as bools."""
    chosen = np.zeros(shape, bool)
    for row in chosen:
        row[rng.permutation(shape[1])[: int(rng.integers(most + 1))]] = True
    return chosen


def id_rows(matrix: np.ndarray, width: int = 0, repeat: bool = False) -> np.ndarray:
    """Returns the ids of the entries of each row, padded with −1."""
    rows = [np.flatnonzero(row).tolist() for row in matrix]
    if repeat:
        rows = [row + row[:1] for row in rows]
    width = max([width, *map(len, rows)])
    return np.array([row + [-1] * (width - len(row)) for row in rows], np.int32)


def rows_in_form(matrix: np.ndarray, form: str, repeat: bool) -> Any:
    """Returns what drivers accept as the items of each row: lists, a dict, an array."""
    padded = id_rows(matrix, repeat=repeat)
    if form == "padded":
        return np.pad(padded, ((0, 0), (0, 1)), constant_values=-1)
    # A list that repeats an id has padding too, or might be taken for a dense row.
    rows = [row[row >= 0].tolist() + [-1] * repeat for row in padded]
    if form == "dict":
        return {index: row for index, row in enumerate(rows) if row}
    return rows


def vectors(
    shape: Rng, data: Rng, number: int, items: int, options: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Draws queries and items, among them equal ones; sets `dtype` and `similarity`.

    Whole numbers have exact products, in which many tie. Real vectors have none by
    chance, so that only equal vectors tie.
    """
    similarity = options.get("similarity", "dot")
    is_real = similarity == "cosine" or chance(shape, 0.4)
    dims = 40 if is_real else 4
    if similarity == "hamming":
        bits = data.integers(0, 4, (number + items, 5)).astype(np.uint8)
        return {"queries": bits[:number], "items": bits[number:]}
    if is_real:
        bases = data.normal(size=(max(items // 2, 1), dims))
        repeats = data.integers(0, len(bases), items)
        rows = np.concatenate([data.normal(size=(number, dims)), bases[repeats]])
        if similarity == "cosine":
            rows = rows * pick(data, (1.0, 1.0, 1e-25, 1e20))
        dtype = "float32"
    else:
        rows = data.integers(-2, 3, (number + items, dims))
        dtype = pick(shape, ("float32", "float32", "float16", "bfloat16", "int32"))
    rows = rows.astype(jnp.dtype(dtype))
    return {"queries": rows[:number], "items": rows[number:]}


def scores_of(queries: np.ndarray, items: np.ndarray, similarity: str) -> np.ndarray:
    """Returns the scores of all pairs in float64.

    Raises:
        InvalidCase: if scores of unequal items nearly tie, so that float32 may not know.
    """
    if similarity == "hamming":
        bits = np.unpackbits(queries[:, None] ^ items[None], axis=-1)
        return -bits.sum(-1).astype(np.float64)
    q, x = queries.astype(np.float64)[:, None], items.astype(np.float64)[None]
    if similarity == "l2":
        scores = -((q - x) ** 2).sum(-1)
    elif similarity == "l1":
        scores = -np.abs(q - x).sum(-1)
    else:
        if similarity == "cosine":
            q, x = (v / np.maximum(_length(v), 1e-300) for v in (q, x))
        scores = (q * x).sum(-1)
    sizes = np.abs(scores[np.isfinite(scores) & (scores != 0)])
    if similarity != "cosine" and ((sizes < 1e-30) | (sizes > 1e30)).any():
        raise InvalidCase("scores that float32 may not hold")
    is_whole = all((v == np.round(v)).all() for v in (queries, items))
    if similarity == "cosine" or not is_whole:
        for row in scores:
            values = np.unique(row[~np.isnan(row)])
            gaps = np.diff(values)
            if gaps.size and gaps.min() < 2e-5 * np.abs(values).max():
                raise InvalidCase("unequal items nearly tie")
    return scores


def _length(v: np.ndarray) -> np.ndarray:
    return np.sqrt((v**2).sum(-1, keepdims=True))


def is_ranked_by_relevant(case: Case) -> bool:
    """True if all metrics of the case have cutoffs."""
    return all(cut.ks for cut in case.metrics)
