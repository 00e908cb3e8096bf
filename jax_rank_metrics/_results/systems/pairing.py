"""Pairs the records of systems, and the lists of two records by ids or by position."""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import Pairs
from jax_rank_metrics._results.systems.systems import (
    Path,
    Record,
    Systems,
    Values,
    by_system,
    holds_levels,
    is_metric_name,
    named_by_first_key,
    paths_text,
    read,
)
from jax_rank_metrics._results.systems.values import is_by_list, listing

Metrics = dict[Path, Record]  # of one system, by the keys that lead to each metric


class Pair(NamedTuple):
    """The records of one metric of two systems, a before b."""

    a: Record
    b: Record
    systems: tuple[int, int]  # the numbers of the systems, the baseline's is 0


def pairs_of(
    a: Values, b: Values | None, pairs: Pairs | Sequence[Hashable] = "baseline"
) -> list[Pair]:
    """Pairs the metrics of systems.

    Args:
        a: The values of the baseline; or a dict of systems where b is None.
        b: The values of another system, a dict of such systems, or None.
        pairs: Whether each system is paired with the first alone, or with all; or the
            names of the systems with which all others are paired.

    Raises:
        ValueError: if either holds no metric, if the metrics of systems differ, if values
            differ in the number of lists where they must not, or if there is no system of
            a name.
    """
    systems = _systems_in(a) if b is None else _baseline_and(a, b, ("a", "b"))
    if b is not None and pairs != "baseline":
        raise ValueError(
            f"pairs={pairs!r} takes all systems in one dict; leave b out, and pass "
            f"compare({{name: values, …}}, pairs={pairs!r})"
        )
    baselines = 1
    if not isinstance(pairs, str):
        named = {next(iter(x.values())).system: x for x in systems}
        if not pairs or any(name not in named for name in pairs):
            raise ValueError(
                f"pairs names {listing(list(pairs)) or 'none'}; pass names of baselines "
                f"among {listing(list(named))}"
            )
        baselines = len(set(pairs))
        systems = list({x: named[x] for x in (*pairs, *named)}.values())
    # (0, 1), (0, 2), …, (1, 2), …: those of the baselines come first.
    couples = itertools.combinations(range(len(systems)), 2)
    return [
        Pair(record, systems[j][path], (i, j))
        for i, j in couples
        if pairs == "all" or i < baselines
        for path, record in systems[i].items()
    ]


def pairs_of_judge(
    judge: Values, pairs: Sequence[Pair], is_by_side: bool
) -> list[Pair]:
    """Finds the values of a judge for the same systems and metrics.

    Args:
        judge: A pair of the judge's values of a and of b; or a dict of those of systems.
        pairs: What people have labelled.
        is_by_side: Whether a and b were passed by themselves.

    Raises:
        TypeError: if the judge's values are not passed as those of people are.
        ValueError: if they lack a system or a metric.
    """
    first: Metrics = {}
    if is_by_side:
        if not isinstance(judge, tuple | list) or len(judge) != 2:
            raise TypeError("judge: pass a tuple (judge_a, judge_b), as a and b")
        names = "judge[0]", "judge[1]"
        first, *further = _baseline_and(judge[0], judge[1], names)
        systems = {next(iter(x.values())).system: x for x in further}
    else:
        if not isinstance(judge, Mapping | Systems) or is_by_list(judge):
            raise TypeError(
                f"judge: got {_inputs.kind_of(judge)}; pass a dict of systems, as a is"
            )
        systems = by_system(read(judge, "judge", "systems"))
    of_judge = []
    for a, b, numbers in pairs:
        baseline = first if is_by_side else systems.get(a.system, {})
        system = systems.get(b.system, {})
        sides = (a, baseline), (b, system)
        if missing := [x.keys for x, values in sides if x.path not in values]:
            raise ValueError(
                f"judge lacks {listing(missing)}; pass the values of the same systems and "
                "metrics"
            )
        of_judge.append(Pair(baseline[a.path], system[a.path], numbers))
    return of_judge


def _systems_in(tree: Values) -> list[Metrics]:
    """Reads several systems, which all have the metrics of the first one."""
    if not isinstance(tree, Systems) and not holds_levels(tree):
        if not isinstance(tree, Mapping) or is_by_list(tree) or len(tree) < 2:
            number = "no" if isinstance(tree, Mapping) and not tree else "one"
            raise ValueError(
                f"a holds {number} system; pass b, or a dict of two or more systems"
            )
        if all(map(is_metric_name, tree)):
            raise ValueError(
                f"a holds the metrics {listing(list(tree))} of one system; pass b, or a "
                "dict of systems, each with its metrics"
            )
    systems = by_system(read(tree, "a", "systems"))
    if len(systems) < 2:
        raise ValueError("a holds one system; pass b, or a dict of two or more systems")
    (baseline, metrics), *following = systems.items()
    for system, of_system in following:
        if metrics.keys() != of_system.keys():
            raise ValueError(
                f"a[{baseline!r}] holds {paths_text(metrics)} and a[{system!r}] holds "
                f"{paths_text(of_system)}; pass values of the same metrics for all systems"
            )
    _check_list_counts(x for metrics in systems.values() for x in metrics.values())
    return list(systems.values())


def _baseline_and(a: Values, b: Values, names: tuple[str, str]) -> list[Metrics]:
    """Reads the baseline a, and the system or the systems in b."""
    of_a, of_b = read(a, names[0]), read(b, names[1])
    if len(by_system(of_a)) > 1:
        raise ValueError(
            f"{names[0]} holds several systems; pass the baseline alone, or leave b out"
        )
    baseline = {x.path: x for x in of_a}
    # Without names of systems, b is a single one, None.
    systems = by_system(of_b)
    if isinstance(b, Mapping) and systems[None].keys() != baseline.keys():
        # Then all keys of b must be a system's name followed by a metric of a.
        systems = by_system(named_by_first_key(of_b))
    if any(x.keys() != baseline.keys() for x in systems.values()):
        raise ValueError(
            f"{names[0]} holds {paths_text(baseline)} and {names[1]} holds "
            f"{paths_text([x.path for x in of_b])}; pass values of the same metrics, or as "
            "b a dict of systems, each with the metrics of a"
        )
    for records in (of_a, of_b):
        _check_list_counts(records)
    return [baseline, *systems.values()]


def _check_list_counts(records: Iterable[Record]) -> None:
    first, *following = (x.lists for x in records)
    for lists in following:
        if lists.list_count != first.list_count:
            if first.ids is not None and lists.ids is not None:
                lists.in_order_of(first)  # names the ids that are missing
            raise ValueError(
                f"{first.name} has {first.list_count} lists and {lists.name} has "
                f"{lists.list_count}; pass values of the same lists"
            )
