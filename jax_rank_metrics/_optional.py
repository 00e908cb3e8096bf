"""Libraries that the package works without, imported when a function first needs them."""

import importlib
from types import ModuleType


def import_optional(library: str, purpose: str, extra: str) -> ModuleType:
    """Imports a library, or says which extra of this package installs it.

    Args:
        library: The dotted name of the module.
        purpose: The function or option that needs it, as the message names it.
        extra: The extra of this package that brings the library.

    Raises:
        ModuleNotFoundError: if the library is not installed.
    """
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        root = library.split(".")[0]
        if str(error.name).split(".")[0] != root:
            raise  # The library is installed, but lacks a dependency of its own.
        raise ModuleNotFoundError(
            f"{purpose} needs {root}, which is not installed; "
            f'pip install "jax-rank-metrics[{extra}]"',
            name=error.name,
        ) from error
