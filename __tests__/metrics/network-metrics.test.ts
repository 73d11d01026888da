import diagnostics from "node:diagnostics_channel";
import { expect, test } from "vitest";

import { Channels } from "../../lib/metrics/channels.js";
import { kMostRules, NetworkCounts } from "../../lib/metrics/network-metrics.js";
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
  expect(counts.snapshot()).toEqual({ allowed: 0, denied: 0, omitted: 0, byRule: {} });
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

test("each connection is told before its run's end, as the audit has it", () => {
  const told: unknown[] = [];
  const on = (message: unknown, name: string | symbol) => void told.push([name, message]);
  const names = ["connection", "run.end"].map((name) => `@openagentic/native-runner:${name}`);
  for (const name of names) diagnostics.subscribe(name, on);
  try {
    const both = [connection(), connection({ verdict: "denied" })];
    const result = {
      stdout: new Uint8Array(),
      stderr: new Uint8Array(),
      stdoutBytes: 0,
      stderrBytes: 0,
      audits: [audit(both)],
    };
    new Channels().ended({ id: 7, done: Promise.resolve() } as never, result as never, "hash");
    const common = { run: 7, runner: expect.any(Number), policyHash: "hash" };
    expect(told).toEqual([
      [names[0], { ...common, connection: both[0] }],
      [names[0], { ...common, connection: both[1] }],
      [names[1], expect.objectContaining(common)],
    ]);
  } finally {
    for (const name of names) diagnostics.unsubscribe(name, on);
  }
});
