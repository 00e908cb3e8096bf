"""Runs the tests on the oldest and the newest JAX, each in an environment of its own.

    python scripts/versions.py [--newest] [--python python3.12] [pytest arguments]

The newest version is the one that the package index has for that Python. With `--newest`,
only that version is tested, on the newest Python of this machine that the package names in
its classifiers, from 3.12 on, since JAX left 3.11 behind. If there is no such Python, it
says so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# The first Python for which there are new versions of JAX.
FIRST = (3, 12)
# Variables that choose a version of JAX, or hold flags that only some versions know.
SETTINGS = ("PIP_CONSTRAINT", "XLA_FLAGS")

# Prints the version of a Python that can make environments, and fails on builds without the
# GIL and on versions before their release, for which libraries may not be built.
PROBE = """
import ensurepip, sys, sysconfig, venv
assert sys.version_info.releaselevel == "final"
assert not sysconfig.get_config_var("Py_GIL_DISABLED")
print(*sys.version_info[:3])
"""


def oldest() -> str:
    """Returns the lower bound of the package's requirement, as an exact version."""
    bound = next(d for d in PROJECT["dependencies"] if d.startswith("jax>="))
    return bound.replace(">=", "==") + ".0"


def interpreters() -> Iterator[Path]:
    """Yields what may be an interpreter of Python 3: those on PATH, and pyenv's."""
    for folder in map(Path, os.get_exec_path()):
        yield from (folder / f"python3{end}" for end in ("", *minor_versions()))
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from folder.glob("versions/*/bin/python")


def minor_versions() -> list[str]:
    """Returns the ends of the versions of Python that the package names, such as ".12"."""
    names = (line.rpartition(" :: 3.") for line in PROJECT["classifiers"])
    return [f".{minor}" for _, found, minor in names if found]


def version_of(python: Path) -> tuple[int, ...] | None:
    """Returns the version of an interpreter that works, and None for any other."""
    if not python.is_file():
        return None
    try:
        # Shims of pyenv work only for the versions that it is set to.
        probe = [str(python), "-c", PROBE]
        done = subprocess.run(probe, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def newest_python() -> Path | None:
    """Returns the newest suitable interpreter of this machine, if there is one."""
    pythons = {python.resolve(): python for python in interpreters()}
    versions = {python: version_of(python) for python in pythons.values()}
    suitable = {
        python: version
        for python, version in versions.items()
        if version and version >= FIRST and f".{version[1]}" in minor_versions()
    }
    return max(suitable, key=suitable.get, default=None)


def run(jax: str, python: str, arguments: list[str]) -> bool:
    """Runs the tests with one version of JAX; returns whether they pass."""
    environment = {k: v for k, v in os.environ.items() if k not in SETTINGS}
    with tempfile.TemporaryDirectory() as folder:

        def call(program: str, *arguments: str) -> int:
            command = [program, *arguments]
            return subprocess.run(command, cwd=ROOT, env=environment).returncode

        pip = ("install", "--quiet", "--disable-pip-version-check")
        show = "import jax, sys; print('JAX', jax.__version__, sys.version, flush=True)"
        return not (
            call(python, "-m", "venv", folder)
            or call(f"{folder}/bin/pip", *pip, f"{ROOT}[test]", jax)
            or call(f"{folder}/bin/python", "-c", show)
            or call(f"{folder}/bin/pytest", *arguments)
        )


def main() -> None:
    """Runs the tests on both versions, or on the newest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to use")
    parser.add_argument("--newest", action="store_true", help="only the newest JAX")
    options, arguments = parser.parse_known_args()
    python, versions = options.python, [oldest(), "jax"]
    if options.newest:
        python, versions = newest_python(), ["jax"]
        if python is None:
            print(
                "The newest JAX was not tested: no Python from 3.12 on was found here."
            )
            return
    passed = [run(jax, str(python), arguments) for jax in versions]
    sys.exit(0 if all(passed) else "the tests failed")


if __name__ == "__main__":
    main()
