"""The same lists, passed to every source of rankings in its own form.

The lists share the pool of items of one catalogue, each list leaves some items out, and
many scores tie.
"""

import dataclasses
import functools

import jax
import numpy as np
from cases import CASES, TOP
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm
from jax_rank_metrics.testing import COLUMNS

LISTS, ITEMS, RELEVANT, EXCLUDED = 8, 48, 9, 5


@dataclasses.dataclass(frozen=True)
class Problem:
    """Lists, as rows and as a catalogue."""

    labels: np.ndarray  # [lists, items]
    scores: np.ndarray
    mask: np.ndarray
    weights: np.ndarray | None
    list_weights: np.ndarray
    relevant_ids: np.ndarray
    relevant_labels: np.ndarray
    exclude_ids: np.ndarray
    item_mask: np.ndarray
    item_columns: dict  # [items, ...]
    listed_columns: dict  # [lists, relevant, ...]: all other items have 0
    columns: tuple  # the names of the columns that are passed, of either kind

    def rows(self, **changes):
        """Returns the arguments of `rank`."""
        options = {
            "list_weights": self.list_weights,
            "weights": self.weights,
            "columns": self.row_columns(),
        }
        arrays = (self.labels, self.scores, self.mask)
        return arrays, options | changes

    def row_columns(self):
        """Returns the columns of every item, `[lists, items, ...]`."""
        columns = {}
        for name in self.columns:
            if name in self.item_columns:
                columns[name] = np.stack([self.item_columns[name]] * LISTS)
                continue
            listed = self.listed_columns[name]
            columns[name] = np.zeros((LISTS, ITEMS, *listed.shape[2:]), listed.dtype)
            for row, ids in enumerate(self.relevant_ids):
                columns[name][row, ids[ids >= 0]] = listed[row, ids >= 0]
        return columns

    def columns_beside_ids(self):
        """Returns the columns of listed items, and the columns of all items."""
        known = {
            n: self.item_columns[n] for n in self.columns if n in self.item_columns
        }
        listed = {n: self.listed_columns[n] for n in self.columns if n not in known}
        return listed, known

    def for_source(self, source):
        """Returns the problem with the columns and labels that a source accepts."""
        if source == "labelled":
            labels = (self.labels > 0).astype(np.float32)
            return dataclasses.replace(self, columns=(), labels=labels)
        names = self.columns
        if source in COUNTED:  # costs of items that are not listed are not known
            names = tuple(name for name in names if name != "costs")
        return dataclasses.replace(self, columns=names)


def draw(rng, *, weigh_items=False, tied=True):
    """Draws graded labels, a list without items, and one without relevant items."""
    scores = rng.permutation(LISTS * ITEMS).reshape(LISTS, ITEMS).astype(np.float32)
    if tied:
        scores = np.round(rng.normal(size=(LISTS, ITEMS)) * 2).astype(np.float32)
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant[0] = -1
    relevant[1, 3:] = -1
    exclude = np.stack([rng.permutation(ITEMS)[:EXCLUDED] for _ in range(LISTS)])
    exclude[1], exclude[2, 1] = -1, exclude[2, 0]
    grades = np.float32([0, 0.5, 1, 1.75, 2, 3])
    relevant_labels = rng.choice(grades, relevant.shape)
    relevant_labels[np.arange(LISTS), rng.integers(3, size=LISTS)] = TOP
    item_mask = rng.random(ITEMS) > 0.1
    labels = np.zeros((LISTS, ITEMS), np.float32)
    mask = np.broadcast_to(item_mask, labels.shape).copy()
    for row in range(LISTS):
        for place, label in zip(relevant[row], relevant_labels[row], strict=True):
            if place >= 0:
                labels[row, place] = label
        mask[row, exclude[row][exclude[row] >= 0]] = False
    weights = rng.gamma(2, size=labels.shape).astype(np.float32)
    groups = COLUMNS["groups"](rng, (ITEMS,))
    groups[3, 0], groups[4, 1] = np.nan, -1  # read as 0
    return Problem(
        labels,
        scores,
        mask,
        weights if weigh_items else None,
        rng.gamma(2, size=LISTS).astype(np.float32),
        relevant.astype(np.int32),
        relevant_labels,
        exclude.astype(np.int32),
        item_mask,
        {"groups": groups},
        {name: column(rng, relevant.shape) for name, column in COLUMNS.items()},
        tuple(COLUMNS),
    )


