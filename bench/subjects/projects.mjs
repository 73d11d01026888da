// The projects that scenarios work in, below the suite's directory, and the transactions of them. A variant
// that is first makes the project; those after it use the same.

import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a directory and, by `fill(directory)`, what is in it, unless it is there. */
export async function madeOnce(directory, fill) {
  const isMade = await access(directory).then(
    () => true,
    () => false,
  );
  if (isMade) return;
  await mkdir(directory, { recursive: true });
  await fill(directory);
}

/** { top, project, state, remove() }, `state` being where transactions are kept; `fill(project)` makes what is in it, once. */
export async function placeOf(workspace, name, fill = () => {}) {
  const top = join(workspace, `transaction-${name}`);
  const project = join(top, "project");
  await madeOnce(project, fill);
  const state = await mkdtemp(join(top, "state-"));
  return { top, project, state, remove: () => rm(top, { recursive: true, force: true }) };
}

/** `folders` times `files` files in the project, each of `text(folder, file)`. */
export async function fillFolders(project, folders, files, text, nameOf = String) {
  for (let folder = 0; folder < folders; folder++) {
    const directory = join(project, `d${folder}`);
    await mkdir(directory);
    const writes = Array.from({ length: files }, (_, file) =>
      writeFile(join(directory, `f${nameOf(file)}`), text(folder, file)),
    );
    await Promise.all(writes);
  }
}

export async function runnerOf({ project }, prewarm = 0, clone = "auto") {
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  return new BubblewrapNativeRunner({ shadowDir: project, network: "deny", prewarm, clone });
}

/** Runs a script of the shell's in a transaction. */
export async function change(transaction, script) {
  const { exitCode, stderr } = await transaction.exec({ argv: ["/bin/sh", "-c", script] });
  if (exitCode !== 0) throw new Error(Buffer.from(stderr).toString());
}

/** Why there can be no transaction where the suite works, or undefined. */
export async function noTransactions() {
  const workspace = await mkdtemp(join(tmpdir(), "native-runner-bench-"));
  try {
    const place = await placeOf(workspace, "try");
    const runner = await runnerOf(place);
    await (await runner.openTransaction({ directory: place.state })).discard();
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}
