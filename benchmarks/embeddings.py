"""Measures embeddings beside other libraries: `python benchmarks/embeddings.py`.

Each row is a job, run in this process by this package and by the usual library of its
field, on the same data; names of jobs, such as `market msmarco`, select some. Seconds are
CPU seconds, all cores together, of the best of several rounds in turn. A round that
compiles comes before them, but for jobs that take a minute, whose only round compiles too.
Memory is the anonymous memory that a process gains, at its peak: pages of mapped files are
not in it. A library that is not installed is left out.
"""

import importlib.util
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import jax_rank_metrics as jrm

Call = Callable[[], Any]


class Row(NamedTuple):
    """A job, and the calls that do it."""

    name: str
    ours: Call
    theirs: Call | None
    peer: str
    rounds: int = 2


class Cost(NamedTuple):
    """The cost of a call."""

    seconds: float
    mebibytes: float


def anonymous_memory() -> float:
    """Returns the anonymous memory of this process in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def cost(call: Call) -> Cost:
    """Runs a call, while a thread watches the memory."""
    is_done, peaks = threading.Event(), [before := anonymous_memory()]

    def watch() -> None:
        while not is_done.wait(0.02):
            peaks.append(anonymous_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    jax.block_until_ready(call())
    seconds = time.process_time() - start
    is_done.set()
    watcher.join()
    return Cost(seconds, max(peaks) - before)


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns normal float32."""
    return rng.standard_normal(shape, np.float32)


def flat_search(queries: np.ndarray, items: np.ndarray, relevant: np.ndarray) -> Call:
    """Returns a search by faiss, a slice of the items at a time, and metrics by NumPy."""
    import faiss

    num_relevant = relevant.shape[1]
    discounts = 1 / np.log2(np.arange(2, 12))

    def run() -> tuple[float, float]:
        best = faiss.ResultHeap(len(queries), 20, keep_max=True)
        for start in range(0, len(items), 2**19):
            part = np.ascontiguousarray(items[start : start + 2**19])
            index = faiss.IndexFlatIP(items.shape[1])
            index.add(part)
            scores, ids = index.search(queries, 20)
            best.add_result(scores, ids + start)
        best.finalize()
        hits = (best.I[:, :, None] == relevant[:, None]).any(-1)
        ndcg = hits[:, :10] @ discounts / discounts[:num_relevant].sum()
        return hits.sum(1).mean() / num_relevant, ndcg.mean()

    return run


def searches(
    name: str, queries: np.ndarray, items: np.ndarray, relevant: np.ndarray
) -> Iterator[Row]:
    """Yields a row of metrics at cutoffs, and one with a metric of whole lists."""
    has_faiss = importlib.util.find_spec("faiss") is not None
    theirs = flat_search(queries, items, relevant) if has_faiss else None
    is_long = isinstance(items, np.memmap)
    for metrics in (("recall@20", "ndcg@10"), ("recall@20", "ndcg@10", "mrr")):
        yield Row(
            f"{name} · {', '.join(metrics)}",
            lambda metrics=metrics: jrm.evaluate_embeddings(
                metrics, queries, items, relevant
            ),
            theirs if "mrr" not in metrics else None,
            "faiss flat + NumPy",
            1 if is_long else 2,
        )


def million() -> Iterator[Row]:
    """Yields a catalogue of a million items; one or five of them are relevant."""
    rng = np.random.default_rng(0)
    queries, items = draw(rng, 1024, 64), draw(rng, 10**6, 64)
    for num_relevant in (1, 5):
        relevant = rng.integers(0, len(items), (1024, num_relevant))
        name = f"1,024×1,000,000×64 · {num_relevant} relevant"
        yield from searches(name, queries, items, relevant)


