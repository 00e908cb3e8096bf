"""The order in which batches are started and waited for, and reports of progress."""

import collections
import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from jax_rank_metrics._optional import import_optional

T = TypeVar("T")
Progress = Callable[[int, int], object]


def started_ahead(results: Iterator[T], num_ahead: int) -> Iterator[T]:
    """Yields the same results, each only when the next `num_ahead` have been started."""
    started: collections.deque[T] = collections.deque()
    for result in results:
        started.append(result)
        if len(started) > num_ahead:
            yield started.popleft()
    yield from started


@contextlib.contextmanager
def reporting(progress: bool | Progress) -> Iterator[Progress]:
    """Gives a `with` block the function to which it reports progress.

    That function takes the number of users done and the number of all users.

    Args:
        progress: True for one that moves a bar of rich, which is drawn until the block
            ends. False for one that does nothing. A function is given as it is.

    Raises:
        TypeError: if `progress` is anything else.
        ModuleNotFoundError: if it is True and rich is not installed.
    """
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
            f"progress is {progress!r}; pass True, False, or a function of the number of "
            "users done and the number of all users"
        )
