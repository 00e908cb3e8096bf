"""Against napkinXC: metrics of extreme classification, as ratios over the data set."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

POINTS, LABELS, DEPTH = 60, 40, 6


@pytest.fixture(scope="module")
def data():
    """Returns the relevant labels and the scores of points, and counts of labels."""
    rng = np.random.default_rng(3)
    is_relevant = rng.random((POINTS, LABELS)) < rng.uniform(0, 0.2, (POINTS, 1))
    is_relevant[:2] = False
    scores = rng.permuted(np.tile(np.float32(np.arange(LABELS)), (POINTS, 1)), axis=1)
    return (
        is_relevant,
        scores + np.float32(9.5) * is_relevant,
        rng.geometric(0.02, LABELS) - 1,
    )


@pytest.mark.parametrize("setting", ["default", "wikipedia", "amazon"])
def test_propensities(data, setting, recorded):
    """Their function counts the labels itself, in a matrix of training points."""
    _, _, counts = data
    points = [
        [label for label in range(LABELS) if i < counts[label]] for i in range(999)
    ]
    settings = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    a, b = settings[setting]

    def inverse_propensities(_):
        from napkinxc import metrics

        return metrics.Jain_et_al_inverse_propensity(points, A=a, B=b)

    expected = recorded(setting, inverse_propensities, counts)
    ours = jrm.label_propensities(counts[: len(expected)], len(points), setting=setting)
    np.testing.assert_allclose(1 / ours, expected, rtol=1e-12)


def test_metrics(data, recorded, agree):
    """Metrics agree at every cutoff, from scores with the ids of the relevant labels."""
    is_relevant, scores, counts = data
    propensities = jrm.label_propensities(counts, 999)
    ids = np.where(is_relevant, np.arange(LABELS, dtype=np.int32), -1)
    columns = {"propensities": np.where(is_relevant, propensities, 0)}
    ranking = jrm.rank_scores(jnp.asarray(scores), ids, relevant_columns=columns)
    names = ("precision", "ndcg", "recall")

    def by_napkinxc(is_relevant, scores, _):
        from napkinxc import metrics

        order = np.argsort(-scores, axis=1)[:, :DEPTH].tolist()
        labels = [np.flatnonzero(row).tolist() for row in is_relevant]
        functions = {name: getattr(metrics, f"ps{name}_at_k") for name in names}
        return {
            name: function(labels, order, 1 / propensities, k=DEPTH)
            for name, function in functions.items()
        }

    k = tuple(range(1, DEPTH + 1))
    ours = {
        name: functools.partial(getattr(jrm, f"propensity_scored_{name}"), k=k)
        for name in names
    }
    measured = jrm.measure(ours, ranking)
    for name, theirs in recorded("metrics", by_napkinxc, *data).items():
        agree(measured[name].mean().compute(), theirs)
