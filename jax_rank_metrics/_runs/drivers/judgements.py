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
    """The sets of a query to which an item belongs."""

    CANDIDATE = 1  # the item has a rank
    JUDGED = 2
    EXCLUDED = 4  # the item leaves the list


class SharedCandidates(NamedTuple):
    """Candidates that all queries of a kind share, such as all queries of a relation.

    Attributes:
        of_kinds: `[kinds, items]`, 1 for each candidate.
        kinds: `[queries]`, the kind of each query.
    """

    of_kinds: SparseRows
    kinds: np.ndarray

    def masks(self, queries: np.ndarray) -> np.ndarray:
        """Returns True for the candidates of some queries, `[queries, items]`."""
        return self.of_kinds[self.kinds[queries]].toarray() > 0

    def holds(self, items: np.ndarray) -> np.ndarray:
        """Returns True for queries whose item in `items` is a candidate, `[queries]`."""
        num_kinds, width = self.of_kinds.shape
        kinds = np.repeat(np.arange(num_kinds), np.diff(self.of_kinds.indptr))
        known = kinds * width + self.of_kinds.indices
        return np.isin(self.kinds * width + items, known)


class Judgements(NamedTuple):
    """The items that each query is judged on, by ids or by attributes.

    Attributes:
        relevant: `[queries, items]`, the labels of relevant items; None with attributes.
        exclude: `[queries, items]`, the items that leave the list of a query; or None.
        listed_labels: `[queries, items]`, the relevance of candidates and of other relevant
            items; 0 is stored. None if all items have a rank.
        membership: The `Membership` of each item, for the entries of `listed_labels`,
            sorted by id; or None.
        label_fn: The function that labels items by attributes; None if relevant items are
            given by ids.
        query_attributes: A pytree of arrays `[queries, …]`, as devices hold them between
            batches; or None.
        item_attributes: A pytree of arrays `[items, …]`, or None.
        shared_candidates: The items that have a rank, if queries of a kind share them and
            all items are scored; or None.
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
        """Returns the judgements by ids, from sparse rows `[queries, items]`.

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
        """The dtype of labels by attributes; None if relevant items are given by ids."""
        if self.label_fn is None:
            return None
        attributes = by_attributes(
            self.label_fn, self.query_attributes, self.item_attributes
        )
        return label_dtype(attributes, (2,), 3)  # for any numbers of queries and items

    def of_queries(self, queries: np.ndarray) -> "Judgements":
        """Returns the judgements by ids of some queries, in the order of `queries`."""
        tables = self.relevant, self.exclude, self.membership
        parts = [None if table is None else table[queries] for table in tables]
        if (shared := self.shared_candidates) is not None:
            parts[2] = shared.of_kinds[shared.kinds[queries]].astype(np.int8)
        return Judgements(parts[0], parts[1], membership=parts[2])

    def ranked_items(
        self, shape: tuple[int, int], item_mask: jax.Array | None
    ) -> np.ndarray:
        """Tells, for the first queries, which of the first items have a rank.

        Args:
            shape: How many queries and how many items are asked for.
            item_mask: `[items]` bool, the items that exist; None if all do.

        Returns:
            An array of bool of this shape, True for items with a rank.
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
        """Raises if an id belongs to no item; call it once the number of items is known."""
        for name, rows in (("relevant", self.relevant), ("exclude", self.exclude)):
            if rows is not None:
                check_known_items(name, rows, query_ids.name_of, num_items, QUERY)


def _listed_items(
    candidates: SparseRows, relevant: SparseRows, excluded: SparseRows | None
) -> tuple[SparseRows, SparseRows]:
    """Joins candidates and relevant items, without items that leave the lists.

    Args:
        candidates: `[queries, items]`, above 0 for each candidate.
        relevant: `[queries, items]`, labels; a label of 0 may be stored.
        excluded: `[queries, items]`, the items that leave the lists; or None.

    Returns:
        The labels and the membership of the joined items; see `Judgements`.
    """
    import scipy.sparse

    same_width(candidates, relevant, excluded)
    is_judged = relevant.astype(np.int8)
    is_judged.data[:] = Membership.JUDGED
    membership = (candidates > 0) * int(Membership.CANDIDATE) + is_judged
    if excluded is not None:
        membership = membership + (excluded > 0) * int(Membership.EXCLUDED)
    membership = scipy.sparse.csr_array(membership)
    # Remove the items that leave the lists.
    membership.data *= membership.data < Membership.EXCLUDED
    membership.eliminate_zeros()
    membership.sort_indices()
    labels = membership.astype(np.float64)
    labels.data[:] = 1
    # Add 1 to each label until the end, because a sum of sparse matrices drops zeros. So
    # labels and membership have the same entries, and are padded in the same way.
    labels = scipy.sparse.csr_array(labels + relevant.multiply(membership > 0))
    labels.sort_indices()
    labels.data -= 1
    return labels, membership.astype(np.int8)


def same_width(*matrices: SparseRows | None) -> None:
    """Gives sparse rows of the same users the same number of columns, in place."""
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
    """Returns the arrays that may be global, with their names in messages.

    Args:
        queries: The argument.
        items: The argument; blocks of items are never global.
        relevant: The argument; its attributes may be global.
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
    """Returns the attributes of items, if relevant items are given by attributes."""
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
    """Checks the relevant and excluded items and candidates, by ids or by attributes.

    Args:
        relevant: See `evaluate_embeddings`.
        candidates: See `evaluate_embeddings`.
        exclude: See `evaluate_embeddings`.
        exclude_self: See `evaluate_embeddings`.
        shape: The numbers of queries and of items.
        devices: The devices, which hold attributes of queries between batches.
        vocabularies: The ids of queries and of items.

    Returns:
        The judgements, and remarks on probable mistakes.
    """
    import scipy.sparse

    num_queries, num_items = shape
    ids, attributes = relevant, None
    if isinstance(relevant, by_attributes):
        ids, attributes = None, relevant
        if candidates is not None:
            raise ValueError(
                "candidates is given, but relevant is by attributes; pass the ids of "
                "relevant items, because relevant items that are no candidates count, too"
            )
    interactions = read_interactions(
        QUERY, vocabularies, exclude=exclude, candidates=candidates, relevant=ids
    )
    rows_of, texts = {}, []
    for name, pairs in interactions.items():
        pairs.check_users(num_queries, is_selection=False)
        pairs.check_items(num_items, name == "candidates", vocabularies[1].num_unknown)
        # Make rows for all queries, even if a dict lacks some.
        rows_of[name] = pairs.rows(np.arange(num_queries))
        texts += pairs.remarks()
    num_unknown = vocabularies[1].num_unknown
    # Make columns for all items, or for the largest possible number of items if the number
    # is not known yet, and for unknown items.
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
    # Keep the attributes of queries in a form from which batches can take rows. The
    # attributes of items are put on the devices with the catalogue.
    query_attributes = jax.tree.map(
        lambda table: devices.table(table, devices.of_queries),
        attributes.query_attributes,
    )
    judgements = Judgements(
        None,
        exclude=excluded,
        label_fn=attributes.label_fn,
        query_attributes=query_attributes,
        item_attributes=attributes.item_attributes,
    )
    return judgements, texts


