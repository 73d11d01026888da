/** The lib side of the wrapper; its command line is the addon's, see integration/process-sandbox. */

import { beforeEach, expect, it, vi } from "vitest";

import { createBubblewrapProcessSandbox, SandboxError } from "../../lib/index.js";
import { FakeAddon, nativeError } from "../support/fake-addon.js";

const seam = vi.hoisted(() => ({ load: undefined as (() => unknown) | undefined }));

vi.mock(import("../../lib/native.js"), async (importOriginal) => ({
  ...(await importOriginal()),
  loadAddon: (() => seam.load?.()) as never,
}));

let fake: FakeAddon;

beforeEach(() => {
  fake = new FakeAddon();
  seam.load = () => fake.addon;
});

const command = { cmd: "w", args: ["x"], env: { A: "1" }, cwd: "/somewhere" };

it("wraps with the addon, and lets env and cwd through as they are", () => {
  const wrapped = createBubblewrapProcessSandbox().wrap(command);
  expect(wrapped).toEqual({ cmd: "bwrap", args: ["w", "x"], env: { A: "1" }, cwd: "/somewhere" });
  expect(wrapped.env).toBe(command.env);
  const { env } = command;
  expect(Object.keys(createBubblewrapProcessSandbox().wrap({ cmd: "w", args: [], env }))).toEqual([
    "cmd",
    "args",
    "env",
  ]);
});

it("copies its options once", () => {
  const roBinds = ["/usr"];
  createBubblewrapProcessSandbox({ roBinds });
  roBinds.push("/etc");
  expect(fake.options[0]).toEqual({ roBinds: ["/usr"] });
});

it("throws what the addon throws, a sandbox code as a SandboxError", () => {
  fake.refusal = new TypeError("roBinds");
  expect(() => createBubblewrapProcessSandbox()).toThrow(fake.refusal);
  const sandbox = createBubblewrapProcessSandbox();
  fake.refusal = nativeError("x", "ERR_SANDBOX_CLOSED");
  expect(() => sandbox.wrap(command)).toThrow(SandboxError);
});

it("can be made where the addon is missing, and says so when it is used", () => {
  const failure = new SandboxError("needs Linux", { code: "ERR_SANDBOX_UNAVAILABLE" });
  seam.load = () => {
    throw failure;
  };
  const sandbox = createBubblewrapProcessSandbox();
  expect(() => sandbox.wrap(command)).toThrow(failure);
});

it("wants an object", () => {
  expect(() => createBubblewrapProcessSandbox("bwrap" as never)).toThrow(/`options`.*an object/);
});
