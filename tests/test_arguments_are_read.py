"""An argument that is accepted is read, or raises: nothing is ignored in silence."""

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest
from cases import CASES
from marks import long, long_but
from registry import METRICS
from sources import count_places

import jax_rank_metrics as jrm

ROOT = Path(__file__).parent.parent

# Two lists of tied scores; ids are indices, and some judged items are not relevant.
LABELS = np.float32([[1, 0, 0, 2, 0, 0], [0, 0, 1, 0, 1, 0]])
SCORES = np.float32([[5, 6, 4, 4, 3, 4], [2, 1, 1, 3, 2, 0]])
JUDGED = np.array([[1, 1, 0, 1, 0, 1], [0, 1, 1, 0, 1, 0]], bool)
IDS = np.array([[0, 1, 3, 5], [1, 2, 4, -1]])
LISTED = np.float32([[1, 0, 2, 0], [0, 1, 1, 0]])
WEIGHTS = np.float32([[1, 2, 0.5, 3, 1, 0.7], [2, 0, 1, 4, 0.25, 1]])


@pytest.mark.parametrize("scale", [1, *long(1e-12, 1e25)])
def test_auc_weighs_pairs(scale):
    """Values equal the share of weighted pairs, and scikit-learn's with `sample_weight`."""
    cases = oracle.lists(LABELS, SCORES, None, WEIGHTS)
    expected = oracle.values(oracle.roc_auc, cases, "expected", (None,))[:, 0]
    weights = WEIGHTS * np.float32(scale)
    ranking = jrm.rank(LABELS, SCORES, None, weights)
    for metric in (jrm.roc_auc, jrm.gauc):
        np.testing.assert_allclose(metric.of(ranking).values, expected, rtol=1e-6)
    pooled = jrm.pooled_roc_auc(LABELS[0], SCORES[0], None, WEIGHTS[0])
    assert pooled.compute() == pytest.approx(expected[0], abs=1e-4)
    # A list weighs the mean weight of its relevant items, and for gauc also its length.
    means = scale * np.float32([2, 0.625])
    np.testing.assert_allclose(jrm.roc_auc.of(ranking).weights, means, rtol=1e-6)
    np.testing.assert_allclose(jrm.gauc.of(ranking).weights, means * [6, 5], rtol=1e-6)


def test_the_page_says_what_item_weights_do():
    """It names the metrics whose values read them, as the laws prove of each metric."""
    rows = re.findall(
        r"^\| `(\w+)`.*\| (\w+, list|list) +\|[^|]*\|$",
        (ROOT / "docs" / "metrics.md").read_text(),
        re.MULTILINE,
    )
    assert dict(rows).keys() == METRICS.keys()
    weighted = {case.metric.__name__ for case in CASES.values() if case.weighted}
    assert {name for name, what in rows if what != "list"} == weighted


def test_metrics_without_cutoffs_refuse_them():
    """They raise by name, as a function and of a ranking."""
    ranking, checked = jrm.rank_retrieved(LABELS), 0
    for name, metric in METRICS.items():
        if "k" in inspect.signature(metric).parameters:
            continue
        if metric.spec.at == "k":  # of some, @ sets another option
            with pytest.raises(TypeError, match="has no option 'k'"):
                jrm.measure(f"{name}@3", ranking)
        with pytest.raises(TypeError, match="has no option 'k'"):
            metric.of(ranking, k=3)
        checked += 1
    assert checked > 15


def retrieved_ids():
    """Ranks the ids of all items, best first."""
    order = np.argsort(-SCORES, axis=-1, kind="stable")
    return jrm.rank_ids(order, IDS, LISTED)


def counted_places():
    """Counts the places of judged items."""
    counts, safe = count_places(SCORES, LABELS >= 0), np.maximum(IDS, 0)
    above, tied = (np.take_along_axis(x, safe, -1) for x in counts)
    return jrm.rank_places(LISTED, above, tied, IDS >= 0, num_retrieved=[6, 6])


def catalog(**how):
    """Streams the items in blocks."""
    one_hot = np.eye(2, dtype=np.float32)
    how = {"relevant_labels": LISTED, "block_size": 4} | how
    return jrm.rank_catalog(one_hot, SCORES.T, IDS, **how)


