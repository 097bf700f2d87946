// How single things of a timeline look: bars of counts, holds, lines between pairs, the mark of each outcome.
(() => {
  "use strict";

  const MATCHED = 0, MISSED = 1, INSERTED = 2, SUBSTITUTED = 3, BIN_PIXELS = 4;

  // A colour as a number: red, green and blue from the lowest byte on, as the pixels of a picture are stored.
  function packed(colour) {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return red | green << 8 | blue << 16;
  }

  // A piece of a bar of counts: full, hollow, half full, or striped.
  function bar(pixels, width, x, top, bottom, outcome, inks) {
    for (let y = Math.max(0, top); y < bottom; y++) {
      const edge = y < top + 1 || (outcome === MISSED && y >= bottom - 1);
      if (outcome === SUBSTITUTED && (y - top) % 3 === 2) continue;
      const strong = outcome === MATCHED || outcome === SUBSTITUTED || edge;
      const ink = inks[outcome] | (strong ? 255 : outcome === MISSED ? 51 : 153) << 24;
      for (let at = y * width + x; at < y * width + x + BIN_PIXELS; at++) pixels[at] = ink;
    }
  }

  function hold(context, x, y, width, height, outcome, c) {
    context.fillStyle = c.outcome[outcome];
    context.globalAlpha = outcome === MISSED ? 0.18 : outcome === MATCHED ? 0.55 : 0.5;
    if (width < 8) { context.fillRect(x, y, width, height); context.globalAlpha = 1; return; }
    context.beginPath();
    context.roundRect(x, y, width, height, 3);
    context.fill();
    context.globalAlpha = 1;
    if (outcome !== MATCHED) {
      context.strokeStyle = c.outcome[outcome]; context.lineWidth = 1.2;
      context.setLineDash(outcome === SUBSTITUTED ? [3, 2] : []);
      context.stroke();
      context.setLineDash([]);
    }
  }

  // From a truth to what it is matched with, or was taken for.
  function join(context, x, y, toX, toY, outcome, c) {
    context.fillStyle = context.strokeStyle = outcome === MATCHED ? c.muted : c.substituted;
    if (outcome === MATCHED && Math.abs(toX - x) < 1.5) { context.fillRect(x, y, 1, toY - y); return; }
    context.lineWidth = outcome === MATCHED ? 1 : 1.4;
    if (outcome !== MATCHED) context.setLineDash([3, 2]);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    if (outcome !== MATCHED) context.setLineDash([]);
  }

  // The mark of an outcome as a picture of 14 × 14 pixels.
  function mark(outcome, c) {
    const picture = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
    picture.width = picture.height = Math.round(14 * ratio);
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.translate(7, 7);
    if (outcome === MATCHED || outcome === MISSED) context.arc(0, 0, outcome === MATCHED ? 2.8 : 3.8, 0, 7);
    else {
      const points = outcome === INSERTED ? [[0, -5], [4.6, 3.6], [-4.6, 3.6]] : [[0, -5], [4.6, 0], [0, 5], [-4.6, 0]];
      for (const [dx, dy] of points) context.lineTo(dx, dy);
      context.closePath();
    }
    context.fillStyle = outcome === MISSED ? c.paper : c.outcome[outcome];
    context.fill();
    context.strokeStyle = outcome === MISSED ? c.bad : c.paper;
    context.lineWidth = outcome === MISSED ? 1.8 : 1;
    if (outcome !== MATCHED) context.stroke();
    return picture;
  }

  function shortened(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
    return `${cut}…`;
  }

  Object.assign(window.assayTimeline, {
    MATCHED, MISSED, INSERTED, SUBSTITUTED, BIN_PIXELS, bar, hold, join, mark, packed, shortened,
  });
})();
