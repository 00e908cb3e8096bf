"""Asks libraries for the values of v1 and of drawn lists, and records their answers.

    python conformance/ask.py                 asks all: an hour, and some gigabytes
    python conformance/ask.py rax scikit-learn
    python conformance/ask.py rax --random 7 500

Each is installed in its newest version in an environment of its own, in build/libraries,
and asked by its adapter in `libraries`; with --python, in an environment that has it. The
answers go into `answers`, with the version and the date. An adapter hands the data of a
group to the library unchanged; a test that would need changed data is not asked.

With --random, 500 lists are drawn from the seed 7, and the answers to these lists are held
to the definitions that were derived from the answers to v1. A failure is recorded under the
feature of the lists that is to blame (`statements`), and the pages then say nothing of
lists with this feature.
"""

import argparse
import contextlib
import datetime
import functools
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import derive
import statements
from derive import adapter

FOLDER = Path(__file__).parent
ENVIRONMENTS = FOLDER.parent / "build" / "libraries"
ANSWERS = FOLDER / "answers"

# Packages to install, the distribution first; libraries of torch share its environment,
# since it takes minutes to install.
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
        qrels: Grades of documents, None if there are none for the query.
        pairs: Documents and scores in the order of the input, None if the run lacks the
            query.
    """

    query: str
    qrels: Any
    pairs: Any

    @property
    def ids(self):
        """Documents in rank order, with repeats."""
        scores = [score for _, score in self.pairs]
        pairs = zip(scores, scores[1:], strict=False)
        if [*map(math.isnan, scores)] == [True] or not all(x > y for x, y in pairs):
            raise Unsayable("the order is not given")
        return [doc for doc, _ in self.pairs]

    @property
    def relevant(self):
        """Relevant documents, if every grade is 0 or 1."""
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
        """Labels, if every grade is 0 or 1."""
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
        """All lists, if each was judged and is in the run."""
        if any(x.qrels is None or x.pairs is None for x in self.lists):
            raise Unsayable("lists that one side lacks")
        return self.lists

    @property
    def filled(self):
        """All lists, if no list is empty, since a table or a file cannot say that."""
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
        function: Takes a case, and the parameters of tests that the library has.
        group: A group of the vectors.
        test: A test of the group.
        defaults: Defaults of the parameters of the metric.

    Returns:
        The value, or None if the library gives no value.

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


def answers_to(name, groups, metrics):
    """Asks a library, in its environment, for the values of the tests of groups.

    Args:
        name: The name of the library.
        groups: The groups, with their tests.
        metrics: Maps names of metrics to their parameters and defaults.

    Returns:
        Answers by the id of a test, and the names of raised errors.
    """
    module = importlib.import_module(f"libraries.{adapter(name).stem}")
    answers, errors = {}, {}
    for group in groups:
        for test in group["tests"]:
            function = module.METRICS.get(test["metric"])
            if function is None:
                continue
            key = test["id"]
            try:
                answers[key] = answer(function, group, test, metrics[test["metric"]])
            except Unsayable:
                continue
            except Exception as error:
                answers[key] = None
                errors[key] = type(error).__name__
    return answers, errors


def answers_of(name):
    """Asks a library for the tests of v1, and returns the record."""
    answers, errors = {}, {}
    for path in sorted((FOLDER / "v1").glob("[lms]*.json")):
        vectors = json.loads(path.read_text(encoding="ascii"))
        metrics = {x: y["parameters"] for x, y in vectors["metrics"].items()}
        found = answers_to(name, vectors["groups"], metrics)
        answers |= {f"{path.stem}/{x}": y for x, y in found[0].items()}
        errors |= {f"{path.stem}/{x}": y for x, y in found[1].items()}
    return {
        "library": name,
        "distribution": LIBRARIES[name][0],
        "version": importlib.metadata.version(LIBRARIES[name][0]),
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "answers": answers,
        "errors": errors,
    }


def installed(name):
    """Installs a library, and returns the Python of its environment."""
    environment = ENVIRONMENTS / ("torch" if "torch" in LIBRARIES[name] else name)
    python = environment / "bin" / "python"
    if not python.exists():
        newer = "python3.13" if name in NEWER_PYTHON else sys.executable
        subprocess.run([newer, "-m", "venv", environment], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade"]
    subprocess.run([*install, *LIBRARIES[name]], check=True)
    return python


def in_its_process(python, name, groups=None):
    """Asks a library in a process of its own, for v1 or for groups and their metrics."""
    environ = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    environ["OMP_NUM_THREADS"] = "1"  # lists are short
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
        asked.write_text(json.dumps(groups))
        command = [python, __file__, "--answer", name, asked, answered]
        subprocess.run(command, check=True, env=environ)
        return json.loads(answered.read_text())


def answer_in_this_process(name, asked, answered):
    """Reads the questions from a file, and writes a library's answers into another."""
    warnings.simplefilter("ignore")
    groups = json.loads(Path(asked).read_text())
    with contextlib.redirect_stdout(sys.stderr):
        result = answers_to(name, *groups) if groups else answers_of(name)
    Path(answered).write_text(json.dumps(result))


