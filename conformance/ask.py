"""Asks libraries for the values of the tests of v1, and records their answers.

    python conformance/ask.py                 asks all: an hour, and some gigabytes
    python conformance/ask.py rax scikit-learn

Each is installed in its newest version in an environment of its own, in build/libraries,
and asked by its adapter in `libraries`. The answers go into `answers`, with the version and
the date. An adapter hands the data of a group to the library as they are; what they would
have to be changed for is not asked.
"""

import contextlib
import datetime
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import platform
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from derive import adapter

FOLDER = Path(__file__).parent
ENVIRONMENTS = FOLDER.parent / "build" / "libraries"
ANSWERS = FOLDER / "answers"

# What to install, the distribution first; libraries of torch share its environment, since
# it takes minutes to install.
LIBRARIES = {
    "scikit-learn": ("scikit-learn",),
    "torchmetrics": ("torchmetrics", "torch"),
    "ranx": ("ranx",),
    "pytrec_eval": ("pytrec-eval-terrier",),
    "ir_measures": ("ir-measures", "cwl-eval"),
    "rax": ("rax",),
    "metrax": ("google-metrax",),
    "keras_rs": ("keras-rs", "keras", "jax"),
    "RecTools": ("rectools",),
    "recommenders": ("recommenders",),
    "LensKit": ("lenskit",),
    "cornac": ("cornac",),
    "trectools": ("trectools",),
    "mlflow": ("mlflow-skinny", "numpy", "pandas", "scikit-learn"),
    "ignite": ("pytorch-ignite", "torch"),
    "haystack": ("haystack-ai",),
    "llama_index": ("llama-index-core",),
    "implicit": ("implicit",),
    "XGBoost": ("xgboost",),
    "LightGBM": ("lightgbm",),
    "CatBoost": ("catboost",),
}
# Their newest versions need a newer Python than some of the others run on.
NEWER_PYTHON = {"LensKit", "XGBoost"}


class Unsayable(Exception):
    """The library has no word for the data of a test."""


@dataclass
class Ranked:
    """A list of a group, in the forms that libraries take.

    Attributes:
        query: Its name.
        qrels: Grades of documents, None where nothing is said of the query.
        pairs: Documents and scores in the order of the input, None where the run lacks it.
    """

    query: str
    qrels: Any
    pairs: Any

    @property
    def ids(self):
        """Documents in rank order, with repeats."""
        scores = [score for _, score in self.pairs]
        if not all(x > y for x, y in zip(scores, scores[1:], strict=False)):
            raise Unsayable("the order is not given")
        return [doc for doc, _ in self.pairs]

    @property
    def relevant(self):
        """Relevant documents, where every grade is 0 or 1."""
        if not {*self.qrels.values()} <= {0, 1}:
            raise Unsayable("grades")
        return [doc for doc, grade in self.qrels.items() if grade]

    @property
    def scores(self):
        """Scores of documents that were all judged, returned, and returned once."""
        docs = [doc for doc, _ in self.pairs]
        if len({*docs}) < len(docs) or {*docs} != {*self.qrels}:
            raise Unsayable("a pool, or repeats")
        return [score for _, score in self.pairs]

    @property
    def labels(self):
        """Grades in the order of the scores."""
        _ = self.scores
        return [self.qrels[doc] for doc, _ in self.pairs]

    @property
    def binary(self):
        """Labels, where every grade is 0 or 1."""
        relevant = {*self.relevant}
        _ = self.scores
        return [int(doc in relevant) for doc, _ in self.pairs]