def mapped_file(path: Path, num_items: int, dims: int) -> np.memmap:
    """Writes normal float32 to a file, and maps it; chunks differ by a factor."""
    chunk, written = draw(np.random.default_rng(1), 2**17, dims), 0
    with path.open("wb") as file:
        while written < num_items:
            chunk[: num_items - written].tofile(file)
            written += len(chunk)
            chunk *= 0.999
    return np.memmap(path, np.float32, "r", shape=(num_items, dims))


def mapped(name: str, num_queries: int, num_items: int, dims: int) -> Iterator[Row]:
    """Yields queries against items in a file; query i looks for item i."""
    with tempfile.TemporaryDirectory() as folder:
        items = mapped_file(Path(folder) / "items", num_items, dims)
        relevant = np.arange(num_queries)[:, None]
        queries = items[:num_queries] + 4 * draw(
            np.random.default_rng(2), num_queries, dims
        )
        name = f"{name} · {num_queries:,}×{num_items:,}×{dims}"
        yield from searches(name, queries, items, relevant)


def market() -> Iterator[Row]:
    """Yields a re-identification job, from given distances."""
    rng = np.random.default_rng(0)
    distances = rng.random((400, 15_913), np.float32)
    queries = rng.integers(0, 751, 400), rng.integers(0, 6, 400)
    gallery = rng.integers(0, 751, 15_913), rng.integers(0, 6, 15_913)
    theirs = None
    if (spec := importlib.util.find_spec("torchreid")) is not None:
        folder = Path((spec.submodule_search_locations or [""])[0])
        (path,) = folder.glob("**/metrics/rank.py")
        rank = importlib.util.spec_from_file_location("torchreid_rank", path)
        assert rank is not None and rank.loader is not None
        module = importlib.util.module_from_spec(rank)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of code that was not compiled
            rank.loader.exec_module(module)
        ids = queries[0], gallery[0], queries[1], gallery[1]

        def theirs() -> Any:
            return module.evaluate_rank(distances, *ids, max_rank=20, use_cython=False)

    labelled = jax.jit(other_cameras)
    arrays = jax.device_put((-distances, queries, gallery))

    def ours() -> Any:
        scores, *attributes = arrays
        labels, leaves = labelled(*attributes)
        metrics = ("map", "cmc@1,5,10,20")
        states = jrm.evaluate(metrics, labels, scores, ~leaves, undefined="skip")
        return jrm.compute(states)

    if theirs is not None:
        curve, mean = theirs()
        values = ours()
        np.testing.assert_allclose(values["map"], mean, atol=1e-6)
        np.testing.assert_allclose(
            values["cmc@1,5,10,20"], curve[[0, 4, 9, 19]], atol=1e-6
        )
    yield Row("Market-1501 · 400×15,913 · mAP, CMC", ours, theirs, "torchreid")


def other_cameras(queries: Any, items: Any) -> Any:
    """Labels images of a person; such images of the same camera leave the gallery."""
    is_same = queries[0][:, None] == items[0]
    return is_same, is_same & (queries[1][:, None] == items[1])


