import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";
import { expect, test } from "vitest";

import { Channels } from "../../lib/metrics/channels.js";
import { kMostRules, NetworkCounts } from "../../lib/metrics/run-metrics.js";
import type { NetworkConnection, SandboxedAuditRecord } from "../../types/public.js";

const connection = (fields: Partial<NetworkConnection> = {}): NetworkConnection => ({
  host: "a.test",
  port: 443,
  verdict: "allowed",
  rule: "a.test",
  via: "transparent",
  bytesOut: 3,
  bytesIn: 5,
  durationMs: 1,
  count: 1,
  ...fields,
});

const audit = (connections?: NetworkConnection[], connectionsOmitted?: number) =>
  ({
    ...(connections && { connections }),
    ...(connectionsOmitted && { connectionsOmitted }),
  }) as SandboxedAuditRecord;

test("connections are counted by verdict, and bytes by the rule that allowed them", () => {
  const counts = new NetworkCounts();
  counts.ended(audit());
  const requests = { allowed: 0, refused: 0, misused: 0 };
  const forwards = { connections: 0, refused: 0, failed: 0, bytesOut: 0, bytesIn: 0 };
  const rest = { requests, forwards };
  expect(counts.snapshot()).toEqual({ allowed: 0, denied: 0, omitted: 0, byRule: {}, ...rest });
  counts.ended(audit([]));
  counts.ended(
    audit(
      [
        connection(),
        connection({ host: "b.a.test", rule: "*.a.test", bytesIn: 7 }),
        connection({ bytesOut: 10 }),
        connection({ host: "c.test", rule: "onRequest" }),
        connection({ host: "evil.test", verdict: "denied", rule: "evil.test", count: 40 }),
      ],
      2,
    ),
  );
  expect(counts.snapshot()).toEqual({
    allowed: 4,
    denied: 40,
    omitted: 2,
    byRule: {
      "a.test": { connections: 2, bytesOut: 13, bytesIn: 10 },
      "*.a.test": { connections: 1, bytesOut: 3, bytesIn: 7 },
      onRequest: { connections: 1, bytesOut: 3, bytesIn: 5 },
    },
    ...rest,
  });
});

test("requests are counted by verdict, and misused placeholders", () => {
  const counts = new NetworkCounts();
  const verdicts = ["allowed", "refused", "allowed", "refused"];
  counts.ended({
    ...audit([]),
    requests: verdicts.map((verdict) => ({ verdict })),
    denials: [
      { kind: "secret", count: 3 },
      { kind: "request", count: 1 },
    ],
  } as SandboxedAuditRecord);
  expect(counts.snapshot().requests).toEqual({ allowed: 2, refused: 2, misused: 3 });
});

test("connections over forwards are added up", () => {
  const counts = new NetworkCounts();
  const forward = { port: 1, host: "127.0.0.1", hostPort: 2, connections: 5, refused: 2 };
  const more = { failed: 1, bytesOut: 70, bytesIn: 9 };
  const forwards = [
    { ...forward, ...more },
    { ...forward, ...more, hostPort: 3 },
  ];
  counts.ended({ ...audit(), forwards });
  expect(counts.snapshot().forwards).toEqual({
    ...{ connections: 10, refused: 4, failed: 2 },
    ...{ bytesOut: 140, bytesIn: 18 },
  });
});

test("what a command chooses does not grow the counts", () => {
  const counts = new NetworkCounts();
  const named = (at: number) => connection({ host: `h${at}.test`, rule: `h${at}.test` });
  counts.ended(audit(Array.from({ length: kMostRules + 50 }, (_, at) => named(at))));
  counts.ended(audit([named(0), named(kMostRules + 60)]));
  const { byRule } = counts.snapshot();
  expect(Object.keys(byRule)).toHaveLength(kMostRules + 1);
  expect(byRule["h0.test"]).toMatchObject({ connections: 2 });
  expect(byRule.other).toMatchObject({ connections: 51, bytesOut: 153 });
});

test("each connection is told as it comes, to whoever listened when its run began", () => {
  const channels = new Channels();
  const name = "@openagentic/native-runner:connection";
  const reported: unknown[] = [];
  const on = (message: unknown) => void reported.push(message);
  expect(channels.onConnection("hash")).toBeUndefined();
  diagnostics.subscribe(name, on);
  try {
    const tell = channels.onConnection("hash");
    tell?.(7, "opened", connection());
    tell?.(7, "refused", connection({ verdict: "denied" }));
    const common = { run: 7, runner: expect.any(Number), policyHash: "hash" };
    expect(reported).toEqual([
      { ...common, event: "opened", connection: connection() },
      { ...common, event: "refused", connection: connection({ verdict: "denied" }) },
    ]);
  } finally {
    diagnostics.unsubscribe(name, on);
  }
});

test("a connection is told in the async context in which its run began", () => {
  const store = new AsyncLocalStorage<string>();
  const name = "@openagentic/native-runner:connection";
  const reported: unknown[] = [];
  const on = () => void reported.push(store.getStore());
  diagnostics.subscribe(name, on);
  try {
    const channels = new Channels();
    const [first, second] = ["first", "second"].map((each) =>
      store.run(each, () => channels.onConnection("hash")),
    );
    first?.(1, "opened", connection());
    second?.(2, "refused", connection({ verdict: "denied" }));
    first?.(1, "ended", connection());
    expect(reported).toEqual(["first", "second", "first"]);
  } finally {
    diagnostics.unsubscribe(name, on);
  }
});
