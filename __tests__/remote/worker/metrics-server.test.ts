import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import { afterEach, beforeEach, expect, test } from "vitest";

import { MetricsServer, prometheusText } from "../../../lib/remote/worker/metrics-server.js";
import type { WorkerState } from "../../../lib/remote/worker/worker.js";

const kState: WorkerState = {
  name: "w1",
  pool: "build",
  connection: "connected",
  isDraining: false,
  cordonedBy: undefined,
  unfit: undefined,
  canaryFailures: 0,
  slots: 4,
  running: { a: 2 },
  waiting: { a: 1, b: 7 },
  starts: 10,
  declines: { busy: 3 },
  refusals: 1,
  outcomes: { exited: 7, "timed-out": 1 },
  leasesLost: 2,
  badFrames: 0,
  excesses: 0,
  bytesIn: 5,
  bytesOut: 1e21,
};
let state: WorkerState;
let server: MetricsServer;
beforeEach(async () => {
  state = kState;
  server = await MetricsServer.open(0, () => state);
});
afterEach(() => server.close());

async function ask(path: string, options: { method?: string; host?: string } = {}) {
  const { method = "GET", host } = options;
  const asked = request(`${server.url}${path}`, {
    method,
    ...(host && { headers: { host } }),
  }).end();
  const [response] = await once(asked, "response");
  return {
    status: response.statusCode,
    type: response.headers["content-type"],
    body: await text(response),
  };
}

test("is alive, and ready while runs may be asked of it", async () => {
  expect(await ask("/healthz")).toMatchObject({ status: 200, body: "ok\n" });
  expect(await ask("/readyz?x=1")).toMatchObject({ status: 200, body: "ok\n" });
  state = { ...kState, connection: "reconnecting" };
  expect(await ask("/readyz")).toMatchObject({
    status: 503,
    body: "the broker's connection is reconnecting\n",
  });
  state = { ...kState, isDraining: true };
  expect(await ask("/readyz")).toMatchObject({ status: 503, body: "draining\n" });
  expect(await ask("/healthz")).toMatchObject({ status: 200 });
});

test("has its figures, asked for anew each time", async () => {
  expect((await ask("/metrics")).body).toBe(prometheusText(kState));
  state = { ...kState, starts: 11 };
  const { body, type } = await ask("/metrics");
  expect(type).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(body).toContain("\nnative_runner_worker_starts_total 11\n");
});

test("changes nothing, and answers nobody who came by another name", async () => {
  expect(await ask("/metrics", { method: "POST" })).toMatchObject({ status: 405 });
  expect(await ask("/metrics", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
  expect(await ask("/etc/passwd")).toMatchObject({ status: 404 });
  expect(await ask("/metrics", { host: "evil.test" })).toMatchObject({ status: 403 });
  expect(await ask("/metrics", { host: "localhost:1" })).toMatchObject({ status: 200 });
});

test("listens on 127.0.0.1 alone, and says that a port is taken", async () => {
  const port = Number(new URL(server.url).port);
  expect(server.url).toBe(`http://127.0.0.1:${port}`);
  const other = connect(port, "127.0.0.2");
  await expect(once(other, "connect")).rejects.toThrow("ECONNREFUSED");
  await expect(MetricsServer.open(port, () => state)).rejects.toThrow("EADDRINUSE");
});

test("closes while clients are connected", async () => {
  const own = await MetricsServer.open(0, () => state);
  const client = connect(Number(new URL(own.url).port), "127.0.0.1");
  await once(client, "connect");
  const gone = once(client, "close");
  await own.close();
  client.resume();
  await gone;
});

test("is in the text format", () => {
  const text = prometheusText(kState);
  const sample =
    /^[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? \d+(\.\d+)?(e\+\d+)?$/;
  const lines = text.split("\n");
  expect(lines.pop()).toBe("");
  let named = "";
  for (const line of lines) {
    if (line.startsWith("# HELP ")) named = line.split(" ")[2] ?? "";
    else if (line.startsWith("# TYPE "))
      expect(line).toMatch(new RegExp(`^# TYPE ${named} (gauge|counter)$`));
    else expect(line).toMatch(sample);
    if (!line.startsWith("#")) expect(line.startsWith(named)).toBe(true);
  }
  expect(text).toContain('native_runner_worker_waiting{tenant="b"} 7\n');
  expect(text).toContain('native_runner_worker_runs_total{outcome="timed-out"} 1\n');
});

test("keeps what is in a label there", () => {
  const odd = prometheusText({ ...kState, name: 'w"\\\n1' });
  expect(odd).toContain('native_runner_worker_info{name="w\\"\\\\\\n1",pool="build"} 1\n');
});

test("says why it is not ready where it can make no sandbox", async () => {
  state = { ...kState, unfit: "no user namespaces" };
  expect(await ask("/readyz")).toMatchObject({
    status: 503,
    body: "it can make no sandbox: no user namespaces\n",
  });
  expect((await ask("/metrics")).body).toContain("native_runner_worker_ready 0\n");
});

test("listens on the address that is named, for whoever reaches it", async () => {
  const other = await MetricsServer.open(0, () => state, "127.0.0.2");
  const asked = request(`${other.url}/healthz`, { headers: { host: "w1.example.org" } }).end();
  const [response] = await once(asked, "response");
  expect([new URL(other.url).hostname, response.statusCode]).toEqual(["127.0.0.2", 200]);
  response.resume();
  await other.close();
});
