"""Triples of a knowledge graph, and what is known of each question that they pose."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.interactions import Unit
from jax_rank_metrics._drivers.nan_causes import INFINITIES

# The part of a triple that is predicted from the two others.
Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")

HEAD, RELATION, TAIL = range(3)
LIST: Unit = ("list", "lists")


class Questions(NamedTuple):
    """The questions that triples pose: first (?, relation, tail), then (head, relation, ?).

    Attributes:
        entities: `[lists]` int32, the entity that is known: the tail, if heads are
            asked for.
        relations: `[lists]` int32.
        answers: `[lists]` int32, the entity that is asked for.
        known: `[answers of all questions]` int32, the answers of distinct questions, one
            question after another.
        starts: `[lists]`, where the known answers of each begin in `known`.
        counts: `[lists]`, and how many there are, the one asked for included.
    """

    entities: np.ndarray
    relations: np.ndarray
    answers: np.ndarray
    known: np.ndarray
    starts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls, triples: np.ndarray, known: np.ndarray, num_entities: int
    ) -> "Questions":
        """Makes the questions of triples, and looks up all answers that are known.

        Args:
            triples: `[triples, 3]`, those to evaluate.
            known: `[known triples, 3]`, with those to evaluate among them.
            num_entities: How many entities there are.
        """
        heads = cls._of_side(HEAD, TAIL, triples, known, num_entities)
        tails = cls._of_side(TAIL, HEAD, triples, known, num_entities)
        tails = tails._replace(starts=tails.starts + heads.known.size)
        return cls(*map(np.concatenate, zip(heads, tails, strict=True)))

    @classmethod
    def _of_side(
        cls,
        answer: int,
        entity: int,
        triples: np.ndarray,
        known: np.ndarray,
        num_entities: int,
    ) -> "Questions":
        num_relations = 1 + known[:, RELATION].max()
        pairs, of_known = (
            x[:, entity].astype(np.int64) * num_relations + x[:, RELATION]
            for x in (triples, known)
        )
        # Pairs that triples share are looked up once: `question` is that of each triple.
        distinct, question = np.unique(pairs, return_inverse=True)
        # Most known triples answer none of these questions.
        slots = np.minimum(np.searchsorted(distinct, of_known), len(distinct) - 1)
        is_answer = distinct[slots] == of_known
        answers = slots[is_answer] * num_entities + known[is_answer, answer]
        answers = np.unique(answers)  # in the order of questions, then of entities
        bounds = np.searchsorted(
            answers, np.arange(len(distinct) + 1, dtype=np.int64) * num_entities
        )
        return cls(
            triples[:, entity],
            triples[:, RELATION],
            triples[:, answer],
            (answers % num_entities).astype(np.int32),
            bounds[:-1][question],
            np.diff(bounds)[question],
        )

    @property
    def unit(self) -> Unit:
        """The word for a question, which has a list."""
        return LIST

    def name(self, index: int) -> str:
        """Returns what messages call a question: the triple that poses it."""
        parts = (self.entities, self.relations, self.answers)
        triple = [int(x[index]) for x in parts]
        return f"triple {triple[::-1] if self.side(index) == 'head' else triple}"

    def side(self, index: int) -> Side:
        """Returns what a question asks for; those of heads come first."""
        return SIDES[2 * index // len(self.entities)]

    def nan_message(self, index: int, items: object) -> str:
        """Returns the message for a question of which a score is NaN."""
        del items  # none are known
        return (
            f"the scores of score_fn for {self.name(index)} hold nan where the "
            f"{self.side(index)} is predicted; return numbers ({INFINITIES})"
        )

    def other_answers(self, indices: np.ndarray, width: int) -> np.ndarray:
        """Returns the known answers of questions but those asked for, `[n, width]`.

        Two of three known answers [4, 7, 9], where 7 is asked for, are [4, −1, 9]. Slots
        beyond the answers hold −1.
        """
        # [questions, width]: slots in which a question has a known answer.
        slots = np.arange(width)
        is_known = slots < self.counts[indices, None]
        last = len(self.known) - 1
        rows = self.known[np.minimum(self.starts[indices, None] + slots, last)]
        is_other = is_known & (rows != self.answers[indices, None])
        return np.where(is_other, rows, -1)


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
