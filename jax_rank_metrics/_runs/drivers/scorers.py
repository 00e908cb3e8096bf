"""Scorers: the sources of scores of items for a query.

Drivers call the same few methods of every scorer on the host. `rows` returns the vectors or
scores of some queries, from which a program ranks items; `pairs` does so for queries and
their candidates. `Embeddings` are scored on the devices, a block of items at a time; all
other scorers know the scores of a whole batch.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from jax_rank_metrics._engine.sources import similarities
from jax_rank_metrics._engine.sources.host_blocks import HostBlocks, is_in_blocks
from jax_rank_metrics._engine.sources.similarities import maxsim, products
from jax_rank_metrics._engine.sources.tokens import (
    TokenItems,
    Tokens,
    packed,
    packed_on_host,
)
from jax_rank_metrics._ground import inputs, shards
from jax_rank_metrics._ground.inputs import libraries
from jax_rank_metrics._runs.drivers import interactions
from jax_rank_metrics._runs.drivers.devices import Argument, Array, Devices, is_global
from jax_rank_metrics._runs.drivers.nan_causes import INFINITIES, Vectors, nan_message

# Causes of NaN if no vector holds NaN, and what to do.
OVERFLOW = f"products overflow, and {INFINITIES}; pass smaller numbers"
CUSTOM_SCORES = (
    f"similarity returns nan for finite vectors; return numbers ({INFINITIES})"
)
UNKNOWN_SCORES = (
    f"pass numbers, and -inf for items that must not be recommended ({INFINITIES})"
)

# How many items of one width are scored at a time. On a CPU the number is small, so that
# products of the tokens of items and queries stay in the CPU's cache. Other devices are
# slow to start a product, so they score more items at a time.
CPU_BLOCK_SIZE, BLOCK_SIZE = 64, 1024

# The number of blocks that devices work on while the host fills the next one.
_BLOCKS_AHEAD = 4

# How many pairs of a query and a candidate are multiplied at a time. A product copies the
# entries of the pair, about 100 for each embedding of a common model.
PAIRS_AT_ONCE = 2**16


def _scores_of_pairs(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Returns known scores, which are passed as `items`, in the shape `[1, listed]`."""
    del queries
    return items[None]


# The similarity of pairs whose scores are known.
KNOWN_SCORES = similarities.Similarity(_scores_of_pairs)


