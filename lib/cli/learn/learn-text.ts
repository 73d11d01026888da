/** What learning says on standard error. Pure. */

import type { CliOptions } from "../options.js";
import { endReason } from "../reason.js";
import { visibleLine } from "../transactions/visible-text.js";
import { wantedOf } from "../why/why-text.js";
import type { Round } from "./rounds.js";
import type { LearnedGrant, NotGranted } from "./verdict.js";

/** Lines of each list; a command may ask for any number of things. */
const kMostListed = 40;

function listed(lines: readonly string[]): string {
  const shown = lines.slice(0, kMostListed).map((line) => `  ${line}\n`);
  const left = lines.length - shown.length;
  return `${shown.join("")}${left > 0 ? `  and ${left} more: see --json\n` : ""}`;
}

/** The option of the command line; where there is none, the value. */
export function grantWords({ cli, option, value }: LearnedGrant): string {
  return visibleLine(cli === "" ? `${option}: ${JSON.stringify(value)}` : cli);
}

function ended(round: Round, options: CliOptions): string {
  const { outcome, exitCode } = round.result;
  if (outcome.kind === "exited") return exitCode === 0 ? "succeeded" : `exited with ${exitCode}`;
  return endReason(round.result, options)?.message ?? `ended: ${outcome.kind}`;
}

/** A round that is over. */
export function roundText(round: Round, number: number, options: CliOptions): string {
  const head = `native-runner: round ${number}: ${ended(round, options)}`;
  if (round.granted.length === 0) return `${head}\n`;
  return `${head}; granted for the next:\n${listed(round.granted.map(grantWords))}`;
}

/** What nobody but a person grants, each once. */
export function notGrantedText(rounds: readonly Round[]): string {
  const lines = notGrantedIn(rounds).map(({ denial, why, byHand }) => {
    const hand = byHand === "" ? "" : `; by hand: ${byHand}`;
    return visibleLine(`${wantedOf(denial)}: ${why}${hand}`);
  });
  return lines.length === 0 ? "" : `native-runner: not granted:\n${listed(lines)}`;
}

/** Those of all rounds, each once: of one that came several times the last. */
export function notGrantedIn(rounds: readonly Round[]): NotGranted[] {
  const granted = new Set(rounds.flatMap((round) => round.granted.map(({ cli }) => cli)));
  const found = new Map<string, NotGranted>();
  for (const each of rounds.flatMap(({ notGranted }) => notGranted)) {
    if (!granted.has(each.byHand)) found.set(`${wantedOf(each.denial)} ${each.why}`, each);
  }
  return [...found.values()];
}
