"""The package, and tests/oracle.py, held to the conformance vectors on every path.

By default, the rows of `rank` are compared under the options of most metrics, and the other
paths under the reference; the long tests compare all that the package can say.
"""

import functools
import hashlib
import itertools
import json
import math
import re
import shutil
import subprocess
import sys
import warnings

import jax
import jsonschema
import numpy as np
import oracle
import polars as pl
import pytest
from conformance_vectors import (
    ABOVE_ZERO,
    DATA,
    FOLDER,
    GROUPS,
    METRICS,
    arrays_of,
    asks_of,
    cutoffs_of,
    failures,
    held_entry,
    is_equal,
    known,
    number,
    options_open_in,
    padded,
    row_of,
    rows_of,
    topics_of,
)
from marks import long, long_rows

import jax_rank_metrics as jrm

# The digest of the files of v1, in the order of their names. v1 freezes with the first
# release. From then on, no value of an id changes; later groups raise the revision and come
# with a new digest; a wrong value stays and becomes one of the errata; a changed meaning is
# a folder v2.
DIGEST = "c91acab6cbd866b7845337f62d1aff733627a40dd847a6bba328aeaeac3eecf6"
REVISION = 1

# Gains beyond float32 make a list NaN; see docs/numerics.md.
BEYOND_FLOAT32 = {"grades-130"}
NEGATIVE = ("removed", "zero", "unjudged")
# The largest cutoffs that are compiled by default, for `rank` and for the other paths.
SOME_RANKS, FEW_RANKS = 3, 2
POLICIES = {
    "expected": ("expected",),
    "stable": ("input", "input-reversed", "id-asc", "id-desc"),
    "worst": ("worst",),
}
# Longer lists are compared on their own, since rows are padded to one length.
LONGEST = 60
LISTS = [
    group
    for group in GROUPS.values()
    if "qrels" in group and "duplicates" not in options_open_in(group)
]
LONG_LISTS = [group for group in LISTS if len(group["run"]) > LONGEST]
LISTS = [group for group in LISTS if len(group["run"]) <= LONGEST]


def run_checker(*command):
    return subprocess.run(command, capture_output=True, text=True)


def test_digest():
    files = sorted((FOLDER / "v1").iterdir())
    content = b"".join(path.read_bytes() for path in files)
    assert hashlib.sha256(content).hexdigest() == DIGEST
    assert sum(path.stat().st_size for path in files) <= 450_000


def test_headers():
    """They tell a file's origin, and name no library, because they outlive its versions."""
    names = {path.stem for path in FOLDER.glob("libraries/*.py")}
    names |= {
        "trec_eval",
        "gdeval",
        "numpy",
        "sklearn",
        "torch",
        "jax",
        "jax_rank_metrics",
    }
    for name, data in DATA.items():
        text = (FOLDER / f"v1/{name}.json").read_text(encoding="ascii")
        content = text[text.index('"groups": [') :]
        assert data["sha256"] == hashlib.sha256(content.encode()).hexdigest()
        assert data["tests"] == sum(len(group["tests"]) for group in data["groups"])
        assert (data["revision"], data["errata"]) == (REVISION, [])
        words = {*re.findall(r"\w+", json.dumps(data["options"]).lower())}
        assert not words & names, words & names


def test_every_choice_is_told_from_every_other():
    """For two choices of an option, a test has two values that differ in nothing else."""
    options: dict = {}
    told: set = set()
    for data in DATA.values():
        for metric, entry in data["metrics"].items():
            options.setdefault(metric, {}).update(entry["options"])
        for test in (test for group in data["groups"] for test in group["tests"]):
            own = data["metrics"][test["metric"]]["options"]
            for first, second in itertools.combinations(test["values"], 2):
                values = [(x["value"], x.get("error")) for x in (first, second)]
                sides = [own | x["when"] for x in (first, second)]
                apart = [x for x in own if {*sides[0][x]}.isdisjoint(sides[1][x])]
                if values[0] != values[1] and len(apart) == 1:
                    pairs = itertools.product(*(x[apart[0]] for x in sides))
                    told |= {(test["metric"], apart[0], *sorted(x)) for x in pairs}
    pairs = {
        (metric, option, *sorted(pair))
        for metric, choices_of in options.items()
        for option, choices in choices_of.items()
        for pair in itertools.combinations(choices, 2)
    }
    assert pairs - told == set()


@pytest.mark.long
def test_generator_gives_the_committed_bytes(tmp_path):
    command = [sys.executable, FOLDER / "generate.py", tmp_path]
    subprocess.run(command, check=True)
    for name in DATA:
        written = (tmp_path / f"{name}.json").read_bytes()
        assert written == (FOLDER / f"v1/{name}.json").read_bytes(), name


