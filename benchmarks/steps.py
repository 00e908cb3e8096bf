"""The steps that TPU's compiler compiles for many chips, under every kind of mesh."""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

METRICS = ("ndcg@10", "mrr")
TOPOLOGIES = {4: "v5e:2x2", 16: "v5e:4x4"}
# The choices of `jax.set_mesh`, and the types of the axes of the arrays' mesh.
MESHES = ("no mesh set, Auto", "no mesh set, Explicit", "Auto", "Explicit")
CUTS = ("lists", "items")


@dataclasses.dataclass(frozen=True)
class Case:
    """A step, and how it is laid over chips.

    Attributes:
        step: The name of the step.
        chips: The number of chips, all along one axis of the mesh.
        cut: The axis that is cut, "lists" or "items".
        mesh: One of `MESHES`.
    """

    step: str
    chips: int
    cut: str
    mesh: str


def cases() -> Iterator[Case]:
    """Yields every case, the cases of a row of the table after each other."""
    return itertools.starmap(Case, itertools.product(STEPS, TOPOLOGIES, CUTS, MESHES))


def lowered(case: Case, devices: list[Any]) -> Any:
    """Traces a case, for devices that need not be there, as `jax.jit` does."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    kind = AxisType.Auto if "Auto" in case.mesh else AxisType.Explicit
    mesh = Mesh(np.array(devices), ("chips",), axis_types=(kind,))

    def placed(array: Any, cut_of_axes: tuple[str, ...]) -> jax.ShapeDtypeStruct:
        """Describes an array; its axes with the name of the cut are cut."""
        spec = PartitionSpec(*("chips" if x == case.cut else None for x in cut_of_axes))
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

    function, carried, arrays = STEPS[case.step]()
    carried = jax.tree.map(lambda x: placed(x, ()), carried)
    arrays = [
        placed(jax.ShapeDtypeStruct(shape, kind), axes) for shape, kind, axes in arrays
    ]
    is_set = not case.mesh.startswith("no mesh")
    with jax.set_mesh(mesh) if is_set else contextlib.nullcontext():
        return jax.jit(function, donate_argnums=0).lower(carried, *arrays)


# The parts of a step: a function of the carried state and of arrays; the shapes of the
# carried state, which is donated; and the shape, dtype and names of the axes of each array.
Parts = tuple[Callable[..., Any], Any, list[tuple[tuple[int, ...], str, tuple]]]


def _metrics(function: Callable[..., Any], *arrays: tuple) -> Callable[[], Parts]:
    """Returns a step that adds the states of a ranking, or of lists, to those carried."""

    def parts() -> Parts:
        import jax

        import jax_rank_metrics as jrm

        def step(carried: Any, *arrays: Any) -> Any:
            return jrm.merge(carried, function(jrm, *arrays))

        return step, jax.eval_shape(lambda: jrm.empty(METRICS)), list(arrays)

    return parts


def _measured(jrm: Any, ranking: Any) -> Any:
    return jrm.mean(jrm.measure(METRICS, ranking))


def _in_batch(jrm: Any, scores: Any) -> Any:
    import numpy as np

    ids = np.arange(len(scores), dtype=np.int32)[:, None]
    return _measured(jrm, jrm.rank_scores(scores, ids))


def _train() -> Parts:
    """Returns a step of two towers, with the metrics of its batch."""
    import jax
    import jax.numpy as jnp
    import optax

    import jax_rank_metrics as jrm

    optimizer = optax.adam(1e-3)

    def loss(params: Any, queries: Any, items: Any) -> Any:
        scores = (queries @ params["query tower"]) @ (items @ params["item tower"]).T
        targets = jnp.eye(len(scores))
        return optax.softmax_cross_entropy(scores, targets).mean(), scores

    def step(carried: Any, queries: Any, items: Any) -> Any:
        params, opt_state, states = carried
        gradient, scores = jax.grad(loss, has_aux=True)(params, queries, items)
        updates, opt_state = optimizer.update(gradient, opt_state)
        states = jrm.merge(states, _in_batch(jrm, scores))
        return optax.apply_updates(params, updates), opt_state, states

    def start() -> Any:
        towers = {name: jnp.zeros((128, 64)) for name in ("query tower", "item tower")}
        return towers, optimizer.init(towers), jrm.empty(METRICS)

    queries = ((1024, 128), "f", ("lists", "features"))
    items = ((1024, 128), "f", ("items", "features"))
    return step, jax.eval_shape(start), [queries, items]


_ROWS = ("lists", "items")
_IDS = ((1024, 5), "i", ("lists", "ids"))
STEPS: dict[str, Callable[[], Parts]] = {
    "evaluate": _metrics(
        lambda jrm, *lists: jrm.evaluate(METRICS, *lists),
        *[((1024, 1024), "f", _ROWS)] * 2,
    ),
    "rank_scores": _metrics(
        lambda jrm, *arrays: _measured(jrm, jrm.rank_scores(*arrays)),
        ((1024, 1024), "f", _ROWS),
        _IDS,
    ),
    "rank_catalog": _metrics(
        lambda jrm, *arrays: _measured(jrm, jrm.rank_catalog(*arrays, k=None)),
        ((1024, 64), "f", ("lists", "features")),
        ((98_304, 64), "f", ("items", "features")),
        _IDS,
    ),
    "in-batch metrics": _metrics(_in_batch, ((1024, 1024), "f", _ROWS)),
    "train step": _train,
}
