"""Joined lists: places counted on the host, and metrics that are read from them."""

import contextlib
import itertools
import pickle

import chex
import numpy as np
import polars as pl
import pytest
from marks import long

import jax_rank_metrics as jrm
from jax_rank_metrics._ground import one_off
from jax_rank_metrics._ground.inputs.padding import padded_blocks

OPTIONS = [
    {"ties": ties, "depth": depth, "missing": missing}
    for ties, depth, missing in itertools.product(
        ("expected", "trec"), (None, 3), ("zero", "skip")
    )
]
# Metrics that are read from places, and metrics that need more if documents tie.
NAMES = ("recall@1,5", "ndcg", "bpref", "fall_out@3", "gm_map")
NEED_ALL = (
    *("ap(denominator=hits)", "residual(of=rbp)@3"),
    *("tau", "infap", "iprec@0,0.5", "rho"),
)
MORE = (
    *("map", "mrr@3", "judged@5", "rprec", "f1(rel=2)@3", "err@3"),
    "ndcg(gain_fn=linear_gain)@7",
)


def draw(rng, queries=6, integers=True):
    """Draws dicts of judgements and of a run, with ties, −0.0, infinities and relevance −1."""
    names = [*(f"d{index}" for index in range(20)), "é", "𝄞"]
    qrels, run = {}, {"unjudged": {"d1": 1.0}}
    for query in range(queries):
        levels = rng.choice([-2, -1, 0, 0, 1, 1, 2, 3], 10)
        levels = levels.tolist() if integers else (levels / 2).tolist()
        qrels[f"q{query}"] = dict(
            zip(rng.permutation(names)[:10].tolist(), levels, strict=True)
        )
        scores = [
            rng.integers(-1, 2, 10) * 0.5,
            rng.permutation(10) - 5.0,
            rng.choice([0.0, -0.0], 10),
            rng.choice([-np.inf, np.inf, 1.5], 10),
        ][query % 4]
        docs = rng.permutation(names)[:10].tolist()
        if query != 2:  # which the run lacks
            run[f"q{query}"] = dict(zip(docs, scores.tolist(), strict=True))
    return qrels, run


def frame_of(dicts, value):
    """Returns {query: {document: number}} as a frame."""
    rows = [(query, doc, x) for query, docs in dicts.items() for doc, x in docs.items()]
    return pl.DataFrame(rows, ["query_id", "doc_id", value], orient="row")


def sides_of(form, qrels, run):
    """Returns dicts of judgements and of a run in another form."""
    if form == "dicts":
        return [qrels, run]
    sides = [frame_of(qrels, "relevance"), frame_of(run, "score")]
    if form == "frames":
        return sides
    return [side.sample(fraction=1, shuffle=True, seed=3) for side in sides]


def in_order(run, depth):
    """Returns the first documents of a run, in the order of trec_eval."""
    return sorted(run, key=lambda doc: (run[doc], doc.encode()), reverse=True)[:depth]


def places_by_loops(judged, run, ties, depth):
    """Returns relevance, above and tied of each judged document; None without a rank."""
    documents, places = in_order(run, depth), []
    for doc, level in judged.items():
        above = tied = None
        if doc in documents and ties == "trec":
            above, tied = documents.index(doc), 1
        elif doc in documents:
            above = sum(run[x] > run[doc] for x in documents)
            tied = sum(run[x] == run[doc] for x in documents)
        places.append((level, above, tied))
    return sorted(places, key=str), len(documents)


