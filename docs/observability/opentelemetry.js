import diagnostics from "node:diagnostics_channel";
import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";

/**
 * @typedef {import("@openagentic/native-runner").RunStartMessage} RunStart
 * @typedef {import("@openagentic/native-runner").RunEndMessage} RunEnd
 * @typedef {import("@openagentic/native-runner").RunTiming} RunTiming
 */

const name = "@openagentic/native-runner";

/** The default buckets are made for milliseconds. */
const seconds = {
  unit: "s",
  advice: { explicitBucketBoundaries: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 60] },
};

/** @type {[string, keyof RunTiming][]} */
const phases = [
  ["queue", "queueMs"],
  ["setup", "setupMs"],
  ["command", "commandMs"],
  ["teardown", "teardownMs"],
];

/**
 * Makes a span of each run, with one for each part of it, and metrics of all, with the tracer and
 * meter providers that are registered. Returns what stops that.
 */
export function instrumentNativeRunner() {
  const tracer = trace.getTracer(name);
  const meter = metrics.getMeter(name);
  const duration = meter.createHistogram("native_runner.run.duration", seconds);
  const phaseDuration = meter.createHistogram("native_runner.phase.duration", seconds);
  const output = meter.createCounter("native_runner.output", { unit: "By" });
  const connections = meter.createCounter("native_runner.connections");
  const network = meter.createCounter("native_runner.network.io", { unit: "By" });
  const kills = meter.createCounter("native_runner.kills");
  /** @type {Map<number, { span: import("@opentelemetry/api").Span, startMs: number }>} */
  const running = new Map();

  const onStart = (/** @type {unknown} */ message) => {
    const { run, argv, policyHash } = /** @type {RunStart} */ (message);
    const startMs = Date.now();
    // The program's name only: arguments may hold what should not get into a trace.
    const attributes = {
      "process.executable.name": argv[0] ?? "",
      "native_runner.policy_hash": policyHash,
    };
    const span = tracer.startSpan("sandbox.exec", { startTime: startMs, attributes });
    running.set(run, { span, startMs });
  };

  const onEnd = (/** @type {unknown} */ message) => {
    const { run, audit, bytes, error } = /** @type {RunEnd} */ (message);
    const started = running.get(run); // none: it started before we listened
    running.delete(run);
    if (audit === undefined) {
      started?.span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
      started?.span.end();
      return;
    }
    const { outcome, runtime, timing, start, kill } = audit;
    const labels = { outcome, runtime, start };
    if (started) {
      started.span.setAttributes({ ...labels, "native_runner.layers": audit.layers });
      if (outcome !== "exited")
        started.span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
      endSpans(started.span, started.startMs, timing);
    }
    let totalMs = 0;
    for (const [phase, field] of phases) {
      totalMs += timing[field];
      if (timing[field] > 0) phaseDuration.record(timing[field] / 1000, { phase, runtime, start });
    }
    duration.record(totalMs / 1000, labels);
    for (const stream of /** @type {const} */ (["stdout", "stderr"])) {
      output.add(bytes[stream].kept, { stream, kept: true });
      output.add(bytes[stream].dropped, { stream, kept: false });
    }
    for (const { verdict, rule = "none", count, bytesOut, bytesIn } of audit.connections ?? []) {
      // The rule, not the host: a command asks for names at will, and each would be a series.
      const why = verdict === "allowed" ? { verdict, rule } : { verdict };
      connections.add(count, why);
      if (verdict === "denied") continue;
      network.add(bytesOut, { rule, direction: "out" });
      network.add(bytesIn, { rule, direction: "in" });
    }
    if (kill !== null) kills.add(1, { runtime, proved: kill === "proved" });
  };

  /** @type {(span: import("@opentelemetry/api").Span, startMs: number, timing: RunTiming) => void} */
  const endSpans = (span, startMs, timing) => {
    const within = trace.setSpan(context.active(), span);
    let atMs = startMs;
    for (const [phase, field] of phases) {
      if (timing[field] === 0) continue; // it did not come to that
      const part = tracer.startSpan(`sandbox.${phase}`, { startTime: atMs }, within);
      atMs += timing[field];
      part.end(atMs);
    }
    span.end(atMs);
  };

  diagnostics.subscribe(`${name}:run.start`, onStart);
  diagnostics.subscribe(`${name}:run.end`, onEnd);
  return () => {
    diagnostics.unsubscribe(`${name}:run.start`, onStart);
    diagnostics.unsubscribe(`${name}:run.end`, onEnd);
    for (const { span } of running.values()) span.end();
  };
}
