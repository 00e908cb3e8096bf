"""Strict JAX for every test, quick compilation, and the option `--metric`."""

import contextlib
import gc
import itertools
import os
import re
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import quick_compilation

# A virtual device that waits for others holds a thread. By default, there is one thread for
# each core or device, so steps that were dispatched ahead could deadlock.
os.environ.setdefault("PJRT_NPROC", "32")
os.environ.setdefault("MPLBACKEND", "agg")  # figures are drawn, and not shown
# Tracing makes many small objects that live on, which the collector would walk again and
# again: a tenth of the time of most tests.
gc.set_threshold(100_000, 50, 50)
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Modules that walk through the tables of tests/cases.py.
OF_ALL_METRICS = ("test_values", "test_laws", "test_layouts", "test_brute_force")

# Modules and tests that need the optimisations of XLA, which may reorder sums, contract
# products, and drop what seems to change nothing. `pytest -m as_users` runs them, with the
# default settings of XLA; all others run in programs that compile quickly.
AS_USERS = {
    "test_compilation": (
        "test_nothing_is_of_the_size_of_items_squared",
        "test_programs_stay_small",
        "test_random_ties_cost_only_where_there_are_some",
    ),
    "test_evaluate_embeddings": ("test_scores_of_similarities",),
    "test_laws": ("test_padding_is_never_read[few]",),
    "test_mean": (
        "test_few_lists",
        "test_many_merges_do_not_drift",
        "test_mean_and_error_equal_float64",
        "test_merge_laws",
        "test_states_outlive_double_precision",
    ),
    "test_places": (
        "test_first_stops_of_huge_groups",
        "test_places_of_whole_rows",
        "test_sums_beyond_the_table",
        "test_sums_of_reciprocals_need_no_table",
        "test_sums_over_millions_of_ranks",
    ),
    "test_scores": (
        "test_high_labels_stay_finite",
        "test_labels_of_every_dtype",
        "test_low_precision_is_summed_in_float32",
        "test_negative_zero_under_jit",
        "test_order_of_every_dtype",
        "test_ties_of_every_dtype",
    ),
    "test_share": ("test_cutoffs_are_those_of_float64",),
    "test_sparse_vectors": ("test_equal_items_tie",),
    "test_values": (
        "test_a_perfect_order_correlates_exactly",
        "test_a_sure_stop_at_the_first_rank",
        "test_discounts",
        "test_gains",
        "test_gains_of_six_documents",
        "test_item_weights",
        "test_long_lists_of_patient_users",
        "test_retrieved_padding_moves_up",
        "test_retrieved_without_one_relevant_document",
        "test_the_ideal_is_of_the_pool",
        "test_tiny_labels",
        "test_two_tied_documents",
    ),
}


def pytest_addoption(parser):
    """Adds `--metric NAME`."""
    parser.addoption("--metric", help="run the values, laws and layouts of one metric")


def pytest_configure(config):
    """Chooses how XLA compiles, and which metrics the tables hold, before tests read them."""
    if not is_as_users(config):
        quick_compilation.switch_on(getattr(config, "cache", None))
    if config.getoption("--metric") is not None:
        keep_metric(config.getoption("--metric"))


def is_as_users(config):
    """True if the tests that need the optimisations of XLA were asked for."""
    return re.search(r"(?<!not )\bas_users\b", config.option.markexpr) is not None


def keep_metric(name):
    """Reduces the tables of cases to the cases of one metric."""
    import cases

    from jax_rank_metrics._engine.metrics.metric import NAMES

    metric = NAMES.get(name.lower())
    chosen = {key: case for key, case in cases.CASES.items() if case.metric is metric}
    if not chosen:
        known = sorted({case.metric.__name__ for case in cases.CASES.values()})
        raise pytest.UsageError(f"--metric {name}: no cases; there are {known}")
    cases.keep_only(chosen)


def pytest_ignore_collect(collection_path, config):
    """Imports a module only if some of its tests will run."""
    if collection_path.suffix != ".py" or not collection_path.stem.startswith("test_"):
        return None
    modules = None
    if config.getoption("--metric") is not None:
        modules = OF_ALL_METRICS
    elif is_as_users(config):
        modules = AS_USERS
    return None if modules is None or collection_path.stem in modules else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks the tests of `AS_USERS`, before pytest selects tests by their marks."""
    if config.getoption("--metric") is not None:  # one run holds all of its tests
        return
    for item in items:
        names = AS_USERS.get(item.path.stem, ())
        if names is None or not {item.name, item.originalname}.isdisjoint(names):
            if not item.get_closest_marker("long"):
                item.add_marker("as_users")


@pytest.fixture
def rng(request):
    """A generator of random inputs that are the same in every run of a test."""
    name = request.node.nodeid.encode()
    return np.random.default_rng(list(name))


@pytest.fixture
def metric_names(monkeypatch):
    """The names of metrics; names that a test adds vanish when it ends."""
    from jax_rank_metrics._engine.metrics.metric import NAMES
    from jax_rank_metrics._names.facts import FACTS

    known = dict(NAMES)
    monkeypatch.setattr("jax_rank_metrics._engine.metrics.metric.NAMES", known)
    monkeypatch.setattr("jax_rank_metrics._names.facts.FACTS", dict(FACTS))
    return known


@pytest.fixture
def compilations():
    """A list that grows by an entry for each program that XLA compiles."""
    names = []

    def listen(name, *_, **__):
        if name == "/jax/core/compile/backend_compile_duration":
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.clear_event_listeners()


@pytest.fixture
def compiled_with(monkeypatch):
    """Sets a constant that tracing reads, and drops the programs compiled with it."""

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
    """Forces one way of ordering: "top_k" at any depth, or "sort"."""
    from jax_rank_metrics._engine.ordering import top_k

    def force(name):
        share = {"top_k": 1.0, "sort": -1.0}[name]
        return compiled_with(top_k, "TOP_K_SHARE", share)

    return force


# Linux lets a process map 65,530 regions of memory. Each compiled program maps several, and
# XLA crashes if it gets no more.
MAX_MEMORY_MAPS = 25_000
FINISHED_TESTS = itertools.count(1)


def pytest_runtest_logfinish():
    """Drops the compiled programs of this process before their memory maps run out."""
    maps = Path("/proc/self/maps")
    if next(FINISHED_TESTS) % 40 == 0 and maps.exists():
        if maps.read_bytes().count(b"\n") > MAX_MEMORY_MAPS:
            jax.clear_caches()
            gc.collect()


# Modules whose tests share no compiled programs.
INDEPENDENT = ("test_meshes", "test_compilation", "test_drivers")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keeps tests that share compilations on one worker, under `--dist loadgroup`.

    Groups go by test names, since pytest 9.2 rejects the group marks of pytest-xdist 3.8.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_laws.py"):
                return file + (test.partition("[")[2] or "top-k]")
            return nodeid if Path(file).stem in INDEPENDENT else file

    return Together(config, log)
