"""The data of the vectors: one feature a group, whose first tag names it.

Scores are written as they stand in the files; scores that JSON cannot say are strings. No
two values of a test may come closer than 1e-5, or `generate.py` fails.
"""

from collections.abc import Sequence
from typing import Any

Group = dict[str, Any]
GROUPS: dict[str, list[Group]] = {"lists": [], "scores": [], "means": []}


def group(
    name: str, tags: str, comment: str, tests: str, *, file: str = "lists", **data: Any
) -> None:
    """Adds a group; tests are names with parameters, separated by spaces."""
    entry = {"id": name, "tags": tags.split(", "), "comment": comment, **data}
    GROUPS[file].append(entry | {"tests": tests.split()})


def ranked(text: str, first: int = 0) -> list[list[Any]]:
    """Returns a run of the ids of a text, whose scores fall by 1 to 1 or `first`."""
    docs = text.split()
    return [[doc, len(docs) - i + first] for i, doc in enumerate(docs)]


def graded(text: str) -> dict[str, Any]:
    """Returns judgements of `id:grade` pairs."""
    pairs = (pair.rsplit(":", 1) for pair in text.split())
    return {doc: float(grade) if "." in grade else int(grade) for doc, grade in pairs}


def simple(
    name: str, tags: str, comment: str, qrels: str, run: str, tests: str
) -> None:
    """Adds a group of one list in rank order."""
    group(name, tags, comment, tests, qrels=graded(qrels), run=ranked(run))


# Tests that every reader should pass first.
simple(
    "first",
    "basic",
    "The only relevant document is first.",
    "a:1 b:0 c:0",
    "a b c",
    "ndcg dcg ap rr recall@1 precision@1 hit_rate@1 r_precision auc rbp bpref",
)
simple(
    "second",
    "basic",
    "The only relevant document is second.",
    "a:0 b:1 c:0",
    "a b c",
    "ndcg@2 ndcg@1 dcg@2 ap rr rr@1 recall@1 precision@2 hit_rate@1 auc rbp err(max_grade=1)",
)
simple(
    "third",
    "basic",
    "The only relevant document is third.",
    "a:0 b:0 c:1",
    "a b c",
    "ndcg@3 ap@3 rr rr@2 precision@3 hit_rate@2 auc rbp@3 r_precision bpref",
)
simple(
    "two-of-four",
    "basic",
    "The first and the third of four are relevant.",
    "a:1 b:0 c:1 d:0",
    "a b c d",
    "ndcg@3 ndcg dcg ap ap@2 rr recall@2 precision@3 hit_rate@2 r_precision auc bpref rbp(p=0.5)",
)
simple(
    "perfect",
    "basic",
    "The relevant documents come first.",
    "a:1 b:1 c:0 d:0 e:0",
    "a b c d e",
    "ndcg ndcg@2 ap rr recall@2 precision@2 r_precision auc bpref",
)
simple(
    "reversed",
    "basic",
    "The relevant documents come last.",
    "a:1 b:1 c:0 d:0 e:0",
    "e d c b a",
    "ndcg ndcg@5 ap rr recall@4 precision@5 r_precision auc bpref rbp",
)
simple(
    "alternating",
    "basic",
    "Every other document is relevant.",
    "a:0 b:1 c:0 d:1 e:0 f:1",
    "a b c d e f",
    "ndcg@5 ap@4 rr recall@4 precision@4 hit_rate@1 r_precision auc bpref rbp@4",
)

simple(
    "grades",
    "graded",
    "Four grades, in no good order.",
    "a:3 b:0 c:1 d:2",
    "c a b d",
    "ndcg ndcg@2 dcg@3 err err(max_grade=3)@2 rbp(max_grade=3) ap rr",
)
simple(
    "grades-falling",
    "graded",
    "An ideal order of grades.",
    "a:3 b:2 c:1 d:0",
    "a b c d",
    "ndcg ndcg@3 dcg@3 err(max_grade=3) rbp(p=0.5,max_grade=3)",
)
simple(
    "grades-rising",
    "graded",
    "The worst order of grades.",
    "a:3 b:2 c:1 d:0",
    "d c b a",
    "ndcg ndcg@3 dcg@3 err(max_grade=3) rbp(p=0.5,max_grade=3) rr",
)
simple(
    "grades-gap",
    "graded",
    "The first relevant document is not the best one.",
    "a:0 b:1 c:0 d:3",
    "a b c d",
    "rr rr@3 ndcg@3 err ap",
)
simple(
    "grades-equal",
    "graded",
    "All grades are equal and above 1.",
    "a:2 b:2 c:0 d:2",
    "a c b d",
    "ndcg ndcg@2 dcg@2 err(max_grade=2) rbp(max_grade=4) ap recall@2 precision@2 hit_rate@1",
)

group(
    "unsorted",
    "unsorted, basic",
    "The run is not in the order of its scores.",
    "ndcg ap rr recall@2 precision@2 hit_rate@1 auc rbp",
    qrels=graded("a:1 b:0 c:1 d:0"),
    run=[["b", 0.2], ["a", 0.4], ["d", 0.3], ["c", 0.1]],
)
group(
    "unsorted-grades",
    "unsorted, graded",
    "Grades in a run that rises.",
    "ndcg@3 dcg@3 err rbp(max_grade=2) bpref r_precision",
    qrels=graded("a:2 b:1 c:0 d:1"),
    run=[["c", 1], ["a", 2], ["b", 3], ["d", 4]],
)

simple(
    "rank-two",
    "discount",
    "Rank 2 weighs as rank 1, or less.",
    "a:0 b:1",
    "a b",
    "ndcg dcg",
)
simple(
    "deep",
    "discount",
    "One relevant document at rank 9.",
    "i:1 a:0",
    "a b c d e f g h i",
    "ndcg dcg ndcg@10 rr rbp(p=0.95) ap",
)
simple(
    "ranks-three-seven",
    "discount",
    "Discounts that are fractions: ranks 3 and 7.",
    "c:1 g:1 a:0",
    "a b c d e f g",
    "ndcg dcg ap rbp(p=0.5)",
)

