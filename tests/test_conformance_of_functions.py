"""`jrm.testing.conformance`: definitions that it names, and mistakes that it notices."""

import math
import random

import numpy as np
import pytest
from conformance_vectors import DATA, METRICS, held_entry

import jax_rank_metrics as jrm
from jax_rank_metrics._check import conformance as module

# Right functions of documents, in the order of trec_eval.
RANKED = '''
import math

def ranked(qrels, run):
    """Returns the grades of what was returned, None where not judged, and of the pool."""
    ids = [doc for doc, score in run]
    if len(set(ids)) < len(ids):
        raise ValueError("an id repeats")
    run = [(score, doc.encode()) for doc, score in run if qrels.get(doc, 0) >= 0]
    if any(score != score for score, doc in run):
        raise ValueError("a score is NaN")
    judged = {doc: grade for doc, grade in qrels.items() if grade >= 0}
    order = [doc.decode() for score, doc in sorted(run, reverse=True)]
    return [judged.get(doc) for doc in order], sorted(judged.values(), reverse=True)
'''
REFUSING = "ties:id-desc|duplicates:error"
RIGHT = {
    "ndcg": '''
def ndcg(qrels, run, k=None):
    grades, pool = ranked(qrels, run)
    def dcg(grades):
        return sum((2 ** (g or 0) - 1) / math.log2(r + 1) for r, g in enumerate(grades, 1))
    ideal = dcg(pool[:k])
    return dcg(grades[:k]) / ideal if ideal else 0
''',
    "ap": '''
def ap(qrels, run, k=None, rel=1):
    grades, pool = ranked(qrels, run)
    num_relevant, hits, total = sum(g >= rel for g in pool), 0, 0
    for rank, g in enumerate(grades[:k], 1):
        if (g or 0) >= rel:
            hits += 1
            total += hits / rank
    return total / num_relevant if num_relevant else 0
''',
    "rr": '''
def rr(qrels, run, k=None, rel=1):
    grades, pool = ranked(qrels, run)
    for rank, g in enumerate(grades[:k], 1):
        if (g or 0) >= rel:
            return 1 / rank
    return 0
''',
    "recall": '''
def recall(qrels, run, k=None, rel=1):
    grades, pool = ranked(qrels, run)
    num_relevant = sum(g >= rel for g in pool)
    hits = sum((g or 0) >= rel for g in grades[:k])
    return hits / num_relevant if num_relevant else 0
''',
    "precision": '''
def precision(qrels, run, k=None, rel=1):
    grades, pool = ranked(qrels, run)
    depth = len(grades) if k is None else min(k, len(grades))
    hits = sum((g or 0) >= rel for g in grades[:k])
    return hits / depth if depth else 0
''',
    "err": '''
def err(qrels, run, k=None, max_grade=4):
    grades, pool = ranked(qrels, run)
    value, reached = 0, 1
    for rank, g in enumerate(grades[:k], 1):
        stops = (2 ** min(g or 0, max_grade) - 1) / 2**max_grade
        value += reached * stops / rank
        reached *= 1 - stops
    return value
''',
    "rbp": '''
def rbp(qrels, run, k=None, rel=1, p=0.8, max_grade=1):
    grades, pool = ranked(qrels, run)
    hits = [(g or 0) >= rel for g in grades[:k]]
    return (1 - p) * sum(p**i for i, hit in enumerate(hits) if hit)
''',
    "bpref": '''
def bpref(qrels, run, rel=1):
    grades, pool = ranked(qrels, run)
    num_relevant = sum(g >= rel for g in pool)
    num_least = min(num_relevant, len(pool) - num_relevant)
    above, total = 0, 0
    for g in grades:
        if g is None:
            continue
        if g >= rel:
            total += 1 - min(above, num_relevant) / num_least if above else 1
        else:
            above += 1
    return total / num_relevant if num_relevant else 0
''',
}  # fmt: skip

