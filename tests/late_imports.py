"""Libraries that few tests need, imported when the first of them uses one.

Each worker imports every module of tests, and would import all of their libraries, too.
"""

import importlib


class LateImport:
    """Stands for a module, which is imported when one of its public names is read."""

    def __init__(self, name):
        """Takes the dotted name of the module."""
        self.name = name

    def __getattr__(self, attribute):
        """Returns what the module calls by this name."""
        if attribute.startswith(
            "_"
        ):  # pytest reads these of all that a test module holds
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self.name), attribute)
