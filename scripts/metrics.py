"""Writes the tables of all metrics, in README.md and docs/, from their docstrings.

python scripts/metrics.py            writes them into README.md, docs/metrics.md,
                                     docs/metrics/*.md and docs/api/metrics.rst
python scripts/metrics.py --check    fails if one of these differs from the code
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
    adjusted_for_chance,
    counts,
    cumulated_gain,
    cwl,
    early_recognition,
    exposure_fairness,
    exposure_parity,
    first_hit,
    goals,
    group_recall,
    hits,
    incomplete_judgements,
    intents,
    interpolated,
    multilabel,
    ntcir,
    order_agreement,
    positions,
    propensity_scored,
    subtopics,
    user_models,
)

ROOT = Path(__file__).parent.parent

FAMILIES: tuple[ModuleType, ...] = (
    cumulated_gain,
    hits,
    positions,
    first_hit,
    user_models,
    cwl,
    goals,
    ntcir,
    early_recognition,
    order_agreement,
    multilabel,
    interpolated,
    incomplete_judgements,
    counts,
    adjusted_for_chance,
    subtopics,
    intents,
    group_recall,
    propensity_scored,
    exposure_fairness,
    exposure_parity,
)

PEERS = (
    "scikit-learn", "SciPy", "trec_eval", "gdeval", "pyndeval", "cwl_eval",
    "pyNTCIREVAL",
    "ir_measures", "ranx", "rax", "keras_rs", "TF-Ranking", "metrax", "torchmetrics",
    "RecBole", "RecTools", "recommenders", "torchreid", "fast-reid",
    "pytorch-metric-learning", "PyKEEN", "OGB", "pyxclib", "napkinXC", "FairRankTune",
    "RDKit",
)  # fmt: skip

OVERVIEW = """# All metrics

Each metric is a function of `jax_rank_metrics`, and each of its names is a name for
`evaluate` and `measure`. `help(jrm.ndcg)` has everything about it; the page of its family
has the formula, the options, the ties, and where it is undefined.

A trailing `@k` in a name sets the cutoff: `ndcg@10`, `recall@1,5`, or `recall@1%` for the
first percent of each list, which is `jrm.share(0.01)` in Python. For
`interpolated_precision` it sets levels of recall. trec_eval's own names work too where they
mean nothing else here: `map_cut_10`, `P_10`, `recall_100`, `ndcg_cut_10`, `success_1`,
`recip_rank`, `set_P`, `set_map`, `iprec_at_recall_0.10`, `gm_map`; so do its families with
cutoffs, such as `ndcg_cut.5,10`, and its sets `official`, `set` and `all_trec`. So do names
of ir_measures and ndeval. Where a name means something else there, ours wins: `ndcg` has
exponential gains and `P@5` divides by the number of items retrieved, while `P_5` and `P.5`
are those of trec_eval.

*Agrees with* names libraries whose number is the same; the docstring of the metric says
with which options, and where not. [My number differs](my-number-differs.md) goes through
what makes two libraries disagree.

What a metric does with ties, unless you ask for another policy or pass a key:

- *closed*: the mean over all orders of the tied items, by a formula.
- *one order*: no such formula is known; one pseudo-random order is taken, blind to the
  labels.
- *own*: the metric defines itself what ties mean, under every policy.

`ties="best"` and `"worst"` put tied items in the order of their labels. Without item
weights, they bound what any order could give for every *closed* metric without *columns*,
and for `bpref`. For others they are two orders among many: labels do not say which of two
relevant items gives `psp` more.

A list without a value of its own is *undefined*; it counts 0, or what `undefined=` says."""

TIES = {"expected": "closed", "order": "one order", "own": "own"}
BETTER = {False: "higher", True: "lower", None: "neither"}


def metrics(family: ModuleType) -> Iterator[Any]:
    """Yields the metrics that a module defines, in the order of its lines."""
    registered = {id(metric): metric for metric in NAMES.values()}.values()
    members = [m for m in registered if m.__module__ == family.__name__]
    yield from sorted(members, key=lambda m: m.__wrapped__.__code__.co_firstlineno)


def title(family: ModuleType) -> str:
    """The heading of a family: the first line of its module's docstring."""
    return (family.__doc__ or "").splitlines()[0].rstrip(".")


def page(family: ModuleType) -> str:
    """The name of the page of a family, such as `user-models`."""
    return family.__name__.rpartition(".")[2].replace("_", "-")


def names(metric: Any) -> str:
    """The names of a metric, that of the function first, with the options they imply."""
    known = [name for name, registered in NAMES.items() if registered is metric]
    aliases = [name for name in known if name != metric.__name__]
    texts = [f"`{metric.__name__}`"]
    for name in aliases:
        preset = metric.spec.presets.get(name, {})
        meaning = ", ".join(f"{key}={value}" for key, value in preset.items())
        texts.append(f"`{name}`" + (f" (`{meaning}`)" if meaning else ""))
    return ", ".join(texts)