EVERYWHERE = ("bpref", "num_nonrel_judged_ret@3", "judged@3")
CUT = (*EVERYWHERE[1:], "residual@3")
SOURCES = {
    "ids": (retrieved_ids, "stable", (*EVERYWHERE, "infap", "residual@3")),
    "scores": (lambda: jrm.rank_scores(SCORES, IDS, LISTED), None, EVERYWHERE),
    "first scores": (lambda: jrm.rank_scores(SCORES, IDS, LISTED, k=3), None, CUT),
    "catalog": (lambda: catalog(k=None), None, EVERYWHERE),
    "first items": (lambda: catalog(k=3), None, CUT),
    "places": (counted_places, None, EVERYWHERE),
}


@functools.cache
def expected_of(ties):
    """The values of rows with a column of judged items, which equal `join`'s."""
    metrics = (*EVERYWHERE, "residual@3")
    columns = {"judged": JUDGED, "pooled": JUDGED}
    if ties is not None:
        metrics = (*metrics, "infap")
    return jrm.measure(metrics, jrm.rank(LABELS, SCORES, columns=columns, ties=ties))


def check(lists, expected):
    """Asserts that values are equal, metric by metric."""
    for name, x in lists.items():
        values = expected[name].values
        np.testing.assert_allclose(x.values, values, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    "source", long_but([x for x in SOURCES if "first" not in x], SOURCES)
)
def test_what_is_not_listed_is_not_judged(source):
    """Without the columns, the listed items count as judged, and as pooled."""
    make, ties, metrics = SOURCES[source]
    check(jrm.measure(metrics, make()), expected_of(ties))


def test_join_agrees_on_what_is_judged():
    """The same lists by names: judgements, and a run without ties."""
    order = np.argsort(-SCORES, axis=-1, kind="stable")
    runs, qrels = {}, {}
    for query in range(2):
        runs[query] = {f"d{i}": 6.0 - rank for rank, i in enumerate(order[query])}
        listed = zip(IDS[query], LISTED[query], strict=True)
        qrels[query] = {f"d{i}": int(label) for i, label in listed if i >= 0}
    metrics = (*EVERYWHERE, "infap")
    check(jrm.join(qrels, runs).measure(metrics), expected_of("stable"))


def test_drivers_know_what_is_judged():
    """Labels of 0 in a frame were judged; with candidates, these alone have ranks."""
    listed = [
        (query, int(i), float(y))
        for query in range(2)
        for i, y in zip(IDS[query], LISTED[query], strict=True)
        if i >= 0
    ]
    relevant = pd.DataFrame(listed, columns=["query", "item", "label"])
    one_hot = np.eye(2, dtype=np.float32)
    metrics = (*EVERYWHERE[1:], "bpref")
    evaluation = jrm.evaluate_embeddings(metrics, one_hot, SCORES.T, relevant)
    check(evaluation.lists, expected_of(None))
    candidates = [[0, 2, 4, 5], [0, 1, 3, 4]]
    retrieved = np.zeros(LABELS.shape, bool)
    for query, items in enumerate(candidates):
        retrieved[query, items] = True
    rows = jrm.rank(
        *(LABELS, SCORES, retrieved | JUDGED),
        retrieved=retrieved,
        columns={"judged": JUDGED},
    )
    evaluation = jrm.evaluate_embeddings(
        metrics, one_hot, SCORES.T, relevant, candidates=candidates
    )
    check(evaluation.lists, jrm.measure(metrics, rows))


def evaluate(seen, model=lambda users: np.tile(-np.float32(range(6)), (len(users), 1))):
    """Evaluates users 4 and 5; the first items are best for any user."""
    relevant = {4: [1], 5: [2]}
    return jrm.evaluate_users(("recall@2", "popularity@2"), model, relevant, seen=seen)


def test_seen_of_other_users():
    """They exclude nothing, and raise if the model does not tell that they are users."""
    with pytest.raises(ValueError, match="seen names none of the users"):
        evaluate(pd.DataFrame({"user": [0, 1], "item": [0, 0]}))
    # Rows of a model are known to be users, whose counts make items popular: here 2 of item
    # 0, and 0 of item 1.
    evaluation = evaluate({7: [0], 6: [0]}, np.tile(-np.float32(range(6)), (8, 1)))
    popularity = evaluation.lists["popularity@2"].values
    np.testing.assert_allclose(popularity, [np.log(2) / 2] * 2, rtol=1e-6)


def test_seen_of_some_users():
    """Others may be named too, for popularity, and users who have seen nothing."""
    assert evaluate({7: [0], 4: []}).retrieved_ids.tolist() == [[0, 1], [0, 1]]
    assert evaluate({7: [0], 4: [0]}).retrieved_ids.tolist() == [[1, 2], [0, 1]]