@pytest.mark.parametrize("form", ["dicts", "frames", "shuffled frames"])
@pytest.mark.parametrize("options", OPTIONS[::2], ids=lambda x: str(x.values()))
def test_places_are_those_of_loops(rng, options, form):
    """Documents are above, tied or beyond the depth as their scores and ids say."""
    qrels, run = draw(rng)
    joined = jrm.join(*sides_of(form, qrels, run), unjudged="skip", **options)
    places, retrieved = joined._places, 0
    columns = (places.relevance, places.above, places.tied, places.retrieved)
    for index, query in enumerate(joined.query_ids):
        rows = slice(*places.starts[index : index + 2])
        documents = [
            (level, *((above, tied) if is_ranked else (None, None)))
            for level, above, tied, is_ranked in zip(
                *(x[rows].tolist() for x in columns), strict=True
            )
        ]
        ranks = [above for _, above, _ in documents if above is not None]
        assert ranks == sorted(ranks)
        assert None not in [above for _, above, _ in documents[: len(ranks)]]
        how = options["ties"], options["depth"]
        expected = places_by_loops(qrels[query], run.get(query, {}), *how)
        assert (sorted(documents, key=str), places.num_retrieved[index]) == expected
        retrieved += expected[1]
        docs = in_order(run.get(query, {}), options["depth"])
        for doc, rank in joined.relevant_ranks(query).items():
            if options["ties"] == "trec" or rank == np.inf:
                assert rank == (docs.index(doc) + 1 if doc in docs else np.inf)
            else:
                ties = [x for x in docs if run[query][x] == run[query][doc]]
                assert rank == np.mean([docs.index(x) + 1 for x in ties])
    judged = sum(level >= 0 for docs in qrels.values() for level in docs.values())
    assert f"{judged} judged, {retrieved} retrieved" in repr(joined)


@pytest.mark.parametrize("form", ["dicts", "frames"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda x: str(x.values()))
def test_condensed_lists_are_those_of_judged_documents(rng, options, form):
    """The first documents of the run are kept, and of these the ones that were judged."""
    qrels, run = draw(rng)
    run["q3"] = {"unseen": 1.0}  # nothing of it is left
    kept = {
        query: {
            doc: run[query][doc]
            for doc in in_order(run[query], options["depth"])
            if docs.get(doc, -1) >= 0
        }
        for query, docs in qrels.items()
        if query in run
    }
    sides = sides_of(form, qrels, run)
    joined = jrm.join(*sides, unjudged="skip", condensed=True, **options)
    expected = jrm.join(qrels, kept, missing="zero", ties=options["ties"])
    for name in joined._places._fields:
        pair = (getattr(x._places, name) for x in (joined, expected))
        np.testing.assert_array_equal(*pair, name)
    in_all = jrm.join(*sides, unjudged="skip", **options)
    np.testing.assert_array_equal(joined.list_weights, in_all.list_weights)
    assert joined.list_weights[3] == 1 and not kept["q3"]

    def documents(joined):
        keys = [joined.query_ids[int(i)] for i in joined.segment_ids[joined.mask]]
        values = (joined.doc_ids, joined.labels, joined.retrieved)
        rows = zip(keys, *(x[: len(keys)] for x in values), strict=True)
        return sorted(rows, key=str)

    assert documents(joined) == documents(expected)
    queries = "queries, 1 skipped" if options["missing"] == "skip" else "queries"
    assert repr(joined) == repr(expected).replace("queries", queries)


def same_values(ours, theirs):
    """Compares dicts of PerList."""
    assert [*ours] == [*theirs]
    for name, lists in ours.items():
        for field, tolerance in (("values", 1e-6), ("weights", 0), ("defined", 0)):
            pair = (np.asarray(getattr(x, field)) for x in (lists, theirs[name]))
            chex.assert_trees_all_close(*pair, atol=tolerance, rtol=0)


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_values_are_those_of_packed_lists(rng, options):
    """Metrics agree with metrics of all documents, which only a few of them read."""
    integers = options["missing"] == "zero"
    qrels, run = draw(rng, integers=integers)
    sides = sides_of("frames" if integers else "dicts", qrels, run)
    joined = jrm.join(*sides, unjudged="skip", **options)
    for docs in run.values():
        docs.clear()  # what the caller does later changes nothing
    joined = pickle.loads(pickle.dumps(joined))
    names, need_all = (*NAMES, *MORE), NEED_ALL
    if options["ties"] == "trec":  # without ties, places tell the order
        names, need_all = (*names, "infap"), ("tau", "residual(of=rbp)@3")
    lists = joined.measure(names)
    assert "_packed" not in vars(joined)
    lists |= joined.measure(need_all)
    same_values(lists, jrm.measure((*lists,), jrm.rank(**joined.arguments())))
    name = names[0]
    of_arguments = jrm.evaluate(name, **joined.arguments(name))[name]
    np.testing.assert_allclose(
        of_arguments.compute(), joined.evaluate(name)[name].compute(), rtol=1e-6
    )


@pytest.mark.parametrize("undefined", [*long("zero", "one"), "skip"])
def test_states_are_those_of_the_values(rng, undefined):
    """`evaluate` returns the states that the values of `measure` have, in order."""
    joined = jrm.join(*draw(rng), unjudged="skip", missing="skip")
    states, lists = joined.evaluate(NAMES, undefined), joined.measure(NAMES)
    assert [*states] == [*NAMES]
    for name, state in states.items():
        of_values = lists[name].mean(undefined)
        if name == "gm_map":
            of_values = lists[name].geometric_mean(undefined=undefined)
        chex.assert_trees_all_equal_shapes_and_dtypes(state, of_values)
        assert type(state) is type(of_values)
        assert (state.counts == of_values.counts).all()
        for number in ("compute", "std_error"):
            numbers = (getattr(x, number)() for x in (state, of_values))
            np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-6)


