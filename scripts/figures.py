"""Draws the figures of the README and of the site, by the package's own plots.

python scripts/figures.py    writes docs/_static/*.svg

They are transparent, and their greys can be read on white and on black.
"""

import html
import json
from collections.abc import Callable, Mapping, Sequence
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
    # The colors of `jrm.plots`, by Okabe and Ito.
    "axes.prop_cycle": matplotlib.cycler(
        color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
    ),
    **{"axes.spines.top": False, "axes.spines.right": False},
}


def save(figure: plt.Figure, name: str) -> None:
    """Writes a figure, always with the same bytes."""
    figure.savefig(STATIC / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def panels(
    name: str,
    number: int,
    size: tuple[float, float],
    draw: Callable[[Sequence[plt.Axes]], None],
) -> None:
    """Draws panels side by side for a page, and in a column for a telephone."""
    for rows, columns, inches, suffix in (
        (1, number, size, ""),
        (number, 1, (3.9, 2.9 * number), "-narrow"),
    ):
        figure, axes = plt.subplots(rows, columns, figsize=inches, layout="constrained")
        draw(axes)
        save(figure, name + suffix)


def home() -> None:
    """Draws ties, many metrics of one ranking, and differences with their intervals."""
    rng = np.random.default_rng(0)
    labels = rng.choice(4, (300, 50), p=[0.8, 0.1, 0.07, 0.03])
    before, after = (labels + x * rng.normal(size=labels.shape) for x in (1.5, 1.2))

    low, high = after.min(), after.max()
    by_policy: dict[str, dict[int, object]] = {}
    for bits in (0, 1, 2, 3, 4, 6, 8):
        rounded = np.round((after - low) / (high - low) * (2**bits - 1))
        for policy in ("best", "expected", "worst"):
            states = jrm.evaluate(("ndcg@10",), labels, rounded, ties=policy)
            by_policy.setdefault(f"ties={policy}", {})[bits] = states

    cutoffs = (1, 2, 5, 10, 20, 50)
    names = ("ndcg", "hit_rate", "precision", "recall")
    at = ",".join(map(str, cutoffs))
    lists = jrm.measure([f"{name}@{at}" for name in names], jrm.rank(labels, after))
    curves = {name: {f"value@{at}": lists[f"{name}@{at}"]} for name in names}

    metrics = ("ndcg@10", "map", "mrr", "recall@10", "rbp", "err@10")
    runs = {
        "before": jrm.measure(metrics, jrm.rank(labels, before)),
        "after": jrm.measure(metrics, jrm.rank(labels, after)),
    }
    comparison = jrm.compare(runs)

    def draw_panels(axes: Sequence[plt.Axes]) -> None:
        left, middle, right = axes
        jrm.plots.curve(by_policy, "ndcg@10", ax=left)
        title = "Ties count as the mean over their orders"
        left.set(title=title, xlabel="bits of a score")
        jrm.plots.at_cutoffs(curves, "value", ax=middle)
        middle.set(title="One ranking, many metrics", xlabel="k", ylabel="")
        jrm.plots.forest(comparison, names=("before", "after"), ax=right)
        right.set(title="Verdicts with intervals", xticks=[0, 0.05, 0.1])

    panels("home", 3, (11, 3.2), draw_panels)


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
        name: The name of the file.
        metrics: Titles, and the metrics that they stand for.
        others: Ranks of relevant items that stay, in the list without the item that moves.
        items: Number of items of the list.
        grade: The label of the item that moves; relevant items that stay have the label 1.
        columns: By column, the data of the item that moves and of items that stay.
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
    figure, ax = plt.subplots(figsize=(4.4, 2.7), layout="constrained")
    for index, (title, values) in enumerate(lines.items()):
        style = ("-", "--", "-.", ":", (0, (5, 1)))[index]
        ax.plot(ranks, np.asarray(values), linestyle=style, label=title)
    ax.set(xscale="log", xlabel="rank of the item that moves", ylabel="value")
    ticks = [x for x in (1, 2, 5, 10, 20, 50, 100) if x <= ranks[-1]]
    ax.set_xticks(ticks, [str(x) for x in ticks])
    ax.set_xticks([], minor=True)
    figure.legend(loc="outside lower center", ncols=2)
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


# The rows of the map: the question, and the metrics that answer it.
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
# The way to a test: each question, with its situations, and for each the advice and code.
TESTS = {
    "What was drawn at random?": (
        ("lists that have nothing in common", "go on", ""),
        (
            "several lists of one user or topic",
            "one value per cluster",
            "clusters=user_ids",
        ),
        (
            "the same, in batches or on many hosts",
            "resampled by id",
            "bootstrap(…, user_ids)",
        ),
        ("training runs, of two procedures", "five seeds each, or more", "Seeds([…])"),
    ),
    "What do you want to know?": (
        (
            "how good one system is",
            "an interval of its mean",
            ".confidence_interval()",
        ),
        ("whether b is better than a", "an interval of b − a, and p", "compare(a, b)"),
        ("whether b is as good as a", "a margin, named before", "margin=0.005"),
        ("how many lists it takes", "the spread of a pilot", "lists_needed(…)"),
    ),
    "How many comparisons are there?": (
        ("a single one", "go on", ""),
        (
            "several systems beside a baseline",
            "the largest t of all",
            'correction="maxT"',
        ),
        ("each system beside each other one", "Tukey’s range", 'test="tukey"'),
        (
            "dozens, to choose some for a next round",
            "a share of false ones",
            'correction="fdr"',
        ),
    ),
    "What do the values look like?": (
        ("ten lists or more that differ", "the default, a permutation test", ""),
        ("weights that differ", "an error for heavy lists", 'test="t"'),
        (
            "0 or 1, and few lists that differ",
            "exact, by wins and losses",
            'test="mcnemar"',
        ),
        ("fewer than six lists", "permutations are too few", 'test="t"'),
    ),
}
# A diagram is as wide as a page, or as a telephone.
WIDE, NARROW = 760, 368
DIAGRAM_STYLE = """<style>
text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
  fill: #1f2933; }
.page { fill: #fff; } .card { fill: #f3f6fa; stroke: #c3cedb; }
.number { fill: #1d4f91; } .digit { fill: #fff; font-weight: 600; text-anchor: middle; }
.question { font-weight: 600; } .answer { fill: #475464; font-size: 13px; }
.code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  fill: #1d4f91; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.rule { stroke: #dde4ec; } .way { fill: none; stroke: #1d4f91; stroke-width: 2; }
.bar { fill: #0072b2; }
@media (prefers-color-scheme: dark) { text { fill: #e6eaf0; } .page { fill: #131416; }
  .card { fill: #1d2126; stroke: #3a424c; } .code { fill: #8ab8f5; }
  .number { fill: #8ab8f5; } .digit { fill: #131416; } .answer { fill: #b3bdc9; }
  .rule { stroke: #2c333b; } .way { stroke: #8ab8f5; } .bar { fill: #56b4e9; } }
</style>"""


def words(x: float, y: float, text: str, kinds: str = "") -> str:
    """Writes words of a diagram; their kinds are classes of the diagram's style."""
    return f'<text x="{x:g}" y="{y:g}" class="{kinds}">{html.escape(text)}</text>'


def card(x: float, y: float, width: float, height: float) -> str:
    """Draws a box of a diagram."""
    size = f'width="{width:g}" height="{height:g}"'
    return f'<rect x="{x:g}" y="{y:g}" {size} rx="8" class="card"/>'


def way(path: str) -> str:
    """Draws a line of a diagram, or an arrow."""
    return f'<path d="{path}" class="way"/>'


def down(x: float, y: float, length: float = 16) -> str:
    """Draws an arrow that points down."""
    return way(f"M{x:g} {y:g}v{length:g}m-5 -6l5 6l5 -6")


def diagram(
    name: str, title: str, draw: Callable[[int], tuple[int, list[str]]]
) -> None:
    """Writes a diagram for a page, and one for a telephone.

    Args:
        name: The name of the file.
        title: The text for a reader who cannot see it.
        draw: Returns the height and the parts for a width.
    """
    for width, suffix in ((WIDE, ""), (NARROW, "-narrow")):
        height, parts = draw(width)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{html.escape(title)}</title>",
            DIAGRAM_STYLE,
            f'<rect width="{width}" height="{height}" rx="10" class="page"/>',
            *parts,
            "</svg>",
        ]
        (STATIC / f"{name}{suffix}.svg").write_text("\n".join(lines) + "\n")


