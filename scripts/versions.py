"""Runs the tests on the oldest and the newest JAX, each in an environment of its own.

    python scripts/versions.py [--python python3.12] [pytest arguments]

The newest version is the one that the package index has for that Python.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def oldest() -> str:
    """Returns the lower bound of the package's requirement, as an exact version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bound = next(d for d in project["dependencies"] if d.startswith("jax>="))
    return bound.replace(">=", "==") + ".0"


def run(jax: str, python: str, arguments: list[str]) -> bool:
    """Runs the tests with one version of JAX; returns whether they pass."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{ROOT}[test]", jax], check=True)
        show = "import jax; print('JAX', jax.__version__, flush=True)"
        subprocess.run([f"{folder}/bin/python", "-c", show], check=True)
        done = subprocess.run([f"{folder}/bin/pytest", *arguments], cwd=ROOT)
        return done.returncode == 0


def main() -> None:
    """Runs the tests on both versions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to use")
    options, arguments = parser.parse_known_args()
    passed = [run(jax, options.python, arguments) for jax in (oldest(), "jax")]
    sys.exit(0 if all(passed) else "the tests failed")


if __name__ == "__main__":
    main()
