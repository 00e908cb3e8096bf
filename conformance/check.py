"""Holds answers to vectors: python check.py FILE ANSWERS [option=choice …]."""

import json
import math
import sys


def is_equal(answer, due):
    """True if an answer equals a value, within the tolerance of the value."""
    if answer is None or due is None:
        return answer is due
    is_number = type(answer) in (int, float) and math.isfinite(answer)
    return is_number and abs(answer - due) <= vectors["tolerance"] * max(1, abs(due))


vectors, answers = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
pairs = [argument.partition("=")[::2] for argument in sys.argv[3:]]
elected = dict(pairs)
tests = {test["id"]: test for group in vectors["groups"] for test in group["tests"]}
options = [metric["options"] for metric in vectors["metrics"].values()]
unknown = [x for x in answers if x not in tests]  # and choices that no metric has,
for name, choice in pairs:  # among which are mistakes
    if not any(choice in x.get(name, ()) for x in options):
        unknown.append(f"{name}={choice}")
if unknown:
    sys.exit("unknown: " + ", ".join(unknown))
num_wrong = 0
for test in (tests[x] for x in answers):
    answer, mine = answers[test["id"]], {}
    for name, choices in vectors["metrics"][test["metric"]]["options"].items():
        mine[name] = elected[name] if elected.get(name) in choices else choices[0]
    entries = [
        x for x in test["values"] if all(mine[y] in z for y, z in x["when"].items())
    ]
    (due,) = (entry["value"] for entry in entries)
    if not is_equal(answer, due):
        num_wrong += 1
        mistakes = test.get("mistakes", [])
        names = [x["when"] for x in mistakes if is_equal(answer, x["value"])]
        print(
            test["id"], "is", answer, "and not", due, *(["as", *names] if names else [])
        )
print(f"{len(answers)} answers, {num_wrong} wrong")
sys.exit(num_wrong > 0 or not answers)
