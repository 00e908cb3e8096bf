"""Bad calls by subject, which `tests/test_errors.py` makes: a table in each module.

A row is the type of an error, its message, in which `.*` stands for any text, and the call
that raises it. It compiles no more than what converts an argument, but for rows in `LATE`.
Where the message says what to do, the row ends with a call that does so, and must not raise;
if it returns a comparison, that must hold.
"""

import importlib
import pkgutil

TABLES = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
]
