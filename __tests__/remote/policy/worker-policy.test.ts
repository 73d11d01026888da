import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ceilingOf } from "../../../lib/remote/policy/ceiling.js";
import {
  defaultWorkerPolicy,
  loadWorkerPolicy,
  parseWorkerPolicy,
} from "../../../lib/remote/policy/worker-policy.js";

test("without a policy nothing is opened", () => {
  expect(defaultWorkerPolicy()).toEqual({
    ceiling: {
      bwrapPath: "bwrap",
      slots: undefined,
      options: {
        network: "deny",
        roBinds: undefined,
        mounts: [],
        devices: [],
        envPolicy: "scrub",
        isolation: "strict",
        layers: [],
        required: [],
        allowWriteWorkspace: true,
        devBind: true,
        procBind: true,
        clone: "auto",
        prewarm: undefined,
        prewarmIdleMs: 60_000,
        home: "private",
        tools: "none",
        caches: "none",
      },
      limits: { timeoutMs: 3_600_000, maxStdoutBytes: 67_108_864, maxStderrBytes: 67_108_864 },
    },
    tenants: new Map(),
  });
});

const kWrong: [policy: object, message: string][] = [
  [{ netwrok: "deny" }, 'Unknown field "netwrok" in `policy`; did you mean `network`?'],
  [
    { limits: { timeout: 1 } },
    'Unknown field "timeout" in `policy.limits`; did you mean `timeoutMs`?',
  ],
  [{ extraArgs: ["--dev"] }, 'Unknown field "extraArgs"'],
  [{ network: "open" }, 'Expected `network` to be one of ("allow" | "deny"), got "open"'],
  [{ network: { allow: ["a.test", "10.0.0.1"] } }, "Expected `network.allow[1]` to be a host"],
  [{ network: { allow: ["*"] } }, "Expected `network.allow[0]` to be a host"],
  [
    { mounts: [{ hostPath: "srv", mode: "ro" }] },
    "Expected `mounts[0].hostPath` to be an absolute path",
  ],
  [{ limits: { memoryBytes: 1.5 } }, "Expected `limits.memoryBytes` to be an integer"],
  [{ slots: 0 }, "Expected `slots` to be an integer from 1, got 0"],
  [{ bwrapPath: "./bwrap" }, "Expected `bwrapPath` to be a program's name or an absolute path"],
  [{ tenants: [] }, "Expected `tenants` to be an object, got []"],
  [
    { tenants: { "a.b": {} } },
    'a name of at most 64 letters, digits, hyphens and underscores, got "a.b"',
  ],
  [{ tenants: { a: null } }, "Expected `tenants.a` to be an object, got null"],
  [{ tenants: { a: { bwrapPath: "x" } } }, 'Unknown field "bwrapPath" in `tenants.a`'],
  [{ tenants: { a: { isolation: 1 } } }, "Expected `tenants.a.isolation` to be one of"],
  [
    { tenants: { a: { network: "allow" } } },
    'Expected `tenants.a.network` to be "deny", got "allow"',
  ],
  [
    { limits: { cpuSeconds: 10 }, tenants: { a: { limits: { cpuSeconds: 11 } } } },
    "Expected `tenants.a.limits.cpuSeconds` to be at most 10, got 11",
  ],
  [{ tenants: { a: { pools: ["*"] } } }, "Expected `tenants.a.pools[0]` to be a name"],
  [
    { pools: ["build"], tenants: { a: { pools: ["build", "gpu"] } } },
    'Expected `tenants.a.pools[1]` to be one of build, got "gpu"',
  ],
  [{ slots: 2, tenants: { a: { slots: 3 } } }, "Expected `tenants.a.slots` to be at most 2, got 3"],
];

test.each(kWrong)("%j is refused", (policy, message) => {
  expect(() => parseWorkerPolicy(policy)).toThrow(message);
});

describe("tenants", () => {
  const policy = parseWorkerPolicy({
    network: { allow: ["*.a.test"], deny: ["x.a.test"] },
    limits: { timeoutMs: 90_000, memoryBytes: 1000 },
    slots: 4,
    tenants: {
      a: { network: { allow: ["b.a.test"] }, limits: { timeoutMs: 5000 }, slots: 1 },
      constructor: { network: "deny" },
    },
  });

  test("have less, and the rest of what all have", () => {
    expect(ceilingOf(policy, "a")).toMatchObject({
      slots: 1,
      options: { network: { allow: ["b.a.test"], deny: ["x.a.test"] }, isolation: "strict" },
      limits: { timeoutMs: 5000, memoryBytes: 1000 },
    });
  });
  test("that are not named have what all have", () => {
    expect(ceilingOf(policy, "c")).toBe(policy.ceiling);
    expect(ceilingOf(policy, "toString")).toBe(policy.ceiling);
  });
  test("may have any name", () => {
    expect(ceilingOf(policy, "constructor").options.network).toBe("deny");
    const odd = parseWorkerPolicy(JSON.parse('{"tenants":{"__proto__":{"slots":1}}}'));
    expect(ceilingOf(odd, "__proto__").slots).toBe(1);
  });
});

describe("the file", () => {
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "worker-policy-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function written(text: string): Promise<string> {
    const file = path.join(directory, "policy.json");
    await writeFile(file, text);
    return file;
  }

  test("may have comments", async () => {
    const file = await written('{ // of the build machines\n  "slots": 2 /* each */ }');
    expect((await loadWorkerPolicy(file)).ceiling.slots).toBe(2);
  });
  test("is named in errors", async () => {
    const file = await written('{ "slot": 2 }');
    await expect(loadWorkerPolicy(file)).rejects.toThrow(
      `${file}: Unknown field "slot" in \`policy\`; did you mean \`slots\`?`,
    );
    await expect(loadWorkerPolicy(await written("{"))).rejects.toThrow(`${file}: `);
    await expect(loadWorkerPolicy(directory)).rejects.toThrow("it is not a regular file");
    await expect(loadWorkerPolicy(`${file}.gone`)).rejects.toThrow("ENOENT");
  });
  test("is at most 1 MiB", async () => {
    const spaces = " ".repeat(1024 ** 2 - 2);
    expect((await loadWorkerPolicy(await written(`{}${spaces}`))).tenants.size).toBe(0);
    await expect(loadWorkerPolicy(await written(`{} ${spaces}`))).rejects.toThrow("larger than");
  });
});
