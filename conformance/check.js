// Holds answers to vectors: node check.js FILE ANSWERS [option=choice …].
const fs = require("fs");
// Python and others write NaN and Infinity, which JSON has not; as strings they are wrong answers.
const quoted = (text) => text.replace(/:\s*(-?Infinity|NaN)(?=\s*[,}])/g, ':"$1"');
const [vectors, answers] = process.argv.slice(2, 4).map((x) => JSON.parse(quoted(fs.readFileSync(x, "utf8"))));
const pairs = process.argv.slice(4).map((x) => x.split(/=(.*)/s, 2));
const elected = Object.fromEntries(pairs);
const tests = new Map(vectors.groups.flatMap((group) => group.tests).map((test) => [test.id, test]));
const options = Object.values(vectors.metrics).map((metric) => metric.options);
const unknown = Object.keys(answers).filter((id) => !tests.has(id)); // and choices that no metric has,
for (const [name, choice] of pairs) // among which are mistakes
  if (!options.some((x) => Object.hasOwn(x, name) && x[name].includes(choice))) unknown.push(`${name}=${choice}`);
if (unknown.length) {
  console.error("unknown: " + unknown.join(", "));
  process.exit(1);
}
// Whether an answer is a value, within the tolerance of the value.
function isEqual(answer, due) {
  if (answer === null || due === null) return answer === due;
  return Number.isFinite(answer) && Math.abs(answer - due) <= vectors.tolerance * Math.max(1, Math.abs(due));
}
let wrong = 0;
for (const [id, answer] of Object.entries(answers)) {
  const test = tests.get(id), mine = {};
  for (const [name, choices] of Object.entries(vectors.metrics[test.metric].options))
    mine[name] = choices.includes(elected[name]) ? elected[name] : choices[0];
  const entries = test.values.filter((x) => Object.entries(x.when).every(([name, choices]) => choices.includes(mine[name])));
  if (entries.length !== 1) throw Error(`${id} has ${entries.length} values`);
  if (isEqual(answer, entries[0].value)) continue;
  wrong++;
  const names = (test.mistakes ?? []).filter((x) => isEqual(answer, x.value)).map((x) => JSON.stringify(x.when));
  console.log(`${id} is ${answer} and not ${entries[0].value}${names.length ? " as " + names.join(" ") : ""}`);
}
console.log(`${Object.keys(answers).length} answers, ${wrong} wrong`);
process.exit(wrong || !Object.keys(answers).length ? 1 : 0);
