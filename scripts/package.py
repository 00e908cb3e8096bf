"""Builds the distributions into a folder, looks into them, and tries them.

    python scripts/package.py dist [--commands]

Needs build and twine. The wheel is built from the source distribution, as others build it,
and runs in an empty environment. With `--commands`, the README's commands run in the
unpacked sources: the main one as it is pasted; of the tests, all are collected, and a few
run, in the environment of this script, which then needs the extra `test`.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = "jax_rank_metrics"
# The first lines of a user who has installed the wheel without extras.
FIRST_LINES = """
import importlib.resources
import importlib.util
import jax_rank_metrics as jrm
value = float(jrm.ndcg([[0, 1]], [[0.9, 0.8]]).compute())
assert abs(value - 0.6309298) < 1e-6, value
assert (importlib.resources.files(jrm) / "conformance" / "v1" / "lists.json").is_file()
assert importlib.util.find_spec("polars") is None
"""
# The environment of users: XLA optimises, and no path leads to this checkout.
ENVIRONMENT = {
    name: x for name, x in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")
}
TRIED = ("tests/test_names.py", "tests/test_public.py", "-k", "not test_types")


def check(wheel: Path, sdist: Path) -> None:
    """The wheel holds the package and vectors, nothing else; the sources their tests."""
    held = {
        name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name
    }
    files = (path for path in (ROOT / PACKAGE).rglob("*") if path.is_file())
    own = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    vectors = (ROOT / "conformance" / "v1").iterdir()
    own |= {f"{PACKAGE}/{path.relative_to(ROOT)}" for path in vectors}
    assert held == own, f"the wheel differs from the package in {sorted(held ^ own)}"
    assert f"{PACKAGE}/py.typed" in held
    version = wheel.name.split("-")[1]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(), version
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {
        PACKAGE,
        "conformance",
        "tests",
        "docs",
        "LICENSE",
        "CITATION.cff",
    } <= tops, sorted(tops)
    assert {"README.md", "CHANGELOG.md", "SECURITY.md"} <= tops, sorted(tops)
    assert not tops & {".ci", ".github", "benchmarks", "scripts"}, sorted(tops)


def check_installed(wheel: Path) -> None:
    """The wheel works with its requirements, and its command names the missing extra."""
    with tempfile.TemporaryDirectory() as folder:

        def run(*words: str | Path, **options: Any) -> str:
            done = subprocess.run(
                words, cwd=folder, env=ENVIRONMENT, text=True, **options
            )
            return done.stderr

        run(sys.executable, "-m", "venv", folder, check=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        install = ("-m", "pip", "install", "--quiet", "--no-compile")
        run(programs / "python", *install, wheel.resolve(), check=True)
        run(programs / "python", "-c", FIRST_LINES, check=True)
        error = run(programs / "jax-rank-metrics", "--version", capture_output=True)
        assert ".[trec]" in error, error


def check_commands(sdist: Path) -> None:
    """The commands of the README do in the unpacked sources what they do in a clone."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(sdist, folder)
        (sources,) = Path(folder).iterdir()
        readme = (sources / "README.md").read_text()
        main_command = re.search(r"<!-- main command -->\n```bash\n(.*)\n```", readme)
        assert main_command is not None
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        for command in (
            ["bash", "-c", main_command[1]],
            [*pytest, "--collect-only", "-qqq"],
            [*pytest, *TRIED],
        ):
            subprocess.run(command, check=True, cwd=sources, env=ENVIRONMENT)


def main() -> None:
    """Builds both, and checks them."""
    folder = Path(sys.argv[1])
    python = [sys.executable, "-m"]
    subprocess.run([*python, "build", "--outdir", folder, ROOT], check=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    subprocess.run([*python, "twine", "check", "--strict", wheel, sdist], check=True)
    check(wheel, sdist)
    check_installed(wheel)
    if "--commands" in sys.argv[2:]:
        check_commands(sdist)


if __name__ == "__main__":
    main()
