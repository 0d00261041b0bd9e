// What the counters were at the last looks, and the rates that follow from them.

export const SECONDS = 60;

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    this.uptime = null;
    this.counters = new Map(); // by key: what the last looks saw, oldest first
    this.seen = new Set();
  }

  // Begins a look. A daemon that was started anew counts from zero: nothing before it is compared.
  begin(uptime) {
    if (this.uptime !== null && uptime < this.uptime) this.clear();
    this.isNew = uptime !== this.uptime;
    this.uptime = uptime;
    this.seen.clear();
  }

  // Takes in the counters of a shape or a class.
  add(key, object) {
    this.seen.add(key);
    if (!this.counters.has(key)) this.counters.set(key, []);
    const looks = this.counters.get(key);
    const last = looks.at(-1);
    if (last && last.sent.packets > object.sent.packets) looks.length = 0;
    if (this.isNew || looks.length === 0) {
      looks.push({ at: this.uptime, sent: object.sent, received: object.received, dropped: object.dropped,
        guaranteed: object.guaranteed, delays: object.delays?.packets });
    }
    while (looks.length > SECONDS + 1) looks.shift();
  }

  // Forgets what is not there any more.
  end() {
    for (const key of this.counters.keys()) if (!this.seen.has(key)) this.counters.delete(key);
  }

  looks(key) {
    return this.counters.get(key) ?? [];
  }

  // Of a count, "packets" or "bytes" a second, oldest first.
  rates(key, count, unit) {
    const looks = this.looks(key);
    const field = unit === 'packets' ? 'packets' : 'bytes';
    const rates = [];
    for (let i = 1; i < looks.length; ++i) {
      const seconds = looks[i].at - looks[i - 1].at;
      const grown = (looks[i][count]?.[field] ?? 0) - (looks[i - 1][count]?.[field] ?? 0);
      rates.push(Math.max(0, grown) / seconds);
    }
    return rates;
  }

  now(key, count, unit) {
    return this.rates(key, count, unit).at(-1) ?? null;
  }

  // By reason, since the oldest look: [[reason, packets], ...], most first.
  droppedLately(key) {
    const looks = this.looks(key);
    if (looks.length === 0) return [];
    const reasons = (look) => look.dropped.reasons ?? {};
    const [first, last] = [reasons(looks[0]), reasons(looks.at(-1))];
    return Object.keys(last).map((reason) => [reason, last[reason].packets - (first[reason]?.packets ?? 0)])
      .filter(([, packets]) => packets > 0).sort((a, b) => b[1] - a[1]);
  }

  // Packets by delay, since the oldest look; all that there were, where that is none.
  delaysLately(key) {
    const looks = this.looks(key).filter((look) => look.delays);
    if (looks.length === 0) return null;
    const grown = looks.at(-1).delays.map((packets, i) => packets - looks[0].delays[i]);
    return grown.some((packets) => packets > 0) ? { packets: grown, of: 'the last minute' }
      : { packets: looks.at(-1).delays, of: 'all time' };
  }
}
