"""Bad calls, which raise before a metric is compiled; and similar calls that are good."""

import re

import errors
import jax
import numpy as np
import pytest
from per_lists import lists_of
from spoken import words_of_python

import jax_rank_metrics as jrm
from jax_rank_metrics._command.arguments import in_options

Y = np.zeros((2, 3), np.float32)
S = np.zeros((2, 3), np.float32)

ROWS = {
    f"{table.__name__}: {name}": row
    for table in errors.TABLES
    for name, row in table.CASES.items()
}
LATE = {
    f"{table.__name__}: {name}": row
    for table in errors.TABLES
    for name, row in getattr(table, "LATE", {}).items()
}
ALL = ROWS | LATE
# Tables whose advice runs programs of drivers, or traces many.
DEAR = (
    "errors.calls",
    "errors.drivers",
    "errors.labelled",
    "errors.metrics",
    "errors.sources",
)


# Words by which messages say what to do.
ADVICE = re.compile(
    r"([;:,(] |\b(or|and|else|first) )(pass|leave|call|rank|return|use|drop|rename|join|open"
    r"|put|say|read|name|make|keep|give|write|ask|decompress|compare|bring|set|stack|pad"
    r"|close|end|remove|measure|select|reduce|register|shard|gather|save|merge|divide|choose"
    r"|take|count|sort|break)\b|did you mean"
)


def check(error, text, call):
    """Checks that a call raises an error, whose text may leave words out by ".*".

    Returns the whole text.
    """
    pattern = re.escape(text).replace(r"\.\*", ".*")
    with pytest.raises(error, match=re.compile(pattern, re.DOTALL)) as raised:
        call()
    return str(raised.value)


def check_advice(name, message):
    """Checks that a row follows what its message advises."""
    assert not ADVICE.search(message) or len(ALL[name]) == 4, message


def advices():
    """Returns the names of the rows that follow an advice; many of them would compile."""
    return [
        pytest.param(name, marks=[pytest.mark.long] * name.startswith(DEAR))
        for name, row in ALL.items()
        if len(row) == 4
    ]


def follow(call):
    """Follows an advice; a call that returns a comparison says what it gives."""
    result = call()
    assert result is not False and result is not np.False_


@pytest.fixture(scope="module")
def evaluations():
    """Compiles the evaluations that rows divide into groups, so that no row counts them."""
    errors.labelled.users()
    errors.drivers.evaluation()


@pytest.mark.parametrize("name", ROWS)
def test_bad_calls(name, evaluations, compilations):
    """Each call has one wrong argument, which is seen before a metric is compiled."""
    message = check(*ROWS[name][:3])
    assert len(compilations) <= 4  # programs that convert arguments
    check_advice(name, message)
    if name.startswith("errors.files"):  # which the command reads, too
        assert not words_of_python(in_options(message)), message


@pytest.mark.parametrize("name", LATE)
def test_bad_calls_that_raise_late(name):
    """The wrong argument of these calls is seen after something was compiled."""
    check_advice(name, check(*LATE[name][:3]))


@pytest.mark.filterwarnings("ignore::UserWarning")  # remarks
@pytest.mark.parametrize("name", advices())
def test_advice_can_be_followed(name, evaluations):
    """No message leads to another error."""
    follow(ALL[name][3])


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="they fit")
def test_integers_beyond_int32():
    """NumPy's 64-bit integers raise rather than wrap."""
    scores = np.array([[2**40, 2**41, 0]])
    with pytest.raises(ValueError, match="scores: int64 values .* do not fit int32"):
        jrm.ndcg(np.zeros((1, 3)), scores)


def test_good_calls_of_every_kind():
    """Lists, NumPy arrays, legacy keys and NumPy integers as k are accepted."""
    key = jax.random.PRNGKey(0)
    state = jrm.precision(
        [[1, 0]], [[0.1, 0.2]], [[True, True]], 2.0, key, k=np.int64(1)
    )
    assert state.compute() == 0
    ones = np.ones((2, 3))
    shape = jax.eval_shape(lambda: jrm.precision(ones, ones, k=[1, 2]).compute())
    assert shape.shape == (2,)
    assert jrm.mean({"a": [lists_of([0, 0])]})["a"][0].lists == 2
    jrm.check(ones, ones, np.ones((2, 3), bool), np.ones(2))
    assert jrm.precision(Y, S, key=jax.random.key(0), ties="best").undefined == 2
    assert jrm.rank_retrieved(Y, num_relevant=[3.0, 1.0]).num_relevant(1).max() == 3
    # A pool of another dtype, and without the retrieved items that were not judged.
    tenths = np.full((1, 3), 0.1, np.float16)
    jrm.rank_retrieved(tenths, pool_labels=np.full((1, 3), 0.1, np.float32))
    jrm.rank_retrieved(np.array([[0, 1, 0, -1]]), pool_labels=np.array([[1]]))


def test_check_does_not_read_what_is_masked():
    """Weights of items that are masked, by mask or label, may be NaN."""
    labels = np.float32([1, 0, -1])
    weights = np.float32([1, np.nan, np.nan])
    jrm.check(labels, S[0], np.array([True, False, True]), weights)


LONG, V = "x\n" * 1_000, np.arange(9.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jrm.evaluate_users("mrr@2", np.eye(3), {LONG: [0]}),
        lambda: errors.drivers.evaluation().by({LONG: 1}),
        lambda: jrm.rank_ids({LONG: ["a"]}, {"q": ["a"]}),
        lambda: jrm.pack([LONG], known=["a"]),
        lambda: jrm.ndcg(Y, S, ties=LONG),
        lambda: jrm.evaluate({LONG: "mrr"}, Y, S),
        lambda: jrm.ndcg(Y, S, k=LONG),
        lambda: jrm.ndcg(Y, S, gain_fn=LONG),
        lambda: jrm.rank_biased_precision(Y, S, p=LONG),
        lambda: jrm.rank(Y, S, items_axis=LONG),
        lambda: jrm.rank(Y, S, columns={LONG: Y[0]}),
        lambda: jrm.compare({LONG: V}, {LONG + "y": V}),
        lambda: jrm.compare({LONG: V}, {LONG: V[:3]}),
        lambda: jrm.compare(V, V, level=LONG),
        lambda: jrm.compare({LONG: V}, {LONG: V * np.nan}),
        lambda: jrm.compare({"a": V, "b": V}, pairs=[(LONG, "b")]),
        lambda: jrm.leaderboard({"a": {LONG: V}, "b": {LONG + "y": V}}),
        lambda: jrm.table({"a": {LONG: LONG}}),
        lambda: jrm.Seeds([{LONG: V}, {"mrr": V}]),
        lambda: jrm.lists_needed({LONG: V}, LONG),
        lambda: jrm.to_frame({"mrr": V[:2]}, [LONG] * 2),
    ],
)
def test_messages_of_long_names(call):
    """Names and ids of any length leave a message short, with its cure at the end."""
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert len(str(error.value)) < 600 and str(error.value).count("\n") < 5
