// Turns a point's measured bursts into rows: for each measure one for each other variant that its
// subject is compared with, and one for a bar on the subject's own number.
//
// A measure is { name, unit, sample(burst), of?, higherIsBetter?, tailSample?, bars?, limit? }. Its
// subject is the variant `of`, or else the scenario's first. `bars` holds a bar on the ratio to
// another variant; with `of`, only those are compared. `limit` is a bar on the subject's own number,
// its `of` being one of the summary's fields. `tailSample` gives the burst's own p99 where a burst
// yields one sample.

import { compare, summarize } from "./summary.mjs";
import { verdict } from "./verdict.mjs";

function samplesOf(measure, bursts) {
  return bursts.map((burst) => [measure.sample(burst)].flat());
}

/** Percentiles of a measure; undefined where the variant does not have it (the C floor no memory). */
export function summaryOf(measure, bursts) {
  const samples = samplesOf(measure, bursts).flat();
  if (samples.some((sample) => !Number.isFinite(sample))) return undefined;
  const summary = summarize(samples);
  if (measure.tailSample === undefined) return summary;
  const tail = summarize(bursts.map(measure.tailSample));
  return { ...summary, p95: undefined, p99: tail.p50, max: tail.max };
}

/** The subject divided by the other, with its spread; undefined where one does not have the measure. */
export function ratioOf(measure, bursts, otherBursts) {
  const own = summaryOf(measure, bursts);
  const other = summaryOf(measure, otherBursts);
  if (own === undefined || other === undefined) return undefined;
  const tail = measure.higherIsBetter ? "p1" : "p99";
  const ratio = compare(samplesOf(measure, bursts), samplesOf(measure, otherBursts), tail);
  if (measure.tailSample !== undefined) ratio.tail = own.p99 / other.p99;
  return ratio;
}

function rowsOf(measure, results) {
  const { name, unit, bars = {}, limit } = measure;
  const subject = measure.of ?? results.keys().next().value;
  if (!results.has(subject)) return [];
  const own = summaryOf(measure, results.get(subject));
  if (own === undefined) return [];
  const head = { measure: name, unit, of: subject, own };
  const rows = [];
  for (const [against, bursts] of results) {
    if (against === subject || (measure.of !== undefined && bars[against] === undefined)) continue;
    const ratio = ratioOf(measure, results.get(subject), bursts);
    if (ratio === undefined) continue;
    const bar = bars[against];
    const other = summaryOf(measure, bursts);
    rows.push({ ...head, against, other, ratio, bar, verdict: verdict(bar, ratio.p50) });
  }
  if (limit !== undefined) {
    rows.push({ ...head, bar: limit, verdict: verdict(limit, own[limit.of]) });
  }
  return rows;
}

export function pointRows(scenario, results) {
  return scenario.measures.flatMap((measure) => rowsOf(measure, results));
}
