"""Columns of the items of a catalogue: exact means, errors, and drivers."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pytest
from jax.sharding import PartitionSpec as P
from sources import LISTS, RELEVANT, catalog, draw, make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.formulas.groups import memberships
from jax_rank_metrics._engine.formulas.label_fns import item_exists
from jax_rank_metrics._runs.drivers.engine import Values


def label_times_groups(items):
    """The merit of items in their groups."""
    return items.labels[..., None] * memberships(items)


def is_majority(items):
    """True for members of the first group."""
    return items.columns["groups"][..., 0] > 0.5


@pytest.fixture
def problem(rng):
    """Draws a catalogue whose items belong to groups."""
    return dataclasses.replace(draw(rng), columns=("groups",))


@pytest.mark.long
def test_what_a_total_cannot_tell(problem):
    """Functions that are not linear, or that read unlisted items one by one."""
    lists, places = (catalog(problem, k=k) for k in (3, None))
    place_fn = jrm.positions()

    def of_user(items):
        shares = memberships(items)
        return shares * taste[(0,) * (3 - shares.ndim)]

    how, counting = (place_fn, (3,)), {"counting": (memberships,)}
    for message, reading, *arguments in (
        ("is not linear in", lists.pool_sum, is_majority),
        ("is not linear in", lists.pool_max, is_majority),
        ("is not linear in", lists.expected_first, is_majority, jnp.sqrt, (3,)),
        ("of every item with the label 0", lists.pool_max, memberships),
        ("label 0 have values that depend on", places.expected_sum, memberships, *how),
    ):
        with pytest.raises(ValueError, match=message):
            reading(*arguments)
    with pytest.raises(ValueError, match="of every item with the label 0"):
        places.expected_sum(label_times_groups, *how, **counting)
    taste = jnp.ones((1, 1, 3))
    assert lists.pool_sum(of_user).shape == (LISTS, 3)


def test_wrong_ids_and_groups(problem):
    """Groups of relevant items alone, and an id without a row."""
    columns = {"groups": np.ones((LISTS, RELEVANT, 2), bool)}
    ids = problem.relevant_ids
    partial = jrm.rank_ids(ids, ids, relevant_columns=columns)
    assert jrm.group_recall.of(partial, k=2).values.shape == (LISTS,)
    with pytest.raises(ValueError, match="'groups' of the listed items alone"):
        jrm.expected_exposure.of(partial, k=2, target="relevant")
    with pytest.raises(ValueError, match="retrieved_ids goes up to 5"):
        jrm.rank_ids([5], [1], item_columns={"groups": np.ones((5, 2))})


def price(items):
    """The price of an item."""
    return items.columns["price"]


@jrm.metric(item_columns=("price",), reads_labels=False)
def mean_price(ranking, *, k=None):
    """The mean price of the first items, undefined for none."""
    return _mean_of_first(ranking, k)


@jrm.metric(item_columns={"price": jnp.log}, reads_labels=False)
def mean_log_price(ranking, *, k=None):
    """The mean logarithm of the price of the first items."""
    return _mean_of_first(ranking, k)


@jrm.metric(item_columns=("price",))
def relevant_price(ranking, *, k=None):
    """The price of relevant items at the first ranks, over all relevant items' price."""
    ks = ranking.cutoffs(k)
    found = ranking.expected_sum(price_if_relevant, jrm.positions(), ks)
    total = ranking.pool_sum(price_if_relevant)[..., None]
    return ranking.per_list(found / jnp.maximum(total, 1), total[..., 0] > 0, k, price)


def price_if_relevant(items):
    """The price of an item if it is relevant, else 0."""
    return jnp.where(items.relevant(1), items.columns["price"], 0)


def log_of_price(items):
    """The logarithm of the price of an item, which no total of prices knows."""
    return jnp.log(items.columns["price"])


def _mean_of_first(ranking, k):
    ks = ranking.cutoffs(k)
    sums, depth = ranking.expected_sum(price, jrm.positions(), ks), ranking.depth(ks)
    return ranking.per_list(
        sums / jnp.maximum(depth, 1), depth[..., 0] > 0, k, item_exists
    )


OWN = (mean_price, mean_log_price, relevant_price)
CUTS = (2, 3, 4, 6)


