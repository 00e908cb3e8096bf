"""Measures ndcg@k and map@k over k: `python benchmarks/cutoffs.py`.

Prints the least time of calls that take turns, in milliseconds, and writes it to
`cutoffs.json`, from which `scripts/figures.py` draws a figure.
"""

import json
import time
from pathlib import Path
from typing import Any

import contenders
import jax
from workloads import SHAPES, Workload

import jax_rank_metrics as jrm

KS = (5, 10, 16, 20, 24, 32, 33, 50, 100)
RECORD = Path(__file__).with_suffix(".json")
CALLS = 25


def main() -> None:
    """Measures every cutoff on lists of 100 and of 1,000 items."""
    record: dict[str, dict[str, dict[int, float]]] = {}
    for shape in SHAPES[:2]:
        calls: dict[tuple[str, int], contenders.Call] = {}
        for k in KS:
            work = Workload("ndcg@k", shape, k=k)
            data = work.data()
            by_hand = contenders.numpy(work, data)
            assert by_hand is not None
            calls["NumPy, ndcg@k", k] = by_hand
            arrays = [jax.device_put(data[name]) for name in ("labels", "scores")]
            for name in ("ndcg", "map"):
                calls[f"{name}@k", k] = _of(f"{name}@{k}", arrays)
        times: dict[tuple[str, int], list[float]] = {key: [] for key in calls}
        for call in calls.values():
            call()  # compiles
        for _ in range(CALLS):
            for key, call in calls.items():
                begin = time.perf_counter()
                call()
                times[key].append(1e3 * (time.perf_counter() - begin))
        rows: dict[str, dict[int, float]] = {}
        for (name, k), seconds in times.items():
            rows.setdefault(name, {})[k] = round(min(seconds), 2)
        record["{:,} × {:,}".format(*shape)] = rows
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print("| k | " + " | ".join(map(str, KS)) + " |")
    print("|---|" + "---:|" * len(KS))
    for title, rows in record.items():
        for name, by_k in rows.items():
            cells = [f"{name} · {title}", *(f"{by_k[k]:.2g}" for k in KS)]
            print("| " + " | ".join(cells) + " |")


def _of(name: str, arrays: list[jax.Array]) -> contenders.Call:
    """Returns a call of one metric in a program."""

    @jax.jit
    def run(labels: jax.Array, scores: jax.Array) -> Any:
        return jrm.compute(jrm.evaluate((name,), labels, scores))

    return lambda: jax.block_until_ready(run(*arrays))


if __name__ == "__main__":
    main()
