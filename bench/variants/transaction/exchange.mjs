// A C program that lets as many files change places as the variant `commit` commits, with one
// syncfs(2).

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { burstOf, compiled } from "../../compiled.mjs";
import { kFiles, kFolders } from "./commit.mjs";

export async function open({ workspace }) {
  const program = await compiled(new URL("./transaction-floor.c", import.meta.url));
  const directory = join(workspace, "transaction-exchange");
  await mkdir(directory, { recursive: true });
  return {
    burst: ({ runs }) => burstOf(program, ["exchange", runs, directory, kFolders, kFiles]),
  };
}
