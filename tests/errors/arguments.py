"""Arguments that would be accepted and not read."""

import numpy as np

import jax_rank_metrics as jrm

Y = np.ones((2, 3), np.float32)
IDS = np.zeros((2, 1), np.int32)


def pooled(metric):
    """Of the second list, two items of the label 0 are retrieved, and one was judged."""
    labels, pool = [[1, 0, 0, 1], [1, 0, 0, 1]], [[1, 1, 0, 0], [1, 1, 0, -1]]
    return jrm.measure(metric, jrm.rank_retrieved(labels, pool_labels=pool))


def model(users):
    """Scores of any user."""
    return Y[users % 2]


# fmt: off
CASES = {
    "seen of other users": (ValueError, "seen names none of the users that are evaluated (it has user 7, and user 0 .* empty list", lambda: jrm.evaluate_users("mrr@1", model, [[0], [1]], seen={7: [0]})),
    "seen of no user": (ValueError, "seen has the user -1; pass the rows of users, from 0", lambda: jrm.evaluate_users("mrr@1", model, [[0], [1]], seen={-1: [0], 0: [1]})),
    "relevant of no user": (ValueError, "relevant has the user -1", lambda: jrm.evaluate_users("mrr@1", model, {-1: [0], 0: [1]}, users=[0])),
    "excluded for no query": (ValueError, "exclude has queries from -1 to -1", lambda: jrm.evaluate_embeddings("mrr@1", Y, Y, [[0], [1]], exclude={-1: [0]})),
    "retrieved of another shape": (ValueError, "retrieved has shape .*but scores has shape", lambda: jrm.rank_scores(Y, IDS, retrieved=np.ones(3, bool))),
    "retrieved as numbers": (TypeError, "retrieved: dtype is float32.*retrieved != 0", lambda: jrm.rank_scores(Y, IDS, retrieved=Y)),
    "retrieved items that no pool says were judged": (ValueError, "more items of the label 0 were retrieved than pool_labels holds in list 1, .* pass 'judged' in columns and pool_columns", lambda: pooled("bpref")),
    "the same of their number": (ValueError, "more items of the label 0", lambda: pooled("num_nonrel_judged_ret@3")),
    "a cutoff of a metric without": (TypeError, "roc_auc has no option 'k'", lambda: jrm.roc_auc(Y, Y, k=3)),
}
# fmt: on
