// The record of a run, as a log has it: of one that was really run.

import { BubblewrapNativeRunner } from "../../../dist/index.js";

/** A grant whose text is as long as the record of a run; what a log takes from outside. */
export async function runEvent(workspace) {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, clone: "never" });
  const { audits, exitCode } = await runner.exec({ argv: ["/bin/true"] });
  await runner.close();
  return { option: "run", value: { ...audits[0], exitCode } };
}
