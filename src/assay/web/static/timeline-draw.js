// Draws a timeline: axis, pointer speed, frames, and a lane for each key with the true hold above the predicted one.
// Outcomes have a colour and a shape, those of the reports: disc matched, ring missed, triangle inserted, diamond substituted.
(() => {
  "use strict";

  const { Tiles, BINS, bar, hold, join, mark, packed, shortened } = window.assayTimeline;
  const { MATCHED, MISSED, INSERTED, SUBSTITUTED, BIN_PIXELS } = window.assayTimeline;
  const AXIS = 24, SPEED = 46, FRAMES = 16, LANE = 34, TOP = AXIS + SPEED + FRAMES, LOWEST = 224;
  const TRUE_Y = 10, PREDICTED_Y = 24, BAR = 8;
  const DISCS = 260, PICTURES = 40, PICTURES_OF_A_FRAME = 2, EDGE = 40;
  const NAMES = ["ink", "muted", "line", "paper", "panel", "accent", "bad", "matched", "substituted", "inserted"];

  function colours(element) {
    const style = getComputedStyle(element), found = {};
    for (const name of NAMES) found[name] = style.getPropertyValue(`--${name}`).trim();
    found.sans = style.getPropertyValue("--sans").trim() || "sans-serif";
    found.outcome = [found.matched, found.bad, found.inserted, found.substituted];
    return found;
  }

  // A canvas as large as its box, in the pixels of the screen.
  function fitted(canvas, height) {
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (height) canvas.style.height = `${height}px`;
    const tall = height || canvas.clientHeight;
    const w = Math.round(width * ratio), h = Math.round(tall * ratio);
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { context, width, height: tall };
  }

  // Round steps of the axis, in microseconds: tens below a second, then seconds, minutes, hours and days as clocks have them.
  const STEPS = [
    ...[...Array(6).keys()].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)),
    ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 864000, 8640000].map((n) => n * 1e6),
  ];

  function clock(us, step) {
    const digits = step >= 1e6 ? 0 : Math.min(6, Math.ceil(-Math.log10(step / 1e6)));
    const size = Math.round(Math.abs(us) / 1e6 * 10 ** digits) / 10 ** digits, sign = us < 0 && size ? "−" : "";
    const two = (n, places = 0) => n.toFixed(places).padStart(places ? places + 3 : 2, "0");
    if (size < 60) return `${sign}${size.toFixed(digits)} s`;
    const hours = Math.floor(size / 3600), minutes = Math.floor(size / 60) % 60, seconds = size - 3600 * hours - 60 * minutes;
    return `${sign}${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds, digits)}`;
  }

  class Drawing {
    constructor(canvas) {
      this.canvas = canvas;
      this.pictures = new Map();
      this.refresh();
      this.fastest = 1;
    }

    refresh() {
      this.colours = colours(this.canvas);
      this.look = (this.look || 0) + 1;
      this.inks = this.colours.outcome.map(packed);
      this.latest = new Map();
      this.marks = [MATCHED, MISSED, INSERTED, SUBSTITUTED].map((outcome) => mark(outcome, this.colours));
    }

    get gutter() { return this.canvas.clientWidth < 560 ? 92 : 108; }

    height(lanes) { return Math.max(LOWEST, TOP + LANE * Math.max(1, lanes) + 6); }

    draw(state, tiles) {
      const { context, width, height } = fitted(this.canvas, this.height(state.lanes.length));
      const c = this.colours, left = this.gutter, plot = width - left;
      const perUs = plot / (state.to - state.from);
      const x = (us) => left + (us - state.from) * perUs;
      this.context = context; this.x = x; this.perUs = perUs; this.width = width; this.bottom = height;
      context.clearRect(0, 0, width, height);
      this.background(state, left, width);
      this.axis(state, left, width, height);
      const level = Tiles.level(1 / perUs), length = Tiles.length(level);
      const rows = new Map(state.lanes.map((lane, at) => [lane.lane, TOP + LANE * at]));
      const shown = [];
      for (const at of Tiles.places(level, state.from, state.to)) {
        const tile = tiles.nearest(state.shift, state.shown, level, at);
        if (tile) shown.push([tile, Math.max(left, Math.round(x(at * length))), Math.min(width, Math.round(x((at + 1) * length)))]);
      }
      let fastest = 1;
      for (const [tile] of shown) for (const side of tile.speed) for (const one of side) if (one > fastest) fastest = one;
      this.fastest = fastest;
      // One way of drawing for the whole view, and one scale for its bars.
      const many = shown.some(([tile]) => tile.counts);
      this.most = many ? 2 ** Math.ceil(Math.log2(Math.max(1, ...shown.map(([tile]) => most(tile))))) : 1;
      this.made = 0; this.isUnfinished = false;
      this.steady = this.before === perUs;    // while it is zoomed, a picture would be of use for one frame
      this.before = perUs;
      for (const [tile, from, to] of shown) {
        if (to <= from) continue;
        const placed = !many && tile.level === level && tile.shift === state.shift;
        context.save();
        context.beginPath();
        context.rect(from, 0, to - from, height);
        context.clip();
        this.movement(tile, state);
        if (many) this.counted(tile, state, rows);
        else if (!placed) this.single(context, x, tile, state, rows);
        context.restore();
        if (placed) this.placed(tile, state, rows);
      }
      this.labels(state, left, height);
      this.brush(state, left, width, height);
      this.cursor(state, left, width, height);
      return this.isUnfinished;
    }

    background(state, left, width) {
      const { context, colours: c } = this;
      state.lanes.forEach((lane, at) => {
        const y = TOP + LANE * at;
        if (at % 2 === 0) { context.fillStyle = c.panel; context.fillRect(left, y, width - left, LANE); }
        if (lane.lane === state.lane) {
          context.fillStyle = c.accent; context.globalAlpha = 0.1;
          context.fillRect(0, y, width, LANE);
          context.globalAlpha = 1;
        }
      });
    }

    axis(state, left, width, height) {
      const { context, colours: c, x } = this;
      const wanted = (state.to - state.from) / Math.max(2, (width - left) / (left < 100 ? 58 : 110));
      const step = STEPS.find((one) => one >= wanted) || STEPS.at(-1);
      context.font = `11px ${c.sans}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      for (let us = Math.ceil(state.from / step) * step; us <= state.to; us += step) {
        context.fillStyle = c.line;
        context.fillRect(Math.round(x(us)), AXIS - 5, 1, height - AXIS + 5);
        context.fillStyle = c.muted;
        const words = clock(us, step), half = context.measureText(words).width / 2;
        if (x(us) - half >= left - 4 && x(us) + half <= width) context.fillText(words, x(us), 10);
      }
      context.fillStyle = c.line;
      context.fillRect(left, AXIS - 1, width - left, 1);
      context.fillRect(left, AXIS + SPEED, width - left, 1);
      context.fillRect(left, TOP - 1, width - left, 1);
    }

    // Where something of a tile is drawn: predictions of a tile at another shift are moved until theirs arrives.
    moved(tile, state, side) { return side ? tile.shift - state.shift : 0; }

    movement(tile, state) {
      const { context, colours: c, x } = this;
      const bin = Tiles.length(tile.level) / BINS, start = tile.at * Tiles.length(tile.level);
      for (const side of [0, 1]) {
        const off = this.moved(tile, state, side), base = AXIS + SPEED - 2, tall = SPEED - 8;
        context.beginPath();
        if (side === 0) context.moveTo(x(start), base);
        tile.speed[side].forEach((speed, at) => {
          const y = base - tall * Math.sqrt(speed / this.fastest);
          context.lineTo(x(start + off + at * bin), y);
          context.lineTo(x(start + off + (at + 1) * bin), y);
        });
        if (side === 0) {
          context.lineTo(x(start + BINS * bin), base);
          context.fillStyle = c.ink; context.globalAlpha = 0.22; context.fill(); context.globalAlpha = 1;
        } else {
          context.strokeStyle = c.accent; context.lineWidth = 1.2; context.stroke();
        }
        context.fillStyle = side ? c.accent : c.muted;
        const frames = tile.frames[side], top = AXIS + SPEED + (side ? 9 : 3);
        for (let at = 0; at < BINS; at++) {
          if (!frames[at]) continue;
          const first = at;
          while (frames[at] > 1 && frames[at + 1] > 1) at++;    // frames that cannot be told apart are one band
          context.fillRect(x(start + off + first * bin), top, frames[at] > 1 ? (at + 1 - first) * bin * this.perUs : 1.2, 4);
        }
      }
    }

    // A picture that is made once; few are kept, since each takes a megabyte.
    kept(key, make) {
      const found = this.pictures.get(key) || make();
      this.pictures.delete(key);
      this.pictures.set(key, found);
      if (this.pictures.size > PICTURES) this.pictures.delete(this.pictures.keys().next().value);
      return found;
    }

    // Counts as bars: matched next to the middle of the lane, errors further out, hollow or striped. Few pictures are made in a
    // frame; a tile whose turn has not come keeps the one of the shift before.
    counted(tile, state, rows) {
      const length = Tiles.length(tile.level), start = tile.at * length;
      for (const side of [0, 1]) {
        const place = `${tile.level} ${tile.at} ${side} ${this.look} ${state.layout}`, key = `${tile.shift} ${this.most} ${place}`;
        let picture = this.pictures.get(key);
        if (!picture && this.made >= PICTURES_OF_A_FRAME && this.latest.has(place)) {
          picture = this.latest.get(place);
          this.isUnfinished = true;
        } else {
          picture = this.kept(key, () => { this.made++; return this.picture(tile, state, rows, side); });
          this.latest.delete(place);
          this.latest.set(place, picture);
          if (this.latest.size > PICTURES) this.latest.delete(this.latest.keys().next().value);
        }
        // Whole pixels, so that no seam shows between tiles.
        const off = this.moved(tile, state, side), from = Math.round(this.x(start + off)), to = Math.round(this.x(start + off + length));
        this.context.drawImage(picture, from, TOP, Math.max(1, to - from), LANE * state.lanes.length);
      }
    }

    // Single actions of a tile: as a picture while it is panned.
    placed(tile, state, rows) {
      const length = Tiles.length(tile.level), start = tile.at * length;
      if (!this.steady) { this.single(this.context, this.x, tile, state, rows, start, start + length); return; }
      const ratio = window.devicePixelRatio || 1, wide = Math.ceil(length * this.perUs) + 2 * EDGE, tall = LANE * state.lanes.length;
      const key = `${tile.shift} ${tile.level} ${tile.at} ${this.perUs} ${this.look} ${state.layout}`;
      const picture = this.kept(key, () => {
        const made = document.createElement("canvas");
        made.width = Math.round(wide * ratio); made.height = Math.max(1, Math.round(tall * ratio));
        const context = made.getContext("2d");
        context.setTransform(ratio, 0, 0, ratio, 0, -TOP * ratio);
        this.single(context, (us) => EDGE + (us - start) * this.perUs, tile, state, rows, start, start + length);
        return made;
      });
      this.context.drawImage(picture, Math.round(this.x(start)) - EDGE, TOP, wide, tall);
    }

    // Written pixel by pixel: thousands of small rectangles are slow to fill.
    picture(tile, state, rows, side) {
      const picture = document.createElement("canvas");
      picture.width = BINS * BIN_PIXELS;
      picture.height = Math.max(1, LANE * state.lanes.length);
      const image = new ImageData(picture.width, picture.height), pixels = new Uint32Array(image.data.buffer);
      const outcomes = side ? [MATCHED, INSERTED, SUBSTITUTED] : [MATCHED, MISSED, SUBSTITUTED], first = side ? 5 : 2;
      for (const row of counts(tile)) {
        const top = rows.get(row[0]), total = row[first] + row[first + 1] + row[first + 2];
        if (top === undefined || !total) continue;
        const tall = Math.max(3, 14 * Math.sqrt(total / this.most)), left = row[1] * BIN_PIXELS;
        let y = top - TOP + LANE / 2 + (side ? 1 : -1);
        for (let place = 0; place < 3; place++) {
          const n = row[first + place];
          if (!n) continue;
          const high = Math.max(2, tall * n / total);
          bar(pixels, picture.width, left, Math.round(side ? y : y - high), Math.round(side ? y + high : y), outcomes[place], this.inks);
          y += side ? high : -high;
        }
      }
      picture.getContext("2d").putImageData(image, 0, 0);
      return picture;
    }

    // Actions one by one; of holds only what lies between two times, so that neighbours do not draw it twice.
    single(context, x, tile, state, rows, from = -Infinity, to = Infinity) {
      const c = this.colours, placed = Number.isFinite(from);
      const low = (placed ? x(from) : 0) - EDGE, high = (placed ? x(to) : this.width) + EDGE;
      context.save();
      if (placed) {
        context.beginPath();
        context.rect(Math.round(x(from)), TOP, Math.round(x(to)) - Math.round(x(from)), LANE * state.lanes.length);
        context.clip();
      }
      for (const [side, lane, start, end, outcome] of tile.holds) {
        if (!rows.has(lane)) continue;
        const off = this.moved(tile, state, side), y = rows.get(lane) + (side ? PREDICTED_Y : TRUE_Y) - BAR / 2;
        // A dashed edge of millions of pixels would take seconds, so a hold is cut where nobody sees it.
        const left = Math.max(low, x(start + off)), right = Math.min(high, x(end + off));
        if (right >= left) hold(context, left, y, Math.max(2, right - left), BAR, outcome, c);
      }
      context.restore();
      const exact = tile.shift === state.shift;
      const many = tile.actions.length > DISCS;
      if (exact) {
        for (const [side, lane, us, , outcome, partner, other] of tile.actions) {
          if (side || partner == null || !rows.has(lane) || !rows.has(other)) continue;
          join(context, x(us), rows.get(lane) + TRUE_Y, x(partner), rows.get(other) + PREDICTED_Y, outcome, c);
        }
      }
      // Marks are copies of a small picture: thousands of arcs in a path are slow to fill.
      for (const wanted of [MATCHED, SUBSTITUTED, INSERTED, MISSED]) {
        if (wanted === MATCHED && many) continue;
        const picture = this.marks[wanted];
        for (const [side, lane, us, , outcome] of tile.actions) {
          if (outcome !== wanted || !rows.has(lane)) continue;
          const y = rows.get(lane) + (side ? PREDICTED_Y : TRUE_Y);
          context.drawImage(picture, x(us + this.moved(tile, state, side)) - 7, y - 7, 14, 14);
        }
      }
    }

    labels(state, left, height) {
      const { context, colours: c } = this;
      context.fillStyle = c.paper;
      context.fillRect(0, 0, left - 1, height);
      context.font = `12px ${c.sans}`;
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillStyle = c.muted;
      const narrow = left < 100;
      context.fillText(narrow ? "speed" : "pointer speed", left - 8, AXIS + SPEED / 2);
      context.fillText("frames", left - 8, AXIS + SPEED + FRAMES / 2);
      state.lanes.forEach((lane, at) => {
        const y = TOP + LANE * at + LANE / 2;
        if (lane.lane === state.lane) { context.fillStyle = c.accent; context.fillRect(0, y - LANE / 2, 3, LANE); }
        context.fillStyle = lane.lane === state.lane ? c.accent : c.ink;
        context.fillText(shortened(context, lane.name, left - 14), left - 8, y);
      });
      if (!state.lanes.length) {
        context.textAlign = "left"; context.fillStyle = c.muted;
        context.fillText("no such key", left + 12, TOP + LANE / 2);
      }
    }

    brush(state, left, width, height) {
      if (!state.brush) return;
      const { context, colours: c, x } = this;
      const from = Math.max(left, x(state.brush[0])), to = Math.min(width, x(state.brush[1]));
      if (to <= from) return;
      context.fillStyle = c.accent; context.globalAlpha = 0.13;
      context.fillRect(from, AXIS, to - from, height - AXIS);
      context.globalAlpha = 1;
      context.fillRect(from, 0, 1.5, height); context.fillRect(to - 1.5, 0, 1.5, height);
      context.fillRect(from, AXIS - 4, to - from, 4);
    }

    cursor(state, left, width, height) {
      const us = state.playing ?? state.focus ?? state.hover;
      if (us == null) return;
      const { context, colours: c, x } = this, at = x(us);
      if (at < left || at > width) return;
      context.fillStyle = state.playing != null || state.focus != null ? c.accent : c.muted;
      context.fillRect(at, AXIS, 1, height - AXIS);
      const words = [clock(us, (state.to - state.from) / 1000), ...(state.tip || [])];
      context.font = `12px ${c.sans}`;
      const wide = Math.max(...words.map((one) => context.measureText(one).width)) + 14;
      const side = at + wide + 6 > width ? at - wide - 4 : at + 5, top = state.tip ? state.tipY : 1;
      context.fillStyle = c.ink;
      context.beginPath();
      context.roundRect(side, top, wide, 6 + 16 * words.length, 4);
      context.fill();
      context.fillStyle = c.paper; context.textAlign = "left";
      words.forEach((one, at) => context.fillText(one, side + 7, top + 11 + 16 * at));
    }

    // What lies under a point: time, lane, and the action if one is close.
    under(state, tiles, px, py) {
      const us = state.from + (px - this.gutter) / this.perUs;
      const lane = state.lanes[Math.floor((py - TOP) / LANE)];
      if (px < this.gutter || py < TOP || !lane) return { us, lane: py >= TOP ? lane : undefined };
      const level = Tiles.level(1 / this.perUs);
      const tile = tiles.get(state.shift, level, Math.floor(us / Tiles.length(level)));
      let best = null, distance = 9;
      for (const action of tile?.actions || []) {
        if (action[1] !== lane.lane) continue;
        const y = TOP + LANE * state.lanes.indexOf(lane) + (action[0] ? PREDICTED_Y : TRUE_Y);
        const far = Math.hypot(this.x(action[2]) - px, y - py);
        if (far < distance) { best = action; distance = far; }
      }
      return { us, lane, action: best };
    }
  }

  // Counts by lane and bin of any tile: one beside tiles of counts is drawn like them.
  function counts(tile) {
    if (tile.counts) return tile.counts;
    if (tile.counted) return tile.counted;
    const bin = Tiles.length(tile.level) / BINS, start = tile.at * BINS, found = new Map();
    for (const [side, lane, us, , outcome] of tile.actions) {
      const at = Math.min(BINS - 1, Math.max(0, Math.floor(us / bin) - start)), key = lane * BINS + at;
      if (!found.has(key)) found.set(key, [lane, at, 0, 0, 0, 0, 0, 0]);
      found.get(key)[(side ? 5 : 2) + (outcome === MATCHED ? 0 : outcome === SUBSTITUTED ? 2 : 1)]++;
    }
    tile.counted = [...found.values()];
    return tile.counted;
  }

  function most(tile) {
    tile.most ??= counts(tile).reduce((best, row) => Math.max(best, row[2] + row[3] + row[4], row[5] + row[6] + row[7]), 1);
    return tile.most;
  }

  window.assayTimeline.Drawing = Drawing;
  window.assayTimeline.fitted = fitted;
  window.assayTimeline.clock = clock;
  window.assayTimeline.TOP = AXIS;
})();
