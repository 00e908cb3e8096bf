"""The registry of facts about metrics by their names; `jrm.metric` fills it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jax_rank_metrics._names import trec


class Facts(NamedTuple):
    """Facts about a metric by its name; unknown names have the defaults.

    Attributes:
        is_metric: True for a metric of labels and scores.
        reads_labels: False if the metric reads only the ranked items, and no labels.
        lower_is_better: A bool; None if neither direction is better, as for a count; or a
            function of the options that returns a bool or None.
        mean: The state that aggregates the metric's values, in the words of signatures:
            "lists" for a `Mean`, "geometric" for a `GeometricMean`.
        options: A dict from the metric's options to their defaults.
        preset: A dict from the options that the name implies to their values.
        at: The option that @ sets in the name.
        cutoffs: The default cutoffs of the name, as text; () if the metric has one value.
    """

    is_metric: bool = False
    reads_labels: bool = True
    lower_is_better: bool | None | Callable[[dict[str, Any]], bool | None] = False
    mean: str = "lists"
    options: Mapping[str, Any] = {}
    preset: Mapping[str, Any] = {}
    at: str = "k"
    cutoffs: tuple[str, ...] = ()


# A dict from the names of metrics, in lower case, to their facts.
FACTS: dict[str, Facts] = {}


def facts_of(name: str) -> Facts:
    """Returns the facts about a metric by its name, as typed or as in results.

    >>> facts_of("gm_map(rel=2)").mean, facts_of("Fall-out@10").lower_is_better
    ('geometric', True)
    >>> facts_of("mine@5") == Facts()
    True
    """
    return FACTS.get(trec.metric_part(name), Facts())


def is_metric_name(key: object) -> bool:
    """True if a key of a dict names a metric of this package, as typed or as in results.

    Options and cutoffs may follow the name, and names of trec_eval count too. Names that a
    caller has made up do not count.

    >>> [is_metric_name(key) for key in ("P@5", "ndcg(gain=exp2)@10", "map_cut_10", "mine")]
    [True, True, True, False]
    """
    return isinstance(key, str) and facts_of(key).is_metric


def metric_names() -> list[str]:
    """Returns the names of all metrics of labels and scores, in lower case."""
    return [name for name, facts in FACTS.items() if facts.is_metric]
