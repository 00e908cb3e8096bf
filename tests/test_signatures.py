"""Signatures: every choice is a field, and a text is read back as the same metric."""

import copy
import dataclasses
import functools
import inspect
import json
import math
import pickle
import typing

import golden
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import typer
from conformance_vectors import DATA, FUNCTIONS, METRICS, held_entry
from per_lists import evaluation_of, lists_of
from registry import METRICS as METRICS_BY_NAME

import jax_rank_metrics as jrm
from jax_rank_metrics import cli
from jax_rank_metrics._engine.calls import binding, signatures
from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._names import cutoff_names
from jax_rank_metrics._names.facts import FACTS

DISCOUNTS = (
    *(jrm.log2_discount, jrm.log2_rank_discount, jrm.reciprocal_discount),
    *(jrm.log_discount(3), jrm.log_discount(math.e), jrm.log_discount(0.1 + 1.2)),
)
# Options of functions, metrics and tuples; others are numbers, bools and choices.
ALTERNATIVES = {
    "k": (None, 1, 3, (1, 3), (2, None), jrm.share(0.3), jrm.share(0.007), (1, jrm.share(0.5))),
    "recall_levels": (0.3, (0.1, 0.1 + 0.2), 1),
    "multiples": (0.3, (0.1, 1.7), 1),
    "gain_fn": (jrm.linear_gain, jrm.exponential_gain),
    "discount_fn": DISCOUNTS,
    "of": (
        *("rbp", "dcg"),
        functools.partial(jrm.rank_biased_precision, p=0.1 + 0.2),
        functools.partial(jrm.rank_biased_precision, max_label=3, p=0.5),
        functools.partial(jrm.dcg, discount_fn=jrm.log_discount(3)),
        functools.partial(jrm.precision, denominator="k", relevance_threshold=2),
    ),
}  # fmt: skip
NUMBERS = (1, 2, 0.7, 0.1 + 0.2, 1e-7, 1e22, 7.25)


def choices_of(kind):
    """Returns the words of a `Literal`, which may be part of a union."""
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)
    return tuple(x for part in typing.get_args(kind) for x in choices_of(part))


def alternatives(spec):
    """Yields the options of a metric, each with values that differ from each other."""
    hints = typing.get_type_hints(spec.formula)
    for option, default in spec.options.items():
        values = ALTERNATIVES.get(option, choices_of(hints[option]))
        if option == "target" and "groups" in spec.columns:
            values = (*values, (0.5, 0.2, 0.3), (1,), (1, 2.5))
        elif isinstance(default, bool):
            values = (True, False)
        elif not values:
            values = NUMBERS
        if type(None) in typing.get_args(hints[option]):
            values = (None, *values)
        yield option, values


def is_legal(bound):
    """True if a formula takes these options."""
    try:
        signatures._check_options(bound)
    except (TypeError, ValueError):
        return False
    return True


def plain(value):
    """Returns a metric as its spec and options, so that equal metrics compare equal."""
    value = binding.parse(value) if value in ("rbp", "dcg") else value
    if isinstance(value, Bound):
        options = tuple((name, plain(x)) for name, x in value.options)
        return value.spec, options
    return value


@pytest.mark.parametrize("name", METRICS_BY_NAME)
def test_every_option_is_a_field_that_is_read_back(name):
    """No two values of an option share a signature, and each is read as the same options.

    Metrics with the same options are the same program, and so have the same bits.
    """
    metric = METRICS_BY_NAME[name]
    texts = {jrm.signature(metric): metric.spec.bind((), {})}
    for option, values in alternatives(metric.spec):
        for value in values:
            bound = metric.spec.bind((), {option: value})
            if not is_legal(bound):
                continue
            text = jrm.signature(functools.partial(metric, **{option: value}))
            first = texts.setdefault(text, bound)
            assert plain(first) == plain(bound), (text, option, value)
    for text, bound in texts.items():
        for form in (text, text.long):
            back = jrm.from_signature(form)
            assert plain(back.func.spec.bind((), back.keywords)) == plain(bound), form
            assert jrm.signature(back) == text


