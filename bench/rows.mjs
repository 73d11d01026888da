// Turns a scenario's measured bursts into rows: one for each measure and each variant that the first
// one, which is ours, is compared with.

import { compare, summarize } from "./summary.mjs";
import { verdict } from "./verdict.mjs";

function samplesOf(measure, bursts) {
  return bursts.map((burst) => [measure.sample(burst)].flat());
}

function summaryOf(measure, bursts) {
  const summary = summarize(samplesOf(measure, bursts).flat());
  if (measure.tailSample === undefined) return summary;
  const tail = summarize(bursts.map(measure.tailSample));
  return { ...summary, p99: tail.p50, max: tail.max };
}

/**
 * A measure is { name, unit, sample(burst), higherIsBetter?, tailSample?, bars?, limit? }: `bars`
 * holds a bar on the ratio to a variant, `limit` a bar on our own number, its `of` being one of the
 * summary's fields. `tailSample` gives the burst's own p99 where a burst yields one sample.
 */
function rowsOf(measure, results) {
  const tail = measure.higherIsBetter ? "p1" : "p99";
  const [[, ours], ...others] = results;
  const own = summaryOf(measure, ours);
  return others.map(([name, bursts], index) => {
    const other = summaryOf(measure, bursts);
    const ratio = compare(samplesOf(measure, ours), samplesOf(measure, bursts), tail);
    if (measure.tailSample !== undefined) ratio.tail = own.p99 / other.p99;
    const limit = index === 0 ? measure.limit : undefined;
    const bar = measure.bars?.[name] ?? limit;
    return {
      measure: measure.name,
      unit: measure.unit,
      against: name,
      ours: own,
      other,
      tail,
      ratio,
      bar,
      verdict: verdict(bar, bar !== undefined && bar === limit ? own[limit.of] : ratio.p50),
    };
  });
}

export function scenarioRows(scenario, results) {
  return scenario.measures.flatMap((measure) => rowsOf(measure, results));
}
