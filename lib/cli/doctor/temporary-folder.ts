import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Calls `use` with a new folder, which is gone afterwards.
 * @throws (rejects) where no directory can be made, such as a read-only TMPDIR.
 */
export async function withFolder<Value>(use: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "native-runner-doctor-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
