"""Breaks the package in many ways, and checks that the tests notice each of them.

    python scripts/mutants.py

Each mutant is a copy of the package with one change. The test named with it runs on the
copy and must fail. A mutant that survives shows a gap in the tests.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent

# A process for each mutant, forked from one that has imported the slow libraries once.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["hypothesis", "jax", "pytest"])

RAN = (
    100  # is added to pytest's exit codes, as Python exits with 1 where it fails itself
)


class Mutant(NamedTuple):
    """A change, and a test that must notice it."""

    name: str
    file: str
    old: str
    new: str
    test: str


MUTANTS = [
    Mutant(
        "discount off by one",
        "_gains.py",
        "return math.log(2) / jnp.log1p(ranks)",
        "return math.log(2) / jnp.log1p(ranks + 1)",
        "tests/test_values.py::test_discounts",
    ),
    Mutant(
        "mask dropped",
        "_items.py",
        "exists = exists & self.mask",
        "exists = exists | self.mask",
        "tests/test_values.py::test_retrieved_padding_moves_up",
    ),
    Mutant(
        "ties ignored",
        "_ordering/policy.py",
        'return self.name in (None, "expected", "tied")',
        'return self.name == "none"',
        "tests/test_values.py::test_two_tied_documents",
    ),
    Mutant(
        "low half of the sums dropped",
        "_states/double_floats.py",
        "    return FloatPair(high, _unless_infinite(high, low))",
        "    return FloatPair(high, low * 0)",
        "tests/test_mean.py::test_many_merges_do_not_drift",
    ),
    Mutant(
        "the pool is only what was retrieved",
        "_sources/retrieved.py",
        "pool_labels, dtype, pool_mask, pool_weights, None, pool_columns",
        "labels, dtype, mask, weights, None, columns",
        "tests/test_values.py::test_the_ideal_is_of_the_pool",
    ),
    Mutant(
        "the rank at the cutoff does not count",
        "_places/place.py",
        "np.where(rank <= k, values,",
        "np.where(rank < k, values,",
        "tests/test_places.py::test_places_of_short_rows",
    ),
    Mutant(
        "the first stop counts all tied items as stops",
        "_places/first_stop.py",
        "is_tied, is_tied & stop)",
        "is_tied, is_tied)",
        "tests/test_places.py::test_places_of_short_rows",
    ),
    # One of each family of metrics.
    Mutant(
        "the user gives up before the first rank",
        "_formulas/user_models.py",
        "power(p, ranks - 1)",
        "power(p, ranks)",
        "jax_rank_metrics/_formulas/user_models.py",
    ),
    Mutant(
        "a pair of tied items counts as in order",
        "_ranking/concordance.py",
        "list_start, start, end + 1)",
        "list_start, start, end)",
        "tests/test_brute_force.py::test_constant_scores_give_the_mean_over_all_orders",
    ),
    Mutant(
        "a tie group stands at its first rank",
        "_formulas/multilabel.py",
        "(hits_above + hits_tied) / (place.above + place.tied)",
        "(hits_above + hits_tied) / (place.above + 1)",
        "jax_rank_metrics/_formulas/multilabel.py",
    ),
    Mutant(
        "capped items above are counted twice",
        "_formulas/incomplete_judgements.py",
        "uncapped * (uncapped - 1) / 2",
        "uncapped * (uncapped + 1) / 2",
        "jax_rank_metrics/_formulas/incomplete_judgements.py",
    ),
    Mutant(
        "documents with a relevance below 0 stay in condensed lists",
        "_files/join.py",
        "sides.is_retrieved & (relevance >= 0)",
        "sides.is_retrieved & (relevance >= -9)",
        "tests/test_joined.py::test_condensed_lists_are_those_of_judged_documents",
    ),
    Mutant(
        "a residual reads the labels of items as they are",
        "_ranking/labels.py",
        "item_fn(_with_labels(items, label_fn(items)))",
        "item_fn(items)",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
    ),
    Mutant(
        "fall-out counts relevant items too",
        "_formulas/hits.py",
        "ratio(ranking.depth(ks) - hits,",
        "ratio(ranking.depth(ks),",
        "jax_rank_metrics/_formulas/hits.py",
    ),
    Mutant(
        "a soft rank counts the item itself",
        "_places/soft.py",
        "jnp.where(is_other, is_above, 0)",
        "is_above",
        "jax_rank_metrics/_places/soft.py",
    ),
    Mutant(
        "a group counts items that are not relevant",
        "_formulas/group_recall.py",
        "return shares[..., group] * is_hit(items).astype(shares.dtype)",
        "return shares[..., group]",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
    ),
    Mutant(
        "items dropped at the cut are in no group",
        "_sources/item_groups.py",
        "memberships = memberships + dropped.memberships.astype(memberships.dtype)",
        "memberships = memberships + 0 * dropped.memberships.astype(memberships.dtype)",
        "tests/test_layouts.py::test_every_metric_on_every_source[catalog-None]",
    ),
    Mutant(
        "users that do not count are shown items",
        "_drivers/engine.py",
        "Collected(lists, only(values.items, is_counted, -1))",
        "Collected(lists, values.items)",
        "tests/test_item_groups.py::test_users_that_count",
    ),
    Mutant(
        "the first item of a subtopic counts as its second",
        "_formulas/subtopics.py",
        "power(1 - alpha, num_above)",
        "power(1 - alpha, num_above + 1)",
        "jax_rank_metrics/_formulas/subtopics.py",
    ),
    Mutant(
        "the ideal of intents begins at the second rank",
        "_formulas/intents.py",
        "power(kept_share, ranks - 1) / ranks",
        "power(kept_share, ranks) / ranks",
        "jax_rank_metrics/_formulas/intents.py",
    ),
    Mutant(
        "two rankings overlap without weights",
        "_formulas/two_rankings.py",
        "[stop_chance * _arithmetic",
        "[_arithmetic",
        "jax_rank_metrics/_formulas/two_rankings.py",
    ),
    Mutant(
        "lists of one class weigh in GAUC",
        "_formulas/order_agreement.py",
        "jnp.where(lists.defined, weights, 0)",
        "weights",
        "tests/test_laws.py::test_lists_that_do_not_count",
    ),
    Mutant(
        "all relevant items rank wherever one does",
        "_formulas/positions.py",
        "(num_relevant > 0) & (num_ranked >= num_relevant)",
        "num_ranked > 0",
        "tests/test_values.py::test_penalty_of_items_without_a_rank",
    ),
    Mutant(
        "MAP@R without its cut",
        "_formulas/positions.py",
        "precision_at, (num_relevant,),",
        "precision_at, (None,),",
        "jax_rank_metrics/_formulas/positions.py",
    ),
    Mutant(
        "neighbours as far as the k-th do not count",
        "_formulas/nearest_neighbors.py",
        "(returned <= bound[..., None])",
        "(returned < bound[..., None])",
        "tests/test_neighbor_recall.py::test_an_exact_search_finds_all",
    ),
    Mutant(
        "bounds of a pooled AUC leave out the ties of a bin",
        "_states/pooled.py",
        "high=in_order + tied + _ROUNDING_OF_AUC",
        "high=in_order + tied / 2 + _ROUNDING_OF_AUC",
        "tests/test_pooled.py::test_values_and_bounds_are_those_of_loops",
    ),
    Mutant(
        "weights are summed without their pieces",
        "_states/bins.py",
        "_PIECES = 4",
        "_PIECES = 0",
        "tests/test_pooled.py::test_weights_lose_nothing_in_one_bin",
    ),
    Mutant(
        "devices that add parts of long pairs lose the last part",
        "_states/merging.py",
        "-size % parts",
        "-(size % parts)",
        "tests/test_pooled.py::test_devices",
    ),
    Mutant(
        "labels of a draw are not in rank order",
        "_calls/sampled_labels.py",
        "of_items = _arithmetic.take(labels, jnp.maximum(index, 0))",
        "of_items = labels[..., : index.shape[-1]]",
        "tests/test_sampled_labels.py::test_other_metrics_are_drawn",
    ),
    Mutant(
        "exposure is weighted off centre",
        "_states/exposure.py",
        "(size - 1 - 2 * ",
        "(size - 2 * ",
        "jax_rank_metrics/_states/exposure.py",
    ),
    Mutant(
        "the popularity of equal counts differs",
        "_formulas/serendipity.py",
        "starts = (keys != _arithmetic.shifted(keys, 1)) | (_arithmetic.iota(keys) == 0)",
        "starts = jnp.ones_like(keys, bool)",
        "tests/test_profiles.py::test_values_are_those_of_loops",
    ),
    Mutant(
        "the weights of a ratio are those of lists",
        "_states/of_lists.py",
        "jnp.where(defined, weights * denominator, 0)",
        "jnp.where(defined, weights + 0 * denominator, 0)",
        "tests/test_ratios.py::test_mean_and_error_equal_float64",
    ),
    Mutant(
        "swaps that leave a ratio without weight are not extreme",
        "_results/inference/ratio_swaps.py",
        "return empty | (difference",
        "return ~empty & (difference",
        "tests/test_ratio_swaps.py::test_a_side_with_one_list",
    ),
    Mutant(
        "the jackknife without the leverage of heavy lists",
        "_results/inference/means.py",
        "np.where(self.share < 1, 1 - self.share, 1)",
        "np.where(self.share < 1, 1, 1)",
        "tests/test_ratio_swaps.py::test_the_error_is_that_of_the_jackknife",
    ),
    Mutant(
        "seeds that do not vary",
        "_results/inference/studentised.py",
        "variance += spread / (len(side) * (len(side) - 1))",
        "variance += 0 * spread",
        "tests/test_seeds.py::test_resamples_are_those_of_a_loop",
    ),
    Mutant(
        "pairs of a list and a seed counted twice",
        "_results/inference/means.py",
        "max(of_lists + of_seeds - of_pairs, of_lists, of_seeds)",
        "of_lists + of_seeds",
        "tests/test_seeds.py::test_the_error_is_that_of_variance_components",
    ),
    Mutant(
        "the best quarter of seeds kept",
        "_results/systems/seed_scores.py",
        "start, end = cut, len(scores) - cut",
        "start, end = cut, len(scores)",
        "tests/test_seeds.py::test_interquartile_means",
    ),
    Mutant(
        "clusters weigh the same",
        "_states/clusters.py",
        "np.where(weight > 0, weight, 1), weight",
        "np.where(weight > 0, weight, 1), (weight > 0) * 1.0",
        "tests/test_clusters.py::test_means_of_clusters",
    ),
    Mutant(
        "the floor of a geometric mean is added to values",
        "_states/geometric.py",
        "jnp.log(jnp.maximum(values, floor))",
        "jnp.log(values + floor)",
        "tests/test_aggregates.py::test_geometric_means_of_little",
    ),
    Mutant(
        "scores of files in single precision",
        "_files/packed.py",
        "pl.Series(retrieved.values + 0.0)",
        "pl.Series((retrieved.values + 0.0).astype(np.float32))",
        "tests/test_files.py::test_join",
    ),
    Mutant(
        "a document beyond the depth is counted",
        "_files/places.py",
        "is_kept[rows[above < depth]] = True",
        "is_kept[rows[above <= depth]] = True",
        "tests/test_joined.py::test_places_are_those_of_loops",
    ),
    Mutant(
        "scores of dicts compared as doubles under trec_eval's rules",
        "_files/join.py",
        "sides = sides.with_float32_scores()",
        "pass",
        "tests/peers/test_pytrec_eval.py::test_every_measure_of_every_query",
    ),
    Mutant(
        "unjudged documents stay in runs that are to lose them",
        "_files/join.py",
        "    if condensed:",
        "    if False:",
        "tests/peers/test_ir_measures_provider.py::test_pytrec_eval",
    ),
    Mutant(
        "padding of a batch of users is an item",
        "_drivers/batches.py",
        "np.full(is_id.shape, -1, np.int32)",
        "np.full(is_id.shape, 0, np.int32)",
        "tests/test_drivers.py::test_values[queries-one device]",
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
        "tests/test_drivers.py::test_values[candidates-one device]",
    ),
    Mutant(
        "an evaluation that goes on with nan",
        "_drivers/step.py",
        "jnp.where(has_nan, Fault.NAN, faults)",
        "faults",
        "tests/test_evaluate_embeddings.py::test_nan_of_items_that_are_read",
    ),
    Mutant(
        "distances are measured from 0",
        "_sources/similarities.py",
        "origin = xp.nan_to_num(mean, posinf=0, neginf=0)",
        "origin = xp.zeros_like(mean)",
        "tests/test_evaluate_embeddings.py::test_scores_of_similarities",
    ),
    Mutant(
        "a cosine whose squares overflow",
        "_sources/similarities.py",
        "    vectors = vectors * (1 / power)  # faster than a division, and as exact\n",
        "",
        "tests/test_evaluate_embeddings.py::test_cosines_of_vectors_of_any_length",
    ),
    Mutant(
        "the last byte of a code is not read",
        "_sources/similarities.py",
        "for word in range(items.shape[-1]):",
        "for word in range(items.shape[-1] - 1):",
        "tests/test_evaluate_embeddings.py::test_scores_of_similarities",
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
        "tests/test_drivers.py::test_values[attributes in one block-one device]",
    ),
    Mutant(
        "a binary search that stops short of the last item",
        "_ordering/outranking_cpu.py",
        "(count <= size)",
        "(count < size)",
        "tests/test_rank_scores.py::test_many_relevant_items",
    ),
    Mutant(
        "items from the host whose padding exists",
        "_sources/host_blocks.py",
        "np.arange(size) < filled",
        "np.arange(size) <= filled",
        "tests/test_host_blocks.py",
    ),
    Mutant(
        "counting that leaves out the last part",
        "_ordering/outranking_cpu.py",
        "    if size % part:\n",
        "    if False:\n",
        "tests/test_rank_scores.py::test_parts_of_many_lists",
    ),
    Mutant(
        "ranks of MS MARCO read as scores",
        "_files/text.py",
        "with_columns(score=-ranks)",
        "with_columns(score=ranks)",
        "tests/test_file_formats.py::test_files_of_ms_marco",
    ),
    Mutant(
        "a line off",
        "_files/text.py",
        'io.BytesIO(b"\\n" + data)',
        "io.BytesIO(data)",
        "tests/test_files.py::test_the_first_bad_line_is_named",
    ),
    Mutant(
        "high words of ids dropped",
        "_results/inference/draws.py",
        "fits = high == low >> 31",
        "fits = high == high",
        "tests/test_bootstrap.py::test_ids_of_64_bits",
    ),
    Mutant(
        "known ids numbered as they appear",
        "_inputs/pack.py",
        "return Packing(new_numbers[packed.segment_ids]",
        "return Packing(packed.segment_ids",
        "tests/test_ragged.py::test_pack_by_a_vocabulary",
    ),
    Mutant(
        "a tuning that costs nothing",
        "_results/inference/judged_lists.py",
        "np.maximum(residual.freedom - 1, 0)",
        "np.maximum(residual.freedom, 0)",
        "tests/test_judges.py::test_formula",
    ),
    Mutant(
        "clusters of people and judge as if they were apart",
        "_results/inference/judged_lists.py",
        "((scale * pulls + tuning * other_pulls) ** 2)",
        "((scale * pulls) ** 2 + (tuning * other_pulls) ** 2)",
        "tests/test_judges.py::test_loops",
    ),
    Mutant(
        "labelled lists counted with the others",
        "_results/inference/judged_lists.py",
        "other_weights[indices] = 0",
        "other_weights[indices] *= 1",
        "tests/test_judges.py::test_formula",
    ),
    Mutant(
        "resamples that keep the tuning",
        "_results/inference/judged_bootstrap.py",
        "tuning = jnp.clip(tuning, 0, 1)",
        "tuning = 0.8 + 0 * tuning",
        "tests/test_judges.py::test_bootstrap_of_people_and_judge",
    ),
    Mutant(
        "one degree of freedom too many",
        "_results/comparisons/power.py",
        "total_error(error, size - 1,",
        "total_error(error, size,",
        "tests/test_power.py::test_power_is_reached",
    ),
    Mutant(
        "groups of systems that stop early",
        "_results/leaderboards/leaderboard.py",
        "differs[start:stop, stop].any()",
        "differs[:stop, stop].any()",
        "tests/test_leaderboard.py::test_groups_are_longest_runs",
    ),
    Mutant(
        "ties of systems that count as wins",
        "_results/leaderboards/orders.py",
        "<= ROUNDING * size, 0.5,",
        "<= ROUNDING * size, 1,",
        "tests/test_leaderboard.py::test_draws_are_those_of_a_multivariate_t",
    ),
    Mutant(
        "means that are drawn as if their spread were known",
        "_results/leaderboards/orders.py",
        "rng.chisquare(freedom, samples)",
        "np.full(samples, freedom)",
        "tests/test_leaderboard.py::test_draws_are_those_of_a_multivariate_t",
    ),
    Mutant(
        "halves of lists with lists in common",
        "_results/leaderboards/orders.py",
        "order >= -(-lists // 2)",
        "order >= 1",
        "tests/test_leaderboard.py::test_stability_is_the_agreement_of_halves",
    ),
    Mutant(
        "a leaderboard without the leverage of heavy lists",
        "_results/leaderboards/task_means.py",
        "deviations(of_lists.changes,",
        "deviations(of_lists.influence,",
        "tests/test_leaderboard.py::test_weights_that_differ_have_one_error",
    ),
    Mutant(
        "arithmetic means in tables of geometric ones",
        "_results/tables/estimates.py",
        "kind = STATES.get(metric_part(name), Mean)",
        "kind = Mean",
        "tests/test_table.py::test_geometric_means_of_values",
    ),
    Mutant(
        "comparisons of other values beside a table",
        "_results/tables/significance.py",
        "if abs(difference - comparison.difference) > tolerance:",
        "if False:",
        "tests/test_table.py::test_comparisons_are_of_the_values_of_the_table",
    ),
    Mutant(
        "sign flips of pairs without their rounding",
        "_results/inference/permutations.py",
        "np.abs(differences.sum(0)) - ROUNDING * sizes",
        "np.abs(differences.sum(0)) + ROUNDING * sizes",
        "tests/test_leaderboard.py::test_p_is_that_of_comparisons",
    ),
    Mutant(
        "tied items beyond the cut without those held",
        "_sources/census.py",
        "tied = self.tally(labels, is_last) + dropped",
        "tied = dropped",
        "tests/test_attributes.py::test_streamed_labels_are_dense_labels",
    ),
    Mutant(
        "first stops without the stops that tie",
        "_sources/labelled.py",
        "first.dropped + 1",
        "first.dropped",
        "tests/test_attributes.py::test_streamed_labels_are_dense_labels",
    ),
    Mutant(
        "the first rank of a tie for its mean",
        "_places/first_stop.py",
        "(2 * first.above + first.tied + 1)",
        "(2 * first.above + 2)",
        "tests/test_realistic_ranks.py::test_a_target_among_three_tied_items",
    ),
    Mutant(
        "lists that a metric refuses pass",
        "_ranking/view.py",
        "refused.get(reason, False) | lists",
        "refused.get(reason, False) & lists",
        "tests/test_realistic_ranks.py::test_lists_of_several_relevant_items",
    ),
    Mutant(
        "lists without a relevant item in an adjusted metric are defined",
        "_formulas/adjusted_for_chance.py",
        "ratio.defined & widen(defined, ratio.defined)",
        "ratio.defined",
        "tests/test_realistic_ranks.py::test_ratios_of_sums_merge",
    ),
    Mutant(
        "propensity-scored sums are not divided list by list",
        "_formulas/propensity_scored.py",
        "ranking.per_list(ratio(values, divisor), True, k, hit)",
        "ranking.per_list(values, True, k, hit)",
        "tests/test_laws.py::test_implied_list_weights[columns]",
    ),
    Mutant(
        "the middle of two lots of shares",
        "_group_amounts.py",
        "middle = (p + q) / 2",
        "middle = q",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
    ),
    Mutant(
        "groups of the listed items taken for those of all",
        "_ranking/unlisted.py",
        "is_partial = GROUPS in view.data.partial_columns",
        "is_partial = False",
        "tests/test_exposure_fairness.py::test_groups_of_relevant_items_alone",
    ),
    Mutant(
        "a user reads on where the list ends, but nobody counts",
        "_ranking/browsing.py",
        "items=total(head.view) + empty_ranks,",
        "items=total(head.view),",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
    ),
    Mutant(
        "the ideal gain of the blended ratio stands still",
        "_layouts/rows.py",
        "jnp.clip(ranks - 1, 0, x.shape[-1] - 1)",
        "jnp.zeros_like(ranks)",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
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
        "share of a list not rounded as float64",
        "_ranking/shares.py",
        "bit = jnp.where(half // _BITS == index, 1 << half % _BITS, 0)",
        "bit = jnp.zeros_like(half)",
        "tests/test_share.py::test_cutoffs_are_those_of_float64",
    ),
    Mutant(
        "worst order of BEDROC as if nothing were last",
        "_formulas/early_recognition.py",
        "of_worst = worth_of_ranks(length - num_active, num_active)[..., None]",
        "of_worst = worth_of_ranks(length, num_active)[..., None]",
        "tests/test_brute_force.py::test_whole_lists_equal_all_orders",
    ),
    Mutant(
        "tokens that are padding count",
        "_sources/tokens.py",
        "jnp.maximum(best, jnp.where(exists, scores, -jnp.inf)), None",
        "jnp.maximum(best, scores), None",
        "tests/test_maxsim.py::test_scores",
    ),
    Mutant(
        "the last block of a width is shorter",
        "_sources/token_items.py",
        "            yield TokenBlock.of(group, width, size)\n        self.num_items",
        "            yield TokenBlock.of(group, width, len(group))\n        self.num_items",
        "tests/test_maxsim.py::test_blocks_hold_equally_many_items",
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
]


def run_pytest(folder: Path, test: str, output: Path) -> None:
    """Exits with `RAN` and pytest's code for a test of the package in the folder."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # for the processes that tests start
    # Pytest warns that it cannot rewrite the asserts of plugins that were imported before.
    ignored = "ignore::pytest.PytestAssertRewriteWarning"
    # Slow tests may be named, too.
    arguments = ["-x", "--no-header", "-m", "", "-W", ignored, test]
    if "::" not in test:
        arguments.append("--doctest-modules")
    sys.exit(RAN + pytest.main(arguments))


