"""Draws the figures of the README and of the site, by the package's own plots.

python scripts/figures.py    writes docs/_static/*.svg

They are transparent, and their greys can be read on white and on black.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import jax_rank_metrics as jrm

STATIC = Path(__file__).parent.parent / "docs" / "_static"
GREY = "#7a7f87"
STYLE = {
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color"), GREY),
    **dict.fromkeys(("xtick.color", "ytick.color"), GREY),
    **{"axes.facecolor": "none", "figure.facecolor": "none", "font.size": 9},
    **{"legend.framealpha": 0, "savefig.transparent": True, "svg.hashsalt": "jrm"},
    # Those of `jrm.plots`, by Okabe and Ito.
    "axes.prop_cycle": matplotlib.cycler(
        color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
    ),
    **{"axes.spines.top": False, "axes.spines.right": False},
}


def save(figure: plt.Figure, name: str) -> None:
    """Writes a figure, always with the same bytes."""
    figure.savefig(STATIC / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def home() -> None:
    """Draws ties, many metrics of one ranking, and differences with their intervals."""
    rng = np.random.default_rng(0)
    labels = rng.choice(4, (300, 50), p=[0.8, 0.1, 0.07, 0.03])
    before, after = (labels + x * rng.normal(size=labels.shape) for x in (1.5, 1.2))
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11, 3.2), layout="constrained"
    )

    low, high = after.min(), after.max()
    by_policy: dict[str, dict[int, object]] = {}
    for bits in (0, 1, 2, 3, 4, 6, 8):
        rounded = np.round((after - low) / (high - low) * (2**bits - 1))
        for policy in ("best", "expected", "worst"):
            states = jrm.evaluate(("ndcg@10",), labels, rounded, ties=policy)
            by_policy.setdefault(f"ties={policy}", {})[bits] = states
    jrm.plots.curve(by_policy, "ndcg@10", ax=left)
    left.set(title="Ties count as the mean over their orders", xlabel="bits of a score")

    cutoffs = (1, 2, 5, 10, 20, 50)
    names = ("ndcg", "hit_rate", "precision", "recall")
    at = ",".join(map(str, cutoffs))
    lists = jrm.measure([f"{name}@{at}" for name in names], jrm.rank(labels, after))
    curves = {name: {f"value@{at}": lists[f"{name}@{at}"]} for name in names}
    jrm.plots.at_cutoffs(curves, "value", ax=middle)
    middle.set(title="One ranking, many metrics", xlabel="k", ylabel="")

    metrics = ("ndcg@10", "map", "mrr", "recall@10", "rbp", "err@10")
    runs = {
        "before": jrm.measure(metrics, jrm.rank(labels, before)),
        "after": jrm.measure(metrics, jrm.rank(labels, after)),
    }
    jrm.plots.forest(jrm.compare(runs), names=("before", "after"), ax=right)
    right.set(title="Verdicts with intervals", xticks=[0, 0.05, 0.1])
    save(figure, "home")


def moves(
    name: str,
    metrics: Mapping[str, str],
    *,
    others: Sequence[int] = (),
    items: int = 100,
    grade: float = 1,
    columns: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Draws how metrics change as a relevant item moves down a list.

    Args:
        name: That of the file.
        metrics: Titles, and the metrics that they stand for.
        others: Ranks of relevant items that stay, where the list lacks the one that moves.
        items: Number of items of the list.
        grade: The label of the one that moves; the others have the label 1.
        columns: Of the item that moves, and of one that stays: their data.
    """
    ranks = np.unique(np.round(np.geomspace(1, items, 25)).astype(int))
    still = np.isin(np.arange(1, items), others).astype(float)
    labels = np.stack([np.insert(still, rank - 1, grade) for rank in ranks])
    is_moving = np.arange(items) == ranks[:, None] - 1
    lists = jrm.rank(
        labels,
        np.broadcast_to(-np.arange(items, dtype=float), labels.shape),
        columns={
            column: np.where(
                is_moving[(...,) + (None,) * np.ndim(moving)], moving, stays
            )
            for column, (moving, stays) in (columns or {}).items()
        },
    )
    values = jrm.measure(tuple(metrics.values()), lists)
    draw(name, ranks, {x: values[metric].values for x, metric in metrics.items()})


def draw(name: str, ranks: np.ndarray, lines: Mapping[str, object]) -> None:
    """Draws values over the rank of the item that moves."""
    figure, ax = plt.subplots(figsize=(5.2, 2.1), layout="constrained")
    for index, (title, values) in enumerate(lines.items()):
        style = ("-", "--", "-.", ":", (0, (5, 1)))[index]
        ax.plot(ranks, np.asarray(values), linestyle=style, label=title)
    ax.set(xscale="log", xlabel="rank of the item that moves", ylabel="value")
    ticks = [x for x in (1, 2, 5, 10, 20, 50, 100) if x <= ranks[-1]]
    ax.set_xticks(ticks, [str(x) for x in ticks])
    ax.set_xticks([], minor=True)
    figure.legend(loc="outside right upper")
    save(figure, f"moves-{name}")


