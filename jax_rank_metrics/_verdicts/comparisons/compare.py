"""Compares systems: how large a difference is, and whether it may be chance."""

import dataclasses
import itertools
from collections.abc import Hashable, Sequence
from typing import Any

from jax import random

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.choices import (
    Alternative,
    ComparisonTest,
    Correction,
    Pairs,
)
from jax_rank_metrics._names import cutoff_names, directions, facts
from jax_rank_metrics._values import intervals
from jax_rank_metrics._verdicts.comparisons.comparisons import Comparisons
from jax_rank_metrics._verdicts.comparisons.outcomes import Question, Subject, compared
from jax_rank_metrics._verdicts.systems import prediction_powered, reading, seeds
from jax_rank_metrics._verdicts.systems.differences import Differences
from jax_rank_metrics._verdicts.systems.list_values import (
    ListValues,
    in_one_order,
    listing,
)

OF_JUDGES = ("t", "bootstrap")  # tests that use lists which only a judge has labelled


def compare(
    a: reading.Values,
    b: reading.Values | None = None,
    *,
    ids: tuple[Any, Any] | None = None,
    clusters: Any = None,
    judge: reading.Values | None = None,
    test: ComparisonTest | None = None,
    pairs: Pairs | Sequence[Hashable] = "baseline",
    correction: Correction = "holm",
    alternative: Alternative = "two-sided",
    margin: types.Number | None = None,
    mid_p: bool = False,
    samples: int = 100_000,
    level: types.Number = 0.95,
    key: types.Key | None = None,
    undefined: types.Undefined | None = None,
    lower: bool | str | Sequence[str] = (),
) -> Comparisons:
    """Compares b with the baseline a, list by list, by the differences b − a.

    Overlapping intervals are not a test. Each interval tells how a system's mean would
    vary over other lists; but a and b see the same lists, and a list that is hard for a
    is hard for b. Differences therefore vary less than the values of a or of b, and
    systems whose intervals overlap may well differ beyond doubt. Look at the interval
    of the difference instead, and at the size of the difference before its p: over many
    lists, any difference is significant.

    - "permutation" is the test to prefer (Fisher's randomisation test, on the mean), and
      the default: it assumes only that a and b might have been swapped in each list.
    - "bootstrap" assumes that the lists are a sample of many, and agrees with
      "permutation" if there are more than some 50 lists. If weights differ, it warns if
      `n_eff` is below 50, and raises if `n_eff` is below 3 (except for `Seeds`).
    - "t" also assumes that the mean of differences is normally distributed, and takes no
      time. If all differences are equal but not 0, their standard error and p are 0.
      With a margin, "t" allows for rare losses that these lists do not show.
    - "tukey" tests all pairs of several systems at once, separately for each metric and
      cutoff: it permutes the systems within each list, and compares each difference
      with the range of the permuted means. Its p is already corrected for the number of
      systems.
    - "mcnemar" is the exact test for values of 0 and 1, such as hits: it is the
      permutation test over all patterns of signs, however many lists differ.

    Smucker et al. find that the first three tests hardly differ on 50 lists, and that
    the sign and the Wilcoxon tests, which this function does not offer, are often
    misleading about means.

    All tests take lists to be independent. If they come in clusters, such as the sessions
    of a user, pass `clusters`: 40 users of ten sessions each, counted as 400 lists, gave a
    significant difference between equal systems in 33 of 100 simulations.

    If systems were trained several times, pass `Seeds`. "permutation" and "bootstrap" then
    resample the lists, which both systems share, and the seeds of each system (two-way, by
    studentised means). "t" uses the same error, with Satterthwaite's degrees of freedom.
    The verdict is then about training procedures. If only one system has `Seeds`, the other
    one is fixed, like a baseline that needs no training; if it was trained, the verdict is
    about this one model of it. Simulations compared equal procedures with three or five
    seeds each; the seeds varied not at all, a tenth as much as lists, or as much as
    lists: 1 to 6 % of the comparisons were significant at the 5 % level. When some runs
    failed and the other system was fixed, 15 % were significant with three seeds, and
    11 % with five.

    If people have labelled few lists, and a judge such as a language model has labelled
    many, pass the values computed from the judge's labels as `judge`. The difference
    then comes from `prediction_powered`, so no bias of the judge moves it, and "t" is
    the default test: its error has n − 2 degrees of freedom, n being the number of
    lists of people. "bootstrap" resamples the lists that people labelled and the lists
    that only the judge labelled, and estimates the tuning λ anew in each resample.
    Other tests cannot use lists that people have not labelled.

    Call it outside `jax.jit`; `paired` and `bootstrap` work inside. On two cores, 100,000
    permutations of 10,000 lists take about a second, and 100,000 resamples for "bootstrap"
    about seven. Both need some 30 MiB, and "bootstrap" needs 10 bytes more for each
    sample and comparison.

    Args:
        a: The baseline. Values of one metric are a `PerList`, an array `[lists]` or
            `[lists, cutoffs]`, a pandas Series, or a dict from list ids to numbers. For
            several metrics, pass a dict of such values, as `measure` returns it, or a dict
            of such dicts; a pandas DataFrame with a column for each metric; or an
            `Evaluation`, as from `evaluate_users` or `Joined.evaluation`. `Seeds` hold any
            of these forms. Without b, pass a dict of two or more systems, each in any of
            these forms, or `Systems`, which read such a dict once for all calls.
        b: The values of another system, in the same forms; or a dict of systems, each
            with the metrics of a. None takes all systems from a.
        ids: How to pair lists whose values have no ids. None pairs them by position;
            `(ids_a, ids_b)` has an id for every list, in any order: integers, strings
            or anything hashable. The ids of b hold for all its systems. A Series and a
            frame are always paired by their index, and a dict by its keys. An
            `Evaluation` is paired by the ids of its users or queries, if these have
            ids.
        clusters: The id of a cluster for every list: a dict or a Series from list ids to
            cluster ids, or a sequence in the order of the lists of a (without b, of its
            first system). Lists without ids have the ids 0, 1, … Each cluster then counts
            as one list: its weighted mean difference, with the sum of its weights. None
            counts each list by itself.
        judge: The values of the same systems and metrics, computed from the judge's
            labels, for more lists; the lists of a and b are a random sample of the
            judge's lists. Pass `(judge_a, judge_b)` if you pass b, or else a dict with
            the same systems as a. All values need list ids, and `clusters` then hold an
            id for each of the judge's lists.
        test: "permutation", "bootstrap", "t", "tukey" or "mcnemar". None is "permutation",
            and "t" with a judge.
        pairs: Without b, "baseline" compares each system with the first, and "all" each
            with all later ones; names of several baselines, such as ("bm25", "dense"),
            compare each baseline with all other systems.
        correction: How p is corrected for the number of comparisons in the call. "holm"
            bounds the probability of any false alarm, for any test. "maxT" does the
            same, but only for "permutation": it compares each difference with the
            largest t of all comparisons under the same flipped signs. It finds more if
            comparisons are similar, such as cutoffs of a metric or related systems.
            "fdr" bounds the expected share of false alarms among all alarms (Benjamini
            and Hochberg), for many exploratory comparisons. The test "tukey" ignores
            "holm" and refuses the others, because its p is corrected already.
        alternative: "two-sided", "greater" for b − a above 0 or "less" for below, as in
            SciPy, no matter whether higher or lower values of the metric are better.
            Choose a side before you look at the values. The interval is then one-sided
            as well.
        margin: The smallest difference that matters, above 0, in units of the metric. p
            then asks whether b − a surely stays within the margin: inside ±margin for
            "two-sided" (equivalence, the larger p of two one-sided tests; below 0.05 if
            the interval of level 0.9 lies inside), above −margin for "greater" (b is
            not worse), below margin for "less". The tests are the same, but of
            differences that are shifted by the margin. "t" takes bounds that are wider
            than Student's if few lists differ, or few lists lose much: equal values do
            not rule out a loss in one list of a hundred. Other tests warn if some lists
            are equal and fewer than 15 differ.
        mid_p: If True, outcomes that are just as extreme as the observed one count
            half, for "permutation" and "mcnemar". If few lists differ, p is then less
            conservative, and may be a little too small.
        samples: Number of permutations or resamples; "t" and "mcnemar" draw none.
            "permutation" takes all 2ⁿ patterns of signs instead if there are no more than
            this, n being the number of lists in which anything differs.
        level: The probability with which the interval should cover the difference, in
            (0, 1). The interval is Student's, with `n_eff` − 1 degrees of freedom and,
            if weights differ, a standard error that allows for heavy lists (HC3). With
            "t" and a margin, its limits are the bounds that `margin` describes, but not
            for `Seeds`, ratios or a judge. "bootstrap" takes the interval from the
            resampled t statistic. The interval is never corrected for the number of
            comparisons.
        key: A PRNG key. None is `jax.random.key(0)`, so a p value is the same in every
            run.
        undefined: The value of lists in which the metric is undefined: "zero", "one", or
            "skip", which keeps the lists in which the metric is defined for both
            systems. None takes the choice with which the values were measured, for
            example by `evaluate_users`, or else "zero"; `compare` then warns if 0 is
            the best value of a metric. Missing values (NaN, None, NA, null) are counted
            in the same way. Without `undefined` they raise. But with a judge, a list
            whose value of people is missing counts as a list of the judge alone.
        lower: Names of metrics, with or without their cutoffs, whose lower values are
            better, or True for all; it decides which system wins a list. The metrics of
            this package are known by their names; for values without a name, higher is
            better. Arithmetic means of the values are compared whatever the name, even
            for "gm_map".

    Returns:
        `Comparisons`: a sequence with a `Comparison` for every system, task, metric and
        cutoff, in this order. A name finds a comparison: `compare(a, b)["ndcg@10"].p`.
        In nested dicts, the last key above the values is the name of a metric; a key
        before it that is not the name of a system is a task.

        p is the share of all permutations in which t* is at least as far from 0 as t, in
        the direction of the alternative. With random samples, 1 is added to both numbers of
        the share, so that p is never 0; `compare` warns if even the least p would be
        above 1 − level once corrected. For permutations, t is the mean difference, and
        t* is the mean difference after the signs of random lists are flipped. For the
        bootstrap, t is the mean difference over its standard error; t* is the mean
        difference of resampled lists minus the mean difference of all lists, over the
        standard error of the resampled mean. p is 1 if nothing differs, and for fewer
        than two lists. Lists without a weight above 0 do not count; if no list counts,
        the difference is 0, from −inf to inf.

        Wins, ties and losses count lists, even with clusters; `effect_size` and `n_eff`
        are then about clusters. Weights are the same for a and b, except for ratios, as
        made by `PerList.over`, which may weigh lists by the items that each system has
        retrieved. Then "permutation" swaps value and weight of the two systems in
        random lists, and divides the difference of the ratios by its error anew
        (delete-one jackknife), in about 10⁻⁹ seconds for each permutation and list.
        `n_eff` is the smaller number of the two systems, and a list that only one
        system weighs is no win, tie or loss.

    Raises:
        ValueError: if a and b hold different metrics or cutoffs; if lists without ids
            differ in number; if lists differ in weights, unless a and b are both
            ratios; if ids repeat or are missing on one side, or only one side has them;
            if a list has no cluster; if a dict holds means instead of per-list values;
            if a value is NaN or infinite, or a weight infinite; if an option is not
            listed above, or does not apply to the test or to these values; for
            "mcnemar", if a value is not 0 or 1, if weights differ or there are
            clusters; for "bootstrap", if weights leave fewer than three effective
            lists; for "tukey", if pairs of systems have different lists; if `Seeds`
            have fewer than three seeds (below five, a warning says how little they
            tell). With a judge, also if the judge lacks a system, a metric or a list,
            if values have no ids or are `Seeds` or ratios whose weights differ, and for
            tests other than "t" and "bootstrap".
        TypeError: if a or b is traced, or holds no per-list values; if clusters are in
            another form.

    References:
        Smucker, Allan & Carterette, A comparison of statistical significance tests for
        information retrieval evaluation, CIKM 2007.
        Fisher, The design of experiments, 1935, section 21.
        Holm, A simple sequentially rejective multiple test procedure, 1979.
        Westfall & Young, Resampling-based multiple testing, 1993 (maxT); Boytsov, Belova &
        Westfall, Deciding on an adjustment for multiplicity in IR experiments, SIGIR 2013.
        Benjamini & Hochberg, Controlling the false discovery rate, JRSS B 1995.
        Carterette, Multiple testing in statistical analysis of systems-based information
        retrieval experiments, TOIS 2012 (Tukey's test).
        Schuirmann, A comparison of the two one-sided tests procedure and the power
        approach, 1987 (equivalence).
        Deng, Knoblich & Lu, Applying the delta method in metric analytics, KDD 2018.
        Johnson, Modified t tests and confidence intervals for asymmetrical populations,
        JASA 1978 (bounds for a margin).
        Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006; Laboratory
        experiments in information retrieval, 2018 (effect sizes).
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the generalized
        Behrens–Fisher problem, Statistics & Probability Letters 1997 (ratios).
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007 (seeds).
        MacKinnon & White, Some heteroskedasticity-consistent covariance matrix estimators
        with improved finite sample properties, Journal of Econometrics 1985 (HC3).
        Kish, Survey sampling, 1965 (the effective sample size).

    >>> a, b = [0.2, 0.5, 0.5, 0.1], [0.4, 0.6, 0.5, 0.4]
    >>> compare(a, b).only
    Comparison(+0.15 [-0.0554, 0.355], p=0.25, 3 wins 1 tie 0 losses, 3 of 4 lists differ)
    >>> compare(a, b, clusters=["ann", "ann", "bob", "cat"]).only.clusters
    3
    >>> f"{compare(a, b, test='t', alternative='greater', margin=0.05).only.p:.3f}"
    '0.248'
    >>> systems = {"old": a, "new": b, "odd": [0.1, 0.5, 0.5, 0.2]}
    >>> {row.system: row.p_corrected for row in compare(systems)}
    {'new': 0.5, 'odd': 1.0}
    >>> for row in compare(systems, pairs="all"):
    ...     print(row.baseline, row.system, f"{row.difference:+.2f}")
    old new +0.15
    old odd +0.00
    new odd -0.15
    >>> judge = [0.3, 0.5, 0.7, 0.1, 0.6, 0.3], [0.6, 0.6, 0.7, 0.4, 0.8, 0.5]
    >>> a, b, *judge = (dict(enumerate(values)) for values in (a, b, *judge))
    >>> compare(a, b, judge=judge).only.judge
    PredictionPowered(0.161 ± 0.042, 4 lists, 2 of the judge alone, worth 9.32)
    >>> compare({"mrr": {"q1": 0.2, "q2": 0.5}}, {"mrr": {"q2": 0.6, "q1": 0.4}})["mrr"]
    Comparison(+0.15 [-0.485, 0.785], p=0.5, 2 wins 0 ties 0 losses, 2 lists)
    """
    for name, value, choices in (
        ("test", test or "t", ComparisonTest),
        ("pairs", "all" if isinstance(pairs, list | tuple) else pairs, Pairs),
        ("correction", correction, Correction),
        ("alternative", alternative, Alternative),
    ):
        inputs.option(name, value, choices)
    inputs.check_undefined(undefined)
    if judge is not None and test not in (None, *OF_JUDGES):
        raise ValueError(
            f"test is {test!r}, which cannot use the lists that only a judge has labelled; "
            f"pass {' or '.join(map(repr, OF_JUDGES))}"
        )
    question = Question(
        random.key(0) if key is None else inputs.prng_key(key),
        inputs.positive_integer("samples", samples),
        intervals.checked_level(level),
        test or ("permutation" if judge is None else "t"),
        correction,
        alternative,
        None if margin is None else inputs.positive("margin", margin),
        bool(mid_p),
    )
    question.check(OF_JUDGES if judge is not None else None)
    if b is None and ids is not None:
        raise ValueError(
            "ids is given without b, but ids pair the lists of a and b; leave ids out, and "
            "pass Series or dicts"
        )
    # From here on, a comparison is a column of differences, whatever its systems are.
    if ids is not None and (not isinstance(ids, (tuple, list)) or len(ids) != 2):
        raise TypeError(
            "ids does not hold the list ids of two sides; pass a tuple (ids_a, ids_b)"
        )
    # With a judge, a missing value of people is not an error, even without `undefined`:
    # the list then counts as labelled by the judge only.
    how = undefined, reading.FIX_MISSING if judge is None else ""
    records, couples = _records_of_pairs(a, b, pairs, how)
    # [a, b, a, b, …], all in the order of the first a.
    ids_of_records = None if ids is None else [*ids] * len(couples)
    if ids_of_records and not any(
        record.ids is not None or isinstance(record.source, ListValues)
        for record in records
    ):
        # Move the ids into the records, so that errors name lists by these ids.
        sides = zip(records, ids_of_records, strict=True)
        records = [dataclasses.replace(record, ids=names) for record, names in sides]
        ids_of_records = None
    lists = in_one_order([record.lists for record in records], ids_of_records)
    seeds.check_seed_counts(lists)
    # Any key may name the metric, as in {"arp": {"web": values}}.
    directions.check_lower(lower, [name for record in records for name in record.path])
    judge_records: list[reading.Record] = []
    if judge is not None:
        judge_records = _records_of_judge(judge, records, b is not None, undefined)
    if undefined is None:
        zeros = [
            (side.path, side.lists.zero_counts()) for side in records + judge_records
        ]
        directions.warn_of_zeros(zeros, lower)
    differences, cluster_indices = Differences.of_pairs(lists, undefined), None
    if judge is not None:
        judge_lists = in_one_order([record.lists for record in judge_records])
        differences, cluster_indices = prediction_powered.beside_judge(
            lists, differences, judge_lists, clusters, undefined
        )
    elif clusters is not None:
        # All lists are in the order of the first a, so its clusters hold for all records.
        cluster_indices = lists[0].cluster_indices(clusters)
    subjects = _subjects_of(records, couples, lower, b is None, undefined)
    return Comparisons(compared(differences, subjects, question, cluster_indices))


