// Evidence: a metric marks its words in the answer, and a number in the answer leads to its line, also from an address.
(() => {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-metric]");
    if (button) { toggle(button); return; }
    const link = event.target.closest?.("sup a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();     // a second click opens it again
  });

  // Only the words of one metric stay marked; pressing it again marks all.
  function toggle(button) {
    const place = button.closest(".agent"), on = button.getAttribute("aria-pressed") !== "true";
    for (const one of place.querySelectorAll("button[data-metric]")) one.setAttribute("aria-pressed", String(on && one === button));
    const lines = [...place.querySelectorAll(`[data-of="${CSS.escape(button.dataset.metric)}"]`)];
    const numbers = new Set(lines.map((line) => line.id.split("-").at(-1)));
    for (const mark of place.querySelectorAll(".said mark[data-n]")) {
      mark.classList.toggle("dim", on && !mark.dataset.n.split(" ").some((one) => numbers.has(one)));
    }
    for (const line of place.querySelectorAll("[data-of]")) line.closest("tr").classList.toggle("now", on && lines.includes(line));
  }

  function reveal() {
    const line = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!line) return;
    for (let up = line; up; up = up.parentElement) if (up.matches("details")) up.open = true;
    line.scrollIntoView({ block: "center" });
  }

  addEventListener("hashchange", reveal);
  reveal();
})();
