"""The items that queries are judged on: relevant, excluded, and candidates."""

import enum
from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._engine.sources import host_blocks
from jax_rank_metrics._engine.sources.attributes import (
    LabelFn,
    by_attributes,
    label_dtype,
    read_attributes,
)
from jax_rank_metrics._ground import types
from jax_rank_metrics._runs.drivers.devices import Argument, Devices
from jax_rank_metrics._runs.drivers.interactions import (
    QUERY,
    RawInteractions,
    SparseRows,
    Vocabularies,
    Vocabulary,
    check_known_items,
    read_interactions,
)


class Membership(enum.IntFlag):
    """The sets of a query in which an item is."""

    CANDIDATE = 1  # it has a rank
    JUDGED = 2
    EXCLUDED = 4  # it leaves the list


class SharedCandidates(NamedTuple):
    """The candidates of queries that share them by their kind, such as a relation.

    Attributes:
        of_kinds: `[kinds, items]`, 1 where an item is a candidate.
        kinds: `[queries]`, the kind of each.
    """

    of_kinds: SparseRows
    kinds: np.ndarray

    def masks(self, queries: np.ndarray) -> np.ndarray:
        """Returns which items are candidates of some queries, `[queries, items]` bool."""
        return self.of_kinds[self.kinds[queries]].toarray() > 0

    def holds(self, items: np.ndarray) -> np.ndarray:
        """Returns whether an item of each query is among its candidates, `[queries]`."""
        num_kinds, width = self.of_kinds.shape
        kinds = np.repeat(np.arange(num_kinds), np.diff(self.of_kinds.indptr))
        known = kinds * width + self.of_kinds.indices
        return np.isin(self.kinds * width + items, known)


class Judgements(NamedTuple):
    """The items that each query is judged on, by ids or by attributes.

    Attributes:
        relevant: `[queries, items]`, the labels of relevant items; None with attributes.
        exclude: `[queries, items]`, what leaves the list of a query; None if nothing.
        listed_labels: `[queries, items]`, the relevance of candidates, and of relevant
            items beside them; 0 is stored. None if everything has a rank.
        membership: The same entries, sorted by id: the `Membership` of each item; or None.
        label_fn: What labels items by attributes; None where ids are known.
        query_attributes: A pytree of arrays `[queries, …]`, as devices hold them between
            batches; or None.
        item_attributes: A pytree of arrays `[items, …]`, or None.
        shared_candidates: The items that have a rank, where whole scores are at hand and
            queries share them; or None.
    """

    relevant: SparseRows | None
    exclude: SparseRows | None
    listed_labels: SparseRows | None = None
    membership: SparseRows | None = None
    label_fn: LabelFn | None = None
    query_attributes: types.Arrays = None
    item_attributes: types.Arrays = None
    shared_candidates: SharedCandidates | None = None

    @classmethod
    def of(
        cls,
        relevant: SparseRows,
        seen: SparseRows | None = None,
        candidates: SparseRows | None = None,
        num_items: int | None = None,
    ) -> "Judgements":
        """Returns the judgements of ids, as sparse rows `[queries, items]`.

        Items from `num_items` on are unknown, and count as missed unless they are seen.
        """
        if num_items is not None and seen is not None:
            same_width(relevant, seen)
            seen_too = relevant.multiply(seen > 0).tocsr()
            seen_too.data *= seen_too.indices >= num_items
            if seen_too.count_nonzero():
                relevant = (relevant - seen_too).tocsr()
        if candidates is None:
            return cls(relevant, seen)
        return cls(relevant, seen, *_listed_items(candidates, relevant, seen))

    @property
    def label_dtype(self) -> np.dtype | None:
        """The dtype of labels by attributes; None where ids are known."""
        if self.label_fn is None:
            return None
        attributes = by_attributes(
            self.label_fn, self.query_attributes, self.item_attributes
        )
        return label_dtype(attributes, (2,), 3)  # of queries and items, any numbers

    def of_queries(self, queries: np.ndarray) -> "Judgements":
        """Returns the judgements by ids of some queries, in the order of their indices."""
        tables = self.relevant, self.exclude, self.membership
        parts = [None if table is None else table[queries] for table in tables]
        if (shared := self.shared_candidates) is not None:
            parts[2] = shared.of_kinds[shared.kinds[queries]].astype(np.int8)
        return Judgements(parts[0], parts[1], membership=parts[2])

    def ranked_items(
        self, shape: tuple[int, int], item_mask: jax.Array | None
    ) -> np.ndarray:
        """Returns whether the first items have a rank for the first queries.

        Args:
            shape: The numbers of these queries and of these items.
            item_mask: `[items]` bool, the items that exist; None if all do.

        Returns:
            An array of bool of this shape.
        """
        is_ranked = np.ones(shape, bool)
        if self.exclude is not None:
            is_ranked &= first_rows(self.exclude, shape) == 0
        if self.membership is not None:
            membership = first_rows(self.membership, shape)
            is_ranked &= membership & Membership.CANDIDATE > 0
        if item_mask is not None:
            is_ranked &= np.asarray(item_mask)[: shape[1]]
        return is_ranked

    def check_known_items(self, num_items: int, query_ids: Vocabulary) -> None:
        """Raises if an id is of no item, where their number is known only now."""
        for name, rows in (("relevant", self.relevant), ("exclude", self.exclude)):
            if rows is not None:
                check_known_items(name, rows, query_ids.name_of, num_items, QUERY)


