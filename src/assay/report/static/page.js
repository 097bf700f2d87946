// Draws the charts of the page: takes their specifications from the page itself, colours them from its style sheet,
// draws them again when light turns dark, and offers the numbers behind each to those who cannot see or want to copy.
(() => {
  "use strict";

  // Vega's expressions cannot hold these two line separators, which a name may contain; they look like a space anyway.
  const plain = (_, value) => (typeof value === "string" ? value.replace(/[\u2028\u2029]/g, " ") : value);
  const charts = JSON.parse(document.getElementById("assay-charts").textContent, plain);
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = new Map(); // element of a panel → what vegaEmbed made in it

  // Marks for tests and for debugging: data-rendered is the number of panels drawn, data-error what went wrong.
  addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
  addEventListener("unhandledrejection", (event) => { document.documentElement.dataset.error = String(event.reason); });

  for (const figure of figures) prepare(figure);
  let drawing = drawAll();
  dark.addEventListener("change", () => { drawing = drawing.then(drawAll); });

  function prepare(figure) {
    const panels = Object.entries(charts[figure.dataset.chart] ?? {});
    const grid = figure.querySelector(".panels");
    for (const [title, spec] of panels) {
      const panel = make("div", grid, { className: "panel" });
      if (title) make("h4", panel, { textContent: title });
      const view = make("div", panel, { className: "view" });
      views.set(view, { figure, title, spec, result: null });
    }
    const details = make("details", figure, { className: "figures-data" });
    make("summary", details, { textContent: "Numbers and pictures" });
    details.addEventListener("toggle", () => fill(details, figure), { once: true });
  }

  async function drawAll() {
    delete document.documentElement.dataset.charts;
    const config = theme();
    for (const figure of figures) figure.dataset.rendered = "0";
    for (const [element, panel] of views) {
      try {
        panel.result?.finalize();
        panel.result = await vegaEmbed(element, structuredClone(panel.spec), {
          mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true, config,
          tooltip: { disableDefaultStyle: true },
        });
        panel.figure.dataset.rendered = String(Number(panel.figure.dataset.rendered) + 1);
      } catch (error) {
        panel.figure.dataset.error = String(error);
        element.replaceChildren();
        make("p", element, { className: "failed", textContent: `This chart could not be drawn: ${error}` });
      }
    }
    document.documentElement.dataset.charts = "done";
  }

  // The names that the specifications use, as colours of the scheme that is on.
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    const many = (...names) => names.map(get);
    const [ink, muted, line, paper] = many("ink", "muted", "line", "paper");
    const font = get("sans");
    // Vega-Lite looks for "color" in a style; for "fill" and "stroke" it would write its own default over it.
    const text = { color: ink, font, fontSize: 12 };
    return {
      background: paper,
      font,
      padding: { left: 2, right: 8, top: 4, bottom: 4 },
      view: { stroke: null },
      axis: {
        labelColor: muted, labelFontSize: 12, labelPadding: 5, labelLimit: 170, labelOverlap: "parity", labelFlush: false, labelSeparation: 6,
        titleColor: muted, titleFontSize: 12, titleFontWeight: 400, titlePadding: 8,
        gridColor: line, gridOpacity: 0.8, domainColor: line, tickColor: line, tickSize: 4,
      },
      axisBand: { ticks: false, labelColor: ink, labelOverlap: false },
      legend: {
        labelColor: ink, labelFontSize: 12, titleColor: muted, titleFontSize: 12, titleFontWeight: 400,
        symbolStrokeWidth: 2, symbolSize: 80, offset: 8, rowPadding: 3, columnPadding: 16,
      },
      range: {
        category: many("keyboard", "mouse-op", "mouse-nop", "screen", "other"),
        ordinal: many("model-1", "model-2", "model-3", "model-4", "model-5", "model-6"),
        // How actions ended: Vega-Lite has fixed names for ranges, and nothing else here diverges.
        diverging: many("matched", "substituted", "missed", "inserted"),
        heatmap: many("heat-1", "heat-2", "heat-3", "heat-4"),
      },
      style: {
        reference: { color: ink, strokeWidth: 1, strokeDash: [4, 3], opacity: 0.75 },
        trivial: { color: muted, strokeWidth: 1.2, strokeDash: [2, 3] },
        "trivial-band": { color: muted, opacity: 0.14 },
        ring: { fill: null, fillOpacity: 0, stroke: line, strokeWidth: 1 },
        wedge: { fillOpacity: 0.85, stroke: paper, strokeWidth: 0.75 },
        angle: text,
        note: { ...text, color: muted, fontSize: 11 },
        "on-pale": { ...text, color: get("on-pale") },
        "on-deep": { ...text, color: get("on-deep") },
      },
    };
  }

  function fill(details, figure) {
    for (const panel of views.values()) {
      if (panel.figure !== figure) continue;
      if (panel.title) make("h4", details, { textContent: panel.title });
      numbers(details, panel);
      for (const type of ["svg", "png"]) {
        const button = make("button", details, { type: "button", textContent: `Save as ${type.toUpperCase()}` });
        button.addEventListener("click", () => save(panel, type));
      }
    }
  }

  function numbers(parent, { title, spec }) {
    const rows = spec.data.values;
    const fields = Object.keys(rows[0] ?? {});
    const region = make("div", parent, { className: "scroll", tabIndex: 0, role: "region" });
    region.setAttribute("aria-label", `Numbers${title ? `: ${title}` : ""}`);
    const table = make("table", region);
    const kind = (value) => (typeof value === "number" ? "num" : "");
    const head = make("tr", make("thead", table));
    for (const field of fields) {
      make("th", head, { textContent: field.replaceAll("_", " "), scope: "col", className: kind(rows[0][field]) });
    }
    const body = make("tbody", table);
    for (const row of rows) {
      const line = make("tr", body);
      for (const field of fields) make("td", line, { textContent: show(row[field]), className: kind(row[field]) });
    }
  }

  function show(value) {
    if (value === null || value === undefined) return "–";
    return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);
  }

  async function save({ figure, title, result }, type) {
    const words = `${figure.dataset.chart} ${title}`.toLowerCase();
    const link = make("a", null, { download: `${words.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}.${type}` });
    link.href = await result.view.toImageURL(type, 2);
    link.click();
  }

  function make(tag, parent, properties = {}) {
    const element = Object.assign(document.createElement(tag), properties);
    parent?.append(element);
    return element;
  }
})();
