"""Strict JAX for every test, and eight virtual devices."""

import contextlib
import os
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Every virtual device that waits for others holds a thread, and by default there are no
# more threads than cores or devices: steps dispatched ahead may then wait for ever.
os.environ.setdefault("PJRT_NPROC", "32")
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

from cases import POLICIES  # noqa: E402  (after the flags, as the next)

from jax_rank_metrics._ordering import top_k  # noqa: E402


@pytest.fixture(params=POLICIES, ids=str)
def ties(request):
    """Every tie policy; None is the default without a key."""
    return request.param


@pytest.fixture
def rng(request):
    """Random inputs, the same in every run of one test."""
    name = request.node.nodeid.encode()
    return np.random.default_rng(list(name))


@pytest.fixture
def compiled_with(monkeypatch):
    """Sets what is read while programs are traced, and keeps none of them."""

    @contextlib.contextmanager
    def force(module, name, value):
        try:
            with monkeypatch.context() as patch:
                patch.setattr(module, name, value)
                jax.clear_caches()
                yield
        finally:
            jax.clear_caches()

    return force


@pytest.fixture
def lowering(compiled_with):
    """Forces one way to order: "top_k" for any depth, or "sort"."""

    def force(name):
        share = {"top_k": 1.0, "sort": -1.0}[name]
        return compiled_with(top_k, "TOP_K_SHARE", share)

    return force


# Tests, by how their names begin, that show by another road or at another size what one of
# the default run shows. Nearly all the time of a test goes into compiling.
LONG = """
test_processes test_random_ties_of_processes test_order_of_merging[shuffled
test_scan[1-1] test_jit[2- test_jit[4- test_random_ties_of_batches
test_random_ties[scan test_random_ties[jit, test_random_ties[pmap
test_policies_bound_each_other test_evaluate_is_mean_of_measure_of_rank
test_more_padding_is_no_matter
test_whole_lists_on_every_source[packed-worst test_whole_lists_on_every_source[catalog-7-worst
test_every_metric_on_every_source[packed test_every_metric_on_every_source[plain
test_every_metric_on_every_source[sharded-2x4-worst
test_every_metric_on_every_source[catalog-7-worst test_a_cut_beyond_the_catalogue
test_random_ties_have_the_expected_mean[packed test_random_ties_have_the_expected_mean[sharded
test_random_ties_have_the_expected_mean[catalog-none test_what_was_retrieved[labels
test_embeddings[reals test_the_matrix_of_scores_never_exists[None
test_packed_memory_grows_with_items[random
test_exports_from_other_sources test_exports_for_every_platform
test_a_cutoff_beyond_every_list[4294967297 test_a_cutoff_beyond_every_list[922
test_a_cutoff_beyond_every_list[118 test_a_cutoff_beyond_every_list[2147483647
test_narrow_segment_ids[int8-200 test_narrow_segment_ids[uint8-256
test_narrow_segment_ids[int16 test_narrow_segment_ids[uint16 test_narrow_segment_ids[int32
test_what_was_made_with_x64_on[None
test_random_orders_converge_to_the_closed_form
test_expected_equals_all_orders[whole-weights test_expected_equals_all_orders[cut-2-sorted
test_one_order_equals_loops[whole-worst test_one_order_equals_loops[whole-stable
test_one_order_equals_loops[cut-best test_hits_denominator_equals_loops[best
test_hits_denominator_equals_loops[worst
test_two_mesh_axes test_two_list_axes test_every_policy_of_global_arrays
test_no_collective_is_larger_than_the_state[best test_scores_stay_where_they_are[auto
test_scores_stay_where_they_are[explicit-best test_scores_stay_where_they_are[shard_map-best
test_shard_map[data-AxisType.Auto test_shard_map[('a' test_scan_inside_shard_map
test_items_axis_by_a_tuple_of_axes test_rank_and_measure_under_a_mesh[AxisType.Auto
test_retrieved_lists_under_a_mesh[AxisType.Auto test_padded_last_batch test_pmap
test_packed_lists_of_any_length test_blocks_rank_as_a_sort_does[some
test_sorts_side_by_side_rank_as_one test_long_lists_equal_loops[halves
test_padding_of_long_lists_changes_nothing test_batches_of_any_size_give_one_number
test_labels_of_every_dtype[bool test_labels_of_every_dtype[uint8
test_labels_of_every_dtype[int32 test_labels_of_every_dtype[float16
test_ties_of_every_dtype[int16 test_ties_of_every_dtype[uint8 test_ties_of_every_dtype[float16
test_ties_of_every_dtype[uint32 test_columns_beside_ids test_items_of_rows_and_devices
test_resumed_on_other_devices test_it_holds_on_every_layout
test_any_leading_axes[None test_masks_are_one[top-k-None-list test_list_weights[top-k-None-list
test_padding_is_never_read[top-k-None-list test_lists_that_do_not_count[top-k-None-list
test_packed_with_leading_axes test_embeddings[integers test_scan[2-7]
test_every_metric_on_every_source[catalog-7 test_jit[8-AxisType.Auto
test_narrow_segment_ids[uint test_a_cutoff_beyond_every_list[2147483648-False
test_random_ties_of_auto_meshes test_random_ties_have_the_expected_mean
""".split()


def pytest_collection_modifyitems(items):
    """Keeps together, under `--dist loadgroup`, tests that share compilations."""
    for item in items:
        group = item.path.stem
        if any(item.name.startswith(name) for name in LONG):
            item.add_marker(pytest.mark.long)
        if group in ("test_laws", "test_platforms"):
            parameters = item.callspec.params
            # The default reads the closed forms that "expected" does, and orders by a hash
            # for metrics that have none. Whole lists differ in their ordering alone.
            ks = parameters.get("ks", ())
            if parameters.get("ties") is not None or None in ks:
                item.add_marker(pytest.mark.long)
            group = f"{group}-{ks}-{parameters.get('ties')}"
        if group not in ("test_meshes", "test_compilation", "test_layouts"):
            item.add_marker(pytest.mark.xdist_group(group))
