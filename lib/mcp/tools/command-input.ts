/** Input of `run` and `start`, and its conversion to a command. */

import { posix } from "node:path";
import * as v from "valibot";

import type { Denial } from "../../../types/denials.js";
import { visibleLine, visibleText } from "../../text.js";
import { isWithin } from "../roots.js";
import type { CommandInput } from "../sandbox.js";
import { kBranchField, type Question, type ToolContext } from "../tool.js";
import { ToolError } from "../words.js";

const kMostLine = 1024 ** 2;
const kMostWords = 10_000;
const kMostShown = 400;
const kMostPath = 4096; // PATH_MAX of Linux

/** Keys that a record silently omits. */
const kLostNames = ["__proto__", "constructor", "prototype"];

const text = v.pipe(v.string(), v.maxLength(kMostLine));

export const kCommandFields = {
  ...kBranchField,
  command: v.optional(
    v.pipe(text, v.description("A line for the shell (bash where there is one). This or argv.")),
  ),
  argv: v.optional(
    v.pipe(
      v.array(text),
      v.minLength(1),
      v.maxLength(kMostWords),
      v.description("A program and its arguments, without a shell. This or command."),
    ),
  ),
  cwd: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(kMostPath),
      v.description("Where to start, relative to the workspace. Default: its root."),
    ),
  ),
  env: v.optional(
    v.pipe(
      v.unknown(),
      v.check((value) => !Array.isArray(value), "Expected an object of strings"), // a record accepts []
      v.check(
        (value) => kLostNames.every((name) => !Object.hasOwn(Object(value), name)),
        `Expected no variable named ${kLostNames.join(", ")}`,
      ),
      v.record(text, text),
      v.description("Variables to set."),
    ),
  ),
  timeoutMs: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.description("Milliseconds until it is ended. The operator's limit is the most."),
    ),
  ),
  explain: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        "Whether to say what the sandbox has refused. Default true; false for debuggers.",
      ),
    ),
  ),
  grants: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.maxLength(32))),
      v.maxLength(16),
      v.description(
        'Ids such as "g1" that an earlier answer has named: a person is asked to grant them first.',
      ),
    ),
  ),
};

type Common = CommandInput & {
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
  explain?: boolean | undefined;
  grants?: string[] | undefined;
};

/** Returns the directory in which the command starts, limited by the roots. */
function directoryOf(
  cwd: string | undefined,
  { narrowing, sandbox }: ToolContext,
): string | undefined {
  const asked = cwd ?? sandbox.policy.cwd;
  if (narrowing === undefined) return asked;
  if (asked === undefined) return narrowing[0];
  const path = posix.normalize(asked.replace(/^\/?(workspace(\/|$))?/, "")).replace(/\/$/, "");
  if (isWithin(narrowing, path)) return path;
  throw new ToolError(`cwd is outside of the client's roots, which are: ${narrowing.join(", ")}`);
}

/** Returns the lower of the operator's limit and the requested one. */
function timeoutOf(asked: number | undefined, most: number | undefined): number | undefined {
  if (asked === undefined || most === undefined) return asked ?? most;
  return Math.min(asked, most);
}

/** Returns the command for `exec` and `spawn`. */
export function commandOf(input: Common, context: ToolContext) {
  const { policy } = context.sandbox;
  return {
    argv: context.sandbox.argvOf(input),
    cwd: directoryOf(input.cwd, context),
    env: { ...policy.env, ...input.env },
    explain: input.explain ?? true,
    limits: { ...policy.limits, timeoutMs: timeoutOf(input.timeoutMs, policy.limits?.timeoutMs) },
  };
}

function shown({ command, argv = [] }: CommandInput): string {
  const line = visibleText(command ?? argv.join(" "));
  return line.length > kMostShown ? `${line.slice(0, kMostShown)} …` : line;
}

const optionOf = ({ grant }: Denial) => visibleLine(grant?.cli ?? "");

function question(input: Common, denials: readonly Denial[]): Question {
  const wanted = denials.map(
    (denial) => `  ${wantedInWords(denial)} — this is the option ${optionOf(denial)}`,
  );
  return {
    question: [
      "A command in the sandbox asks for more than it may. It wants to:",
      ...wanted,
      "All further commands of this server could do it, too. The command is:",
      `  ${shown(input)}`,
    ].join("\n"),
    label: "Grant this until the server ends",
    about: denials,
  };
}

