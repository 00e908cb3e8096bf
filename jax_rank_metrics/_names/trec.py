"""The names of trec_eval's measures, families and sets; does not import JAX."""

import re
from typing import NamedTuple

_CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")


class MeasureFamily(NamedTuple):
    """A measure of trec_eval with a value for each of several cutoffs."""

    metric: str  # the metric of this package
    options: str = ""  # as in a name; with these, the metric is trec_eval's measure
    cutoffs: tuple[str, ...] = _CUTOFFS  # the default cutoffs
    suffix: str = "_{:g}"  # the format of a cutoff, after the name of the family


FAMILIES = {
    # trec_eval divides by k even if fewer documents were retrieved.
    "P": MeasureFamily("precision", "denominator=k"),
    "Rprec_mult": MeasureFamily(
        "precision_at_multiples",
        cutoffs=tuple(f"{fifths / 5:g}" for fifths in range(1, 11)),
        suffix="_{:.2f}",
    ),
    "iprec_at_recall": MeasureFamily(
        "interpolated_precision",
        cutoffs=tuple(f"{tenths / 10:g}" for tenths in range(11)),
        suffix="_{:.2f}",
    ),
    "map_cut": MeasureFamily("average_precision"),
    "ndcg_cut": MeasureFamily("ndcg", "gain_fn=linear_gain"),
    "recall": MeasureFamily("recall"),
    "relative_P": MeasureFamily("recall", "denominator=attainable"),
    "success": MeasureFamily("hit_rate", cutoffs=("1", "5", "10")),
    # The share of unjudged documents is how far precision could rise.
    "unj": MeasureFamily("residual", "of=precision(denominator=k)", ("5", "10", "20")),
}
# Families whose names are also metrics here; these metrics have no default cutoff.
AMBIGUOUS = ("P", "recall", "success")

# Lines of trec_eval's output that are about the whole run and are no metrics.
RUN_LINES = ("runid", "num_q")

