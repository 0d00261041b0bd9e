// The page: what the data say, from top to bottom.

const DATA = JSON.parse(document.getElementById("data").textContent);
const SIMULATED = DATA.kind === "simulation";
const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
const colour = (name) => `var(${name})`;
const put = (id, ...children) => document.getElementById(id).append(...children);

// The bins, each with its own length: the last one is short, and one that is very short belongs to the one before.
function binsOf(series) {
  const length = series.offered_packets.length, interval = DATA.series.interval_s;
  const bins = [];
  for (let i = 0; i < length; ++i) {
    const from = i * interval, to = Math.min(from + interval, Math.max(DATA.duration_s, from));
    const bin = {from, to};
    for (const [key, values] of Object.entries(series)) if (Array.isArray(values)) bin[key] = values[i];
    const before = bins[bins.length - 1];
    if (before && to - from < interval / 2) join(before, bin);
    else bins.push(bin);
  }
  for (const bin of bins) if (bin.to <= bin.from) bin.to = bin.from + interval;
  return bins;
}

function join(before, bin) {
  const sent = before.sent_packets + bin.sent_packets;
  if (sent > 0 && before.delay_us_mean !== undefined)
    before.delay_us_mean = ((before.delay_us_mean ?? 0) * before.sent_packets + (bin.delay_us_mean ?? 0) * bin.sent_packets) / sent;
  if (bin.delay_us_max !== null && bin.delay_us_max !== undefined) before.delay_us_max = Math.max(before.delay_us_max ?? 0, bin.delay_us_max);
  for (const key of Object.keys(bin)) if (/_(packets|bytes)$/.test(key)) before[key] += bin[key];
  before.to = bin.to;
}

// All classes together.
function sumOf(classes) {
  const sum = {};
  for (const one of classes)
    for (const [key, values] of Object.entries(one)) {
      if (!Array.isArray(values) || key === "delay_us_mean") continue;
      sum[key] = sum[key] ? sum[key].map((value, i) => key === "delay_us_max"
        ? (value === null && values[i] === null ? null : Math.max(value ?? 0, values[i] ?? 0)) : value + values[i]) : [...values];
    }
  if (classes.some((one) => one.delay_us_mean))
    sum.delay_us_mean = sum.sent_packets.map((sent, i) => sent === 0 ? null
      : classes.reduce((all, one) => all + (one.delay_us_mean?.[i] ?? 0) * one.sent_packets[i], 0) / sent);
  return sum;
}

const CLASSES = DATA.series.classes.map((one, i) => ({name: one.class, bins: binsOf(one), colour: colour(COLOURS[i % COLOURS.length])}));
const ALL = {name: null, bins: DATA.series.classes.length ? binsOf(sumOf(DATA.series.classes)) : []};
const picked = {class: ALL, unit: DATA.unit ?? "bits"};
// What a line stands for.
const OF = DATA.series.of ?? "class", ALL_NAME = OF === "class" ? "all classes" : `all ${OF}s`;

const rateOf = {
  bits: (bin, what) => bin[what + "_bytes"] * 8 / (bin.to - bin.from),
  packets: (bin, what) => bin[what + "_packets"] / (bin.to - bin.from),
};
const rateText = (value) => scaled(value, picked.unit === "bits" ? "bit/s" : "pps");
const rates = (bins, what) => bins.map((bin) => rateOf[picked.unit](bin, what));

// What all charts over time have in common.
function timeSpec(bins, lines, yText, valueText = yText) {
  const end = bins.length ? bins[bins.length - 1].to : 1;
  const most = Math.max(1e-9, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)));
  return {
    lines, most: most * 1.05, yText, valueText,
    at: bins.map((bin) => (bin.from + bin.to) / 2),
    x: (at, plot) => plot.left + at / end * (plot.right - plot.left),
    xTicks: (width) => ticks(end, width / 110).map((tick) => [tick, timeText(tick)]),
    xTitle: "time since the beginning",
    atText: (i) => timeText(bins[i].from) + " to " + timeText(bins[i].to),
  };
}

const charts = [];
function addChart(id, title, subtitle, spec) {
  const chart = new Chart(id, title, subtitle, spec);
  charts.push(chart);
  put("charts", chart.figure);
}