def test_an_evaluation_has_values_states_and_ids(rng):
    """`evaluation` holds what `evaluate` and `measure` return, and who the queries are."""
    qrels, run = draw(rng)
    joined = jrm.join(qrels, run, unjudged="skip", missing="skip")
    weights = np.arange(joined.num_segments)
    arguments = (*NAMES, "11pt_avg"), "skip", weights
    evaluation = joined.evaluation(*arguments)
    chex.assert_trees_all_equal(dict(evaluation), joined.evaluate(*arguments))
    lists = joined.measure((*NAMES, "11pt_avg"), weights)
    assert [*evaluation] == [*evaluation.lists] == [*lists]
    for name, values in evaluation.lists.items():
        assert values.undefined == evaluation.undefined == "skip"
        np.testing.assert_array_equal(values.values, lists[name].values)
        np.testing.assert_array_equal(values.weights, lists[name].weights)
    assert evaluation.list_ids.tolist() == joined.query_ids.to_list()
    assert evaluation.num_queries == 6 and evaluation.retrieved_ids.shape == (6, 0)
    texts = joined.signature((*NAMES, "11pt_avg"), "skip")
    for name, text in evaluation.signature.items():
        assert text == texts[name].replace("|def", "|weights:given|def")
    # Documents tie in some lists, and this metric reads one order of them.
    (remark,) = evaluation.remarks
    assert "and 11pt_avg has no formula" in remark
    assert not joined.evaluation("ndcg").remarks
    groups = evaluation.by({query: query < "q3" for query in qrels})
    assert [*groups] == [True, False] and [*groups[True]] == [*lists]
    assert jrm.to_frame(evaluation).index.name == "query"


def test_evaluations_are_paired_by_the_ids_of_queries(rng):
    """The order of judgements does not matter, and parts of the queries are joined."""
    qrels, run = draw(rng)
    backwards = dict(reversed(qrels.items()))
    options = {"unjudged": "skip", "missing": "zero"}
    first, second = (
        jrm.join(x, run, **options).evaluation("ndcg") for x in (qrels, backwards)
    )
    (comparison,) = jrm.compare(first, second)
    assert comparison.ties == 6 and comparison.difference == 0
    assert comparison.signature == first.signature["ndcg"]
    parts = [
        jrm.join(x, run, **options).evaluation("ndcg")
        for x in (dict([*qrels.items()][:2]), dict([*qrels.items()][2:]))
    ]
    merged = jrm.Evaluation.merge(*parts)
    assert merged.list_ids.tolist() == [*qrels]
    pairs = zip(*(x.lists["ndcg"].values for x in (merged, first)), strict=True)
    assert all(abs(a - b) < 1e-6 for a, b in pairs)
    with pytest.raises(
        ValueError, match="'q0' is among the queries of two evaluations"
    ):
        first.merge(second)