simple(
    "one-missing",
    "pool",
    "One of three relevant documents was not returned.",
    "a:1 b:1 z:1",
    "a x b",
    "ndcg ndcg@2 ap ap@3 recall recall@2 r_precision bpref rr rbp",
)
simple(
    "best-missing",
    "pool, graded",
    "The best document was not returned.",
    "a:1 b:0 z:3",
    "a b",
    "ndcg@2 ndcg ap recall err(max_grade=3) rbp(max_grade=3) auc",
)
simple(
    "all-missing",
    "pool",
    "Nothing relevant was returned.",
    "y:1 z:1 a:0",
    "a b",
    "ndcg@2 ap rr recall precision@2 hit_rate@2 r_precision bpref rbp dcg",
)
simple(
    "nonrelevant-missing",
    "pool",
    "A judged document that is not relevant is missing.",
    "a:0 b:1 z:0",
    "a b",
    "auc bpref ap ndcg",
)
simple(
    "both-missing",
    "pool",
    "Relevant and other documents are missing.",
    "a:0 b:1 y:1 z:0",
    "b a",
    "auc bpref r_precision ap recall",
)

simple(
    "cut",
    "cutoff",
    "Cutoffs before, at and after relevant documents.",
    "b:1 d:1 f:1 a:0",
    "a b c d e f",
    "ndcg@1 ndcg@5 ap@1 ap@2 ap@4 rr@1 rr@2 recall@3 recall@4 precision@1 precision@4 hit_rate@1 hit_rate@2",
)
simple(
    "cut-grades",
    "cutoff, graded",
    "The ideal order is cut at k, too.",
    "a:1 b:2 c:3 d:0 e:1",
    "a d b c e",
    "ndcg@1 ndcg@3 ndcg@5 dcg@2 err@2 rbp(max_grade=3)@3",
)

simple(
    "many-relevant",
    "denominator",
    "More relevant documents than ranks.",
    "a:1 b:1 c:1 d:1 e:0",
    "a e b c d",
    "ap@2 ap@3 recall@2 recall@3 precision@2 r_precision ndcg@2",
)
simple(
    "few-relevant",
    "denominator",
    "Fewer relevant documents than ranks.",
    "a:1 b:0 c:0 d:0",
    "b a c d",
    "ap@3 recall@3 precision@3 r_precision",
)
simple(
    "one-hit",
    "denominator",
    "One hit of four relevant documents.",
    "a:1 w:1 y:1 z:1",
    "a b c",
    "ap@1 ap@3 recall@1 recall@3 precision@3 r_precision",
)
simple(
    "denominator-half",
    "denominator",
    "Half of the relevant documents, late.",
    "c:1 d:1 y:1 z:1 a:0",
    "a b c d e",
    "ap ap@4 recall@4 precision@4 bpref",
)

simple(
    "beyond",
    "k>n",
    "The cutoff is beyond the list.",
    "a:1 b:0 c:1",
    "b a c",
    "ndcg@5 ap@5 rr@5 recall@5 precision@5 hit_rate@5 rbp@5",
)
simple(
    "beyond-grades",
    "k>n, graded",
    "The cutoff is beyond the list and the pool.",
    "a:2 b:1 c:0",
    "c b a",
    "ndcg@10 dcg@10 err@10 rbp(max_grade=2)@10",
)
group(
    "short-list",
    "short list, pool, k>n",
    "One document of two relevant ones.",
    "ndcg@5 ndcg@1 ap@5 recall@5 precision@5 rr@5 hit_rate@5 r_precision bpref",
    qrels={"1": 1, "2": 1},
    run=[["1", 0.25]],
)
simple(
    "short-list-late",
    "short list, pool, k>n",
    "Two of four relevant ones.",
    "a:1 b:1 y:1 z:1",
    "x a b",
    "ndcg@5 ap@5 recall@5 precision@5 r_precision rbp@5",
)
simple(
    "short-list-miss",
    "short list, pool",
    "One document that is not relevant.",
    "a:1 b:0",
    "b",
    "ndcg@3 ap@3 precision@3 auc bpref",
)

simple(
    "unjudged-first",
    "unjudged",
    "The first document was not judged.",
    "a:1 b:0",
    "x a b",
    "ndcg dcg ap rr recall@1 precision@2 hit_rate@1 r_precision bpref auc rbp",
)
simple(
    "unjudged-between",
    "unjudged, graded",
    "Unjudged documents between judged ones.",
    "a:2 b:1 c:0",
    "a x c y b",
    "ndcg ap@4 precision@4 err rbp(max_grade=2) bpref auc",
)
simple(
    "unjudged-all",
    "unjudged",
    "No returned document was judged.",
    "a:1 b:0",
    "x y",
    "ndcg ap rr precision@2 hit_rate bpref",
)
simple(
    "unjudged-many",
    "unjudged",
    "Unjudged documents above a judged one that is not relevant.",
    "b:0 c:1 d:1 e:0",
    "x y b c z d e",
    "bpref ap rr precision@5 recall@4 r_precision auc",
)