def _listed_items(
    candidates: SparseRows, relevant: SparseRows, excluded: SparseRows | None
) -> tuple[SparseRows, SparseRows]:
    """Joins candidates and relevant items, without those that leave the lists.

    Args:
        candidates: `[queries, items]`, 1 where an item is a candidate.
        relevant: `[queries, items]`, labels, of which 0 may be stored.
        excluded: `[queries, items]`, what leaves the lists; or None.

    Returns:
        Their labels and membership; see `Judgements`.
    """
    import scipy.sparse

    same_width(candidates, relevant, excluded)
    is_judged = relevant.astype(np.int8)
    is_judged.data[:] = Membership.JUDGED
    membership = (candidates > 0) * int(Membership.CANDIDATE) + is_judged
    if excluded is not None:
        membership = membership + (excluded > 0) * int(Membership.EXCLUDED)
    membership = scipy.sparse.csr_array(membership)
    # Labels and membership have the same entries, so that both are padded alike.
    membership.data *= membership.data < Membership.EXCLUDED
    membership.eliminate_zeros()
    membership.sort_indices()
    labels = membership.astype(np.float64)
    labels.data[:] = 1
    # 1 more than the label, since a sum of sparse matrices does not store zeros.
    labels = scipy.sparse.csr_array(labels + relevant.multiply(membership > 0))
    labels.sort_indices()
    labels.data -= 1
    return labels, membership.astype(np.int8)


def same_width(*matrices: SparseRows | None) -> None:
    """Gives sparse rows of the same users equally many columns, in place."""
    known = [rows for rows in matrices if rows is not None]
    num_columns = max(rows.shape[1] for rows in known)
    for rows in known:
        rows.resize((rows.shape[0], num_columns))


def first_rows(rows: SparseRows, shape: tuple[int, int]) -> np.ndarray:
    """Returns the first rows and columns of sparse rows as a dense array."""
    part = rows.tocsr()[: shape[0]]
    part.resize(shape)
    return part.toarray()


def global_arguments(
    queries: object, items: object, relevant: object
) -> list[Argument]:
    """Returns the arrays that may be global, under the names of messages.

    Args:
        queries: The argument.
        items: The argument; blocks of items are none.
        relevant: The argument, of which attributes may be global.
    """
    # Arrays over queries are cut over one axis, and arrays over items over the other.
    arrays, in_blocks = {"queries": queries}, host_blocks.is_in_blocks(items)
    if not in_blocks:
        arrays["items"] = items
    if isinstance(relevant, by_attributes):
        arrays["query_attributes"] = relevant.query_attributes
        if not in_blocks:
            arrays["item_attributes"] = relevant.item_attributes
    return [
        Argument(name, leaf, ("queries" if name.startswith("quer") else "items",))
        for name, value in arrays.items()
        for leaf in jax.tree.leaves(value)
    ]


def attributes_of_items(relevant: object) -> list[object]:
    """Returns the arrays over items that say what is relevant, if attributes do."""
    if not isinstance(relevant, by_attributes):
        return []
    return jax.tree.leaves(relevant.item_attributes)


