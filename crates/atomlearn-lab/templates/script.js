// Everything here is a convenience: the page says the same without it.
"use strict";
const root = document.documentElement;

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
    button.textContent = done ? "Copied" : "Select the text and copy it by hand";
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  });
}

const theme = document.createElement("button");
theme.type = "button";
theme.className = "theme";
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
label();
document.querySelector("header").append(theme);

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if ("fixed" in head.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Names begin with A, numbers with the largest.
      const before = head.getAttribute("aria-sort");
      const up = before ? before === "descending" : !head.classList.contains("n");
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => { const text = row.cells[column].textContent; const number = parseFloat(text); return Number.isNaN(number) ? text : number; };
      const compare = (a, b) => { const x = key(a), y = key(b); return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)); };
      body.append(...[...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a)));
    });
  });
}

// A link to something folded unfolds it.
const unfold = () => { for (let part = document.getElementById(location.hash.slice(1)); part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true; };
addEventListener("hashchange", unfold);
unfold();
