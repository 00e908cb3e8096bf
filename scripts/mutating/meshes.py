"""Mutants of what JAX transforms, over devices and otherwise."""

from mutating.mutant import Mutant

MUTANTS = (
    Mutant(
        "counts of devices are not added",
        "_mesh.py",
        "upper, lower = lax.psum(halves, axis_name)",
        "upper, lower = lax.pmax(halves, axis_name)",
        "tests/test_transforms.py::test_shard_map[states]",
    ),
    Mutant(
        "devices see no numbers below 0 of others",
        "_mesh.py",
        "lax.psum(jnp.where(slots == device, x[None], jnp.zeros_like(x)), axis_name)",
        "lax.pmax(jnp.where(slots == device, x[None], jnp.zeros_like(x)), axis_name)",
        "tests/test_transforms.py::test_shard_map[states]",
    ),
    Mutant(
        "devices keep the parts that others add",
        "_mesh.py",
        "return lax.all_to_all(parts, axis_name, split_axis=0, concat_axis=0)",
        "return parts",
        "tests/test_transforms.py::test_shard_map[states]",
    ),
    Mutant(
        "counts of two states are not added",
        "_states/double_floats.py",
        "count = x + y  # wraps",
        "count = jnp.maximum(x, y)  # wraps",
        "tests/test_transforms.py::test_merged_states",
    ),
    Mutant(
        "the extremes of a stack are those of its first state",
        "_states/double_floats.py",
        "return jnp.max(x, axis=0, initial=-jnp.inf)",
        "return x[0]",
        "tests/test_transforms.py::test_merged_states",
    ),
    Mutant(
        "the coverage of a stack is that of all its states",
        "_states/exposure.py",
        "/ state.counts.shape[-1]",
        "/ state.counts.size",
        "tests/test_transforms.py::test_merged_states",
    ),
    Mutant(
        "states of 64 bits are not narrowed",
        "_states/double_floats.py",
        "    if jax.config.jax_enable_x64:  # pyright: ignore\n",
        "    if True:\n",
        "tests/test_transforms.py::test_double_precision[states]",
    ),
    Mutant(
        "counts of lists are as wide as the integers of JAX",
        "_formulas/exposure.py",
        "num_lists = jnp.sum(flags, axis=-1, dtype=jnp.int32)",
        "num_lists = jnp.sum(flags, axis=-1)",
        "tests/test_transforms.py::test_double_precision[states]",
    ),
    Mutant(
        "two rankings are cut in two ways",
        "_formulas/matched_ids.py",
        "first = _shards.reshard_like(first, second)",
        "first = _shards.reshard_like(first, first)",
        "tests/test_transforms.py::test_mesh[lists-some]",
    ),
    Mutant(
        "profiles are cut in another way than lists",
        "_formulas/profiles.py",
        "ids = _shards.reshard_like(ids, profile[0])",
        "ids = _shards.reshard_like(ids, ids)",
        "tests/test_transforms.py::test_mesh[lists-some]",
    ),
    Mutant(
        "parts of lists of ids are scattered",
        "_formulas/exposure.py",
        "ids = _shards.gathered(ids)",
        "ids = ids + 0",
        "tests/test_transforms.py::test_mesh[states-lists]",
    ),
    Mutant(
        "each call is a program of its own",
        "_formulas/two_rankings.py",
        "return compare_ids(_rank_biased, first",
        "return compare_ids(lambda *x: _rank_biased(*x), first",
        "tests/test_transforms.py::test_plain_calls[lists]",
    ),
    Mutant(
        "a branch under vmap is that of the first list",
        "_mesh.py",
        "    del size, batched\n    return unvmap_any(*x), False",
        "    return unvmap_any(*[x[0] if y else x for x, y in zip(x, batched)]), False",
        "tests/test_transforms.py::test_vmap[rankings]",
    ),
    Mutant(
        "sums of resamples start as equal on all devices",
        "_results/inference/draws.py",
        "start = _mesh.match_varying(FloatPair.of(start), blocks_of_lists)",
        "start = FloatPair.of(start)",
        "tests/test_transforms.py::test_shard_map[states]",
    ),
)
