"""Says if the tests of other frameworks passed on the files that they read now.

    python scripts/framework_digest.py [--check | --record]

Their environment takes minutes to install, so CI runs them only if this digest differs from
the last one that passed, in `tests/frameworks/passed.txt`. Without an option the digest is
printed; `--check` exits with 0 if it is the recorded one, and with 1 if the tests have to
run; `--record` writes it, after they have passed.

The digest covers the adapters, their tests, the examples and tables of the pages that the
tests run, the libraries that pyproject.toml names for their environment, and the code of
the modules that these import, directly or not, without comments and docstrings. A name such
as `jrm.rank` stands for the module that defines it. A metric that is only named in a text,
such as "ndcg@5", stands for nothing: the default tests hold the values of metrics.
"""

import argparse
import ast
import functools
import hashlib
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = "tests/frameworks/passed.txt"
PACKAGE = "jax_rank_metrics"
WHOLE = (f"{PACKAGE}/adapters/*.py", "tests/frameworks/*.py")
PAGES = ("docs/frameworks.md", "docs/nnx-on-a-mesh.md", "docs/coming-from/*.md")
# The blocks and the rows of tables on a page.
RUN_BY_TESTS = r"(?ms)^```python\n.*?^```|^\|[^\n]*"
EXTRAS = ("bench", "frameworks", "notebooks", "peers", "test")


def digest(root: Path) -> str:
    """Returns the SHA-256 of everything that the tests of frameworks read."""
    parts = {"libraries": libraries(root)}
    whole = [path for pattern in WHOLE for path in root.glob(pattern)]
    for path in whole:
        parts[path.relative_to(root).as_posix()] = path.read_text()
    for path in (path for pattern in PAGES for path in root.glob(pattern)):
        parts[path.relative_to(root).as_posix()] = re.findall(
            RUN_BY_TESTS, path.read_text()
        )
    for path in imported_by(whole, root):
        name = path.relative_to(root).as_posix()
        parts.setdefault(name, code_of(path))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def libraries(root: Path) -> list[str]:
    """Returns the requirements of the package and of the extras, in one list."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    names, requirements = list(EXTRAS), {*project["dependencies"]}
    for name in names:  # which grows
        for requirement in project["optional-dependencies"].get(name, ()):
            inner = re.fullmatch(r"jax-rank-metrics\[(.*)\]", requirement)
            if inner:
                names += {*inner[1].split(",")} - {*names}
            else:
                requirements.add(requirement)
    return sorted(requirements)


def imported_by(paths: list[Path], root: Path) -> set[Path]:
    """Returns the modules of this repository that modules import, directly or not."""
    reached, waiting = set(), list(paths)
    while waiting:
        new = {*modules_of(waiting.pop(), root)} - reached
        reached |= new
        waiting += new
    return reached - {*paths}


def modules_of(path: Path, root: Path) -> Iterator[Path]:
    """Yields the modules of this repository that a module imports, also in functions."""
    tree = ast.parse(path.read_bytes())
    # The name that `import jax_rank_metrics as jrm` binds; its attributes are public names.
    aliases, nodes = set(), list(running(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from files_of(name.name, root)
                if name.name == PACKAGE:
                    aliases.add(name.asname or name.name)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                if node.module == PACKAGE:
                    yield from files_of(public_module(name.name, root), root)
                else:
                    yield from files_of(f"{node.module}.{name.name}", root)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in aliases:
                yield from files_of(public_module(node.attr, root), root)


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a tree that are not for type checkers alone."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield from running(child)


def public_module(name: str, root: Path) -> str:
    """Returns the module that a name of the package stands for."""
    return public_modules(root).get(name, f"{PACKAGE}.{name}")


@functools.cache
def public_modules(root: Path) -> dict[str, str]:
    """Returns the module of every public name, from the imports of `_public`."""
    tree = ast.parse((root / PACKAGE / "_public.py").read_bytes())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {x.name: f"{node.module}.{x.name}" for node in imports for x in node.names}


def files_of(dotted: str, root: Path) -> Iterator[Path]:
    """Yields the files that importing a dotted name runs: its packages and its module.

    The last part may be a name in a module. Modules beside the tests have no package.
    """
    names = dotted.split(".")
    for base in (root, root / "tests"):
        for end in range(1, len(names) + 1):
            place = base.joinpath(*names[:end])
            yield from filter(
                Path.is_file, (place / "__init__.py", place.with_suffix(".py"))
            )


def code_of(path: Path) -> str:
    """Returns the lines of a module without comments, docstrings and empty lines."""
    lines = path.read_text().splitlines()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            if ast.get_docstring(node) is not None:
                text = node.body[0]
                lines[text.lineno - 1 : text.end_lineno] = [""] * (
                    text.end_lineno - text.lineno + 1
                )
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    return "\n".join(filter(None, map(str.rstrip, lines)))


def main() -> None:
    """Prints, compares or records the digest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--check", action="store_true", help="fail unless it has passed"
    )
    choice.add_argument("--record", action="store_true", help="write it as passed")
    options, current, record = parser.parse_args(), digest(ROOT), ROOT / RECORD
    if options.record:
        record.write_text(current + "\n")
    elif not options.check:
        print(current)
    elif not record.exists() or record.read_text().strip() != current:
        sys.exit("the tests of other frameworks have to run")


if __name__ == "__main__":
    main()
