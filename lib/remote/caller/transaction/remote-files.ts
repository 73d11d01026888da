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
} from "../../../../types/files.js";
import type { Ask } from "../../wire/answers.js";

/** Files on a worker: each call is one of its own there, and checked there. */
export class RemoteFiles implements WorkspaceFiles {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array> {
    return (await this.#ask("files.read", [path, options])) as Uint8Array;
  }

  async readText(path: WorkspacePath, options?: WorkspaceReadTextOptions): Promise<string> {
    return (await this.#ask("files.readText", [path, options])) as string;
  }

  async write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat> {
    return (await this.#ask("files.write", [path, data, options])) as WorkspaceStat;
  }

  async list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]> {
    return (await this.#ask("files.list", [path, options])) as WorkspaceEntry[];
  }

  async stat(path: WorkspacePath): Promise<WorkspaceStat> {
    return (await this.#ask("files.stat", [path])) as WorkspaceStat;
  }

  async mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void> {
    await this.#ask("files.mkdir", [path, options]);
  }

  async rename(from: WorkspacePath, to: WorkspacePath): Promise<void> {
    await this.#ask("files.rename", [from, to]);
  }

  async remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void> {
    await this.#ask("files.remove", [path, options]);
  }
}