KEEP_RUN, KEEP_POOL = " if qrels.get(doc, 0) >= 0", " if grade >= 0"
# Edits of `ranked`, and the option that a test must depend on to notice them.
OF_RANKED = [
    ("duplicates", 'raise ValueError("an id repeats")', "pass"),
    ("nan", 'raise ValueError("a score is NaN")', "return [], []"),
    ("nan", "score != score", "False"),
    ("scores", "[(score, doc", "[(float(np.float32(score)), doc"),
    ("ties", "sorted(run, reverse=True)", "sorted(run, key=lambda x: -x[0])"),
    ("ties", "sorted(run, reverse=True)", "sorted(run, key=lambda x: (-x[0], x[1]))"),
    ("negative", KEEP_RUN, ""),
    ("negative", KEEP_POOL, ""),
    (None, "sorted(run, reverse=True)", "sorted(run)"),
    (None, "sorted(run, reverse=True)", "run"),
]
EDITS = {
    "ndcg": [
        ("r + 1", "r + 2"),
        ("r + 1", "max(r, 2)"),
        ("enumerate(grades, 1)", "enumerate(grades)"),
        ("/ math.log2(r + 1)", "/ r"),
        ("2 ** (g or 0) - 1", "g or 0"),
        ("2 ** (g or 0) - 1", "2 ** (g or 0)"),
        ("2 ** (g or 0) - 1", "2 ** int(g or 0) - 1"),
        ("2 ** (g or 0) - 1", "(g or 0) > 0"),
        ("pool[:k]", "pool"),
        ("pool[:k]", "pool[::-1][:k]"),
        ("pool[:k]", "sorted((g or 0 for g in grades), reverse=True)[:k]"),
        ("pool[:k]", "(pool[:1] * (k or len(grades)))"),
        ("pool[:k]", "pool[:len(grades)][:k]"),
        ("grades[:k]", "grades"),
        ("/ ideal if ideal", "if ideal"),
        ("else 0", "else 1"),
    ],
    "ap": [
        ("g >= rel", "g > rel"),
        ("(g or 0) >= rel", "(g or 0) > rel"),
        ("(g or 0) >= rel", "(g or 0) >= 1"),
        ("(g or 0) >= rel", "g"),
        ("hits += 1", "hits += g"),
        ("hits += 1", "hits = 1"),
        ("hits / rank", "1 / rank"),
        ("hits / rank", "hits / (rank + 1)"),
        ("grades[:k]", "grades"),
        ("for g in pool", "for g in pool[:k]"),
        ("for g in pool", "for g in grades if g is not None"),
        ("for g in pool", "for g in pool[:len(grades)]"),
        ("total / num_relevant if num_relevant", "total / hits if hits"),
        ("total / num_relevant", "total / (k or len(grades) or 1)"),
        ("else 0", "else 1"),
    ],
    "rr": [
        ("(g or 0) >= rel", "(g or 0) > rel"),
        ("(g or 0) >= rel", "(g or 0) >= 1"),
        ("(g or 0) >= rel", "g"),
        ("(g or 0) >= rel", "g == max(x or 0 for x in grades) and g >= rel"),
        ("(g or 0) >= rel", "g == max(pool) and g >= rel"),
        ("(g or 0) >= rel", "g == rel"),
        ("grades[:k], 1", "grades, 1"),
        ("grades[:k], 1", "grades[:k], 2"),
        ("1 / rank", "1 / (rank + 1)"),
        ("1 / rank", "1 / math.log2(rank + 1)"),
        ("return 0", "return 1 / (len(grades) + 1)"),
        ("return 0", "return 0 if any(g >= rel for g in pool) else 1"),
    ],
    "recall": [
        ("g >= rel for g in pool", "g > rel for g in pool"),
        ("(g or 0) >= rel", "(g or 0) > rel"),
        ("(g or 0) >= rel", "(g or 0) >= 1"),
        ("(g or 0) >= rel", "(g or 0) > 0"),
        ("grades[:k]", "grades"),
        ("for g in pool", "for g in pool[:k]"),
        ("for g in pool", "for g in pool[:len(grades)]"),
        ("for g in pool", "for g in grades if g is not None"),
        ("hits / num_relevant", "min(hits, 1)"),
        ("else 0", "else 1"),
    ],
    "precision": [
        ("(g or 0) >= rel", "(g or 0) > rel"),
        ("(g or 0) >= rel", "(g or 0) >= 1"),
        ("(g or 0) >= rel", "(g or 0) > 0"),
        ("grades[:k]", "grades"),
        ("min(k, len(grades))", "k"),
        ("min(k, len(grades))", "min(k, sum(g >= rel for g in pool))"),
        ("min(k, len(grades))", "len(grades)"),
        ("min(k, len(grades))", "sum(g is not None for g in grades[:k])"),
        ("else 0", "else 1"),
    ],
    "err": [
        ("min(g or 0, max_grade)", "(g or 0)"),
        ("2 ** min(g or 0, max_grade) - 1", "2 ** min(g or 0, max_grade)"),
        ("- 1) / 2**max_grade", "- 1) / (2**max_grade - 1)"),
        ("(2 ** min(g or 0, max_grade) - 1) / 2**max_grade", "min(g or 0, max_grade) / max_grade"),
        ("2**max_grade", "2 ** (max(pool) or 4)"),
        ("2**max_grade", "2**4"),
        ("stops / rank", "stops"),
        ("stops / rank", "stops / math.log2(rank + 1)"),
        ("1 - stops", "stops"),
        ("reached *=", "reached ="),
        ("grades[:k]", "grades"),
    ],
    "rbp": [
        ("(g or 0) >= rel", "(g or 0) > rel"),
        ("(g or 0) >= rel", "(g or 0) >= 1"),
        ("(g or 0) >= rel", "(g or 0) > 0"),
        ("p**i for", "p**i * grades[i] for"),
        ("enumerate(hits)", "enumerate(hits, 1)"),
        ("(1 - p) *", ""),
        ("(1 - p) *", "1 / (sum(p**i for i in range(k or len(hits))) or 1) *"),
        ("p**i", "0.8**i"),
        ("grades[:k]", "grades"),
    ],
    "bpref": [
        ("g >= rel for", "g > rel for"),
        ("if g >= rel", "if g > rel"),
        ("min(num_relevant, len(pool) - num_relevant)", "num_relevant"),
        ("min(num_relevant, len(pool) - num_relevant)", "len(pool) - num_relevant"),
        ("min(above, num_relevant)", "above"),
        ("continue", "g = 0"),
        ("if above else 1", "if above else 0"),
        ("above += 1", "above = 1"),
        ("total / num_relevant if num_relevant", "total / max(1, sum(g is not None and g >= rel for g in grades)) if num_relevant"),
        ("else 0", "else 1"),
    ],
}  # fmt: skip
# Edits that change no value.
EQUIVALENT = {
    "ndcg": [
        ("math.log2", "math.log"),  # a ratio of two sums of one base
        ("dcg(grades[:k]) / ideal", "min(1, dcg(grades[:k]) / ideal)"),
        ("(g or 0)", "(g or False)"),
    ],
    # A document that left the run has no grade that counts but in a sum over the pool.
    **dict.fromkeys(("ap", "rr", "recall", "err", "rbp"), [(KEEP_POOL, "")]),
    "precision": [(KEEP_POOL, ""), ("hits / depth if depth", "hits / depth if hits")],
    "bpref": [(KEEP_RUN, "")],  # reads judged documents alone
}  # fmt: skip


