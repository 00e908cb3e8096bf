"""Answers of other libraries to the conformance vectors, and the pages that show them."""

import ast
import datetime
import itertools
import math
import random
import re
import runpy
import sys
import tomllib

import pytest
from pages import ROOT

CONFORMANCE = ROOT / "conformance"
if not (ROOT / "scripts").exists():
    pytest.skip("there are no scripts beside the tests", allow_module_level=True)
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "libraries.py"))
VECTORS, derive, statements = (SCRIPT[x] for x in ("VECTORS", "derive", "statements"))
LIBRARIES = SCRIPT["libraries"]()
ADAPTERS = [*CONFORMANCE.glob("libraries/*.py")]


def test_answers():
    assert len(LIBRARIES) >= 18
    assert len({x.title for x in LIBRARIES}) == len(LIBRARIES)
    for library in LIBRARIES:
        record = library.record
        answers, errors = record["answers"], record["errors"]
        assert answers.keys() <= VECTORS.tests.keys()
        assert {x for x in errors if answers[x] is not None} == set()
        assert re.match(r"\d+\.\d+", record["version"])
        datetime.date.fromisoformat(record["date"])
        assert library.verdicts.keys() == answers.keys()


def test_definitions_are_legitimate():
    for library in LIBRARIES:
        assert library.definitions
        for metric, definition in library.definitions.items():
            options = VECTORS.options[metric]
            assert definition.keys() >= options.keys()
            changed = library.random["found"].get(metric, {}).keys()
            changed |= {x.partition(":")[0] for x in library.conventions(metric)}
            for option in definition.keys() - changed:
                assert definition[option] in options[option]
                assert VECTORS.meanings[option][definition[option]][0] != "mistake"


def test_every_value_that_its_definition_does_not_give_has_a_remark():
    missing = [
        (library.title, test)
        for library in LIBRARIES
        for test in library.unexplained
        if (SCRIPT["of"](test), VECTORS.tests[test]["tag"]) not in library.remarks
    ]
    assert missing == []


def test_drawn_lists_are_recorded():
    """The last two of at least four seeds refuted nothing, and no feature is unknown."""
    asked = [x for x in LIBRARIES if x.random["seeds"]]
    assert len(asked) == 21
    for library in asked:
        random = library.random
        seeds = [x["seed"] for x in random["seeds"]]
        assert len(seeds) == len({*seeds}) >= 4
        assert sum(x["answers"] for x in random["seeds"]) >= 100
        assert [x["refuted"] for x in random["seeds"]][-2:] == [0, 0]
        assert random["features"].keys() == library.definitions.keys()
        for table in random["features"].values():
            assert table.keys() <= {"", *statements.FEATURES}
            assert table[""][1] == 0
            for num_tests, num_failed, num_empty in table.values():
                assert 0 <= num_failed <= num_tests >= num_empty


# Maps statements about libraries to True if the library's recorded answers bear them.
BORNE = {
    "XGBoost ap ties: input": True,
    "XGBoost ap cutoff: 32": True,
    "XGBoost ap graded: no value": True,
    "XGBoost ap nan: first": False,
    "torchmetrics ap,hit_rate ties: input": False,
    "torchmetrics ndcg,auc ties: expected": True,
    "ranx ndcg ties: input": False,
    "ranx ndcg ties: no stated order": True,
    "LightGBM ap undefined: one": True,
    "LightGBM ap threshold: above-zero": False,
    "mlflow ndcg gain: exp2": False,  # its labels are 0 and 1
    "haystack ndcg ties: expected": False,  # not asked
    "recommenders auc ties: input": False,
}


@pytest.mark.parametrize("statement", BORNE)
def test_what_answers_bear(statement):
    name, _, said = statement.partition(" ")
    (library,) = (x for x in LIBRARIES if x.name == name)
    assert SCRIPT["bears"](library, said) == BORNE[statement]


def test_pages_say_what_answers_bear(tmp_path, monkeypatch):
    """The check complains if answers do not bear, or refute, a sentence of a page."""
    faults = SCRIPT["faults"]
    assert [*faults(LIBRARIES)] == []
    globals_of_script = faults.__globals__
    (tmp_path / "conformance").mkdir()
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    sentences = tmp_path / "conformance" / "sentences.toml"
    sentences.write_text(
        '[["docs/page.md"]]\ntext = "ranx keeps ties in order."\n'
        'says = ["ranx ap ties: input"]\n'
    )
    monkeypatch.setitem(globals_of_script, "ROOT", tmp_path)
    page.write_text("# A\n\n## B\n\nranx keeps ties\nin order. So does rax.\n")
    refuted, unknown = faults(LIBRARIES)
    assert refuted.endswith("the answers do not bear ranx ap ties: input")
    assert "is not in sentences.toml: …B  So does rax.…" in unknown
    page.write_text("# A\n\n## B\n")
    (missing,) = (x for x in faults(LIBRARIES) if "does not say" in x)
    assert missing == 'docs/page.md does not say "ranx keeps ties in order."'