@pytest.mark.long
def test_long_ties_have_the_values_of_all_orders(monkeypatch):
    """Short lists have the same values whether their orders are walked one by one or not."""
    import definitions
    import generate

    prepared: dict = {5000: {}, 1: {}}  # by the number of orders that are walked

    def value(most, *arguments):
        monkeypatch.setattr(definitions, "MAX_ORDERS", most)
        monkeypatch.setattr(definitions, "_PREPARED", prepared[most])
        return definitions._value_of(*arguments)

    def remembered(formula):
        """Computes the value of an order once for the three readings of ties."""
        values = {}

        def value_of_order(order, pool, at, choices):
            others = tuple(y for x, y in choices.items() if x != "ties")
            key = order, pool, tuple(at.items()), others
            if key not in values:
                values[key] = formula(order, pool, at, choices)
            return values[key]

        return value_of_order

    for metric, formula in definitions.FORMULAS.items():
        monkeypatch.setitem(definitions.FORMULAS, metric, remembered(formula))
    num_compared = 0
    for group in (group for group in LISTS if "ties" in options_open_in(group)):
        for text in (test["id"].partition("/")[2] for test in group["tests"]):
            metric, _, at = generate.parse(text)
            matters = {*generate.may_matter(group, metric, False)}
            matters.discard("undefined")  # which no value reads
            options = METRICS[metric]["options"].items()
            options = {x: y if x in matters else y[:1] for x, y in options}
            options["ties"] = ["expected", "worst", "best"]
            has_grades = len({x for x in group["qrels"].values() if x > 0}) > 1
            if has_grades and metric == "err":  # which has no sum of terms
                continue
            for chosen in itertools.product(*options.values()):
                choices = dict(zip(options, chosen, strict=True))
                due = value(5000, group, metric, at, choices)
                answer = value(1, group, metric, at, choices)
                if isinstance(due, str):
                    assert answer == due, (text, choices)
                else:
                    assert abs(definitions.real(answer) - due) < 1e-30, (text, choices)
                num_compared += 1
    assert num_compared > 4_000


def test_schema():
    schema = json.loads((FOLDER / "v1/vectors-v1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    num_groups = num_tests = 0
    for data in DATA.values():
        validator.validate(data)
        num_groups += len(data["groups"])
        for test in (test for group in data["groups"] for test in group["tests"]):
            num_tests += 1
            options = data["metrics"][test["metric"]]["options"]
            for entry in test["values"]:
                assert all({*y} <= {*options[x]} for x, y in entry["when"].items())
    assert num_groups >= 75 and num_tests >= 450


CHECKERS = [[sys.executable, FOLDER / "check.py"]]
if shutil.which("node"):
    CHECKERS.append(["node", FOLDER / "check.js"])


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda command: command[1].name)
def test_checkers(checker, tmp_path):
    answers = {}
    for group in DATA["lists"]["groups"]:
        for test in group["tests"]:
            options = METRICS[test["metric"]]["options"]
            mine = {option: choices[0] for option, choices in options.items()}
            answers[test["id"]] = held_entry(test, mine | {"ties": "id-desc"})["value"]
    paths = [FOLDER / "v1/lists.json", tmp_path / "answers.json"]
    paths[1].write_text(json.dumps(answers))
    right = run_checker(*checker, *paths, "ties=id-desc")
    assert right.returncode == 0, right.stdout + right.stderr
    answers["short-list/ndcg@5"] = 1.0
    paths[1].write_text(json.dumps(answers))
    wrong = run_checker(*checker, *paths, "ties=id-desc")
    assert wrong.returncode == 1
    lines = wrong.stdout.splitlines()
    assert lines[0].startswith("short-list/ndcg@5 is 1") and "returned" in lines[0]
    assert len(lines) == 2 and "1 wrong" in lines[1]
    for line in (FOLDER / checker[1].name).read_text().splitlines()[45:]:
        pytest.fail(f"more than 45 lines: {line}")


# Maps tests to answers that are not valid or beyond the tolerance; the right value is 1.
WRONG_ANSWERS = {
    "first/ndcg": math.inf,
    "first/ap": -math.inf,
    "first/rr": math.nan,
    "first/auc": "1",
    "perfect/ndcg": True,
    "perfect/ap": 3e9,
    "perfect/rr": 1 + 2e-6,
}


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda command: command[1].name)
def test_checkers_refuse(checker, tmp_path):
    path = tmp_path / "answers.json"

    def run(answers, *choices):
        path.write_text(json.dumps(answers))
        return run_checker(*checker, FOLDER / "v1/lists.json", path, *choices)

    assert "7 answers, 7 wrong" in run(WRONG_ANSWERS).stdout
    right = run(dict.fromkeys(WRONG_ANSWERS, 1 + 9e-7), "ties=input")
    assert right.returncode == 0 and "7 answers, 0 wrong" in right.stdout
    assert run({}).returncode == 1
    unknown = ["ties=unknown", "tie=input", "ties", "ties=best", "ideal=returned"]
    result = run({"first/ndgc": 1.0}, *unknown)
    assert result.returncode == 1
    for name in ("first/ndgc", *unknown):
        assert name in result.stderr


