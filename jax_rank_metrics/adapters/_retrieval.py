"""Reads the scores of PyTorch chunk by chunk, and keeps what metrics need.

For each query, it keeps the best documents, the number of documents that tie with the last
of these, and the scores of the query's relevant documents. This is enough for the ranks of
relevant documents within any cutoff.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._ground import inputs
from jax_rank_metrics._runs.files import joined
from jax_rank_metrics.adapters._shared import framework

_torch = framework("torch", __name__)


class RelevantDocuments(NamedTuple):
    """The relevant documents of all queries, query after query."""

    starts: np.ndarray  # [queries + 1], where the documents of each query begin and end
    queries: np.ndarray  # [documents], the index of the query
    documents: np.ndarray  # [documents], the index in the corpus; −1 if it is not there

    @classmethod
    def of(
        cls,
        query_ids: Sequence[Hashable],
        corpus_ids: Sequence[Hashable],
        relevant_docs: Mapping[Any, Collection[Hashable]],
    ) -> "RelevantDocuments":
        """Looks up the relevant documents of each query, without repetitions."""
        index_of = {id: index for index, id in enumerate(corpus_ids)}
        indices = [
            [index_of.get(id, -1) for id in dict.fromkeys(relevant_docs[query])]
            for query in query_ids
        ]
        counts = np.array([len(row) for row in indices], np.int64)
        return cls(
            np.append(0, np.cumsum(counts)),
            np.repeat(np.arange(len(counts)), counts),
            np.array([index for row in indices for index in row], np.int64),
        )


class _Best(NamedTuple):
    """The documents of each query with the best scores, in any order; tensors."""

    scores: Any  # [queries, documents]
    documents: Any  # [queries, documents] int64, indices in the corpus
    num_last: Any  # [queries], how many, kept or not, have the lowest kept score


class Retrieval:
    """The best documents and the relevant documents, by the scores of one function."""

    def __init__(self, relevant: RelevantDocuments, depth: int) -> None:
        """Starts without scores.

        Args:
            relevant: The relevant documents.
            depth: How many documents to keep for each query, the largest cutoff.
        """
        self._relevant, self._depth = relevant, depth
        self._scores = np.full(len(relevant.documents), np.nan)
        self._best: _Best | None = None
        self._num_documents = 0

    def add(self, scores: Any) -> None:
        """Reads the scores of the next documents, a tensor `[queries, documents]`.

        Raises:
            ValueError: if a score that may be among the best is NaN.
        """
        scores, start = scores.detach(), self._num_documents
        stop = self._num_documents = start + scores.shape[1]
        _, queries, documents = self._relevant
        is_here = (documents >= start) & (documents < stop)
        rows, columns = queries[is_here], documents[is_here] - start
        self._scores[is_here] = _on_host(scores[rows, columns])
        indices = _torch.arange(start, stop, device=scores.device).expand(scores.shape)
        best = _best_of(scores, indices, self._depth)
        self._best = best if self._best is None else self._merged(self._best, best)
        if _torch.isnan(best.scores).any():
            raise ValueError(
                "the scores hold nan, which the model gave to a document; pass a model "
                "whose scores are numbers"
            )

    def places(self) -> joined.Places:
        """Returns the ranks of the relevant documents.

        Documents that score below the best documents have no rank, because no cutoff
        reaches them.
        """
        assert self._best is not None
        held, relevant = _on_host(self._best.scores), self._relevant
        above, tied = order_on_host.count_places([*held], self._scores, relevant.starts)
        is_last = self._scores == held.min(axis=1)[relevant.queries]
        num_last = self._best.num_last.cpu().numpy().astype(np.int32)
        tied = np.where(is_last, num_last[relevant.queries], tied)
        is_ranked = tied > 0
        order = order_on_host.in_rank_order(
            relevant.queries, np.where(is_ranked, above, inputs.MAX_INT32)
        )
        return joined.Places(
            starts=relevant.starts,
            relevance=np.ones(len(order), np.int32),
            retrieved=is_ranked[order],
            above=above[order],
            tied=tied[order],
            num_retrieved=np.full(len(held), self._num_documents, np.int32),
        )

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the indices of the best documents, best first, and their scores.

        Both are `[queries, documents]`. Tied documents are in the order of the corpus.
        """
        assert self._best is not None
        scores = _on_host(self._best.scores).copy()
        documents = self._best.documents.cpu().numpy().astype(np.int32)
        # All lists are in order already, except for lists with ties.
        rows = np.flatnonzero((scores[:, 1:] >= scores[:, :-1]).any(axis=1))
        order = order_on_host.best_first(scores[rows], documents[rows])
        for array in (documents, scores):
            array[rows] = np.take_along_axis(array[rows], order, axis=1)
        return documents, scores

    def _merged(self, left: _Best, right: _Best) -> _Best:
        """Returns the best documents of two sides; `left` comes first in the corpus."""
        scores, documents = (
            _torch.cat(sides, dim=1) for sides in zip(left[:2], right[:2], strict=True)
        )
        best = _best_of(scores, documents, self._depth)
        last = best.scores.amin(dim=1, keepdim=True)
        num_last = [
            # A document that a side did not keep scores at most as high as the last kept
            # document of the side. If the two tie, the side's `num_last` counts it.
            _torch.where(
                side.scores.amin(dim=1) == last[:, 0],
                side.num_last,
                (side.scores == last).sum(dim=1),
            )
            for side in (left, right)
        ]
        return best._replace(num_last=num_last[0] + num_last[1])


def _best_of(scores: Any, documents: Any, depth: int) -> _Best:
    """Returns the best documents; among equal scores, the first documents.

    Args:
        scores: `[queries, documents]`, a tensor.
        documents: `[queries, documents]`, the indices of the documents in the corpus.
        depth: The number to return; all documents if there are fewer.
    """
    size = scores.shape[1]
    kept = min(depth, size)
    # Take one more document, to see if the last kept document ties with the next one.
    best, slots = scores.topk(min(depth + 1, size), dim=1)
    last = best[:, kept - 1 : kept]
    rows = (best[:, kept:] == last).any(dim=1).nonzero()[:, 0]
    best, slots = best[:, :kept].clone(), slots[:, :kept].clone()
    num_last = (best == last).sum(dim=1)
    if len(rows):
        tied, last = scores[rows] == last[rows], last[rows]
        num_last[rows] = tied.sum(dim=1)
        # Keep documents above the tie, then the first documents of the tie.
        keys = _torch.where(tied, documents[rows], documents.max() + 1)
        keys = _torch.where(scores[rows] > last, -1, keys)
        slots[rows] = keys.topk(kept, dim=1, largest=False).indices
        best[rows] = scores[rows].gather(1, slots[rows])
    return _Best(best, documents.gather(1, slots), num_last)


def _on_host(tensor: Any) -> np.ndarray:
    """Returns a tensor as float64, in which scores of every dtype compare as before."""
    return tensor.double().cpu().numpy()
