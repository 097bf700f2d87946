// Tiles of a timeline: asked for when they are wanted, a few at a time, and kept; what is not wanted any more is not asked for.
// Level L has bins of 2^L × 65,536 ns and a tile has 128 bins, as the server cuts them.
window.assayTimeline = {};
(() => {
  "use strict";

  const BINS = 128, FINEST_US = 65.536, LEVELS = 32, PIXELS_OF_A_BIN = 4;
  const AT_ONCE = 4, KEPT = 800, COARSER = 6;

  class Tiles {
    constructor(address, arrived) {
      this.address = address;     // of the tile of a shift, level and place
      this.arrived = arrived;
      this.kept = new Map();
      this.wanted = [];
      this.asked = new Set();
      this.failed = new Set();
    }

    static level(usPerPixel) {
      const level = Math.round(Math.log2(PIXELS_OF_A_BIN * usPerPixel / FINEST_US));
      return Math.min(LEVELS - 1, Math.max(0, level));
    }

    static length(level) { return BINS * FINEST_US * 2 ** level; }

    // The places of all tiles of a level that reach into a stretch of time.
    static places(level, from, to) {
      const length = Tiles.length(level), places = [];
      for (let at = Math.floor(from / length); at * length < to; at++) places.push(at);
      return places;
    }

    get(shift, level, at) {
      const key = `${shift} ${level} ${at}`, found = this.kept.get(key);
      if (found) { this.kept.delete(key); this.kept.set(key, found); }   // the one used last is the last to go
      return found;
    }

    // The tile itself, or what is nearest to it: the same at another shift, or a coarser one that covers it.
    nearest(shift, shown, level, at) {
      const exact = this.get(shift, level, at);
      if (exact) return exact;
      for (const other of shown) {
        const stale = other !== shift && this.get(other, level, at);
        if (stale) return stale;
      }
      for (let up = 1; up <= COARSER && level + up < LEVELS; up++) {
        for (const other of [shift, ...shown]) {
          const coarser = this.get(other, level + up, Math.floor(at / 2 ** up));
          if (coarser) return coarser;
        }
      }
      return null;
    }

    // What is shown now, most important first; replaces what was wanted before.
    want(list) {
      this.wanted = list.filter(([shift, level, at]) => {
        const key = `${shift} ${level} ${at}`;
        return !this.kept.has(key) && !this.asked.has(key) && !this.failed.has(key);
      });
      this.ask();
    }

    get waiting() { return this.wanted.length + this.asked.size; }

    async ask() {
      while (this.asked.size < AT_ONCE && this.wanted.length) {
        const [shift, level, at] = this.wanted.shift();
        const key = `${shift} ${level} ${at}`;
        this.asked.add(key);
        this.load(key, shift, level, at);
      }
    }

    async load(key, shift, level, at) {
      try {
        const response = await fetch(this.address(shift, level, at));
        if (!response.ok) throw new Error((await response.json()).error);
        const tile = await response.json();
        tile.shift = shift;
        this.kept.set(key, tile);
        while (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
      } catch (error) {
        this.failed.add(key);     // asked for again only if the page is loaded again
      } finally {
        this.asked.delete(key);
        this.arrived();
        this.ask();
      }
    }
  }

  window.assayTimeline.Tiles = Tiles;
  window.assayTimeline.BINS = BINS;
})();
