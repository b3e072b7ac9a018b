// Numbers and times as people say them.

const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium" });
const COUNT = new Intl.NumberFormat("en");

export const count = (number) => COUNT.format(number ?? 0);
export const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const clock = (seconds) => CLOCK.format(new Date(seconds * 1000));
export const moment = (seconds) => DAY.format(new Date(seconds * 1000));

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return ago(milliseconds / 1000);
}

/** A length of time, in its two largest units. */
export function ago(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  let rest = whole;
  return parts.slice(first, first + 2).map(([unit, size]) => {
    const many = Math.floor(rest / size);
    rest -= many * size;
    return many ? `${many} ${unit}` : "";
  }).filter(Boolean).join(" ");
}

export const since = (seconds) => ago(Date.now() / 1000 - seconds);