def question_map(width: int) -> tuple[int, list[str]]:
    """Draws the ways from questions to the metrics that answer them."""
    step = 58 if width == NARROW else 44
    parts = [card(8, 8, 164, 40), words(90, 33, "What is asked?", "question middle")]
    for row, (question, names) in enumerate(QUESTIONS):
        y = 60 + step * row
        parts += [
            way(f"M18 48V{y + step // 2 - 5}H28"),
            card(28, y, width - 36, step - 10),
            words(38, y + 22, question, "question"),
            words(38, y + 39, names, "code")
            if width == NARROW
            else words(width - 20, y + 22, names, "code end"),
        ]
    return 60 + step * len(QUESTIONS), parts


def test_map(width: int) -> tuple[int, list[str]]:
    """Draws the ways from questions on the data to a test."""
    is_narrow = width == NARROW
    step, left, y = (46, 20, 8) if is_narrow else (27, 54, 8)
    parts = []
    for number, (question, rows) in enumerate(TESTS.items(), 1):
        parts += [
            card(8, y, width - 16, 42 + step * len(rows)),
            f'<circle cx="32" cy="{y + 20}" r="12" class="number"/>',
            words(32, y + 25, str(number), "digit"),
            words(54, y + 25, question, "question"),
        ]
        for row, (situation, answer, code) in enumerate(rows):
            line = y + 54 + step * row
            second = line + 19 if is_narrow else line
            if row:
                parts.append(
                    f'<path d="M{left} {line - 18}H{width - 20}" class="rule"/>'
                )
            parts += [
                words(left, line, situation),
                words(left if is_narrow else 352, second, answer, "answer"),
                words(width - 20, second, code, "code end"),
            ]
        y += 42 + step * len(rows) + 22
        if number < len(TESTS):
            parts.append(down(32, y - 22))
    return y - 14, parts