def families() -> None:
    """Draws the families of the page about which metric to take."""
    moves("one", {x: x for x in ("mrr", "hit_rate@1", "hit_rate@10", "adjusted_mrr")})
    graded = ("ndcg", "ndcg@10", "ndcg(gain_fn=linear_gain)", "err", "q_measure")
    moves("graded", {x: x for x in graded}, others=(2, 4, 8, 16), grade=3)
    every = ("map", "recall@10", "recall@50", "rprec", "minp")
    moves("all", {x: x for x in every}, others=(1, 3, 5, 7))
    moves(
        "rare",
        {x: x for x in ("psp@10", "psndcg@10", "p@10", "ndcg@10")},
        others=(2, 4, 8),
        columns={"propensities": (0.1, 0.9)},
    )
    groups = ("awrf", "ee_l", "ndkl", "exposure_parity")
    moves(
        "groups",
        {x: x for x in groups},
        others=(3, 6, 9),
        items=10,
        columns={"groups": (np.array([1.0, 0]), np.array([0, 1.0]))},
    )
    users = ("rbp", "err", "inst", "bpm")
    moves("user", {x: x for x in users}, others=(3, 6, 9))
    early = ("bedroc", "log_auc", "auc", "ap")
    moves("early", {x: x for x in early}, others=(1, 2))
    two_rankings()


def two_rankings(items: int = 100) -> None:
    """Draws the agreement of two rankings as the first item of one moves down."""
    ranks = np.unique(np.round(np.geomspace(1, items, 25)).astype(int))
    first = np.broadcast_to(np.arange(items), (ranks.size, items))
    second = np.stack([np.insert(np.arange(1, items), rank - 1, 0) for rank in ranks])
    lists = {
        "rank_biased_overlap": jrm.rank_biased_overlap(first, second),
        "overlap@10": jrm.overlap(first, second, k=10),
        "jaccard@10": jrm.jaccard(first, second, k=10),
        "kendall_tau": jrm.kendall_tau(first, second),
    }
    draw("two", ranks, {title: agreement.values for title, agreement in lists.items()})


# Of the map: the question, and the metrics that answer it.
QUESTIONS = (
    ("One right answer: how soon is it there?", "mrr, hit_rate@k, adjusted_mrr"),
    ("Graded labels: are the best ones first?", "ndcg@k, err, q_measure"),
    ("All of them: how much is found?", "recall@k, map, rprec, minp"),
    ("Rare ones: are they found too?", "psp@k, psndcg@k, group_recall@k"),
    ("Groups: who is shown?", "awrf, ee, ndkl, exposure_parity"),
    ("A user who stops: what is gained?", "rbp, err, inst, bpm"),
    ("Early ones: are the very first right?", "bedroc, ef@1%, log_auc"),
    ("Two rankings: how alike are they?", "rank_biased_overlap, overlap, kendall_tau"),
)
MAP_STYLE = """<style>
text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
  fill: #1f2933; }
.page { fill: #fff; } .card { fill: #f3f6fa; stroke: #c3cedb; }
.question { font-size: 15px; font-weight: 600; }
.code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  fill: #1d4f91; }
.way { fill: none; stroke: #1d4f91; stroke-width: 2; }
@media (prefers-color-scheme: dark) { text { fill: #e6eaf0; } .page { fill: #131416; }
  .card { fill: #1d2126; stroke: #3a424c; } .code { fill: #8ab8f5; }
  .way { stroke: #8ab8f5; } }
</style>"""


def question_map() -> None:
    """Draws the ways from what is asked to the metrics that answer it."""
    step, width = 60, 760
    height = step * len(QUESTIONS) + 16
    middle = height / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        "<title>From the question to the metric</title>",
        MAP_STYLE,
        f'<rect width="{width}" height="{height}" rx="10" class="page"/>',
    ]
    for row, (question, names) in enumerate(QUESTIONS):
        y = 14 + step * row
        parts += [
            f'<path d="M150 {middle} C215 {middle} 175 {y + 24} 240 {y + 24}" '
            'class="way"/>',
            f'<rect x="240" y="{y}" width="504" height="48" rx="8" class="card"/>',
            f'<text x="256" y="{y + 20}" class="question">{question}</text>',
            f'<text x="256" y="{y + 39}" class="code">{names}</text>',
        ]
    parts += [
        f'<rect x="16" y="{middle - 30}" width="134" height="60" rx="8" class="card"/>',
        f'<text x="83" y="{middle + 5}" text-anchor="middle" class="question">'
        "What is asked?</text>",
        "</svg>",
    ]
    (STATIC / "which-metric.svg").write_text("\n".join(parts) + "\n")


def cutoffs() -> None:
    """Draws the time of metrics over k that `benchmarks/cutoffs.py` measured."""
    record = json.loads((STATIC.parents[1] / "benchmarks" / "cutoffs.json").read_text())
    figure, axes = plt.subplots(1, len(record), figsize=(8, 3), layout="constrained")
    for ax, (lists, rows) in zip(axes, record.items(), strict=True):
        for name, times in rows.items():
            style = "--" if name.startswith("NumPy") else "-"
            ks = list(map(int, times))
            ax.plot(ks, list(times.values()), f"o{style}", markersize=3, label=name)
        ax.set(title=f"{lists} scores", xlabel="k", ylabel="milliseconds")
        ax.set(ylim=(0, None), xscale="log")
        ax.set_xticks(shown := (5, 10, 20, 32, 50, 100), map(str, shown), minor=False)
        ax.xaxis.minorticks_off()
    axes[0].legend()
    save(figure, "cutoffs")


def main() -> None:
    """Writes every figure."""
    matplotlib.use("agg")
    with plt.rc_context(STYLE):
        home()
        families()
        cutoffs()
    question_map()


if __name__ == "__main__":
    main()