@dataclasses.dataclass
class ScoreSource:
    """A source of scores for a driver; subclasses have vectors, scores or tokens.

    Attributes:
        devices: The devices that share the work.
        queries: `[rows, …]`, as devices hold them between batches; None if a function
            scores any query.
        items: `[items, …]` vectors as they were passed, or blocks or tokens; None if
            there are only scores.
        names: The names of queries and items in messages.
        scores_of: The words before the name of a query in messages on its scores.
        nan_cause: The cause of NaN if no vector holds NaN, and what to do, for messages.
        similarity: The function that scores vectors, in pairs and in blocks.
    """

    devices: Devices
    queries: Any = None
    items: Any = None
    names: tuple[str, str] = ("queries", "items")
    scores_of: str = "the scores of"
    nan_cause: str = OVERFLOW
    similarity: similarities.Similarity = KNOWN_SCORES

    @property
    def num_rows(self) -> int | None:
        """The number of queries; None if a function scores any query."""
        return None if self.queries is None else self.queries.shape[0]

    @property
    def num_items(self) -> int | None:
        """The number of items; None before `start` calls a function."""
        return self.items.shape[0]

    def start(self, indices: np.ndarray) -> int:
        """Returns the number of items; a function scores the first batch to learn it."""
        del indices
        assert self.num_items is not None
        return self.num_items

    def numbers_per_query(self, block_size: int, num_items: int) -> int:
        """Returns how many scores a batch holds at once for each of its queries."""
        del block_size
        return num_items

    @property
    def numbers_per_pair(self) -> int:
        """How many numbers a batch of candidates gathers for each candidate."""
        if self.similarity is KNOWN_SCORES:
            return 1
        return math.prod(self.items.shape[1:])

    def rows(self, indices: np.ndarray) -> Array:
        """Returns the vectors or scores of some queries; −1 reads the last query."""
        spec = self.devices.of_queries
        return self.devices.rows(self.names[0], self.queries, indices, spec)

    def pairs(self, indices: np.ndarray, ids: np.ndarray) -> tuple[Array, Array]:
        """Returns the vectors of queries, and the vectors `[size, listed, …]` of items.

        If scores are known, the scores `[size, listed]` are returned instead of the items'
        vectors.

        Args:
            indices: `[size]`, the queries.
            ids: `[size, listed]`, the items of each query; −1 for padding.
        """
        _refuse_parts(self.items)
        items = shards.rows_at(self.items, np.maximum(ids, 0))
        return ScoreSource.rows(self, indices), items

    def check(self, block_size: int, item_mask: jax.Array | None) -> None:
        """Raises if queries and items, which were read separately, do not fit each other.

        Args:
            block_size: How many items are scored at a time.
            item_mask: `[items]` bool, the items that are read; None for all.
        """

    def query_name(
        self, unit: interactions.Unit, row: int, query_ids: interactions.Vocabulary
    ) -> str:
        """Returns the name of a query in messages, such as "user 7"."""
        return f"{unit[0]} {query_ids.name_of(row)}"

    def nan_message(
        self,
        name: str,
        row: int,
        mask: np.ndarray | None,
        item_ids: interactions.Vocabulary,
    ) -> str:
        """Returns the error message for a query with a score that is NaN.

        Args:
            name: The name of the query.
            row: The row of the query.
            mask: `[items]` bool, the items that are read; None for all.
            item_ids: The ids of items.
        """
        vectors = []
        if self.items is not None and self.queries is not None:
            number = self.num_items
            assert number is not None
            is_query = np.arange(len(self.queries)) == row
            vectors = [
                Vectors(self.names[0], self.queries, 1, is_query, query=name),
                Vectors(
                    *(self.names[1], self.items, number, mask), name_of=item_ids.name_of
                ),
            ]
        return nan_message(f"{self.scores_of} {name}", vectors, self.nan_cause)


@dataclasses.dataclass
class Embeddings(ScoreSource):
    """Queries and items with vectors, which devices score block by block."""

    @property
    def num_items(self) -> int | None:
        """The number of items; None if items come in blocks and are not counted yet."""
        items = self.items
        return items.num_items if isinstance(items, HostBlocks) else items.shape[0]

    def numbers_per_query(self, block_size: int, num_items: int) -> int:
        """Returns how many scores a batch holds at once for each of its queries."""
        # Each token of a query has its own scores.
        return math.prod(self.queries.shape[1:-1]) * min(block_size, num_items)

    def check(self, block_size: int, item_mask: jax.Array | None) -> None:
        """Raises unless a user's similarity returns the scores of a block of items."""
        del item_mask
        items, num_items = self.items, self.num_items
        items = items.example if isinstance(items, HostBlocks) else items
        size = block_size if num_items is None else min(block_size, num_items)
        self.similarity.check(self.queries, items, size, (len(self.queries),))


