/** examples/opentelemetry: what it makes of real runs, in the SDK's own in-memory exporters. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { BubblewrapNativeRunner, LocalNativeRunner } from "@openagentic/native-runner";
import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { instrumentNativeRunner } from "../../../examples/opentelemetry/instrument.js";
import { kHungMs } from "../../support/waits.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const root = new URL("../../../", import.meta.url);
const at = (path: string) => fileURLToPath(new URL(path, root));

const spans = new InMemorySpanExporter();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const measures = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter: measures });
const measuring = new MeterProvider({ readers: [reader] });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(tracing);
  metrics.setGlobalMeterProvider(measuring);
});
afterAll(async () => {
  await measuring.shutdown();
  await tracing.shutdown();
});
beforeEach(async () => {
  await measuring.forceFlush();
  measures.reset();
  spans.reset();
});

const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
const childrenOf = (span: ReadableSpan | undefined) =>
  spans.getFinishedSpans().filter((each) => each.parentSpanContext?.spanId === idOf(span));
const named = (name: string) => spans.getFinishedSpans().filter((each) => each.name === name);
const msOf = ({ duration: [seconds, nanoseconds] }: ReadableSpan) =>
  seconds * 1e3 + nanoseconds / 1e6;

/** Every value that was measured: [name, attributes, value]. */
async function measured(): Promise<[string, object, unknown][]> {
  await measuring.forceFlush();
  return measures.getMetrics().flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics: each }) =>
      each.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }): [string, object, unknown] => {
          return [descriptor.name, attributes, value];
        }),
      ),
    ),
  );
}

describe("the instrumentation", () => {
  test("makes a span of a run below the caller's, with one for each part", async () => {
    const stop = instrumentNativeRunner();
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
    await trace.getTracer("test").startActiveSpan("turn", async (turn) => {
      await Promise.all([
        runner.exec({ argv: ["sh", "-c", "sleep 0.1", "hush"] }),
        runner.exec({ argv: ["sleep", "60"], limits: { timeoutMs: 100 } }),
      ]);
      turn.end();
    });
    stop();
    const [turn] = named("turn");
    const runs = childrenOf(turn);
    expect(runs.map(({ name }) => name)).toEqual(["sandbox.exec", "sandbox.exec"]);
    const [slept, timedOut] = ["exited", "timed-out"].map((outcome) =>
      runs.find(({ attributes }) => attributes.outcome === outcome),
    );
    expect(slept?.attributes).toMatchObject({ "process.executable.name": "sh", runtime: "local" });
    expect(slept?.status.code).toBe(SpanStatusCode.UNSET);
    expect(timedOut?.status).toEqual({ code: SpanStatusCode.ERROR, message: "timed-out" });
    const parts = childrenOf(slept);
    expect(parts.map(({ name }) => name.replace("sandbox.", ""))).toEqual([
      "queue",
      "setup",
      "command",
      "teardown",
    ]);
    expect(parts.map(msOf)[2]).toBeGreaterThanOrEqual(100);
    const whole = parts.reduce((sum, part) => sum + msOf(part), 0);
    expect(whole).toBeCloseTo(slept ? msOf(slept) : 0, 1);
    const attributes = spans.getFinishedSpans().map((span) => span.attributes);
    expect(JSON.stringify(attributes)).not.toContain("hush");
  });

  test("measures outcomes, bytes and kills", async () => {
    const stop = instrumentNativeRunner();
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
    await runner.exec({ argv: ["echo", "12345"], limits: { maxStdoutBytes: 2 } });
    await runner.exec({ argv: ["sh", "-c", "sleep 60 & exit 3"] });
    stop();
    await runner.exec({ argv: ["echo", "not seen"] });
    const all = await measured();
    const local = { runtime: "local", start: "cold" };
    expect(all).toContainEqual([
      "native_runner.run.duration",
      { outcome: "exited", ...local },
      expect.objectContaining({ count: 2 }),
    ]);
    expect(all).toContainEqual([
      "native_runner.phase.duration",
      { phase: "command", ...local },
      expect.objectContaining({ count: 2 }),
    ]);
    expect(all).toContainEqual(["native_runner.output", { stream: "stdout", kept: true }, 2]);
    expect(all).toContainEqual(["native_runner.output", { stream: "stdout", kept: false }, 4]);
    expect(all).toContainEqual(["native_runner.kills", { runtime: "local", proved: true }, 1]);
    expect(named("sandbox.exec")).toHaveLength(2);
  });

  test("makes an error's span where there can be no sandbox", async () => {
    const stop = instrumentNativeRunner();
    const bwrapPath = "/no/such/bwrap";
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    await expect(runner.exec({ argv: ["true"] })).rejects.toThrow(bwrapPath);
    stop();
    const [span] = named("sandbox.exec");
    expect(span?.status.code).toBe(SpanStatusCode.ERROR);
    expect(span?.status.message).toContain(bwrapPath);
  });
});

describeSandboxed("the program", () => {
  test("prints the spans and metrics of its three runs", () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [at("examples/opentelemetry/main.js")],
      { encoding: "utf8", timeout: kHungMs },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const outcomes = [...stdout.matchAll(/^ {2}sandbox\.exec .* outcome=(\S+)/gm)];
    expect(outcomes.map(([, outcome]) => outcome)).toEqual(["exited", "exited", "timed-out"]);
    expect(stdout.match(/^ {4}sandbox\.command /gm)).toHaveLength(3);
    expect(stdout).toMatch(/^native_runner\.output \{stream=stdout kept=true\} 1006 By$/m);
    expect(stdout).toMatch(/^native_runner\.kills .*proved=true\} 1$/m);
  });
});
