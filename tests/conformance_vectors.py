"""The conformance vectors as the package reads them: which entries it can say, and how.

A `Row` is a list of items as one path gets it, with the choices that it stands for. An `Ask`
is a metric with options of its own, which stand for other choices.
"""

import functools
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm

FOLDER = Path(__file__).parent.parent / "conformance"
sys.path.insert(0, str(FOLDER))

from derive import held as held_entry  # noqa: E402
from derive import is_equal  # noqa: E402

DATA = {
    name: json.loads((FOLDER / f"v1/{name}.json").read_text(encoding="ascii"))
    for name in ("lists", "scores", "means")
}
METRICS = {**DATA["scores"]["metrics"], **DATA["lists"]["metrics"]}
GROUPS = {x["id"]: x for name in ("lists", "scores") for x in DATA[name]["groups"]}


def exponential_of_relevant(labels):
    """The exponential gain of grades from 1 on; others gain nothing."""
    return jnp.where(labels >= 1, jrm.exponential_gain(labels), 0)


def linear_of_relevant(labels):
    """The grades from 1 on; others gain nothing."""
    return jnp.where(labels >= 1, labels, 0)


GAINS = {
    ("exp2", "none"): jrm.exponential_gain,
    ("linear", "none"): jrm.linear_gain,
    ("exp2", "relevant"): exponential_of_relevant,
    ("linear", "relevant"): linear_of_relevant,
}
ABOVE_ZERO = float(np.finfo(np.float32).tiny)  # as a threshold
DISCOUNTS = {
    "log2": jrm.log2_discount,
    "ln": jrm.log_discount(math.e),
    "jk2002": jrm.log2_rank_discount,
    "reciprocal": jrm.reciprocal_discount,
}
FUNCTIONS = {
    "ndcg": jrm.ndcg,
    "dcg": jrm.dcg,
    "ap": jrm.average_precision,
    "rr": jrm.reciprocal_rank,
    "recall": jrm.recall,
    "precision": jrm.precision,
    "hit_rate": jrm.hit_rate,
    "err": jrm.expected_reciprocal_rank,
    "rbp": jrm.rank_biased_precision,
    "auc": jrm.roc_auc,
    "r_precision": jrm.r_precision,
    "bpref": jrm.bpref,
    "alpha_ndcg": jrm.alpha_ndcg,
}
# The choices of a metric's own options that the package has, but for the reference.
OWN = {
    "ndcg": {"discount": ["log2", "jk2002", "reciprocal"]},
    "dcg": {"discount": [*DISCOUNTS]},
    "ap": {"denominator": ["relevant", "attainable", "hits", "k"]},
    "recall": {"denominator": ["relevant", "attainable"]},
    "precision": {"denominator": ["retrieved", "k"]},
    "rbp": {"worth": ["binary", "graded"]},
}
GRADED = {"gain": ["exp2", "linear"], "threshold": ["none", "relevant"]}
OWN = {name: OWN.get(name, {}) for name in FUNCTIONS}
OWN |= {name: OWN[name] | GRADED for name in ("ndcg", "dcg")}
OWN |= {
    name: choices | {"threshold": ["at-least", "above-zero"]}
    for name, choices in OWN.items()
    if "rel" in METRICS[name]["parameters"]
}


class Ask(NamedTuple):
    """A metric, its parameters but for the cutoff, and choices of its own options."""

    metric: str
    parameters: tuple[tuple[str, Any], ...]
    own: tuple[tuple[str, str], ...]

    def function(self, ks):
        """Returns the metric as the package has it."""
        at, own = dict(self.parameters), dict(self.own)
        options: dict[str, Any] = {}
        if "rel" in at:
            options["relevance_threshold"] = at["rel"]
        elif own.get("threshold") == "above-zero":
            options["relevance_threshold"] = ABOVE_ZERO
        if "gain" in own:
            options["gain_fn"] = GAINS[own["gain"], own["threshold"]]
            options["discount_fn"] = DISCOUNTS[own["discount"]]
        if "denominator" in own:
            options["denominator"] = own["denominator"]
        options |= {name: at[name] for name in ("p", "alpha") if name in at}
        if "max_grade" in at:
            options["max_label"] = at["max_grade"]
        if ks is not None:
            options["k"] = ks
        return functools.partial(FUNCTIONS[self.metric], **options)

    @property
    def is_reference(self):
        """True if all options are first choices, and all parameters have their defaults."""
        options = METRICS[self.metric]["options"]
        is_first = all(y == options[x][0] for x, y in self.own)
        return is_first and self.has_defaults

    @property
    def has_defaults(self):
        """True if it has the discount of the reference and default parameters."""
        defaults = METRICS[self.metric]["parameters"]
        is_default = all(defaults[x] == y for x, y in self.parameters)
        return is_default and dict(self.own).get("discount", "log2") == "log2"


