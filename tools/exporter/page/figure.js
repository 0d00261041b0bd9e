// Figures as text, and drawings of them.
import { make } from './document.js';

// Three digits: 1.23, 12.3, 123.
function threeDigits(value) {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function inThousands(value, units) {
  let i = 0;
  while (value >= 999.5 && i < units.length - 1) {
    value /= 1000;
    ++i;
  }
  return `${i === 0 && Number.isInteger(value) ? value : threeDigits(value)} ${units[i]}`.trim();
}

export const count = (value) => inThousands(value, ['', 'k', 'M', 'G', 'T']);
export const bytes = (value) => inThousands(value, ['B', 'kB', 'MB', 'GB', 'TB']);

export function rate(perSecond, unit) {
  if (perSecond === null) return '–';
  if (perSecond === 0) return '0';
  if (unit === 'packets') return `${inThousands(Math.round(perSecond * 10) / 10, ['', 'k', 'M', 'G'])}/s`;
  return inThousands(perSecond * 8, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s']);
}

export function delay(microseconds) {
  if (microseconds < 1000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 1e6) return `${threeDigits(microseconds / 1000)} ms`;
  return `${threeDigits(microseconds / 1e6)} s`;
}

export function duration(seconds) {
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const i = Math.max(0, units.findIndex(([size]) => seconds >= size));
  if (seconds < 1) return '0 s';
  const [size, name] = units[i];
  const rest = i + 1 < units.length ? Math.floor((seconds % size) / units[i + 1][0]) : 0;
  return `${Math.floor(seconds / size)} ${name}${rest > 0 ? ` ${rest} ${units[i + 1][1]}` : ''}`;
}

// "20mbit" as bytes a second; null: it is no bit rate.
export function bytesOfRate(text) {
  const parts = /^(\d+)(k|m|g|t)?bit$/.exec(text ?? '');
  return parts ? (parts[1] * { k: 1e3, m: 1e6, g: 1e9, t: 1e12 }[parts[2]] || Number(parts[1])) / 8 : null;
}

const WIDTH = 120;
const HEIGHT = 30;

function line(values, highest, slots) {
  const step = WIDTH / (slots - 1);
  const begin = WIDTH - step * (values.length - 1);
  return values.map((value, i) => `${i ? 'L' : 'M'}${(begin + i * step).toFixed(1)} ` +
    `${(HEIGHT - 1 - ((HEIGHT - 3) * Math.min(value, highest)) / highest).toFixed(1)}`).join('');
}

// `sent` and `dropped` over time, oldest first, of `slots` at most; the top is the highest, or `limit` where that is near.
export function sparkline(sent, dropped, limit, slots) {
  const most = Math.max(...sent, ...dropped, 0);
  const top = limit && most > limit / 4 ? Math.max(limit, most) : most;
  const drawn = [make('line', { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1, class: 'base' })];
  if (top > 0 && sent.length > 1) {
    const path = line(sent, top, slots);
    const begin = WIDTH - (WIDTH / (slots - 1)) * (sent.length - 1);
    drawn.push(make('path', { class: 'area', d: `${path}L${WIDTH} ${HEIGHT - 1}L${begin.toFixed(1)} ${HEIGHT - 1}Z` }));
    drawn.push(make('path', { class: 'line', d: path }));
    if (dropped.some((value) => value > 0)) drawn.push(make('path', { class: 'drops', d: line(dropped, top, slots) }));
  }
  return make('svg', { class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, drawn);
}

// How much of `whole` the parts take, from the left: [[value, class], ...].
export function bar(whole, parts) {
  let x = 0;
  const drawn = parts.map(([value, name]) => {
    const width = Math.max(0, Math.min(100 - x, (100 * value) / whole));
    const rect = make('rect', { class: name, x: `${x.toFixed(2)}%`, y: 0, width: `${width.toFixed(2)}%`, height: '100%' });
    x += width;
    return rect;
  });
  return make('svg', { class: 'bar', 'aria-hidden': 'true' }, make('rect', { class: 'rail', width: '100%', height: '100%' }), drawn);
}

// Packets by delay, of those that `packets` has: bounds in microseconds, one more packets than bounds.
export function delayBars(bounds, packets) {
  const first = packets.findIndex((value) => value > 0);
  if (first < 0) return null;
  let last = packets.length - 1;
  while (packets[last] === 0) --last;
  const from = Math.max(0, first - 1);
  const to = Math.min(packets.length - 1, Math.max(last + 1, from + 7));
  const most = Math.max(...packets);
  const all = packets.reduce((sum, value) => sum + value, 0);
  const rows = [];
  for (let i = from; i <= to; ++i) {
    const name = i < bounds.length ? `< ${delay(bounds[i])}` : `≥ ${delay(bounds.at(-1))}`;
    const share = (100 * packets[i]) / all;
    rows.push(make('tr', null, make('th', { scope: 'row' }, name), make('td', null, bar(most, [[packets[i], 'delay']])),
      make('td', { class: 'number' }, packets[i] ? `${share < 0.1 ? '< 0.1' : share.toFixed(1)} %` : '')));
  }
  return make('table', { class: 'bars' }, make('tbody', null, rows));
}