@dataclasses.dataclass
class Scores(ScoreSource):
    """Scores that are known: a matrix `[rows, items]`, or a function of rows.

    A function is called once for each batch. The first call tells how many items there
    are, and its scores are kept until the batch is started.

    Attributes:
        function: Maps rows `[size]` to scores `[size, items]`; None for a matrix.
        first_scores: The scores of the first batch, until the batch is started.
    """

    function: Callable[..., Any] | None = None
    first_scores: jax.Array | None = None
    _num_items: int | None = None

    @property
    def num_items(self) -> int | None:
        """The number of items; None before `start`."""
        return self._num_items if self.queries is None else self.queries.shape[1]

    def start(self, indices: np.ndarray) -> int:
        """Returns the number of items; a function scores the first batch to learn it."""
        if self.function is not None:
            self.first_scores = self._called(indices)
            self._num_items = self.first_scores.shape[1]
        assert self.num_items is not None
        return self.num_items

    def rows(self, indices: np.ndarray) -> Array:
        """Returns the scores of some queries; −1 reads the last row of a matrix."""
        if self.function is None:
            spec = self.devices.of_scores
            return self.devices.rows(self.names[0], self.queries, indices, spec)
        first_scores, self.first_scores = self.first_scores, None
        return self._called(indices) if first_scores is None else first_scores

    def pairs(self, indices: np.ndarray, ids: np.ndarray) -> tuple[Array, Array]:
        """Returns the queries' indices instead of vectors, and the scores of items."""
        scores, ids = self.rows(indices), np.maximum(ids, 0)
        _refuse_parts(scores)
        return indices, np.take_along_axis(np.asarray(scores), ids, axis=1)

    def _called(self, indices: np.ndarray) -> jax.Array:
        """Checks the scores that the function returns for a batch, `[users, items]`."""
        assert self.function is not None
        values, num_users = self.function(indices), indices.size
        if inputs.is_pandas_frame(values):
            index = values.index.tolist()
            if index != indices.tolist() and index != [*range(num_users)]:
                raise ValueError(
                    "model returned a frame whose index differs from the users it was "
                    "called with; return rows in the order of these users, or return "
                    "frame.to_numpy()"
                )
        # The function runs outside of any trace, so its scores can be checked here.
        name = "the scores of model"
        scores = inputs.real(name, inputs.by_items_of_rows(name, values, None))
        if scores.ndim != 2 or scores.shape[0] != num_users or not scores.shape[1]:
            raise ValueError(
                f"model returned scores of shape {scores.shape} for {num_users} users; "
                "return one row for each user, and one column for each item"
            )
        if is_global(scores) and self.devices.mesh is None:
            raise ValueError(
                f"model returned scores that lie on {len(scores.sharding.device_set)} "
                "devices, but no mesh is known; pass mesh, and queries_axis, items_axis or "
                "both"
            )
        return scores


@dataclasses.dataclass
class Sparse(ScoreSource):
    """Sparse queries and items, such as SPLADE embeddings, which scipy multiplies.

    Attributes:
        queries: `[queries, dims]`, from `read_sparse`.
        items: `[items, dims]`.
        item_ids: The ids of items.
    """

    item_ids: interactions.Vocabulary = interactions.NO_IDS[1]

    @functools.cached_property
    def _by_dims(self) -> interactions.SparseRows:
        # [dims, items], so that one row holds all items that share an entry of a query.
        return self.items.T.tocsr()

    def rows(self, indices: np.ndarray) -> Array:
        """Returns the scores of all items for some queries."""
        # An item whose products cancel ties with items that share no entry: all score 0.
        return (self.queries[indices] @ self._by_dims).toarray()

    def pairs(self, indices: np.ndarray, ids: np.ndarray) -> tuple[Array, Array]:
        """Returns the queries' indices instead of vectors, and the scores of items."""
        scores = np.zeros(ids.shape, self.items.dtype)
        slots = np.argwhere(ids >= 0)
        for start in range(0, len(slots), PAIRS_AT_ONCE):
            i, j = slots[start : start + PAIRS_AT_ONCE].T
            products = self.queries[indices[i]].multiply(self.items[ids[i, j]])
            scores[i, j] = products.sum(axis=1)
        return indices, scores

    def check(self, block_size: int, item_mask: jax.Array | None) -> None:
        """Raises if an entry of an item is NaN or infinite."""
        del block_size
        _check_finite("items", self.items, item_mask, self.item_ids)

    def nan_message(
        self,
        name: str,
        row: int,
        mask: np.ndarray | None,
        item_ids: interactions.Vocabulary,
    ) -> str:
        """Returns the error message for a query with a score that is NaN."""
        del row, mask, item_ids  # not needed, because all entries are finite
        return nan_message(f"{self.scores_of} {name}", [], self.nan_cause)


