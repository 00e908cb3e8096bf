"""Equal items tie, however few queries share a product; in programs as users compile them."""

from pathlib import Path

import processes
import pytest


@pytest.mark.long
def test_equal_items_tie(tmp_path):
    """In each driver and source, also where a query is alone.

    The kernels that add up equal vectors differently are those of an optimising compiler,
    which these tests otherwise do without.
    """
    worker = Path(__file__).with_name("equal_rows_worker.py")
    unset = dict.fromkeys(("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR"))
    (output,) = processes.together([[worker]], tmp_path, **unset)
    assert not output, f"equal items do not tie:\n{output}"
