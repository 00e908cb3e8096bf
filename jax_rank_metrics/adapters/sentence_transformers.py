"""Evaluators for sentence-transformers, with intervals and means over tied orders."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._runs.files import joined
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.on_host import Estimate, HostSums
from jax_rank_metrics.adapters._shared import framework

framework("sentence_transformers", __name__)

from jax_rank_metrics.adapters._retrieval import RelevantDocuments, Retrieval  # noqa: E402

_tqdm = framework("tqdm", __name__)

# Version 6 has moved the evaluators, and warns if they are imported from the old place.
_FOLDER = "sentence_transformers.sentence_transformer"
_HAS_FOLDER = importlib.util.find_spec(_FOLDER) is not None
_theirs = framework(
    f"{_FOLDER if _HAS_FOLDER else 'sentence_transformers'}.evaluation", __name__
)

# A dict from measures of the library to our metric and to the attribute with its cutoffs.
_METRICS = {
    "accuracy@k": ("hit_rate", "accuracy_at_k"),
    "precision@k": ("precision(denominator=k)", "precision_recall_at_k"),
    "recall@k": ("recall", "precision_recall_at_k"),
    "ndcg@k": ("ndcg", "ndcg_at_k"),
    "mrr@k": ("mrr", "mrr_at_k"),
    "map@k": ("map(denominator=attainable)", "map_at_k"),
}


class InformationRetrievalEvaluator(_theirs.InformationRetrievalEvaluator):
    """The class of this name of sentence-transformers, with errors and values per query.

    It is a subclass of the library's class, with the same arguments, keys of the result,
    primary metric, CSV file and file of predictions. All numbers are the same if no scores
    tie. If scores tie, for example because documents are equal or quantized, the library's
    class ranks the lowest id first, while this class takes means over all orders of tied
    documents. The model and the score functions compute the scores, chunk by chunk. Only
    the best scores of each query, and the scores of its relevant documents, are kept.

    Attributes:
        evaluations: A dict from the name of a score function, such as "cosine", to the last
            result, an `Evaluation`, which `compare` and `table` accept. Its queries are in
            the order of `queries_ids`, and its `retrieved_ids` are indices into
            `corpus_ids`.

    >>> evaluator = InformationRetrievalEvaluator(
    ...     {"q": "a query"}, {"a": "a text", "b": "a query"}, {"q": {"b"}}, name="dev"
    ... )
    >>> evaluator.evaluations  # before `results = evaluator(model)`
    {}
    """

    evaluations: dict[str, Evaluation]

    def __init__(self, *args: Any, std_errors: bool = False, **kwargs: Any) -> None:
        """Creates an evaluator from queries, a corpus and relevant documents.

        Args:
            *args: See the class of sentence-transformers.
            std_errors: If True, results also have the standard error of every number, under
                its key followed by "_std_error".
            **kwargs: See the class of sentence-transformers.
        """
        super().__init__(*args, **kwargs)
        self.std_errors = std_errors
        self.evaluations = {}

    def __call__(self, model: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluates a model; see the class of sentence-transformers.

        Raises:
            ValueError: if a score is NaN.
        """
        results = super().__call__(model, *args, **kwargs)
        if not self.std_errors:
            return results
        errors = {
            f"{name}_{measure.removesuffix('k')}{k}_std_error": estimate.std_error
            for name in self.evaluations
            for measure, estimates in self._estimates(name).items()
            for k, estimate in estimates.items()
        }
        return results | self.prefix_name_to_metrics(errors, self.name)

    def compute_all_metrics(
        self,
        model: Any,
        corpus_model: Any = None,
        corpus_embeddings: Any = None,
        output_path: str | None = None,
    ) -> dict[str, dict[str, dict[int, float]]]:
        """Returns `{score function: {"ndcg@k": {10: value}}}`, for `__call__`.

        Args:
            model: The model of the queries.
            corpus_model: The model of the documents; None for the model of the queries.
            corpus_embeddings: Embeddings of the documents, instead of a model.
            output_path: The folder for predictions, or None.

        Raises:
            ValueError: if a score is NaN.
        """
        queries = self.embed_inputs(
            model,
            self.queries,
            encode_fn_name="query",
            prompt_name=self.query_prompt_name,
            prompt=self.query_prompt,
        )
        relevant = RelevantDocuments.of(
            self.queries_ids, self.corpus_ids, self.relevant_docs
        )
        depth = max(max(getattr(self, ks)) for _, ks in _METRICS.values())
        retrievals = {name: Retrieval(relevant, depth) for name in self.score_functions}
        for start in _tqdm.trange(
            0,
            len(self.corpus),
            self.corpus_chunk_size,
            desc="Corpus Chunks",
            disable=not self.show_progress_bar,
        ):
            chunk = slice(start, start + self.corpus_chunk_size)
            documents = self._embedded(chunk, corpus_model or model, corpus_embeddings)
            for name, score_function in self.score_functions.items():
                retrievals[name].add(score_function(queries, documents))
        self.evaluations, means = {}, {}
        for name, retrieval in retrievals.items():
            documents, scores = retrieval.best()
            if self.write_predictions and output_path is not None:
                self._write_predictions(Path(output_path), name, documents, scores)
            self.evaluations[name] = self._evaluation(retrieval, documents)
            means[name] = {
                measure: {k: float(estimate.mean) for k, estimate in estimates.items()}
                for measure, estimates in self._estimates(name).items()
            }
        for name in self.score_function_names:
            self.output_scores(means[name])
        return means

    compute_metrices = compute_all_metrics  # the name before version 6

    def _embedded(self, chunk: slice, model: Any, embeddings: Any) -> object:
        """Returns the embeddings of a chunk of documents; computes them unless passed."""
        if embeddings is None:
            return self.embed_inputs(
                model,
                self.corpus[chunk],
                encode_fn_name="document",
                prompt_name=self.corpus_prompt_name,
                prompt=self.corpus_prompt,
            )
        if getattr(embeddings, "is_sparse", False):
            rows = np.arange(len(self.corpus))[chunk]
            return embeddings.index_select(0, embeddings.new_tensor(rows).long())
        return embeddings[chunk]

    def _evaluation(self, retrieval: Retrieval, documents: np.ndarray) -> Evaluation:
        names = [
            f"{metric}@{','.join(map(str, dict.fromkeys(getattr(self, ks))))}"
            for metric, ks in _METRICS.values()
        ]
        weights = np.ones(len(documents), np.float32)
        places, ids = retrieval.places(), range(len(documents))
        values = joined.measure_places(binding.bind_all(names), places, weights, ids)
        lists = {name: values[name] for name in names}
        states = {name: HostSums.of_lists(lists[name], Mean).state() for name in lists}
        return Evaluation(states, lists, documents, "zero")

    def _estimates(self, name: str) -> dict[str, dict[int, Estimate]]:
        """Returns `{measure: {cutoff: estimate}}` for one score function."""
        lists = self.evaluations[name].lists.values()
        return {
            measure: dict(
                zip(
                    dict.fromkeys(getattr(self, ks)),
                    HostSums.of_lists(values, Mean).estimates(0.95, "auto"),
                    strict=True,
                )
            )
            for (measure, (_, ks)), values in zip(_METRICS.items(), lists, strict=True)
        }

    def _write_predictions(
        self, folder: Path, name: str, documents: np.ndarray, scores: np.ndarray
    ) -> None:
        """Writes the best documents of the queries, as a line of JSON for each query."""
        folder.mkdir(parents=True, exist_ok=True)
        file_name = self.predictions_file.replace(".jsonl", f"_{name}.jsonl")
        with (folder / file_name).open("w", encoding="utf-8") as file:
            for query_id, query, indices, row in zip(
                self.queries_ids,
                self.queries,
                documents.tolist(),
                scores.tolist(),
                strict=True,
            ):
                results = [
                    {"corpus_id": self.corpus_ids[index], "score": score}
                    for index, score in zip(indices, row, strict=True)
                ]
                line = {"query_id": query_id, "query": query, "results": results}
                file.write(json.dumps(line) + "\n")


