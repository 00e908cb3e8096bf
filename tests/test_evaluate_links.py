"""`evaluate_links` against loops over sets of triples, in float64."""

import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

ENTITIES, RELATIONS, KNOWN, EVALUATED = 23, 3, 150, 70
KS = (1, 3, 10)
METRICS = (
    "mrr(rank=realistic)",
    "hits(rank=realistic)@1,3,10",
    "mean_rank",
    "amri",
    "adjusted_hits@1,3,10",
    "adjusted_mrr",
    "mrr",
)
SIDES = ("head", "tail", "both")


@pytest.fixture(scope="module")
def graph():
    """Draws triples, some of them repeated, and scores of few distinct values."""
    rng = np.random.default_rng(5)
    sizes = (ENTITIES, RELATIONS, ENTITIES)
    known = np.stack([rng.integers(0, n, KNOWN) for n in sizes], axis=1)
    known[:40, 2] = 4  # a question that many heads answer
    known[:40, 1] = 1
    evaluated = rng.permutation(np.unique(known, axis=0))[:EVALUATED]
    scores = np.round(rng.normal(size=(2, RELATIONS, ENTITIES, ENTITIES))) / 2
    return known, evaluated, scores.astype(np.float32)


def score_fn_of(scores):
    """Returns a function that looks scores up."""

    def score_fn(entities, relations, side):
        assert entities.dtype == relations.dtype == np.int32
        return jnp.asarray(scores[int(side == "tail"), relations, entities])

    return score_fn


def evaluate(graph, metrics=METRICS, **options):
    """Evaluates the links of a graph; two arrays of links are known."""
    known, evaluated, scores = graph
    return jrm.evaluate_links(
        metrics,
        score_fn_of(scores),
        evaluated,
        known=options.pop("known", (known[:90], known[90:])),
        num_entities=ENTITIES,
        **options,
    )


def places(graph, allowed=None):
    """Counts by loops what scores higher than each answer, and the same, and all.

    `allowed` holds the candidates by side and relation.
    """
    known, evaluated, scores = graph
    facts = {tuple(triple) for triple in known.tolist()}
    rows = []
    for side in (0, 1):
        for head, relation, tail in evaluated.tolist():
            given, answer = (tail, head) if side == 0 else (head, tail)
            values = scores[side, relation, given].astype(np.float64)

            def fact(entity, side=side, relation=relation, given=given):
                pair = (entity, given) if side == 0 else (given, entity)
                return pair[0], relation, pair[1]

            candidates = [
                x for x in range(ENTITIES) if x == answer or fact(x) not in facts
            ]
            if allowed is not None:
                candidates = [
                    x for x in candidates if x in allowed[SIDES[side]][relation]
                ]
            above = sum(values[x] > values[answer] for x in candidates)
            tied = sum(values[x] == values[answer] for x in candidates)
            rows.append((above, tied, len(candidates)))
    return np.array(rows)


def expected_means(above, tied, number, rank):
    """The metrics of PyKEEN from its definitions, and the mean over orders."""
    hits = np.array([(rank <= k).mean() for k in KS])
    chance = np.array([np.minimum(k / number, 1).mean() for k in KS])
    harmonic = [sum(1 / i for i in range(1, n + 1)) / n for n in number]
    reciprocal, by_chance = (1 / rank).mean(), np.mean(harmonic)
    over_orders = [
        np.mean([1 / r for r in range(a + 1, a + t + 1)])
        for a, t in zip(above, tied, strict=True)
    ]
    return {
        "mrr(rank=realistic)": reciprocal,
        "hits(rank=realistic)@1,3,10": hits,
        "mean_rank": rank.mean(),
        "amri": 1 - (rank - 1).sum() / ((number - 1) / 2).sum(),
        "adjusted_hits@1,3,10": (hits - chance) / (1 - chance),
        "adjusted_mrr": (reciprocal - by_chance) / (1 - by_chance),
        "mrr": np.mean(over_orders),
    }


@pytest.fixture(scope="module")
def links(graph):
    """The evaluation that most tests read, with batches of both sizes of last ones."""
    return evaluate(graph, batch_size=32, k=4)


@pytest.mark.long
def test_realistic_means_on_every_side(graph, links):
    """Means equal the means of loops, on heads, tails and both."""
    above, tied, number = places(graph).T
    assert (tied > 1).mean() > 0.5 and len(set(number)) > 5
    parts = (slice(EVALUATED), slice(EVALUATED, None), slice(None))
    for side, part in zip(SIDES, parts, strict=True):
        counts = above[part], tied[part], number[part]
        expected = expected_means(*counts, counts[0] + (counts[1] + 1) / 2)
        for name, mean in expected.items():
            actual = links[side].states[name].compute()
            np.testing.assert_allclose(actual, mean, rtol=2e-6, atol=2e-6, err_msg=name)
        assert int(links[side].states["mrr"].lists) == len(counts[0])


@pytest.mark.parametrize(
    "ties", ["best", pytest.param("worst", marks=pytest.mark.long)]
)
def test_optimistic_and_pessimistic_means(graph, ties):
    """Under "best" and "worst" the answer is the first and the last of its ties."""
    above, tied, number = places(graph).T
    rank = above + (1 if ties == "best" else tied)
    metrics = METRICS[:2]
    found = evaluate(graph, metrics, ties=ties, batch_size=32)["both"]
    expected = expected_means(above, tied, number, rank)
    for name in metrics:
        actual = found.states[name].compute()
        np.testing.assert_allclose(actual, expected[name], rtol=2e-6, err_msg=name)
    choices = "negative:error|nan:error|scores:float32|exclude:listed|def:1"
    text = f"rr|rank:realistic|ties:{ties}|{choices}"
    assert found.signature["mrr(rank=realistic)"] == text