def written(metric, *edits):
    """Returns the function of a metric after edits of the source."""
    source = RANKED + RIGHT[metric]
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    names = {"np": np}
    exec(source, names)
    return names[metric]


def of_lists(metric):
    """Returns the tests of lists of a metric."""
    groups = [*DATA["lists"]["groups"], *DATA["scores"]["groups"]]
    tests = (test for group in groups for test in group["tests"])
    return [test for test in tests if test["metric"] == metric]


def held(function, metric, choices="", form="documents"):
    """Holds a function to the reference but for some choices."""
    signature = "|".join(filter(None, (metric, choices, "def:1")))
    return jrm.testing.conformance(function, metric, signature, form=form)


@pytest.mark.parametrize("metric", RIGHT)
def test_mutants(metric):
    right = held(written(metric), metric, REFUSING)
    assert right.ok and right.num_tests > 15, right
    entries = [entry for test in of_lists(metric) for entry in test["values"]]
    options = {None, *(option for entry in entries for option in entry["when"])}
    edits = [(old, new) for option, old, new in OF_RANKED if option in options]
    results = {
        edit: held(written(metric, edit), metric, REFUSING)
        for edit in {*EDITS[metric], *edits, *EQUIVALENT.get(metric, ())}
    }
    assert {x for x, y in results.items() if y.ok} == {*EQUIVALENT.get(metric, ())}
    # Each mistake has a name, of a known one or of other choices.
    names = {x: {z.mistake for z in results[x].failures} for x in EDITS[metric]}
    assert [x for x, mistakes in names.items() if not any(mistakes)] == []


