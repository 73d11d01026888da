/** What a look at a log has found, for people. Pure. */

import pc from "picocolors";

import type { AuditVerification } from "../../../types/audit-log.js";
import { counted } from "../transactions/change-text.js";

const kUnproved =
  "A chain alone shows neither that its end was cut off nor that all of it was written anew:\n" +
  "keep a head elsewhere (--expect-head), or sign it (--public-key).";

/** Ends with a newline. */
export function verifyText(found: AuditVerification, useColors: boolean): string {
  const colors = pc.createColors(useColors);
  const { files, records, head, afterExpectedHead, signed, unsignedAtEnd, lost, recovered } = found;
  const lines = [
    found.ok ? colors.green("the log is as it was written") : colors.red("the log was changed"),
    `${counted(records, "record")} in ${counted(files.length, "file")}`,
    head === null ? "it has no record" : `head ${head}`,
  ];
  if (afterExpectedHead !== null) {
    lines.push(
      `the expected head is in it, ${counted(afterExpectedHead, "record")} before the end`,
    );
  }
  if (signed !== null) {
    lines.push(
      `${counted(signed, "signature")} by the key; ${counted(unsignedAtEnd ?? 0, "record")} behind the last`,
    );
  }
  if (lost > 0)
    lines.push(`${counted(lost, "record")} could not be written, as the log itself says`);
  if (recovered > 0)
    lines.push(`${counted(recovered, "torn line")} cut off, as the log itself says`);
  for (const { file, line, kind, message } of found.problems) {
    lines.push(`${colors.red(kind)} ${file}:${line}: ${message}`);
  }
  if (found.problemsOmitted > 0) lines.push(`and ${found.problemsOmitted} more`);
  if (found.ok && afterExpectedHead === null && signed === null) lines.push(colors.dim(kUnproved));
  return `${lines.join("\n")}\n`;
}
