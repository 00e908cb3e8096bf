// Tells each cell of a table its column, which it shows where a table is stacked.
document.querySelectorAll("table.docutils").forEach((table) => {
  const columns = [...table.querySelectorAll("thead th")].map((x) => x.textContent.trim());
  table.querySelectorAll("tbody tr").forEach((row) =>
    [...row.children].forEach((cell, index) => (cell.dataset.column = columns[index] || "")));
});
