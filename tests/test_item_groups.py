"""Groups of the items of a catalogue: every source has the numbers of rows with a column."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

import jax_rank_metrics as jrm
from jax_rank_metrics._drivers.engine import Collected, counted_values
from jax_rank_metrics._formulas.building_blocks import item_exists
from jax_rank_metrics._formulas.groups import memberships
from jax_rank_metrics._metrics import run
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._ranking import View, data_of

LISTS, ITEMS, GROUPS, RELEVANT, EXCLUDED = 6, 13, 3, 5, 3
KS = (1, 2, 4)
PLACES = jrm.positions(jrm.log2_discount)


def label_times_groups(items):
    """The merit of items in their groups."""
    return items.labels[..., None] * memberships(items)


def is_majority(items):
    """Whether items are members of the first group."""
    return items.columns["groups"][..., 0] > 0.5


def draw(rng):
    """Draws tied scores, ids that are repeated, relevant and excluded, and fractions."""
    groups = rng.choice([0, 0, 1, 0.25, 1.5], (ITEMS, GROUPS)).astype(np.float32)
    groups[:, 2] = 0  # nobody's group
    groups[3, 0], groups[4, 1] = np.nan, -1  # read as 0
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant[0] = -1
    labels = rng.choice([0, 0.5, 1, 2], relevant.shape).astype(np.float32)
    labels[1] = 1
    exclude = rng.integers(-1, ITEMS, (LISTS, EXCLUDED))
    exclude[1] = relevant[1, 0]
    return {
        "scores": rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32),
        "groups": groups,
        "relevant": relevant.astype(np.int32),
        "labels": labels,
        "exclude": exclude.astype(np.int32),
        "item_mask": rng.random(ITEMS) < 0.85,
    }


def rows_of(data):
    """Returns labels and the mask `[lists, items]`, and the column of every list."""
    labels = np.zeros((LISTS, ITEMS), np.float32)
    mask = np.tile(data["item_mask"], (LISTS, 1))
    for row in range(LISTS):
        for i, label in zip(data["relevant"][row], data["labels"][row], strict=True):
            if i >= 0:
                labels[row, i] = label
        mask[row, data["exclude"][row][data["exclude"][row] >= 0]] = False
    groups = np.broadcast_to(data["groups"], (LISTS, ITEMS, GROUPS))
    return labels, mask, groups


@jax.jit
def read(ranking):
    """Returns totals of groups over ranks and over the pool, and recalls of two groups."""
    return read_relevant(ranking) | {
        "exposure": ranking.expected_sum(memberships, PLACES, KS),
        "pool": ranking.pool_sum(memberships),
    }


@jax.jit
def read_relevant(ranking):
    """Returns what is worth 0 for items with the label 0, and the total of the pool."""
    merit = ranking.expected_sum(label_times_groups, PLACES, KS)
    recall = jrm.group_recall.of(ranking, k=KS, group=1)
    return {
        "merit": merit,
        "pool": ranking.pool_sum(memberships),
        "recall": recall.values,
        "defined": recall.defined,
    }


def assert_same(actual, expected):
    """Asserts equal totals."""
    for name in actual:
        np.testing.assert_allclose(
            actual[name], expected[name], rtol=2e-6, atol=2e-6, err_msg=name
        )


def catalog(data, **how):
    """Ranks the catalogue in blocks that end inside of tie groups."""
    options = {
        "relevant_labels": data["labels"],
        "exclude_ids": data["exclude"],
        "item_mask": data["item_mask"],
        "item_groups": data["groups"],
    }
    items = np.arange(ITEMS)[:, None]
    return jrm.rank_catalog(
        data["scores"], items, data["relevant"], similarity=of_items, **options | how
    )


def of_items(scores, items):
    """Looks up the scores of a block."""
    return scores[..., items[:, 0]]


@pytest.mark.long
def test_retrieved_ids(rng):
    """Ids in rank order against rows: the pool is what is relevant and what was retrieved."""
    data = draw(rng)
    labels, mask, groups = rows_of(data | {"exclude": np.full((LISTS, 1), -1)})
    del mask
    ranked = np.argsort(-data["scores"], axis=1, kind="stable")[:, :6].astype(np.int32)
    ranked[2, 4:] = -1
    retrieved, pool = np.zeros((2, LISTS, ITEMS), bool)
    for row in range(LISTS):
        retrieved[row, ranked[row][ranked[row] >= 0]] = True
        pool[row, data["relevant"][row][data["relevant"][row] >= 0]] = True
    rows = jrm.rank(
        *(labels, data["scores"], pool | retrieved),
        retrieved=retrieved,
        columns={"groups": groups},
        ties="stable",
    )
    ids = jrm.rank_ids(
        ranked, data["relevant"], data["labels"], item_groups=data["groups"]
    )
    assert_same(read(ids), read(rows))
    unknown = {"columns": {"groups": np.ones((*data["relevant"].shape, GROUPS))}}
    partial = jrm.rank_ids(ranked, data["relevant"], data["labels"], **unknown)
    assert jrm.group_recall.of(partial, k=2).values.shape == (
        LISTS,
    )  # of relevant items
    with pytest.raises(ValueError, match="pass item_groups"):
        jrm.exposure_parity.of(partial, k=2)


def linear_in_groups(ranking):
    """Returns the ranking as a metric with `linear_in=("groups",)` reads it."""
    data = data_of(ranking)
    return jrm.Ranking(data, View(data).under("expected", ("groups",)))


def test_an_undeclared_metric(rng):
    """It raises, also where a declared one has read the same functions before it."""
    lists = catalog(draw(rng), k=3)

    def members(ranking):
        sums = ranking.expected_sum(memberships, jrm.positions(), (3,))
        first, _ = ranking.expected_first(is_majority, jnp.sqrt, (3,))
        values = sums.sum(-1) + first
        return ranking.per_list(values, True, None, item_exists)

    declared, undeclared = (
        dataclasses.replace(jrm.ndcg.spec, formula=members, options={}, linear_in=x)
        for x in (("groups",), ())
    )
    bound, other = (Bound(x.name, x, ()) for x in (declared, undeclared))
    other = other._replace(name="other")
    assert run.measure_ranking((bound,), lists)["ndcg"].values.shape == (LISTS,)
    for bounds in ((other,), (bound, other)):
        with pytest.raises(ValueError, match="other: .* declare so by"):
            run.measure_ranking(bounds, lists)


@pytest.mark.long
def test_what_a_total_cannot_tell(rng):
    """Functions that nobody called linear, or that read unlisted items one by one."""
    data = draw(rng)
    undeclared = catalog(data, k=3)
    places, first = map(linear_in_groups, (catalog(data, k=None), undeclared))
    place_fn = jrm.positions()

    def of_user(items):
        shares = memberships(items)
        return shares * taste[(0,) * (3 - shares.ndim)]

    for reading, message in (
        (lambda: undeclared.pool_sum(memberships), "declare so by @jrm.metric.linear"),
        (lambda: undeclared.expected_sum(memberships, place_fn, (3,)), "declare so"),
        (lambda: first.pool_max(is_majority), "one by one"),
        (lambda: places.expected_sum(memberships, place_fn, (3,)), "label 0 are worth"),
        (
            lambda: places.expected_sum(
                label_times_groups, place_fn, (3,), counting=(memberships,)
            ),
            "one by one",
        ),
        (
            lambda: places.expected_first(is_majority, jnp.sqrt, (3,)),
            "label 0 are worth",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            reading()
    taste = jnp.ones((1, 1, GROUPS))
    assert first.pool_sum(of_user).shape == (LISTS, GROUPS)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"item_groups": np.ones(ITEMS)}, ValueError, "num_items, groups"),
        ({"item_groups": np.ones((ITEMS, 0))}, ValueError, f"{ITEMS}, groups"),
        ({"item_groups": np.ones((ITEMS - 1, 2))}, ValueError, f"{ITEMS}, groups"),
        (
            {"columns": {"groups": np.ones((LISTS, RELEVANT, 2))}},
            ValueError,
            "item_groups alone",
        ),
        (
            {
                "relevant_ids": jrm.by_attributes(
                    lambda x, y: x[:, None] == y, np.ones(LISTS), np.ones(ITEMS)
                )
            },
            ValueError,
            "item_groups is given, and relevant_ids are by attributes",
        ),
    ],
)
def test_wrong_groups(change, error, message, rng):
    """Shapes that are not those of the catalogue; two sources of groups."""
    data = draw(rng)
    arguments = {"relevant_ids": data["relevant"], "item_groups": data["groups"]}
    with pytest.raises(error, match=message):
        jrm.rank_scores(data["scores"], **arguments | change)


def test_wrong_ids_and_groups():
    """An id without a row; a group that nobody has; groups that nobody reads."""
    with pytest.raises(ValueError, match="retrieved_ids goes up to 5"):
        jrm.rank_ids([5], [1], item_groups=np.ones((5, 2)))
    columns = {"groups": np.ones((3, 2))}
    for group, error in ((2, ValueError), (-1, ValueError), (True, TypeError)):
        with pytest.raises(error, match="group"):
            metric = functools.partial(jrm.group_recall, group=group)
            metric(np.ones(3), np.arange(3.0), columns=columns)
    model, relevant = (np.eye(3), np.eye(3)), [[0], [1], [2]]
    with pytest.raises(ValueError, match="or item_groups where"):
        jrm.evaluate_users("group_recall@1", model, relevant)
    with pytest.raises(ValueError, match="ask for cutoffs that are numbers"):
        exposure = functools.partial(jrm.exposure_parity.of, k=jrm.share(0.5))
        groups = np.ones((3, 1))
        jax.eval_shape(
            lambda: exposure(jrm.rank_scores(np.eye(3), relevant, item_groups=groups))
        )
    for target in (0.5, "relevant", (0.0, 1.0)):
        with pytest.raises(ValueError, match="pass a tuple of shares above 0"):
            jrm.ndkl(np.ones(3), np.arange(3.0), columns=columns, target=target)
    with pytest.raises(ValueError, match="no metric of this call reads"):
        jrm.evaluate_users("mrr@1", model, relevant, item_groups=np.ones((3, 1)))


USERS, DIMS = 9, 3


@pytest.fixture(scope="module")
def users():
    """Draws a model, what its users have seen, and one user who has nothing to find."""
    rng = np.random.default_rng(5)
    queries, items = (rng.normal(size=(n, DIMS)).round() for n in (USERS, 14))
    relevant = [rng.permutation(14)[:3].tolist() for _ in range(USERS)]
    relevant[2], relevant[6] = [], relevant[6][:1]
    seen = [
        [i for i in rng.permutation(14)[:4].tolist() if i not in own]
        for own in relevant
    ]
    seen[6] = [*seen[6], *relevant[6]]  # what was seen cannot be found
    groups = rng.choice([0, 1, 0.5], (14, 2)).astype(np.float32)
    return {
        "model": (queries.astype(np.float32), items.astype(np.float32)),
        "relevant": relevant,
        "seen": seen,
        "groups": groups,
    }


METRICS = ("group_recall(group=1)@3", "recall@3")


def evaluated(users, **options):
    """Evaluates the users, among whom one has seen all that is relevant."""
    with pytest.warns(UserWarning, match="every relevant item was seen"):
        return jrm.evaluate_users(
            METRICS,
            users["model"],
            users["relevant"],
            seen=users["seen"],
            item_groups=users["groups"],
            **options,
        )


def rows_of_users(users):
    """Returns the values of rows."""
    queries, items = users["model"]
    labels, seen = np.zeros((2, USERS, 14), np.float32)
    for table, ids in ((labels, users["relevant"]), (seen, users["seen"])):
        for row, row_ids in enumerate(ids):
            table[row, row_ids] = 1
    groups = np.broadcast_to(users["groups"], (USERS, 14, 2))
    ranking = jrm.rank(labels, queries @ items.T, seen == 0, columns={"groups": groups})
    return jrm.measure(METRICS, ranking)


def check_users(users, evaluation):
    """Asserts the values of rows, and that the rest is of the users that count."""
    for name, lists in rows_of_users(users).items():
        values = evaluation.lists[name]
        np.testing.assert_allclose(values.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(values.defined, lists.defined)
    counted = np.array([row not in (2, 6) for row in range(USERS)])
    np.testing.assert_array_equal(evaluation.lists["recall@3"].defined, counted)
    shown = evaluation.items[counted]
    assert (evaluation.items >= 0).all()  # recommendations are of all users
    counts = np.bincount(shown.ravel(), minlength=14)
    np.testing.assert_array_equal(evaluation.exposure.counts, counts)
    assert evaluation.exposure.non_empty == counted.sum()
    seen_by = np.bincount(np.concatenate(users["seen"]).astype(int), minlength=14)
    logs = np.log(np.maximum(seen_by, 1))[shown].mean()
    popularity = evaluation.states["popularity@3"]
    np.testing.assert_allclose(popularity.compute(), logs, rtol=1e-5)
    assert (popularity.lists, popularity.undefined) == (counted.sum(), 2)
    np.testing.assert_array_equal(evaluation.lists["novelty@3"].defined, counted)


def test_users_that_count(users):
    """Groups in a driver; with undefined="skip", everything is over the users that count."""
    evaluation = evaluated(users, undefined="skip", block_size=5)
    check_users(users, evaluation)
    by_kind = evaluation.by([row in (2, 6) for row in range(USERS)])
    assert by_kind[True]["popularity@3"].lists == 0


def test_a_ratio_counts_a_query_once():
    """A ratio of sums says for each cutoff where it is defined, other metrics once."""
    weights, known = np.ones(2), np.ones(2, bool)
    hits = jrm.PerList(np.array([[1.0, 2.0], [0.0, 0.0]]), weights, known)
    ratio = hits.over(jrm.PerList(np.array([[0.0, 2.0], [0.0, 0.0]]), weights, known))
    nowhere = jrm.PerList(np.zeros(2), weights, ~known)
    assert ratio.defined.shape == (2, 2)
    items = np.zeros((2, 1), np.int32)
    counted = counted_values(Collected([nowhere, ratio], items), 2)
    assert counted.items.tolist() == [[0], [-1]]


@pytest.mark.long
def test_all_users_count_by_default(users):
    """Without "skip" the exposure is that of all recommendations."""
    evaluation = evaluated(users, embeddings=users["model"][1])
    counts = np.bincount(evaluation.items.ravel(), minlength=14)
    np.testing.assert_array_equal(evaluation.exposure.counts, counts)
    assert evaluation.states["intra_list_diversity@3"].lists == USERS


@pytest.mark.long
def test_users_on_a_mesh(users):
    """The users that count, and the groups of all items, on four devices."""
    mesh = jax.make_mesh(
        (2, 2),
        ("users", "items"),
        axis_types=(AxisType.Auto,) * 2,
        devices=jax.devices()[:4],
    )
    saved = []
    options = {
        "mesh": mesh,
        "queries_axis": "users",
        "items_axis": "items",
        "undefined": "skip",
        "batch_size": 4,
    }
    evaluation = evaluated(users, on_batch=saved.append, **options)
    check_users(users, evaluation.gather())
    resumed = evaluated(users, resume_from=saved[0], **options)
    check_users(users, resumed.gather())
    changed = users | {"groups": users["groups"][::-1]}
    with pytest.raises(ValueError, match="resume_from"):
        evaluated(changed, resume_from=saved[0], **options)


@pytest.mark.long
def test_embeddings(users, tmp_path):
    """All items, blocks that the host reads, and candidates that are all items."""
    queries, items = users["model"]
    groups = {"item_groups": users["groups"]}
    everything = np.tile(np.arange(14), (USERS, 1))
    metrics = (*METRICS, "exposure_parity@3")
    evaluate = functools.partial(
        jrm.evaluate_embeddings, metrics, relevant=users["relevant"], **groups
    )
    labels = np.zeros((USERS, 14), np.float32)
    for row, ids in enumerate(users["relevant"]):
        labels[row, ids] = 1
    columns = {"groups": np.broadcast_to(users["groups"], (USERS, 14, 2))}
    rows = jrm.measure(metrics, jrm.rank(labels, queries @ items.T, columns=columns))
    for evaluation in (
        evaluate(queries, items),
        evaluate(queries, items, block_size=4),
        evaluate(queries, [items[:5], items[5:]], block_size=4),
        evaluate(queries, iter([items[:9], items[9:]]), block_size=4),
        evaluate(queries, items, candidates=everything),
    ):
        for name, lists in rows.items():
            values = evaluation.lists[name]
            np.testing.assert_allclose(values.values, lists.values, atol=1e-6)
            np.testing.assert_array_equal(values.defined, lists.defined)
