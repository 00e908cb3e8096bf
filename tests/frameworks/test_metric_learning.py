"""Against torchreid, pytorch-metric-learning and Keras, on embeddings and scores."""

import importlib.util
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

import jax_rank_metrics as jrm


@pytest.fixture(scope="module")
def evaluate_rank():
    """Loads one module of torchreid; the package itself imports torchvision and more."""
    package = importlib.util.find_spec("torchreid").submodule_search_locations[0]
    (path,) = Path(package).glob("**/metrics/rank.py")
    spec = importlib.util.spec_from_file_location("torchreid_rank", path)
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was not compiled
        spec.loader.exec_module(module)
    return module.evaluate_rank


def other_cameras(queries, items):
    """Labels images of the same person; such images of the same camera leave the gallery."""
    (people, cameras), (gallery_people, gallery_cameras) = queries, items
    is_same = people[:, None] == gallery_people
    return is_same, is_same & (cameras[:, None] == gallery_cameras)


def test_torchreid(evaluate_rank):
    """The same camera leaves the gallery, and queries without a match are left out."""
    rng = np.random.default_rng(0)
    people, cameras = rng.integers(0, 14, 40), rng.integers(0, 3, 40)
    gallery_people, gallery_cameras = rng.integers(0, 12, 300), rng.integers(0, 3, 300)
    gallery_cameras[gallery_people == 11] = 2  # no other camera saw this one
    vectors, gallery = (rng.normal(size=(size, 8)) for size in (40, 300))
    distances = ((vectors[:, None] - gallery) ** 2).sum(-1)
    curve, mean = evaluate_rank(
        *(distances, people, gallery_people, cameras, gallery_cameras), max_rank=20
    )

    names = ("map", "cmc@" + ",".join(map(str, range(1, 21))))
    queries, items = (people, cameras), (gallery_people, gallery_cameras)
    labels, leaves = other_cameras(queries, items)
    scores = -distances.astype(np.float32)
    matrix = jrm.evaluate(names, labels, scores, ~leaves, undefined="skip")
    found = jrm.evaluate_embeddings(
        names,
        *(vectors.astype(np.float32), gallery.astype(np.float32)),
        jrm.by_attributes(other_cameras, queries, items),
        similarity="l2",
        undefined="skip",
    )
    for states in (matrix, found.states):
        ours = list(jrm.compute(states).values())
        np.testing.assert_allclose(ours[0], mean, rtol=1e-5)
        np.testing.assert_allclose(ours[1], curve, rtol=1e-5)
        assert 0 < states["map"].undefined < 20 < states["map"].lists < 40


MAP_AT_R = "mean_average_precision_at_r"
# Keys of AccuracyCalculator, and our names of the same numbers.
NAMES = {
    "precision_at_1": "p@1",
    "r_precision": "rprec",
    MAP_AT_R: "map_at_r",
    "mean_average_precision": "map",
    "mean_reciprocal_rank": "mrr",
}


@pytest.fixture(scope="module")
def embeddings():
    """Vectors of classes of 1 to 14 members; vectors of a class are near each other."""
    rng = np.random.default_rng(1)
    classes = rng.permuted(np.repeat(np.arange(9), [1, 2, 3, 5, 8, 11, 14, 4, 6]))
    centres = rng.normal(size=(9, 6))
    vectors = centres[classes] + rng.normal(size=(len(classes), 6))
    return vectors.astype(np.float32), classes


def rank(queries, query_classes, items, item_classes):
    """Ranks all items for each query by distance; an item that is the query leaves."""
    squares = ((queries[:, None].astype(np.float64) - items) ** 2).sum(-1)
    labels = query_classes[:, None] == item_classes
    return jrm.rank(labels, -squares.astype(np.float32), squares > 0)


def same_class(query_classes, item_classes):
    """Labels the items of the class of each query."""
    return query_classes[:, None] == item_classes


@pytest.mark.parametrize("k", [None, "max_bin_count", 3])
@pytest.mark.parametrize("in_reference", [True, False])
def test_accuracy_calculator(embeddings, in_reference, k):
    """Alone in its class, a query is left out; classes may weigh the same."""
    vectors, classes = embeddings
    queries = slice(None) if in_reference else slice(0, 20)
    items = slice(None) if in_reference else slice(20, None)
    arrays = vectors[queries], classes[queries], vectors[items], classes[items]
    ranking = rank(*arrays)
    weights = np.asarray(jrm.compat.accuracy_calculator_list_weights(classes[queries]))

    names = dict(NAMES)
    if k is not None:
        sizes = np.bincount(arrays[3])[arrays[1]]  # of the classes of queries
        depth = sizes.max() - in_reference if k == "max_bin_count" else k
        for name in ("mean_average_precision", "mean_reciprocal_rank"):
            names[name] += f"@{depth}"
    measured = jrm.measure(tuple(names.values()), ranking)
    ours = {key: measured[name] for key, name in names.items()}
    if k == 3:
        # For classes beyond k, it warns and reads precision and AP at k.
        short = jrm.measure(("p@3", "map@3"), ranking)
        has_more = np.asarray(ranking.num_relevant(1.0)) > 3
        for key, name in (("r_precision", "p@3"), (MAP_AT_R, "map@3")):
            whole = ours[key]
            values = np.where(has_more, short[name].values, whole.values)
            ours[key] = jrm.PerList(values, whole.weights, whole.defined)

    if in_reference and k is None:
        found = jrm.evaluate_embeddings(
            tuple(names.values()),
            *(vectors, vectors),
            jrm.by_attributes(same_class, classes, classes),
            similarity="l2",
            exclude_self=True,
        )
        for key, name in names.items():
            for part in ("values", "defined"):
                from_vectors, from_matrix = (
                    np.asarray(getattr(lists, part))
                    for lists in (found.lists[name], ours[key])
                )
                np.testing.assert_allclose(from_vectors, from_matrix, atol=1e-6)

    options = {"include": tuple(names), "k": k, "device": torch.device("cpu")}
    for mode in (None, "avg_of_avgs", "return_per_class"):
        chosen = {} if mode is None else {mode: True}
        calculator = AccuracyCalculator(**options, **chosen)
        theirs = calculator.get_accuracy(
            *map(torch.as_tensor, arrays), ref_includes_query=in_reference
        )
        for key, lists in ours.items():
            values, counts = np.asarray(lists.values), np.asarray(lists.defined)
            if mode == "return_per_class":
                states = lists.by(classes[queries], 9, "skip")
                mean = np.asarray(states.compute())[states.lists > 0]
            else:
                mean = np.average(values, weights=counts * (weights if mode else 1))
            np.testing.assert_allclose(mean, theirs[key], rtol=1e-5, err_msg=key)


@pytest.mark.parametrize("k", [1, 3])
def test_keras(k):
    """Whatever ties with the k-th item is among the first k, as in the best order."""
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 4, (30, 9)).astype(np.float32)
    classes = rng.integers(0, 9, 30)
    metric = keras.metrics.SparseTopKCategoricalAccuracy(k)
    metric.update_state(classes, scores)
    labels = classes[:, None] == np.arange(9)
    ours = jrm.hit_rate(labels, scores, ties="best", k=k)
    np.testing.assert_allclose(ours.compute(), metric.result(), rtol=1e-6)
    assert ours.compute() > jrm.hit_rate(labels, scores, k=k).compute() + 0.1
