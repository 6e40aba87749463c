// How long calls take in the last seconds: percentiles show a dependency that has become slow minutes later.

import { now } from "./format.js";

export const SLOW_S = 1;
export const WATCHED_S = 6;
const WATCHED_AT_LEAST_S = 3;

/** How long calls take in the last seconds: the calls in flight over time, by those that have ended since. */
export class Pace {
  constructor() {
    this.samples = [];
    this.slow = new Map();
  }

  add({ operations }, at = now() / 1000) {
    const rows = new Map();
    for (const { tool, operation, calls, in_flight: running } of operations) {
      rows.set(`${tool}\n${operation}`, { running, ended: Object.values(calls).reduce((sum, one) => sum + one, 0) });
    }
    this.samples.push({ at, rows });
    while (at - this.samples[0].at > WATCHED_S) this.samples.shift();
    for (const key of rows.keys()) {
      if (!(this.mean(key) > SLOW_S)) this.slow.delete(key);
      else if (!this.slow.has(key)) this.slow.set(key, new Date(1000 * this.samples[0].at).toISOString());
    }
  }

  mean(key) {
    const seen = this.samples.filter(({ rows }) => rows.has(key));
    if (seen.length < 3 || seen.at(-1).at - seen[0].at < WATCHED_AT_LEAST_S) return 0;
    let busyS = 0;
    for (let at = 1; at < seen.length; at++) {
      const [before, after] = [seen[at - 1], seen[at]];
      busyS += Math.min(before.rows.get(key).running, after.rows.get(key).running) * (after.at - before.at);
    }
    return busyS / Math.max(1, seen.at(-1).rows.get(key).ended - seen[0].rows.get(key).ended);
  }

  of(tool, operation) {
    const key = `${tool}\n${operation}`;
    return { meanS: this.mean(key), since: this.slow.get(key) ?? null };
  }
}