def test_equivalent_mutants_of_the_order():
    """Ids by code points stand in the order of their UTF-8 bytes."""
    points = [("doc.encode()", "doc"), ("doc.decode()", "doc")]
    assert held(written("rr", *points), "rr", REFUSING).ok
    utf16 = [
        ("doc.encode()", 'doc.encode("utf-16-be")'),
        ("doc.decode()", 'doc.decode("utf-16-be")'),
    ]
    [failure] = held(written("rr", *utf16), "rr", REFUSING).failures
    assert failure.test == "id-bytes/rr"


@pytest.mark.parametrize("metric", [x for x in METRICS if x != "rbo"])
def test_signatures_of_the_package(metric):
    """Both forms stand for definition 1, and the vectors know each of its choices."""
    options, text = module._options(metric), jrm.signature(metric)
    first = {option: choices[0] for option, choices in options.items()}
    for signature in (text, text.long):
        assert module._elected(signature, metric, options) == first
    if metric in RIGHT:
        text = jrm.signature(metric, ties="trec", duplicates="error")
        assert jrm.testing.conformance(
            written(metric), metric, text, form="documents"
        ).ok


@pytest.mark.parametrize("metric", RIGHT)
def test_the_definition_of_a_right_function(metric):
    """The answers tell the order of ties, and that repeated documents are refused."""
    result = jrm.testing.conformance(written(metric), metric, form="documents")
    assert result.ok, result
    assert result.differences == {"ties": "id-desc", "duplicates": "error"}


# Public wrong implementations, as small functions. Documents stand in the order of trec_eval.
def by_score(run):
    """Returns ids, best first."""
    return [
        x for x, _ in sorted(run, key=lambda x: (x[1], x[0].encode()), reverse=True)
    ]


def hits_of(qrels, ids, rel=1):
    return [qrels.get(doc, 0) >= rel for doc in ids]


def dcg_of(gains, offset=1):
    return sum(gain / math.log2(r + offset) for r, gain in enumerate(gains, 1))


def ndcg_of(gains, ideal, k=None, offset=1):
    highest = dcg_of(sorted(ideal, reverse=True)[:k], offset)
    return dcg_of(gains[:k], offset) / highest if highest else 0.0


def ndcg_over_what_was_returned(qrels, ids, k=None):
    gains = [qrels.get(doc, 0) for doc in ids[:k]]
    return ndcg_of(gains, gains)


def ndcg_of_an_uncut_ideal(qrels, ids, k=None):
    return ndcg_of([qrels.get(doc, 0) for doc in ids[:k]], qrels.values())


def ndcg_of_repeats(qrels, run, k=None):
    return ndcg_of([qrels.get(doc, 0) for doc in by_score(run)], qrels.values(), k)


def ndcg_of_ranks_from_zero(qrels, ids, k=None):
    return ndcg_of([qrels.get(doc, 0) for doc in ids], qrels.values(), k, offset=2)


def ndcg_of_negative_gains(qrels, ids, k=None):
    return ndcg_of([qrels.get(doc, 0) for doc in ids], qrels.values(), k)


def ndcg_or_nan(qrels, ids, k=None):
    return ndcg_of_negative_gains(qrels, ids, k) if ids else math.nan


def ndcg_of_a_lucky_sort(labels, scores, k=None):
    order = np.lexsort((-labels, -scores))
    return ndcg_of([*labels[order]], labels, k)


def ndcg_of_an_array_order(labels, scores, k=None):
    return ndcg_of([*labels[np.argsort(-scores, kind="stable")]], labels, k)


def dcg_of_the_input_order(qrels, run, k=None):
    return dcg_of([qrels.get(doc, 0) for doc, _ in run][:k])


def ap_of(hits, divisor):
    return sum(sum(hits[:i]) / i for i, x in enumerate(hits, 1) if x) / max(divisor, 1)


def ap_of_repeats(qrels, run, k=None):
    hits = hits_of(qrels, by_score(run))
    return ap_of(hits[:k], sum(x >= 1 for x in qrels.values()))


def ap_of_a_short_list(qrels, ids, k=None):
    hits = hits_of(qrels, ids)
    return ap_of(hits[:k], sum(hits))


def ap_of_positive_scores(labels, scores):
    order = np.argsort(-scores, kind="stable")
    hits = [*((labels >= 1) & (scores > 0))[order]]
    return ap_of(hits, sum(labels >= 1))


def recall_of_repeats(qrels, run, k=None):
    hits = hits_of(qrels, by_score(run))[:k]
    return sum(hits) / max(1, sum(x >= 1 for x in qrels.values()))