@dataclasses.dataclass
class LateInteraction(ScoreSource):
    """Queries and items with tokens, which the host groups by their numbers of tokens.

    Attributes:
        queries: `[queries, tokens, dims + 1]`, packed.
        items: The items.
        block_size: How many items are scored at a time.
    """

    # Used only for pairs of a query and a candidate, whose tokens are on the devices.
    similarity: similarities.Similarity = similarities.Similarity(maxsim)
    block_size: int = BLOCK_SIZE

    @property
    def num_items(self) -> int | None:
        """The number of items."""
        return len(self.items)

    def rows(self, indices: np.ndarray) -> Array:
        """Returns the scores of all items for some queries."""
        devices = self.devices
        # A process cannot read the devices of other processes, so each computes all scores.
        if devices.mesh is not None and devices.mesh.is_multi_process:
            devices = Devices()
        queries = devices.put(jnp.asarray(self.queries[indices]), devices.of_queries)
        program, item_spec = (
            _token_program(devices),
            PartitionSpec(None, devices.items_axis),
        )
        columns, parts = [], []
        for block in self.items.blocks(self.block_size):
            arrays = (devices.put(array, item_spec) for array in block[1:])
            parts.append(program(queries, *arrays))
            columns.append(block.ids)
            if len(parts) > _BLOCKS_AHEAD:
                jax.block_until_ready(parts[-_BLOCKS_AHEAD])
        dtype = parts[0].dtype if parts else np.float32
        # Items without tokens rank last.
        scores = np.full((len(indices), len(self.items)), -np.inf, dtype)
        for ids, part in zip(columns, parts, strict=True):
            scores[:, ids] = np.asarray(part)[: len(indices), : len(ids)]
        return scores


@functools.lru_cache(maxsize=16)
def _token_program(devices: Devices) -> Callable[..., jax.Array]:
    """Returns the program that scores a block; each device scores its own part."""
    token_spec = PartitionSpec(None, devices.items_axis)
    in_specs = (devices.of_queries, token_spec, token_spec)
    return jax.jit(
        devices.map(similarities.scores_of_tokens, in_specs, devices.of_scores)
    )


def _refuse_parts(listed_rows: object) -> None:
    """Raises if other processes hold parts of the array with the candidates' rows."""
    if isinstance(listed_rows, jax.Array) and not listed_rows.is_fully_addressable:
        raise ValueError(
            "candidates is given, but the scores or items of model lie on several "
            "processes; pass NumPy arrays, from which every process reads its part"
        )


def read_model(
    model: Any, devices: Devices, ids: interactions.Vocabularies = interactions.NO_IDS
) -> ScoreSource:
    """Reads a pair of embeddings, a matrix of scores, or a function that scores users.

    Args:
        model: See `evaluate_users`.
        devices: The devices that share the work.
        ids: The ids of users and of items, which order the rows and columns of frames.
    """
    scores_of_model = functools.partial(
        Scores,
        devices,
        names=("model", ""),
        scores_of="the scores of model for",
        nan_cause=UNKNOWN_SCORES,
    )
    if callable(model):
        return scores_of_model(function=model)
    # A list of two matrices is a pair of embeddings; a list of lists is a matrix of scores.
    if isinstance(model, list) and [np.ndim(part) for part in model] == [2, 2]:
        model = tuple(model)
    if not isinstance(model, tuple):
        table = devices.table(_matrix("model", model, *ids), devices.of_scores)
        return scores_of_model(queries=table)
    if len(model) != 2:
        raise ValueError(f"model has {len(model)} parts; pass (queries, items)")
    names = ("model[0]", "model[1]")
    table, items = map(_matrix, names, model, ids)
    if table.shape[1:] != items.shape[1:]:
        raise ValueError(
            f"model has queries of shape {table.shape} and items of shape "
            f"{items.shape}; pass [users, dims] and [items, dims]"
        )
    return Embeddings(
        devices,
        devices.table(table, devices.of_queries),
        items,
        names,
        "the scores of model for",
        similarity=similarities.Similarity(products),
    )


def model_arguments(model: Any) -> list[Argument]:
    """Returns the arrays of a model that may be global, under the names of messages."""
    if isinstance(model, (tuple, list)) and len(model) == 2:
        queries, items = model
        return [
            Argument("model[0]", queries, ("queries",)),
            Argument("model[1]", items, ("items",)),
        ]
    return [Argument("model", model, ("queries", "items"))]


def read_vectors(name: str, value: Any, row_ids: np.ndarray | None = None) -> Array:
    """Returns a JAX array as it is, and anything else as a NumPy array on the host."""
    if inputs.is_frame(value):
        value = inputs.by_ids(name, value, row_ids, name)
    vectors = value
    if not isinstance(value, jax.Array):
        vectors = inputs.numpy_array(name, value)
    if not vectors.ndim or not vectors.shape[0]:
        raise ValueError(f"{name} has shape {vectors.shape}; pass at least one row")
    return vectors


