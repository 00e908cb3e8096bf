"""Ranking metrics for JAX: pure functions that jit, vmap and shard.

    labels, scores, mask, weights, key
        │ inputs      checks shapes and dtypes, resolves masks and weights
        │ ordering    the only step that sorts: once, under a tie policy
        ▼
      Ranking         items with their places, and the pool of all items: rows, packed
        │             lists, sharded items, retrieved ids, or a catalogue
        │ formula     one short function per metric: expected_sum, expected_first
        ▼
      PerList         a value and a weight per list, and whether the metric is defined
        │ mean
        ▼
      Mean            a mergeable state, which holds only sums
        │ merge · reduce · all_reduce     over steps, axes, devices, hosts
        ▼
      compute         numbers, standard errors, intervals

    files, dicts, frames ─ read_qrels · read_run · join ─▸ labels, scores, mask, …
    PerList of two systems ─ paired · bootstrap · compare ─▸ the difference, and its p-value
    PerList of many systems ─ compare · leaderboard ─▸ their order, and how sure it is
    all these results, and states ─ table · plots ─▸ tables and figures for people

All metrics are called in the same way: `metric(labels, scores, mask, weights, key, k=10)`
returns a `Mean`, `metric.per_list(…)` returns the value of every list, and
`metric.of(ranking, k=10)` takes a ranking that `rank`, `rank_retrieved`, `rank_ids`,
`rank_places`, `rank_scores` or `rank_catalog` made. `evaluate` computes many metrics
from one ranking. `rank` documents the arguments that metrics share; `metric` turns your
own formula into a metric.

The package has eight private folders, called rooms. Three of them have main classes,
which the other rooms use:

    _ground     readers of arguments (arrays, ids of lists, frames and dicts), messages,
                types, arithmetic, arrays that are sharded over devices
    _names      names of metrics, and facts about a metric by its name
    _values     values of lists, and the states that sum and merge them; remarks on values.
                Its main classes: PerList, Mean
    _engine     from labels and scores to the value of every list: order, top-k, places of
                tied items, metrics and their formulas, sources. Main class: Ranking
    _runs       whole evaluations: files, read and joined; users, queries and links in
                batches, with remarks on them. Its main class: Evaluation
    _verdicts   comparisons, leaderboards, tests, intervals, tables, plots
    _check      jrm.check, and whether a function follows a definition
    _command    the command line

Each room imports only from rooms above it, and `_verdicts` only from the first three.
The docstring of each room, and of each folder in it, explains its contents. `adapters`
connects all of this to other frameworks.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_rank_metrics._public import *  # noqa: F403

    __version__: str

else:
    # Load all names when the first one is used, because importing JAX and the package
    # takes a second. The command can then show its help without them.

    def _load() -> list[str]:
        """Loads every public name into this module, and returns the names.

        Names that this module already has stay as they are, such as a mock that a test
        has set.
        """
        public = vars(_import_module("jax_rank_metrics._public"))
        names = [name for name in public if not name.startswith("_")]
        for name in names:
            globals().setdefault(name, public[name])
        return names

    def __getattr__(name: str) -> object:
        """Returns a public name, or the version, when it is used for the first time."""
        if name == "__version__":
            return _import_module("importlib.metadata").version("jax-rank-metrics")
        if name == "__all__":
            return _load()
        # Do not load for private names, because imports look them up while the package
        # loads.
        if not name.startswith("_") and name in _load():
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Returns the names of this module, with all public names."""
        return sorted({*globals(), *_load(), "__version__"})