@messages.short_errors()
def _records_of_pairs(
    a: reading.Values,
    b: reading.Values | None,
    pairs: Pairs | Sequence[Hashable],
    how: tuple[types.Undefined | None, str],
) -> tuple[list[reading.Record], list[tuple[int, int]]]:
    """Returns metrics of pairs of systems, `[a, b, a, b, …]`, and the systems' numbers.

    Args:
        a: The values of the baseline; or a dict of systems if b is None.
        b: The values of another system, a dict of such systems, or None.
        pairs: "baseline" pairs each system with the first one only, "all" with every
            other system; names of systems are baselines, and all other systems are
            paired with them.
        how: The value of undefined lists, and the advice in the error for missing
            values; the advice is "" if missing values are no error.

    Returns:
        The records, and a tuple with the numbers of the two systems for each pair; the
        baseline has the number 0.

    Raises:
        ValueError: if a or b holds no metric, if the metrics of systems differ, or if
            `pairs` names a system that is missing.
    """
    baselines = 1
    if b is not None:
        baseline, further = _baseline_and(a, b, ("a", "b"), how)
        systems = [baseline, *further.values()]
        if pairs != "baseline":
            raise ValueError(
                f"pairs={pairs!r} takes all systems in one dict; leave b out, and pass "
                f"compare({{name: values, …}}, pairs={pairs!r})"
            )
    else:
        named = _systems_in(a, how)
        systems = list(named.values())
        if not isinstance(pairs, str):
            if not pairs or any(name not in named for name in pairs):
                raise ValueError(
                    f"pairs names {listing(list(pairs)) or 'none'}, but has to name "
                    f"systems; pass names of baselines among {listing(list(named))}"
                )
            baselines = len(set(pairs))
            systems = list({name: named[name] for name in (*pairs, *named)}.values())
    # Pairs are (0, 1), (0, 2), …, (1, 2), …: baselines come first.
    records: list[reading.Record] = []
    couples: list[tuple[int, int]] = []
    for i, j in itertools.combinations(range(len(systems)), 2):
        if pairs == "all" or i < baselines:
            for path, record in systems[i].items():
                records += [record, systems[j][path]]
                couples.append((i, j))
    return records, couples


