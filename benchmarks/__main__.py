"""Measures every contender on the same data, side by side: `python benchmarks`.

Each contender runs in a process of its own, and they take turns, one call each, so that a
busy machine slows all of them equally. The first table holds the median time of a call
after the first one, and in brackets its ratio to hand-written NumPy, or if there is no
NumPy version, to JAX without a metric. The second table holds the time before that:
imports, the first call, and whether later calls compile again.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from contenders import CONTENDERS  # noqa: E402  (after the path)
from workloads import Workload, workloads  # noqa: E402

BASES = ("numpy", "bare")  # the first of them with a time is the baseline of a row

# The row whose first calls are reported.
FIRST = Workload("ndcg@10", (1024, 1000)).name


class Worker:
    """The process of a contender."""

    def __init__(self, name: str):
        """Starts the process."""
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=os.environ | {"KERAS_BACKEND": "jax"},
        )
        # Wait until it is ready, so that processes do not slow each other's imports.
        assert self.process.stdout
        self.process.stdout.readline()

    def ask(self, **task: Any) -> dict[str, Any]:
        """Sends a task and waits for its answer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(task) + "\n")
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"can": False, "failed": "died"}

    def prepare(self, work: Workload) -> dict[str, Any]:
        """Prepares a workload, with one call that does not count."""
        return self.ask(workload=dataclasses.asdict(work))

    def alive(self) -> bool:
        """True if the process is still running."""
        return self.process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()


def measure(work: Workload, workers: list[Worker], seconds: float) -> dict[str, Any]:
    """Returns the cells of one row; contenders take turns until each has spent its time."""
    cells: dict[str, Any] = {}
    for worker in workers:
        cells[worker.name] = worker.prepare(work) | {"times": []}
    turn = [w for w in workers if cells[w.name]["can"]]
    while turn:
        for worker in list(turn):
            cell = cells[worker.name]
            answer = worker.ask()
            if "s" not in answer:
                cell.update(can=False, failed=answer.get("failed"))
                turn.remove(worker)
                continue
            cell["times"].append(answer["s"])
            cell |= {name: answer[name] for name in ("peak_mib", "compiled")}
            enough = len(cell["times"]) >= 3 and sum(cell["times"]) >= seconds
            if enough or len(cell["times"]) >= 200 or answer["s"] > 4 * seconds:
                turn.remove(worker)
    for cell in cells.values():
        if cell["times"]:
            cell["median_ms"] = 1e3 * statistics.median(cell["times"])
    return cells


def short(x: float) -> str:
    """Formats a number with two or three digits, never with an exponent."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}" if x >= 10 else f"{x:.2g}"


def first_calls(cells: dict[str, Any]) -> Table:
    """Returns the table of the costs of contenders before their second call."""
    table = Table(
        f"before the second call of {FIRST}",
        "imports, s",
        "first call, s",
        "compiled later",
        "peak, MiB",
        box=MARKDOWN,
    )
    for name, cell in cells.items():
        if "median_ms" in cell:
            imports = [
                f"{module} {seconds:.2f}"
                for module, seconds in cell["import_s"].items()
                if seconds is not None
            ]
            table.add_row(
                name,
                " + ".join(imports),
                f"{cell['first_s']:.2f}",
                f"{cell['compiled']}",
                f"{cell['peak_mib']:.0f}",
            )
    return table


def main(
    only: Annotated[str, typer.Option(help="rows whose name contains this text")] = "",
    contenders: Annotated[str, typer.Option(help="names, separated by commas")] = "",
    seconds: Annotated[float, typer.Option(help="time per cell")] = 1.0,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="file for a record")
    ] = None,
) -> None:
    """Prints the tables, and writes a record if asked to."""
    names = contenders.split(",") if contenders else list(CONTENDERS)
    rows = [work for work in workloads() if only in work.name]
    table = Table("workload, ms (× numpy)", *names, box=MARKDOWN)
    records, notes = [], set()
    workers = [Worker(name) for name in names]
    # This row comes first: it reports the imports of processes that have just started.
    rows.sort(key=lambda work: work.name != FIRST)
    for work in track(rows, "measuring", console=Console(stderr=True)):
        workers = [w if w.alive() else Worker(w.name) for w in workers]
        cells = measure(work, workers, seconds)
        timed = [cells.get(base, {}).get("median_ms") for base in BASES]
        base = next((ms for ms in timed if ms), None)
        texts = []
        for name, cell in cells.items():
            text = "" if "median_ms" not in cell else short(cell["median_ms"])
            if text and base:
                text += f" ({short(cell['median_ms'] / base)}×)"
            texts.append(text)
            for reason in ("missing", "failed"):
                if cell.get(reason):
                    notes.add(f"{name} {reason}: {cell[reason]}")
        table.add_row(work.name, *texts)
        records.append({"workload": work.name, "cells": cells})
    for worker in workers:
        worker.close()
    if json_file:
        json_file.write_text(json.dumps(records, indent=1))
    console = Console(width=240)
    console.print(table)
    for record in records:
        if record["workload"] == FIRST:
            console.print(first_calls(record["cells"]))
    for note in sorted(notes):
        console.print(note, style="dim")


if __name__ == "__main__":
    typer.run(main)
