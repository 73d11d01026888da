import { createHash } from "node:crypto";
import { beforeEach, expect, it, vi } from "vitest";

import { BubblewrapNativeRunner, SandboxError } from "../../lib/index.js";
import { type FakeAddon, result } from "../support/fake-addon.js";
import { freshAddon, withoutAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const explain = () => new BubblewrapNativeRunner({ shadowDir: "/w" }).explain({ argv: ["ls"] });

it("tells the plan, and of the environment the names only", async () => {
  const explaining = explain();
  fake.run().resolve(result());
  await expect(explaining).resolves.toEqual({
    cmd: "bwrap",
    args: ["--unshare-net", "--", "ls"],
    layers: ["seccomp"],
    environment: ["A", "EMPTY"],
    policyHash: createHash("sha256").update("native-runner-policy 1\n").digest("hex"),
  });
});

it("rejects where a run would fail to be set up", async () => {
  const explaining = explain();
  const outcome = { kind: "setup-failed", reason: "no /w" } as const;
  fake.run().resolve(result({ exitCode: 125, outcome }));
  await expect(explaining).rejects.toThrow(SandboxError);
  await expect(explaining).rejects.toMatchObject({ message: "no /w", code: "ERR_SANDBOX_SETUP" });
});

it("rejects with the addon's error, and never throws", async () => {
  const misuse = new TypeError("argv");
  const runner = new BubblewrapNativeRunner({ shadowDir: "/w" });
  fake.refusal = misuse;
  await expect(runner.explain({ argv: [] })).rejects.toBe(misuse);
  withoutAddon();
  await expect(explain()).rejects.toThrow("no addon");
});
