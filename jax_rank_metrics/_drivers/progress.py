"""Reports of progress, for bars and for functions of a caller."""

import contextlib
from collections.abc import Callable, Iterator

from jax_rank_metrics._optional import import_optional

# Takes the number of queries done and the number of all queries.
Progress = Callable[[int, int], object]


@contextlib.contextmanager
def reporting(progress: bool | Progress, unit: str) -> Iterator[Progress]:
    """Gives a `with` block the function to which it reports progress.

    That function takes the number of queries done and the number of all queries.

    Args:
        progress: True for one that moves a bar of rich, which is drawn until the block
            ends. False for one that does nothing. A function is given as it is.
        unit: What queries are called, such as "users".

    Raises:
        TypeError: if `progress` is anything else.
        ModuleNotFoundError: if it is True and rich is not installed.
    """
    if progress is True:
        bars = import_optional("rich.progress", "progress=True", "demo")
        with bars.Progress(*bars.Progress.get_default_columns()) as bar:
            task = bar.add_task(unit)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    elif callable(progress):
        yield progress
    elif progress is False:
        yield lambda done, total: None
    else:
        raise TypeError(
            f"progress is {progress!r}; pass True, False, or a function of the number of "
            f"{unit} done and the number of all {unit}"
        )
