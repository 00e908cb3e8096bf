"""`evaluate_embeddings` finds faiss's ids, and gives sentence-transformers' values."""

import warnings

import numpy as np
import pytest

import jax_rank_metrics as jrm

QUERIES, ITEMS, DIMS, K = 60, 5000, 32, 20


@pytest.fixture(scope="module")
def vectors():
    """Vectors of queries and of items, and the ids of relevant items."""
    rng = np.random.default_rng(4)
    queries, items = (
        rng.normal(size=(n, DIMS)).astype(np.float32) for n in (QUERIES, ITEMS)
    )
    relevant = [rng.permutation(ITEMS)[: 1 + i % 7] for i in range(QUERIES)]
    for query, ids in zip(queries, relevant, strict=True):
        items[ids] += query / 2
    return queries, items, relevant


@pytest.mark.parametrize("offset", [0, 5])
def test_ids_are_those_of_faiss(vectors, offset):
    """Products, distances, cosines and packed bits, by its flat indices."""
    import faiss

    queries, items, relevant = vectors
    queries, items = queries + np.float32(offset), items + np.float32(offset)
    normalized = [x.copy() for x in (queries, items)]
    for x in normalized:
        faiss.normalize_L2(x)
    packed = [np.packbits(x > offset, axis=-1) for x in (queries, items)]
    indices = {
        "dot": (faiss.IndexFlatIP(DIMS), queries, items),
        "cosine": (faiss.IndexFlatIP(DIMS), *normalized),
        "l2": (faiss.IndexFlatL2(DIMS), queries, items),
        "hamming": (faiss.IndexBinaryFlat(DIMS), *packed),
    }
    for similarity, (index, of_queries, of_items) in indices.items():
        index.add(of_items)
        scores, ids = index.search(of_queries, K)
        vectors = packed if similarity == "hamming" else (queries, items)
        found = jrm.evaluate_embeddings(
            "recall@20", *vectors, relevant, similarity=similarity, ties="stable"
        )
        if similarity != "hamming":
            np.testing.assert_array_equal(found.items, ids)
            continue
        # faiss leaves open which of the items at its last distance it returns.
        nearer = scores < scores[:, -1:]
        distances = np.unpackbits(packed[0][:, None] ^ packed[1][found.items], axis=-1)
        np.testing.assert_array_equal(distances.sum(-1), scores)
        for row, faiss_row, is_nearer in zip(found.items, ids, nearer, strict=True):
            assert set(row[is_nearer]) == set(faiss_row[is_nearer])


class Model:
    """The part of a SentenceTransformer that the evaluator calls; texts are row numbers."""

    def __init__(self, queries, items):
        """Keeps the vectors of queries and of items."""
        self.tables = queries, items

    def encode_query(self, texts, **options):
        """Returns the vectors of queries."""
        return self._encode(0, texts)

    def encode_document(self, texts, **options):
        """Returns the vectors of items."""
        return self._encode(1, texts)

    def _encode(self, table, texts):
        import torch

        return torch.from_numpy(self.tables[table][[int(text) for text in texts]])


def test_values_are_those_of_sentence_transformers(vectors):
    """InformationRetrievalEvaluator's numbers, all of them, from one call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has another path in later versions
        from sentence_transformers.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.util import cos_sim

    queries, items, relevant = vectors
    evaluator = InformationRetrievalEvaluator(
        {str(i): str(i) for i in range(QUERIES)},
        {str(i): str(i) for i in range(ITEMS)},
        {str(i): {str(item) for item in ids} for i, ids in enumerate(relevant)},
        corpus_chunk_size=2000,
        precision_recall_at_k=[1, 5],
        accuracy_at_k=[1, 5],
        ndcg_at_k=[10],
        mrr_at_k=[10],
        map_at_k=[3, 100],
        score_functions={"cosine": cos_sim},
    )
    theirs = evaluator.compute_metrices(Model(queries, items))["cosine"]
    names = {
        "accuracy": "hit_rate@1,5",
        "precision": "p(denominator=k)@1,5",
        "recall": "recall@1,5",
        "ndcg": "ndcg@10",
        "mrr": "mrr@10",
        "map": "map(denominator=attainable)@3,100",
    }
    found = jrm.evaluate_embeddings(
        tuple(names.values()), queries, items, relevant, similarity="cosine"
    )
    for theirs_name, name in names.items():
        expected = list(theirs[f"{theirs_name}@k"].values())
        means = np.ravel(found.states[name].compute())
        np.testing.assert_allclose(means, expected, atol=1e-6, err_msg=name)
