// A live conversation: sends a message, shows what each agent says as it comes, and then the scored answer in its place.
(() => {
  "use strict";

  const { id, agents } = JSON.parse(document.getElementById("assay-live").textContent);
  const form = document.querySelector('[data-live="form"]');
  const area = form.querySelector('[data-live="message"]');
  const status = form.querySelector('[data-live="status"]');
  const turns = document.querySelector('[data-live="turns"]');
  const send = form.querySelector("button[type=submit]");
  let reviewer = "me";
  try { reviewer = localStorage.getItem("assay-reviewer") || "me"; } catch { /* a browser without storage */ }

  form.addEventListener("submit", (event) => { event.preventDefault(); say(); });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  for (const example of form.querySelectorAll(".example")) {
    example.addEventListener("click", () => { area.value = example.textContent; area.focus(); });
  }
  form.addEventListener("change", tell);

  // What will be unusual in the next turn, also while the choices are folded away.
  function tell() {
    const chosen = ["fault", "quirk", "known"].map((name) => form.querySelector(`[name=${name}]`).value).filter(Boolean);
    form.querySelector('[data-live="unusual"]').textContent = chosen.join(", ") || "none";
  }

  document.addEventListener("click", (event) => {
    const thumb = event.target.closest?.(".thumb");
    if (thumb) rate(thumb);
  });
  document.addEventListener("change", (event) => {
    const opinion = event.target.closest?.(".opinion");
    if (opinion) review(opinion);
  });

  async function say() {
    const message = area.value.trim();
    if (!message || send.disabled) return;
    const fault = form.querySelector("[name=fault]");
    const quirk = form.querySelector("[name=quirk]");
    const known = form.querySelector("[name=known]");
    send.disabled = true;
    status.textContent = "asking …";
    for (const hidden of document.querySelectorAll('[data-live="said"]')) hidden.hidden = false;
    const places = prepare(message);
    area.value = "";
    let isTaken = false;
    try {
      const response = await fetch(`/live/${id}/say`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ message, fault: fault.value, quirk: quirk.value, known: known.value }),
      });
      if (!response.ok) throw new Error((await response.json()).error);
      isTaken = true;
      fault.value = quirk.value = known.value = "";
      form.querySelector("details").open = false;
      tell();
      let isTold = false;
      for await (const [kind, data] of events(response.body)) {
        show(kind, data, places);
        isTold ||= kind === "stored" || kind === "error";
      }
      if (!isTold) throw new TypeError("the stream ended early");
    } catch (error) {
      // The browser's own words for a lost connection differ, and tell a reader nothing.
      status.textContent = isTaken || error instanceof TypeError
        ? "The connection to the server was lost. Reload the page to see what was stored." : String(error.message ?? error);
      // A message that was refused can be sent again; a stream that broke off is not waited for.
      if (!isTaken) { places.section.remove(); area.value ||= message; }
      for (const waiting of places.section.querySelectorAll(".streaming")) waiting.classList.remove("streaming");
    }
    document.documentElement.dataset.turns = String(turns.children.length);
    send.disabled = false;
    area.focus({ preventScroll: true });     // the reader is at the beginning of the answers
  }

  function prepare(message) {
    const section = make("section", turns, { className: "live-turn", id: `turn-${turns.children.length + 1}` });
    make("h2", section, { className: "asked", textContent: message, dir: "auto" });
    const truth = make("div", section, { className: "truth" });
    const beside = make("div", section, { className: `beside of-${agents.length}` });
    const places = new Map();
    for (const agent of agents) {
      const column = make("div", beside, { className: "agent" });
      make("bdi", make("h3", column), { textContent: agent });
      const place = make("div", column);
      place.dataset.agent = agent;
      place.dataset.state = "waiting";
      make("p", place, { className: "said streaming", dir: "auto" });
      places.set(agent, place);
    }
    section.scrollIntoView({ block: "start", behavior: "smooth" });
    return { section, places, truth };
  }

  function show(kind, data, { places, truth }) {
    if (kind === "waiting") status.textContent = `${data.place} in the queue …`;
    if (kind === "turn") status.textContent = "";
    if (kind === "opening" || kind === "asked") places.get(data.agent).dataset.state = kind;
    if (kind === "piece") places.get(data.agent).querySelector(".streaming")?.append(data.text);
    // The server escapes every text in it, and the page's policy lets no script in it run.
    if (kind === "answer") { fill(places.get(data.agent), data.html); places.get(data.agent).dataset.state = "done"; }
    if (kind === "truth") fill(truth, data.html);
    if (kind === "error") status.textContent = data.error;
  }

  function fill(place, html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    place.replaceChildren(template.content);
  }

  async function* events(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let unread = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      unread += value;
      for (let end; (end = unread.indexOf("\n\n")) >= 0; unread = unread.slice(end + 2)) {
        const lines = unread.slice(0, end).split("\n");
        const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length).trim() ?? "";
        yield [field("event:"), JSON.parse(field("data:") || "{}")];
      }
    }
  }

  function rate(thumb) {
    const opinion = thumb.closest(".opinion");
    const was = thumb.getAttribute("aria-pressed") === "true";
    for (const one of thumb.parentElement.querySelectorAll(".thumb")) one.setAttribute("aria-pressed", "false");
    thumb.setAttribute("aria-pressed", String(!was));
    review(opinion);
  }

  // One after the other: each replaces the one before.
  function review(opinion) {
    const number = opinion.reviews = (opinion.reviews ?? 0) + 1;
    opinion.dataset.stored = "waiting";
    opinion.sending = (opinion.sending ?? Promise.resolve()).then(() => storeReview(opinion)).then((stored) => {
      if (number === opinion.reviews) opinion.dataset.stored = String(stored);
    });
  }

  async function storeReview(opinion) {
    const pressed = opinion.querySelector('[data-passed][aria-pressed="true"]');
    const score = opinion.querySelector('[data-score][aria-pressed="true"]');
    const body = {
      agent: opinion.dataset.by,
      turn: Number(opinion.dataset.turn),
      reviewer,
      passed: pressed ? pressed.dataset.passed === "yes" : null,
      score: score ? Number(score.dataset.score) : null,
      comment: opinion.querySelector("input").value,
    };
    const response = await fetch(`/live/${id}/review`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    });
    return response.ok;
  }

  function make(tag, parent, properties = {}) {
    const element = Object.assign(document.createElement(tag), properties);
    parent?.append(element);
    return element;
  }
})();
