/** Compiles a module with its memory held to a limit. Pure but for the compiler. */

import { kPageBytes, readDeclaration, withMaxPages } from "./module-limits.mjs";

/** A module that is ready to be instantiated. */
export type CompiledModule = {
  module: WebAssembly.Module;
  /** Its memory can't outgrow what was asked for, nor anything else of it the host. */
  isBounded: boolean;
  /** The maximum that was put in; undefined when its own is no larger. */
  cappedPages: number | undefined;
};

/** Why there is no module. */
export type CompileFailure = { kind: "invalid" | "memory"; reason: string };

export type CompileOutcome = CompiledModule | { failure: CompileFailure };

/** Never rejects. */
export async function compileModule(
  bytes: Uint8Array<ArrayBuffer>,
  maxPages: number,
): Promise<CompileOutcome> {
  const declaration = readDeclaration(bytes);
  const { memory, isBounded } = declaration;
  if (memory !== undefined && memory.minPages > maxPages) {
    const need = memory.minPages * kPageBytes;
    const reason = `the module needs ${need} bytes of memory, the limit is ${maxPages * kPageBytes}`;
    return { failure: { kind: "memory", reason } };
  }
  try {
    const module = await WebAssembly.compile(withMaxPages(bytes, declaration, maxPages));
    const isCapped = memory !== undefined && (memory.maxPages ?? Infinity) > maxPages;
    return { module, isBounded, cappedPages: isCapped ? maxPages : undefined };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { failure: { kind: "invalid", reason } };
  }
}
