// From samples to rows: percentiles and ratios of a measure's samples, which come as one array for each
// round, and what a scenario's bars say of them.

/** The q-th percentile (0..100) of ascending numbers, interpolated between neighbours. */
export function percentile(ascending, q) {
  const position = ((ascending.length - 1) * q) / 100;
  const below = Math.floor(position);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below] + (ascending[above] - ascending[below]) * (position - below);
}

const ascending = (samples) => Float64Array.from(samples).sort();

/** How far values fall at worst behind their highest, in per cent of it. */
export function fallAfterPeak(values) {
  const peak = values.indexOf(Math.max(...values));
  return 100 * (1 - Math.min(...values.slice(peak)) / values[peak]);
}

export function summarize(samples) {
  const sorted = ascending(samples);
  const at = (q) => percentile(sorted, q);
  return {
    samples: sorted.length,
    p1: at(1),
    p5: at(5),
    p10: at(10),
    p50: at(50),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    max: at(100),
  };
}

/**
 * Ours divided by the other's: of the medians, of the bad tails (`tail`: "p99", or "p1" where more
 * is better), and how the medians' ratio spreads from round to round.
 */
export function compare(oursRounds, otherRounds, tail) {
  const ours = summarize(oursRounds.flat());
  const other = summarize(otherRounds.flat());
  const perRound = ascending(
    oursRounds.map((round, i) => summarize(round).p50 / summarize(otherRounds[i]).p50),
  );
  return {
    p50: ours.p50 / other.p50,
    tail: ours[tail] / other[tail],
    p10OfRounds: percentile(perRound, 10),
    p90OfRounds: percentile(perRound, 90),
  };
}

// A bar is { atMost | atLeast, aim }; a number meets its aim, only its bar, or misses it.
function verdict(bar, value) {
  if (bar === undefined) return "";
  const meets = (limit) => (bar.atLeast === undefined ? value <= limit : value >= limit);
  if (meets(bar.aim)) return "PASS, aim";
  return meets(bar.atLeast ?? bar.atMost) ? "PASS" : "MISS";
}

// Turns a point's measured bursts into rows: for each measure one for each other variant that its
// subject is compared with, and one for a bar on the subject's own number.
//
// A measure is { name, unit, sample(burst), of?, higherIsBetter?, tailSample?, bars?, limit? }. Its
// subject is the variant `of`, or else the scenario's first. `bars` holds a bar on the ratio to
// another variant; with `of`, only those are compared. `limit` is a bar on the subject's own number,
// its `of` being one of the summary's fields. `tailSample` gives the burst's own p99 where a burst
// yields one sample.

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
