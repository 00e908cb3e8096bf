"""The programs that the compilers of TPU and GPU make of the metrics, without a device.

Needs the extra `compilers` and JAX_PLATFORMS=cpu.
"""

import contextlib
import doctest
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from cases import CASES
from pages import ROOT, blocks

import jax_rank_metrics as jrm
from jax_rank_metrics.testing import COLUMNS

pytest.importorskip("libtpu", reason="libtpu is in the extra `compilers`")
if os.environ.get("JAX_PLATFORMS") != "cpu":
    # JAX would look for TPUs of this machine, and libtpu then knows no others.
    pytest.skip("needs JAX_PLATFORMS=cpu", allow_module_level=True)

sys.path.append(str(ROOT / "benchmarks"))
import compilers
from programs import Program, programs
from steps import CUTS, STEPS, Case

# One process at a time may hold libtpu.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("libtpu")]


@pytest.fixture(scope="module")
def devices():
    """Four TPU v5e, which need not be there."""
    compilers.prepare("tpu")
    return compilers.devices("tpu")


# Kernels; sorts and top-k calls; gathers and scatters; branches and loops; as libtpu 0.0.52
# counts them.
BOUNDS = {
    "ndcg@10": (12, 2, 1, 1),
    "ndcg@10 · 64×100,000": (23, 6, 4, 1),
    "five@10": (13, 2, 1, 2),
    "ndcg": (15, 2, 0, 1),
    "map": (15, 1, 0, 1),
    "mrr": (8, 0, 0, 1),
    "in-batch": (9, 0, 1, 0),
    "packed lists": (60, 2, 19, 3),
    "rank_catalog · k=10": (57, 4, 5, 3),
}


@pytest.mark.parametrize("name", programs())
def test_programs_compile(name, devices):
    """Every source compiles, and the main programs do not grow."""
    with contextlib.ExitStack() as stack:
        if "by hand" in name:  # promotes as JAX does by default
            stack.enter_context(jax.numpy_rank_promotion("allow"))
            stack.enter_context(jax.numpy_dtype_promotion("standard"))
        text, seconds = compilers.optimised(programs()[name], devices)
    if name in BOUNDS:
        x = compilers.contents(text, seconds)
        sizes = (x.kernels, x.sorts + x.top_k, x.gathers + x.scatters)
        sizes = (*sizes, x.branches + x.loops)
        assert all(np.less_equal(sizes, BOUNDS[name])), sizes
    if name.endswith("sharded"):
        # Devices that share lists exchange candidates and sums, and gather no scores.
        assert "all-reduce" in text and "all-gather" not in text


# Kernels on an H200, as jax-cuda13-plugin 0.10.2 counts them.
GPU_KERNELS = {"ndcg@10": 9, "ndcg@10 · 64×100,000": 12, "five@10": 16, "mrr": 10}


def test_kernels_of_gpu():
    """The main programs do not grow for a GPU, which a process of its own compiles for."""
    pytest.importorskip("jax_plugins.xla_cuda13", reason="is in the extra `compilers`")
    script = ROOT / "benchmarks" / "compilers.py"
    command = [sys.executable, str(script), "gpu", *GPU_KERNELS]
    table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cells = [row.split(" | ") for row in table.splitlines() if row.startswith("| ")]
    kernels = {cell[0][2:]: cell[2] for cell in cells[1:]}
    assert kernels.keys() == GPU_KERNELS.keys()
    assert all(int(kernels[name]) <= most for name, most in GPU_KERNELS.items()), (
        kernels
    )


LISTS = [((8, 200), "f")] * 2


@pytest.mark.parametrize(
    "name", sorted({case.metric.__name__ for case in CASES.values()})
)
def test_every_metric_compiles(name, devices):
    """Every metric compiles for TPU, with and without a cutoff if it has one."""
    metric = getattr(jrm, name)
    rng, needed = np.random.default_rng(0), list(metric.spec.columns)
    drawn = [np.asarray(COLUMNS[name](rng, LISTS[0][0])) for name in needed]
    has_k = any(case.has_k for case in CASES.values() if case.metric is metric)

    def values(labels, scores, *arrays):
        columns = dict(zip(needed, arrays, strict=True))
        ranking = jrm.rank(labels, scores, columns=columns)
        return metric.of(ranking, **({"k": (10, None)} if has_k else {})).values

    arrays = (*LISTS, *((x.shape, x.dtype) for x in drawn))
    compilers.optimised(Program(values, arrays), devices)


@pytest.mark.parametrize("mesh", ["Auto", "Explicit"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("step", STEPS)
def test_steps_compile_for_the_mesh_that_is_set(step, cut, mesh):
    """A step that carries its states reuses them, and lets few bytes travel."""
    result = compilers.compiled_alone(Case(step, 4, cut, mesh))
    kinds, sizes = zip(*result["exchanges"], strict=True)
    assert result["reused"]
    if mesh == "Explicit" or cut == "lists":
        assert set(kinds) == {"all-reduce"}, kinds
    scores = 4 * 1024 * 1024
    if (step, cut, mesh) == ("rank_catalog", "items", "Auto"):
        # The types do not say that items are cut, and XLA gathers them, once a pass.
        assert sum(sizes) <= 4 * 98_304 * 64, sizes
    else:
        assert sum(sizes) < scores / 4, sizes


def test_step_of_the_page(devices):
    """The step that docs/many-devices.md compiles ahead of time compiles for TPU."""
    lists = [np.zeros((104, 24), kind) for kind in (np.int32, np.float32, bool)]
    known = {"METRICS": ("ndcg@10", "mrr"), "batch": lists}
    examples = doctest.DocTestParser().get_examples
    for block in blocks(ROOT / "docs" / "many-devices.md"):
        for example in examples(block):
            if example.source.startswith(
                ("import ", "from ", "def add", "def compiled")
            ):
                exec(example.source, known)
    assert "all-reduce" in known["compiled_for"](devices).as_text()
