"""Against the formulas of TF-Ranking (`OPAMetric` and `ARPMetric` of 2024), in NumPy.

TensorFlow is too heavy to install for two means.
"""

import numpy as np

import jax_rank_metrics as jrm


def test_means_over_pairs_and_over_relevance(lists, agree):
    """Its means weight each list, by its pairs or by the sum of its labels."""
    labels, scores, mask = lists
    in_order = pairs = positions = relevance = 0
    for row, exists in enumerate(mask):
        y, s = labels[row, exists], scores[row, exists]
        differ = y[:, None] > y
        in_order += (differ & (s[:, None] > s)).sum()
        pairs += differ.sum()
        positions += (y * (1 + (s > s[:, None]).sum(axis=1))).sum()
        relevance += y.sum()
    opa = jrm.ordered_pair_accuracy(*lists, weighting="pairs").compute()
    agree(opa, in_order / pairs)
    of_list = np.where(mask, labels, 0).sum(axis=1)
    arp = jrm.average_relevance_position(*lists, list_weights=of_list).compute()
    agree(arp, positions / relevance)
