// Shows the answers that stand in the page compressed when a reader opens their place, and finds answers by their words.
(() => {
  "use strict";

  const holder = document.getElementById("assay-answers");
  const parts = holder ? JSON.parse(holder.textContent).parts : [];
  const places = [...document.querySelectorAll("details.answer")];
  const inflated = new Map();

  const inflate = (number) => {
    if (!inflated.has(number)) {
      const bytes = Uint8Array.from(atob(parts[number]), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      inflated.set(number, new Response(stream).json());
    }
    return inflated.get(number);
  };

  const fill = async (place) => {
    await Promise.all([...place.querySelectorAll("[data-part]")].map(async (at) => {
      const { part, item } = at.dataset;
      at.removeAttribute("data-part");
      try {
        // HTML that assay wrote: every text in it was escaped then.
        at.outerHTML = (await inflate(Number(part)))[Number(item)];
      } catch {
        at.textContent = "This browser cannot show these answers; the JSON has them.";
      }
    }));
  };
  for (const place of places) {
    place.addEventListener("toggle", () => { if (place.open) fill(place); });
    if (place.open) fill(place);
  }

  const finder = document.querySelector("[data-finder]");
  if (!finder || !places.length) return;
  const words = finder.querySelector("input");
  const which = finder.querySelector("select");
  const said = finder.querySelector("output");
  finder.hidden = false;
  const texts = new Map();
  let latest = 0;

  const find = async () => {
    const turn = (latest += 1);
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length && !texts.size) {
      said.textContent = "reading …";
      await Promise.all(places.map(fill));
      for (const place of places) texts.set(place, place.textContent.toLowerCase());
    }
    if (turn !== latest) return;
    let shown = 0;
    for (const place of places) {
      const state = place.dataset.state ?? "";
      const fits = (which.value === "all" || state.split(" ").includes(which.value)) &&
        wanted.every((word) => texts.get(place).includes(word));
      place.hidden = !fits;
      shown += fits;
    }
    const all = shown === places.length;
    said.textContent = all ? `${places.length.toLocaleString("en")} shown` : `${shown.toLocaleString("en")} of ${places.length.toLocaleString("en")} shown`;
    document.documentElement.dataset.found = String(turn);
  };
  let waiting;
  words.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 150); });
  which.addEventListener("change", find);
  find();
})();
