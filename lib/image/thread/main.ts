/** The thread that reads images, unpacks them and removes what was unpacked: each message is one job, with one answer. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";

import { ImageError } from "../../errors.js";
import type { Job, JobAnswer, Unpacked } from "../unpack-thread.js";
import { findImage } from "./image-files.js";
import { Allowance, layerBytes } from "./layer-bytes.js";
import { ChunkSource, TarReader } from "./tar-entries.js";
import { removeTree, Tree } from "./tree.js";

const port = parentPort;
if (port === null) throw new Error("native-runner: images are unpacked in a thread of its own");
const answer = (message: JobAnswer) => port.postMessage(message);

/** The other side makes FIFOs: this one has no addon. */
let fifoIsMade: { resolve: () => void; reject: (error: Error) => void } | undefined;

function makeFifo(path: Buffer, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fifoIsMade = { resolve, reject };
    answer({ makeFifo: path, mode });
  });
}

async function unpack({ layers, directory, limits }: Job & { kind: "unpack" }): Promise<Unpacked> {
  mkdirSync(directory, 0o700);
  const tree = new Tree(directory, limits, makeFifo);
  const allowance = new Allowance(limits);
  for (const [at, { part, diffId }] of layers.entries()) {
    const what = `layer ${at + 1} of ${layers.length}`;
    const bytes = layerBytes(part, what, allowance, diffId);
    try {
      await tree.apply(new TarReader(new ChunkSource(bytes)));
    } catch (error) {
      await bytes.return(undefined);
      throw error instanceof ImageError ? named(error, what) : error;
    }
    // What follows the end of the archive, so that all of the layer is checked.
    for await (const _ of bytes);
  }
  tree.finish();
  const { bytes, entries, leftOut } = tree;
  return { bytes, entries, leftOut };
}

/** Says in which layer it was, unless the message does. */
function named(error: ImageError, what: string): ImageError {
  if (error.code !== "ERR_IMAGE_INVALID" || error.message.includes(what)) return error;
  return new ImageError(`${what}: ${error.message}`, { code: error.code, fix: error.fix });
}

async function work(job: Job): Promise<JobAnswer> {
  if (job.kind === "find") {
    return { found: await findImage(job.choice, join(job.directory, "archive"), job.limits) };
  }
  if (job.kind === "unpack") return { unpacked: await unpack(job) };
  for (const path of job.paths) removeTree(Buffer.from(path));
  return { removed: true };
}

port.on("message", (message: Job | { fifo: string | undefined }) => {
  if ("fifo" in message) {
    if (message.fifo === undefined) fifoIsMade?.resolve();
    else fifoIsMade?.reject(new Error(message.fifo));
    return;
  }
  work(message).then(answer, (error: NodeJS.ErrnoException & { fix?: string }) => {
    const { message: text, code, fix } = error;
    answer({ failure: { isImageError: error instanceof ImageError, message: text, code, fix } });
  });
});
