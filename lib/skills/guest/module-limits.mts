/**
 * Reads a core module's declarations of memory and tables, and lowers its maximum, which V8 enforces. Reads
 * only the necessary part of the binary format (https://webassembly.github.io/spec/core/binary/modules.html);
 * unknown constructs count as unbounded, and the compiler refuses malformed modules. Pure.
 */

/** Size of a page in bytes. */
export const kPageBytes = 65_536;

/** Maximum total entries of a module's tables that still count as bounded. */
const kMaxTableEntries = 100_000;

const kSectionType = 1;
const kSectionImport = 2;
const kSectionTable = 4;
const kSectionMemory = 5;
const kFunctionType = 0x60;
const kImportFunction = 0;

/** The binary format, identified by the first eight bytes. */
export type BinaryKind = "module" | "component" | "other";

export function binaryKind(bytes: Uint8Array): BinaryKind {
  const magic = bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d;
  if (!magic || bytes.length < 8) return "other";
  const [version, , layer] = bytes.subarray(4, 7);
  if (layer === 1) return "component";
  return version === 1 && layer === 0 ? "module" : "other";
}

/** A module's declaration of its one memory. */
type MemoryDeclaration = {
  minPages: number;
  maxPages: number | undefined;
  /** Position of its limits in the binary. */
  at: { start: number; end: number };
  /** The memory section: position of its size, start, and end. */
  section: { sizeAt: number; start: number; end: number };
};

type ModuleDeclaration = {
  memory: MemoryDeclaration | undefined;
  /** True if nothing except the one memory can grow beyond its declaration. */
  isBounded: boolean;
};

const kUnbounded: ModuleDeclaration = { memory: undefined, isBounded: false };

/** Reads bytes sequentially; throws RangeError at the end. */
class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new RangeError("unexpected end of the module");
    this.at += 1;
    return byte;
  }

  /** Reads an unsigned LEB128 of 32 bits. */
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number of the module is too long");
  }
}

/** Reads limits without any flag except "has a maximum"; undefined for shared, 64-bit and other limits. */
function readLimits(reader: Reader): { min: number; max: number | undefined } | undefined {
  const flags = reader.byte();
  if (flags > 1) return undefined;
  const min = reader.u32();
  return { min, max: flags === 1 ? reader.u32() : undefined };
}

function tablesAreBounded(reader: Reader): boolean {
  let entries = 0;
  for (let left = reader.u32(); left > 0; left -= 1) {
    const type = reader.byte();
    if (type !== 0x70 && type !== 0x6f) return false; // only funcref and externref have one byte
    const limits = readLimits(reader);
    if (limits?.max === undefined) return false;
    entries += limits.max;
  }
  return entries <= kMaxTableEntries;
}

/** True if only functions are imported: name, name, kind 0, type index. */
function importsOnlyFunctions(reader: Reader): boolean {
  for (let left = reader.u32(); left > 0; left -= 1) {
    for (let name = 0; name < 2; name += 1) {
      const length = reader.u32();
      reader.at += length;
    }
    if (reader.byte() !== kImportFunction) return false;
    reader.u32();
  }
  return true;
}

/**
 * True if there are only function types, since others allocate outside of the memory (structs and arrays).
 */
function typesAreFunctions(reader: Reader): boolean {
  for (let left = reader.u32(); left > 0; left -= 1) {
    if (reader.byte() !== kFunctionType) return false;
    for (let list = 0; list < 2; list += 1) {
      for (let values = reader.u32(); values > 0; values -= 1) {
        const type = reader.byte();
        if (type < 0x6f) return false; // a reference type of more than one byte
      }
    }
  }
  return true;
}

function readMemory(
  reader: Reader,
  section: MemoryDeclaration["section"],
): MemoryDeclaration | undefined {
  if (reader.u32() !== 1) return undefined;
  const start = reader.at;
  const limits = readLimits(reader);
  if (limits === undefined || reader.at !== section.end) return undefined;
  const { min: minPages, max: maxPages } = limits;
  return { minPages, maxPages, at: { start, end: reader.at }, section };
}

function declarationOf(bytes: Uint8Array): ModuleDeclaration {
  let memory: MemoryDeclaration | undefined;
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const id = reader.byte();
    const sizeAt = reader.at;
    const size = reader.u32();
    const start = reader.at;
    const end = start + size;
    if (end > bytes.length) return kUnbounded;
    if (id === kSectionMemory) {
      if (memory !== undefined) return kUnbounded;
      memory = readMemory(reader, { sizeAt, start, end });
      if (memory === undefined) return kUnbounded;
    }
    if (id === kSectionType && !typesAreFunctions(reader)) return kUnbounded;
    if (id === kSectionImport && !importsOnlyFunctions(reader)) return kUnbounded;
    if (id === kSectionTable && !tablesAreBounded(reader)) return kUnbounded;
    reader.at = end;
  }
  return { memory, isBounded: true };
}

/** Returns a module's declarations; unbounded if any part is not understood. */
export function readDeclaration(bytes: Uint8Array): ModuleDeclaration {
  if (binaryKind(bytes) !== "module") return kUnbounded;
  try {
    return declarationOf(bytes);
  } catch {
    return kUnbounded;
  }
}

function leb128(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low + 128 : low);
  } while (rest > 0);
  return bytes;
}

/**
 * Returns the module with at most `maxPages` for its memory: the same bytes if it declares no more.
 * `declaration` belongs to these bytes.
 */
export function withMaxPages(
  bytes: Uint8Array<ArrayBuffer>,
  declaration: ModuleDeclaration,
  maxPages: number,
): Uint8Array<ArrayBuffer> {
  const { memory } = declaration;
  if (memory === undefined) return bytes;
  if (memory.maxPages !== undefined && memory.maxPages <= maxPages) return bytes;
  const limits = [1, ...leb128(memory.minPages), ...leb128(maxPages)];
  const { sizeAt, start, end } = memory.section;
  const count = bytes.subarray(start, memory.at.start);
  const size = leb128(count.length + limits.length);
  const parts = [bytes.subarray(0, sizeAt), size, count, limits, bytes.subarray(end)];
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** Compiles a module with limited memory. Pure except for the compiler. */

/** A module that can be instantiated. */
export type CompiledModule = {
  module: WebAssembly.Module;
  /** True if its memory can't exceed the limit, and nothing else in it can exhaust the host. */
  isBounded: boolean;
  /** The maximum that was set; undefined if its own is no larger. */
  cappedPages: number | undefined;
};

/** The reason why compilation failed. */
type CompileFailure = { kind: "invalid" | "memory"; reason: string };

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
