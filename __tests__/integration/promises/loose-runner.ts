/**
 * A runner in the way a host application could write its own: plain bwrap, all capabilities in
 * throwaway namespaces, no filter. The control for what must not be tried on the host itself.
 */

import { spawnSync } from "node:child_process";

import type { NativeExecInput, NativeExecResult, NativeRunner } from "../support/package.js";
import { plainEnvironment } from "../support/requirements.js";

const kNamespaces = ["user", "uts", "pid", "ipc", "net", "cgroup"].map(
  (name) => `--unshare-${name}`,
);
const kCapable = ["--uid", "0", "--gid", "0", "--cap-add", "ALL"];

export class LooseRunner implements NativeRunner {
  readonly #workspace: string;

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  async exec(input: NativeExecInput): Promise<NativeExecResult> {
    const mounts = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
    const place = ["--bind", this.#workspace, this.#workspace, "--chdir", this.#workspace];
    const args = [...kNamespaces, ...kCapable, ...mounts, ...place, "--", ...input.argv];
    const { status, stdout, stderr } = spawnSync("bwrap", args, { env: plainEnvironment() });
    return {
      exitCode: status ?? 1,
      stdout: new Uint8Array(stdout),
      stderr: new Uint8Array(stderr),
      truncatedStdout: false,
      truncatedStderr: false,
    };
  }
}