def _records_of_judge(
    judge: reading.Values,
    records: Sequence[reading.Record],
    is_by_side: bool,
    undefined: types.Undefined | None,
) -> list[reading.Record]:
    """Finds the judge's values of both systems of each pair, `[a, b, a, b, …]`.

    Args:
        judge: A pair with the judge's values of a and of b; or a dict of systems.
        records: The values of people, `[a, b, a, b, …]`.
        is_by_side: True if a and b were passed as two arguments.
        undefined: As for `compare`.

    Raises:
        TypeError: if the judge's values are not passed in the form of people's values.
        ValueError: if the judge's values lack a system or a metric.
    """
    first: reading.Metrics = {}
    how = undefined, reading.FIX_MISSING
    if is_by_side:
        if not isinstance(judge, tuple | list) or len(judge) != 2:
            raise TypeError(
                "judge is not a pair, but a and b were passed separately; pass a tuple "
                "(judge_a, judge_b)"
            )
        names = "judge[0]", "judge[1]"
        first, systems = _baseline_and(judge[0], judge[1], names, how)
    else:
        if not isinstance(judge, reading.Systems) and not reading.is_nested(judge):
            raise TypeError(
                f"judge is {inputs.kind_of(judge)}; pass a dict of systems, as for a"
            )
        read = reading.read(judge, "judge", ("system", "metric"), *how)
        systems = reading.by_system(read)
    judge_records = []
    for a, b in zip(records[::2], records[1::2], strict=True):
        baseline = first if is_by_side else systems.get(a.system, {})
        system = systems.get(b.system, {})
        sides = (a, baseline), (b, system)
        if missing := [side.keys for side, values in sides if side.path not in values]:
            raise ValueError(
                f"judge lacks {listing(missing)}; pass the judge's values of all systems "
                "and metrics that are compared"
            )
        judge_records += [baseline[a.path], system[a.path]]
    return judge_records