class Row(NamedTuple):
    """A list as one path gets it.

    Attributes:
        group: The group of the vectors.
        choices: The choices that the row stands for, by option.
        docs: `[items]`, the ids of returned documents, in the order of the input, and then
            of judged documents that were not returned.
        retrieved: `[items]` bool.
        exists: `[items]` bool.
        scores: `[items]` float64.
        grades: `[items]`, 0 for unjudged documents.
        judged: `[items]` bool.
    """

    group: dict
    choices: dict
    docs: list
    retrieved: list
    exists: list
    scores: list
    grades: list
    judged: list


def options_open_in(group):
    """Returns the options on which a value of the group depends."""
    entries = (entry for test in group["tests"] for entry in test["values"])
    return {option for entry in entries for option in entry["when"]}


def asks_of(test):
    """Yields the ways in which the package computes a test, each with its choices."""
    at = METRICS[test["metric"]]["parameters"] | {
        x: test[x] for x in test.keys() & METRICS[test["metric"]]["parameters"].keys()
    }
    open_options = {option for entry in test["values"] for option in entry["when"]}
    choices = {
        option: x if option in open_options else x[:1]
        for option, x in OWN.get(test["metric"], {}).items()
    }
    for chosen in itertools.product(*choices.values()):
        own = dict(zip(choices, chosen, strict=True))
        unread = {"k", {"binary": "max_grade", "graded": "rel"}.get(own.get("worth"))}
        if own.get("threshold") == "above-zero":
            if "rel" in unread:  # grades have no threshold
                continue
            unread.add("rel")
        read = tuple((x, y) for x, y in at.items() if x not in unread)
        yield Ask(test["metric"], read, tuple(own.items()))


def cutoffs_of(groups, keep=lambda ask: True, largest=math.inf):
    """Returns the cutoffs of each `Ask` of some groups, None for metrics without one.

    Cutoffs above `largest` are left out, and the tests that have them are not compared.
    """
    cutoffs: dict[Ask, Any] = {}
    for group in groups:
        for test in group["tests"]:
            for ask in filter(keep, asks_of(test)):
                ks = cutoffs.setdefault(ask, [] if "k" in test else None)
                if (
                    ks is not None
                    and test["k"] not in ks
                    and (test["k"] or 0) <= largest
                ):
                    ks.append(test["k"])
    return {ask: ks and tuple(ks) for ask, ks in cutoffs.items()}


def number(score):
    """Reads a score, which is a string if JSON has no number for it."""
    return float(score)


def rows_of(group, policies, negative):
    """Yields the rows of a group for the choices that arrays of items can say.

    Args:
        group: Without repeated ids.
        policies: Choices of `ties`.
        negative: Choices of `negative`.
    """
    open_options = options_open_in(group)
    sayable = {
        "ties": policies if "ties" in open_options else policies[:1],
        "unjudged": ("zero", "removed"),
        "negative": negative,
        "infinite": ("ranked", "unretrieved"),
        "nan": ("nan",),
        "scores": ("float32",),
    }
    sayable = {
        option: x if option in open_options else x[:1] for option, x in sayable.items()
    }
    for chosen in itertools.product(*sayable.values()):
        choices = dict(zip(sayable, chosen, strict=True))
        yield row_of(group, choices)


