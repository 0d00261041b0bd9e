// Charts over time and histograms, as SVG. Every mark carries the figures that it stands for.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function mark(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// Round steps that cut a range into about so many.
function ticks(most, wanted) {
  if (!(most > 0)) return [0];
  const raw = most / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const all = [];
  for (let i = 0; i * step <= most * 1.0001; ++i) all.push(i * step);
  return all;
}

const MARGIN = {left: 62, right: 10, top: 8, bottom: 34}, HEIGHT = 230;

// The frame of a chart: a figure with title, subtitle, drawing, legend, what the pointer is at, and the figures as a table.
function makeFigure(id, title, subtitle) {
  const figure = element("figure", {id});
  const svg = document.createElementNS(SVG, "svg");
  const heading = element("h2", {id: id + "-title"}, title);
  svg.setAttribute("role", "img");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-labelledby", id + "-title");
  const legend = element("ul", {class: "legend"}), readout = element("p", {class: "readout"});
  const table = element("div", {class: "scroll"});
  const details = element("details", {}, element("summary", {}, "The figures as a table"), table);
  const note = element("p", {}, subtitle);
  figure.append(heading, note, svg, legend, readout, details);
  return {figure, svg, legend, readout, table, details, note};
}

function drawFrame(svg, width, spec) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  svg.setAttribute("height", HEIGHT);
  const plot = {left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom};
  const y = (value) => plot.bottom - (value / spec.most) * (plot.bottom - plot.top);
  for (const [key, value] of Object.entries({top: plot.top, bottom: plot.bottom, left: plot.left, right: plot.right, most: spec.most}))
    svg.setAttribute("data-" + key, value);
  for (const tick of ticks(spec.most, 4)) {
    mark(svg, "line", {class: "grid", x1: plot.left, x2: plot.right, y1: y(tick), y2: y(tick)});
    mark(svg, "text", {x: plot.left - 6, y: y(tick) + 4, "text-anchor": "end"}, spec.yText(tick));
  }
  mark(svg, "line", {class: "axis", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom});
  for (const [at, text] of spec.xTicks(width)) {
    const x = spec.x(at, plot);
    mark(svg, "line", {class: "axis", x1: x, x2: x, y1: plot.bottom, y2: plot.bottom + 4});
    mark(svg, "text", {x, y: plot.bottom + 17, "text-anchor": x > plot.right - 24 ? "end" : "middle"}, text);
  }
  mark(svg, "text", {x: (plot.left + plot.right) / 2, y: HEIGHT - 2, "text-anchor": "middle"}, spec.xTitle);
  return {plot, y};
}

const rounded = (value) => Math.round(value * 100) / 100;

// One line: {name, colour, values, area, bars}. Where a value is null the line is broken.
function drawLine(svg, line, xs, plot, y) {
  const attributes = {"data-line": line.name, "data-total": line.values.reduce((sum, value) => sum + (value ?? 0), 0)};
  let path = "", open = false, area = "";
  line.values.forEach((value, i) => {
    if (value === null) { open = false; return; }
    path += (open ? "L" : "M") + rounded(xs[i]) + " " + rounded(y(value));
    open = true;
    area += "L" + rounded(xs[i]) + " " + rounded(y(value));
  });
  if (line.bars) {
    // Narrow bars stand side by side: gaps of less than a dot would only shimmer.
    const apart = xs.length > 1 ? Math.min(...xs.slice(1).map((x, i) => x - xs[i])) : 20;
    const widest = Math.max(1.5, apart < 5 ? apart : apart * 0.8);
    path = line.values.map((value, i) => value > 0
      ? `M${rounded(xs[i] - widest / 2)} ${plot.bottom}V${rounded(y(value))}h${rounded(widest)}V${plot.bottom}Z` : "").join("");
    mark(svg, "path", {...attributes, d: path, fill: line.colour});
    return;
  }
  if (line.area) mark(svg, "path", {d: `M${rounded(xs[0])} ${plot.bottom}${area}L${rounded(xs[xs.length - 1])} ${plot.bottom}Z`, fill: line.area});
  mark(svg, "path", {...attributes, d: path, fill: "none", stroke: line.colour, "stroke-width": 2, "stroke-linejoin": "round"});
}

// A chart that is drawn anew for each width, and tells the values below the pointer or by the arrow keys.
// spec(): {lines, at: [x values], most, x(at, plot), xTicks(width), xTitle, yText, atText(i), valueText}
class Chart {
  constructor(id, title, subtitle, spec) {
    Object.assign(this, makeFigure(id, title, subtitle));
    this.makeSpec = spec;
    this.details.addEventListener("toggle", () => this.fillTable());
    new ResizeObserver(() => this.draw()).observe(this.figure);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.select(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    this.selected = null;
  }

  draw() {
    const spec = this.spec = this.makeSpec();
    const width = Math.max(280, Math.round(this.svg.clientWidth || this.figure.clientWidth - 24 || 600));
    const {plot, y} = drawFrame(this.svg, width, spec);
    this.plot = plot;
    this.xs = spec.at.map((at) => spec.x(at, plot));
    for (const line of spec.lines) drawLine(this.svg, line, this.xs, plot, y);
    this.cross = mark(this.svg, "line", {class: "cross", y1: plot.top, y2: plot.bottom, visibility: "hidden"});
    this.legend.replaceChildren(...spec.lines.map((line) => {
      const key = element("i");
      key.style.background = line.colour;
      return element("li", {}, key, line.name);
    }));
    this.select(this.selected);
    this.fillTable();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * (this.svg.viewBox.baseVal.width / box.width);
    let nearest = 0;
    this.xs.forEach((other, i) => { if (Math.abs(other - x) < Math.abs(this.xs[nearest] - x)) nearest = i; });
    this.select(nearest);
  }

  step(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.select(Math.min(this.xs.length - 1, Math.max(0, (this.selected ?? -by) + by)));
    this.readout.setAttribute("aria-live", "polite");
  }

  select(i) {
    this.selected = i !== null && i < this.xs.length ? i : null;
    this.cross.setAttribute("visibility", this.selected === null ? "hidden" : "visible");
    if (this.selected === null) { this.readout.textContent = ""; return; }
    this.cross.setAttribute("x1", this.xs[i]);
    this.cross.setAttribute("x2", this.xs[i]);
    const values = this.spec.lines.map((line) => `${line.name} ${line.values[i] === null ? "–" : this.spec.valueText(line.values[i])}`);
    this.readout.textContent = this.spec.atText(i) + ": " + values.join(", ");
  }

  fillTable() {
    if (!this.details.open) { this.table.replaceChildren(); return; }
    const spec = this.spec;
    this.table.replaceChildren(makeTable([spec.xTitle, ...spec.lines.map((line) => line.name)],
      spec.at.map((_, i) => [spec.atText(i), ...spec.lines.map((line) => line.values[i] === null ? "–" : spec.valueText(line.values[i]))]), 1));
  }
}

// The first `texts` columns are text, the others numbers; where `note` is set the last is text, too.
function makeTable(titles, rows, texts, note) {
  const cells = (kind, row) => row.map((text, i) => element(kind, i < texts || (note && i === row.length - 1) ? {class: "text"} : {}, text));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...cells("th", titles))));
  table.append(element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))));
  return table;
}