def make_mesh(shape, names, kind=AxisType.Auto):
    """Makes a mesh over the first devices."""
    devices = jax.devices()[: int(np.prod(shape))]
    kinds = (kind,) * len(shape)
    return jax.make_mesh(shape, names, axis_types=kinds, devices=devices)


def put(mesh, arrays, *axes):
    """Cuts arrays over a mesh."""
    return jax.device_put(arrays, NamedSharding(mesh, P(*axes)))


# The sources: functions of a problem and of `k, ties, key`. Each returns a ranking, or the
# result of `then` on it.


def padded(problem, then=lambda ranking: ranking, **how):
    """Ranks lists as rows."""
    arrays, options = problem.rows(**how)
    return then(jrm.rank(*arrays, **options))


def packed(problem, then=lambda ranking: ranking, order=None, **how):
    """Ranks packed lists, with items shuffled unless their order matters."""
    arrays, options = problem.rows(**how)
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    if order is None:
        order = np.arange(ids.size)
        if how.get("ties") not in (None, "stable"):
            order = np.random.default_rng(5).permutation(ids.size)
    if options["weights"] is not None:
        options["weights"] = options["weights"].reshape(-1)[order]
    flat = (x.reshape(-1)[order] for x in arrays)
    options["columns"] = {
        name: x.reshape(-1, *x.shape[2:])[order]
        for name, x in options["columns"].items()
    }
    return then(jrm.rank(*flat, segment_ids=ids[order], num_segments=LISTS, **options))


def over_mesh(run, devices, lists_spec, items_spec):
    """Maps a function of lists, of items and of a key over devices, each with its own key."""

    def of_device(lists, items, key):
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        return run(lists, items, key, items_axis="model")

    mesh, in_specs = (
        make_mesh(devices, ("data", "model")),
        (lists_spec, items_spec, P()),
    )
    mapped = jax.shard_map(of_device, mesh=mesh, in_specs=in_specs, out_specs=P("data"))
    return jax.jit(mapped)


def sharded(problem, then=lambda ranking: ranking, devices=(1, 8), **how):
    """Ranks inside shard_map, with items and lists cut over one mesh axis each."""
    arrays, options = problem.rows(**how)
    key, list_weights = options.pop("key", None), options.pop("list_weights")
    of_items = {name: options.pop(name) for name in ("weights", "columns")}

    def ranked(list_weights, items, key, **axis):
        *arrays, of_items = items
        how = options | of_items | axis | {"list_weights": list_weights, "key": key}
        return then(jrm.rank(*arrays, **how))

    run = over_mesh(ranked, devices, P("data"), P("data", "model"))
    return run(list_weights, (*arrays, of_items), key)


def plain(problem, then=lambda ranking: ranking, kind=AxisType.Explicit, **how):
    """Ranks by the plain call on arrays whose lists and items are sharded."""
    arrays, options = problem.rows(**how)
    mesh = make_mesh((2, 4), ("data", "model"), kind)
    of_items = arrays, options["weights"], options["columns"]
    of_items = put(mesh, of_items, "data", "model")
    arrays, options["weights"], options["columns"] = of_items
    options["list_weights"] = put(mesh, options["list_weights"], "data")
    return then(jrm.rank(*arrays, **options))


def catalog(problem, then=lambda ranking: ranking, block_size=7, devices=None, **how):
    """Ranks a catalogue; queries are one-hot, so that products are the scores."""
    options = {
        "relevant_labels": problem.relevant_labels,
        "exclude_ids": problem.exclude_ids,
        "list_weights": problem.list_weights,
    }
    options["relevant_columns"], known = problem.columns_beside_ids()
    key = how.pop("key", None)
    how |= {"block_size": block_size}
    lists = np.eye(LISTS, dtype=np.float32), problem.relevant_ids, options
    of_items = problem.scores.T, problem.item_mask, known

    def ranked(lists, of_items, key, **axis):
        (queries, relevant_ids, options), (items, mask, known) = lists, of_items
        options = options | how | axis | {"item_mask": mask, "key": key}
        options["item_columns"] = known
        return then(jrm.rank_catalog(queries, items, relevant_ids, **options))

    if devices is not None:
        ranked = over_mesh(ranked, devices, P("data"), P("model"))
    return ranked(lists, of_items, key)