def row_of(group, choices):
    """Returns the row of a group for a choice of each option of items."""
    has_topics = "subtopics" in group
    qrels = group["subtopics"] if has_topics else group["qrels"]
    run = [(doc, number(score)) for doc, score in group["run"]]
    if choices["ties"] == "input-reversed":
        run = run[::-1]
    elif choices["ties"] in ("id-asc", "id-desc"):
        run.sort(key=lambda x: x[0].encode(), reverse=choices["ties"] == "id-desc")
    returned = [doc for doc, _ in run]
    docs = returned + [doc for doc in qrels if doc not in returned]
    scores = dict(run)
    grades = [
        (1 if qrels.get(x) else 0) if has_topics else qrels.get(x, 0) for x in docs
    ]
    is_negative = [x < 0 for x in grades]
    judged = [doc in qrels for doc in docs]
    if choices["negative"] != "removed":
        grades = [max(x, 0) for x in grades]
        if choices["negative"] == "unjudged":
            judged = [x and not y for x, y in zip(judged, is_negative, strict=True)]
    is_kept = choices["unjudged"] == "zero"
    # Documents that are neither returned nor judged do not exist.
    exists = [x in scores and is_kept or y for x, y in zip(docs, judged, strict=True)]
    retrieved = [x in scores for x in docs]
    if choices["infinite"] == "unretrieved":
        retrieved = [x in scores and scores[x] != -math.inf for x in docs]
    all_scores = [scores.get(x, 0.0) for x in docs]
    return Row(group, choices, docs, retrieved, exists, all_scores, grades, judged)


def padded(rows, name, dtype, fill=0):
    """Returns a field of all rows as one array, `[rows, items]`."""
    size = max(len(row.docs) for row in rows)
    values = np.full((len(rows), size), fill, bool if dtype is bool else np.float64)
    for i, row in enumerate(rows):
        values[i, : len(row.docs)] = getattr(row, name)
    with np.errstate(over="ignore"):  # a score beyond float32 is infinite there
        return values.astype(dtype)


def arrays_of(rows):
    """Returns labels, scores, mask, retrieved and judged of rows."""
    return (
        padded(rows, "grades", np.float32),
        padded(rows, "scores", np.float32),
        padded(rows, "exists", bool),
        padded(rows, "retrieved", bool),
        padded(rows, "judged", bool),
    )


def topics_of(rows):
    """Returns the column of subtopics, `[rows, items, topics]`."""
    size = max(len(row.docs) for row in rows)
    column = np.zeros((len(rows), size, 8), bool)
    for i, row in enumerate(rows):
        names = sorted({x for y in row.group["subtopics"].values() for x in y})
        for j, doc in enumerate(row.docs):
            for topic in row.group["subtopics"].get(doc, ()):
                column[i, j, names.index(topic)] = True
    return column


# Choices that no value tells from another one, which stands for both.
SAME = {
    ("bpref", "negative", "unjudged"): "removed",
    ("bpref", "duplicates", "removed"): "first",
}


def known(metric, choices):
    """Returns the choices of the options that a metric has, in its words."""
    options = METRICS[metric]["options"]
    return {x: SAME.get((metric, x, y), y) for x, y in choices.items() if x in options}


UNDEFINED = {"zero": 0.0, "one": 1.0, "skip": None}


def failures(rows, lists, cutoffs, is_sayable=lambda test, ask, row: True):
    """Compares values of rows with the vectors.

    Args:
        rows: The rows, each with its group and choices.
        lists: A `PerList` of each `Ask`.
        cutoffs: As `cutoffs_of` returns them.
        is_sayable: Tells of a test, an `Ask` and a row whether it can be compared.

    Returns:
        The number of compared values, and lines about the values that differ.
    """
    values = {ask: np.asarray(x.values, np.float64) for ask, x in lists.items()}
    defined = {ask: np.asarray(x.defined) for ask, x in lists.items()}
    num_compared, lines = 0, []
    for i, row in enumerate(rows):
        for test in row.group["tests"]:
            for ask in asks_of(test):
                if ask not in values or not is_sayable(test, ask, row):
                    continue
                ks = cutoffs[ask]
                if ks is not None and test["k"] not in ks:
                    continue
                value = values[ask][i if ks is None else (i, ks.index(test["k"]))]
                for undefined in UNDEFINED:
                    answer = value if defined[ask][i] else UNDEFINED[undefined]
                    answer = None if answer is None or math.isnan(answer) else answer
                    options = METRICS[test["metric"]]["options"]
                    mine = {option: x[0] for option, x in options.items()}
                    mine |= known(test["metric"], row.choices)
                    mine |= {**dict(ask.own)} | (
                        {"undefined": undefined} if "undefined" in mine else {}
                    )
                    due = held_entry(test, mine)["value"]
                    num_compared += 1
                    if not is_equal(answer, due):
                        lines.append(f"{test['id']} {mine}: {answer} and not {due}")
    return num_compared, lines
