"""The pages for each library: what a row calls there and here gives one number."""

import importlib
import re

import jax.numpy as jnp
import numpy as np
import pytest
from pages import ROOT

import jax_rank_metrics as jrm

pytestmark = pytest.mark.filterwarnings("ignore")
PAGES = ROOT / "docs" / "coming-from"
# Rows that are no call with a number: arguments, and a tool that needs Perl.
OTHER_ROWS = {
    "`weights` of items",
    "`update(scores, relevant, indexes=ids)`",
    '`nDCG(dcg="exp-log2")@4`',
    "`rbp.80`",  # of ranx, in which grades count
}
RNG = np.random.default_rng(5)
SHAPE = (12, 9)
LABELS = RNG.choice(np.float32([0, 0, 0, 1, 2, 3]), SHAPE)
LABELS[:, :3] = [3, 0, 1]  # nothing is undefined
# Above 0: in short lists, torchmetrics ranks its padding above an item of score 0.
SCORES = RNG.permuted(np.tile(np.float32(np.arange(1, 10)) / 8, (12, 1)), axis=1)
MASK = np.ones(SHAPE, bool)
MASK[10:, 3:] = (
    False  # shorter than the cutoff; libraries without a mask get the others
)
WITHOUT_MASK = {"metrax", "scikit-learn"}
RELEVANT = (LABELS >= 1).astype(int)
QRELS, RUN = (
    {
        f"q{query}": {f"d{item}": kind(row[item]) for item in np.flatnonzero(mask)}
        for query, (row, mask) in enumerate(zip(rows, MASK, strict=True))
    }
    for rows, kind in ((LABELS, int), (SCORES, float))
)


def of_rax(library, call):
    """Evaluates a function of rax."""
    call = call.replace("…", "scores, labels, where=mask")
    arguments = {"scores": SCORES, "labels": LABELS, "mask": MASK}
    return eval(f"library.{call}", {"library": library, **arguments})


def of_keras_rs(library, call):
    """Evaluates a metric of keras_rs."""
    return eval(f"library.{call}", {"library": library})(
        {"labels": LABELS, "mask": MASK}, SCORES
    )


def of_metrax(library, call):
    """Evaluates a metric of metrax at the cutoff 4."""
    metric = getattr(library, call)
    labels = LABELS if call == "NDCGAtK" else RELEVANT
    arguments = {
        "predictions": jnp.array(SCORES[:10]),
        "labels": jnp.array(labels[:10]),
    }
    state = metric.from_model_output(**arguments, ks=jnp.array([4]))
    return state.compute()[0]


def of_torchmetrics(library, call):
    """Evaluates a metric of torchmetrics on flat lists."""
    torch = importlib.import_module("torch")
    is_graded = "NormalizedDCG" in call
    labels = LABELS.astype(int) if is_graded else RELEVANT
    metric = eval(f"library.{call}", {"library": library})
    query_ids = np.repeat(np.arange(len(LABELS)), LABELS.shape[1])
    query_ids = query_ids.reshape(SHAPE)
    flat = [torch.tensor(x[MASK]) for x in (SCORES, labels, query_ids)]
    return metric(flat[0], flat[1], indexes=flat[2])


def of_sklearn(library, call):
    """Evaluates a function of scikit-learn; a function of a single list, list by list."""
    if "(" in call:
        arguments = {"labels": LABELS[:10], "scores": SCORES[:10]}
        return eval(f"library.{call}", {"library": library, **arguments})
    function = getattr(library, call)
    if call in ("average_precision_score", "roc_auc_score"):
        lists = zip(RELEVANT[:10], SCORES[:10], strict=True)
        return np.mean([function(*arrays) for arrays in lists])
    return function(RELEVANT[:10], SCORES[:10])


def of_ranx(library, call):
    """Evaluates a name of ranx."""
    return library.evaluate(library.Qrels(QRELS), library.Run(RUN), call)


def of_trec_eval(library, call):
    """Evaluates a name of trec_eval by pytrec_eval."""
    values = library.RelevanceEvaluator(QRELS, {call}).evaluate(RUN)
    name = call.replace(".", "_")
    return np.mean([by_name[name] for by_name in values.values()])


def of_ir_measures(library, call):
    """Evaluates a measure of ir_measures."""
    measure = library.parse_measure(call)
    return library.calc_aggregate([measure], QRELS, RUN)[measure]


# The module of each library, and the function that evaluates a call of it.
LIBRARIES = {
    "rax": ("rax", of_rax),
    "keras-rs": ("keras_rs.metrics", of_keras_rs),
    "metrax": ("metrax", of_metrax),
    "torchmetrics": ("torchmetrics.retrieval", of_torchmetrics),
    "scikit-learn": ("sklearn.metrics", of_sklearn),
    "ranx": ("ranx", of_ranx),
    "trec-eval": ("pytrec_eval", of_trec_eval),
    "ir-measures": ("ir_measures", of_ir_measures),
}


def table_rows():
    """Yields the library, the call there, and the name and the options here, of rows."""
    for library in LIBRARIES:
        for line in (PAGES / f"{library}.md").read_text().splitlines():
            there, _, here = line.strip("| ").partition(" | ")
            if not here.startswith('`"') or there in OTHER_ROWS:
                continue
            options = dict(re.findall(r'`(\w+)="(\w+)"`', here))
            calls, names = re.findall("`([^`]+)`", there), re.findall('`"(.+?)"`', here)
            for call, name in zip(calls, names, strict=True):
                yield pytest.param(library, call, name, options, id=f"{library}-{call}")


@pytest.mark.parametrize("library, call, name, options", [*table_rows()])
def test_a_row_gives_one_number(library, call, name, options):
    """The call there and the name here agree on lists without ties."""
    lists = [x[:10] if library in WITHOUT_MASK else x for x in (LABELS, SCORES, MASK)]
    ours = jrm.evaluate(name, *lists, **options)
    module, evaluate = LIBRARIES[library]
    theirs = float(np.asarray(evaluate(importlib.import_module(module), call)))
    # ranx and trec_eval hold float64, the others float32.
    np.testing.assert_allclose(float(jrm.compute(ours)[name]), theirs, atol=2e-6)


def test_every_library_has_rows():
    """No table is left out because it is written in another way."""
    libraries = [row.values[0] for row in table_rows()]
    assert set(libraries) == {*LIBRARIES} and len(libraries) >= 45
