/** Tools for branches: several ways at once, of which one is taken. */

import * as v from "valibot";

import { TransactionError } from "../../errors.js";
import { notableChanges } from "../../notable-changes.js";
import { visibleLine } from "../../text.js";
import { defineTool } from "../tool.js";
import { ToolError } from "../words.js";

const kMostNamed = 20;

export const fork = defineTool({
  name: "fork",
  title: "Begin a branch",
  description:
    "Makes a branch that begins as the changes are now, to try several ways. Other calls work in it where `branch` names it.",
  input: v.strictObject({
    name: v.pipe(v.string(), v.regex(/^[\w.-]{1,40}$/)),
    note: v.optional(v.pipe(v.string(), v.maxLength(200))),
  }),
  output: v.object({ branch: v.string() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  call: async ({ name, note }, { sandbox }) => {
    await sandbox.fork(name, note);
    return { text: `the branch ${name} is there`, structured: { branch: name } };
  },
});

export const compare = defineTool({
  name: "compare",
  title: "Compare the branches",
  description: "Tells of each branch what it has otherwise than what `commit` would commit.",
  input: v.strictObject({}),
  output: v.object({
    branches: v.array(
      v.object({ branch: v.string(), note: v.optional(v.string()), changes: v.number() }),
    ),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async (_, { sandbox }) => {
    const since = await sandbox.transaction();
    const told: { branch: string; note?: string; changes: number }[] = [];
    const lines: string[] = [];
    for (const [branch, { note, sandbox: own }] of sandbox.branches) {
      const changes = notableChanges(await (await own.transaction()).changes({ since }));
      told.push({ branch, ...(note !== undefined && { note }), changes: changes.length });
      const named = changes
        .slice(0, kMostNamed)
        .map(({ kind, path }) => `\n  ${kind} ${visibleLine(path)}`);
      const more = changes.length > kMostNamed ? `\n  and ${changes.length - kMostNamed} more` : "";
      const about = note === undefined ? "" : ` (${visibleLine(note)})`;
      lines.push(`${branch}${about}: ${changes.length} changes${named.join("")}${more}`);
    }
    return { text: lines.join("\n") || "there are no branches", structured: { branches: told } };
  },
});

export const adopt = defineTool({
  name: "adopt",
  title: "Take a branch",
  description:
    'Makes the changes those of a branch, or with how: "merge" adds what it has changed. Ends what runs outside of branches.',
  input: v.strictObject({
    branch: v.string(),
    how: v.optional(v.picklist(["adopt", "merge"])),
  }),
  output: v.object({ paths: v.number() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async ({ branch, how = "adopt" }, { sandbox }) => {
    const from = await sandbox.branch(branch).transaction();
    try {
      const { merged } = await sandbox.changing((transaction) =>
        how === "merge" ? transaction.merge(from) : transaction.adopt(from),
      );
      const words = how === "merge" ? `${branch} is merged` : `the changes are those of ${branch}`;
      return { text: `${words}: ${merged.length} paths`, structured: { paths: merged.length } };
    } catch (error) {
      if (!(error instanceof TransactionError) || error.reasons === undefined) throw error;
      const named = error.reasons.map(({ path, reason }) => `\n  ${visibleLine(path)}: ${reason}`);
      throw new ToolError(
        `nothing was merged; these are in conflict:${named.slice(0, kMostNamed).join("")}\nchange them in one of the two, then call it again`,
      );
    }
  },
});
