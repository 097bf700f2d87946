// Review by keyboard alone: each key presses the button or follows the link that is shown for it.
(() => {
  "use strict";

  const form = document.querySelector('[data-review="form"]');
  if (!form) return;
  const comment = form.querySelector("[name=comment]");
  const help = document.querySelector('[data-review="help"]');
  for (const button of form.querySelectorAll("[name=passed], [name=score]")) {
    button.addEventListener("click", () => { form.dataset.sent = button.name; });
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === comment) {
      if (event.key === "Escape") comment.blur();
      if (event.key === "Enter") { event.preventDefault(); comment.blur(); form.querySelector("[aria-pressed=true]")?.click(); }
      return;
    }
    if (event.target.matches?.("input, select, textarea")) return;
    const link = { ArrowRight: "next", ArrowLeft: "prev" }[event.key];
    if (link) { document.querySelector(`.pager a[rel=${link}]`)?.click(); return; }
    if (event.key === "c") { event.preventDefault(); comment.focus(); return; }
    if (event.key === "?") { help.open = !help.open; return; }
    form.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
  });
})();
