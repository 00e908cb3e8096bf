"""TensorBoard: what tensorboardX wrote is read back."""

import struct

import numpy as np
import tensorboardX
from tensorboardX.proto.event_pb2 import Event

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import tensorboard

METRICS = ("recall@1,3", "ndcg@5", "mrr")


def scalars(path):
    """Of each tag its steps and values. A record is a length, its data, two checksums."""
    found, content, start = {}, path.read_bytes(), 0
    while start < len(content):
        (length,) = struct.unpack_from("<Q", content, start)
        event = Event.FromString(content[start + 12 : start + 12 + length])
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
        start += 16 + length
    return found


def test_scalars(lists, agree, tmp_path):
    """Means under the names of cutoffs; standard errors beside them."""
    scores = lists.features[..., 0]
    states = jrm.evaluate(METRICS, lists.labels, scores)
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        tensorboard.write(writer, states, 1, "eval/")
        twice = jrm.merge(states, states)
        tensorboard.write(writer, twice, 2, "eval/", std_errors=True)
    (path,) = tmp_path.iterdir()
    found = scalars(path)
    assert set(found) == {
        f"eval/{name}{end}"
        for name in ("recall_1", "recall_3", "ndcg_5", "mrr")
        for end in ("", "/std_error")
    }
    assert set(found["eval/mrr"]) == {1, 2} and set(found["eval/mrr/std_error"]) == {2}
    flat = jrm.compute(twice, flat=True)
    last = {name: found[f"eval/{name.replace('@', '_')}"][2] for name in flat}
    agree(last, lists.labels, scores)
    np.testing.assert_allclose(
        found["eval/mrr/std_error"][2], twice["mrr"].std_error(), rtol=1e-6
    )
