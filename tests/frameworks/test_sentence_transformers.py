"""The evaluator for sentence-transformers beside theirs, alone and in a Trainer, on CPU."""

import json
import zlib

import numpy as np
import pytest
import scipy.sparse
import tokenizers
import torch
import transformers
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    SparseEncoder,
)
from sentence_transformers.multi_vector_encoder import evaluation as theirs_of_tokens
from sentence_transformers.sentence_transformer import evaluation as theirs_of_texts
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from sentence_transformers.sparse_encoder import evaluation as theirs_of_sparse
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

import jax_rank_metrics as jrm
from jax_rank_metrics.adapters import sentence_transformers as adapter

Ours = adapter.InformationRetrievalEvaluator
WORDS = [f"w{i}" for i in range(40)]
KS = {
    "mrr_at_k": [3, 10],
    "ndcg_at_k": [10, 5],
    "accuracy_at_k": [1, 4],
    "precision_recall_at_k": [1, 3, 20],
    "map_at_k": [15],
}
METRICS = {
    "mrr": "mrr",
    "ndcg": "ndcg",
    "accuracy": "hit_rate",
    "precision": "precision(denominator=k)",
    "recall": "recall",
    "map": "map(denominator=attainable)",
}
NAMES = [
    f"{name}@{k}" for name in METRICS.values() for k in sorted({*sum(KS.values(), [])})
]


@pytest.fixture(scope="module")
def texts():
    """Returns queries, documents, and relevant documents, some not in the corpus."""
    rng = np.random.default_rng(2)

    def draw(prefix, number, length):
        words = rng.choice(WORDS, (number, length))
        return {f"{prefix}{i}": " ".join(row) for i, row in enumerate(words)}

    queries, corpus = draw("q", 12, 3), draw("d", 50, 5)
    relevant = {
        query: {f"d{i}" for i in rng.integers(0, 53, rng.integers(1, 9))}
        for query in queries
    }
    relevant["q3"], relevant["q7"] = {"d52"}, set()  # q7 is left out
    return queries, corpus, relevant


def word_tokenizer():
    """Returns a tokenizer of the words, after one that stands for all others."""
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture
def model():
    """Returns a model that adds random embeddings of words."""
    tokenizer = word_tokenizer()
    torch.manual_seed(0)
    weights = torch.randn(tokenizer.get_vocab_size(), 8).numpy()
    modules = [StaticEmbedding(tokenizer, embedding_weights=weights)]
    return SentenceTransformer(modules=modules, device="cpu")


def dot(queries, documents):
    return queries @ documents.T


@pytest.mark.parametrize("chunk", [50_000, 7])
@pytest.mark.parametrize(
    "functions", [None, {"dot": dot, "twice": lambda q, d: 2 * dot(q, d)}]
)
def test_equal_to_theirs(model, texts, tmp_path, chunk, functions):
    """Results, primary metric, CSV file and predictions are equal if no scores tie."""
    results, primary, files = [], [], []
    for index, kind in enumerate((theirs_of_texts.InformationRetrievalEvaluator, Ours)):
        evaluator = kind(
            *texts,
            **KS,
            corpus_chunk_size=chunk,
            name="dev",
            score_functions=functions,
            write_predictions=True,
        )
        folder = tmp_path / str(index)
        for steps in (1, 2):
            results.append(evaluator(model, str(folder), epoch=0, steps=steps))
        primary.append(evaluator.primary_metric)
        files.append(sorted(folder.iterdir()))
    theirs, _, ours, again = results
    assert [*ours] == [*theirs] and again == ours
    assert all(type(value) is float for value in ours.values())
    np.testing.assert_allclose([*ours.values()], [*theirs.values()], atol=1e-7)
    assert primary[0] == primary[1] and primary[0] in ours
    assert [x.name for x in files[0]] == [x.name for x in files[1]]
    for pair in zip(*files, strict=True):
        theirs, ours = (path.read_text().splitlines() for path in pair)
        if pair[0].suffix == ".csv":
            assert ours[0] == theirs[0] and len(ours) == len(theirs) == 3
            ours, theirs = (np.array(x[1].split(","), float) for x in (ours, theirs))
            np.testing.assert_allclose(ours, theirs, atol=1e-7)
        else:
            assert [*map(json.loads, ours)] == [*map(json.loads, theirs)]


