#!/usr/bin/env node
// node main.js: runs three commands in a sandbox, and prints the spans and metrics that come of them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BubblewrapNativeRunner } from "@openagentic/native-runner";
import { context, metrics, trace } from "@opentelemetry/api";
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
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { instrumentNativeRunner } from "./instrument.js";
import { metricLines, spanLines } from "./print.js";

// In a host of your own, @opentelemetry/sdk-node does this, with the exporters of your choice.
const spans = new InMemorySpanExporter();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const measures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: measures });
const measuring = new MeterProvider({ readers: [reader] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(tracing);
metrics.setGlobalMeterProvider(measuring);
const stop = instrumentNativeRunner();

const shadowDir = mkdtempSync(join(tmpdir(), "opentelemetry-"));
const runner = new BubblewrapNativeRunner({ shadowDir });
await trace.getTracer("main").startActiveSpan("agent.turn", async (turn) => {
  await runner.exec({ argv: ["echo", "hello"] });
  await runner.exec({ argv: ["seq", "100000"], limits: { maxStdoutBytes: 1000 } });
  await runner.exec({ argv: ["sleep", "60"], limits: { timeoutMs: 200 } });
  turn.end();
});
await runner.close();
stop();
rmSync(shadowDir, { recursive: true });

await measuring.forceFlush();
console.log([...spanLines(spans.getFinishedSpans()), ""].join("\n"));
console.log(metricLines(measures.getMetrics()).join("\n"));
await measuring.shutdown();
await tracing.shutdown();
