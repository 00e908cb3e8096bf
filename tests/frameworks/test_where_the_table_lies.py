"""The recipes of the page of engines give the number of one machine."""

import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jax_rank_metrics as jrm

PAGE = (Path(__file__).parents[2] / "docs/where-the-table-lies.md").read_text()
# Engines warn of their own calls.
pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ("ndcg@10", "map", "mrr")


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Writes a table in several files, in which lists are cut, and returns the folder."""
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("clicks")
    number = rng.integers(0, 300, 4000)
    table = pl.DataFrame(
        {
            "qid": [f"q{i}" for i in number],
            "label": rng.choice([0, 0, 0, 1, 2], 4000),
            "score": rng.integers(0, 50, 4000) / 7,
        }
    )
    for index, part in enumerate(table.iter_slices(1500)):
        part.write_parquet(folder / f"{index}.parquet")
    return str(folder)


def run(heading, clicks, **names):
    """Runs the code above the first heading and below another; returns what it binds."""
    parts = re.split(r"(?m)^## (.*)$", PAGE)
    texts = parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))[heading]
    names |= {"clicks": clicks, "__name__": "__main__"}
    for text in texts:
        exec("\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", text)), names)
    return names


def check(evaluation, clicks):
    """Checks the states against the states of one machine."""
    whole = jrm.evaluate_scored(NAMES, clicks)
    for name in NAMES:
        held, state = evaluation[name], whole[name]
        assert (np.asarray(held.counts) == np.asarray(state.counts)).all()
        np.testing.assert_allclose(held.compute(), state.compute(), rtol=1e-6)
        np.testing.assert_allclose(held.std_error(), state.std_error(), rtol=1e-5)


@pytest.mark.parametrize("engine", ["Polars", "DuckDB", "Dask"])
def test_engines_in_this_process(clicks, engine):
    pytest.importorskip(engine.lower())
    check(run(engine, clicks)["evaluation"], clicks)


def test_ray(clicks, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        check(run("Ray Data", clicks)["evaluation"], clicks)
    finally:
        ray.shutdown()


def test_spark(clicks, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    builder = sql.SparkSession.builder.master("local[2]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    try:
        check(run("Spark", clicks, spark=session)["evaluation"], clicks)
    finally:
        session.stop()


def test_beam(clicks, tmp_path):
    beam = pytest.importorskip("apache_beam")
    rows, path = pl.read_parquet(f"{clicks}/*.parquet").to_dicts(), tmp_path / "states"
    evaluate = run("Apache Beam", clicks)["evaluate"]
    with beam.Pipeline("DirectRunner") as pipeline:
        result = evaluate(pipeline | beam.Create(rows)) | beam.Map(pickle.dumps)
        _ = result | beam.Map(path.write_bytes)
    check(pickle.loads(path.read_bytes()), clicks)
