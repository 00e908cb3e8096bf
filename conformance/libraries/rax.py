"""rax: arrays of padded lists, with a mask."""

import jax.numpy as jnp
import rax


def named(metric):
    def value(case, k=None):
        labels, scores, mask = case.rectangle
        arrays = jnp.array(scores, float), jnp.array(labels, float)
        return metric(*arrays, where=jnp.array(mask, bool), topn=k)

    return value


METRICS = {
    "ndcg": named(rax.ndcg_metric),
    "dcg": named(rax.dcg_metric),
    "ap": named(rax.ap_metric),
    "rr": named(rax.mrr_metric),
    "recall": named(rax.recall_metric),
    "precision": named(rax.precision_metric),
}
