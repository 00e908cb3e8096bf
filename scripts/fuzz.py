"""Draws combinations of arguments, and compares the package with plain loops in float64.

    python scripts/fuzz.py SEED SECONDS

Draws a source or a driver, metrics with cutoffs, a tie policy, labels and attributes, equal
scores and equal vectors, masks, exclusions, candidates, weights, batches, blocks and up to
eight devices, and compares values, means and ids. The same seed draws the same cases, until
the time is over. If a case differs, it is made small and printed as code to paste, and the
exit code is 1. Leave `XLA_FLAGS` unset, so that programs are compiled as for users.
"""

import argparse
import collections
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("PJRT_NPROC", "32")  # a thread for each virtual device that waits
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the oracle

import jax
import numpy as np
from fuzzing import calls
from fuzzing.case import InvalidCase
from fuzzing.shrink import shrunk

# How often each is drawn; compiling takes most of the time, so numbers are drawn several
# times for the same programs.
TURNS = (
    *("evaluate_embeddings", "evaluate_users", "rank", "evaluate_embeddings"),
    *("rank_catalog", "evaluate_links", "packed", "evaluate_users", "rank_scores"),
    *("evaluate_embeddings", "rank_ids", "evaluate", "rank_retrieved"),
    *("rank_over_items", "rank_places"),
)
REPEATS = 16


def main() -> int:
    """Draws cases until the time is over, or one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--only", help="a source or driver", choices=calls.BY_NAME)
    parser.add_argument("--go-on", action="store_true", help="after a failure")
    parser.add_argument("--shrink", type=float, default=45, help="seconds, at most")
    options = parser.parse_args()
    turns = (options.only,) if options.only else TURNS
    jax.config.update("jax_num_cpu_devices", 8)
    start, number, failures = time.monotonic(), 0, 0
    compared, invalid = collections.Counter(), collections.Counter()
    seconds = collections.Counter()

    while time.monotonic() - start < options.seconds:
        name = turns[number % len(turns)]
        began = time.monotonic()
        for repeat in range(REPEATS):
            shape = np.random.default_rng([options.seed, number])
            data = np.random.default_rng([options.seed, number, repeat])
            try:
                case = calls.BY_NAME[name].draw(shape, data)
                mismatch = calls.failure_of(case)
            except InvalidCase:
                invalid[name] += 1
                continue
            compared[name] += 1
            if mismatch is not None:
                failures += 1
                after = time.monotonic() - start
                print(f"\n{name} differs after {after:.0f} s (draw {number}, {repeat})")
                small, mismatch = shrunk(
                    case, mismatch, calls.failure_of, options.shrink
                )
                print(f"\n{calls.pasted(small)}\n# {mismatch}", flush=True)
                break
        seconds[name] += time.monotonic() - began
        number += 1
        if failures and not options.go_on:
            break

    print(f"\n{'':20} {'compared':>8} {'a second':>8} {'left out':>8}")
    for name in sorted(compared):
        rate = compared[name] / seconds[name]
        print(f"{name:20} {compared[name]:8} {rate:8.1f} {invalid[name]:8}")
    total = f"{sum(compared.values())} cases, {number} combinations"
    print(f"{total}, {failures} failed, {time.monotonic() - start:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