REPEATED = "ndcg@3 dcg@3 ap@3 recall@2 precision@3 rr hit_rate r_precision rbp@3"
group(
    "repeated",
    "duplicates",
    "A relevant document is returned twice.",
    REPEATED,
    qrels=graded("a:1 b:1 c:0"),
    run=[["a", 0.9], ["a", 0.8], ["b", 0.7], ["c", 0.6]],
)
group(
    "repeated-other",
    "duplicates",
    "A document that is not relevant is returned twice.",
    "ndcg@3 ap rr recall@2 precision@3 hit_rate@2",
    qrels=graded("a:0 b:1 c:1"),
    run=[["a", 0.9], ["a", 0.8], ["b", 0.7], ["c", 0.6]],
)
group(
    "repeated-later",
    "duplicates",
    "The same document, with a lower score in the end.",
    "ndcg ap rr recall@1 precision@2",
    qrels=graded("a:1 b:0 c:0"),
    run=[["a", 0.9], ["b", 0.7], ["c", 0.5], ["a", 0.6]],
)
group(
    "repeated-thrice",
    "duplicates",
    "One document thrice.",
    "ndcg@3 dcg ap recall precision@3 rr",
    qrels=graded("a:1 b:1"),
    run=[["a", 3], ["a", 2.5], ["a", 2], ["b", 1]],
)
group(
    "repeated-grades",
    "duplicates, graded",
    "The best document twice.",
    "ndcg@3 err rbp(max_grade=3)",
    qrels=graded("a:3 b:1 c:2"),
    run=[["b", 4], ["a", 3], ["a", 2], ["c", 1]],
)
group(
    "repeated-rising",
    "duplicates",
    "The same document, with a higher score in the end.",
    "ndcg dcg ap rr recall@1 precision@1 hit_rate@1 r_precision rbp",
    qrels=graded("a:1 b:0 c:1"),
    run=[["a", 0.4], ["b", 0.7], ["c", 0.5], ["a", 0.9]],
)
group(
    "repeated-falling",
    "duplicates",
    "The same document, with the lowest score in the end.",
    "dcg ap@4 hit_rate@1 precision@1 r_precision rbp err auc bpref",
    qrels=graded("a:1 b:0 c:0 d:1"),
    run=[["a", 0.9], ["b", 0.7], ["c", 0.5], ["d", 0.2], ["a", 0.1]],
)
group(
    "repeated-apart",
    "duplicates",
    "One document thrice, the second time with the highest score.",
    "ap rr recall@2",
    qrels=graded("a:1 b:0 c:1"),
    run=[["a", 0.6], ["b", 0.5], ["a", 0.9], ["c", 0.7], ["a", 0.3]],
)

group(
    "leading-zeros",
    "ids",
    "The ids 1 and 01 are two documents.",
    "ndcg ap rr recall@1 recall precision@1 hit_rate@1 r_precision auc",
    qrels={"1": 1, "01": 0},
    run=[["01", 2], ["1", 1]],
)
group(
    "id-order",
    "ids, ties",
    "Ids are strings: 10 comes before 9.",
    "ap rr ndcg hit_rate@1",
    qrels={"10": 1, "9": 0},
    run=[["9", 1], ["10", 1]],
)
group(
    "id-case",
    "ids, ties",
    "Capital letters come first.",
    "rr recall@1",
    qrels={"B": 1, "a": 0},
    run=[["a", 1], ["B", 1]],
)
group(
    "id-bytes",
    "ids, ties",
    "By UTF-8 bytes U+FFFD comes before U+1F600; by UTF-16, after.",
    "rr precision@1",
    qrels={"\ufffd": 1, "\U0001f600": 0},
    run=[["\ufffd", 1], ["\U0001f600", 1]],
)
group(
    "id-spaces",
    "ids",
    "Ids with punctuation.",
    "rr recall@1",
    qrels={"#a": 1, "a-b_c": 0, "q:1": 0},
    run=[["a-b_c", 3], ["#a", 2], ["q:1", 1]],
)
group(
    "id-case-alike",
    "ids",
    "Three ids that differ by case.",
    "ap rr recall@1 precision@2 auc",
    qrels={"Doc": 1, "doc": 0, "DOC": 0},
    run=[["doc", 3], ["DOC", 2], ["Doc", 1]],
)
group(
    "id-normal-forms",
    "ids",
    "A letter with an accent, as one character and as two: NFC and NFD.",
    "ap rr recall@1 auc",
    qrels={"caf\u00e9": 1, "cafe\u0301": 0},
    run=[["cafe\u0301", 2], ["caf\u00e9", 1]],
)
group(
    "id-compatibility",
    "ids",
    "A ligature and its two letters, which NFKC makes one.",
    "ap rr recall@1 auc",
    qrels={"\ufb01": 1, "fi": 0},
    run=[["fi", 2], ["\ufb01", 1]],
)
group(
    "id-blanks",
    "ids",
    "Ids with colons, slashes and blanks.",
    "ndcg ap rr recall@2 precision@3 auc",
    qrels={"a:b": 0, "a/b": 1, "a b": 0, "ab": 0, " ab": 0, "ab ": 1},
    run=[["ab", 6], [" ab", 5], ["ab ", 4], ["a:b", 3], ["a b", 2], ["a/b", 1]],
)

group(
    "tied-pair",
    "ties",
    "A relevant document ties with another.",
    "ndcg@1 ndcg dcg ap ap@1 rr recall@1 precision@1 hit_rate@1 auc bpref r_precision rbp",
    qrels=graded("a:1 b:0"),
    run=[["a", 0.5], ["b", 0.5]],
)
group(
    "tied-other",
    "ties",
    "Ties that no value depends on.",
    "ndcg ap rr recall@1",
    qrels=graded("a:1 b:0 c:0"),
    run=[["a", 2], ["b", 1], ["c", 1]],
)
group(
    "tied-three",
    "ties",
    "Two of three tied documents are relevant.",
    "ndcg@2 ap ap@2 rr recall@2 precision@2 hit_rate@1 r_precision auc bpref",
    qrels=graded("a:1 b:0 c:1"),
    run=[["b", 1], ["a", 1], ["c", 1]],
)
group(
    "tied-cut",
    "ties, cutoff",
    "The cutoff lies within a tie.",
    "ndcg@3 ap@3 rr@3 recall@3 precision@3 hit_rate@3 rbp@3",
    qrels=graded("d:1 e:1 a:0 b:0"),
    run=[["a", 3], ["b", 3], ["d", 2], ["c", 2], ["e", 2], ["f", 1]],
)
group(
    "tied-grades",
    "ties, graded",
    "Grades that tie.",
    "ndcg@2 err(max_grade=3) err(max_grade=3)@2 rbp(max_grade=3) rr",
    qrels=graded("a:3 b:1 c:0 d:2"),
    run=[["b", 2], ["c", 2], ["a", 2], ["d", 1]],
)
group(
    "tied-groups",
    "ties",
    "Two groups of ties.",
    "ap rr auc bpref r_precision ndcg",
    qrels=graded("a:0 b:1 c:1 d:0 e:0"),
    run=[["a", 2], ["b", 2], ["d", 1], ["c", 1], ["e", 1]],
)
group(
    "tied-unjudged",
    "ties, unjudged",
    "An unjudged document ties with judged ones.",
    "ap rr bpref recall@1 precision@2",
    qrels=graded("a:1 b:0"),
    run=[["x", 1], ["b", 1], ["a", 1]],
)
group(
    "tied-unreturned",
    "ties, pool",
    "Ties, and a relevant document that is missing.",
    "ap ndcg@2 recall@2 auc bpref",
    qrels=graded("a:1 b:0 c:0 z:1"),
    run=[["c", 1], ["b", 1], ["a", 1]],
)

