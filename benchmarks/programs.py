"""The programs that compilers are asked for: the main metrics, and every source."""

import dataclasses
from collections.abc import Callable
from typing import Any

FIVE = ("ndcg@10", "precision@10", "recall@10", "mrr@10", "hit_rate@10")


@dataclasses.dataclass(frozen=True)
class Program:
    """A function, and the arrays that it is compiled for.

    Attributes:
        function: The function of arrays to compile.
        arrays: The shape and the dtype of each array.
        axes: The mesh axes that each array is cut over, on a mesh of 2 "data" × 2 "model";
            None for a program of one device.
    """

    function: Callable[..., Any]
    arrays: tuple[tuple[tuple[int, ...], str], ...]
    axes: tuple[str, ...] | None = None


def programs() -> dict[str, Program]:
    """Returns the programs by name: the main metrics, and every source of rankings."""
    import numpy as np
    from jax import grad

    import jax_rank_metrics as jrm

    def evaluate(*names: str, **options: Any) -> Callable[..., Any]:
        return lambda *lists: jrm.compute(jrm.evaluate(names, *lists, **options))

    def measure(*names: str) -> Callable[..., Any]:
        return lambda ranking: jrm.compute(jrm.mean(jrm.measure(names, ranking)))

    def soft_loss(scores: Any, labels: Any, segment_ids: Any = None) -> Any:
        options = {} if segment_ids is None else {"num_segments": 512}
        relax = jrm.sigmoid_ranks(0.1)
        return -jrm.ndcg(
            labels, scores, relax=relax, segment_ids=segment_ids, **options
        ).compute()

    def packed(labels: Any, scores: Any, segment_ids: Any) -> Any:
        options = {"segment_ids": segment_ids, "num_segments": 512}
        return evaluate("ndcg@10", "map", **options)(labels, scores)

    def places(labels: Any, above: Any, tied: Any, num_retrieved: Any) -> Any:
        ranking = jrm.rank_places(labels, above, tied, num_retrieved=num_retrieved)
        return measure("ndcg@10", "map", "mrr", "recall@10")(ranking)

    def in_batch(*names: str, **options: Any) -> Callable[..., Any]:
        ids = np.arange(1024, dtype=np.int32)[:, None]
        return lambda scores: measure(*names)(jrm.rank_scores(scores, ids, **options))

    def pooled(labels: Any, scores: Any, *weights: Any) -> Any:
        return jrm.pooled_roc_auc(labels, scores, None, *weights)

    def of(source: Callable[..., Any], *names: str, **options: Any) -> Any:
        return lambda *arrays: measure(*names)(source(*arrays, **options))

    two, uncut = ("ndcg@10", "recall@10"), ("mrr", "map")
    wide, flat = [((1024, 1000), "f")] * 2, [((20_000,), "f")] * 2
    segments, ids = ((20_000,), "i"), ((1024, 5), "i")
    soft, embeddings = [((64, 200), "f")] * 2, [((1024, 64), "f"), ((100_000, 64), "f")]
    judged = [((1024, 64), kind) for kind in "fii"] + [((1024,), "i")]
    table = {
        "ndcg@10 by hand · 1,024×1,000": (ndcg_by_hand, wide),
        "ndcg@10 by hand · 1,024×2,048": (ndcg_by_hand, [((1024, 2048), "f")] * 2),
        "ndcg@10": (evaluate("ndcg@10"), wide),
        "ndcg@10 · stable": (evaluate("ndcg@10", ties="stable"), wide),
        "ndcg@10 · 1,024×2,048": (evaluate("ndcg@10"), [((1024, 2048), "f")] * 2),
        "ndcg@10 · 64×100,000": (evaluate("ndcg@10"), [((64, 100_000), "f")] * 2),
        "five@10": (evaluate(*FIVE), wide),
        "ndcg": (evaluate("ndcg"), wide),
        "map": (evaluate("map"), wide),
        "mrr": (evaluate("mrr"), wide),
        "in-batch by hand · 1,024×1,024": (in_batch_by_hand, [((1024, 1024), "f")]),
        "in-batch": (in_batch("ndcg@10", "mrr"), [((1024, 1024), "f")]),
        "in-batch · k=10": (in_batch("ndcg@10", "mrr@10", k=10), [((1024, 1024), "f")]),
        "packed lists": (packed, [*flat, segments]),
        "rank_catalog · k=10": (of(jrm.rank_catalog, *two, k=10), [*embeddings, ids]),
        "rank_catalog · k=None": (of(jrm.rank_catalog, *uncut, k=None), [*embeddings, ids]),
        "rank_scores · k=10": (of(jrm.rank_scores, *two, k=10), [wide[0], ids]),
        "rank_scores · k=None": (of(jrm.rank_scores, *uncut), [wide[0], ids]),
        "rank_ids": (of(jrm.rank_ids, *two), [((1024, 100), "i"), ids]),
        "rank_retrieved": (of(jrm.rank_retrieved, *two), [((1024, 100), "f")]),
        "rank_places": (places, judged),
        "evaluate_users": (_batch_of_users, [*embeddings, ids, ((1024, 64), "i")]),
        "pooled_roc_auc": (pooled, wide),
        "pooled_roc_auc · weights": (pooled, [*wide, wide[0]]),
        "relax · gradient, 64×200": (grad(soft_loss), soft),
        "relax · gradient, packed lists": (grad(soft_loss), [*flat, segments]),
    }  # fmt: skip
    of_one = {
        name: Program(function, tuple(arrays))
        for name, (function, arrays) in table.items()
    }
    cut = Program(evaluate("ndcg@10"), tuple(wide), ("data", "model"))
    return {**of_one, "ndcg@10 · sharded": cut}


