/** The process sandbox of a configuration, and the proof that it works. */

import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ProcessSandbox } from "../../types/process-sandbox.js";
import type { NetworkMode } from "../../types/public.js";
import { SandboxError } from "../errors.js";
import { kDefaultRoBinds } from "../runners/bubblewrap.js";
import { LocalNativeRunner } from "../runners/local.js";
import type { RuntimeConfig } from "../runtime/config/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config/config-schema.js";
import { unlessDefault } from "../runtime/kinds/default-list.js";
import type { RuntimeName } from "../runtime/names.js";
import { createBubblewrapProcessSandbox } from "./bubblewrap.js";

const kTimeoutMs = 15_000;

/** As configured; of the default binds those that this host has. */
export function processSandboxOf(
  { bubblewrap }: RuntimeConfig,
  network: NetworkMode | undefined,
): ProcessSandbox {
  const { bwrapPath, isolation } = bubblewrap;
  const named = unlessDefault(bubblewrap.roBinds, kDefaultRuntimeBinds);
  const roBinds = named ?? kDefaultRoBinds.filter((path) => existsSync(path));
  return createBubblewrapProcessSandbox({ bwrapPath, isolation, network, roBinds });
}

/** Stands for a runtime that has runners only. @param under what keeps it from that, as a clause. */
export function cannotWrap(name: RuntimeName, under = ""): ProcessSandbox {
  return {
    name,
    wrap() {
      const what = `${name} can't wrap a process that the host starts itself`;
      throw new SandboxError(under === "" ? what : `${what} ${under}`, {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: `run it with the runner, or ${under === "" ? "select bubblewrap" : "allow or deny all"}`,
      });
    },
  };
}

/** Starts a shell in the sandbox; undefined when that works. */
export async function whyWrapFails(sandbox: ProcessSandbox): Promise<string | undefined> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "native-runner-"));
  try {
    const { cmd, args } = sandbox.wrap({
      cmd: "/bin/sh",
      args: ["-c", "exit 0"],
      env: {},
      mounts: [
        {
          kind: "dir",
          label: "shadow-workspace",
          hostPath: folder,
          guestPath: "/workspace",
          mode: "rw",
        },
      ],
    });
    const { exitCode, outcome, stderr } = await new LocalNativeRunner({
      shadowDir: folder,
      envPolicy: "clean",
    }).exec({ argv: [cmd, ...args], limits: { timeoutMs: kTimeoutMs } });
    if (outcome.kind === "exited" && exitCode === 0) return undefined;
    const said = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
    return said || `a test process did not run to its end (${outcome.kind}, ${exitCode})`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
