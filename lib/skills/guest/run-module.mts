/** Runs one WASI command module until it ends, on the calling thread. */

import { WASI } from "node:wasi";

import { type AnswerMessage, type Failure, failureOf } from "./answer.mjs";
import { kPageBytes } from "./module-limits.mjs";

/** Number of bytes of a skill's standard error that are kept. */
const kMaxSkillStderrBytes = 65_536;

const kWasi = "wasi_snapshot_preview1";

export type ModuleRun = {
  input: string;
  maxOutputBytes: number;
  /** Maximum number of pages that we set; undefined if the module's own maximum is no larger. */
  cappedPages: number | undefined;
};

/** Returns why the module can't be a skill; undefined if it can. */
function whyNoCommand(module: WebAssembly.Module): string | undefined {
  const foreign = WebAssembly.Module.imports(module).find(({ module: from }) => from !== kWasi);
  if (foreign !== undefined) {
    const { module: from, name } = foreign;
    return `it imports ${from}.${name}; a skill has ${kWasi} only`;
  }
  const names = WebAssembly.Module.exports(module);
  if (!names.some(({ name, kind }) => name === "_start" && kind === "function")) {
    return "it is no WASI command: it exports no function _start";
  }
  if (!names.some(({ name, kind }) => name === "memory" && kind === "memory")) {
    return "it is no WASI command: it exports no memory";
  }
  return undefined;
}

