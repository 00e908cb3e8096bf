"""The metrics of the package; other modules of tests register metrics of their own."""

from jax_rank_metrics._engine import formulas as formulas  # registers the metrics
from jax_rank_metrics._engine.metrics import metric as metric_module

NAMES = {
    name: metric
    for name, metric in metric_module.NAMES.items()
    if metric.__module__.startswith("jax_rank_metrics.")
}
METRICS = {metric.__name__: metric for metric in NAMES.values()}
