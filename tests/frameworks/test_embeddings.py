"""`evaluate_embeddings` finds the ids that faiss finds."""

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
            # Both round in float32, so that items whose scores nearly agree may change places.
            exact = of_queries.astype(np.float64) @ of_items.T.astype(np.float64)
            if similarity == "l2":
                exact = 2 * exact - np.square(of_items.astype(np.float64)).sum(-1)
            near = [np.take_along_axis(exact, x, 1) for x in (found.retrieved_ids, ids)]
            np.testing.assert_allclose(*near, rtol=1e-6)
            assert (found.retrieved_ids == ids).mean() > 0.99
            continue
        # faiss leaves open which of the items at its last distance it returns.
        nearer = scores < scores[:, -1:]
        distances = np.unpackbits(
            packed[0][:, None] ^ packed[1][found.retrieved_ids], axis=-1
        )
        np.testing.assert_array_equal(distances.sum(-1), scores)
        for row, faiss_row, is_nearer in zip(
            found.retrieved_ids, ids, nearer, strict=True
        ):
            assert set(row[is_nearer]) == set(faiss_row[is_nearer])
