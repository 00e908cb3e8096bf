"""The size of the difference that a test detects, and the number of lists it takes."""

import jax.numpy as jnp
import numpy as np
import pytest
from late_imports import LateImport
from per_lists import lists_of, power_of

import jax_rank_metrics as jrm

stats = LateImport("scipy.stats")

PILOT = np.array([0.1, -0.05, 0.2, 0.0, 0.15, -0.1, 0.05, 0.1])


def test_weights():
    """The error equals `compare`'s; n_eff lists count, and their share in a plan."""
    weights = np.array([1.0, 1, 2, 4, 1, 1, 1, 5])
    n_eff = weights.sum() ** 2 / (weights**2).sum()
    lists = lists_of(PILOT, weights)
    compared = jrm.compare(lists_of(np.zeros(8), weights), lists, test="t").only
    reach = compared.high - compared.difference
    error = reach / stats.t.isf(0.025, n_eff - 1)
    size = jrm.minimum_detectable(lists)
    assert power_of(size / error, n_eff - 1) == pytest.approx(0.8, abs=1e-4)
    size = jrm.minimum_detectable(lists, lists=80)
    power = power_of(size / error * np.sqrt(10), 10 * n_eff - 1)
    assert power == pytest.approx(0.8, abs=1e-4)
    assert jrm.lists_needed(lists, size) == 80
    heavier = lists_of(PILOT, 3 * np.ones(8))
    assert jrm.minimum_detectable(heavier) == pytest.approx(
        jrm.minimum_detectable(PILOT), rel=1e-6
    )


def test_forms_of_values():
    """Values are read as in `compare`: cutoffs, dicts, undefined lists."""
    a = lists_of(np.zeros((8, 2)))
    b = lists_of(np.stack([PILOT, 2 * PILOT], axis=1))
    sizes = jrm.minimum_detectable(jrm.paired({"p@1,5": a}, {"p@1,5": b}))["p@1,5"]
    expected = jrm.minimum_detectable(PILOT)
    np.testing.assert_allclose(sizes, [expected, 2 * expected], rtol=1e-6)
    counts = jrm.lists_needed(jrm.paired(a, b), 2.01 * expected)
    assert counts.tolist() == [jrm.lists_needed(PILOT, 2.01 * expected), 8]
    defined = np.arange(10) < 8
    padded = jrm.PerList(
        jnp.array([*PILOT, 0, 0]), jnp.ones(10), jnp.array(defined), "skip"
    )
    assert jrm.minimum_detectable(padded) == pytest.approx(expected, rel=1e-6)


def test_nothing_is_detectable():
    """Fewer than two lists, no difference and the wrong side need infinitely many.

    Equal differences do not show how far other lists would vary, rounded or not.
    """
    for value in (0.0, 0.1):
        for pilot in (np.full(50, value), lists_of(np.full(50, value))):
            assert jrm.minimum_detectable(pilot) == np.inf
            assert jrm.lists_needed(pilot, 0.01) == np.inf
    heavy = lists_of(PILOT, np.eye(8)[0])
    for pilot in ([0.1], heavy, lists_of(PILOT, np.zeros(8))):
        assert jrm.minimum_detectable(pilot) == np.inf
        assert jrm.lists_needed(pilot, 0.1) == np.inf
    assert jrm.minimum_detectable(PILOT, lists=1) == np.inf
    assert jrm.minimum_detectable(PILOT, lists=2) < np.inf
    assert jrm.minimum_detectable(PILOT, lists=2, level=0.99) == np.inf
    assert jrm.lists_needed(PILOT, 0) == np.inf
    assert jrm.lists_needed(PILOT, 1e-9) == np.inf
    assert jrm.lists_needed(PILOT, -0.1, alternative="greater") == np.inf


def test_seeds_are_part_of_a_plan(rng):
    """More lists average out lists and pairs, and leave what seeds have in common."""
    of_lists, of_seeds = rng.normal(size=(1, 40)), 0.1 * rng.normal(size=(5, 1))
    runs = of_lists + of_seeds + 0.5 * rng.normal(size=(5, 40))
    seeds = jrm.Seeds(list(runs))
    interactions = runs - runs.mean(0) - runs.mean(1, keepdims=True) + runs.mean()
    of_pairs = (interactions**2).sum() / (39 * 4) / 5
    sizes = []
    for count in (40, 400, 10**7):
        of_means = runs.mean(0).var(ddof=1) / count
        # Seeds of the pilot vary by pairs of its 40 lists, and seeds of a plan by other
        # pairs.
        plan = runs.mean(1).var(ddof=1) / 5 + of_pairs * (1 / count - 1 / 40)
        total = of_means + plan - of_pairs / count
        freedom = total**2 / (of_means**2 / (count - 1) + plan**2 / 4)
        sizes.append(jrm.minimum_detectable(seeds, lists=count))
        power = power_of(sizes[-1] / np.sqrt(total), freedom)
        assert power == pytest.approx(0.8, abs=1e-3)
    assert sizes[0] == jrm.minimum_detectable(seeds) > sizes[1] > sizes[2]
    assert jrm.lists_needed(seeds, sizes[1]) == 400
    assert jrm.lists_needed(seeds, 0.5 * sizes[2]) == np.inf
