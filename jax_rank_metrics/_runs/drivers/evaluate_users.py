"""`jrm.evaluate_users`: evaluates a recommender for all of its users, in batches."""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from jax_rank_metrics._engine.calls import binding, signatures
from jax_rank_metrics._engine.items import COUNTS
from jax_rank_metrics._engine.states.exposure import Exposure
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._runs.drivers import engine, programs, remarks
from jax_rank_metrics._runs.drivers.devices import read_devices
from jax_rank_metrics._runs.drivers.interactions import (
    USER,
    RawInteractions,
    Vocabulary,
    read_interactions,
    read_users,
)
from jax_rank_metrics._runs.drivers.jobs import (
    EvaluationJob,
    make_options,
    read_item_columns,
)
from jax_rank_metrics._runs.drivers.judgements import Judgements
from jax_rank_metrics._runs.drivers.scorers import model_arguments, read_model
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._values import merging


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class UserEvaluation(Evaluation):
    """The result of `evaluate_users`: means, values of every user, and recommendations.

    It is an `Evaluation` whose queries are users, with a few more attributes. Its
    `exposure` is counted when it is read.

    Attributes:
        states: A dict from the name of each metric to its state, as from `evaluate`.
        lists: A dict from the same names to a `PerList` of all users, of NumPy arrays on
            the host, for `compare` and `plots`. It has the `undefined` of the call.
        retrieved_ids: `[users, k]`, the ids of the items recommended to each user, best
            first, int32 unless `item_ids` were passed. If a user has fewer items, the row
            ends with −1, or with None if ids are strings.
        undefined: How a user counts in means if a metric is undefined; see `PerList.mean`.
        users: `[users]`, the users evaluated: rows of the model, int32, or their ids.
        shown_rows: `[users, k]` int32, the rows of the items that `exposure` counts: the
            rows of `retrieved_ids`, but −1 for users who do not count. None with
            `keep_lists=False`.
        num_items: How many items the catalogue has.
        total_exposure: The exposure with `keep_lists=False`; otherwise None.
    """

    _unit, _units = "user", "users"
    _of_queries = (*Evaluation._of_queries, "users", "shown_rows")

    users: np.ndarray
    shown_rows: np.ndarray | None = dataclasses.field(default=None, kw_only=True)
    num_items: int = dataclasses.field(default=0, kw_only=True)
    total_exposure: Exposure | None = dataclasses.field(default=None, kw_only=True)

    @functools.cached_property
    def exposure(self) -> Exposure:
        """Counts how often each item was recommended, by row; see `Exposure`."""
        if self.total_exposure is not None:
            return self.total_exposure
        assert self.shown_rows is not None
        return engine.exposure_of(self.shown_rows, self.num_items)

    @property
    def list_ids(self) -> np.ndarray:
        """The users: `compare` pairs the values of two models for the same user."""
        return self.users

    def _shared(self) -> dict[str, Any]:
        return {**super()._shared(), "numbers of items": self.num_items}

    def _joined(self, parts: Sequence[Any]) -> Any:
        joined = super()._joined(parts)
        if joined.total_exposure is None:
            return joined
        total = merging.merge(*(part.total_exposure for part in parts))
        return dataclasses.replace(joined, total_exposure=total)

    def _means(self) -> list[str]:
        return [*super()._means(), f"coverage {self.exposure.coverage():.3f}"]


