/** What a command was denied, as --json prints it. Pure. */

import type { SandboxedExecResult } from "../../../types/public.js";
import { optionsOf } from "./why-text.js";

/** Of a result, what tells of denials. */
type Told = Pick<SandboxedExecResult, "exitCode" | "outcome" | "denials" | "denialsOmitted">;

/** `again`: of the second time, with the grants. */
export function whyJson(result: Told, again?: Told): object {
  const { exitCode, outcome, denials, denialsOmitted } = result;
  const told = { exitCode, outcome, denials, denialsOmitted, options: optionsOf(denials) };
  return again === undefined ? told : { ...told, again: whyJson(again) };
}
