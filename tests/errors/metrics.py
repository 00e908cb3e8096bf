"""Bad calls of families of metrics: options, columns, and data that they cannot read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from error_rows import traced
from sources import put

import jax_rank_metrics as jrm
from errors.calls import IDS, S, Y, cut, packed, sharded
from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._engine.ranking import Cache, data_of, with_labels
from jax_rank_metrics._names.facts import FACTS

ONES, RISING = np.ones(3, np.float32), np.arange(3, dtype=np.float32)
TWO = np.ones((3, 2), np.float32)
GROUPS = np.float32([[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
FOUR, PAIR, TRUE = np.float32([3, 1, 2, 2]), np.array([1, 2]), np.ones(2, bool)
SOFT = jrm.sigmoid_ranks(0.3)
JUDGED = {"judged": np.array([True, False, True])}
RESIDUAL = functools.partial(jrm.residual, ONES, RISING, columns=JUDGED)
PROPENSITIES = functools.partial(jrm.label_propensities, num_points=10)
LINEAR = "cg, dcg, insq, num_relevant_retrieved, precision, rank_biased_precision"


def VALUE(metrics, **columns):
    """Evaluates metrics by name on a list of three items with columns."""
    return jrm.evaluate(metrics, ONES, RISING, columns=columns or None)


def of_items(name, column, values, relevant=None, profile_ids=None, **options):
    """Measures ranked ids with one known column."""
    known = {"item_columns": {column: values}, "profile_ids": profile_ids}
    measure = getattr(jrm, name).of
    return jax.eval_shape(
        lambda: measure(jrm.rank_ids(IDS, relevant, **known), k=2, **options)
    )


def soft():
    """Returns a ranking by soft places."""
    return jax.eval_shape(lambda: jrm.rank(Y, S, relax=SOFT))


def listed_ids():
    """Returns a ranking of ids that knows the groups of relevant items alone."""
    columns = {"groups": GROUPS[1:3]}
    return jax.eval_shape(
        lambda: jrm.rank_ids(
            np.array([2, 0]), np.array([1, 2]), relevant_columns=columns
        )
    )


def listed_scores():
    """Returns a ranking of the places of relevant items, which knows all groups."""
    scores = np.float32([3, 1, 2, 2])
    return jax.eval_shape(
        lambda: jrm.rank_scores(
            scores, np.array([1, 2]), item_columns={"groups": GROUPS}
        )
    )


def listed_costs():
    """Returns a cut ranking by scores that knows the costs of relevant items alone."""
    columns = {"costs": ONES[:1]}
    return jax.eval_shape(
        lambda: jrm.rank_scores(ONES[:2], IDS[0, :1], k=2, relevant_columns=columns)
    )


def one_place():
    """Returns a ranking that holds the place of one judged item of three."""
    columns = {"judged": np.array([True])}
    place = (np.array([1]), np.array([0]), np.array([1]))
    return jax.eval_shape(
        lambda: jrm.rank_places(*place, num_retrieved=3, columns=columns)
    )


def pooled(ranking, *, k=None):
    """A formula that reads the pool."""
    values = ranking.ideal_sum(lambda items: items.labels, jnp.ones_like, (k,))
    return sums(ranking, values, (k,))


def is_relevant(items):
    return items.relevant(1)


def reciprocal(ranks):
    return 1 / ranks


def forgotten(call):
    """Returns a call that forgets the names of metrics that it makes."""

    def without_names():
        names, known = dict(NAMES), dict(FACTS)
        try:
            call()
        finally:
            for table, before in ((NAMES, names), (FACTS, known)):
                table.clear()
                table.update(before)

    return without_names


def FORMULA(values_of):
    """Calls a metric of a formula, and forgets its name."""

    def own(ranking, *, k=None):
        return values_of(ranking, ranking.cutoffs(k))

    forgotten(traced(lambda: jrm.metric()(own).of(jrm.rank_retrieved(ONES), k=1)))()


def sums(ranking, values, ks):
    """Returns what a formula of sums returns."""
    return ranking.per_list(values, True, ks, is_relevant)


def grouped():
    """Ranks all items, whose groups are known."""
    return jrm.rank(ONES, RISING, columns={"groups": TWO})


def all_ids():
    """Ranks ids, and knows the groups of all items."""
    return jrm.rank_ids(np.array([2, 0]), PAIR, item_columns={"groups": GROUPS})


def more_places():
    """Ranks all items, and the first of them in two ways."""
    how = {"k": 2, "item_columns": {"groups": GROUPS}}
    catalog = jrm.rank_catalog(TWO[:1], GROUPS, PAIR[None], **how)
    return grouped(), jrm.rank_scores(FOUR, PAIR, **how), catalog


def lists_on_devices():
    """Returns lists that are cut over the devices over which `sharded` cuts items."""
    mesh = sharded().sharding.mesh
    return put(mesh, np.zeros((2, 4), np.float32), "model")


CASES = {
    # beyond accuracy
    "a ranking for lists": (TypeError, "ndcg needs labels and scores; pass both, or pass a ranking as ndcg.of(ranking)", lambda: jrm.ndcg(cut()), traced(lambda: jrm.ndcg.of(cut(), k=2))),
    "labels alone": (TypeError, "reciprocal_rank needs labels and scores", lambda: jrm.reciprocal_rank.per_list(Y), traced(lambda: jrm.reciprocal_rank.per_list(Y, S))),
    "no catalogue": (ValueError, "num_items is 0.*at least 1", lambda: jrm.exposure(IDS, 0), traced(lambda: jrm.exposure(IDS, 1))),
    "a pair of one": (ValueError, "intra_list_diversity: k is 1, but diversity needs pairs of items; pass k >= 2", traced(lambda: jrm.intra_list_diversity.of(jrm.rank_ids(IDS, item_columns={"embeddings": np.ones((4, 2), np.float32)}), k=1)), traced(lambda: jrm.intra_list_diversity.of(jrm.rank_ids(IDS, item_columns={"embeddings": np.ones((4, 2), np.float32)}), k=2))),
    "counts of lists": (ValueError, "'counts' has shape (2, 3); pass an array [num_items]", lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": Y})), traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)})))),
    "one embedding": (ValueError, "'embeddings' has shape .*num_items, features", lambda: jrm.intra_list_diversity.of(jrm.rank_ids(IDS, item_columns={"embeddings": np.ones(4, np.float32)})), traced(lambda: jrm.intra_list_diversity.of(jrm.rank_ids(IDS, item_columns={"embeddings": np.ones((4, 1), np.float32)})))),
    "counts that pandas lacks": (ValueError, "item_columns['counts'] holds nan for item 1; pass a finite number", lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": [1, np.nan, 2, 3]})), lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": [1, 0, 2, 3]}))),
    "counts of items below 0": (ValueError, "item_columns['counts'] holds -1.0 for item 2; pass how often", lambda: jrm.popularity.of(jrm.rank_ids(IDS, item_columns={"counts": np.array([1, 0, -1, 3])})), lambda: jrm.popularity.of(jrm.rank_ids(IDS, item_columns={"counts": np.array([1, 0, 0, 3])}))),
    "counts in rows": (ValueError, "columns: 'counts' has shape (2, 3) for items of shape (2, 3); pass the count of each item, its logarithm", traced(lambda: jrm.popularity.of(jrm.rank(Y, S, columns={"counts": np.ones_like(Y)}))), traced(lambda: jrm.popularity.of(jrm.rank(Y, S, columns={"counts": np.ones((*Y.shape, 3), np.float32)})))),
    "embeddings in rows": (ValueError, "columns: 'embeddings' has shape (2, 3) for items of shape (2, 3); pass unit vectors", traced(lambda: jrm.intra_list_diversity(Y, S, columns={"embeddings": np.ones_like(Y)})), traced(lambda: jrm.intra_list_diversity(Y, S, columns={"embeddings": np.ones((*Y.shape, 3), np.float32)}))),
    "serendipity of ids": (TypeError, "write jrm.serendipity.of(jrm.rank_ids(ids, relevant_ids, item_columns={'counts': counts}), k=10)", lambda: jrm.serendipity(IDS, IDS, np.ones(4)), lambda: of_items("serendipity", "counts", np.ones(4), [[1, 2], [0, 3]])),
    "novelty of ids": (TypeError, "novelty reads the column 'counts' of ranked items; write jrm.novelty.of(jrm.rank_ids(ids, item_columns={'counts': counts}), k=10)", lambda: jrm.novelty(IDS, np.ones(4), 10), traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), k=10))),
    "diversity of ids": (TypeError, "write jrm.intra_list_diversity.of(jrm.rank_ids(ids, item_columns={'embeddings': embeddings}), k=10)", lambda: jrm.intra_list_diversity(IDS, np.ones((4, 2), np.float32), k=2), traced(lambda: jrm.intra_list_diversity.of(jrm.rank_ids(IDS, item_columns={"embeddings": np.ones((4, 2), np.float32)}), k=10))),
    "novelty of counted places": (ValueError, "novelty: items with the label 0 .* use a metric with numbers as cutoffs", traced(lambda: jrm.novelty.of(jrm.rank_scores(S, IDS[:, :1], item_columns={"counts": np.ones(3)}))), traced(lambda: jrm.novelty.of(jrm.rank_scores(S, IDS[:, :1], k=2, item_columns={"counts": np.ones(3)}), k=2))),
    "popularity beyond the cut": (ValueError, "k is 5, but the ranking was cut at k=2", traced(lambda: jrm.popularity.of(jrm.rank_scores(S, IDS[:, :1], k=2, item_columns={"counts": np.ones(3)}), k=5)), traced(lambda: jrm.popularity.of(jrm.rank_scores(S, IDS[:, :1], k=5, item_columns={"counts": np.ones(3)}), k=5))),
    "novelty by sessions": (ValueError, "by is 'sessions'; pass one of interactions, users", traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), by="sessions")), traced(lambda: [jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)})), jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), by="users", num_users=3)])),
    "novelty of nobody": (ValueError, "by is 'users', but num_users is None; pass num_users with by='users'", traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), by="users")), traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), by="users", num_users=3))),
    "novelty of too many": (ValueError, "by is 'interactions', but num_users is 3", traced(lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), num_users=3)), traced(lambda: [jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}), by="users", num_users=3), jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": np.ones(4)}))])),
    "profiles of other users": (ValueError, "profile_ids .*(3, 2).*retrieved_ids .*(2, 3)", lambda: of_items("popularity_lift", "counts", np.ones(4), profile_ids=np.zeros((3, 2), np.int32)), lambda: of_items("popularity_lift", "counts", np.ones(4), profile_ids=np.zeros((2, 2), np.int32))),
    "one genre": (ValueError, "'genres' has shape .*num_items, genres", lambda: of_items("miscalibration", "genres", np.ones(4), profile_ids=IDS), lambda: of_items("miscalibration", "genres", np.ones((4, 1)), profile_ids=IDS)),
    "many counts": (ValueError, "'counts' has shape (4, 2); pass an array [num_items]", lambda: of_items("serendipity", "counts", np.ones((4, 2)), IDS), lambda: of_items("serendipity", "counts", np.ones(4), IDS)),
    "genres that pandas lacks": (ValueError, "item_columns['genres'] holds nan for item 1; pass a finite number", lambda: jrm.rank_ids(IDS, item_columns={"genres": [[1.0], [np.nan], [1.0], [1.0]]}), lambda: jrm.rank_ids(IDS, item_columns={"genres": np.ones((4, 1))})),
    "weights of other profiles": (ValueError, "profile_weights has shape (2, 1)", lambda: jrm.rank_ids(IDS, profile_ids=IDS, profile_weights=np.ones((2, 1))), traced(lambda: jrm.rank_ids(IDS, profile_ids=IDS, profile_weights=np.ones((2, 3))))),
    "weights of no profiles": (ValueError, "profile_weights is given but profile_ids is None", lambda: jrm.rank_ids(IDS, profile_weights=np.ones((2, 3))), traced(lambda: jrm.rank_ids(IDS, profile_ids=IDS, profile_weights=np.ones((2, 3))))),
    "alpha of one": (ValueError, "alpha is 1.*below 1", lambda: of_items("miscalibration", "genres", np.ones((4, 2)), profile_ids=IDS, alpha=1), lambda: of_items("miscalibration", "genres", np.ones((4, 2)), profile_ids=IDS, alpha=0.9)),
    "discount of a word": (TypeError, "discount_fn is 'log2'; pass a function of ranks, such as", lambda: of_items("miscalibration", "genres", np.ones((4, 2)), profile_ids=IDS, discount_fn="log2"), lambda: of_items("miscalibration", "genres", np.ones((4, 2)), profile_ids=IDS, discount_fn=jrm.reciprocal_discount)),
    "one discount of two": (ValueError, "discount_fn gave multipliers of shape (2,)", lambda: jrm.exposure(IDS, 4, lambda ranks: ranks[:2]), traced(lambda: jrm.exposure(IDS, 4, lambda ranks: 1 / ranks))),
    "what other users like": (ValueError, "relevant_ids .*(1, 2).*retrieved_ids .*(2, 3)", lambda: jrm.rank_ids(IDS, [[1, 2]]), traced(lambda: jrm.rank_ids(IDS, [[1, 2], [0, 3]]))),
    "labels of nothing": (ValueError, "relevant_labels is given but relevant_ids is None; pass both", lambda: jrm.rank_ids(IDS, relevant_labels=IDS), traced(lambda: jrm.rank_ids(IDS, IDS, IDS))),
    "relevance of nothing": (ValueError, "mrr reads labels, but relevant_ids is None; pass relevant_ids to rank_ids", lambda: jrm.measure("mrr", jrm.rank_ids(IDS)), lambda: jrm.measure("mrr", jrm.rank_ids(IDS, [[1, 2], [0, 3]]))),
    "a list without profile": (ValueError, "popularity_lift: this metric reads the items that a user interacted with before", lambda: of_items("popularity_lift", "counts", np.ones(4)), lambda: of_items("popularity_lift", "counts", np.ones(4), profile_ids=IDS)),
    "a name without row": (ValueError, "item_columns has no row for the id 'c'", lambda: jrm.rank_ids([["a", "c"]], item_columns={"counts": {"a": 1, "b": 2}}), lambda: jrm.rank_ids([["a", "c"]], item_columns={"counts": {"a": 1, "b": 2, "c": 3}})),
    "a number without row": (ValueError, "retrieved_ids holds 7, for which item_columns has no row", lambda: jrm.rank_ids([[5, 7]], item_columns={"counts": {5: 1, 9: 2}}), lambda: jrm.rank_ids([[5, 7]], item_columns={"counts": {5: 1, 9: 2, 7: 3}})),
    "names of rows": (ValueError, "item_columns names items by ids such as 'a', but lists hold integers", lambda: jrm.rank_ids([[0, 1]], item_columns={"counts": {"a": 1, "b": 2}}), lambda: jrm.rank_ids([["a", "b"]], item_columns={"counts": {"a": 1, "b": 2}})),
    "rows of names": (ValueError, "item_columns has rows 0, 1, …, but ids are hashes or names", lambda: jrm.rank_ids([["a", "b"]], item_columns={"counts": [1, 2]}), lambda: jrm.rank_ids([["a", "b"]], item_columns={"counts": {"a": 1, "b": 2}})),
    "rows beside names": (ValueError, "item_columns['price'] has rows, but .* such as 'a'; pass item_columns['price'] as a dict", lambda: jrm.rank_ids([["a", "b"]], item_columns={"counts": {"a": 1, "b": 2}, "price": [1, 2]}), lambda: jrm.rank_ids([["a", "b"]], item_columns={"counts": {"a": 1, "b": 2}, "price": {"a": 1, "b": 2}})),
    "nothing ordered": (ValueError, "counted places, so it has no order", lambda: jrm.exposure(jax.eval_shape(lambda: jrm.rank_scores(S, IDS[:, :1])), 3), traced(lambda: [jrm.exposure(jrm.rank_scores(S, IDS[:, :1], k=2), 3), jrm.exposure(jrm.rank_ids(IDS[:, :1], IDS[:, :1]), 3)])),
    # two rankings
    "p of one": (ValueError, "p is 1.*below 1", lambda: jrm.rank_biased_overlap(IDS, IDS, 1), traced(lambda: jrm.rank_biased_overlap(IDS, IDS, 0.9))),
    "ids of floats": (TypeError, "first: dtype is float32.*integers", lambda: jrm.overlap(S, IDS), traced(lambda: jrm.overlap(IDS, IDS))),
    "other lists": (ValueError, "second .*(3, 3).*first .*(2, 3)", lambda: jrm.kendall_tau(IDS, np.zeros((3, 3), np.int32)), traced(lambda: jrm.kendall_tau(IDS, np.zeros((2, 3), np.int32)))),
    "ragged second ids": (ValueError, "second: lists differ in length; pad with -1", lambda: jrm.jaccard(IDS, [[1], [2, 3]]), traced(lambda: jrm.jaccard(IDS, [[1, -1], [2, 3]]))),
    "overlap beyond the cut": (ValueError, "k is 5, but the ranking was cut at k=2", lambda: jrm.overlap(cut(), cut(), k=5), traced(lambda: jrm.overlap(*[jrm.rank(Y, S, k=5)] * 2, k=5))),
    "rankings of packed lists": (ValueError, "first is a ranking of packed lists", lambda: jrm.spearman_rho(packed(), packed()), traced(lambda: [jrm.spearman_rho(*[jrm.rank(Y, S)] * 2), jrm.spearman_rho(np.array([[0, 1, -1]]), np.array([[1, 0, -1]]))])),
    # nearest neighbours
    "neighbours that are not there": (ValueError, "k is 4, but true_distances has shape (2, 3)", lambda: jrm.neighbor_recall(S, S, 4), traced(lambda: jrm.neighbor_recall(S, np.pad(S, [(0, 0), (0, 1)], constant_values=np.inf), 4))),
    "similarities": (ValueError, "true_distances falls from 2 to 1 in list (1,).*negatives of similarities", lambda: jrm.neighbor_recall(S, [[0, 1, 2], [0, 2, 1]]), traced(lambda: jrm.neighbor_recall(S, -np.array([[2, 1, 0], [2, 1, 0]])))),
    "epsilon below 0": (ValueError, "epsilon is -1.*at least 0", lambda: jrm.neighbor_recall(S, S, epsilon=-1), traced(lambda: jrm.neighbor_recall(S, S, epsilon=0))),
    "epsilon of a word": (TypeError, "epsilon is 'k'.*Python number", lambda: jrm.neighbor_recall(S, S, epsilon="k"), traced(lambda: jrm.neighbor_recall(S, S, epsilon=0.1))),
    "a distance": (ValueError, "distances has shape ()", lambda: jrm.neighbor_recall(1.0, S), traced(lambda: jrm.neighbor_recall([1.0], S[0]))),
    "distances of other queries": (ValueError, "distances .*(3,).*true_distances .*(2, 3)", lambda: jrm.neighbor_recall(S[0], S), traced(lambda: jrm.neighbor_recall(S, S))),
    "ids of other neighbours": (ValueError, "ids .*(2, 4).*distances .*(2, 3)", lambda: jrm.neighbor_recall(S, [[0, 1]] * 2, ids=jnp.zeros((2, 4), jnp.int32)), traced(lambda: jrm.neighbor_recall(S, [[0, 1]] * 2, ids=np.zeros((2, 3), np.int32)))),
    # states of exposure
    "exposure of two catalogues": (ValueError, "one catalogue, one discount and lists", lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(4, 2)), traced(lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(3, 2)))),
    "exposure of two lengths": (ValueError, "one catalogue, one discount and lists", lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(3, 1)), traced(lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(3, 2)))),
    "exposure of two discounts": (ValueError, "states were made with different settings; pass states of one catalogue", lambda: jrm.Exposure.empty(3, 2, discounted=True).merge(jrm.Exposure.empty(3, 2)), traced(lambda: jrm.Exposure.empty(3, 2, discounted=True).merge(jrm.Exposure.empty(3, 2, discounted=True)))),
    "exposures of two catalogues": (ValueError, "states differ", lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(4, 2)}), traced(lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(3, 2)}))),
    "exposures of two lengths": (ValueError, "one catalogue, one discount and lists of one length", lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(3, 1)}), traced(lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(3, 2)}))),
    "exposure of other groups": (ValueError, "the same groups", lambda: jrm.GroupExposure.empty(2).merge(jrm.GroupExposure.empty(3)), traced(lambda: jrm.GroupExposure.empty(2).merge(jrm.GroupExposure.empty(2)))),
    "target of other groups": (ValueError, "a tuple of 2 shares", lambda: jrm.GroupExposure.empty(2).awrf((1, 2, 3)), traced(lambda: [jrm.GroupExposure.empty(2).awrf((1, 2)), jrm.GroupExposure.empty(2).awrf()])),
    "exposure at cutoffs": (TypeError, "one cutoff", lambda: jrm.group_exposure(jax.eval_shape(grouped), k=(1, 2)), traced(lambda: jrm.group_exposure(grouped(), k=2))),
    # fairness of exposure
    "one group": (ValueError, "one membership for each item and group", lambda: VALUE("awrf", groups=ONES), traced(lambda: VALUE("awrf", groups=ONES[:, None]))),
    "no groups": (ValueError, "one membership for each item and group", lambda: VALUE("awrf", groups=TWO[:, :0]), traced(lambda: VALUE("awrf", groups=TWO))),
    "groups missing": (ValueError, "reads the column 'groups'", lambda: VALUE("dtr"), traced(lambda: [VALUE("dtr", groups=TWO), jrm.disparate_treatment_ratio.of(jrm.rank_scores(FOUR, PAIR, k=2, item_columns={"groups": GROUPS}), k=2)])),
    "target of one share": (ValueError, "a tuple of 2 shares", lambda: VALUE("awrf(target=(1,))", groups=TWO), traced(lambda: VALUE(("awrf(target=(1, 2))", "awrf"), groups=TWO))),
    "target of nothing": (ValueError, "a share above 0 for some group", lambda: VALUE("awrf(target=(0, 0))", groups=TWO), traced(lambda: VALUE("awrf(target=(0, 1))", groups=TWO))),
    "target below 0": (ValueError, "at least 0", lambda: VALUE("ee(target=(1, -1))", groups=TWO), traced(lambda: VALUE("ee(target=(1, 0))", groups=TWO))),
    "target word": (ValueError, "a tuple of shares", lambda: VALUE("ee(target=pool)", groups=TWO), traced(lambda: VALUE(("ee(target=(1, 2))", "ee", "ee(target=relevant)"), groups=TWO))),
    "part of exposure": (ValueError, "loss, disparity, relevance", lambda: VALUE("ee(part=all)", groups=TWO), traced(lambda: VALUE(("ee(part=loss)", "ee(part=disparity)", "ee(part=relevance)"), groups=TWO))),
    "comparison of groups": (ValueError, "difference, ratio", lambda: VALUE("exposure_parity(comparison=gap)", groups=TWO), traced(lambda: VALUE(("exposure_parity(comparison=difference)", "exposure_parity(comparison=ratio)"), groups=TWO))),
    "target of ndkl": (ValueError, "shares above 0, one for each group", lambda: VALUE("ndkl(target=(1, 0))", groups=TWO), traced(lambda: VALUE(("ndkl(target=(1, 2))", "ndkl"), groups=TWO))),
    "ndkl of listed groups": (ValueError, "of the listed items alone", lambda: jrm.ndkl.of(listed_ids(), k=2), traced(lambda: [jrm.ndkl.of(all_ids(), k=2), VALUE("ndkl@2", groups=TWO)])),
    "parity of listed groups": (ValueError, "of the listed items alone", lambda: jrm.exposure_parity.of(listed_ids(), k=2), traced(lambda: [jrm.exposure_parity.of(all_ids(), k=2), VALUE("exposure_parity@2", groups=TWO)])),
    "exposure of listed groups": (ValueError, "of the listed items alone", lambda: jrm.group_exposure(listed_ids(), k=2), traced(lambda: [jrm.group_exposure(all_ids(), k=2), jrm.group_exposure(grouped(), k=2)])),
    "ndkl of listed places": (ValueError, "rank all items with", lambda: jrm.ndkl.of(listed_scores(), k=2), traced(lambda: [jrm.ndkl.of(x, k=2) for x in more_places()])),
    "parity of listed places": (ValueError, "rank all items with", lambda: jrm.exposure_parity.of(listed_scores(), k=2), traced(lambda: [jrm.exposure_parity.of(x, k=2) for x in more_places()])),
    "exposure of listed places": (ValueError, "rank all items with", lambda: jrm.group_exposure(listed_scores(), k=2), traced(lambda: [jrm.group_exposure(x, k=2) for x in more_places()])),
    # subtopics
    "subtopics of one axis": (ValueError, "one entry for each item and subtopic", lambda: VALUE("strec", subtopics=ONES), traced(lambda: VALUE("strec", subtopics=ONES[:, None]))),
    "no subtopics": (ValueError, "one entry for each item and subtopic", lambda: VALUE("strec", subtopics=TWO[:, :0]), traced(lambda: VALUE("strec", subtopics=TWO))),
    "subtopics of three axes": (ValueError, "one entry for each", lambda: VALUE("strec", subtopics=TWO[..., None]), traced(lambda: VALUE("strec", subtopics=TWO))),
    "subtopics of other items": (ValueError, "one entry per item", lambda: VALUE("strec", subtopics=TWO[:2]), traced(lambda: VALUE("strec", subtopics=TWO))),
    "complex subtopics": (TypeError, "subtopics", lambda: VALUE("strec", subtopics=np.ones((3, 2), complex)), traced(lambda: VALUE("strec", subtopics=np.ones((3, 2), bool)))),
    "subtopics missing": (ValueError, "reads the column 'subtopics'", lambda: VALUE("strec"), traced(lambda: VALUE("strec", subtopics=TWO))),
    "alpha above 1": (ValueError, "from 0 to 1", lambda: VALUE("alpha_ndcg(alpha=1.5)", subtopics=TWO), traced(lambda: VALUE("alpha_ndcg(alpha=1)", subtopics=TWO))),
    "alpha bool": (TypeError, "from 0 to 1", lambda: VALUE("err_ia(alpha=True)", subtopics=TWO), traced(lambda: VALUE("err_ia(alpha=1)", subtopics=TWO))),
    "p of nrbp": (ValueError, "below 1", lambda: VALUE("nrbp(p=1.0)", subtopics=TWO), traced(lambda: VALUE("nrbp(p=0.9)", subtopics=TWO))),
    "denominator of precision_ia": (ValueError, "denominator", lambda: VALUE("precision_ia(denominator=n)", subtopics=TWO), traced(lambda: VALUE(("precision_ia(denominator=retrieved)@2", "precision_ia(denominator=k)@2"), subtopics=TWO))),
    # users who browse
    "target of inst": (ValueError, "at least 0.5", lambda: jrm.inst(Y, S, target=0.4), traced(lambda: jrm.inst(Y, S, target=0.5))),
    "value of inst": (ValueError, "total_utility", lambda: jrm.inst(Y, S, value="effort"), traced(lambda: [jrm.inst(Y, S, value=x) for x in ("utility", "total_utility", "cost", "total_cost", "items")])),
    "max_rank": (ValueError, "max_rank", lambda: jrm.inst(Y, S, max_rank=0), traced(lambda: jrm.inst(Y, S, max_rank=1))),
    "half_life": (ValueError, "half_life", lambda: jrm.time_biased_gain(Y, S, half_life=0), traced(lambda: jrm.time_biased_gain(Y, S, half_life=1))),
    "median_gain": (ValueError, "median_gain", lambda: jrm.bejeweled_player_model(Y, S, median_gain=2), traced(lambda: jrm.bejeweled_player_model(Y, S, median_gain=1))),
    "nothing to forage for": (ValueError, "at least one", lambda: jrm.information_foraging(Y, S, target=None, rate=None), traced(lambda: [jrm.information_foraging(Y, S, rate=None), jrm.information_foraging(Y, S, target=None)])),
    "costs of two axes": (ValueError, "'costs' has shape", lambda: jrm.inst(ONES, RISING, columns={"costs": ONES[:, None]}), traced(lambda: jrm.inst(ONES, RISING, columns={"costs": ONES}))),
    "browsing listed items": (ValueError, "holds only listed items.*rank all items with jrm.rank", lambda: jrm.inst.of(jax.eval_shape(lambda: jrm.rank_scores(S, IDS[:, :1]))), traced(lambda: [jrm.inst.of(jrm.rank(Y, S)), jrm.inst.of(jrm.rank_scores(S, IDS[:, :1], k=2), k=2)])),
    "costs of listed items": (ValueError, "reads the column 'costs' at every rank, but the column is known for listed items only", lambda: jrm.inst.of(listed_costs(), k=2), traced(lambda: VALUE("inst", costs=ONES))),
    # residuals
    "residual by name": (ValueError, LINEAR, lambda: RESIDUAL(of="ndcg"), traced(lambda: [RESIDUAL(of=x) for x in LINEAR.split(", ")])),
    "residual by metric": (ValueError, LINEAR, lambda: RESIDUAL(of=jrm.average_precision), traced(lambda: RESIDUAL(of=functools.partial(jrm.dcg, discount_fn=reciprocal)))),
    "residual of nothing": (ValueError, "of is 'nothing'", lambda: RESIDUAL(of="nothing"), traced(lambda: RESIDUAL(of="precision", k=2))),
    "residual of a cutoff": (ValueError, "pass k to residual", lambda: RESIDUAL(of=functools.partial(jrm.dcg, k=3)), traced(lambda: RESIDUAL(of=jrm.dcg, k=3))),
    "judgements missing": (ValueError, "reads the column 'judged'", lambda: VALUE("residual"), traced(lambda: VALUE("residual", **JUDGED))),
    "weights of a residual": (ValueError, "weights is per item, and this metric divides by the mean item weight", lambda: RESIDUAL(weights=ONES, of="dcg"), traced(lambda: [RESIDUAL(list_weights=ONES[0], of="dcg"), RESIDUAL(weights=ONES, of="rbp")])),
    "weights of a residual of cg": (ValueError, "weights is per item, and this metric divides by the mean item weight", lambda: RESIDUAL(weights=ONES, of="cg"), traced(lambda: [RESIDUAL(list_weights=ONES[0], of="cg"), RESIDUAL(weights=ONES, of="rbp")])),
    "linear of a column": (ValueError, "linear=True", lambda: jrm.metric(columns=("judged",), linear=True)(pooled), forgotten(lambda: jrm.metric(linear=True)(pooled))),
    "ideal of other labels": (ValueError, "may not read ideal_sum", lambda: pooled(with_labels(jax.eval_shape(lambda: jrm.rank_retrieved(ONES)), is_relevant)), forgotten(traced(lambda: jrm.metric()(pooled).of(jrm.rank_retrieved(ONES))))),
    "residual of places": (ValueError, "has the value 1.0, but this ranking holds listed items only", lambda: jrm.residual.of(one_place(), k=3), traced(lambda: [jrm.residual.of(x, k=2) for x in (jrm.rank(ONES, RISING, columns=JUDGED), jrm.rank_scores(RISING, PAIR, k=2, relevant_columns={"judged": TRUE}))])),
    "judgements of a catalogue": (TypeError, "'judged' is float32 of shape (5,); pass one bool per item, such as column != 0, in columns or relevant_columns, since item_columns become floats", lambda: jax.eval_shape(lambda: jrm.bpref.of(jrm.rank_ids(IDS[0], PAIR, item_columns={"judged": FOUR > 0}))), traced(lambda: jrm.bpref.of(jrm.rank_ids(IDS[0], PAIR, relevant_columns={"judged": TRUE})))),
    # propensities
    "counts below 0": (ValueError, "-1.0 at (1,); .* from 0 to num_points", lambda: PROPENSITIES([1.0, -1.0]), lambda: PROPENSITIES([1, 0])),
    "counts nan": (ValueError, "from 0 to num_points", lambda: PROPENSITIES([np.nan]), lambda: PROPENSITIES([0])),
    "counts above all": (ValueError, "11.0 at .*how many of the 10 training points", lambda: PROPENSITIES([10, 11]), lambda: PROPENSITIES([10, 10])),
    "counts text": (TypeError, "pass numbers", lambda: PROPENSITIES(["a"]), lambda: PROPENSITIES([1])),
    "few points": (ValueError, "at least 3", lambda: PROPENSITIES([1], num_points=2), lambda: PROPENSITIES([1], num_points=3)),
    "half a point": (TypeError, "num_points", lambda: PROPENSITIES([1], num_points=2.5), lambda: PROPENSITIES([1], num_points=3)),
    "setting": (ValueError, "default, wikipedia, amazon", lambda: PROPENSITIES([1], setting="eurlex"), lambda: [PROPENSITIES([1], setting=x) for x in ("default", "wikipedia", "amazon")]),
    "a of propensities": (ValueError, "a is 0", lambda: PROPENSITIES([1], a=0), lambda: PROPENSITIES([1], a=0.1)),
    "b of propensities": (ValueError, "b is -1", lambda: PROPENSITIES([1], b=-1.0), lambda: PROPENSITIES([1], b=1.0)),
    "propensities missing": (ValueError, "reads the column 'propensities'", lambda: VALUE("psr"), traced(lambda: VALUE("psr", propensities=ONES))),
    "propensities of two axes": (ValueError, "one number for each item", lambda: VALUE("psp", propensities=TWO), traced(lambda: VALUE("psp", propensities=ONES))),
    "propensities above 1": (ValueError, "above 1 for a relevant item in list 1; pass", lambda: jrm.propensity_scored_recall([[0, 0], [1, 0]], S[:, :2], k=1, columns={"propensities": np.array([[9, 9], [1.5, 9]])}), traced(lambda: jrm.propensity_scored_recall([[0, 0], [1, 0]], S[:, :2], k=1, columns={"propensities": jrm.label_propensities([[1, 2], [3, 4]], 10)}))),
    # numbers of hits
    "no hits needed": (ValueError, "at_least is 0", lambda: jrm.hit_rate(Y, S, at_least=0), traced(lambda: jrm.hit_rate(Y, S, at_least=1))),
    "hits at a mean rank": (ValueError, "at_least is 2, but rank='realistic'", lambda: jrm.hit_rate(Y, S, at_least=2, rank="realistic"), traced(lambda: [jrm.hit_rate(Y, S, at_least=2), jrm.hit_rate(Y, S, rank="realistic")])),
    # soft places
    "soft hit rate": (ValueError, "first item that stops.*leave relax out", lambda: jrm.hit_rate(Y, S, relax=SOFT), traced(lambda: jrm.hit_rate(Y, S))),
    "soft full recall": (ValueError, "needs an order.*leave relax out", lambda: jrm.full_recall(Y, S, relax=SOFT), traced(lambda: jrm.full_recall(Y, S))),
    "soft chances": (ValueError, "first item that stops", lambda: jax.eval_shape(lambda: jrm.rank(Y, S, relax=SOFT).expected_first(lambda items: items.labels / 2, jnp.ones_like, (None,))), traced(lambda: jrm.rank(Y, S).expected_first(lambda items: items.labels / 2, jnp.ones_like, (None,)))),
    "soft order": (ValueError, "needs an order.*leave relax out", lambda: jrm.average_precision(Y, S, denominator="hits", relax=SOFT), traced(lambda: jrm.average_precision(Y, S, denominator="hits"))),
    "soft groups": (ValueError, "or the ties of items", lambda: data_of(soft()).under("own", Cache()), traced(lambda: data_of(jrm.rank(Y, S)).under("own", Cache()))),
    "soft items": (ValueError, "soft places have no order; leave relax out", lambda: soft().items, traced(lambda: jrm.rank(Y, S).items)),
    "soft ties": (ValueError, "relax and ties are both given", lambda: jrm.ndcg(Y, S, relax=SOFT, ties="stable"), traced(lambda: [jrm.ndcg(Y, S, relax=SOFT), jrm.ndcg(Y, S, ties="stable")])),
    "class for relax": (TypeError, "relax is <class .*jrm.sigmoid_ranks(0.1)", lambda: jrm.ndcg(Y, S, relax=jrm.sigmoid_ranks), traced(lambda: [jrm.ndcg(Y, S, relax=jrm.sigmoid_ranks(0.1)), jrm.ndcg(Y, S, relax=None)])),
    "number for relax": (TypeError, "relax is 0.1; pass None", lambda: jrm.rank(Y, S, relax=0.1), traced(lambda: jrm.rank(Y, S, relax=jrm.sigmoid_ranks(0.1)))),
    "temperature": (ValueError, "temperature is 0; pass a positive number", lambda: jrm.sigmoid_ranks(0), lambda: jrm.sigmoid_ranks(0.1)),
    "temperature array": (TypeError, "temperature is Array.*positive Python number", lambda: jrm.sigmoid_ranks(jnp.ones(())), lambda: jrm.sigmoid_ranks(1.0)),
    "relax of a ranking": (TypeError, "relax belongs to the ranking, pass it to jrm.rank", lambda: jrm.ndcg.of(cut(), relax=SOFT), traced(lambda: jrm.ndcg.of(jrm.rank(Y, S, relax=SOFT)))),
    "soft items over devices": (ValueError, "relax is given, but the items", lambda: jrm.ndcg(sharded(), sharded(), relax=SOFT), lambda: [jax.eval_shape(functools.partial(jrm.ndcg, relax=SOFT), x, x) for x in (np.asarray(sharded()), lists_on_devices())]),
    # formulas
    "function of ranks for places": (TypeError, "expected_sum: place_fn is reciprocal(ranks), but .*pass jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_sum(is_relevant, reciprocal, ks)), lambda: FORMULA(lambda x, ks: sums(x, x.expected_sum(is_relevant, jrm.positions(reciprocal), ks), ks))),
    "no function of places": (TypeError, "expected_max: place_fn is None; pass jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_max(is_relevant, None, ks)), lambda: FORMULA(lambda x, ks: sums(x, x.expected_max(is_relevant, jrm.positions(reciprocal), ks), ks))),
    "positions of an ideal sum": (TypeError, "ideal_sum: position_fn is .*(ranks); pass .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.ideal_sum(is_relevant, jrm.positions(reciprocal), ks)), lambda: FORMULA(lambda x, ks: sums(x, x.ideal_sum(is_relevant, reciprocal, ks), ks))),
    "positions of an ideal stop": (TypeError, "ideal_first: position_fn is .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.ideal_first(is_relevant, jrm.positions(), ks)), lambda: FORMULA(lambda x, ks: sums(x, x.ideal_first(is_relevant, reciprocal, ks), ks))),
    "positions of a stop": (TypeError, "expected_first: position_fn is .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_first(is_relevant, jrm.positions(), ks)[0]), lambda: FORMULA(lambda x, ks: sums(x, x.expected_first(is_relevant, reciprocal, ks)[0], ks))),
    "values of a formula": (TypeError, "own: the formula returned an array of float32 .*return ranking.per_list", lambda: FORMULA(lambda x, ks: x.expected_sum(is_relevant, jrm.positions(), ks)), lambda: FORMULA(lambda x, ks: sums(x, x.expected_sum(is_relevant, jrm.positions(), ks), ks))),
    # options of other metrics
    "multiples of zero": (ValueError, "multiples is 0.0; pass a positive number", lambda: VALUE("rprec_mult@0"), traced(lambda: VALUE("rprec_mult@0.5"))),
    "no multiples": (ValueError, "multiples is empty", lambda: VALUE("rprec_mult(multiples=())"), traced(lambda: VALUE("rprec_mult(multiples=(0.5,))"))),
    "levels of eleven points": (ValueError, "metric name '11pt_avg..25,.5': the parameters of this measure are not read; pass iprec_at_recall with", lambda: VALUE("11pt_avg..25,.5"), traced(lambda: VALUE("iprec_at_recall@.25,.5"))),
    "gains of trec_eval": (ValueError, "metric name 'ndcg.1=3,2=9': .*pass judgements with these gains", lambda: VALUE("ndcg.1=3,2=9"), traced(lambda: [jrm.ndcg([3, 9, 0], RISING), jrm.ndcg([1, 2, 0], RISING, gain_fn=lambda labels: jnp.array([0, 3, 9])[labels.astype(int)])])),
    "beta of trec_eval": (ValueError, "metric name 'set_F.0.25': .*pass set_F(beta=…) with the square root", lambda: VALUE("set_F.0.25"), traced(lambda: VALUE("set_F(beta=0.5)"))),
    "utility of what was not retrieved": (ValueError, "metric name 'utility.1,-1,-1,0': .*pass utility.a,-b,0,0", lambda: VALUE("utility.1,-1,-1,0"), traced(lambda: VALUE(("utility.1,-1,0,0", "utility(worth=1, cost=1)")))),
    "cost of utility": (ValueError, "cost is -1; pass a number of at least 0", lambda: VALUE("utility(cost=-1)"), traced(lambda: VALUE("utility(cost=0)"))),
} | {
    f"{metric} of the threshold {threshold!r}": (TypeError, f"relevance_threshold is {threshold!r}; pass a positive", functools.partial(VALUE, f"{metric}(rel={threshold!r})"), traced(functools.partial(VALUE, f"{metric}(rel=1)")))
    for metric in ("num_relevant", "recall", "iprec", "bpref") for threshold in ("a", True)
}  # fmt: skip

# Some rows compile programs first.
# fmt: off
LATE = {
    "interactions for users": (ValueError, "'counts' holds a number above 3, which is num_users in list ", lambda: jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": [9, 1, 2, 0]}), by="users", num_users=3), traced(lambda: [jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": [1, 3, 2, 0]}), by="users", num_users=3), jrm.novelty.of(jrm.rank_ids(IDS, item_columns={"counts": [9, 1, 2, 0]}))])),
}
# fmt: on
