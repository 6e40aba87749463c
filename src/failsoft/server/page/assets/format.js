// Numbers and times as people read them.

const CLOCK_TOLERANCE_MS = 3000;
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export const count = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : grouped.format(value));

export function rate(perSecond) {
  if (!perSecond) return "0";
  return perSecond >= 10 ? grouped.format(perSecond) : perSecond.toPrecision(perSecond >= 1 ? 2 : 1);
}

export function share(ratio) {
  if (!Number.isFinite(ratio)) return "–";
  const percent = ratio * 100;
  if (percent === 0 || percent >= 99.995) return `${Math.round(percent)} %`;
  if (percent > 99) return `${(Math.floor(percent * 100) / 100).toFixed(2)} %`;
  return percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 10_000) return `${(value / 1000).toFixed(0)} s`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} ms`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  return value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : `${Math.round(value / 2 ** 20)} MiB`;
}

export function span(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`;
}

let aheadMs = 0;

/** Take the time of the server from a header of HTTP, if the clock of this machine differs from it. */
export function setClock(date) {
  const difference = Date.parse(date) - Date.now();
  aheadMs = Math.abs(difference) > CLOCK_TOLERANCE_MS ? difference : 0;
}

/** Return the time of the server, in milliseconds. */
export const now = () => Date.now() + aheadMs;
export const secondsSince = (iso) => (now() - Date.parse(iso)) / 1000;
export const clock = (iso) => (iso ? time.format(new Date(iso)) : "–");

/** Return a time of the day, and how long ago that is. */
export function since(iso) {
  const age = secondsSince(iso);
  return age < 86_400 ? `${minute.format(new Date(iso))} (${span(age)})` : `${iso.slice(0, 16).replace("T", " ")} UTC`;
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