def _matrix(name: str, matrix: Any, *ids: interactions.Vocabulary) -> Array:
    """Returns a matrix: a JAX array as it is, anything else as NumPy on the host.

    Args:
        name: The argument, for messages.
        matrix: The value of the argument.
        ids: The ids of rows; for scores, also the ids of columns, which are items.
    """
    if name == "model":
        matrix = inputs.by_items_of_rows(
            name, matrix, "users", (ids[0].ids, ids[1].ids)
        )
    elif inputs.is_frame(matrix):
        unit = "items" if name == "model[1]" else "users"
        matrix = inputs.by_ids(name, matrix, ids[0].ids, unit)
    if not isinstance(matrix, jax.Array):
        matrix = inputs.numpy_array(name, matrix)
    if matrix.ndim != 2 or 0 in matrix.shape[: 2 if name == "model" else 1]:
        raise ValueError(
            f"{name} has shape {matrix.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that returns scores, "
            "of at least one user and one item; if scores are the same for all users, pass "
            "(np.ones((users, 1)), scores[:, None])"
        )
    return matrix


def read_sparse(
    queries: Any,
    items: Any,
    similarity: object,
    devices: Devices,
    ids: interactions.Vocabularies,
) -> Sparse:
    """Reads sparse queries and items as rows with sorted, distinct entries.

    A query's products with equal items are then summed in the same order, so they tie.

    Args:
        queries: `[queries, dims]`, of scipy.
        items: `[items, dims]`, of scipy.
        similarity: The argument of `evaluate_embeddings`.
        devices: The devices that share the work.
        ids: The ids of queries and of items.

    Raises:
        ValueError: if only queries or only items are sparse; if shapes do not fit; if the
            similarity is not "dot"; if an entry of a query is NaN or infinite.
        TypeError: if an entry is no real number.
    """
    if not (inputs.is_sparse(queries) and inputs.is_sparse(items)):
        name = "queries" if inputs.is_sparse(queries) else "items"
        raise ValueError(
            f"{name} is sparse, but queries and items are not both sparse; pass both "
            "sparse, or both dense"
        )
    if not isinstance(similarity, str) or similarity != "dot":
        raise ValueError(
            f"similarity is {similarity!r}, but sparse embeddings allow only 'dot'; leave "
            "similarity out, or pass dense embeddings"
        )
    shapes = queries.shape, items.shape
    if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"queries has shape {shapes[0]} and items has shape {shapes[1]}; pass "
            "embeddings [queries, dims] and [items, dims]"
        )
    # Use the float dtype of dense products, because scipy sums in the dtype of the entries.
    dtype = jax.dtypes.canonicalize_dtype(inputs.float_dtype(queries, items))
    rows, columns = _rows("queries", queries, dtype), _rows("items", items, dtype)
    _check_finite("queries", rows, None, ids[0])
    return Sparse(devices, rows, columns, item_ids=ids[1])


def _rows(name: str, matrix: Any, dtype: np.dtype) -> interactions.SparseRows:
    import scipy.sparse

    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name}: dtype is {matrix.dtype}; pass real numbers")
    if not matrix.shape[0]:
        raise ValueError(f"{name} has shape {matrix.shape}; pass at least one row")
    rows: Any = scipy.sparse.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()  # so that the caller's arrays stay unchanged
        rows.sum_duplicates()
    return rows.astype(dtype, copy=False)


def _check_finite(
    name: str, rows: interactions.SparseRows, mask: Any, ids: interactions.Vocabulary
) -> None:
    """Raises if an entry is NaN or infinite, because infinity times 0 is NaN."""
    entries = np.flatnonzero(~np.isfinite(rows.data))
    indices = np.searchsorted(rows.indptr, entries, side="right") - 1
    if mask is not None:
        is_read = np.asarray(mask)[indices]
        entries, indices = entries[is_read], indices[is_read]
    if entries.size:
        noun = "row" if ids.ids is None else {"queries": "query"}.get(name, "item")
        raise ValueError(
            f"{name} holds {rows.data[entries[0]]} in {noun} {ids.name_of(indices[0])}, "
            "whose scores would be nan; pass finite numbers"
            + (", or leave such items out by item_mask" if name == "items" else "")
        )


