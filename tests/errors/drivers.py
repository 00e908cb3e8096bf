"""Bad calls of the drivers, and of their results."""

import dataclasses
import functools
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from arrow_tables import DatasetDict
from error_rows import rows_of, traced
from late_imports import LateImport
from per_lists import evaluation_of, lists_of, state_of
from sources import make_mesh, put

import jax_rank_metrics as jrm
from errors.sources import turned

FRAMES = {name: LateImport(name) for name in ("pandas", "polars")}
MATRIX = np.zeros((2, 3), np.float32)
WIDE = np.zeros((2, 12), np.float32)
LABELS = np.eye(2, 12, dtype=np.int32)
SPARSE = scipy.sparse.csr_array(np.eye(2, 12))
QUERY = np.eye(2, 4, dtype=np.float32)
ITEM = np.arange(12, dtype=np.float32).reshape(3, 4)
BITS = np.zeros((3, 2), np.uint8)
TOKENS = [np.ones((2, 6), np.float32)] * 3
TRIPLES = np.array([[0, 0, 1], [2, 1, 0]])
BLOCKS = [QUERY, QUERY[:0], ITEM]
NAN, INFINITE = ITEM * np.nan, np.where(ITEM < 8, ITEM, np.float32(np.inf))
TWICE = {"user": [4, 4], "item": [1, 1]}


def sparse(table):
    """Returns a sparse matrix of scipy."""
    return scipy.sparse.csr_array(table)


def users(**changes):
    """Evaluates two users of three items."""
    arguments = {"metrics": "recall@2", "model": MATRIX, "relevant": [[0], [1]]}
    return jrm.evaluate_users(**arguments | changes)


def of_three_users(counts):
    """Evaluates two users; the last item is the first of user 1 alone."""
    how = {
        "metrics": "novelty(by=users,num_users=3)@2",
        "item_columns": {"counts": counts},
    }
    return users(model=np.array([[3, 2, 1], [1, 2, 3]], np.float32), **how)


def of_frame(library, name, columns):
    """Evaluates nine users of twelve items, with a frame as one argument."""
    lists = {"relevant": [[0]] * 9, name: FRAMES[library].DataFrame(columns)}
    return users(model=np.zeros((9, 12), np.float32), **lists)


def queries(**changes):
    """Evaluates two queries of three items."""
    arguments = {"queries": QUERY, "items": ITEM, "relevant": [[0], [1]]}
    return jrm.evaluate_embeddings(**{"metrics": "recall@2"} | arguments | changes)


def of_sparse(**changes):
    """Evaluates two sparse queries, which are the items, too."""
    return queries(**{"queries": SPARSE, "items": SPARSE} | changes)


def of_tokens(**changes):
    """Evaluates three queries of two tokens."""
    arguments = {"queries": TOKENS, "items": TOKENS, "relevant": [[0]] * 3}
    return queries(**{"similarity": "maxsim"} | arguments | changes)


ITEMS_OF_PART = np.zeros((2, 1), np.int32)


def part(metric="mrr", lists=None, items=ITEMS_OF_PART, **fields):
    """Makes the evaluation of two queries."""
    values = jrm.PerList(np.ones(2), np.ones(2), np.ones(2, bool))
    lists = {metric: values} if lists is None else lists
    return jrm.Evaluation(jrm.empty(metric), lists, items, "zero", **fields)


PART = part()


def over_devices(axis, call=queries, **changes):
    """Evaluates queries on a mesh of two devices."""
    return call(mesh=make_mesh((2,), ("m",)), **{axis: "m"} | changes)


GRID = make_mesh((2, 4), ("q", "i"), jax.sharding.AxisType.Explicit)
ON_GRID = {"mesh": GRID, "queries_axis": "q", "items_axis": "i"}


EYE = np.eye(8, dtype=np.float32)


def of_shards(of_users, of_items, vectors=EYE, **options):
    """Evaluates users and items whose arrays a mesh cuts."""
    model = put(GRID, vectors, *of_users), put(GRID, EYE, *of_items)
    return users(model=model, relevant=[[0]] * 8, **options)


def links(scores=MATRIX, **changes):
    """Evaluates two links of three entities, whose scores a function looks up."""
    arguments = {"triples": TRIPLES, "known": TRIPLES, "num_entities": 3}
    arguments |= {"score_fn": lambda *_: scores, "batch_size": 2}
    return jrm.evaluate_links("mrr", **arguments | changes)


def by_parity(query, item):
    """Labels items of the parity of the query."""
    return query[:, None] % 2 == item[None] % 2


def by(query_attributes, item_attributes=(1, 2, 3)):
    """Makes relevance by parity from lists of numbers."""
    return jrm.by_attributes(by_parity, [*query_attributes], [*item_attributes])


def of_column(column, masked=False):
    """Returns lists of ids; the last list is an array."""
    return [[1], np.ma.array(column, mask=[0, 1]) if masked else np.array(column)]


@functools.cache
def evaluation():
    """Returns the values of two users."""
    states = {"recall@3": state_of([0.5, 1])}
    return evaluation_of({"recall@3": lists_of([0.5, 1])}, states)


def without_lists():
    """Returns what `keep_lists=False` leaves of it."""
    totals = {"shown_rows": None, "total_exposure": evaluation().exposure}
    return dataclasses.replace(evaluation(), **totals)


def rows_of_matrix(labels):
    """Returns a sparse matrix of 12 items, of rows that may stand in a dict."""
    rows = [*labels.values()] if isinstance(labels, dict) else labels
    return sparse(rows)[:, :12]


def in_64_bits(call):
    """Calls a function with numbers of 64 bits."""
    with jax.enable_x64():
        return call()


def memory_mapped(array):
    """Returns an array that is read from a file, part by part."""
    file = tempfile.NamedTemporaryFile(suffix=".npy")
    np.save(file, array)
    file.flush()
    return np.load(file.name, mmap_mode="r")


def joined(lists):
    """Returns lists of users, whose index repeats one, joined and as a frame."""
    frame = lists.explode().rename_axis("user").reset_index(name="item")
    return lists.groupby(level=0).sum(), frame.astype(int)


def queries_of(x):
    """Evaluates queries that a program traces."""
    return queries(queries=x)


def products(queries, items):
    """Gives the products of queries and items."""
    return queries @ items.T


# The forms in which a matrix of labels would be read as lists of the ids 0 and 1.
DENSE = {
    "an array": lambda labels: labels,
    "lists": lambda labels: labels.tolist(),
    "an array of JAX": jnp.asarray,
    "a dict": lambda labels: dict(enumerate(labels)),
    "ratings": lambda labels: labels * 5,
    "of a larger catalogue": lambda labels: np.pad(labels, [(0, 0), (0, 4)]),
}


# fmt: off
def any_user(users):
    """Scores of any user."""
    return MATRIX[users % 2]