def rank_lists(rows, ties):
    labels, scores, mask, retrieved, judged = arrays_of(rows)
    options = {"retrieved": retrieved, "columns": {"judged": judged}, "ties": ties}
    return jrm.rank(labels, scores, mask, **options)


def rank_packed(rows, ties):
    labels, scores, mask, retrieved, judged = (x.ravel() for x in arrays_of(rows))
    return jrm.rank(
        labels, scores, mask, retrieved=retrieved, columns={"judged": judged}, ties=ties,
        segment_ids=np.repeat(np.arange(len(rows)), len(labels) // len(rows)),
        num_segments=len(rows),
    )  # fmt: skip


def rank_few(rows, ties):
    labels, scores, mask, retrieved, judged = arrays_of(rows)
    mask = mask & (labels >= 0)
    ids = np.where(judged & mask, np.arange(scores.shape[1]), -1).astype(np.int32)
    options = {"item_mask": mask, "retrieved": retrieved, "ties": ties}
    return jrm.rank_scores(scores, ids, labels, **options)


PATHS = {"rank": rank_lists, "packed": rank_packed, "rank_scores": rank_few}
DEFAULT = [
    ("rank", "expected"),
    *long_rows(("packed", "stable"), ("rank_scores", "worst")),
]
EVERY = [(path, ties) for path in PATHS for ties in POLICIES if path != "packed"]
EVERY.append(("packed", "expected"))  # its programs compile slowly


def values_of(cutoffs, ranking):
    functions = {
        str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())
    }
    lists = jax.device_get(jrm.measure(functions, ranking))
    return {ask: lists[str(i)] for i, ask in enumerate(cutoffs)}


def has_ties(test):
    return any("ties" in entry["when"] for entry in test["values"])


def hits_divide(ask):
    return dict(ask.own).get("denominator") == "hits"


def compare(path, ties, keep, largest=math.inf, groups=LISTS):
    rows = [row for x in groups for row in rows_of(x, POLICIES[ties], NEGATIVE)]
    cutoffs = cutoffs_of(groups, keep, largest)
    policy = None if ties == "expected" else ties
    lists = values_of(cutoffs, PATHS[path](rows, policy))

    def is_sayable(test, ask, row):
        if row.group["id"] in BEYOND_FLOAT32 and ("gain", "exp2") in ask.own:
            return False
        return ties != "expected" or not hits_divide(ask) or not has_ties(test)

    num_compared, lines = failures(rows, lists, cutoffs, is_sayable)
    assert not lines, "\n".join(lines[:20])
    is_beyond = [row.group["id"] in BEYOND_FLOAT32 for row in rows]
    for ask, values in lists.items():
        if ask.metric == "ndcg" and ("gain", "exp2") in ask.own:
            assert np.isnan(values.values[is_beyond]).all()
    return num_compared


@pytest.mark.parametrize("path, ties", DEFAULT)
def test_lists(path, ties):
    is_rank = path == "rank"

    def can_say(ask):
        return ask.has_defaults if is_rank else ask.is_reference

    largest, least = (SOME_RANKS, 2000) if is_rank else (FEW_RANKS, 500)
    assert compare(path, ties, can_say, largest) > least


@pytest.mark.long
@pytest.mark.parametrize("path, ties", EVERY)
def test_lists_by_every_option(path, ties):
    def can_say(ask):  # counted places know no order
        return path != "rank_scores" or not hits_divide(ask)

    assert compare(path, ties, can_say) > 2000


@pytest.mark.parametrize(
    "ties, metrics",
    [
        ("stable", ("rr", "recall")),
        *long_rows(*((ties, tuple(METRICS)) for ties in POLICIES)),
    ],
)
def test_long_lists(ties, metrics):
    """Unstable sorts and silent cuts show in lists of 150 to 1,100 documents."""

    def can_say(ask):
        return ask.is_reference and ask.metric in metrics

    assert compare("rank", ties, can_say, groups=LONG_LISTS) > 10