group(
    "constant",
    "constant",
    "All scores are equal; one of four is relevant.",
    "ndcg ndcg@1 ap rr rr@2 recall@2 precision@2 hit_rate@2 auc r_precision rbp bpref",
    qrels=graded("a:0 b:0 c:1 d:0"),
    run=[["a", 0], ["b", 0], ["c", 0], ["d", 0]],
)
group(
    "constant-eight",
    "constant",
    "All scores are equal; three of eight are relevant.",
    "ndcg@5 ap rr recall@3 precision@5 hit_rate@3 auc r_precision bpref",
    qrels=graded("a:0 b:1 c:0 d:0 e:1 f:0 g:0 h:1"),
    run=[[x, 1] for x in "bacdefgh"],
)
group(
    "constant-grades",
    "constant, graded",
    "All scores and no grades are equal.",
    "dcg@2 err@3 rbp(max_grade=3)",
    qrels=graded("a:1 b:3 c:0 d:2"),
    run=[["a", 0.5], ["b", 0.5], ["c", 0.5], ["d", 0.5]],
)

CLOSE = "ndcg ap rr recall@1 precision@1 hit_rate@1 auc"
group(
    "near",
    "close scores",
    "Scores 6e-8 apart, which float32 tells apart.",
    CLOSE,
    qrels=graded("a:1 b:0"),
    run=[["b", 0.5], ["a", 0.50000006]],
)
group(
    "nearer",
    "close scores",
    "Scores 3e-8 apart, which tie in float32.",
    CLOSE,
    qrels=graded("a:1 b:0"),
    run=[["b", 1], ["a", 1.00000003]],
)
group(
    "nearer-second",
    "close scores",
    "The same scores, of which the second is relevant.",
    "bpref err r_precision rbp dcg@1",
    qrels=graded("a:0 b:1 c:0"),
    run=[["b", 1], ["c", 0.5], ["a", 1.00000003]],
)
group(
    "nearest",
    "close scores",
    "Neighbours in float64.",
    "ap rr auc",
    qrels=graded("a:1 b:0 c:0"),
    run=[["b", 0.1], ["a", 0.10000000000000002], ["c", 0.05]],
)
group(
    "counts",
    "close scores",
    "Integers above 2^24.",
    "ap rr ndcg@1",
    qrels=graded("a:1 b:0"),
    run=[["b", 16777216], ["a", 16777217]],
)
group(
    "times",
    "close scores",
    "Seconds since 1970.",
    "rr ap precision@1",
    qrels=graded("a:1 b:0 c:0"),
    run=[["c", 1700000001], ["b", 1700000002], ["a", 1700000003]],
)

group(
    "negative-scores",
    "scores",
    "All scores are below 0.",
    "ndcg dcg ap rr recall@2 precision@2 hit_rate@2 auc r_precision bpref",
    qrels=graded("a:1 b:0 c:1"),
    run=[["b", -0.5], ["a", -1.5], ["c", -2.5]],
)
group(
    "scores-around-zero",
    "scores",
    "Relevant documents below, at and above 0.",
    "ndcg ap rr recall precision@3",
    qrels=graded("a:1 b:1 c:1 d:0"),
    run=[["d", 0.5], ["a", 0.25], ["b", 0], ["c", -1]],
)
group(
    "tiny-scores",
    "scores",
    "Scores that are subnormal in float32.",
    "rr ap ndcg auc",
    qrels=graded("a:1 b:0 c:0"),
    run=[["b", 3e-40], ["a", 4e-40], ["c", 5e-40]],
)
group(
    "huge-scores",
    "scores",
    "Scores near the largest of float32.",
    "rr ap ndcg",
    qrels=graded("a:1 b:0 c:0"),
    run=[["b", 3e38], ["a", 2e38], ["c", -3e38]],
)

NOTHING = (
    "ndcg@2 ap rr recall@2 precision@2 hit_rate@2 r_precision bpref auc rbp err dcg"
)
simple(
    "nothing-relevant", "undefined", "Every judgement is 0.", "a:0 b:0", "a b", NOTHING
)
simple(
    "nothing-relevant-missing",
    "undefined, pool",
    "Nothing is relevant, and one is missing.",
    "a:0 z:0",
    "a x",
    "ndcg ap recall precision@3 auc",
)
group(
    "nothing-judged",
    "nothing judged, undefined",
    "There are no judgements.",
    "ndcg ap rr recall@2 precision@2 hit_rate bpref auc",
    qrels={},
    run=ranked("a b"),
)
group(
    "nothing-returned",
    "empty list",
    "The run is empty.",
    "ndcg@3 dcg ap rr recall@3 precision@3 hit_rate@3 r_precision bpref auc rbp err",
    qrels=graded("a:1 b:0"),
    run=[],
)
group(
    "nothing-at-all",
    "empty list, undefined",
    "No judgements and an empty run.",
    "ndcg ap rr recall precision auc",
    qrels={},
    run=[],
)
simple(
    "all-relevant",
    "undefined",
    "Every document is relevant.",
    "a:1 b:1 c:1",
    "a b c",
    "auc bpref ap ndcg r_precision",
)

