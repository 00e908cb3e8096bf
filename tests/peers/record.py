"""Writes what other libraries say on the data of the tests of this folder.

    pip install rax && python tests/peers/record.py rax [module …]

A test asks the fixture `recorded` for a value of another library. It stands in a file beside
the test, such as `rax.json`, with the version of the library, so that only this script needs
the library: it runs the tests of a module with the function that computes the value.
`LIBRARIES` in conftest.py names what to install for each module.
"""

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    os.environ["RECORD"] = "1"
    tests = [str(Path(__file__).with_name(f"test_{name}.py")) for name in sys.argv[1:]]
    sys.exit(pytest.main([*tests, "-m", "long or not long"]))
