"""Tables of scored items: the numbers of flat arrays, whatever the source and the cut."""

import decimal
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import CORE, EVERY, metrics

import jax_rank_metrics as jrm
from jax_rank_metrics._runs.files import tables
from jax_rank_metrics.testing import COLUMNS

NAMES = ("ndcg@3", "map", "mrr")


def draw(rng, num_lists=12, size=9):
    """Draws a table with ties, a list of one item, one that ties, and one of label 0."""
    sizes = rng.integers(1, size, num_lists)
    sizes[0] = 1
    number = np.repeat(np.arange(num_lists), sizes)
    labels = rng.choice([0, 0, 1, 2], len(number))
    scores = rng.choice([0.5, 0.25, 0.1, -0.0, 0.0], len(number))
    labels[number == 1], scores[number == 2] = 0, 0.5
    ids = [f"q{i}" for i in rng.permutation(num_lists)]
    return pl.DataFrame(
        {"qid": [ids[i] for i in number], "label": labels, "score": scores}
    )


def check_same(evaluation, values, ids):
    """Checks that lists have these values, by their ids."""
    order = [evaluation.query_ids.tolist().index(query) for query in ids]
    for name, lists in values.items():
        held = evaluation.lists[name]
        for field in ("values", "weights", "defined"):
            np.testing.assert_allclose(
                np.asarray(getattr(held, field))[order],
                np.asarray(getattr(lists, field)),
                rtol=1e-6, atol=1e-6, err_msg=f"{name}: {field}",
            )  # fmt: skip


def by_rank(names, table, ties=None, **options):
    """Returns the values of flat arrays, and the ids of lists."""
    packed = jrm.pack(table["qid"].to_list())
    arrays = (table[name].to_numpy() for name in ("label", "score"))
    ranking = jrm.rank(
        *arrays, segment_ids=packed.segment_ids, num_segments=packed.num_segments,
        ties=ties, **options,
    )  # fmt: skip
    return jrm.measure(names, ranking), packed.ids.tolist()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ties", [None, "best"])
def test_every_metric_has_the_values_of_flat_arrays(rng, ties):
    cases = EVERY if ties is None else CORE
    table = draw(rng, 40)
    columns = {name: fn(rng, (len(table),)) for name, fn in COLUMNS.items()}
    table = table.with_columns(
        pl.Series(name, values) for name, values in columns.items()
    )
    exists = rng.random(len(table)) < 0.9  # the labels of others are missing
    held = table.with_columns(label=pl.when(pl.Series(exists)).then("label"))
    table = table.filter(pl.Series(exists))
    columns = {name: values[exists] for name, values in columns.items()}
    for has_columns in {bool(case.columns) for case in cases.values()}:
        chosen = {n: c for n, c in cases.items() if bool(c.columns) == has_columns}
        names = metrics((3,), ties, chosen)
        read = {column for case in chosen.values() for column in case.columns}
        expected = by_rank(
            names, table, ties, columns={name: columns[name] for name in read}
        )
        evaluation = jrm.evaluate_scored(
            names, held, ties=ties, columns={name: name for name in read}
        )
        check_same(evaluation, *expected)


@pytest.fixture
def table(rng):
    """Draws a table, in whose labels something is relevant."""
    return draw(rng)


@pytest.fixture
def whole(table):
    """Returns the evaluation of the whole table."""
    return jrm.evaluate_scored(NAMES, table)


def test_values_are_those_of_flat_arrays(table, whole):
    check_same(whole, *by_rank(NAMES, table))
    assert (
        whole.query_ids.tolist() == table["qid"].unique(maintain_order=True).to_list()
    )


def write(table, folder, kind):
    """Writes a table in two files of a format, and returns the path of them all."""
    for number, part in enumerate((table[:20], table[20:])):
        path = folder / f"{number}.{kind}"
        if kind == "parquet":
            part.write_parquet(path)
        elif kind == "arrow":
            part.write_ipc(path)
        elif kind == "jsonl":
            part.write_ndjson(path)
        else:
            part.write_csv(path, separator="\t" if kind == "tsv" else ",")
    return folder


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl", "tsv", "csv"])
def test_files_have_the_values_of_frames(table, whole, tmp_path, kind):
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    folder = write(shuffled, tmp_path, kind)
    for source in (folder, str(folder / "*"), sorted(folder.iterdir())):
        evaluation = jrm.evaluate_scored(NAMES, source)
        check_same(evaluation, whole.lists, whole.query_ids.tolist())


