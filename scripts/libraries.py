"""Writes what other libraries answered to the conformance vectors into pages, and draws it.

python scripts/libraries.py            writes the lines between markers in docs/, and
                                       docs/_static/libraries.svg
python scripts/libraries.py --check    fails if one of these differs from the answers, if
                                       the last drawn lists refuted one, or if a sentence
                                       about a library is not in conformance/sentences.toml
                                       or says what its answers do not bear

`python conformance/ask.py` records the answers in conformance/answers.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from tabulate import tabulate

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "conformance"))

import derive  # noqa: E402
import statements  # noqa: E402

PICTURE = ROOT / "docs" / "_static" / "libraries.svg"
VECTORS = statements.data()
# The color, the name and the meaning of each kind of answer.
KINDS = {
    "reference": ("#009E73", "reference", "the reference definition"),
    "published": ("#56B4E9", "published", "another published definition"),
    "convention": ("#0072B2", "convention", "a convention of its own"),
    "refused": ("#999999", "refused", "refused, or left out"),
    "error": ("#E69F00", "no value", "no value where one is due"),
    "undefined": ("#D55E00", "not given", "a value that its definition does not give"),
}
METRICS = {
    "ndcg": "nDCG",
    "dcg": "DCG",
    "ap": "Average precision",
    "rr": "Reciprocal rank",
    "recall": "Recall",
    "precision": "Precision",
    "hit_rate": "Hit rate",
    "r_precision": "R-precision",
    "auc": "AUC",
    "bpref": "bpref",
    "rbp": "RBP",
    "err": "ERR",
    "alpha_ndcg": "α-nDCG",
}
# Arguments that give a choice here. The reference is the default, except for repeats.
HERE = {
    "gain: linear": "`gain_fn=jrm.linear_gain`",
    "discount: ln": "`discount_fn=jrm.log_discount(math.e)`",
    "discount: jk2002": "`discount_fn=jrm.log2_rank_discount`",
    "discount: reciprocal": "`discount_fn=jrm.reciprocal_discount`",
    "ideal: full": "`dcg@k` over the sum of k discounts",
    "denominator: attainable": '`denominator="attainable"`',
    "denominator: hits": '`denominator="hits"`',
    "denominator: k": '`denominator="k"`',
    "worth: graded": '`relevance="graded"`',
    "ties: id-desc": '`ties="trec"` of `join`',
    "ties: id-asc": 'items in the order of their ids, `ties="stable"`',
    "ties: input": '`ties="stable"`',
    "ties: input-reversed": 'items in reverse order, `ties="stable"`',
    "ties: worst": '`ties="worst"`',
    "threshold: relevant": "labels below 1 set to 0",
    "threshold: above-zero": "labels above 0 set to 1",
    "undefined: one": '`undefined="one"`',
    "undefined: skip": '`undefined="skip"`',
    "negative: zero": "`np.maximum(labels, 0)`",
    "nan: last": "`jnp.where(jnp.isnan(scores), -jnp.inf, scores)`",
    "nan: first": "`jnp.where(jnp.isnan(scores), jnp.inf, scores)`",
    "infinite: unretrieved": "`retrieved=scores > -jnp.inf`",
    "unjudged: removed": "`condensed=True` of `join`",
    "scores: float64": "`jax_enable_x64`",
}


DEFAULT = "default"
DEFAULTS = {"ties": DEFAULT, "undefined": "0"}
NOT_ASKED = "–"
NO_ORDER = "no stated order"
NO_OPTION = "no option"
NAMES_OF_LIBRARIES = re.compile(
    r"\b(CatBoost|cornac|haystack|ignite|implicit|ir_measures|keras_rs|LensKit|LightGBM|"
    r"llama_index|metrax|mlflow|(?:py)?trec_eval|ranx|rax|recommenders|RecTools|"
    r"scikit-learn|torchmetrics|trectools|XGBoost)\b"
)
OPTION_OF = {feature: option for option, feature in statements.FEATURE_OF.items()}


@dataclass(frozen=True)
class Library:
    """A library, and the findings from its answers.

    Attributes:
        record: Its answers.
        stated: By metric, the definition that explains most answers, with its conventions.
        definitions: The same, with choices found by drawn lists.
        equal: By metric and option, the choices that explain the same number of answers.
        verdicts: The verdict on each answer, by the id of its test.
        remarks: Remarks on answers that no definition gives, by metric and tag.
    """

    record: dict[str, Any]
    stated: dict[str, derive.Definition]
    definitions: dict[str, derive.Definition]
    equal: dict[str, dict[str, list[str]]]
    verdicts: dict[str, derive.Verdict]
    remarks: dict[tuple[str, str], str]

    @property
    def name(self) -> str:
        """Its name alone."""
        return self.record["library"]

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.name} {self.record['version']}"

    @property
    def unexplained(self) -> list[str]:
        """The tests whose answers no definition of the vectors gives."""
        answers = self.record["answers"]
        verdicts = self.verdicts.items()
        return [x for x, y in verdicts if not derive.is_equal(answers[x], y.due)]

    @property
    def random(self) -> dict[str, Any]:
        """The record of drawn lists."""
        return self.record.get("random", {"features": {}, "seeds": [], "found": {}})

    def withdrawn(self, metric: str) -> dict[str, str]:
        """Maps features of lists that the definition leaves open to words on the pages."""
        found = statements.withdrawn(self.record, metric)
        return {
            feature: "no value"
            if num_tests == num_empty
            else NO_ORDER
            if feature in ("ties", "constant")
            else "no rule"
            for feature, (num_tests, _, num_empty) in found.items()
        }

    def conventions(self, metric: str) -> dict[str, dict[str, Any]]:
        """Maps choices that v1 does not have to their remarks."""
        found = statements.conventions(self.name, metric)
        return {x["choice"]: x for x in found}

    def choices(self, metric: str) -> list[str]:
        """The choices that differ from the reference, as `option: choice or choice`."""
        options, withdrawn = VECTORS.options[metric], self.withdrawn(metric)
        conventions = self.conventions(metric)
        silent = {OPTION_OF.get(x) for x in withdrawn}
        silent |= {x.partition(":")[0] for x in conventions}
        equal, found = self.equal[metric], self.random["found"].get(metric, {})
        return [
            f"{option}: {choice if option in found else ' or '.join(equal[option])}"
            for option, choice in self.definitions[metric].items()
            if option not in silent and choice != options.get(option, [""])[0]
        ] + [
            x
            for x in conventions
            if x in statements.WITHOUT_RULE
            or statements.FEATURE_OF.get(x.partition(":")[0]) not in withdrawn
        ]

    def silences(self, metric: str) -> list[str]:
        """Returns the words of the pages on features that the definition leaves open."""
        is_named = statements.WITHOUT_RULE & {*self.conventions(metric)}
        return [
            f"{feature}: {word}"
            for feature, word in self.withdrawn(metric).items()
            if not (feature == "ties" and is_named)
        ]

    def is_told(self, metric: str, option: str) -> bool:
        """True if answers depend on an option, so that they tell its choice."""
        choices = VECTORS.options[metric].get(option, [])
        if option in self.random["found"].get(metric, {}):
            return True
        counts = self.random["features"].get(metric, {})
        # For these options, v1 tells if scores are read.
        is_of_grades = option not in ("ties", "nan", "infinite", "scores")
        feature = statements.FEATURE_OF.get(option, "") if is_of_grades else ""
        is_drawn = bool(feature) and counts.get(feature, [0])[0] > 0
        return is_drawn or self.equal[metric].get(option, choices) != choices

    def not_asked(self, *metrics: str) -> str:
        """The options whose choice the answers tell for no given metric."""
        options = dict.fromkeys(y for x in metrics for y in VECTORS.options[x])
        told = {y for x in metrics for y in options if self.is_told(x, y)}
        return ", ".join(x for x in options if x not in told) or NOT_ASKED

    def here(self, metric: str, options: Sequence[str]) -> str:
        """The arguments to pass here for some options of a metric."""
        if metric not in self.definitions:
            return NOT_ASKED
        withdrawn = self.withdrawn(metric)
        if statements.ANY_LIST in withdrawn:
            return "no definition"
        texts = HERE | {x: y["here"] for x, y in self.conventions(metric).items()}
        parts = [
            texts[choice]
            for choices in self.choices(metric)
            for choice in (choices.partition(" or ")[0],)
            if choice.partition(":")[0] in options and texts.get(choice)
        ]
        parts += [
            x.partition(": ")[2]
            for x in self.silences(metric)
            if OPTION_OF.get(x.partition(": ")[0]) in options
        ]
        if "gain" in options and "gain" in VECTORS.options[metric]:
            if not self.is_told(metric, "gain"):
                parts.append("labels of 0 and 1")
        if parts:
            return ", ".join(dict.fromkeys(parts))
        return DEFAULT if any(self.is_told(metric, x) for x in options) else NOT_ASKED


def library(record: dict[str, Any]) -> Library:
    """Derives the definitions of a library, and judges its answers."""
    remarks = statements.remarks().get(record["library"], [])
    definitions, equal = statements.derived(record)
    stated = statements.stated(record, definitions)
    claimed = statements.claimed(record, stated)
    result = Library(record, stated, claimed, equal, {}, {})
    for metric, derived in definitions.items():
        options, chosen = VECTORS.options[metric], result.definitions[metric]
        definition = {
            x: chosen[x] if chosen[x] in options[x] else derived[x] for x in options
        }
        for test_id in record["answers"]:
            test = VECTORS.tests[test_id]
            if test["metric"] != metric:
                continue
            verdict = derive.verdict(test, record, definition, VECTORS)
            meant = (
                x
                for x in remarks
                if metric in x["metrics"]
                and "text" in x
                and test["tag"] in x.get("tags", [test["tag"]])
            )
            if verdict.kind in ("undefined", "error") and (remark := next(meant, None)):
                result.remarks[metric, test["tag"]] = remark["text"]
                verdict = replace(verdict, kind=remark.get("kind", verdict.kind))
            named = {x.partition(":")[0] for x in result.conventions(metric)}
            entry = derive.held(test, definition)
            if verdict.kind == "published" and named & {*entry["when"]}:
                verdict = replace(verdict, kind="convention")
            result.verdicts[test_id] = verdict
    return result


def libraries() -> list[Library]:
    """All libraries whose answers are recorded."""
    return [library(record) for record in derive.answers().values()]


def number(value: float | None) -> str:
    """A value as text."""
    return "no value" if value is None else f"{value:.5g}"


def summary(all_libraries: list[Library]) -> str:
    """The table of libraries."""
    rows = []
    for x in all_libraries:
        kinds = [verdict.kind for verdict in x.verdicts.values()]
        counts = [kinds.count(kind) for kind in KINDS]
        num_drawn = sum(seed["answers"] for seed in x.random["seeds"]) or NOT_ASKED
        rows.append((x.title, x.record["date"], len(kinds), *counts, num_drawn))
    headers = (
        "library",
        "asked on",
        "answers",
        *(name for _, name, _ in KINDS.values()),
        "of drawn lists",
    )
    return tabulate(rows, headers, tablefmt="github")


def adapters(all_libraries: list[Library]) -> str:
    """The table of the data that each adapter hands over, from its docstring."""
    rows = []
    for x in all_libraries:
        path = derive.adapter(x.record["library"])
        _, _, data = path.read_text(encoding="utf-8").splitlines()[0].partition(": ")
        rows.append((x.title, f"`{path.name}`", data.strip('."')))
    return tabulate(rows, ("library", "adapter", "what it takes"), tablefmt="github")


def definitions(all_libraries: list[Library]) -> str:
    """A table for each metric: the libraries, and the definition that each follows."""
    parts = []
    for metric, title in METRICS.items():
        rows = []
        for x in all_libraries:
            if metric not in x.definitions:
                continue
            kinds = [x.verdicts[y].kind for y in x.verdicts if of(y) == metric]
            explained = len(kinds) - kinds.count("undefined") - kinds.count("error")
            choices = ", ".join(x.choices(metric)) or "the reference"
            silent = ", ".join(x.silences(metric)) or "–"
            drawn = x.random["features"].get(metric, {})
            num_drawn = drawn.get("", [0])[0] or NOT_ASKED
            count = f"{explained} of {len(kinds)}"
            row = (x.title, choices, silent, x.not_asked(metric), count, num_drawn)
            rows.append(row)
        if rows:
            headers = ("library", "definition", "but for lists with")
            headers = (*headers, "not asked", "answers to v1", "drawn lists")
            parts += [f"### {title}", tabulate(rows, headers, tablefmt="github")]
    return "\n\n".join(parts)


def of(test_id: str) -> str:
    """The metric of a test."""
    return VECTORS.tests[test_id]["metric"]


def unexplained(all_libraries: list[Library]) -> str:
    """The table of answers that no definition gives, one for each remark."""
    rows = []
    for x in all_libraries:
        by_remark: dict[tuple[str, str], list[str]] = {}
        for test in x.unexplained:
            remark = x.remarks.get((of(test), VECTORS.tests[test]["tag"]), "")
            by_remark.setdefault((x.verdicts[test].kind, remark), []).append(test)
        for (kind, remark), tests in by_remark.items():
            known = [y for y in tests if x.verdicts[y].due is not None] or tests
            example = max(known, key=lambda y: bool(x.verdicts[y].like))
            verdict, answer = x.verdicts[example], x.record["answers"][example]
            like = f", as {verdict.like}" if verdict.like else ""
            instance = f"{example}: {number(answer)} for {number(verdict.due)}{like}"
            metrics = ", ".join(dict.fromkeys(map(of, tests)))
            tags = ", ".join(dict.fromkeys(VECTORS.tests[y]["tag"] for y in tests))
            name, sentence = KINDS[kind][1], remark[:1].upper() + remark[1:]
            answers = f"{len(tests)}, {name}"
            rows.append((x.title, f"{metrics}: {tags}", answers, instance, sentence))
    headers = ("library", "metrics: data", "answers", "for instance", "remark")
    return tabulate(rows, headers, tablefmt="github")


def meanings(all_libraries: list[Library]) -> str:
    """The table of the choices that appear in the definitions."""
    used = {
        f"{option}: {choice}"
        for x in all_libraries
        for metric in x.definitions
        for option, _, choices in (y.partition(": ") for y in x.choices(metric))
        for choice in choices.split(" or ")
    }
    in_v1 = {
        f"{option}: {choice}"
        for options in VECTORS.options.values()
        for option, choices in options.items()
        for choice in choices
    }
    rows = [
        (
            f"{option}: {choice}",
            meaning,
            status if f"{option}: {choice}" in in_v1 else "not in v1",
            HERE.get(f"{option}: {choice}", NO_OPTION),
        )
        for option, choices in VECTORS.meanings.items()
        for choice, (status, meaning, _) in choices.items()
        if f"{option}: {choice}" in used
    ]
    rows += {
        (choice, convention["text"], "not in v1", convention["here"]): None
        for x in all_libraries
        for metric in x.definitions
        for choice, convention in x.conventions(metric).items()
        if choice in used
        and choice.partition(": ")[2]
        not in VECTORS.meanings.get(choice.partition(":")[0], {})
    }
    headers = ("choice", "meaning", "status", "here")
    return tabulate(rows, headers, tablefmt="github")


UNEXPLAINED = "answers-that-the-definition-does-not-give"
OF_A_METRIC = ("gain", "threshold", "discount", "ideal", "denominator", "worth")


def in_common(x: Library, option: str) -> str:
    """The argument here for an option of all metrics, and for metrics that differ."""
    texts = {
        metric: x.here(metric, (option,)).replace(DEFAULT, DEFAULTS[option])
        for metric in x.definitions
    }
    texts = {x: y for x, y in texts.items() if y != NOT_ASKED}
    by_text = sorted({*texts.values()}, key=lambda y: ([*texts.values()].count(y), y))
    parts = [
        f"{', '.join(metric for metric in texts if texts[metric] == text)}: {text}"
        for text in by_text[:-1]
    ]
    last = "".join(by_text[-1:]) or NOT_ASKED
    return "; ".join([*parts, ("others: " if parts else "") + last])


def whose(all_libraries: list[Library]) -> str:
    """The table of options that give the numbers of a library."""
    rows = [
        (
            x.title,
            *(x.here(metric, OF_A_METRIC) for metric in ("ndcg", "precision", "ap")),
            *(in_common(x, option) for option in ("ties", "undefined")),
        )
        for x in all_libraries
    ]
    # The columns say to which arguments quoted texts belong.
    names = r"\b(?:denominator|ties|undefined)="
    rows = [[re.sub(names, "", cell) for cell in row] for row in rows]
    headers = (
        *("library", "ndcg", "precision at k", "average precision at k"),
        *("ties", "nothing relevant"),
    )
    return tabulate(rows, headers, tablefmt="github")


def coming_from(x: Library) -> str:
    """The text on the page of a library about its answers."""
    metrics_of: dict[tuple[str, str], list[str]] = {}
    for metric in x.definitions:
        conventions = x.conventions(metric)
        for choice in x.choices(metric):
            named = conventions.get(choice, {}).get("here", NO_OPTION)
            text = HERE.get(choice.partition(" or ")[0], named)
            metrics_of.setdefault((choice, text), []).append(metric)
    for metric in x.definitions:
        for silence in x.silences(metric):
            metrics_of.setdefault((silence, NOT_ASKED), []).append(metric)
    rows = [
        (choice, "all" if len(names) == len(x.definitions) else ", ".join(names), text)
        for (choice, text), names in metrics_of.items()
    ]
    table = tabulate(rows, ("choice", "metrics", "here"), tablefmt="github")
    count = len(x.unexplained)
    page = "../check-your-numbers.md"
    close = (
        f"A library's *definition* of a metric is the combination of choices that\n"
        f"explains most of its answers. Of the answers for the test lists, {count}\n"
        f"differ from the value that the definition gives. These answers are listed in\n"
        f"[Check your numbers]({page}#{UNEXPLAINED})."
    )
    not_asked = x.not_asked(*x.definitions)
    seeds = x.random["seeds"]
    num_drawn = sum(seed["answers"] for seed in seeds)
    return (
        f"To find out how {x.name} defines its metrics, we gave it lists, and compared\n"
        f"its answers with the definitions that are in use. On {x.record['date']},\n"
        f"{x.title} was asked for {len(x.verdicts)} values for the test lists of\n"
        f"[Check your numbers]({page}), and for {num_drawn} values for\n"
        f"randomly drawn lists. The values were of these metrics:\n"
        f"{', '.join(x.definitions)}.\n\n"
        f"The table shows where the answers differ from the *reference*, the definition\n"
        f"that this package uses by default. There are two kinds of rows:\n\n"
        f"- Some rows name an option of the definition, such as *ties*, and the choice\n"
        f"  that the library makes for this option. If a row names two choices with\n"
        f"  *or*, both explain the answers equally well. [Choices]({page}#choices)\n"
        f"  says what each choice means. The last column says what to pass here to get\n"
        f"  the numbers of the library; with *no option*, this package cannot compute\n"
        f"  these numbers.\n"
        f"- The other rows name a kind of list, such as lists with NaN scores. In a row\n"
        f"  with *no value*, the library gave no value for lists of this kind. In a row\n"
        f"  with *no rule* or *no stated order*, this page makes no statement about what\n"
        f"  the library computes for lists of this kind.\n"
        f"\n{table}"
        + (
            f"\n\nThe answers do not show which choice the library makes for these\n"
            f"options: {not_asked}."
            if not_asked != NOT_ASKED
            else ""
        )
        + (f"\n\n{close}" if count else "")
    )


def picture(all_libraries: list[Library]) -> str:
    """The matrix of features and libraries as SVG, legible at a width of 368 px."""
    tags = list(dict.fromkeys(test["tag"] for test in VECTORS.tests.values()))
    cells = {
        (tag, x.title): [
            kind
            for kind in KINDS
            if any(
                verdict.kind == kind and VECTORS.tests[test]["tag"] == tag
                for test, verdict in x.verdicts.items()
            )
        ]
        for tag in tags
        for x in all_libraries
    }
    tags = [tag for tag in tags if any(cells[tag, x.title] for x in all_libraries)]
    left, top, height = 94, 84, 13
    width = (368 - left) / len(all_libraries)
    bottom = top + height * len(tags)
    total = bottom + 14 * len(KINDS) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="368" height="{total}" '
        f'viewBox="0 0 368 {total}" font-family="sans-serif" font-size="9.5" '
        'fill="#7a7f87">'
    ]
    for column, x in enumerate(all_libraries):
        middle = left + (column + 0.5) * width + 3
        name = escape(x.record["library"])
        parts.append(
            f'<text transform="translate({middle:.1f} {top - 4}) rotate(-90)">{name}</text>'
        )
    for row, tag in enumerate(tags):
        y = top + row * height
        parts.append(
            f'<text x="{left - 4}" y="{y + 10}" text-anchor="end">{escape(tag)}</text>'
        )
        for column, x in enumerate(all_libraries):
            kinds = cells[tag, x.title]
            for i, kind in enumerate(kinds):
                part = (width - 1) / len(kinds)
                start = left + column * width + i * part
                size = f'width="{part:.2f}" height="{height - 1}"'
                fill = f'fill="{KINDS[kind][0]}"'
                parts.append(f'<rect x="{start:.2f}" y="{y}" {size} {fill}/>')
    empty = ("none", "", "empty: not asked")
    for i, (color, _, meaning) in enumerate([*KINDS.values(), empty]):
        y = bottom + 8 + 14 * i
        parts.append(
            f'<rect x="{left}" y="{y}" width="10" height="10" fill="{color}"/>'
        )
        parts.append(f'<text x="{left + 15}" y="{y + 9}">{meaning}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def blocks(all_libraries: list[Library]) -> dict[str, Callable[[], str]]:
    """The texts between markers, by the names of the markers."""
    tables = (summary, definitions, unexplained, meanings, adapters, whose)
    result = {
        f"{x.__name__} of libraries": lambda x=x: x(all_libraries) for x in tables
    }
    for x in all_libraries:
        result[f"answers of {x.record['library']}"] = lambda x=x: coming_from(x)
    return result


def written(all_libraries: list[Library]) -> Iterator[tuple[Path, str]]:
    """Every file that the answers determine, with its text."""
    yield PICTURE, picture(all_libraries)
    texts = blocks(all_libraries)
    pattern = r"(<!-- (answers of [^>]*|\w+ of libraries) -->\n).*?(?=<!-- end -->)"
    for path in sorted((ROOT / "docs").glob("**/*.md")):
        text = path.read_text(encoding="utf-8")
        if "<!-- end -->" in text:
            yield (
                path,
                re.sub(
                    pattern,
                    lambda x: f"{x[1]}\n{texts[x[2]]()}\n\n",
                    text,
                    flags=re.DOTALL,
                ),
            )


def bears(x: Library, statement: str) -> bool:
    """True if recorded answers bear a statement, `metrics option: choice`.

    Args:
        x: The library.
        statement: Metrics with commas between them, or `all`. In place of an option there
            can be a feature of lists, with its word.
    """
    names, _, said = statement.partition(" ")
    option, _, choice = said.partition(": ")
    metrics = [*x.definitions] if names == "all" else names.split(",")
    for metric in metrics:
        if metric not in x.definitions or statements.ANY_LIST in x.withdrawn(metric):
            return False
        if said in x.silences(metric) or said in x.conventions(metric):
            continue
        feature = statements.FEATURE_OF.get(option)
        is_chosen = x.definitions[metric].get(option) == choice
        if not is_chosen or feature in x.withdrawn(metric):
            return False
        if not x.is_told(metric, option):
            return False
    return True


def faults(all_libraries: list[Library]) -> Iterator[str]:
    """Yields what the recorded answers do not bear."""
    for x in all_libraries:
        seeds = x.random["seeds"]
        if len(seeds) < 4 or any(y["refuted"] or y["lists"] < 500 for y in seeds[-2:]):
            yield f"{x.title}: the last two of four seeds are to refute nothing"
        stated = statements.without_reference(x.stated)
        if x.random.get("definitions") != stated:
            yield f"{x.title}: drawn lists were asked under other definitions"
    by_name = {x.name: x for x in all_libraries}
    path = ROOT / "conformance" / "sentences.toml"
    for page, sentences in tomllib.loads(path.read_text(encoding="utf-8")).items():
        text = (ROOT / page).read_text(encoding="utf-8")
        text = re.sub(
            r"<!-- (\w+) of libraries -->.*?<!-- end -->", "", text, flags=re.DOTALL
        )
        text = re.sub(r"\]\([^)]*\)", "]", text.partition("\n## ")[2])
        text = " ".join(text.split())
        for sentence in sentences:
            if sentence["text"] not in text:
                yield f'{page} does not say "{sentence["text"]}"'
            text = text.replace(sentence["text"], "")
            for said in sentence.get("says", ()):
                name, _, statement = said.partition(" ")
                if not bears(by_name[name], statement):
                    yield f'{page}: "{sentence["text"]}": the answers do not bear {said}'
        for found in re.finditer(NAMES_OF_LIBRARIES, text):
            around = text[max(found.start() - 60, 0) : found.end() + 60]
            yield f"{page} has a sentence that is not in {path.name}: …{around}…"


def main() -> None:
    """Writes or checks."""
    all_libraries = libraries()
    if "--check" in sys.argv[1:] and (found := [*faults(all_libraries)]):
        sys.exit("\n".join(found))
    for path, text in written(all_libraries):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not as recorded; run python scripts/libraries.py")


if __name__ == "__main__":
    main()