simple(
    "negative-first",
    "negative grades",
    "The first document has the grade -1.",
    "a:-1 b:1 c:0",
    "a b c",
    "ndcg dcg ap rr recall@1 precision@2 hit_rate@1 bpref auc rbp r_precision",
)
simple(
    "negative-between",
    "negative grades, graded",
    "The grade -2 between others.",
    "a:2 b:-2 c:1 d:0",
    "d a b c",
    "ndcg@3 ap precision@3 err r_precision bpref",
)
simple(
    "negative-missing",
    "negative grades, pool",
    "The grade -1 was not returned.",
    "a:1 b:0 z:-1",
    "b a",
    "ndcg ap bpref auc",
)
simple(
    "negative-alone",
    "negative grades, undefined",
    "Every grade is -1.",
    "a:-1 b:-1",
    "a b",
    "ndcg ap rr bpref",
)

simple(
    "threshold-two",
    "threshold",
    "Relevant from the grade 2 on.",
    "a:1 b:2 c:0 d:3",
    "a b c d",
    "ap(rel=2) rr(rel=2) recall(rel=2)@2 precision(rel=2)@3 hit_rate(rel=2)@1 auc(rel=2) r_precision(rel=2) bpref(rel=2) rbp(rel=2) ap rr",
)
simple(
    "threshold-late",
    "threshold",
    "Relevant from the grade 2 on, late.",
    "a:1 b:1 c:2",
    "a b c",
    "ap(rel=2) rr(rel=2) rr(rel=2)@2 precision(rel=2)@3",
)
simple(
    "threshold-none",
    "threshold, undefined",
    "No grade reaches 2.",
    "a:1 b:0",
    "a b",
    "ap(rel=2) rr(rel=2) recall(rel=2)@1 precision(rel=2)@1 hit_rate(rel=2)",
)
simple(
    "half",
    "fractional grades",
    "A grade of a half comes first.",
    "a:0.5 b:1 c:0",
    "a b c",
    "ndcg dcg@1 ap rr recall@1 precision@2 hit_rate@1 auc r_precision bpref rbp err",
)
simple(
    "halves",
    "fractional grades, threshold",
    "Relevant from a half on.",
    "a:0.25 b:0.5 c:0 d:1",
    "a b c d",
    "ap(rel=0.5) rr(rel=0.5) recall(rel=0.5)@2 precision(rel=0.5)@2 hit_rate(rel=0.5)@1 bpref(rel=0.5)",
)
simple(
    "halves-alone",
    "fractional grades, undefined",
    "No grade reaches 1.",
    "a:0.5 b:0 c:0.25",
    "b a c",
    "ndcg@2 ap rr precision@2 rbp(max_grade=1)",
)
simple(
    "and-a-half",
    "fractional grades, graded",
    "Grades between integers.",
    "a:1.5 b:2.5 c:0.5",
    "a c b",
    "ndcg dcg err(max_grade=3) rbp(max_grade=3) ap",
)

simple(
    "grades-ten",
    "large grades, graded",
    "Grades up to 10.",
    "a:4 b:10 c:7 d:0",
    "a c d b",
    "ndcg ndcg@2 err(max_grade=10) rbp(max_grade=10)",
)
simple(
    "grades-thirty-one",
    "large grades, graded",
    "Gains near 2^31.",
    "a:30 b:31 c:28",
    "c a b",
    "ndcg@2 ndcg dcg@1",
)
simple(
    "grades-130",
    "large grades, graded",
    "Gains beyond float32.",
    "a:130 b:129 c:0",
    "c b a",
    "ndcg ndcg@2",
)
simple(
    "grades-five",
    "large grades, graded",
    "Grades above the largest that is meant.",
    "a:5 b:4 c:1",
    "c a b",
    "err err(max_grade=5) err@2 rbp(max_grade=4) rbp(max_grade=5)",
)

simple(
    "err-sure",
    "cascade, graded",
    "Users who stop late.",
    "a:1 b:4 c:2 d:4",
    "a c b d",
    "err err@2 err(max_grade=5) ndcg@3",
)
simple(
    "err-steps",
    "cascade, graded",
    "The same grade again and again.",
    "a:2 b:2 c:2 d:2 e:0",
    "e a b c d",
    "err err(max_grade=2) err@3",
)
simple(
    "patience",
    "persistence",
    "Patient and impatient users.",
    "b:1 c:1 f:1 a:0",
    "a b c d e f",
    "rbp rbp(p=0.5) rbp(p=0.95) rbp(p=0.8)@3 rbp(p=0.5)@2",
)

simple(
    "preferences",
    "preferences",
    "Judged documents in turns.",
    "a:0 b:1 c:0 d:1 e:0 f:1",
    "b a d c e f",
    "bpref auc ap",
)
simple(
    "preferences-capped",
    "preferences",
    "More documents above than are relevant.",
    "a:0 b:0 c:0 d:1 e:1 f:0",
    "a b d c e f",
    "bpref auc r_precision",
)
simple(
    "preferences-few",
    "preferences",
    "Fewer other documents than relevant ones.",
    "a:0 b:1 c:1 d:1 e:0",
    "b a c e d",
    "bpref auc r_precision",
)
simple(
    "preferences-none",
    "preferences",
    "Nothing that was judged is other than relevant.",
    "a:1 b:1",
    "x a y b",
    "bpref auc",
)

