"""Residuals against cwl_eval, whose lists go on with items of the largest gain."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

theirs = pytest.importorskip("cwl.ruler.ranking")
ruler = pytest.importorskip("cwl.ruler.cwl_ruler")

LISTS, ITEMS, DEPTH, LARGEST = 6, 12, 1000, 3.0


def beyond_by_rank(n):
    """Returns the share of a user's reading that INSQ gives to the ranks after n."""
    shares = (2 / (np.arange(1, DEPTH + 1) + 1)) ** 2
    return shares[n:].sum() / shares.sum()


@pytest.mark.parametrize(
    "of, peer, beyond",
    [
        ("rbp(p=0.5)", ruler.RBPCWLMetric(0.5), lambda n: 0.5**n),
        ("rbp(p=0.9)", ruler.RBPCWLMetric(0.9), lambda n: 0.9**n),
        ("insq", ruler.INSQCWLMetric(1.0), beyond_by_rank),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_residuals(of, peer, beyond, agree):
    """They add what the ranks after the n items are worth, such as p^n."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32)
    judged = rng.random((LISTS, ITEMS)) < 0.5
    judged[:2] = [[False], [True]]
    lengths = rng.integers(1, ITEMS + 1, LISTS)
    of = f"{of.removesuffix(')')}{', ' if '(' in of else '('}max_label={LARGEST})"
    name = f"residual(of={of}, max_label={LARGEST})"
    mask = np.arange(ITEMS) < lengths[:, None]
    ranking = jrm.rank_retrieved(labels, mask, columns={"judged": judged})
    ours = jrm.measure((name,), ranking)[name].values
    peer.residuals = True
    expected = []
    for row, length in enumerate(lengths):
        gains = np.where(judged[row], labels[row] / LARGEST, np.nan)[:length]
        peer.measure(theirs.Ranking("q", gains, np.ones(length), max_n=DEPTH))
        expected.append(peer.residual_expected_utility - beyond(length))
    agree(ours, np.float32(expected))
