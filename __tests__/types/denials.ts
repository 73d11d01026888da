/** As consumer.ts, for what a command was denied. */

import type {
  Denial,
  Grant,
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
} from "@openagentic/native-runner";

// What was denied: each grant's value is that of its option, and one without is said why.
export const denied = ({ denials, denialsOmitted }: SandboxedExecResult): (string | number)[] => [
  denialsOmitted,
  ...denials.map(
    ({ kind, by, operation, errno, count, path, host, port, notAdvised, grant }: Denial) =>
      grant === undefined
        ? `${kind} ${by} ${operation} ${errno} ${count} ${path ?? host} ${port} ${notAdvised}`
        : grantValue(grant),
  ),
];
function grantValue(grant: Grant): string | number {
  switch (grant.option) {
    case "mounts":
      return `${grant.value.hostPath} ${grant.value.mode} ${grant.cli}`;
    case "allowWriteWorkspace":
      return grant.value ? "rw" : "ro";
    default:
      return grant.value;
  }
}
export const explained: NativeExecInput[] = [
  { argv: ["a"], explain: true },
  { argv: ["a"], explain: undefined },
];
export const explainedLive: NativeSpawnInput = { argv: ["a"], explain: true };
// @ts-expect-error: a switch
export const wronglyExplained: NativeExecInput = { argv: ["a"], explain: "yes" };
// @ts-expect-error: a limit is a number
export const wrongGrant: Grant = { option: "limits.memoryBytes", value: "1", cli: "" };
// @ts-expect-error: no such option
export const unknownGrant: Grant = { option: "limits.timeoutMs", value: 1, cli: "" };
