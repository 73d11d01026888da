// Where ours was worse than what it is compared with, in so many words: the ratio of the medians and
// its whole p10 to p90 lie on the wrong side of 1 (of the p99, where a measure has one of its own).
// What has no sandbox is no comparison, and ours are not compared with each other.

import { figure } from "../figure.mjs";
import { labelOf } from "../points.mjs";
import { kVariants } from "../variants/index.mjs";

const kKinds = new Set(["floor", "same-bwrap", "peer"]);

function isWorse({ ratio }, { higherIsBetter, tailSample }) {
  if (tailSample !== undefined && ratio.tail <= 1) return false;
  if (higherIsBetter) return ratio.p50 < 1 && ratio.p90OfRounds < 1;
  return ratio.p50 > 1 && ratio.p10OfRounds > 1;
}

function isCompared({ of, against }, subject) {
  if (against === undefined || of !== subject) return false;
  const { kind, isUnconfined } = kVariants[against];
  return kVariants[of].kind === "ours" && kKinds.has(kind) && isUnconfined !== true;
}

/** One line for each measure and variant that ours lost against, all its points in it. */
export function slowerLines({ scenario, points }) {
  const measures = new Map(scenario.measures.map((measure) => [measure.name, measure]));
  const lost = new Map();
  for (const { at, rows, results } of points) {
    const subject = results.keys().next().value;
    for (const row of rows) {
      if (!isCompared(row, subject) || !isWorse(row, measures.get(row.measure))) continue;
      const { measure, unit, of, against, own, other, ratio } = row;
      const key = `${scenario.name}: ${measure}, ${kVariants[of].title} / ${kVariants[against].title}:`;
      const where = at === undefined ? "" : ` at ${labelOf(scenario.axis, at)}`;
      const numbers = `${figure(own.p50)} to ${figure(other.p50)} ${unit}`;
      // A Set: several measures may differ in their bars alone.
      if (!lost.has(key)) lost.set(key, new Set());
      lost.get(key).add(`${figure(ratio.p50)}x${where} (${numbers})`);
    }
  }
  return [...lost].map(([key, texts]) => `${key} ${[...texts].join(", ")}`);
}
