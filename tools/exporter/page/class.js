// A class: its row in the table of its interface, and what opens below it.
import { make } from './document.js';
import { bar, bytesOfRate, count, delay, delayBars, rate, sparkline } from './figure.js';
import { SECONDS } from './history.js';

const COLUMNS = 7;

function settings(object) {
  if (object.bypass) return 'not shaped';
  const parts = [];
  if (object.rate?.length) parts.push(object.rate.join(', ') + (object.key?.[0] === 'class' ? '' : ` per ${object.key.join(' ')}`));
  if (object.budget) parts.push(`budget ${object.budget}`);
  if (object.action === 'police') parts.push('policed');
  if (object.guarantee) parts.push(`guaranteed ${object.guarantee}`);
  if (object.ceiling) parts.push(`at most ${object.ceiling}`);
  if (object.fair) parts.push('fair');
  if (object.aqm === 'codel') parts.push('CoDel');
  return parts.join(' · ');
}

function nameCell(view, key, object, depth) {
  const open = view.open.has(key);
  const toggle = () => {
    view.open.has(key) ? view.open.delete(key) : view.open.add(key);
    view.redraw();
  };
  return make('th', { scope: 'row', class: `name depth${Math.min(depth, 4)}` },
    make('button', { type: 'button', class: 'opener', 'aria-expanded': String(open), onclick: toggle }, object.name),
    make('small', null, settings(object)));
}

function droppedText(perSecond) {
  if (perSecond === null) return '–';
  return perSecond === 0 ? '0' : rate(perSecond, 'packets');
}

export function classRow(view, key, object, depth) {
  const { history, unit } = view;
  const sent = history.rates(key, 'sent', unit);
  const dropped = history.rates(key, 'dropped', unit);
  const lost = history.now(key, 'dropped', 'packets');
  const limit = unit === 'bits' ? bytesOfRate(object.ceiling) : null;
  const waits = object.queued.packets > 0;
  const p99 = object.delay_us.max > 0 ? delay(object.delay_us.p99) : '–';
  return make('tr', { 'data-key': key },
    nameCell(view, key, object, depth),
    make('td', { class: 'trend' }, sparkline(sent, dropped, limit, SECONDS)),
    make('td', { class: 'number now', 'data-label': 'now' }, rate(sent.at(-1) ?? null, unit),
      object.held_by && make('small', { class: 'held' }, `held by ${object.held_by}`)),
    make('td', { class: `number${lost > 0 ? ' bad' : ''}`, 'data-label': 'dropped' }, droppedText(lost)),
    make('td', { class: `number${waits ? '' : ' faint'}`, 'data-label': 'queued' }, count(object.queued.packets)),
    make('td', { class: 'number wide', 'data-label': 'flows' }, object.bypass ? '–' : count(object.flows)),
    make('td', { class: 'number', 'data-label': 'p99' }, p99));
}

export function groupRow(view, key, group, depth, sum) {
  const ceiling = bytesOfRate(group.ceiling);
  return make('tr', { 'data-key': key, class: 'group' },
    make('th', { scope: 'row', class: `name depth${Math.min(depth, 4)}` }, make('span', { class: 'opener' }, group.name),
      make('small', null, `group${group.budget ? ` · budget ${group.budget}` : group.ceiling ? ` · at most ${group.ceiling}` : ''}`)),
    make('td', { class: 'trend' }, ceiling ? bar(ceiling, [[sum.bytes ?? 0, 'sent']]) : null),
    make('td', { class: 'number now', 'data-label': 'now' }, rate(view.unit === 'packets' ? sum.packets : sum.bytes, view.unit)),
    make('td', { colspan: COLUMNS - 3, class: 'rest' }));
}

function facts(pairs) {
  return make('dl', null, pairs.filter(([, value]) => value).map(([name, value]) =>
    make('div', null, make('dt', null, name), make('dd', null, value))));
}

function flowTable(view, key, object) {
  if (!view.servesFlows || object.bypass) return null;
  const flows = view.flows.get(key);
  if (!flows) return make('p', { class: 'faint' }, 'asking for the flows');
  if (flows.error) return make('p', { class: 'faint' }, flows.error);
  if (flows.list.length === 0) return make('p', { class: 'faint' }, 'no flow is remembered');
  return make('table', { class: 'flows' },
    make('thead', null, make('tr', null, ['flow', 'now', 'dropped', 'queued'].map((title, i) =>
      make('th', { scope: 'col', class: i ? 'number' : '' }, title)))),
    make('tbody', null, flows.list.slice(0, 12).map((flow) => make('tr', { 'data-key': flow.text },
      make('td', null, flow.text, flow.plan && make('small', null, flow.plan === flow.text ? 'plan' : `plan ${flow.plan}`)),
      make('td', { class: 'number' }, rate(view.unit === 'packets' ? flow.packetsNow : flow.bytesNow, view.unit)),
      make('td', { class: 'number' }, count(flow.dropped.packets)),
      make('td', { class: 'number' }, count(flow.queued.packets))))));
}

function plans(object) {
  if (!object.plans?.length) return null;
  return object.plans.map((plan) => `${plan.name} ${plan.budget ? `budget ${plan.budget}` : plan.rate.join(', ')} (${count(plan.members)}${plan.together ? ' together' : ''})`).join(' · ');
}

function matches(object) {
  const parts = [object.match, ...['dscp', 'src', 'dst', 'mark', 'cgroup'].map((name) =>
    object[name]?.length ? `${name} ${object[name].slice(0, 8).join(' ')}${object[name].length > 8 ? ' …' : ''}` : '')];
  return parts.filter(Boolean).join(' · ');
}

function guaranteedShare(view, key, object) {
  if (!object.guarantee) return null;
  const guaranteed = view.history.now(key, 'guaranteed', view.unit);
  const sent = view.history.now(key, 'sent', view.unit);
  return sent === null ? null : `${rate(guaranteed, view.unit)}, borrowed ${rate(Math.max(0, sent - guaranteed), view.unit)}`;
}

export function classDetails(view, key, object) {
  const delays = view.history.delaysLately(key);
  const reasons = view.history.droppedLately(key);
  const quantiles = object.delay_us.max > 0
    ? `p50 ${delay(object.delay_us.p50)}, p99 ${delay(object.delay_us.p99)}, longest ${delay(object.delay_us.max)}` : null;
  const bars = delays && delayBars(view.bounds, delays.packets);
  return make('tr', { 'data-key': `${key} details`, class: 'details' }, make('td', { colspan: COLUMNS },
    facts([
      ['takes', matches(object)],
      ['by its guarantee', guaranteedShare(view, key, object)],
      ['priority, weight', object.bypass || object.action === 'police' ? null : `${object.priority}, ${object.weight}`],
      ['received', `${count(object.received.packets)} packets`],
      ['sent', `${count(object.sent.packets)} packets`],
      ['dropped', `${count(object.dropped.packets)} packets`],
      ['marked', object.marked.packets ? `${count(object.marked.packets)} packets` : null],
      ['remarked', object.remarked.packets ? `${count(object.remarked.packets)} packets` : null],
      ['plans', plans(object)],
      ['delay, 10 s', quantiles],
      ['why dropped, last minute', reasons.map(([reason, packets]) => `${reason} ${count(packets)}`).join(' · ')],
    ]),
    bars && make('div', { class: 'delays' }, make('h4', null, `delay of ${delays.of}`), bars),
    flowTable(view, key, object)));
}
