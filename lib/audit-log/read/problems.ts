/** What is found in a log: the first ones, and how many more. */

import type { AuditProblem } from "../../../types/audit-log.js";

/** Where a line is. */
export type Position = { file: string; line: number };

const kMost = 100;

/** A problem that may turn out to be another one, by what comes after it. */
export class Problems {
  readonly found: AuditProblem[] = [];
  omitted = 0;

  add(kind: AuditProblem["kind"], at: Position, message: string): AuditProblem {
    const problem = { kind, file: at.file, line: at.line, message };
    if (this.found.length < kMost) this.found.push(problem);
    else this.omitted += 1;
    return problem;
  }

  /** It was something else. */
  static become(
    problem: AuditProblem,
    kind: AuditProblem["kind"],
    at: Position,
    message: string,
  ): void {
    Object.assign(problem, { kind, file: at.file, line: at.line, message });
  }
}
