"""Against ndeval of the TREC web track: queries with subtopics."""

import functools

import numpy as np
import pytest

import jax_rank_metrics as jrm

pyndeval = pytest.importorskip("pyndeval")

KS = (1, 3, 5, 20)
ALPHA, BETA = (
    0.5,
    0.75,
)  # gains in halves are exact, so that the same gains are equal in both libraries

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


@pytest.fixture(scope="module")
def values():
    """Returns our values and those of ndeval by name, query by query."""
    rng = np.random.default_rng(8)
    queries, items, topics = 12, 15, 4
    subtopics = rng.random((queries, items, topics)) < 0.25
    assert subtopics.any((1, 2)).all()  # ndeval leaves out queries without subtopics
    scores = rng.permuted(np.tile(np.arange(items), (queries, 1)), axis=1)
    returned = rng.random(scores.shape) < 0.8

    # Of documents that gain the same, ndeval puts the one with the last name first.
    qrels = [
        (f"q{q}", f"t{t}", f"d{99 - i}", 1)
        for q, i, t in zip(*subtopics.nonzero(), strict=True)
    ]
    run = [
        (f"q{q}", f"d{99 - i}", float(scores[q, i]))
        for q, i in zip(*returned.nonzero(), strict=True)
    ]
    names = [*(f"{name}@{k}" for name in CUT for k in KS), *WHOLE]
    lists = pyndeval.ndeval(qrels, run, names, alpha=ALPHA, beta=BETA)
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
