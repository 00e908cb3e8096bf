"""Scores and cutoffs that no dtype of the devices holds."""

import jax
import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm

Y = np.ones((2, 3), np.float32)
IDS = np.zeros((2, 1), np.int32)
LIMIT = 2**24


def turned(queries, items):
    """Scores of complex numbers."""
    return jax.lax.complex(queries @ items.T, queries @ items.T)


def long_lists(length):
    """A ranking of lists so long that their arrays are better not made."""
    x = jax.ShapeDtypeStruct((1, length), jnp.float32)
    return jax.eval_shape(lambda x: jrm.rank(x, x), x)


def places(ranks):
    """A place beyond the limit, among so many ranks."""
    return jrm.rank_places([[1]], [[LIMIT + 99]], [[1]], num_retrieved=[ranks])


# fmt: off
CASES = {
    "complex similarity": (TypeError, "similarity gives complex64 scores; return real numbers", lambda: jrm.rank_catalog(Y, Y, IDS, k=1, similarity=turned)),
    "complex similarity of a driver": (TypeError, "similarity gives complex64 scores", lambda: jrm.evaluate_embeddings("mrr@1", Y, Y, [[0], [1]], similarity=turned)),
    "complex similarity of candidates": (TypeError, "similarity gives complex64 scores", lambda: jrm.evaluate_embeddings("mrr@1", Y, Y, [[0], [1]], similarity=turned, candidates=[[0], [1]])),
    "complex scores of a model": (TypeError, "the scores of model: dtype is complex64", lambda: jrm.evaluate_users("mrr@1", lambda users: Y[users] * np.complex64(1j), [[0], [1]])),
    "a cutoff beyond float32": (ValueError, f"k is {LIMIT + 1}, but ranks beyond {LIMIT} are not told apart in float32; pass at most {LIMIT}, or None", lambda: jax.eval_shape(lambda x: jrm.recall.of(x, k=(5, LIMIT + 1)).values, long_lists(LIMIT + 9))),
    "a cutoff of places": (ValueError, f"k is {LIMIT + 100}, but ranks beyond", lambda: jrm.recall.of(places(LIMIT + 200), k=LIMIT + 100)),
    "a cutoff of scores": (ValueError, f"k is {LIMIT + 100}, but ranks beyond", lambda: jax.eval_shape(lambda x: jrm.measure(f"hit_rate@{LIMIT + 100}", jrm.rank_scores(x, IDS[:1])), jax.ShapeDtypeStruct((1, LIMIT + 200), jnp.float32))),
}
# fmt: on