@pytest.mark.parametrize("metric", ["rr", *long("ndcg", "ap", "auc", "recall")])
def test_scores_of_float64(metric):
    groups = [group for group in LISTS if "scores" in options_open_in(group)]
    choices = {"ties": "expected", "unjudged": "zero", "negative": "removed"}
    choices |= {"infinite": "ranked", "nan": "nan", "scores": "float64"}
    rows = [row_of(group, choices) for group in groups]
    cutoffs = cutoffs_of(groups, lambda ask: ask.is_reference and ask.metric == metric)
    with jax.enable_x64(True):
        labels, _, mask, retrieved, _ = arrays_of(rows)
        scores = padded(rows, "scores", np.float64)
        ranking = jrm.rank(labels, scores, mask, retrieved=retrieved)
        num_compared, lines = failures(rows, values_of(cutoffs, ranking), cutoffs)
    assert num_compared > 5 and not lines, "\n".join(lines[:20])


def ordered(run, ties):
    """Returns a run best first, in the order of a policy that allows only one."""
    run = [(doc, number(score)) for doc, score in run]
    if ties == "input-reversed":
        run = run[::-1]
    elif ties != "input":
        run.sort(key=lambda x: x[0].encode(), reverse=ties == "id-desc")
    return [doc for doc, _ in sorted(run, key=lambda x: -x[1])]


def has_nan(group):
    return any(score == "NaN" for _, score in group["run"])


def lists_of_ids(policies, repeats):
    """Returns rows of groups of judgements as lists of ids, and the ids of each."""
    rows, ids = [], []
    for group in GROUPS.values():
        if "qrels" not in group or has_nan(group) or len(group["run"]) > LONGEST:
            continue
        is_open = options_open_in(group).__contains__
        for ties, negative, unjudged in itertools.product(
            policies if is_open("ties") else policies[:1],
            NEGATIVE if is_open("negative") else ("zero",),
            ("zero", "removed") if is_open("unjudged") else ("zero",),
        ):
            choices = {"ties": ties, "duplicates": repeats, "scores": "float64"}
            choices |= {"unjudged": unjudged, "negative": negative}
            row = row_of(group, choices | {"infinite": "ranked"})
            # Ids that are no items leave the list of ids.
            grades = dict(zip(row.docs, row.grades, strict=True))
            exists = dict(zip(row.docs, row.exists, strict=True))
            order = ordered(group["run"], ties)
            ids.append([x for x in order if exists[x] and grades[x] >= 0])
            rows.append(row._replace(choices=choices))
    return rows, ids


def judgements_of(row):
    """Returns the grades of judged documents by id, without negative grades."""
    triples = zip(row.docs, row.grades, row.judged, strict=True)
    return {doc: grade for doc, grade, judged in triples if judged and grade >= 0}


def compare_ids(policies, repeats, keep, largest=math.inf):
    rows, ids = lists_of_ids(policies, repeats)
    words = {"first": "keep", "removed": "remove"}
    judged = [judgements_of(row) for row in rows]
    ranking = jrm.rank_ids(
        ids,
        [[*x] for x in judged],
        [[*x.values()] for x in judged],
        repeats=words[repeats],
    )
    cutoffs = cutoffs_of((row.group for row in rows), keep, largest)
    lists = values_of(cutoffs, ranking)

    def is_sayable(test, ask, row):
        is_beyond = row.group["id"] in BEYOND_FLOAT32 and ("gain", "exp2") in ask.own
        return not is_beyond

    num_compared, lines = failures(rows, lists, cutoffs, is_sayable)
    assert not lines, "\n".join(lines[:20])
    return num_compared


@pytest.mark.parametrize("repeats, least", [("first", 1000), ("removed", 1000)])
def test_lists_of_ids(repeats, least):
    def can_say(ask):
        return ask.is_reference

    assert compare_ids(POLICIES["stable"], repeats, can_say, FEW_RANKS) > least


@pytest.mark.long
@pytest.mark.parametrize("repeats, least", [("first", 3000), ("removed", 3000)])
def test_lists_of_ids_by_every_option(repeats, least):
    assert compare_ids(POLICIES["stable"], repeats, lambda ask: True) > least


def joinable():
    """Returns the groups that `join` takes as tables, which need judgements."""
    return [
        group
        for group in LISTS
        if group["qrels"] and not has_nan(group) and group["id"] not in BEYOND_FLOAT32
    ]


def joined(groups, ties, unjudged, sides=None):
    qrels = {group["id"]: group["qrels"] for group in groups}
    run = {
        group["id"]: {doc: number(score) for doc, score in group["run"]}
        for group in groups
    }
    qrels, run = (qrels, run) if sides is None else sides
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on lists that are empty
        return jrm.join(
            qrels, run, missing="zero", condensed=unjudged == "removed",
            ties={"expected": "expected", "id-desc": "trec"}[ties],
        )  # fmt: skip


