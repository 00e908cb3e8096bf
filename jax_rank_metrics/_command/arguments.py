"""The options of the command, and their checks, without importing JAX.

This module also makes the names of runs, and reads the words after `-m`, which may be sets
of measures.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from jax_rank_metrics._ground import choices, optional
from jax_rank_metrics._ground.messages import short
from jax_rank_metrics._names.trec import NOT_MEASURED, RUN_LINES, SETS

Format = Literal["text", "json", "csv", "latex", "markdown", "html", "trec"]

# The formats that can hold the values of every query, and comparisons.
_PER_QUERY_FORMATS: tuple[Format, ...] = ("text", "json", "csv", "trec")
_COMPARISON_FORMATS = tuple(name for name in get_args(Format) if name != "trec")

STDIN = Path("-")
COLUMNS = ("list", "label", "score", "item")  # columns of tables that options name

DEFAULT = ("ndcg@10", "map", "mrr", "recall@100")

# Measures that ndeval divides by the value of an ideal list that may not exist.
_NOT_OF_NDEVAL = ("alpha-DCG", "nERR-IA", "nNRBP")


class CommandOptions(NamedTuple):
    """The arguments and options of the command, as `cli` declares them."""

    qrels: Path
    runs: list[Path]
    metric: list[str] | None
    trec: bool
    complete: bool
    level: float | None
    depth: int | None
    judged_only: bool
    missing: choices.Missing | None
    unjudged: choices.Unjudged | None
    duplicates: choices.DuplicatesOfQrels
    repeats: choices.Repeats
    exclude_self: bool
    document: str | None
    qrels_format: choices.QrelsFormat | None
    run_format: choices.RunFormat | None
    qrels_columns: str | None
    run_columns: str | None
    weights: Path | None
    signature: bool
    scored: bool
    list: str | None
    label: str | None
    score: str | None
    item: str | None
    format: Format = "text"
    # Only for `evaluate`:
    per_query: bool = False
    compare: choices.ComparisonTest | None = None
    baseline: str | None = None
    confidence: float = 0.95
    plot: Path | None = None
    # Only for `gate`:
    margin: float | None = None
    at_least: float | None = None
    alpha: float = 0.05
    undecided: Literal["fail", "pass", "estimate"] = "fail"
    save: Path | None = None

    @property
    def words(self) -> Sequence[str]:
        """The words after `-m`; empty by default."""
        return self.metric or []

    def document_of(self, chunk: object) -> str:
        """Returns the id of a chunk's document: group 1 of `--document` in the chunk's id.

        Raises:
            ValueError: if nothing matches, or the group is empty.
        """
        match = re.search(self.document or "", str(chunk))
        if match is None or not match[1]:
            raise ValueError(
                f"--document {self.document} has no match in {chunk!r}; pass a pattern "
                "with a match in every id of the run"
            )
        return match[1]

    @property
    def columns(self) -> dict[str, str | None]:
        """A dict from arguments to the columns of scored tables that options name."""
        return {name: self._asdict()[name] for name in COLUMNS}

    @property
    def files(self) -> Sequence[Path]:
        """The paths of all files that are read, and a dash for stdin."""
        paths = self.qrels, *self.runs, self.weights
        return [path for path in paths if path is not None]

    @property
    def paths(self) -> dict[str, Path]:
        """A dict from names in the results to the paths of runs, or of scored tables."""
        runs = [self.qrels, *self.runs] if self.scored else self.runs
        names = run_names([Path("stdin") if path == STDIN else path for path in runs])
        return dict(zip(names, runs, strict=True))

    @property
    def baseline_run(self) -> str:
        """The name of the run with which other runs are compared, by default the first.

        Raises:
            ValueError: if `--baseline` is neither the name nor the file of a run, or is the
                file name of several runs.
        """
        paths = self.paths
        if self.baseline is None or self.baseline in paths:
            return self.baseline or next(iter(paths))
        file = Path(self.baseline)
        names = [name for name, path in paths.items() if path == file]
        names = names or [name for name in paths if paths[name].name == self.baseline]
        if len(names) != 1:
            relation = "may be any" if names else "is none"
            raise ValueError(
                f"--baseline {self.baseline} {relation} of {', '.join(names or paths)}; "
                "pass one of these names"
            )
        return names[0]


# The option of the command for each argument of the package that messages may name.
OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "missing",
        "unjudged",
        "duplicates",
        "repeats",
        "exclude_self",
        "depth",
    )
} | {
    "relevance_threshold": "--level",
    "list_weights": "--weights",
    "condensed": "--judged-only",
    "document": "--document",
    "format": "--qrels-format",
    "columns": "--qrels-columns",
    "test": "--compare",
    "level": "--confidence",
}
# In a message, the words in COLUMNS mean columns, but "label=" means the option.
_PASSED = OPTIONS | {name: f"--{name}" for name in COLUMNS}
ONLY_PYTHON = "undefined", "samples", "key", "ids", "sort"  # have no option
_ELLIPSIS = "\0"  # replaces calls and arguments that only Python has
_WORDS = re.compile(
    rf"""
    (?P<python> `? \b jrm [\w.]+ (?: \([^)]*\) )* | \b\w+\(…[^)]*\) | (?<!\w)\.mean\(.*?\) )
    # The names of metrics, and quoted values, stay unchanged.
    | [\w.@-]+ \( (?: [^()] | \([^()]*\) )* \)
    | (?<!\w) '(?: \\. | [^'\\] )*' | "(?: \\. | [^"\\] )*"
    | `? (?<![\w-]) (?P<argument> {"|".join((*_PASSED, *ONLY_PYTHON))} ) =
      (?P<value> '[^']*' | "[^"]*" | True | \d+(?![\w.]) | (?=[\s`;:,.)]|$) ) `?
    | (?<![\w-]) (?P<option> exclude_self | list_weights | document(?=:[ ]plain)
      | (?: (?<=and[ ]) | (?<=lower[ ]) ) relevance_threshold
      | (?: {"|".join(OPTIONS)} ) (?=[ ]is[ ]['"\d(\[]) )
    """,
    re.VERBOSE,
)


def in_options(text: str, **options: str) -> str:
    """Returns a message of the package with options of the command instead of arguments.

    If a part of the advice only works in Python, the message just says that Python allows
    more. Names of files and quoted values stay unchanged.

    Args:
        text: The message.
        options: Further options, keyed by argument.

    >>> in_options("q2 is missing; pass missing='zero' to count it; jrm.join(…) has more")
    'q2 is missing; pass --missing zero to count it; from Python, more is possible'
    """

    def spelled(match: re.Match[str]) -> str:
        name = match["argument"] or match["option"]
        if option := (_PASSED | options).get(name):
            value = (match["value"] or "").strip("'\"").removesuffix("True")
            return f"{option} {value}".rstrip()
        return _ELLIPSIS if match["python"] or name else match[0]

    problem, *cures = _WORDS.sub(spelled, text).split("; ")
    kept = [
        problem.replace(_ELLIPSIS, "…"),
        *(cure for cure in cures if _ELLIPSIS not in cure),
    ]
    return "; ".join(
        kept + ["from Python, more is possible"] * (len(kept) <= len(cures))
    )


def note(text: str) -> None:
    """Prints the command's name, and a message in the command's words, as a stderr line.

    Line breaks and other white space in the message become single spaces.
    """
    text = short(in_options(" ".join(text.split())))
    print(f"jax-rank-metrics: {text}", file=sys.stderr)


def write_out(text: str) -> None:
    """Writes a text to stdout; letters that its encoding lacks are escaped.

    Raises:
        OSError: if stdout is closed, or cannot take the whole text. Streams without a
            buffer could write only a part of it, without an error.
    """
    stream = sys.stdout
    if stream is None:
        raise OSError("stdout is closed; there is nowhere to write the results")
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):  # a stream in memory
        stream.write(text)
        return
    stream.flush()
    data = text.encode(stream.encoding or "utf-8", "backslashreplace")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)


def check(options: CommandOptions) -> None:
    """Checks options against each other, and that the files exist.

    Raises:
        ValueError: with the option to change, if options contradict each other, or a value
            or a metric cannot be used.
        FileNotFoundError: if a file does not exist.
    """
    _check_choices(options)
    if options.plot is not None:
        _check_plot(options.plot)
    _ = options.baseline_run  # raises if it is not exactly one run
    if options.level is not None and not 0 < options.level < math.inf:
        raise ValueError(f"--level is {options.level}; pass a number above 0")
    metric_names(options.words, options.trec)
    for name in RUN_LINES:
        if name in options.words and options.format != "trec":
            raise ValueError(
                f"-m {name} is a line of --format trec, not a metric; pass this format, or "
                "leave the line out"
            )
    for path in options.files:
        if path != STDIN:
            _check_file(path, options.words)


def check_gate(options: CommandOptions) -> None:
    """Checks the options of `gate`; raises as `check` does."""
    runs = 2 if options.at_least is None else 1
    if not options.words or len(options.paths) != runs:
        raise ValueError(
            "pass -m, a baseline and a candidate; or, if there is no baseline yet, the "
            "candidate and --at-least, the mean that the candidate must reach"
        )
    check(options)


def _check_file(path: Path, words: Sequence[str]) -> None:
    """Raises FileNotFoundError if there is no file; the message may advise to add -m."""
    try:
        path.stat()
    except FileNotFoundError as error:
        if (
            not words
            or re.fullmatch(r"[\w-]+(?:\.\d+)?(?:@[\d.,%]*)?", str(path)) is None
        ):
            raise
        raise FileNotFoundError(
            f"{error}; if it is a metric, pass -m for each, as in -m {words[-1]} -m {path}"
        ) from error


def _check_choices(options: CommandOptions) -> None:
    """Raises ValueError if options contradict each other, or a number is out of range."""
    format = options.format
    for is_set, option, formats in (
        (options.per_query, "--per-query", _PER_QUERY_FORMATS),
        (options.compare is not None, "--compare", _COMPARISON_FORMATS),
        (options.signature, "--signature", _COMPARISON_FORMATS),
    ):
        if is_set and format not in formats:
            raise ValueError(
                f"{option} goes with --format {', '.join(formats)}, not {format}; pass one "
                "of these formats"
            )
    if options.per_query and format == "csv" and (options.compare or options.signature):
        raise ValueError(
            "--format csv is one table; pass --per-query alone, without --compare and "
            "--signature"
        )
    if options.compare and len(options.paths) < 2:
        raise ValueError("--compare needs two runs or more; pass another run")
    if options.scored and options.trec:
        raise ValueError(
            "--trec needs judgements and runs; leave out --trec or --scored"
        )
    named = [name for name, column in options.columns.items() if column is not None]
    if named and not options.scored:
        raise ValueError(f"--{named[0]} names a column of tables; pass --scored, too")
    if options.complete and options.missing not in (None, "zero"):
        raise ValueError(
            f"--complete contradicts --missing {options.missing}; pass one of them"
        )
    try:
        has_group = options.document is None or re.compile(options.document).groups
    except re.error as error:
        raise ValueError(
            f"--document {options.document}: {error}; pass a regular expression"
        ) from error
    if not has_group:
        raise ValueError(
            f"--document {options.document} has no group; put the part of an id that is "
            "the document in parentheses, as in '(.+)#'"
        )
    if not 0 < options.confidence < 1:
        raise ValueError(
            f"--confidence is {options.confidence}; pass a number between 0 and 1"
        )
    if not 0 < options.alpha < 0.5:
        raise ValueError(f"--alpha is {options.alpha}; pass a number between 0 and 0.5")
    if options.weights is not None and format == "trec":
        raise ValueError(
            "--format trec has no --weights, because trec_eval weighs no queries; leave "
            "one of them out"
        )
    if options.files.count(STDIN) > 1:
        raise ValueError("- is given twice; only one file can be read from stdin")


def _check_plot(path: Path) -> None:
    """Raises ValueError if matplotlib cannot write a figure to this path."""
    optional.import_optional("matplotlib", "--plot", "plots")
    if not path.parent.is_dir():
        raise ValueError(
            f"--plot {path}: there is no folder {path.parent}; pass a path in a folder "
            "that exists"
        )
    backends = optional.import_optional("matplotlib.backend_bases", "--plot", "plots")
    endings = backends.FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in endings:
        raise ValueError(
            f"--plot {path}: figures are not written as {path.suffix!r}; pass a file "
            f"with one of the extensions {', '.join(sorted(endings))}"
        )


def run_names(paths: Sequence[Path]) -> list[str]:
    """Returns a name for each run: its file name, without extensions such as `.run.gz`.

    If names are equal, all names begin with as many folders as are needed to distinguish
    them. If only the extensions differ, names keep their extensions. An extension contains
    a letter, so `.9` is not an extension.

    Raises:
        ValueError: if a path is given twice.

    >>> run_names([Path("x/bm25.run.gz"), Path("x/k1=0.9")])
    ['bm25', 'k1=0.9']
    >>> run_names([Path("x/bm25.run"), Path("y/bm25.run")])
    ['x/bm25', 'y/bm25']
    >>> run_names([Path("x/bm25.run"), Path("x/bm25.csv")])
    ['bm25.run', 'bm25.csv']
    """
    stems = [
        path.with_name(
            # An extension follows at least one letter, so `.hidden` keeps its name.
            re.sub(r"(?<=.)(\.\w*[a-z]\w*)?(\.(gz|zstd?))?$", "", path.name, flags=re.I)
        )
        for path in paths
    ]
    for candidates in (stems, paths):
        for depth in range(1, max(len(path.parts) for path in candidates) + 1):
            names = ["/".join(path.parts[-depth:]) for path in candidates]
            if len({*names}) == len(names):
                return names
    raise ValueError(
        f"run {Counter(paths).most_common(1)[0][0]} is given twice; pass each run once"
    )


def words_or_default(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the words after `-m`, or the name of the default set if there are none.

    >>> words_or_default(["map", "P.5"], trec=True)
    ['map', 'P.5']
    >>> words_or_default([], trec=True), words_or_default([], trec=False)
    (['official'], ['default'])
    """
    return [*words] or ["official" if trec else "default"]


def metric_names(words: Sequence[str], trec: bool) -> list[tuple[str, bool]]:
    """Returns the names of metrics, and whether each has the meaning of trec_eval.

    Raises:
        ValueError: if a word is a measure of trec_eval that this package does not have, or
            if it holds several metrics.
    """
    names = []
    for word in words_or_default(words, trec):
        if len(typed := _metrics_in(word)) > 1:
            raise ValueError(
                f"-m {word}: pass -m for each metric, as in -m {' -m '.join(typed)}"
            )
        if word in NOT_MEASURED:
            raise ValueError(
                f"-m {word}: this measure of trec_eval is not available; leave it out"
            )
        if word.partition("@")[0] in _NOT_OF_NDEVAL:
            raise ValueError(
                f"-m {word}: this measure of ndeval is not available; pass alpha-nDCG, "
                "ERR-IA or NRBP, or alpha_dcg, which is not divided by anything"
            )
        if word == "default":
            names += [(name, trec) for name in DEFAULT]
        for name in SETS.get(word, () if word == "default" else (word,)):
            if name not in RUN_LINES and name not in NOT_MEASURED:
                names.append((name, trec or word in SETS))
    return names


def _metrics_in(word: str) -> list[str]:
    """Returns the metrics in one word, which are separated by commas or blanks.

    Commas also separate cutoffs, which are numbers, and options.

    >>> _metrics_in("ap(rel=2, denominator=hits)@5, 10,map")
    ['ap(rel=2, denominator=hits)@5, 10', 'map']
    """
    # The outermost pairs of parentheses so far, and the open parentheses without a partner.
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, letter in enumerate(word):
        if letter == "(":
            opened.append(index)
        elif letter == ")" and opened:
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, index + 1))
    letters = list(word)
    for start, stop in pairs:
        letters[start:stop] = "_" * (stop - start)
    masked = "".join(letters)
    gaps = [*re.finditer(r"(?<=[^,;\s])[,;\s]++(?=[A-Za-z])", masked)]
    starts = [0, *(gap.end() for gap in gaps)]
    stops = [*(gap.start() for gap in gaps), len(word)]
    return [word[start:stop] for start, stop in zip(starts, stops, strict=True)]


def members(words: Sequence[str], trec: bool) -> list[str]:
    """Returns the words, with sets replaced by their members, and each word once."""
    sets = [SETS.get(word, (word,)) for word in words_or_default(words, trec)]
    return [*dict.fromkeys(name for members in sets for name in members)]
