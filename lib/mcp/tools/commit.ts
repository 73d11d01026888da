import * as v from "valibot";

import type { Change } from "../../../types/transaction.js";
import { counted } from "../../cli/transactions/change-text.js";
import { TransactionError } from "../../runners/transactions/transaction-error.js";
import { defineTool, type Question, type ToolContext, ToolError } from "../tool.js";
import { changeWords, kChange, toldChanges } from "./change-answer.js";
import { kPathFields, pathsOption, pathsToCommit } from "./paths.js";

const kMostNamed = 20;

/** What the person has seen. */
type Shown = { generation: number; paths: string[] | undefined };

const output = v.strictObject({
  committed: v.array(kChange),
  total: v.pipe(v.number(), v.description("Changes that are in the workspace's real files now.")),
  left: v.pipe(v.number(), v.description("Changes that still wait.")),
});

/** A model is told why, in words that it can act on. */
function refusedAsProtected(paths: readonly string[]): ToolError {
  return new ToolError(
    `nothing was committed: programs of the host run ${paths.slice(0, kMostNamed).join(", ")} by themselves. Commit others by \`paths\`, or remove the change; only the operator can allow it, by --allow-protected.`,
  );
}

/** Nobody is asked about what is refused all the same. */
function expectAllowed(changes: readonly Change[], allowed: readonly string[]): void {
  const isAllowed = (path: string) =>
    allowed.some((each) => path === each || path.startsWith(`${each}/`));
  const refused = changes.filter((change) => change.protected && !isAllowed(change.path));
  if (refused.length > 0) throw refusedAsProtected(refused.map(({ path }) => path));
}

/** What a commit would do, put before a person; an answer where there is nothing to do. */
async function ask(paths: string[] | undefined, { sandbox, canAsk }: ToolContext) {
  if (!canAsk) {
    const { id } = await sandbox.transaction();
    throw new ToolError(
      `nothing was committed: this client can't ask a person. The changes wait: a person can look at them and commit them with \`native-runner tx commit ${id}\`, once this server has ended.`,
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

/** The library's reasons in words that a model can act on. */
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
        committed: toldChanges(committed),
        total: committed.length,
        left: left.length,
      },
    };
  },
});
