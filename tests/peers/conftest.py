"""Data and tolerances that the comparisons with other libraries share.

Fixtures rather than a module of helpers, so that nothing depends on the import path.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

# The modules whose recorded numbers are compared by default; all other peers run with the
# long tests.
BY_DEFAULT = (
    "test_recommenders",
    "test_scipy",
    "test_tf_ranking",
    "test_torchmetrics",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of other peers as long, before pytest selects tests by their marks."""
    for item in items:
        if item.path.parent.name == "peers" and item.path.stem not in BY_DEFAULT:
            item.add_marker("long")


class Lists(NamedTuple):
    """A batch of lists without tied scores; arrays are `[lists, items]`."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray


@pytest.fixture
def lists() -> Lists:
    """Returns graded lists with every edge case that peers define, in the first rows."""
    rng = np.random.default_rng(20)
    shape = (14, 9)
    labels = rng.choice(np.float32([0, 0, 0, 0.5, 1, 2, 3]), shape)
    mask = rng.random(shape) < 0.7
    labels[0] = 0  # nothing relevant
    labels[1] = 2  # everything relevant
    labels[2] = np.where(labels[2] >= 1, 0.5, labels[2])  # a gain, but none relevant
    labels[3, -1], mask[3, -1] = 3, False  # the best item is masked
    mask[4] = False  # an empty list
    mask[5] = np.arange(shape[1]) == 4  # a single item
    labels[6], mask[6] = [0.5, 0, 1, 3, 2, 0, 0, 0, 1], True  # two relevant among ties
    scores = rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
    # Eighths are exact in every float dtype, and some scores are negative.
    return Lists(labels, (scores / 8 - 0.5).astype(np.float32), mask)


# The libraries whose values are kept in files. `record.py` writes these.
LIBRARIES = {
    "catboost": ("catboost",),
    "cwl_eval": ("cwl-eval",),
    "fairranktune": ("FairRankTune",),
    "ir_measures_provider": ("pyndeval",),
    "keras_rs": ("keras", "keras-rs"),
    "napkinxc": ("napkinxc",),
    "ntcireval": ("pyNTCIREVAL",),
    "ppi": ("ppi-python",),
    "pyndeval": ("pyndeval",),
    "rax": ("rax",),
    "rdkit": ("rdkit",),
    "rliable": ("rliable",),
    "scipy": ("statsmodels",),
    "statsmodels": ("statsmodels",),
    "torchmetrics": ("torch", "torchmetrics"),
}


class Record:
    """Values of other libraries, in a file beside the tests of a module.

    A value is found by its name and by a digest of the arrays that it was computed from,
    so that data which have changed since are noticed.
    """

    def __init__(self, module: Path, writes: bool):
        """Reads the file, or begins a new one."""
        self.name = module.stem.removeprefix("test_")
        self.path, self.writes = module.with_name(f"{self.name}.json"), writes
        self.values = {} if writes else json.loads(self.path.read_text())["values"]

    def __call__(self, name: str, function: Callable[..., Any], *arrays: Any) -> Any:
        """Returns what `function(*arrays)` returned, which only `record.py` calls.

        The function imports its library itself, and runs without the strict settings of
        JAX that these tests have.
        """
        rounded = [np.round(np.float64(x), 6) + 0.0 for x in arrays]
        content = repr([(x.shape, x.tolist()) for x in rounded]).encode()
        key = f"{name} {hashlib.sha256(content).hexdigest()[:8]}"
        if self.writes:
            with contextlib.ExitStack() as settings:
                settings.enter_context(jax.numpy_dtype_promotion("standard"))
                settings.enter_context(jax.numpy_rank_promotion("allow"))
                settings.enter_context(jax.debug_nans(False))
                settings.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                self.values[key] = as_json(function(*arrays))
        assert key in self.values, f"run record.py {self.name}: {key} is not recorded"
        return as_arrays(self.values[key])

    def write(self) -> None:
        """Writes the values and the versions of the libraries, a value on each line."""
        names = LIBRARIES[self.name]
        libraries = {name: importlib.metadata.version(name) for name in names}
        values = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.values.items()]
        self.path.write_text(
            f'{{"libraries": {json.dumps(libraries)}, "values": {{\n'
            + ",\n".join(values)
            + "\n}}\n"
        )


def as_json(value: Any) -> Any:
    """Returns numbers in lists and dicts with all their digits: 9 for float32, else 15."""
    if isinstance(value, dict):
        return {name: as_json(x) for name, x in value.items()}
    array = np.asarray(value)
    digits = 9 if array.dtype == np.float32 else 15
    rounded = [float(f"{x:.{digits}g}") for x in array.ravel()]
    return np.reshape(rounded, array.shape).tolist()


def as_arrays(value: Any) -> Any:
    """Returns arrays, in dicts."""
    if isinstance(value, dict):
        return {name: as_arrays(x) for name, x in value.items()}
    return np.array(value)


@pytest.fixture(scope="module")
def recorded(request) -> Iterator[Record]:
    """The values of other libraries for the tests of a module."""
    record = Record(request.path, writes="RECORD" in os.environ)
    yield record
    if record.writes:
        record.write()


@pytest.fixture
def agree() -> Callable[[Any, Any], None]:
    """Asserts that our value is the peer's, to the rounding of float32."""

    def agree(ours: Any, theirs: Any) -> None:
        np.testing.assert_allclose(
            np.asarray(ours), np.asarray(theirs), rtol=2e-6, atol=1e-6, strict=False
        )
        assert np.shape(ours) == np.shape(theirs)

    return agree