def ndcg_by_hand(labels: Any, scores: Any) -> Any:
    """Returns the mean of ndcg@10 as it is written by hand, for comparison."""
    import jax.numpy as jnp
    from jax import lax

    discounts = 1 / jnp.log2(jnp.arange(2.0, 12.0))
    ranked = jnp.take_along_axis(labels, lax.top_k(scores, 10)[1], axis=-1)
    dcg = ((jnp.exp2(ranked) - 1) * discounts).sum(-1)
    ideal = ((jnp.exp2(lax.top_k(labels, 10)[0]) - 1) * discounts).sum(-1)
    return jnp.mean(jnp.where(ideal > 0, dcg / jnp.where(ideal > 0, ideal, 1), 0))


def in_batch_by_hand(scores: Any) -> Any:
    """Returns ndcg@10 and mrr if row i should find item i; a tie has its mean rank."""
    import jax.numpy as jnp

    own = jnp.diagonal(scores)[:, None]
    rank = 1 + (scores > own).sum(1) + ((scores == own).sum(1) - 1) / 2
    gains = jnp.where(rank <= 10, 1 / jnp.log2(rank + 1), 0)
    return gains.mean(), (1 / rank).mean()


def _batch_of_users(users: Any, items: Any, relevant_ids: Any, seen_ids: Any) -> Any:
    """Runs the program of `evaluate_users` for one batch, which is not public."""
    import jax.numpy as jnp

    from jax_rank_metrics._engine.calls.binding import bind_all
    from jax_rank_metrics._runs.drivers import programs
    from jax_rank_metrics._runs.drivers.batching import QueryBatch
    from jax_rank_metrics._runs.drivers.jobs import Options

    labels = jnp.ones(relevant_ids.shape, jnp.float32)
    indices = jnp.arange(len(users))
    lists = {"listed_ids": relevant_ids, "labels": labels, "excluded_ids": seen_ids}
    batch = QueryBatch(indices, users, None, **lists)
    options = Options(bind_all(("ndcg@10", "recall@10")), 10, 4096, None)
    return programs.measure_catalog(options, programs.CatalogArrays(items), batch)
