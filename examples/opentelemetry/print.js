/**
 * @typedef {import("@opentelemetry/sdk-trace-base").ReadableSpan} Span
 * @typedef {import("@opentelemetry/sdk-metrics").ResourceMetrics} ResourceMetrics
 */

const text = (/** @type {unknown} */ value) =>
  Object.entries(Object(value))
    .map(([key, each]) => `${key}=${Array.isArray(each) ? each.length : each}`)
    .join(" ");

/**
 * Spans as a tree.
 * @type {(spans: Span[], parent?: string, indent?: string) => string[]}
 */
export function spanLines(spans, parent = undefined, indent = "") {
  return spans
    .filter((span) => span.parentSpanContext?.spanId === parent)
    .flatMap((span) => {
      const [seconds, nanoseconds] = span.duration;
      const ms = (seconds * 1e3 + nanoseconds / 1e6).toFixed(3);
      return [
        `${indent}${span.name} ${ms} ms ${text(span.attributes)}`.trimEnd(),
        ...spanLines(spans, span.spanContext().spanId, `${indent}  `),
      ];
    });
}

/**
 * The last export's values: counters, and the number and mean of histograms.
 * @type {(exports: ResourceMetrics[]) => string[]}
 */
export function metricLines(exports) {
  const scopes = exports.at(-1)?.scopeMetrics ?? [];
  return scopes.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => {
        const { name, unit } = descriptor;
        const shown =
          typeof value === "object" && "sum" in value
            ? `n=${value.count} mean=${((value.sum ?? 0) / value.count).toFixed(4)}`
            : String(value);
        return `${name} {${text(attributes)}} ${shown} ${unit}`.trimEnd();
      }),
    ),
  );
}
