"""Ragged lists by query, as retrieval tools have them, and their ids as padded numbers."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._inputs.arrays import kind_of
from jax_rank_metrics._inputs.labelled import refuse_masked
from jax_rank_metrics._inputs.libraries import is_frame, is_of_jax, is_series
from jax_rank_metrics._inputs.options import is_integer
from jax_rank_metrics._inputs.pad import pad_lists


class RaggedLists(NamedTuple):
    """Lists of any lengths, and the ids of the queries that they belong to."""

    query_ids: list[Any] | None  # None: 0, 1, … by position
    lists: list[list[Any]]


class PaddedIds(NamedTuple):
    """Arguments of `rank_ids` as integers, −1 where there is none."""

    retrieved: np.ndarray  # [lists, retrieved]; of a single list without the first axis
    relevant: np.ndarray  # [lists, relevant]
    relevant_labels: np.ndarray | None  # [lists, relevant]
    query_ids: list[Any] | None  # as in `RaggedLists`
    are_integers: bool  # whether ids are those that were passed, and not their numbers


def ragged_lists(name: str, value: Any, is_ordered: bool = True) -> RaggedLists:
    """Reads lists of any lengths, by query or by position.

    Args:
        name: The argument, for messages.
        value: A dict or a Series of pandas `{query: ids}`, or a list or an array of lists.
        is_ordered: Whether the order of ids matters, so that sets are refused.

    Raises:
        TypeError: if anything but lists is in it, such as a single string.
    """
    query_ids: list[Any] | None = None
    rows: Iterable[Any] = value
    if is_series(value) or isinstance(value, Mapping):
        pairs = [*value.items()]
        query_ids, rows = [x for x, _ in pairs], [x for _, x in pairs]
    lists: list[list[Any]] = []
    for row in rows:
        refuse_masked(name, row, "lists of the ids that exist")
        ids: Any = row
        if isinstance(row, Set) and not is_ordered:
            ids = sorted(row, key=repr)
        elif hasattr(row, "to_list"):  # a Series
            ids = ids.to_list()
        elif hasattr(row, "tolist"):
            ids = ids.tolist()
        if not isinstance(ids, (list, tuple)):
            query = len(lists) if query_ids is None else query_ids[len(lists)]
            order = " in rank order" if is_ordered else ""
            raise TypeError(
                f"{name}: query {query!r} holds {kind_of(row)}; pass a list of ids{order}"
            )
        lists.append([*ids])
    return RaggedLists(query_ids, lists)


def padded_ids(
    retrieved_ids: Any, relevant_ids: Any, relevant_labels: Any
) -> PaddedIds | None:
    """Pads ids of `rank_ids` that are strings, have queries, or differ in number.

    Integers stay, unless some ids are strings: then all are, as in `join`, and they are
    numbered by their first appearance, those that were retrieved first.

    Args:
        retrieved_ids: As for `ragged_lists`; or a single list of strings.
        relevant_ids: The same, in any order; or a dict `{query: {id: label}}`.
        relevant_labels: Lists like those of `relevant_ids`, or None.

    Returns:
        None if arrays of integers hold both.

    Raises:
        ValueError: if the two have other queries, or an id is missing.
        TypeError: see `ragged_lists`.
    """
    if not (_is_ragged(retrieved_ids) or _is_ragged(relevant_ids)):
        return None
    arguments: list[Any] = [retrieved_ids, relevant_ids, relevant_labels]
    is_single = any(
        isinstance(x, list) and x and isinstance(x[0], str) for x in arguments[:2]
    )
    if is_single:
        arguments = [None if x is None else [x] for x in arguments]
    if isinstance(relevant_ids, Mapping) and relevant_labels is None:
        if any(isinstance(x, Mapping) for x in relevant_ids.values()):
            arguments[1] = {query: [*x] for query, x in relevant_ids.items()}
            arguments[2] = {
                query: [*dict(x).values()] for query, x in relevant_ids.items()
            }
    retrieved = ragged_lists("retrieved_ids", arguments[0])
    relevant = ragged_lists("relevant_ids", arguments[1], is_ordered=False)
    order = _order_of_queries(retrieved, "relevant_ids", relevant)
    lists = [retrieved.lists, [relevant.lists[i] for i in order]]
    ids = [*itertools.chain.from_iterable(itertools.chain.from_iterable(lists))]
    if any(x is None or x != x for x in ids):
        raise ValueError(
            "retrieved_ids and relevant_ids: an id is missing; leave it out"
        )
    for row in lists[1]:
        counts = Counter(x for x in row if not (is_integer(x) and x < 0))
        repeated = [x for x, count in counts.items() if count > 1]
        if repeated:
            raise ValueError(
                f"relevant_ids holds {repeated[0]!r} twice in a list; pass it once"
            )
    are_integers = all(map(is_integer, ids))
    if not are_integers:
        numbers = {x: i for i, x in enumerate(dict.fromkeys(map(str, ids)))}
        lists = [[[numbers[str(x)] for x in row] for row in side] for side in lists]
    padded = [pad_lists(side, lists=len(order), fill=-1)[0] for side in lists]
    labels = None
    if arguments[2] is not None:
        of_relevant = ragged_lists("relevant_labels", arguments[2])
        order = _order_of_queries(retrieved, "relevant_labels", of_relevant)
        rows = [of_relevant.lists[i] for i in order]
        labels = pad_lists(rows, lists[1], lists=len(order))[0]
    ids_and_labels = [*padded, labels]
    if is_single:
        ids_and_labels = [None if x is None else x[0] for x in ids_and_labels]
    return PaddedIds(*ids_and_labels, retrieved.query_ids, are_integers)


def _is_ragged(ids: Any) -> bool:
    """Whether ids are not an array of integers, and not known to be no ids at all."""
    if isinstance(ids, Mapping):
        return True
    if is_of_jax(ids) or is_frame(ids):
        return False
    try:
        return np.asarray(ids).dtype.kind in "USO"
    except ValueError:  # lists that differ in length
        return True
    except (TypeError, RuntimeError):  # traced values, or a tensor on another device
        return False


def _order_of_queries(
    retrieved: RaggedLists, name: str, relevant: RaggedLists
) -> Sequence[int]:
    """Returns the index among other lists of each list that was retrieved.

    Args:
        retrieved: The lists that were retrieved.
        name: The argument of the others.
        relevant: The others, by the same queries.
    """
    counts = len(retrieved.lists), len(relevant.lists)
    queries, of_relevant = retrieved.query_ids, relevant.query_ids
    if (
        (queries is None) != (of_relevant is None)
        or counts[0] != counts[1]
        or not counts[0]
    ):
        kinds = ["lists" if x is None else "queries" for x in (queries, of_relevant)]
        raise ValueError(
            f"retrieved_ids has {counts[0]} {kinds[0]}, and {name} {counts[1]} "
            f"{kinds[1]}; pass the same queries to both, at least one, or call jrm.join, "
            "which knows what to do with those of one side alone"
        )
    if queries is None or of_relevant is None:
        return range(counts[0])
    indices = {query: index for index, query in enumerate(of_relevant)}
    unknown = [query for query in queries if query not in indices]
    if unknown:
        raise ValueError(
            f"retrieved_ids has the query {unknown[0]!r}, which {name} has not; pass "
            "the same queries to both, or call jrm.join, which may leave some out"
        )
    return [indices[query] for query in queries]
