"""`jrm.evaluate_users`: a recommender, for all its users, in batches."""

import collections
import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import names
from jax_rank_metrics._formulas.recommended import exposure
from jax_rank_metrics._inputs.pad import next_size
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._recommender import interactions, step
from jax_rank_metrics._recommender.batches import Batch, batches, padded
from jax_rank_metrics._recommender.found import Collected, UserEvaluation
from jax_rank_metrics._recommender.model import read_catalog, read_model
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import means_of

T = TypeVar("T")

# Batches that are on their way while the host prepares the next one.
AHEAD = 2


def evaluate_users(
    metrics: names.Metrics,
    model: Any,
    relevant: Any,
    *,
    seen: Any = None,
    users: Any = None,
    k: int | None = None,
    batch_size: int = 1024,
    item_mask: _types.ItemMask | None = None,
    embeddings: _types.Embeddings | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    undefined: _types.Undefined = "zero",
    block_size: int = 4096,
    progress: bool | Callable[[int, int], Any] = False,
) -> UserEvaluation:
    """Evaluates a recommender for all its users, in batches, over the whole catalogue.

    Every item that a user has not seen is ranked, for every user; none is sampled. With
    embeddings, items are scored a block at a time as by `rank_catalog`, and scores of
    all users and items never exist. Metrics at a cutoff read one top-k. Those without,
    such as "map", count places in two more passes over the scores of a batch.

    **Users without anything relevant** count 0 in most metrics, as everywhere in this
    package, and the states tell how many there are. Many tools leave them out:
    `undefined="skip"`, or `users=`, does that. Nor can be found what a user has seen: a
    relevant item that is also seen is not in the lists. Where that leaves a user
    nothing, there is a warning.

    Runs as it is called, outside of `jax.jit`. All batches have one shape, but for the
    ids of users with very many: these share batches of their own where that saves more
    than the program costs. One device does the work: that of `items`, or the default.

    Args:
        metrics: As for `evaluate`. Relevant items have the label 1, or what a sparse
            `relevant` holds. Columns are not supported.
        model: A pair `(queries, items)` of embeddings `[users, dims]` and
            `[items, dims]`, scored by their product; or scores `[users, items]`, an
            array of NumPy or JAX; or a function that takes users, `[batch]` int32 of
            NumPy, and gives their scores `[batch, items]`, of JAX or NumPy. It is called
            as it is: jit it yourself, and it may as well run anything else. The last
            batch is filled up with its last user. All become float32 unless x64 is on:
            scores that float32 does not tell apart tie.
        relevant: What is to be found, such as what was held out: a list of ids for each
            user, a dict from users to such lists, or a scipy sparse matrix
            `[users, items]` whose values are labels. Lists may repeat an id, and ids
            below 0 are padding. A user that a dict lacks has none.
        seen: The same kinds, of what is not to be recommended, such as what was trained
            on; values above 0 are seen. None leaves nothing out.
        users: `[users]` integers, whom to evaluate: rows of the model, of `relevant` and
            of `seen`. None is all that `relevant` has.
        k: How many items to recommend to each user. None is the deepest cutoff of
            the metrics.
        batch_size: How many users go through at a time.
        item_mask: `[items]` bool, items that may be recommended, and found.
        embeddings: `[items, features]`, for the diversity of what is recommended.
        ties: See `rank`.
        key: See `rank`.
        undefined: See `PerList.mean`.
        block_size: See `rank_catalog`.
        progress: True shows a bar of rich; or a function of how many users are done, and
            how many there are.

    Returns:
        A `UserEvaluation`. Beside the metrics asked for, with `seen` it holds
        "popularity@k" and "novelty@k" by how many users have seen each item (all users
        of `seen`), and with `embeddings` "intra_list_diversity@k".

    Raises:
        ValueError: as `rank_catalog`; if there are no users, or a user or an item is not
            of the model; if no metric has a cutoff and k is None.
        TypeError: if `relevant`, `seen`, `users` or `model` is nothing of the above.
        ModuleNotFoundError: if `progress` is True and rich is not installed.

    References:
        Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020, on why
        none is sampled.

    >>> users, items = np.eye(2), np.array([[3.0, 0], [2, 2], [1, 0], [0, 4]])
    >>> found = evaluate_users(
    ...     ("recall@1,2", "mrr"), (users, items), [[2], [1]], seen=[[0], []]
    ... )
    >>> found.items.tolist()
    [[1, 2], [3, 1]]
    >>> found.states["recall@1,2"].compute().tolist(), found.lists["mrr"].values.tolist()
    ([0.0, 1.0], [0.5, 0.5])
    >>> found.exposure.counts.tolist()
    [0, 2, 1, 1]
    >>> cold = found.by(["warm", "cold"])["cold"]
    >>> cold["mrr"].compute().item(), int(cold["mrr"].lists)
    (0.5, 1)
    """
    bounds = names.bind_all(metrics)
    _inputs.option("undefined", undefined, _types.Undefined)
    policy, key = resolve(ties, key)
    plan = step.Plan(bounds, 1, _inputs.count("block_size", block_size), policy.name)
    if k is None and not plan.cut:
        raise ValueError("no metric has a cutoff; pass k, how many items to recommend")
    plan = plan._replace(k=plan.depth if k is None else _inputs.count("k", k))

    relevant, seen = interactions.plain(relevant), interactions.plain(seen)
    whom = interactions.users_of(users, relevant)
    to_find = interactions.rows_of("relevant", relevant, whom)
    hidden = None if seen is None else interactions.rows_of("seen", seen, whom)
    if hidden is not None and (text := interactions.remark(to_find, hidden, whom)):
        warnings.warn(text, stacklevel=2)

    lengths = np.zeros((whom.size, 2), np.int64)
    lengths[:, 1] = np.diff(to_find.indptr)
    if hidden is not None:
        lengths[:, 0] = np.diff(hidden.indptr)
    size = min(_inputs.count("batch_size", batch_size), next_size(whom.size))
    rows_of, items, num_users = read_model(model, whom)
    if num_users is not None:
        interactions.fits_users("relevant", relevant, num_users, users is not None)
        if seen is not None:
            interactions.fits_users("seen", seen, num_users, users is not None)
    blocks = 1 if items is None else -(-len(items) // plan.block_size)
    parts = list(batches(lengths, size, blocks))

    def scored() -> Iterator[tuple[Batch, Any]]:
        for part in parts:
            those = np.pad(whom[part.rows], (0, size - part.rows.size), mode="edge")
            yield part, rows_of(those)

    # The scores of the first batch tell how many items a function knows.
    given = scored()
    first = next(given)
    num_items = first[1].shape[-1] if items is None else len(items)
    catalog = read_catalog(num_items, items, item_mask, embeddings)
    interactions.fits_items("relevant", relevant, to_find, whom, num_items)
    if hidden is not None:
        counts = interactions.item_counts("seen", seen, hidden, whom, num_items)
        catalog = catalog._replace(counts=jnp.asarray(counts))

    own_names = step.names(plan, catalog)
    if len({*own_names}) < len(own_names):
        twice = next(name for name in own_names if own_names.count(name) > 1)
        raise ValueError(
            f"{twice!r} is among metrics, and a name of what is added; name it differently"
        )

    def measured() -> Iterator[tuple[np.ndarray, Any]]:
        for number, (part, rows) in enumerate(itertools.chain([first], given)):
            seen_ids = None
            if hidden is not None:
                seen_ids, _ = padded(hidden, part.rows, size, part.widths[0])
            batch = step.Users(
                rows,
                *padded(to_find, part.rows, size, part.widths[1]),
                seen_ids,
                weights=(np.arange(size) < part.rows.size).astype(np.float32),
                key=key if key is None else jax.random.fold_in(key, number),
            )
            yield part.rows, step.measure_users(plan, catalog, batch)

    result = Collected(whom, plan.k)
    with _reporting(progress) as report:
        for rows, found in _behind(measured(), AHEAD):
            result.put(rows, found)
            report(result.done, whom.size)
    never = [
        bound.name
        for bound, lists in zip(bounds, result.lists, strict=False)
        if not lists.defined.any()
    ]
    if never:
        most = to_find.data.max(initial=0)
        warnings.warn(
            f"{', '.join(never)} undefined for every one of {whom.size} users: nobody has "
            "a relevant item that may be recommended (relevant holds "
            f"{to_find.nnz} entries, the largest label is {most:g})",
            stacklevel=2,
        )
    # The values remember it, so that `compare` counts undefined users as the means do.
    values = [dataclasses.replace(lists, undefined=undefined) for lists in result.lists]
    kinds = tuple(one.state for one in bounds)
    kinds += (Mean,) * (len(own_names) - len(kinds))
    states = means_of(tuple(values), undefined, kinds)
    return UserEvaluation(
        dict(zip(own_names, states, strict=True)),
        dict(zip(own_names, values, strict=True)),
        result.items,
        exposure(result.items, num_items),
        whom,
        undefined,
    )


def _behind(found: Iterator[T], number: int) -> Iterator[T]:
    """The same, but each only when as many more have been started."""
    waiting: collections.deque[T] = collections.deque()
    for one in found:
        waiting.append(one)
        if len(waiting) > number:
            yield waiting.popleft()
    yield from waiting


@contextlib.contextmanager
def _reporting(progress: Any) -> Iterator[Callable[[int, int], Any]]:
    """What is told how many users are done, and of how many."""
    if progress is True:
        bars = import_optional("rich.progress", "progress=True", "demo")
        with bars.Progress(*bars.Progress.get_default_columns()) as bar:
            task = bar.add_task("users")
            yield lambda done, total: bar.update(task, completed=done, total=total)
    elif callable(progress):
        yield progress
    elif progress is False:
        yield lambda done, total: None
    else:
        raise TypeError(
            f"progress is {progress!r}; pass True, or a function of how many users are "
            "done and how many there are"
        )
