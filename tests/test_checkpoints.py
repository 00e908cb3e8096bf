"""Checkpoints of the drivers: what another call, or a changed one, is refused for."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm
from jax_rank_metrics._drivers import checkpoints

QUERIES, ITEMS, DIMS, BATCH = 40, 30, 4, 16
METRIC = "recall@3"


def same_class(query_classes, item_classes):
    return query_classes[:, None] == item_classes[None]


def product(queries, items):
    return queries @ items.T


def distance(queries, items):
    return -jnp.sum((queries[:, None] - items[None]) ** 2, axis=-1)


RNG = np.random.default_rng(1)
VECTORS, CATALOG = (
    RNG.normal(size=(n, DIMS)).astype(np.float32) for n in (QUERIES, ITEMS)
)
RELEVANT = RNG.integers(0, ITEMS, (QUERIES, 2))
CLASSES = RNG.integers(0, 5, QUERIES)
MODEL = (VECTORS, CATALOG)


def first_checkpoint(driver, arguments):
    """The checkpoint after the first of three batches."""
    kept = []
    getattr(jrm, driver)(METRIC, **arguments, batch_size=BATCH, on_batch=kept.append)
    assert len(kept) == 3
    return kept[0]


def resume(driver, arguments, checkpoint):
    return getattr(jrm, driver)(
        METRIC, **arguments, batch_size=BATCH, resume_from=checkpoint
    )


OF_USERS = {"relevant": dict(enumerate(RELEVANT[:39])), "seen": {39: [1]}}
OF_MODEL = OF_USERS | {"model": MODEL, "embeddings": CATALOG}
BY_ID = {"queries": VECTORS, "items": CATALOG, "relevant": RELEVANT}
BY_CLASS = {
    "queries": VECTORS,
    "items": CATALOG,
    "relevant": jrm.by_attributes(same_class, CLASSES, CLASSES[:ITEMS]),
}


def by_class(label_fn=same_class, queries=CLASSES, items=CLASSES[:ITEMS]):
    return {"relevant": jrm.by_attributes(label_fn, queries, items)}


CHANGED = {
    "model": (OF_MODEL, {"model": (-VECTORS, CATALOG)}),
    "scores": (
        OF_USERS | {"model": VECTORS @ CATALOG.T},
        {"model": VECTORS @ -CATALOG.T},
    ),
    "seen": (OF_MODEL, {"seen": {39: [2]}}),  # of a user who is not evaluated
    "embeddings": (OF_MODEL, {"embeddings": -CATALOG}),
    "queries": (BY_ID, {"queries": -VECTORS}),
    "dtype of queries": (BY_ID, {"queries": VECTORS.astype(np.float16)}),
    "items": (BY_ID, {"items": np.concatenate([CATALOG, CATALOG])}),
    "relevant": (BY_ID, {"relevant": (RELEVANT + 1) % ITEMS}),
    "similarity": (BY_ID, {"similarity": "l2"}),
    "similarity of one's own": (
        BY_ID | {"similarity": product},
        {"similarity": distance},
    ),
    "item_attributes": (BY_CLASS, by_class(items=CLASSES[1 : ITEMS + 1])),
    "query_attributes": (BY_CLASS, by_class(queries=CLASSES[::-1])),
    "label_fn": (BY_CLASS, by_class(lambda a, b: a[:, None] == b[None])),
    "candidates": (
        BY_ID | {"candidates": RELEVANT},
        {"candidates": (RELEVANT + 1) % ITEMS},
    ),
    "items in blocks": (BY_ID | {"items": [CATALOG]}, {"items": [CATALOG[::-1]]}),
}
# The arguments that need programs of their own.
COMPILED_ANEW = ("scores", "similarity of one's own", "candidates", "items in blocks")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name in COMPILED_ANEW))
        for name in CHANGED
    ],
)
def test_changed_arguments(name):
    """A call that differs in any argument is refused, by its name."""
    arguments, change = CHANGED[name]
    driver = "evaluate_users" if "model" in arguments else "evaluate_embeddings"
    checkpoint = first_checkpoint(driver, arguments)
    resume(driver, arguments, checkpoint)
    argument = {"scores": "model", "dtype of queries": "queries"}.get(name, name)
    argument = argument.removesuffix(" in blocks").removesuffix(" of one's own")
    with pytest.raises(ValueError, match=f"other (queries, )?{argument}"):
        resume(driver, arguments | change, checkpoint)


def cut(x, mesh):
    return jax.device_put(x, NamedSharding(mesh, P("q")))


@pytest.mark.parametrize(
    "kind",
    [
        "function",
        *(
            pytest.param(kind, marks=pytest.mark.long)
            for kind in ("iterator", "random ties", "mesh")
        ),
    ],
)
def test_values_that_changed(kind):
    """A batch that is measured again shows what cannot be read, such as weights."""
    options, weights = {}, [CATALOG]
    if kind == "mesh":
        mesh = jax.make_mesh((2,), ("q",), devices=jax.devices()[:2])
        options = {"mesh": mesh, "queries_axis": "q"}
    if kind == "random ties":
        options = {"ties": "random", "key": jax.random.key(0)}

    def score(users):
        return np.round(VECTORS[users] @ weights[0].T)

    def arguments():  # an iterator is read once
        if kind == "iterator":
            return BY_ID | {"items": iter(weights)}
        return {"model": score, "relevant": RELEVANT, **options}

    driver = "evaluate_embeddings" if kind == "iterator" else "evaluate_users"
    checkpoint = first_checkpoint(driver, arguments())
    whole = getattr(jrm, driver)(METRIC, **arguments(), batch_size=BATCH)
    resumed = resume(driver, arguments(), checkpoint)
    np.testing.assert_array_equal(resumed.gather().items, whole.gather().items)
    weights[0] = -CATALOG
    with pytest.raises(ValueError, match="other values of a batch"):
        resume(driver, arguments(), checkpoint)


def test_damaged_checkpoints():
    """Each error says what is wrong."""
    checkpoint = first_checkpoint("evaluate_embeddings", BY_ID)
    lists = checkpoint["lists"][METRIC]

    def with_values(values):
        return {"lists": {METRIC: {**vars(lists), "values": values}}}

    for change, match in (
        ({"batches": 99}, "99 batches are done, and there are 3"),
        ({"batches": 0}, "0 batches are done"),
        ({"batches": 2}, "other values of a batch"),
        ({"call": {}}, r"damaged.*'call' holds \[\], and not .*'queries'"),
        (
            {"items": checkpoint["items"][:-1]},
            r"items of .*\(39, 3\).* int32 \(40, 3\)",
        ),
        ({"items": checkpoint["items"].astype(float)}, "items of an array of float64"),
        ({"lists": {METRIC: {}}}, "its 'recall@3' is no PerList"),
        (with_values(lists.values[:-1]), r"lists of .*\(39,\)"),
        (with_values(lists.values.astype(np.float64)), "lists of .* float64"),
        (with_values(np.full_like(lists.values, np.nan)), "other values of a batch"),
    ):
        with pytest.raises(ValueError, match=match):
            resume("evaluate_embeddings", BY_ID, copy.copy(checkpoint) | change)
    with pytest.raises(ValueError, match="of another function.*'model'.*not .*'items'"):
        resume(
            "evaluate_embeddings", BY_ID, first_checkpoint("evaluate_users", OF_MODEL)
        )


def test_checksums(monkeypatch):
    """They are those of another process: no address is read. Of large arrays, rows are."""
    for value in (object(), product, jax.jit(product), iter([1])):
        text = b"".join(map(bytes, checkpoints._parts_of(value, 100)))
        assert b"0x" not in text, text
    monkeypatch.setattr(checkpoints, "_MAX_BYTES", 2**10)
    monkeypatch.setattr(checkpoints, "_ROW_BYTES", 2**4)
    array = np.arange(4000.0)
    changed = array.copy()
    changed[::-1][: len(array) // 2] += 1
    mesh = jax.make_mesh((2,), ("q",), devices=jax.devices()[:2])
    for put in (np.asarray, jnp.asarray, lambda x: cut(x, mesh)):
        number = checkpoints.checksum(put(array))
        assert number == checkpoints.checksum(put(array.copy()))
        assert number != checkpoints.checksum(put(changed))
        assert number != checkpoints.checksum(put(array[:-2]))
    read = sum(len(bytes(part)) for part in checkpoints._parts_of(array, 2**10))
    assert read < 2**11


def test_arrays_that_nobody_keeps_are_not_copied():
    """What is kept of a checkpoint, if only a slice, does not change with later batches."""
    addresses, slices = [], []

    def look(checkpoint):
        addresses.append(checkpoint["items"].__array_interface__["data"][0])
        if len(addresses) == 2:
            slices.append(checkpoint["items"][BATCH:])
            with pytest.raises(ValueError, match="read-only"):
                checkpoint["items"][0] = 1

    jrm.evaluate_embeddings(METRIC, **BY_ID, batch_size=8, on_batch=look)
    assert len(addresses) == 5 and len({*addresses}) == 2
    assert addresses[0] == addresses[1] and (slices[0] == -1).all()