@dataclass
class Case:
    """The lists of a group as libraries take them."""

    lists: list[Ranked]

    @property
    def only(self):
        """The list of a group that has one."""
        if len(self.lists) > 1:
            raise Unsayable("several lists")
        return self.lists[0]

    @property
    def complete(self):
        """All lists, where each was judged and is in the run."""
        if any(x.qrels is None or x.pairs is None for x in self.lists):
            raise Unsayable("lists that one side lacks")
        return self.lists

    @property
    def filled(self):
        """All lists, where none is empty, since a table or a file cannot say that."""
        if any(x.pairs == [] for x in self.lists):
            raise Unsayable("an empty list")
        return self.lists

    @property
    def qrels(self):
        """Grades by query and document."""
        return {x.query: x.qrels for x in self.lists if x.qrels is not None}

    @property
    def integers(self):
        """Grades as integers, for tools of TREC."""
        if any(y % 1 for x in self.qrels.values() for y in x.values()):
            raise Unsayable("fractional grades")
        return {q: {doc: int(y) for doc, y in x.items()} for q, x in self.qrels.items()}

    @property
    def run(self):
        """Scores by query and document."""
        run = {x.query: dict(x.pairs) for x in self.lists if x.pairs is not None}
        if sum(map(len, run.values())) < sum(len(x.pairs or ()) for x in self.lists):
            raise Unsayable("repeats")
        return run

    @property
    def rectangle(self):
        """Labels, scores and a mask, `[lists, items]`, of lists that are padded."""
        rows = [(x.labels, x.scores) for x in self.complete]
        width = max(len(labels) for labels, _ in rows)
        labels = [x + [0] * (width - len(x)) for x, _ in rows]
        scores = [x + [-1e9] * (width - len(x)) for _, x in rows]
        return labels, scores, [[i < len(x) for i in range(width)] for x, _ in rows]


def case_of(group):
    """Returns the lists of a group, whose queries are numbered, as gdeval asks for."""
    if not {"qrels", "queries"} & group.keys():
        raise Unsayable("subtopics, or two rankings")
    queries = group.get("queries") or [group]
    return Case(
        [
            Ranked(
                str(number),
                query.get("qrels"),
                [(doc, float(score)) for doc, score in query["run"]]
                if "run" in query
                else None,
            )
            for number, query in enumerate(queries, 1)
        ]
    )


def answer(function, group, test, defaults):
    """Asks for one value.

    Args:
        function: Takes a case, and those parameters of tests that the library has.
        group: Of the vectors.
        test: Of the group.
        defaults: Of the parameters of the metric.

    Returns:
        The value, None where there is none.

    Raises:
        Unsayable: If the library cannot say the test.
    """
    arguments = {}
    parameters = dict(inspect.signature(function).parameters)
    for name, default in defaults.items():
        value = test.get(name, default)
        if name in parameters:
            if value is None and parameters[name].default is inspect.Parameter.empty:
                raise Unsayable(f"no {name}")
            arguments[name] = value
        elif value != default:
            raise Unsayable(name)
    value = function(case_of(group), **arguments)
    value = None if value is None else float(value)
    return None if value is None or math.isnan(value) else value


def answers_of(name):
    """Asks a library, in its environment, and returns what is recorded."""
    module = importlib.import_module(f"libraries.{adapter(name).stem}")
    answers, errors = {}, {}
    for path in sorted((FOLDER / "v1").glob("[lms]*.json")):
        vectors = json.loads(path.read_text(encoding="ascii"))
        for group in vectors["groups"]:
            for test in group["tests"]:
                function = module.METRICS.get(test["metric"])
                defaults = vectors["metrics"][test["metric"]]["parameters"]
                if function is None:
                    continue
                key = f"{path.stem}/{test['id']}"
                try:
                    answers[key] = answer(function, group, test, defaults)
                except Unsayable:
                    continue
                except Exception as error:
                    answers[key] = None
                    errors[key] = type(error).__name__
    return {
        "library": name,
        "distribution": LIBRARIES[name][0],
        "version": importlib.metadata.version(LIBRARIES[name][0]),
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "answers": answers,
        "errors": errors,
    }


def ask(name):
    """Installs a library, and asks it in a process of its own."""
    environment = ENVIRONMENTS / ("torch" if "torch" in LIBRARIES[name] else name)
    python = environment / "bin" / "python"
    if not python.exists():
        newer = "python3.13" if name in NEWER_PYTHON else sys.executable
        subprocess.run([newer, "-m", "venv", environment], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade"]
    subprocess.run([*install, *LIBRARIES[name]], check=True)
    environ = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    subprocess.run([python, __file__, "--answer", name], check=True, env=environ)


def main():
    """Asks the libraries that the command names."""
    names = sys.argv[1:] or [*LIBRARIES]
    if names[0] == "--answer":
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(sys.stderr):
            record = answers_of(names[1])
        ANSWERS.mkdir(exist_ok=True)
        text = json.dumps(record, indent=0, ensure_ascii=True)
        (ANSWERS / f"{adapter(names[1]).stem}.json").write_text(text + "\n")
        return
    for name in names:
        ask(name)


if __name__ == "__main__":
    main()
