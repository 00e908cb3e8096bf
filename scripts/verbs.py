"""Writes the page of all functions, and llms.txt, from docstrings and pages.

python scripts/verbs.py            writes docs/verbs.md and docs/llms.txt
python scripts/verbs.py --check    fails if one of these differs from the code or the pages
"""

import ast
import inspect
import json
import operator
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

import jax_rank_metrics as jrm

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
VERBS, LLMS = DOCS / "verbs.md", DOCS / "llms.txt"

HEAD_OF_VERBS = """# All functions

Every public function and class of `jax_rank_metrics`, with the first line of its docstring.
`help(jrm.rank)` shows the rest, as do the pages of the API, to which the headings lead. All
metrics are called alike, as in `jrm.ndcg(labels, scores, k=10)`, or by their names in
`jrm.evaluate`, which [All metrics](metrics.md) lists."""

HEAD_OF_LLMS = """# jax_rank_metrics

> Ranking metrics for JAX: nDCG, MAP, MRR, recall@k and many more, exact under ties where a
> formula is known, with intervals and tests, as pure functions that jit, vmap and shard.

- `import jax_rank_metrics as jrm`; there is no release yet, so `pip install .` in a clone.
- `jrm.evaluate(("ndcg@10", "map", "mrr"), labels, scores, mask)` returns a state for each
  name, and `jrm.compute(states)` the means. Arrays are `[*lists, items]`; `mask`, of bools,
  says what exists. Packed lists have `segment_ids=`, which are ids and not group sizes.
- `jrm.measure(names, jrm.rank(labels, scores))` has the value of every list, which
  `jrm.compare`, `jrm.table` and `jrm.plots` read.
- Judgements and runs as files, dicts, frames or ranked lists of ids:
  `jrm.join(qrels, run).evaluate(names)`. Recommenders: `jrm.evaluate_users`. Embeddings:
  `jrm.evaluate_embeddings`. Knowledge graphs: `jrm.evaluate_links`. One table of scored
  items, a frame or files of any size, with list, label and score: `jrm.evaluate_scored`.
- By default equal scores count as the mean over all orders of the tied items, nDCG has
  exponential gains and the ideal of all judged items, and a list without a value counts 0.
- `jrm.check(labels, scores)` finds arguments that were probably not meant."""

# An entry of a table of contents: a page, perhaps with another title.
ENTRY = re.compile(r"(?m)^(?:[^`:<\n]* <)?/?([\w/-]+)>?$")
WITHOUT_SUMMARY = "Coming from elsewhere"  # whose titles say it all


class Page(NamedTuple):
    """A page of the site."""

    caption: str  # of its table of contents
    path: str  # without its extension, from docs/

    @property
    def source(self) -> Path:
        """The file that it is made of; pages in copies/ lie elsewhere."""
        folders = (ROOT, ROOT / "notebooks") if "copies/" in self.path else (DOCS,)
        name = self.path.removeprefix("copies/")
        files = (
            folder / f"{name}{suffix}"
            for folder in folders
            for suffix in (".md", ".rst", ".ipynb")
        )
        return next(file for file in files if file.exists())

    @property
    def text(self) -> str:
        """Its text, or the first cell of a notebook."""
        text = self.source.read_text()
        if self.source.suffix == ".ipynb":
            return "".join(json.loads(text)["cells"][0]["source"])
        return text

    @property
    def title(self) -> str:
        """Its heading."""
        return self.text.partition("\n")[0].removeprefix("# ")

    def summary(self) -> str:
        """The first sentence below its heading."""
        prose = re.sub(r"(?ms)^(`{3}|:{3,}).*?^\1\n?", "", self.text).split("\n\n")[1:]
        first = next(x for x in prose if re.match(r"[\w`*\[]", x))
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
        return re.match(r".*?\.(?=\s|$)|.*", plain)[0].removesuffix(":")


def pages() -> Iterator[Page]:
    """Yields the pages in the order of the tables of contents.

    A page of the API comes before the pages of the folder of its name.
    """
    index = (DOCS / "index.md").read_text()
    for toctree in re.findall(r"(?ms)^```\{toctree\}\n(.*?)^```", index):
        caption = re.search(r":caption: (.*)", toctree)[1]
        for path in ENTRY.findall(toctree):
            yield Page(caption, path)
            for part in sorted((DOCS / path).glob("*.rst")):
                yield Page(caption, f"{path}/{part.stem}")


def verbs(page: Page) -> dict[str, str]:
    """The names that a page of the API documents, with the first lines of docstrings."""
    lines, module = {}, ""
    for kind, name in re.findall(
        r"(?m)^\.\. (auto\w+|currentmodule):: ([\w.]+)", page.text
    ):
        if kind == "currentmodule":
            module = f"{name}.".removeprefix("jax_rank_metrics.")
        elif kind != "automodule":
            thing = operator.attrgetter(module + name)(jrm)
            lines[module + name] = inspect.getdoc(thing).partition("\n")[0]
        elif (path := ROOT / f"{name.replace('.', '/')}.py").exists():
            # Adapters are read, since importing them needs their frameworks.
            doc = ast.get_docstring(ast.parse(path.read_text()))
            lines[name.partition(".")[2]] = doc.partition("\n")[0]
    return lines


def page_of_verbs() -> str:
    """The page that lists all functions."""
    parts = [HEAD_OF_VERBS]
    for page in pages():
        if page.path.startswith("api/") and (lines := verbs(page)):
            source = page.source.relative_to(DOCS)
            rows = [(f"`{name}`", line) for name, line in lines.items()]
            table = tabulate(rows, ("name", "what it does"), tablefmt="github")
            parts += [f"## [{page.title}]({source})", table]
    return "\n\n".join(parts) + "\n"


def llms() -> str:
    """The pages by title, for a program that answers questions about the package."""
    lines, caption = [HEAD_OF_LLMS], None
    for name in re.findall(r"jrm\.(\w+)", HEAD_OF_LLMS):
        assert hasattr(jrm, name), name
    for page in pages():
        if page.caption != caption:
            caption = page.caption
            lines.append(f"\n## {caption}\n")
        line = f"- [{page.title}]({page.path}.html)"
        if page.path.startswith("api/"):
            names = ", ".join(f"`{name}`" for name in verbs(page))
            line += f": {names}" if names else ""
        elif caption != WITHOUT_SUMMARY:
            line += f": {page.summary()}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes or checks."""
    for path, text in ((VERBS, page_of_verbs), (LLMS, llms)):
        if "--check" not in sys.argv[1:]:
            path.write_text(text())
        elif path.read_text() != text():
            sys.exit(f"{path.name} is not as the pages; run python scripts/verbs.py")


if __name__ == "__main__":
    main()