def part(metric: Any, pattern: str) -> str:
    """The first group of a pattern in the docstring of a metric, on one line."""
    match = re.search(pattern, inspect.getdoc(metric) or "", re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def summary(metric: Any) -> str:
    """The first sentence or two of its docstring: the paragraph above the formula."""
    return part(metric, r"\A(.*?)\n\n")


def formula(metric: Any) -> str:
    """The formula of a metric with the paragraph that explains it, as Markdown."""
    doc = inspect.getdoc(metric) or ""
    match = re.search(r"\.\. math::(.*?)\n\n(?=\S)(.*?)\n\n", doc, re.DOTALL)
    if match is None:
        return ""
    lines = [line.strip() for line in match[1].strip().splitlines()]
    block = "\n".join(["```{math}", *lines, "```"])
    explains = not match[2].startswith(("Undefined", "Args"))
    return f"{block}\n\n{match[2]}\n\n" if explains else f"{block}\n\n"


def undefined(metric: Any) -> str:
    """Where a metric has no value."""
    return part(metric, r"Undefined \((.*?)\)")


def ties(metric: Any) -> str:
    """The meaning of equal scores for a metric where no policy says otherwise."""
    spec = metric.spec
    if not callable(spec.tie_reading):
        return TIES[spec.tie_reading]
    return TIES[spec.tie_reading(spec.options)] + ", except for an option"


def agrees(metric: Any) -> str:
    """The libraries that the references of a metric name."""
    references = part(metric, r"References:\n(.*)\Z")
    return ", ".join(peer for peer in PEERS if re.search(rf"\b{peer}\b", references))


def options(metric: Any) -> str:
    """The options of a metric with their defaults."""
    texts = []
    for name, value in metric.spec.options.items():
        default = getattr(value, "__name__", None) or repr(value)
        texts.append("`k`" if name == "k" else f"`{name}={default}`")
    return ", ".join(texts)


def columns(metric: Any) -> str:
    """The columns that a metric reads."""
    required = [f"`{name}`" for name in metric.spec.columns]
    optional = [f"`{name}` if passed" for name in metric.spec.optional_columns]
    return ", ".join([*required, *optional])


def better(metric: Any) -> str:
    """The direction in which a metric is better."""
    direction = metric.spec.lower_is_better
    return "by the options" if callable(direction) else BETTER[direction]


def details(metric: Any) -> str:
    """The section about a metric on the page of its family."""
    facts = (
        ("names", names(metric)),
        ("options", options(metric)),
        ("columns", columns(metric)),
        ("better", better(metric)),
        ("ties", ties(metric)),
        ("undefined", undefined(metric)),
        ("agrees with", agrees(metric)),
    )
    listed = "\n".join(f"- *{name}*: {text}" for name, text in facts if text)
    return f"## `{metric.__name__}`\n\n{summary(metric)}\n\n{formula(metric)}{listed}"


def readme_table() -> str:
    """The table of the README."""
    rows = [
        (names(metric), ties(metric), undefined(metric))
        for family in FAMILIES
        for metric in metrics(family)
    ]
    return tabulate(rows, ("metric", "ties", "undefined"), tablefmt="github")


def table(family: ModuleType, folder: str) -> str:
    """The table of a family, whose first column links into its page."""
    rows = [
        (
            f"[`{m.__name__}`]({folder}{page(family)}.md#{m.__name__})",
            summary(m),
            agrees(m),
        )
        for m in metrics(family)
    ]
    return tabulate(rows, ("metric", "value", "agrees with"), tablefmt="github")


def overview() -> str:
    """The page that lists all metrics."""
    parts = [OVERVIEW]
    for family in FAMILIES:
        parts += [f"## {title(family)}", table(family, "metrics/")]
    return "\n\n".join(parts) + "\n"


def family_page(family: ModuleType) -> str:
    """The page about a family."""
    head = (
        f"# {title(family)}",
        "Part of [all metrics](../metrics.md), which explains the words below.",
    )
    return "\n\n".join([*head, *map(details, metrics(family))]) + "\n"


def reference() -> str:
    """The sections of the API page that hold the docstrings of all metrics."""
    parts = []
    for family in FAMILIES:
        heading = title(family)
        parts.append(f"{heading}\n{'-' * len(heading)}")
        parts += [f".. autofunction:: {m.__name__}" for m in metrics(family)]
    return "\n\n".join(parts)


def between(path: Path, start: str, end: str, text: str) -> str:
    """The file with `text` between two of its lines."""
    before, after_start = path.read_text().split(start)
    _, after = after_start.split(end)
    return f"{before}{start}\n{text}\n\n{end}{after}"


def written() -> dict[Path, str]:
    """Every file that the code determines, with its text."""
    readme, docs = ROOT / "README.md", ROOT / "docs"
    api = docs / "api" / "metrics.rst"
    pages = {
        docs / "metrics" / f"{page(family)}.md": family_page(family)
        for family in FAMILIES
    }
    return {
        readme: between(
            readme, "<!-- metrics -->\n", "<!-- end of metrics -->", readme_table()
        ),
        api: between(api, ".. metrics\n", ".. end of metrics", reference()),
        docs / "metrics.md": overview(),
        **pages,
    }


def main() -> None:
    """Writes or checks."""
    for path, text in written().items():
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.name} is not as the code; run python scripts/metrics.py")


if __name__ == "__main__":
    main()
