// The bwrap command line that every other variant runs: what our runner itself reports in its
// audit, without the launcher. --as-pid-1 goes with it (bwrap then forks its own init, as it does
// for any other user), and bwrap is looked up once, as our runner does.

import { BubblewrapNativeRunner } from "../dist/index.js";
import { findProgram } from "./programs.mjs";

const kProbe = "/bin/true";

/** Resolves to { cmd, options, layers }; rejects when the sandbox does not work here. */
export async function strictSandbox(workspace) {
  const runner = new BubblewrapNativeRunner({
    shadowDir: workspace,
    network: "deny",
    prewarm: 0,
    clone: "never",
  });
  const { outcome, audits } = await runner.exec({ argv: [kProbe] });
  if (outcome.kind !== "exited") {
    throw new Error(`the sandbox does not work here: ${outcome.reason ?? outcome.kind}`);
  }
  const { cmd, argv, layers } = audits[0];
  if (argv.at(-2) !== "--" || argv.at(-1) !== kProbe) {
    throw new Error(`expected the audit's argv to end with -- ${kProbe}, got ${argv.join(" ")}`);
  }
  const options = argv.slice(0, -2).filter((argument) => argument !== "--as-pid-1");
  const program = findProgram(cmd);
  if (program === undefined) throw new Error(`${cmd} is not on the PATH`);
  return { cmd: program, options, layers };
}
