/**
 * Locations of workspaces on a worker. A workspace is opened below the tenant's directory, one path component at a time
 * and through no symbolic link, since commands can plant links wherever they write.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";

import { invalidValue } from "../../errors.js";
import { expectToken } from "../subjects.js";
import { Refusal } from "./checked.js";

/** The tenant of callers that name none. */
export const kDefaultTenant = "default";

/** An open directory: the directory that was checked is the one that is mounted. */
export type HeldWorkspace = {
  /**
   * Path for a runner's `shadowDir`. It names the directory by its descriptor, even after the directory was moved or
   * another was put at its path. Runners, `files` and transactions open it at the start of each run, so it has to stay
   * open until `close()` of the runner has resolved; after that the descriptor number may be reused. Audits and
   * transactions record the directory's real path.
   */
  shadowDir: string;
  /** The requested path, normalised. */
  path: string;
  /** Closes the directory. Call once. */
  close(): Promise<void>;
};

/** Prefix of the workers' own directories; not a valid tenant name. */
const kMoved = ".native-runner";
const kStep = constants.O_RDONLY | constants.O_DIRECTORY;

const kReasons: Readonly<Record<string, string>> = {
  ENOENT: "a directory that is there on the worker",
  ELOOP: "a path of directories, through no symbolic link",
  ENOTDIR: "a path of directories, through no symbolic link",
  EACCES: "a directory that the worker may open",
  ENAMETOOLONG: "a path that is not too long",
};

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? "";
const byDescriptor = (handle: FileHandle) => `/proc/self/fd/${handle.fd}`;

function refuse(asked: unknown, expected: string, isFound = true): Refusal {
  const shown = typeof asked === "string" ? JSON.stringify(asked.slice(0, 200)) : typeof asked;
  const message = `Expected \`workspace\` to be ${expected}, got ${shown}`;
  return new Refusal("workspace", asked, expected, message, isFound);
}

/** Opens one component below an open directory, and closes that directory. */
async function step(from: FileHandle, name: string): Promise<FileHandle> {
  try {
    return await open(`${byDescriptor(from)}/${name}`, kStep | constants.O_NOFOLLOW);
  } finally {
    await from.close();
  }
}

/** The directory that `--workspaces` names, and the directories of tenants below it. */
export class Workspaces {
  readonly #root: string;

  /** @param root an absolute path; symbolic links in it are the operator's, and are followed */
  constructor(root: string) {
    if (!path.isAbsolute(root) || root.includes("\0")) {
      throw invalidValue(
        `Expected \`workspaces\` to be an absolute path, got ${JSON.stringify(root)}`,
      );
    }
    this.#root = path.resolve(root);
  }

  /**
   * Returns the directory that holds a tenant's workspaces. The default tenant has the whole root, including other
   * tenants' directories, so an operator with several tenants should give no client that name.
   */
  placeOf(tenant: string): string {
    expectToken(tenant, "tenant");
    return tenant === kDefaultTenant ? this.#root : path.join(this.#root, tenant);
  }

  /** Returns the directory in which the worker of this name keeps moved workspaces. No tenant's path leads there. */
  movedFor(name: string): string {
    return path.join(this.#root, `${kMoved}-${name}`);
  }

  /** Returns the path components below the root, or a refusal for a path outside the tenant's directory. */
  #below(tenant: string, asked: unknown): string[] | Refusal {
    if (typeof asked !== "string" || !asked.startsWith("/") || asked.includes("\0")) {
      return refuse(asked, "an absolute path");
    }
    if (asked.split("/").includes("..")) return refuse(asked, "a path without '..'");
    const place = this.placeOf(tenant);
    const below = path.relative(place, asked);
    if (below === "" || below.startsWith("..")) return refuse(asked, `below ${place}`);
    const names = path.relative(this.#root, asked).split("/");
    return names[0]?.startsWith(kMoved) ? refuse(asked, "no worker's own directory") : names;
  }

  /**
   * Opens the workspace that a caller of the tenant asks for. A refusal reveals only the requested path, except about
   * entries in the tenant's own directory.
   *
   * @param asked the caller's value, unchecked
   * @throws (rejects) Node's file system errors if the root can't be opened, which the operator has to fix
   */
  async open(tenant: string, asked: unknown): Promise<HeldWorkspace | Refusal> {
    const names = this.#below(tenant, asked);
    if (names instanceof Refusal) return names;
    let at = await open(this.#root, kStep);
    for (const name of names) {
      try {
        at = await step(at, name);
      } catch (error) {
        const expected = kReasons[codeOf(error)];
        if (expected === undefined) throw error;
        return refuse(asked, expected, false);
      }
    }
    const held = at;
    return {
      shadowDir: byDescriptor(held),
      path: path.join(this.#root, ...names),
      close: () => held.close(),
    };
  }
}
