import { mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

/** Calls `use` with a new, empty directory below `parent` that only this user can enter. */
export async function withPrivateDirectory<Value>(
  parent: string,
  use: (directory: string) => Promise<Value>,
): Promise<Value> {
  const directory = await realpath(await mkdtemp(join(parent, "native-runner-skill-")));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