OFFICIAL = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
SETS = {
    "official": (*RUN_LINES, *OFFICIAL),
    "set": (
        *(*RUN_LINES, "num_ret", "num_rel", "num_rel_ret", "utility", "set_P"),
        *("set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "all_trec": (
        *(*RUN_LINES, *OFFICIAL, "relstring", "recall", "unj", "rbp", "rbp_resid"),
        *("infAP", "gm_bpref", "utility", "11pt_avg", "ndcg", "relative_P"),
        *("Rprec_mult", "success", "map_cut", "ndcg_cut", "ndcg_rel", "Rndcg", "binG"),
        *("G", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
        "num_nonrel_judged_ret",
    ),
}
# Members of sets that are not families, and whose bare names mean something else here.
_IN_FULL = {"ndcg": "ndcg(gain_fn=linear_gain)", "rbp": "rbp(p=0.9)"}
# Measures whose means are geometric.
GEOMETRIC = ("gm_map", "gm_bpref")
NOT_MEASURED = ("relstring", "ndcg_rel", "Rndcg", "binG", "G", "yaap")

_FAMILY_OF = {name.lower(): family for name, family in FAMILIES.items()}
_NUMBER = r"(?:\d++(?:\.\d++)?|\.\d++)"
# A dict from patterns of measures with parameters to the metric with options that computes
# them. The four parameters of utility are the values of retrieved relevant documents, of
# other retrieved documents, of missed relevant documents, and of other missed documents.
_WITH_OPTIONS = {
    r"rbp_resid": "residual(of=rbp(p=0.9))",
    rf"rbp[._]p=({_NUMBER})": r"rbp(p=\1)",
    rf"utility[._]({_NUMBER}),-({_NUMBER}),0,0": r"utility(worth=\1,cost=\2)",
}
# A dict from patterns of measures whose parameters are not read to the advice.
_NOT_READ = {
    r"11pt_avg\..+": "iprec_at_recall with these levels, and take the mean of its values",
    r"ndcg\..*=.*": "judgements with these gains, or the option gain_fn",
    r"set_F\..+": "set_F(beta=…) with the square root of the parameter",
    r"utility\..+": "utility.a,-b,0,0, or utility(worth=a, cost=b)",
}
_PATTERN = re.compile(
    rf"(?P<name>{'|'.join(FAMILIES)})"
    rf"(?:_(?P<cutoff>{_NUMBER})|\.(?P<cutoffs>{_NUMBER}(?:,{_NUMBER})*))?",
    re.IGNORECASE,
)


def meaning(name: str) -> tuple[MeasureFamily, str | None]:
    """Returns the family of a name without parentheses, and the cutoffs in the name.

    The cutoffs are text, as after @, or None if the name has none. Any other name makes a
    family of its own, without cutoffs and options.

    >>> family, cutoffs = meaning("ndcg_cut_10")
    >>> family.metric, family.options, cutoffs
    ('ndcg', 'gain_fn=linear_gain', '10')
    >>> meaning("P.5,10")[1], meaning("P")[0].metric, meaning("success_1")[0].cutoffs
    ('5,10', 'P', ('1', '5', '10'))
    """
    match = _match(name)
    if match is None:
        return MeasureFamily(name, cutoffs=()), None
    return _FAMILY_OF[match["name"].lower()], match["cutoff"] or match["cutoffs"]


def with_options(name: str) -> str:
    """Rewrites a measure with parameters to a name with options; other names stay.

    >>> with_options("utility.2,-1,0,0"), with_options("rbp_p=.95"), with_options("map")
    ('utility(worth=2,cost=1)', 'rbp(p=.95)', 'map')
    """
    for pattern, options in _WITH_OPTIONS.items():
        if match := re.fullmatch(pattern, name):
            return match.expand(options)
    return name


def instead_of(name: str) -> str | None:
    """Returns the advice for a measure whose parameters are not read, or None.

    >>> instead_of("set_F.0.25"), instead_of("map")
    ('set_F(beta=…) with the square root of the parameter', None)
    """
    cures = (cure for pattern, cure in _NOT_READ.items() if re.fullmatch(pattern, name))
    return next(cures, None)


def metric_part(name: str) -> str:
    """Returns the name of a metric without options and cutoffs, in lower case.

    Accepts names as typed and as `compute(…, flat=True)` writes them.

    >>> metric_part("Fall-out(rel=2)@10"), metric_part("map_cut_5"), metric_part("mine[0]")
    ('fall_out', 'average_precision', 'mine')
    """
    metric = re.split(r"[@(\[]", with_options(name))[0]
    metric = metric.strip().lower().replace("-", "_")
    return meaning(metric)[0].metric


def value_names(name: str) -> list[str]:
    """Returns the names that trec_eval gives the values of families and parameters.

    Options in parentheses stay at the end. For other names the list is empty.

    >>> value_names("P.5,10"), value_names("map_cut.5(rel=2)"), value_names("rbp.p=0.95")
    (['P_5', 'P_10'], ['map_cut_5(rel=2)'], ['rbp_p=0.95'])
    >>> value_names("recall@5,10")
    []
    """
    head, parenthesis, options = name.partition("(")
    match = _match(head)
    if match is None:
        return [] if with_options(name) == name else [name.replace(".", "_", 1)]
    family, cutoffs = meaning(head)
    texts = cutoffs.split(",") if cutoffs else family.cutoffs
    suffixes = [family.suffix.format(float(text)) for text in texts]
    return [match["name"] + suffix + parenthesis + options for suffix in suffixes]


def cutoff_of(name: str) -> tuple[str, int] | None:
    """Splits a value's name into family and cutoff; None unless the cutoff is a rank.

    >>> cutoff_of("ndcg_cut_10"), cutoff_of("P_5(rel=2)"), cutoff_of("iprec_at_recall_0.20")
    (('ndcg_cut', 10), ('P(rel=2)', 5), None)
    """
    head, parenthesis, options = name.partition("(")
    match = _match(head)
    if match is None or not (match["cutoff"] or "").isdecimal():
        return None
    return match["name"] + parenthesis + options, int(match["cutoff"])


def _match(name: str) -> re.Match[str] | None:
    """Matches the name of a family; None for a bare name that is also a metric here."""
    is_ambiguous = name.lower() in map(str.lower, AMBIGUOUS)
    return None if is_ambiguous else _PATTERN.fullmatch(name)


def in_full(name: str) -> str:
    """Adds its default cutoffs to the name of a family; returns other names unchanged.

    Unlike the bare name, the result has the meaning of trec_eval wherever it is read.

    >>> in_full("success"), in_full("map")
    ('success.1,5,10', 'map')
    """
    return f"{name}.{','.join(FAMILIES[name].cutoffs)}" if name in FAMILIES else name


def members(name: str) -> list[str]:
    """Returns the measures of a set that are metrics of labels and scores.

    They have names that `evaluate` reads.

    >>> members("set")[:3], members("map")
    (['num_ret', 'num_rel', 'num_rel_ret'], [])
    """
    # Arrays of labels and scores do not tell which documents were judged.
    absent = (*RUN_LINES, *NOT_MEASURED, "unj", "rbp_resid")
    names = [member for member in SETS.get(name, ()) if member not in absent]
    return [_IN_FULL.get(member) or in_full(member) for member in names]
