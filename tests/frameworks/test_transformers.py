"""Hugging Face: a Trainer of a small PyTorch model, on CPU."""

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainingArguments

from jax_rank_metrics.adapters.transformers import compute_metrics

METRICS = ("recall@1,3", "ndcg@5", "mrr")


class Scorer(torch.nn.Module):
    """Scores items by their features; only items with a label enter the loss."""

    def __init__(self):  # noqa: D107
        super().__init__()
        self.score = torch.nn.Linear(3, 1)

    def forward(self, features, labels):  # noqa: D102
        scores = self.score(features)[..., 0]
        wrong = torch.where(labels >= 0, labels - scores, 0.0)
        return {"loss": (wrong**2).mean(), "logits": scores}


def collate(examples):
    """Each batch as long as its longest list, padded by −100."""
    pad = torch.nn.utils.rnn.pad_sequence
    labels = [torch.tensor(one["labels"]) for one in examples]
    features = [torch.tensor(one["features"]) for one in examples]
    return {
        "labels": pad(labels, batch_first=True, padding_value=-100),
        "features": pad(features, batch_first=True),
    }


@pytest.mark.parametrize("by_batch", [False, True])
def test_trainer(lists, agree, tmp_path, by_batch):
    """Trained, and evaluated twice: what one evaluation added up, the next forgets."""
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
    found = trainer.evaluate()
    with torch.no_grad():
        scores = trainer.model.score(torch.tensor(lists.features))[..., 0].numpy()
    found = {name.removeprefix("eval_"): value for name, value in found.items()}
    agree(found, lists.labels, scores, undefined="skip")
    state = metrics.states["mrr"]
    assert int(state.lists + state.undefined) == 11
    assert np.isfinite(state.std_error())
