"""The drivers on many devices: the numbers of one device, and nothing large travels."""

from pathlib import Path

import drivers_worker
import jax
import numpy as np
import processes
import pytest
import scipy.sparse
from evaluations import check_same
from jax.sharding import AxisType
from sources import make_mesh, put
from test_meshes import collectives

import jax_rank_metrics as jrm
from jax_rank_metrics._runs.drivers import programs

USERS, ITEMS, DIMS = 45, 1003, 4
METRICS = ("ndcg@3", "mrr")
BATCH = 16


def mesh_of(kind=AxisType.Auto):
    """Makes a mesh of two parts of the queries and four parts of the items."""
    return make_mesh((2, 4), ("q", "i"), kind)


MESH = {"mesh": mesh_of(), "queries_axis": "q", "items_axis": "i"}


@pytest.fixture(scope="module")
def data():
    """Embeddings of small integers, so that many scores tie; relevant and seen items."""
    rng = np.random.default_rng(3)
    queries, items = (
        rng.integers(-2, 3, (n, DIMS)).astype(np.float32) for n in (USERS, ITEMS)
    )
    seen = rng.random((USERS, ITEMS)) < 0.1
    labels = np.where(seen, 0, rng.choice([0] * 398 + [1, 2], seen.shape))
    labels[4] = 0
    options = {
        "relevant": scipy.sparse.csr_array(labels),
        "users": np.arange(USERS),  # also without an item
        "seen": scipy.sparse.csr_array(seen),
        "item_mask": rng.random(ITEMS) < 0.9,
        "batch_size": BATCH,
    }
    return (queries, items), options


@pytest.fixture
def texts(monkeypatch):
    """The texts of the programs that devices run for a batch, while they run."""
    of_programs, compiled = [], {}
    jitted = programs.compiled()

    def call(devices, program, options, *arrays):
        if devices.mesh is None:
            return jitted(devices, program, options, *arrays)
        shapes = tuple(np.shape(x) for x in jax.tree.leaves(arrays))
        if shapes not in compiled:
            lowered = jitted.lower(devices, program, options, *arrays)
            compiled[shapes] = lowered.compile()
            of_programs.append(compiled[shapes])
        return compiled[shapes](*arrays)

    monkeypatch.setattr(programs, "compiled", lambda: call)
    return of_programs


def check_close(evaluation, expected):
    """Checks that an evaluation on many devices has the numbers of one device."""
    assert str(evaluation) == str(expected)
    for name, state in expected.states.items():
        actual = evaluation.states[name]
        np.testing.assert_allclose(actual.compute(), state.compute(), rtol=1e-6)
        np.testing.assert_allclose(actual.std_error(), state.std_error(), rtol=1e-5)
        np.testing.assert_array_equal(actual.counts, state.counts)
    check_same(evaluation, expected, 1e-6)


@pytest.mark.long
def test_queries_and_items_cut(data, texts, rng):
    """Users over one axis, items over the other, neither evenly; scores stay in place."""
    model, options = data
    expected = jrm.evaluate_users(METRICS, model, **options, undefined="skip")
    evaluation = jrm.evaluate_users(METRICS, model, **options, undefined="skip", **MESH)
    check_close(evaluation, expected)
    assert expected.lists["mrr"].undefined == "skip"
    np.testing.assert_array_equal(evaluation.exposure.counts, expected.exposure.counts)
    np.testing.assert_array_equal(evaluation.exposure.tally, expected.exposure.tally)
    groups = rng.choice(["a", "b"], USERS)
    for group, states in expected.by(groups).items():
        actual = evaluation.by(groups)[group]["mrr"].compute()
        np.testing.assert_allclose(actual, states["mrr"].compute(), rtol=1e-6)
    assert "mrr" in jrm.table({"a": evaluation.lists, "b": expected.lists})
    # Candidates travel: of all devices of an axis, for the queries of one part.
    (compiled,) = texts
    sizes = collectives(compiled)
    candidates = BATCH // 2 * 4 * 3 * 4
    assert sizes and max(size for _, size in sizes) <= 4 * candidates, sizes
    assert 4 * candidates < BATCH // 2 * (ITEMS // 4) * 4  # the scores of a device
    assert 4 * candidates < ITEMS // 4 * DIMS * 4  # its items


@pytest.fixture(scope="module")
def gallery(data):
    """Arrays whose lengths the devices divide, with classes and similarities."""
    (queries, items), _ = data
    rng = np.random.default_rng(5)
    return {
        "queries": queries[:44],
        "items": items[:200],
        "relevant": jrm.by_attributes(
            drivers_worker.same_class, rng.integers(0, 9, 44), rng.integers(0, 9, 200)
        ),
        "similarity": "l2",
        "batch_size": BATCH,
    }


def cut(mesh, gallery):
    """Makes global arrays of a gallery, whose shardings say how it is cut."""
    relevant = gallery["relevant"]
    of_queries = put(mesh, relevant.query_attributes, "q")
    of_items = put(mesh, relevant.item_attributes, "i")
    return gallery | {
        "queries": put(mesh, gallery["queries"], "q"),
        "items": put(mesh, gallery["items"], "i"),
        "relevant": jrm.by_attributes(drivers_worker.same_class, of_queries, of_items),
    }