def sentences() -> Iterator[Row]:
    """Yields the metrics of sentence-transformers' evaluator, from given scores."""
    rng = np.random.default_rng(0)
    queries, items = draw(rng, 2000, 384), draw(rng, 50_000, 384)
    relevant = rng.integers(0, 50_000, (2000, 1))
    queries = queries + 2 * items[relevant[:, 0]]
    scores = queries @ items.T
    ks = "1,3,5,10"
    metrics = (
        f"hit_rate@{ks}",
        f"precision@{ks}",
        f"recall@{ks}",
        "mrr@10",
        "ndcg@10",
        "map@100",
    )

    @jax.jit
    def measured(scores: Any, relevant: Any) -> Any:
        ranking = jrm.rank_scores(scores, relevant, k=100)
        return jrm.compute(jrm.mean(jrm.measure(metrics, ranking)))

    @jax.jit
    def measured_ids(ids: Any, relevant: Any) -> Any:
        ranking = jrm.rank_ids(ids, relevant)
        return jrm.compute(jrm.mean(jrm.measure(metrics, ranking)))

    arrays = jax.device_put((scores, relevant))
    top_ids = jax.lax.top_k(arrays[0], 100)[1]

    def ours() -> Any:
        return measured(*arrays)

    def ours_of_ids() -> Any:
        return measured_ids(top_ids, arrays[1])

    theirs = theirs_of_ids = None
    if importlib.util.find_spec("sentence_transformers") is not None:
        import torch
        from sentence_transformers.evaluation import InformationRetrievalEvaluator

        evaluator = InformationRetrievalEvaluator(
            {str(i): "" for i in range(2000)},
            {str(i): "" for i in range(50_000)},
            {str(i): {str(x) for x in row} for i, row in enumerate(relevant.tolist())},
            show_progress_bar=False,
            write_csv=False,
        )
        top = torch.topk(torch.from_numpy(scores), 100)
        results = [
            [
                {"corpus_id": str(i), "score": score}
                for i, score in zip(*row, strict=True)
            ]
            for row in zip(top.indices.tolist(), top.values.tolist(), strict=True)
        ]
        found = evaluator.compute_metrics(results)
        np.testing.assert_allclose(float(ours()["ndcg@10"]), found["ndcg@k"][10], 1e-5)

        def theirs_of_ids() -> Any:
            return evaluator.compute_metrics(results)

        def theirs() -> Any:
            return given_to(evaluator, torch.from_numpy(scores))

    peer = "sentence-transformers"
    yield Row("2,000×50,000, scores given · 15 values", ours, theirs, peer)
    name = "their first 100 of each query, given · 15 values"
    yield Row(name, ours_of_ids, theirs_of_ids, peer, rounds=10)


def given_to(evaluator: Any, scores: Any) -> Any:
    """Runs their evaluator on scores, as it runs on the scores of a model."""
    evaluator.score_functions = {"given": lambda queries, items: scores}
    evaluator.score_function_names = ["given"]
    embeddings = scores[:, :1]
    evaluator.embed_inputs = lambda model, texts, **options: embeddings
    return evaluator.compute_metrices(None, corpus_embeddings=scores[:1].T)


def sparse() -> Iterator[Row]:
    """Yields sparse vectors, beside scipy's product, `toarray` and argpartition."""
    import scipy.sparse

    rng = np.random.default_rng(0)

    def vectors(number: int, num_entries: int) -> Any:
        """Returns rows of `num_entries` entries, or a few less if some are drawn twice."""
        columns = rng.integers(0, 30_000, (number, num_entries)).ravel()
        values = rng.random(number * num_entries, np.float32)
        starts = np.arange(0, len(values) + 1, num_entries)
        rows = scipy.sparse.csr_array((values, columns, starts), (number, 30_000))
        rows.sum_duplicates()
        return rows

    queries, items = vectors(1000, 30), vectors(100_000, 100)
    relevant = rng.integers(0, 100_000, (1000, 5))

    def ours(*metrics: str) -> Any:
        return jrm.evaluate_embeddings(metrics, queries, items, relevant).retrieved_ids

    def theirs() -> Any:
        scores = (queries @ items.T).toarray()
        # Most scores are 0, and finding the largest takes ten times as long as the least.
        np.negative(scores, out=scores)
        return np.argpartition(scores, 19, axis=1)[:, :20]

    name, metrics = "1,000×100,000×30,000, sparse", ("recall@20", "ndcg@10")
    peer = "scipy, argpartition"
    yield Row(f"{name} · recall@20, ndcg@10", lambda: ours(*metrics), theirs, peer, 5)
    yield Row("the same and mrr", lambda: ours(*metrics, "mrr"), theirs, peer, 5)