def _own_items(
    shape: tuple[int, int], query_ids: Vocabulary, item_ids: Vocabulary
) -> tuple[SparseRows, list[str]]:
    """Returns sparse rows with an entry for each query's own item, and remarks.

    If the ids of all queries are ids of items, a query's own item is the item with the same
    id; otherwise it is the item at the query's position.
    """
    import scipy.sparse

    (num_queries, num_items), texts = shape, []
    own_rows = named = np.arange(num_queries)
    num_named = 0
    if query_ids.ids is not None and item_ids.ids is not None:
        known = item_ids.numbers_by_id
        named = np.array([known.get(key, -1) for key in query_ids.numbers_by_id])
        # Numbers beyond the catalogue belong to unknown items.
        num_named = np.count_nonzero((named >= 0) & (named < num_items))
    if num_named == num_queries:
        own_rows = named
    elif num_named:
        texts.append(
            "exclude_self=True removes item i from the list of query i, because only "
            f"{num_named} of {num_queries} query_ids are in item_ids; if items should be "
            "removed by id, pass exclude, the ids to remove from each list"
        )
    if num_named < num_queries and num_queries != num_items:
        raise ValueError(
            f"exclude_self is True, but there are {num_queries} queries and {num_items} "
            "items, so query i is not item i; pass exclude, the ids to remove from each "
            "list; or pass query_ids and item_ids that give a query the id of its own item"
        )
    entries = np.ones(num_queries, np.float32), (np.arange(num_queries), own_rows)
    return scipy.sparse.csr_array(entries, shape=shape), texts