@pytest.mark.parametrize("chunk", [1, 9, 50])
@pytest.mark.parametrize("digits", [0, 9])
def test_ties(model, texts, chunk, digits):
    """Rounded scores tie by the dozen, also around cutoffs and between chunks."""
    queries, corpus, relevant = texts

    def rounded(queries, documents):
        return torch.round(dot(queries, documents) / 4, decimals=digits)

    evaluator = Ours(
        *texts, **KS, corpus_chunk_size=chunk, score_functions={"x": rounded}
    )
    results = evaluator(model)
    with torch.no_grad():
        embeddings = [
            model.encode([side[id] for id in ids], convert_to_tensor=True)
            for side, ids in ((queries, evaluator.queries_ids), (corpus, corpus))
        ]
        scores = rounded(*embeddings).numpy()
    tied = sum(len({*row}) < len(row) for row in scores.tolist())
    assert tied == (11 if digits == 0 else 0)
    # Relevant documents that the corpus lacks are items without a rank.
    ids = [*corpus, "d50", "d51", "d52"]
    labels = np.array(
        [
            [float(id in relevant[query]) for id in ids]
            for query in evaluator.queries_ids
        ]
    )
    missing = np.zeros((len(scores), 3))
    retrieved = np.arange(len(ids)) < 50
    expected = jrm.evaluate(
        NAMES,
        labels.astype(np.float32),
        np.concatenate([scores, missing], axis=1).astype(np.float32),
        retrieved=np.broadcast_to(retrieved, labels.shape),
    )
    for key, value in results.items():
        measure, k = key.removeprefix("x_").split("@")
        state = expected[f"{METRICS[measure]}@{k}"]
        assert abs(value - float(state)) < 1e-6, key
    evaluation = evaluator.evaluations["x"]
    assert (
        evaluation.retrieved_ids.shape == (11, 20)
        and len(evaluation.lists["mrr@3,10"]) == 11
    )
    held = np.take_along_axis(scores, evaluation.retrieved_ids, axis=1)
    assert (held == -np.sort(-scores, axis=1)[:, :20]).all()
    is_tied = held[:, 1:] == held[:, :-1]
    assert (np.diff(evaluation.retrieved_ids)[is_tied] > 0).all()
    # If documents tie with the last held score, the first ones in the corpus are held.
    for row, items, values in zip(scores, evaluation.retrieved_ids, held, strict=True):
        at_last = np.flatnonzero(row == values[-1])[: (values == values[-1]).sum()]
        assert {*at_last} <= {*items.tolist()}


def test_embeddings_of_the_corpus(model, texts):
    """They can be passed, dense or sparse, and documents may have a model of their own."""
    evaluator = Ours(*texts, **KS, corpus_chunk_size=20, score_functions={"x": dot})
    results = evaluator(model)
    embeddings = model.encode([*texts[1].values()], convert_to_tensor=True)
    for arguments in (
        {"corpus_embeddings": embeddings},
        {"corpus_embeddings": embeddings.to_sparse()},
        {"corpus_model": model},
    ):
        assert evaluator(model, **arguments) == results