def read_judgements(
    relevant: RawInteractions | by_attributes,
    candidates: RawInteractions | None,
    exclude: RawInteractions | None,
    exclude_self: bool,
    shape: tuple[int, int],
    devices: Devices,
    vocabularies: Vocabularies,
) -> tuple[Judgements, list[str]]:
    """Checks what is relevant, excluded and a candidate, by ids or by attributes.

    Args:
        relevant: See `evaluate_embeddings`, as the next three.
        candidates: See there.
        exclude: See there.
        exclude_self: See there.
        shape: The numbers of queries and of items.
        devices: The devices, which hold attributes of queries between batches.
        vocabularies: The ids of queries and of items.

    Returns:
        The judgements, and remarks on what was probably not intended.
    """
    import scipy.sparse

    num_queries, num_items = shape
    ids, attributes = relevant, None
    if isinstance(relevant, by_attributes):
        ids, attributes = None, relevant
        if candidates is not None:
            raise ValueError(
                "candidates is given, and relevant is by attributes; pass the ids of "
                "relevant items, since those that are no candidates count too"
            )
    interactions = read_interactions(
        QUERY, vocabularies, exclude=exclude, candidates=candidates, relevant=ids
    )
    rows_of, texts = {}, []
    for name, pairs in interactions.items():
        pairs.check_users(num_queries, is_selection=False)
        pairs.check_items(num_items, name == "candidates", vocabularies[1].num_unknown)
        # All queries, also those that a dict lacks, and all items, or as many as may come.
        rows_of[name] = pairs.rows(np.arange(num_queries))
        texts += pairs.remarks()
    num_unknown = vocabularies[1].num_unknown
    for rows in rows_of.values():
        rows.resize((num_queries, num_items + num_unknown))
    excluded = rows_of.get("exclude")
    if exclude_self:
        own_rows, remarks = _own_items(shape, *vocabularies)
        # Any entry above 0 excludes its item, so entries may add up to 2.
        own_rows.resize((num_queries, num_items + num_unknown))
        excluded = (
            own_rows
            if excluded is None
            else scipy.sparse.csr_array(excluded + own_rows)
        )
        texts += remarks
    if attributes is None:
        candidate_rows = rows_of.get("candidates")
        first_unknown = vocabularies[1].first_unknown
        relevant_rows = rows_of["relevant"]
        judgements = Judgements.of(
            relevant_rows, excluded, candidate_rows, first_unknown
        )
        return judgements, texts
    attributes = read_attributes(attributes, (num_queries,), num_items)
    # Attributes of queries travel with batches, and those of items lie on the devices.
    of_queries = jax.tree.map(
        lambda table: devices.table(table, devices.of_queries),
        attributes.query_attributes,
    )
    judgements = Judgements(
        None,
        exclude=excluded,
        label_fn=attributes.label_fn,
        query_attributes=of_queries,
        item_attributes=attributes.item_attributes,
    )
    return judgements, texts


def _own_items(
    shape: tuple[int, int], query_ids: Vocabulary, item_ids: Vocabulary
) -> tuple[SparseRows, list[str]]:
    """Returns an entry for the item that each query is, and remarks.

    By name, where all queries are named like items, and else by position.
    """
    import scipy.sparse

    (num_queries, num_items), texts = shape, []
    own_rows = named = np.arange(num_queries)
    num_named = 0
    if query_ids.ids is not None and item_ids.ids is not None:
        known = item_ids.numbers_by_id
        named = np.array([known.get(key, -1) for key in query_ids.numbers_by_id])
        # Numbers after those of the catalogue are of unknown items.
        num_named = np.count_nonzero((named >= 0) & (named < num_items))
    if num_named == num_queries:
        own_rows = named
    elif num_named:
        texts.append(
            f"exclude_self=True goes by position, since {num_named} of {num_queries} "
            "query_ids are among item_ids, and others are not; pass exclude, the ids that "
            "leave each list, if it should go by name"
        )
    if num_named < num_queries and num_queries != num_items:
        raise ValueError(
            f"exclude_self is True, but there are {num_queries} queries and {num_items} "
            "items; pass exclude, the ids that leave each list, where query i is not item "
            "i, or query_ids and item_ids in which queries have the names of items"
        )
    entries = np.ones(num_queries, np.float32), (np.arange(num_queries), own_rows)
    return scipy.sparse.csr_array(entries, shape=shape), texts
