"""Runs a case as the code that a reader can paste, and compares what it returns."""

import inspect
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm
from fuzzing import loops
from fuzzing.case import Case, InvalidCase, Source
from fuzzing.drivers import DRIVERS
from fuzzing.loops import Mismatch, TooManyOrders
from fuzzing.sources import SOURCES

BY_NAME: dict[str, Source] = {source.name: source for source in (*SOURCES, *DRIVERS)}


def make_mesh(shape, kind="Auto"):
    """Makes a mesh of two axes over the first devices."""
    return jax.make_mesh(
        shape,
        ("lists", "items"),
        axis_types=(AxisType[kind],) * 2,
        devices=jax.devices()[: int(np.prod(shape))],
    )


def put(x, mesh):
    """Shards an array of lists over a mesh."""
    axes = ("lists", "items" if mesh.shape["items"] > 1 else None)[: x.ndim]
    return jax.device_put(x, NamedSharding(mesh, P(*axes)))


def l1(queries, items):
    """Scores by minus the sum of absolute differences."""
    return -jnp.abs(queries[..., None, :] - items).sum(-1).astype("float32")


def same_class(query, item):
    """Labels by class; the same class by the same camera leaves the list."""
    same = query["classes"][:, None] == item["classes"]
    if "cameras" not in query:
        return same
    return same, same & (query["cameras"][:, None] == item["cameras"])


def class_distance(query, item):
    """Labels by how near the classes are: 2, 1 or 0."""
    distance = jnp.abs(query["classes"][:, None] - item["classes"])
    return jnp.maximum(2 - distance, 0)


def over_items(metrics, devices, key, options):
    """Returns a function that ranks lists whose items are cut over devices."""

    def measure(labels, scores, mask, list_weights):
        how = {"list_weights": list_weights, "items_axis": "items", **options}
        how["key"] = None if key is None else jax.random.key(key)
        ranking = jrm.rank(labels, scores, mask, **how)
        return jrm.measure(metrics, ranking), ranking.items

    return jax.jit(
        jax.shard_map(
            measure,
            mesh=make_mesh((1, devices)),
            in_specs=(*(P(None, "items"),) * 3, P()),
            out_specs=P(),
        )
    )


HELPERS = (make_mesh, put, l1, same_class, class_distance, over_items)
IMPORTS = """\
import jax, jax.numpy as jnp, numpy as np, scipy.sparse
import jax_rank_metrics as jrm
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from numpy import inf, nan
"""
_over_items: dict[str, Any] = {}


def _over_items_once(metrics, devices, key, options):
    """Compiles a function of `over_items` once for all the data of its shapes."""
    name = repr((metrics, devices, key, options))
    if name not in _over_items:
        _over_items[name] = over_items(metrics, devices, key, options)
    return _over_items[name]


NAMESPACE = {
    **{helper.__name__: helper for helper in HELPERS},
    **{"jax": jax, "jnp": jnp, "np": np, "scipy": scipy, "jrm": jrm},
    "over_items": _over_items_once,
}


def _expects_error(case: Case, lists: loops.Lists, error: Exception) -> bool:
    """True if the package may raise this: NaN that is read, or ids that repeat."""
    reads_nan = lists.nan_raises and np.isnan(lists.scores[lists.ranked]).any()
    if reads_nan:
        return isinstance(error, ValueError) and "nan" in str(error).lower()
    by_ids = case.source in ("rank_ids", "rank_scores", "rank_catalog")
    repeats = by_ids and case.option("repeats", False)
    return repeats and isinstance(error, ValueError) and "relevant_ids" in str(error)


def failure_of(case: Case) -> Mismatch | None:
    """Runs a case; returns how it differs from the loops, or None.

    Raises:
        InvalidCase: if nothing can be said of it.
    """
    source = BY_NAME[case.source]
    if not all(case.arrays[name].size for name in case.arrays):
        raise InvalidCase("an array is empty")
    try:
        lists = source.lists(case)
        text, inputs = source.code(case)
    except (KeyError, IndexError) as error:
        raise InvalidCase(str(error)) from error
    reads_nan = bool(lists.nan_raises and np.isnan(lists.scores[lists.ranked]).any())
    if lists.nan_raises and not reads_nan and np.isnan(lists.scores).any():
        raise InvalidCase("NaN that may be read or not")
    cuts = tuple(cut.text for cut in case.metrics)
    outcome: dict[str, Any] = {**NAMESPACE, **inputs, "metrics": cuts}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(text, outcome)
    except Exception as error:
        if _expects_error(case, lists, error):
            return None
        kind = f"{type(error).__name__} {' '.join(str(error).split()[:4])}"
        return Mismatch(kind, str(error)[:2000])
    if reads_nan:
        return Mismatch("NaN", "scores that are NaN must raise")
    names = ("lists", "states", "items")
    outcome = {n: outcome[n] for n in names if n in outcome and n not in inputs}
    metrics = [(cut.text, cut.metric, cut.ks) for cut in case.metrics]
    undefined = case.option("undefined", "zero")
    try:
        loops.check(lists, metrics, case.policy, undefined, outcome)
    except Mismatch as mismatch:
        return mismatch
    except TooManyOrders as error:
        raise InvalidCase("too many orders") from error
    return None


def pasted(case: Case) -> str:
    """Returns code that makes the call of a case on its own."""
    text, inputs = BY_NAME[case.source].code(case)
    names = tuple(cut.text for cut in case.metrics)
    lines = [IMPORTS]
    if "make_mesh" in text or "over_items" in text:
        lines.insert(0, "import jax\njax.config.update('jax_num_cpu_devices', 8)\n")
    needed = [
        h for h in HELPERS if f"{h.__name__}(" in text or f"={h.__name__}" in text
    ]
    if over_items in needed:
        needed.insert(0, make_mesh)
    lines += [inspect.getsource(helper) + "\n" for helper in dict.fromkeys(needed)]
    for name, value in inputs.items():
        if isinstance(value, np.ndarray):
            value = f"np.array({value.tolist()!r}, {str(value.dtype)!r})"
        else:
            value = repr(value)
        lines.append(f"{name} = {value}\n")
    return "".join([*lines, f"metrics = {names!r}\n", text])
