"use strict";
// Filters comparisons by workload, tier and size, and opens the cell that a link names. The page is whole without it.
(() => {
  const form = document.querySelector("form.filters");
  const items = [...document.querySelectorAll("[data-workload]")];
  const rows = items.filter((item) => item.matches("tbody tr"));
  const selects = [...form.querySelectorAll("select")];
  const said = form.querySelector("output");

  const apply = () => {
    for (const item of items) {
      item.hidden = selects.some((select) => select.value !== "" && item.dataset[select.name] !== select.value);
    }
    said.value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} comparisons`;
  };

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (const select of selects) select.value = "";
    apply();
    for (let box = target; box; box = box.parentElement) if (box.matches("details")) box.open = true;
    target.scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button.all").addEventListener("click", (event) => {
    const boxes = [...document.querySelectorAll("details.cell")];
    const close = boxes.every((box) => box.open);
    for (const box of boxes) box.open = !close;
    event.target.textContent = close ? "Open all" : "Close all";
  });
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("details.cell")) box.open = true;
  });
  apply();
  if (location.hash) open();
})();