def test_every_choice_of_a_call_is_a_field():
    """Choices of rankings, means and files differ, and are kept by both forms."""
    texts = {jrm.signature("ndcg@10")}
    for option, words in signatures._CHOICES.items():
        for choice in words.split()[1:] or (7, 100):
            text = jrm.signature("ndcg@10", **{option: choice})
            assert text not in texts, text
            texts.add(text)
            for form in (text, text.long):
                assert signatures.fields(form)[option] == str(choice), form
            assert jrm.from_signature(text).keywords == {"k": 10}
    assert jrm.signature("rr", ties="stable") == jrm.signature("mrr", ties="input")


SAME = {
    "ndcg@5,10|def:1": ("ndcg@10,5", "ndcg@5,10", functools.partial(jrm.ndcg, k=(10, 5))),
    "ndcg@10|def:1": ("ndcg@10", functools.partial(jrm.ndcg, k=[10])),
    "ndcg|def:1": (jrm.ndcg, functools.partial(jrm.ndcg, discount_fn=jrm.log_discount(2.0))),
    "ap|rel:2|def:1": ("MAP(rel=2)", functools.partial(jrm.average_precision, relevance_threshold=np.float32(2))),
    "ndcg@10|gain:linear|def:1": ("ndcg_cut_10", "ndcg(gain_fn=linear_gain)@10"),
    "err|normalized:True|def:1": ("nerr",),
    "precision@5,all|denominator:k|def:1": (functools.partial(jrm.precision, k=(None, 5), denominator="k"),),
    "precision@5,1%|def:1": ("p@1%,5", "p@5,1%"),
    "ndcg|gain:custom|def:1": (functools.partial(jrm.ndcg, gain_fn=jnp.log1p),),
    "ap|mean:geometric|def:1": ("gm_map", jrm.from_signature("ap|mean:geometric|def:1")),
    "rbp@5|p:0.5|max_grade:3|worth:graded|def:1": ("rbp(p=0.5, max_label=3)@5",),
    "rbp|max_grade:1|worth:graded|def:1": ("rbp(max_label=1)",),
    "ndcg|discount:log_discount(3)|def:1": ("ndcg(discount_fn=log_discount(3))", functools.partial(jrm.ndcg, discount_fn=jrm.log_discount(3.0))),
    "residual@10|of:rbp(p=0.5)|def:1": ("residual(of=rbp(p=.5))@10",),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_numbers_that_are_the_same_have_one_signature(text):
    """Other spellings of a metric do not differ; copies and pickles keep what they say."""
    for metric in SAME[text]:
        signature = jrm.signature(metric)
        assert signature == text and signatures.fields(text) == signature.fields
        for other in (pickle.loads(pickle.dumps(signature)), copy.deepcopy(signature)):
            assert other == text and other.long == signature.long


def test_ties_by_the_metric():
    """They mean the hash if no formula is known, and nothing if the metric has its own."""
    for metric, ties in (
        *(("rr", "expected"), ("inst", "hash"), ("tau", "own")),
        *(("ap(denominator=hits)", "hash"), ("residual(of=insq)", "expected")),
    ):
        assert jrm.signature(metric).fields["ties"] == ties
    assert jrm.signature("tau", ties="input") == "tau|def:1"
    assert jrm.signature("inst", ties="input") == "inst|ties:input|def:1"


# Choices and parameters of the vectors, and the options that say them here.
SAYABLE = {
    "ndcg|gain:linear": {"gain_fn": jrm.linear_gain},
    "ndcg|discount:jk2002": {"discount_fn": jrm.log2_rank_discount},
    "ndcg|discount:reciprocal": {"discount_fn": jrm.reciprocal_discount},
    "dcg|discount:ln": {"discount_fn": jrm.log_discount(math.e)},
    "ap|denominator:attainable": {"denominator": "attainable"},
    "ap|denominator:hits": {"denominator": "hits"},
    "ap|denominator:k": {"denominator": "k"},
    "recall|denominator:attainable": {"denominator": "attainable"},
    "precision|denominator:k": {"denominator": "k"},
    "rbp|worth:graded": {"max_label": 1},
    "rbp|max_grade:4": {"max_label": 4},
    "rbp|p:0.5": {"p": 0.5},
    "err|max_grade:2": {"max_label": 2},
    "alpha_ndcg|alpha:0.25": {"alpha": 0.25},
    "rr|rel:2": {"relevance_threshold": 2},
}


def test_the_vectors_prove_signatures_complete():
    """Every option on which a value depends is a field, and fields find the value."""
    num_entries = 0
    for data in DATA.values():
        for test in (test for group in data["groups"] for test in group["tests"]):
            if test["metric"] not in FUNCTIONS:  # of two rankings
                continue
            name, metric = test["metric"], FUNCTIONS[test["metric"]]
            fields = jrm.signature(metric).fields
            assert fields["metric"] == name
            assert METRICS[name]["parameters"].keys() - {"k"} <= fields.keys()
            for entry in test["values"]:
                assert entry["when"].keys() <= fields.keys(), test["id"]
                num_entries += 1
            held_entry(test, fields)
            for text, options in SAYABLE.items():
                if text.partition("|")[0] == name:
                    partial = functools.partial(metric, **options)
                    fields = jrm.signature(partial, ties="input").fields
                    option, _, choice = text.partition("|")[2].partition(":")
                    assert fields[option] == choice
                    held_entry(test, fields)
    assert num_entries > 1000


def test_definitions_that_the_vectors_have_alone():
    """They are read, but are no metric."""
    for text, choice in (
        ("ndcg@10|ideal:full|threshold:relevant|def:1", "full"),
        ("ndcg|ideal:full|ties:worst|def:1", "full"),
    ):
        assert signatures.fields(text)["ideal"] == choice


def test_facts_about_a_number_are_no_choices():
    facts = "|lists:43|undefined-lists:2|jrm:0.2.0"
    text = "ndcg@10|gain:linear|ties:id-desc|duplicates:error|def:1"
    assert signatures.fields(text + facts) == signatures.fields(text)
    assert jrm.from_signature(text + facts).keywords == {
        "gain_fn": jrm.linear_gain,
        "k": 10,
    }


def test_a_metric_of_a_user():
    """Its options are fields, whatever they hold, and its default cutoff is named."""

    @jrm.metric()
    def signed(ranking, *, k=1, mode="a|b:c", limit=math.inf):
        values = ranking.expected_sum(
            lambda x: x.labels, jrm.positions(), ranking.cutoffs(k)
        )
        return ranking.per_list(values, True, k)

    try:
        assert jrm.signature(signed) == "signed@1|def:1"
        for options in (
            {"k": None},
            {"mode": "x y|z:'q'"},
            {"limit": 1e300},
            {"limit": (-math.inf, "é")},
        ):
            text = jrm.signature(functools.partial(signed, **options))
            assert jrm.from_signature(text).keywords == options
            assert jrm.from_signature(text.long).keywords == options
    finally:
        del NAMES["signed"], FACTS["signed"]


TEXTS = {x: jrm.signature("recall@1,2", ties=x) for x in ("input", "worst")}


def results(ties="input", scale=1.0):
    """Returns an evaluation of four users, at two cutoffs."""
    values = scale * np.float32([[0, 1], [0, 1], [1, 1], [0, 0]])
    evaluation = evaluation_of({"recall@1,2": lists_of(values)})
    return dataclasses.replace(evaluation, signature={"recall@1,2": TEXTS[ties]})


def test_comparisons_hold_what_both_systems_share():
    """Each cutoff has a signature, of the values that the comparison is of."""
    comparisons = jrm.compare(results(), results(scale=0.5), test="t")
    texts = [x.signature for x in comparisons]
    assert texts == ["recall@1|ties:input|def:1", "recall@2|ties:input|def:1"]
    assert "signature" not in comparisons[0].to_dict()
    for other, options in ((results("worst"), {}), (results(), {"undefined": "one"})):
        assert jrm.compare(results(), other, test="t", **options)[0].signature is None
    values = {"recall@1,2": results().lists["recall@1,2"]}
    assert jrm.compare(values, values, test="t")[0].signature is None


def test_tables_write_signatures_on_request():
    """They stand in the note, and in the records of CSV and JSON."""
    runs, signatures = {"old": results(), "new": results("worst")}, results().signature
    assert "def:1" not in str(jrm.table(runs))
    note = str(jrm.table(runs, signatures=signatures)).splitlines()[-1]
    texts = [f"recall@{k}|ties:input|def:1" for k in (1, 2)]
    assert "; ".join(["", *texts]) in note
    for held in (runs, jrm.compare(results(), results(), test="t")):
        records = json.loads(jrm.table(held, format="json", signatures=signatures))
        assert {x["signature"] for x in records} == {*texts}
        assert "signature" not in jrm.table(held, format="csv")
    with pytest.raises(
        ValueError, match="undefined is 'skip', but signatures say zero"
    ):
        jrm.table(runs, signatures=signatures, undefined="skip")


def test_joined():
    """Its signature has the choices of the call, and lists of ids say so."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 2.0}}
    base = "duplicates:{}|negative:unjudged|nan:error"
    for options, expected in (
        ({}, base.format("error")),
        ({"ties": "trec"}, f"ties:id-desc|{base.format('error')}"),
        (
            {"condensed": True},
            "duplicates:error|unjudged:removed|negative:unjudged|nan:error",
        ),
        ({"missing": "skip"}, f"{base.format('error')}|queries:both"),
        ({"depth": 1}, f"{base.format('error')}|cut:1"),
    ):
        joined = jrm.join(qrels, run, **options)
        assert joined.signature("ap") == {"ap": f"ap|{expected}|def:1"}
    fields = jrm.join(qrels, run).signature("gm_map", "one")["gm_map"].fields
    assert (fields["mean"], fields["undefined"]) == ("geometric", "one")
    for repeats, word in (("keep", "first"), ("remove", "removed")):
        joined = jrm.join(
            {"q": ["a"]}, {"q": ["b", "a"]}, repeats=repeats, missing="skip"
        )
        fields = joined.signature("ap")["ap"].fields
        assert (fields["duplicates"], fields["queries"]) == (word, "listed")


@pytest.mark.long
def test_golden_values():
    """Values of definition 1 of every metric of the package equal the frozen values."""
    frozen = json.loads(golden.FILE.read_text())
    assert frozen.keys() == golden.metrics().keys()
    actual = golden.values({text: jrm.from_signature(text) for text in frozen})
    for text, values in frozen.items():
        for row, expected in zip(actual[text], values, strict=True):
            assert [x is None for x in row] == [x is None for x in expected], text
            pairs = [
                (x, y) for x, y in zip(row, expected, strict=True) if x is not None
            ]
            assert all(abs(x - y) <= 1e-6 * max(1, abs(y)) for x, y in pairs), text


# Two users, or queries, and four items; what a call gives without options.
VECTORS = np.float32([[1, 0], [0, 1]]), np.float32([[3, 0], [2, 2], [1, 0], [0, 4]])
JOINED = {"q": {"a": 1, "b": 0}, "x": {"c": 1}}, {"q": {"b": 2.0, "a": 1.0, "q": 0.5}}


def users(relevant=((2,), (1,)), **options):
    relevant = [[*ids] for ids in relevant]
    return jrm.evaluate_users("rr@2", VECTORS, relevant, k=2, **options)


def embeddings(**options):
    return jrm.evaluate_embeddings("rr@2", *VECTORS, [[2], [1]], **options)


def links(side="both", **options):
    def score_fn(entities, relations, side):
        return np.arange(8, dtype=np.float32).reshape(2, 4)[entities % 2]

    options = {"known": [], "num_entities": 4} | options
    return jrm.evaluate_links("rr@2", score_fn, [[0, 0, 1], [1, 0, 2]], **options)[side]


def joined(list_weights=None, **options):
    options = {"missing": "zero"} | options
    joined = jrm.join(*JOINED, **options)
    return joined.evaluation("rr@2", list_weights=list_weights)


# Choices of the caller are fields, and each of these calls has a text of its own.
FIELDS = {
    users: [
        {"seen": [[0], []]},
        {"candidates": [[2, 3], [1]]},
        {"relevant": ["cz", "b"], "item_ids": list("abcd"), "unknown_items": "drop"},
        {"item_mask": [True, True, True, False]},
        {"ties": "worst"},
        {"list_weights": [1, 2]},
        {"undefined": "skip"},
    ],
    embeddings: [
        {"similarity": "cosine"},
        {"similarity": lambda q, i: q @ i.T},
        {"candidates": [[2, 3], [1]]},
        {"exclude": [[0], []]},
        {"item_mask": [True, True, True, False]},
        {"ties": "worst"},
        {"list_weights": [1, 2]},
        {"undefined": "skip"},
    ],
    links: [
        {"side": "head"},
        {"side": "tail"},
        {"candidates": {"tail": {0: [0, 1, 2]}}},
        {"ties": "worst"},
        {"undefined": "skip"},
    ],
    joined: [
        {"missing": "skip"},
        {"ties": "trec"},
        {"condensed": True},
        {"depth": 1},
        {"duplicates": "first"},
        {"document": lambda chunk: chunk[:1]},
        {"exclude_self": True},
        {"list_weights": {"q": 1, "x": 2}},
    ],
}
FUNCTIONS_OF = {
    users: jrm.evaluate_users,
    embeddings: jrm.evaluate_embeddings,
    links: jrm.evaluate_links,
    joined: jrm.join,
}
# Arguments that are data of the caller, or say how to compute.
OF_THE_CALLER = {
    "metrics": "the first part of a signature",
    "model queries items relevant qrels run": "the data",
    "score_fn triples known num_entities": "the data; what is known always leaves lists",
    "users user_ids query_ids item_ids": "which lists there are, and how they are named",
    "k": "the cutoffs of metrics; that of measures of items shown",
    "item_columns": "the data, which other metrics read",
    "key": "a number that chance gave, as its ties say",
    "batch_size block_size mesh queries_axis items_axis": "where it is computed",
    "keep_lists progress": "what is kept and shown",
    "unjudged": "what becomes of queries without judgements, which have no value",
    "repeats": "the field duplicates, in lists",
}


@pytest.mark.parametrize(
    "call",
    [
        joined,
        *(pytest.param(x, marks=pytest.mark.long) for x in (users, embeddings, links)),
    ],
    ids=lambda call: call.__name__,
)
def test_choices_of_a_call_are_fields(call):
    """Each argument changes the text, or is data; no two choices share a text."""
    texts = [call().signature["rr@2"]]
    for options in FIELDS[call]:
        texts.append(call(**options).signature["rr@2"])
        assert jrm.from_signature(texts[-1]).keywords == {"k": 2}
    assert len({*texts}) == len(texts), texts
    function = FUNCTIONS_OF[call]
    # Drivers compare scores in the precision of JAX, and `join` in float64.
    scores = jnp.zeros(0, float).dtype.name if call is not joined else "float64"
    assert call().signature["rr@2"].fields["scores"] == scores
    assert (call().signature["rr@2"].fields["exclude"] == "listed") == (call is links)
    known = {option for options in FIELDS[call] for option in options}
    known |= {*" ".join(OF_THE_CALLER).split()}
    # The unknown items of both drivers, and the query itself, are one field each.
    known |= {"unknown_items", "exclude_self"}
    assert {*inspect.signature(function).parameters} <= known


# Arguments of calls that return no text, with the choice that `signature` has for each, or
# the option of a metric.
CHOSEN = {
    "ties": "ties",
    "relax": "relax",
    "undefined": "undefined",
    "list_weights": "weights",
    "weights": "weights",
    "item_mask": "items",
    "exclude_ids": "exclude",
    "exclude_self": "exclude",
    "repeats": "duplicates",
    "duplicates": "rows",
    "similarity": "similarity",
    "document": "document",
    "missing": "queries",
    "complete": "queries",
    "depth": "cut",
    "judged_only": "unjudged",
    "level": "relevance_threshold",
    "trec": "ties",
}
OF_CALLS = {
    "metrics metric": "the first part of a signature",
    "labels scores queries items qrels runs ranking": "the data",
    "relevant_ids relevant_labels retrieved_ids": "the data",
    "columns item_columns pool_columns profile_ids profile_weights relevant_columns": "the data, which other metrics read",
    "mask segment_ids num_segments": "which lists there are, and what is padding",
    "above tied retrieved num_retrieved": "the data: places, and what was retrieved",
    "pool_labels pool_mask pool_weights num_relevant": "the data: what was not retrieved",
    "k": "of the cutoffs of metrics, none is deeper",
    "key": "a number that chance gave, as its ties say",
    "qrels_format run_format qrels_columns run_columns": "how files are read",
    "block_size items_axis": "where it is computed",
    "unjudged": "what becomes of queries without judgements, which have no value",
}
OF_VERDICTS = {
    "a b results": "numbers that have their texts, or none",
    "ids clusters pairs lower": "what is compared with what, in which direction",
    "judge": "labels of a judge: the texts are of what they correct",
    "test correction alternative margin mid_p samples level key stars method": "inference",
    "alpha at_least undecided confidence": "inference",
    "compare format digits rows caption label signatures intervals names": "how it looks",
    "per_query signature baseline plot save": "what is written, and where",
    "scored list score item": "how tables of scored items are read",
}


def command(name):
    """Returns the names of the options of a command."""
    return {x.name for x in typer.main.get_command(cli.app()).commands[name].params}


def test_arguments_of_other_calls_are_fields_or_data():
    """Each is a choice that `signature` has, or stands in a list as data with a reason."""
    ranks = ["rank", "rank_catalog", "rank_ids", "rank_places", "rank_retrieved"]
    of_values = {
        name: {*inspect.signature(getattr(jrm, name)).parameters}
        for name in (*ranks, "rank_scores", "evaluate", "measure")
    }
    of_verdicts = {
        x: {*inspect.signature(getattr(jrm, x)).parameters}
        for x in ("compare", "table")
    }
    of_verdicts |= {x: command(x) for x in ("gate", "evaluate")}
    known = {*CHOSEN} | {*" ".join(OF_CALLS).split()}
    assert {x: y - known for x, y in of_values.items() if y - known} == {}
    known |= {*" ".join(OF_VERDICTS).split()}
    assert {x: y - known for x, y in of_verdicts.items() if y - known} == {}
    every = set().union(*of_values.values(), *of_verdicts.values())
    assert known - every == set()
    assert {*CHOSEN.values()} <= {*signatures._CHOICES, "relevance_threshold"}


@pytest.mark.long
@pytest.mark.parametrize(
    "options, choice",
    [
        ({"ties": "worst"}, {"ties": "worst"}),
        ({"undefined": "one"}, {"undefined": "one"}),
        ({"list_weights": [1, 2, 3]}, {"weights": "given"}),
        ({"relax": jrm.sigmoid_ranks(2.0)}, {"relax": 2.0}),
    ],
)
def test_choices_of_evaluate_change_its_number(options, choice):
    """They change the text that the caller writes, too."""
    labels, scores = (
        np.float32([[0, 1], [1, 0], [0, 0]]),
        np.float32([[2, 2], [2, 1], [2, 1]]),
    )
    metric = "precision@1"
    values = [
        float(jrm.evaluate(metric, labels, scores, **x)[metric].compute())
        for x in ({}, options)
    ]
    assert values[0] != values[1]
    assert jrm.signature(metric, **choice) != jrm.signature(metric)


@pytest.mark.long
def test_a_query_that_leaves_its_list():
    """It is told from items that are named, and both from each alone."""
    square = VECTORS[1], VECTORS[1]
    for options, text in (({}, "self"), ({"exclude": [[1], [2], [3], [0]]}, "both")):
        evaluation = jrm.evaluate_embeddings(
            "rr@2", *square, [[2], [3], [0], [1]], exclude_self=True, **options
        )
        assert f"|exclude:{text}|" in evaluation.signature["rr@2"]


def test_numbers_of_a_signature_are_in_range():
    """One number has one text, and values that are no such numbers raise."""
    texts = {jrm.signature("recall@5", cut=x) for x in (10, 10.0, "10", np.int64(10))}
    assert texts == {"recall@5|cut:10|def:1"}
    assert jrm.signature("recall(rel=True)@5") == jrm.signature("recall(rel=1)@5")
    for option, choice in (
        ("cut", -5),
        ("cut", 1.5),
        ("cut", "x"),
        ("relax", float("nan")),
    ):
        with pytest.raises(ValueError, match=f"{option} is '{choice}'; pass a number"):
            jrm.signature("recall@5", **{option: choice})


# Values that no option and no choice takes: words, and numbers beyond every range.
BAD = ("banana", "nan", "1e999", "-5", "1e300", "9" * 400, "(1,'x',)")


def assert_refused(*texts):
    for text in texts:
        with pytest.raises((ValueError, TypeError)):
            pytest.fail(f"{text[:80]}: {jrm.from_signature(text)}")


def test_bad_values_of_options_are_refused():
    """Each option of each metric has words or a range, and no text leaves it."""
    num_options = 0
    for name, metric in METRICS_BY_NAME.items():
        spec, head = metric.spec, signatures._WORDS.get(name, name)
        hints = typing.get_type_hints(spec.formula)
        assert_refused(*(f"{head}@{bad}|def:1" for bad in BAD))
        for word, option in signatures._options_by_word(spec).items():
            is_none = type(None) in typing.get_args(hints[option])
            bads = BAD if is_none else (*BAD, "None")
            assert_refused(*(f"{head}|{word}:{bad}|def:1" for bad in bads))
            num_options += 1
    assert num_options > 100
    assert_refused("residual|of:rbp(p=7)|def:1", "recall@2147483648|def:1")


def test_bad_choices_are_refused():
    """All choices of rankings, means and files, and fixed fields, refuse them."""
    for head, *parts in (
        jrm.signature(x).long.split("|") for x in ("err@5", "rbp", "ndcg", "bpref")
    ):
        for option in (part.partition(":")[0] for part in parts):
            bads = {*BAD, ""} - {option}  # nan:nan is a choice
            assert_refused(*(f"{head}|{option}:{bad}|def:1" for bad in bads))
    for number in ("0", "1.5", "2147483648"):
        assert_refused(f"recall|cut:{number}|def:1")
    metric = jrm.from_signature("recall@5|cut:10.0|rel:2.0|def:1")
    assert jrm.signature(metric) == "recall@5|rel:2|def:1"


def test_a_geometric_mean_is_read_back():
    """A metric carries its kind of mean, which calls, pickles and names of results keep."""
    metric = jrm.from_signature(jrm.signature("gm_map"))
    assert jrm.signature(metric) == jrm.signature("gm_map")
    lists = np.float32([[1, 0], [0, 1]]), np.float32([[2, 1], [2, 1]])
    for call in (
        functools.partial(jrm.evaluate, {"mine": metric}),
        lambda *lists: {"mine": pickle.loads(pickle.dumps(metric))(*lists)},
    ):
        state = jax.eval_shape(call, *lists)["mine"]
        assert isinstance(state, jrm.GeometricMean)


def test_cutoffs_in_another_order():
    """They have one text, and each value has the text of its own cutoff."""
    joined = jrm.join({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
    for metrics, name in (
        ("recall@2,1", "recall@2"),
        ({"mine": functools.partial(jrm.recall, k=(2, 1))}, "mine[0]"),
    ):
        (text,) = joined.signature(metrics).values()
        assert text.startswith("recall@1,2|")
        labels = cutoff_names.by_label(joined.signature(metrics))
        assert [*labels][0] == name and labels[name].startswith("recall@2|")
        assert all("," not in x for x in labels.values())
    # If values stand in another order, they are neither compared nor joined as equal.
    first, second = (
        jrm.join({name: {"a": 1}}, {name: {"b": 2.0, "a": 1.0}}).evaluation(
            {"mine": functools.partial(jrm.recall, k=k)}
        )
        for name, k in (("q", (2, 1)), ("x", (1, 2)))
    )
    assert first.signature == second.signature
    with pytest.raises(ValueError, match="differ in their cutoffs"):
        first.merge(second)
    lists = dict.fromkeys(["mine"], lists_of(np.float32([[0, 1], [1, 1]])))
    first, second = (
        dataclasses.replace(evaluation_of(lists), signature=x.signature)
        for x in (first, second)
    )
    text = jrm.compare(first, first, test="t")[0].signature
    assert text.startswith("recall@2|")
    assert jrm.compare(first, second, test="t")[0].signature is None
