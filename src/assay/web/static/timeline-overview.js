// Draws what surrounds a timeline: the density of errors over the whole episode, and F1 against the shift.
(() => {
  "use strict";

  const { fitted } = window.assayTimeline;

  function overview(canvas, state, c, look) {
    const all = `${look} ${canvas.clientWidth} ${state.version} ${state.from} ${state.to}`;
    if (canvas.drawn === all) return;
    canvas.drawn = all;
    const { context, width, height } = fitted(canvas);
    const gutter = width < 560 ? 92 : 108, plot = width - gutter;
    const key = `${look} ${width} ${state.version}`;
    if (canvas.bars?.key !== key) canvas.bars = { key, picture: density(state, c, plot, height) };
    context.clearRect(0, 0, width, height);
    context.drawImage(canvas.bars.picture, gutter, 0, plot, height);
    const place = (us) => gutter + plot * Math.min(1, Math.max(0, us / state.span));
    const from = place(state.from), to = Math.max(from + 3, place(state.to));
    context.fillStyle = c.paper; context.globalAlpha = 0.55;
    context.fillRect(gutter, 0, from - gutter, height); context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1; context.strokeStyle = c.accent; context.lineWidth = 2;
    context.strokeRect(from, 1, to - from, height - 2);
    context.font = `12px ${c.sans}`; context.textAlign = "right"; context.textBaseline = "middle";
    context.fillStyle = c.muted;
    context.fillText(gutter < 100 ? "errors" : "error density", gutter - 8, height / 2);
  }

  // All actions and, before them, the errors; drawn once for each matching.
  function density(state, c, plot, height) {
    const picture = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
    picture.width = Math.max(1, Math.round(plot * ratio)); picture.height = Math.round(height * ratio);
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = c.panel;
    context.fillRect(0, 0, plot, height);
    const most = Math.max(1, ...state.actions), step = plot / (state.errors.length || 1);
    const tall = (count) => (height - 6) * Math.sqrt(count / most);
    context.fillStyle = c.matched; context.globalAlpha = 0.35;
    state.actions.forEach((n, at) => { if (n) context.fillRect(at * step, height - tall(n), step + 0.3, tall(n)); });
    context.globalAlpha = 1; context.fillStyle = c.bad;
    state.errors.forEach((n, at) => { if (n) context.fillRect(at * step, height - Math.max(2, tall(n)), Math.max(1, step), Math.max(2, tall(n))); });
    return picture;
  }

  // F1 against the shift, above the slider, whose thumb is 16 pixels wide.
  function curve(canvas, state, c, look) {
    const key = `${look} ${canvas.clientWidth} ${state.shift}`;
    if (canvas.drawn === key) return;
    canvas.drawn = key;
    const { context, width, height } = fitted(canvas);
    context.clearRect(0, 0, width, height);
    const points = state.curve.filter(([, f1]) => f1 != null);
    if (!points.length) return;
    const x = (ms) => 8 + (width - 16) * (ms + state.most) / (2 * state.most), y = (f1) => height - 2 - (height - 8) * f1;
    context.beginPath();
    points.forEach(([ms, f1], at) => (at ? context.lineTo(x(ms), y(f1)) : context.moveTo(x(ms), y(f1))));
    context.strokeStyle = c.accent; context.lineWidth = 1.6; context.stroke();
    context.lineTo(x(points.at(-1)[0]), height); context.lineTo(x(points[0][0]), height);
    context.fillStyle = c.accent; context.globalAlpha = 0.14; context.fill(); context.globalAlpha = 1;
    context.fillStyle = c.ink;
    context.fillRect(x(state.shift / 1000) - 0.75, 0, 1.5, height);
  }

  window.assayTimeline.overview = overview;
  window.assayTimeline.curve = curve;
})();
