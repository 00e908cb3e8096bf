"""Files in TREC's form, read and measured by four libraries: `python benchmarks/files.py`.

A run of a thousand queries with a thousand documents each, and a hundred judgements for
each query. All libraries take turns in one process; the median of several rounds counts,
after one that compiles and is told apart.
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
    """The files: half of what is judged is retrieved."""
    rng = np.random.default_rng(0)
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    with qrels.open("w") as judged, run.open("w") as found:
        for query in range(queries):
            names = rng.choice(500_000, documents, replace=False)
            scores = -np.sort(-rng.normal(size=documents))
            found.writelines(
                f"q{query} Q0 doc{name:07} {rank} {score:.6f} tag\n"
                for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1)
            )
            missed = 500_000 + rng.choice(1000, 50, replace=False)
            names = np.concatenate([rng.choice(names, 50, replace=False), missed])
            judged.writelines(
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
            float(state)
            for state in jrm.evaluate(METRICS, **joined.arguments(METRICS)).values()
        ],
    }


def pytrec_eval(qrels: Path, run: Path) -> Steps:
    """trec_eval's code, with parsers in Python."""
    import pytrec_eval as library

    names = ("ndcg_cut_10", "map", "recip_rank")

    def read(_: Any) -> Any:
        with qrels.open() as judged, run.open() as found:
            return library.parse_qrel(judged), library.parse_run(found)

    def measure(dicts: Any) -> list[float]:
        evaluator = library.RelevanceEvaluator(
            dicts[0], {"ndcg_cut.10", "map", "recip_rank"}
        )
        found = evaluator.evaluate(dicts[1]).values()
        return [float(np.mean([one[name] for one in found])) for name in names]

    return {"read": read, "measure": measure}


def ranx(qrels: Path, run: Path) -> Steps:
    """ranx: Numba."""
    import ranx as library

    def read(_: Any) -> Any:
        return (
            library.Qrels.from_file(str(qrels), kind="trec"),
            library.Run.from_file(str(run), kind="trec"),
        )

    def measure(read: Any) -> list[float]:
        names = ["ndcg@10", "map", "mrr"]
        found = library.evaluate(*read, names, make_comparable=False)
        return [float(found[name]) for name in names]

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
        found = library.calc_aggregate(measures, *read)
        return [found[one] for one in measures]

    return {"read": read, "measure": measure}


def main(
    queries: Annotated[int, typer.Option(help="of the run")] = 1000,
    documents: Annotated[int, typer.Option(help="of each query, 100 or more")] = 1000,
    rounds: Annotated[int, typer.Option(help="that count")] = 3,
) -> None:
    """Prints a table of seconds, and in brackets how many times ours."""
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
    for name, found in values.items():  # a time of other numbers says nothing
        np.testing.assert_allclose(
            found, values["pytrec_eval"], atol=1e-4, err_msg=name
        )
    base = statistics.median(one["all"] for one in times["ours"][1:])
    for name, rows in times.items():
        cells = []
        for step in ("read", "join", "measure", "all"):
            of_step = [one[step] for one in rows[1:] if step in one]
            cells.append(f"{statistics.median(of_step):.2f}" if of_step else "")
        ratio = statistics.median(one["all"] for one in rows[1:]) / base
        cells[-1] += f" ({ratio:.1f}×)"
        table.add_row(name, *cells, f"{rows[0]['all']:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    typer.run(main)
