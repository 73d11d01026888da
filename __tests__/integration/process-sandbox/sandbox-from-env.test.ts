/** The variables by which a host application selects its sandbox, against this host's real parts. */

import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";

import { SandboxError, sandboxFromEnv } from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kRequired = { OPENAGENTIC_PROCESS_SANDBOX_REQUIRED: "1" };
const kBwrap = { OPENAGENTIC_PROCESS_SANDBOX: "bwrap" };
const kName = "demo-node";

async function select(env: Record<string, string>, name = kName) {
  const warnings: string[] = [];
  const sandbox = await sandboxFromEnv(env, { name, warn: (message) => warnings.push(message) });
  return { sandbox, warnings };
}

/** A bwrap that fails as the real one does where it may not, or that confines nothing. */
function stub(script: string): string {
  const path = join(tempDirectory("stub"), "bwrap");
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --help ] && exec /usr/bin/bwrap --help\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

afterEach(() => vi.unstubAllGlobals());

describe("nothing selected", () => {
  test("is no sandbox, without a warning, and runs commands", async () => {
    const { sandbox, warnings } = await select({});
    expect(warnings).toEqual([]);
    expect(sandbox).toMatchObject({ name: "native", isConfined: false, processSandbox: undefined });
    const { stdout } = await sandbox
      .runner({ shadowDir: tempDirectory() })
      .exec({ argv: ["echo", "hi"] });
    expect(new TextDecoder().decode(stdout)).toBe("hi\n");
  });

  test.each([["OPENAGENTIC_PROCESS_SANDBOX_REQUIRED"], ["OPENAGENTIC_SANDBOX_REQUIRED"]])(
    "is an error with %s=1",
    async (variable) => {
      await expect(select({ [variable]: "1" })).rejects.toThrow(
        /^demo-node: a sandbox is required, but none is chosen/,
      );
    },
  );

  test("leaves it to what the host application configured", async () => {
    const warn = vi.fn();
    const config = { runtimeType: "bubblewrap", bubblewrap: { bwrapPath: "no-such" } } as const;
    expect((await sandboxFromEnv({}, { config, warn })).name).toBe("native");
    expect(warn.mock.calls).toEqual([
      ["native-runner: bwrap not found (no-such); continuing without process sandbox"],
    ]);
  });
});

