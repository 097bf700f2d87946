// Small conveniences; every page works without them. Choices in lists, progress of unfinished runs, verdicts that
// take a moment to compute, menus that close.
(() => {
  "use strict";

  // Runs that are chosen in a list: say how many, and enable what can be done with them.
  for (const list of document.querySelectorAll("form[data-choose]")) {
    const boxes = [...list.querySelectorAll(`input[name="${list.dataset.choose}"]`)];
    const buttons = [...list.querySelectorAll(".bulk button")];
    const hint = list.querySelector('[data-chosen="hint"]');
    const show = () => {
      const chosen = boxes.filter((box) => box.checked).length;
      for (const button of buttons) button.disabled = !chosen;
      hint.parentElement.classList.toggle("active", chosen > 0);
      hint.textContent = chosen ? `${chosen} chosen` : "choose runs to compare, delete or tag them";
    };
    list.addEventListener("change", show);
    show();
  }

  // Menus of filters take effect at once.
  for (const form of document.querySelectorAll("form.filters")) {
    form.addEventListener("change", (event) => { if (event.target.matches("select")) form.requestSubmit(); });
  }

  // Unfinished runs, wherever they are played, as long as the page is visible.
  const going = new Set(document.querySelectorAll("[data-progress]"));
  if (going.size) setInterval(() => { if (!document.hidden) going.forEach(update); }, 2000);

  async function update(place) {
    const found = await ask(`/api/runs/${encodeURIComponent(place.dataset.progress)}/progress`, () => {
      going.delete(place);
      place.textContent = "deleted";
    });
    if (!found) return;
    if (found.complete) { location.reload(); return; }
    const bar = place.querySelector("progress");
    if (bar) { bar.max = found.total; bar.value = found.done; }
    const state = found.in_progress ? "in progress" : "unfinished";
    place.querySelector("span").textContent = found.total
      ? `${state}: ${found.done.toLocaleString("en")} of ${found.total.toLocaleString("en")} ${found.total === 1 ? "trial" : "trials"}`
      : state;
  }

  // Verdicts of a history, one after the other, from the top.
  (async () => {
    for (const link of document.querySelectorAll("a[data-verdict]")) {
      const found = await ask(link.dataset.verdict);
      if (found) link.textContent = called(found.calls) || verdicts(found.sentences) || "compare";
    }
  })();

  // The call of the figure that is shown, of each agent unless all have the same.
  function called(calls) {
    const said = new Map(calls.map(({ of, call }) => [of, call]));
    if (new Set(said.values()).size === 1) return [...said.values()][0];
    return [...said].map(([of, call]) => `${of}: ${call}`).join(", ");
  }

  // Agents with the same verdict are named together; if all have the same, none is.
  function verdicts(sentences) {
    const said = new Map();
    for (const sentence of sentences) {
      const [, who, what] = sentence.match(/^(.*?): (?=\d|no )(.*)$/) ?? [null, "", sentence];
      const agent = who.split(" against ")[0].split(":").at(-1);
      said.set(what, [...(said.get(what) ?? []), agent]);
    }
    if (said.size === 1) return [...said.keys()][0];
    return [...said].map(([what, who]) => `${who.join(", ")}: ${what}`).join("; ");
  }

  // What takes a while says so, and is not sent twice.
  for (const button of document.querySelectorAll("button[data-busy]")) {
    button.form.addEventListener("submit", () => setTimeout(() => {
      button.disabled = true;
      button.textContent = button.dataset.busy;
    }));
  }

  // On a narrow screen the page that is shown may lie outside of the navigation.
  document.querySelector(".top [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

  for (const menu of document.querySelectorAll("details.menu")) {
    document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { menu.open = false; menu.querySelector("summary").focus(); }
    });
  }

  // A drawing is saved as a picture: the file has no script that could draw it.
  for (const link of document.querySelectorAll("a[data-save]")) {
    link.addEventListener("click", async (event) => {
      const drawings = [...document.querySelectorAll("canvas[data-timeline]")];
      if (!drawings.length) return;
      event.preventDefault();
      const address = new URL(location);
      address.searchParams.set("save", "1");
      const saved = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
      for (const drawing of drawings) {
        const place = saved.querySelector(`canvas[data-timeline="${drawing.dataset.timeline}"]`);
        if (!place) continue;
        const picture = saved.createElement("img");
        picture.src = drawing.toDataURL();
        picture.alt = drawing.getAttribute("aria-label") ?? "";
        picture.style.width = "100%";
        place.replaceWith(picture);
      }
      const whole = new Blob([`<!doctype html>\n${saved.documentElement.outerHTML}`], { type: "text/html" });
      const out = Object.assign(document.createElement("a"), { href: URL.createObjectURL(whole), download: "assay-timeline.html" });
      out.click();
      document.documentElement.dataset.saved = out.href;
    });
  }

  async function ask(address, gone = () => {}) {
    try {
      const response = await fetch(address);
      if (response.status === 404) gone();
      return response.ok ? await response.json() : null;
    } catch { return null; }
  }
})();