def recall_of_what_was_returned(qrels, ids, k=None):
    hits = hits_of(qrels, ids)
    return sum(hits[:k]) / max(1, sum(hits))


def precision_of_what_was_returned(qrels, ids, k=None):
    hits = hits_of(qrels, ids)[:k]
    return sum(hits) / max(1, len(hits))


def precision_of_the_fewest(qrels, ids, k):
    num_relevant = sum(x >= 1 for x in qrels.values())
    return sum(hits_of(qrels, ids)[:k]) / max(1, min(k, num_relevant))


def rr_of_the_highest_grade(labels, scores, k=None):
    labels = labels[np.argsort(-scores, kind="stable")]
    rank = 1 + int(labels.argmax())
    return 1 / rank if labels.max() > 0 and rank <= (k or math.inf) else 0.0


def rr_of_two_orders(qrels, run, k=None):
    ids = by_score(run)
    if k is not None:
        ids = [doc for doc, _ in sorted(run, key=lambda x: -x[1])][:k]
    return max((1 / r for r, x in enumerate(hits_of(qrels, ids), 1) if x), default=0.0)


def rr_of_nan_last(labels, scores):
    order = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")
    return max((1 / r for r, x in enumerate(labels[order] >= 1, 1) if x), default=0.0)


def rr_of_signed_zeros(qrels, run):
    signed = [(doc, (score, math.copysign(1, score))) for doc, score in run]
    hits = hits_of(qrels, by_score(signed))
    return max((1 / r for r, x in enumerate(hits, 1) if x), default=0.0)


def rbp_of_grades(qrels, ids, k=None, p=0.8, max_grade=1):
    return (1 - p) * sum(p**i * qrels.get(doc, 0) for i, doc in enumerate(ids[:k]))


def err_of_the_highest_grade(qrels, ids, k=None, max_grade=4):
    highest, value, reached = max(qrels.values(), default=0), 0.0, 1.0
    for rank, doc in enumerate(ids[:k], 1):
        stops = (2 ** qrels.get(doc, 0) - 1) / 2**highest
        value, reached = value + reached * stops / rank, reached * (1 - stops)
    return value


def rrs_of(qrels, run, names):
    for name in names:
        pairs = [*run.get(name, {}).items()]
        hits = hits_of(qrels.get(name, {}), by_score(pairs))
        yield max((1 / r for r, x in enumerate(hits, 1) if x), default=0.0)


def mean_over_the_run(qrels, run):
    return np.mean([*rrs_of(qrels, run, run)])


def mean_of_batches(qrels, run):
    values = [*rrs_of(qrels, run, qrels)]
    return np.mean([np.mean(values[i : i + 2]) for i in range(0, len(values), 2)])


# The form of each, the metric, the definition that its author meant, and its mistake.
WRONG = [
    (ndcg_over_what_was_returned, "ranked", "ndcg", "gain:linear", "ideal:returned"),
    (ndcg_of_an_uncut_ideal, "ranked", "ndcg", "gain:linear", "ideal:uncut"),
    (ndcg_of_repeats, "documents", "ndcg", "gain:linear|ties:id-desc|duplicates:first", "duplicates:counted"),
    (ndcg_of_ranks_from_zero, "ranked", "ndcg", "gain:linear", "discount:shifted"),
    (ndcg_of_negative_gains, "ranked", "ndcg", "gain:linear", "negative:counted"),
    (ndcg_or_nan, "ranked", "ndcg", "gain:linear|negative:zero", ""),
    (ndcg_of_a_lucky_sort, "arrays", "ndcg", "gain:linear", "ties:best"),
    (ndcg_of_an_array_order, "arrays", "ndcg", "gain:linear", "ties:"),
    (dcg_of_the_input_order, "documents", "dcg", "gain:linear|ties:id-desc", "order:input"),
    (ap_of_repeats, "documents", "ap", "ties:id-desc|duplicates:removed", "duplicates:counted"),
    (ap_of_a_short_list, "ranked", "ap", "", "denominator:"),
    (ap_of_positive_scores, "arrays", "ap", "ties:input", "scores:positive"),
    (recall_of_repeats, "documents", "recall", "ties:id-desc|duplicates:first", "duplicates:counted"),
    (recall_of_what_was_returned, "ranked", "recall", "", "denominator:returned"),
    (precision_of_what_was_returned, "ranked", "precision", "denominator:k", "denominator:retrieved"),
    (precision_of_the_fewest, "ranked", "precision", "denominator:k", "denominator:fewest"),
    (rr_of_the_highest_grade, "arrays", "rr", "ties:input|nan:last", "first:highest"),
    (rr_of_two_orders, "documents", "rr", "ties:id-desc", "ties:"),
    (rr_of_nan_last, "arrays", "rr", "ties:input", "nan:last"),
    (rr_of_signed_zeros, "documents", "rr", "ties:id-desc", "ties:"),
    (rbp_of_grades, "ranked", "rbp", "", "worth:raw"),
    (err_of_the_highest_grade, "ranked", "err", "", "max_grade:list"),
    (mean_over_the_run, "queries", "rr", "ties:id-desc", "queries:run"),
    (mean_of_batches, "queries", "rr", "ties:id-desc", "mean:batches"),
]  # fmt: skip


