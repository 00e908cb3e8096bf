"""`evaluate_links` beside PyKEEN's evaluator, on the same scores with many ties."""

import numpy as np
import pytest
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_

import jax_rank_metrics as jrm

ENTITIES, RELATIONS, KNOWN, EVALUATED = 40, 4, 500, 90
REALISTIC = {
    "mrr(rank=realistic)": "inverse_harmonic_mean_rank",
    "hits(rank=realistic)@1": "hits_at_1",
    "hits(rank=realistic)@3": "hits_at_3",
    "hits(rank=realistic)@10": "hits_at_10",
    "mean_rank": "arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
    # Its four cutoffs share this key, and the last of them stays.
    "adjusted_hits@10": "adjusted_hits_at_k",
    "adjusted_mrr": "adjusted_inverse_harmonic_mean_rank",
}
NAMES = {
    "realistic": REALISTIC,
    "optimistic": dict(list(REALISTIC.items())[:5]),
    "pessimistic": dict(list(REALISTIC.items())[:5]),
}
TIES = {"realistic": None, "optimistic": "best", "pessimistic": "worst"}


@pytest.fixture(scope="module")
def graph():
    """Known triples, the part of them to evaluate, and scores of few values."""
    rng = np.random.default_rng(3)
    sizes = (ENTITIES, RELATIONS, ENTITIES)
    known = np.unique(np.stack([rng.integers(0, n, KNOWN) for n in sizes], 1), axis=0)
    evaluated = known[rng.permutation(len(known))[:EVALUATED]]
    scores = np.round(rng.normal(size=(2, RELATIONS, ENTITIES, ENTITIES)) * 2)
    return known, evaluated, scores.astype(np.float32)


@pytest.fixture(scope="module")
def theirs(graph):
    """PyKEEN's numbers by key, from its filter and its evaluator, in batches."""
    known, evaluated, scores = graph
    evaluator = RankBasedEvaluator()
    triples = torch.from_numpy(known)
    for side, column, given in (("head", 0, 2), ("tail", 2, 0)):
        for batch in torch.from_numpy(evaluated).split(32):
            of_batch = torch.from_numpy(scores[int(side == "tail")])[
                batch[:, 1], batch[:, given]
            ].clone()
            answers = batch[:, column]
            of_answers = of_batch[torch.arange(len(batch)), answers]
            positive, _ = create_sparse_positive_filter_(
                hrt_batch=batch,
                all_pos_triples=triples,
                relation_filter=None,
                filter_col=column,
            )
            of_batch = filter_scores_(scores=of_batch, filter_batch=positive)
            # The filter removes the answers as well, as PyKEEN's own loop undoes.
            of_batch[torch.arange(len(batch)), answers] = of_answers
            evaluator.process_scores_(
                hrt_batch=batch,
                target=side,
                scores=of_batch,
                true_scores=of_answers[:, None],
            )
    return evaluator.finalize().to_flat_dict()


@pytest.mark.parametrize("rank", list(NAMES))
def test_numbers_of_every_key(graph, theirs, rank):
    """Every number has PyKEEN's key `side.rank.metric`, on heads, tails and both."""
    known, evaluated, scores = graph
    links = jrm.evaluate_links(
        tuple(NAMES[rank]),
        lambda entities, relations, side: scores[
            int(side == "tail"), relations, entities
        ],
        evaluated,
        known=known,
        num_entities=ENTITIES,
        ties=TIES[rank],
    )
    for side, evaluation in links.items():
        for name, key in NAMES[rank].items():
            expected = theirs[f"{side}.{rank}.{key}"]
            actual = float(evaluation.states[name].compute())
            assert actual == pytest.approx(expected, rel=2e-6, abs=2e-7), (side, name)
    if rank == "realistic":
        tails = links["tail"]
        amr = theirs["tail.realistic.adjusted_arithmetic_mean_rank"]
        ranks, amri = tails.lists["mean_rank"], tails.lists["amri"]
        expected_ranks = jrm.PerList(amri.weights + 1, ranks.weights, ranks.defined)
        ratio = ranks.over(expected_ranks).mean()
        assert float(ratio.compute()) == pytest.approx(amr, rel=1e-6)