def forms(table):
    """Yields a table in the forms of other libraries."""
    frame = pd.DataFrame(table.to_dict(as_series=False))
    yield frame
    yield frame.astype({"qid": "category", "label": "Int64", "score": "Float64"})
    yield frame.assign(label=[decimal.Decimal(x) for x in frame["label"]])
    yield frame.assign(label=frame["label"].astype(str))
    yield table.lazy()
    yield {name: table[name].to_numpy() for name in table.columns}
    yield iter([table[:17], frame[17:20], table[20:].to_dict(as_series=False)])


def test_forms_have_the_values_of_frames(table, whole):
    for source in forms(table):
        evaluation = jrm.evaluate_scored(NAMES, source)
        check_same(evaluation, whole.lists, whole.query_ids.tolist())
        assert evaluation.signature == whole.signature


def test_cuts_have_the_values_of_the_whole(table, whole, monkeypatch):
    for part_rows in (1, 10**6):
        monkeypatch.setattr(tables, "PART", part_rows)
        for size in (3, 50):
            parts = (table[i : i + size] for i in range(0, len(table), size))
            evaluation = jrm.evaluate_scored(NAMES, parts)
            check_same(evaluation, whole.lists, whole.query_ids.tolist())
            parts = (table[i : i + size] for i in range(0, len(table), size))
            states = jrm.evaluate_scored(NAMES, parts, keep_lists=False)
            assert not states.lists
            for name in NAMES:
                assert (states[name].counts == whole[name].counts).all()
                np.testing.assert_allclose(
                    states[name].compute(), whole[name].compute(), rtol=1e-6
                )


def test_parts_merge(table, whole):
    ids = whole.query_ids.tolist()
    parts = [
        jrm.evaluate_scored(NAMES, table.filter(pl.col("qid").is_in(ids[start::3])))
        for start in range(3)
    ]
    merged = jrm.Evaluation.merge(*parts)
    check_same(merged, whole.lists, ids)
    with pytest.raises(ValueError, match="is among the queries of two evaluations"):
        jrm.Evaluation.merge(*parts, parts[0])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("num_parts", [2, 7])
