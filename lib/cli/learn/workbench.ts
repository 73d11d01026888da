/** Where a round is held: a transaction that is discarded, and copies of what can be written besides. */

import { resolve } from "node:path";

import type { SandboxedExecResult } from "../../../types/public.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RuntimeConfig } from "../../runtime/config/config.js";
import { ConfiguredRuntime } from "../../runtime/configured-runtime.js";
import { kKinds } from "../../runtime/kinds/all.js";
import { type CliOptions, execInput } from "../options.js";
import { CliError } from "../terminal.js";
import { openFor } from "../transactions/open.js";
import { StandIns, whyNoStandIn } from "./stand-ins.js";
import { withNamesTold } from "./with-learned.js";

/** @throws (rejects) CliError for a writable mount that no round could have a copy of. */
export async function checkStandIns({ bubblewrap }: RuntimeConfig): Promise<void> {
  for (const { hostPath, mode } of bubblewrap.mounts) {
    const why = mode === "rw" ? await whyNoStandIn(hostPath) : undefined;
    if (why === undefined) continue;
    throw new CliError(`the writable mount of ${hostPath} can't be tried out: ${why}`, 125);
  }
}

/** One run of a command, told in full, of which nothing is left on the host. */
export async function tryOut(
  command: readonly string[],
  config: RuntimeConfig,
  options: CliOptions,
  stdin: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<SandboxedExecResult> {
  const standIns = new StandIns();
  const { workspace, envPolicy, stateDirectory } = options;
  try {
    const mounts = await standIns.inPlaceOf(config.bubblewrap.mounts);
    const told = withNamesTold(config);
    const own = { ...told, bubblewrap: { ...told.bubblewrap, mounts } };
    const runtime = new ConfiguredRuntime(kKinds.bubblewrap, own);
    const runner = runtime.runner({ shadowDir: resolve(workspace), envPolicy });
    const place = stateDirectory === undefined ? {} : { stateDirectory };
    const transaction = await openFor(runner, { ...place, transaction: true });
    try {
      return await (transaction ?? runner).exec({
        ...execInput(command, options),
        stdin,
        signal,
        explain: "lookups",
        onStdout: options.json ? undefined : (chunk) => process.stderr.write(chunk),
        onStderr: options.json ? undefined : (chunk) => process.stderr.write(chunk),
      });
    } finally {
      await transaction?.discard();
      if (runner instanceof BubblewrapNativeRunner) await runner.close();
    }
  } finally {
    await standIns.remove();
  }
}