CASES = {
    "complex similarity of a driver": (TypeError, "similarity gives complex64 scores", lambda: queries(similarity=turned), lambda: queries(similarity=lambda *x: turned(*x).real)),
    "complex scores of a model": (TypeError, "the scores of model: dtype is complex64", lambda: users(model=lambda users: any_user(users) * np.complex64(1j)), lambda: users(model=any_user)),
    "seen of other users": (ValueError, "seen names none of the users that are evaluated (it has user 7, and user 0 .* empty list", lambda: jrm.evaluate_users("mrr@1", any_user, [[0], [1]], seen={7: [0]}), lambda: jrm.evaluate_users("mrr@1", any_user, [[0], [1]], seen={7: [0], 0: [], 1: []})),
    "seen of no user": (ValueError, "seen has the user -1; pass row numbers of users, which start at 0", lambda: jrm.evaluate_users("mrr@1", any_user, [[0], [1]], seen={-1: [0], 0: [1]}), lambda: jrm.evaluate_users("mrr@1", any_user, [[0], [1]], seen={1: [0], 0: [1]})),
    "relevant of no user": (ValueError, "relevant has the user -1", lambda: jrm.evaluate_users("mrr@1", any_user, {-1: [0], 0: [1]}, users=[0]), lambda: jrm.evaluate_users("mrr@1", any_user, {1: [0], 0: [1]}, users=[0])),
    "excluded for no query": (ValueError, "exclude has queries from -1 to -1", lambda: jrm.evaluate_embeddings("mrr@1", MATRIX, MATRIX, [[0], [1]], exclude={-1: [0]}), lambda: jrm.evaluate_embeddings("mrr@1", MATRIX, MATRIX, [[0], [1]], exclude={1: [0]})),
    # users
    "a model of another kind": (TypeError, "model: got", lambda: users(model=object()), lambda: users(model=MATRIX)),
    "a model of one axis": (ValueError, "model has shape (3,)", lambda: users(model=np.zeros(3)), lambda: (users(model=np.zeros(3)[None], relevant=[[0]]), users(model=(np.ones((2, 1)), np.zeros(3)[:, None])))),
    "scores of no items": (ValueError, "model has shape (2, 0);.*one item", lambda: users(model=MATRIX[:, :0]), lambda: users(model=MATRIX[:, :1], relevant=[[0], []])),
    "a model of three parts": (ValueError, "model has 3 parts", lambda: users(model=(MATRIX,) * 3), lambda: users(model=(MATRIX,) * 2)),
    "a model of two widths": (ValueError, "queries of shape", lambda: users(model=(MATRIX, MATRIX[:, :2])), lambda: users(model=(MATRIX[:, :2], MATRIX[:, :2]))),
    "a list of two widths": (ValueError, "queries of shape", lambda: users(model=[MATRIX, MATRIX[:, :2]]), lambda: users(model=[MATRIX[:, :2], MATRIX[:, :2]])),
    "a sparse model": (TypeError, "got csr_array.* model.toarray()", lambda: users(model=sparse(MATRIX)), lambda: users(model=sparse(MATRIX).toarray())),
    "scores of other users": (ValueError, "model returned scores", lambda: users(model=lambda users: MATRIX[:1]), lambda: users(model=any_user)),
    "scores of three axes": (ValueError, "model returned scores of shape (32, 3, 1)", lambda: users(model=lambda users: MATRIX[users][..., None]), lambda: users(model=any_user)),
    "one row": (ValueError, "relevant has 1 rows, but there are 2 users", lambda: users(relevant=[[0]]), lambda: users(relevant={0: [0]})),
    "unknown users who saw": (ValueError, "seen has users from 3 to 9", lambda: users(seen={3: [1], 9: [0]}), lambda: users(seen={0: [1], 1: [0]})),
    "a transposed matrix": (ValueError, "relevant has 3 rows, but there are 2 users", lambda: users(relevant=sparse(np.eye(3, 2)), seen=sparse(np.eye(2, 3, 1))), lambda: users(relevant=sparse(np.eye(3, 2)).T, seen=sparse(np.eye(2, 3, 1)))),
    "rows that differ": (ValueError, "relevant has 3 rows and seen has 2 rows", lambda: users(model=lambda users: MATRIX[users], relevant=[[0]] * 3, seen=[[1]] * 2), lambda: users(model=any_user, relevant=[[0]] * 3, seen=[[1]] * 2 + [[]])),
    "masked ids": (TypeError, "relevant: got a masked", lambda: users(relevant=np.ma.array([[0], [1]])), lambda: users(relevant=np.ma.array([[0, 2], [1, 0]], mask=[[0, 1], [0, 0]]).filled(-1))),
    "masked ids of a user": (TypeError, "seen of user 1: got a masked", lambda: users(seen=of_column([0, 2], masked=True)), lambda: users(seen=[[1], of_column([0, 2], masked=True)[1].filled(-1)])),
    **{
        f"an index of {name} with a user twice": (ValueError, "index holds user 1 more than once; join", lambda name=name: users(**{name: FRAMES["pandas"].Series([[2], [0], [1]], [1, 0, 1])}), lambda name=name: [users(**{name: x}) for x in joined(FRAMES["pandas"].Series([[2], [0], [1]], [1, 0, 1]))])
        for name in ("relevant", "seen")
    },
    "no chosen users": (ValueError, "users is empty", lambda: users(users=[]), lambda: users(users=[0])),
    "tau at a cut": (ValueError, "tau: an item with the label 0 has the value 1.0.*rank all items with", lambda: users(metrics="tau", k=2), traced(lambda: [jrm.evaluate("tau", ITEM, ITEM), jrm.tau.of(jrm.rank(ITEM, ITEM))])),
    "a negative group": (ValueError, "holds -1", lambda: users(metrics="group_recall(group=0)@1", item_columns={"groups": MATRIX.T - 1}), lambda: users(metrics="group_recall(group=0)@1", item_columns={"groups": np.where(MATRIX.T == 0, 1, np.nan)})),
    "no groups": (ValueError, "pass item_columns=.*, or columns= if items are not known by id", lambda: users(metrics="group_recall@1"), lambda: users(metrics="group_recall(group=0)@1", item_columns={"groups": MATRIX.T + 1})),
    "one row of seen items": (ValueError, "seen has 1 rows, but there are 2 users", lambda: users(seen=[[0]]), lambda: users(seen={0: [0]})),
    "four columns": (ValueError, "relevant has 4 columns, but there are 3", lambda: users(relevant=sparse(np.eye(2, 4))), lambda: users(relevant=sparse(np.eye(2, 4))[:, :3])),
    "four columns of seen items": (ValueError, "seen has 4 columns", lambda: users(seen=sparse(np.eye(2, 4, 2))), lambda: users(seen=sparse(np.eye(2, 4, 2))[:, :3])),
    "no users": (ValueError, "relevant has no users", lambda: users(relevant=[]), lambda: users(relevant=[[0]], model=MATRIX[:1])),
    "a dict of no users": (ValueError, "relevant has no users", lambda: users(relevant={}), lambda: users(relevant={0: [0]})),
    "a number": (TypeError, "relevant: got 3", lambda: users(relevant=3), lambda: [users(relevant=x) for x in ([[2], [0]], {0: [2]}, FRAMES["pandas"].DataFrame({"user": [0], "item": [2]}), sparse(np.eye(2, 3)))]),
    "a fraction as an id": (TypeError, "relevant of user 1: got", lambda: users(relevant=[[0], [0.5]]), lambda: users(relevant=[[0], [1]])),
    "a name as a user": (TypeError, "relevant has the key 'a'", lambda: users(relevant={"a": [0]}), lambda: [users(relevant={0: [0]}), users(relevant={"a": [0]}, user_ids=["a", "b"])]),
    "a name as an item": (TypeError, "relevant of user 0: got .*; pass integers, or the ids of all items as item_ids=", lambda: users(relevant=[["a"], ["b"]]), lambda: users(relevant=[["a"], ["b"]], item_ids=["a", "b", "c"])),
    "labels of seen items": (TypeError, "seen of user 0 holds ('c', 0), an item and a number, but labels are not read here; pass a list of ids", lambda: users(seen=[{"c": 0}, {"d": 1}], relevant=[["c"]] * 2, item_ids=["c", "d", "e"]), lambda: users(seen=[["c"], ["d"]], relevant=[["c"]] * 2, item_ids=["c", "d", "e"])),
    "scored candidates": (TypeError, "candidates of user 0 holds (1, 0.5), an item and a number", lambda: users(candidates=[[(1, 0.5)], [(2, 0.1)]]), lambda: users(candidates=[[1], [2]])),
    "an id beside pairs": (TypeError, "relevant of user 0 holds ('d', 1), an item and a number", lambda: users(relevant=[["c", ("d", 1)], []], item_ids=["c", "d", "e"], unknown_items="drop"), lambda: users(relevant=[["c", "d"], []], item_ids=["c", "d", "e"], unknown_items="drop")),
    "negative labels of names": (ValueError, "relevant of user 0: labels holds -1 at 0; pass values of at least 0", lambda: users(relevant=[{0: -1}, {1: 1}]), lambda: users(relevant=[{0: 0}, {1: 1}])),
    "labels that lack": (ValueError, "relevant of user 0: labels is None at 0; pass a value there", lambda: users(relevant=[{0: None}, {1: 1}]), lambda: users(relevant=[{0: 1}, {1: 1}])),
    "splits of a dataset": (TypeError, "seen: got a DatasetDict of ['train', 'test']; pass one split, as dataset['test']", lambda: users(seen=DatasetDict(train=None, test=None)), lambda: users(relevant=DatasetDict(test=[[0], [1]], train=None)["test"])),
    "two labels of a pair": (ValueError, "relevant has two labels for an item of user 0; pass one label", lambda: users(relevant=[[(0, 1), (0, 2)], []]), lambda: users(relevant=[[(0, 2)], []])),
    "bytes as items": (TypeError, "seen of user 0: got a bytes; pass a list", lambda: users(seen=[b"c", b"d"], relevant=[[99]] * 2, item_ids=[99, 100, 101]), lambda: users(seen=[[b"c"], [b"d"]], relevant=[[b"c"]] * 2, item_ids=[b"c", b"d", b"e"])),
    "a user of no name": (ValueError, "relevant holds 'c', which is not in user_ids (1 such", lambda: users(relevant={"c": [0]}, user_ids=["a", "b"]), lambda: [users(relevant={"c": [0]}, user_ids=["c", "b"]), users(relevant={"a": [0]}, user_ids=["a", "b"])]),
    "an item of no name": (ValueError, "seen of user 1 holds 'd', which is not in item_ids", lambda: users(seen=[["c"], ["d"]], relevant=[["c"]] * 2, item_ids=["c", "e", "f"]), lambda: [users(seen=[["c"], ["d"]], relevant=[["c"]] * 2, item_ids=["c", "e", "f"], unknown_items="drop"), users(seen=[["c"], ["d"]], relevant=[["c"]] * 2, item_ids=["c", "d", "e"])]),
    "a chosen user of no name": (ValueError, "users holds 1, which is not in user_ids", lambda: users(users=[1], user_ids=["a", "b"]), lambda: users(users=["b"], user_ids=["a", "b"])),
    "names of three users": (ValueError, "user_ids has 3 ids, but there are 2 users", lambda: users(user_ids=["a", "b", "c"]), lambda: users(user_ids=["a", "b"])),
    "names of two items": (ValueError, "item_ids has 2 ids, but there are 3 items", lambda: users(relevant=[["a"]] * 2, item_ids=["a", "b"]), lambda: users(relevant=[["a"]] * 2, item_ids=["a", "b", "c"])),
    "two users of a name": (ValueError, "user_ids holds 'a' twice", lambda: users(user_ids=["a", "a"]), lambda: users(user_ids=["a", "b"])),
    "names of nothing": (ValueError, "item_ids is empty", lambda: users(item_ids=[]), lambda: users(item_ids=[0, 1, 2])),
    "a missing name": (ValueError, "query_ids is None at 1", lambda: queries(query_ids=["a", None]), lambda: queries(query_ids=["a", "b"])),
    "names of three queries": (ValueError, "query_ids has 3 ids, but there are 2 queries", lambda: queries(query_ids=[1, 2, 3]), lambda: queries(query_ids=[1, 2])),
    "a name as a user who saw": (TypeError, "seen has the key 'b'", lambda: users(seen={"b": [1]}), lambda: users(seen={"b": [1]}, user_ids=["a", "b"])),
    "an unknown item": (ValueError, "relevant of user 1 holds the item 3", lambda: users(relevant=[[0], [1, 3]]), lambda: users(relevant=[[0], [0, 2]])),
    "a huge id": (ValueError, "relevant of user 1 holds the id 18446744073709551615", lambda: users(relevant=of_column(np.array([2**64 - 1], np.uint64))), lambda: users(relevant=of_column(np.array([2**64 - 1], np.uint64)), item_ids=[1, 2, 2**64 - 1])),
    "a negative label": (ValueError, "relevant holds -1", lambda: users(relevant=sparse(MATRIX - 1)), lambda: users(relevant=sparse(MATRIX + 1))),
    "users of floats": (TypeError, "users: got an array of float64", lambda: users(users=[0.5]), lambda: users(users=[0])),
    "negative users": (ValueError, "users go from -1 to 1", lambda: users(users=[1, -1]), lambda: users(users=[1, 0])),
    "users beyond the model": (ValueError, "users go up to 2, but model has 2", lambda: users(users=[2]), lambda: users(users=[1])),
    "a user twice": (ValueError, "users holds 1 2 times; pass each user once", lambda: users(users=[1, 0, 1]), lambda: users(users=[*dict.fromkeys([1, 0, 1])])),
    "a name of a user twice": (ValueError, "users holds b 2 times", lambda: users(users=["b", "b"], user_ids=["a", "b"]), lambda: users(users=[*dict.fromkeys(["b", "b"])], user_ids=["a", "b"])),
    "a negative id": (ValueError, "relevant of user 1 holds -5, which is no item, and only -1 is padding", lambda: users(relevant=np.array([[0, -1], [1, -5]])), lambda: users(relevant=np.array([[0, -1], [1, -5]]), item_ids=[0, 1, -5])),
    "a negative id of a user": (ValueError, "seen of user 4 holds -2", lambda: users(model=lambda rows: MATRIX[rows % 2], relevant={4: [0]}, seen={4: [1, -2]}), lambda: users(model=any_user, relevant={4: [0]}, seen={4: [1, -1]})),
    "a negative item of a frame": (ValueError, "relevant holds -2, which is no item", lambda: of_frame("pandas", "relevant", {"user": [0, 1], "item": [-1, -2]}), lambda: of_frame("pandas", "relevant", {"user": [0, 1], "item": [0, 1]})),
    "an unknown id of another kind": (ValueError, "holds '7', which is not in item_ids (1 such entries); pass exact ids of the same kind as 7", lambda: users(relevant=[["7"], [8]], item_ids=[7, 8, 9], unknown_items="miss"), lambda: users(relevant=[[7], [8]], item_ids=[7, 8, 9], unknown_items="miss")),
    "an unknown id that was rounded": (ValueError, "holds 1.8e+16, which is not in item_ids", lambda: users(relevant=[[1.8e16], [8]], item_ids=[7, 8, 9], unknown_items="drop"), lambda: users(relevant=[[18 * 10**15], [8]], item_ids=[7, 8, 9], unknown_items="drop")),
    "a negative id that is not named": (ValueError, "relevant of user b holds -8, which is not in item_ids", lambda: users(relevant={"a": [7, -1], "b": [-8]}, user_ids=["a", "b"], item_ids=[7, -5, 2**63 - 1]), lambda: users(relevant={"a": [7, -1], "b": [-8]}, user_ids=["a", "b"], item_ids=[7, -5, 2**63 - 1], unknown_items="drop")),
    "a negative user": (ValueError, "relevant holds -1, which is not in user_ids", lambda: users(relevant={-1: [0]}, user_ids=[-8, 7]), lambda: users(relevant={-1: [0]}, user_ids=[-8, -1])),
    "a number in place of a list": (TypeError, "relevant of user b is 7; pass a list of ids for each user", lambda: users(relevant={"a": [7], "b": 7}, user_ids=["a", "b"], item_ids=[7, 8, 9]), lambda: [users(relevant={"a": [7], "b": [7]}, user_ids=["a", "b"], item_ids=[7, 8, 9]), users(relevant=np.array([7, 7])[:, None], item_ids=[7, 8, 9])]),
    "no candidates": (ValueError, "candidates of user b is None, not a list; pass the candidates of each user, or []", lambda: users(candidates={"a": [0], "b": None}, user_ids=["a", "b"]), lambda: users(candidates={"a": [0], "b": []}, user_ids=["a", "b"])),
    "nan as candidates": (ValueError, "candidates of user 1 is nan", lambda: users(candidates=[[0], float("nan")]), lambda: users(candidates=[[0], []])),
    "two labels of named items": (ValueError, "relevant has two labels for the item y of user b", lambda: users(relevant=FRAMES["pandas"].DataFrame({"user": ["b", "b"], "item": ["y", "y"], "label": [1, 2]}), user_ids=["a", "b"], item_ids=["x", "y", "z"]), lambda: users(relevant=FRAMES["pandas"].DataFrame({"user": ["b"], "item": ["y"], "label": [2]}), user_ids=["a", "b"], item_ids=["x", "y", "z"])),
    "nan of named users": (ValueError, "the scores of model for user b hold nan: model[1] holds nan for 1 of 3 items, such as item z", lambda: users(model=(np.ones((2, 2), np.float32), np.float32([[1, 1], [0, 1], [np.nan, 1]])), relevant={"b": ["x"]}, user_ids=["a", "b"], item_ids=["x", "y", "z"]), lambda: users(model=(np.ones((2, 2), np.float32), np.float32([[1, 1], [0, 1], [np.nan, 1]])), relevant={"b": ["x"]}, user_ids=["a", "b"], item_ids=["x", "y", "z"], item_mask=[True, True, False])),
    "users beyond the labels": (ValueError, "relevant has 1 users, but not user 1; pass one row for each", lambda: users(relevant=[[0]], users=[1]), lambda: users(relevant=[[0], [1]], users=[1])),
    "no cutoff": (ValueError, "no metric has a cutoff", lambda: users(metrics="mrr"), lambda: users(metrics="mrr", k=2)),
    "k of users": (ValueError, "k is 0", lambda: users(k=0), lambda: users(k=2)),
    "a batch of nobody": (ValueError, "batch_size is 0", lambda: users(batch_size=0), lambda: users(batch_size=32)),
    "a block of no items": (ValueError, "block_size is 0", lambda: users(block_size=0), lambda: users(block_size=3)),
    "undefined of users": (ValueError, "undefined is 'two'", lambda: users(undefined="two"), lambda: users(undefined="skip")),
    "ties of users": (ValueError, "ties is 'first'", lambda: users(ties="first"), lambda: users(ties="stable")),
    "a mask of two items": (ValueError, "item_mask has shape", lambda: users(item_mask=np.ones(2, bool)), lambda: users(item_mask=np.ones(3, bool))),
    "embeddings of two items": (ValueError, "item_columns['embeddings'] has shape", lambda: users(metrics="intra_list_diversity@2", item_columns={"embeddings": MATRIX}), lambda: users(metrics="intra_list_diversity@2", item_columns={"embeddings": MATRIX.T})),
    "progress of users": (TypeError, "progress is 1", lambda: users(progress=1), lambda: [users(progress=x) for x in (False, lambda done, of: None)]),
    **{
        f"{name} as {form}": (TypeError, f"{name} looks like.*csr_array(", lambda name=name, change=change: users(**{"model": WIDE, "relevant": [[2], [3]], name: change(LABELS)}), lambda name=name, change=change: users(**{"model": WIDE, "relevant": [[2], [3]], name: rows_of_matrix(change(LABELS))}))
        for name in ("relevant", "seen") for form, change in DENSE.items()
    },
    # A model that diverged has no metrics, although nan has a place in the order; nor has
    # one that does not know an item, relevant or not: it would come last for all.
    **rows_of(
        "a model of nan", ValueError, "scores of model for user .* hold nan", lambda model: users(model=model, relevant=[[1], [2]]),
        MATRIX * np.nan, lambda users: (MATRIX * np.nan)[users], np.float32([[0.5, np.nan, 0.1], [0.2, 0.3, 0.4]]),
        np.float32([[0.5, 0.4, 0.3], [np.nan, 0.1, 0.2]]), (MATRIX * np.nan, np.eye(3)), (np.eye(2, 3), np.eye(3) * np.nan), (np.eye(2, 3), np.diag([1, np.nan, 1])),
        follow=lambda: users(model=np.float32([[0.5, -np.inf, 0.1], [0.2, 0.3, 0.4]])),
    ),
    # frames of pairs
    **{
        f"{library}, {name}: {text}": (error, f"{name}.*{text}", functools.partial(of_frame, library, name, columns), functools.partial(of_frame, library, name, advised))
        for library in FRAMES for error, text, name, columns, advised in (
            (ValueError, "'uid', 'item'; pass a frame", "seen", {"uid": [0], "item": [0]}, {"user": [0], "item": [0]}),
            (ValueError, "'when'; .* no others", "relevant", TWICE | {"when": [1, 2]}, TWICE),
            (ValueError, "the columns 'item';", "seen", {"item": [0]}, {"query": [0], "item": [0]}),
            (ValueError, "'query'; pass a frame", "relevant", TWICE | {"query": [0, 0]}, TWICE),
            (ValueError, "'label'; .* item, and no", "seen", TWICE | {"label": [1, 1]}, TWICE),
            (TypeError, "'user' holds", "seen", {"user": ["a"], "item": [0]}, {"user": [0], "item": [0]}),
            (TypeError, "'item' holds .* lacks", "seen", {"user": [0], "item": [1.5]}, {"user": [0], "item": [1]}),
            (ValueError, "'item' is nan at 1; pass", "relevant", {"user": [0, 1], "item": [1, None]}, {"user": [0, 1], "item": [1, 0]}),
            (ValueError, "'item' holds 18446744073709551615", "seen", {"user": [1], "item": np.array([2**64 - 1], np.uint64)}, {"user": [1], "item": [7]}),
            (ValueError, "from 0 to 99", "relevant", {"user": [0, 99], "item": [1, 1]}, {"user": [0, 8], "item": [1, 1]}),
            (ValueError, "from -1 to 0", "seen", {"user": [0, -1], "item": [1, 1]}, {"user": [0, 8], "item": [1, 1]}),
            (ValueError, "user 3 holds the item 12", "seen", {"user": [3], "item": [12]}, {"user": [3], "item": [11]}),
            (ValueError, "item 1 of user 4", "relevant", TWICE | {"label": [1, 2]}, {"user": [4], "item": [1], "label": [2]}),
            (ValueError, "'label' holds -1", "relevant", TWICE | {"label": [1, -1]}, {"user": [4, 4], "item": [1, 2], "label": [1, 0]}),
            (ValueError, "'label' holds nan", "relevant", TWICE | {"label": [1.0, np.nan]}, {"user": [4, 4], "item": [1, 2], "label": [1.0, 0.0]}),
            (TypeError, "'label' holds", "relevant", TWICE | {"label": ["a", "b"]}, {"user": [4, 4], "item": [1, 2], "label": [1, 2]}),
            (TypeError, "'label' holds .*as float32", "relevant", TWICE | {"label": np.ones(2, np.float16)}, TWICE | {"label": np.ones(2, np.float32)}),
            (ValueError, "has no users", "relevant", {"user": [], "item": []}, {"user": [0], "item": [0]}),
        )
    },
    # what they return
    "groups of two users": (ValueError, "groups has 3 entries.*2 users", lambda: evaluation().by(["a", "b", "a"]), lambda: evaluation().by(["a", "b"])),
    "a user of no group": (ValueError, "groups is None at 1; pass an id there", lambda: evaluation().by(["a", None]), lambda: evaluation().by(["a", "b"])),
    "a metric that was not asked for": (KeyError, "'recall@5' is not one of the metrics .*recall@3.*lists", lambda: evaluation()["recall@5"]),
    "a metric by its number": (KeyError, "0 is not one of the metrics .*recall@3.*lists", lambda: evaluation()[0]),
    "a metric as an attribute": (AttributeError, "no attribute 'ndcg'.*.states[", lambda: evaluation().ndcg, lambda: [evaluation().states["recall@3"].compute(), evaluation().lists["recall@3"].values, jrm.compute(evaluation())]),
    "merged evaluations": (TypeError, "a UserEvaluation; pass its .states", lambda: jrm.merge(evaluation()), lambda: jrm.merge(evaluation().states, evaluation().states)),
    "a mean of an evaluation": (TypeError, "a UserEvaluation; pass its .lists", lambda: jrm.mean(evaluation()), lambda: jrm.mean(evaluation().lists)),
    # queries
    "attributes of other queries": (ValueError, "query_attributes has shape (3,)", lambda: queries(relevant=by([1, 2, 3])), lambda: queries(relevant=by([1, 2]))),
    "rows of users' candidates": (ValueError, "candidates has 3 rows", lambda: users(candidates=[[0]] * 3), lambda: users(candidates={0: [0]})),
    "dense candidates": (TypeError, "candidates looks like a matrix", lambda: users(candidates=[[0, 1, 0], [0, 0, 1]]), lambda: users(candidates=sparse([[0, 1, 0], [0, 0, 1]]))),
    "an unknown candidate": (ValueError, "candidates", lambda: users(candidates=[[0], [3]]), lambda: users(candidates=[[0], [2]])),
    "candidates of others": (ValueError, "candidates names none of the users", lambda: users(model=lambda rows: MATRIX, candidates={7: [0]}), lambda: users(model=any_user, candidates={0: [0], 1: [1]})),
    "rows that a function does not tell": (ValueError, "relevant has 2 rows and candidates has 3", lambda: users(model=lambda rows: MATRIX, candidates=[[0]] * 3), lambda: users(model=any_user, candidates=[[0]] * 2)),
    "weights of other lists": (ValueError, "list_weights holds float64 of shape (3,); pass one number for each of 2 users", lambda: users(list_weights=np.ones(3)), lambda: users(list_weights=np.ones(2))),
    "a weight of a named user": (ValueError, "list_weights is nan at v; pass finite", lambda: users(user_ids=["u", "v"], list_weights={"v": np.nan, "u": 1}), lambda: users(user_ids=["u", "v"], list_weights={"v": 0, "u": 1})),
    "a weight below 0": (ValueError, "list_weights is -1.0 at 1", lambda: users(list_weights=[1.0, -1.0]), lambda: users(list_weights=[1.0, 0.0])),
    "a weight beyond float32": (ValueError, "list_weights holds 1e+39, but sums .* only for weights from 1e-12 to 1e+12; pass 0 for weights far below the largest, 1e+39, and divide them by their mean", lambda: users(list_weights=[1.0, 1e39]), lambda: users(list_weights=np.array([0, 1e39]) / np.mean([0, 1e39]))),
    "small weights": (ValueError, "list_weights holds 1e-38, but sums .*; divide them by their mean", lambda: users(list_weights=[1e-38, 1e-38]), lambda: users(list_weights=np.array([1e-38, 1e-38]) / 1e-38)),
    "an infinite weight": (ValueError, "list_weights holds inf, but sums in float32 .*; pass finite numbers", lambda: jrm.evaluate("mrr", [[1, 0]] * 2, [[2, 1]] * 2, list_weights=[1, np.inf]), lambda: jrm.evaluate("mrr", [[1, 0]] * 2, [[2, 1]] * 2, list_weights=[1, 2])),
    "a score beyond float32": (ValueError, "model: float64 values beyond ±3.4e38", lambda: users(model=np.where(MATRIX == 0, -1e39, 0)), lambda: [users(model=np.where(MATRIX == 0, -1e38, 0)), in_64_bits(lambda: users(model=np.where(MATRIX == 0, -1e39, 0)))]),
    "a weight without a user": (ValueError, "list_weights", lambda: users(list_weights={0: 1.0, 7: 2.0}), lambda: users(list_weights={0: 1.0, 1: 2.0})),
    "weights of words": (ValueError, "pass one number for each of 2 queries", lambda: queries(list_weights=["a", "b"]), lambda: queries(list_weights=[1, 2])),
    "candidates with attributes": (ValueError, "candidates is given, but relevant is by attributes", lambda: queries(relevant=by([1, 2]), candidates=[[0], [1]]), lambda: queries(relevant=[[0], [1]], candidates=[[0], [1]])),
    "itself among other items": (ValueError, "exclude_self is True, but there are 2", lambda: queries(exclude_self=True), lambda: [queries(exclude=[[0], [1]]), queries(exclude_self=True, query_ids=["a", "b"], item_ids=["a", "b", "c"], relevant=[["b"], ["c"]])]),
    "rows of queries": (ValueError, "relevant has 1 rows, but there are 2 q", lambda: queries(relevant=[[0]]), lambda: queries(relevant={0: [0]})),
    "an item of no query": (ValueError, "relevant of query 1 holds the item 3", lambda: queries(relevant=[[0], [3]]), lambda: queries(relevant=[[0], [2]])),
    "unknown queries": (ValueError, "relevant has queries from 0 to 2", lambda: queries(relevant={0: [1], 2: [0]}), lambda: queries(relevant={0: [1], 1: [0]})),
    "rows of candidates": (ValueError, "candidates has 3 rows", lambda: queries(candidates=[[0]] * 3), lambda: queries(candidates={0: [0], 1: [0]})),
    "an unknown excluded item": (ValueError, "exclude of query 0 holds the item 9", lambda: queries(exclude=[[9], []]), lambda: queries(exclude=[[2], []])),
    "a similarity's name": (ValueError, "similarity is 'cos'; pass a function or one", lambda: queries(similarity="cos"), lambda: queries(similarity="dot")),
    "one id for each query": (TypeError, "relevant of query 0 is 2.*ids[:, None]", lambda: queries(relevant=[2, 0]), lambda: queries(relevant=np.array([2, 0])[:, None])),
    "a similarity's kind": (ValueError, "similarity is 3; pass a function", lambda: queries(similarity=3), lambda: queries(similarity=products)),
    "a similarity's shape": (ValueError, "similarity gives .* return scores of shape (2, 3)", lambda: queries(similarity=lambda queries, items: queries @ items.T @ items), lambda: queries(similarity=products)),
    "hamming of floats": (TypeError, 'queries: dtype is float32, but similarity "hamming" compares bits; pass packed bits', lambda: queries(similarity="hamming"), lambda: queries(queries=np.packbits(QUERY > 0, axis=-1), items=np.packbits(ITEM > 3, axis=-1), similarity="hamming")),
    "items of other dims": (ValueError, "items has shape (3, 2)", lambda: queries(items=BITS), lambda: [queries(items=ITEM), queries(items=BITS, similarity=lambda queries, items: queries[:, :2] @ jnp.float32(items).T)]),
    "several vectors of a query": (ValueError, "queries has shape (2, 2, 4) and items has shape (3, 4); pass [queries, dims]", lambda: queries(queries=np.ones((2, 2, 4))), lambda: [queries(), queries(queries=jrm.Tokens(np.ones((2, 2, 4))), items=jrm.Tokens(ITEM[:, None]), similarity="maxsim")]),
    "a vector for all queries": (ValueError, "queries has shape (4,) and items has shape (3, 4); pass [queries, dims]", lambda: queries(queries=np.ones(4)), lambda: queries(queries=np.ones(4)[None], relevant=[[0]])),
    "no items": (ValueError, "items has shape (0, 4)", lambda: queries(items=ITEM[:0]), lambda: queries(items=ITEM)),
    "an item of nan": (ValueError, "items holds nan for 1 of 3", lambda: queries(queries=np.eye(2, 3), items=np.diag([1, np.nan, 1])), lambda: queries(queries=np.eye(2, 3), items=np.diag([1, np.nan, 1]), item_mask=[True, False, True])),
    "queries of nan": (ValueError, "query 0 hold nan: queries holds nan for query 0", lambda: queries(queries=QUERY * np.nan), lambda: queries(queries=QUERY)),
    "an infinite item": (ValueError, "items is infinite for 1 of 3 items, such as item 2, and", lambda: queries(items=INFINITE), lambda: queries(items=INFINITE, item_mask=[True, True, False])),
    "products that overflow": (ValueError, "query 0 hold nan: products overflow", lambda: queries(queries=np.full((2, 4), 9.0), items=np.float32([[3e38, -3e38] * 2] * 3)), lambda: queries(queries=np.full((2, 4), 9.0), items=np.float32([[3e36, -3e36] * 2] * 3))),
    "a mask of two of three items": (ValueError, "item_mask has shape", lambda: queries(item_mask=np.ones(2, bool)), lambda: queries(item_mask=np.ones(3, bool))),
    "queries without a cutoff": (ValueError, "no metric has a cutoff", lambda: queries(metrics="mrr"), lambda: queries(metrics="mrr", k=1)),
    "a block of nothing": (ValueError, "block_size is 0", lambda: queries(block_size=0), lambda: queries(block_size=3)),
    "undefined of queries": (ValueError, "undefined is 'two'", lambda: queries(undefined="two"), lambda: queries(undefined="skip")),
    "traced queries": (TypeError, "queries is traced; make this call outside", lambda: jax.jit(queries_of)(QUERY), lambda: queries(queries=jax.jit(lambda x: x)(QUERY))),
    # meshes
    "one axis of users and items": (ValueError, "'q'.* would cut both queries and items", lambda: of_shards(("q",), ("q",)), lambda: of_shards(("q",), ("q",), **ON_GRID)),
    "an axis of dims": (ValueError, "along its axis 1", lambda: of_shards((None, "q"), ("i",)), lambda: of_shards((None, "q"), ("i",), **ON_GRID)),
    "an axis without a mesh": (ValueError, "is given, but there is no mesh; pass mesh", lambda: users(queries_axis="q"), lambda: users(**ON_GRID | {"items_axis": None})),
    "a mesh without an axis": (ValueError, "without an axis", lambda: users(mesh=GRID), lambda: users(mesh=GRID, queries_axis="q")),
    "an axis of no mesh": (ValueError, "'x' is not an axis of the mesh, whose axes are .*; pass axes of the mesh", lambda: users(**ON_GRID | {"items_axis": "x"}), lambda: users(**ON_GRID | {"items_axis": None})),
    "another mesh": (ValueError, "another mesh", lambda: of_shards(("q",), ("i",), mesh=jax.make_mesh((8,), ("q",), devices=jax.devices()[::-1])), lambda: of_shards(("q",), ("i",), **ON_GRID)),
    # parts
    "parts of other catalogues": (ValueError, "differ in their numbers of items: 1 and 2", lambda: evaluation().merge(dataclasses.replace(evaluation(), num_items=2)), lambda: evaluation().merge(dataclasses.replace(evaluation(), users=np.array([2, 3])))),
    "exposure of lists that were not kept": (ValueError, "leave keep_lists=False out of the call that made it, or read its .exposure", lambda: jrm.exposure(without_lists()), traced(lambda: [jrm.exposure(evaluation()), without_lists().exposure])),
    "a part that is no evaluation": (TypeError, "merge: got 3 beside Evaluation", lambda: PART.merge(3), lambda: part(query_ids=np.arange(2)).merge(part(query_ids=np.arange(2, 4)))),
    "parts of other metrics": (ValueError, "differ in their metrics: ['mrr'] and ['map']", lambda: PART.merge(part(metric="map")), lambda: PART.merge(part())),
    "parts with and without lists": (ValueError, "differ in their keep_lists: True and False", lambda: PART.merge(part(lists={})), lambda: PART.merge(part())),
    "parts with and without ids": (ValueError, "differ in their ids of queries: False and True", lambda: PART.merge(part(query_ids=np.arange(2))), lambda: PART.merge(part())),
    "parts that share a query": (ValueError, "1 is among the queries of two evaluations; merge evaluations of different queries", lambda: part(query_ids=np.arange(2)).merge(part(query_ids=np.arange(1, 3))), lambda: part(query_ids=np.arange(2)).merge(part(query_ids=np.arange(2, 4)))),
    "groups of values that were not kept": (ValueError, "leave keep_lists=False out", lambda: part(items=np.zeros((0, 1), np.int32), num_queries=2).by("ab"), lambda: part().by([*"ab"])),
    # blocks
    "an iterator for two passes": (ValueError, "a function that returns a fresh iterator", lambda: queries(metrics="mrr", items=iter(BLOCKS), k=1), lambda: [queries(metrics="mrr", items=x, k=1) for x in (BLOCKS, memory_mapped(ITEM), lambda: iter(BLOCKS))]),
    "blocks of no item": (ValueError, "items has no item", lambda: queries(metrics="mrr", items=[ITEM[:0]], k=1), lambda: queries(metrics="mrr", items=[ITEM[:0], ITEM], k=1)),
    "a function of no block": (ValueError, "items has no item", lambda: queries(metrics="mrr", items=lambda: iter(()), k=1), lambda: queries(metrics="mrr", items=lambda: iter((ITEM,)), k=1)),
    "a function of a number": (TypeError, "function that returned 3; return", lambda: queries(items=lambda: 3), lambda: queries(items=lambda: iter(BLOCKS))),
    "a function of numbers": (TypeError, "the block 3, which has no axis of items; pass arrays", lambda: queries(items=lambda: [3]), lambda: queries(items=lambda: BLOCKS)),
    "candidates of blocks": (ValueError, "candidates is given", lambda: queries(items=BLOCKS, candidates=[[0], [1]]), lambda: queries(items=np.concatenate(BLOCKS), candidates=[[0], [1]])),
    **{
        f"{name} cut by items_axis": (ValueError, "items come in blocks; pass a memory-mapped", lambda items=items: over_devices("items_axis", items=items()), lambda items=items: [over_devices("items_axis", items=memory_mapped(ITEM)), over_devices("queries_axis", items=items())])
        for name, items in {"blocks": lambda: BLOCKS, "a function of blocks": lambda: lambda: iter(BLOCKS), "an iterator": lambda: iter(BLOCKS)}.items()
    },
    # sparse vectors
    "sparse items alone": (ValueError, "items is sparse, but", lambda: queries(items=SPARSE), lambda: [of_sparse(), queries(queries=SPARSE.toarray(), items=SPARSE.toarray())]),
    "sparse queries alone": (ValueError, "queries is sparse, but", lambda: queries(queries=SPARSE), lambda: of_sparse(queries=SPARSE)),
    "cosines of sparse vectors": (ValueError, "similarity is 'cosine'", lambda: of_sparse(similarity="cosine"), lambda: [of_sparse(), queries(queries=SPARSE.toarray(), items=SPARSE.toarray(), similarity="cosine")]),
    "sparse queries of other dims": (ValueError, "shape (2, 11)", lambda: of_sparse(queries=scipy.sparse.csr_array((2, 11))), lambda: of_sparse(queries=scipy.sparse.csr_array((2, 12)))),
    "no sparse items": (ValueError, "at least one row", lambda: of_sparse(items=scipy.sparse.csr_array((0, 12))), lambda: of_sparse()),
    "complex sparse items": (TypeError, "complex128", lambda: of_sparse(items=SPARSE * 1j), lambda: of_sparse(items=(SPARSE * 1j).real)),
    "a sparse nan of a name": (ValueError, "items holds nan in item a, whose scores would be nan", lambda: of_sparse(items=SPARSE * np.nan, item_ids=["a", "b"], relevant=[["a"], ["b"]]), lambda: of_sparse(items=sparse(np.diag([np.nan, 1])), queries=sparse(np.eye(2)), item_ids=["a", "b"], relevant=[["a"], ["b"]], item_mask=[False, True], metrics="recall@1")),
    "a sparse nan": (ValueError, "holds nan in row", lambda: of_sparse(items=SPARSE * np.nan), lambda: of_sparse(items=sparse(np.diag([np.nan, 1])), queries=sparse(np.eye(2)), item_mask=[False, True], metrics="recall@1")),
    "sparse products": (ValueError, "products overflow", lambda: of_sparse(queries=sparse(WIDE + 1e30), items=sparse(np.float32([1e30, -1e30] * 6)[None]), relevant=[[0], [0]], metrics="recall@1"), lambda: of_sparse(queries=sparse(WIDE + 1), items=sparse(np.float32([1e30, -1e30] * 6)[None]), relevant=[[0], [0]], metrics="recall@1")),
    "a batch of no sparse queries": (ValueError, "batch_size", lambda: of_sparse(batch_size=0), lambda: of_sparse(batch_size=1)),
    # tokens
    "an array as tokens": (TypeError, "pass jrm.Tokens, or a list of arrays", lambda: of_tokens(items=np.ones((3, 2))), lambda: [of_tokens(), of_tokens(items=jrm.Tokens(np.stack(TOKENS)))]),
    "tokens of two kinds": (ValueError, "pass arrays of one kind", lambda: of_tokens(items=[*TOKENS, np.ones((2, 6))]), lambda: of_tokens(items=[*TOKENS, np.ones((2, 6), np.float32)])),
    "tokens of other dims": (ValueError, "tokens of queries have 6 dims", lambda: of_tokens(items=[x[:, 1:] for x in TOKENS]), lambda: of_tokens(items=TOKENS)),
    "no tokens": (ValueError, "at least one", lambda: of_tokens(items=[]), lambda: of_tokens(items=TOKENS)),
    "tokens of two axes": (ValueError, "shape (3, 2)", lambda: of_tokens(queries=jrm.Tokens(np.ones((3, 2)))), lambda: of_tokens(queries=jrm.Tokens(np.ones((3, 2, 6))))),
    "a mask of queries": (ValueError, "queries.mask", lambda: of_tokens(queries=jrm.Tokens(np.ones((3, 2, 6)), np.ones(3) > 0)), lambda: of_tokens(queries=jrm.Tokens(np.ones((3, 2, 6)), np.ones((3, 2)) > 0))),
    "blocks of candidates": (ValueError, "come in blocks", lambda: of_tokens(items=iter([TOKENS]), candidates=[[0]] * 3), lambda: of_tokens(candidates=[[0]] * 3)),
    # links
    "triples of two columns": (ValueError, "triples has shape (2, 2)", lambda: links(triples=TRIPLES[:, :2]), lambda: links(triples=np.insert(TRIPLES[:, :2], 1, 0, axis=1))),
    "no triples": (ValueError, "triples is empty", lambda: links(triples=[]), lambda: links(triples=TRIPLES[:1])),
    "triples of floats": (TypeError, "triples: got float64", lambda: links(triples=TRIPLES / 2), lambda: links(triples=(TRIPLES / 1).astype(int))),
    "known triples of two columns": (ValueError, "known[1] has shape", lambda: links(known=(TRIPLES, TRIPLES[:, :2])), lambda: links(known=(TRIPLES, TRIPLES))),
    "a tail that is not there": (ValueError, "known holds .* tail is not", lambda: links(known=TRIPLES + [0, 0, 20]), lambda: links(known=TRIPLES + [0, 0, 20], num_entities=22, score_fn=lambda *_: np.zeros((2, 22)))),
    "a head that is not there": (ValueError, "head is not a number from 0 to 1; pass triples (head, relation, tail), and the number of all entities as num_entities", lambda: links(num_entities=2), lambda: links(num_entities=3)),
    "candidates of no side": (TypeError, "candidates: got a dict of 'heads'; pass a dict from", lambda: links(candidates={"heads": [[0, 1, 2]]}), lambda: links(candidates={"head": {0: [0, 1, 2], 1: [0, 1, 2]}, "tail": {0: [0, 1, 2], 1: [0, 1, 2]}})),
    "a relation without candidates": (ValueError, "candidates has no tail for relation 0, but a triple has this relation", lambda: links(candidates={"tail": {9: [0, 1, 2]}}), lambda: links(candidates={"tail": {9: [0, 1, 2], 0: [0, 1, 2], 1: [0, 1, 2]}})),
    "scores in place of a function": (TypeError, "score_fn: got", lambda: links(score_fn=MATRIX), lambda: links(score_fn=lambda entities, relations, side: MATRIX)),
    "scores of other entities": (ValueError, "for 2 lists and 3", lambda: links(np.ones((2, 9))), lambda: links(np.ones((2, 3)))),
    "scores of nan": (ValueError, "for triple .* nan: return numbers where the head", lambda: links(np.full((2, 3), np.nan, np.float32)), lambda: links(np.full((2, 3), -np.inf, np.float32))),
    "k of links": (ValueError, "k is 0", lambda: links(k=0), lambda: links(k=1)),
}
# Calls that raise when the items or the groups have been read.
LATE = {
    "nan of an item on a mesh": (ValueError, "nan for 1 of 3 items, such as item 1", lambda: users(model=(np.eye(2, 3), np.diag([1, np.nan, 1])), **ON_GRID), lambda: users(model=(np.eye(2, 3), np.diag([1, np.nan, 1])), item_mask=[True, False, True], **ON_GRID)),
    "nan of a user on a mesh": (ValueError, "user 1 hold nan", lambda: users(model=np.where([[False], [True]], np.nan, MATRIX), **ON_GRID), lambda: users(model=np.where([[False], [True]], -np.inf, MATRIX), **ON_GRID)),
    "more users than there are": (ValueError, "'counts' holds a number above 3, which is num_users for user 1; pass how many", lambda: of_three_users([1, 2, 5]), lambda: of_three_users([1, 2, 3])),
    "nan of all users": (ValueError, "user 0 hold nan", lambda: users(model=MATRIX * np.nan, **ON_GRID), lambda: users(model=MATRIX, **ON_GRID)),
    "an infinite user on a mesh": (ValueError, "model[0] is infinite for user 5, and inf", lambda: of_shards(("q",), ("i",), np.where(np.arange(8)[:, None] == 5, np.float32(np.inf), EYE)), lambda: of_shards(("q",), ("i",))),
    "one iterator for two passes": (ValueError, "the same iterator twice", lambda: queries(metrics="mrr", items=functools.partial(next, iter([iter(BLOCKS)] * 2)), k=1), lambda: queries(metrics="mrr", items=lambda: (x for x in BLOCKS), k=1)),
    "some items of nobody": (ValueError, "holds no number above 0", lambda: users(metrics="group_recall(group=0)@1", item_columns={"groups": MATRIX.T * np.nan}), lambda: users(metrics="group_recall(group=0)@1", item_columns={"groups": np.float32([[1, 0], [0, 0], [np.nan, 1]])})),
    "groups that nothing reads": (ValueError, "no metric of this call reads", lambda: users(item_columns={"groups": MATRIX.T + 1}), lambda: users()),
    "an infinite item of a block": (ValueError, "infinite for 1 of 6 items, such as item 5, and", lambda: queries(items=[ITEM, INFINITE]), lambda: queries(items=[ITEM, INFINITE], item_mask=np.arange(6) < 5)),
    "nan of a later block": (ValueError, "nan for 3 of 6 items, such as item 3", lambda: queries(items=lambda: iter([ITEM, NAN])), lambda: queries(items=lambda: iter([ITEM, NAN]), item_mask=np.arange(6) < 3)),
    "a block of other dims": (ValueError, "items[1] is float32 of shape (3, 2)", lambda: queries(items=[ITEM, ITEM[:, :2]]), lambda: queries(items=[ITEM, ITEM])),
    "an item of no block": (ValueError, "relevant of query 0 holds the item 7, but there are 5", lambda: queries(items=iter(BLOCKS), relevant=[[7], [1]]), lambda: queries(items=iter(BLOCKS), relevant=[[4], [1]])),
    **{
        f"several relevant items of a query, {name}": (ValueError, "several are relevant for query 1; pass lists of one", functools.partial(call, metrics="mrr(rank=realistic)@3", relevant=[[0], [1, 2]], **options), lambda call=call, options=options: [call(metrics="mrr(rank=realistic)@3", relevant=[[0], [1]], **options), call(metrics="mrr@3", relevant=[[0], [1, 2]], **options)])
        for name, call, options in (("in a batch", queries, {"batch_size": 1}), ("on a mesh", functools.partial(over_devices, "queries_axis"), {}), ("of candidates", queries, {"candidates": [[0, 1, 2]] * 2}))
    },
    "whole lists by attributes": (ValueError, "map: .* no cutoff.*map@100.*block_size=3", lambda: queries(metrics="map", relevant=by([1, 2]), k=1, block_size=2), lambda: [queries(metrics=m, relevant=by([1, 2]), k=k, block_size=size) for m, k, size in (("map@100", 1, 2), ("map", 1, 3))]),
    "whole lists by attributes on devices": (ValueError, "map: .* no cutoff.*map@100", lambda: over_devices("items_axis", metrics="map", relevant=by([1, 2]), k=1), lambda: over_devices("items_axis", metrics="map@100", relevant=by([1, 2]), k=1)),
    **{
        f"nan of item {item} of 5 in blocks of 2": (ValueError, f"1 of 5 items, such as item {item}", lambda item=item: queries(items=np.where(np.arange(5)[:, None] == item, np.nan, np.ones((5, 4))), block_size=2), lambda item=item: queries(items=np.where(np.arange(5)[:, None] == item, np.nan, np.ones((5, 4))), item_mask=np.arange(5) != item, block_size=2))
        for item in (0, 3, 4)
    },
    "itself among other blocks": (ValueError, "5 items, but 2 were expected", lambda: queries(items=iter(BLOCKS), exclude_self=True), lambda: queries(items=iter(BLOCKS), queries=np.ones((5, 4)), relevant=[[0]] * 5, exclude_self=True)),
}
