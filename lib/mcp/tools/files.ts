/** Tools that read, edit and search the files that commands see. */

import { posix } from "node:path";
import * as v from "valibot";

import type { WorkspaceFiles } from "../../../types/files.js";
import { counted } from "../../change-text.js";
import { isWithin } from "../roots.js";
import { defineTool, kBranchField, type ToolContext } from "../tool.js";
import { characterStart, ToolError, textOf } from "../words.js";

const kMostPath = 4096; // PATH_MAX of Linux
const kMostFile = 8 * 1024 ** 2;
const kMostShown = 64 * 1024;
const kMostLines = 2000;
const kMostText = 1024 ** 2;

const path = v.pipe(v.string(), v.maxLength(kMostPath));

/** Returns the path below the workspace, of the forms that `cwd` has. @throws ToolError outside of the client's roots */
function placeOf(given: string, { narrowing }: ToolContext): string {
  const place = posix.normalize(given.replace(/^\/?(workspace(\/|$))?/, "")).replace(/\/$/, "");
  if (isWithin(narrowing, place)) return place === "." ? "" : place;
  throw new ToolError(`${given} is outside of the client's roots: ${narrowing?.join(", ")}`);
}

/** Returns the name that WorkspaceFiles has for a path below the workspace. */
const fileAt = (place: string) =>
  place === "workspace" || place.startsWith("workspace/") ? `workspace/${place}` : place;

/** Reads a text. @throws ToolError for what is none */
async function textAt(files: WorkspaceFiles, place: string): Promise<string> {
  try {
    return await files.readText(fileAt(place), { maxBytes: kMostFile, fatal: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw new ToolError(`${place} is no UTF-8 text: look at it with a command`);
    }
    if (code === "ERR_FS_FILE_TOO_LARGE") throw new ToolError(`${place} has more than 8 MiB`);
    if (code === "ENOENT") throw new ToolError(`there is no ${place}`);
    throw error;
  }
}

/** Returns the beginning of a text that is not longer than the limit, and whether it is all. */
function beginning(text: string): { text: string; isCut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= kMostShown) return { text, isCut: false };
  return { text: textOf(bytes.subarray(0, characterStart(bytes, kMostShown))), isCut: true };
}

export const view = defineTool({
  name: "view",
  title: "Read a file",
  description: "Returns lines of a text file, or a directory's entries, as commands see them.",
  input: v.strictObject({
    path,
    from: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.description("First line."))),
    lines: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(kMostLines))),
    ...kBranchField,
  }),
  output: v.object({ text: v.string(), lines: v.number(), truncated: v.boolean() }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ path: given, from = 1, lines = kMostLines }, context) => {
    const place = placeOf(given, context);
    const { files } = await context.sandbox.transaction();
    const isDirectory =
      place === "" || (await files.stat(fileAt(place)).catch(missing(place))).type === "directory";
    const all = isDirectory
      ? (await files.list(fileAt(place))).map(
          (entry) => `${entry.path}${entry.type === "directory" ? "/" : ""}`,
        )
      : (await textAt(files, place)).split("\n");
    const asked = all.slice(from - 1, from - 1 + lines);
    const { text, isCut } = beginning(asked.join("\n"));
    const truncated = isCut || from - 1 + lines < all.length;
    const note = truncated ? `\n[${all.length} lines in all: ask for others with from]` : "";
    return { text: `${text}${note}`, structured: { text, lines: all.length, truncated } };
  },
});

const missing = (place: string) => (error: NodeJS.ErrnoException) => {
  if (error.code === "ENOENT") throw new ToolError(`there is no ${place}`);
  throw error;
};

export const edit = defineTool({
  name: "edit",
  title: "Edit a file",
  description:
    'Replaces `old`, which has to be there exactly once unless `all`, by `new`. With old "" it writes a new file. Waits in the transaction as commands\' changes do.',
  input: v.strictObject({
    path,
    old: v.pipe(v.string(), v.maxLength(kMostText)),
    new: v.pipe(v.string(), v.maxLength(kMostText)),
    all: v.optional(v.boolean()),
    ...kBranchField,
  }),
  output: v.object({ replaced: v.number() }),
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  call: async (input, context) => {
    const place = placeOf(input.path, context);
    const replaced = await context.sandbox.changing(async ({ files }) => {
      if (input.old === "") {
        await files.write(fileAt(place), input.new, { ifUnchanged: null }).catch(standing(place));
        return 1;
      }
      const { version } = await files.stat(fileAt(place)).catch(missing(place));
      const parts = (await textAt(files, place)).split(input.old);
      const times = parts.length - 1;
      if (times === 0) throw new ToolError(`nothing was changed: old is not in ${place}`);
      if (times > 1 && !input.all) {
        throw new ToolError(
          `nothing was changed: old is in ${place} ${times} times. Give more of the lines around it, or all`,
        );
      }
      await files.write(fileAt(place), parts.join(input.new), { ifUnchanged: version });
      return times;
    });
    const done =
      input.old === "" ? `${place} was written` : `replaced ${counted(replaced, "time")}`;
    return { text: done, structured: { replaced } };
  },
});

const standing = (place: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== "EEXIST" && error.code !== "ERR_FILE_CHANGED") throw error;
  throw new ToolError(`nothing was changed: ${place} is there already, and old is empty`);
};

const kMostPerFile = 100;
const kSearchMs = 30_000;

export const search = defineTool({
  name: "search",
  title: "Search files",
  description:
    "Searches text files for an extended regular expression: path:line:text. Skips .git and node_modules.",
  input: v.strictObject({
    pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(kMostPath)),
    path: v.optional(path),
    include: v.optional(v.pipe(v.string(), v.maxLength(256), v.description('Names: "*.ts".'))),
    ...kBranchField,
  }),
  output: v.object({ text: v.string(), truncated: v.boolean() }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ pattern, path: given = "", include }, context) => {
    const place = placeOf(given, context);
    // In the sandbox: a pattern may take any time, and the host has no other bound for it.
    const options = [
      "-rnIE",
      "-m",
      String(kMostPerFile),
      "--exclude-dir=.git",
      "--exclude-dir=node_modules",
    ];
    const names = include === undefined ? [] : [`--include=${include}`];
    const { sandbox, signal } = context;
    const result = await sandbox.exec({
      argv: ["grep", ...options, ...names, "-e", pattern, "--", place === "" ? "." : place],
      limits: {
        ...sandbox.policy.limits,
        timeoutMs: kSearchMs,
        maxStdoutBytes: kMostShown,
        keep: "head",
      },
      signal,
    });
    const text = textOf(result.stdout).replaceAll(/^\.\//gm, "");
    if (text === "" && result.exitCode !== 1) {
      throw new ToolError(
        textOf(result.stderr).trim() || `the search ended: ${result.outcome.kind}`,
      );
    }
    const truncated = result.truncatedStdout || result.outcome.kind !== "exited";
    const note = truncated ? "\n[there is more: search for less]" : "";
    return {
      text: text === "" ? "nothing was found" : `${text}${note}`,
      structured: { text, truncated },
    };
  },
});
