"""Writes the tables of all metrics, in README.md and docs/metrics.md, from the code.

python scripts/metrics.py            writes them
python scripts/metrics.py --check    fails if they are not as the code has them
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tabulate import tabulate

from jax_rank_metrics._calls.metric import NAMES
from jax_rank_metrics._formulas import (
    agreement,
    counts,
    cumulated_gain,
    hits,
    incomplete,
    intents,
    multilabel,
    positions,
    subtopics,
    users,
)

ROOT = Path(__file__).parent.parent

FAMILIES: tuple[ModuleType, ...] = (
    cumulated_gain,
    hits,
    positions,
    users,
    agreement,
    multilabel,
    incomplete,
    counts,
    subtopics,
    intents,
)

PEERS = (
    "scikit-learn", "SciPy", "trec_eval", "gdeval", "pyndeval", "cwl_eval",
    "ir_measures", "ranx", "rax", "keras_rs", "TF-Ranking", "metrax", "torchmetrics",
    "RecBole", "RecTools", "recommenders",
)  # fmt: skip

HEAD = """# All metrics

Each is a function of `jax_rank_metrics`, and each of its names is one for `evaluate` and
`measure`; `help(jrm.ndcg)` tells the whole of it.

- *undefined*: where a list has no value of its own; it then counts 0, or what
  `undefined=` says.
- *ties*: what equal scores mean where no policy is asked for and there is no key. *closed*:
  the mean over all orders of the tied items, by a formula. *one order*: no such formula is
  known, and one pseudo-random order is taken, blind to the labels. *own*: the metric says
  itself what ties mean, under every policy.
- *columns*: what it reads beside labels, as `columns=`.
- *agrees*: libraries whose number is the same; its docstring says with which options, and
  where not. [My number differs](my-number-differs.md) goes through what makes two libraries
  disagree.

A trailing `@k` in a name cuts: `ndcg@10`, `recall@1,5`; for `interpolated_precision` it
gives levels of recall. trec_eval's own names work too where they mean nothing else here:
`map_cut_10`, `P_10`, `recall_100`, `ndcg_cut_10`, `success_1`, `recip_rank`, `set_P`,
`set_recall`, `set_F`, `iprec_at_recall_0.10`, `gm_map`."""

TIES = {"expected": "closed", "order": "one order", "own": "own"}


def metrics(family: ModuleType) -> Iterator[Any]:
    """The metrics that a module defines, in the order of its lines."""
    every = {id(metric): metric for metric in NAMES.values()}.values()
    own = [metric for metric in every if metric.__module__ == family.__name__]
    yield from sorted(own, key=lambda m: m.__wrapped__.__code__.co_firstlineno)


def names(metric: Any) -> str:
    """Its names, the longest first."""
    known = [name for name, one in NAMES.items() if one is metric]
    own = [name for name in known if name != metric.__name__]
    return ", ".join(f"`{name}`" for name in (metric.__name__, *own))


def part(metric: Any, pattern: str) -> str:
    """What a pattern finds in its docstring, on one line."""
    found = re.search(pattern, inspect.getdoc(metric) or "", re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def ties(metric: Any) -> str:
    """What equal scores mean where no policy says otherwise."""
    spec = metric.spec
    if not callable(spec.tie_reading):
        return TIES[spec.tie_reading]
    return TIES[spec.tie_reading(spec.options)] + ", but for an option"


def agrees(metric: Any) -> str:
    """Libraries that its references name."""
    references = part(metric, r"References:\n(.*)\Z")
    return ", ".join(peer for peer in PEERS if re.search(rf"\b{peer}\b", references))


def options(metric: Any) -> str:
    """Its own options, the first of several being the default."""
    shown = []
    for name, value in metric.spec.options.items():
        given = getattr(value, "__name__", None) or repr(value)
        shown.append("`k`" if name == "k" else f"`{name}={given}`")
    return ", ".join(shown)


def columns(metric: Any) -> str:
    """The columns that it reads."""
    own = [f"`{name}`" for name in metric.spec.columns]
    may = [f"`{name}` if given" for name in metric.spec.optional_columns]
    return ", ".join([*own, *may])


def short() -> str:
    """The table of the README."""
    rows = [
        (names(m), ties(m), part(m, r"Undefined \((.*?)\)"))
        for family in FAMILIES
        for m in metrics(family)
    ]
    return tabulate(rows, ("metric", "ties", "undefined"), tablefmt="github")


def whole() -> str:
    """The page about all of them."""
    text = [HEAD]
    for family in FAMILIES:
        rows = [
            (
                names(m),
                part(m, r"\A(.*?)\n\n"),
                part(m, r"Undefined \((.*?)\)"),
                options(m),
                columns(m),
                ties(m),
                agrees(m),
            )
            for m in metrics(family)
        ]
        head = ("names", "value", "undefined", "options", "columns", "ties", "agrees")
        title = (family.__doc__ or "").splitlines()[0].rstrip(".")
        text += [f"## {title}", tabulate(rows, head, tablefmt="github")]
    return "\n\n".join(text) + "\n"


def written() -> dict[Path, str]:
    """Each file, as it should be."""
    readme = ROOT / "README.md"
    start, end = "<!-- metrics -->\n", "<!-- end of metrics -->"
    before, rest = readme.read_text().split(start)
    _, after = rest.split(end)
    table = f"{before}{start}\n{short()}\n\n{end}{after}"
    return {readme: table, ROOT / "docs" / "metrics.md": whole()}


def main() -> None:
    """Writes or checks."""
    for path, text in written().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.name} is not as the code; run python scripts/metrics.py")


if __name__ == "__main__":
    main()
