"""metrax: arrays of lists of one length, without a mask."""

import jax.numpy as jnp
import metrax


def named(metric):
    def value(case, k):
        scores, labels = jnp.array([case.only.scores]), jnp.array([case.only.labels])
        return metric.from_model_output(scores, labels, jnp.array([k])).compute()[0]

    return value


METRICS = {
    "ndcg": named(metrax.NDCGAtK),
    "dcg": named(metrax.DCGAtK),
    "ap": named(metrax.AveragePrecisionAtK),
    "recall": named(metrax.RecallAtK),
    "precision": named(metrax.PrecisionAtK),
    "rr": named(metrax.MRR),
}
