"""Writes the overview of all metrics, and the pages of their API, from their docstrings.

python scripts/metrics.py            writes docs/metrics.md, docs/api/metrics.rst, the pages
                                     of groups in docs/api/metrics/, and the numbers of
                                     metrics in README.md
python scripts/metrics.py --check    fails if one of these differs from the code
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tabulate import tabulate

from jax_rank_metrics._engine.formulas import (
    adjusted_for_chance,
    counts,
    cumulated_gain,
    cwl,
    diversity,
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
    popularity,
    positions,
    profiles,
    propensity_scored,
    serendipity,
    subtopics,
    user_models,
)
from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._names.facts import FACTS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
API_PAGE = ROOT / "docs" / "api" / "metrics.rst"
API_FOLDER = ROOT / "docs" / "api" / "metrics"


class Group(NamedTuple):
    """A page of the API.

    Attributes:
        page: The name of its file.
        title: Its heading, and the heading of its tables in the overview.
        families: The modules whose metrics it documents; if empty, the page is written by
            hand, and holds functions that are no metrics.
    """

    page: str
    title: str
    families: tuple[ModuleType, ...] = ()


GROUPS = (
    Group("cumulated-gain", "Cumulated gain", (cumulated_gain, ntcir)),
    Group("precision-and-recall", "Precision and recall", (hits, interpolated)),
    Group(
        "ranks", "Ranks of relevant items", (positions, first_hit, adjusted_for_chance)
    ),
    Group("users", "Models of users", (user_models, cwl, goals)),
    Group("pairs", "Pairs in order", (order_agreement, multilabel)),
    Group("early-recognition", "Early recognition", (early_recognition,)),
    Group("judgements", "Judgements and counts", (incomplete_judgements, counts)),
    Group("diversity", "Novelty and diversity", (subtopics, intents)),
    Group(
        "groups",
        "Rare labels and groups",
        (propensity_scored, group_recall, exposure_fairness, exposure_parity),
    ),
    Group(
        "recommendations",
        "Recommendations",
        (popularity, profiles, serendipity, diversity),
    ),
    Group("arguments", "Gains, discounts, cutoffs"),
    Group("two-rankings", "Two rankings"),
)
FAMILIES = [family for group in GROUPS for family in group.families]

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
`evaluate` and `measure`. Its docstring, which `help(jrm.ndcg)` and the
[API](api/metrics.rst) show, has the formula, the options and the columns.

*Ties* says what equal scores do to a metric: its value is *exact* over all orders of the
tied items, or it has its *own rule*, or it reads *one order*; see [Ties](#ties).
*Undefined* says which lists have [no value](#undefined), and *item weights* what
[weights](#item-weights) multiply. *Agrees with* names libraries whose number is the same;
the docstring of the metric says with which options, and where not.
[My number differs](my-number-differs.md) goes through what makes two libraries disagree.

<!-- filter -->"""

NOTES = """## Names

A trailing `@k` in a name sets the cutoff: `ndcg@10`, `recall@1,5`, or `recall@1%` for the
first percent of each list, which is `jrm.share(0.01)` in Python. For
`interpolated_precision` it sets levels of recall. trec_eval's own names work too where they
mean nothing else here: `map_cut_10`, `P_10`, `recall_100`, `ndcg_cut_10`, `success_1`,
`recip_rank`, `set_P`, `set_map`, `iprec_at_recall_0.10`, `gm_map`; so do its families with
cutoffs, such as `ndcg_cut.5,10`, and its sets `official`, `set` and `all_trec`. So do names
of ir_measures and ndeval. Where a name means something else there, ours wins: `ndcg` has
exponential gains and `P@5` divides by the number of items retrieved, while `P_5` and `P.5`
are those of trec_eval.

## Ties

What a metric does with ties, unless you ask for another policy or pass a key:

- *exact*: the mean over all orders of the tied items, by a formula.
- *one order*: no such formula is known; one pseudo-random order is taken, blind to the
  labels, and the same in every list. Where ties matter, pass a `key`: it draws the order
  of each list anew, so that the mean over many lists is that over orders. (`evaluate_users`
  takes another order for each user in any case.) Drivers and their tables say where that
  is, and so do the command `evaluate` and `jrm.check(labels, scores, metrics=…)`.
- *own rule*: the metric defines itself what ties mean, under every policy.

`ties="best"` and `"worst"` put tied items in the order of their labels. Without item
weights, they bound what any order could give for every *exact* metric without *columns*,
and for `bpref`. For others they are two orders among many: labels do not say which of two
relevant items gives `psp` more.

Comparisons of two rankings follow the same rule: `overlap`, `rank_biased_overlap`,
`kendall_tau` and `spearman_rho` are *exact*. A ranking with ties agrees with itself by
less than 1, then; `ties="stable"` compares by one order. `jaccard` and `exposure` read
*one order*, and warn where items tie.

Two numbers are of all items at once, and are states of their own: `pooled_roc_auc` and
`pooled_average_precision`, in [Recommenders](recommenders.md#one-auc-of-all-impressions).

## Undefined

A list without a value of its own, as where nothing is relevant, is *undefined*; it counts
0. `undefined="one"` and `"skip"` change that, and a state records how many there were.

## Item weights

Weights of items, `[*lists, items]`, imply the weight of each list in the mean: the mean
weight of its relevant items (for `cg`, `dcg` and `ndcg`, of its gains). That is all that
they do where the column *item weights* says *list*. Elsewhere they multiply what it names
too, so that the value of a single list depends on them. A weight of 0 masks an item, and
`list_weights` replaces what items imply."""