def test_cuts_of_four_ways_have_the_values_of_the_whole(rng, tmp_path, num_parts):
    """Rows in order, lists by a hash or at random, and files, with metrics of all rows."""
    table = draw(rng, 40).with_columns(item=pl.int_range(pl.len()).over("qid"))
    size = -(-len(table) // num_parts)
    in_order = [table[i : i + size] for i in range(0, len(table), size)]
    for number, part in enumerate(in_order):
        part.write_parquet(tmp_path / f"{number}.parquet")
    drawn = {query: rng.integers(num_parts) for query in table["qid"].unique()}
    by_hash = table["qid"].hash() % num_parts
    at_random = table["qid"].replace_strict(drawn)

    def evaluate(source, keep_lists):
        names = ("ndcg@3", "mrr", "tau", "ap(denominator=hits)")
        return jrm.evaluate_scored(names, source, item="item", keep_lists=keep_lists)

    expected = evaluate(table, True)
    for keep_lists in (True, False):
        evaluations = [evaluate(iter(in_order), keep_lists)]
        evaluations.append(evaluate(tmp_path, keep_lists))
        for of_rows in (by_hash, at_random):
            parts = [table.filter(of_rows == part) for part in range(num_parts)]
            parts = [evaluate(part, keep_lists) for part in parts if len(part)]
            evaluations.append(jrm.Evaluation.merge(*parts))
        for evaluation in evaluations:
            for name, state in expected.items():
                assert (evaluation[name].counts == state.counts).all()
                np.testing.assert_allclose(
                    evaluation[name].compute(), state.compute(), rtol=1e-6
                )
            if keep_lists:
                check_same(evaluation, expected.lists, expected.query_ids.tolist())


def test_a_list_that_comes_again_is_named(table, monkeypatch):
    parts = [table[:5], table[5:], table[:1]]
    with pytest.raises(
        ValueError, match=rf"'{table['qid'][0]}' comes again.*sort=True"
    ):
        jrm.evaluate_scored(NAMES, iter(parts))
    monkeypatch.setattr(tables, "PART", 2)
    with pytest.raises(ValueError, match="comes again"):
        jrm.evaluate_scored(NAMES, iter(parts))
    joined = pl.concat(parts)
    expected = jrm.evaluate_scored(NAMES, joined)
    evaluation = jrm.evaluate_scored(NAMES, iter(parts), sort=True)
    check_same(evaluation, expected.lists, expected.query_ids.tolist())


def test_large_files_are_read_in_parts(table, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "PART", 4)
    monkeypatch.setattr(tables, "MAX_WHOLE", 9)
    evaluation = jrm.evaluate_scored(NAMES, write(table, tmp_path, "parquet"))
    check_same(evaluation, whole.lists, whole.query_ids.tolist())
    write(table.sample(fraction=1, shuffle=True, seed=1), tmp_path, "parquet")
    with pytest.raises(ValueError, match="comes again"):
        jrm.evaluate_scored(NAMES, tmp_path)
    evaluation = jrm.evaluate_scored(NAMES, tmp_path, sort=True)
    check_same(evaluation, whole.lists, whole.query_ids.tolist())


def test_columns_of_lists(table):
    segments = {query: query > "q3" for query in table["qid"]}
    weights = {query: int(query[1:]) + 1 for query in table["qid"]}
    table = table.with_columns(
        segment=pl.col("qid").replace_strict(segments),
        worth=pl.col("qid").replace_strict(weights),
    )
    evaluation = jrm.evaluate_scored(
        NAMES, table, list_columns=["segment"], list_weight="worth"
    )
    np.testing.assert_equal(
        evaluation.lists["mrr"].weights, [weights[x] for x in evaluation.query_ids]
    )
    by_name, by_dict = evaluation.by("segment"), evaluation.by(segments)
    assert jrm.compute(by_name) == jrm.compute(by_dict)
    for is_late, part in by_name.items():
        assert [*part.list_columns["segment"]] == [is_late] * part.num_queries
        assert (
            [*part.by("segment")] == [is_late] == [*{x > "q3" for x in part.query_ids}]
        )
    assert jrm.Evaluation.merge(*by_name.values()).num_queries == evaluation.num_queries
    with pytest.raises(ValueError, match=r"list_columns are \['segment'\]"):
        evaluation.by("country")
    row = table[-1].with_columns(worth=pl.lit(0).cast(pl.Int64))
    with pytest.raises(ValueError, match=r"list_weight is 7\.0 and 0\.0 in the list"):
        jrm.evaluate_scored(NAMES, pl.concat([table, row]), list_weight="worth")


def test_columns_of_lists_by_enums_of_each_batch(table):
    batches = table.partition_by("qid", maintain_order=True)
    kinds = [pl.Enum([batch["qid"][0], "other"]) for batch in batches]
    batches = [
        batch.with_columns(country=pl.col("qid").cast(kind))
        for batch, kind in zip(batches, kinds, strict=True)
    ]
    evaluation = jrm.evaluate_scored(NAMES, batches, list_columns=["country"])
    assert [*evaluation.by("country")] == evaluation.query_ids.tolist()


def test_items_left_out_and_not_retrieved(table, rng):
    flags = rng.random((3, len(table))) < 0.7
    label = pl.when(pl.Series(flags[2])).then("label")
    held = table.with_columns(label, seen=flags[0], found=flags[1])
    with pytest.warns(UserWarning, match="items are left out, because their label is"):
        evaluation = jrm.evaluate_scored(NAMES, held, mask="seen", retrieved="found")
    mask = flags[0] & flags[2]
    check_same(evaluation, *by_rank(NAMES, table, mask=mask, retrieved=flags[1]))


@pytest.mark.long
def test_trec_ties_are_those_of_join(table):
    held = table.with_columns(item=pl.int_range(pl.len()).over("qid").cast(pl.String))
    evaluation = jrm.evaluate_scored(NAMES, held, item="item", ties="trec")
    names = {"qid": "query_id", "item": "doc_id", "label": "relevance"}
    joined = jrm.join(held.rename(names), held.rename(names), ties="trec")
    check_same(evaluation, joined.measure(NAMES), joined.query_ids.to_list())


def test_hashes_of_items_order_ties(table):
    held = table.with_columns(item=pl.int_range(pl.len()).over("qid"))
    shuffled = held.sample(fraction=1, shuffle=True, seed=2)
    with pytest.warns(UserWarning, match="one order by a hash was read"):
        first, second = (
            jrm.evaluate_scored("ap(denominator=hits)", rows, item="item")
            for rows in (held, shuffled)
        )
    check_same(second, first.lists, first.query_ids.tolist())


def test_remarks():
    rows = {"qid": [0] * 2000, "label": [0, 1] * 1000, "score": np.arange(2000.0)}
    with pytest.warns(
        UserWarning,
        match="only one list, of 2000 items.*pass the name of the column of list ids",
    ):
        jrm.evaluate_scored("mrr", rows)
    with pytest.warns(UserWarning, match="none of 2 items of 2 lists is relevant"):
        jrm.evaluate_scored("mrr", {"qid": [0, 1], "label": [0, 0], "score": [1, 2]})
    reverse = {
        "qid": np.repeat(np.arange(40), 2),
        "label": [0, 1] * 40,
        "score": [1, 0] * 40,
    }
    with pytest.warns(UserWarning, match="in 40 of 40 lists, such as 0; higher scores"):
        jrm.evaluate_scored("mrr", reverse)


def test_doubles_that_float32_cannot_tell_apart():
    scores = [1 + 1e-12, 1.0, 2**60 + 1]
    for ids in (scores[:2], [2**60 + 1, 2**60]):
        rows = {"qid": [0, 0], "label": [1, 0], "score": ids}
        assert jrm.evaluate_scored("mrr", rows)["mrr"].compute() == 1


@pytest.mark.parametrize("kind", ["frames", "sorted", "csv", "parquet"])
def test_wide_integers_that_are_cut(tmp_path, kind):
    """Scores beside small ones are compared as integers, however tables are cut."""
    tables = [
        pl.DataFrame({"qid": [i, i], "label": [1, 0], "score": scores})
        for i, scores in enumerate(([2**53, 2**53 + 1], [5, 4], [2, 3]))
    ]
    source, how = iter(tables), {"sort": kind == "sorted"}
    if kind in ("csv", "parquet"):
        source = [str(tmp_path / f"{i}.{kind}") for i in range(3)]
        for path, table in zip(source, tables, strict=True):
            getattr(table, f"write_{kind}")(path)
    lists = jrm.evaluate_scored("mrr", source, **how).lists
    assert lists["mrr"].values.tolist() == [0.5, 1, 0.5]
    missing = pd.DataFrame({"qid": [0] * 3, "label": [1, 0, -1]}).assign(
        score=pd.array([2**60, 2**60 + 1, None], "Int64")
    )
    with pytest.warns(UserWarning, match="1 of 3 items are left out"):
        assert jrm.evaluate_scored("mrr", missing)["mrr"].compute() == 0.5


def test_tables_that_say_little_about_dtypes(tmp_path):
    """Labels may be missing at first, or everywhere, and tables may be empty."""
    rows = [{"qid": 1, "label": None, "score": 1}] * 150
    rows += [{"qid": 1, "label": 0, "score": 2.5}, {"qid": 1, "label": 1, "score": 2}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mixed = {"qid": [1] * 3, "label": [0, None, 0.5], "score": [3, 2.5, 1]}
    nothing = {"qid": [1, 1], "label": [None, None], "score": [2.0, 1.0]}
    shown = {"qid": [2, 2], "label": [1, 0], "score": [1.0, 2.0], "shown": [True, True]}
    how = {"mask": "shown", "list_columns": None}
    empty = {name: [] for name in shown}
    for source, options, expected in (
        (str(tmp_path / "x.jsonl"), {}, [0.5]),
        (mixed, {}, [0]),
        (iter([nothing, shown]), {}, [0, 0.5]),
        (iter([empty, shown]), how, [0.5]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lists = jrm.evaluate_scored("mrr", source, **options).lists
        assert lists["mrr"].values.tolist() == expected


def test_progress(table):
    done = []
    jrm.evaluate_scored("mrr", table, progress=lambda *counts: done.append(counts))
    assert done == [(12, 12)]
