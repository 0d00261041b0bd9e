// Looks each second, and shows what has changed.
import { followChildren, make, visible } from './document.js';
import { duration } from './figure.js';
import { History } from './history.js';
import { classKey, fullName, linkCard, shapeKey } from './link.js';

const INTERVAL = 1000; // ms
const PATIENCE = 8000;
const MOST_LINKS = 40; // drawn at once

const byId = (id) => document.getElementById(id);

const view = {
  history: new History(),
  unit: 'bits',
  open: new Set(), // keys of classes
  flows: new Map(), // by key of a class that is open
  servesFlows: false,
  bounds: [],
  redraw: draw,
};

let reply = null;
let goneSince = null; // ms
let paused = false;

async function get(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(PATIENCE), cache: 'no-store' });
  const json = await response.json();
  if (json.error) throw new Error(json.error.message);
  return json;
}

const shapesOf = (json) => [...json.shapes, ...json.patterns];

function takeIn(json) {
  view.servesFlows = json.serves_flows;
  view.bounds = json.delay_bounds_us ?? [];
  view.history.begin(json.uptime_s);
  for (const shape of shapesOf(json)) {
    view.history.add(shapeKey(shape), shape);
    for (const object of shape.classes) view.history.add(classKey(shape, object.name), object);
  }
  view.history.end();
  reply = json;
}

// Each flow with its rate since the last look at it.
function withRates(json, before) {
  const seconds = before ? json.uptime_s - before.at : 0;
  const known = new Map((seconds > 0 ? before.list : []).map((flow) => [flow.text, flow]));
  const list = json.flows.map((flow) => {
    const last = known.get(flow.text);
    const grown = (unit) => (last ? Math.max(0, flow.sent[unit] - last.sent[unit]) / seconds : null);
    return { ...flow, packetsNow: grown('packets'), bytesNow: grown('bytes') };
  });
  list.sort((a, b) => (b.bytesNow ?? 0) - (a.bytesNow ?? 0));
  return { at: json.uptime_s, list };
}

// Of the first classes that are open: each costs the daemon a walk over its flows.
async function lookAtFlows() {
  if (!view.servesFlows || !reply) return;
  const open = [];
  for (const shape of shapesOf(reply))
    for (const object of shape.classes)
      if (!object.bypass && view.open.has(classKey(shape, object.name))) open.push([classKey(shape, object.name), fullName(shape, object.name)]);
  for (const key of view.flows.keys()) if (!open.some(([other]) => other === key)) view.flows.delete(key);
  for (const [key, name] of open.slice(0, 4)) {
    try {
      const before = view.flows.get(key);
      view.flows.set(key, withRates(await get(`api/flows?class=${encodeURIComponent(name)}`), before?.list ? before : null));
    } catch (error) {
      view.flows.set(key, { error: error.message });
    }
  }
}

function matches(shape, wanted) {
  return shape.interface.toLowerCase().includes(wanted) || (shape.interfaces ?? []).some((name) => name.toLowerCase().includes(wanted)) ||
    shape.classes.some((object) => object.name.toLowerCase().includes(wanted));
}

function links() {
  const wanted = byId('filter').value.trim().toLowerCase();
  const byName = new Map();
  for (const shape of shapesOf(reply)) {
    if (wanted && !matches(shape, wanted)) continue;
    if (!byName.has(shape.interface)) byName.set(shape.interface, []);
    byName.get(shape.interface).push(shape);
  }
  const all = [...byName];
  const cards = all.slice(0, MOST_LINKS).map(([name, shapes]) => linkCard(view, name, shapes));
  if (all.length > MOST_LINKS) cards.push(make('p', { class: 'more' }, `${all.length - MOST_LINKS} more interfaces: write a part of a name above to see them`));
  if (all.length === 0) cards.push(make('p', { class: 'more' }, wanted ? 'no interface or class has this in its name' : 'headgated runs and shapes nothing: see headgate.toml(5)'));
  return cards;
}

function draw() {
  if (!reply) return;
  byId('daemon').textContent = `headgated ${visible(reply.version)} on ${location.host}, up for ${duration(reply.uptime_s)}`;
  document.title = `headgate on ${location.host}`;
  followChildren(byId('links'), links());
}

function showTrouble(message) {
  const trouble = byId('trouble');
  document.body.classList.toggle('gone', message !== null);
  trouble.hidden = message === null;
  if (message === null) return;
  const since = duration((Date.now() - goneSince) / 1000);
  trouble.textContent = `${visible(message.split('\n')[0])}. ${reply ? `The figures below are ${since} old.` : ''}`;
  if (!reply) byId('daemon').textContent = 'no headgated';
}

async function look() {
  try {
    takeIn(await get('api/show'));
    await lookAtFlows();
    goneSince = null;
    showTrouble(null);
    draw();
  } catch (error) {
    goneSince ??= Date.now();
    const unreachable = error instanceof TypeError || error.name === 'TimeoutError';
    showTrouble(unreachable ? 'headgate-exporter does not answer' : error.message);
  }
}

async function follow() {
  for (;;) {
    const begin = performance.now();
    if (!paused) await look();
    await new Promise((done) => setTimeout(done, Math.max(100, INTERVAL - (performance.now() - begin))));
  }
}

byId('unit').onclick = () => {
  view.unit = view.unit === 'bits' ? 'packets' : 'bits';
  byId('unit').textContent = view.unit === 'bits' ? 'bit/s' : 'packets/s';
  draw();
};
byId('pause').onclick = () => {
  paused = !paused;
  byId('pause').setAttribute('aria-pressed', String(paused));
  byId('pause').textContent = paused ? 'go on' : 'pause';
};
byId('filter').oninput = draw;

follow();
