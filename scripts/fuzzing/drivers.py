"""The drivers: how each is drawn and called, and which lists it ranks."""

from typing import Any

import numpy as np

from fuzzing import draws
from fuzzing.case import Case, Cut, InvalidCase
from fuzzing.draws import Rng, chance, pick
from fuzzing.loops import Lists
from fuzzing.sources import keep_served

RESULT = (
    "lists, states = evaluation.lists, evaluation.states\n"
    "items = evaluation.retrieved_ids\n"
)
FORMS = ("lists", "lists", "dict", "sparse", "padded")


def on_mesh(shape: Rng, share: float) -> dict[str, Any]:
    """Draws a mesh, with this probability."""
    return {"mesh": pick(shape, draws.MESHES)} if chance(shape, share) else {}


def finished(case: Case, call: str) -> str:
    """Returns code that calls a driver, perhaps over a mesh."""
    if "mesh" in case.options:
        mesh = f"make_mesh({case.options['mesh']!r})"
        axes = "queries_axis='lists', items_axis='items'"
        call = f"{call[:-1]}, mesh={mesh}, {axes})"
    return f"evaluation = {call}\n{RESULT}"


def rows_of(case: Case, inputs: dict[str, Any], names: dict[str, str]) -> str:
    """Puts what each row has into its form; returns the arguments.

    Args:
        case: The case.
        inputs: Gets the value of each argument.
        names: From arrays to the names of arguments.
    """
    text, form = "", case.option("form", "lists")
    for array, name in names.items():
        if array in case.arrays:
            matrix = case.arrays[array]
            if form == "sparse":
                inputs[name] = matrix
                text += f", {name}=scipy.sparse.csr_array({name})"
            else:
                repeat = case.option("repeats", False)
                inputs[name] = draws.rows_in_form(matrix, form, repeat)
                text += f", {name}={name}"
    return text


def labels_in_form(case: Case) -> np.ndarray:
    """Returns the labels that a form of relevant items can say: graded in a matrix."""
    labels = case.arrays["labels"].astype(np.float64)
    return labels if case.option("form") == "sparse" else (labels > 0).astype(float)