def test_groups_and_entities(graph, links):
    """Lists know their triples; groups are relations; `items` are the best."""
    _, evaluated, scores = graph
    both = links["both"]
    np.testing.assert_array_equal(both.triples, np.tile(evaluated, (2, 1)))
    groups, values = both.by(), both.lists["mean_rank"].values
    assert sorted(groups) == sorted(set(evaluated[:, 1].tolist()))
    for relation, states in groups.items():
        mean = values[both.triples[:, 1] == relation].mean()
        np.testing.assert_allclose(states["mean_rank"].compute(), mean, rtol=1e-6)
        assert {*states.triples[:, 1].tolist()} == {relation}
        np.testing.assert_array_equal(states.triples, both.triples[states.query_ids])
    halves = links["tail"].by(["a"] * 30 + ["b"] * (EVALUATED - 30))
    assert int(halves["a"]["mrr"].lists) == 30
    with pytest.raises(ValueError, match="pass one for each of 140 lists"):
        both.by(["a"])
    assert both.retrieved_ids.shape == (2 * EVALUATED, 4)
    facts = {tuple(triple) for triple in graph[0].tolist()}
    for index, (head, relation, tail) in enumerate(both.triples.tolist()):
        is_tail = index >= EVALUATED
        given, answer = (head, tail) if is_tail else (tail, head)
        of_list = scores[int(is_tail), relation, given]
        best = both.retrieved_ids[index].tolist()
        for entity in best:
            triple = (head, relation, entity) if is_tail else (entity, relation, tail)
            assert entity == answer or triple not in facts
        assert (np.diff(of_list[best]) <= 0).all()


def test_filters_do_not_depend_on_how_they_came(graph, links):
    """Evaluated triples are known, and repeated triples, in any array, count once."""
    known, evaluated, _ = graph
    is_evaluated = (known[:, None] == evaluated).all(-1).any(1)
    others = np.concatenate([known[~is_evaluated]] * 2).astype(np.int64)
    found = evaluate(graph, known=others, batch_size=32, k=4)
    for name in METRICS:
        np.testing.assert_array_equal(
            found["both"].lists[name].values, links["both"].lists[name].values
        )
    assert len(found["head"].lists["mrr"]) == EVALUATED


def test_progress_and_numpy_scores(graph):
    """Scores may be of NumPy, in float64; progress counts the lists of both sides."""
    known, evaluated, scores = graph
    seen = []

    def score_fn(entities, relations, side):
        assert len(entities) == 32
        return np.float64(scores[int(side == "tail"), relations, entities])

    found = jrm.evaluate_links(
        "mrr",
        score_fn,
        evaluated.tolist(),
        known=known.tolist(),
        num_entities=ENTITIES,
        batch_size=32,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert found["both"].retrieved_ids.shape == (2 * EVALUATED, 0)
    assert seen[-1] == (2 * EVALUATED, 2 * EVALUATED) and len(seen) == 6


@pytest.mark.parametrize("ties", [None, pytest.param("worst", marks=pytest.mark.long)])
def test_candidates_of_relations(graph, ties):
    """They alone have a rank, on each side; the means equal loops over them."""
    _, evaluated, scores = graph
    rng = np.random.default_rng(3)
    allowed = {"head": {}, "tail": {}}
    for side, part in (("head", 0), ("tail", 2)):
        for relation in range(RELATIONS):
            answers = evaluated[evaluated[:, 1] == relation, part]
            some = rng.permutation(ENTITIES)[: 3 * relation]
            allowed[side][relation] = np.union1d(answers, some).tolist()
    above, tied, number = places(graph, allowed).T
    assert (tied > 1).any() and (number != places(graph)[:, 2]).mean() > 0.5
    forms = {"head": [*allowed["head"].values()], "tail": allowed["tail"]}
    metrics = ("mrr", "amri", "hits(rank=realistic)@1,3,10")
    unread = scores.copy()
    for side in (0, 1):  # entities that are no candidates may have any score
        for relation in range(RELATIONS):
            is_read = np.isin(np.arange(ENTITIES), allowed[SIDES[side]][relation])
            unread[side, relation][:, ~is_read] = np.nan
    options = {"candidates": forms, "batch_size": 32, "k": 2, "ties": ties}
    found = evaluate((*graph[:2], unread), metrics, **options)["both"]
    rank = above + ((tied + 1) / 2 if ties is None else tied)
    means = expected_means(
        *((above, tied) if ties is None else (rank - 1, 1 + 0 * tied)), number, rank
    )
    for name in metrics:
        actual = found.states[name].compute()
        np.testing.assert_allclose(
            actual, means[name], rtol=2e-6, atol=2e-6, err_msg=name
        )
    for index, (_, relation, _) in enumerate(found.triples.tolist()):
        side = SIDES[index // EVALUATED]
        assert {*found.retrieved_ids[index].tolist()} <= {-1, *allowed[side][relation]}
    assert "|pool:candidates|" in found.signature["mrr"]


def test_answers_that_are_no_candidates(graph):
    """They count as missed, with a remark; a side without candidates ranks all."""
    evaluated = graph[1]
    tails = [[*range(1, ENTITIES)]] * RELATIONS
    is_missed = evaluated[:, 2] == 0
    text = f"the answer of {is_missed.sum()} of 140 lists is no candidate"
    with pytest.warns(UserWarning, match=text):
        found = evaluate(graph, "mrr", candidates={"tail": tails}, batch_size=32)
    values = found["tail"].lists["mrr"].values
    assert is_missed.any() and ((values == 0) == is_missed).all()
    assert (found["head"].lists["mrr"].values > 0).all()
    assert found["tail"].remarks == found["both"].remarks != ()