if _HAS_FOLDER:
    _multi_vector = framework(
        "sentence_transformers.multi_vector_encoder.evaluation", __name__
    )
    _theirs_sparse = framework(
        "sentence_transformers.sparse_encoder.evaluation", __name__
    )

    # The library's classes come first among the bases, because they encode and count active
    # dimensions around our metrics.
    class MultiVectorInformationRetrievalEvaluator(
        _multi_vector.MultiVectorInformationRetrievalEvaluator,
        InformationRetrievalEvaluator,
    ):
        """`InformationRetrievalEvaluator` for models with a vector for each token.

        It is a subclass of the class of this name of sentence-transformers, which scores
        documents by "maxsim" or "meanmaxsim". It needs version 6.

        >>> evaluator = MultiVectorInformationRetrievalEvaluator(
        ...     {"q": "a query"}, {"a": "a text"}, {"q": {"a"}}, std_errors=True
        ... )
        >>> evaluator.evaluations  # before `results = evaluator(model)`
        {}
        """

    class SparseInformationRetrievalEvaluator(
        _theirs_sparse.SparseInformationRetrievalEvaluator,
        InformationRetrievalEvaluator,
    ):
        """The class of this name of sentence-transformers, for sparse encoders.

        Its results also hold the sparsity of embeddings, like the results of the library's
        class. Scores tie more often than with dense embeddings, because all documents that
        share no dimension with a query have the score 0. It needs version 6.

        Attributes:
            evaluations: See `InformationRetrievalEvaluator`.
        """

        def __init__(self, *args: Any, std_errors: bool = False, **kwargs: Any) -> None:
            """Creates an evaluator from queries, a corpus and relevant documents.

            Args:
                *args: See the class of sentence-transformers.
                std_errors: See `InformationRetrievalEvaluator`.
                **kwargs: See the class of sentence-transformers.
            """
            super().__init__(*args, **kwargs)
            self.std_errors = std_errors