def with_steps(
    width: int, height: int, parts: list[str], steps: Sequence[tuple[str, str]]
) -> tuple[int, list[str]]:
    """Adds steps to the parts of a diagram, on their right or, if it is narrow, below."""
    is_narrow = width == NARROW
    x, y = (8, height + 26) if is_narrow else (392, 8)
    arrow = f"M352 {height // 2}h32m-6 -5l6 5l-6 5"
    parts = [*parts, down(184, height + 4) if is_narrow else way(arrow)]
    for step, (title, text) in enumerate(steps):
        top = y + 74 * step
        parts += [
            card(x, top, 352 if is_narrow else 360, 52),
            words(x + 12, top + 22, title, "question"),
            words(x + 12, top + 41, text, "answer"),
        ]
        if step:
            parts.append(down(x + 24, top - 20))
    return max(height, y + 74 * len(steps) - 22) + 8, parts


def first_number(width: int) -> tuple[int, list[str]]:
    """Draws the list that the quick start begins with, and how its number arises."""
    labels, scores = np.array([0, 2, 1, 0, 0]), np.array([0.9, 0.8, 0.1, 0.3, 0.2])
    order, ranks = np.argsort(-scores), np.arange(1, labels.size + 1)
    gains = (2 ** labels[order] - 1) / np.log2(1 + ranks)
    ideal = np.sum((2 ** np.sort(labels)[::-1] - 1) / np.log2(1 + ranks))
    columns = ((44, "rank"), (104, "score"), (164, "label"))
    parts = [words(x, 28, text, "answer end") for x, text in columns]
    parts.append(words(346, 28, "gain / log2(1 + rank)", "answer end"))
    for rank, item, gain in zip(ranks, order, gains, strict=True):
        y = 28 + 28 * int(rank)
        texts = (f"{rank}", f"{scores[item]:.1f}", f"{labels[item]}")
        parts.append(f'<path d="M16 {y - 19}H346" class="rule"/>')
        parts += [
            words(x, y, text, "end")
            for (x, _), text in zip(columns, texts, strict=True)
        ]
        size = f'width="{60 * gain:.0f}" height="14"'
        parts.append(f'<rect x="186" y="{y - 12}" {size} class="bar"/>')
        parts.append(words(346, y, f"{gain:.3f}", "end"))
    total = f"{gains.sum():.3f} of at most {ideal:.3f}"
    text = f"{total}: nDCG is {gains.sum() / ideal:.3f}"
    parts.append(words(346, 204, text, "question end"))
    steps = (
        ("jrm.rank", "puts every list in order once, ties included"),
        ("ndcg, mrr, recall@k, …", "read that ranking, each by its formula"),
        ("States", "merge over batches and devices: mean, interval"),
    )
    return with_steps(width, 212, parts, steps)


