"""Remarks on likely mistakes: `check`, drivers, `join` and the command make the same.

Sound data trigger no remark.
"""

import functools
import json
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from marks import long
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._runs.files import frames

LISTS, ITEMS = 60, 12


def sound_data(rng, lists=LISTS, items=ITEMS):
    """Draws graded labels, scores, and a mask of rows that are padded at their end."""
    labels = rng.choice(np.float32([0, 0, 0, 1, 2]), (lists, items))
    scores = rng.normal(size=labels.shape).astype(np.float32)
    return labels, scores, np.arange(items) < rng.integers(2, items + 1, (lists, 1))


SOUND = {
    "graded": lambda y, s, m, rng: (y, s, m),
    "binary": lambda y, s, m, rng: (y > 0, s, m),
    "coarse scores": lambda y, s, m, rng: (y, rng.integers(0, 5, y.shape), m),
    "fractions": lambda y, s, m, rng: (rng.random(y.shape) * 2, s, m),
    "clicks and stars": lambda y, s, m, rng: (y > 0, rng.integers(1, 6, y.shape), m),
    "hidden by labels": lambda y, s, m, rng: (np.where(m, y, -1), s, None),
    "padded lists": lambda y, s, m, rng: (y, s, m & (np.arange(LISTS) < 3)[:, None]),
    "some empty lists": lambda y, s, m, rng: (y, s, m & (np.arange(LISTS) % 20 > 0)[:, None]),
    "a good model": lambda y, s, m, rng: (y, s + 3 * y, m),
    "masked scores": lambda y, s, m, rng: (y, np.where(m, s, -np.inf), m),
    "item weights": lambda y, s, m, rng: (y, s, m, rng.random(y.shape)),
    "more axes": lambda y, s, m, rng: [x.reshape(3, 20, -1) for x in (y, s, m)],
    "one list": lambda y, s, m, rng: (y[0], s[0], m[0]),
    "bfloat16": lambda y, s, m, rng: (jnp.array(y, "bfloat16"), jnp.array(s), m),
    "nothing": lambda y, s, m, rng: (y[:0], s[:0], m[:0]),
    "few, all relevant": lambda y, s, m, rng: ([[1, 1]], [[0.5, 0.1]]),
    "a worse model": lambda y, s, m, rng: (y, s - 0.1 * y, m),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_no_remarks(name, rng):
    """Common kinds of data trigger no remark, in five draws each."""
    for _ in range(5):
        assert jrm.check(*SOUND[name](*sound_data(rng), rng)) == []


def test_no_remarks_on_packed_lists_and_ids(rng):
    """Packed lists and ids trigger no remark either."""
    labels, scores, mask = sound_data(rng)
    packed = jrm.pack(np.repeat(rng.permutation(LISTS) * 7, ITEMS))
    flat = [x.reshape(-1) for x in (labels, scores, mask)]
    ids = np.where(rng.random(flat[0].size) < 0.1, -1, packed.segment_ids)
    packing = {"segment_ids": ids, "num_segments": LISTS + 3}
    assert jrm.check(*flat, **packing) == []
    item_ids = rng.permuted(np.tile(np.arange(40), (LISTS, 1)), axis=-1)
    is_padding = rng.random((LISTS, 5)) < 0.3
    relevant = {"relevant_ids": np.where(is_padding, -1, item_ids[:, :5])}
    retrieved = rng.permuted(item_ids, axis=-1)
    assert jrm.check(**relevant, retrieved_ids=retrieved, num_items=40) == []
    excluded = np.where(item_ids[:, 5:9] % 3 == 0, -1, item_ids[:, 5:9])
    scores = rng.normal(size=(LISTS, 40)).astype(np.float32)
    scores[excluded[:, 0] >= 0, excluded[excluded[:, 0] >= 0, 0]] = np.nan
    assert jrm.check(scores=scores, **relevant, exclude_ids=excluded) == []
    assert jrm.check(**relevant, relevant_labels=rng.integers(0, 2, (LISTS, 5))) == []


# fmt: off
ODD = {
    "swapped": (lambda y, s, m, rng: (s + 3, y), r"labels hold \d+ values, most of them fractions, and scores only 3 whole ones from 0 to 2; pass labels before scores"),
    "swapped, small": (lambda y, s, m, rng: ([[0.9, 0.1, 0.3, 0.8], [0.4, 0.3, 0.2, 0.1]], [[3, 2, 0, 1], [0, 0, 1, 0]]), "labels hold 6 values, .* from 0 to 3"),
    "fractions below 1": (lambda y, s, m, rng: (rng.random(y.shape) / 2, s), "none of 720 items is relevant: the largest label is 0.4.*, and relevance_threshold is 1; pass a lower"),
    "ratings": (lambda y, s, m, rng: (y + 1, s), "every one of 720 items is relevant: the smallest label is 1, and relev.* is 1;"),
    "dislikes": (lambda y, s, m, rng: (y - 1, s), r"\d+ of 720 labels are negative, as -1 at \(0, \d+\), and their items are left out"),
    "a last axis of 1": (lambda y, s, m, rng: (y[..., None], s[..., None]), "every one of 720 lists has a single item, .*; pass arrays"),
    "pointwise": (lambda y, s, m, rng: (y[:, :1], s[:, :1], m[:, :1]), "every one of 60 lists has a single item"),
    "logits as labels": (lambda y, s, m, rng: (np.sort(s)[:, ::-1] * 3, s), r"\d+ of 720 labels are negative, as -"),
    "a constant model": (lambda y, s, m, rng: (y, np.zeros_like(s), m), "all scores are equal in 60 of 60 lists, as in list 0; pass scores"),
    "a cold list": (lambda y, s, m, rng: (y, np.where(np.arange(LISTS)[:, None] == 7, 0.5, s)), "all scores are equal in 1 of 60 lists, as in list 7;"),
    "one constant list": (lambda y, s, m, rng: ([1, 0], [0.5, 0.5]), "all scores are equal in the list;"),
    "ranks": (lambda y, s, m, rng: (y, np.argsort(np.argsort(-s - 3 * y)) + 1), "relevant items score below the others in .. of .. lists, .*: pass -scores"),
    "distances": (lambda y, s, m, rng: (y, np.exp(s - 3 * y), m), "relevant items score below the others in .. of .. lists"),
    "a mask of padding": (lambda y, s, m, rng: (y, s, ~(m | (np.arange(LISTS) % 3 == 0)[:, None])), "the mask hides every item of 2. of 60 lists, as in list 0; pass ~mask"),
    "all hidden": (lambda y, s, m, rng: (y, s, np.zeros_like(m)), "the mask hides every item of every list; pass ~mask"),
}
# fmt: on


@pytest.mark.parametrize("name", ODD)
def test_one_remark(name, rng):
    """Each mistake triggers its own remark, and no other."""
    arrays, text = ODD[name]
    for _ in range(3):
        [remark] = jrm.check(*arrays(*sound_data(rng), rng))
        assert re.match(text, remark), remark


GRADES = (
    "none of 2 items is relevant: the largest label is 0.9, and relevance_threshold"
)
INFINITE = "-inf is the lowest score, and such items are ranked and may be found"
COLLIDING = (
    "scores that differ become equal in float32, in which they are compared, and"
)
IDS = (
    "0 of 3 retrieved documents are judged, and none is relevant: for query 'q1', the "
)


def remarks_of(call):
    """The result of a call, and the warnings about the caller's line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert {x.filename for x in caught} <= {__file__}
    return result, [str(x.message) for x in caught]


JOINS = {
    "ids": ({"q1": {"0007": 1, "0008": 0}, "q2": {"01": 1}}, {"q1": {"7": 2, "8": 1}, "q2": {"1": 1}}, f"{IDS}judgements hold '0007', '0008', and the run holds '7', '8'"),
    "integers": ({"q1": {"0007": 1}}, {"q1": {7: 2, 8: 1, 9: 0}}, f"{IDS}judgements hold '0007', and the run holds '7', '8'"),
    "grades": ({"q1": {"a": 0.9, "b": 0.2}}, {"q1": {"a": 1}}, GRADES),
    "hardly any": ({"q": {"0": 0, "x1": 1}}, {"q": {str(i): i for i in range(200)}}, "1 of 200 retrieved documents are judged"),
}  # fmt: skip
SILENT = {
    "one hit": ({"q": {"0": 1}}, {"q": {str(i): i for i in range(200)}}, {}),
    "judged": ({"q": {"0": 0, "1": 0, "z": 1}}, {"q": {str(i): i for i in range(200)}}, {}),
    "pooled": ({"q": {"0": -1, "z": 1}}, {"q": {"0": 1, "1": 2}}, {}),
    "found below the depth": ({"q": {"0": 1}}, {"q": {"0": 1, "1": 2}}, {"depth": 1}),
    "nothing retrieved": ({"q": {"0": 1}}, {"q": {}}, {"missing": "zero"}),
    "nothing relevant": ({"q": {"0": 0}}, {"q": {"0": 1}}, {}),
    "doubles": ({"q": {"0": 1}}, {"q": {"0": 1 + 1e-12, "1": 1.0}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("condensed", [False, *long(True)])
def test_join_and_the_command(tmp_path, name, condensed):
    """Each says it once, and the result keeps it for `check`."""
    qrels, run, text = JOINS[name]
    joined, warned = remarks_of(lambda: jrm.join(qrels, run, condensed=condensed))
    assert len(warned) == 1 and warned[0].startswith(text)
    assert joined.remarks == (warned[0],) and jrm.check(joined)[:1] == warned
    paths = tmp_path / "qrels.json", tmp_path / "run.json"
    for path, queries in zip(paths, (qrels, run), strict=True):
        path.write_text(json.dumps(queries))
    words = ["evaluate", *map(str, paths), "-m", "mrr"]
    done = CliRunner().invoke(cli.app(), words)
    remark = warned[0].replace("relevance_threshold", "--level")
    remark = remark.replace("document=", "--document")
    assert done.stderr == f"jax-rank-metrics: run: {remark}\n"
    # Data that no metric of the call reads are no reason for a note.
    for more in ([*words[:3], "-m", "ndcg@5"], [*words, "--level", "0.5"]):
        assert (name == "grades") == (not CliRunner().invoke(cli.app(), more).stderr)


@pytest.mark.parametrize("name", SILENT)
def test_sound_judgements_and_runs(name):
    """Sparse judgements, bad runs and doubles that differ are no mistakes."""
    qrels, run, options = SILENT[name]
    joined = jrm.join(qrels, run, **options)
    assert joined.remarks == ()


def test_integers_that_trec_eval_cannot_tell_apart():
    """They make a remark only under its rules, if relevant and other documents collide."""
    rows = {"query_id": ["q", "q", "p"], "doc_id": ["a", "b", "a"]}
    run = pl.DataFrame({**rows, "score": [2**60, 2**60 + 1, 5]})
    for second, count in ((0, 1), (1, 0)):
        qrels = {"q": {"a": 1, "b": second}, "p": {"a": 1}}
        for ties, number in (("trec", count), ("expected", 0)):
            _, warned = remarks_of(lambda t=ties, y=qrels: jrm.join(y, run, ties=t))
            assert len(warned) == number


VECTORS = np.float32([[1, 0], [0, 1], [1, 1]])


def forbidding(queries, items):
    """Returns products, with −inf for products above 1."""
    scores = queries @ items.T
    return jnp.where(scores > 1, -jnp.inf, scores)


TIMES = 1.7e9 + np.arange(12.0).reshape(2, 6)
FALLING, FIVES = [5, 4, 3, 2, 1], [0] * 5 + [1] * 5
RELEVANT = np.array([[3, 5], [7, -1], [-1, -1]])
EXCLUDED = np.array([[3, 1], [7, 2], [0, 1]])
DRAWN = np.arange(LISTS)[:, None] * 7 % 10
SPREAD = np.arange(LISTS * 10).reshape(LISTS, 10) * 7 % 11 / 11
TENTHS = np.array([[0.7]], np.float32)
EXCLUDED_TENTHS = {
    "relevant_ids": [[3]],
    "exclude_ids": [[3]],
    "relevant_labels": TENTHS,
}
OF_SIZES = "and so on, as if they were the sizes of lists; pass the number of each item's list, as np.repeat(np.arange(len(sizes)), sizes) has it"
CHECKS = {
    "a constant list, packed": (lambda: jrm.check([1, 0, 0, 0, 0] * 2, [*FALLING, *[1] * 5], segment_ids=FIVES, num_segments=2), "all scores are equal in 1 of 2 lists, as in list 1;"),
    # One list after the other, no label needs to be padding.
    "padding, packed": (lambda: jrm.check([1, 0, -1, -1], [2, 1, 2, 1], segment_ids=[0, 0, 1, 1], num_segments=2), "2 of 4 labels are negative, as -1 at (2,)"),
    "sizes of lists": (lambda: jrm.check([1, 0, 0, 0, 1, 1, 0, 0, 0], [9, 8, 7, 5, 6, 4, 3, 2, 1], segment_ids=np.repeat([3, 2, 4], [3, 2, 4]), num_segments=5), f"segment_ids are 3 at the first 3 items, {OF_SIZES}"),
    "one size of all lists": (lambda: jrm.check([1, 0] * 4, [8, 7, 6, 5, 4, 3, 2, 1], segment_ids=[2] * 8, num_segments=4), f"segment_ids are 2 at the first 2 items, {OF_SIZES}"),
    "rows of packed lists": (lambda: jrm.check([[1, 0, 0, 0, 0] * 2] * 2, [FALLING * 2, FALLING + [1] * 5], segment_ids=[FIVES] * 2, num_segments=2), "all scores are equal in 1 of 4 lists, as in list (1, 1);"),
    "excluded ids": (lambda: jrm.check(relevant_ids=RELEVANT, exclude_ids=EXCLUDED), "every relevant id is excluded in 1 of 2 lists, as in list 1 (such as id 7), so"),
    "excluded ids, graded": (lambda: jrm.check(relevant_ids=RELEVANT, exclude_ids=EXCLUDED, relevant_labels=[[2, 0], [1, 0], [0, 0]]), "every relevant id is excluded in 2 of 2 lists, as in list 0 (such as id 3), so"),
    "an id twice": (lambda: jrm.check(relevant_ids=RELEVANT, retrieved_ids=[[1, 3, 1, -1], [2, 4, 6, 8], [-1] * 4]), "retrieved_ids hold an id twice in 1 of 2 lists, as in list 0 (id 1); pass each id once"),
    "no hit": (lambda: jrm.check(relevant_ids=DRAWN, retrieved_ids=DRAWN + 10), "none of the relevant ids was retrieved in any of 60 lists"),
    "distances of ids": (lambda: jrm.check(scores=(np.arange(10) != DRAWN) + SPREAD, relevant_ids=DRAWN), "relevant items score below the others in 60 of 60 lists"),
    "excluded ids of a threshold": (lambda: jrm.check(**EXCLUDED_TENTHS, relevance_threshold=0.7), "every relevant id is excluded in 1 of 1 lists"),
    "tenths of ids": (lambda: jrm.check(**EXCLUDED_TENTHS), "none of 1 items is relevant: the largest label is 0.7"),
    "float64": (lambda: jrm.check([[1, 0, 0]] * 2, TIMES[:, :3]), f"{COLLIDING} relevant items tie with others, in 2 of 2 lists, as in list 0; subtract"),
    "a list of floats": (lambda: jrm.check([1, 0, 0], [0.5, 0.5 + 1e-12, 0.1]), COLLIDING),
    "probabilities": (lambda: jrm.check([1, 0, 0], [1e-50, 1e-60, 0.1]), COLLIDING),
    "only one list": (lambda: jrm.check([[1, 0], [0, 1]], [[0.1, 0.2], [1, 1 + 1e-9]]), f"{COLLIDING} relevant items tie with others, in 1 of 2 lists, as in list 1"),
    "packed": (lambda: jrm.check([1, 0, 1, 0], [1, 2, 1, 1 + 1e-9], segment_ids=[0, 0, 1, 1], num_segments=2), f"{COLLIDING} relevant items tie with others, in 1 of 2 lists, as in list 1"),
    "scores and ids": (lambda: jrm.check(scores=TIMES, relevant_ids=[[2], [-1]]), f"{COLLIDING} relevant items tie with others, in 1 of 2 lists"),
    "infinite": (lambda: jrm.check([[1, 0, 0], [1, 0, 0]], [[3, 2, 1], [1, 0, -np.inf]]), f"scores are -inf in 1 of 2 lists, as in list 1; {INFINITE}"),
    "infinite, ids": (lambda: jrm.check(scores=[[1, -np.inf]], relevant_ids=[[0]]), f"scores are -inf in 1 of 1 lists, as in list 0; {INFINITE}"),
    "grades of ids": (lambda: jrm.check(relevant_ids=[[0, 1]], relevant_labels=[[0.9, 0.1]]), GRADES),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_check_says_it(name):
    """Each mistake makes one remark, about the lists whose numbers it affects."""
    call, text = CHECKS[name]
    [remark] = call()
    assert remark.startswith(text)


def test_check_is_silent():
    """No remark is made if scores stay apart, tie among themselves or are not read."""
    assert not jrm.check([1, 1, 0], [1, 1 + 1e-12, 0.5])  # both relevant
    assert not jrm.check([1, 0, 0], [1, 0.5, 0.5 + 1e-12])  # neither relevant
    assert not jrm.check([1, 0, -1], [1, 0.5, 1 + 1e-12])  # padding
    assert not jrm.check([1, 0, 0], np.float32([1, 0.5, 1]))  # equal as they are
    assert not jrm.check([1, 0, 0], [1, 0, -np.inf], [True, True, False])
    assert not jrm.check([1, 0], [1, 0.5], gain_fn=lambda labels: 1.0)
    # Ids from 1; some occur as often as their value says, or a multiple of that.
    for ids, number in (
        ([1, 1, 2, 2], 5),
        ([1, 2, 3, 3], 5),
        ([2, 2, 1, 3], 5),
        ([1, 1, 1, 1], 5),
        ([1, 1, 1, 2, 2], 3),
        ([1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3], 7),
    ):
        packing = {"segment_ids": ids, "num_segments": number}
        labels = np.arange(len(ids)) % 3 == 0
        assert not jrm.check(labels, np.arange(len(ids), 0, -1), **packing)
    assert not jrm.check([], [], segment_ids=[], num_segments=2)
    # A float32 label of 0.7 reaches the threshold 0.7, as in metrics.
    tenths = np.float32([[0.7, 0.1, 0.2]])
    assert not jrm.check(tenths, tenths - 0.4, relevance_threshold=0.7)
    scores = np.where(np.eye(2, 4) > 0, -np.inf, np.arange(8.0).reshape(2, 4))
    assert not jrm.check(scores=scores, relevant_ids=[[2], [3]], exclude_ids=[[0], [1]])
    with jax.enable_x64(True):
        assert not jrm.check([[1, 0, 0]] * 2, TIMES[:, :3])


def test_ties_that_a_metric_reads_in_one_order():
    """Ties make a remark only for such metrics, and only if labels of tied items differ."""
    labels, scores = [[1, 0, 0], [1, 0, 0]], [[2, 2, 1], [3, 1, 1]]
    text = (
        "items tie for 1 of 2 lists, as in list 0, and inst has no formula for the mean"
    )
    ids = {"scores": scores, "relevant_ids": [[0], [0]]}
    for check in (
        functools.partial(jrm.check, labels, scores),
        lambda **x: jrm.check(**ids, **x),
    ):
        assert not check() and not check(metrics=("ndcg", "map"))
        [remark] = check(metrics=("ndcg", "inst"))
        assert remark.startswith(text)
    assert not jrm.check(labels[1], scores[1], metrics="inst")
    tied = {"q": {"a": 2, "b": 2, "c": 1}}
    [remark] = jrm.check(jrm.join({"q": {"a": 1}}, tied), metrics="inst")
    assert remark.startswith("items tie for 1 of 1 lists")
    # Documents that tie are ordered by their ids.
    assert not jrm.check(jrm.join({"q": {"a": 1}}, tied, ties="trec"), metrics="inst")
    with pytest.raises(ValueError, match="metrics is empty"):
        jrm.check(labels, scores, metrics=())


@pytest.mark.parametrize("form", ["rows", *long("packed", "ids", "joined")])
def test_ties_across_a_cutoff(form, rng):
    """They make a remark if their order can move a mean beyond its standard error."""
    scores = np.stack([rng.permutation(8) for _ in range(6)])
    labels, tied = (
        np.where(scores == 7, 2, 0),
        np.minimum(scores, 6),
    )  # the two best tie
    packed = {"segment_ids": np.repeat(np.arange(6), 8), "num_segments": 6}
    documents = [
        {
            str(q): {str(i): int(x) for i, x in enumerate(row)}
            for q, row in enumerate(rows)
        }
        for rows in (labels, tied)
    ]
    check = {
        "rows": functools.partial(jrm.check, labels, tied),
        "packed": functools.partial(jrm.check, labels.ravel(), tied.ravel(), **packed),
        "ids": functools.partial(
            jrm.check, scores=tied, relevant_ids=labels.argmax(1)[:, None]
        ),
        "joined": functools.partial(jrm.check, jrm.join(*documents)),
    }[form]
    [remark] = check(metrics="p@1,2")
    head = "items of different labels tie across a cutoff in 6 of 6 lists, as in list 0"
    assert remark.startswith(head) and "error: p@1 0.5 ± 0 (0 to 1);" in remark
    assert not check()
    assert not jrm.check(labels, scores, metrics="p@1,2")
    assert not jrm.check(
        labels[:1], tied[:1], metrics="p@1,2"
    )  # it has no standard error


def forbidden_links(known):
    """The evaluation of a triple, with others that are known."""
    scores = jnp.asarray(VECTORS)
    return jrm.evaluate_links(
        "mrr@2",
        lambda e, r, side: (scores[e] @ scores.T).at[:, 0].set(-jnp.inf),
        [[1, 0, 2]],
        known=known,
        num_entities=3,
    )["both"]


def embeddings(relevant=((0,), (1,), (1,)), **options):
    """The evaluation of three vectors among themselves."""
    options = {"similarity": forbidding, **options}
    return jrm.evaluate_embeddings("mrr@2", VECTORS, VECTORS, relevant, **options)


def users(model, relevant, **options):
    """The evaluation of scores, or of embeddings."""
    return jrm.evaluate_users("mrr@2", model, relevant, **options)


def opposite(queries, items):
    """Returns negated products, so that lower ones would be better."""
    return -queries @ items.T


CLASSES = jrm.by_attributes(
    lambda q, i: q[:, None] == i[None], np.arange(3), np.arange(3)
)
BELOW_1 = pl.DataFrame({"user": [0, 1], "item": [1, 1], "label": [0.9, 0.4]})
DISTANCES = (np.arange(10) != DRAWN) + SPREAD
LOWEST = np.where(np.eye(2, 4) > 0, -np.inf, np.arange(8.0).reshape(2, 4))
FIRST_2 = "among the first 2 users, "
FORBIDDEN = f"scores are -inf in 1 of the first 3 queries, such as query 2; {INFINITE}"
TIE = "relevant items tie with others"
DRIVERS = {
    "infinite": (embeddings, FORBIDDEN),
    "infinite, others excluded": (lambda: embeddings(exclude=[[], [], [0]]), FORBIDDEN),
    "infinite, by attributes": (lambda: embeddings(CLASSES), FORBIDDEN),
    "infinite links": (lambda: forbidden_links([[2, 0, 1]]), f"scores are -inf in 2 of 2 lists, as in list 0; {INFINITE}"),
    "grades of users": (lambda: users(np.eye(2, 3), BELOW_1), f"metrics are undefined for every one of 2 users: mrr@2; {GRADES}"),
    "all excluded": (lambda: embeddings(exclude=[[0], [], []], similarity="dot"), "exclude holds all relevant items of 1 of 3 queries, such as query 0, for which metrics are undefined; remove these items from exclude if they should be found"),
    "all seen": (lambda: users(np.eye(2, 3), [[0], [1]], seen=[[], [1]]), "seen holds all relevant items of 1 of 2 users, such as user 1, for whom metrics are undefined; remove these items from seen if they should be found"),
    "float64": (lambda: users(TIMES, {0: [1], 1: [3]}), f"{FIRST_2}{COLLIDING} {TIE}, in 2 of 2 lists, as in list 0; subtract"),
    "float64, some seen": (lambda: users(TIMES, {0: [1], 1: [3]}, seen={1: [0, 1, 2, 4, 5]}), f"{FIRST_2}{COLLIDING} {TIE}, in 1 of 2 lists, as in list 0"),
    "float64, candidates": (lambda: users(TIMES, {0: [1], 1: [3]}, candidates={0: [1], 1: [3, 4]}), f"{FIRST_2}{COLLIDING} {TIE}, in 1 of 2 lists, as in list 1"),
    "float64, one user": (lambda: users(TIMES, {1: [3]}), f"among the first 1 users, {COLLIDING} {TIE}, in 1 of 1 lists"),
    "distances": (lambda: users(DISTANCES, DRAWN), "among the first 32 users, relevant items score below the others in 32 of 32 lists, as in list 0; higher"),
    "distances of JAX": (lambda: users(jnp.asarray(DISTANCES), DRAWN), "among the first 32 users, relevant items score below the others in 32 of 32 lists, as in list 0; higher"),
    "distances of a function, in some of 40 users": (lambda: users(lambda rows: DISTANCES[rows], DRAWN, users=np.arange(4, 30)), "among the first 26 users, relevant items score below the others in 26 of 26 lists, as in list 0; higher"),
    "a similarity that falls": (lambda: jrm.evaluate_embeddings("mrr@2", np.eye(20), np.eye(20), np.arange(20)[:, None], similarity=opposite), "among the first 20 queries, relevant items score below the others in 20 of 20 lists"),
}  # fmt: skip


@pytest.mark.parametrize("name", DRIVERS)
def test_drivers_say_it_and_keep_it(name):
    """Each mistake makes one remark, and the call warns of it."""
    call, text = DRIVERS[name]
    evaluation, warned = remarks_of(call)
    assert len(warned) == 1 and warned[0].startswith(text)
    assert evaluation.remarks == (warned[0],) and jrm.check(evaluation) == warned


def test_distances_of_links():
    """Each side says so, and the function is called no more often."""
    triples, calls = np.arange(64)[:, None] * [1, 0, 1], []

    def distances(entities, relations, side):
        calls.append(side)
        return entities[:, None] != np.arange(64)

    options = {"known": triples, "num_entities": 64, "batch_size": 16}
    links, warned = remarks_of(
        lambda: jrm.evaluate_links("mrr", distances, triples, **options)
    )
    assert calls == ["head"] * 4 + ["tail"] * 4 and links["both"].remarks == (*warned,)
    for text, side in zip(warned, ("head", "tail"), strict=True):
        assert text.startswith(
            f"where the {side} is predicted, among the first 16 lists, relevant items "
            "score below the others in 16 of 16 lists, as in list 0"
        )


def test_distances_in_a_run(rng):
    """`join` says so once, by places; bad runs, however scores are spread, are left alone."""
    lists = range(30)
    qrels = {f"q{i}": {f"d{i % 7}": 1} for i in lists}

    def remarks_on(scores, **options):
        rows = enumerate(scores.tolist())
        run = {f"q{i}": {f"d{j}": x for j, x in enumerate(row)} for i, row in rows}
        return remarks_of(lambda: jrm.join(qrels, run, **options))

    for ties in ("expected", "trec"):
        for spread in (0, 1, 9):  # 0 is a constant model, and 9 has a few huge scores
            scores = np.exp(spread * rng.normal(size=(30, 7)))
            assert not remarks_on(scores, ties=ties)[1]
        scores[np.arange(30), np.arange(30) % 7] = 0
        joined, warned = remarks_on(scores, ties=ties)
        assert warned == ["relevant items score below the others in 30 of 30 queries, "
            "such as 'q0'; higher scores rank first: pass -scores, if they are ranks, "
            "distances or losses"]  # fmt: skip
        assert jrm.check(joined) == jrm.check(joined.evaluation("mrr")) == warned
        assert not remarks_on(-scores, ties=ties)[1]


def test_scores_that_rise_with_their_ranks(tmp_path, monkeypatch):
    """Frames and files say so; a rank that says nothing is left alone."""
    rows = [(f"q{i}", f"d{j}", j, 0.1 * j) for i in range(3) for j in range(9)]
    frame = pl.DataFrame(rows, ("qid", "docno", "rank", "score"), orient="row")
    qrels = {f"q{i}": {"d8": 1} for i in range(3)}
    text = "scores rise with the ranks beside them in 24 of 24 pairs"
    joined, [warned] = remarks_of(lambda: jrm.join(qrels, frame))
    assert warned.startswith(text) and joined.remarks == (warned,)
    for rows_of_part in (4, 9):  # large frames are read in parts
        with monkeypatch.context() as patch:
            patch.setattr(frames, "_ROWS_OF_PART", rows_of_part)
            assert remarks_of(lambda: jrm.join(qrels, frame))[1] == [warned]
    falling = frame.with_columns(score=-pl.col("score"))
    constant, words = (frame.with_columns(rank=pl.lit(x)) for x in (0, "first"))
    for sound in (falling, constant, words, frame.drop("score")):
        joined, _ = remarks_of(functools.partial(jrm.join, qrels, sound))
        assert not any("rise" in remark for remark in joined.remarks)
    path, judged = tmp_path / "a.run", tmp_path / "qrels"
    path.write_text("".join(f"{q} Q0 {d} {r} {s} tag\n" for q, d, r, s in rows))
    judged.write_text("".join(f"q{i} 0 d8 1\n" for i in range(3)))
    with pytest.warns(UserWarning, match=f"a.run: {text}"):
        jrm.read_run(path)
    for kind, write in (("csv", "csv"), ("parquet", "parquet"), ("jsonl", "ndjson")):
        getattr(frame, f"write_{write}")(tmp_path / f"a.{kind}")
        with pytest.warns(UserWarning, match=f"a.{kind}: {text}"):
            assert jrm.read_run(tmp_path / f"a.{kind}").width == 3
    result = CliRunner().invoke(cli.app(), ["evaluate", str(judged), str(path)])
    assert f"a.run: {text}" in " ".join(result.stderr.split())


ODD_WEIGHTS = {
    "large": (
        [3e38] * 3,
        "holds 3e.38, but sums in float32 .*; divide them by their mean",
    ),
    "small": ([1e-38] * 3, "holds 1e-38, but sums .*; divide them by their mean"),
    "spread": ([1, 2, 1e-20], "holds 1e-20, .* pass 0 for weights far below"),
}


@pytest.mark.parametrize("name", ODD_WEIGHTS)
def test_list_weights_out_of_range(name):
    """They raise wherever they are known, and the cure makes the mean right."""
    weights, text = ODD_WEIGHTS[name]
    labels = np.array([[1, 0], [0, 1], [1, 0]])
    scores = np.array([[2, 1], [2, 1], [2, 1]])
    joined = jrm.join([["a"], ["b"], ["a"]], [["a", "b"]] * 3)
    calls = (
        functools.partial(jrm.evaluate, "mrr", labels, scores),
        functools.partial(joined.evaluate, "mrr"),
        lambda list_weights: jrm.evaluate_users("mrr@2", scores, [[0], [1], [0]], list_weights=list_weights).states,
    )  # fmt: skip
    cured = np.where(np.array(weights) < 1e-12 * max(weights), 0, weights)
    cured = cured / cured.mean()
    for call in calls:
        with pytest.raises(ValueError, match=f"list_weights {text}"):
            call(list_weights=weights)
        [state] = call(list_weights=cured.tolist()).values()
        assert state.compute() == pytest.approx(
            np.dot(cured, [1, 0.5, 1]) / cured.sum()
        )


def test_weights_that_mask_lists():
    """Known weights that are NaN or negative make a remark; JAX's are not read."""
    arrays = np.eye(2), np.eye(2)
    for weights, text in (([1, np.nan], "nan at (1,)"), ([-2, 1], "-2 at (0,)")):
        for argument in ("weights", "list_weights"):
            call = functools.partial(jrm.reciprocal_rank, *arrays)
            _, [warned] = remarks_of(lambda c=call, a=argument, w=weights: c(**{a: w}))
            assert warned.startswith(f"{argument} is {text}, which leaves out")
            assert not remarks_of(lambda c=call, a=argument, w=weights: c(**{a: jnp.array(w)}))[1]  # fmt: skip


def test_one_list_of_everything(rng):
    """Groups that were forgotten make a remark, unless arrays are of JAX, or lists short."""
    labels, scores = rng.random((2, 1200))
    labels = (labels < 0.1).astype(int)
    text = f"there is only one list, of 1200 items, {labels.sum()} of them relevant;"
    evaluate = functools.partial(jrm.evaluate, "mrr")
    documents = [f"d{i}" for i in range(1200)]
    qrels, run = (
        {"q": dict(zip(documents, x.tolist(), strict=True))} for x in (labels, scores)
    )
    relevant = [np.flatnonzero(labels).tolist()]
    for call in (
        lambda: evaluate(labels, scores),
        lambda: evaluate(labels.tolist(), scores.tolist()),
        lambda: evaluate(labels[None], scores[None]),
        lambda: jrm.join(qrels, run),
        lambda: jrm.evaluate_users("mrr@2", scores[None], relevant),
    ):
        _, [warned] = remarks_of(call)
        assert warned.startswith(text)
    for call in (
        lambda: evaluate(jnp.asarray(labels), scores),
        lambda: evaluate(labels.reshape(2, -1), scores.reshape(2, -1)),
        lambda: evaluate(
            labels, scores, segment_ids=np.arange(1200) // 9, num_segments=134
        ),
        lambda: evaluate(labels * (labels.cumsum() < 50), scores),
    ):
        assert not remarks_of(call)[1]


def test_drivers_are_silent():
    """No remark is made if items are not ranked or recommended, or if scores stay apart."""
    mask = [True, True, False]
    assert not embeddings(exclude_self=True).remarks
    assert not embeddings([[0], [2], [1]], exclude_self=True, similarity="dot").remarks
    assert not embeddings(item_mask=mask).remarks
    # Known links are not ranked, whatever their scores.
    assert not forbidden_links([[0, 0, 2], [1, 0, 0]]).remarks
    assert not users(LOWEST, [[2], [3]]).remarks  # not recommended
    # A constant model is a baseline; its ties are averaged.
    assert not users(np.zeros((2, 7)), [[0], [1]]).remarks
    assert not users((VECTORS, VECTORS), [[0], [1], [1]], item_mask=mask).remarks
    assert not users(TIMES - TIMES.min(), {0: [1], 1: [3]}).remarks
    with jax.enable_x64(True):
        assert not users(TIMES, {0: [1], 1: [3]}).remarks
