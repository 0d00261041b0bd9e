// An interface: both directions of it side by side, each with its classes as a tree.
import { make } from './document.js';
import { bar, bytesOfRate, count, duration, rate, sparkline } from './figure.js';
import { classDetails, classRow, groupRow } from './class.js';
import { SECONDS } from './history.js';

export const shapeKey = (shape) => JSON.stringify([shape.interface, shape.direction]);
export const classKey = (shape, name) => JSON.stringify([shape.interface, shape.direction, name]);

// As headgatectl calls it.
export const fullName = (shape, name) => `${shape.interface}/${shape.direction}/${name}`;

function stateBadge(shape) {
  if (shape.interfaces) {
    const all = shape.interfaces.length;
    const diverting = shape.diverting_interfaces;
    const text = all === 0 ? 'no interface matches' : `${diverting} of ${all} interfaces shaped`;
    return make('span', { class: `badge ${all === 0 ? 'idle' : diverting < all ? 'open' : 'good'}` }, text);
  }
  if (!shape.diverting) return make('span', { class: 'badge open' }, 'open: not shaped');
  if (shape.state) return make('span', { class: 'badge warn' }, shape.starved ? 'starved' : 'shaped, with trouble');
  return make('span', { class: 'badge good' }, 'shaped');
}

function title(shape) {
  const arrow = shape.direction === 'egress' ? '↑' : '↓';
  const way = shape.forward_to ? `to ${shape.forward_to}` : shape.direction === 'egress' ? 'up (egress)' : 'down (ingress)';
  return make('h3', null, make('span', { class: 'arrow', 'aria-hidden': 'true' }, arrow), way, stateBadge(shape));
}

function headline(view, shape, key) {
  const { history, unit } = view;
  const sent = history.rates(key, 'sent', unit);
  const dropped = history.rates(key, 'dropped', unit);
  const link = bytesOfRate(shape.rate);
  const bytesNow = history.now(key, 'sent', 'bits');
  const lost = history.now(key, 'dropped', 'packets');
  return make('div', { class: 'headline' },
    make('div', { class: 'figures' },
      make('p', { class: 'big' }, rate(sent.at(-1) ?? null, unit)),
      make('p', { class: 'faint' }, shape.budget ? `of budget ${shape.budget}` : shape.rate ? `of ${rate(link, 'bits')}` : 'sent'),
      link ? bar(link, [[bytesNow ?? 0, 'sent']]) : null,
      make('p', { class: 'small' }, make('span', { class: lost > 0 ? 'bad' : '' }, `${lost > 0 ? rate(lost, 'packets') : '0'} dropped`),
        ` · ${count(shape.queued.packets)} queued`)),
    sparkline(sent, dropped, unit === 'bits' ? link : null, SECONDS));
}

function withRate(view, shape, name) {
  const key = classKey(shape, name);
  return { packets: view.history.now(key, 'sent', 'packets') ?? 0, bytes: view.history.now(key, 'sent', 'bits') ?? 0 };
}

// What its classes, and those of the groups below it, send now.
function sumOf(view, shape, group) {
  const sum = { packets: 0, bytes: 0 };
  const add = (one) => { sum.packets += one.packets; sum.bytes += one.bytes; };
  shape.classes.filter((one) => one.group === group).forEach((one) => add(withRate(view, shape, one.name)));
  shape.groups.filter((one) => one.parent === group).forEach((one) => add(sumOf(view, shape, one.name)));
  return sum;
}

function rowsBelow(view, shape, parent, depth) {
  const rows = [];
  for (const object of shape.classes.filter((one) => (one.group ?? null) === parent)) {
    const key = classKey(shape, object.name);
    rows.push(classRow(view, key, object, depth));
    if (view.open.has(key)) rows.push(classDetails(view, key, object));
  }
  for (const group of shape.groups.filter((one) => (one.parent ?? null) === parent)) {
    rows.push(groupRow(view, `${shapeKey(shape)} group ${group.name}`, group, depth, sumOf(view, shape, group.name)));
    if (depth < 8) rows.push(...rowsBelow(view, shape, group.name, depth + 1));
  }
  return rows;
}

function classTable(view, shape) {
  if (shape.classes.length === 0) return null;
  const titles = [['class', ''], ['last minute', 'trend'], ['now', 'number'], ['dropped', 'number'], ['queued', 'number'],
    ['flows', 'number wide'], ['p99', 'number']];
  return make('table', { class: 'classes' },
    make('thead', null, make('tr', null, titles.map(([text, name]) => make('th', { scope: 'col', class: name }, text)))),
    make('tbody', null, rowsBelow(view, shape, null, 0)));
}

// What stands in no class.
function notes(shape) {
  const notes = [];
  const add = (packets, text) => packets > 0 && notes.push(`${count(packets)} ${text}`);
  add(shape.unmatched.packets, 'packets of no class, sent unshaped');
  add(shape.lost.ring.packets + shape.lost.device.packets, 'packets lost before headgate');
  if (shape.unshaped.times > 0)
    notes.push(`${count(shape.unshaped.packets)} packets passed while the dead-man switch was open, ${count(shape.unshaped.times)} times, ${duration(shape.unshaped.seconds)}`);
  add(shape.control_traffic.packets, 'packets of control traffic passed by');
  add(shape.unshapable.packets, 'packets could not be shaped and passed by');
  add(shape.foreign.packets, 'frames of another program dropped');
  add(shape.schedule_shifts.times, 'departures too late to be caught up');
  for (const one of (shape.not_shaped ?? []).slice(0, 5)) notes.push(`${one.interface} cannot be shaped: ${one.reason}`);
  notes.push(...shape.limits);
  return notes.length ? make('ul', { class: 'notes' }, notes.map((text) => make('li', null, text))) : null;
}

function panel(view, shape) {
  const key = shapeKey(shape);
  return make('section', { class: 'panel', 'data-key': key }, title(shape),
    shape.state && make('p', { class: 'state' }, shape.state),
    headline(view, shape, key), classTable(view, shape), notes(shape));
}

// All that is shaped on one interface: up first, then down.
export function linkCard(view, name, shapes) {
  const order = { egress: 0, ingress: 1 };
  const sorted = [...shapes].sort((a, b) => order[a.direction] - order[b.direction]);
  return make('article', { class: shapes.length > 1 ? 'link both' : 'link', 'data-key': name },
    make('h2', null, name, shapes[0].interfaces && make('small', null, 'all interfaces that match')),
    make('div', { class: 'directions' }, sorted.map((shape) => panel(view, shape))));
}
