/**
 * The files of a workspace: the native handle, created with the first call, and the parts that JavaScript
 * does.
 */

import type { WorkspaceFilesHandle, WorkspaceFilesOptions } from "../../types/addon-files.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type {
  WorkspaceEntry,
  WorkspaceFiles,
  WorkspaceListOptions,
  WorkspaceMkdirOptions,
  WorkspacePath,
  WorkspaceReadOptions,
  WorkspaceReadTextOptions,
  WorkspaceRemoveOptions,
  WorkspaceStat,
  WorkspaceWriteOptions,
} from "../../types/files.js";
import { untilAnswering } from "../answering-path.js";
import { fromNative, invalidType } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { loadAddon } from "../native.js";

const kReadTextOptions: FieldsOf<WorkspaceReadTextOptions> = { maxBytes: true, fatal: true };

/** @throws a TypeError with Node's code, which not every engine sets. */
function textOf(bytes: Uint8Array, fatal: boolean): string {
  try {
    // A byte order mark is kept, so that writing the text back preserves it.
    return new TextDecoder("utf-8", { fatal, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(error as TypeError, { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
  }
}

/** See {@link WorkspaceFiles}. */
export class NativeWorkspaceFiles implements WorkspaceFiles {
  readonly #options: WorkspaceFilesOptions;
  readonly #transaction: TransactionHandle | undefined;
  readonly #ready: (hasWaited?: boolean) => Promise<void> | undefined;
  #handle: WorkspaceFilesHandle | undefined;

  /**
   * Does no I/O; the options belong to the caller, who has checked them.
   *
   * @param transaction the open transaction whose files these are; otherwise the host's.
   * @param ready precondition of each call, as for `Supervised`; undefined: none.
   */
  constructor(
    options: WorkspaceFilesOptions,
    transaction?: TransactionHandle,
    ready: (hasWaited?: boolean) => Promise<void> | undefined = () => undefined,
  ) {
    this.#options = options;
    this.#transaction = transaction;
    this.#ready = ready;
  }

  read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array> {
    return this.#call((handle) => handle.read(path, options));
  }

  async readText(path: WorkspacePath, options: WorkspaceReadTextOptions = {}): Promise<string> {
    expectFields(options, "options", kReadTextOptions);
    const { maxBytes, fatal = false } = options;
    if (typeof fatal !== "boolean") throw invalidType("fatal", "a boolean", fatal);
    const bytes = await this.read(path, { maxBytes });
    return textOf(bytes, fatal);
  }

  write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat> {
    return this.#call((handle) => handle.write(path, data, options));
  }

  list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]> {
    return this.#call((handle) => handle.list(path, options));
  }

  stat(path: WorkspacePath): Promise<WorkspaceStat> {
    return this.#call((handle) => handle.stat(path));
  }

  mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void> {
    return this.#call((handle) => handle.mkdir(path, options));
  }

  rename(from: WorkspacePath, to: WorkspacePath): Promise<void> {
    return this.#call((handle) => handle.rename(from, to));
  }

  remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void> {
    return this.#call((handle) => handle.remove(path, options));
  }

  /** Only rejects. An error of the thread pool has no stack of its own: it gets the caller's. */
  async #call<Value>(use: (handle: WorkspaceFilesHandle) => Promise<Value>): Promise<Value> {
    try {
      for (let waits = this.#ready(); waits; waits = this.#ready(true)) await waits;
      const waits = untilAnswering(this.#options.shadowDir);
      if (waits) await waits;
      this.#handle ??= new (loadAddon().WorkspaceFiles)(this.#options, this.#transaction);
      return await use(this.#handle);
    } catch (error) {
      if (error instanceof Error) Error.captureStackTrace(error);
      throw fromNative(error);
    }
  }
}