class Users:
    """`jrm.evaluate_users`: embeddings, scores, or a function of users."""

    name = "evaluate_users"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws a model, relevant and seen items, and how the work is divided."""
        size = pick(shape, ((5, 8), (5, 21), (5, 24), (40, 12), (1, 21)))
        metrics = draws.metrics(shape, cut=True, whole=True)
        options = draws.policy(shape, metrics) | draws.undefined(shape)
        options |= {"form": pick(shape, FORMS), "k": pick(shape, (3, 10))}
        options["k"] = max([options["k"], *(k for cut in metrics for k in cut.ks)])
        options["batch_size"] = pick(shape, (1, 2, 8, 1024))
        options |= on_mesh(shape, 0.3)
        arrays = {"labels": draws.few_labels(data, size)}
        if chance(shape, 0.5):
            arrays |= draws.vectors(shape, data, *size, options)
            options["block_size"] = pick(shape, (1, 7, 4096))
            if chance(shape, 0.3):
                options["on_device"] = True
        else:
            scores = data.integers(-2, 3, size).astype(np.float32)
            scores[data.random(size) < 0.1] = pick(data, (-np.inf, -np.inf, np.inf))
            arrays["scores"] = scores
            if "mesh" not in options and chance(shape, 0.4):
                options["model"] = "function"
            if chance(data, 0.1):
                scores[tuple(data.integers(size))] = np.nan
        if chance(shape, 0.5):
            arrays["excluded"] = draws.few_of(data, size)
        if chance(shape, 0.4):
            arrays["item_mask"] = data.random(size[1]) > 0.2
        if chance(shape, 0.3):
            arrays["evaluated"] = data.random(size[0]) > 0.3
            arrays["evaluated"][0] = True
        if chance(shape, 0.2):
            options["repeats"] = True
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `evaluate_users`."""
        inputs, model = dict(case.arrays), "(queries, items)"
        if "scores" in inputs:
            is_function = case.option("model") == "function"
            model = "lambda users: scores[users]" if is_function else "scores"
        elif "on_device" in case.options:
            model = "(jnp.asarray(queries), jnp.asarray(items))"
        del inputs["labels"]
        inputs.pop("excluded", None)
        rows = rows_of(case, inputs, {"labels": "relevant", "excluded": "seen"})
        names = ("k", "batch_size", "block_size", "item_mask", "ties", "key")
        rows += case.arguments(*names, "undefined")
        if "evaluated" in inputs:
            inputs["users"] = np.flatnonzero(inputs.pop("evaluated"))
            rows += ", users=users"
        elif case.option("form") in ("dict", "sparse"):
            rows += f", users=np.arange({len(case.arrays['labels'])})"
        call = f"jrm.evaluate_users(metrics, {model}{rows})"
        return finished(case, call), inputs

    def lists(self, case: Case) -> Lists:
        """The pool of a user is every item that is neither masked nor seen.

        Those with a score of −∞ have no rank.
        """
        arrays = case.arrays
        labels = labels_in_form(case)
        if "scores" in arrays:
            scores = arrays["scores"].astype(np.float64)
        else:
            scores = draws.scores_of(arrays["queries"], arrays["items"], "dot")
        exists = np.ones(labels.shape, bool)
        if "excluded" in arrays:
            exists &= ~arrays["excluded"]
        if "item_mask" in arrays:
            exists &= arrays["item_mask"]
        rows = arrays.get("evaluated", np.ones(len(labels), bool))
        labels, scores, exists = labels[rows], scores[rows], exists[rows]
        how = {"nan_raises": True, "judges_listed": True}
        return Lists(labels, scores, exists, exists & (scores != -np.inf), **how)

    def serves(self, cut: Cut, case: Case) -> bool:
        """All metrics, but metrics of all ranks only if all items have a rank."""
        scores = case.arrays.get("scores", np.zeros(1))
        return cut.metric.needs != "ranks" or bool((scores > -np.inf).all())


