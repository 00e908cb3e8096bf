"""Imports of optional libraries, which happen when a function first needs them."""

import importlib
from types import ModuleType

# How an extra is installed in a clone; with a release, `"jax-rank-metrics[{}]"`.
INSTALL = 'pip install ".[{}]"'


def import_optional(library: str, purpose: str, extra: str) -> ModuleType:
    """Imports a library; if it is missing, the error names the extra that installs it.

    Args:
        library: The dotted name of the module, such as `matplotlib.pyplot`.
        purpose: The function or option that needs it, with which the message opens.
        extra: The extra of this package that installs the library.

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
            f"{purpose} needs {root}, which is not installed; " + INSTALL.format(extra),
            name=error.name,
        ) from error


class LazyLibrary:
    """A library under the name of a module, which is imported when it is first read."""

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        """Holds the arguments of `import_optional`."""
        self._arguments = library, purpose, extra

    def __getattr__(self, name: str) -> object:
        """Returns what the library has under a name, but for special names."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_optional(*self._arguments), name)
