// The timeline as an application: what is shown, how it is moved, what is asked of the server, and the address of it all.
(() => {
  "use strict";

  const { Tiles, Drawing, clock, TOP } = window.assayTimeline, around = window.assayTimeline;
  const known = JSON.parse(document.getElementById("assay-timeline")?.textContent || "null");
  if (!known) return;
  const part = (name) => document.querySelector(`[data-timeline="${name}"]`);
  const main = part("main"), overview = part("overview"), curve = part("curve"), slider = part("shift"), words = part("shift-words");
  const status = part("status"), below = part("window"), find = part("find"), help = part("help"), worst = part("worst");
  const OUTCOMES = ["matched", "missed", "inserted", "substituted"];
  const SHORTEST = 2000, ROWS = 14, STEP_MS = 5;

  const state = {
    from: known.window?.[0] ?? -0.01 * known.span_us, to: known.window?.[1] ?? 1.01 * known.span_us, span: known.span_us,
    shift: known.shift_us, asked: known.shift_us, shown: [known.shift_us], lanes: [], lane: null, layout: 0, first: 0,
    brush: null, hover: null, focus: known.at ?? null, playing: null, tip: null, tipY: 0,
    errors: [], actions: [], curve: known.f1_by_shift, most: Number(slider.max), figures: null, worst: [], version: 0,
  };
  const ask = (path, given) => `${path}?${new URLSearchParams({ ...known.query, ...given })}`;
  const drawing = new Drawing(main);
  const tiles = new Tiles((shift, level, at) => ask("/api/timeline/tile", { shift, level, at }), () => { settle(); redraw(); });

  const frames = known.has_frames ? new around.Frames(part("frame"), part("frame-words"), (at, width) => ask("/timeline/frame", { at, width, shift: state.shift })) : null;

  // --- drawing, once for each frame at most ---
  let due = false;
  function redraw() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; frame(); });
  }

  function frame() {
    if (state.playing != null) play();
    want();
    if (drawing.draw(state, tiles)) redraw();
    around.overview(overview, state, drawing.colours, drawing.look);
    around.curve(curve, state, drawing.colours, drawing.look);
    frames?.show(state.playing ?? state.focus ?? state.hover ?? Math.max(0, state.from), state.shift);
    document.documentElement.dataset.timeline = tiles.waiting ? "loading" : "done";
  }

  function want() {
    const plot = Math.max(1, main.clientWidth - drawing.gutter), usPerPixel = (state.to - state.from) / plot;
    const level = Tiles.level(usPerPixel), length = Tiles.length(level);
    const low = Math.min(0, -state.asked), high = state.span + Math.max(0, -state.asked);
    const inside = (at) => (at + 1) * length > low && at * length < high;
    const places = Tiles.places(level, state.from, state.to).filter(inside);
    const beside = [places[0] - 1, places.at(-1) + 1].filter((at) => Number.isFinite(at) && inside(at));
    tiles.want([...places, ...beside].map((at) => [state.asked, level, at]));
    if (!tiles.waiting) settle();
  }

  // While the slider moves, the tiles of the shift that was matched last are asked for; those of the one before are drawn, moved,
  // until all of them are there, so that nothing flickers and the server is asked no faster than it answers.
  let settled = null;
  function settle() {
    if (tiles.waiting) return;
    state.shown = [state.asked];
    settled?.();
    settled = null;
  }

  // --- moving ---
  function show(from, to) {
    const length = Math.min(Math.max(to - from, SHORTEST), 1.2 * state.span + 1e6), middle = (from + to) / 2;
    const edge = 0.5 * length;
    const at = Math.min(Math.max(middle, -edge + 0.1 * length), state.span + edge - 0.1 * length);
    state.from = at - length / 2; state.to = at + length / 2;
    redraw();
    later();
  }

  function zoom(factor, around = (state.from + state.to) / 2) {
    show(around - (around - state.from) * factor, around + (state.to - around) * factor);
  }

  const pan = (share) => { const by = share * (state.to - state.from); show(state.from + by, state.to + by); };
  const fit = () => show(-0.01 * state.span, 1.01 * state.span);

  function go(us, length = Math.min(state.to - state.from, 4e6)) {
    state.focus = us;
    show(us - length / 2, us + length / 2);
  }

  // --- what the server says ---
  let timer = 0, asking = null, again = false;
  function later() { clearTimeout(timer); timer = setTimeout(tell, 180); }

  async function tell() {
    const [from, to] = (state.brush ?? [state.from, state.to]).map(Math.round);
    address();
    asking?.abort();
    asking = new AbortController();
    try {
      const response = await fetch(ask("/timeline/window", { from, to, shift: state.shift }), { signal: asking.signal });
      if (!response.ok) throw new Error("refused");
      const template = document.createElement("template");
      const open = below.querySelector("details")?.open;
      template.innerHTML = await response.text();    // made and escaped by the server
      below.replaceChildren(template.content);
      if (open) below.querySelector("details")?.setAttribute("open", "");
      const value = below.querySelector(".tl-figures dd")?.firstChild?.textContent ?? "–";
      say(`${state.brush ? "Chosen" : "Shown"}: ${clock(from, 1e4)} to ${clock(to, 1e4)}, F1 ${value}`);
    } catch (error) {
      if (error.name !== "AbortError") say("The server does not answer; what is drawn may be old.");
    }
  }

  const say = (text) => { status.textContent = text; };

  function address() {
    const given = { ...known.query, from: Math.round(state.from), to: Math.round(state.to) };
    if (state.shift) given.shift = state.shift;
    if (state.focus != null) given.at = Math.round(state.focus);
    history.replaceState(null, "", `/timeline?${new URLSearchParams(given)}`);
    // The baselines are looked at in the same window.
    for (const link of part("sides").querySelectorAll("a")) {
      const to = new URL(link.href);
      for (const name of ["from", "to", "at"]) if (name in given) to.searchParams.set(name, given[name]);
      link.href = to;
    }
  }

  // One question at a time; a slider that moves on is answered for where it is then.
  let matching = false;
  async function match() {
    if (matching) { again = true; return; }
    matching = true;
    const shift = state.shift;
    try {
      const found = await (await fetch(ask("/api/timeline/whole", { shift }))).json();
      Object.assign(state, { errors: found.errors, actions: found.actions, figures: found.figures, worst: found.worst, version: state.version + 1 });
      label(shift);
      list();
      state.asked = shift;
      const there = new Promise((wake) => { settled = wake; });
      redraw();
      await there;
    } catch { say("The server does not answer; what is drawn may be old."); }
    matching = false;
    if (again) { again = false; match(); }
  }

  function label(shift) {
    const f1 = state.figures?.f1;
    words.textContent = `${shift / 1000} ms  ·  F1 ${f1 == null ? "–" : f1.toFixed(3)}`;
  }

  function list() {
    const first = worst.options[0];
    worst.replaceChildren(first, ...state.worst.map((one, at) => {
      const option = new Option(`${at + 1}.  ${clock(one.from_us, 1e6)}: ${one.errors} ${one.errors === 1 ? "error" : "errors"}`, String(at));
      return option;
    }));
  }

  function shift(us) {
    const most = state.most * 1000, to = Math.round(Math.min(most, Math.max(-most, us)));
    if (to === state.shift) return;
    state.shift = to;
    slider.value = to / 1000;
    words.textContent = `${to / 1000} ms`;
    redraw();
    match();
    later();
  }

  async function error(backwards) {
    const after = Math.round(state.focus ?? (backwards ? state.to : state.from));
    const given = { shift: state.shift, after, backwards: backwards ? 1 : 0, ...(state.lane == null ? {} : { lane: state.lane }) };
    const { error: found } = await (await fetch(ask("/api/timeline/error", given))).json();
    if (!found) { say(`There is no ${backwards ? "earlier" : "later"} error${state.lane == null ? "" : " of this key"}.`); return; }
    go(found.us);
    reveal(found.lane);
  }

  function jump(at) {
    const one = state.worst[at];
    if (!one) return;
    state.focus = null;
    show(one.from_us - 2e5, one.to_us + 2e5);
  }

  // --- lanes ---
  function layout() {
    const text = find.value.trim().toLowerCase();
    const wanted = known.lanes.filter((lane) => !text || lane.name.toLowerCase() === text || (text.length > 1 && lane.name.toLowerCase().includes(text)));
    const all = wanted.length || !text ? wanted : known.lanes.filter((lane) => lane.name.toLowerCase().startsWith(text));
    state.first = Math.max(0, Math.min(state.first, all.length - ROWS));
    state.lanes = all.slice(state.first, state.first + ROWS);
    state.layout++;
    redraw();
    if (all.length > ROWS) say(`Keys ${state.first + 1} to ${state.first + state.lanes.length} of ${all.length}; ↑ and ↓ show the others.`);
  }

  const scroll = (by) => { state.first += by; layout(); };

  function reveal(lane) {
    if (state.lanes.some((one) => one.lane === lane)) return;
    find.value = "";
    state.first = known.lanes.findIndex((one) => one.lane === lane) - 3;
    layout();
  }

  // --- playing: as fast as it was, or slower or faster ---
  let last = null;
  const speed = part("speed"), player = document.querySelector("[data-act=play]");
  function play() {
    const now = performance.now();
    state.playing += last == null ? 0 : 1000 * Number(speed.value) * (now - last);
    last = now;
    if (state.playing > state.span) { state.playing = state.span; stop(); return; }
    const length = state.to - state.from;
    if (state.playing > state.from + 0.8 * length) {
      const by = state.playing - state.from - 0.8 * length;
      state.from += by; state.to += by;
    }
    setTimeout(redraw);
  }
  function playing(on) {
    player.textContent = on ? "❚❚" : "▶";
    player.setAttribute("aria-label", on ? "Pause" : "Play");
    player.title = `${on ? "Pause" : "Play"} (Space)`;
  }
  // The cursor stays where playing ended, and playing goes on from the cursor.
  function stop() { state.focus = state.playing; state.playing = null; last = null; playing(false); redraw(); later(); }
  function toggle() {
    if (state.playing != null) { stop(); return; }
    const inside = state.focus != null && state.focus >= state.from && state.focus < Math.min(state.to, state.span);
    const begin = inside ? state.focus : state.from;
    if (state.to - state.from > 2e7) zoom(1e7 / (state.to - state.from), begin);
    state.playing = Math.max(0, begin); state.focus = null;
    playing(true);
    redraw();
  }
  function step(by) {
    const to = frames?.beside(by);
    if (to == null) { say(frames ? `There is no ${by < 0 ? "earlier" : "later"} frame.` : "This recording has no frames to step through."); return; }
    if (state.playing != null) stop();
    state.focus = to;
    if (to < state.from || to > state.to) show(to - (state.to - state.from) / 2, to + (state.to - state.from) / 2);
    else { redraw(); later(); }
  }

  // --- mouse, pen and fingers ---
  const held = new Map();
  let gesture = null;
  const at = (event, canvas = main) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const time = (px) => state.from + (px - drawing.gutter) / (main.clientWidth - drawing.gutter) * (state.to - state.from);

  main.addEventListener("wheel", (event) => {
    event.preventDefault();
    const wide = Math.abs(event.deltaX) > Math.abs(event.deltaY), unit = event.deltaMode ? 30 : 1;
    if (wide || event.shiftKey) pan((event.deltaX || event.deltaY) * unit / main.clientWidth);
    else zoom(Math.exp(Math.min(240, Math.max(-240, event.deltaY * unit)) * 0.0025), time(at(event)[0]));
  }, { passive: false });

  main.addEventListener("pointerdown", (event) => {
    const [px, py] = at(event);
    main.setPointerCapture(event.pointerId);
    held.set(event.pointerId, px);
    if (held.size === 2) { gesture = { kind: "pinch", apart: spread(), from: state.from, to: state.to, middle: time(centre()) }; return; }
    if (px < drawing.gutter) { gesture = { kind: "name", py }; return; }
    const kind = event.shiftKey || py < TOP ? "brush" : "pan";
    gesture = { kind, px, us: time(px), from: state.from, to: state.to, moved: false };
  });
  const spread = () => { const [a, b] = held.values(); return Math.max(10, Math.abs(a - b)); };
  const centre = () => { const [a, b] = held.values(); return (a + b) / 2; };

  main.addEventListener("pointermove", (event) => {
    const [px, py] = at(event);
    if (held.has(event.pointerId)) held.set(event.pointerId, px);
    if (gesture?.kind === "pinch" && held.size === 2) {
      const factor = gesture.apart / spread();
      show(gesture.middle - (gesture.middle - gesture.from) * factor, gesture.middle + (gesture.to - gesture.middle) * factor);
      return;
    }
    if (gesture?.kind === "pan") {
      gesture.moved ||= Math.abs(px - gesture.px) > 3;
      const by = (gesture.px - px) / (main.clientWidth - drawing.gutter) * (gesture.to - gesture.from);
      if (gesture.moved) show(gesture.from + by, gesture.to + by);
    } else if (gesture?.kind === "brush") {
      gesture.moved ||= Math.abs(px - gesture.px) > 3;
      if (gesture.moved) { state.brush = [gesture.us, time(Math.max(drawing.gutter, px))].sort((a, b) => a - b); redraw(); later(); }
    } else point(px, py);
  });

  function point(px, py) {
    const { us, lane, action } = drawing.under(state, tiles, px, py);
    state.hover = px >= drawing.gutter ? us : null;
    state.tip = null;
    if (action) {
      const [side, , , press, outcome, partner, other] = action;
      const verb = lane.kind === "scroll" ? "" : press ? " press" : " release";
      state.tip = [`${side ? "predicted" : "true"} ${lane.name}${verb}: ${OUTCOMES[outcome]}`];
      if (outcome === 0) state.tip.push(`${side ? "" : "predicted "}${Math.abs((partner - action[2]) / 1000).toFixed(1)} ms ${(partner < action[2]) !== !!side ? "earlier" : "later"}${side ? " than true" : ""}`);
      if (outcome === 3) state.tip.push(`${side ? "true" : "predicted"}: ${known.lanes.find((one) => one.lane === other)?.name ?? "another"}`);
      state.hover = action[2];
      state.tipY = py + 14;
    }
    main.style.cursor = px < drawing.gutter ? (lane ? "pointer" : "default") : py < TOP ? "col-resize" : "grab";
    redraw();
  }

  function release(event) {
    if (held.has(event.pointerId) && gesture?.kind === "name" && event.type === "pointerup") {
      const { lane } = drawing.under(state, tiles, 1, gesture.py);
      if (lane) { state.lane = state.lane === lane.lane ? null : lane.lane; redraw(); say(state.lane == null ? "All keys" : `${lane.name} chosen: E and Q go through its errors.`); }
    }
    if (gesture?.kind === "brush" && !gesture.moved) { state.brush = null; redraw(); later(); }
    if (gesture?.kind === "pan" && !gesture.moved) { state.focus = gesture.us; if (state.playing != null) { state.playing = gesture.us; state.focus = null; } redraw(); later(); }
    held.delete(event.pointerId);
    if (!held.size) gesture = null;
  }
  main.addEventListener("pointerup", release);
  main.addEventListener("pointercancel", release);
  main.addEventListener("pointerleave", () => { state.hover = null; state.tip = null; redraw(); });
  main.addEventListener("dblclick", (event) => zoom(0.4, time(at(event)[0])));

  let steering = false;
  function steer(event) {
    const [px] = at(event, overview), us = (px - drawing.gutter) / (overview.clientWidth - drawing.gutter) * state.span;
    const length = Math.min(state.to - state.from, state.span / 2);
    show(us - length / 2, us + length / 2);
  }
  overview.addEventListener("pointerdown", (event) => { steering = true; overview.setPointerCapture(event.pointerId); steer(event); });
  overview.addEventListener("pointermove", (event) => { if (steering) steer(event); });
  for (const end of ["pointerup", "pointercancel"]) overview.addEventListener(end, () => { steering = false; });

  // --- buttons, fields, keys ---
  const acts = {
    fit, in: () => zoom(0.6), out: () => zoom(1 / 0.6), back: () => pan(-0.25), forth: () => pan(0.25), play: toggle,
    previous: () => error(true), next: () => error(false), help: () => { help.open = !help.open; if (help.open) help.querySelector("summary").focus(); },
    brush: () => { state.brush = [state.from, state.to]; redraw(); later(); },
    clear: () => { state.brush = null; state.focus = null; state.lane = null; redraw(); later(); },
    unshift: () => shift(0), earlier: () => shift(state.shift + STEP_MS * 1000), later: () => shift(state.shift - STEP_MS * 1000),
    find: () => { find.focus(); find.select(); }, before: () => step(-1), after: () => step(1),
  };
  const KEYS = { f: "fit", w: "in", s: "out", a: "back", d: "forth", q: "previous", e: "next", p: "previous", n: "next", b: "brush", "?": "help", "/": "find", " ": "play", j: "before", l: "after", Escape: "clear", ",": "later", ".": "earlier" };

  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => (button.dataset.act === "peak" ? shift(Number(button.dataset.lag)) : acts[button.dataset.act]()));
  }
  slider.addEventListener("input", () => shift(1000 * Number(slider.value)));
  find.addEventListener("input", () => { state.first = 0; layout(); });
  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { find.value = ""; layout(); }
    if (event.key === "Escape" || event.key === "Enter") main.focus();
  });
  worst.addEventListener("change", () => { if (worst.value) jump(Number(worst.value)); worst.value = ""; });
  part("episode")?.addEventListener("change", (event) => event.target.form.requestSubmit());
  below.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-us]");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(Number(link.dataset.us), 2e6);
    main.scrollIntoView({ block: "center" });
  });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !part("keys").checked) return;
    const inField = event.target.matches?.("input:not([type=range]), select, textarea");
    const pressing = event.target.matches?.("button, a, summary") && (event.key === " " || event.key === "Enter");
    if (inField || pressing) return;
    const arrows = { ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), ArrowUp: () => scroll(-1), ArrowDown: () => scroll(1) };
    if (event.target === main && arrows[event.key]) { event.preventDefault(); arrows[event.key](); return; }
    if (/^[1-8]$/.test(event.key)) { jump(Number(event.key) - 1); return; }
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    acts[act]();
  });

  new ResizeObserver(redraw).observe(main);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawing.refresh(); redraw(); });
  layout();
  label(state.shift);
  match();
})();
