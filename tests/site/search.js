// Searches a built site with its own scripts: node search.js SITE WORD…
// Prints, for each word, the page and the anchor of what the site lists first.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [site, ...words] = process.argv.slice(2);
const context = vm.createContext({
  document: { getElementById: () => null }, localStorage: { setItem: () => {} },
  SPHINX_HIGHLIGHT_ENABLED: false, DOCUMENTATION_OPTIONS: {}, URLSearchParams, console,
  _ready: () => {}, _: (text) => text,
});
context.window = context;
for (const script of ["language_data.js", "searchtools.js", "../searchindex.js"])
  vm.runInContext(fs.readFileSync(path.join(site, "_static", script), "utf8"), context);
const search = vm.runInContext(
  "(word) => Search._performSearch(...Search._parseQuery(word)).at(-1)", context);
console.log(JSON.stringify(Object.fromEntries(words.map((word) => {
  const first = search(word);
  return [word, first ? first[0] + first[2] : null];
}))));
