// Goes through the steps of a trace or a sequence: ← and →, or the buttons. Escape shows them all again.
(() => {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-walk]");
    if (button) walk(button.closest(".stepped"), button.dataset.walk === "on" ? 1 : -1);
  });
  document.addEventListener("keydown", (event) => {
    const stepped = event.target.closest?.(".stepped");
    const by = { ArrowRight: 1, ArrowLeft: -1, Escape: 0 }[event.key];
    if (!stepped || by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(stepped, by);
  });

  function walk(stepped, by) {
    const steps = [...stepped.querySelectorAll("[data-step]")];
    const now = Number(stepped.dataset.at ?? 0) + by;      // 0: all of them
    const at = by === 0 ? 0 : Math.min(steps.length, Math.max(0, now));
    if (at) stepped.dataset.at = String(at); else delete stepped.dataset.at;
    steps.forEach((step, number) => {
      step.classList.toggle("now", number + 1 === at);
      step.classList.toggle("later", at > 0 && number + 1 > at);
    });
    stepped.querySelector("output").textContent =
      at ? `${at} of ${steps.length}: ${steps[at - 1].dataset.step}` : `${steps.length} steps`;
  }
})();
