import { expect, it, vi } from "vitest";

import { buildBubblewrapArgv, SandboxError } from "../lib/index.js";
import { type FakeAddon, nativeError } from "./support/fake-addon.js";

const fake = vi.hoisted(() => ({ addon: undefined as FakeAddon | undefined }));

vi.mock(import("../lib/native.js"), async (importOriginal) => {
  const { FakeAddon } = await import("./support/fake-addon.js");
  fake.addon = new FakeAddon();
  const { addon } = fake.addon;
  return { ...(await importOriginal()), loadAddon: () => addon };
});

const kOptions = {
  bwrapPath: "/usr/bin/bwrap",
  shadowDir: "/w",
  commandArgv: ["a", "--b", ""],
  network: "deny",
} as const;

it("gives what the addon builds", () => {
  expect(buildBubblewrapArgv(kOptions)).toEqual({
    cmd: "/usr/bin/bwrap",
    args: ["--", "a", "--b", ""],
  });
});

it("throws what the addon throws, a sandbox code as a SandboxError", () => {
  const misuse = new TypeError("cwd");
  if (fake.addon) fake.addon.refusal = misuse;
  expect(() => buildBubblewrapArgv(kOptions)).toThrow(misuse);
  if (fake.addon) fake.addon.refusal = nativeError("x", "ERR_SANDBOX_CLOSED");
  expect(() => buildBubblewrapArgv(kOptions)).toThrow(SandboxError);
});