/** True if a failed skill had almost no memory left to grow, so that it presumably needed more. */
function wasShort(peakBytes: number, cappedPages: number | undefined): boolean {
  if (cappedPages === undefined) return false;
  const cap = cappedPages * kPageBytes;
  return cap - peakBytes < cap / 16;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function start(
  module: WebAssembly.Module,
  stdio: Stdio,
  wasi: WASI,
  seen: Seen,
): Failure | undefined {
  try {
    const imports = Object.assign(Object.create(null), { [kWasi]: stdio.imports(wasi) });
    const instance = new WebAssembly.Instance(module, imports);
    const memory = instance.exports.memory as WebAssembly.Memory;
    seen.memory = memory;
    stdio.memory = memory;
    const exitCode = wasi.start(instance);
    if (exitCode === 0) return undefined;
    return { error_kind: "exit", exit_code: exitCode, error: `exit code ${exitCode}` };
  } catch (error) {
    return error instanceof OutputLimitReached ? undefined : failureOf(error);
  }
}

type Seen = { memory?: WebAssembly.Memory };

/** Never throws: any error of the skill becomes the answer. */
export function runModule(module: WebAssembly.Module, run: ModuleRun): AnswerMessage {
  const began = performance.now();
  const invalid = whyNoCommand(module);
  if (invalid !== undefined) return { success: false, error_kind: "invalid", error: invalid };

  const stdio = new Stdio(new TextEncoder().encode(run.input), {
    outputBytes: run.maxOutputBytes,
    stderrBytes: kMaxSkillStderrBytes,
  });
  const wasi = new WASI({ version: "preview1", args: ["skill"], env: {}, returnOnExit: true });
  const seen: Seen = {};
  const failure = start(module, stdio, wasi, seen);

  const peakBytes = seen.memory?.buffer.byteLength;
  const stderr = new TextDecoder().decode(stdio.err.bytes());
  const rest = {
    duration_ms: performance.now() - began,
    ...(peakBytes === undefined ? {} : { memory_peak_bytes: peakBytes }),
    ...(stderr === "" ? {} : { stderr }),
  };
  // Checked first, because the skill can't hide it by catching our exception.
  if (stdio.out.isFull) {
    const error = `the output is over ${run.maxOutputBytes} bytes`;
    return { success: false, error_kind: "limit", limit: "output", error, ...rest };
  }
  if (failure !== undefined) {
    if (failure.error_kind !== "limit" && wasShort(peakBytes ?? 0, run.cappedPages)) {
      const error = `${failure.error}, with its memory full (${peakBytes} bytes)`;
      return { success: false, error_kind: "limit", limit: "memory", error, ...rest };
    }
    return { success: false, ...failure, ...rest };
  }
  const output = textOf(stdio.out.bytes());
  if (output !== undefined) return { success: true, output, ...rest };
  const error = "the skill wrote bytes that are no UTF-8 text";
  return { success: false, error_kind: "protocol", error, ...rest };
}

/**
 * WASI preview 1 for a skill: node:wasi for calls without access to files (arguments, clocks, random numbers,
 * exit), and this file for every call that takes a descriptor. A skill has only standard input, output and
 * error, all in memory: no descriptor of the process, no directory, no socket. Calls that are not listed here
 * return EBADF.
 */

/** Values of `errno` (https://github.com/WebAssembly/WASI, preview 1). */
const kOk = 0;
const kBadDescriptor = 8;
const kFault = 21;
const kInvalid = 28;
const kNotSupported = 58;
const kIllegalSeek = 70;

/** Maximum buffers of one call: Linux's IOV_MAX. */
const kMaxVectors = 1024;

const kRightRead = 1n << 1n;
const kRightWrite = 1n << 6n;

/** Forwarded to node:wasi unchanged. */
const kForwarded = [
  "args_get",
  "args_sizes_get",
  "environ_get",
  "environ_sizes_get",
  "clock_res_get",
  "clock_time_get",
  "random_get",
  "sched_yield",
  "proc_exit",
] as const;

type WasiCall = (...values: never[]) => number;
type WasiImports = Record<string, WasiCall>;

/** Initial size of a sink in bytes. */
const kFirstBytes = 4096;

/** Collects written data up to a number of bytes, in one buffer, even for many small writes. */
class Sink {
  readonly #limit: number;
  #buffer: Uint8Array;
  #size = 0;
  /** True if more was written than is kept. */
  isFull = false;

  constructor(limit: number) {
    this.#limit = limit;
    this.#buffer = new Uint8Array(Math.min(limit, kFirstBytes));
  }

  add(bytes: Uint8Array): void {
    const room = this.#limit - this.#size;
    if (bytes.length > room) this.isFull = true;
    const kept = bytes.subarray(0, room);
    this.#reserve(this.#size + kept.length);
    this.#buffer.set(kept, this.#size);
    this.#size += kept.length;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  #reserve(size: number): void {
    if (size <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.min(this.#limit, Math.max(size, this.#buffer.length * 2)));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

/** Thrown through the skill if its output exceeds the limit. */
class OutputLimitReached extends Error {}

/** The three streams of one run. */
class Stdio {
  readonly out: Sink;
  readonly err: Sink;
  readonly #input: Uint8Array;
  readonly #open = new Set([0, 1, 2]);
  #read = 0;
  #memory: WebAssembly.Memory | undefined;

  constructor(input: Uint8Array, limits: { outputBytes: number; stderrBytes: number }) {
    this.#input = input;
    this.out = new Sink(limits.outputBytes);
    this.err = new Sink(limits.stderrBytes);
  }

  /** Set once the module is instantiated; a start function that writes earlier gets EFAULT. */
  set memory(memory: WebAssembly.Memory) {
    this.#memory = memory;
  }

  /**
   * Returns the functions for the module `wasi_snapshot_preview1`. Without a prototype, so that unlisted
   * names do not exist, including `constructor` and `toString`.
   */
  imports(wasi: WASI): WasiImports {
    const host = wasi.wasiImport as WasiImports;
    const refused = Object.keys(host).map((name): [string, WasiCall] => [
      name,
      () => kBadDescriptor,
    ]);
    const forwarded = kForwarded.map((name): [string, WasiCall] => [name, host[name] as WasiCall]);
    const listed = [...refused, ...forwarded, ...Object.entries(this.#own())];
    return Object.assign(Object.create(null), Object.fromEntries(listed));
  }

  #own(): WasiImports {
    const guard = (call: WasiCall): WasiCall => {
      return (...values) => {
        try {
          return call(...values);
        } catch (error) {
          if (error instanceof RangeError || error instanceof TypeError) return kFault;
          throw error;
        }
      };
    };
    const own = {
      fd_read: (fd: number, vectors: number, count: number, result: number) =>
        this.#fdRead(fd, vectors, count, result),
      fd_write: (fd: number, vectors: number, count: number, result: number) =>
        this.#fdWrite(fd, vectors, count, result),
      fd_close: (fd: number) => (this.#open.delete(fd) ? kOk : kBadDescriptor),
      fd_fdstat_get: (fd: number, result: number) => this.#fdStat(fd, result),
      fd_seek: (fd: number) => (this.#open.has(fd) ? kIllegalSeek : kBadDescriptor),
      fd_tell: (fd: number) => (this.#open.has(fd) ? kIllegalSeek : kBadDescriptor),
      poll_oneoff: (from: number, to: number, count: number, result: number) =>
        this.#poll(from, to, count, result),
    };
    const guarded = Object.entries(own).map(([name, call]) => [name, guard(call as WasiCall)]);
    return Object.fromEntries(guarded) as WasiImports;
  }

  get #view(): DataView {
    if (this.#memory === undefined) throw new RangeError("no memory yet");
    return new DataView(this.#memory.buffer);
  }

  /** Returns the buffers that an array of pointers and lengths describes. */
  #buffers(vectors: number, count: number): Uint8Array[] {
    const view = this.#view;
    return Array.from({ length: count >>> 0 }, (_, index) => {
      const at = (vectors >>> 0) + index * 8;
      return new Uint8Array(view.buffer, view.getUint32(at, true), view.getUint32(at + 4, true));
    });
  }

  #fdRead(fd: number, vectors: number, count: number, result: number): number {
    if (fd !== 0 || !this.#open.has(fd)) return kBadDescriptor;
    if (count >>> 0 > kMaxVectors) return kInvalid;
    let total = 0;
    for (const buffer of this.#buffers(vectors, count)) {
      const piece = this.#input.subarray(this.#read, this.#read + buffer.length);
      buffer.set(piece);
      this.#read += piece.length;
      total += piece.length;
    }
    this.#view.setUint32(result >>> 0, total, true);
    return kOk;
  }

  #fdWrite(fd: number, vectors: number, count: number, result: number): number {
    if ((fd !== 1 && fd !== 2) || !this.#open.has(fd)) return kBadDescriptor;
    if (count >>> 0 > kMaxVectors) return kInvalid;
    const sink = fd === 1 ? this.out : this.err;
    let total = 0;
    for (const buffer of this.#buffers(vectors, count)) {
      sink.add(buffer);
      total += buffer.length;
      // Standard error is for diagnosis: output over its limit is dropped.
      if (fd === 1 && sink.isFull) throw new OutputLimitReached("the output is over its limit");
    }
    this.#view.setUint32(result >>> 0, total, true);
    return kOk;
  }

  #fdStat(fd: number, result: number): number {
    if (!this.#open.has(fd)) return kBadDescriptor;
    const view = this.#view;
    const at = result >>> 0;
    for (let offset = 0; offset < 24; offset += 8) view.setBigUint64(at + offset, 0n, true);
    view.setBigUint64(at + 8, fd === 0 ? kRightRead : kRightWrite, true);
    return kOk;
  }

  /**
   * Sleeps; supports clock subscriptions only. Layout of subscription (48 bytes) and event (32 bytes). Ending
   * the worker interrupts this wait, unlike a wait inside node:wasi.
   */
  #poll(from: number, to: number, count: number, result: number): number {
    if (count === 0) return kInvalid;
    const view = this.#view;
    let first: { index: number; delayMs: number } | undefined;
    for (let index = 0; index < count >>> 0; index += 1) {
      const at = (from >>> 0) + index * 48;
      if (view.getUint8(at + 8) !== 0) return kNotSupported;
      const delayMs = delayOf(view, at);
      if (first === undefined || delayMs < first.delayMs) first = { index, delayMs };
    }
    if (first === undefined) return kInvalid;
    if (first.delayMs > 0)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, first.delayMs);
    const event = to >>> 0;
    for (let offset = 0; offset < 32; offset += 8) view.setBigUint64(event + offset, 0n, true);
    const userdata = view.getBigUint64((from >>> 0) + first.index * 48, true);
    view.setBigUint64(event, userdata, true);
    view.setUint32(result >>> 0, 1, true);
    return kOk;
  }
}

/** Returns the milliseconds of a clock subscription: id at 16, timeout at 24, flags (1: absolute) at 40. */
function delayOf(view: DataView, at: number): number {
  const timeout = view.getBigUint64(at + 24, true);
  if ((view.getUint16(at + 40, true) & 1) === 0) return Number(timeout) / 1e6;
  const isRealtime = view.getUint32(at + 16, true) === 0;
  const now = isRealtime ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
  return Math.max(0, Number(timeout - now) / 1e6);
}
