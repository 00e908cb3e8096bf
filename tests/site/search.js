// Searches a built site with its own scripts: node search.js SITE WORD…
// Prints, for each word, the pages and anchors of what the site lists first, at most three.
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
  "(word) => Search._performSearch(...Search._parseQuery(word)).slice(-3)", context);
console.log(JSON.stringify(Object.fromEntries(words.map((word) =>
  [word, search(word).reverse().map((hit) => hit[0] + hit[2])]))));
