"""Asks the compilers of TPU and GPU for their programs: `python benchmarks/compilers.py`.

XLA compiles ahead of time for devices that are not there: a TPU v5e from the package
libtpu, an H200 from the file `h200.txtpb`, which describes it. The extra `compilers`
installs what that needs. The table says what an accelerator would run, not how long it
takes: the CPU seconds to compile a program, and of the optimised program its kernels
(fusions), single gathers and scatters, sorts and calls of a top-k, branches and loops, and
collectives. For a TPU it also has the compiler's own estimate of thousands of cycles, in
the entry of the program and in all branches and loop bodies, without sorts, top-k calls
and gathers.
"""

import argparse
import collections
import dataclasses
import importlib.metadata
import itertools
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs import Program, programs
from steps import MESHES, TOPOLOGIES, Case, cases, lowered

HERE = Path(__file__).parent
# The places of an environment in which pip puts the tools of CUDA.
CUDA = next(map(str, Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*")), "")
# The most seconds that a step may take, with its imports.
TIMEOUT = 120


@dataclasses.dataclass(frozen=True)
class Contents:
    """The contents of an optimised program, in branches and loops too.

    Attributes:
        seconds: The CPU seconds to trace and compile it.
        kernels: Fusions.
        gathers: Gathers, wherever they are.
        scatters: Scatters, wherever they are.
        sorts: Sorts that are no call of a top-k.
        top_k: Calls of a top-k.
        branches: Conditionals.
        loops: While loops.
        collectives: Exchanges between devices.
        entry_cycles: Cycles estimated for the entry of the program; 0 if unknown.
        inner_cycles: The same for branches, loop bodies and other computations.
    """

    seconds: float
    kernels: int
    gathers: int
    scatters: int
    sorts: int
    top_k: int
    branches: int
    loops: int
    collectives: int
    entry_cycles: int
    inner_cycles: int


def prepare(target: str) -> None:
    """Sets the environment that a compiler needs, before JAX is imported or used."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if target == "tpu":  # what libtpu would ask a machine of Google's cloud for
        os.environ |= {
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_ACCELERATOR_TYPE": "v5litepod-4",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_WORKER_ID": "0",
            "XLA_FLAGS": "",  # libtpu aborts at flags that JAX alone knows
        }
    else:
        cuda = os.environ.get("CUDA_HOME", CUDA)
        flags = ("--xla_gpu_autotune_level=0", f"--xla_gpu_cuda_data_dir={cuda}")
        os.environ["XLA_FLAGS"] = " ".join(flags)


def devices(target: str, chips: int = 4) -> list[Any]:
    """Returns the devices to compile for: TPUs that are next to each other, or one GPU."""
    from jax.experimental import topologies

    if target == "tpu":
        return topologies.get_topology_desc(
            platform="tpu", topology_name=TOPOLOGIES[chips]
        ).devices
    import jax
    import jax_plugins.xla_cuda13  # noqa: F401

    jax.devices()  # registers the plugins
    return topologies.get_topology_desc(
        platform="cuda",
        topology_name="h200",
        target_config=(HERE / "h200.txtpb").read_text(),
        topology="1x1x1",
    ).devices


def optimised(program: Program, devices: list[Any]) -> tuple[str, float]:
    """Compiles a program; returns its text, and the CPU seconds that it took."""
    import jax
    import numpy as np
    from jax.sharding import (
        AxisType,
        Mesh,
        NamedSharding,
        PartitionSpec,
        SingleDeviceSharding,
    )

    sharding: Any = SingleDeviceSharding(devices[0])
    if program.axes is not None:
        grid = np.array(devices).reshape(2, 2)
        kinds = (AxisType.Explicit,) * 2
        mesh = Mesh(grid, ("data", "model"), axis_types=kinds)
        sharding = NamedSharding(mesh, PartitionSpec(*program.axes))
    arrays = [
        jax.ShapeDtypeStruct(shape, np.dtype(kind), sharding=sharding)
        for shape, kind in program.arrays
    ]
    begin = time.process_time()
    text = jax.jit(program.function).lower(*arrays).compile().as_text()
    return text, time.process_time() - begin


def contents(text: str, seconds: float) -> Contents:
    """Counts what the text of an optimised program holds."""
    counts, cycles = collections.Counter(), collections.Counter()
    for computation, line in _instructions(text):
        operation = re.search(r"[\])}] ([a-z][a-z0-9\-]*)\(", line)
        name = operation[1] if operation else ""
        if name == "custom-call":
            target = re.search(r'custom_call_target="([^"]*)"', line)
            name = "top-k" if target and "TopK" in target[1] else name
        # The instructions of a fusion are one kernel, but XLA names what it could not fuse.
        if "fused" not in computation or name in ("sort", "gather", "scatter"):
            counts[name.removesuffix("-start")] += 1
        estimate = re.search(r'estimated_cycles":"?(\d+)', line)
        if estimate:
            cycles["ENTRY" if computation == "ENTRY" else "inner"] += int(estimate[1])
    return Contents(
        seconds=seconds,
        kernels=counts["fusion"],
        gathers=counts["gather"],
        scatters=counts["scatter"],
        sorts=counts["sort"],
        top_k=counts["top-k"],
        branches=counts["conditional"],
        loops=counts["while"],
        collectives=len(exchanges(text)),
        entry_cycles=cycles["ENTRY"],
        inner_cycles=cycles["inner"],
    )


def exchanges(text: str) -> list[tuple[str, int]]:
    """Lists the collectives of an optimised program, and the bytes that each results in.

    One in a loop counts once.
    """
    names = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
    found = re.findall(rf"= (\S.*?) ({names})(?:-done)?\(", text)
    return [(name, _bytes_of(shapes)) for shapes, name in found]


def _bytes_of(shapes: str) -> int:
    """Returns the bytes of arrays that are written as `(f32[2,3]{1,0}, pred[])`."""
    size = 0
    for bits, dims in re.findall(r"[a-z]+(\d*)\w*\[([\d,]*)\]", shapes):
        size += math.prod(map(int, filter(None, dims.split(",")))) * int(bits or 8) // 8
    return size


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yields the lines of a program, with the name of their computation before each."""
    computation = ""
    for line in text.splitlines():
        begins = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{\s*$", line)
        if begins:
            computation = "ENTRY" if begins[1] else begins[2]
        else:
            yield computation, line


def versions(target: str) -> str:
    """Returns the versions of JAX and of the compiler."""
    packages = ("jax", "libtpu" if target == "tpu" else "jax-cuda13-plugin")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def compiled_alone(case: Case) -> dict[str, Any]:
    """Compiles a step in a fresh process.

    Returns:
        The CPU seconds to trace and compile it, its `exchanges`, and how many of the bytes
        of the donated arguments it reuses.

    Raises:
        RuntimeError: If it fails, or takes longer than `TIMEOUT`.
    """
    fields = map(str, dataclasses.astuple(case))
    command = [sys.executable, __file__, "case", *fields]
    env = os.environ | {"JAX_TRACEBACK_FILTERING": "off"}  # the error is the last line
    try:
        process = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"more than {TIMEOUT} seconds") from error
    if process.returncode:
        raise RuntimeError(process.stderr.strip().splitlines()[-1])
    return json.loads(process.stdout.splitlines()[-1])


def print_case(step: str, chips: str, cut: str, mesh: str) -> None:
    """Prints what `compiled_alone` returns."""
    case = Case(step, int(chips), cut, mesh)
    chosen = devices("tpu", case.chips)
    begin = time.process_time()
    compiled = lowered(case, chosen).compile()
    seconds = time.process_time() - begin
    found = exchanges(compiled.as_text())
    reused = compiled.memory_analysis().alias_size_in_bytes
    print(json.dumps({"seconds": seconds, "exchanges": found, "reused": reused}))


def print_steps(names: list[str]) -> None:
    """Prints the table of steps on many chips."""
    print("| step, chips, what is cut | mesh | compile, s | collectives | bytes |")
    print("|---|---|---:|---|---:|")
    groups = itertools.groupby(cases(), lambda x: (x.step, x.chips, x.cut))
    for (step, chips, cut), of_meshes in groups:
        if names and step not in names:
            continue
        rows = collections.defaultdict(list)
        for case in of_meshes:
            try:
                result = compiled_alone(case)
                found = tuple(map(tuple, sorted(result["exchanges"])))
                rows[found].append((case.mesh, result["seconds"]))
            except RuntimeError as error:
                rows[f"FAILED: {error}"].append((case.mesh, 0.0))
        for found, members in rows.items():
            meshes, seconds = zip(*members, strict=True)
            cells = [
                f"{step}, {chips}, {cut}",
                "all" if len(meshes) == len(MESHES) else "; ".join(meshes),
                f"{min(seconds):.1f} to {max(seconds):.1f}",
                *((found, "") if isinstance(found, str) else _summary(found)),
            ]
            print("| " + " | ".join(cells) + " |", flush=True)


def _summary(found: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """Returns how many there are of each kind of collective, and their bytes."""
    counts = collections.Counter(name for name, _ in found)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.items())
    return kinds or "none", f"{sum(size for _, size in found):,}"


def main() -> None:
    """Prints the table of one target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["tpu", "gpu", "mesh", "case"])
    parser.add_argument("names", nargs="*", help="programs, or steps; all without any")
    options = parser.parse_args()
    prepare("gpu" if options.target == "gpu" else "tpu")
    if options.target == "case":
        return print_case(*options.names)
    if options.target == "mesh":
        print(f"{versions('tpu')}\n")
        return print_steps(options.names)
    all_devices = devices(options.target)
    cycles = " est. k cycles: entry + rest |" * (options.target == "tpu")
    print(f"{versions(options.target)}\n")
    print(
        "| program | compile, s | kernels | gathers, scatters | sorts, top-k "
        f"| branches, loops | collectives |{cycles}"
    )
    print("|---|" + "---:|" * (6 + bool(cycles)))
    for name, program in programs().items():
        if options.names and name not in options.names:
            continue
        if program.axes is not None and len(all_devices) < 4:
            continue
        x = contents(*optimised(program, all_devices))
        cells = [
            name,
            f"{x.seconds:.1f}",
            f"{x.kernels}",
            f"{x.gathers}, {x.scatters}",
            f"{x.sorts}, {x.top_k}",
            f"{x.branches}, {x.loops}",
            f"{x.collectives}",
        ]
        if cycles:
            cells.append(f"{x.entry_cycles / 1e3:,.0f} + {x.inner_cycles / 1e3:,.0f}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
