"""Triples of a knowledge graph, and the known answers of the questions that they pose."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.interactions import SparseRows, Unit
from jax_rank_metrics._drivers.judgements import Judgements

# The part of a triple that is predicted from the two others.
Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")

HEAD, RELATION, TAIL = range(3)
LIST: Unit = ("list", "lists")


class OtherAnswers(NamedTuple):
    """The known answers of each list but the one asked for, as sparse rows.

    Lists of one question share its answers: all together take as much memory as there are
    known triples.

    Attributes:
        known: `[questions, entities]`, the known answers of distinct questions.
        questions: `[lists]`, the question of each.
        answers: `[lists]`, the entity that each asks for.
    """

    known: SparseRows
    questions: np.ndarray
    answers: np.ndarray

    @property
    def indptr(self) -> np.ndarray:
        """Where the known answers of each list begin, those asked for included."""
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
    """Returns what is relevant to the questions of triples, and what leaves their lists.

    Args:
        side: What is asked for: the head (?, relation, tail), or the tail.
        triples: `[triples, 3]`, those to evaluate.
        known: `[known triples, 3]`, with those to evaluate among them.
        num_entities: How many entities there are.
    """
    import scipy.sparse

    answer, entity = (HEAD, TAIL) if side == "head" else (TAIL, HEAD)
    num_relations = 1 + known[:, RELATION].max()
    pairs, of_known = (
        x[:, entity].astype(np.int64) * num_relations + x[:, RELATION]
        for x in (triples, known)
    )
    # Pairs that triples share are looked up once: `questions` has that of each triple.
    distinct, questions = np.unique(pairs, return_inverse=True)
    # Most known triples answer none of these questions.
    slots = np.minimum(np.searchsorted(distinct, of_known), len(distinct) - 1)
    is_answer = distinct[slots] == of_known
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


def read_triples(name: str, value: Any, num_entities: int) -> np.ndarray:
    """Checks triples of an argument, and returns them as int32 `[triples, 3]`.

    Raises:
        TypeError: if they are not integers.
        ValueError: if there are none to evaluate; if they have another shape; if a number
            is below 0, or one of an entity is not below `num_entities`.
    """
    if _inputs.is_frame(value):
        value = _inputs.as_frame(value, name)
        value = value[_triple_columns(name, [*value.columns])]
    triples = np.asarray(_inputs.numpy_array(name, value))
    if triples.size == 0:
        if name == "triples":
            raise ValueError("triples is empty; pass at least one")
        return np.zeros((0, 3), np.int32)
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise ValueError(
            f"{name} has shape {triples.shape}; pass [triples, 3]: head, relation and tail"
        )
    if not np.issubdtype(triples.dtype, np.integer):
        raise TypeError(f"{name}: got {triples.dtype} values; pass integers")
    limits = np.array([num_entities, _inputs.MAX_INT32, num_entities])
    is_wrong = (triples < 0) | (triples >= limits)
    if is_wrong.any():
        index, part = _inputs.first_index(is_wrong)
        raise ValueError(
            f"{name} holds {triples[index].tolist()} at {index}, whose "
            f"{('head', 'relation', 'tail')[part]} is not a number from 0 to "
            f"{limits[part] - 1}; pass num_entities, and triples of head, relation and tail"
        )
    return triples.astype(np.int32)


def _triple_columns(name: str, columns: list[Any]) -> list[Any]:
    """Returns the columns of head, relation and tail of a frame, by their names."""
    for names in (
        ("head", "relation", "tail"),
        ("h", "r", "t"),
        ("subject", "predicate", "object"),
        ("source", "relation", "target"),
    ):
        by_name = {str(x).lower().removesuffix("_id"): x for x in columns}
        if len(columns) == 3 and by_name.keys() == set(names):
            return [by_name[x] for x in names]
    # A frame of an array has columns without names.
    if columns in ([0, 1, 2], ["column_0", "column_1", "column_2"]):
        return columns
    raise ValueError(
        f"{name} is a frame with the columns {', '.join(map(repr, columns))}; pass one "
        f"with the columns head, relation and tail, or {name}.to_numpy() if they are in "
        "this order"
    )


def read_known(known: Any, triples: np.ndarray, num_entities: int) -> np.ndarray:
    """Returns all known triples, `[known, 3]`, and those to evaluate after them.

    Args:
        known: Triples `[known, 3]`, or a sequence of such arrays.
        triples: `[triples, 3]`, those to evaluate.
        num_entities: How many entities there are.
    """
    # A list of triples [[0, 1, 2]] is an array; a list of matrices is several.
    parts: Sequence[Any] = [known]
    if isinstance(known, (list, tuple)) and all(np.ndim(part) == 2 for part in known):
        parts = known
    names = [f"known[{i}]" if parts is known else "known" for i in range(len(parts))]
    checked = [
        read_triples(name, part, num_entities)
        for name, part in zip(names, parts, strict=True)
    ]
    return np.concatenate([*checked, triples])