def record_of(name):
    """The record of a library, and its file."""
    path = ANSWERS / f"{adapter(name).stem}.json"
    return path, json.loads(path.read_text()) if path.exists() else {}


def ask(name, python):
    """Asks for v1, and records the answers; those to drawn lists go."""
    path, _ = record_of(name)
    record = in_its_process(python, name)
    path.write_text(dumped(record))


def ask_of_drawn_lists(name, python, seed, num_lists):
    """Asks for values of drawn lists, holds them to the definitions, and records that."""
    import drawn_lists

    path, record = record_of(name)
    of_record = {statements.data().tests[x]["metric"]: None for x in record["answers"]}
    parameters = derive.parameters()
    metrics = {x: parameters[x] for x in of_record}
    groups = drawn_lists.groups(seed, num_lists, metrics)
    answers, _ = in_its_process(python, name, (groups, metrics))
    tests = {x: [] for x in metrics}
    for group in groups:
        for test in group["tests"]:
            if test["id"] in answers:
                answer = answers[test["id"]]
                holds = functools.partial(drawn_lists.holds, group, test, answer)
                features = drawn_lists.features(group, test)
                asked = statements.Drawn(features, answer is not None, holds)
                tests[test["metric"]].append(asked)
    record["random"], refuted = statements.recorded(record, tests)
    about = {"seed": seed, "lists": num_lists, "answers": len(answers)}
    record["random"]["seeds"].append(about | {"refuted": refuted})
    path.write_text(dumped(record))
    print(name, about, "refuted:", refuted)


def dumped(record):
    """A record as text, with a line for each answer and for each seed and metric."""
    random = record.get("random")
    rest = {x: y for x, y in record.items() if x != "random"}
    text = json.dumps(rest, indent=0, ensure_ascii=True)
    if random is None:
        return text + "\n"
    parts = []
    for key, value in random.items():
        pairs = value.items() if isinstance(value, dict) else ((None, x) for x in value)
        lines = [
            (f"{json.dumps(x)}: " if x is not None else "") + json.dumps(y)
            for x, y in pairs
        ]
        signs = "{}" if isinstance(value, dict) else "[]"
        inside = ",\n".join(lines)
        parts.append(f"{json.dumps(key)}: {signs[0]}\n{inside}\n{signs[1]}")
    inside = ",\n".join(parts)
    return f'{text[:-2]},\n"random": {{\n{inside}\n}}\n}}\n'


def main():
    """Asks the libraries that the command names."""
    if sys.argv[1:2] == ["--answer"]:
        answer_in_this_process(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("libraries", nargs="*", choices=[[], *LIBRARIES], default=[])
    parser.add_argument("--random", nargs=2, type=int, metavar=("SEED", "LISTS"))
    parser.add_argument("--python", help="of an environment that has the libraries")
    arguments = parser.parse_args()
    for name in arguments.libraries or LIBRARIES:
        python = arguments.python or installed(name)
        if arguments.random:
            ask_of_drawn_lists(name, python, *arguments.random)
        else:
            ask(name, python)


if __name__ == "__main__":
    main()
