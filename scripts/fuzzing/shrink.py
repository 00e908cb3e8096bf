"""Makes a case that fails small: fewer metrics, options, arrays, lists, items."""

import dataclasses
import time
from collections.abc import Callable, Iterator

import numpy as np

from fuzzing.case import AXES, OPTIONAL, Case, InvalidCase
from fuzzing.loops import Mismatch


def shrunk(
    case: Case,
    mismatch: Mismatch,
    failure_of: Callable[[Case], Mismatch | None],
    seconds: float,
) -> tuple[Case, Mismatch]:
    """Returns the smallest case found that fails in the same way.

    Each step tries smaller cases, the cases that lose most first, and continues from the
    first case that still fails. New shapes compile, so time is limited.
    """
    end, was_shrunk = time.monotonic() + seconds, True
    while was_shrunk:
        was_shrunk = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                return case, mismatch
            try:
                found = failure_of(smaller)
            except InvalidCase:
                continue
            if found is not None and found.kind == mismatch.kind:
                case, mismatch, was_shrunk = smaller, found, True
                break
    return case, mismatch


def _smaller(case: Case) -> Iterator[Case]:
    """Yields cases that lack something of this one."""
    if len(case.metrics) > 1:
        for cut in case.metrics:
            yield dataclasses.replace(case, metrics=(cut,))
    yield from _with_fewer(case, "l")
    for name in case.options:
        options = {key: x for key, x in case.options.items() if key != name}
        yield dataclasses.replace(case, options=options)
    for name in OPTIONAL & case.arrays.keys():
        arrays = {key: x for key, x in case.arrays.items() if key != name}
        yield dataclasses.replace(case, arrays=arrays)
    for axis in "kid":
        yield from _with_fewer(case, axis)
    for cut in case.metrics:
        if len(cut.ks) > 1:
            for k in cut.ks:
                yield dataclasses.replace(
                    case, metrics=(dataclasses.replace(cut, ks=(k,)),)
                )


def _with_fewer(case: Case, axis: str) -> Iterator[Case]:
    """Yields cases with fewer entries along an axis: halves first, then all but one."""
    sizes = {
        x.shape[AXES[name].index(axis)]
        for name, x in case.arrays.items()
        if axis in AXES[name]
    }
    if len(sizes) != 1:
        return
    size, chunk = sizes.pop(), 0
    chunk = size // 2
    while chunk:
        for start in range(0, size, chunk):
            kept = np.r_[0:start, min(start + chunk, size) : size]
            arrays = {
                name: np.take(x, kept, AXES[name].index(axis))
                if axis in AXES[name]
                else x
                for name, x in case.arrays.items()
            }
            yield dataclasses.replace(case, arrays=arrays)
        chunk //= 2
