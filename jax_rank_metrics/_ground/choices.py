"""Choices of the options that the command shares with functions; imports nothing of JAX."""

from typing import Literal

# Of `read_qrels` and `read_run`.
QrelsFormat = Literal[
    "trec", "csv", "tsv", "jsonl", "parquet", "json", "svmlight", "subtopics"
]
RunFormat = Literal[
    "trec", "csv", "tsv", "jsonl", "parquet", "json", "scores", "msmarco"
]
Duplicates = Literal["error", "first", "last"]
DuplicatesOfQrels = Literal["error", "first", "last", "max"]

# Of `join`.
Missing = Literal["error", "zero", "skip"]
Unjudged = Literal["error", "skip"]
Repeats = Literal["keep", "remove"]  # of `rank_ids` too
TiesOfFiles = Literal["expected", "trec"]
TiesOfTables = Literal["expected", "stable", "best", "worst", "trec"]

# Of `compare`.
ComparisonTest = Literal["permutation", "bootstrap", "t", "tukey", "mcnemar"]
Pairs = Literal["baseline", "all"]
Correction = Literal["holm", "maxT", "fdr"]
Alternative = Literal["two-sided", "greater", "less"]
