/**
 * `--metrics [HOST:]PORT`: serves a worker's health and metrics over HTTP, on 127.0.0.1 unless an address is named. It
 * changes nothing and holds no secrets; commands with `network: "allow"` can read it, too.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { WorkerState } from "./worker.js";

const kHost = "127.0.0.1";
const kHosts = /^(127\.0\.0\.1|localhost)(:\d+)?$/;
const kMostConnections = 32;
const kMostHeadersMs = 10_000;

type Answer = { status: number; type?: string; body: string };

/** Returns why the worker takes no runs; undefined when it does. */
function whyNotReady({
  connection,
  isDraining,
  cordonedBy,
  unfit,
}: WorkerState): string | undefined {
  if (isDraining) return "draining";
  if (cordonedBy !== undefined) return `cordoned by the operator ${cordonedBy}`;
  if (unfit !== undefined) return `it can make no sandbox: ${unfit}`;
  return connection === "connected" ? undefined : `the broker's connection is ${connection}`;
}

function answerTo(request: IncomingMessage, state: () => WorkerState, host: string): Answer {
  // A page in a browser on this machine may use a name that resolves to this address. Another address has any name.
  const isForeign = host === kHost && !kHosts.test(request.headers.host ?? "");
  if (isForeign) return { status: 403, body: "forbidden\n" };
  if (request.method !== "GET" && request.method !== "HEAD") {
    return { status: 405, body: "only GET\n" };
  }
  switch ((request.url ?? "").split("?")[0]) {
    case "/healthz":
      return { status: 200, body: "ok\n" };
    case "/readyz": {
      const why = whyNotReady(state());
      return why === undefined ? { status: 200, body: "ok\n" } : { status: 503, body: `${why}\n` };
    }
    case "/metrics":
      return { status: 200, type: kPrometheusType, body: prometheusText(state()) };
    default:
      return { status: 404, body: "there are /healthz, /readyz and /metrics\n" };
  }
}

function send(response: ServerResponse, { status, type, body }: Answer, isHead: boolean): void {
  response.writeHead(status, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...(status === 405 && { allow: "GET, HEAD" }),
  });
  response.end(isHead ? undefined : body);
}

/** Listens until it is closed; does not keep the process alive. */
export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Starts the server.
   * @param port 0: any free port
   * @param host address to listen on
   * @param state called for each request
   * @throws (rejects) Node's error if the port is not available
   */
  static async open(port: number, state: () => WorkerState, host = kHost): Promise<MetricsServer> {
    const server = createServer({ headersTimeout: kMostHeadersMs }, (request, response) => {
      send(response, answerTo(request, state, host), request.method === "HEAD");
    });
    server.maxConnections = kMostConnections;
    server.listen(port, host);
    await once(server, "listening"); // or rejects with its error
    server.unref();
    return new MetricsServer(server);
  }

  /** The server's address. */
  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
  }

  /** Resolves when the port is closed and all clients are disconnected. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Formats a worker's state in Prometheus' text format, version 0.0.4. Pure. */

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];
type Metric = {
  name: string;
  type: "gauge" | "counter";
  help: string;
  samples: readonly Sample[];
};

/** Content type of the response. */
const kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

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
    gauge("cordoned", "Whether an operator has it take no runs.", one(state.cordonedBy ? 1 : 0)),
    gauge("ready", "Whether it takes runs.", one(whyNotReady(state) === undefined ? 1 : 0)),
    counter("canary_failures", "Sandboxes for nobody that failed.", one(state.canaryFailures)),
    gauge("slots", "Runs that it can have at once.", one(state.slots)),
    gauge("running", "Runs that it has.", by("tenant", state.running)),
    gauge("waiting", "Callers that wait for a slot.", by("tenant", state.waiting)),
    counter("starts", "Commands that were started.", one(state.starts)),
    counter("declines", "Grants that were not taken up.", by("reason", state.declines)),
    counter("refusals", "Runs that the policy refused.", one(state.refusals)),
    counter("runs", "Runs that have ended.", by("outcome", state.outcomes)),
    counter("leases_lost", "Leases of callers that were not heard of.", one(state.leasesLost)),
    counter("bad_frames", "Frames that were dropped.", one(state.badFrames)),
    counter("excesses", "Runs whose callers sent more than they may.", one(state.excesses)),
    counter("input_bytes", "Bytes of input that came.", one(state.bytesIn)),
    counter("output_bytes", "Bytes of output that went.", one(state.bytesOut)),
  ];
}

/** Returns all metrics. A labelled metric has no line for a label that was never counted. */
export function prometheusText(state: WorkerState): string {
  return `${metricsOf(state).map(metricText).join("\n")}\n`;
}
