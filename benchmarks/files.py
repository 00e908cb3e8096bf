"""Measures how four libraries read and evaluate TREC files: `python benchmarks/files.py`.

The run has a thousand queries with a thousand documents each, and there are a hundred
judgements per query. All libraries take turns in one process. The median of several rounds
counts; the first round, which compiles, is reported separately.
"""

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import jax_rank_metrics as jrm

METRICS = ("ndcg(gain_fn=linear_gain)@10", "map", "mrr")

Steps = dict[str, Callable[..., Any]]


def write(folder: Path, queries: int, documents: int) -> tuple[Path, Path]:
    """Writes the files; half of the judged documents are retrieved."""
    rng = np.random.default_rng(0)
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    with qrels.open("w") as qrels_file, run.open("w") as run_file:
        for query in range(queries):
            names = rng.choice(500_000, documents, replace=False)
            scores = -np.sort(-rng.normal(size=documents))
            run_file.writelines(
                f"q{query} Q0 doc{name:07} {rank} {score:.6f} tag\n"
                for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1)
            )
            not_retrieved = 500_000 + rng.choice(1000, 50, replace=False)
            names = np.concatenate(
                [rng.choice(names, 50, replace=False), not_retrieved]
            )
            qrels_file.writelines(
                f"q{query} 0 doc{name:07} {level}\n"
                for name, level in zip(names, rng.integers(0, 4, 100), strict=True)
            )
    return qrels, run


def ours(qrels: Path, run: Path) -> Steps:
    """This package."""
    return {
        "read": lambda _: (jrm.read_qrels(qrels), jrm.read_run(run)),
        "join": lambda frames: jrm.join(*frames, ties="trec"),
        "measure": lambda joined: [
            float(state) for state in joined.evaluate(METRICS).values()
        ],
    }


def pytrec_eval(qrels: Path, run: Path) -> Steps:
    """trec_eval's code, with parsers in Python."""
    import pytrec_eval as library

    names = ("ndcg_cut_10", "map", "recip_rank")

    def read(_: Any) -> Any:
        with qrels.open() as qrels_file, run.open() as run_file:
            return library.parse_qrel(qrels_file), library.parse_run(run_file)

    def measure(dicts: Any) -> list[float]:
        evaluator = library.RelevanceEvaluator(
            dicts[0], {"ndcg_cut.10", "map", "recip_rank"}
        )
        results = evaluator.evaluate(dicts[1]).values()
        return [float(np.mean([query[name] for query in results])) for name in names]

    return {"read": read, "measure": measure}


def ranx(qrels: Path, run: Path) -> Steps:
    """ranx, which runs on Numba."""
    import ranx as library

    def read(_: Any) -> Any:
        return (
            library.Qrels.from_file(str(qrels), kind="trec"),
            library.Run.from_file(str(run), kind="trec"),
        )

    def measure(read: Any) -> list[float]:
        names = ["ndcg@10", "map", "mrr"]
        means = library.evaluate(*read, names, make_comparable=False)
        return [float(means[name]) for name in names]

    return {"read": read, "measure": measure}


def ir_measures(qrels: Path, run: Path) -> Steps:
    """ir_measures, which hands these measures to pytrec_eval."""
    import ir_measures as library

    measures = [library.nDCG @ 10, library.AP, library.RR]

    def read(_: Any) -> Any:
        return (
            [*library.read_trec_qrels(str(qrels))],
            [*library.read_trec_run(str(run))],
        )

    def measure(read: Any) -> list[float]:
        means = library.calc_aggregate(measures, *read)
        return [means[measure] for measure in measures]

    return {"read": read, "measure": measure}


def main(
    queries: Annotated[int, typer.Option(help="queries of the run")] = 1000,
    documents: Annotated[
        int, typer.Option(help="documents per query, 100 or more")
    ] = 1000,
    rounds: Annotated[int, typer.Option(help="rounds that count")] = 3,
) -> None:
    """Prints a table of seconds, with the ratio to this package in brackets."""
    table = Table("library", "read", "join", "measure", "all", "first", box=MARKDOWN)
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), queries, documents)
        libraries = {
            make.__name__: make(*files)
            for make in (ours, pytrec_eval, ranx, ir_measures)
        }
        times: dict[str, list[dict[str, float]]] = {name: [] for name in libraries}
        values = {}
        for _ in range(1 + rounds):
            for name, steps in libraries.items():
                taken, result = {}, None
                for step, call in steps.items():
                    begin = time.perf_counter()
                    result = call(result)
                    taken[step] = time.perf_counter() - begin
                times[name].append(taken | {"all": sum(taken.values())})
                values[name] = result
    for name, means in values.items():  # times compare only if the numbers agree
        np.testing.assert_allclose(
            means, values["pytrec_eval"], atol=1e-4, err_msg=name
        )
    baseline = statistics.median(row["all"] for row in times["ours"][1:])
    for name, rows in times.items():
        cells = []
        for step in ("read", "join", "measure", "all"):
            of_step = [row[step] for row in rows[1:] if step in row]
            cells.append(f"{statistics.median(of_step):.2f}" if of_step else "")
        ratio = statistics.median(row["all"] for row in rows[1:]) / baseline
        cells[-1] += f" ({ratio:.1f}×)"
        table.add_row(name, *cells, f"{rows[0]['all']:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    typer.run(main)
