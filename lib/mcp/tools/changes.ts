/** Tools for changes, commits and checkpoints. */

import * as v from "valibot";

import type { Change } from "../../../types/transaction.js";
import { changeSummary, counted } from "../../change-text.js";
import { TransactionError } from "../../errors.js";
import { commentsHint } from "../comments.js";
import { kPathFields, pathsOption, pathsToCommit } from "../roots.js";
import type { ToolSandbox } from "../sandbox.js";
import { defineTool, kBranchField, type Question, type ToolContext } from "../tool.js";
import { shortened, ToolError } from "../words.js";

const kMostReported = 1000;

const kChange = v.object({
  path: v.string(),
  kind: v.picklist(["added", "modified", "deleted", "renamed"]),
  type: v.picklist(["file", "directory", "symlink", "other"]),
  size: v.number(),
  from: v.optional(v.string()),
  conflict: v.optional(v.boolean()),
});

/** Returns the first changes, for programs. */
function reportedChanges(changes: readonly Change[]): v.InferOutput<typeof kChange>[] {
  return changes.slice(0, kMostReported).map(({ path, kind, type, size, from, conflict }) => ({
    path,
    kind,
    type,
    size,
    ...(from !== undefined && { from }),
    ...(conflict && { conflict }),
  }));
}

/** Returns a text with a last line that tells of review comments, if there are any. */
async function hinted(text: string, sandbox: ToolSandbox): Promise<string> {
  const hint = await commentsHint(sandbox);
  return hint === "" ? text : `${text.trimEnd()}\n${hint}`;
}

/** Describes changes, for people and models. */
const changeWords = (changes: readonly Change[]): string => changeSummary(changes, false).trimEnd();

export const changes = defineTool({
  name: "changes",
  title: "List what was changed",
  description:
    "Lists the files that the sandbox's commands have changed and that wait to be committed. A conflict is a file that was changed outside of the sandbox as well.",
  input: v.strictObject({ ...kPathFields, ...kBranchField }),
  output: v.object({
    changes: v.array(kChange),
    total: v.pipe(v.number(), v.description("All there are; the first 1000 are listed.")),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ paths }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const found = await transaction.changes(pathsOption(paths));
    return {
      text: await hinted(changeWords(found) || "nothing was changed", sandbox),
      structured: { changes: reportedChanges(found), total: found.length },
    };
  },
});

const kDefaultShown = 32 * 1024;
const kMostShown = 256 * 1024;
const kMostDiff = 16 * 1024 ** 2;

export const diff = defineTool({
  name: "diff",
  title: "Show what was changed as a patch",
  description:
    "Shows the changes that wait to be committed as a patch in git's format. The linked resource is all of it.",
  input: v.strictObject({
    ...kPathFields,
    ...kBranchField,
    maxBytes: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(kMostShown),
        v.description(`How much of it to return. Default ${kDefaultShown}.`),
      ),
    ),
  }),
  output: v.object({
    diff: v.string(),
    bytes: v.pipe(v.number(), v.description("Of all of it.")),
    truncated: v.boolean(),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ paths, maxBytes = kDefaultShown }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const text = await transaction
      .diff({ ...pathsOption(paths), maxBytes: kMostDiff })
      .catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
        throw new ToolError("the diff is longer than 16 MiB: name some of the `paths`");
      });
    const bytes = Buffer.from(text);
    const shown = shortened(bytes, maxBytes, "; the resource linked has them");
    const links = text === "" ? [] : sandbox.outputs.keep(sandbox.outputs.next(), "diff", bytes);
    return {
      text: await hinted(shown || "nothing was changed", sandbox),
      structured: { diff: shown, bytes: bytes.length, truncated: bytes.length > maxBytes },
      links,
    };
  },
});

const kMostNamed = 20;

/** The changes that the person has seen. */
type Shown = { generation: number; paths: string[] | undefined };

const output = v.object({
  committed: v.array(kChange),
  total: v.pipe(v.number(), v.description("Changes that are in the workspace's real files now.")),
  left: v.pipe(v.number(), v.description("Changes that still wait.")),
});

/** Returns the error for protected paths, with a message that a model can act on. */
function refusedAsProtected(paths: readonly string[]): ToolError {
  return new ToolError(
    `nothing was committed: programs of the host run ${paths.slice(0, kMostNamed).join(", ")} by themselves. Commit others by \`paths\`, or remove the change; only the operator can allow it, by --allow-protected.`,
  );
}

/** Checks protected paths first, so that a person is not asked about a commit that would be refused anyway. */
function expectAllowed(changes: readonly Change[], allowed: readonly string[]): void {
  const isAllowed = (path: string) =>
    allowed.some((each) => path === each || path.startsWith(`${each}/`));
  const refused = changes.filter((change) => change.protected && !isAllowed(change.path));
  if (refused.length > 0) throw refusedAsProtected(refused.map(({ path }) => path));
}

