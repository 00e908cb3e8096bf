"""The package, and tests/oracle.py, held to the conformance vectors on every path.

By default the rows of `rank` are compared under the options of most metrics, and those of the
other paths under the reference; the long tests compare all that the package can say.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import warnings

import jax
import jsonschema
import numpy as np
import oracle
import pytest
from conformance_vectors import (
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
    number,
    options_open_in,
    padded,
    row_of,
    rows_of,
    topics_of,
)

import jax_rank_metrics as jrm

# Of the files of v1 in the order of their names. The values of an id never change: new groups
# come with a new digest, a changed meaning with a folder v2.
DIGEST = "181e8cd233abb90eaa17a26ec89bbccc8eb25226b89602e1348d18bedb836454"
# Metrics whose mean over the orders of tied items is not computed.
EXACT_LATER = {"err", "alpha_ndcg", "rbo"}
# Gains beyond float32 make a list NaN; see docs/numerics.md.
BEYOND_FLOAT32 = {"grades-130"}
NEGATIVE = ("removed", "zero", "unjudged")
POLICIES = {
    "expected": ("expected",),
    "stable": ("input", "input-reversed", "id-asc", "id-desc"),
    "worst": ("worst",),
}
LISTS = [
    group
    for group in GROUPS.values()
    if "qrels" in group and "duplicates" not in options_open_in(group)
]


def run_checker(*command):
    return subprocess.run(command, capture_output=True, text=True)


def test_digest():
    files = sorted((FOLDER / "v1").iterdir())
    content = b"".join(path.read_bytes() for path in files)
    assert hashlib.sha256(content).hexdigest() == DIGEST
    assert sum(path.stat().st_size for path in files) <= 350_000


def test_generator_gives_the_committed_bytes(tmp_path):
    command = [sys.executable, FOLDER / "generate.py", tmp_path]
    subprocess.run(command, check=True)
    for name in DATA:
        written = (tmp_path / f"{name}.json").read_bytes()
        assert written == (FOLDER / f"v1/{name}.json").read_bytes(), name


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
    assert run_checker(*checker, *paths, "ties=unknown").returncode == 1
    for line in (FOLDER / checker[1].name).read_text().splitlines()[25:]:
        pytest.fail(f"more than 25 lines: {line}")


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
    _, scores, mask, _, judged = arrays_of(rows)
    ids = np.where(judged & mask, np.arange(scores.shape[1]), -1).astype(np.int32)
    labels = padded(rows, "grades", np.float32)
    return jrm.rank_scores(scores, ids, labels, item_mask=mask, ties=ties)


PATHS = {"rank": rank_lists, "packed": rank_packed, "rank_scores": rank_few}
DEFAULT = [("rank", "expected"), ("packed", "stable"), ("rank_scores", "worst")]
EVERY = [(path, ties) for path in PATHS for ties in POLICIES]


def values_of(cutoffs, ranking):
    functions = {str(i): ask.function(ks) for i, (ask, ks) in enumerate(cutoffs.items())}
    lists = jax.device_get(jrm.measure(functions, ranking))
    return {ask: lists[str(i)] for i, ask in enumerate(cutoffs)}


def has_ties(test):
    return any("ties" in entry["when"] for entry in test["values"])


def hits_divide(ask):
    return dict(ask.own).get("denominator") == "hits"


def compare(path, ties, keep):
    groups = LISTS
    if path == "rank_scores":  # whose items are all returned
        returned = [{doc for doc, _ in group["run"]} for group in LISTS]
        pairs = zip(LISTS, returned, strict=True)
        groups = [x for x, docs in pairs if docs and {*x["qrels"]} <= docs]
    negative, infinite = NEGATIVE, ("ranked", "unretrieved")
    if path == "rank_scores":
        negative, infinite = ("zero",), ("ranked",)
    rows = [
        row
        for group in groups
        for row in rows_of(group, POLICIES[ties], negative, infinite=infinite)
    ]
    cutoffs = cutoffs_of(groups, keep)
    policy = None if ties == "expected" else ties
    lists = values_of(cutoffs, PATHS[path](rows, policy))

    def is_sayable(test, ask, row):
        if row.group["id"] in BEYOND_FLOAT32 and ("gain", "exp2") in ask.own:
            return False
        has_mean = ask.metric not in EXACT_LATER and not hits_divide(ask)
        return ties != "expected" or has_mean or not has_ties(test)

    num_compared, lines = failures(rows, lists, cutoffs, is_sayable)
    assert not lines, "\n".join(lines[:20])
    is_beyond = [row.group["id"] in BEYOND_FLOAT32 for row in rows]
    for ask, values in lists.items():
        if ask.metric == "ndcg" and ("gain", "exp2") in ask.own:
            assert np.isnan(values.values[is_beyond]).all()
    return num_compared


@pytest.mark.parametrize("path, ties", DEFAULT)
def test_lists(path, ties):
    if path == "rank":
        assert compare(path, ties, lambda ask: ask.has_log_discount) > 3000
    else:
        assert compare(path, ties, lambda ask: ask.is_reference) > 500


@pytest.mark.long
@pytest.mark.parametrize("path, ties", EVERY)
def test_lists_by_every_option(path, ties):
    def can_say(ask):  # counted places know no order
        return path != "rank_scores" or (ask.metric != "err" and not hits_divide(ask))

    assert compare(path, ties, can_say) > 2000