def _systems_in(
    tree: reading.Values, how: tuple[types.Undefined | None, str]
) -> dict[Hashable, reading.Metrics]:
    """Reads several systems, and checks that they all have the metrics of the first."""
    if not isinstance(tree, reading.Systems) and not reading.holds_levels(tree):
        if not reading.is_nested(tree) or len(tree) < 2:
            number = "no" if reading.is_nested(tree) and not tree else "one"
            raise ValueError(
                f"a holds {number} system; pass b, or a dict of two or more systems"
            )
        if all(map(facts.is_metric_name, tree)):
            raise ValueError(
                f"a holds the metrics {listing(list(tree))} of one system; pass b, or a "
                "dict of systems, each with its metrics"
            )
    systems = reading.by_system(reading.read(tree, "a", ("system", "metric"), *how))
    if len(systems) < 2:
        raise ValueError("a holds one system; pass b, or a dict of two or more systems")
    (baseline, metrics), *following = systems.items()
    for system, system_metrics in following:
        if metrics.keys() != system_metrics.keys():
            raise ValueError(
                f"a[{baseline!r}] holds {reading.paths_text(metrics)} and a[{system!r}] "
                f"holds {reading.paths_text(system_metrics)}; pass values of the same "
                "metrics for all systems"
            )
    return systems


