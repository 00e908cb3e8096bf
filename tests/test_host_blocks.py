"""Items that the host reads in blocks give the ids and values of an array in memory."""

import numpy as np
import pytest
from evaluations import check_same

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.sources import host_blocks

QUERIES, ITEMS, DIMS = 40, 333, 4
METRICS = ("ndcg@10", "mrr")


@pytest.fixture
def data(rng, monkeypatch):
    """Draws embeddings of many ties, and makes parts of 64 items, in blocks of 32."""
    monkeypatch.setattr(host_blocks, "PART_BYTES", 64 * DIMS * 4)
    queries, items = (
        rng.integers(-3, 4, (size, DIMS)).astype(np.float32)
        for size in (QUERIES, ITEMS)
    )
    relevant = [rng.choice(ITEMS, 3, replace=False).tolist() for _ in range(QUERIES)]
    return queries, items, relevant


def evaluate(data, items, metrics=METRICS, **options):
    queries, _, relevant = data
    return jrm.evaluate_embeddings(
        metrics, queries, items, relevant, block_size=32, **options
    )


def test_rounds(data):
    """Metrics without a cutoff read the items again, once for all batches."""
    num_rounds, done = 0, []
    blocks = np.split(data[1], (90, 180, 180, 270))  # one block is empty

    def read():
        nonlocal num_rounds
        num_rounds += 1
        yield from blocks

    # An item of the fifth part is excluded, which it must be in both rounds.
    options = {"batch_size": 16, "exclude": [[300]] * QUERIES}
    expected = evaluate(data, data[1], **options)
    check_same(evaluate(data, read, **options), expected, 1e-6)
    assert num_rounds == 2
    progress = {"progress": lambda *x: done.append(x)}
    check_same(evaluate(data, blocks, **options, **progress), expected, 1e-6)
    assert done == [
        (n, QUERIES) for n in (3, 7, 11, 15, 19, 20, 23, 27, 31, 35, 39, 40, 40)
    ]


@pytest.mark.long
def test_fewer_items_than_ranks(data):
    """Iterators do, whose number of items is known only when all of them are read."""
    queries, items, _ = data
    relevant = [[1, 2]] * QUERIES
    assert evaluate(data, iter([items]), "ndcg@10").lists["ndcg@10"].values.any()
    few = jrm.evaluate_embeddings("ndcg@10", queries, iter([items[:7]]), relevant)
    whole = jrm.evaluate_embeddings("ndcg@10", queries, items[:7], relevant)
    check_same(few, whole, 1e-6)
