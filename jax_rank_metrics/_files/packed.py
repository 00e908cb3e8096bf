"""All documents of all judged queries as packed arrays, the arguments of `rank`."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.lists import TOPICS, Sides
from jax_rank_metrics._inputs.pad import next_size

if TYPE_CHECKING:
    import polars as pl


class PackedItems(NamedTuple):
    """Arrays `[items]`; see `Joined`, which has all of them as attributes."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    retrieved: np.ndarray
    columns: dict[str, np.ndarray]
    segment_ids: np.ndarray
    doc_ids: "pl.Series"


def labels_of(relevance: np.ndarray) -> np.ndarray:
    """Returns labels, 0 where the relevance is below 0: int32 if they fit, else float32."""
    labels = np.maximum(relevance, 0)
    fits = labels.dtype.kind == "i" and labels.max(initial=0) < 2**31
    return labels.astype(np.int32 if fits else np.float32)


def pack(sides: Sides) -> PackedItems:
    """Returns every document of every judged query, padded to one of a few sizes.

    The documents of the run come first, then those that it lacks.
    """
    pl = polars("jrm.join")
    judged, is_retrieved = sides.judged, sides.is_retrieved
    sides = sides.keep(np.ones(len(sides.retrieved.values), bool))  # with a list
    retrieved, (judged_ids, run_ids) = sides.retrieved, sides.doc_ids()
    num_retrieved, unretrieved = len(retrieved.values), np.flatnonzero(~is_retrieved)
    size = num_retrieved + len(unretrieved)
    padded_size = next_size(size)
    item_of_judged = sides.run_rows().copy()
    item_of_judged[unretrieved] = np.arange(num_retrieved, size)
    list_ids = np.concatenate([retrieved.list_ids(), judged.list_ids()[unretrieved]])
    doc_ids = pl.concat([run_ids, judged_ids[unretrieved]])
    # Values tie where they are equal, as −0.0 and 0.0 are.
    keys = pl.Series(retrieved.values + 0.0).rank("dense").to_numpy()
    items = np.arange(size)
    if sides.subtopics is not None:
        # Of documents that add as many subtopics, the ideal order of α-nDCG takes the
        # first item. This is the one with the last id, as in ndeval.
        frame = pl.DataFrame({"list": list_ids, "id": doc_ids.cast(pl.String)})
        order = frame.select(pl.arg_sort_by("list", "id", descending=[False, True]))
        items = order.to_series().to_numpy()

    def padded(values: np.ndarray, filler: int = 0) -> np.ndarray:
        """Returns values of items in their order, `[padded_size, …]`."""
        array = np.full((padded_size, *values.shape[1:]), filler, values.dtype)
        array[:size] = values[items]
        return array

    def of_judged(values: np.ndarray) -> np.ndarray:
        """Returns values of judged documents for all items, 0 for those not judged."""
        array = np.zeros((size, *values.shape[1:]), values.dtype)
        array[item_of_judged] = values
        return padded(array)

    columns = {
        "judged": of_judged(judged.values >= 0),
        "pooled": of_judged(np.ones(len(judged.values), bool)),
    }
    if sides.subtopics is not None:
        columns[TOPICS] = of_judged(sides.subtopics)
    scores = np.zeros(size, np.int32)
    scores[:num_retrieved] = keys
    return PackedItems(
        labels=of_judged(labels_of(judged.values)),
        scores=padded(scores),
        mask=np.arange(padded_size) < size,
        retrieved=padded(np.arange(size) < num_retrieved),
        columns=columns,
        segment_ids=padded(list_ids.astype(np.int32), -1),
        doc_ids=doc_ids[items].extend_constant(None, padded_size - size),
    )
