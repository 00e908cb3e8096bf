"""Holds answers to vectors: python check.py FILE ANSWERS [option=choice …]."""

import json
import sys

vectors, answers = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
elected = dict(argument.split("=") for argument in sys.argv[3:])
unknown = [x for x in elected if elected[x] not in vectors["options"].get(x, {})]
tests = [test for group in vectors["groups"] for test in group["tests"]]
tests, num_wrong = [test for test in tests if test["id"] in answers], len(unknown)
for test in tests:
    answer, mine = answers[test["id"]], {}
    size = -1 if answer is None else 1e-6 * max(1, abs(answer))  # None is near nothing
    for name, choices in vectors["metrics"][test["metric"]]["options"].items():
        mine[name] = elected[name] if elected.get(name) in choices else choices[0]
    entries, mistakes = test["values"], test.get("mistakes", [])
    (due,) = (x for x in entries if all(mine[y] in z for y, z in x["when"].items()))
    due = due["value"]
    if due is answer if None in (due, answer) else abs(due - answer) <= size:
        continue
    names = [x["when"] for x in mistakes if abs(x["value"] - (answer or 0)) <= size]
    print(test["id"], "is", answer, "and not", due, *["as", names][: 2 * bool(names)])
    num_wrong += 1
print(f"{len(tests)} answers, {num_wrong} wrong; unknown choices: {unknown or 'none'}")
sys.exit(num_wrong > 0 or not tests)
