/** A real WASM engine (Node's own WASI) in the process sandbox: as without it, and held in. */

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import wabt from "wabt";
import { kHungMs } from "../../support/waits.js";
import { kNodeProgram } from "../support/node-arguments.js";
import {
  applyProcessSandbox,
  createBubblewrapProcessSandbox,
  type ProcessSandbox,
  type ProcessSandboxCommand,
  type ProcessSandboxMount,
} from "../support/package.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kHere = fileURLToPath(new URL("wasm/", import.meta.url));
const kRoBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path));

let bytes: Uint8Array;

beforeAll(async () => {
  const { parseWat } = await wabt();
  const parsed = parseWat("copy.wat", readFileSync(join(kHere, "copy.wat"), "utf8"));
  bytes = parsed.toBinary({}).buffer;
});

/** An engine over a shadow workspace, by host paths; what it needs is mounted read-only. */
function engine(): { folder: string; command: ProcessSandboxCommand } {
  const folder = tempDirectory("shadow");
  const tools = tempDirectory("engine");
  copyFileSync(join(kHere, "engine.mjs"), join(tools, "engine.mjs"));
  writeFileSync(join(tools, "copy.wasm"), bytes);
  writeFileSync(join(folder, "input"), "Grüße\n");
  const node = dirname(kNodeProgram); // where it may be outside of the read-only paths
  const mounts: ProcessSandboxMount[] = [
    { kind: "dir", label: "engine", hostPath: tools, guestPath: "/engine", mode: "ro" },
    { kind: "dir", label: "node", hostPath: node, guestPath: node, mode: "ro" },
    {
      kind: "dir",
      label: "shadow-workspace",
      hostPath: folder,
      guestPath: "/workspace",
      mode: "rw",
    },
  ];
  const args = ["--no-warnings", join(tools, "engine.mjs"), folder, join(tools, "copy.wasm")];
  return { folder, command: { cmd: kNodeProgram, args, env: {}, mounts } };
}

function run(command: ProcessSandboxCommand, sandbox?: ProcessSandbox) {
  const { spawn } = applyProcessSandbox({ sandbox, command });
  const { status, stdout, stderr } = spawnSync(spawn.cmd, spawn.args, {
    encoding: "utf8",
    env: { ...plainEnvironment(), ...spawn.env },
    timeout: kHungMs,
  });
  return { status, stdout, stderr };
}

describeSandboxed("a WASM engine", () => {
  test.each(["allow", "deny"] as const)(
    "gives the same output, exit code and files as without the wrapper, network %s",
    (network) => {
      const sandbox = createBubblewrapProcessSandbox({ network, roBinds: kRoBinds });
      const [bare, wrapped] = [engine(), engine()];
      const expected = { status: 7, stdout: "Grüße\n", stderr: "" };
      expect(run(bare.command)).toEqual(expected);
      expect(run(wrapped.command, sandbox)).toEqual(expected);
      for (const { folder } of [bare, wrapped]) {
        expect(readFileSync(join(folder, "output"), "utf8")).toBe("Grüße\n");
      }
    },
  );

  test("writes nothing where the workspace is mounted read-only", () => {
    const { folder, command } = engine();
    const mounts = command.mounts?.map((mount) => ({ ...mount, mode: "ro" as const }));
    const sandbox = createBubblewrapProcessSandbox({ roBinds: kRoBinds });
    const { status, stdout } = run({ ...command, mounts }, sandbox);
    expect({ status, stdout }).toEqual({ status: 91, stdout: "Grüße\n" });
    expect(existsSync(join(folder, "output"))).toBe(false);
  });
});