LETTERS = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(60)]
group(
    "long",
    "long",
    "Sixty documents, every seventh of which is relevant.",
    "ndcg ndcg@10 dcg@10 ap ap@20 rr recall@30 recall@100 precision@10 precision@100 r_precision auc bpref rbp(p=0.95) hit_rate@3",
    qrels={x: int(i % 7 == 3) for i, x in enumerate(LETTERS)},
    run=ranked(" ".join(LETTERS)),
)
group(
    "long-grades",
    "long, graded",
    "Forty documents of the grades 0 to 3, three pairs of which tie.",
    "ndcg rr",
    qrels={x: i * (i + 3) // 2 % 4 for i, x in enumerate(LETTERS[:40])},
    run=[[x, 40 - i + (i % 13 == 5)] for i, x in enumerate(LETTERS[:40])],
)


def tied(
    size: int, step: int, levels: tuple[int, ...], hits: int
) -> tuple[dict[str, int], list[list[Any]]]:
    """Returns grades and a run of documents with shuffled ids; most documents tie.

    Args:
        size: The number of documents, one less than a prime.
        step: The distance of the ids of neighbours.
        levels: The places from which on the score is one higher; beyond the last, no two
            scores are equal.
        hits: One in `hits` documents is relevant, with a grade from 1 to 3.
    """
    qrels, run = {}, []
    for i in range(1, size + 1):
        doc, place = str(i * step % (size + 1)), i * i * step % (size + 1)
        level = sum(place >= x for x in levels)
        run.append([doc, place if level == len(levels) else level])
        qrels[doc] = i // hits % 3 + 1 if i * 5 % hits == 2 else 0
    return qrels, run


QRELS, RUN = tied(60, 5, (32, 46, 56), 7)
group(
    "tied-sixty",
    "long, ties",
    "Sixty documents, most of which tie.",
    "ndcg@10 dcg ap rr recall@20 precision@10 hit_rate@2 r_precision auc bpref rbp(p=0.95) err(max_grade=1)@20",
    qrels={doc: int(grade > 0) for doc, grade in QRELS.items()},
    run=RUN,
)
group(
    "tied-sixty-grades",
    "long, ties, graded",
    "The same with grades.",
    "ndcg rbp(p=0.9,max_grade=3)",
    qrels=QRELS,
    run=RUN,
)
QRELS, RUN = tied(250, 90, (120, 190, 230), 16)
group(
    "tied-many",
    "long, ties",
    "Two hundred and fifty documents, most of which tie.",
    "ndcg ap rr recall@100 precision@50 r_precision auc bpref",
    qrels={doc: int(grade > 0) for doc, grade in QRELS.items()},
    run=RUN,
)


def deep(size: int, prime: int, ranks: Sequence[int]) -> dict[str, Any]:
    """Returns a long list with shuffled ids; few ranks are relevant."""
    docs = [str(i * 31 % prime) for i in range(1, size + 1)]
    qrels = {doc: int(i in ranks) for i, doc in enumerate(docs, 1)}
    return {"qrels": qrels, "run": ranked(" ".join(docs))}


group(
    "deep-150",
    "long, deep",
    "Nothing up to rank 100 is relevant.",
    "ndcg dcg ap rr recall recall@130 precision@130 hit_rate@130 auc bpref rbp(p=0.98) err",
    **deep(150, 151, (104, 121, 149)),
)
group(
    "deep-1100",
    "long, deep",
    "Nothing up to rank 1000 is relevant.",
    "ndcg ap rr recall@1050 precision@1050 hit_rate@1050 auc bpref rbp(p=0.999)",
    **deep(1100, 1103, range(1003, 1100, 3)),
)

# Subtopics.
ALPHA = "alpha_ndcg@3 alpha_ndcg alpha_ndcg(alpha=0.25)@2"


def topics(text: str) -> dict[str, list[str]]:
    """Returns subtopics of `id:letters` pairs."""
    return {
        doc: [*letters] for doc, _, letters in (x.partition(":") for x in text.split())
    }


group(
    "topics",
    "subtopics",
    "Two documents of one subtopic, one of another.",
    ALPHA,
    subtopics=topics("a:s b:s c:t"),
    run=ranked("a b c"),
)
group(
    "topics-both",
    "subtopics",
    "One document has both subtopics.",
    ALPHA,
    subtopics=topics("a:s b:st c:t d:"),
    run=ranked("a d b c"),
)
group(
    "topics-missing",
    "subtopics, pool",
    "A subtopic was not returned.",
    ALPHA,
    subtopics=topics("a:s b:s z:tu"),
    run=ranked("a x b"),
)
group(
    "topics-tied",
    "subtopics, ties",
    "Documents of several subtopics tie.",
    "alpha_ndcg@2 alpha_ndcg",
    subtopics=topics("a:s b:st c:t d:s"),
    run=[["a", 1], ["b", 1], ["c", 1], ["d", 0.5]],
)
group(
    "topics-greedy",
    "subtopics",
    "The greedy order is not the best one.",
    "alpha_ndcg@2 alpha_ndcg(alpha=1)@2",
    subtopics=topics("a:stuv b:stw c:uvx"),
    run=ranked("b a c"),
)
group(
    "topics-none",
    "subtopics, undefined",
    "No document has a subtopic.",
    "alpha_ndcg",
    subtopics=topics("a: b:"),
    run=ranked("a b"),
)
group(
    "topics-repeated",
    "subtopics, duplicates",
    "A document twice.",
    "alpha_ndcg@3",
    subtopics=topics("a:s b:t c:su"),
    run=[["a", 4], ["a", 3], ["b", 2], ["c", 1]],
)
group(
    "topics-unjudged",
    "subtopics, unjudged",
    "The first document was not judged.",
    "alpha_ndcg@2",
    subtopics=topics("a:st b:u c:s"),
    run=ranked("x c a b"),
)
group(
    "topics-shuffled",
    "subtopics, ties",
    "Tied documents in no order of their ids.",
    "alpha_ndcg@2",
    subtopics=topics("a:s b:stu c:t d:tv"),
    run=[["c", 1], ["a", 1], ["d", 1], ["b", 1]],
)
group(
    "topics-repeated-later",
    "subtopics, duplicates",
    "A document twice, with the lowest score in the end.",
    "alpha_ndcg@2",
    subtopics=topics("a:st b:s c:u"),
    run=[["a", 4], ["b", 3], ["c", 2], ["a", 1]],
)
group(
    "topics-close",
    "subtopics, close scores",
    "Scores that tie in float32.",
    "alpha_ndcg@1",
    subtopics=topics("a:st b:u"),
    run=[["b", 1], ["a", 1.00000003]],
)

# Two rankings.
RBO = "rbo rbo(p=0.5)"
group(
    "overlap-same",
    "overlap",
    "Two equal rankings.",
    RBO,
    run=ranked("a b c"),
    other=ranked("a b c"),
)
group(
    "overlap-swapped",
    "overlap",
    "The last two are swapped.",
    RBO,
    run=ranked("a b c"),
    other=ranked("a c b"),
)
group(
    "overlap-reversed",
    "overlap",
    "One is the other reversed.",
    RBO + " rbo(p=0.98)",
    run=ranked("a b c d e"),
    other=ranked("e d c b a"),
)
group(
    "overlap-none",
    "overlap",
    "Nothing in common.",
    RBO,
    run=ranked("a b"),
    other=ranked("c d"),
)
group(
    "overlap-uneven",
    "overlap, short list",
    "One ranking is shorter.",
    RBO,
    run=ranked("a b"),
    other=ranked("b c a d"),
)
group(
    "overlap-uneven-deep",
    "overlap, short list",
    "A short one, a long one.",
    RBO,
    run=ranked("d a"),
    other=ranked("a b c d e f"),
)
group(
    "overlap-tied",
    "overlap, ties",
    "A tie in one of two rankings.",
    RBO,
    run=[["a", 2], ["b", 1], ["c", 1]],
    other=ranked("a c b"),
)
group(
    "overlap-tied-both",
    "overlap, ties",
    "Ties in both rankings.",
    RBO,
    run=[["a", 2], ["b", 2], ["c", 1]],
    other=[["c", 2], ["a", 1], ["b", 1]],
)
group(
    "overlap-empty",
    "overlap, empty list",
    "One ranking is empty.",
    "rbo",
    run=ranked("a b"),
    other=[],
)
group(
    "overlap-repeated",
    "overlap, duplicates",
    "An id twice in one ranking.",
    RBO,
    run=[["a", 4], ["b", 3], ["a", 2], ["c", 1]],
    other=ranked("c a b"),
)

group(
    "overlap-shuffled",
    "overlap, ties",
    "Tied documents in no order of their ids.",
    "rbo",
    run=[["b", 1], ["d", 1], ["a", 1], ["c", 1]],
    other=ranked("c a b d"),
)
group(
    "overlap-tied-lists",
    "overlap, ties",
    "All of one ranking ties, and half of the other.",
    "rbo",
    run=[["c", 1], ["a", 1], ["d", 1], ["b", 1]],
    other=[["b", 2], ["e", 2], ["a", 1], ["d", 0]],
)
group(
    "overlap-tied-end",
    "overlap, ties",
    "The last documents of both tie.",
    "rbo",
    run=[["a", 3], ["b", 2], ["d", 1], ["c", 1]],
    other=[["b", 3], ["e", 1], ["a", 1], ["c", 1]],
)
group(
    "overlap-close",
    "overlap, close scores",
    "Scores that tie in float32.",
    "rbo",
    run=[["b", 1], ["a", 1.00000003], ["c", 0.5]],
    other=ranked("a c b"),
)


# Scores that JSON cannot say.
def special(
    name: str, tags: str, comment: str, tests: str, qrels: str, run: Any
) -> None:
    """Adds a group whose scores may be strings."""
    group(name, tags, comment, tests, file="scores", qrels=graded(qrels), run=run)


SPECIAL = "ndcg ap rr recall@1 precision@2 hit_rate@1"
special(
    "nan-relevant",
    "NaN",
    "The relevant document has the score NaN.",
    SPECIAL + " auc bpref",
    "a:1 b:0 c:0",
    [["b", 2], ["a", "NaN"], ["c", 1]],
)
special(
    "nan-other",
    "NaN",
    "Another document has the score NaN.",
    SPECIAL,
    "a:1 b:0 c:0",
    [["b", "NaN"], ["a", 2], ["c", 1]],
)
special(
    "nan-all",
    "NaN, ties",
    "Every score is NaN.",
    "ndcg ap rr recall@1",
    "a:0 b:1 c:0",
    [["a", "NaN"], ["b", "NaN"], ["c", "NaN"]],
)
special(
    "nan-removed",
    "NaN, negative grades",
    "A document that may leave has the score NaN.",
    "rr ap",
    "a:-1 b:1 c:0",
    [["a", "NaN"], ["c", 2], ["b", 1]],
)
special(
    "nan-grades",
    "NaN, graded",
    "A graded document has the score NaN.",
    "ndcg err rbp(max_grade=2)",
    "a:2 b:1 c:0",
    [["b", 1], ["a", "NaN"], ["c", 2]],
)
special(
    "nan-first-id",
    "NaN",
    "The first id has the score NaN.",
    "dcg ap r_precision",
    "a:1 b:0 c:1 d:0 e:0",
    [["c", 3], ["e", 4], ["a", "NaN"], ["d", 2], ["b", 1]],
)
special(
    "nan-middle-id",
    "NaN",
    "An id in the middle has the score NaN.",
    "ap rr recall@3 auc",
    "a:0 b:0 c:1 d:0 e:1",
    [["e", 3], ["b", 4], ["c", "NaN"], ["d", 2], ["a", 1]],
)
special(
    "nan-last-id",
    "NaN",
    "The last id has the score NaN.",
    "ndcg ap rr precision@2 hit_rate@1",
    "a:0 b:1 c:0 d:0 e:1",
    [["b", 3], ["a", 4], ["e", "NaN"], ["d", 2], ["c", 1]],
)
special(
    "nan-three-ids",
    "NaN, ties",
    "The first, a middle and the last id have the score NaN.",
    "rr recall@2 r_precision",
    "a:0 b:1 c:1 d:0 e:0",
    [["c", "NaN"], ["d", 2], ["a", "NaN"], ["b", 1], ["e", "NaN"]],
)
special(
    "minus-infinity",
    "infinite scores",
    "Two of three scores are -inf.",
    SPECIAL + " auc r_precision",
    "a:1 b:0 c:0",
    [["a", 0.5], ["b", "-Infinity"], ["c", "-Infinity"]],
)
special(
    "minus-infinity-relevant",
    "infinite scores, pool",
    "A relevant one has -inf.",
    "ndcg ap rr precision@3 auc bpref",
    "a:1 b:0 c:1",
    [["b", 1], ["a", 0], ["c", "-Infinity"]],
)
special(
    "minus-infinity-alone",
    "infinite scores, pool",
    "The only relevant document that was returned has -inf.",
    "dcg rr recall hit_rate r_precision rbp err",
    "a:1 b:0 z:1",
    [["b", 1], ["a", "-Infinity"]],
)
special(
    "infinity",
    "infinite scores",
    "The relevant document has +inf.",
    SPECIAL,
    "a:1 b:0 c:0",
    [["b", 1e308], ["a", "Infinity"], ["c", -1]],
)
special(
    "infinities",
    "infinite scores, ties",
    "Infinite scores tie.",
    "ap rr precision@1",
    "a:1 b:0 c:0",
    [["b", "Infinity"], ["a", "Infinity"], ["c", "-Infinity"]],
)
special(
    "signed-zero",
    "signed zero, ties",
    "0 and -0 are equal.",
    "ap rr ndcg recall@1 auc",
    "a:1 b:0",
    [["b", 0], ["a", "-0"]],
)
special(
    "signed-zero-first",
    "signed zero, ties",
    "-0 and 0 between other scores.",
    "ap rr bpref",
    "a:1 b:0 c:0 d:1",
    [["c", 1], ["b", "-0"], ["a", 0], ["d", -1]],
)
group(
    "topics-nan",
    "subtopics, NaN",
    "A document has the score NaN.",
    "alpha_ndcg@2",
    file="scores",
    subtopics=topics("a:st b:s c:u"),
    run=[["b", 2], ["a", "NaN"], ["c", 1]],
)
group(
    "topics-infinite",
    "subtopics, infinite scores",
    "A document has the score -inf.",
    "alpha_ndcg",
    file="scores",
    subtopics=topics("a:s b:tu"),
    run=[["b", "-Infinity"], ["a", 1]],
)
group(
    "overlap-nan",
    "overlap, NaN",
    "A document has the score NaN.",
    "rbo",
    file="scores",
    run=[["b", 2], ["a", "NaN"], ["c", 1]],
    other=ranked("a b c"),
)
group(
    "overlap-infinite",
    "overlap, infinite scores",
    "A document has the score -inf.",
    "rbo",
    file="scores",
    run=[["b", 2], ["a", 1], ["c", "-Infinity"]],
    other=ranked("c a b"),
)


# Means over several lists.
def means(
    name: str, tags: str, comment: str, tests: str, *queries: tuple[str, ...]
) -> None:
    """Adds queries of judgements and documents in rank order; None for a missing part."""
    lists = []
    for i, (qrels, run) in enumerate(queries, 1):
        entry: Group = {"id": f"q{i}"}
        entry |= {} if qrels is None else {"qrels": graded(qrels)}
        lists.append(entry | ({} if run is None else {"run": ranked(run)}))
    group(name, tags, comment, tests, file="means", queries=lists)


MEANS = "ndcg ap rr recall@2 precision@2 hit_rate@1"
means(
    "three",
    "mean",
    "Three queries of different lengths.",
    MEANS + " r_precision bpref rbp",
    ("a:1 b:0", "b a"),
    ("c:1 d:1 e:0", "c d e"),
    ("f:1", "g h i f"),
)
means("one", "mean", "One query.", "ap rr ndcg@2", ("a:1 b:1", "b c a"))
means(
    "without-relevant",
    "mean, undefined",
    "One of three queries has nothing relevant.",
    MEANS + " auc",
    ("a:1 b:0", "b a"),
    ("c:0 d:0", "c d"),
    ("e:1 f:0 g:1", "e f g"),
)
means(
    "not-in-run",
    "queries",
    "The run lacks one of three queries.",
    MEANS,
    ("a:1 b:0", "b a"),
    ("c:1 d:0", None),
    ("e:1 f:1", "e f"),
)
means(
    "not-judged",
    "queries, nothing judged",
    "One of three queries was not judged.",
    MEANS,
    ("a:1 b:0", "a b"),
    (None, "c d"),
    ("e:1 f:0", "f e"),
)
means(
    "neither",
    "queries, undefined",
    "One lacks judgements, one a run, one relevance.",
    "ap rr recall@2",
    ("a:1 b:0", "b a"),
    (None, "c d"),
    ("e:1", None),
    ("f:0", "f g"),
)
means(
    "empty-run",
    "queries, empty list",
    "A query of the run has no documents.",
    "ap rr precision@2 recall@2",
    ("a:1 b:0", "a b"),
    ("c:1 d:0", ""),
)
means(
    "uneven",
    "mean, cutoff",
    "Lists of 1, 2 and 6 documents.",
    "precision@5 recall@5 ap@5 ndcg@5",
    ("a:1 z:1", "a"),
    ("b:1 c:1", "b c"),
    ("d:1 i:1 y:1 x:0", "e d f g h i"),
)
means(
    "grades-of-queries",
    "mean, graded",
    "Grades of three queries.",
    "ndcg@2 dcg@2 err rbp(max_grade=3)",
    ("a:3 b:0 c:1", "c a b"),
    ("d:2 e:1", "e d"),
    ("f:1 g:0 h:0", "g f h"),
)
means(
    "all-lack",
    "queries, empty list",
    "Two of six queries are missing from the run, one was not judged, one is empty.",
    "ndcg@1 dcg@1 hit_rate@1 r_precision auc bpref rbp err",
    ("a:1 b:0", "b a"),
    ("c:0 d:1", "d c"),
    ("e:1 f:0", None),
    ("g:1 h:0", None),
    (None, "i j"),
    ("k:1 l:0", ""),
)
