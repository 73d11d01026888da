/** What the sandbox has refused, in words that a model can act on. Pure but for the offers. */

import type { Denial } from "../../types/denials.js";
import { visibleLine } from "../cli/transactions/visible-text.js";
import type { ToolContext } from "./tool.js";

const kMostTold = 40;

const kVerbs: Readonly<Record<Denial["kind"], string>> = {
  read: "read",
  write: "write",
  exec: "execute",
  connect: "connect to",
  resolve: "resolve",
  other: "",
};

/** For programs. */
export type ToldDenial = {
  kind: Denial["kind"];
  what: string;
  by: string;
  count: number;
  /** For `grants` of the next call. */
  grant?: string;
  /** For the operator's command line. */
  option?: string;
  notAdvised?: string;
};

/** "read /srv/data", "connect to example.org port 443", or the operation alone. */
export function wantedInWords({ kind, operation, path, host, port }: Denial): string {
  const place = host === undefined || port === undefined ? host : `${host} port ${port}`;
  const what = path ?? place;
  return visibleLine(
    what === undefined || kind === "other" ? operation : `${kVerbs[kind]} ${what}`,
  );
}

/** Where the tools are a host application's, its policy is fixed: there is nobody to ask. */
type Granting = Pick<ToolContext, "canAsk"> & { isFixed: boolean };

function answerTo(
  { grant, option, notAdvised }: ToldDenial,
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

/** Denials as they are told, with what would grant them. */
export function toldDenials(
  denials: readonly Denial[],
  { sandbox, canAsk }: Pick<ToolContext, "sandbox" | "canAsk">,
): { told: ToldDenial[]; text: string } {
  const isFixed = !sandbox.canGrant;
  const told = denials.slice(0, kMostTold).map((denial): ToldDenial => {
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
  const lines = told.map((each) => {
    const times = each.count > 1 ? ` (${each.count} times)` : "";
    return `- could not ${each.kind === "other" ? `do ${each.what}` : each.what}${times}; refused by ${each.by}. ${answerTo(each, { isFixed, canAsk })}.`;
  });
  const more = denials.length - told.length;
  if (more > 0) lines.push(`- and ${more} more`);
  const text =
    lines.length === 0 ? "" : `The sandbox refused what this command wanted:\n${lines.join("\n")}`;
  return { told, text };
}
