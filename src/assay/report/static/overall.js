// Computes the overall again while its reader changes the weights: which agent comes first, by how much, and in which
// ranges the first stays first. Mirrors `assay/compare/standing.py` operation for operation, and the words of
// `assay/report/overall.py` and `assay/report/html/agents/standing.py`; a test compares the results of both.
(() => {
  "use strict";

  const TIE = 1e-12;
  const MOST_PARTS = 3;
  const LEAST_SHOWN = 0.0005;
  const root = document.querySelector('[data-overall="weights"]');
  if (!root) return;
  const { agents, groups, criteria, values, weights: opening, presets, most, ...certainty } = JSON.parse(
    document.getElementById("assay-overall").textContent,
  );
  const groupOf = criteria.map((criterion) => groups.indexOf(criterion.group));
  const part = (name) => document.querySelector(`[data-overall="${name}"]`);
  const sliders = [...root.querySelectorAll(".weight")].map((row) => ({
    row,
    kind: "group" in row.dataset ? "groups" : "criteria",
    at: Number(row.dataset.group ?? row.dataset.criterion),
    input: row.querySelector("input"),
  }));
  const buttons = [...document.querySelectorAll("[data-preset], [data-reset]")];
  let now = copy(opening);

  for (const { input, kind, at } of sliders) {
    input.disabled = false;
    input.addEventListener("input", () => { now[kind][at] = Number(input.value); show(); });
  }
  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener("click", () => {
      now = copy("reset" in button.dataset ? opening : presets[button.dataset.preset]);
      show();
    });
  }
  show();

  // --- what follows from the weights ---

  function standing() {
    const weighed = criteria.map((_, at) => weight(at));
    const total = sum(weighed);
    if (!total) return { values: [], order: [], winners: [] };
    const overall = values.map((means) => sum(weighed.map((one, at) => one * means[at])) / total);
    const best = Math.max(...overall);
    const all = agents.map((_, at) => at);
    const winners = all.filter((at) => best - overall[at] <= TIE);
    const rest = all.filter((at) => !winners.includes(at)).sort((a, b) => overall[b] - overall[a]);
    return { values: overall, order: [...winners, ...rest], winners };
  }

  function weight(at) { return now.groups[groupOf[at]] * now.criteria[at]; }

  function kept(kind, at, winners) {
    const moved = criteria.map((_, place) => {
      if (kind === "groups") return groupOf[place] === at ? now.criteria[place] : 0;
      return place === at ? now.groups[groupOf[place]] : 0;
    });
    const still = criteria.map((_, place) => (moved[place] ? 0 : weight(place)));
    const set = now[kind][at];
    let low = { end: 0, slope: 0, agent: null };
    let high = { end: Infinity, slope: 0, agent: null };
    for (const winner of winners) {
      for (let other = 0; other < agents.length; other += 1) {
        const gaps = values[winner].map((value, place) => value - values[other][place]);
        const slope = sum(moved.map((move, place) => move * gaps[place]));
        if (Math.abs(slope) <= TIE) continue;
        const end = winners.includes(other) ? set : -sum(still.map((one, place) => one * gaps[place])) / slope;
        if (slope > 0 && (end > low.end || (end === low.end && slope > low.slope && low.slope > 0))) {
          low = { end, slope, agent: other };
        } else if (slope < 0 && (end < high.end || (end === high.end && slope < high.slope))) {
          high = { end, slope, agent: other };
        }
      }
    }
    return { low: Math.min(low.end, set), high: Math.max(high.end, set), below: low.agent, above: high.agent };
  }

  function sum(numbers) {
    let total = 0;
    for (const number of numbers) total += number;
    return total;
  }

  // --- what is shown of it ---

  function show() {
    const found = standing();
    const is = (weights) => JSON.stringify(now) === JSON.stringify(weights);
    const preset = Object.keys(presets).find((title) => is(presets[title]));
    // Intervals come from resamples, which are known for the opening weights and the presets.
    const moved = !is(opening) && preset === undefined;
    certain(is(opening) || preset === undefined ? certainty.opening : certainty.intervals[preset]);
    part("sentence").replaceChildren(...sentence(found));
    part("made").replaceChildren(made(found));
    document.querySelector("#overall").classList.toggle("stale", moved);
    for (const note of document.querySelectorAll(".stale-note")) note.hidden = !moved;
    rows(found);
    for (const { row, kind, at, input } of sliders) {
      const range = found.winners.length ? kept(kind, at, found.winners) : null;
      input.value = now[kind][at];
      row.querySelector("output").textContent = String(Number(now[kind][at].toFixed(4)));
      row.querySelector("small").replaceChildren(...words(range));
      const [low, high] = range ? [Math.min(range.low, most), Math.min(range.high, most)] : [0, 0];
      const band = row.querySelector(".band i").style;
      band.left = `${(100 * low) / most}%`;
      band.width = `${(100 * (high - low)) / most}%`;
    }
    for (const button of buttons) {
      const target = presets[button.dataset.preset];
      if (target) button.setAttribute("aria-pressed", is(target));
    }
    document.documentElement.dataset.overall = "done";
  }

  function certain({ rows, chance }) {
    rows.forEach(({ left, width, ends, share }, agent) => {
      const row = part("rows").querySelector(`[data-agent="${agent}"]`);
      const whisker = row.querySelector(".whisker");
      whisker.hidden = width === "0%";
      whisker.style.left = left;
      whisker.style.width = width;
      row.querySelector(".ends").textContent = ends;
      row.querySelector(".share").textContent = share;
    });
    const words = part("chance");
    // Markup that assay wrote, with the names in it escaped.
    words.innerHTML = chance;
    words.parentElement.hidden = !chance;
  }

  function rows(found) {
    const body = part("rows");
    const order = found.order.length ? found.order : agents.map((_, at) => at);
    order.forEach((agent, place) => {
      const row = body.querySelector(`[data-agent="${agent}"]`);
      const value = found.values[agent];
      row.querySelector(".rank").textContent = value === undefined ? "–" : String(place + 1);
      row.querySelector(".value").textContent = value === undefined ? "–" : value.toFixed(3);
      row.querySelector(".fill").style.width = `${100 * (value ?? 0)}%`;
      body.append(row);
    });
  }

  function sentence({ values: overall, order, winners }) {
    if (!winners.length) return ["Nothing counts: give something a weight above 0."];
    const value = overall[order[0]].toFixed(3);
    if (winners.length > 1) {
      const names = winners.flatMap((agent, place) => [
        place === 0 ? "" : place === winners.length - 1 ? " and " : ", ", named(agent),
      ]);
      return [...names, ` tie for first with ${value}.`];
    }
    if (order.length === 1) return [named(order[0]), ` has ${value} overall.`];
    const lead = overall[order[0]] - overall[order[1]];
    const ahead = lead >= 0.0005 ? `${lead.toFixed(3)} ahead` : "less than 0.001 ahead";
    return [named(order[0]), ` comes first with ${value}, ${ahead} of `, named(order[1]), "."];
  }

  function made({ order, winners }) {
    if (winners.length !== 1 || order.length < 2) return "";
    const weighed = criteria.map((_, at) => weight(at));
    const total = sum(weighed);
    const [ahead, behind] = order.map((agent) => values[agent]);
    const parts = criteria
      .map((criterion, at) => ({ name: criterion.name, gain: (weighed[at] * (ahead[at] - behind[at])) / total }))
      .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain))
      .filter(({ gain }) => Math.abs(gain) >= LEAST_SHOWN);
    if (!parts.length) return "";
    const said = parts.slice(0, MOST_PARTS).map(({ name, gain }) => `${name.replaceAll("_", " ")} ${signed(gain)}`);
    const more = parts.length > MOST_PARTS ? ` and ${parts.length - MOST_PARTS} more` : "";
    return `The lead comes from ${said.join(", ")}${more}.`;
  }

  function signed(value) { return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`; }

  function words(range) {
    if (!range) return ["–"];
    const { low, high, below, above } = range;
    if (low === 0 && high >= most) return [high === Infinity ? "any weight" : `any weight up to ${most}`];
    if (low === high) return [`only at ${low.toFixed(2)}`];
    const first = low === 0 ? "0" : low.toFixed(2);
    const said = [high === Infinity ? `${first} and more` : `${first} to ${high >= most ? most : high.toFixed(2)}`];
    if (below !== null) said.push("; below ", named(below));
    if (above !== null && high < most) said.push("; above ", named(above));
    return said;
  }

  // A name chosen by users, whose writing direction does not spread to its neighbours.
  function named(agent) {
    const element = document.createElement("bdi");
    element.textContent = agents[agent];
    return element;
  }

  function copy({ criteria: own, groups: shared }) { return { criteria: [...own], groups: [...shared] }; }
})();