def mesh(width: int) -> tuple[int, list[str]]:
    """Draws how devices share lists and their items, and the data that they exchange."""
    left, top, step_x, step_y = 76, 58, 68, 66
    parts = [
        words(left + 2 * step_x - 4, 24, '"model": items →', "code middle"),
        words(12, 30, '"data":', "code"),
        words(12, 47, "lists ↓", "code"),
    ]
    for column, items in enumerate(("0–5", "6–11", "12–17", "18–23")):
        x = left + step_x * column + 30
        parts += [words(x, 47, items, "answer middle"), way(f"M{x} 86v66")]
    for row, lists in enumerate(("0–51", "52–103")):
        y = top + step_y * row
        parts += [
            words(12, y + 33, lists, "answer"),
            way(f"M{left + 30} {y + 28}h{3 * step_x}"),
        ]
        for column in range(4):
            x = left + step_x * column
            parts += [
                card(x, y, 60, 56),
                words(x + 30, y + 25, "device", "answer middle"),
                words(x + 30, y + 44, str(4 * row + column), "question middle"),
            ]
    steps = (
        (
            "Along “model”, the items of a list",
            "the best k of them travel, counts and sums",
        ),
        ("Along “data”, the lists", "states travel: a few sums for each metric"),
        ("The number of one machine", "within 1e-6, however the mesh is cut"),
    )
    return with_steps(width, 196, parts, steps)


def cutoffs() -> None:
    """Draws the time of metrics over k that `benchmarks/cutoffs.py` measured."""
    record = json.loads((STATIC.parents[1] / "benchmarks" / "cutoffs.json").read_text())

    def draw_times(axes: Sequence[plt.Axes]) -> None:
        for ax, (lists, rows) in zip(axes, record.items(), strict=True):
            for name, times in rows.items():
                style = "--" if name.startswith("NumPy") else "-"
                ks = list(map(int, times))
                ax.plot(ks, list(times.values()), f"o{style}", markersize=3, label=name)
            ax.set(title=f"{lists} scores", xlabel="k", ylabel="milliseconds")
            ax.set(ylim=(0, None), xscale="log")
            ticks = (5, 10, 20, 32, 50, 100)
            ax.set_xticks(ticks, map(str, ticks), minor=False)
            ax.xaxis.minorticks_off()
        axes[0].legend()

    panels("cutoffs", len(record), (8, 3), draw_times)


def main() -> None:
    """Writes every figure."""
    matplotlib.use("agg")
    with plt.rc_context(STYLE):
        home()
        families()
        cutoffs()
    diagram("which-metric", "From the question to the metric", question_map)
    title = (
        "From the question to the test: what was drawn at random, what you want to know, "
        "how many comparisons there are, and what the values look like"
    )
    diagram("which-test", title, test_map)
    diagram("first-number", "From labels and scores to nDCG", first_number)
    diagram("mesh", "Eight devices share lists and their items", mesh)


if __name__ == "__main__":
    main()
