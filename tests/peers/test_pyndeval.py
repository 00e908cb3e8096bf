"""Against ndeval of the TREC web track: queries with subtopics."""

import functools

import numpy as np
import pytest
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics.cli import app

KS = (1, 3, 5, 20)
# Gains in halves are exact, so that the same gains are equal in both libraries.
ALPHA, BETA = 0.5, 0.75

CUT = {
    "alpha-nDCG": functools.partial(jrm.alpha_ndcg, k=KS, alpha=ALPHA),
    "ERR-IA": functools.partial(jrm.err_ia, k=KS, alpha=ALPHA),
    "P-IA": functools.partial(jrm.precision_ia, k=KS, denominator="k"),
    "strec": functools.partial(jrm.subtopic_recall, k=KS),
}
WHOLE = {
    "MAP-IA": jrm.average_precision_ia,
    "NRBP": functools.partial(jrm.nrbp, p=BETA, alpha=ALPHA),
}


def by_ndeval(qrels, run, names, **options):
    """Returns a function that has the values of every query, by name."""

    def values(*_):
        import pyndeval

        lists = pyndeval.ndeval(qrels, run, names, **options)
        return {query: {name: x[name] for name in names} for query, x in lists.items()}

    return values


@pytest.fixture(scope="module")
def values(recorded):
    """Returns our values and ndeval's by name, query by query."""
    rng = np.random.default_rng(8)
    queries, items, topics = 12, 15, 4
    subtopics = rng.random((queries, items, topics)) < 0.25
    assert subtopics.any((1, 2)).all()  # ndeval leaves out queries without subtopics
    scores = rng.permuted(np.tile(np.arange(items), (queries, 1)), axis=1)
    returned = rng.random(scores.shape) < 0.8

    # If documents gain the same, ndeval puts the one with the last name first.
    qrels = [
        (f"q{q}", f"t{t}", f"d{99 - i}", 1)
        for q, i, t in zip(*subtopics.nonzero(), strict=True)
    ]
    run = [
        (f"q{q}", f"d{99 - i}", float(scores[q, i]))
        for q, i in zip(*returned.nonzero(), strict=True)
    ]
    names = [*(f"{name}@{k}" for name in CUT for k in KS), *WHOLE]
    ndeval = by_ndeval(qrels, run, names, alpha=ALPHA, beta=BETA)
    lists = recorded("lists", ndeval, subtopics, scores, returned)
    assert list(lists) == [f"q{q}" for q in range(queries)]
    theirs = {
        name: np.array(
            [[measures[f"{name}@{k}"] for k in KS] for measures in lists.values()]
        )
        for name in CUT
    }
    for name in WHOLE:
        theirs[name] = np.array([measures[name] for measures in lists.values()])

    labels, columns = subtopics.any(-1), {"subtopics": subtopics}
    ranking = jrm.rank(labels, scores, retrieved=returned, columns=columns)
    return jrm.measure(CUT | WHOLE, ranking), theirs


@pytest.mark.parametrize("name", [*CUT, *WHOLE])
def test_every_query(name, values, agree):
    ours, theirs = values
    assert np.ptp(theirs[name]) > 0.1
    # At 1, ndeval does not divide ERR-IA.
    first = 1 if name == "ERR-IA" else 0
    agree(ours[name].values[..., first:], theirs[name][..., first:])


# The measures of ndeval that are names of the command.
NAMES = (
    *("ERR-IA@5", "ERR-IA@20", "alpha-nDCG@5", "alpha-nDCG@20", "NRBP", "MAP-IA"),
    *("P-IA@5", "P-IA@20", "strec@5", "strec@20"),
)


@pytest.mark.long
def test_files(tmp_path, recorded):
    """The command reads judgements of subtopics; ideal orders break ties as in ndeval.

    Scores do not tie: pyndeval then ranks the first id first, and trec_eval the last.
    """
    rng, qrels, run = np.random.default_rng(4), [], []
    for query in ("q1", "q2", "q3", "q10"):
        for doc in (f"d{number}" for number in rng.permutation(40)):
            # Nothing is relevant to the fifth subtopic.
            levels = np.where(rng.random(5) < 0.3, rng.choice([-2, 0, 1, 2], 5), 0)
            levels[4] = min(levels[4], 0)
            judged = rng.random(5) < 0.7
            qrels += [
                (query, str(topic), doc, int(levels[topic]))
                for topic in np.flatnonzero(judged)
            ]
            if rng.random() < 0.6:
                run.append((query, doc, float(len(run) * 7919 % 1009)))
    for name, rows in (
        ("qrels", qrels),
        ("run", [(query, "Q0", doc, 1, score, "tag") for query, doc, score in run]),
    ):
        lines = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        (tmp_path / f"{name}.txt").write_text(lines)
    theirs = recorded(
        "files", by_ndeval(qrels, run, NAMES), [x for *_, x in (*qrels, *run)]
    )
    words = (
        "evaluate",
        str(tmp_path / "qrels.txt"),
        str(tmp_path / "run.txt"),
        "--trec",
    )
    options = ("--qrels-format", "subtopics", "-q", "--format", "trec")
    metrics = [word for name in NAMES for word in ("-m", name)]
    done = CliRunner().invoke(app(), [*words, *options, *metrics])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    ours = {(name, query): float(value) for name, query, value in lines}
    for name in NAMES:
        for query, values in theirs.items():
            assert abs(ours[name, query] - values[name]) < 6e-5, (name, query)
    assert len(theirs) == 4