def _baseline_and(
    a: reading.Values,
    b: reading.Values,
    names: tuple[str, str],
    how: tuple[types.Undefined | None, str],
) -> tuple[reading.Metrics, dict[Hashable, reading.Metrics]]:
    """Reads the baseline a, and the systems in b as a dict from their names.

    b holds several systems if its dicts are nested one level deeper than the dicts of
    a; the first keys of b are then the names of the systems. Otherwise the names come
    from the records of b, as for `Systems` or a frame of several systems. Without
    names, b is one system, named None.
    """
    records_a = reading.read(a, names[0], ("metric",), *how)
    records_b = reading.read(b, names[1], ("metric",), *how)
    if len({record.system for record in records_a}) > 1:
        raise ValueError(
            f"{names[0]} holds several systems; pass the baseline alone, or leave b out"
        )
    baseline = {record.path: record for record in records_a}
    depths = [
        max(len(record.path) for record in side) for side in (records_a, records_b)
    ]
    paths_of_b = [record.path for record in records_b]
    if depths[1] == depths[0] + 1:
        records_b = [record.named(("system", "metric")) for record in records_b]
    systems = reading.by_system(records_b)
    if any(metrics.keys() != baseline.keys() for metrics in systems.values()):
        raise ValueError(
            f"{names[0]} holds {reading.paths_text(baseline)} and {names[1]} holds "
            f"{reading.paths_text(paths_of_b)}; pass values of the same metrics, or pass a "
            "dict of systems as b, each with the metrics of a"
        )
    return baseline, systems


