"""Labels and masks that a call does not read."""

import jax
import numpy as np
from error_rows import rows_of, traced
from late_imports import LateImport

import jax_rank_metrics as jrm

pandas, polars = LateImport("pandas"), LateImport("polars")

Y = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
COUNTS, IDS = np.array([9, 1, 4, 2]), np.array([[0, 3], [2, 1]])
GROUPS = np.ones((4, 2))
X = np.ma.masked_array([0.1, 0.2, 0.5], [0, 1, 0])
TOKENS = [np.ma.masked_array(np.ones((2, 3)), np.eye(2, 3))]
LISTS = jrm.PerList(X.data, np.ones(3), np.ones(3, bool))
MASKED = jrm.PerList(X, np.ones(3), np.ones(3, bool))


def y(reverse=False):
    """Labels of three items, whose index has an order of its own."""
    series = pandas.Series([1, 0, 1], index=[7, 5, 3])
    return series[::-1] if reverse else series


def rows(reverse=False):
    """Labels, or ids, of three lists of four items."""
    frame = pandas.DataFrame(Y, index=list("abc"))
    return frame[::-1] if reverse else frame


def other_index(call):
    """Makes the row of a call with labels in two orders, which takes their arrays."""
    arrays = [lambda *way, make=make: make(*way).to_numpy() for make in (y, rows)]
    return *OTHER_INDEX, lambda: call(y, rows), traced(lambda: call(*arrays))


def joined(counts):
    """Reads the column of a run of two documents."""
    run = jrm.join({"q": {1: 1}}, {"q": {1: 2, 2: 1}}, item_columns={"counts": counts})
    return run.measure("popularity@1")


def users(**arguments):
    """Evaluates three users."""
    return jrm.evaluate_users("mrr@1", np.ones((3, 4)), [[0]] * 3, **arguments)


def links(**columns):
    """Evaluates a triple in a frame."""
    return jrm.evaluate_links("mrr", lambda *_: np.ones((32, 4)), pandas.DataFrame(columns), known=[], num_entities=4)  # fmt: skip


OTHER_INDEX = (ValueError, "has another index than .*to_numpy")
MASK = (TypeError, "masked NumPy array, whose mask would be lost; pass ")

