// Sorts a table by the column whose head is clicked, and the other way round if it is clicked again.
(() => {
  "use strict";

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const numeric = head.classList.contains("num");
        const before = head.getAttribute("aria-sort");
        // Numbers begin with the largest, names with the first.
        const rising = before ? before === "descending" : !numeric;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((a, b) => compare(value(a, column), value(b, column), numeric, rising)));
      });
    });
  }

  const value = (row, column) => row.cells[column].dataset.value;

  function compare(a, b, numeric, rising) {
    // Undefined values come last in either direction.
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
    return rising ? order : -order;
  }
})();
