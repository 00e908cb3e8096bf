"""Measures the cost of the command: `python benchmarks/command.py`.

Each number is for a whole fresh process, with imports and compiling: the CPU seconds of the
best of several, user and system together, and its memory. The command is compared with a
script that reads the same files and averages the same measures with pytrec_eval.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from files import write
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

DEFAULT = ("ndcg_cut.10", "map", "recip_rank", "recall.100")

PYTREC_EVAL = """
import sys
import pytrec_eval
import numpy as np
qrels, *runs = sys.argv[2:]
with open(qrels) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(
        pytrec_eval.parse_qrel(file), set(sys.argv[1].split())
    )
for run in runs:
    with open(run) as file:
        queries = evaluator.evaluate(pytrec_eval.parse_run(file)).values()
    for name in next(iter(queries)):
        print(name, np.mean([values[name] for values in queries]))
"""


class Row(NamedTuple):
    """A row of the table."""

    name: str
    queries: int  # 0 if no files are read
    words: tuple[str, ...] = ()
    runs: int = 1
    measures: tuple[str, ...] = DEFAULT  # of pytrec_eval


ROWS = (
    Row("50×1,000", 50),
    Row(
        "50×1,000 · `--trec --format trec`",
        50,
        ("--trec", "--format", "trec"),
        measures=("official",),
    ),
    Row("1,000×1,000", 1000),
    Row("1,000×1,000 · two runs", 1000, runs=2),
    Row("1,000×1,000 · two runs, `--compare permutation`", 1000,
        ("--compare", "permutation"), 2, ()),
    Row("7,000×1,000", 7000),
    Row("`--help`", 0, ("--help",), measures=()),
)  # fmt: skip


def cost(command: list[str], rounds: int) -> str:
    """Returns CPU seconds and memory of the cheapest of several processes."""
    costs = []
    for _ in range(rounds):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise RuntimeError(f"{' '.join(command)} failed")
        costs.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    seconds, mebibytes = min(costs)
    return f"{seconds:.2f} s, {mebibytes:,.0f} MiB"


def main(
    rounds: Annotated[int, typer.Option(help="processes for each number")] = 3,
) -> None:
    """Prints a table of CPU seconds and memory."""
    table = Table("run", "this", "pytrec_eval", box=MARKDOWN)
    ours = [sys.executable, "-m", "jax_rank_metrics"]
    has_peer = importlib.util.find_spec("pytrec_eval") is not None
    with tempfile.TemporaryDirectory() as folder:
        written: dict[int, list[str]] = {0: []}
        for row in ROWS:
            if row.queries not in written:
                place = Path(folder) / str(row.queries)
                place.mkdir()
                qrels, run = write(place, row.queries, 1000)
                again = shutil.copy(run, place / "again.txt")
                written[row.queries] = [str(qrels), str(run), str(again)]
            files = written[row.queries][: 1 + row.runs]
            words = ["evaluate", *files] if files else []
            theirs = ""
            if row.measures and has_peer:
                theirs = cost(
                    [sys.executable, "-c", PYTREC_EVAL, " ".join(row.measures), *files],
                    rounds,
                )
            table.add_row(row.name, cost([*ours, *words, *row.words], rounds), theirs)
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)
