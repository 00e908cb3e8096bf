"""Measures the cost of a first evaluation of dicts: `python benchmarks/dicts.py`.

The job is MTEB's: a thousand queries with a thousand documents each, and seven cutoffs of
five metrics. Seconds are CPU seconds, in a fresh process for each library, without imports.
The last number counts the programs that are compiled for twenty runs of different sizes.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

CUTOFFS = "1,3,5,10,20,100,1000"
STEPS = ("first", "950 queries", "warm")

Dicts = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


def draw(
    queries: int, documents: int = 1000, judged: int = 100, seed: int = 0
) -> Dicts:
    """Returns judgements and a run; half of the judged documents are retrieved."""
    rng, qrels, run = np.random.default_rng(seed), {}, {}
    for query in range(queries):
        ids = rng.choice(500_000, documents + judged // 2, replace=False)
        names = [f"doc{index:07}" for index in ids]
        scores = rng.normal(size=documents)
        run[f"q{query}"] = dict(zip(names[:documents], scores.tolist(), strict=True))
        levels = rng.integers(0, 4, judged)
        qrels[f"q{query}"] = dict(zip(names[-judged:], levels.tolist(), strict=True))
    return qrels, run


def ours() -> Callable[[Dicts], dict[str, Any]]:
    """This package."""
    import polars  # noqa: F401  (`join` imports it on first use)

    import jax_rank_metrics as jrm

    metrics = ("ndcg(gain_fn=linear_gain)", "map", "recall", "p(denominator=k)", "mrr")
    names = [f"{metric}@{CUTOFFS}" for metric in metrics]
    join, compute = jrm.join, jrm.compute  # imports the package and JAX
    return lambda dicts: compute(join(*dicts).evaluate(names))


def pytrec_eval() -> Callable[[Dicts], dict[str, Any]]:
    """trec_eval's code, to which MTEB hands its dicts."""
    import pytrec_eval as library

    measures = {f"{name}.{CUTOFFS}" for name in ("ndcg_cut", "map_cut", "recall", "P")}

    def evaluate(dicts: Dicts) -> dict[str, Any]:
        evaluator = library.RelevanceEvaluator(dicts[0], {*measures, "recip_rank"})
        values = [*evaluator.evaluate(dicts[1]).values()]
        return {name: np.mean([x[name] for x in values]) for name in values[0]}

    return evaluate


LIBRARIES = {"ours": ours, "pytrec_eval": pytrec_eval}


def seconds_of(library: str) -> list[float]:
    """Returns the seconds of `STEPS`, which the process must not have taken before."""
    evaluate, seconds = LIBRARIES[library](), []
    full, smaller = draw(1000), draw(950)
    for dicts in (full, smaller, full):
        begin = time.process_time()
        evaluate(dicts)
        seconds.append(time.process_time() - begin)
    return seconds


def count_compilations() -> int:
    """Returns how many programs are compiled for twenty runs of different sizes."""
    import jax

    evaluate, compiled = ours(), []

    def listen(event: str, *_: Any, **__: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    rng = np.random.default_rng(0)
    for seed in range(20):
        queries, documents, judged = rng.integers((1, 20, 2), (1500, 300, 1000))
        evaluate(draw(int(queries), int(max(documents, judged)), int(judged), seed))
    return len(compiled)


def main(
    step: Annotated[str, typer.Option(hidden=True)] = "",
    rounds: Annotated[
        int, typer.Option(help="processes, of which the best counts")
    ] = 3,
) -> None:
    """Prints a table of seconds."""
    if step:
        print(count_compilations() if step == "count" else seconds_of(step))
        return

    def run(step: str) -> Any:
        command = [sys.executable, __file__, "--step", step]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return np.array(done.stdout.strip("[]\n").split(", "), float)

    table = Table("library", *STEPS, "compilations of twenty runs", box=MARKDOWN)
    for library in LIBRARIES:
        best = np.min([run(library) for _ in range(rounds)], axis=0)
        count = f"{run('count')[0]:.0f}" if library == "ours" else ""
        table.add_row(library, *(f"{seconds:.2f}" for seconds in best), count)
    Console(width=120).print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    typer.run(main)
