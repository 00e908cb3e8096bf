"""Metric names: the grammar, its synonyms, and the names of results."""

import re
from functools import partial

import jax
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.metrics import metric as metric_module
from jax_rank_metrics._names import directions, facts, grammar

LABELS = np.array([[3, 0, 1, 2], [0, 0, 1, 0]], np.int32)
SCORES = np.array([[0.1, 0.4, 0.3, 0.2], [1.0, 2.0, 3.0, 4.0]], np.float32)

SAME = {
    "ndcg": jrm.ndcg,
    "NDCG@3": partial(jrm.ndcg, k=3),
    "map": jrm.average_precision,
    "ap@2": partial(jrm.average_precision, k=2),
    "mrr": jrm.reciprocal_rank,
    "RR@1,2": partial(jrm.reciprocal_rank, k=(1, 2)),
    "p@ 1, 3": partial(jrm.precision, k=(1, 3)),
    "Precision(denominator=k)@9": partial(jrm.precision, denominator="k", k=9),
    "r@2": partial(jrm.recall, k=2),
    "recall(rel=2)@2": partial(jrm.recall, relevance_threshold=2, k=2),
    "recall(rel=2, denominator='attainable')@2": partial(jrm.recall, relevance_threshold=2, denominator="attainable", k=2),
    "f1@2": partial(jrm.f_score, k=2),
    "f_score(beta=0.5)@2": partial(jrm.f_score, beta=0.5, k=2),
    **dict.fromkeys(("hit_rate@1", "hit-rate@1", "hr@1", "success@1", "cmc@1"), partial(jrm.hit_rate, k=1)),
    "cumulative_match_characteristic@2": partial(jrm.hit_rate, k=2),
    "rprec": jrm.r_precision,
    "mean_average_precision_at_r": jrm.map_at_r,
    "mINP": jrm.inverse_negative_penalty,
    "wuAUC": jrm.gauc,
    "R_Precision(rel=2)": partial(jrm.r_precision, relevance_threshold=2),
    "cg@2": partial(jrm.cg, k=2),
    "dcg(discount_fn=reciprocal_discount)@2": partial(jrm.dcg, discount_fn=jrm.reciprocal_discount, k=2),
    "ndcg(gain_fn=linear_gain)@10": partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=10),
    "ndcg(discount_fn=log_discount(3))": partial(jrm.ndcg, discount_fn=jrm.log_discount(3)),
    "ndcg(discount_fn=log_discount(base=3))@2": partial(jrm.ndcg, discount_fn=jrm.log_discount(3), k=2),
    "ap(denominator=hits)@5": partial(jrm.average_precision, denominator="hits", k=5),
    "ndcg(k=(1, 2))": partial(jrm.ndcg, k=(1, 2)),
    # Names of trec_eval.
    "P_5": partial(jrm.precision, denominator="k", k=5),
    "ndcg_cut_2": partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=2),
    "map_cut_2(rel=2)": partial(jrm.average_precision, relevance_threshold=2, k=2),
    "iprec_at_recall_0.25": partial(jrm.interpolated_precision, recall_levels=0.25),
    "ndcg_cut.1,3": partial(jrm.ndcg, gain_fn=jrm.linear_gain, k=(1, 3)),
    "P.2(rel=2)": partial(jrm.precision, denominator="k", relevance_threshold=2, k=2),
    "map_cut@4": partial(jrm.average_precision, k=4),
    "relative_P": partial(jrm.recall, denominator="attainable", k=(5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    "Rprec_mult.0.5,1.20": partial(jrm.precision_at_multiples, multiples=(0.5, 1.2)),
    "success(k=3)": partial(jrm.hit_rate, k=3),
    "recip_rank(rel=3)": partial(jrm.reciprocal_rank, relevance_threshold=3),
    "set_F(rel=3)": partial(jrm.f_score, relevance_threshold=3),
    "set_relative_P": partial(jrm.recall, denominator="attainable"),
    "recall@5,all": partial(jrm.recall, k=(5, None)),
    "rbp.p=0.95": partial(jrm.rank_biased_precision, p=0.95),
    "utility.2,-1,0,0": partial(jrm.utility, worth=2, cost=1),
    # Names of ir_measures and of ndeval.
    "SetAP": jrm.set_average_precision,
    "IPrec@0.1": partial(jrm.interpolated_precision, recall_levels=0.1),
    "StRecall@5": partial(jrm.subtopic_recall, k=5),
    "P-IA@5": partial(jrm.precision_ia, denominator="k", k=5),
    "MAP-IA": jrm.average_precision_ia,
    # The parts of expected exposure.
    **dict.fromkeys(("ee", "ee_l"), partial(jrm.expected_exposure, part="loss")),
    "ee_d": partial(jrm.expected_exposure, part="disparity"),
    "ee_r": partial(jrm.expected_exposure, part="relevance"),
    "NumRel(rel=2)": partial(jrm.num_relevant, relevance_threshold=2),
}  # fmt: skip


def test_names_mean_their_metrics():
    """A name and a partial of the same metric are one program, under the name as typed."""
    by_name, by_partial = binding.bind_all(tuple(SAME)), binding.bind_all(SAME)
    assert [bound.name for bound in by_name] == list(SAME)
    assert by_name == by_partial and hash(by_name) == hash(by_partial)
    assert len(set(by_name)) == len(SAME)


def test_residuals_of_trec_eval():
    """Its shares of unjudged documents, and its residual, are residuals here."""
    for name, in_full in (
        ("unj.5", "residual(of=precision(denominator=k))@5"),
        ("unj", "residual(of=precision(denominator=k))@5,10,20"),
        ("rbp_resid", "residual(of=rbp(p=0.9))"),
    ):
        assert binding.parse(name)[1:] == binding.parse(in_full)[1:]
    # Labels and scores do not tell which items were judged.
    members = {bound.name for bound in binding.bind_all("all_trec")}
    assert "rbp(p=0.9)" in members and not {"rbp_resid", "unj.5,10,20"} & members


DIRECTIONS = {
    True: (
        *"arp mean_rank average_relevance_position coverage_error arp[0] label_ranking_loss".split(),
        *"fall_out FALLOUT@5 fall-out@1,5 fall_out(rel=2)@10 arp(typo=1)".split(),
        *"ee ee_l ee_d exposure_parity".split(),
    ),
    None: (
        *"num_ret num_retrieved@5 num_rel(rel=2) num_rel_ret@1,5 popularity".split(),
        *"popularity@10 popularity_lift@5 novelty@10 inst(value=items)@10".split(),
        *"inst(value=cost)@10 inst(value=total_cost)@10 unj_5 rbp_resid".split(),
    ),
    False: (
        *"ndcg@10 recall@1 recall@1,5 gm_map map_cut_5 P_5 iprec_at_recall_0.10".split(),
        *"ee_r expected_exposure(part=relevance) exposure_parity(comparison=ratio)@5".split(),
        *"inst(value=utility)@10 inst(value=total_utility)@10".split(),
        *("utility_2,-1,0,0", "rbp_p=0.95", "ndcg.1=3"),
        *("no_metric", "no_metric(b @ 8", ""),
    ),
}


@pytest.mark.parametrize("lower", DIRECTIONS, ids=str)
def test_direction(lower):
    """Every name of a result says whether lower values are better; unknown ones do not."""
    for name in DIRECTIONS[lower]:
        assert directions.is_lower_better((name,)) is lower, name


def test_names_that_stand_for_options(metric_names):
    """A name may imply options, which decide about the direction too."""
    presets = {"gap_ratio": {"kind": "ratio"}, "distance": {}}

    @jrm.metric(names=presets, lower_is_better=lambda x: x["kind"] == "difference")
    def gap(ranking, *, k=None, kind="difference"):
        return jrm.cg.of(ranking, k=k)

    bound = binding.parse("Gap-Ratio@1,5")
    assert dict(bound.options) == {"k": (1, 5), "kind": "ratio"}
    assert binding.parse("distance").options == (("k", None), ("kind", "difference"))
    assert directions.is_lower_better(("gap@5",)) is True
    assert directions.is_lower_better(("gap(kind=ratio)@1,5[0]",)) is False
    assert directions.is_lower_better(("gap_ratio@1",)) is False
    with pytest.raises(ValueError, match="gives kind twice"):
        binding.parse("gap_ratio(kind=difference)")


def flat_shapes(states):
    """Returns the shape of every scalar of states, by its name, and compiles nothing."""
    binding = []

    def values():
        flat = jrm.compute(states(), flat=True)
        binding.extend(flat)  # in their order, while JAX sorts the keys of a dict
        return list(flat.values())

    return dict(zip(binding, jax.eval_shape(values), strict=True))


def test_flat_names_every_cutoff():
    """Every cutoff is a scalar under its own name; an index stands in for a missing cutoff."""
    metrics = {
        "recall(rel=1)@1,3": partial(jrm.recall, k=(1, 3)),
        "mine": partial(jrm.precision, k=(1, 2)),
        "map": jrm.average_precision,
        "P.5,10": partial(jrm.precision, denominator="k", k=(5, 10)),
    }
    flat = flat_shapes(lambda: jrm.evaluate(metrics, LABELS, SCORES))
    expected = ["recall(rel=1)@1", "recall(rel=1)@3", "mine[0]", "mine[1]", "map"]
    assert list(flat) == [*expected, "P_5", "P_10"]
    assert all(value.shape == () for value in flat.values())


def test_functions_in_answers_exist():
    """Each function that an answer names is public, and no metric has its name."""
    for name, where in grammar._ELSEWHERE.items():
        assert name not in facts.metric_names()
        [function] = re.findall(r"jrm\.(\w+)", where.format(name))
        assert callable(getattr(jrm, function))
        assert function == name or callable(getattr(jrm.Exposure, name))


def test_names_mean_what_was_registered_last(metric_names, monkeypatch):
    """A cell of a notebook that runs again replaces its metric, whose name was read."""
    for _ in range(2):

        @jrm.metric()
        def read_twice(ranking):
            """Never called."""

        assert binding.parse("read_twice").spec is read_twice.spec
        assert binding.parse("read_twice") is binding.parse("read_twice")
    monkeypatch.undo()
    metric_module._parsed.cache_clear()
    with pytest.raises(ValueError, match="'read_twice' is unknown"):
        binding.parse("read_twice")
