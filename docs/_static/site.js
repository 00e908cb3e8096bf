// Tells each cell of a table its column, which it shows where a table is stacked.
document.querySelectorAll("table.docutils").forEach((table) => {
  const columns = [...table.querySelectorAll("thead th")].map((x) => x.textContent.trim());
  table.querySelectorAll("tbody tr").forEach((row) =>
    [...row.children].forEach((cell, index) => (cell.dataset.column = columns[index] || "")));
});

// Filters the tables of metrics by words of their rows, and by what ties mean.
const filter = document.querySelector("form.filter");
if (filter) {
  const ties = (row) => row.querySelector('[class^="ties-"]');
  const rows = [...document.querySelectorAll("article tbody tr")].filter(ties);
  const sections = [...document.querySelectorAll("article section")].filter(
    (section) => !section.contains(filter) && rows.some((row) => section.contains(row)));
  const show = () => {
    const words = filter.querySelector("[type=search]").value.toLowerCase().split(/\s+/);
    const kinds = [...filter.querySelectorAll(":checked")].map((box) => box.value);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !kinds.includes(ties(row).textContent)
        || !words.every((word) => text.includes(word));
    });
    const shown = rows.filter((row) => !row.hidden);
    sections.forEach((section) =>
      (section.hidden = !shown.some((row) => section.contains(row))));
    filter.querySelector("output").textContent = `${shown.length} of ${rows.length} metrics`;
  };
  filter.addEventListener("input", show);
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.hidden = false;
  show();
}

// An address of a metric from before the page of all metrics was cut into groups leads to the
// group, to which that page has a link.
if (location.hash && !document.getElementById(location.hash.slice(1))) {
  const link = document.querySelector(`article a[href$=${JSON.stringify(location.hash)}]`);
  if (link) location.replace(link.href);
}
