"""Optional libraries, imported when a function first needs them."""

import importlib
from types import ModuleType

# The command that installs an extra in a clone; for a release, it is
# `"jax-rank-metrics[{}]"`.
INSTALL = 'pip install ".[{}]"'


def import_optional(library: str, purpose: str, extra: str) -> ModuleType:
    """Imports a library; if it is missing, the error names the extra that installs it.

    Args:
        library: The dotted name of a module, such as `matplotlib.pyplot`.
        purpose: The function or option that needs the library; the message begins with it.
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
    """A stand-in for a module, which is imported when its first attribute is read."""

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        """Keeps the arguments of `import_optional`."""
        self._arguments = library, purpose, extra

    def __getattr__(self, name: str) -> object:
        """Returns an attribute of the library; special names, such as `__path__`, raise."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_optional(*self._arguments), name)