def compare_joined(groups, ties, unjudged, keep, sides=None, largest=math.inf):
    choices = {"ties": ties, "unjudged": unjudged, "negative": "unjudged"}
    choices |= {"infinite": "ranked", "scores": "float64"}
    rows = [row_of(group, choices) for group in groups]
    cutoffs = cutoffs_of(groups, keep, largest)
    functions = {
        str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())
    }
    held = joined(groups, ties, unjudged, sides)
    assert held.query_ids.to_list() == [group["id"] for group in groups]
    values = held.measure(functions)
    lists = {ask: values[str(i)] for i, ask in enumerate(cutoffs)}

    def is_sayable(test, ask, row):
        return ties != "expected" or not hits_divide(ask) or not has_ties(test)

    num_compared, lines = failures(rows, lists, cutoffs, is_sayable)
    assert not lines, "\n".join(lines[:20])
    return num_compared


def has_places(ask):
    """True if the places of judged documents suffice, so that tied ones are not ranked."""
    return ask.metric != "err" and not hits_divide(ask)


@pytest.mark.long
def test_joined(tmp_path):
    groups = joinable()

    def can_say(ask):
        return ask.is_reference and has_places(ask)

    for ties in ("expected", "id-desc"):
        for unjudged in ("zero", "removed"):
            choices = ties, unjudged, can_say
            assert compare_joined(groups, *choices, largest=FEW_RANKS) > 800
    groups = [x for x in groups if not any(" " in doc for doc in x["qrels"])]
    paths = [tmp_path / "qrels.txt", tmp_path / "run.txt"]
    with paths[0].open("w", encoding="utf-8") as file:
        for group in groups:
            for doc, grade in group["qrels"].items():
                file.write(f"{group['id']} 0 {doc} {grade}\n")
    with paths[1].open("w", encoding="utf-8") as file:
        for group in groups:
            for doc, score in group["run"]:
                file.write(f"{group['id']} Q0 {doc} 0 {number(score)!r} tag\n")
    sides = jrm.read_qrels(paths[0]), jrm.read_run(paths[1])
    choices = "id-desc", "zero", can_say, sides
    assert compare_joined(groups, *choices, largest=FEW_RANKS) > 800


@pytest.mark.long
@pytest.mark.parametrize("ties", ["expected", "id-desc"])
@pytest.mark.parametrize("unjudged", ["zero", "removed"])
def test_joined_by_every_option(ties, unjudged):
    assert compare_joined(joinable(), ties, unjudged, lambda ask: True) > 2000


