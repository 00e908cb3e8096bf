"""`jrm.evaluate_links`: link prediction in a knowledge graph, in batches."""

import dataclasses
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import jax
import numpy as np

from jax_rank_metrics._engine.calls import binding, signatures
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._runs.drivers import devices, engine, jobs, nan_causes, programs
from jax_rank_metrics._runs.drivers import remarks as driver_remarks
from jax_rank_metrics._runs.drivers.interactions import (
    NO_IDS,
    RawInteractions,
    SparseRows,
    Unit,
    Vocabulary,
    read_interactions,
)
from jax_rank_metrics._runs.drivers.judgements import Judgements, SharedCandidates
from jax_rank_metrics._runs.drivers.scorers import Scores
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._values import remarks

L = TypeVar("L", bound="LinkEvaluation")
# The part of a triple that is predicted from the other two.
Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")

HEAD, RELATION, TAIL = range(3)
LIST: Unit = ("list", "lists")

# Takes entities `[batch]`, relations `[batch]` and the side that is predicted; returns the
# scores of all entities, `[batch, num_entities]`.
LinkScoreFn = Callable[[np.ndarray, np.ndarray, Side], Any]

# How many scores and how many lists a batch has at most, unless its size was passed.
MAX_SCORES, MAX_LISTS = 2**26, 1024


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class LinkEvaluation(Evaluation):
    """The result of `evaluate_links` on one side, or on both together.

    It is an `Evaluation` with a list for each triple, and one more attribute. For both
    sides together, each triple has two lists; all lists that predict heads come first.

    Attributes:
        states: A dict from the name of each metric to its state, as from `evaluate`.
        lists: A dict from the same names to a `PerList` of all lists, of NumPy arrays on
            the host, with the `undefined` of the call.
        retrieved_ids: `[lists, k]` int32, the entities that score best, best first.
        undefined: How a list counts in means if a metric is undefined; see `PerList.mean`.
        triples: `[lists, 3]` int32, the triple of each list.
    """

    _unit, _units = "list", "lists"
    _of_queries = (*Evaluation._of_queries, "triples")

    triples: np.ndarray

    def by(self: L, groups: Iterable[Hashable] | None = None) -> dict[Hashable, L]:
        """Returns the evaluation of each relation, or of other groups of lists.

        Args:
            groups: The group of each list, in the order of `triples`: names, numbers or
                bools, as for `pack`. None groups by relation.

        Returns:
            A dict from each group, in order of first appearance, to the evaluation of the
            group's lists; its `query_ids` are the numbers of these lists.

        Raises:
            ValueError: if there are more or fewer groups than lists, or one is missing.
        """
        return super().by(self.triples[:, 1] if groups is None else groups)