class Embeddings:
    """`jrm.evaluate_embeddings`: similarities, candidates, attributes, blocks, meshes."""

    name = "evaluate_embeddings"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws vectors, and which items each query has."""
        size = pick(shape, ((5, 8), (5, 21), (5, 21), (1, 21), (12, 12), (40, 12)))
        metrics = draws.metrics(shape, cut=True, whole=True)
        options = draws.policy(shape, metrics) | draws.undefined(shape)
        options |= {"form": pick(shape, FORMS), "k": pick(shape, (3, 10))}
        options["k"] = max([options["k"], *(k for cut in metrics for k in cut.ks)])
        options["batch_size"] = pick(shape, (1, 1, 2, 8, 1024))
        options["similarity"] = pick(shape, draws.SIMILARITIES)
        arrays = draws.vectors(shape, data, *size, options)
        if options["similarity"] == "dot" and chance(shape, 0.2):
            options["similarity"] = "l1"
        kind = pick(shape, ("all", "all", "candidates", "candidates", "attributes"))
        if kind == "attributes":
            arrays["query_classes"] = data.integers(0, 4, size[0])
            arrays["item_classes"] = data.integers(0, 4, size[1])
            options["label_fn"] = pick(shape, ("same_class", "class_distance"))
            if options["label_fn"] == "same_class" and chance(shape, 0.7):
                arrays["query_cameras"] = data.integers(0, 2, size[0])
                arrays["item_cameras"] = data.integers(0, 2, size[1])
        else:
            arrays["labels"] = draws.few_labels(data, size)
        if kind == "candidates":
            # The first query has the longest list, which is the same for all data: the
            # length is one of the program.
            listed = shape.random(size[1]) < pick(shape, (0.6, 1.0))
            chosen = data.random(size) < data.choice([0.2, 0.5, 0.8])
            arrays["candidates"] = chosen & listed
            arrays["candidates"][0] = listed
            arrays["labels"][0] *= listed
        elif chance(shape, 0.3) and options.get("label_fn") != "class_distance":
            options |= {"block_size": pick(shape, (1, 7, 16))}
        if chance(shape, 0.4):
            arrays["excluded"] = draws.few_of(data, size)
            arrays["excluded"][0] &= kind != "candidates"
        if size[0] == size[1] and chance(shape, 0.7):
            options["exclude_self"] = True
        if chance(shape, 0.4):
            arrays["item_mask"] = shape.random(size[1]) > 0.2
        options |= on_mesh(shape, 0.4)
        if chance(shape, 0.3):
            options["on_device"] = True
        elif "mesh" not in options and kind == "all" and chance(shape, 0.7):
            options["blocks"] = pick(shape, (1, 2, 3))
        if chance(shape, 0.1):
            options["repeats"] = True
        if chance(data, 0.1) and arrays["items"].dtype.kind == "f":
            row = int(data.integers(size[1]))
            arrays["items"][row, 0] = pick(data, (np.nan, np.inf))
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `evaluate_embeddings`."""
        inputs = dict(case.arrays)
        for name in ("labels", "excluded", "candidates"):
            inputs.pop(name, None)
        names = {"labels": "relevant", "excluded": "exclude"}
        rows = rows_of(case, inputs, names | {"candidates": "candidates"})
        names = ("k", "batch_size", "block_size", "item_mask", "ties", "key")
        rows += case.arguments(*names, "undefined", "exclude_self")
        similarity = case.option("similarity", "dot")
        name = "l1" if similarity == "l1" else repr(similarity)  # a function or a name
        rows += f", similarity={name}"
        if "query_classes" in inputs:
            attributes = [
                f"dict(classes={side}_classes"
                + f", cameras={side}_cameras" * ("query_cameras" in inputs)
                + ")"
                for side in ("query", "item")
            ]
            label_fn = case.option("label_fn", "same_class")
            arguments = ", ".join([label_fn, *attributes])
            rows += f", relevant=jrm.by_attributes({arguments})"
        vectors = "queries, items"
        if "on_device" in case.options:
            vectors = "jnp.asarray(queries), jnp.asarray(items)"
        elif "blocks" in case.options:
            vectors = f"queries, np.array_split(items, {case.options['blocks']})"
        call = f"jrm.evaluate_embeddings(metrics, {vectors}{rows})"
        return finished(case, call), inputs

    def lists(self, case: Case) -> Lists:
        """The pool is every item, or candidates and relevant items."""
        arrays = case.arrays
        similarity = case.option("similarity", "dot")
        with np.errstate(invalid="ignore", over="ignore"):
            scores = draws.scores_of(arrays["queries"], arrays["items"], similarity)
        exists = np.ones(scores.shape, bool)
        if "query_classes" in arrays:
            classes = arrays["query_classes"][:, None], arrays["item_classes"][None]
            same = classes[0] == classes[1]
            labels = same.astype(float)
            if case.option("label_fn") == "class_distance":
                labels = np.maximum(2 - np.abs(classes[0] - classes[1]), 0).astype(
                    float
                )
            elif "query_cameras" in arrays:
                cameras = arrays["query_cameras"][:, None], arrays["item_cameras"][None]
                exists &= ~(same & (cameras[0] == cameras[1]))
        else:
            labels = labels_in_form(case)
        if "excluded" in arrays:
            exists &= ~arrays["excluded"]
        if case.option("exclude_self"):
            if scores.shape[0] != scores.shape[1]:
                raise InvalidCase("no query is an item")
            exists &= ~np.eye(len(scores), dtype=bool)
        if "item_mask" in arrays:
            exists &= arrays["item_mask"]
        ranked = exists
        if "candidates" in arrays:
            ranked = exists & arrays["candidates"]
            exists = exists & (ranked | (labels > 0))
            # A query without any item counts as if there were one that is not listed.
            labels[~exists.any(1), 0] = 0
            exists[~exists.any(1), 0] = True
        if np.isinf(arrays["items"].astype(np.float64)).any():
            if similarity != "dot" or not np.isnan(scores[ranked]).any():
                raise InvalidCase("infinite vectors without NaN scores")
        how = {"nan_raises": True, "judges_listed": "query_classes" not in arrays}
        return Lists(labels, scores, exists, ranked, **how)

    def serves(self, cut: Cut, case: Case) -> bool:
        """Metrics of all ranks need ranks of all items, and attributes one block."""
        if "query_classes" in case.arrays:
            in_parts = "block_size" in case.options or "mesh" in case.options
            # First stops are found in any parts, of labels that are bools.
            finds_stops = case.option("label_fn") == "same_class"
            finds_stops &= cut.name in ("hit_rate", "mrr")
            return bool(cut.ks or not in_parts or finds_stops)
        return cut.metric.needs != "ranks" or "candidates" not in case.arrays


