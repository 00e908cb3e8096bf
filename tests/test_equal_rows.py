"""Equal items tie, however few queries share a product; in programs as users compile them."""

from pathlib import Path

import processes
import pytest


@pytest.mark.long
def test_equal_items_tie(tmp_path):
    """Equal items tie in each driver and source, also for a single query.

    Only kernels of an optimising compiler add up equal vectors differently; the other tests
    do without that compiler.
    """
    worker = Path(__file__).with_name("equal_rows_worker.py")
    unset = dict.fromkeys(("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR"))
    (output,) = processes.together([[worker]], tmp_path, **unset)
    assert not output, f"equal items do not tie:\n{output}"
