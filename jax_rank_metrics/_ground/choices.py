"""The choices of options that the command and functions share; does not import JAX."""

from typing import Literal

# For `read_qrels` and `read_run`.
QrelsFormat = Literal[
    "trec", "csv", "tsv", "jsonl", "parquet", "json", "svmlight", "subtopics"
]
RunFormat = Literal[
    "trec", "csv", "tsv", "jsonl", "parquet", "json", "scores", "msmarco"
]
Duplicates = Literal["error", "first", "last"]
DuplicatesOfQrels = Literal["error", "first", "last", "max"]

# For `join`.
Missing = Literal["error", "zero", "skip"]
Unjudged = Literal["error", "skip"]
Repeats = Literal["keep", "remove"]  # for `rank_ids` too
TiesOfFiles = Literal["expected", "trec"]
TiesOfTables = Literal["expected", "stable", "best", "worst", "trec"]

# For `compare`.
ComparisonTest = Literal["permutation", "bootstrap", "t", "tukey", "mcnemar"]
Pairs = Literal["baseline", "all"]
Correction = Literal["holm", "maxT", "fdr"]
Alternative = Literal["two-sided", "greater", "less"]
