"""Leaderboards of two systems: what Student's t says of their difference."""

import numpy as np
import per_lists
from scipy import special

import jax_rank_metrics as jrm


def two_systems(rng, probability, lists=10):
    """Draws two systems of which the second is better with this probability."""
    a, change = rng.random(lists), rng.normal(size=lists)
    error = change.std(ddof=1) / np.sqrt(lists)
    change += error * special.stdtrit(lists - 1, probability) - change.mean()
    return a, a + change


def test_intervals_of_ranks(rng):
    """They leave out as much of the draws at each end."""
    for probability, low in ((0.9625, 1), (0.985, 2)):
        systems = dict(zip("ab", two_systems(rng, probability), strict=True))
        board = jrm.leaderboard(systems)
        assert board.systems == ("b", "a")
        assert abs(board.p_beats[0, 1] - probability) < 0.01
        assert board.rank_lows.tolist() == [1, low]
        assert board.rank_highs.tolist() == [3 - low, 2]


def test_seeds_of_two_systems(rng):
    """p of systems with seeds is that of a comparison by Student's t."""
    a, b = two_systems(rng, 0.9)
    systems = {
        name: jrm.Seeds(list(x + 0.1 * rng.normal(size=(5, 10))))
        for name, x in (("a", a), ("b", b))
    }
    board = jrm.leaderboard(systems)
    comparison = jrm.compare(systems, test="t").only
    np.testing.assert_allclose(board.p_corrected[0, 1], comparison.p)


def test_states_of_two_systems(rng):
    """Resamples vary less than new lists would, which the interval makes up for."""
    lists = [per_lists.lists_of(x) for x in two_systems(rng, 0.9, lists=4)]
    states = [jrm.bootstrap(x, np.arange(4), samples=2000) for x in lists]
    board = jrm.leaderboard(dict(zip("ab", states, strict=True)))
    spread = np.std(states[1].replicates()) * np.sqrt(4 / 3)
    reach = -special.stdtrit(3, 0.025) * spread
    np.testing.assert_allclose(board.highs[0] - board.means[0], reach, rtol=0.05)
