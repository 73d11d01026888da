/** A worker's state in Prometheus' text format, version 0.0.4. Pure. */

import type { WorkerState } from "./worker-state.js";

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];
type Metric = {
  name: string;
  type: "gauge" | "counter";
  help: string;
  samples: readonly Sample[];
};

/** Of the response. */
export const kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

const escaped = (text: string) =>
  text.replace(/[\\"\n]/g, (each) => (each === "\n" ? "\\n" : `\\${each}`));

function sampleText(name: string, [labels, value]: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`;
}

function metricText({ name, type, help, samples }: Metric): string {
  const lines = samples.map((sample) => sampleText(name, sample));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}

const one = (value: number): Sample[] => [[{}, value]];
const by = (label: string, counts: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(counts).map(([text, value]) => [{ [label]: text }, value]);

function metricsOf(state: WorkerState): Metric[] {
  const gauge = (name: string, help: string, samples: Sample[]): Metric => ({
    name: `native_runner_worker_${name}`,
    type: "gauge",
    help,
    samples,
  });
  const counter = (name: string, help: string, samples: Sample[]): Metric => ({
    ...gauge(`${name}_total`, help, samples),
    type: "counter",
  });
  const isConnected = state.connection === "connected";
  return [
    gauge("info", "Always 1; who the worker is.", [[{ name: state.name, pool: state.pool }, 1]]),
    gauge("connected", "Whether it is connected to the broker.", one(isConnected ? 1 : 0)),
    gauge("draining", "Whether it takes no more runs.", one(state.isDraining ? 1 : 0)),
    gauge("slots", "Runs that it can have at once.", one(state.slots)),
    gauge("running", "Runs that it has.", by("tenant", state.running)),
    gauge("waiting", "Callers that wait for a slot.", by("tenant", state.waiting)),
    counter("starts", "Commands that were started.", one(state.starts)),
    counter("declines", "Grants that were not taken up.", by("reason", state.declines)),
    counter("refusals", "Runs that the policy refused.", one(state.refusals)),
    counter("runs", "Runs that have ended.", by("outcome", state.outcomes)),
    counter("leases_lost", "Leases of callers that were not heard of.", one(state.leasesLost)),
    counter("bad_frames", "Frames that were dropped.", one(state.badFrames)),
    counter("input_bytes", "Bytes of input that came.", one(state.bytesIn)),
    counter("output_bytes", "Bytes of output that went.", one(state.bytesOut)),
  ];
}

/** All of it. A metric by label has no line for what was never counted. */
export function prometheusText(state: WorkerState): string {
  return `${metricsOf(state).map(metricText).join("\n")}\n`;
}