def survives(mutant: Mutant, folder: Path) -> bool:
    """Whether the test passes on a copy of the package with this change."""
    shutil.copytree(ROOT / "jax_rank_metrics", folder / "jax_rank_metrics")
    shutil.copytree(ROOT / "tests", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "jax_rank_metrics" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        sys.exit(f"{mutant.name}: {mutant.old!r} is not exactly once in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))
    output = folder / "output"
    process = PROCESSES.Process(target=run_pytest, args=(folder, mutant.test, output))
    process.start()
    process.join()
    if process.exitcode not in (RAN, RAN + 1):  # 1 is the code of a test that failed
        sys.exit(f"{mutant.name}: pytest did not run\n{output.read_text()}")
    return process.exitcode == RAN


def tried(mutant: Mutant) -> str:
    """Returns the fate of a mutant."""
    with tempfile.TemporaryDirectory() as folder:
        return "SURVIVED" if survives(mutant, Path(folder)) else "killed"


def main() -> None:
    """Tests every mutant, two at a time."""
    survivors = []
    with ThreadPoolExecutor(2) as pool:
        for mutant, fate in zip(MUTANTS, pool.map(tried, MUTANTS), strict=True):
            print(f"{fate:9} {mutant.name}", flush=True)
            survivors += [mutant.name] * (fate == "SURVIVED")
    sys.exit(f"survived: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
