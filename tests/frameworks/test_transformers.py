"""The adapter for Hugging Face: a Trainer of a small PyTorch model, on CPU."""

import pickle

import numpy as np
import pytest
import torch
from transformers import EvalPrediction, Trainer, TrainingArguments

from jax_rank_metrics._engine.metrics import run
from jax_rank_metrics.adapters.transformers import compute_metrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")


class Scorer(torch.nn.Module):
    """Scores items by their features; items without a label do not enter the loss."""

    def __init__(self):  # noqa: D107
        super().__init__()
        self.score = torch.nn.Linear(3, 1)

    def forward(self, features, labels):  # noqa: D102
        scores = self.score(features)[..., 0]
        wrong = torch.where(labels >= 0, labels - scores, 0.0)
        return {"loss": (wrong**2).mean(), "logits": scores}


def collate(examples):
    """Pads a batch to its longest list, with −100."""
    pad = torch.nn.utils.rnn.pad_sequence
    labels = [torch.tensor(example["labels"]) for example in examples]
    features = [torch.tensor(example["features"]) for example in examples]
    return {
        "labels": pad(labels, batch_first=True, padding_value=-100),
        "features": pad(features, batch_first=True),
    }


def predictions(lists, part=slice(None)):
    """Returns a part of the lists, as a Trainer passes them on."""
    return EvalPrediction(
        predictions=lists.features[part].sum(-1), label_ids=lists.labels[part]
    )


def test_an_evaluation_that_broke_off(lists, agree):
    """Its batches are forgotten by `reset`, and when a batch itself is refused."""
    metrics = compute_metrics(METRICS)
    metrics(predictions(lists), compute_result=True)
    before = metrics.states
    metrics(predictions(lists, slice(0, 4)), compute_result=False)
    metrics.reset()
    assert metrics.states is before
    metrics(predictions(lists, slice(0, 4)), compute_result=False)
    wrong = EvalPrediction(predictions=np.ones((2, 3)), label_ids=np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 4\)"):
        metrics(wrong, compute_result=False)
    metrics(predictions(lists, slice(0, 4)), compute_result=False)
    result = metrics(predictions(lists, slice(4, None)), compute_result=True)
    agree(result, lists.labels, lists.features.sum(-1))
    assert int(metrics.states["mrr"].lists) == 11


def test_lengths_share_programs(lists, agree):
    """Batches of other numbers and lengths of lists are padded to the same shape."""
    metrics = compute_metrics(METRICS)
    metrics(predictions(lists))
    programs = run._mean_lists._cache_size()
    for number, length in ((11, 7), (10, 8), (9, 7)):
        labels = lists.labels[:number, :length]
        scores = lists.features.sum(-1)[:number, :length]
        result = metrics(EvalPrediction(predictions=scores, label_ids=labels))
        agree(result, labels, scores)
    assert run._mean_lists._cache_size() <= programs + 3  # those of `agree`
    metrics(predictions(lists, slice(0, 10)))
    metrics(EvalPrediction(lists.features[:9, :7].sum(-1), lists.labels[:9, :7]))
    assert run._mean_lists._cache_size() <= programs + 3


def test_shapes_that_are_refused(lists):
    """Each message says what to pass instead."""
    metrics, labels = compute_metrics("mrr"), lists.labels
    with pytest.raises(TypeError, match="label_ids holds 2 arrays.*label_names"):
        metrics(EvalPrediction(predictions=labels, label_ids=(labels, labels)))
    column = labels[..., None]
    with pytest.raises(ValueError, match=r"label_ids has shape \(11, 8, 1\)"):
        metrics(EvalPrediction(predictions=column, label_ids=column))
    with pytest.raises(ValueError, match=r"label_ids has shape \(11,\), so that all"):
        metrics(EvalPrediction(predictions=labels[:, 0], label_ids=labels[:, 0]))
    with pytest.raises(ValueError, match=r"predictions has shape \(11, 8, 1\)"):
        metrics(EvalPrediction(predictions=column, label_ids=labels))


def test_unusual_batches(lists, agree):
    """Arrays may be options of every batch, and lists may have no items."""
    labels, scores = lists.labels, lists.features.sum(-1)
    weights = np.linspace(0, 1, len(labels))
    metrics = compute_metrics(METRICS, list_weights=weights)
    agree(metrics(predictions(lists)), labels, scores, list_weights=weights)
    empty = np.zeros((3, 0))
    assert compute_metrics("mrr")(EvalPrediction(empty, empty)) == {"mrr": 0}


def test_pickled(lists):
    """A pickled copy gives the same results, as in another process."""
    metrics = compute_metrics(METRICS, undefined="skip")
    copy = pickle.loads(pickle.dumps(metrics))
    assert copy(predictions(lists)) == metrics(predictions(lists))


@pytest.mark.parametrize("by_batch", [False, True])
def test_trainer(lists, agree, tmp_path, by_batch):
    """A second evaluation does not include the batches of the first."""
    data = []
    for features, labels in zip(*lists, strict=True):
        real = labels >= 0
        data.append({"features": features[real], "labels": labels[real].astype(int)})
    metrics = compute_metrics(METRICS, undefined="skip")
    torch.manual_seed(0)
    trainer = Trainer(
        Scorer(),
        TrainingArguments(
            tmp_path,
            use_cpu=True,
            max_steps=3,
            per_device_train_batch_size=4,
            per_device_eval_batch_size=4,
            batch_eval_metrics=by_batch,
            eval_strategy="steps",
            eval_steps=2,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
        ),
        data_collator=collate,
        train_dataset=data,
        eval_dataset=data,
        compute_metrics=metrics,
    )
    trainer.train()
    results = trainer.evaluate()
    with torch.no_grad():
        scores = trainer.model.score(torch.tensor(lists.features))[..., 0].numpy()
    results = {name.removeprefix("eval_"): value for name, value in results.items()}
    agree(results, lists.labels, scores, undefined="skip")
    state = metrics.states["mrr"]
    assert int(state.lists + state.undefined) == 11
    assert np.isfinite(state.std_error())
