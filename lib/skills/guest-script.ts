/** The scripts of guest/: where they are, and what one that ran as a process has answered. */

import type { SandboxedExecResult } from "../../types/public.js";
import { parseAnswer, type SkillAnswer } from "./answer.js";

/**
 * Where a script is: beside this file as it is built; when this file runs from its source, in the
 * build of the same checkout.
 */
export function guestScript(name: string): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(`${isSource ? "../../dist/skills/" : ""}guest/${name}`, import.meta.url);
}

/** The answer on its standard output; why there is none when it ended without. */
export function answerOfGuest({ stdout, stderr, exitCode }: SandboxedExecResult): SkillAnswer {
  if (stdout.length > 0 || exitCode === 0) return parseAnswer(stdout);
  const said = new TextDecoder().decode(stderr).trim();
  const error = `the engine ended with exit code ${exitCode} and no answer: ${said.slice(0, 500)}`;
  return { success: false, error_kind: "protocol", error };
}
