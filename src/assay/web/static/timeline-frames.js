// The frame of the recording that was on the screen at the cursor; asked for one at a time, always the latest wish.
(() => {
  "use strict";

  const { clock } = window.assayTimeline;

  class Frames {
    constructor(canvas, words, address) {
      this.canvas = canvas;
      this.words = words;
      this.address = address;     // of the frame at a time, so many pixels wide
      this.now = null;            // from and to when the shown one was on the screen
      this.wanted = null;
      this.asking = false;
      this.shown = 0;
    }

    show(us, shift) {
      this.wanted = [Math.round(us), shift];
      if (!this.asking && !this.has(...this.wanted)) this.ask();
    }

    has(us, shift) { return this.now !== null && this.now.shift === shift && us >= this.now.from && us < this.now.to; }

    // A time within the frame before or after the shown one; null at the ends.
    beside(by) {
      if (!this.now || !this.now.drawn) return null;
      return by < 0 ? (this.now.first ? null : this.now.from - 1) : this.now.to;
    }

    async ask() {
      this.asking = true;
      while (!this.has(...this.wanted)) {
        const [us, shift] = this.wanted, width = Math.round(this.canvas.clientWidth * (window.devicePixelRatio || 1));
        try {
          const response = await fetch(this.address(us, Math.max(80, width)));
          if (!response.ok) { this.without(us, shift, (await response.json()).error); continue; }
          const [from, to] = ["from", "to"].map((name) => Number(response.headers.get(`x-frame-${name}`)));
          const picture = await createImageBitmap(await response.blob());
          this.canvas.width = picture.width; this.canvas.height = picture.height;
          this.canvas.style.aspectRatio = `${picture.width} / ${picture.height}`;
          this.canvas.getContext("2d").drawImage(picture, 0, 0);
          picture.close();
          this.now = { from, to: Math.max(to, from + 1), shift, drawn: true };
          this.say(`Frame at ${clock(from, 1e3)}`);
          this.canvas.dataset.shown = String(++this.shown);
        } catch { this.without(us, shift, "The frame cannot be shown"); }
      }
      this.asking = false;
    }

    // Nothing can be shown here; asked again when the cursor moves by a tenth of a second.
    without(us, shift, why) {
      this.now = { from: us - 1e5, to: us + 1e5, shift, drawn: false };
      this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
      this.say(why);
    }

    say(text) {
      this.words.textContent = text;
      this.canvas.setAttribute("aria-label", text);
    }
  }

  window.assayTimeline.Frames = Frames;
})();
