"""keras_rs on JAX: arrays of padded lists, with a mask."""

import keras_rs
import numpy as np


def named(name):
    def value(case, k=None):
        labels, scores, mask = map(np.array, case.rectangle)
        metric = getattr(keras_rs.metrics, name)(k=k)
        return metric({"labels": np.float32(labels), "mask": mask}, np.float32(scores))

    return value


METRICS = {
    "ndcg": named("NDCG"),
    "dcg": named("DCG"),
    "ap": named("MeanAveragePrecision"),
    "rr": named("MeanReciprocalRank"),
    "recall": named("RecallAtK"),
    "precision": named("PrecisionAtK"),
}
