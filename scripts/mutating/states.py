"""Mutants of states and of calls."""

from mutating.mutant import Mutant

MUTANTS = (
    Mutant(
        "low half of the sums dropped",
        "_values/double_floats.py",
        "    return FloatPair(high, _unless_infinite(high, low))",
        "    return FloatPair(high, low * 0)",
        "tests/test_mean.py::test_many_merges_do_not_drift",
    ),
    Mutant(
        "bounds of a pooled AUC leave out the ties of a bin",
        "_engine/states/pooled.py",
        "high=in_order + tied + _ROUNDING_OF_AUC",
        "high=in_order + tied / 2 + _ROUNDING_OF_AUC",
        "tests/test_pooled.py::test_values_and_bounds_are_those_of_loops",
    ),
    Mutant(
        "weights are summed without their pieces",
        "_engine/states/pooled.py",
        "_PIECES = 4",
        "_PIECES = 0",
        "tests/test_pooled.py::test_weights_lose_nothing_in_one_bin",
    ),
    Mutant(
        "devices that add parts of long pairs lose the last part",
        "_values/merging.py",
        "-size % parts",
        "-(size % parts)",
        "tests/test_pooled.py::test_devices",
    ),
    Mutant(
        "labels of a draw are not in rank order",
        "_engine/calls/sampled_labels.py",
        "held_labels = arithmetic.take(labels, jnp.maximum(index, 0))",
        "held_labels = labels[..., : index.shape[-1]]",
        "tests/test_sampled_labels.py::test_all_labels_of_a_list",
    ),
    Mutant(
        "exposure is weighted off centre",
        "_engine/states/exposure.py",
        "(size - 1 - 2 * ",
        "(size - 2 * ",
        "jax_rank_metrics/_engine/states/exposure.py",
    ),
    Mutant(
        "the weights of a ratio are those of lists",
        "_values/per_list.py",
        "jnp.where(defined, weights * denominator, 0)",
        "jnp.where(defined, weights + 0 * denominator, 0)",
        "tests/test_ratios.py::test_mean_and_error_equal_float64",
    ),
    Mutant(
        "clusters weigh the same",
        "_values/clusters.py",
        "np.where(weight > 0, weight, 1), weight",
        "np.where(weight > 0, weight, 1), (weight > 0) * 1.0",
        "tests/test_clusters.py::test_means_of_clusters",
    ),
    Mutant(
        "the floor of a geometric mean is added to values",
        "_values/mean.py",
        "jnp.log(jnp.maximum(values, floor))",
        "jnp.log(values + floor)",
        "tests/test_aggregates.py::test_geometric_means_of_little",
    ),
    Mutant(
        "resamples draw lists by their index in a batch",
        "_verdicts/inference/bootstrap.py",
        "sums = resample.resampled(values, ids, seeds)",
        "sums = resample.resampled(values, jnp.cumsum(ids * 0 + 1, 0) - 1, seeds)",
        "tests/test_bootstrap.py::test_any_cut_and_any_order",
    ),
    Mutant(
        "a value on the lowest edge is in the bin that starts there",
        "_values/histogram.py",
        "includes_equal = (np.arange(len(edges)) > 0)",
        "includes_equal = (np.arange(len(edges)) >= 0)",
        "tests/test_aggregates.py::test_counts_of_bins",
    ),
    Mutant(
        "a denominator of NaN is none below 0",
        "_values/per_list.py",
        "is_wrong = ~(values >= 0) & defined",
        "is_wrong = (values < 0) & defined",
        "tests/test_errors.py",
    ),
    Mutant(
        "undefined lists of a cluster count as 0",
        "_values/clusters.py",
        "filled(values, defined, undefined)",
        'filled(values, defined, "zero")',
        "tests/test_clusters.py::test_means_of_clusters",
    ),
    Mutant(
        "lists are shown inside of their own text",
        "_values/per_list.py",
        "if local is None or _is_showing.get():",
        "if local is None:",
        "tests/test_show.py::test_an_error_of_the_mean_may_show_the_lists",
    ),
)
