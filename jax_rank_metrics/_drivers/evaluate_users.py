"""`jrm.evaluate_users`: evaluates a recommender for all of its users, in batches."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import names
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import (
    Batch,
    QueryParts,
    Work,
    batch_size_for,
    make_batches,
    query_batch,
)
from jax_rank_metrics._drivers.checkpoints import Checkpoint
from jax_rank_metrics._drivers.devices import Array, read_devices
from jax_rank_metrics._drivers.engine import Job, Progress, run
from jax_rank_metrics._drivers.evaluation import Evaluation
from jax_rank_metrics._drivers.interactions import (
    Interactions,
    RawInteractions,
    SparseRows,
    check_users,
    read_users,
)
from jax_rank_metrics._drivers.model import (
    Recommender,
    global_arguments,
    read_catalog,
    read_model,
)
from jax_rank_metrics._drivers.nan_causes import nan_message
from jax_rank_metrics._drivers.plan import Plan, make_plan, read_groups
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._states.exposure import Exposure


@dataclasses.dataclass(frozen=True, repr=False)
class UserEvaluation(Evaluation):
    """The result of `evaluate_users`: means, values of every user, and recommendations.

    It is an `Evaluation`, whose queries are users, with two attributes more.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all users for each of these names, of NumPy arrays on the
            host, for `compare` and `plots`. Its `undefined` is that of the call.
        items: `[users, k]` int32, the items recommended to each user, best first; −1
            where there are no more.
        undefined: What a user counts for where a metric is undefined.
        exposure: How often each item was recommended; see `Exposure`.
        users: `[users]` int32, the users evaluated: rows of the model.
    """

    _unit: ClassVar[str] = "users"

    exposure: Exposure
    users: np.ndarray

    @property
    def list_ids(self) -> np.ndarray:
        """The users, by whom `compare` pairs the values of two models."""
        return self.users

    def _means(self) -> list[str]:
        return [*super()._means(), f"coverage {self.exposure.coverage():.3f}"]


def evaluate_users(
    metrics: names.Metrics,
    model: Any,
    relevant: RawInteractions,
    *,
    seen: RawInteractions | None = None,
    users: _types.ArrayLike | None = None,
    k: int | None = None,
    batch_size: int = 1024,
    item_mask: _types.ItemMask | None = None,
    embeddings: _types.Embeddings | None = None,
    item_groups: _types.ItemGroups | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    undefined: _types.Undefined = "zero",
    block_size: int = 4096,
    mesh: Mesh | None = None,
    queries_axis: _types.AxisNames | None = None,
    items_axis: _types.AxisNames | None = None,
    progress: bool | Progress = False,
    on_batch: Callable[[Checkpoint], object] | None = None,
    resume_from: Checkpoint | None = None,
) -> UserEvaluation:
    """Evaluates a recommender for all its users, in batches, over the whole catalogue.

    Every item that a user has not seen is ranked, for every user; none is sampled. With
    embeddings, items are scored a block at a time as by `rank_catalog`, and the scores of
    all users and items never exist at once. Metrics with a cutoff read one top-k. Those
    without, such as "map", find the places of relevant items in another pass over the
    scores of a batch: see `rank_scores` for what that takes.

    **Users without a relevant item** count 0 in most metrics, as everywhere in this
    package, and the states say how many there are. Many tools leave them out, which
    `undefined="skip"` or `users=` does here too. With "skip", a user for whom none of the
    metrics is defined does not count in anything: not in the exposure, popularity,
    novelty and diversity either, though `items` has the recommendations. Seen items are
    excluded, so a relevant item that is also seen cannot be found, and is not counted.
    There is a warning where that leaves a user no relevant item, where a metric is
    undefined for all users, and where 0 for undefined users is its best value.

    Call it outside of `jax.jit`. Batches have few shapes, so that data of any size share
    programs: 32 users, 256 or `batch_size`, and 1, 16, 64, 256, … ids for each. Users
    with many ids share batches where that saves time. One device does the work: that of
    `items`, or the default; or with `mesh` all devices of all processes.

    Args:
        metrics: As for `evaluate`. Relevant items have the label 1, or the value in a
            sparse `relevant`. Of columns, `groups` are supported, as `item_groups`.
        model: One of three forms. A pair `(queries, items)` of embeddings `[users, dims]`
            and `[items, dims]`, scored by their product. Scores `[users, items]`, an
            array of NumPy or JAX. Or a function of users, `[batch]` int32 of NumPy, that
            returns their scores `[batch, items]`, of JAX or NumPy: it is called as it
            is, so jit it yourself, or let it run any other library. Its batches have one
            size: the last is filled up with the last user. All become float32 unless x64
            is on: scores that are equal in float32 tie. NaN raises, except for seen and
            masked items.
        relevant: The items to be found, such as those held out: a list of ids for each
            user of the model; a dict or a pandas Series from users to such lists; a frame
            of pandas or polars with the columns `user` (or `query`), `item` and perhaps
            `label`, a row for each pair; or a scipy sparse matrix `[users, items]` of
            labels. Lists and frames may repeat an id, and negative ids are padding. A user
            that a dict or a frame lacks has no items.
        seen: The items not to be recommended, such as those trained on, in the same
            forms; in a matrix, values above 0 are seen; a frame has no labels. None
            excludes nothing.
        users: `[users]` integers, the users to evaluate: rows of the model, of `relevant`
            and of `seen`. None is all users of `relevant`: of a frame, in ascending order.
        k: How many items to recommend to each user. None is the deepest cutoff of the
            metrics.
        batch_size: How many users are evaluated at a time; fewer where they would fill
            less than four batches.
        item_mask: `[items]` bool, the items that may be recommended, and found.
        embeddings: `[items, features]`, in which the diversity of the recommended items
            is measured.
        item_groups: `[items, groups]`, how much each item belongs to each group, for
            metrics that read groups; see `rank_catalog`. Every device has all of them.
        ties: See `rank`.
        key: See `rank`.
        undefined: See `PerList.mean`.
        block_size: See `rank_catalog`.
        mesh: The devices that share the work; see `jax.make_mesh`. Then `model` and
            `item_mask` may hold global arrays, while all else is the same on every
            process, and so is a NumPy array. Each device takes the users of its own part
            of a global array: embeddings and scores stay where they are. None is one
            device, or the mesh over which the arrays of the model are sharded.
        queries_axis: The mesh axis or axes that divide users. None divides none; without
            either axis, they are those along which the model is sharded.
        items_axis: The mesh axis or axes that divide items. Ids count through all parts.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of users done and the number of all users.
        on_batch: Is called after each batch with what is done so far: a dict of arrays,
            such as orbax and pickle save. Its "lists" have the weight 0 where users are
            not done, so that `mean` makes the states so far.
        resume_from: The dict from which to go on, as it was restored. The call must have
            the same arguments; the result is the same bit for bit. It raises where shapes,
            dtypes, values or names of functions differ (of an array beyond 256 MiB, rows at
            equal distances are read), and where the last batch done has other values when
            it is measured again. That batch alone shows changes of what cannot be read:
            code and weights behind a function, iterators, and shards of other processes.

    Returns:
        A `UserEvaluation`. Beside the metrics asked for, with `seen` it holds
        "popularity@k" and "novelty@k" by how many users have seen each item (all users
        of `seen`), and with `embeddings` "intra_list_diversity@k".

    Raises:
        ValueError: as `rank_catalog`; if there are no users; if a user or an item is not
            of the model; if `relevant` or `seen` has another number of rows than the
            model has users, or more columns than it has items; if scores are NaN; if
            a mesh, its axes and shardings do not agree; if `resume_from` is of another
            call or damaged; if no metric has a cutoff and k is None.
        TypeError: if `relevant`, `seen`, `users` or `model` has none of these forms; if
            lists of ids look like a dense matrix of labels.
        ModuleNotFoundError: if `progress` is True and rich is not installed.

    References:
        Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020, on why
        none is sampled.

    >>> users, items = np.eye(2), np.array([[3.0, 0], [2, 2], [1, 0], [0, 4]])
    >>> evaluation = evaluate_users(
    ...     ("recall@1,2", "mrr"), (users, items), [[2], [1]], seen=[[0], []]
    ... )
    >>> evaluation.items.tolist()
    [[1, 2], [3, 1]]
    >>> evaluation.states["recall@1,2"].compute().tolist()
    [0.0, 1.0]
    >>> evaluation.lists["mrr"].values.tolist()
    [0.5, 0.5]
    >>> evaluation.exposure.counts.tolist()
    [0, 2, 1, 1]
    >>> cold = evaluation.by(["warm", "cold"])["cold"]
    >>> cold["mrr"].compute().item(), int(cold["mrr"].lists)
    (0.5, 1)
    """
    bounds = names.bind_all(metrics)
    _inputs.option("undefined", undefined, _types.Undefined)
    policy, key = resolve(ties, key)
    plan = make_plan(bounds, k, block_size, policy.name)
    groups = read_groups(item_groups, bounds, None)

    devices = read_devices(mesh, queries_axis, items_axis, global_arguments(model))
    recommender = read_model(model, devices)
    relevant = Interactions.of("relevant", relevant)
    seen = None if seen is None else Interactions.of("seen", seen)
    user_ids = read_users(users, relevant)
    check_users(user_ids, users is not None, relevant, seen, recommender.num_users)
    lengths = np.zeros((user_ids.size, 2), np.int64)  # of seen and of relevant ids
    relevant_rows, seen_rows = relevant.rows(user_ids), None
    lengths[:, 1] = np.diff(relevant_rows.indptr)
    if seen is not None:
        seen_rows = seen.rows(user_ids)
        lengths[:, 0] = np.diff(seen_rows.indptr)
        if text := remark_on_seen(relevant_rows, seen_rows, user_ids):
            warnings.warn(text, stacklevel=2)

    item_embeddings = recommender.item_embeddings
    max_size = _inputs.positive_integer("batch_size", batch_size)
    size = devices.batch_size(batch_size_for(user_ids.size, max_size))
    work = _work(plan, item_embeddings, relevant_rows)
    parts = QueryParts.over(devices, user_ids, recommender.table)
    batches = list(make_batches(lengths, size, work, parts))

    # The scores of the first batch say how many items a function knows.
    rows_of = _ModelRows(recommender, user_ids)
    num_items = recommender.num_items or rows_of(0, batches[0]).shape[-1]
    relevant.check_items(relevant_rows, user_ids, num_items)
    catalog = read_catalog(num_items, item_embeddings, item_mask, embeddings)
    features, counts = catalog.features, None
    if seen is not None:
        counts = seen.count_items(seen_rows, user_ids, num_items)
        catalog = catalog._replace(counts=jnp.asarray(counts))
    catalog = catalog._replace(groups=read_groups(groups, bounds, num_items))
    catalog = step.put_catalog(devices, catalog, num_items)

    def arrays(number: int, batch: Batch) -> step.QueryBatch:
        rows = rows_of(number, batch)
        return query_batch(number, batch, rows, relevant_rows, seen_rows, key)

    job = Job(
        plan,
        devices,
        parts,
        batches,
        arrays,
        step.program_of(devices, plan, catalog),
        undefined,
        inputs={
            "model": (model if callable(model) else recommender.table, item_embeddings),
            "relevant": relevant_rows,
            "seen": (seen_rows, counts),
            "users": user_ids,
            "item_mask": item_mask,
            "embeddings": features,
            "item_groups": groups,
            "ties": policy.name,
            "key": key,
        },
        nan_message=lambda index: nan_message(
            f"the scores of model for user {user_ids[index]}",
            recommender.vectors(int(user_ids[index]), catalog, num_items),
            recommender.nan_cure,
        ),
        query_name=lambda index: f"user {user_ids[index]}",
        unit="users",
        why_undefined="nobody has a relevant item that may be recommended (relevant holds "
        f"{relevant_rows.nnz} entries, and the largest label is "
        f"{relevant_rows.data.max(initial=0):g})",
        added_names=[*step.measures_of_ids(plan, catalog)],
        num_items=num_items,
    )
    result = run(job, progress, on_batch, resume_from)
    assert result.exposure is not None  # the job asks for it
    return UserEvaluation(
        result.states,
        result.lists,
        result.items,
        undefined,
        result.exposure,
        user_ids,
        _parts=result.parts,
    )


def _work(
    plan: Plan, item_embeddings: jax.Array | None, relevant_rows: SparseRows
) -> Work:
    """Returns what is done for each user."""
    counts_places = bool(plan.whole_list_metrics)
    if item_embeddings is None:
        # The ids tell how many items there are at least; a function has not said it yet.
        return Work(relevant_rows.shape[1], 1, counts_places)
    num_items = len(item_embeddings)
    return Work(num_items, -(-num_items // plan.block_size), counts_places)


class _ModelRows:
    """The rows of the model for the users of a batch, `[size, …]`, by its number.

    Padding holds the last of all users. The rows of the first batch are kept until they
    are asked for again: they say how many items there are.
    """

    def __init__(self, recommender: Recommender, user_ids: np.ndarray) -> None:
        self._recommender = recommender
        self._user_ids = user_ids
        self._first: Array | None = None

    def __call__(self, number: int, batch: Batch) -> Array:
        if number == 0 and self._first is not None:
            rows, self._first = self._first, None
            return rows
        rows = self._recommender.rows(self._user_ids[batch.indices])
        if number == 0:
            self._first = rows
        return rows


def remark_on_seen(
    relevant_rows: SparseRows, seen_rows: SparseRows, user_ids: np.ndarray
) -> str | None:
    """Returns a warning about users who have seen all of their relevant items, or None."""
    num_columns = max(relevant_rows.shape[1], seen_rows.shape[1])
    is_relevant = _resized(relevant_rows, num_columns) > 0
    is_seen = _resized(seen_rows, num_columns) > 0
    relevant_counts = np.diff(is_relevant.indptr)
    unseen_counts = relevant_counts - np.diff((is_relevant * is_seen).tocsr().indptr)
    has_seen_all = (relevant_counts > 0) & (unseen_counts == 0)
    if not has_seen_all.any():
        return None
    return (
        f"every relevant item was seen by {np.count_nonzero(has_seen_all)} of "
        f"{user_ids.size} users, such as user {user_ids[np.argmax(has_seen_all)]}, for "
        "whom metrics are undefined; leave the items to be found out of seen"
    )


def _resized(rows: SparseRows, num_columns: int) -> SparseRows:
    rows = rows.copy()
    rows.resize((rows.shape[0], num_columns))
    return rows