def scored(problem, then=lambda ranking: ranking, **how):
    """Ranks the items of a matrix of scores; few items are relevant."""
    columns, known = problem.columns_beside_ids()
    options = {
        "item_mask": problem.item_mask,
        "exclude_ids": problem.exclude_ids,
        "list_weights": problem.list_weights,
        "relevant_columns": columns,
        "item_columns": known,
    }
    ids, labels = problem.relevant_ids, problem.relevant_labels
    return then(jrm.rank_scores(problem.scores, ids, labels, **options | how))


def from_table(query, item):
    """Labels items by tables in place of attributes."""
    return item["labels"][:, query].T, ~item["mask"][:, query].T


def labelled(problem, then=lambda ranking: ranking, block_size=7, devices=None, **how):
    """Ranks a catalogue whose items a function labels; it removes excluded items.

    Labels are bools, unless all items are in one block.
    """
    labels = problem.labels.T
    labels = labels if block_size == ITEMS else labels > 0
    kept = (problem.mask | ~problem.item_mask).T
    key = how.pop("key", None)
    lists = np.eye(LISTS, dtype=np.float32), np.arange(LISTS), problem.list_weights
    items = problem.scores.T, {"labels": labels, "mask": kept}, problem.item_mask

    def run(lists, items, key, **axis):
        queries, numbers, list_weights = lists
        vectors, attributes, item_mask = items
        options = {"list_weights": list_weights, "item_mask": item_mask, "key": key}
        relevant = jrm.by_attributes(from_table, numbers, attributes)
        options |= how | axis | {"block_size": block_size}
        return then(jrm.rank_catalog(queries, vectors, relevant, **options))

    if devices is not None:
        run = over_mesh(run, devices, P("data"), P("model"))
    return run(lists, items, key)


def count_places(scores, has_rank):
    """Counts, for every item, the items above it and the items that tie with it."""
    others, scores = scores[..., None, :], scores[..., None]
    exists = has_rank[..., None, :]
    return ((others > scores) & exists).sum(-1), ((others == scores) & exists).sum(-1)


def places(problem, then=lambda ranking: ranking, k=None, ties=None):
    """Counts the places of listed items, and passes nothing else."""
    del k
    ids, exists = np.maximum(problem.relevant_ids, 0), problem.mask
    above, tied = (
        np.take_along_axis(x, ids, 1) for x in count_places(problem.scores, exists)
    )
    if ties is None:
        tied = np.maximum(tied, 1)
    else:
        # Items by score, then as the policy says, then by index.
        signs = {"stable": 0, "best": -1, "worst": 1}[ties] * problem.labels
        order = np.lexsort((signs, -problem.scores, ~exists))
        above, tied = np.take_along_axis(order.argsort(-1), ids, 1), np.ones_like(tied)
    is_listed = problem.relevant_ids >= 0
    columns, known = problem.columns_beside_ids()
    columns |= {name: column[ids] for name, column in known.items()}
    return then(
        jrm.rank_places(
            problem.relevant_labels,
            *(above, tied),
            is_listed & np.take_along_axis(problem.mask, ids, 1),
            num_retrieved=problem.mask.sum(-1),
            columns=columns,
            list_weights=problem.list_weights,
        )
    )


WEIGHABLE = {
    "packed": packed,
    "sharded": functools.partial(sharded, devices=(2, 4)),
    "plain": plain,
    "auto": functools.partial(plain, kind=AxisType.Auto),  # which the compiler divides
}
CATALOGS = {
    "scores": scored,
    "catalog": catalog,
    "catalog-sharded": functools.partial(catalog, block_size=4, devices=(2, 4)),
}
COUNTED = CATALOGS | {"places": places}
SOURCES = WEIGHABLE | COUNTED | {"labelled": labelled}


def check_same(actual, expected):
    """Checks that values, weights and defined lists are the same."""
    assert actual.keys() == expected.keys()
    for name, lists in expected.items():
        other, rtol = actual[name], CASES[name].rtol if name in CASES else 1e-6
        np.testing.assert_allclose(other.values, lists.values, rtol, 1e-6, err_msg=name)
        np.testing.assert_allclose(other.weights, lists.weights, 1e-6, err_msg=name)
        np.testing.assert_array_equal(other.defined, lists.defined, name)