TIES = {"expected": "exact", "order": "one order", "own": "own rule"}

FORMS = """Each of these metrics takes the arguments of `rank` too, and has the forms that
:doc:`/api/metrics` shows."""


def metrics(family: ModuleType) -> Iterator[Any]:
    """Yields the metrics that a module defines, in the order of its lines."""
    registered = {id(metric): metric for metric in NAMES.values()}.values()
    members = [m for m in registered if m.__module__ == family.__name__]
    yield from sorted(members, key=lambda m: m.__wrapped__.__code__.co_firstlineno)


def title(family: ModuleType) -> str:
    """The heading of a family: the first line of its module's docstring."""
    return (family.__doc__ or "").splitlines()[0].rstrip(".")


def names(metric: Any) -> str:
    """The names of a metric, the function's first, with the options that they imply."""
    known = [name for name, registered in NAMES.items() if registered is metric]
    aliases = [name for name in known if name != metric.__name__]
    texts = [f"`{metric.__name__}`"]
    for name in aliases:
        preset = FACTS[name].preset
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


def undefined(metric: Any) -> str:
    """The lists for which a metric has no value."""
    return part(metric, r"Undefined \((.*?)\)")


def ties(metric: Any) -> str:
    """The meaning of equal scores for a metric if no policy says otherwise."""
    spec = metric.spec
    if callable(spec.tie_reading):
        return TIES[spec.tie_reading(spec.options)] + ", except for an option"
    columns = " or ".join(f"`{name}`" for name in spec.order_columns)
    return TIES[spec.tie_reading] + (f", except with {columns}" if columns else "")


def item_weights(metric: Any) -> str:
    """The quantity that item weights multiply, beside the list weight that they imply."""
    what = part(metric, r"Weights\s+of\s+items\s+multiply\s+(?:the\s+)?(\w+)")
    return f"{what}, list" if what else "list"


def agrees(metric: Any) -> str:
    """The libraries that the references of a metric name."""
    references = part(metric, r"References:\n(.*)\Z")
    return ", ".join(peer for peer in PEERS if re.search(rf"\b{peer}\b", references))


def table(family: ModuleType) -> str:
    """The table of a family; on the site, each metric links to its docstring."""
    rows = [
        (names(m), summary(m), ties(m), undefined(m), item_weights(m), agrees(m))
        for m in metrics(family)
    ]
    headers = ("metric", "value", "ties", "undefined", "item weights", "agrees with")
    return tabulate(rows, headers, tablefmt="github")


def overview() -> str:
    """The page that lists all metrics."""
    parts = [OVERVIEW]
    for group in GROUPS:
        parts += [f"## {group.title}"] if group.families else []
        for family in group.families:
            parts += [f"### {title(family)}", table(family)]
    return "\n\n".join([*parts, NOTES]) + "\n"


def underlined(text: str, line: str) -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{line * len(text)}"


def group_page(group: Group) -> str:
    """The page of a group, with the docstrings of its metrics."""
    parts = [underlined(group.title, "="), ".. currentmodule:: jax_rank_metrics", FORMS]
    for family in group.families:
        parts.append(underlined(title(family), "-"))
        parts += [f".. autofunction:: {m.__name__}" for m in metrics(family)]
    return "\n\n".join(parts) + "\n"


def api_page(texts: dict[Path, str]) -> str:
    """The page that leads to the groups, whose names stand between two of its lines."""
    parts = [".. groups", ".. toctree::\n   :hidden:"]
    parts.append("\n".join(f"   metrics/{group.page}" for group in GROUPS))
    for group in GROUPS:
        path = API_FOLDER / f"{group.page}.rst"
        text = texts.get(path) or path.read_text()
        names = re.findall(r"(?m)^\.\. auto(?:function|class):: (\w+)", text)
        links = ", ".join(f"`{name}`" for name in names)
        heading = underlined(f":doc:`metrics/{group.page}`", "-")
        lines = textwrap.wrap(links, 92, break_on_hyphens=False)
        parts.append("\n".join([heading, "", *lines]))
    before, after_start = API_PAGE.read_text().split(parts[0])
    _, after = after_start.split(".. end of groups")
    return before + "\n\n".join([*parts, ".. end of groups"]) + after


def readme() -> str:
    """The README, with the number of metrics for each meaning of ties."""
    readings = [ties(m).split(",")[0] for family in FAMILIES for m in metrics(family)]
    counts = {kind: readings.count(kind) for kind in TIES.values()}
    text = README.read_text()
    for pattern, number in (
        (r"[0-9]+(?= of the [0-9]+ metrics are)", counts["exact"]),
        (r"(?<= of the )[0-9]+(?= metrics are)", len(readings)),
        (r"[0-9]+(?=\s+take one pseudo-random)", counts["one order"]),
        (r"[0-9]+(?=\s+define themselves)", counts["own rule"]),
    ):
        text, occurrences = re.subn(pattern, str(number), text)
        assert occurrences == 1, pattern
    return text


def written() -> dict[Path, str]:
    """Every file that the code determines, with its text."""
    pages = {
        API_FOLDER / f"{group.page}.rst": group_page(group)
        for group in GROUPS
        if group.families
    }
    overview_page = ROOT / "docs" / "metrics.md"
    return {
        **pages,
        API_PAGE: api_page(pages),
        overview_page: overview(),
        README: readme(),
    }


def main() -> None:
    """Writes or checks."""
    for path, text in written().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} is not as the code; run python scripts/metrics.py")


if __name__ == "__main__":
    main()
