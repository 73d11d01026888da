import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";

import { readPieces } from "../regular-file.js";
import type { SkillAnswer } from "./answer.js";
import type { CompileAnswer, CompileJob } from "./guest/compile-worker.mjs";
import { type CompiledModule, type CompileOutcome, compileModule } from "./guest/module-limits.mjs";
import { guestScript } from "./guest-process.js";
import { kMaxModuleBytes } from "./skill.js";

/** Number of compiled modules that are kept; the least recently used is dropped first. */
const kMaxModules = 32;

/**
 * Maximum size in bytes of a module that is compiled on the calling thread. The compiler copies and checks a
 * module on the thread that calls it, about 4 ms per MiB, so larger ones are compiled in a worker.
 */
const kMaxHereBytes = 1024 ** 2;

/** A module, or the failure to compile it. */
type Compiled = CompiledModule | { answer: SkillAnswer };

/** A module's file: the hash of its bytes, and, for a small file, the bytes. */
type ReadModule = { hash: string; bytes: Uint8Array<ArrayBuffer> | undefined };

async function readModule(path: string): Promise<ReadModule> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let size = 0;
  await readPieces(path, kMaxModuleBytes, (piece) => {
    hash.update(piece);
    size += piece.length;
    if (size <= kMaxHereBytes) pieces.push(Buffer.from(piece));
  });
  const bytes = size <= kMaxHereBytes ? new Uint8Array(Buffer.concat(pieces)) : undefined;
  return { hash: hash.digest("hex"), bytes };
}

function answered(outcome: CompileOutcome): Compiled {
  if (!("failure" in outcome)) return outcome;
  const { kind, reason: error } = outcome.failure;
  if (kind === "invalid") return { answer: { success: false, error_kind: "invalid", error } };
  return { answer: { success: false, error_kind: "limit", limit: "memory", error } };
}

/**
 * Compiled modules by the hash of their bytes and their memory limit. The file is read and hashed for each
 * call, and exactly the hashed bytes are compiled, so a changed file is a different module; nothing that a
 * skill does can change the cache.
 */
export class ModuleCache {
  readonly #modules = new Map<string, Promise<Compiled>>();
  readonly #compiler = new ModuleCompiler();

  /** @throws (rejects) any error of reading the file; an Error if it changes while it is read. */
  async get(path: string, maxPages: number): Promise<Compiled> {
    const read = await readModule(path);
    const key = `${read.hash}:${maxPages}`;
    const known = this.#modules.get(key) ?? this.#compile(path, maxPages, read);
    this.#modules.delete(key);
    this.#modules.set(key, known);
    const [oldest] = this.#modules.keys();
    if (this.#modules.size > kMaxModules && oldest !== undefined) this.#modules.delete(oldest);
    try {
      return await known;
    } catch (error) {
      if (this.#modules.get(key) === known) this.#modules.delete(key); // so that the next call tries again
      throw error;
    }
  }

  async #compile(path: string, maxPages: number, { hash, bytes }: ReadModule): Promise<Compiled> {
    if (bytes !== undefined) return answered(await compileModule(bytes, maxPages));
    const compiled = await this.#compiler.compile({ path, maxPages });
    if (compiled.hash !== hash) throw new Error(`${path} was changed while it was read`);
    return answered(compiled.outcome);
  }
}

function compileInWorker(job: CompileJob): Promise<CompileAnswer> {
  const worker = new Worker(guestScript("compile-worker.mjs"), {
    name: "native-runner-compile",
    argv: [],
    env: {},
    execArgv: ["--no-warnings"],
    workerData: job,
  });
  const answer = new Promise<CompileAnswer>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`the compiler ended with ${code}`)));
  });
  return answer.finally(() => worker.terminate());
}

/** Compiles large modules off the host's thread, one at a time: each needs memory of its size. */
class ModuleCompiler {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws (rejects) any error of reading the file. */
  async compile(job: CompileJob): Promise<CompileAnswer> {
    const turn = this.#last.then(() => compileInWorker(job));
    this.#last = turn.catch(() => {});
    return turn;
  }
}