# fmt: off
CASES = {
    "index of ndcg": other_index(lambda y, rows: jrm.ndcg(y(), y(True))),
    "index of evaluate": other_index(lambda y, rows: jrm.evaluate("mrr", y(), y(True))),
    "index of check": (*OTHER_INDEX, lambda: jrm.check(y(), y(True)), lambda: jrm.check(y(), y(True).to_numpy())),
    "index of mask": other_index(lambda y, rows: jrm.rank(y(), y(), y(True) > 0)),
    "index of weights": other_index(lambda y, rows: jrm.rank(y(), y(), None, y(True))),
    "index of retrieved": other_index(lambda y, rows: jrm.rank(y(), y(), retrieved=y(True) > 0)),
    "index of columns": other_index(lambda y, rows: jrm.rank(y(), y(), columns={"judged": y(True) > 0})),
    "index of segments": other_index(lambda y, rows: jrm.rank(y(), y(), segment_ids=y(True), num_segments=2)),
    "index of lists": other_index(lambda y, rows: jrm.rank(rows(), rows(True))),
    "columns of lists": (*OTHER_INDEX, lambda: jrm.rank(rows(), rows()[[1, 0, 2, 3]]), traced(lambda: jrm.rank(rows(), rows()[[1, 0, 2, 3]].to_numpy()))),
    "index of weights of lists": other_index(lambda y, rows: jrm.rank(Y, rows(), None, y())),
    "index of list weights": (*OTHER_INDEX, lambda: jrm.rank(Y, rows(), list_weights=rows(True)[0]), traced(lambda: jrm.rank(Y, rows(), list_weights=rows(True)[0].to_numpy()))),
    "index of rank_retrieved": other_index(lambda y, rows: jrm.rank_retrieved(y(), y(True) > 0)),
    "index of num_relevant": other_index(lambda y, rows: jrm.rank_retrieved(rows(), num_relevant=y())),
    "index of a pool": other_index(lambda y, rows: jrm.rank_retrieved(Y, pool_labels=rows(), pool_mask=rows(True) > 0)),
    "index of rank_places": other_index(lambda y, rows: jrm.rank_places(y(), y(True), y(), num_retrieved=3)),
    "index of rank_ids": other_index(lambda y, rows: jrm.rank_ids(rows(), rows(True))),
    "index of relevant labels": other_index(lambda y, rows: jrm.rank_ids(IDS[0], y(), y(True))),
    "index of rank_scores": (*OTHER_INDEX, lambda: jrm.rank_scores(rows(), rows(True)[[0]]), traced(lambda: jrm.rank_scores(rows(), rows(True)[[0]].to_numpy()))),
    "index of rank_catalog": (*OTHER_INDEX, lambda: jrm.rank_catalog(rows(), np.eye(4), rows(True)[[0]], k=2), traced(lambda: jrm.rank_catalog(rows(), np.eye(4), rows(True)[[0]].to_numpy(), k=2))),
    "index of overlap": other_index(lambda y, rows: jrm.overlap(rows(), rows(True))),
    "index of kendall_tau": other_index(lambda y, rows: jrm.kendall_tau(rows(), rows(True))),
    "index of profiles": other_index(lambda y, rows: jrm.rank_ids(rows(), item_columns={"counts": COUNTS}, profile_ids=rows(True))),
    "index of weights of profiles": other_index(lambda y, rows: jrm.rank_ids(IDS[0], profile_ids=y(), profile_weights=y(True))),
    "index of neighbours": other_index(lambda y, rows: jrm.neighbor_recall(rows(), rows(True))),
    "index of probabilities": other_index(lambda y, rows: jrm.sampled_labels("mrr", y(), y(True), jax.random.key(0))),
    "index of batch weights": other_index(lambda y, rows: jrm.compat.keras_rs_list_weights(rows(), rows(True))),
    "index of ragged lists": (*OTHER_INDEX, lambda: jrm.pad_lists(*(x.map(lambda i: [i]) for x in (y(), y(True)))), lambda: jrm.pad_lists(y().map(lambda i: [i]), y(True).map(lambda i: [i]).to_numpy())),
    "index of a PerList": (*OTHER_INDEX, lambda: jrm.PerList(y(), y(True), y() > 0), lambda: jrm.PerList(y(), y(True).to_numpy(), y() > 0)),
    "index of pooled scores": other_index(lambda y, rows: jrm.pooled_roc_auc(y(), y(True))),
    "index of pooled weights": other_index(lambda y, rows: jrm.pooled_roc_auc(rows(), Y, None, y())),
    "ids among items": (ValueError, "scores has a column of ids, 'qid', which would be read as numbers", lambda: jrm.ndcg(Y, pandas.DataFrame(Y).rename(columns={3: "qid"})), traced(lambda: jrm.ndcg(Y[:, :3], pandas.DataFrame(Y).rename(columns={3: "qid"}).set_index("qid")))),
    "ids among items of polars": (ValueError, "labels has a column of ids, 'user'", lambda: jrm.evaluate("mrr", polars.DataFrame({"user": [5, 6], "0": [1, 0]}), Y), traced(lambda: jrm.evaluate("mrr", polars.DataFrame({"0": [1, 0]}), Y[:2, :1]))),
    "names of polars": (*OTHER_INDEX, lambda: jrm.ndcg(*(polars.DataFrame({"a": [1, 0], "b": [0, 1]})[names] for names in (["a", "b"], ["b", "a"]))), traced(lambda: jrm.ndcg(*(polars.DataFrame({"a": [1, 0], "b": [0, 1]})[names].to_numpy() for names in (["a", "b"], ["b", "a"]))))),
    "names of polars beside pandas": (*OTHER_INDEX, lambda: jrm.ndcg(polars.DataFrame({"a": [1], "b": [0]}), pandas.DataFrame({"b": [0.2], "a": [0.1]})), traced(lambda: jrm.ndcg(polars.DataFrame({"a": [1], "b": [0]}), pandas.DataFrame({"b": [0.2], "a": [0.1]}).to_numpy()))),
    "an index of ids": (ValueError, "item_ids is a Series whose index counts the rows in another order; pass item_ids.sort_index()", lambda: jrm.evaluate_users("mrr@1", Y, [["a"]] * len(Y), item_ids=pandas.Series(list("abcd"), [1, 0, 2, 3])), lambda: jrm.evaluate_users("mrr@1", np.ones((3, 4)), [["a"]] * 3, item_ids=pandas.Series(list("abcd"), [1, 0, 2, 3]).sort_index())),
    "ids among ranked ids": (ValueError, "first has a column of ids, 'qid'", lambda: jrm.overlap(*[pandas.DataFrame({"qid": [5, 6], "a": [1, 2]})] * 2), traced(lambda: jrm.overlap(*[pandas.DataFrame({"qid": [5, 6], "a": [1, 2]}).set_index("qid")] * 2))),
    "genres of unequal numbers": (ValueError, "item_columns['genres']: values differ in length; pass", lambda: jrm.rank_ids(IDS, item_columns={"genres": {0: [1], 1: [1, 0]}}), lambda: jrm.rank_ids(IDS, item_columns={"genres": {i: [1, i] for i in range(4)}})),
    "ids among columns": (ValueError, "a holds the ids of lists under 'qid'; pass a frame", lambda: jrm.compare(*[{"qid": [5, 6], "mrr": [0.1, 0.2]}] * 2), lambda: jrm.compare(*[pandas.DataFrame({"qid": [5, 6], "mrr": [0.1, 0.2]})] * 2, test="t")),
    "names among columns": (ValueError, "['old'] holds the ids of lists under 'query'; pass a frame", lambda: jrm.table({"old": {"query": ["a", "b"], "mrr": [0.1, 0.2]}}), lambda: jrm.table({"old": pandas.DataFrame({"query": ["a", "b"], "mrr": [0.1, 0.2]})})),
    "items by name": (ValueError, "item_mask has the labels 'x0', .* not the ids of the items, 0, 1, 2, …; .* the values alone as an array", lambda: users(item_mask=pandas.Series([True] * 4, ["x0", "x1", "x2", "x3"])), lambda: users(item_mask=pandas.Series([True] * 4, ["x0", "x1", "x2", "x3"]).to_numpy())),
    "items that are not": (ValueError, "item_mask has the labels 0, .* items, 0, 1, 2, …", lambda: users(item_mask={i: True for i in range(5)}), lambda: users(item_mask={i: True for i in range(4)})),
    "users twice": (ValueError, "groups has some labels more than once", lambda: users().by(pandas.Series(list("abcd"), [0, 1, 2, 2])), lambda: users().by(pandas.Series(list("abc"), [0, 1, 2]))),
    "counts with gaps": (ValueError, "retrieved_ids holds 3, for which item_columns has no row; pass a row for each", lambda: jrm.rank_ids(IDS, item_columns={"counts": {0: 1, 2: 3}}), traced(lambda: jrm.rank_ids(IDS, item_columns={"counts": {0: 1, 1: 5, 2: 3, 3: 2}}))),
    **rows_of("an index of items with one of them twice", ValueError, "item_columns['counts'] has some labels more than once", lambda x: jrm.rank_ids(x[0], item_columns={"counts": pandas.Series(COUNTS, index=[*x[1]])}), (IDS, [0, 1, 3, 3]), (IDS, [2, 1, 3, 3]), (IDS, [0, 0, 1, 2]), ([["a", "b"]], "abab"), follow=lambda: jrm.rank_ids(IDS, item_columns={"counts": pandas.Series(COUNTS, index=[0, 1, 3, 2])})),
    "an item as a number and as a string": (ValueError, "item_columns has the ids 1 and '1', an integer and a string", lambda: jrm.rank_ids([["1", "a"]], item_columns={"counts": {1: 10, "1": 20, "a": 5}}), lambda: jrm.rank_ids([["1", "a"]], item_columns={"counts": {"1": 20, "a": 5}})),
    "masked counts": (TypeError, "item_columns['counts']: got a masked NumPy array, .* pass a number for every item, as in", lambda: jrm.rank_ids(IDS, item_columns={"counts": np.ma.masked_array(COUNTS, COUNTS > 4)}), lambda: jrm.rank_ids(IDS, item_columns={"counts": np.ma.masked_array(COUNTS, COUNTS > 4).filled(0)})),
    **rows_of("documents of another kind", ValueError, "item_columns['counts'] names document '.*', but documents of qrels and run are integers; pass ids of one kind", lambda x: joined(x), {1.5: 3, 2: 4}, {1: 3, 2: 4, "x": 1}, {"a": 3, "2": 4}, follow=lambda: joined({1.0: 3, "2": 4})),
    "a document without an id": (ValueError, "the id of items in item_columns['counts'] is nan at 1; pass an id, or leave", lambda: joined({1: 3, np.nan: 1, 2: 4}), lambda: joined({1: 3, 2: 4})),
    "a document twice": (ValueError, "item_columns['counts'] names document 1 more than once", lambda: joined({1: 3, "01": 1, 2: 4}), lambda: joined({1: 3, 2: 4})),
    "rows beside ids": (ValueError, "item_columns['cost'] has rows, but another of the item_columns has ids, such as 3; pass item_columns['cost'] as a dict", lambda: jrm.rank_ids(IDS + 3, item_columns={"counts": pandas.Series(COUNTS, index=range(3, 7)), "cost": COUNTS}), lambda: jrm.rank_ids(IDS + 3, item_columns={name: pandas.Series(COUNTS, index=range(3, 7)) for name in ("counts", "cost")})),
    "groups of other users": (ValueError, "groups has the labels 5, .* users, 0, 1, 2; .* alone as an array", lambda: users().by({5: "a"}), lambda: users().by({0: "a", 1: "a", 2: "b"})),
    "columns of a model": (ValueError, "model has the labels 'a', 'b', .* alone as an array", lambda: jrm.evaluate_users("mrr@1", pandas.DataFrame(Y, columns=list("abcd")), [[0]] * 3), lambda: jrm.evaluate_users("mrr@1", pandas.DataFrame(np.ones((3, 4)), columns=list("abcd")).to_numpy(), [[0]] * 3)),
    "columns of triples": (ValueError, "columns 'a', 'head', 'b'; pass .* head, relation and tail, or triples.to_numpy", lambda: links(a=[0], head=[1], b=[2]), lambda: links(head=[1], relation=[0], tail=[2])),
    "frames as blocks": (TypeError, "items holds a frame, .*to_numpy", lambda: jrm.evaluate_embeddings("mrr@1", np.eye(4), [rows()], [[0]] * 4), lambda: jrm.evaluate_embeddings("mrr@1", np.eye(3, 4), [rows().to_numpy()], [[0]] * 3)),
    "a set of ids": (TypeError, "ids of results are {.*pass a sequence with one id for each list", lambda: jrm.to_frame({"mrr": LISTS}, {"a", "b", "c"}), lambda: jrm.to_frame({"mrr": LISTS}, ["a", "b", "c"])),
    "ids by no name": (ValueError, "a has no column of ids, and the column 'arm' holds int64; .* a.set_index", lambda: jrm.compare(*[pandas.DataFrame({"arm": [1, 2], "mrr": [0.1, 0.2]})] * 2), lambda: jrm.compare(*[pandas.DataFrame({"arm": [1, 2], "mrr": [0.1, 0.2]}).set_index("arm")] * 2, test="t")),
    "ids that are floats": (ValueError, "a has no column of ids, and the column 'arm' holds float64; .* a.set_index", lambda: jrm.compare(*[pandas.DataFrame({"arm": [1.0, 2.0, 7.0], "mrr": [0.1, 0.2, 0.3]})] * 2), lambda: jrm.compare(*[pandas.DataFrame({"list": [1.0, 2.0, 7.0], "mrr": [0.1, 0.2, 0.3]})] * 2, test="t")),
    "columns of ids": (ValueError, "a has several columns of ids, 'qid', 'user'", lambda: jrm.compare(*[pandas.DataFrame({"qid": [1, 2], "user": [1, 2], "mrr": [0.1, 0.2]})] * 2), lambda: jrm.compare(*[pandas.DataFrame({"qid": [1, 2], "mrr": [0.1, 0.2]})] * 2, test="t")),
    "mask of a": (*MASK, lambda: jrm.compare(X, X.data), lambda: jrm.compare(LISTS, X.data, test="t")),
    "mask in a list": (*MASK, lambda: jrm.compare([X[0], X[1]], [0.1, 0.2]), lambda: jrm.compare([*X.compressed()], [0.1, 0.2], test="t")),
    "mask in a dict": (*MASK, lambda: jrm.compare({"q1": 1.0, "q2": np.ma.masked}, {"q1": 1.0, "q2": 0.0}), lambda: jrm.compare({"q1": 1.0}, {"q1": 1.0}, test="t")),
    "mask in a PerList": (*MASK, lambda: jrm.compare(MASKED, X.data), lambda: jrm.PerList(X.data, np.ones(3), ~np.ma.getmaskarray(X))),
    "mask of a leaderboard": (*MASK, lambda: jrm.leaderboard({"a": X, "b": X}), lambda: jrm.leaderboard({"a": X.compressed(), "b": X.compressed()})),
    "mask of a table": (*MASK, lambda: jrm.table({"a": {"mrr": X}}), lambda: jrm.table({"a": {"mrr": X.compressed()}})),
    "mask of Systems": (*MASK, lambda: jrm.Systems({"a": X}), lambda: jrm.Systems({"a": X.compressed()})),
    "mask of Seeds": (*MASK, lambda: jrm.Seeds([X, X]), lambda: jrm.Seeds([X.compressed(), X.compressed()])),
    "mask of stacked Seeds": (*MASK, lambda: jrm.Seeds(np.ma.masked_array(np.ones((2, 3)), [X.mask] * 2)), lambda: jrm.Seeds([LISTS, LISTS])),
    "mask of clusters": (*MASK, lambda: jrm.compare(X.data, X.data, clusters=X), lambda: jrm.compare(X.data, X.data, clusters=[7, 8, 7], test="t")),
    "mask of joined clusters": (*MASK, lambda: LISTS.cluster(X), lambda: LISTS.cluster([7, 8, 7])),
    "mask of lists_needed": (*MASK, lambda: jrm.lists_needed(X, 0.1), lambda: jrm.lists_needed(X.compressed(), 0.1)),
    "mask of minimum_detectable": (*MASK, lambda: jrm.minimum_detectable(X), lambda: jrm.minimum_detectable(X.compressed())),
    "mask of pad_lists": (*MASK, lambda: jrm.pad_lists([X]), lambda: jrm.pad_lists([X.compressed()])),
    "mask of pad_lists in a Series": (*MASK, lambda: jrm.pad_lists(pandas.Series([X])), lambda: jrm.pad_lists(pandas.Series([X.compressed()]))),
    "mask of pack": (*MASK, lambda: jrm.pack(X), lambda: jrm.pack(X.filled(7).astype(int))),
    "mask of hash_ids": (*MASK, lambda: jrm.hash_ids(np.ma.masked_array([1, 2], [0, 1])), lambda: jrm.hash_ids(np.ma.masked_array([1, 2], [0, 1]).compressed())),
    "mask of groups": (*MASK, lambda: users().by(X), lambda: users().by(np.ma.masked_array([1, 2, 5], X.mask).filled(7))),
    "mask of tokens": (*MASK, lambda: jrm.evaluate_embeddings("mrr@1", TOKENS, TOKENS, [[0]], similarity="maxsim"), lambda: jrm.evaluate_embeddings("mrr@1", [x.data for x in TOKENS], [x.data for x in TOKENS], [[0]], similarity="maxsim")),
    "mask of blocks": (*MASK, lambda: jrm.evaluate_embeddings("mrr@1", np.eye(3), iter(TOKENS), [[0]] * 3), lambda: jrm.evaluate_embeddings("mrr@1", np.eye(3), iter([x.data for x in TOKENS]), [[0]] * 3)),
    "mask of ids": (*MASK, lambda: jrm.to_frame({"mrr": LISTS}, X), lambda: jrm.to_frame({"mrr": LISTS}, X.data)),
    "mask in ids that are padded": (TypeError, "retrieved_ids: got a masked NumPy array, whose mask would be lost; pass retrieved_ids.filled(…)", lambda: jrm.rank_ids(np.ma.masked_array(IDS, IDS > 2)), traced(lambda: jrm.rank_ids(np.ma.masked_array(IDS, IDS > 2).filled(-1)))),
    "mask in scores": (*MASK, lambda: jrm.rank([1, 0, 1], [X[0], X[1], X[2]]), traced(lambda: jrm.rank([1, 0, 1], X.filled(0), ~np.ma.getmaskarray(X)))),
}