class Links:
    """`jrm.evaluate_links`: both sides of triples, filtered."""

    name = "evaluate_links"

    def draw(self, shape: Rng, data: Rng) -> Case:
        """Draws triples, known triples, and vectors of entities."""
        number, entities = pick(shape, ((5, 9), (5, 20), (40, 9)))
        metrics = draws.metrics(shape, cut=True, whole=True)
        options = draws.policy(shape, metrics) | draws.undefined(shape)
        options["batch_size"] = pick(shape, (1, 4, 1024))
        if chance(shape, 0.7):
            options["k"] = pick(shape, (1, 5))

        def triples(number: int) -> np.ndarray:
            ends = data.integers(0, entities, (number, 2))
            return np.insert(ends, 1, data.integers(0, 2, number), axis=1)

        vectors = data.integers(-2, 3, (entities, 3)).astype(np.float32)
        if chance(data, 0.1):
            vectors[int(data.integers(entities))] = np.nan
        arrays = {"triples": triples(number), "known": triples(30), "entities": vectors}
        return keep_served(self, Case(self.name, metrics, options, arrays))

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Calls `evaluate_links`."""
        names = case.arguments("known", "k", "batch_size", "ties", "key", "undefined")
        names += f", num_entities={len(case.arrays['entities'])}"
        score_fn = (
            "lambda ends, relations, side: "
            "(entities[ends] + (1 if side == 'head' else -1) * relations[:, None]) "
            "@ entities.T"
        )
        call = f"jrm.evaluate_links(metrics, {score_fn}, triples{names})['both']"
        text = finished(case, call)
        if "k" not in case.options:
            text += "del items\n"
        return text, dict(case.arrays)

    def lists(self, case: Case) -> Lists:
        """Two lists for each triple; other answers that are known leave them."""
        triples = case.arrays["triples"].tolist()
        known = {*map(tuple, triples), *map(tuple, case.arrays["known"].tolist())}
        entities = case.arrays["entities"].astype(np.float64)
        size = (2 * len(triples), len(entities))
        labels, scores, exists = np.zeros(size), np.zeros(size), np.ones(size, bool)
        for index, (head, relation, tail) in enumerate(triples * 2):
            is_head = index < len(triples)
            answer, end = (head, tail) if is_head else (tail, head)
            sign = 1 if is_head else -1
            scores[index] = (entities[end] + sign * relation) @ entities.T
            labels[index, answer] = 1
            for entity in range(len(entities)):
                triple = (
                    (entity, relation, tail) if is_head else (head, relation, entity)
                )
                exists[index, entity] = entity == answer or triple not in known
        how = {"nan_raises": True, "holds_order": False, "judges_listed": True}
        return Lists(labels, scores, exists, exists, **how)

    def serves(self, cut: Cut, case: Case) -> bool:
        """All metrics here."""
        return True


DRIVERS = (Users(), Embeddings(), Links())