@pytest.mark.parametrize(
    "function, form, metric, meant, mistake",
    WRONG,
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_wrong_implementations(function, form, metric, meant, mistake):
    """Each is noticed, and by its mistake."""
    result = held(function, metric, meant, form)
    names = {x.mistake for x in result.failures}
    assert any(x.startswith(mistake) if mistake else not x for x in names), result
    assert f" as {mistake or 'no definition'}" in str(result)


def dcg_of_log10(qrels, run, k=None):
    gains = [2 ** qrels.get(doc, 0) - 1 for doc in by_score(run)]
    return sum(x / math.log10(r + 1) for r, x in enumerate(gains[:k], 1))


NAMED = [
    ("ap", ("(g or 0) >= rel", "(g or 0) > rel"), "threshold:above"),
    ("rr", ("1 / rank", "1 / (rank + 1)"), "ranks:two"),
    ("rr", ("1 / rank", "1 / (rank - 1)"), "ranks:zero"),
    ("rbp", ("enumerate(hits)", "enumerate(hits, 1)"), "ranks:two"),
    ("rbp", ("(1 - p) *", ""), "factor:missing"),
    ("rbp", ("p**i", "0.8**i"), "p:ignored"),
    ("rbp", ("(1 - p) *", "1 / (sum(p**i for i in range(k or len(hits))) or 1) *"), "factor:shares"),
    ("rbp", ("grades[:k]", "grades"), "k:ignored"),
    ("rr", ("grades[:k], 1", "grades, 1"), "k:ignored"),
    ("ndcg", ("grades[:k]", "grades"), "k:ideal"),
    ("ndcg", ("[:k]", ""), "k:ignored"),
    ("ap", ("(g or 0) >= rel", "(g or 0) >= 1"), "threshold:hits"),
    ("rr", ("(g or 0) >= rel", "g == rel"), "threshold:equal"),
    ("bpref", ("total / num_relevant if num_relevant", "total / max(1, sum(g is not None and g >= rel for g in grades)) if num_relevant"), "denominator:returned"),
    ("err", ("stops / rank", "stops / math.log2(rank + 1)"), "ranks:log2"),
    ("err", ("reached *=", "reached ="), "chances:last"),
    ("err", ("min(g or 0, max_grade)", "(g or 0)"), "beyond:counted"),
    ("err", ("- 1) / 2**max_grade", "- 1)"), "worth:unscaled"),
    ("err", ("- 1) / 2**max_grade", "- 1) / (2**max_grade - 1)"), "worth:full"),
    ("dcg", dcg_of_log10, "discount:log10"),
]  # fmt: skip


@pytest.mark.parametrize("metric, edit, mistake", NAMED)
def test_mistakes_of_a_sign_or_a_factor_are_named(metric, edit, mistake):
    function = edit if callable(edit) else written(metric, edit)
    failures = held(function, metric, REFUSING).failures
    assert mistake in {failure.mistake for failure in failures}


def derive(metric, seed):
    """Returns the answers to random choices that the derived definition leaves open."""
    options, draw = METRICS[metric]["options"], random.Random(f"{metric} {seed}")
    mine = {
        option: choices[draw.randrange(len(choices)) if draw.random() < 1 / 3 else 0]
        for option, choices in options.items()
    }
    answers = [(test, held_entry(test, mine)["value"]) for test in of_lists(metric)]
    fitting = [[x for x in test["values"] if x["value"] == y] for test, y in answers]

    def count(choices):
        return sum(
            any(module._holds(x["when"], choices) for x in entries)
            for entries in fitting
        )

    derived = module._derived(options, count)
    return [x["id"] for x, y in answers if held_entry(x, derived)["value"] != y]


@pytest.mark.parametrize("metric", METRICS)
def test_the_search(metric):
    """A definition is derived that explains all answers of random choices."""
    assert not any(derive(metric, seed) for seed in range(10))


def test_what_is_shown():
    """It shows the definition in words, open options, and mistakes with three examples."""
    result = jrm.testing.conformance(ndcg_of_a_lucky_sort, "ndcg")
    assert not result.ok and result.differences["gain"] == "linear"
    lines, num_failures = str(result).splitlines(), len(result.failures)
    counts = f"{result.num_tests - num_failures} of {result.num_tests}"
    assert lines[0] == f"ndcg: {counts} answers follow"
    source = "(published; Jarvelin and Kekalainen, TOIS 2002)"
    assert lines[1] == f"  gain:linear  the grade {source}"
    assert "Not told by the answers: " in str(result)
    assert "duplicates" in result.undecided and "gain" not in result.undecided
    shown = [x for x in lines if " and not " in x]
    assert f"  {result.failures[0]}" == shown[0]
    constant = jrm.testing.conformance(lambda qrels, run: 0.5, "rr", form="documents")
    assert "\n  …\n" in str(constant)
    assert str(constant).count(" and not ") < len(constant.failures)
    first = held(written("rr"), "rr")
    assert str(first).splitlines()[1] == "  definition 1"
    # If several choices give an answer, the message names one with the fewest changes.
    other = held(written("ndcg", ("2 ** (g or 0) - 1", "(g or 0)")), "ndcg", REFUSING)
    assert {x.mistake for x in other.failures} == {"gain:linear"}


def test_forms():
    """Each form hands over what its tests can say, in objects of their own."""
    calls = []

    def function(*arguments, k=None, rel=1):
        calls.append((*arguments, k, rel))
        return 0.0

    def arguments_of(metric, form, *unsaid):
        calls.clear()
        result = jrm.testing.conformance(function, metric, form=form)
        assert len(calls) == result.num_tests > 5
        for option in unsaid:
            choices = {*METRICS[metric]["options"][option]}
            assert {*result.undecided[option]} == choices
        return calls[:]

    arrays = arguments_of("rr", "arrays", "duplicates")
    assert all(x.dtype == y.dtype == np.float64 for x, y, *_ in arrays)
    assert any(np.isnan(y).any() for _, y, *_ in arrays)
    assert {2, 0.5} <= {rel for *_, rel in arrays} and None in {x[2] for x in arrays}
    documents = arguments_of("rr", "documents")
    assert any(len(dict(run)) < len(run) for _, run, *_ in documents)
    assert any(math.copysign(1, y) < 0 == y for _, run, *_ in documents for _, y in run)
    ranked = arguments_of("rr", "ranked", "ties", "nan", "infinite", "scores")
    assert ({"a": 1, "b": 0, "c": 0}, ["a", "b", "c"], None, 1) in ranked
    assert any(len({*ids}) < len(ids) for _, ids, *_ in ranked)
    queries = arguments_of("rr", "queries", "duplicates")
    assert any(len(run) == 3 for _, run, *_ in queries)
    assert any(qrels.keys() != run.keys() for qrels, run, *_ in queries)
    assert all(len(x) > 1 or all(x.values()) for pair in queries for x in pair[:2])
    last_of_repeats = {"a": 0.8, "b": 0.7, "c": 0.6}  # as a dict would have it
    assert not any(last_of_repeats in run.values() for _, run, *_ in queries)
    topics = arguments_of("alpha_ndcg", "documents")
    assert topics[0][0]["a"] == ["s"]
    [(first, second, *_), *_] = arguments_of("rbo", "ranked")
    assert first == second == ["a", "b", "c"]
    jrm.testing.conformance(
        lambda qrels, run: qrels.clear() or 0, "rr", form="documents"
    )
    assert held(written("rr"), "rr", REFUSING).ok
    # A function that needs k is asked of cut lists alone; what it does not name is not passed.
    cut = jrm.testing.conformance(lambda qrels, run, k: k / 10, "rr", form="documents")
    whole = jrm.testing.conformance(lambda qrels, run: 0.1, "rr", form="documents")
    assert cut.num_tests + whole.num_tests < len(documents)