def test_no_cell_is_empty():
    for block in ("definitions", "whose", "summary"):
        for line in SCRIPT[block](LIBRARIES).splitlines():
            cells = [x.strip() for x in line.strip("|").split("|")]
            assert all(cells) or not line.startswith("|"), line


def test_choices_are_charged_with_what_fails():
    """A choice with which all lists of a feature hold is found; else it is withdrawn."""
    reference = {option: x[0] for option, x in VECTORS.options["dcg"].items()}

    def drawn(features, **due):
        def held(choices):
            return all(choices[x] == y for x, y in due.items())

        return statements.Drawn({*features}, True, held)

    tests = [
        drawn(["graded"]),
        drawn(["negative grades"], negative="counted"),
        drawn(["negative grades", "k>n"], negative="counted"),
        drawn(["ties"], ties="input"),
        drawn(["ties", "graded"], ties="id-asc"),
        drawn(["ties", "negative grades"], ties="worst"),
    ]
    record = {"library": "none", "answers": {"lists/first/dcg": 1.0}, "errors": {}}
    random, refuted = statements.recorded(record, {"dcg": tests})
    assert (random["found"], refuted) == ({"dcg": {"negative": "counted"}}, 5)
    table = random["features"]["dcg"]
    assert (table["ties"], table["negative grades"]) == ([3, 3, 0], [2, 0, 0])
    # Other lists do not change an earlier finding, but withdraw it.
    record["random"] = random
    other = [drawn(["negative grades"], negative="zero")]
    random, refuted = statements.recorded(record, {"dcg": other})
    assert refuted == 1
    assert {*statements.withdrawn({"random": random}, "dcg")} == {
        "ties",
        "negative grades",
    }
    assert reference["negative"] == "removed"


def test_drawn_lists_hold_all_kinds_of_data(monkeypatch):
    """The same seed draws the same lists, and each feature is there."""
    monkeypatch.setattr(sys, "path", [str(CONFORMANCE), *sys.path])
    drawn_lists = pytest.importorskip("drawn_lists", exc_type=ImportError)
    metrics = {x: derive.parameters()[x] for x in ("ndcg", "ap")}
    groups = drawn_lists.groups(5, 150, metrics)
    assert groups[:9] == drawn_lists.groups(5, 9, metrics)
    found = set()
    for group in groups:
        for test in group["tests"]:
            found |= drawn_lists.features(group, test)
    assert found == {*statements.FEATURES}
    reference = {option: x[0] for option, x in VECTORS.options["ap"].items()}
    group = {"qrels": {"a": 1, "b": 0, "c": 1}, "run": [["a", 2], ["b", 1], ["c", 1]]}
    test = {"metric": "ap", "k": None, "rel": 1}
    for ties, value in (("expected", 11 / 12), ("thresholds", 5 / 6), ("worst", 5 / 6)):
        assert drawn_lists.holds(group, test, value, reference | {"ties": ties})
        assert not drawn_lists.holds(group, test, None, reference | {"ties": ties})


