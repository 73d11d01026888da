// What the hosts of adapters share: a workspace that is gone with them, and a runner of it.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { BubblewrapNativeRunner } from "../../../../dist/index.js";

/** Does `work` with a runner of an empty workspace, and says what it gives as JSON. */
export async function tell(work) {
  const top = mkdtempSync(join(tmpdir(), "native-runner-adapter-"));
  const [shadowDir, directory] = ["work", "state"].map((name) => mkdtempSync(join(top, name)));
  const runner = new BubblewrapNativeRunner({ shadowDir, prewarm: 0, clone: "never" });
  const read = (name) => {
    const file = join(shadowDir, name);
    return existsSync(file) ? readFileSync(file, "utf8") : null;
  };
  try {
    const said = await work({ runner, directory, shadowDir, read });
    process.stdout.write(`${JSON.stringify(said)}\n`);
  } finally {
    await runner.close();
    rmSync(top, { recursive: true, force: true });
  }
}