def compare_repeats(groups, choice, qrels, run, **options):
    """Compares lists in which ids repeat, as `join` reads them."""
    cutoffs = cutoffs_of(groups, lambda ask: ask.is_reference)
    functions = {
        str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on repeats
        values = jrm.join(qrels, run, **options).measure(functions)
    choices = {"ties": "input", "duplicates": choice, "negative": "unjudged"}
    choices |= {"unjudged": "zero", "infinite": "ranked"}
    rows = [row_of(group, choices) for group in groups]
    lists = {ask: values[str(i)] for i, ask in enumerate(cutoffs)}
    num_compared, lines = failures(rows, lists, cutoffs)
    assert num_compared > 50 and not lines, "\n".join(lines[:20])


def test_repeats(tmp_path):
    """Lists keep the rank of a repeat or not; tables refuse it, or the last score counts."""
    groups = [
        group for group in GROUPS.values() if "duplicates" in options_open_in(group)
    ]
    groups = [group for group in groups if "qrels" in group]
    qrels = {group["id"]: group["qrels"] for group in groups}
    run = {group["id"]: ordered(group["run"], "input") for group in groups}
    compare_repeats(groups, "first", qrels, run, repeats="keep")
    compare_repeats(groups, "removed", qrels, run, repeats="remove")
    path = tmp_path / "run.txt"
    path.write_text(
        "".join(
            f"{group['id']} Q0 {doc} 0 {score} tag\n"
            for group in groups
            for doc, score in group["run"]
        )
    )
    last = jrm.read_run(path, duplicates="last")
    compare_repeats(groups, "last", qrels, last)
    for group in groups:
        entries = [entry for test in group["tests"] for entry in test["values"]]
        errors = [x for x in entries if "error" in x["when"].get("duplicates", ())]
        assert errors and all(x.get("error") for x in errors)
    with pytest.raises(ValueError, match="more than once|repeat|twice"):
        jrm.read_run(path)


def test_what_tables_refuse():
    groups = [group for group in GROUPS.values() if "qrels" in group and has_nan(group)]
    assert len(groups) >= 4
    for group in groups:
        entries = [entry for test in group["tests"] for entry in test["values"]]
        assert all(
            x.get("error") for x in entries if "error" in x["when"].get("nan", ())
        )
        with pytest.raises(ValueError, match="score"):
            joined([group], "expected", "zero")
    for name in BEYOND_FLOAT32:
        with pytest.raises(ValueError, match="linear_gain"):
            joined([GROUPS[name]], "expected", "zero").measure("ndcg")


LONG_EXPECTED = ["stable", pytest.param("expected", marks=pytest.mark.long)]


def compare_topics(rows, ranking):
    cutoffs = cutoffs_of(row.group for row in rows)
    num_compared, lines = failures(rows, values_of(cutoffs, ranking), cutoffs)
    assert num_compared > 40 and not lines, "\n".join(lines[:20])


def rows_of_topics(policies, **choices):
    """Returns rows of groups of subtopics, without repeated ids unless a choice says."""
    for group in GROUPS.values():
        if "subtopics" in group and not has_nan(group):
            has_repeats = "duplicates" in options_open_in(group)
            has_ties = "ties" in options_open_in(group)
            for ties in policies if has_ties else policies[:1]:
                if "duplicates" in choices or not has_repeats:
                    mine = {"ties": ties, "unjudged": "zero", "negative": "zero"}
                    mine |= {"infinite": "ranked"} | choices
                    yield row_of(group, mine)


@pytest.mark.long
@pytest.mark.parametrize("ties", ["stable", "expected"])
def test_packed_subtopics(ties):
    rows = [*rows_of_topics(POLICIES[ties], scores="float32")]
    labels, scores, mask, retrieved, _ = (x.ravel() for x in arrays_of(rows))
    topics = topics_of(rows)
    ranking = jrm.rank(
        labels, scores, mask, retrieved=retrieved,
        columns={"subtopics": topics.reshape(-1, topics.shape[-1])},
        ties=None if ties == "expected" else ties,
        segment_ids=np.repeat(np.arange(len(rows)), len(labels) // len(rows)),
        num_segments=len(rows),
    )  # fmt: skip
    compare_topics(rows, ranking)


@pytest.mark.parametrize(
    "choice, repeats", [("first", "keep"), *long_rows(("removed", "remove"))]
)
def test_subtopics_of_ids(choice, repeats):
    rows = [*rows_of_topics(POLICIES["stable"], duplicates=choice)]
    size = max(len(row.docs) for row in rows)
    retrieved, relevant = np.full((2, len(rows), size), -1, np.int32)
    for i, row in enumerate(rows):
        ids = [
            row.docs.index(x) for x in ordered(row.group["run"], row.choices["ties"])
        ]
        retrieved[i, : len(ids)] = ids
        for j, doc in enumerate(row.docs):
            if row.judged[j] and row.docs.index(doc) == j:
                relevant[i, j] = j
    columns = {"subtopics": topics_of(rows)}
    labels = padded(rows, "grades", np.float32)
    compare_topics(
        rows,
        jrm.rank_ids(
            retrieved, relevant, labels, relevant_columns=columns, repeats=repeats
        ),
    )


@pytest.mark.long
@pytest.mark.parametrize("ties", ["id-desc", "expected"])
@pytest.mark.parametrize("unjudged", ["removed", "zero"])
def test_joined_subtopics(ties, unjudged):
    rows = [*rows_of_topics((ties,), unjudged=unjudged)]
    judged = [
        (row.group["id"], doc, topic or "none", int(bool(topic)))
        for row in rows
        for doc, topics in row.group["subtopics"].items()
        for topic in topics or [""]
    ]
    names = ["query_id", "doc_id", "subtopic", "relevance"]
    qrels = pl.DataFrame(judged, names, orient="row")
    run = {x.group["id"]: {y: number(z) for y, z in x.group["run"]} for x in rows}
    policy = "trec" if ties == "id-desc" else "expected"
    options = {"ties": policy, "condensed": unjudged == "removed"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks that do not matter here
        held = jrm.join(qrels, run, **options)
    cutoffs = cutoffs_of(row.group for row in rows)
    functions = {
        str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())
    }
    values = held.measure(functions)
    lists = {ask: values[str(i)] for i, ask in enumerate(cutoffs)}
    num_compared, lines = failures(rows, lists, cutoffs)
    assert num_compared > 20 and not lines, "\n".join(lines[:20])


@pytest.mark.parametrize("ties", LONG_EXPECTED)
def test_subtopics(ties):
    groups = [
        group
        for group in GROUPS.values()
        if "subtopics" in group and "duplicates" not in options_open_in(group)
    ]
    assert any(map(has_nan, groups))
    rows = [row for x in groups for row in rows_of(x, POLICIES[ties], ("zero",))]
    labels, scores, mask, retrieved, _ = arrays_of(rows)
    options = {"retrieved": retrieved, "columns": {"subtopics": topics_of(rows)}}
    ranking = jrm.rank(
        labels, scores, mask, ties=None if ties == "expected" else ties, **options
    )
    compare_topics(rows, ranking)


def ranked_ids(groups, ties):
    """Returns the ids of both rankings, as numbers, under a definite policy."""
    sides = ([], [])
    for group in groups:
        runs = [ordered(group[name], ties) for name in ("run", "other")]
        ids = sorted({doc for run in runs for doc in run})
        for side, run in zip(sides, runs, strict=True):
            side.append(([ids.index(doc) for doc in run] + [-1] * 8)[:8])
    return [np.array(side, np.int32) for side in sides]


def tied_rankings(groups):
    """Yields both rankings by their scores; equal scores tie."""
    shape = len(groups), 8
    for name in ("run", "other"):
        scores, retrieved = np.zeros(shape, np.float32), np.zeros(shape, bool)
        for i, group in enumerate(groups):
            ids = sorted({doc for x in ("run", "other") for doc, _ in group[x]})
            for doc, score in group[name]:
                scores[i, ids.index(doc)], retrieved[i, ids.index(doc)] = score, True
        yield jrm.rank(np.zeros(shape, np.float32), scores, retrieved=retrieved)


def compare_two(groups, ties, sides, scores="float64"):
    num_compared = 0
    tests = [(i, test) for i, group in enumerate(groups) for test in group["tests"]]
    for p in sorted({test.get("p", 0.9) for _, test in tests}):
        lists = jrm.rank_biased_overlap(*sides, p)
        values, defined = np.asarray(lists.values), np.asarray(lists.defined)
        for i, test in tests:
            if test.get("p", 0.9) != p:
                continue
            options = METRICS["rbo"]["options"]
            mine = {option: choices[0] for option, choices in options.items()}
            mine |= {"ties": ties, "duplicates": "removed", "scores": scores}
            for undefined, answer in {"zero": 0.0, "one": 1.0, "skip": None}.items():
                due = held_entry(test, mine | {"undefined": undefined})["value"]
                answer = values[i] if defined[i] else answer
                answer = None if answer is None or math.isnan(answer) else answer
                assert is_equal(answer, due), (test["id"], mine, answer, due)
                num_compared += 1
    return num_compared


def test_two_rankings():
    groups = [group for group in GROUPS.values() if "other" in group]
    groups = [group for group in groups if not has_nan(group)]
    for ties in POLICIES["stable"]:
        assert compare_two(groups, ties, ranked_ids(groups, ties)) > 50


@pytest.mark.long
def test_two_rankings_by_scores():
    groups = [group for group in GROUPS.values() if "other" in group]
    groups = [group for group in groups if "duplicates" not in options_open_in(group)]
    sides = [*tied_rankings(groups)]
    assert compare_two(groups, "expected", sides, "float32") > 40


def join_means(missing):
    """Joins the queries of all groups of means, and returns the group of each."""
    qrels, run = {}, {}
    for group in DATA["means"]["groups"]:
        for query in group["queries"]:
            name = f"{group['id']} {query['id']}"
            if "qrels" in query:
                qrels[name] = query["qrels"]
            if "run" in query:
                run[name] = dict(query["run"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on queries without documents
        tables = jrm.join(qrels, run, missing=missing, unjudged="skip")
    return tables, np.array([x.split()[0] for x in tables.query_ids])


def compare_means(keep):
    data = DATA["means"]
    cutoffs = cutoffs_of(data["groups"], keep)
    functions = {
        str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())
    }
    num_compared = 0
    for missing, queries in (("zero", "judged"), ("skip", "both")):
        tables, groups_of_queries = join_means(missing)
        choices = [
            (group, undefined)
            for group in data["groups"]
            for undefined in ("zero", "one", "skip")
            if undefined == "zero" or "undefined" in options_open_in(group)
        ]
        for group, undefined in choices:
            is_own = (groups_of_queries == group["id"]).astype(float)
            states = tables.evaluate(functions, undefined, is_own)
            for test in group["tests"]:
                for ask in filter(cutoffs.__contains__, asks_of(test)):
                    mean, ks = (
                        states[str([*cutoffs].index(ask))].compute(),
                        cutoffs[ask],
                    )
                    answer = float(mean if ks is None else mean[ks.index(test["k"])])
                    options = data["metrics"][test["metric"]]["options"]
                    mine = {option: choices[0] for option, choices in options.items()}
                    mine |= {"queries": queries, **dict(ask.own)}
                    mine |= {"undefined": undefined} if "undefined" in mine else {}
                    due = held_entry(test, mine)["value"]
                    assert is_equal(answer, due), (test["id"], mine, answer, due)
                    num_compared += 1
    return num_compared


def test_means():
    assert compare_means(lambda ask: ask.is_reference) > 100


@pytest.mark.long
def test_pooled_means():
    """Ratios of sums over lists are the ratios of `over`."""
    divisors = {"recall": "relevant", "precision": "retrieved"}
    ks, num_compared = (2, 5), 0
    counts = {
        "hits": functools.partial(jrm.num_relevant_retrieved, k=ks),
        "relevant": jrm.num_relevant,
        "retrieved": functools.partial(jrm.num_retrieved, k=ks),
    }
    for missing, queries in (("zero", "judged"), ("skip", "both")):
        tables, groups_of_queries = join_means(missing)
        lists = tables.measure(counts)
        for group in DATA["means"]["groups"]:
            own = {x: y[groups_of_queries == group["id"]] for x, y in lists.items()}
            for test in group["tests"]:
                if test["metric"] not in divisors:
                    continue
                divisor = divisors[test["metric"]]
                pooled = own["hits"].over(own[divisor]).mean().compute()
                options = DATA["means"]["metrics"][test["metric"]]["options"]
                mine = {option: choices[0] for option, choices in options.items()}
                mine |= {"queries": queries, "mean": "pooled", "denominator": divisor}
                due = held_entry(test, mine)["value"]
                answer = float(pooled[ks.index(test["k"])])
                assert is_equal(answer, due), (test["id"], mine, answer, due)
                num_compared += 1
    assert num_compared > 20


@pytest.mark.long
def test_means_by_every_option():
    assert compare_means(lambda ask: True) > 300


ORACLE = {
    "ndcg": oracle.ndcg, "dcg": oracle.dcg, "ap": oracle.average_precision,
    "rr": oracle.reciprocal_rank, "recall": oracle.recall, "hit_rate": oracle.hit_rate,
    "precision": oracle.precision, "err": oracle.expected_reciprocal_rank,
    "rbp": oracle.rank_biased_precision, "auc": oracle.roc_auc, "bpref": oracle.bpref,
    "r_precision": oracle.r_precision,
}  # fmt: skip
WORDS = {"rel": "threshold", "max_grade": "max_label", "p": "p"}


def oracle_of(test, ask, case):
    """Returns the mean over the orders of a list, as tests/oracle.py has it."""
    own, options = dict(ask.own), {WORDS[name]: x for name, x in ask.parameters}
    if own.get("threshold") == "above-zero":
        options["threshold"] = ABOVE_ZERO
    if "gain" in own:
        gain = {"exp2": oracle.exponential, "linear": oracle.linear}[own["gain"]]
        least = 1 if own["threshold"] == "relevant" else -math.inf
        options["gain"] = lambda grade: gain(grade) if grade >= least else 0.0
    if "denominator" in own:
        options["denominator"] = own["denominator"]
    function = ORACLE[test["metric"]]
    values = [function(case, x, test.get("k"), **options) for x in case.all_orders]
    return math.fsum(values) / len(values)


def test_the_oracle():
    num_compared = 0
    for group in LISTS:
        if has_nan(group) or "long" in group["tags"] or group["id"] == "constant-eight":
            continue  # which has 40,320 orders
        for row in rows_of(group, POLICIES["expected"], NEGATIVE):
            scores = np.array(row.scores, np.float64)
            if "scores" in options_open_in(group):
                with np.errstate(over="ignore"):
                    scores = scores.astype(np.float32)
            options = {"columns": {"judged": row.judged}, "retrieved": row.retrieved}
            case = oracle.List(row.grades, row.exists, scores=scores, **options)
            for test in group["tests"]:
                for ask in asks_of(test):
                    if not ask.has_defaults and "discount" in dict(ask.own):
                        continue
                    options = METRICS[test["metric"]]["options"]
                    mine = {option: choices[0] for option, choices in options.items()}
                    mine |= known(test["metric"], row.choices)
                    due = held_entry(test, mine | dict(ask.own))["value"]
                    answer = oracle_of(test, ask, case)
                    assert is_equal(answer, due), (test["id"], mine, answer, due)
                    num_compared += 1
    assert num_compared > 700
