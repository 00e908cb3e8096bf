// Holds answers to vectors: node check.js FILE ANSWERS [option=choice …].
const [vectors, answers] = process.argv.slice(2, 4).map((x) => JSON.parse(require("fs").readFileSync(x, "utf8")));
const elected = Object.fromEntries(process.argv.slice(4).map((x) => x.split("=")));
for (const x in elected) if (!vectors.options[x]?.[elected[x]]) throw Error("unknown choice: " + x);
const tests = vectors.groups.flatMap((group) => group.tests).filter((test) => test.id in answers);
let wrong = 0;
for (const test of tests) {
  const answer = answers[test.id], mine = {};
  for (const [name, choices] of Object.entries(vectors.metrics[test.metric].options))
    mine[name] = choices.includes(elected[name]) ? elected[name] : choices[0];
  const isMine = (x) => Object.entries(x.when).every(([name, choices]) => choices.includes(mine[name]));
  const equals = (x) => x === null || answer === null ? x === answer : Math.abs(x - answer) <= 1e-6 * Math.max(1, Math.abs(x));
  const due = test.values.filter(isMine);
  if (due.length !== 1) throw Error(`${test.id} has ${due.length} values`);
  if (equals(due[0].value)) continue;
  wrong++;
  const names = (test.mistakes ?? []).filter((x) => equals(x.value)).map((x) => " as " + JSON.stringify(x.when));
  console.log(`${test.id} is ${answer} and not ${due[0].value}${names.join()}`);
}
console.log(`${tests.length} answers, ${wrong} wrong`);
process.exit(wrong || !tests.length ? 1 : 0);
