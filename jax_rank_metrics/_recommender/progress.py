"""The order in which batches are started and waited for, and reports of progress."""

import collections
import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from jax_rank_metrics._optional import import_optional

T = TypeVar("T")
Progress = Callable[[int, int], object]


def started_ahead(results: Iterator[T], ahead: int) -> Iterator[T]:
    """Yields the same results, each only when `ahead` more have been started."""
    started: collections.deque[T] = collections.deque()
    for result in results:
        started.append(result)
        if len(started) > ahead:
            yield started.popleft()
    yield from started


@contextlib.contextmanager
def reporting(progress: bool | Progress) -> Iterator[Progress]:
    """Yields a function that is called with the number of users done, and of all."""
    if progress is True:
        bars = import_optional("rich.progress", "progress=True", "demo")
        with bars.Progress(*bars.Progress.get_default_columns()) as bar:
            task = bar.add_task("users")
            yield lambda done, total: bar.update(task, completed=done, total=total)
    elif callable(progress):
        yield progress
    elif progress is False:
        yield lambda done, total: None
    else:
        raise TypeError(
            f"progress is {progress!r}; pass True, or a function of how many users are "
            "done and how many there are"
        )
