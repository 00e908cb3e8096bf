"""Breaks the package in many ways, and checks that the tests notice each of them.

    python scripts/mutants.py [--share 0.1] [NAME ...]

Each mutant is a copy of the package with one change. The test named with it runs on the
copy and must fail. A mutant that survives shows a gap in the tests. With a share, mutants
are drawn by the hash of the commit. Whichever are tried, the text that each of all mutants
changes must be in the package, and its test among the tests.
"""

import argparse
import importlib
import math
import multiprocessing
import os
import pkgutil
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutating
import pytest
from mutating.mutant import Mutant

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import quick_compilation  # noqa: E402  (after the path)

MUTANTS = tuple(
    mutant
    for module in pkgutil.iter_modules(mutating.__path__)
    if module.name != "mutant"
    for mutant in importlib.import_module(f"mutating.{module.name}").MUTANTS
)

# A process for each mutant, forked from one that has imported the slow libraries once.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["hypothesis", "jax", "pytest"])

RAN = 100  # is added to pytest's exit codes, as Python exits with 1 if it fails itself


def run_pytest(folder: Path, test: str, output: Path) -> None:
    """Exits with `RAN` and pytest's code for a test of the package in the folder."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # for the processes that tests start
    # Pytest warns that it cannot rewrite the asserts of plugins that were imported before.
    ignored = "ignore::pytest.PytestAssertRewriteWarning"
    # Slow tests may be named, too.
    arguments = ["-x", "--no-header", "-m", "", "-W", ignored, test]
    if "::" not in test:
        arguments.append("--doctest-modules")
    sys.exit(RAN + pytest.main(arguments))


def survives(mutant: Mutant, folder: Path) -> bool:
    """True if the test passes on a copy of the package with this change."""
    shutil.copytree(ROOT / "jax_rank_metrics", folder / "jax_rank_metrics")
    shutil.copytree(ROOT / "tests", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "jax_rank_metrics" / mutant.file
    path.write_text(path.read_text().replace(mutant.old, mutant.new))
    output = folder / "output"
    process = PROCESSES.Process(target=run_pytest, args=(folder, mutant.test, output))
    process.start()
    process.join()
    if process.exitcode not in (RAN, RAN + 1):  # 1 is the code of a test that failed
        sys.exit(f"{mutant.name}: pytest did not run\n{output.read_text()}")
    return process.exitcode == RAN


def tried(mutant: Mutant) -> str:
    """Returns the fate of a mutant."""
    with tempfile.TemporaryDirectory() as folder:
        return "SURVIVED" if survives(mutant, Path(folder)) else "killed"


def check_texts() -> None:
    """Exits unless the text that each mutant changes is exactly once in its file."""
    for mutant in MUTANTS:
        text = (ROOT / "jax_rank_metrics" / mutant.file).read_text()
        if text.count(mutant.old) != 1:
            message = f"{mutant.old!r} is not exactly once in {mutant.file}"
            sys.exit(f"{mutant.name}: {message}")


def check_tests() -> None:
    """Exits unless pytest finds each test that mutants name (modules have doctests)."""
    tests = sorted({mutant.test for mutant in MUTANTS if "::" in mutant.test})
    options = ["--collect-only", "--quiet", "-m", ""]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        sys.exit(found.stdout + found.stderr)


def drawn(share: float) -> list[Mutant]:
    """Returns a share of the mutants, which are other ones after each commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    count = math.ceil(share * len(MUTANTS))
    return random.Random(commit).sample(MUTANTS, count)


def main() -> None:
    """Tests mutants, two at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the mutants to draw"
    )
    options = parser.parse_args()
    if unknown := {*options.names} - {mutant.name for mutant in MUTANTS}:
        parser.error(f"no mutant is called {', '.join(unknown)}")
    check_texts()
    check_tests()
    chosen = [mutant for mutant in MUTANTS if mutant.name in options.names]
    chosen = chosen or drawn(options.share)
    os.environ.setdefault("XLA_FLAGS", " ".join(quick_compilation.known_flags()))
    survivors = []
    with ThreadPoolExecutor(2) as pool:
        for mutant, fate in zip(chosen, pool.map(tried, chosen), strict=True):
            print(f"{fate:9} {mutant.name}", flush=True)
            survivors += [mutant.name] * (fate == "SURVIVED")
    print(f"{len(chosen)} of {len(MUTANTS)} mutants were tried")
    sys.exit(f"survived: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