describe("what can't be had is a warning, and an error when required", () => {
  const broken = stub("echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1");
  const loose = stub("exit 0");
  const at = (path: string) => ({ ...kBwrap, OPENAGENTIC_BWRAP_PATH: path });

  test.each([
    [
      at("no-such-bwrap"),
      "demo-node: bwrap not found (no-such-bwrap); continuing without process sandbox",
      "demo-node: bwrap not found in PATH (no-such-bwrap)",
    ],
    [
      at("/no/such/bwrap"),
      "demo-node: bwrap not found (/no/such/bwrap); continuing without process sandbox",
      "demo-node: bwrap not found in PATH (/no/such/bwrap)",
    ],
    [
      { ...kBwrap, PATH: "/no/such" },
      "demo-node: bwrap not found (bwrap); continuing without process sandbox",
      "demo-node: bwrap not found in PATH (bwrap)",
    ],
    [
      { OPENAGENTIC_PROCESS_SANDBOX: "docker" },
      "demo-node: ignoring unsupported OPENAGENTIC_PROCESS_SANDBOX=docker",
      "demo-node: unsupported OPENAGENTIC_PROCESS_SANDBOX=docker",
    ],
    [
      at(broken),
      /^demo-node: bubblewrap does not work here \(.*uid map: Permission denied.*\); continuing without process sandbox$/,
      /^demo-node: bubblewrap does not work here \(.*uid map: Permission denied/,
    ],
    [
      at(loose),
      /^demo-node: bubblewrap does not work here \(.*; continuing without process sandbox$/,
      /^demo-node: bubblewrap does not work here/,
    ],
    [
      { OPENAGENTIC_SANDBOX_BACKEND: "firejail", OPENAGENTIC_RUNTIME_TYPE: "native" },
      /^demo-node: OPENAGENTIC_RUNTIME_TYPE=native and OPENAGENTIC_SANDBOX_BACKEND=firejail contradict each other; OPENAGENTIC_RUNTIME_TYPE wins$/,
      /^demo-node: .* contradict each other$/,
    ],
  ])("%j", async (env, warning, error) => {
    const { sandbox, warnings } = await select(env);
    expect(warnings).toEqual([
      typeof warning === "string" ? warning : expect.stringMatching(warning),
    ]);
    expect(sandbox).toMatchObject({ name: "native", isConfined: false, processSandbox: undefined });
    for (const required of [kRequired, { OPENAGENTIC_SANDBOX_REQUIRED: "1" }]) {
      const refused = await select({ ...env, ...required }).catch((reason: unknown) => reason);
      expect(refused).toBeInstanceOf(Error);
      const { message } = refused as Error;
      if (typeof error === "string") expect(message).toBe(error);
      else expect(message).toMatch(error);
    }
  });

  test.each([["darwin"], ["win32"]])("on %s", async (platform) => {
    vi.stubGlobal("process", Object.create(process, { platform: { value: platform } }));
    const { sandbox, warnings } = await select(kBwrap);
    expect(warnings).toEqual([
      "demo-node: Bubblewrap is Linux-only; continuing without process sandbox",
    ]);
    expect(sandbox.isConfined).toBe(false);
    const refused = select({ ...kBwrap, ...kRequired });
    await expect(refused).rejects.toThrow(/^demo-node: Bubblewrap is Linux-only$/);
    await expect(refused).rejects.toBeInstanceOf(SandboxError);
  });

  test("a wrong value is an error, required or not, and names the variable", async () => {
    for (const env of [kBwrap, { ...kBwrap, ...kRequired }]) {
      await expect(select({ ...env, OPENAGENTIC_BWRAP_NETWORK: "off" })).rejects.toThrow(
        /^demo-node: OPENAGENTIC_BWRAP_NETWORK=off is not one of allow, deny/,
      );
    }
  });

  test("speaks as this package when no name is given, by a process warning", async () => {
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    await sandboxFromEnv(at("no-such-bwrap"));
    expect(emitted).toHaveBeenCalledWith(
      expect.stringMatching(/^native-runner: bwrap not found/),
      expect.objectContaining({ type: "SandboxWarning" }),
    );
    emitted.mockRestore();
  });
});

describeSandboxed("bwrap", () => {
  test.each([
    [kBwrap],
    [{ ...kBwrap, ...kRequired }],
    [{ OPENAGENTIC_SANDBOX_BACKEND: "bwrap" }],
    [{ OPENAGENTIC_SANDBOX_BACKEND: "auto", OPENAGENTIC_SANDBOX_REQUIRED: "1" }],
    [{ OPENAGENTIC_RUNTIME_TYPE: "bubblewrap", ...kBwrap }],
  ])("%j selects a runner and a process sandbox that confine", async (env) => {
    const { sandbox, warnings } = await select(env);
    expect(warnings).toEqual([]);
    expect(sandbox).toMatchObject({ name: "bubblewrap", isConfined: true });
    const shadowDir = tempDirectory();
    const runner = sandbox.runner({ shadowDir });
    const script = 'pwd; test -e "$1" && echo seen; echo x > in';
    const { stdout } = await runner.exec({ argv: ["sh", "-c", script, "sh", shadowDir] });
    expect(new TextDecoder().decode(stdout)).toBe("/workspace\n");
    expect(existsSync(join(shadowDir, "in"))).toBe(true);
    const wrapped = sandbox.processSandbox?.wrap({ cmd: "true", args: [], env: {} });
    expect(wrapped?.cmd).toMatch(/^\/.*bwrap$/); // no PATH of the process's decides
  });

  test("takes network and binds from the variables; the network is the contract's otherwise", async () => {
    const args = async (env: Record<string, string>) => {
      const { sandbox } = await select({ ...kBwrap, ...env });
      return sandbox.processSandbox?.wrap({ cmd: "true", args: [], env: {} }).args ?? [];
    };
    expect(await args({})).not.toContain("--unshare-net");
    expect(await args({ OPENAGENTIC_BWRAP_NETWORK: "deny" })).toContain("--unshare-net");
    expect(await args({ OPENAGENTIC_SANDBOX_NETWORK: "deny" })).toContain("--unshare-net");
    const both = { OPENAGENTIC_SANDBOX_NETWORK: "deny", OPENAGENTIC_BWRAP_NETWORK: "allow" };
    expect(await args(both)).not.toContain("--unshare-net");
    const binds = await args({ OPENAGENTIC_BWRAP_RO_BINDS: "/usr,/lib,/bin,/lib64" });
    expect(binds.join(" ")).toContain(
      "--ro-bind /usr /usr --ro-bind /lib /lib --ro-bind /bin /bin",
    );
    expect(binds).not.toContain("/etc");
  });
});

testUnless(
  whyNo("landlock"),
  "a runtime that can't wrap refuses to, so that nothing is started unconfined",
  async () => {
    const { sandbox } = await select({ OPENAGENTIC_SANDBOX_BACKEND: "landlock", ...kRequired });
    expect(sandbox.name).toBe("landlock");
    expect(() => sandbox.processSandbox?.wrap({ cmd: "true", args: [], env: {} })).toThrow(
      expect.objectContaining({ code: "ERR_SANDBOX_UNAVAILABLE" }),
    );
  },
);