/** Handles the grants that a call requests. Returns a question to a person, or undefined once they are given. */
export async function grantsOf(input: Common, context: ToolContext): Promise<Question | undefined> {
  const { sandbox, approval, canAsk } = context;
  if (input.grants === undefined || input.grants.length === 0) return undefined;
  if (!sandbox.canGrant) throw new ToolError("nothing was run: no grants can be given here");
  const denials = input.grants.map((id) => {
    const found = sandbox.offers.find(id);
    if (found === undefined) {
      throw new ToolError(
        `there is no grant ${JSON.stringify(id)}: use the ids that an answer has named`,
      );
    }
    return found;
  });
  const wanted = denials.filter((denial) => !sandbox.offers.isGranted(denial));
  if (wanted.length === 0) return undefined;
  if (!canAsk) {
    const options = wanted.map(optionOf).join(" ");
    throw new ToolError(
      `nothing was run: this client can't ask a person, so nothing can be granted. The operator can start the server with: ${options}`,
    );
  }
  if (approval === undefined) return question(input, wanted);
  if (!approval.approved) throw new ToolError("nothing was run: the person has refused the grant");
  await sandbox.grant(approval.about as Denial[]);
  return undefined;
}

/** Describes denials in words that a model can act on. Pure, apart from the offers. */

const kMostReported = 40;

const kVerbs: Readonly<Record<Denial["kind"], string>> = {
  read: "read",
  write: "write",
  exec: "execute",
  connect: "connect to",
  resolve: "resolve",
  request: "",
  secret: "send a secret to",
  other: "",
};

/** A denial for programs. */
export type ReportedDenial = {
  kind: Denial["kind"];
  what: string;
  by: string;
  count: number;
  /** An id for `grants` of the next call. */
  grant?: string;
  /** The option for the operator's command line. */
  option?: string;
  notAdvised?: string;
};

/** Returns "read /srv/data", "connect to example.org port 443", or only the operation. */
function wantedInWords({ kind, operation, path, host, port }: Denial): string {
  const place = host === undefined || port === undefined ? host : `${host} port ${port}`;
  const what = path ?? place;
  if (kind === "request") return visibleLine(`request ${operation} of ${place}`);
  return visibleLine(
    what === undefined || kind === "other" ? operation : `${kVerbs[kind]} ${what}`,
  );
}

/** The possible ways to grant. `isFixed`: the tools belong to a host application, and no person can be asked. */
type Granting = Pick<ToolContext, "canAsk"> & { isFixed: boolean };

function answerTo(
  { grant, option, notAdvised }: ReportedDenial,
  { isFixed, canAsk }: Granting,
): string {
  if (notAdvised !== undefined) return `this can't be granted: ${notAdvised}`;
  if (isFixed) return "nothing can be granted here: go on without it";
  if (option === undefined) return "no option of the command line grants it";
  if (grant === undefined) return "it was granted meanwhile: run it again";
  return canAsk
    ? `a person can grant it: run it again with grants ["${grant}"]`
    : `only the operator can grant it, by starting the server with ${option}`;
}

/** Returns denials for an answer, with the grants that would allow them. */
export function reportedDenials(
  denials: readonly Denial[],
  { sandbox, canAsk }: Pick<ToolContext, "sandbox" | "canAsk">,
): { reported: ReportedDenial[]; text: string } {
  const isFixed = !sandbox.canGrant;
  const reported = denials.slice(0, kMostReported).map((denial): ReportedDenial => {
    const { kind, by, count, notAdvised } = denial;
    const option = (!isFixed && denial.grant?.cli) || undefined;
    const grant = isFixed ? undefined : sandbox.offers.offer(denial);
    return {
      kind,
      what: wantedInWords(denial),
      by,
      count,
      ...(grant !== undefined && { grant }),
      ...(option !== undefined && { option: visibleLine(option) }),
      ...(notAdvised !== undefined && { notAdvised: visibleLine(notAdvised) }),
    };
  });
  const lines = reported.map((each) => {
    const times = each.count > 1 ? ` (${each.count} times)` : "";
    return `- could not ${each.kind === "other" ? `do ${each.what}` : each.what}${times}; refused by ${each.by}. ${answerTo(each, { isFixed, canAsk })}.`;
  });
  const more = denials.length - reported.length;
  if (more > 0) lines.push(`- and ${more} more`);
  const text =
    lines.length === 0 ? "" : `The sandbox refused what this command wanted:\n${lines.join("\n")}`;
  return { reported, text };
}
