import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

import type { SkillAnswer } from "./answer.js";
import { kPageBytes, readDeclaration, withMaxPages } from "./guest/module-limits.mjs";

/** Compiled modules that are kept; the least recently used goes first. */
const kMaxModules = 32;

/** A module that is ready to be instantiated. */
export type CachedModule = {
  module: WebAssembly.Module;
  /** Its memory can't outgrow what was asked for, nor anything else of it the host. */
  isBounded: boolean;
  /** The maximum that was put in; undefined when its own is no larger. */
  cappedPages: number | undefined;
};

/** A module, or why there is none. */
export type Compiled = CachedModule | { answer: SkillAnswer };

function invalid(error: unknown): Compiled {
  const message = error instanceof Error ? error.message : String(error);
  return { answer: { success: false, error_kind: "invalid", error: message } };
}

async function compile(bytes: Uint8Array<ArrayBuffer>, maxPages: number): Promise<Compiled> {
  const declaration = readDeclaration(bytes);
  const { memory, isBounded } = declaration;
  if (memory !== undefined && memory.minPages > maxPages) {
    const need = memory.minPages * kPageBytes;
    const error = `the module needs ${need} bytes of memory, the limit is ${maxPages * kPageBytes}`;
    return { answer: { success: false, error_kind: "limit", limit: "memory", error } };
  }
  try {
    const module = await WebAssembly.compile(withMaxPages(bytes, declaration, maxPages));
    const isCapped = memory !== undefined && (memory.maxPages ?? Infinity) > maxPages;
    return { module, isBounded, cappedPages: isCapped ? maxPages : undefined };
  } catch (error) {
    return invalid(error);
  }
}

/**
 * Compiled modules by the hash of their bytes and the memory they may have. The file is read and
 * hashed for each call and what was hashed is what is compiled, so a file that changes is another
 * module; nothing that a skill does or says gets in here.
 */
export class ModuleCache {
  readonly #modules = new Map<string, Promise<Compiled>>();

  /** @throws (rejects) what reading the file throws. */
  async get(path: string, maxPages: number): Promise<Compiled> {
    const bytes = new Uint8Array(await readFile(path));
    const hash = createHash("sha256").update(bytes).digest("hex");
    const key = `${hash}:${maxPages}`;
    const known = this.#modules.get(key) ?? compile(bytes, maxPages);
    this.#modules.delete(key);
    this.#modules.set(key, known);
    const [oldest] = this.#modules.keys();
    if (this.#modules.size > kMaxModules && oldest !== undefined) this.#modules.delete(oldest);
    return known;
  }
}
