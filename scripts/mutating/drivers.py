"""Mutants of the drivers."""

from mutating.mutant import Mutant

MUTANTS = (
    Mutant(
        "users that do not count are shown items",
        "_drivers/engine.py",
        "Collected(lists, only(values.items, is_counted, -1))",
        "Collected(lists, values.items)",
        "tests/test_item_groups.py::test_users_that_count",
    ),
    Mutant(
        "padding of a batch of users is an item",
        "_drivers/batches.py",
        "np.full(is_id.shape, -1, np.int32)",
        "np.full(is_id.shape, 0, np.int32)",
        "tests/test_drivers.py::test_values[dot]",
    ),
    Mutant(
        "NaN is looked up in the first part of a mesh",
        "_drivers/step.py",
        "lax.pmin(slot, queries_axis)",
        "lax.pmax(slot, queries_axis)",
        "tests/test_over_devices.py::test_nan_on_a_mesh",
    ),
    Mutant(
        "queries of a mesh are dealt out like cards",
        "_drivers/batches.py",
        "np.arange(num_queries) // size",
        "np.arange(num_queries) % num_parts",
        "tests/test_over_devices.py::test_queries_and_items_cut",
    ),
    Mutant(
        "a checkpoint skips a batch",
        "_drivers/engine.py",
        "if number >= num_saved - 1",
        "if number > num_saved",
        "tests/test_over_devices.py::test_checkpoints_of_one_device",
    ),
    Mutant(
        "a relevant item that is no candidate is forgotten",
        "_drivers/candidates.py",
        "retrieved=queries.retrieved,",
        "retrieved=exists,",
        "tests/test_drivers.py::test_values[dot-candidates]",
    ),
    Mutant(
        "an evaluation that goes on with nan",
        "_drivers/step.py",
        "jnp.where(has_nan, Fault.NAN, faults)",
        "faults",
        "tests/test_evaluate_embeddings.py::test_nan_of_items_that_are_read",
    ),
    Mutant(
        "a query finds itself in the gallery",
        "_drivers/judgements.py",
        "excluded = _with_diagonal(excluded, num_items)",
        "excluded = excluded",
        "jax_rank_metrics/_drivers/evaluate_embeddings.py",
    ),
    Mutant(
        "a batch has the attributes of the first queries",
        "_drivers/query_batches.py",
        '"query_attributes", x, batch.indices, devices.of_queries',
        '"query_attributes", x, np.arange(batch.indices.size), devices.of_queries',
        "tests/test_drivers.py::test_values[dot-items-whole-by attributes]",
    ),
    Mutant(
        "the answer of a question leaves its list",
        "_drivers/triples.py",
        "is_known & (rows != self.answers[indices, None])",
        "is_known",
        "tests/test_evaluate_links.py::test_realistic_means_on_every_side",
    ),
    Mutant(
        "the known answers of another relation",
        "_drivers/triples.py",
        "* num_relations + x[:, RELATION]",
        "* num_relations",
        "tests/test_evaluate_links.py::test_realistic_means_on_every_side",
    ),
    Mutant(
        "entries of sparse items in any order",
        "_drivers/sparse_vectors.py",
        "if not rows.has_canonical_format:",
        "if rows is None:",
        "tests/test_sparse_vectors.py::test_equal_items_tie",
    ),
    Mutant(
        "sparse integers multiplied in their own dtype",
        "_drivers/sparse_vectors.py",
        "np.result_type(queries.dtype, items.dtype, np.float32)",
        "np.result_type(queries.dtype, items.dtype)",
        "tests/test_sparse_vectors.py::test_small_integers_do_not_overflow",
    ),
    Mutant(
        "the rows of masked sparse items",
        "_drivers/sparse_vectors.py",
        'np.searchsorted(rows.indptr, entries, side="right") - 1',
        'np.searchsorted(rows.indptr, entries, side="right")',
        "tests/test_sparse_vectors.py::test_masked_items_may_hold_nan",
    ),
)