def _subjects_of(
    records: Sequence[reading.Record],
    couples: Sequence[tuple[int, int]],
    lower: bool | str | Sequence[str],
    has_name_of_a: bool,
    undefined: types.Undefined | None,
) -> list[Subject]:
    """Describes each comparison, pair by pair and cutoff by cutoff.

    Args:
        records: The values of two systems, `[a, b, a, b, …]`.
        couples: The numbers of the systems of each pair.
        lower: As for `compare`.
        has_name_of_a: True if the baseline came in a dict of systems, so that it has a
            name.
        undefined: As for `compare`. If `undefined` is passed, signatures are left out,
            because they may state another `undefined`.
    """
    # Comparisons of the same metric and cutoff share a number, whatever their systems.
    numbers: dict[tuple[reading.Path, str | None], int] = {}
    return [
        Subject(
            directions.is_lower_better(a.path, lower),
            systems,
            numbers.setdefault((a.path, label), len(numbers)),
            {
                "task": a.task,
                "baseline": a.system if has_name_of_a else None,
                "system": b.system,
                "metric": label,
                "cutoff": label and cutoff_names.cutoff_text(label),
                "signature": signatures.get(label or ""),
            },
        )
        for a, b, systems in zip(records[::2], records[1::2], couples, strict=True)
        for signatures in [_signatures_of(a, b) if undefined is None else {}]
        for label in a.labels()
    ]


def _signatures_of(a: reading.Record, b: reading.Record) -> dict[str, str]:
    """Returns a dict from labels to the signatures that two records share.

    Geometric means get no signature here, because comparisons take plain means of
    values.
    """
    is_shared = a.signature == b.signature != "" and "|mean:" not in a.signature
    both_cutoffs = [getattr(record.signature, "cutoffs", ()) for record in (a, b)]
    is_shared &= both_cutoffs[0] == both_cutoffs[1]  # cutoffs, in the order of values
    return cutoff_names.by_label({a.metric or "": a.signature}) if is_shared else {}
