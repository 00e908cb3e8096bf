"""`jrm.evaluate_links`: link prediction in a knowledge graph, in batches."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import names
from jax_rank_metrics._calls.run import measure_ranking
from jax_rank_metrics._calls.spec import Bound
from jax_rank_metrics._drivers.batches import (
    Batch,
    QueryParts,
    Work,
    batch_size_for,
    make_batches,
)
from jax_rank_metrics._drivers.devices import Devices
from jax_rank_metrics._drivers.engine import Job, Progress, run
from jax_rank_metrics._drivers.evaluation import Evaluation, states_of
from jax_rank_metrics._drivers.nan_causes import INFINITIES
from jax_rank_metrics._drivers.step import Measured, QueryBatch, first_fault, with_nan
from jax_rank_metrics._drivers.triples import (
    Questions,
    Side,
    read_known,
    read_triples,
)
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._ranking import Ranking, RankingData
from jax_rank_metrics._sources.catalog import rank_blocks
from jax_rank_metrics._sources.checked_catalog import checked_scores
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList

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
        triples: `[n, 3]` integers, the triples to evaluate: head, relation, tail.
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
    bounds = names.bind_all(metrics)
    _inputs.option("undefined", undefined, _types.Undefined)
    policy, key = resolve(ties, key)
    if not callable(score_fn):
        raise TypeError(
            f"score_fn: got {_inputs.kind_of(score_fn)}; pass a function of entities, "
            "relations and the side that is predicted"
        )
    num_entities = _inputs.positive_integer("num_entities", num_entities)
    k = 0 if k is None else _inputs.positive_integer("k", k)
    evaluated = read_triples("triples", triples, num_entities)
    if not len(evaluated):
        raise ValueError("triples is empty; pass at least one")
    all_known = read_known(known, evaluated, num_entities)
    sides: tuple[Side, ...] = ("head", "tail")
    questions = [
        Questions.of(side, evaluated, all_known, num_entities) for side in sides
    ]
    if batch_size is None:
        batch_size = max(min(MAX_LISTS, MAX_SCORES // num_entities), 1)
    max_size = _inputs.positive_integer("batch_size", batch_size)
    size, number = batch_size_for(len(evaluated), max_size), len(evaluated)
    reads_order = any(bound.tie_reading == "order" for bound in bounds)
    places_ties = "expected" if policy.name is None and not reads_order else policy.name

    batches = [
        batch._replace(indices=np.where(batch.indices < 0, -1, batch.indices + offset))
        for offset, x in zip((0, number), questions, strict=True)
        for batch in make_batches(
            np.stack([x.counts, np.ones_like(x.counts)], axis=1),
            size,
            Work(num_entities, 1, True),
        )
    ]

    def arrays(batch_number: int, batch: Batch) -> QueryBatch:
        side_number = int(batch.indices[0] >= number)
        # The last question stands where the batch has padding.
        side, indices = questions[side_number], batch.indices % number
        scores = _scores(
            score_fn(side.entities[indices], side.relations[indices], side.side),
            (size, num_entities),
        )
        return QueryBatch(
            scores,
            side.answers[indices, None],
            None,
            side.other_answers(indices, batch.widths[0]),
            weights=batch.weights,
            key=key if key is None else jax.random.fold_in(key, batch_number),
        )

    job = Job(
        Devices(),
        QueryParts.equal(2 * number, 1),
        batches,
        arrays,
        program=lambda slots, batch: _program()(bounds, k, places_ties, slots, batch),
        metric_names=[bound.name for bound in bounds],
        bounds=bounds,
        undefined=undefined,
        k=k,
        num_items=None,
        inputs={},  # nothing resumes
        nan_message=lambda index: (
            f"the scores of score_fn for triple {evaluated[index % number].tolist()} hold "
            f"nan where the {sides[index // number]} is predicted; return numbers "
            f"({INFINITIES})"
        ),
        query_name=lambda index: f"triple {evaluated[index % number].tolist()}",
        unit="lists",
    )
    outcome = run(job, progress)
    parts = {
        "head": slice(number),
        "tail": slice(number, None),
        "both": slice(None),
    }
    in_lists, evaluations = np.tile(evaluated, (2, 1)), {}
    for side, part in parts.items():
        lists = {name: values[part] for name, values in outcome.lists.items()}
        evaluations[side] = LinkEvaluation(
            states_of(lists, outcome.states),
            lists,
            outcome.items[part],
            undefined,
            in_lists[part],
        )
    return evaluations


def _scores(values: Any, shape: tuple[int, int]) -> jax.Array:
    """Checks what `score_fn` returned for a batch."""
    scores = _inputs.real("the scores of score_fn", values)
    if scores.shape != shape:
        raise ValueError(
            f"score_fn returned scores of shape {scores.shape} for {shape[0]} lists and "
            f"{shape[1]} entities; return {shape}"
        )
    return scores


def _measure(
    bounds: tuple[Bound, ...],
    k: int,
    ties: _types.Ties | None,
    slots: jax.Array,
    batch: QueryBatch,
) -> Measured:
    """Counts the place of each answer, and measures it."""
    arguments: dict[str, Any] = {
        "exclude_ids": batch.excluded_ids,
        "list_weights": batch.weights,
        "key": batch.key,
        "ties": ties,
    }

    def ranked(k: int | None) -> RankingData:
        source = checked_scores(batch.rows, batch.relevant_ids, k=k, **arguments)
        return rank_blocks(dataclasses.replace(source, looks_for_nan=True))

    places = ranked(None)
    values = measure_ranking(bounds, Ranking(places))
    ids = jnp.zeros((len(batch.rows), 0), jnp.int32)
    if k:
        ids = ranked(k).items
    lists: list[PerList] = [values[bound.name] for bound in bounds]
    faults = jnp.zeros(len(batch.rows), jnp.int32)
    faults = with_nan(faults, places.has_nan)
    return Measured(lists, ids, slots, first_fault(faults, slots))


_program = one_off_jit(_measure, ("bounds", "k", "ties"), level=1)
