"""Bad calls of families of metrics: their options, their columns, and what they cannot read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm
from errors.calls import IDS, S, Y, cut, packed, sharded
from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._engine.ranking import Cache, data_of, with_labels
from jax_rank_metrics._names.facts import FACTS

ONES, RISING = np.ones(3, np.float32), np.arange(3, dtype=np.float32)
TWO = np.ones((3, 2), np.float32)
GROUPS = np.float32([[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
SOFT = jrm.sigmoid_ranks(0.3)
JUDGED = {"judged": np.array([True, False, True])}
RESIDUAL = functools.partial(jrm.residual, ONES, RISING, columns=JUDGED)
PROPENSITIES = functools.partial(jrm.label_propensities, num_points=10)
LINEAR = "cg, dcg, insq, num_relevant_retrieved, precision, rank_biased_precision"


def VALUE(metrics, **columns):
    """Evaluates metrics by name on a list of three items with columns."""
    return jrm.evaluate(metrics, ONES, RISING, columns=columns or None)


def soft():
    """Returns a ranking by soft places."""
    return jax.eval_shape(lambda: jrm.rank(Y, S, relax=SOFT))


def listed_ids():
    """Returns a ranking of ids that knows the groups of relevant items alone."""
    columns = {"groups": GROUPS[1:3]}
    return jax.eval_shape(
        lambda: jrm.rank_ids(np.array([2, 0]), np.array([1, 2]), columns=columns)
    )


def listed_scores():
    """Returns a ranking of the places of relevant items, which knows all groups."""
    scores = np.float32([3, 1, 2, 2])
    return jax.eval_shape(
        lambda: jrm.rank_scores(scores, np.array([1, 2]), item_groups=GROUPS)
    )


def listed_costs():
    """Returns a cut ranking by scores that knows the costs of relevant items alone."""
    columns = {"costs": ONES[:1]}
    return jax.eval_shape(
        lambda: jrm.rank_scores(ONES[:2], IDS[0, :1], k=2, columns=columns)
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
    return ranking.ideal_sum(lambda items: items.labels, np.ones_like, (k,))


def is_relevant(items):
    return items.relevant(1)


def reciprocal(ranks):
    return 1 / ranks


def FORMULA(values_of):
    """Calls a metric of a formula, and forgets its name."""

    def own(ranking, *, k=None):
        return values_of(ranking, ranking.cutoffs(k))

    names, known = dict(NAMES), dict(FACTS)
    try:
        metric = jrm.metric()(own)
        jax.eval_shape(lambda: metric.of(jrm.rank_retrieved(ONES), k=1))
    finally:
        for table, before in ((NAMES, names), (FACTS, known)):
            table.clear()
            table.update(before)


CASES = {
    # beyond accuracy
    "a ranking for lists": (TypeError, "ndcg needs labels and scores; a ranking that exists goes to ndcg.of", lambda: jrm.ndcg(cut())),
    "labels alone": (TypeError, "reciprocal_rank needs labels and scores", lambda: jrm.reciprocal_rank.per_list(Y)),
    "no catalogue": (ValueError, "num_items is 0.*at least 1", lambda: jrm.exposure(IDS, 0)),
    "a pair of one": (ValueError, "k is 1; diversity is of pairs", lambda: jrm.intra_list_diversity(IDS, np.ones((4, 2), np.float32), k=1)),
    "counts of lists": (ValueError, "counts has shape (2, 3); pass an array [num_items]", lambda: jrm.novelty(IDS, Y)),
    "one embedding": (ValueError, "embeddings has shape .*num_items, features", lambda: jrm.intra_list_diversity(IDS, np.ones(4, np.float32))),
    "counts that pandas lacks": (ValueError, "counts holds nan at 1; pass how often each item was seen, 0 where", lambda: jrm.novelty(IDS, [1, np.nan, 2, 3])),
    "counts of items below 0": (ValueError, "counts holds -1 at 2; pass how often", lambda: jrm.popularity(IDS, np.array([1, 0, -1, 3]))),
    "popularity beyond the cut": (ValueError, "k is 5, but the ranking was cut at k=2", lambda: jrm.popularity(cut(), np.ones(3, np.float32), k=5)),
    "novelty by sessions": (ValueError, "by is 'sessions'; pass one of interactions, users", lambda: jrm.novelty(IDS, np.ones(4), by="sessions")),
    "novelty of nobody": (ValueError, "by 'users' got num_users=None", lambda: jrm.novelty(IDS, np.ones(4), by="users")),
    "novelty of too many": (ValueError, "by 'interactions' got num_users=3", lambda: jrm.novelty(IDS, np.ones(4), num_users=3)),
    "interactions for users": (ValueError, "counts holds 9, but num_users is 3", lambda: jrm.novelty(IDS, [1, 9, 2, 0], by="users", num_users=3)),
    "profiles of other users": (ValueError, "profile_ids .*(3, 2).*lists of shape (2,)", lambda: jrm.popularity_lift(IDS, np.ones(4), np.zeros((3, 2), np.int32))),
    "one genre": (ValueError, "genres has shape (4,).*num_items, genres", lambda: jrm.miscalibration(IDS, np.ones(4), IDS)),
    "weights of other profiles": (ValueError, "profile_weights has shape (2, 1)", lambda: jrm.miscalibration(IDS, np.ones((4, 2)), IDS, profile_weights=np.ones((2, 1)))),
    "alpha of one": (ValueError, "alpha is 1.*below 1", lambda: jrm.miscalibration(IDS, np.ones((4, 2)), IDS, alpha=1)),
    "one discount of two": (ValueError, "discount_fn gave multipliers of shape (2,)", lambda: jrm.exposure(IDS, 4, lambda ranks: ranks[:2])),
    "what other users like": (ValueError, "relevant_ids .*(1, 2).*ids .*(2, 3)", lambda: jrm.serendipity(IDS, [[1, 2]], np.ones(4))),
    "nothing ordered": (ValueError, "counted places and has no order", lambda: jrm.exposure(jax.eval_shape(lambda: jrm.rank_scores(S, IDS[:, :1])), 3)),
    # two rankings
    "p of one": (ValueError, "p is 1.*below 1", lambda: jrm.rank_biased_overlap(IDS, IDS, 1)),
    "ids of floats": (TypeError, "first: dtype is float32.*integers", lambda: jrm.overlap(S, IDS)),
    "other lists": (ValueError, "second .*(3, 3).*first .*(2, 3)", lambda: jrm.kendall_tau(IDS, np.zeros((3, 3), np.int32))),
    "ragged second ids": (ValueError, "second: lists differ in length; pad with -1", lambda: jrm.jaccard(IDS, [[1], [2, 3]])),
    "overlap beyond the cut": (ValueError, "k is 5, but the ranking was cut at k=2", lambda: jrm.overlap(cut(), cut(), k=5)),
    "rankings of packed lists": (ValueError, "first is a ranking of packed lists", lambda: jrm.spearman_rho(packed(), packed())),
    # nearest neighbours
    "neighbours that are not there": (ValueError, "k is 4, but true_distances has shape (2, 3)", lambda: jrm.neighbor_recall(S, S, 4)),
    "similarities": (ValueError, "true_distances falls from 2 to 1 in list (1,).*negatives of similarities", lambda: jrm.neighbor_recall(S, [[0, 1, 2], [0, 2, 1]])),
    "epsilon below 0": (ValueError, "epsilon is -1.*at least 0", lambda: jrm.neighbor_recall(S, S, epsilon=-1)),
    "epsilon of a word": (TypeError, "epsilon is 'k'.*Python number", lambda: jrm.neighbor_recall(S, S, epsilon="k")),
    "a distance": (ValueError, "distances has shape ()", lambda: jrm.neighbor_recall(1.0, S)),
    "distances of other queries": (ValueError, "distances .*(3,).*true_distances .*(2, 3)", lambda: jrm.neighbor_recall(S[0], S)),
    "ids of other neighbours": (ValueError, "ids .*(2, 4).*distances .*(2, 3)", lambda: jrm.neighbor_recall(S, [[0, 1]] * 2, ids=jnp.zeros((2, 4), jnp.int32))),
    # states of exposure
    "exposure of two catalogues": (ValueError, "one catalogue, one discount and lists", lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(4, 2))),
    "exposure of two lengths": (ValueError, "one catalogue, one discount and lists", lambda: jrm.Exposure.empty(3, 2).merge(jrm.Exposure.empty(3, 1))),
    "exposure of two discounts": (ValueError, "states differ", lambda: jrm.Exposure.empty(3, 2, discounted=True).merge(jrm.Exposure.empty(3, 2))),
    "exposures of two catalogues": (ValueError, "states differ", lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(4, 2)})),
    "exposures of two lengths": (ValueError, "states differ", lambda: jrm.merge({"a": jrm.Exposure.empty(3, 2)}, {"a": jrm.Exposure.empty(3, 1)})),
    "exposure of other groups": (ValueError, "the same groups", lambda: jrm.GroupExposure.empty(2).merge(jrm.GroupExposure.empty(3))),
    "target of other groups": (ValueError, "a tuple of 2 shares", lambda: jrm.GroupExposure.empty(2).awrf((1, 2, 3))),
    "exposure at cutoffs": (TypeError, "one cutoff", lambda: jrm.group_exposure(listed_ids(), k=(1, 2))),
    # fairness of exposure
    "one group": (ValueError, "one membership for each item and group", lambda: VALUE("awrf", groups=ONES)),
    "no groups": (ValueError, "one membership for each item and group", lambda: VALUE("awrf", groups=TWO[:, :0])),
    "groups missing": (ValueError, "reads the column 'groups'", lambda: VALUE("dtr")),
    "target of one share": (ValueError, "a tuple of 2 shares", lambda: VALUE("awrf(target=(1,))", groups=TWO)),
    "target of nothing": (ValueError, "a share above 0 for some group", lambda: VALUE("awrf(target=(0, 0))", groups=TWO)),
    "target below 0": (ValueError, "at least 0", lambda: VALUE("ee(target=(1, -1))", groups=TWO)),
    "target word": (ValueError, "a tuple of 2 shares", lambda: VALUE("ee(target=pool)", groups=TWO)),
    "part of exposure": (ValueError, "loss, disparity, relevance", lambda: VALUE("ee(part=all)", groups=TWO)),
    "comparison of groups": (ValueError, "difference, ratio", lambda: VALUE("exposure_parity(comparison=gap)", groups=TWO)),
    "target of ndkl": (ValueError, "shares above 0, one for each group", lambda: VALUE("ndkl(target=(1, 0))", groups=TWO)),
    "ndkl of listed groups": (ValueError, "of the listed items alone", lambda: jrm.ndkl.of(listed_ids(), k=2)),
    "parity of listed groups": (ValueError, "of the listed items alone", lambda: jrm.exposure_parity.of(listed_ids(), k=2)),
    "exposure of listed groups": (ValueError, "of the listed items alone", lambda: jrm.group_exposure(listed_ids(), k=2)),
    "ndkl of listed places": (ValueError, "rank all items with", lambda: jrm.ndkl.of(listed_scores(), k=2)),
    "parity of listed places": (ValueError, "rank all items with", lambda: jrm.exposure_parity.of(listed_scores(), k=2)),
    "exposure of listed places": (ValueError, "rank all items with", lambda: jrm.group_exposure(listed_scores(), k=2)),
    # subtopics
    "subtopics of one axis": (ValueError, "one entry for each item and subtopic", lambda: VALUE("strec", subtopics=ONES)),
    "no subtopics": (ValueError, "one entry for each item and subtopic", lambda: VALUE("strec", subtopics=TWO[:, :0])),
    "subtopics of three axes": (ValueError, "one entry for each", lambda: VALUE("strec", subtopics=TWO[..., None])),
    "subtopics of other items": (ValueError, "one entry per item", lambda: VALUE("strec", subtopics=TWO[:2])),
    "complex subtopics": (TypeError, "subtopics", lambda: VALUE("strec", subtopics=np.ones((3, 2), complex))),
    "subtopics missing": (ValueError, "reads the column 'subtopics'", lambda: VALUE("strec")),
    "alpha above 1": (ValueError, "from 0 to 1", lambda: VALUE("alpha_ndcg(alpha=1.5)", subtopics=TWO)),
    "alpha bool": (TypeError, "from 0 to 1", lambda: VALUE("err_ia(alpha=True)", subtopics=TWO)),
    "p of nrbp": (ValueError, "below 1", lambda: VALUE("nrbp(p=1.0)", subtopics=TWO)),
    "denominator of precision_ia": (ValueError, "denominator", lambda: VALUE("precision_ia(denominator=n)", subtopics=TWO)),
    # users who browse
    "target of inst": (ValueError, "at least 0.5", lambda: jrm.inst(Y, S, target=0.4)),
    "value of inst": (ValueError, "total_utility", lambda: jrm.inst(Y, S, value="effort")),
    "max_rank": (ValueError, "max_rank", lambda: jrm.inst(Y, S, max_rank=0)),
    "half_life": (ValueError, "half_life", lambda: jrm.time_biased_gain(Y, S, half_life=0)),
    "median_gain": (ValueError, "median_gain", lambda: jrm.bejeweled_player_model(Y, S, median_gain=2)),
    "nothing to forage for": (ValueError, "at least one", lambda: jrm.information_foraging(Y, S, target=None, rate=None)),
    "costs of two axes": (ValueError, "'costs' has shape", lambda: jrm.inst(ONES, RISING, columns={"costs": ONES[:, None]})),
    "browsing listed items": (ValueError, "only the items", lambda: jrm.inst.of(jax.eval_shape(lambda: jrm.rank_scores(S, IDS[:, :1])))),
    "costs of listed items": (ValueError, "'costs' is known of the listed items alone", lambda: jrm.inst.of(listed_costs(), k=2)),
    # residuals
    "residual by name": (ValueError, LINEAR, lambda: RESIDUAL(of="ndcg")),
    "residual by metric": (ValueError, LINEAR, lambda: RESIDUAL(of=jrm.average_precision)),
    "residual of nothing": (ValueError, "of is 'nothing'", lambda: RESIDUAL(of="nothing")),
    "residual of a cutoff": (ValueError, "pass k to residual", lambda: RESIDUAL(of=functools.partial(jrm.dcg, k=3))),
    "judgements missing": (ValueError, "reads the column 'judged'", lambda: VALUE("residual")),
    "weights of a residual": (ValueError, "weights weighs items, and their mean", lambda: RESIDUAL(weights=ONES, of="dcg")),
    "weights of a residual of cg": (ValueError, "weights weighs items, and their mean", lambda: RESIDUAL(weights=ONES, of="cg")),
    "linear of a column": (ValueError, "linear=True", lambda: jrm.metric(columns=("judged",), linear=True)(pooled)),
    "ideal of other labels": (ValueError, "does not read ideal_sum", lambda: pooled(with_labels(jax.eval_shape(lambda: jrm.rank_retrieved(ONES)), is_relevant))),
    "residual of places": (ValueError, "worth 1.0, but this ranking holds only", lambda: jrm.residual.of(one_place(), k=3)),
    # propensities
    "counts below 0": (ValueError, "-1.0 at (1,); .* from 0 to num_points", lambda: PROPENSITIES([1.0, -1.0])),
    "counts nan": (ValueError, "from 0 to num_points", lambda: PROPENSITIES([np.nan])),
    "counts above all": (ValueError, "11.0 at .*how many of the 10 training points", lambda: PROPENSITIES([10, 11])),
    "counts text": (TypeError, "pass numbers", lambda: PROPENSITIES(["a"])),
    "few points": (ValueError, "at least 3", lambda: PROPENSITIES([1], num_points=2)),
    "half a point": (TypeError, "num_points", lambda: PROPENSITIES([1], num_points=2.5)),
    "setting": (ValueError, "default, wikipedia, amazon", lambda: PROPENSITIES([1], setting="eurlex")),
    "a of propensities": (ValueError, "a is 0", lambda: PROPENSITIES([1], a=0)),
    "b of propensities": (ValueError, "b is -1", lambda: PROPENSITIES([1], b=-1.0)),
    "propensities missing": (ValueError, "reads the column 'propensities'", lambda: VALUE("psr")),
    "propensities of two axes": (ValueError, "one number for each item", lambda: VALUE("psp", propensities=TWO)),
    "propensities above 1": (ValueError, "above 1 for a relevant item in list 1; pass", lambda: jrm.propensity_scored_recall([[0, 0], [1, 0]], S[:, :2], k=1, columns={"propensities": np.array([[9, 9], [1.5, 9]])})),
    # numbers of hits
    "no hits needed": (ValueError, "at_least is 0", lambda: jrm.hit_rate(Y, S, at_least=0)),
    "hits at a mean rank": (ValueError, "at_least is 2, but rank='realistic'", lambda: jrm.hit_rate(Y, S, at_least=2, rank="realistic")),
    # soft places
    "soft hit rate": (ValueError, "first item that stops.*leave relax out", lambda: jrm.hit_rate(Y, S, relax=SOFT)),
    "soft full recall": (ValueError, "needs an order.*leave relax out", lambda: jrm.full_recall(Y, S, relax=SOFT)),
    "soft chances": (ValueError, "first item that stops", lambda: jax.eval_shape(lambda: jrm.rank(Y, S, relax=SOFT).expected_first(lambda items: items.labels / 2, jnp.ones_like, (None,)))),
    "soft order": (ValueError, "needs an order.*leave relax out", lambda: jrm.average_precision(Y, S, denominator="hits", relax=SOFT)),
    "soft groups": (ValueError, "or the ties of items", lambda: data_of(soft()).under("own", Cache())),
    "soft items": (ValueError, "soft places have no order; rank without relax", lambda: soft().items),
    "soft ties": (ValueError, "relax and ties are both given", lambda: jrm.ndcg(Y, S, relax=SOFT, ties="stable")),
    "class for relax": (TypeError, "relax is <class .*jrm.sigmoid_ranks(0.1)", lambda: jrm.ndcg(Y, S, relax=jrm.sigmoid_ranks)),
    "number for relax": (TypeError, "relax is 0.1; pass None", lambda: jrm.rank(Y, S, relax=0.1)),
    "temperature": (ValueError, "temperature is 0; pass a positive number", lambda: jrm.sigmoid_ranks(0)),
    "temperature array": (TypeError, "temperature is Array.*positive Python number", lambda: jrm.sigmoid_ranks(jnp.ones(()))),
    "relax of a ranking": (TypeError, "relax belongs to the ranking, pass it to jrm.rank", lambda: jrm.ndcg.of(cut(), relax=SOFT)),
    "soft items over devices": (ValueError, "relax is given, but the items", lambda: jrm.ndcg(sharded(), sharded(), relax=SOFT)),
    # formulas
    "function of ranks for places": (TypeError, "expected_sum: place_fn is reciprocal(ranks), but .*pass jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_sum(is_relevant, reciprocal, ks))),
    "no function of places": (TypeError, "expected_max: place_fn is None; pass jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_max(is_relevant, None, ks))),
    "positions of an ideal sum": (TypeError, "ideal_sum: position_fn is .*(ranks); pass .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.ideal_sum(is_relevant, jrm.positions(reciprocal), ks))),
    "positions of an ideal stop": (TypeError, "ideal_first: position_fn is .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.ideal_first(is_relevant, jrm.positions(), ks))),
    "positions of a stop": (TypeError, "expected_first: position_fn is .* without jrm.positions", lambda: FORMULA(lambda x, ks: x.expected_first(is_relevant, jrm.positions(), ks)[0])),
    "values of a formula": (TypeError, "own: the formula returned an array of float32 .*return ranking.per_list", lambda: FORMULA(lambda x, ks: x.expected_sum(is_relevant, jrm.positions(), ks))),
    # options of other metrics
    "multiples of zero": (ValueError, "multiples is 0.0; pass a positive number", lambda: VALUE("rprec_mult@0")),
    "no multiples": (ValueError, "multiples is empty", lambda: VALUE("rprec_mult(multiples=())")),
    "levels of eleven points": (ValueError, "metric name '11pt_avg..25,.5': parameters are not read; pass iprec_at_recall with", lambda: VALUE("11pt_avg..25,.5")),
    "gains of trec_eval": (ValueError, "metric name 'ndcg.1=3,2=9': .*pass judgements with these gains", lambda: VALUE("ndcg.1=3,2=9")),
    "beta of trec_eval": (ValueError, "metric name 'set_F.0.25': .*pass set_F(beta=…), whose square", lambda: VALUE("set_F.0.25")),
    "utility of what was not retrieved": (ValueError, "metric name 'utility.1,-1,-1,0': .*pass utility.a,-b,0,0", lambda: VALUE("utility.1,-1,-1,0")),
    "cost of utility": (ValueError, "cost is -1; pass a number of at least 0", lambda: VALUE("utility(cost=-1)")),
} | {
    f"{metric} of the threshold {threshold!r}": (TypeError, f"relevance_threshold is {threshold!r}; pass a positive", functools.partial(VALUE, f"{metric}(rel={threshold!r})"))
    for metric in ("num_relevant", "recall", "iprec", "bpref") for threshold in ("a", True)
}  # fmt: skip
