"""Against torchmetrics: lists with every edge case."""

import functools

import numpy as np
import pytest

import jax_rank_metrics as jrm

KS = (3, 1, 20, None)

# The options with which ours agrees. Its average precision is the mean over the relevant
# items that it retrieved.
OURS = {
    "ndcg": functools.partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=KS),
    "map": functools.partial(jrm.average_precision, denominator="hits", k=KS),
    "mrr": functools.partial(jrm.reciprocal_rank, k=KS),
    "precision": functools.partial(jrm.precision, denominator="k", k=KS),
    "precision-adaptive": functools.partial(jrm.precision, k=KS),
    "recall": functools.partial(jrm.recall, k=KS),
    "hit_rate": functools.partial(jrm.hit_rate, k=KS),
    "r_precision": jrm.r_precision,
    "fall_out": functools.partial(jrm.fall_out, k=KS),
}
THEIRS = {
    "ndcg": "NormalizedDCG",
    "map": "MAP",
    "mrr": "MRR",
    "precision": "Precision",
    "precision-adaptive": "Precision",
    "recall": "Recall",
    "hit_rate": "HitRate",
    "r_precision": "RPrecision",
    "fall_out": "FallOut",
}
CASES = pytest.mark.parametrize("case", [*OURS, "ndcg-tied"])
POLICIES = pytest.mark.parametrize(
    "undefined, policy", [("zero", "neg"), ("one", "pos"), ("skip", "skip")]
)


@functools.cache
def rows():
    """Returns labels, with −1 for padding, scores, and the query of each item."""
    rng = np.random.default_rng(1)
    shape = (queries, items) = 9, 7
    labels = rng.choice([0, 0, 0, 1, 2, 3], shape)
    labels[0] = 0
    labels[1] = 2
    length = rng.integers(3, items + 1, (queries, 1))
    length[2:4] = [[1], [items]]
    labels[2:4, 0] = 1
    labels = np.where(np.arange(items) < length, labels, -1)
    scores = rng.permuted(np.tile(np.arange(items), (queries, 1)), axis=1)
    return labels, scores, np.repeat(np.arange(queries), items).reshape(shape)


def scores_of(case, scores):
    """Returns scores above 0, since four of its metrics take those below as irrelevant."""
    return 1 + ((1 + scores) // 3 if case == "ndcg-tied" else scores)


def by_torchmetrics(case, labels, scores, queries):
    """Returns the values of queries at each cutoff, and means at the first of them.

    Means are for each of its policies on queries that have nothing relevant (for fall-out,
    nothing else).
    """
    import torch
    from torchmetrics import retrieval

    name = case.removesuffix("-tied")

    def measure(policy="neg", **options):
        if case == "precision-adaptive":
            options["adaptive_k"] = True
        metric = getattr(retrieval, f"Retrieval{THEIRS[name]}")(
            ignore_index=-1, empty_target_action=policy, **options
        )
        metric.update(
            torch.tensor(scores, dtype=torch.float32),
            # All but nDCG refuse grades.
            torch.tensor(labels if name == "ndcg" else np.minimum(labels, 1)),
            indexes=torch.tensor(queries),
        )
        return [round(float(x), 7) for x in metric.compute().reshape(-1)]

    cuts = [{}] if name == "r_precision" else [{"top_k": k} for k in KS]
    of_queries = {"aggregation": lambda values, dim=None: values}
    policies = ("neg", "pos", "skip")
    return {
        "values": [measure(**of_queries, **cut) for cut in cuts],
        **{policy: measure(policy=policy, **cuts[0])[0] for policy in policies},
    }


@pytest.fixture
def theirs(recorded):
    """Returns a function of a case and its lists, which gives what torchmetrics says."""

    def values(case, lists):
        labels, scores, queries = lists
        function = functools.partial(by_torchmetrics, case)
        return recorded(case, function, labels, scores_of(case, scores), queries)

    return values


def ours_of(case):
    """Returns our values of every query, at every cutoff if there are cutoffs."""
    labels, scores, _ = rows()
    scores = np.float32(scores_of(case, scores))
    return jrm.measure(OURS, jrm.rank(labels, scores))[case.removesuffix("-tied")]


@CASES
def test_every_query(case, agree, theirs):
    ours, values = ours_of(case).values, theirs(case, rows())["values"].T
    agree(ours, values[:, 0] if ours.ndim == 1 else values)


@POLICIES
@CASES
def test_queries_with_nothing_relevant(case, undefined, policy, agree, theirs):
    ours = np.ravel(ours_of(case).mean(undefined).compute())[0]
    agree(ours, theirs(case, rows())[policy])


def test_log_auc():
    """`binary_logauc` of torchmetrics 1.9.0, with `fpr_range=(0.001, 1.0)`, of this draw."""
    rng = np.random.default_rng(0)
    labels = (rng.random(4000) < 0.05).astype(int)
    scores = rng.permutation(4000).astype(np.float32) / 4000 + 0.2 * labels
    ranks = np.argsort(np.argsort(scores)).astype(np.float32)  # nothing ties
    value = jrm.log_auc(labels, ranks).compute()
    assert float(value) == pytest.approx(0.2915389835834503, abs=1e-6)