/** Returns a question to a person that shows the commit, or an answer if there is nothing to commit. */
async function ask(paths: string[] | undefined, { sandbox, canAsk }: ToolContext) {
  if (!canAsk) {
    const { id } = await sandbox.transaction();
    throw new ToolError(
      `nothing was committed: this client can't ask a person. The changes wait: a person can look at them and commit them with \`native-runner tx commit ${id}${sandbox.policy.place ?? ""}\`, once this server has ended.`,
    );
  }
  if (sandbox.running > 0) {
    throw new ToolError(
      "nothing was committed: commands run that may change more than a person would see. Stop them, or wait for their end.",
    );
  }
  const { generation } = sandbox;
  const transaction = await sandbox.transaction();
  const changes = await transaction.changes({ ...pathsOption(paths), details: true });
  expectAllowed(changes, sandbox.policy.allowProtected ?? []);
  if (changes.length === 0) {
    return {
      text: "there is nothing to commit",
      structured: { committed: [], total: 0, left: 0 },
    };
  }
  const question: Question = {
    question: `Write these changes of the sandbox to ${sandbox.policy.workspace}?\n${changeWords(changes)}`,
    label: "Commit these changes",
    about: { generation, paths } satisfies Shown,
  };
  return question;
}

/** Converts the library's errors to messages that a model can act on. */
function refusal(error: unknown): unknown {
  if (!(error instanceof TransactionError)) return error;
  if (error.code === "ERR_TRANSACTION_PROTECTED") return refusedAsProtected(error.paths);
  const paths = error.paths.slice(0, kMostNamed).join(", ");
  return new ToolError(
    `nothing was committed: ${paths} was changed outside of the sandbox, too. Commit others by \`paths\`, or bring both together: the files in the sandbox are yours to change.`,
  );
}

export const commit = defineTool({
  name: "commit",
  title: "Commit the changes to the real files",
  description:
    "Asks a person, then writes the changes to the workspace's real files: all that are asked for, or none. Ends all checkpoints.",
  input: v.strictObject(kPathFields),
  output,
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  },
  call: async (input, context) => {
    const { sandbox, approval, client, narrowing } = context;
    const paths = pathsToCommit(input.paths, narrowing);
    if (approval === undefined) return ask(paths, context);
    if (!approval.approved) {
      throw new ToolError("nothing was committed: the person has refused. The changes wait.");
    }
    const shown = approval.about as Shown;
    const approvedBy = sandbox.policy.approvedBy ?? `a person, by ${client}`;
    const { allowProtected = [] } = sandbox.policy;
    const report = await sandbox
      .changing(
        (transaction) =>
          transaction.commit({ ...pathsOption(shown.paths), allowProtected, approvedBy }),
        shown.generation,
      )
      .catch((error: unknown) => {
        throw refusal(error);
      });
    sandbox.keep();
    const { committed, left } = report;
    return {
      text: `committed:\n${changeWords(committed)}${left.length > 0 ? `\n${counted(left.length, "change")} still waiting` : ""}`,
      structured: {
        committed: reportedChanges(committed),
        total: committed.length,
        left: left.length,
      },
    };
  },
});

export const discard = defineTool({
  name: "discard",
  title: "Throw all changes away",
  description:
    "Throws away all that the sandbox's commands have changed since the last commit, its checkpoints, and the way back from that commit; ends what runs. The real files stay as they are.",
  input: v.strictObject({}),
  output: v.object({ discarded: v.number() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async (_, { sandbox }) => {
    const discarded = await sandbox.discard();
    const text = discarded === 0 ? "nothing was changed" : `${discarded} changes were discarded`;
    return { text, structured: { discarded } };
  },
});

const kMostName = 256;

/** A checkpoint in an answer. */
export const kCheckpoint = v.object({
  id: v.string(),
  name: v.optional(v.string()),
  createdAt: v.string(),
});

export const checkpoint = defineTool({
  name: "checkpoint",
  title: "Keep this moment to go back to",
  description:
    "Keeps what was changed so far, so that `rollback` leads back to it. Nothing may run meanwhile. Lasts until the next commit.",
  input: v.strictObject({
    name: v.optional(v.pipe(v.string(), v.maxLength(kMostName))),
  }),
  output: v.object({
    id: v.pipe(v.string(), v.description("For `rollback`.")),
    checkpoints: v.pipe(v.array(kCheckpoint), v.description("All there are, the first first.")),
  }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  call: async ({ name }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const { id } = await transaction.checkpoint(name);
    const all = await transaction.checkpoints();
    return {
      text: `checkpoint ${id}${name === undefined ? "" : ` "${name}"`}`,
      structured: {
        id,
        checkpoints: all.map((each) => ({
          id: each.id,
          ...(each.name !== undefined && { name: each.name }),
          createdAt: each.createdAt.toISOString(),
        })),
      },
    };
  },
});

export const rollback = defineTool({
  name: "rollback",
  title: "Go back to a checkpoint",
  description:
    "Makes the changes exactly what they were at a checkpoint. Ends what runs; later checkpoints are gone. The real files stay as they are.",
  input: v.strictObject({
    id: v.pipe(v.string(), v.description("As `checkpoint` gave it.")),
  }),
  output: v.object({ id: v.string() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async ({ id }, { sandbox }) => {
    const known = await (await sandbox.transaction()).checkpoints();
    if (known.every((each) => each.id !== id)) {
      const ids = known.map((each) => each.id).join(", ") || "none";
      throw new ToolError(
        `there is no checkpoint ${JSON.stringify(id.slice(0, 100))}; there are: ${ids}`,
      );
    }
    await sandbox.changing((transaction) => transaction.rollback(id));
    return { text: `the changes are those of checkpoint ${id}`, structured: { id } };
  },
});
