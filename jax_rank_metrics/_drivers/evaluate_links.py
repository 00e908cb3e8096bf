"""`jrm.evaluate_links`: link prediction in a knowledge graph, in batches."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import names
from jax_rank_metrics._check.remarks import infinite_scores
from jax_rank_metrics._drivers.batches import (
    Batch,
    QueryParts,
    Work,
    batch_size_for,
    make_batches,
)
from jax_rank_metrics._drivers.devices import Devices
from jax_rank_metrics._drivers.engine import Job, run
from jax_rank_metrics._drivers.evaluation import Evaluation, states_of
from jax_rank_metrics._drivers.plan import make_plan
from jax_rank_metrics._drivers.progress import Progress
from jax_rank_metrics._drivers.step import (
    Batches,
    CatalogArrays,
    QueryBatch,
    key_of_batch,
    program_of,
)
from jax_rank_metrics._drivers.triples import (
    SIDES,
    Questions,
    Side,
    read_known,
    read_triples,
)
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._states.mean import Mean

# From entities `[batch]`, relations `[batch]` and the side that is predicted, the scores of
# all entities, `[batch, num_entities]`.
LinkScoreFn = Callable[[np.ndarray, np.ndarray, Side], Any]

# How many scores a batch has at most, unless the caller chooses its size, and how many
# lists.
MAX_SCORES, MAX_LISTS = 2**26, 1024


@dataclasses.dataclass(frozen=True, repr=False)
class LinkEvaluation(Evaluation):
    """The result of `evaluate_links` on one side, or on both together.

    It is an `Evaluation` with a list for each triple, and an attribute more. On both
    sides, each triple has two lists: those that predict heads come first.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all lists for each of these names, of NumPy arrays on the
            host. Its `undefined` is that of the call.
        items: `[lists, k]` int32, the entities that score best, best first.
        undefined: What a list counts for where a metric is undefined.
        triples: `[lists, 3]` int32, the triple of each list.
    """

    _unit: ClassVar[str] = "lists"

    triples: np.ndarray

    def by(
        self, groups: Iterable[Hashable] | None = None
    ) -> dict[Hashable, dict[str, Mean]]:
        """Returns the states of each relation, or of other groups of lists.

        Args:
            groups: The group of each list, in the order of `triples`: names, numbers or
                bools, as for `pack`. None groups by relation.

        Returns:
            A dict from each group, in order of first appearance, to states like
            `states`.

        Raises:
            ValueError: if there are more or fewer groups than lists, or one is missing.
        """
        return super().by(self.triples[:, 1] if groups is None else groups)


def evaluate_links(
    metrics: names.Metrics,
    score_fn: LinkScoreFn,
    triples: _types.ArrayLike,
    *,
    known: Any,
    num_entities: int,
    k: int | None = None,
    batch_size: int | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    undefined: _types.Undefined = "zero",
    progress: bool | Progress = False,
) -> dict[str, LinkEvaluation]:
    """Evaluates link prediction in a knowledge graph, on both sides, filtered.

    Every triple (head, relation, tail) poses two questions, (?, relation, tail) and
    (head, relation, ?). For each, all entities are ranked by their scores. Its answer is
    the only relevant item; the other entities that are known to answer the question too
    leave the list, and are neither right nor wrong (the filtered setting).

    The numbers of PyKEEN are those of metrics that read the mean rank of a tie:
    "mrr(rank=realistic)", "hits(rank=realistic)@1,3,10", "mean_rank", "amri",
    "adjusted_mrr", "adjusted_hits@10". Under `ties="best"` they are its optimistic
    numbers, under "worst" the pessimistic ones. Without `rank`, "mrr" is the mean over the
    orders of tied entities, which is larger.

    Places are counted, so that all metrics are exact at every cutoff, and nothing is
    sorted. Memory is O(batch × entities): known answers are looked up batch by batch, and
    there is no mask of all lists.

    Call it outside of `jax.jit`. Batches have few shapes, so that data of any size share
    programs. One device does the work: that of the scores, or the default.

    Args:
        metrics: As for `evaluate`.
        score_fn: `score_fn(entities, relations, side)` returns the scores of all entities,
            `[batch, num_entities]`, of JAX or NumPy; higher is better. `side` is what is
            predicted, "head" or "tail": `entities`, `[batch]` int32 of NumPy, are tails
            where it is "head", and heads where it is "tail". It is called as it is, so
            jit it yourself, or let it run any other library. Its batches have one size:
            the last is filled up with the last question. NaN raises, except for known
            answers.
        triples: `[n, 3]` integers, the triples to evaluate: head, relation, tail. Or a
            frame of pandas or polars with columns of these names, in any order.
        known: All triples that are known to hold, `[m, 3]`, or a sequence of such arrays:
            those to train on, to validate and to test. Those to evaluate are always among
            them, also where they are missing here.
        num_entities: How many entities there are.
        k: How many entities to return for each list. None returns none.
        batch_size: How many lists are evaluated at a time; fewer where they would fill
            less than four batches. None is 1,024, or as many as have 2²⁶ scores.
        ties: See `rank`.
        key: See `rank`.
        undefined: See `PerList.mean`.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of lists done and the number of all lists.

    Returns:
        A `LinkEvaluation` for "head", where heads are predicted, for "tail", and for
        "both": all 2·n lists together.

    Raises:
        ValueError: if there are no triples; if they do not have three columns, or name an
            entity that is not below `num_entities`; if scores have another shape, are NaN,
            or are sharded by their type.
        TypeError: if triples are not integers, or `score_fn` is not a function.
        ModuleNotFoundError: if `progress` is True and rich is not installed.

    References:
        Bordes, Usunier, Garcia-Durán, Weston and Yakhnenko, Translating embeddings for
        modeling multi-relational data, NeurIPS 2013 (the filtered setting).
        Berrendorf, Faerman, Vermue and Tresp, On the ambiguity of rank-based evaluation of
        entity alignment or link prediction methods, 2020 (ties).

    >>> vectors = np.array([[2.0, 0], [1, 1], [0, 2], [0, 2]])
    >>> def score_fn(entities, relations, side):
    ...     return vectors[entities] @ vectors.T
    >>> links = evaluate_links(
    ...     ("mrr(rank=realistic)", "hits@1,2"),
    ...     score_fn,
    ...     [[1, 0, 3], [0, 0, 1]],
    ...     known=[[1, 0, 0]],
    ...     num_entities=4,
    ... )
    >>> tails = links["tail"]  # of (1, 0, ?), the entities 1, 2 and 3 tie
    >>> tails.lists["mrr(rank=realistic)"].values.tolist()
    [0.5, 0.5]
    >>> [f"{value:.2f}" for value in tails.lists["hits@1,2"].values[0]]
    ['0.33', '0.67']
    >>> links["both"]
    LinkEvaluation(mrr(rank=realistic) 0.433, hits@1,2 0.146, 0.542, 4 lists)
    """
    _inputs.option("undefined", undefined, _types.Undefined)
    if not callable(score_fn):
        raise TypeError(
            f"score_fn: got {_inputs.kind_of(score_fn)}; pass a function of entities, "
            "relations and the side that is predicted"
        )
    num_entities = _inputs.positive_integer("num_entities", num_entities)
    plan, key = make_plan(metrics, k, num_entities, ties, key, counts_all=True)
    plan = plan._replace(ties=plan.ties_of_places)  # `items` that tie go by id
    # Each triple has two questions: i asks for the head of triple i, and number + i for
    # its tail.
    evaluated = read_triples("triples", triples, num_entities)
    all_known = read_known(known, evaluated, num_entities)
    questions = Questions.of(evaluated, all_known, num_entities)
    if batch_size is None:
        batch_size = max(min(MAX_LISTS, MAX_SCORES // num_entities), 1)
    number = len(evaluated)
    size = batch_size_for(number, batch_size, num_entities)
    # Of each batch, its questions, and which of them have an entity with the score −inf.
    are_infinite: list[tuple[np.ndarray, jax.Array]] = []

    def arrays(batch_number: int, batch: Batch) -> QueryBatch:
        # The last question stands where the batch has padding.
        side, indices = questions.side(batch.indices[0]), batch.indices
        indices = np.where(indices < 0, max(indices), indices)
        entities, relations = questions.entities[indices], questions.relations[indices]
        scores = _scores(score_fn(entities, relations, side), (size, num_entities))
        excluded_ids = questions.other_answers(indices, batch.widths[0])
        if jnp.issubdtype(scores.dtype, jnp.floating):
            are_infinite.append((batch.indices, _infinite()(scores, excluded_ids)))
        return QueryBatch(
            batch.slots,
            scores,
            key_of_batch(key, batch_number),
            questions.answers[indices, None],  # [batch, 1]: the only relevant one
            excluded_ids=excluded_ids,
        )

    def remarks() -> list[str]:
        lists = [indices[np.asarray(x) & (indices >= 0)] for indices, x in are_infinite]
        lists = np.concatenate([[], *lists])
        example = f"{len(lists)} of {2 * number} lists"
        return (
            [infinite_scores(f"{example}, as in list {min(lists):g}")]
            if len(lists)
            else []
        )

    work = Batches(
        QueryParts.equal(2 * number, 1),
        list(_batches(questions, number, size, num_entities)),
        arrays,
        program_of(Devices(), plan, CatalogArrays()),
    )
    # Nothing resumes.
    job = Job(plan, Devices(), questions, work, undefined, inputs={}, remarks=remarks)
    evaluation, _ = run(job, progress)
    triples_of_lists = np.tile(evaluated, (2, 1))
    halves = slice(number), slice(number, None), slice(None)
    return {
        side: _part_of(evaluation, triples_of_lists, part)
        for side, part in zip((*SIDES, "both"), halves, strict=True)
    }


def _part_of(
    evaluation: Evaluation, triples: np.ndarray, part: slice
) -> LinkEvaluation:
    """Returns the evaluation of some lists, each of which has a triple."""
    lists = {name: values[part] for name, values in evaluation.lists.items()}
    states = states_of(lists, evaluation.states)
    items, undefined = evaluation.items[part], evaluation.undefined
    remarks = evaluation.remarks
    return LinkEvaluation(
        states, lists, items, undefined, triples[part], remarks=remarks
    )


def _have_infinite(scores: jax.Array, excluded_ids: jax.Array) -> jax.Array:
    """Returns whether an item that is not excluded has the score −inf, `[lists]` bool."""
    ids = jnp.where(excluded_ids < 0, scores.shape[1], excluded_ids)
    is_lowest = jnp.isneginf(scores)
    rows = jnp.arange(len(scores))[:, None]
    return is_lowest.at[rows, ids].set(False, mode="drop").any(axis=1)


_infinite = one_off_jit(_have_infinite, level=1)


def _batches(
    questions: Questions, number: int, size: int, num_entities: int
) -> Iterator[Batch]:
    """Divides the questions of each side into batches, of which none has both sides."""
    # Known answers are excluded, and each question has one answer.
    lengths = np.stack([questions.counts, np.ones_like(questions.counts)], axis=1)
    for first in (0, number):
        work = Work(num_entities, 1, True)
        for batch in make_batches(lengths[first : first + number], size, work):
            indices = np.where(batch.indices < 0, -1, batch.indices + first)
            yield batch._replace(indices=indices, slots=indices.astype(np.int32))


def _scores(values: Any, shape: tuple[int, int]) -> jax.Array:
    """Checks what `score_fn` returned for a batch."""
    name = "the scores of score_fn"
    scores = _inputs.real(name, _inputs.by_items_of_rows(name, values, None))
    if scores.shape != shape:
        raise ValueError(
            f"score_fn returned scores of shape {scores.shape} for {shape[0]} lists and "
            f"{shape[1]} entities; return {shape}"
        )
    return scores