def links() -> Iterator[Row]:
    """Yields link prediction among 4.8 million entities, the number in Wikidata5M."""
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    num_entities, num_relations = 4_800_000, 800
    entities = jnp.asarray(draw(rng, num_entities, 32))
    relations = jnp.asarray(draw(rng, num_relations, 32))
    known = np.stack(
        [
            rng.integers(0, num_entities, 10**6),
            rng.integers(0, num_relations, 10**6),
            rng.integers(0, num_entities, 10**6),
        ],
        axis=1,
    )

    @jax.jit
    def score(ids: Any, of_relations: Any, entities: Any, relations: Any) -> Any:
        return (entities[ids] * relations[of_relations]) @ entities.T

    metrics = ("mrr(rank=realistic)", "hits(rank=realistic)@1,3,10")

    def ours() -> Any:
        return jrm.evaluate_links(
            metrics,
            lambda ids, of_relations, side: score(
                ids, of_relations, entities, relations
            ),
            known[:64],
            known=known,
            num_entities=num_entities,
        )

    name = "Wikidata5M · 64 triples, both sides, 4,800,000 entities"
    yield Row(name, ours, None, "", 1)


def tokens() -> Iterator[Row]:
    """Yields a row of late interaction, beside padded products by NumPy."""
    rng = np.random.default_rng(0)
    queries = draw(rng, 100, 32, 128)
    lengths = rng.integers(20, 181, 20_000)
    items = [draw(rng, length, 128) for length in lengths]
    relevant = rng.integers(0, len(items), (100, 1))

    def ours() -> Any:
        return jrm.evaluate_embeddings(
            "ndcg@10", [*queries], items, relevant, similarity="maxsim"
        )

    def theirs() -> float:
        rows, scores = queries.reshape(-1, 128), np.empty((100, len(items)), np.float32)
        for start in range(0, len(items), 64):
            part = items[start : start + 64]
            exists = np.arange(180) < lengths[start : start + 64, None]
            vectors = np.zeros((len(part), 180, 128), np.float32)
            for row, item in zip(vectors, part, strict=True):
                row[: len(item)] = item
            products = (rows @ vectors.reshape(-1, 128).T).reshape(-1, *exists.shape)
            best = np.where(exists, products, -np.inf).max(-1)
            scores[:, start : start + 64] = best.reshape(100, 32, -1).sum(1)
        ids = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        return ((ids == relevant) / np.log2(np.arange(2, 12))).sum(1).mean()

    name = "maxsim · 100 queries of 32 tokens, 20,000 items of 20 to 180, 128 dims"
    yield Row(name, ours, theirs, "padded NumPy")


JOBS: dict[str, Callable[[], Iterator[Row]]] = {
    "million": million,
    "market": market,
    "sentences": sentences,
    "sparse": sparse,
    "links": links,
    "tokens": tokens,
    "pairs": lambda: mapped("image–text pairs", 512, 780_000, 512),
    "msmarco": lambda: mapped("MS MARCO", 64, 8_800_000, 384),
}


def main(
    jobs: Annotated[list[str] | None, typer.Argument(help=", ".join(JOBS))] = None,
) -> None:
    """Prints a row for each job."""
    names = "job", "this, CPU s", "MiB", "beside it", "CPU s", "MiB", "ratio"
    table = Table(*names, box=MARKDOWN)
    for job in jobs or JOBS:
        for row in JOBS[job]():
            if row.rounds > 1:
                row.ours()
            rounds = [
                (cost(row.ours), None if row.theirs is None else cost(row.theirs))
                for _ in range(row.rounds)
            ]
            ours = min(ours for ours, _ in rounds)
            theirs = min((x for _, x in rounds if x is not None), default=None)
            cells = ["", "", "", ""]
            if theirs is not None:
                ratio = f"{ours.seconds / theirs.seconds:.2f}"
                memory = f"{theirs.mebibytes:.0f}"
                cells = [row.peer, f"{theirs.seconds:.3g}", memory, ratio]
            numbers = f"{ours.seconds:.3g}", f"{ours.mebibytes:.0f}"
            Console(stderr=True).print(row.name, *numbers, *cells)
            table.add_row(row.name, *numbers, *cells)
    Console(width=160).print(table)


if __name__ == "__main__":
    typer.run(main)