class TokenModel:
    """A model with a vector for each word, which stands in for a multi-vector encoder.

    Each text moves its words a little, so that no scores tie.
    """

    prompts: dict = {}
    model_card_data = None

    def __init__(self, similarity_fn_name):
        """Draws the vectors of words."""
        self.similarity_fn_name = similarity_fn_name
        rng = np.random.default_rng(0)
        self.vectors = {word: rng.normal(size=8) for word in WORDS}

    def encode(self, texts, **_):
        """Returns the vectors of the words of each text."""
        tokens = []
        for text in texts:
            noise = np.random.default_rng(zlib.crc32(text.encode())).normal(size=8)
            vectors = [self.vectors[word] + noise / 9 for word in text.split()]
            tokens.append(torch.tensor(np.array(vectors), dtype=torch.float32))
        return tokens

    encode_query = encode_document = encode


@pytest.mark.parametrize("name", ["maxsim", "meanmaxsim"])
def test_multi_vector_models(texts, monkeypatch, name):
    """Results equal theirs and the results of `evaluate_embeddings`, ids included."""
    queries, corpus, relevant = texts
    model, options = TokenModel(name), {**KS, "corpus_chunk_size": 20}
    results = []
    for module in (theirs_of_tokens, adapter):
        kind = module.MultiVectorInformationRetrievalEvaluator
        monkeypatch.setattr(
            kind, "store_metrics_in_model_card_data", lambda *_, **__: None
        )
        evaluator = kind(*texts, **options)
        results.append(evaluator(model))
    theirs, ours = results
    assert [*ours] == [*theirs]
    np.testing.assert_allclose([*ours.values()], [*theirs.values()], atol=1e-7)
    found = jrm.evaluate_embeddings(
        "ndcg@10",
        [x.numpy() for x in model.encode(queries[q] for q in evaluator.queries_ids)],
        [x.numpy() for x in model.encode(corpus.values())],
        [
            [int(id[1:]) for id in relevant[q] if id in corpus]
            for q in evaluator.queries_ids
        ],
        similarity="maxsim",
        k=20,
    )
    np.testing.assert_array_equal(
        found.retrieved_ids, evaluator.evaluations[name].retrieved_ids
    )


def test_standard_errors(model, texts):
    """They have a key of their own, and equal the errors of the states."""
    plain = Ours(*texts, **KS, name="dev")(model)
    evaluator = Ours(*texts, **KS, name="dev", std_errors=True)
    results = evaluator(model)
    assert [*results] == [*plain, *(f"{key}_std_error" for key in plain)]
    state = evaluator.evaluations["cosine"].states["ndcg@10,5"]
    np.testing.assert_allclose(
        [results[f"dev_cosine_ndcg@{k}_std_error"] for k in (10, 5)], state.std_error()
    )


def test_scores_that_are_refused(model, texts):
    evaluator = Ours(*texts, score_functions={"x": lambda q, d: dot(q, d) * np.nan})
    with pytest.raises(ValueError, match="nan"):
        evaluator(model)


def test_trainer(model, texts, tmp_path):
    """A Trainer evaluates, chooses the best step by it, and two steps are compared."""
    queries, corpus, relevant = texts
    evaluator = Ours(*texts, **KS, name="dev", std_errors=True)
    start = evaluator(model)["dev_cosine_ndcg@10"]
    before = evaluator.evaluations["cosine"]
    pairs = [
        {"anchor": queries[query], "positive": corpus[doc]}
        for query, docs in relevant.items()
        for doc in sorted(docs & {*corpus})
    ]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            str(tmp_path),
            use_cpu=True,
            max_steps=20,
            learning_rate=0.05,
            per_device_train_batch_size=16,
            eval_strategy="steps",
            eval_steps=10,
            save_steps=10,
            load_best_model_at_end=True,
            metric_for_best_model="eval_dev_cosine_ndcg@10",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(pairs),
        loss=losses.MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    logs = [x for x in trainer.state.log_history if "eval_dev_cosine_ndcg@10" in x]
    assert len(logs) == 2
    best = max(x["eval_dev_cosine_ndcg@10"] for x in logs)
    assert trainer.state.best_metric == best
    assert "eval_dev_cosine_mrr@3_std_error" in logs[0]
    results = evaluator(model)
    assert results["dev_cosine_ndcg@10"] == pytest.approx(best)
    after = evaluator.evaluations["cosine"]
    comparison = jrm.compare(before.lists, after.lists)["ndcg@10"]
    assert comparison.difference == pytest.approx(best - start, abs=1e-6)
    assert abs(best - start) > 1e-3
    assert "0." in jrm.table({"before": before.states, "after": after.states})