def evaluate_users(
    metrics: binding.Metrics,
    model: Any,
    relevant: RawInteractions,
    *,
    seen: RawInteractions | None = None,
    candidates: RawInteractions | None = None,
    users: types.ArrayLike | Sequence[Hashable] | None = None,
    user_ids: types.RowIds | None = None,
    item_ids: types.RowIds | None = None,
    unknown_items: types.UnknownItems = "error",
    k: int | None = None,
    batch_size: int = 1024,
    item_mask: types.ItemMask | None = None,
    item_columns: types.ItemColumns | None = None,
    ties: types.Ties | None = None,
    key: types.Key | None = None,
    list_weights: types.ListWeights | None = None,
    undefined: types.Undefined = "zero",
    block_size: int = 4096,
    mesh: Mesh | None = None,
    queries_axis: types.AxisNames | None = None,
    items_axis: types.AxisNames | None = None,
    keep_lists: bool = True,
    progress: bool | engine.Progress = False,
) -> UserEvaluation:
    """Evaluates a recommender for all its users, in batches, over the whole catalogue.

    For every user, all items that the user has not seen are ranked. Items are not sampled,
    unless you pass a sample as `candidates`. With embeddings, items are scored a block at
    a time, as `rank_catalog` does, so the scores of all users and items never exist at
    once. Metrics with a cutoff share one top-k. Metrics without a cutoff, such as "map",
    find the ranks of relevant items in another pass over the scores of a batch; see
    `rank_scores` for the cost of this pass.

    **Users without a relevant item** count 0 in most metrics, as everywhere in this
    package, and the states say how many there are. Many tools leave them out; here,
    `undefined="skip"` or `users=` does. With "skip", a user for whom no metric that reads
    labels is defined counts in no result, not even in the exposure, popularity, novelty and
    diversity, though `retrieved_ids` has the recommendations. Seen items are excluded, so a
    relevant item that is also seen cannot be found, and is not counted.
    The call warns if this leaves a user no relevant item, if a metric is undefined for all
    users, and if undefined users count 0 although 0 is the metric's best value. It also
    warns if a matrix or a function of scores ranks the relevant items of the first users
    last, as distances do, or if the scores of a matrix differ only in float64.

    Call it outside of `jax.jit`. Batches have few shapes, so that data of any size share
    programs: 32, 256 or `batch_size` users, and 1, 16, 64, 256, … ids for each user. Users
    with many ids share batches if this saves time. One device does the work, the device of
    `items` or the default one; with `mesh`, all devices of all processes do.

    Args:
        metrics: As for `evaluate`. Relevant items have the label 1, or the value in a
            sparse `relevant`.
        model: One of three forms. A pair `(queries, items)` of embeddings `[users, dims]`
            and `[items, dims]`, scored by their product. Scores `[users, items]`, an
            array of NumPy or JAX. Or a function of users, `[batch]` int32 of NumPy, that
            returns their scores `[batch, items]`, of JAX or NumPy. The function is not
            traced, so jit it yourself, or let it run any other library. Its batches have
            one size, or few sizes with `candidates`; the last is filled up with the last
            user. Embeddings and scores become float32 unless x64 is on, so scores that are
            equal in float32 tie. NaN raises, except for seen and masked items. An item with
            a score of −∞ is not recommended, and not found; if it is relevant, it counts as
            missed.
        relevant: The items to be found, such as held-out items. For each user of the model,
            a list of ids, a dict from ids to labels, or a list of pairs (id, label). A dict
            or a pandas Series may map users to such lists or dicts. Or a frame of pandas or
            polars with the columns `user` (or `query`), `item` and perhaps `label`, a row
            for each pair of user and item; or a scipy sparse matrix `[users, items]` of
            labels. Lists and frames may repeat an id, and −1 is padding, unless it is an
            id. A user who is missing from a dict or a frame has no items. A user with None
            or NaN instead of a list has no items either, but the call warns.
        seen: The items not to recommend, such as the items trained on, in the forms of
            `relevant`; in a matrix, values above 0 are seen; a frame has no labels. None
            excludes nothing.
        candidates: The items that have a rank, for each user, in the forms of `seen`: for
            example an array `[users, n]` of the relevant item and sampled ones, or the
            items that a first stage found. As in `evaluate_embeddings`, relevant items
            that are not candidates count as missed, and seen items are removed from the
            candidates. A user without candidates finds nothing. None ranks every item.
        users: `[users]` integers, the users to evaluate, each once: rows of the model, of
            `relevant` and of `seen`. None takes all users of `relevant`: the rows of lists,
            the keys of a dict, or the users with a pair in a frame or a matrix. They are in
            ascending order, except that the keys of a dict keep their order.
        user_ids: `[users]`, ids of any kind; the id at index i names row i of the model.
            Dicts, frames, Series, `users` and the result then hold these ids. A function is
            still called with rows.
        item_ids: `[items]`, ids of any kind; the id at index i names item i. Lists of ids
            then hold these ids, too.
        unknown_items: How to treat ids that are not in `item_ids`, such as items that are
            new since the model was trained: "error" raises; "miss" counts a relevant one
            as an item that was not found; "drop" leaves them out.
        k: How many items to recommend to each user. None takes the deepest cutoff of the
            metrics.
        batch_size: How many users are evaluated at a time; fewer if the users would fill
            less than four batches, or need too much memory.
        item_mask: `[items]` bool, the items that may be recommended, and found. Like every
            argument that describes users or items, it may be a Series, a frame or a dict
            keyed by id.
        item_columns: A dict from names, such as "groups" or "embeddings", to columns of all
            items, `[items, …]`, for metrics that read them; see `rank_catalog`. Every
            device holds all of a column with up to 32 numbers an item, and its own part of
            a wider column. If `counts` are not passed, they are the number of users who
            have seen each item, among all users of `seen`.
        ties: See `rank`. By default, without a key, a hash of the user's row and the item
            orders tied items. So different users are shown different tied items, which do
            not depend on the size of batches, and a constant scorer exposes all items.
        key: See `rank`.
        list_weights: `[users]`, the weight of each evaluated user in means, at least 0; or
            a Series, a dict or a frame keyed by user. The exposure counts all users
            equally.
        undefined: See `PerList.mean`.
        block_size: See `rank_catalog`.
        mesh: The devices that share the work; see `jax.make_mesh`. Then `model` and
            `item_mask` may hold global arrays. All other arguments, and all NumPy arrays,
            must be the same on every process. Each device takes the users of its own part
            of a global array, so embeddings and scores stay where they are. None takes one
            device, or the mesh over which the arrays of the model are sharded.
        queries_axis: The mesh axis or axes that divide users. None divides no users; if
            both axes are None, they are read from the sharding of the model.
        items_axis: The mesh axis or axes that divide items. Ids number the items of all
            parts in order.
        keep_lists: True to keep the values of every user and the items recommended to
            each. Otherwise only the states and the exposure are returned, whose memory
            does not grow with the number of users.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of users done and the number of all users.

    Returns:
        A `UserEvaluation`.

    Raises:
        ValueError: as `rank_catalog`; if there are no users; if a user or an item is not
            in the model; if the model is a function, and `seen` or `candidates` names only
            users that are not evaluated; if `relevant` or `seen` has another number of rows
            than the model has users, or more columns than the model has items; if scores
            are NaN; if a mesh, its axes and shardings do not agree; if no metric has a
            cutoff and k is None.
        TypeError: if `relevant`, `seen`, `users` or `model` has another form; if lists of
            ids look like a dense matrix of labels.
        ModuleNotFoundError: if `progress` is True and rich is not installed.

    References:
        Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020, on why
        items are not sampled.

    >>> users, items = np.eye(2), np.array([[3.0, 0], [2, 2], [1, 0], [0, 4]])
    >>> evaluation = evaluate_users(
    ...     ("recall@1,2", "mrr"), (users, items), [[2], [1]], seen=[[0], []]
    ... )
    >>> evaluation.retrieved_ids.tolist()
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
    inputs.option("undefined", undefined, types.Undefined)
    options, key = make_options(metrics, k, block_size, ties, key, skips_inf=True)
    devices = read_devices(mesh, queries_axis, items_axis, model_arguments(model))
    item_vocabulary = Vocabulary.of("item_ids", item_ids, unknown_items)
    ids = Vocabulary.of("user_ids", user_ids), item_vocabulary
    scorer = read_model(model, devices, ids)
    interactions = read_interactions(
        USER, ids, relevant=relevant, seen=seen, candidates=candidates
    )
    if scorer.num_rows is not None:
        ids[0].check_size(scorer.num_rows)
    # Users are rows of the model; `users` chooses some of them, in any order. From here on,
    # query i is the user rows[i], and row i of all arrays belongs to it.
    rows = read_users(users, interactions, scorer.num_rows, ids[0])
    names_of_users = ids[0].of_rows(rows)
    rows_of = {name: pairs.rows(rows) for name, pairs in interactions.items()}
    missed_from = item_vocabulary.first_unknown
    options = options._replace(missed_from=missed_from)
    judgements = Judgements.of(**rows_of, num_items=missed_from)
    texts = remarks.on_excluded(judgements, USER, names_of_users)
    choices = signatures.chosen(
        pool=candidates, seen=seen, items=item_mask, weights=list_weights
    )
    choices |= {"unknown": unknown_items}
    job = EvaluationJob(
        options, scorer, judgements, rows, ids, USER, batch_size, key, choices
    )
    batches = job.batches(scorer.num_items or rows_of["relevant"].shape[1])
    num_items = scorer.start(rows[batches[0].indices])
    ids[1].check_size(num_items)
    for name, pairs in interactions.items():
        pairs.check_items(num_items, name == "candidates", item_vocabulary.num_unknown)
        texts += pairs.remarks()
    (item_mask,) = ids[1].ordered(item_mask=item_mask)
    columns = ids[1].ordered_columns(item_columns)
    reads_counts = any(COUNTS in bound.spec.item_columns for bound in options.bounds)
    if seen is not None and reads_counts and COUNTS not in columns:
        # Count all users of `seen`, whether they are evaluated or not.
        columns[COUNTS] = interactions["seen"].item_counts(num_items)
    whole_columns, wide_columns = read_item_columns(columns, options, num_items)
    catalog = programs.CatalogArrays(
        item_mask=inputs.item_mask(item_mask, num_items),
        similarity=scorer.similarity,
        columns=whole_columns,
        wide_columns=wide_columns,
    )
    first, mask = batches[0].indices, catalog.item_mask
    texts += remarks.on_rows(scorer, rows, first, judgements, mask, USER)
    evaluation, fields, _ = engine.run(
        job, catalog, batches, undefined, progress, list_weights, keep_lists, texts
    )
    return UserEvaluation(
        **vars(evaluation), users=names_of_users, num_items=num_items, **fields
    )
