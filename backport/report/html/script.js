"use strict";
(() => {
  const all = (query, top = document) => [...top.querySelectorAll(query)];
  const one = (id) => document.getElementById(id);
  const search = one("search"), shown = one("shown");
  const entries = all(".entry"), problems = all(".problems > li"), cells = all("a.cell");

  const wanted = () => {
    const looks = new Set(all("input[name=look]:checked").map((box) => box.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const stack = one("stack").value, target = one("target").value;
    return (node) =>
      (!stack || node.dataset.stack === stack) &&
      (!target || node.dataset.target === target) &&
      looks.has(node.dataset.look) &&
      words.every((word) => (node.dataset.words || "").includes(word));
  };

  const filter = () => {
    const fits = wanted();
    let count = 0;
    for (const entry of entries) {
      entry.hidden = !fits(entry);
      count += !entry.hidden;
    }
    for (const problem of problems) problem.hidden = !fits(problem);
    const list = one("attention");
    if (list) list.parentNode.hidden = problems.every((problem) => problem.hidden);
    for (const cell of cells) {
      const entry = one(cell.hash.slice(1));
      cell.classList.toggle("dim", !entry || entry.hidden);
    }
    for (const part of all("section.target")) {
      const mine = all(".entry", part);
      part.hidden = mine.length > 0 && mine.every((entry) => entry.hidden);
    }
    shown.textContent = `${count} of ${entries.length} shown`;
  };

  const open = () => {
    const entry = location.hash && one(location.hash.slice(1));
    if (!entry || entry.tagName !== "DETAILS") return;
    if (entry.hidden) {
      one("search").form.reset();
      filter();
    }
    entry.open = true;
    entry.querySelector("summary").focus({ preventScroll: true });
    entry.scrollIntoView();
  };

  const move = (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step || !event.target.matches("a.cell")) return;
    event.preventDefault();
    const at = event.target.closest("td"), rows = all(".matrix tbody tr");
    let row = rows.indexOf(at.parentNode), column = at.cellIndex;
    for (;;) {
      row += step[0];
      column += step[1];
      const next = rows[row] && rows[row].cells[column];
      if (!next) return;
      const link = next.querySelector("a.cell");
      if (link) return link.focus();
    }
  };

  const copy = (button) => {
    const block = button.parentNode.querySelector("pre, code");
    const said = (word) => {
      button.textContent = word;
      setTimeout(() => (button.textContent = "copy"), 1500);
    };
    const mark = () => {
      getSelection().selectAllChildren(block);
      said(document.execCommand("copy") ? "copied" : "selected");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(block.textContent).then(() => said("copied"), mark);
    else mark();
  };

  const back = () => {
    const from = document.activeElement && document.activeElement.closest(".entry");
    if (search === document.activeElement) {
      search.value = "";
      filter();
      search.blur();
    } else if (from) {
      from.open = false;
      const cell = cells.find((link) => link.hash === `#${from.id}`);
      if (cell) cell.focus();
    }
  };

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") back();
    else move(event);
  });
  document.addEventListener("click", (event) => {
    if (event.target.matches("button.copy")) copy(event.target);
    const link = event.target.closest("a.cell");
    if (link && link.hash === location.hash) setTimeout(open);
  });
  addEventListener("hashchange", open);
  if (search) {
    const form = search.form;
    form.addEventListener("input", filter);
    form.addEventListener("change", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }
  open();
})();
