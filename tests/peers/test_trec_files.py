"""Values by topic and overall from files with every edge case, against trec_eval."""

import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from jax_rank_metrics.cli import app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("default")

COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
TOPICS, DOCUMENTS = 14, 30
MISSING, UNJUDGED = "t12", "t13"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Writes judgements and a run with ties, relevance −1 and missing topics.

    Scores are exact in float32, since pytrec_eval rounds them so.
    """
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("trec")
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    judgements, retrieved = [], []
    for topic in (f"t{number}" for number in range(TOPICS)):
        # The same ids in every topic; "d10" sorts before "d9".
        names = [f"d{number}" for number in rng.permutation(DOCUMENTS)]
        levels = rng.choice([-2, -1, 0, 0, 1, 1, 2, 3], DOCUMENTS)
        levels[names.index("d0")] = 0  # at least one is judged
        if topic == "t0":
            levels = np.minimum(levels, 0)  # nothing relevant
        scores = rng.integers(-3, 4, DOCUMENTS) + rng.choice([0, 1e-3, 0.25], DOCUMENTS)
        is_retrieved = rng.random(DOCUMENTS) < 0.7
        is_retrieved[names.index("d1")] = True
        if topic != UNJUDGED:
            judgements += [
                f"{topic} 0 {name} {level}\n"
                for name, level in zip(names, levels, strict=True)
                if level > -2
            ]
        if topic != MISSING:
            retrieved += [
                f"{topic}\tQ0 {name}  1 {score!r} mine\n"
                for name, score in zip(names, scores.tolist(), strict=True)
                if is_retrieved[names.index(name)]
            ]
    qrels.write_text("".join(judgements))
    run.write_text("".join(retrieved))
    return qrels, run


def theirs_of(files, level=1):
    """Returns the values of pytrec_eval by topic and name, for topics in both files."""
    with files[0].open() as qrels, files[1].open() as run:
        judged, retrieved = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
    measures = {*pytrec_eval.supported_nicknames["official"]} - {"runid", "num_q"}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, measures, relevance_level=level)
    values = evaluator.evaluate(retrieved)
    assert {*values} == {f"t{number}" for number in range(TOPICS - 2)}
    return values


@pytest.mark.parametrize("level", [1, 2])
def test_lines_of_the_command(files, level):
    """The command prints the official measures as trec_eval does, topic by topic and overall."""
    theirs = theirs_of(files, level)
    words = ["evaluate", *map(str, files), "--trec", "-q", "--format", "trec"]
    done = CliRunner().invoke(app(), [*words, "-l", str(level)])
    assert done.exit_code == 0, done.output
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    printed = {(name.strip(), topic): value for name, topic, value in lines}
    assert printed.pop(("runid", "all")) == "mine"  # the tag of its lines
    assert printed.pop(("num_q", "all")) == str(len(theirs))
    checked = 0
    for (name, topic), text in printed.items():
        if name.startswith("iprec"):  # which differs by version
            continue
        values = [of_topic[name] for of_topic in theirs.values()]
        value = theirs[topic][name] if topic != "all" else np.mean(values)
        if name == "gm_map":
            value = np.exp(value)
        elif name in COUNTS:
            assert text == f"{sum(values) if topic == 'all' else value:.0f}"
        if name not in COUNTS:
            assert text == f"{value:6.4f}".strip(), (name, topic)
        checked += 1
    names = len({name for name, _ in printed}) - 11
    assert names == 17 and checked == names * (len(theirs) + 1) - len(theirs)