def test_the_comparison_of_readme_has_proofs():
    """Each cell of the table is in `comparison.toml` with its proof, and the answers bear it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- comparison from here -->")[2].partition("<!--")[0]
    header, _, own, *rows = (
        [x.strip() for x in line.strip("|").split("|")]
        for line in table.strip().splitlines()
    )
    assert own[0] == "**jax_rank_metrics**"
    path = ROOT / "tests" / "comparison.toml"
    proofs = tomllib.loads(path.read_text(encoding="utf-8"))
    assert proofs.keys() == {row[0] for row in rows}
    titles = {x.name: x for x in LIBRARIES}
    for name, *cells in rows:
        said = {x: y for x, y in zip(header[1:], cells, strict=True) if y != "–"}
        proof = proofs[name]
        assert re.search(r"\d", proof.pop("read"))
        assert said == {x: cell for x, (cell, _) in proof.items()}, name
        named = " ".join(y for _, y in proof.values())
        for path in re.findall(r"(?:tests|docs|conformance)/[\w./-]+\w", named):
            assert (ROOT / path).exists(), path
        if library := titles.get({"trec_eval": "pytrec_eval"}.get(name, name)):
            exact = {"nDCG": "ndcg", "AUC": "auc", "AP": "ap", "RR": "rr"}
            borne = [
                x
                for x, y in exact.items()
                if SCRIPT["bears"](library, f"{y} ties: expected")
            ]
            assert ", ".join(borne) == said.get("exact under ties", ""), name


def test_adapters_are_short_and_have_answers():
    """An adapter has at most 15 lines, apart from the docstring and the imports."""
    assert {derive.adapter(x.record["library"]) for x in LIBRARIES} == {*ADAPTERS}
    for path in ADAPTERS:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        aside = [x for x in tree.body if isinstance(x, (ast.Import, ast.ImportFrom))]
        lines = {
            y for x in [tree.body[0], *aside] for y in range(x.lineno, x.end_lineno + 1)
        }
        code = [
            line
            for i, line in enumerate(text.splitlines(), 1)
            if line.strip() and i not in lines
        ]
        assert len(code) <= 15, path.name


METRICS = ("ndcg", "ap", "precision", "rr", "rbp", "alpha_ndcg")


@pytest.mark.parametrize("metric", METRICS)
def test_a_planted_definition_is_derived(metric):
    """Answers by any full choice are explained, and changed ones are named."""
    generator = random.Random(metric)
    options = VECTORS.options[metric]
    tests = [x for x in VECTORS.tests.values() if x["metric"] == metric]
    for _ in range(3):
        planted = {option: generator.choice(x) for option, x in options.items()}
        answers = {x["id"]: derive.held(x, planted)["value"] for x in tests}
        errors = {x["id"]: "" for x in tests if derive.held(x, planted).get("error")}
        record = {"answers": answers, "errors": errors}
        definition, _ = derive.definition(tests, record, options)
        kinds = {derive.verdict(x, record, definition, VECTORS).kind for x in tests}
        assert not kinds & {"undefined", "error"}

        changed = {x["id"] for x in generator.sample(tests, len(tests) // 8)}
        for test in changed:
            answers[test] = 7.5
            errors.pop(test, None)
        definition, _ = derive.definition(tests, record, options)
        verdicts = {
            x["id"]: derive.verdict(x, record, definition, VECTORS) for x in tests
        }
        assert {x for x in verdicts if verdicts[x].kind == "undefined"} == changed


def planted_definitions(options):
    """Yields all definitions, or of many, changes of two options and random ones."""
    reference = {option: x[0] for option, x in options.items()}
    if math.prod(map(len, options.values())) <= 20_000:
        for chosen in itertools.product(*options.values()):
            yield dict(zip(options, chosen, strict=True))
        return
    for first, second in itertools.combinations(options, 2):
        for x, y in itertools.product(options[first][1:], options[second][1:]):
            yield reference | {first: x, second: y}
    generator = random.Random("definitions")
    for _ in range(150):
        yield {option: generator.choice(x) for option, x in options.items()}


@pytest.mark.long
@pytest.mark.parametrize("metric", VECTORS.options)
def test_every_planted_definition_is_derived(metric):
    """The definition that is derived is the planted one, or gives all of its answers."""
    options = VECTORS.options[metric]
    tests = [x for x in VECTORS.tests.values() if x["metric"] == metric]
    for planted in planted_definitions(options):
        entries = {x["id"]: derive.held(x, planted) for x in tests}
        answers = {x: entry["value"] for x, entry in entries.items()}
        errors = {x: "" for x, entry in entries.items() if entry.get("error")}
        record = {"answers": answers, "errors": errors}
        derived, equal = derive.definition(tests, record, options)
        for test in tests if derived != planted else ():
            value = derive.held(test, derived)["value"]
            assert value == answers[test["id"]], (planted, derived, test["id"])
        assert all(planted[x] in equal[x] for x in options), (planted, equal)


@pytest.mark.parametrize("seed", range(5))
def test_no_definition_explains_more_than_the_one_that_is_derived(seed):
    """If no definition gives the answers, trying each one explains no more of them."""
    options, generator = VECTORS.options["rbo"], random.Random(seed)
    tests = [x for x in VECTORS.tests.values() if x["metric"] == "rbo"]
    answers = {x["id"]: generator.choice(x["values"])["value"] for x in tests}
    record = {"answers": answers, "errors": {}}

    def num_explained(definition):
        values = ((x["id"], derive.held(x, definition)["value"]) for x in tests)
        return sum(derive.is_equal(answers[test], value) for test, value in values)

    derived, _ = derive.definition(tests, record, options)
    assert num_explained(derived) == max(
        map(num_explained, planted_definitions(options))
    )


REFERENCE = {option: x[0] for option, x in VECTORS.options["ndcg"].items()}
LINEAR = {"gain": "linear", "negative": "error", "undefined": "skip"}
VERDICTS = [
    ({}, "lists/short-list/ndcg@5", 0.6131471927654584, ("reference", "")),
    ({}, "lists/short-list/ndcg@5", 1.0, ("undefined", "ideal: returned")),
    ({}, "lists/short-list/ndcg@5", 0.5, ("undefined", "discount: jk2002")),
    ({}, "lists/short-list/ndcg@5", None, ("error", "")),
    ({"discount": "jk2002"}, "lists/short-list/ndcg@5", 0.5, ("published", "")),
    (LINEAR, "lists/nothing-relevant/ndcg@2", None, ("convention", "")),
    (LINEAR, "lists/negative-first/ndcg", ValueError, ("refused", "")),
    (LINEAR, "lists/first/ndcg", ValueError, ("error", "")),
]


@pytest.mark.parametrize(("choices", "test", "answer", "expected"), VERDICTS)
def test_verdicts(choices, test, answer, expected):
    is_error = answer is ValueError
    record = {"answers": {test: None if is_error else answer}, "errors": {}}
    record["errors"] |= {test: "ValueError: "} if is_error else {}
    verdict = derive.verdict(VECTORS.tests[test], record, REFERENCE | choices, VECTORS)
    assert (verdict.kind, verdict.like) == expected


def test_what_a_library_cannot_say_is_not_asked(monkeypatch):
    """Forms of the data refuse what they would have to leave out."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    ask = runpy.run_path(str(CONFORMANCE / "ask.py"))
    plain = {"id": "x", "qrels": {"a": 1, "b": 0}, "run": [["b", "Infinity"], ["a", 1]]}
    group = {
        "plain": plain,
        "graded": plain | {"qrels": {"a": 2, "b": 0.5}},
        "pool": plain | {"qrels": {"a": 1, "b": 0, "z": 1}},
        "repeated": plain | {"run": [["b", 2], ["a", 1], ["a", 0]]},
        "tied": plain | {"run": [["b", 2], ["a", 2]]},
        "two": {"id": "x", "queries": [plain, {"id": "y", "run": [["c", 1]]}]},
    }
    # Maps each form to the groups that it can say.
    sayable = {
        "ids": {"plain", "graded", "pool", "repeated"},
        "relevant": {"plain", "pool", "repeated", "tied"},
        "scores": {"plain", "graded", "tied"},
        "labels": {"plain", "graded", "tied"},
        "binary": {"plain", "tied"},
    }
    said = {form: set() for form in sayable}
    for name, data in group.items():
        for form in sayable:
            try:
                getattr(ask["case_of"](data).only, form)
            except ask["Unsayable"]:
                continue
            said[form].add(name)
    assert said == sayable
    case = ask["case_of"](group["two"])
    assert (case.qrels, case.run) == (
        {"1": {"a": 1, "b": 0}},
        {"1": {"b": float("inf"), "a": 1}, "2": {"c": 1}},
    )
    with pytest.raises(ask["Unsayable"]):
        _ = case.complete
    with pytest.raises(ask["Unsayable"]):
        _ = ask["case_of"](group["repeated"]).run

    defaults = {"k": None, "rel": 1}
    test = {"k": 2, "rel": 1}
    asked = ask["answer"](lambda case, k: k, plain, test, defaults)
    assert (
        asked == 2
        and ask["answer"](lambda case, k: float("nan"), plain, test, defaults) is None
    )
    for function in (lambda case: 0, lambda case, rel: 0):
        with pytest.raises(ask["Unsayable"]):
            ask["answer"](function, plain, test, defaults)
    with pytest.raises(ask["Unsayable"]):
        ask["answer"](lambda case, k: 0, plain, test | {"k": None}, defaults)


def test_the_picture_is_legible_on_a_telephone():
    text = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    assert 'viewBox="0 0 368 ' in text
    # A picture is 358 pixels wide on a screen of 390 pixels.
    sizes = re.findall(r'font-size="([\d.]+)"', text)
    assert sizes and min(map(float, sizes)) * 358 / 368 >= 9


def test_no_convention_is_called_a_fault():
    page = (ROOT / "docs" / "check-your-numbers.md").read_text(encoding="utf-8")
    assert "wrong" not in page.lower()
