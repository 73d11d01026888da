/**
 * Where workspaces of a worker may lie, and the way to one: below a directory of the tenant's, step by
 * step and through no symbolic link, since commands can plant links in whatever they write.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";

import { invalidValue } from "../../errors.js";
import { expectToken } from "../subjects.js";
import { Refusal } from "./checked.js";

/** The tenant of those who name none. */
export const kDefaultTenant = "default";

/** A directory that is held, so that what was checked is what is mounted. */
export type HeldWorkspace = {
  /**
   * For a runner's `shadowDir`: leads to the directory by its descriptor, wherever it has been moved and
   * whatever stands at its path. Runners open it at the start of each run, as do `files` and
   * transactions, so it has to be held until `close()` of the runner has resolved; the number is
   * somebody else's afterwards. Audits and transactions have the directory's real path.
   */
  shadowDir: string;
  /** The path that was asked for, normalised. */
  path: string;
  /** Lets go of it. Once. */
  close(): Promise<void>;
};

/** No tenant has such a name. */
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

/** One component below what is held, which is let go of. */
async function step(from: FileHandle, name: string): Promise<FileHandle> {
  try {
    return await open(`${byDescriptor(from)}/${name}`, kStep | constants.O_NOFOLLOW);
  } finally {
    await from.close();
  }
}

/** The directory that `--workspaces` names, and what lies below it for whom. */
export class Workspaces {
  readonly #root: string;

  /** @param root an absolute path; links in it are the operator's, and are followed. */
  constructor(root: string) {
    if (!path.isAbsolute(root) || root.includes("\0")) {
      throw invalidValue(
        `Expected \`workspaces\` to be an absolute path, got ${JSON.stringify(root)}`,
      );
    }
    this.#root = path.resolve(root);
  }

  /**
   * Below which directory those of a tenant lie. The default tenant has all of them, other tenants'
   * too: where there are several tenants, nobody should be that one.
   */
  placeOf(tenant: string): string {
    expectToken(tenant, "tenant");
    return tenant === kDefaultTenant ? this.#root : path.join(this.#root, tenant);
  }

  /** Where the worker of a name keeps those that are moved. No tenant's path leads there. */
  movedFor(name: string): string {
    return path.join(this.#root, `${kMoved}-${name}`);
  }

  /** The components below the root; what lies elsewhere is not looked at. */
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
   * The workspace that a caller of the tenant asks for. What is refused is told by the path that was
   * asked for alone, but for what lies in the tenant's own place.
   *
   * @param asked what came from the caller, unchecked.
   * @throws (rejects) Node's errors of the file system where the root can't be opened, which is for the
   * operator to see.
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