def evaluate_links(
    metrics: binding.Metrics,
    score_fn: LinkScoreFn,
    triples: types.ArrayLike,
    *,
    known: Any,
    num_entities: int,
    candidates: Mapping[Side, RawInteractions] | None = None,
    k: int | None = None,
    batch_size: int | None = None,
    ties: types.Ties | None = None,
    key: types.Key | None = None,
    undefined: types.Undefined = "zero",
    progress: bool | engine.Progress = False,
) -> dict[str, LinkEvaluation]:
    """Evaluates link prediction in a knowledge graph, on both sides, filtered.

    Every triple (head, relation, tail) poses two questions, (?, relation, tail) and
    (head, relation, ?). For each, all entities are ranked by their scores. The answer in
    the triple is the only relevant item. Other entities that are known to answer the
    question leave the list, so they are neither right nor wrong (the filtered setting).

    To reproduce PyKEEN's numbers, use metrics that read the mean rank of a tie:
    "mrr(rank=realistic)", "hits(rank=realistic)@1,3,10", "mean_rank", "amri",
    "adjusted_mrr", "adjusted_hits@10". With `ties="best"`, these are PyKEEN's optimistic
    numbers; with "worst", its pessimistic ones. Without `rank`, "mrr" is the mean over the
    orders of tied entities, which is larger.

    Ranks are found by counting, so all metrics are exact at every cutoff, and nothing is
    sorted. Memory is O(batch × entities), because known answers are looked up batch by
    batch, without a mask of all lists.

    Call it outside of `jax.jit`. Batches have few shapes, so that data of any size share
    programs. One device does the work: the device of the scores, or the default one.

    Args:
        metrics: As for `evaluate`.
        score_fn: `score_fn(entities, relations, side)` returns the scores of all entities,
            `[batch, num_entities]`, of JAX or NumPy; higher is better. `side` is the part
            that is predicted, "head" or "tail". `entities`, `[batch]` int32 of NumPy, are
            tails if `side` is "head", and heads if it is "tail". The function is not
            traced, so jit it yourself, or let it run any other library. Its batches have
            one size: the last is filled up with the last question. NaN raises, except for
            known answers.
        triples: `[n, 3]` integers, the triples to evaluate: head, relation, tail. Or a
            frame of pandas or polars with columns of these names, in any order.
        known: All triples that are known to hold, `[m, 3]`, or a sequence of such arrays:
            the triples to train on, to validate and to test. The triples to evaluate are
            always known, even if they are missing here.
        num_entities: How many entities there are.
        candidates: The entities that have a rank, such as the entities of the type that a
            relation takes. A dict from "head", "tail" or both to the entities of each
            relation: a list for each relation, a dict from relations to lists, or a sparse
            matrix `[relations, entities]`. None ranks all entities; if a side is missing
            from the dict, all entities are ranked on that side. An answer that is no
            candidate counts as missed.
        k: How many entities to return for each list. None returns no entities.
        batch_size: How many lists are evaluated at a time; fewer if the lists would fill
            less than four batches. None takes 1,024, or fewer so that a batch has at most
            2²⁶ scores.
        ties: See `rank`.
        key: See `rank`.
        undefined: See `PerList.mean`.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of lists done and the number of all lists.

    Returns:
        A dict of three `LinkEvaluation` objects: "head" has the lists that predict heads,
        "tail" the lists that predict tails, and "both" all 2·n lists.

    Raises:
        ValueError: if there are no triples; if they do not have three columns, or name an
            entity that is not below `num_entities`; if a relation has no candidates; if
            scores have another shape, are NaN, or have a type that says how they are
            sharded.
        TypeError: if triples are not integers, `score_fn` is not a function, or
            `candidates` is not a dict of sides.
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
    >>> tails = links["tail"]  # for (1, 0, ?), the entities 1, 2 and 3 tie
    >>> tails.lists["mrr(rank=realistic)"].values.tolist()
    [0.5, 0.5]
    >>> [f"{value:.2f}" for value in tails.lists["hits@1,2"].values[0]]
    ['0.33', '0.67']
    >>> links["both"]
    LinkEvaluation(mrr(rank=realistic) 0.433, hits@1,2 0.146, 0.542, 4 lists)
    """
    inputs.option("undefined", undefined, types.Undefined)
    if not callable(score_fn):
        raise TypeError(
            f"score_fn: got {inputs.kind_of(score_fn)}; pass a function of entities, "
            "relations and the side that is predicted"
        )
    num_entities = inputs.positive_integer("num_entities", num_entities)
    flags = {"counts_all": True, "finds_inf": True}
    options, key = jobs.make_options(metrics, k, num_entities, ties, key, **flags)
    # By default, tied entities are returned by id, unless a metric reads a hashed order.
    options = options._replace(ties=options.ties_of_places)
    triples = read_triples("triples", triples, num_entities)
    all_known = read_known(known, triples, num_entities)
    if batch_size is None:
        batch_size = max(min(MAX_LISTS, MAX_SCORES // num_entities), 1)
    # Every list excludes its other known answers, which is the filter.
    choices = signatures.chosen(pool=candidates) | {"exclude": "listed"}
    rows, evaluations, have_inf, texts = np.arange(len(triples)), {}, [], []
    signatures_of_sides = {}
    distinct, counts = np.unique(triples, axis=0, return_counts=True)
    if len(distinct) < len(triples):
        texts.append(
            f"triples holds {distinct[counts.argmax()].tolist()} {counts.max()} times, and "
            f"{len(triples) - len(distinct)} of {len(triples)} triples repeat an earlier "
            "triple; every copy counts; pass np.unique(triples, axis=0) to count it once"
        )
    candidates_of_sides = {
        side: read_candidates(candidates, side, triples[:, RELATION], num_entities)
        for side in SIDES
    }
    # [sides, triples], in the order of lists.
    is_missed = np.zeros((len(SIDES), len(triples)), bool)
    for row, (side, entities) in enumerate(candidates_of_sides.items()):
        if entities is not None:
            answers = triples[:, HEAD if side == "head" else TAIL]
            is_missed[row] = ~entities.holds(answers)
    if is_missed.any():
        texts.append(
            f"the answer of {np.count_nonzero(is_missed)} of {is_missed.size} lists is no "
            f"candidate, as in list {is_missed.argmax()}; such an answer counts as missed "
            "and has no rank, so it adds 0 to amri and mean_rank, unless undefined is "
            "'skip'; add the answers to candidates if they should be ranked"
        )
    with engine.reporting(progress, LIST[1]) as report:
        for side, first in zip(SIDES, (0, rows.size), strict=True):
            scorer = LinkScores(
                devices.Devices(),
                function=score_fn,
                side=side,
                triples=triples,
                num_entities=num_entities,
            )
            judgements = judgements_of(side, triples, all_known, num_entities)
            judgements = judgements._replace(
                shared_candidates=candidates_of_sides[side]
            )
            # Give each side its own key, so that ties are broken differently on each side.
            own_key = None if key is None else jax.random.fold_in(key, first)
            arguments = scorer, judgements, rows, NO_IDS, LIST, batch_size, own_key
            job = jobs.EvaluationJob(options, *arguments, choices)
            side_job = job._replace(choices=choices | {"side": side})
            signatures_of_sides[side] = engine.signatures_of(side_job, undefined)
            batches = job.batches(num_entities)
            indices = batches[0].indices
            scorer.start(indices)
            arguments = scorer, rows, indices, judgements, None, LIST
            where = f"where the {side} is predicted"
            texts += [
                f"{where}, {remark}" for remark in driver_remarks.on_rows(*arguments)
            ]
            evaluation, _, has_inf = engine.run(
                job,
                programs.CatalogArrays(),
                batches,
                undefined,
                lambda done, _, first=first: report(first + done, 2 * rows.size),
            )
            evaluations[side] = LinkEvaluation(**vars(evaluation), triples=triples)
            have_inf.append(has_inf)
    heads, tails = evaluations.values()
    evaluations["both"] = heads.merge(tails)
    if (lists := np.flatnonzero(have_inf)).size:
        example = f"{lists.size} of {2 * rows.size} lists"
        texts.append(remarks.infinite_scores(f"{example}, as in list {lists[0]}"))
    for text in texts:
        warnings.warn(text, stacklevel=2)
    return {
        side: dataclasses.replace(
            evaluation,
            remarks=(*evaluation.remarks, *texts),
            signature=signatures_of_sides.get(side, evaluation.signature),
        )
        for side, evaluation in evaluations.items()
    }


@dataclasses.dataclass(kw_only=True)
class LinkScores(Scores):
    """The scores of a user's function, which predicts the heads or the tails of triples.

    Attributes:
        function: The argument `score_fn` of `evaluate_links`.
        side: The part of a triple that is predicted.
        triples: `[triples, 3]` int32.
        num_entities: How many entities there are.
    """

    side: Side
    triples: np.ndarray
    num_entities: int

    def __post_init__(self) -> None:
        """Sets the number of items, which needs no call, and the names for messages."""
        self._num_items = self.num_entities
        self.scores_of = "the scores of score_fn for"
        self.nan_cause = f"return numbers where the {self.side} is predicted "
        self.nan_cause += f"({nan_causes.INFINITIES})"

    def query_name(self, unit: Unit, row: int, query_ids: Vocabulary) -> str:
        """Returns the name of a list in messages: the triple that it predicts."""
        return f"triple {self.triples[row].tolist()}"

    def _called(self, indices: np.ndarray) -> jax.Array:
        """Checks the scores that the function returns for a batch, `[lists, entities]`."""
        assert self.function is not None
        relations = self.triples[indices, RELATION]
        entities = self.triples[indices, TAIL if self.side == "head" else HEAD]
        name, shape = "the scores of score_fn", (indices.size, self.num_entities)
        values = self.function(entities, relations, self.side)
        scores = inputs.real(name, inputs.by_items_of_rows(name, values, None))
        if scores.shape != shape:
            raise ValueError(
                f"score_fn returned scores of shape {scores.shape} for {shape[0]} lists "
                f"and {shape[1]} entities; return {shape}"
            )
        return scores


class OtherAnswers(NamedTuple):
    """The known answers of each list except the answer of its triple, as sparse rows.

    Lists with the same question share the question's known answers, so all lists together
    take no more memory than the known triples.

    Attributes:
        known: `[questions, entities]`, the known answers of distinct questions.
        questions: `[lists]`, the question of each list.
        answers: `[lists]`, the answer in the triple of each list, an entity.
    """

    known: SparseRows
    questions: np.ndarray
    answers: np.ndarray

    @property
    def indptr(self) -> np.ndarray:
        """The index at which each list's known answers begin, if none is left out."""
        counts = np.diff(self.known.indptr)[self.questions]
        return np.concatenate([[0], np.cumsum(counts)])

    def __getitem__(self, lists: Any) -> SparseRows:
        """Returns the rows of some lists."""
        rows = self.known[self.questions[lists]]
        asked_for = np.repeat(self.answers[lists], np.diff(rows.indptr))
        rows.data = (rows.indices != asked_for).astype(np.float32)
        rows.eliminate_zeros()
        return rows


def judgements_of(
    side: Side, triples: np.ndarray, known: np.ndarray, num_entities: int
) -> Judgements:
    """Returns the relevant and the excluded entities for the questions of triples.

    Args:
        side: The part that is asked for: the head, as in (?, relation, tail), or the tail.
        triples: `[triples, 3]`, the triples to evaluate.
        known: `[known triples, 3]`, all known triples, including `triples`.
        num_entities: How many entities there are.
    """
    import scipy.sparse

    answer, entity = (HEAD, TAIL) if side == "head" else (TAIL, HEAD)
    num_relations = 1 + known[:, RELATION].max()
    pairs, known_pairs = (
        rows[:, entity].astype(np.int64) * num_relations + rows[:, RELATION]
        for rows in (triples, known)
    )
    # Look up each pair once, even if triples share it; `questions` is each triple's pair.
    distinct, questions = np.unique(pairs, return_inverse=True)
    # Keep only the known triples that answer one of these questions; most do not.
    slots = np.minimum(np.searchsorted(distinct, known_pairs), len(distinct) - 1)
    is_answer = distinct[slots] == known_pairs
    entries = slots[is_answer], known[is_answer, answer]
    shape = len(distinct), num_entities
    table = scipy.sparse.coo_array(
        (np.ones(len(entries[0]), np.float32), entries), shape
    )
    answers, rows = triples[:, answer], np.arange(len(triples))
    ones = np.ones(len(rows), np.float32)
    relevant = scipy.sparse.csr_array(
        (ones, (rows, answers)), (len(rows), num_entities)
    )
    excluded = OtherAnswers(scipy.sparse.csr_array(table), questions, answers)
    return Judgements(relevant, excluded)


def read_candidates(
    candidates: Mapping[Side, RawInteractions] | None,
    side: Side,
    relations: np.ndarray,
    num_entities: int,
) -> SharedCandidates | None:
    """Checks the candidates of a side, and returns the candidates of each list.

    Args:
        candidates: See `evaluate_links`.
        side: The part of a triple that is asked for.
        relations: `[triples]`, the relation of each list.
        num_entities: How many entities there are.

    Returns:
        The candidates; None if all entities are candidates.
    """
    if candidates is None:
        return None
    if not isinstance(candidates, Mapping) or not {*SIDES}.issuperset(candidates):
        got = inputs.kind_of(candidates)
        if isinstance(candidates, Mapping):
            got = f"a dict of {', '.join(map(repr, candidates))}"
        raise TypeError(
            f'candidates: got {got}; pass a dict from "head", "tail" or both to the '
            "entities of each relation"
        )
    if candidates.get(side) is None:
        return None
    distinct, kinds = np.unique(relations, return_inverse=True)
    unit = "relation", "relations"
    [pairs] = read_interactions(unit, NO_IDS, candidates=candidates[side]).values()
    pairs.check_named(distinct, must_match=False)
    pairs.check_items(num_entities, may_name_all=True)
    rows_of_kinds = pairs.rows(distinct)
    rows_of_kinds.resize((len(distinct), num_entities))
    if (is_empty := np.diff(rows_of_kinds.indptr) == 0).any():
        raise ValueError(
            f"candidates has no {side} for relation {distinct[is_empty][0]}, but a triple "
            f"has this relation; pass the entities that may be its {side}"
        )
    return SharedCandidates(rows_of_kinds, kinds)


def read_triples(name: str, value: Any, num_entities: int) -> np.ndarray:
    """Checks triples of an argument, and returns them as int32 `[triples, 3]`.

    Raises:
        TypeError: if they are not integers.
        ValueError: if there are no triples to evaluate; if they have another shape; if a
            number is below 0, or not below its limit: `num_entities` for heads and tails,
            the largest int32 for relations.
    """
    if inputs.is_frame(value):
        value = inputs.as_frame(value, name)
        value = value[_triple_columns(name, [*value.columns])]
    triples = np.asarray(inputs.numpy_array(name, value))
    if triples.size == 0:
        if name == "triples":
            raise ValueError("triples is empty; pass at least one")
        return np.zeros((0, 3), np.int32)
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise ValueError(
            f"{name} has shape {triples.shape}; pass [triples, 3]: head, relation and tail"
        )
    if not np.issubdtype(triples.dtype, np.integer):
        inputs.refuse_missing(name, triples)
        raise TypeError(f"{name}: got {triples.dtype} values; pass integers")
    limits = np.array([num_entities, inputs.MAX_INT32, num_entities])
    is_wrong = (triples < 0) | (triples >= limits)
    if is_wrong.any():
        index, part = inputs.first_index(is_wrong)
        raise ValueError(
            f"{name} holds {triples[index].tolist()} at {index}, whose "
            f"{('head', 'relation', 'tail')[part]} is not a number from 0 to "
            f"{limits[part] - 1}; pass triples (head, relation, tail), and the number of "
            "all entities as num_entities"
        )
    return triples.astype(np.int32)


def _triple_columns(name: str, columns: list[Any]) -> list[Any]:
    """Returns the names of the head, relation and tail columns of a frame."""
    for spelling in (
        ("head", "relation", "tail"),
        ("h", "r", "t"),
        ("subject", "predicate", "object"),
        ("source", "relation", "target"),
    ):
        by_name = {str(label).lower().removesuffix("_id"): label for label in columns}
        if len(columns) == 3 and by_name.keys() == set(spelling):
            return [by_name[part] for part in spelling]
    # The frame was made from an array, so its columns have default names.
    if columns in ([0, 1, 2], ["column_0", "column_1", "column_2"]):
        return columns
    raise ValueError(
        f"{name} is a frame with the columns {', '.join(map(repr, columns))}; pass a frame "
        f"with the columns head, relation and tail, or {name}.to_numpy() if the columns "
        "are in this order"
    )


def read_known(known: Any, triples: np.ndarray, num_entities: int) -> np.ndarray:
    """Returns all known triples, `[known, 3]`; the triples to evaluate come last.

    Args:
        known: Triples `[known, 3]`, or a sequence of such arrays.
        triples: `[triples, 3]`, the triples to evaluate.
        num_entities: How many entities there are.
    """
    # A list of triples such as [[0, 1, 2]] is one array; a list of matrices is several.
    parts: Sequence[Any] = [known]
    if isinstance(known, (list, tuple)) and all(np.ndim(part) == 2 for part in known):
        parts = known
    part_names = [
        f"known[{i}]" if parts is known else "known" for i in range(len(parts))
    ]
    checked = [
        read_triples(name, part, num_entities)
        for name, part in zip(part_names, parts, strict=True)
    ]
    return np.concatenate([*checked, triples])
