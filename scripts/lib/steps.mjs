// The steps of a long command: says which one it is at, of how many, how long that took last, and at
// the end where the time went. The times of the last run are kept below build/.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { inRoot } from "./project.mjs";

const kSayEveryMs = 30_000;
const file = inRoot("build", "step-times.json");

/** 250 → "4 min 10 s". */
export function durationText(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function readTimes() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {}; // none yet, as in a fresh clone
  }
}

function keepTime(name, label, seconds) {
  const times = readTimes();
  times[name] = { ...times[name], [label]: seconds };
  mkdirSync(inRoot("build"), { recursive: true });
  writeFileSync(file, `${JSON.stringify(times, null, 2)}\n`);
}

/** Lines of "label  time  share", the total last. */
export function timeTable(rows) {
  const total = rows.reduce((sum, { seconds }) => sum + seconds, 0);
  const width = Math.max(...rows.map(({ label }) => label.length), 5);
  const line = (label, seconds) =>
    `  ${label.padEnd(width)}  ${durationText(seconds).padStart(12)}  ` +
    `${String(Math.round((100 * seconds) / Math.max(total, 1e-9))).padStart(3)} %`;
  return [...rows.map(({ label, seconds }) => line(label, seconds)), line("total", total)];
}

/**
 * Runs [{ label, work }] one after the other and resolves with what each `work` resolved with. A
 * step that throws ends it all.
 */
export async function runSteps(name, steps) {
  const rows = [];
  const results = [];
  for (const [index, { label, work }] of steps.entries()) {
    const where = `${name}, step ${index + 1} of ${steps.length}: ${label}`;
    const last = readTimes()[name]?.[label];
    const expected =
      last === undefined ? "no earlier time here" : `last time ${durationText(last)}`;
    console.log(`\n== ${where} (${expected})`);
    const start = performance.now();
    const elapsed = () => (performance.now() - start) / 1000;
    const timer = setInterval(
      () => console.log(`.. ${where}: ${durationText(elapsed())} (${expected})`),
      kSayEveryMs,
    );
    try {
      results.push(await work());
    } catch (error) {
      console.log(`== ${where}: FAILED after ${durationText(elapsed())}`);
      throw error;
    } finally {
      clearInterval(timer);
    }
    rows.push({ label, seconds: elapsed() });
    keepTime(name, label, elapsed());
  }
  console.log(`\n== ${name}: where the time went`);
  for (const line of timeTable(rows)) console.log(line);
  return results;
}
