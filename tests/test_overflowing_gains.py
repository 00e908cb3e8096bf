"""A list with a gain that overflows has no value; on the host, it raises."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from typer.testing import CliRunner

import jax_rank_metrics as jrm
from jax_rank_metrics import cli

LISTS, ITEMS, BAD = 4, 6, 1
LABELS = np.array([[1, 0, 2, 0, 0, 3]] * LISTS, np.float32)
LABELS[BAD, 3] = 200  # at the last rank
SCORES = np.tile(np.float32([5, 4, 3, 0, 2, 1]), (LISTS, 1))
GROUPS = np.tile(np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 0, 1]], (LISTS, 1, 1))
GAIN = {"gain_fn": jrm.exponential_gain}
PLAYS = {"a": {"x": 3, "y": 2}, "b": {"x": 150, "y": 5000}}
RUN = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 2.0, "y": 1.0}}


def shifted(labels):
    """A gain that rises with labels, which the package does not know."""
    return jrm.exponential_gain(labels) + 1


METRICS = {
    "ndcg": functools.partial(jrm.ndcg, k=(1, None)),
    "ndcg, shifted": functools.partial(jrm.ndcg, k=1, gain_fn=shifted),
    "dcg": functools.partial(jrm.dcg, k=1),
    "cg": functools.partial(jrm.cg, **GAIN),
    "q": functools.partial(jrm.q_measure, **GAIN),
    "p+": functools.partial(jrm.p_plus, **GAIN),
    "o": functools.partial(jrm.o_measure, **GAIN),
    "arp": functools.partial(jrm.average_relevance_position, **GAIN),
    "dtr": functools.partial(jrm.disparate_treatment_ratio, **GAIN),
    "dir": functools.partial(jrm.disparate_impact_ratio, **GAIN),
}
WITHOUT = {
    "linear": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain),
    "mrr": jrm.reciprocal_rank,
}


def test_only_the_list_has_no_value():
    """Every metric that reads gains is NaN there alone, and others are numbers."""
    both, few = METRICS | WITHOUT, np.minimum(LABELS, 3)

    @jax.jit
    def measured(labels):
        return jrm.measure(both, jrm.rank(labels, SCORES, columns={"groups": GROUPS}))

    actual, expected = measured(LABELS), measured(few)
    for name, lists in actual.items():
        is_nan = np.isnan(lists.values).reshape(LISTS, -1).all(-1)
        assert is_nan.tolist() == [
            i == BAD and name in METRICS for i in range(LISTS)
        ], name
        others = np.arange(LISTS) != BAD
        np.testing.assert_array_equal(
            lists.values[others], expected[name].values[others]
        )
        assert lists.defined.all(), name
    weights = (np.arange(LISTS) != BAD).astype(np.float32)
    with jax.debug_nans(True):
        mean = jrm.ndcg(LABELS, SCORES, weights=weights).compute()
        assert mean == jrm.ndcg(few, SCORES, weights=weights).compute()
    assert np.isnan(jrm.ndcg(LABELS, SCORES, undefined="skip").compute())


@pytest.mark.long
@pytest.mark.parametrize(
    "weights", [None, np.full((LISTS, ITEMS), 2, np.float32)], ids=["", "item-weights"]
)
def test_layouts(weights):
    """Cut rows, packed lists, listed items and lists in rank order."""
    ids = np.repeat(np.arange(LISTS), ITEMS)
    flat = None if weights is None else weights.reshape(-1)
    rankings = [
        jrm.rank(LABELS, SCORES, weights=weights, k=2),
        jrm.rank(LABELS.reshape(-1), SCORES.reshape(-1), weights=flat, segment_ids=ids, num_segments=LISTS),
    ]  # fmt: skip
    if weights is None:
        listed = np.tile(np.arange(ITEMS), (LISTS, 1))
        rankings.append(jrm.rank_scores(SCORES, listed, LABELS))
        rankings.append(jrm.rank_retrieved(LABELS))
    for ranking in rankings:
        for lists in jrm.measure(("ndcg@2", "dcg@2"), ranking).values():
            assert np.isnan(lists.values).tolist() == [i == BAD for i in range(LISTS)]


@pytest.mark.long
def test_the_host_raises(tmp_path):
    """Drivers, `join` and the command name the list, and what to pass."""
    match = "b' has a gain that overflows.* gain_fn=linear_gain.*log1p"
    joined = jrm.join(PLAYS, RUN)
    for metrics in (("ndcg@10", "mrr"), ("tau", "p_plus(gain_fn=exponential_gain)")):
        with pytest.raises(ValueError, match=match):
            joined.evaluate(metrics)
    values = joined.measure(("ndcg(gain_fn=linear_gain)@10",))
    assert f"{values['ndcg(gain_fn=linear_gain)@10'].values[1]:.3f}" == "0.649"
    skipped = jrm.join(PLAYS, {"a": RUN["a"]}, missing="skip")
    assert np.isfinite(skipped.evaluate(("ndcg",))["ndcg"].compute())

    relevant = scipy.sparse.csr_array(LABELS)
    cure = r"(user|query) 1 has a gain .* gain_fn=linear_gain"
    with pytest.raises(ValueError, match=cure):
        jrm.evaluate_users(("ndcg@2", "mrr"), SCORES, relevant)
    with pytest.raises(ValueError, match=cure):
        jrm.evaluate_embeddings(
            ("dcg@2",), np.eye(LISTS, ITEMS), np.eye(ITEMS), relevant
        )

    lines = {"qrels": "{} 0 {} {:.0f}\n", "run": "{} Q0 {} 1 {} x\n"}
    for (name, line), lists in zip(lines.items(), (PLAYS, RUN), strict=True):
        rows = [
            line.format(q, d, x) for q, docs in lists.items() for d, x in docs.items()
        ]
        (tmp_path / name).write_text("".join(rows))
    paths = [str(tmp_path / name) for name in lines]
    words = ["evaluate", *paths, "-m", "ndcg(gain_fn=exponential_gain)@10"]
    done = CliRunner().invoke(cli.app(), words)
    assert done.exit_code and "gain_fn=linear_gain" in " ".join(done.stderr.split())


def test_states_are_jitted_with_large_gains():
    """Gains up to the largest float have their values, and trip no check of NaN."""
    labels = jnp.array([[127.0, 3, 1]])
    with jax.debug_nans(True):
        state = jax.jit(lambda y: jrm.evaluate(("ndcg", "dcg@1"), y, y))(labels)
    assert f"{state['ndcg']:.3f}" == "1.000" and np.isfinite(state["dcg@1"].compute())