def read_scorer(
    queries: Any,
    items: Any,
    similarity: similarities.SimilarityName | similarities.SimilarityFn,
    devices: Devices,
    ids: interactions.Vocabularies,
    per_item: Sequence[Any],
    has_candidates: bool,
    block_size: int | None,
) -> ScoreSource:
    """Reads queries and items of `evaluate_embeddings`, in any of their forms.

    Args:
        queries: The argument.
        items: The argument.
        similarity: The argument.
        devices: The devices that share the work.
        ids: The ids of queries and of items, which order the rows of frames.
        per_item: Arrays `[items, …]`, or None; they tell the number of items if blocks
            do not.
        has_candidates: True if queries rank only candidates.
        block_size: The argument.
    """
    if similarity == "maxsim":
        queries, items = read_tokens(queries, items)
    if inputs.is_sparse(queries) or inputs.is_sparse(items):
        return read_sparse(queries, items, similarity, devices, ids)
    vectors = read_vectors("queries", queries, ids[0].ids)
    if isinstance(items, TokenItems):
        return read_late_interaction(
            vectors, items, devices, block_size, has_candidates
        )
    in_blocks = is_in_blocks(items)
    if isinstance(items, np.memmap):
        # Read a mapped array in blocks, unless a mesh cuts it, or candidates are gathered
        # from it: then it is used like an array in memory.
        in_blocks = devices.mesh is None and not has_candidates
    if in_blocks:
        sizes = [len(rows) for rows in (ids[1].ids, *per_item) if rows is not None]
        items = HostBlocks(items, sizes[0] if sizes else None)
        example = items.example
    else:
        example = items = read_vectors("items", items, ids[1].ids)
    # Leave the items as they were passed, because candidates are gathered on the host.
    scoring = similarities.read_similarity(similarity, vectors, example)
    if vectors.ndim != example.ndim and not scoring.is_custom:
        raise ValueError(
            f"queries has shape {vectors.shape} and items has shape {example.shape}; pass "
            '[queries, dims] and [items, dims], or jrm.Tokens with similarity="maxsim"'
        )
    table = devices.table(vectors, devices.of_queries)
    cause = CUSTOM_SCORES if scoring.is_custom else OVERFLOW
    return Embeddings(devices, table, items, nan_cause=cause, similarity=scoring)


def read_tokens(queries: Any, items: Any) -> tuple[Any, Any]:
    """Reads tokens; if devices hold all tokens, these become packed arrays, like vectors.

    Returns:
        queries: `[queries, tokens, dims + 1]`, packed.
        items: `[items, tokens, dims + 1]`, packed; or `TokenItems`, which the host groups
            by their numbers of tokens.
    """
    if all(
        isinstance(tokens, Tokens) and libraries.is_of_jax(tokens.vectors)
        for tokens in (queries, items)
    ):
        return packed("queries", queries), packed("items", items)
    rows = TokenItems("queries", queries)
    packed_rows = packed_on_host(list(rows), rows.width)
    return packed_rows, TokenItems("items", items, packed_rows.shape[-1] - 1)


def read_late_interaction(
    queries: Array,
    items: TokenItems,
    devices: Devices,
    block_size: int | None,
    has_candidates: bool,
) -> ScoreSource:
    """Returns the scorer of tokens on the host; items that come in blocks are scored now.

    Args:
        queries: From `read_tokens`.
        items: The items.
        devices: The devices that share the work.
        block_size: How many items are scored at a time; None lets this function choose.
        has_candidates: True if queries rank only candidates.
    """
    if block_size is None:
        on_cpu = jax.default_backend() == "cpu"
        block_size = CPU_BLOCK_SIZE if on_cpu else BLOCK_SIZE
    scorer = LateInteraction(devices, queries, items, block_size=block_size)
    if items.is_repeatable:
        return scorer
    if has_candidates:
        raise ValueError(
            "candidates is given, but items come in blocks; pass items as jrm.Tokens or a "
            "list, from which candidates can be gathered"
        )
    # Score the blocks for all queries at once, because they may be readable only once.
    scores = scorer.rows(np.arange(len(queries)))
    return Scores(devices, devices.table(scores, devices.of_scores))
