"""The adapter for TensorBoard: files written by tensorboardX are read back."""

import struct

import numpy as np
import tensorboardX
from tensorboardX.proto.event_pb2 import Event

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import tensorboard

METRICS = ("recall@1,3", "ndcg@5", "mrr")


def scalars(path):
    """Reads the value of each tag and step.

    A record is the length of its data, a checksum, the data and a checksum.
    """
    values, content, start = {}, path.read_bytes(), 0
    while start < len(content):
        (length,) = struct.unpack_from("<Q", content, start)
        event = Event.FromString(content[start + 12 : start + 12 + length])
        for value in event.summary.value:
            values.setdefault(value.tag, {})[event.step] = value.simple_value
        start += 16 + length
    return values


def test_scalars(lists, agree, tmp_path):
    """Means have the names of cutoffs, with standard errors beside them."""
    scores = lists.features[..., 0]
    states = jrm.evaluate(METRICS, lists.labels, scores)
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        tensorboard.write(writer, states, 1, "eval/")
        doubled = jrm.merge(states, states)
        tensorboard.write(writer, doubled, 2, "eval/", std_errors=True)
    (path,) = tmp_path.iterdir()
    values = scalars(path)
    assert set(values) == {
        f"eval/{name}{end}"
        for name in ("recall_1", "recall_3", "ndcg_5", "mrr")
        for end in ("", "/std_error")
    }
    assert set(values["eval/mrr"]) == {1, 2} and set(values["eval/mrr/std_error"]) == {
        2
    }
    flat = jrm.compute(doubled, flat=True)
    last = {name: values[f"eval/{name.replace('@', '_')}"][2] for name in flat}
    agree(last, lists.labels, scores)
    np.testing.assert_allclose(
        values["eval/mrr/std_error"][2], doubled["mrr"].std_error(), rtol=1e-6
    )
