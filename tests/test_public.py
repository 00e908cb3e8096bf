"""The public interface and the shape of the code: names, documentation, layers, types."""

import ast
import functools
import graphlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import CASES

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.metrics.metric import NAMES

PACKAGE = Path(jrm.__file__).parent
PUBLIC = {name: getattr(jrm, name) for name in jrm.__all__}
METRICS = {n: m for n, m in PUBLIC.items() if isinstance(m, jrm.Metric)}

# Each layer imports only from those before it: room by room, and inside a room in the order
# of the data. Inside a package, imports must not form a cycle.
LAYERS = """
    _ground.choices _ground.optional _ground.messages _ground.pytrees _ground.shares
    _ground.meshes _ground.types _ground.shards _ground.arithmetic _ground.gains
    _ground.group_amounts _ground.one_off _ground.inputs _ground _names _values
    _verdicts.sheets _verdicts.inference _verdicts.systems
    _verdicts.comparisons _verdicts.tables _verdicts.plots _verdicts
    _engine.items _engine.by_options _engine.while_tracing _engine.ordering _engine.layouts
    _engine.places _engine.states _engine.ranking _engine.sources _engine.metrics
    _engine.formulas _engine.calls _engine
    _runs.evaluation _runs.files _runs.drivers _runs
    _check plots compat testing _public __init__ demo _command adapters cli __main__
""".split()
# Verdicts stand beside the engine: neither imports the other, and no run knows a verdict.
APART = {
    "_verdicts": ("_engine", "_runs"),
    "_engine": ("_verdicts",),
    "_runs": ("_verdicts",),
}


def layer(name):
    """Returns the layer of a module, given its dotted name."""
    while name not in LAYERS and "." in name:
        name = name.rpartition(".")[0]
    return name if name in LAYERS else "__init__"


