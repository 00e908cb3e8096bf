"""Bad tables of scored items."""

import decimal
import tempfile
from pathlib import Path

import numpy as np
from error_rows import rows_of
from late_imports import LateImport

import jax_rank_metrics as jrm

pandas, polars = LateImport("pandas"), LateImport("polars")

NAN, MIXED = float("nan"), ["q", 7, "q"]
LISTS = ["q", "q", "r"]


def scored(options=None, source=None, metrics="mrr", **columns):
    """Evaluates a table of two lists, with some columns changed."""
    table = {"qid": LISTS, "label": [1, 0, 1], "score": [0.5, 0.4, 0.3]} | columns
    table = {name: values for name, values in table.items() if values is not None}
    return jrm.evaluate_scored(
        metrics, table if source is None else source(table), **options or {}
    )


def parts(*lists):
    """Returns an iterator of tables with the given ids of lists."""
    return iter(
        [
            {"qid": ids, "label": [1] * len(ids), "score": range(len(ids))}
            for ids in lists
        ]
    )


def of_file(name, rows="q,1,0.5\nq,0,0.4\n"):
    """Evaluates a table in a file run.csv of a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "run.csv").write_text(f"qid,label,score\n{rows}")
        return jrm.evaluate_scored("mrr", f"{folder}/{name}")


def of_subtopics(second):
    """Evaluates a table whose second item is in these subtopics."""
    how = {"columns": {"subtopics": "s"}}
    column = polars.Series([[1, 0], second, [1, 1]], strict=False)
    return scored(how, metrics="strec@2", s=column)


# fmt: off
CASES = {
    "a table that is none": (TypeError, "source: got 7; pass a frame, a path", lambda: jrm.evaluate_scored("mrr", 7), scored),
    "a batch that is none": (TypeError, "batch 0 of source: got 7; pass a frame", lambda: jrm.evaluate_scored("mrr", iter([7])), lambda: jrm.evaluate_scored("mrr", parts(LISTS))),
    "a table without lists": (ValueError, "source has no column query or query_id; pass list= one of label, score, group_no", lambda: scored(qid=None, group_no=LISTS), lambda: scored({"list": "group_no"}, qid=None, group_no=LISTS)),
    "a table with two ids of lists": (ValueError, "source has the columns qid, user; pass list= one of qid", lambda: scored(user=LISTS), lambda: scored({"list": "user"}, user=LISTS)),
    "a column that is not there": (ValueError, "source has no column y; pass label= one of qid, label, score", lambda: scored({"label": "y"}), scored),
    "an array in place of a column": (TypeError, "label: got an array of float64 (3,); pass the name of a column", lambda: scored({"label": np.ones(3)}), scored),
    "a list id that is missing": (ValueError, "source, row 1 (of list None): qid is missing", lambda: scored(qid=["q", None, "r"]), scored),
    "a list id that is nan": (ValueError, "source, row 1 (of list nan): qid is missing", lambda: scored(qid=[1.0, NAN, 2.0]), lambda: scored(qid=[1, 1, 2])),
    "list ids of two kinds": (ValueError, "source: list holds values of several kinds; pass strings only", lambda: scored(qid=MIXED), lambda: scored(qid=[*map(str, MIXED)])),
    "a line break in a list id": (ValueError, "run.csv, row 0 (of list 'q\\nr'): qid is 'q\\nr', with a line break; close the quote", lambda: of_file("run.csv", '"q\nr",1,0.5\n'), lambda: of_file("run.csv", "q,1,0.5\nr,0,0.4\n")),
    "a label of a table that is text": (ValueError, "source, row 2 (of list 'r'): label is 'yes', which is not a number", lambda: scored(label=["0", "1", "yes"]), lambda: scored(label=["0", "1", "1"])),
    "a label of a table that is infinite": (ValueError, "label is inf; pass a finite number", lambda: scored(label=[1, np.inf, 0]), lambda: scored(label=[decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(0)])),
    "a label of a table beyond float32": (ValueError, "label is 1e+300, beyond float32", lambda: scored(label=[1, 1e300, 0]), scored),
    "a score of a table that is nan": (ValueError, "source, row 1 (of list 'q'): score is nan; pass a number", lambda: scored(score=[0.5, NAN, 0.1]), lambda: scored(score=[0.5, 0.3, 0.1])),
    "a score of a table that is missing": (ValueError, "source, row 1 (of list 'q'): score is missing", lambda: scored(score=[0.5, None, 0.1]), scored),
    "a score of no number in a table": (ValueError, "(of list 'q'): score is", lambda: scored(score=[[1], [2], [3]]), lambda: scored(score=[1, 2, 3])),
    **rows_of("a masked column of a table", TypeError, ": got a masked NumPy array, whose mask would be lost; pass its .tolist()", lambda x: scored(**{x: np.ma.masked_array([1, 0, 1], [1, 0, 0])}), "label", "score", "qid", follow=lambda: scored(label=np.ma.masked_array([1, 0, 1], [1, 0, 0]).tolist())),
    "labels of categories": (ValueError, "source, row 0 (of list 'q'): label is Categorical; pass numbers", lambda: scored({"mask": "m"}, polars.DataFrame, label=polars.Series(["1", "1", "0"], dtype=polars.Categorical), m=[True, True, False]), lambda: scored(label=polars.Series(["1", "1", "0"]))),
    "two columns of one name": (ValueError, "source has 2 columns 'score'; pass a table whose columns have different names", lambda: scored(source=lambda table: pandas.DataFrame(table).iloc[:, [0, 1, 2, 2]]), lambda: scored(source=pandas.DataFrame)),
    **rows_of("subtopics that are missing", ValueError, "source, row 1 (of list 'q'): s ", lambda x: of_subtopics(x), None, [None, 1], [NAN, 1.0], [1], follow=lambda: of_subtopics([0, 1])),
    "an empty table": (ValueError, "source is empty; pass at least one row", lambda: jrm.evaluate_scored("mrr", parts([])), lambda: jrm.evaluate_scored("mrr", parts(["q"]))),
    "columns of a table that differ in length": (ValueError, "source: columns differ in length", lambda: scored(label=[1, 0]), scored),
    "a column of a list that varies": (ValueError, "list_columns['s'] is 1 and 2 in the list 'q'; pass a column with one value in all rows", lambda: scored({"list_columns": ["s"]}, s=[1, 2, 3]), lambda: scored({"list_columns": ["s"]}, s=[1, 1, 3])),
    "an item that is twice in a list": (ValueError, "item 'a' is in two rows of the list 'q'; pass one row", lambda: scored({"item": "item"}, item=["a", "a", "a"]), lambda: scored({"item": "item"}, item=["a", "b", "a"])),
    "a list weight of a table beyond float32": (ValueError, "source: w holds 1e+39, but sums .*; divide them by their mean", lambda: scored({"list_weight": "w"}, w=[1e39, 1e39, 2e39]), lambda: scored({"list_weight": "w"}, w=[1, 1, 2])),
    "a list weight of a table below 0": (ValueError, "w is -1.0; pass at least 0", lambda: scored({"list_weight": "w"}, w=[1, 1, -1]), lambda: scored({"list_weight": "w"}, w=[1, 1, 0])),
    "a mask of a table that holds numbers": (ValueError, "seen is Int64; pass bools, such as column != 0", lambda: scored({"mask": "seen"}, seen=[1, 0, 1]), lambda: scored({"mask": "seen"}, seen=[True, True, True])),
    "a mask of a table that is missing": (ValueError, "source, row 1 (of list 'q'): seen is None; pass True or False", lambda: scored({"mask": "seen"}, seen=[True, None, True]), lambda: scored({"mask": "seen"}, seen=[True, False, True])),
    "a column that no metric reads": (ValueError, "columns holds 'judged', which no metric of this call reads", lambda: scored({"columns": {"judged": "label"}}), scored),
    "a metric without its column": (ValueError, "reads the column 'subtopics'", lambda: scored(metrics="alpha_ndcg"), lambda: scored({"columns": {"subtopics": "topics"}}, topics=[[True], [False], [True]], metrics="alpha_ndcg")),
    "ties by ids without ids": (ValueError, "ties='trec' orders items by id; pass the column of ids as item", lambda: scored({"ties": "trec"}), lambda: scored({"ties": "trec", "item": "doc"}, doc=["a", "b", "a"])),
    "ties of tables that are unknown": (ValueError, "ties is 'random'; pass None or", lambda: scored({"ties": "random"}), lambda: [scored({"ties": ties}) for ties in (None, "stable")]),
    "a file that is no table": (ValueError, "run.txt: has no extension of a table; pass a file that ends in .parquet", lambda: jrm.evaluate_scored("mrr", "run.txt"), lambda: (of_file("run.csv"), scored())),
    "a folder without tables": (ValueError, "there is no table at", lambda: jrm.evaluate_scored("mrr", "no-such-folder/*.csv"), lambda: of_file("*.csv")),
    "a list that comes again": (ValueError, "the list 'q' comes again after it has ended; sort the rows", lambda: jrm.evaluate_scored("mrr", parts(["q"], ["r", "q"])), lambda: jrm.evaluate_scored("mrr", parts(["q"], ["r", "q"]), sort=True)),
    "a group of lists that was not kept": (ValueError, "groups is 'city', but list_columns are []; pass list_columns=['city'] to", lambda: scored().by("city"), lambda: scored({"list_columns": ["qid"]}).by("qid")),
}
