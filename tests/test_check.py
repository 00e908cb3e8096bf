"""The remarks of `check`, and that sound data trigger none."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

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
    relevant = {
        "relevant_ids": np.where(rng.random((LISTS, 5)) < 0.3, -1, item_ids[:, :5])
    }
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
    "dislikes": (lambda y, s, m, rng: (y - 1, s), r"\d+ of 720 labels are negative, as -1 at \(0, \d+\), and leave the ranking"),
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


def test_remarks_on_packed_lists(rng):
    """Remarks name a packed list by its number."""
    labels, scores, _ = [x.reshape(-1) for x in sound_data(rng)]
    ids = np.repeat(np.arange(LISTS), ITEMS)
    packing = {"segment_ids": ids, "num_segments": LISTS}
    [remark] = jrm.check(labels, np.where(ids == 4, 1, scores), **packing)
    assert remark.startswith("all scores are equal in 1 of 60 lists, as in list 4;")
    # One list after the other, no label needs to be padding.
    [remark] = jrm.check(np.where(ids == 4, -1, labels), scores, **packing)
    assert remark.startswith("12 of 720 labels are negative, as -1 at (48,)")
    rows = {"segment_ids": ids.reshape(2, -1) % 30, "num_segments": 30}
    odd = np.where(ids == 34, 1, scores).reshape(2, -1)
    [remark] = jrm.check(labels.reshape(2, -1), odd, **rows)
    assert "in 1 of 60 lists, as in list (1, 4);" in remark


def test_remarks_on_ids(rng):
    """Excluded relevant ids, repeated ids and ids without any hit are remarked on."""
    relevant = np.array([[3, 5], [7, -1], [-1, -1]])
    ids = {"relevant_ids": relevant, "exclude_ids": np.array([[3, 1], [7, 2], [0, 1]])}
    [remark] = jrm.check(**ids)
    assert remark.startswith(
        "every relevant id is excluded in 1 of 2 lists, as in list 1, 7 among them"
    )
    remarks = jrm.check(**ids, relevant_labels=np.array([[2, 0], [1, 0], [0, 0]]))
    assert "in 2 of 2 lists, as in list 0, 3 among them" in remarks[0]
    retrieved = np.array([[1, 3, 1, -1], [2, 4, 6, 8], [-1, -1, -1, -1]])
    [remark] = jrm.check(relevant_ids=relevant, retrieved_ids=retrieved)
    assert remark.startswith(
        "retrieved_ids hold an id twice in 1 of 2 lists, as in lis"
    )
    assert "list 0, 1 there; pass each once" in remark
    relevant = rng.integers(0, 10, (LISTS, 1))
    [remark] = jrm.check(relevant_ids=relevant, retrieved_ids=relevant + 10)
    assert remark.startswith(
        "none of the relevant ids was retrieved in any of 60 lists"
    )
    distances = rng.random((LISTS, 10)) + (np.arange(10) != relevant)
    [remark] = jrm.check(scores=distances, relevant_ids=relevant)
    assert remark.startswith("relevant items score below the others in 60 of 60 lists")


def test_thresholds_are_those_of_metrics():
    """A float32 label of 0.7 is relevant at the threshold 0.7, as in metrics."""
    labels = np.array([[0.7, 0.1, 0.2]], np.float32)
    scores = np.array([[0.3, 0.1, 0.2]], np.float32)
    assert jrm.check(labels, scores, relevance_threshold=0.7) == []
    arguments = {"relevant_ids": [[3]], "exclude_ids": [[3]]}
    labels = np.array([[0.7]], np.float32)
    remarks = jrm.check(**arguments, relevant_labels=labels, relevance_threshold=0.7)
    assert len(remarks) == 1 and "excluded" in remarks[0]
    [remark] = jrm.check(**arguments, relevant_labels=labels)
    assert remark.startswith("none of 1 items is relevant: the largest label is 0.7")