@functools.cache
def modules():
    """Returns the dotted name and the syntax tree of every module of the package."""
    trees = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        trees[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    return trees


@functools.cache
def nodes(name):
    """Returns all nodes of the syntax tree of a module."""
    return list(ast.walk(modules()[name]))


def imports(name):
    """Yields the dotted names that a module imports from the package."""
    for node in nodes(name):
        targets = []
        if isinstance(node, ast.ImportFrom) and node.module:
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        for target in targets:
            assert "jax._src" not in target, f"{name} imports {target}"
            if target.startswith("jax_rank_metrics"):
                yield target.removeprefix("jax_rank_metrics").removeprefix(".")


@functools.cache
def targets_of(name):
    """Returns the modules of the package that a module imports."""
    targets = set()
    for target in imports(name):
        while target not in modules() and "." in target:
            target = target.rpartition(".")[0]
        targets.add(target if target in modules() else "__init__")
    return targets


def test_imports_point_one_way():
    """Modules import only from layers before their own."""
    graph = {}
    for name in modules():
        graph[name] = set()
        for target in targets_of(name):
            importer, imported = (LAYERS.index(layer(x)) for x in (name, target))
            assert imported <= importer, (name, target)
            assert not target.startswith(APART.get(name.partition(".")[0], ())), (
                name,
                target,
            )
            # A package may re-export from its own modules.
            if target != name and not f"{target}.".startswith(f"{name}."):
                graph[name].add(target)
    graphlib.TopologicalSorter(graph).prepare()  # raises for circular imports


@pytest.mark.parametrize("name", ["cli", "compat", "plots", "testing"])
def test_public_modules_register_the_metrics(name):
    """Each of them, imported by itself, knows the facts that the metrics register."""
    closure, new = set(), {name}
    while new:
        closure |= new
        new = set().union(*map(targets_of, new)) - closure
    assert "_engine.formulas" in closure or "_names.facts" not in closure


def test_only_one_module_sorts():
    """Sorting, top-k and argsort appear in the package `_engine.ordering` alone."""
    for name in modules():
        of_strings = {  # text.partition("@")
            node.func
            for node in nodes(name)
            if isinstance(node, ast.Call)
            and [type(getattr(arg, "value", None)) for arg in node.args]
            in ([str], [bytes])
        }
        attributes = [node for node in nodes(name) if isinstance(node, ast.Attribute)]
        names = {node.attr for node in attributes if node not in of_strings}
        if not name.startswith(("_engine.ordering", "testing")):
            assert not names & {"sort", "argsort", "top_k", "lexsort", "partition"}, (
                name
            )


def test_public_names():
    """Public are the names that `_public` exports under their own; all else is private."""
    exports = {
        alias.asname
        for node in ast.walk(ast.parse((PACKAGE / "_public.py").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert set(jrm.__all__) == exports <= set(dir(jrm))
    formulas = "jax_rank_metrics._engine.formulas"
    metrics = {m.__name__ for m in NAMES.values() if m.__module__.startswith(formulas)}
    assert metrics == set(METRICS)


@pytest.mark.parametrize(
    "init", sorted(PACKAGE.rglob("*/__init__.py")), ids=lambda path: path.parent.name
)
def test_the_page_of_a_package_names_its_modules(init):
    """The docstring of a package names each file and its content."""
    page = ast.get_docstring(ast.parse(init.read_text())) or ""
    files = {path.name for path in init.parent.glob("*.py")} - {"__init__.py"}
    missing = sorted(file for file in files if file not in page)
    assert not missing, f"{init.parent.name} does not name {missing}"


def public_functions():
    """Yields every public callable, and the public methods of public classes."""
    for name, value in PUBLIC.items():
        if inspect.ismodule(value):
            continue
        yield name, value
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if not method.startswith("_") and callable(function):
                    yield f"{name}.{method}", function
    for name in ("keras_rs_list_weights", "accuracy_calculator_list_weights"):
        yield name, getattr(jrm.compat, name)
    for name, value in vars(jrm.plots).items():
        if inspect.isfunction(value):
            yield f"plots.{name}", value


@pytest.mark.parametrize("name", list(METRICS))
def test_a_metric_is_documented(name):
    """Its docstring has all the parts of a metric, and no shared arguments."""
    metric = METRICS[name]
    doc = inspect.cleandoc(metric.__doc__)
    parts = ["Undefined (", "Example:", "References:"]
    parts += ["Args:"] if metric.spec.options else []
    for part in parts:
        assert part in doc, part
    for option in metric.spec.options:
        assert re.search(rf"^    {option}: ", doc, re.M), f"{option} is not documented"
    for shared in ("labels", "scores", "mask", "weights", "key", "ties"):
        assert not re.search(rf"^    {shared}: ", doc, re.M), f"{shared} is shared"


def test_everything_public_is_documented():
    """Everything public has a docstring, and signatures show shapes."""
    for name, value in public_functions():
        assert inspect.getdoc(value), name
    assert "*lists items" in str(inspect.signature(jrm.rank))


GOOD = """
import functools
import jax
import numpy as np
import jax_rank_metrics as jrm
x = jax.numpy.zeros((2, 3))
a: jrm.Mean = jrm.ndcg(x, x, None, None, jax.random.key(0), k=10)
b: jrm.PerList = jrm.recall.per_list(x, x, k=(1, 5), denominator="attainable")
c: jrm.PerList = jrm.average_precision.of(jrm.rank(x, x, ties="best", k=3), k=3)
d: jrm.Mean = jrm.ndcg([1, 0, 1], [0.1, 0.2, 0.3], [True, True, False], 2.0)
e: jrm.Mean = jrm.recall([[1, 0]], [[0.5, 0.1]], [[True, True]], [1.0], k=1)
n: np.ndarray = np.ones((2, 3))
f: jrm.Mean = jrm.precision(n, n.tolist(), n > 0, [n, n], columns={"judged": n > 0})
g: dict[str, jrm.Mean] = jrm.evaluate("ndcg@1", [1, 0], n[0, :2])
h: jrm.Ranking = jrm.rank([1, 0, 1, 1], [0.1, 0.2, 3, 4], segment_ids=[0, 0, 1, 1], num_segments=2)
i: jrm.Ranking = jrm.rank_ids([[3, 1]], [[1, -1]], list_weights=[2.0])
i = jrm.rank_retrieved([1, 0], num_relevant=3)
i = jrm.rank_scores(n, [[1], [2]], item_mask=[True, True, False])
i = jrm.rank_places([[1, 0]], [[0, 1]], [[1, 1]], num_retrieved=[2], retrieved=[[True, False]])
k: list[str] = jrm.check([[1, 0]], [[0.5, 0.1]])
class Tensor:
    def __array__(self, dtype: object = None) -> np.ndarray: ...
class Variable:
    def __jax_array__(self) -> jax.Array: ...
l: jrm.Mean = jrm.ndcg(Tensor(), Variable())
m: jrm.Mean = jrm.merge(a, jrm.all_reduce(a, "data"), jrm.reduce(a), jrm.mean(b))
o: dict[str, jrm.Mean] = jrm.merge(g, jrm.all_reduce(g, ("data", "model")), jrm.mean({"x": b}))
p: jax.Array = jrm.compute(a)
q: dict[str, jax.Array] = jrm.compute(g, flat=True)
r: list[float] = list(jrm.compute(g, host=True).values())
s: jrm.Bootstrap = jrm.bootstrap(jrm.paired(b, b), [1, 2])
t: dict[str, jrm.Bootstrap] = jrm.bootstrap({"x": b}, ["q1", "q2"])
u: jrm.Comparison = jrm.compare(jrm.Systems({"x": b, "y": [0.1, 0.2]}))["y"]
"""
BAD = {
    "jrm.ndcg(x, x, topn=10)": "topn",
    "jrm.recall.of(jrm.rank(x, x), k='all')": "k",
    "jrm.ndcg(x, x, ties='first')": "ties",
    "jrm.ndcg(x, x, 10)": "mask",
    "jrm.ndcg(x, x, mask=[0, 1])": "mask",
    "jrm.ndcg(3, x)": "labels",
    "jrm.ndcg('relevant', x)": "labels",
    "jrm.ndcg(['relevant'], x)": "labels",
    "jrm.evaluate('map', x, x, mask=10)": "mask",
    "jrm.rank(x, x, segment_ids=2, num_segments=2)": "segment_ids",
    "m1: jrm.PerList = jrm.merge(a, a)": "Mean",
    "m2: jrm.Mean = jrm.reduce(g)": "dict",
    "m3: dict[str, jrm.PerList] = jrm.mean({'x': b})": "Mean",
    "m4: dict[str, float] = jrm.compute(g)": "Array",
    "jrm.all_reduce(a, 0)": "axis_name",
}


@pytest.mark.skipif(shutil.which("pyright") is None, reason="needs pyright")
def test_types(tmp_path):
    """pyright accepts the good calls, also with lists and tensors, and rejects the bad."""
    lines = GOOD.splitlines()
    (tmp_path / "calls.py").write_text("\n".join([*lines, *BAD]) + "\n")
    command = ["pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(
        [*command, tmp_path / "calls.py"], capture_output=True, text=True
    )
    errors = json.loads(done.stdout)["generalDiagnostics"]
    error_lines = {error["range"]["start"]["line"] for error in errors}
    assert error_lines == set(range(len(lines), len(lines) + len(BAD))), errors


def test_help_names_the_metrics_that_read_item_weights():
    """`help(jrm.rank)` names the metrics that the laws prove to read them, and no other."""
    doc = inspect.cleandoc(jrm.rank.__doc__)
    [weights] = re.findall(r"^    weights: (.*?)^    \w+: ", doc, re.S | re.M)
    readers = {case.metric.__name__ for case in CASES.values() if case.weighted}
    assert readers == METRICS.keys() & {*re.findall(r"\w+", weights)}