def means_over_orders(scores, prices, relevant, ks):
    """Returns the values of `OWN` by a loop over all orders of the items that tie."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    values = np.zeros((len(OWN), len(ks)))
    wanted = prices[relevant].sum()
    for order in orders:
        for number, k in enumerate(ks):
            first = [*order[:k]]
            found = prices[[i for i in first if i in relevant]].sum() / wanted
            values[:, number] += (
                prices[first].mean(),
                np.log(prices[first]).mean(),
                found,
            )
    return values / len(orders)


SCORES = np.float32([[3, 2, 2, 2, 2, 1, 0], [1, 1, 1, 1, 0, 0, 0]])
PRICES = np.array([5.0, 1, 2.5, 8, 0.5, 3, 40])
WANTED = np.array([[2, 5], [0, 3]])


def all_sources(k):
    """Yields rankings of the same lists, whose first k items are held."""
    how = {"k": k, "item_columns": {"price": PRICES}}
    yield jrm.rank_scores(SCORES, WANTED, **how)
    for block_size in (7, 3):
        yield jrm.rank_catalog(
            np.eye(2, dtype=np.float32), SCORES.T, WANTED, block_size=block_size, **how
        )
    if k == max(CUTS):
        rows = np.broadcast_to(PRICES, SCORES.shape)
        labels = np.zeros(SCORES.shape)
        np.put_along_axis(labels, WANTED, 1, 1)
        yield jrm.rank(labels, SCORES, columns={"price": rows})


@pytest.mark.parametrize("k", CUTS)
def test_own_prices_are_means_over_all_orders(k):
    """It holds for groups across the cut, for unlisted items, and for prepared columns."""
    ks = tuple(n for n in CUTS if n <= k)
    means = np.stack(
        [
            means_over_orders(scores, PRICES, wanted, ks)
            for scores, wanted in zip(SCORES, WANTED, strict=True)
        ],
        axis=1,
    )
    for ranking in all_sources(k):
        is_rows = ranking.items.shape[-1] == SCORES.shape[-1]
        for number, metric in enumerate(OWN):
            if is_rows and metric is mean_log_price:  # rows are passed prepared
                continue
            values = metric.of(ranking, k=ks).values
            np.testing.assert_allclose(values, means[number], rtol=2e-5)


def test_a_logarithm_of_prices_is_not_linear():
    """It is infinite at 0 and no number below, and yet found to bend."""
    ranking = jrm.rank_scores(SCORES, WANTED, k=3, item_columns={"price": PRICES})
    with pytest.raises(ValueError, match="not linear in the column 'price'"):
        ranking.expected_sum(log_of_price, jrm.positions(), (3,))


def test_a_metric_that_is_younger_than_the_ranking():
    """Its prepared column was not made, and prices are not read in its place."""
    how = {"item_columns": {"price": PRICES}}
    rankings = [
        jrm.rank_ids(WANTED, **how),
        jrm.rank_scores(SCORES, WANTED, k=2, **how),
        jrm.rank_catalog(np.eye(2), SCORES.T, WANTED, k=2, **how),
    ]

    @jrm.metric(item_columns={"price": jnp.sqrt}, reads_labels=False)
    def mean_root(ranking, *, k=None):
        return _mean_of_first(ranking, k)

    for ranking in rankings:
        with pytest.raises(ValueError, match="before the metric .* rank again"):
            mean_root.of(ranking, k=2)
    values = mean_root.of(jrm.rank_ids(WANTED, **how), k=2).values
    np.testing.assert_allclose(values, np.sqrt(PRICES)[WANTED].mean(1), rtol=1e-6)


def test_metrics_that_prepare_a_column_of_one_name(metric_names):
    """No metric changes what another one reads, not even one that is refused."""

    def make(prepare):
        @jrm.metric(item_columns={"price": prepare}, reads_labels=False)
        def mean_made(ranking, *, k=None):
            return _mean_of_first(ranking, k)

        return mean_made

    def refused(formula_of, prepare):
        formula_of.__qualname__ = formula_of.__name__ = "popularity"
        with pytest.raises(ValueError, match="'popularity' is taken"):
            jrm.metric(item_columns={"price": prepare})(formula_of)

    log = make(jnp.log)
    twice, anew = [lambda price: 2 * price for _ in "ab"]
    with pytest.warns(UserWarning, match="'mean_made' of .* replaces another metric"):
        root, doubled = make(jnp.sqrt), make(twice)
    again = make(anew)
    refused(lambda ranking: ranking, lambda price: 0 * price)
    ranking = jrm.rank_ids(WANTED, item_columns={"price": PRICES})
    expected = np.log(PRICES), np.sqrt(PRICES), 2 * PRICES, 2 * PRICES
    for metric, prices in zip((log, root, doubled, again), expected, strict=True):
        values = metric.of(ranking, k=2).values
        np.testing.assert_allclose(values, prices[WANTED].mean(1), rtol=1e-6)


def test_a_metric_that_is_defined_anew(metric_names):
    """It reads what it prepares now, and a ranking that is older is not read."""

    def mean_anew(ranking, *, k=None):
        return _mean_of_first(ranking, k)

    mean_anew.__qualname__ = "mean_anew"  # as in a cell of a notebook
    ranking = None
    for factor in (1.0, 2.0, 3.0):
        how = {"item_columns": {"price": lambda price, factor=factor: factor * price}}
        metric = jrm.metric(**how, reads_labels=False)(mean_anew)
        if ranking is not None:
            with pytest.raises(ValueError, match="before the metric .* rank again"):
                metric.of(ranking, k=2)
        ranking = jrm.rank_ids(WANTED, item_columns={"price": PRICES})
        values = metric.of(ranking, k=2).values
        np.testing.assert_allclose(values, factor * PRICES[WANTED].mean(1), rtol=1e-6)


def test_prices_over_devices_and_in_jit():
    """Devices may share the items, and the function may be compiled."""
    over_items = functools.partial(jrm.rank_scores, items_axis="items", k=3)
    mesh = make_mesh((2,), ("items",))
    scores = np.concatenate([SCORES, SCORES[:, :1]], axis=1)  # 8 items, 4 on a device
    prices = np.append(PRICES, 6)

    def of_part(scores, prices):
        ranking = over_items(scores, WANTED, item_columns={"price": prices})
        return mean_price.of(ranking, k=(2, 3)).values

    expected = jax.jit(
        lambda scores, prices: (
            mean_price.of(
                jrm.rank_scores(scores, WANTED, k=3, item_columns={"price": prices}),
                k=(2, 3),
            ).values
        )
    )(scores, prices)
    for spec in (P("items"), P()):  # the part of a device, or all prices on each
        cut = jax.shard_map(
            of_part, mesh=mesh, in_specs=(P(None, "items"), spec), out_specs=P()
        )
        values = jax.jit(cut)(scores, prices)
        np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_drivers_read_prices(users):
    """Items may come whole, in parts, or as candidates, and with ids that are no rows."""
    names, ids = ("mean_price@3", "recall@3"), [f"film {i}" for i in range(14)]
    prices = np.arange(14) ** 2 + 1.0
    by_id = dict(zip(reversed(ids), reversed(prices), strict=True))
    queries, items = users["model"]
    relevant = [[ids[i] for i in wanted] for wanted in users["relevant"]]
    how = {"item_ids": ids, "item_columns": {"price": by_id}, "ties": "stable"}
    evaluate = functools.partial(jrm.evaluate_embeddings, names, queries)
    for model, options in (
        (items, {}),
        ([items[:5], items[5:]], {"block_size": 4}),
        (items, {"candidates": [ids] * USERS}),
    ):
        evaluation = evaluate(model, relevant=relevant, **how, **options)
        shown = [
            [prices[ids.index(i)] for i in row] for row in evaluation.retrieved_ids
        ]
        values = evaluation.lists["mean_price@3"].values
        np.testing.assert_allclose(values, np.mean(shown, axis=1), rtol=1e-6)


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
    seen[6] = [*seen[6], *relevant[6]]  # items that were seen cannot be found
    groups = rng.choice([0, 1, 0.5], (14, 2)).astype(np.float32)
    return {
        "model": (queries.astype(np.float32), items.astype(np.float32)),
        "relevant": relevant,
        "seen": seen,
        "groups": groups,
    }


METRICS = ("group_recall(group=1)@3", "recall@3")
OF_ITEMS = np.arange(14.0)


def evaluated(users, **options):
    """Evaluates the users, among whom one has seen all that is relevant."""
    lists = users["model"], users["relevant"]
    known = {"groups": users["groups"], "price": OF_ITEMS}
    options |= {"seen": users["seen"], "item_columns": known}
    with pytest.warns(UserWarning, match="seen holds all relevant items of"):
        return jrm.evaluate_users((*METRICS, "mean_price@3"), *lists, **options)


def rows_of_users(users, metrics=METRICS):
    """Returns the values of rows."""
    queries, items = users["model"]
    labels, seen = np.zeros((2, USERS, 14), np.float32)
    for table, ids in ((labels, users["relevant"]), (seen, users["seen"])):
        for row, row_ids in enumerate(ids):
            table[row, row_ids] = 1
    groups = np.broadcast_to(users["groups"], (USERS, 14, 2))
    ranking = jrm.rank(labels, queries @ items.T, seen == 0, columns={"groups": groups})
    return jrm.measure(metrics, ranking)


def check_values(evaluation, rows):
    """Asserts the values of rows."""
    for name, lists in rows.items():
        values = evaluation.lists[name]
        np.testing.assert_allclose(values.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(values.defined, lists.defined)


def check_users(users, evaluation):
    """Asserts the values of rows, and that the rest is of the users that count."""
    check_values(evaluation, rows_of_users(users))
    counted = np.array([row not in (2, 6) for row in range(USERS)])
    np.testing.assert_array_equal(evaluation.lists["recall@3"].defined, counted)
    shown = evaluation.retrieved_ids[counted]
    assert (evaluation.retrieved_ids >= 0).all()  # recommendations are of all users
    counts = np.bincount(shown.ravel(), minlength=14)
    np.testing.assert_array_equal(evaluation.exposure.counts, counts)
    assert evaluation.exposure.non_empty == counted.sum()
    np.testing.assert_array_equal(evaluation.lists["mean_price@3"].defined, counted)


@pytest.mark.long
@pytest.mark.parametrize("is_cut", [False, True])
def test_users_that_count(users, is_cut):
    """With undefined="skip", all results are over the users that count, also on a mesh."""
    mesh = make_mesh((2, 2), ("users", "items"))
    over = {"mesh": mesh, "queries_axis": "users", "items_axis": "items"}
    options = over | {"batch_size": 4} if is_cut else {"block_size": 5}
    evaluation = evaluated(users, undefined="skip", **options)
    check_users(users, evaluation)
    by_kind = evaluation.by([row in (2, 6) for row in range(USERS)])
    assert by_kind[True]["mean_price@3"].lists == 0


def test_a_ratio_counts_a_query_once():
    """A ratio of sums says for each cutoff if it is defined, other metrics say it once."""
    weights, known = np.ones(2), np.ones(2, bool)
    hits = jrm.PerList(np.array([[1.0, 2.0], [0.0, 0.0]]), weights, known)
    ratio = hits.over(jrm.PerList(np.array([[0.0, 2.0], [0.0, 0.0]]), weights, known))
    nowhere = jrm.PerList(np.zeros(2), weights, ~known)
    assert ratio.defined.shape == (2, 2)
    items = np.zeros((2, 1), np.int32)
    counted = Values([nowhere, ratio], items).counted("skip", None, [True, True])
    assert counted.items.tolist() == [[0], [-1]]


@pytest.mark.long
def test_embeddings(users, tmp_path):
    """All items, blocks that the host reads, and candidates that are all items."""
    queries, items = users["model"]
    groups = {"item_columns": {"groups": users["groups"]}}
    everything = np.tile(np.arange(14), (USERS, 1))
    metrics = (*METRICS, "exposure_parity@3")
    evaluate = functools.partial(
        jrm.evaluate_embeddings, metrics, relevant=users["relevant"], **groups
    )
    rows = rows_of_users(users | {"seen": [[]] * USERS}, metrics)
    for evaluation in (
        evaluate(queries, items),
        evaluate(queries, items, block_size=4),
        evaluate(queries, [items[:5], items[5:]], block_size=4),
        evaluate(queries, iter([items[:9], items[9:]]), block_size=4),
        evaluate(queries, items, candidates=everything),
    ):
        check_values(evaluation, rows)


@pytest.mark.parametrize("kind", [dict, pandas.Series])
def test_joined_documents_have_prices(kind):
    """Unjudged documents have prices, too, and values are means over all orders of ties."""
    names = "abcdefg"
    prices = kind(dict(zip(names, PRICES, strict=True)))
    runs = {
        f"q{row}": dict(zip(names, map(float, scores), strict=True))
        for row, scores in enumerate(SCORES)
    }
    qrels = {
        f"q{row}": {names[i]: 1 for i in wanted} for row, wanted in enumerate(WANTED)
    }
    joined = jrm.join(qrels, runs, item_columns={"price": prices})
    metrics = {x.__name__: functools.partial(x, k=CUTS) for x in OWN}
    lists = joined.measure({**metrics, "mrr": jrm.reciprocal_rank})
    for number, name in enumerate(metrics):
        for row, wanted in enumerate(WANTED):
            means = means_over_orders(SCORES[row], PRICES, wanted, CUTS)[number]
            np.testing.assert_allclose(lists[name].values[row], means, rtol=2e-5)
    log = {"log": functools.partial(mean_log_price, k=3)}
    state = jrm.evaluate(log, **joined.arguments(log))["log"]
    expected = lists["mean_log_price"].values[:, CUTS.index(3)].mean()
    np.testing.assert_allclose(state.compute(), expected, rtol=1e-6)


def test_a_document_without_a_price():
    """It is named if a metric reads prices."""
    joined = jrm.join(
        {"q": {"a": 1}}, {"q": ["a", "b"]}, item_columns={"price": {"a": 1}}
    )
    assert joined.evaluate("mrr")["mrr"].compute() == 1
    with pytest.raises(ValueError, match="lacks document 'b'"):
        joined.measure({"price": functools.partial(mean_price, k=1)})
