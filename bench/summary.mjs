// Percentiles and ratios of samples. A measure's samples come as one array for each round.

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