function addRateCharts() {
  addChart("rate", "Offered and delivered", `What came, and what left, of the ${OF} chosen above; each point is ${timeText(DATA.series.interval_s)}.`, () => {
    const bins = picked.class.bins;
    return timeSpec(bins, [
      {name: "offered", colour: colour("--offered"), area: colour("--offered-area"), values: rates(bins, "offered")},
      {name: "delivered", colour: colour("--sent"), values: rates(bins, "sent")}], rateText);
  });
  if (CLASSES.length > 1)
    addChart("classes", `Delivered by ${OF}`, `What left, of each ${OF}.`, () => timeSpec(ALL.bins,
      CLASSES.map((one) => ({name: one.name, colour: one.colour, values: rates(one.bins, "sent")})), rateText));
}

function addDelayChart() {
  if (!ALL.bins.some((bin) => bin.delay_us_max !== null && bin.delay_us_max !== undefined)) return;
  addChart("delay", "Delay", SIMULATED ? "From coming to leaving, of what left."
    : "From coming to leaving, of what left in the ten seconds before.", () => {
    const bins = picked.class.bins;
    const seconds = (key) => bins.map((bin) => bin[key] === null || bin[key] === undefined ? null : bin[key] / 1e6);
    const lines = [{name: "longest", colour: colour("--longest"), values: seconds("delay_us_max")},
                   {name: SIMULATED ? "mean" : "median", colour: colour("--mean"), values: seconds("delay_us_mean")}];
    return timeSpec(bins, lines, timeText);
  });
}

function addDropChart() {
  addChart("drops", "Drops", "Packets that were dropped, a second.", () => {
    const bins = picked.class.bins;
    return timeSpec(bins, [{name: "dropped", colour: colour("--dropped"), bars: true,
      values: bins.map((bin) => bin.dropped_packets / (bin.to - bin.from))}], (value) => scaled(value, "pps"));
  });
}

// Of each class by itself: from where one departure of a flow is to its next.
function gapsOf(name) {
  const all = new Map();
  for (const one of DATA.spacing) {
    if (name !== ALL.name && one.class !== name) continue;
    one.count.forEach((count, i) => {
      const gap = all.get(one.from_us[i]) ?? {from: one.from_us[i] / 1e6, to: one.to_us[i] / 1e6, count: 0};
      gap.count += count;
      all.set(one.from_us[i], gap);
    });
  }
  return [...all.values()].sort((one, other) => one.from - other.from);
}

function addSpacingChart() {
  if (!DATA.spacing.length) return;
  addChart("spacing", "Departure spacing", DATA.spacing_note ?? "From one departure of a flow to the next of the same flow; a shaped flow with a packet rate has one bar.", () => {
    const gaps = gapsOf(picked.class.name), total = gaps.reduce((sum, gap) => sum + gap.count, 0) || 1;
    const least = Math.max(1e-9, gaps.length ? Math.max(gaps[0].from, 1e-7) : 1e-4) / 1.5, most = (gaps.length ? gaps[gaps.length - 1].to : 1e-2) * 1.5;
    const low = Math.log10(least), high = Math.max(Math.log10(most), low + 1);
    const shares = gaps.map((gap) => gap.count / total);
    const decades = [];
    for (let power = Math.ceil(low); power <= high; ++power) decades.push([10 ** power, timeText(10 ** power)]);
    return {
      lines: [{name: "share of the gaps", colour: colour("--sent"), bars: true, values: shares}],
      at: gaps.map((gap) => Math.sqrt(Math.max(gap.from, least) * Math.max(gap.to, least))), most: Math.max(0.01, ...shares) * 1.05,
      x: (at, plot) => plot.left + (Math.log10(Math.max(at, least)) - low) / (high - low) * (plot.right - plot.left),
      xTicks: (width) => decades.filter((_, i) => i % Math.max(1, Math.ceil(decades.length / (width / 70))) === 0),
      xTitle: "gap (logarithmic)", yText: shareText, valueText: shareText,
      atText: (i) => `${timeText(gaps[i].from)} to ${timeText(gaps[i].to)} (${whole(gaps[i].count)} gaps)`,
    };
  });
}
