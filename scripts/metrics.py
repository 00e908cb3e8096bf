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

With this page you can look up, for every metric, its names, what it computes, how it treats
ties, for which lists it is undefined, what item weights do, and which libraries compute the
same number. Each metric is a function of `jax_rank_metrics`, and you can pass any of its
names to `evaluate` and `measure`. The docstring of the function describes the formula, the
options, and the columns of data that the metric reads. You can read the docstring by
`help(jrm.ndcg)`, for example, or in the [API](api/metrics.rst).

Four columns of the tables need an explanation:

- *Ties* says how a metric treats items with equal scores. The value of an *exact* metric is
  the mean over all orders of the tied items. Other metrics read *one order* of the tied
  items, or have their *own rule*; see [Ties](#ties).
- *Undefined* says for which lists the metric has [no value](#undefined). The *pool* of a
  list is all of its items, including items below rank k and items without a rank.
- *Item weights* names the quantities that [item weights](#item-weights) multiply.
- *Agrees with* names libraries that compute the same number. The docstring of the metric
  says which options give this number, and when the numbers differ. [My number
  differs](my-number-differs.md) lists the reasons why two libraries disagree.

<!-- filter -->"""

NOTES = """## Names

A trailing `@k` in a name sets the cutoff, as in `ndcg@10`. The name `recall@1,5` has two
cutoffs. The name `recall@1%` reads the first percent of each list, as `k=jrm.share(0.01)`
does in Python. In names of `interpolated_precision`, the numbers after `@` are levels of
recall.

You can also use the names of trec_eval: `map_cut_10`, `P_10`, `recall_100`, `ndcg_cut_10`,
`success_1`, `recip_rank`, `set_P`, `set_map`, `iprec_at_recall_0.10`, `gm_map`. A name of
trec_eval may have several cutoffs, as in `ndcg_cut.5,10`. The names `official`, `set` and
`all_trec` stand for sets of metrics, as in trec_eval. The names of ir_measures and ndeval
work as well.

Some names of this package have another meaning in one of these programs. Here, such a name
has the meaning of this package. For example, `ndcg` has exponential gains, and `P@5`
divides by the number of retrieved items if fewer than 5 items were retrieved. But `P_5`
and `P.5`, which are names of trec_eval, have the meaning of trec_eval.

## Ties

Unless you choose another policy or pass a `key`, a metric treats ties in one of three ways:

- *exact* means that a formula gives the mean of the metric over all orders of the tied
  items.
- *one order* means that no formula for this mean is known. The metric reads the tied items
  in one pseudo-random order. This order does not depend on the labels, and is the same in
  every list. If ties matter, pass a `key`. The key draws a new order for each list, so the
  mean over many lists approaches the mean over all orders. (`evaluate_users` takes a
  different order for each user even without a `key`.) Some functions tell you if a metric
  read one order of tied items and its value may depend on this order. These functions are
  `evaluate_users`, `evaluate_embeddings`, `evaluate_links` and `evaluate_scored`, together
  with the tables of their results; the command `evaluate`; and
  `jrm.check(labels, scores, metrics=…)`.
- *own rule* means that the definition of the metric says what ties mean. This meaning is
  the same under every tie policy.

The policies `ties="best"` and `ties="worst"` order tied items by their labels. For `bpref`,
and for every *exact* metric that reads no *columns*, the values under these two policies
are bounds: the value of every other order lies between them, as long as there are no item
weights. For other metrics, the two values need not be bounds. For example, labels do not
say which of two relevant items adds more to `psp`.

Functions that compare two rankings treat ties in these ways, too. `overlap`,
`rank_biased_overlap`, `kendall_tau` and `spearman_rho` are *exact*, so the agreement of a
ranking with itself is below 1 if the ranking has ties. With `ties="stable"`, these
functions compare one order of each ranking. `jaccard` and `exposure` read *one order*, and
warn if items tie.

Two metrics, `pooled_roc_auc` and `pooled_average_precision`, treat all items of all lists
as one list. These two metrics have their own states; see
[Recommenders](recommenders.md#one-auc-of-all-impressions).

## Undefined

A list is *undefined* if the metric has no value for this list, for example because no item
is relevant. In a mean, an undefined list counts as 0 by default. With `undefined="one"`, it
counts as 1, and with `undefined="skip"`, it is left out. The state of a metric, from which
the mean is computed, also records the number of undefined lists.

## Item weights

If you pass item weights, `[*lists, items]`, they determine the weight of each list in the
mean. The weight of a list is the mean weight of the list's relevant items. (For `cg`,
`dcg` and `ndcg`, the weight of a list is the mean weight of all its items, in which an item
counts in proportion to its gain.) If the column *item weights* says only *list*, item
weights have no other effect. Otherwise, item weights also multiply the quantity that the
column names, so the value of a single list depends on the item weights. In both cases, an
item with the weight 0 is masked. If you pass `list_weights` too, they replace the list
weights that were computed from item weights."""

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
        (r"[0-9]+(?=\s+have \[their own rule)", counts["own rule"]),
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
