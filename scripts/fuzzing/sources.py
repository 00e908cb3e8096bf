"""The sources of rankings: how each is drawn and called, and which lists it ranks."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from fuzzing import draws
from fuzzing.case import Case, Cut, InvalidCase
from fuzzing.draws import Rng, chance, pick
from fuzzing.loops import Lists

MEASURE = """\
lists = jrm.measure(metrics, ranking)
states = {{name: x.mean({undefined!r}) for name, x in lists.items()}}
"""


def measured(case: Case, ranking: str, items: bool = True) -> str:
    """Returns code that measures a ranking."""
    undefined = case.option("undefined", "zero")
    text = f"ranking = {ranking}\n" + MEASURE.format(undefined=undefined)
    return text + "items = ranking.items\n" * items


def keep_served(source: Any, case: Case) -> Case:
    """Drops the metrics that a source cannot compute; at least one remains."""
    served = [c for c in case.metrics if source.serves(c, case)]
    ks = next((cut.ks for cut in case.metrics if cut.ks), (1,))
    metrics = tuple(served) or (Cut("mrr", ks),)
    return dataclasses.replace(case, metrics=metrics)


def cut_or_none(shape: Rng) -> tuple[tuple[Cut, ...], dict[str, Any]]:
    """Draws metrics, and a `k` that is deep enough for them: often None."""
    is_cut = chance(shape, 0.5)
    metrics = draws.metrics(shape, cut=True, whole=not is_cut)
    depth = max((k for cut in metrics for k in cut.ks), default=1)
    return metrics, {"k": depth + pick(shape, (0, 0, 2))} if is_cut else {}


class Padded:
    """`jrm.rank` on rows."""

    name = "rank"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws lists with padding of three kinds, and scores of several dtypes."""
        number, items = pick(shape, ((4, 7), (9, 7), (6, 24), (1, 7), (5, 150)))
        metrics, options = cut_or_none(shape)
        options |= draws.policy(shape, metrics) | draws.undefined(shape)
        size = (number, items)
        if items > 7:
            labels = draws.few_labels(data, size)
            reach = 3 if items < 100 else 60
        else:
            labels = data.integers(0, 4, size).astype(np.float32)
            reach = 2
        scores = data.integers(-reach, reach + 1, size).astype(np.float64)
        arrays = {"labels": labels, "scores": scores}
        dtype = pick(shape, ("float32", "float32", "float16", "bfloat16", "int32"))
        if dtype == "int32" and chance(shape, 0.5):
            scores += 2**24 + data.integers(2)
        elif dtype != "int32":
            # No NaN, which leaves its list without a value.
            scores[data.random(size) < 0.05] = pick(data, (np.inf, -np.inf, -0.0))
        arrays["scores"] = scores.astype(jnp.dtype(dtype))
        labels[data.random(size) < 0.1] = pick(data, (-1, np.nan))
        labels[data.random(number) < 0.1] = pick(data, (-1, 0))
        if chance(shape, 0.4):
            arrays["mask"] = data.random(size) > 0.2
        if chance(shape, 0.3):
            arrays["retrieved"] = data.random(size) > 0.3
        if chance(shape, 0.3):
            weights = data.choice([0.5, 1.0, 2.0], size).astype(np.float32)
            weights[data.random(size) < 0.1] = 0
            arrays["weights"] = weights
        if chance(shape, 0.3):
            arrays["list_weights"] = data.choice([0, 0.5, 1, 3], number)
            arrays["list_weights"] = arrays["list_weights"].astype(np.float32)
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank`."""
        names = ("mask", "weights", "list_weights", "retrieved", "key", "k", "ties")
        call = f"jrm.rank(labels, scores{case.arguments(*names)})"
        return measured(case, call), dict(case.arrays)

    def lists(self, case: Case) -> Lists:
        """Masked items do not exist; items that are not retrieved have no rank."""
        arrays = case.arrays
        labels = arrays["labels"].astype(np.float64)
        exists = labels >= 0
        for name in ("mask", "weights"):
            if name in arrays:
                exists &= arrays[name] > 0
        return Lists(
            np.where(exists, labels, 0),
            arrays["scores"].astype(np.float64),
            exists,
            exists & arrays.get("retrieved", exists),
            arrays.get("weights"),
            arrays.get("list_weights"),
        )

    def serves(self, cut: Cut, case: Case) -> bool:
        """All metrics, but metrics of all ranks only if all items have a rank."""
        return cut.metric.needs != "ranks" or "retrieved" not in case.arrays


class Evaluated(Padded):
    """`jrm.evaluate`: states from one call, on one device or on many.

    Arrays may be sharded over lists, or over items.
    """

    name = "evaluate"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws as `rank`, and perhaps a mesh that divides the arrays."""
        case = super().draw(shape, data)
        case.options.pop("k", None)
        number, items = case.arrays["labels"].shape
        meshes = [
            (lists, parts)
            for lists, parts in draws.MESHES
            if not (number % lists or items % parts)
        ]
        if meshes and chance(shape, 0.7):
            mesh = pick(shape, meshes)
            if mesh[1] == 1 or draws.is_ranked_by_relevant(case):
                case.options["mesh"] = mesh
                case.options["kind"] = pick(shape, ("Explicit", "Auto"))
        return case

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `evaluate`."""
        names = ("mask", "weights", "list_weights", "retrieved", "key")
        call = case.arguments(*names, "ties", "undefined")
        text = f"states = jrm.evaluate(metrics, labels, scores{call})\n"
        if "mesh" in case.options:
            mesh = f"make_mesh({case.options['mesh']}, {case.option('kind')!r})"
            puts = "".join(f"{name} = put({name}, mesh)\n" for name in case.arrays)
            text = f"mesh = {mesh}\n{puts}{text}"
        return text, dict(case.arrays)


class Packed(Padded):
    """`jrm.rank` on lists that are packed along one axis, in any order."""

    name = "packed"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws as `rank`; weights of lists have an argument of their own."""
        case = super().draw(shape, data)
        case.options["shuffle"] = int(shape.integers(1, 100))
        return case

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank` with segments."""
        arrays = dict(case.arrays)
        number, items = arrays["labels"].shape
        order = np.arange(number * items)
        if case.option("shuffle") and case.policy != "stable":
            order = np.random.default_rng(case.option("shuffle")).permutation(order)
        ids = np.repeat(np.arange(number, dtype=np.int32), items)
        for name, array in arrays.items():
            if name != "list_weights":
                arrays[name] = array.reshape(-1)[order]
        arrays["segment_ids"] = ids[order]
        names = ("mask", "weights", "list_weights", "retrieved", "key", "k", "ties")
        segments = f", segment_ids=segment_ids, num_segments={number}"
        call = f"jrm.rank(labels, scores{case.arguments(*names)}{segments})"
        return measured(case, call, items=False), arrays


class OverItems(Padded):
    """`jrm.rank` inside `shard_map`, with the items of a list cut over devices."""

    name = "rank_over_items"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws lists that can be cut evenly."""
        case = super().draw(shape, data)
        devices = pick(shape, (1, 2, 3, 8))
        items = case.arrays["labels"].shape[1] // devices * devices
        if not items or not draws.is_ranked_by_relevant(case):
            metrics = tuple(Cut(c.name, (1, 3)) for c in case.metrics)
            metrics = tuple(c for c in metrics if c.metric.has_k)
            case = dataclasses.replace(case, metrics=metrics or (Cut("ndcg", (1, 3)),))
        arrays = {
            name: array[:, :items] if array.ndim == 2 else array
            for name, array in case.arrays.items()
        }
        arrays.setdefault("mask", np.ones(arrays["labels"].shape, bool))
        for name in ("weights", "retrieved"):
            arrays.pop(name, None)
        if not items:
            raise InvalidCase("fewer items than devices")
        case.options["devices"] = devices
        case.options["k"] = case.depth
        return dataclasses.replace(case, arrays=arrays)

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank` on each device."""
        arrays = dict(case.arrays)
        number = len(arrays["labels"])
        arrays.setdefault("mask", np.ones(arrays["labels"].shape, bool))
        arrays.setdefault("list_weights", np.ones(number, np.float32))
        options = {"k": case.depth} | {
            name: case.options[name] for name in ("ties",) if name in case.options
        }
        key = case.option("key", 0) if case.policy == "random" else None
        undefined = case.option("undefined", "zero")
        call = f"over_items(metrics, {case.option('devices', 1)}, {key}, {options})"
        return (
            f"lists, items = {call}(labels, scores, mask, list_weights)\n"
            f"states = {{name: x.mean({undefined!r}) for name, x in lists.items()}}\n",
            arrays,
        )


class Retrieved:
    """`jrm.rank_retrieved`: labels in rank order, and a pool of others."""

    name = "rank_retrieved"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws retrieved items, padding among them, and judged others."""
        number, items = pick(shape, ((4, 7), (9, 7), (5, 20)))
        metrics = draws.metrics(shape, cut=True, whole=True)
        size = (number, items)
        labels = data.integers(-1, 4, size).astype(np.float32)
        labels[data.random(number) < 0.1] = pick(data, (-1, 0))
        arrays = {"labels": labels, "retrieved": data.random(size) > 0.4}
        if chance(shape, 0.4):
            arrays["mask"] = data.random(size) > 0.2
        if chance(shape, 0.3):
            arrays["weights"] = data.choice([0, 0.5, 1, 2], size).astype(np.float32)
        if chance(shape, 0.3):
            lists = data.choice([0, 0.5, 1, 3], number).astype(np.float32)
            arrays["list_weights"] = lists
        pool = pick(shape, ("pool", "number", "none"))
        if pool == "number":
            arrays.pop("weights", None)
        options = {"pool": pool} | draws.undefined(shape)
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank_retrieved`."""
        arrays, pool = dict(case.arrays), case.option("pool", "none")
        exists, retrieved = self._masks(case)
        if pool == "number":
            relevant = exists & (arrays["labels"] >= 1)
            arrays["labels"] = np.where(exists, np.minimum(arrays["labels"], 1), -1)
            arrays["num_relevant"] = relevant.sum(1).astype(np.int32)
        if pool == "pool":
            arrays["pool_labels"] = arrays["labels"][:, ::-1]
            for name in ("mask", "weights"):
                if name in arrays:
                    arrays[f"pool_{name}"] = arrays[name][:, ::-1]
        arrays["mask"] = retrieved
        del arrays["retrieved"]
        names = ("weights", "list_weights")
        more = "".join(
            f", {name}={name}"
            for name in ("pool_labels", "pool_mask", "pool_weights", "num_relevant")
            if name in arrays
        )
        call = f"jrm.rank_retrieved(labels, mask{case.arguments(*names)}{more})"
        return measured(case, call), arrays

    def _masks(self, case: Case) -> tuple[np.ndarray, np.ndarray]:
        arrays = case.arrays
        exists = arrays["labels"] >= 0
        if "mask" in arrays:
            exists = exists & arrays["mask"]
        retrieved = arrays.get("retrieved", np.ones_like(exists))
        return exists, exists & retrieved

    def lists(self, case: Case) -> Lists:
        """The order is the order of the items; items that no pool names do not exist."""
        arrays, pool = case.arrays, case.option("pool", "none")
        exists, retrieved = self._masks(case)
        labels = np.where(exists, arrays["labels"], 0).astype(np.float64)
        if pool == "number":
            labels = np.minimum(labels, 1)
            exists = retrieved | (exists & (labels >= 1))
        elif pool == "none":
            exists = retrieved
        if "weights" in arrays:
            exists = exists & (arrays["weights"] > 0)
        scores = np.broadcast_to(-np.arange(labels.shape[1], dtype=float), labels.shape)
        return Lists(
            labels,
            scores,
            exists,
            exists & retrieved,
            arrays.get("weights"),
            arrays.get("list_weights"),
        )

    def serves(self, cut: Cut, case: Case) -> bool:
        """Metrics of the relevant items, and of the pool if it is known."""
        pool = case.option("pool", "none")
        if pool == "number":
            has_one = cut.metric.options.get("threshold", 1) == 1
            return cut.metric.needs == "relevant" and has_one
        return cut.metric.needs != "ranks" or pool == "none"


class Ids:
    """`jrm.rank_ids`: ids in rank order, and the ids of relevant items."""

    name = "rank_ids"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws ids with padding; some repeat."""
        number, items = pick(shape, ((4, 7), (9, 7), (5, 20)))
        size = (number, items)
        arrays = {
            "labels": draws.few_labels(data, size),
            "retrieved": data.random(size) > 0.5,
        }
        if chance(shape, 0.3):
            lists = data.choice([0, 0.5, 1, 3], number).astype(np.float32)
            arrays["list_weights"] = lists
        metrics = draws.metrics(shape, cut=True, whole=True)
        options = draws.undefined(shape) | {"again": int(shape.integers(3))}
        if chance(shape, 0.1):
            options["repeats"] = True
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def _retrieved(self, case: Case) -> np.ndarray:
        """Ids from the last to the first, then the first of them once more."""
        rows = [np.flatnonzero(x)[::-1].tolist() for x in case.arrays["retrieved"]]
        again = case.option("again", 0)
        rows = [row[:1] + [-1] + row[1:] + row[:again] for row in rows]
        width = case.arrays["retrieved"].shape[1] + 4
        return np.array([row + [-1] * (width - len(row)) for row in rows], np.int32)

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank_ids`."""
        inputs = listed(case) | {"retrieved_ids": self._retrieved(case)}
        del inputs["retrieved"]
        names = case.arguments("list_weights")
        call = f"jrm.rank_ids(retrieved_ids, relevant_ids, relevant_labels{names})"
        text = measured(case, call, items=case.option("again", 0) == 0)
        return text, inputs

    def lists(self, case: Case) -> Lists:
        """An item for each retrieved id, and one for each relevant id missed."""
        ids, arrays = self._retrieved(case), case.arrays
        number, items = arrays["labels"].shape
        width = ids.shape[1]
        labels = np.zeros((number, width + items))
        exists, names = np.zeros(labels.shape, bool), np.full(labels.shape, -1)
        names[:, :width] = ids
        exists[:, :width] = ids >= 0
        for row in range(number):
            for slot, item in enumerate(ids[row]):
                if item >= 0 and item not in ids[row, :slot]:
                    labels[row, slot] = arrays["labels"][row, item]
            for item in range(items):
                if arrays["labels"][row, item] > 0 and item not in ids[row]:
                    exists[row, width + item] = True
                    labels[row, width + item] = arrays["labels"][row, item]
        ranked = exists.copy()
        ranked[:, width:] = False
        scores = np.broadcast_to(-np.arange(labels.shape[1], dtype=float), labels.shape)
        weights = arrays.get("list_weights")
        how = {"ids": names, "judges_listed": True}
        return Lists(labels, scores, exists, ranked, None, weights, **how)

    def serves(self, cut: Cut, case: Case) -> bool:
        """All metrics but metrics of all ranks."""
        return cut.metric.needs != "ranks"


def listed(case: Case) -> dict[str, Any]:
    """Returns relevant ids with their labels, and excluded ids."""
    arrays = dict(case.arrays)
    labels = arrays.pop("labels")
    ids = draws.id_rows(labels > 0, 4, case.option("repeats", False))
    arrays["relevant_ids"] = ids
    chosen = np.take_along_axis(labels, np.maximum(ids, 0), 1)
    arrays["relevant_labels"] = np.where(ids >= 0, chosen, 0).astype(np.float32)
    if "excluded" in arrays:
        arrays["exclude_ids"] = draws.id_rows(arrays.pop("excluded"), 4)
    return arrays


class Scores:
    """`jrm.rank_scores`: scores of all items, and the ids of relevant ones."""

    name = "rank_scores"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws scores, relevant and excluded ids, and masked items."""
        size = pick(shape, ((4, 7), (5, 24), (1, 12), (6, 150)))
        metrics, options = cut_or_none(shape)
        options |= draws.policy(shape, metrics) | draws.undefined(shape)
        reach = 2 if size[1] < 100 else 60
        scores = data.integers(-reach, reach + 1, size).astype(np.float64)
        dtype = pick(shape, ("float32", "float16", "bfloat16", "int32"))
        if dtype != "int32":
            scores[data.random(size) < 0.05] = pick(data, (np.inf, -np.inf))
        arrays = {
            "labels": draws.few_labels(data, size),
            "scores": scores.astype(jnp.dtype(dtype)),
        }
        return self.finish(shape, data, metrics, options, arrays)

    def finish(
        self,
        shape: Rng,
        data: Rng,
        metrics: tuple[Cut, ...],
        options: dict[str, Any],
        arrays: dict[str, np.ndarray],
    ) -> Case:
        """Draws what leaves the lists, and their weights."""
        size = arrays["labels"].shape
        if chance(shape, 0.5):
            arrays["excluded"] = draws.few_of(data, size)
        if chance(shape, 0.4):
            arrays["item_mask"] = data.random(size[1]) > 0.2
        if chance(shape, 0.3):
            lists = data.choice([0, 0.5, 1, 3], size[0]).astype(np.float32)
            arrays["list_weights"] = lists
        if chance(shape, 0.1):
            options["repeats"] = True
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank_scores`."""
        inputs = listed(case)
        names = case.arguments("item_mask", "list_weights", "k", "ties", "key")
        if "exclude_ids" in inputs:
            names += ", exclude_ids=exclude_ids"
        call = f"jrm.rank_scores(scores, relevant_ids, relevant_labels{names})"
        return measured(case, call, "k" in case.options), inputs

    def scores(self, case: Case) -> np.ndarray:
        """Returns all scores in float64."""
        return case.arrays["scores"].astype(np.float64)

    def lists(self, case: Case) -> Lists:
        """The pool is every item that is neither masked nor excluded."""
        arrays = case.arrays
        labels = arrays["labels"].astype(np.float64)
        exists = np.ones(labels.shape, bool)
        if "excluded" in arrays:
            exists &= ~arrays["excluded"]
        if "item_mask" in arrays:
            exists &= arrays["item_mask"]
        weights = arrays.get("list_weights")
        scores = self.scores(case)
        return Lists(labels, scores, exists, exists, None, weights, judges_listed=True)

    def serves(self, cut: Cut, case: Case) -> bool:
        """All metrics here."""
        return True


class Catalog(Scores):
    """`jrm.rank_catalog`: embeddings, in blocks."""

    name = "rank_catalog"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws vectors; some of them are equal."""
        size = pick(shape, ((4, 7), (5, 21), (1, 21), (1, 50)))
        metrics, options = cut_or_none(shape)
        options |= draws.policy(shape, metrics) | draws.undefined(shape)
        if chance(shape, 0.7):
            options["block_size"] = pick(shape, (1, 5, 8, 20))
        options["similarity"] = pick(shape, ("dot", "dot", "cosine", "l2", "l1"))
        arrays = {"labels": draws.few_labels(data, size)}
        arrays |= draws.vectors(shape, data, *size, options)
        return self.finish(shape, data, metrics, options, arrays)

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `rank_catalog`."""
        inputs = listed(case)
        names = case.arguments("item_mask", "list_weights", "block_size", "ties", "key")
        names += f", k={case.option('k')}"
        similarity = case.option("similarity", "dot")
        # A function or a name.
        names += f", similarity={'l1' if similarity == 'l1' else repr(similarity)}"
        if "exclude_ids" in inputs:
            names += ", exclude_ids=exclude_ids"
        arguments = "queries, items, relevant_ids, relevant_labels=relevant_labels"
        call = f"jrm.rank_catalog({arguments}{names})"
        return measured(case, call, "k" in case.options), inputs

    def scores(self, case: Case) -> np.ndarray:
        """Returns the scores of all pairs."""
        vectors = case.arrays["queries"], case.arrays["items"]
        return draws.scores_of(*vectors, case.option("similarity", "dot"))


class Places(Scores):
    """`jrm.rank_places`: places that loops have counted."""

    name = "rank_places"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws as `rank_scores`, without policies."""
        case = super().draw(shape, data)
        for name in ("ties", "key", "k", "repeats"):
            case.options.pop(name, None)
        return keep_served(self, case)

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Counts places, and calls `rank_places`."""
        lists, arrays = self.lists(case), listed(case)
        ids = arrays["relevant_ids"]
        above, tied = np.zeros(ids.shape, np.int32), np.ones(ids.shape, np.int32)
        mask = np.zeros(ids.shape, bool)
        scores = np.where(np.isnan(lists.scores), -1e300, lists.scores)
        scores = np.where(scores == -np.inf, -1e200, scores)
        for row, slot in np.ndindex(ids.shape):
            item, exists = ids[row, slot], lists.exists[row]
            if item >= 0 and exists[item]:
                mask[row, slot] = True
                above[row, slot] = (exists & (scores[row] > scores[row, item])).sum()
                tied[row, slot] = (exists & (scores[row] == scores[row, item])).sum()
        inputs = {
            "labels": arrays["relevant_labels"],
            "above": above,
            "tied": tied,
            "mask": mask,
            "num_retrieved": lists.exists.sum(1).astype(np.int32),
        }
        if "list_weights" in arrays:
            inputs["list_weights"] = arrays["list_weights"]
        names = case.arguments("list_weights")
        arguments = "labels, above, tied, mask, num_retrieved=num_retrieved"
        call = f"jrm.rank_places({arguments}{names})"
        return measured(case, call, items=False), inputs

    def serves(self, cut: Cut, case: Case) -> bool:
        """Metrics that do not need an order."""
        return cut.metric.reading != "order"


SOURCES = (
    *(Padded(), Evaluated(), Packed(), OverItems(), Retrieved(), Ids(), Scores()),
    *(Catalog(), Places()),
)