@pytest.fixture
def sparse_model():
    """Returns a model of a random weight for each word, in whole numbers and quarters."""
    tokenizer = word_tokenizer()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[UNK]"
    )
    weight = torch.from_numpy(
        np.random.default_rng(0)
        .standard_normal(tokenizer.get_vocab_size())
        .astype(np.float32)
    )
    module = SparseStaticEmbedding(fast, weight=weight)
    return SparseEncoder(modules=[module], device="cpu")


def arrays_of(embeddings):
    """Returns a sparse tensor as a sparse array of scipy."""
    return scipy.sparse.csr_array(embeddings.cpu().to_dense().numpy())


@pytest.mark.parametrize("chunk", [50_000, 7])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize(("num_words", "is_tied"), [(20, False), (3, True)])
def test_sparse_models(sparse_model, tmp_path, chunk, num_words, is_tied):
    """Results equal theirs without ties, and always the results of the same embeddings."""
    rng = np.random.default_rng(4)
    texts = [" ".join(x) for x in rng.choice(WORDS, (62, num_words))]
    queries = {f"q{i}": x for i, x in enumerate(texts[:12])}
    corpus = {f"d{i}": x for i, x in enumerate(texts[12:])}
    ids = [rng.choice(50, 4, replace=False).tolist() for _ in queries]
    relevant = {q: {f"d{i}" for i in row} for q, row in zip(queries, ids, strict=True)}
    options = {**KS, "corpus_chunk_size": chunk, "name": "dev"}
    results, headers = [], []
    for index, module in enumerate((theirs_of_sparse, adapter)):
        kind = module.SparseInformationRetrievalEvaluator
        evaluator = kind(queries, corpus, relevant, **options)
        folder = tmp_path / str(index)
        results.append(evaluator(sparse_model, str(folder)))
        headers.append(next(folder.glob("*.csv")).read_text().splitlines()[0])
    theirs, ours = results
    assert [*ours] == [*theirs] and headers[0] == headers[1]
    assert evaluator.primary_metric == "dev_dot_ndcg@10"
    found = jrm.evaluate_embeddings(
        NAMES,
        arrays_of(sparse_model.encode_query([*queries.values()])),
        arrays_of(sparse_model.encode_document([*corpus.values()])),
        ids,
        k=20,
        ties=None,
    )
    for key, value in ours.items():
        measure, _, k = key.removeprefix("dev_dot_").partition("@")
        if k:
            state = found.states[f"{METRICS[measure]}@{k}"]
            assert abs(value - float(state)) < 1e-6, key
        if not k or not is_tied:
            assert abs(value - theirs[key]) < 1e-6, key
    if is_tied:
        assert max(abs(ours[key] - theirs[key]) for key in ours) > 1e-3
    else:
        items = evaluator.evaluations["dot"].retrieved_ids
        np.testing.assert_array_equal(found.retrieved_ids, items)
    # Embeddings of the corpus may be known, and errors equal the errors of the states.
    evaluator = kind(queries, corpus, relevant, **options, std_errors=True)
    embeddings = sparse_model.encode_document([*corpus.values()])
    again = evaluator(sparse_model, corpus_embeddings=embeddings)
    assert {key: again[key] for key in ours} == pytest.approx(ours, abs=1e-6)
    error = evaluator.evaluations["dot"].states["ndcg@10,5"].std_error()[0]
    assert again["dev_dot_ndcg@10_std_error"] == pytest.approx(float(error))
