import { LocalNativeRunner } from "../../runners/local.js";
import type { RuntimeConfig } from "../../runtime/config/config.js";
import { type MissingOption, missingBwrapOptions } from "../../runtime/diagnosis/bwrap-options.js";
import { withFolder } from "./temporary-folder.js";

const kTimeoutMs = 10_000;

/** Asks the configured bwrap what it can do. @throws (rejects) where it does not answer. */
export async function lackedByBwrap(config: RuntimeConfig): Promise<MissingOption[]> {
  return withFolder(async (shadowDir) => {
    const runner = new LocalNativeRunner({ shadowDir, envPolicy: "clean" });
    const argv = [config.bubblewrap.bwrapPath, "--help"];
    const { stdout, outcome } = await runner.exec({ argv, limits: { timeoutMs: kTimeoutMs } });
    if (outcome.kind !== "exited") throw new Error(`${argv.join(" ")}: ${outcome.kind}`);
    return missingBwrapOptions(new TextDecoder().decode(stdout));
  });
}