@pytest.fixture(scope="module")
def expected_gallery(gallery):
    """The evaluation of one device."""
    return jrm.evaluate_embeddings("ndcg@3", **gallery)


def test_global_arrays_and_parts(gallery, expected_gallery):
    """Global arrays need no mesh; blocks of the host do, and it may cut queries alone."""
    arrays = cut(mesh_of(AxisType.Explicit), gallery)
    check_close(jrm.evaluate_embeddings("ndcg@3", **arrays), expected_gallery)
    blocks = [gallery["items"][:70], gallery["items"][70:]]
    options = {"mesh": mesh_of(), "queries_axis": "q"}
    in_blocks = jrm.evaluate_embeddings(
        "ndcg@3", **gallery | {"items": blocks}, block_size=32, **options
    )
    check_close(in_blocks, expected_gallery)


RELEVANT = np.arange(8)[:, None]


@pytest.mark.long
@pytest.mark.parametrize("axes", [(("q",), ("q",)), ((None, "q"), ("i",))])
def test_advice_on_shardings(axes):
    """With a mesh and its axes, such arrays are cut anew."""
    vectors = np.eye(8, dtype=np.float32), np.eye(16, 8, dtype=np.float32)
    model = [put(mesh_of(), x, *spec) for x, spec in zip(vectors, axes, strict=True)]
    evaluation = jrm.evaluate_users("recall@1", model, RELEVANT, **MESH)
    assert evaluation.states["recall@1"].compute() == 1


@pytest.mark.long
def test_scores_of_a_sharded_model():
    """A function may return scores that are sharded, if a mesh is passed."""
    mesh, scores = mesh_of(AxisType.Explicit), np.eye(8, 18, dtype=np.float32)

    def model(users):
        return put(mesh, scores[users], "q")

    with pytest.raises(
        ValueError, match="lie on 8 devices, but no mesh is known; pass mesh"
    ):
        jrm.evaluate_users("recall@1", model, RELEVANT)
    for model_or_scores in (model, put(mesh, scores, "q")):
        options = MESH | {"mesh": mesh}
        evaluation = jrm.evaluate_users(
            "recall@1", model_or_scores, RELEVANT, **options
        )
        assert evaluation.states["recall@1"].compute() == 1
        assert evaluation.retrieved_ids.tolist() == RELEVANT.tolist()


@pytest.mark.long
@pytest.mark.parametrize(
    "similarity, queries, items",
    [("dot", 1, 8), ("dot", 8, 8), ("dot", 8, 1), ("maxsim", 8, 8)],
)
def test_candidates_of_explicit_axes(rng, similarity, queries, items):
    """Candidates are gathered from items that lie in parts on the devices."""
    mesh = mesh_of(AxisType.Explicit)
    tokens = (3,) * (similarity == "maxsim")
    arrays = [rng.normal(size=(n, *tokens, DIMS)) for n in (queries, items)]
    sides = [x.astype(np.float32) for x in arrays]
    parts = [put(mesh, x, *"qi"[i : i + (len(x) > 1)]) for i, x in enumerate(sides)]
    candidates = np.stack([rng.permutation(items)[:3] for _ in range(queries)])

    def evaluate(sides):
        sides = [jrm.Tokens(x) for x in sides] if tokens else sides
        options = {"candidates": candidates, "similarity": similarity}
        relevant = [[0]] * queries
        return jrm.evaluate_embeddings(METRICS, *sides, relevant, **options)

    expected = evaluate(sides)
    check_same(evaluate(parts), expected)
    with jax.set_mesh(mesh):
        check_same(evaluate(sides), expected)
        check_same(evaluate([jax.numpy.asarray(sides[0]), parts[1]]), expected)


@pytest.mark.long
def test_x64():
    """Counts and ids stay int32 on a mesh, and if blocks are labelled."""
    classes = np.arange(16) % 8
    vectors, options = np.eye(8, dtype=np.float32)[classes], MESH | {"block_size": 2}
    with jax.enable_x64(True):
        relevant = jrm.by_attributes(drivers_worker.same_class, classes, classes)
        evaluation = jrm.evaluate_embeddings(
            "ndcg@2", vectors, vectors, relevant, **options
        )
        assert evaluation.states["ndcg@2"].compute() == 1


@pytest.mark.long
def test_two_processes(tmp_path):
    """Two processes of four devices each have the numbers of one device.

    They evaluate users and embeddings, and merge evaluations of slices of the queries.
    """
    port, worker = processes.free_port(), Path(drivers_worker.__file__)
    commands = [[worker, port, number, tmp_path] for number in range(2)]
    processes.together(commands, tmp_path)
    for name, arguments in drivers_worker.calls().items():
        expected = drivers_worker.numbers(drivers_worker.evaluate(name, arguments))
        for number in range(2):
            with np.load(tmp_path / f"{name}-{number}.npz") as file:
                assert set(file) == set(expected)
                for key, value in expected.items():
                    np.testing.assert_allclose(file[key], value, 1e-6, err_msg=key)
