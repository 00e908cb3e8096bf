"""Builds what is published into a folder, and looks into it.

    python scripts/package.py dist

Needs build and twine. The wheel is built from the source distribution, as others build it.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "jax_rank_metrics"


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
    assert not tops & {".ci", ".github", "benchmarks", "scripts"}, sorted(tops)


def main() -> None:
    """Builds both, and checks them."""
    folder = Path(sys.argv[1])
    python = [sys.executable, "-m"]
    subprocess.run([*python, "build", "--outdir", folder, ROOT], check=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    subprocess.run([*python, "twine", "check", "--strict", wheel, sdist], check=True)
    check(wheel, sdist)


if __name__ == "__main__":
    main()
