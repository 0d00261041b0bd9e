// Title, totals, pickers, tree and tables.

function addHeader() {
  const name = SIMULATED ? "simulated" : "live";
  document.title = `headgate: ${DATA.shape}, ${name}`;
  put("title", `${DATA.shape}, ${name}`);
  const subject = [["configuration", DATA.config], ["traffic", DATA.traffic.join("; ")], ["time", timeText(DATA.duration_s)]];
  for (const [term, text] of subject) if (text) put("subject", element("dt", {}, term), element("dd", {}, text));
  const caution = document.getElementById("caution");
  if (SIMULATED)
    caution.textContent = "A trace does not react. The same packets come, whatever is dropped or delayed; TCP would slow down, and send again what was lost. Read what is delivered as what this traffic would have got, not as what other traffic would get.";
  else caution.remove();
  put("notes", ...DATA.notes.map((note) => element("li", {}, note)));
}

function addFigures() {
  const seconds = DATA.duration_s || 1;
  const card = (title, count) => element("div", {class: "card"}, element("span", {}, title), element("b", {}, whole(count.packets)),
    element("span", {}, `packets, ${scaled(count.bytes * 8 / seconds, "bit/s")}`));
  put("figures", card("received", DATA.received), card("sent", DATA.sent), card("dropped", DATA.dropped), card("queued at the end", DATA.queued));
  if (DATA.delay_us)
    put("figures", element("div", {class: "card"}, element("span", {}, "delay, median"), element("b", {}, microsecondsText(DATA.delay_us.p50)),
      element("span", {}, `99 %: ${microsecondsText(DATA.delay_us.p99)}, longest: ${microsecondsText(DATA.delay_us.max)}`)));
  const packets = ["received", "sent", "dropped", "queued"].map((what) => DATA[what].packets);
  const reasons = Object.entries(DATA.dropped.reasons ?? {}).filter(([, count]) => count.packets > 0).map(([reason, count]) => `${reason} ${whole(count.packets)}`);
  put("law", element("span", {}, `received ${whole(packets[0])} = sent ${whole(packets[1])} + dropped ${whole(packets[2])} + queued ${whole(packets[3])}`
    + (reasons.length ? `. Dropped: ${reasons.join(", ")}.` : ".")));
}

function picker(label, options, change) {
  const select = element("select", {}, ...options.map((option, i) => element("option", {value: i}, option)));
  select.addEventListener("change", () => { change(Number(select.value)); for (const chart of charts) chart.draw(); });
  return element("label", {}, label + " ", select);
}

function addPickers() {
  if (CLASSES.length > 1) {
    const choices = [ALL, ...CLASSES];
    put("pickers", picker("Charts of", choices.map((one) => one.name ?? ALL_NAME), (i) => { picked.class = choices[i]; }));
  } else if (CLASSES.length === 1) {
    picked.class = CLASSES[0];
  }
  const units = picked.unit === "bits" ? ["bits", "packets"] : ["packets", "bits"];
  put("pickers", picker("Rates in", units, (i) => { picked.unit = units[i]; }));
}

function treeLine(node, scale) {
  const rate = node.sent.bytes * 8 / (DATA.duration_s || 1);
  const bar = element("div", {class: "bar"}), fill = element("b");
  fill.style.width = Math.min(100, rate / scale * 100) + "%";
  bar.append(fill);
  const limits = [];
  for (const [kind, value] of [["guarantee", node.guarantee_bps], ["ceiling", node.ceiling_bps]]) {
    if (!value) continue;
    limits.push(`${node.kind === "link" ? "rate" : kind} ${scaled(value, "bit/s")}`);
    const edge = element("i", {class: kind, title: limits[limits.length - 1]});
    edge.style.left = Math.min(100, value / scale * 100) + "%";
    bar.append(edge);
  }
  if (node.priority !== undefined) limits.push(`priority ${node.priority}, weight ${node.weight}`);
  const name = element("div", {class: "name"}, node.name);
  name.style.paddingLeft = node.depth * 16 + "px";
  return element("div", {class: "node", "data-node": node.name, "data-sent-bytes": node.sent.bytes}, name, bar,
    element("div", {class: "value"}, scaled(rate, "bit/s")), ...(limits.length ? [element("small", {}, limits.join(", "))] : []));
}

function addTree() {
  if (!DATA.tree?.length) return;
  const seconds = DATA.duration_s || 1;
  const scale = Math.max(1, ...DATA.tree.map((node) => Math.max(node.sent.bytes * 8 / seconds, Math.min(node.ceiling_bps ?? 0, DATA.tree[0].ceiling_bps ?? Infinity), node.guarantee_bps ?? 0)));
  put("tree", element("div", {class: "tree"}, element("h2", {}, "What each got"),
    element("p", {}, "Delivered on average over the whole time. A dotted edge is a guarantee, a solid one a ceiling or the link's rate. Policed classes stand outside the tree."),
    ...DATA.tree.map((node) => treeLine(node, scale))));
}

function rows(title, note, table) {
  return element("div", {class: "rows"}, element("h2", {}, title), ...(note ? [element("p", {}, note)] : []), element("div", {class: "scroll"}, table));
}

const reasonsText = (reasons) => Object.entries(reasons ?? {}).map(([reason, count]) => [reason, count.packets ?? count])
  .filter(([, packets]) => packets > 0).map(([reason, packets]) => `${reason} ${whole(packets)}`).join(", ");

function addTables() {
  const fields = (one) => [whole(one.received.packets), whole(one.sent.packets), whole(one.dropped.packets), whole(one.queued.packets),
    ...["p50", "p99", "max"].map((which) => microsecondsText(one.delay_us?.[which]))];
  const titles = ["received", "sent", "dropped", "queued", "delay p50", "p99", "longest"];
  put("tables", rows("Classes", "Packets. Fairness is Jain's index of what its flows were sent: 1 when all got the same; flows that ask for less lower it, too.",
    makeTable(["class", "rate", ...titles, "flows", "fairness", "why dropped"], DATA.classes.map((one) =>
      [one.name, one.rate ?? "–", ...fields(one), whole(one.flows), one.fairness === null || one.fairness === undefined ? "–" : one.fairness.toFixed(4), reasonsText(one.dropped.reasons)]), 2, true)));
  if (!DATA.flows.length) return;
  put("tables", rows("Flows", DATA.flows_left_out ? `The largest ${whole(DATA.flows.length)}; ${whole(DATA.flows_left_out)} more are left out.` : "",
    makeTable(["class", "flow", ...titles, "why dropped"], DATA.flows.map((one) => [one.class, one.text, ...fields(one), reasonsText(one.dropped.reasons)]), 2, true)));
}

addHeader();
addFigures();
addPickers();
if (ALL.bins.length) {
  addRateCharts();
  addDelayChart();
  addDropChart();
  addSpacingChart();
}
for (const chart of charts) chart.draw();
addTree();
addTables();
