"""Bad calls by subject, which `tests/test_errors.py` makes: a table in each module.

A row is the type of an error, its message, with `.*` for any text, and the call that raises
it. Only rows in `LATE` compile more than the conversion of an argument. If the message says
what to do, the row ends with a call that does it, and must not raise; if this call returns
a comparison, the comparison must hold.
"""

import importlib
import pkgutil

TABLES = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
]