@pytest.mark.parametrize("largest", [2**53 + 1, -(2**53), 2**63 - 1, 2**64 + 2])
@pytest.mark.parametrize("form", [dict, pl.DataFrame])
def test_integer_scores_are_compared_as_integers(largest, form):
    """Integers that are one double tie only under trec_eval, which compares doubles."""
    qrels, run = {"q": {"a": 1}}, {"q": {"b": largest - 1, "a": largest}}
    if form is pl.DataFrame:
        run = frame_of(run, "score")
    for options, above in (({}, 0), ({"depth": 1}, 0), ({"ties": "trec"}, 1)):
        remark = "become equal in float64.* 1 of 1 queries, such as 'q'"
        with pytest.warns(match=remark) if above else contextlib.nullcontext():
            joined = jrm.join(qrels, run, **options)
        assert joined._places.above.tolist() == [above]
        assert joined._places.tied.tolist() == [1]
        of_a, *of_b = joined.scores[joined.retrieved]
        if joined.doc_ids[0] == "b":
            of_b, of_a = [of_a], of_b[0]
        assert all(x > of_a if above else x < of_a for x in of_b)


@pytest.mark.long
def test_twenty_sizes_share_programs(rng, compilations):
    """Runs of different sizes, with and without ties, need eight compilations at most."""
    for size in range(20):
        queries, width = rng.integers(1, 1500), rng.choice([5, 60, 100, 250])
        rows = np.repeat(np.arange(queries), width)
        judged = pl.DataFrame({"query_id": rows, "doc_id": np.arange(len(rows))})
        scores = rng.integers(0, 10 if size % 2 else 2**60, len(rows))
        jrm.join(
            judged.with_columns(relevance=pl.Series(rng.integers(0, 3, len(rows)))),
            judged.with_columns(score=pl.Series(scores)),
        ).evaluate(("recall@5", "mrr"))
    assert 1 <= len(compilations) <= 8


def test_blocks_hold_every_list_once(rng):
    """Each list is in a block of the next width, and blocks have few shapes."""
    lengths = np.concatenate([rng.integers(0, 65, 1100), [64, 65, 1025, 20_000]])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.integers(1, 9, starts[-1])
    seen = []
    for block in padded_blocks(starts):
        lists, width = block.exists.shape
        assert lists == {64: 1024, 256: 64, 4096: 64, 65536: 16}[width]
        items, weights = block.items(values), block.per_list(lengths)
        assert (
            not items[~block.exists].any() and not weights[len(block.indices) :].any()
        )
        for row, index in enumerate(block.indices):
            expected = values[starts[index] : starts[index + 1]]
            assert width == 64 or len(expected) > width // 4
            assert (items[row][block.exists[row]] == expected).all()
            assert weights[row] == len(expected) == block.exists[row].sum()
        seen += block.indices.tolist()
    assert sorted(seen) == list(range(len(lengths)))


def test_options_that_xla_does_not_know_are_left_out(monkeypatch):
    """Options that XLA_FLAGS sets are left out, too; platforms but CPU have no options."""
    monkeypatch.setattr(one_off, "_CPU_OPTIONS", {"xla_of_no_version": True})
    of_platform, level = one_off._options.__wrapped__, one_off._LEVEL
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert of_platform("cpu", 1) == {level: 1}
    assert of_platform("tpu", 1) == {}
    monkeypatch.setenv("XLA_FLAGS", f"--{level}=0")
    assert of_platform("cpu", 1) == {}
