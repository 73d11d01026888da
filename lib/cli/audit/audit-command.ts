/** The grammar of `native-runner audit`. Parsing only. */

import { type Command, InvalidArgumentError, Option, type OutputConfiguration } from "commander";

import type { AuditKind } from "../../../types/audit-log.js";
import { count, file } from "../values/option-values.js";
import type { AuditExportOptions, AuditShowOptions, AuditVerifyOptions } from "./audit.js";
import { parseTime } from "./filter.js";

/** What the commands do. */
export type AuditActions = {
  auditVerify(path: string, options: AuditVerifyOptions): Promise<void>;
  auditHead(path: string, options: { json?: boolean }): Promise<void>;
  auditShow(path: string, options: AuditShowOptions): Promise<void>;
  auditExport(path: string, options: AuditExportOptions): Promise<void>;
};

const kKinds: Record<AuditKind, true> = {
  run: true,
  transaction: true,
  grant: true,
  session: true,
  template: true,
  policy: true,
  open: true,
  close: true,
  file: true,
  gap: true,
  recovered: true,
};

const kShown = 50;

function time(text: string): number {
  const parsed = parseTime(text, Date.now());
  if (!Number.isNaN(parsed)) return parsed;
  throw new InvalidArgumentError(
    "expected a time such as 2026-11-23T10:00Z, or how long ago, such as 2h",
  );
}

function kind(text: string, previous: AuditKind[] = []): AuditKind[] {
  if (Object.hasOwn(kKinds, text)) return [...previous, text as AuditKind];
  throw new InvalidArgumentError(`expected one of ${Object.keys(kKinds).join(", ")}`);
}

function withFilter(command: Command): Command {
  return command
    .option("--since <time>", "not before: 2026-11-23T10:00Z, or how long ago, such as 2h", time)
    .option("--until <time>", "before; as --since", time)
    .option("--kind <kind>", "this kind of record only; repeatable", kind)
    .addOption(
      new Option("--runner <name>", "runs under this runtime only").choices([
        "bubblewrap",
        "landlock",
        "firejail",
        "local",
      ]),
    )
    .option("--outcome <kind>", "with this outcome only: exited, timed-out, conflict and so on")
    .option("--path <path>", "records that name this path, or one below it");
}

/** Adds the commands. `say`: how the parser's complaints are written, by the command's name. */
export function addAuditCommand(
  program: Command,
  actions: AuditActions,
  say: (name: string) => OutputConfiguration,
): void {
  const audit = program
    .command("audit")
    .description("audit logs, as --audit-log and the library's AuditLog write them")
    .usage("verify|show|head|export [options] PATH")
    .configureOutput(say("audit"))
    .addHelpText(
      "after",
      `
PATH is the file that is written; those that it has put aside, PATH.1 and so on, are read too.

A chain of hashes shows every change within it. It does not show that its end was cut off, nor that
all of it was written anew by somebody who can write the file: keep heads elsewhere, or sign it.

Exit codes: 0 done; 1 verify: it was changed, head: it has no record; 2 misuse; 125 it is not there.

Examples:
  $ native-runner audit verify audit.jsonl --expect-head "$(cat head.txt)"
  $ native-runner audit show audit.jsonl --since 2h --outcome timed-out
  $ native-runner audit export audit.jsonl --format html --output audit.html`,
    );
  const add = (name: string, description: string) =>
    audit
      .command(name)
      .description(description)
      .argument("<path>", "the log", file)
      .configureOutput(say(`audit ${name}`));
  add("verify", "tell whether it is as it was written")
    .option("--expect-head <hash>", "a head that was kept elsewhere: it has to be in it")
    .option("--public-key <file>", "the key's public half, in PEM: look at signatures too", file)
    .option("--json", "print JSON instead")
    .action(actions.auditVerify);
  add("head", "print the hash of the last record, to be kept elsewhere")
    .option("--json", "print JSON instead")
    .action(actions.auditHead);
  withFilter(add("show", "print the last records"))
    .option("--limit <n>", "how many", count, kShown)
    .option("--json", "print JSON instead")
    .action(actions.auditShow);
  withFilter(add("export", "write records for other programs, or as a page for people"))
    .addOption(
      new Option("--format <format>", "otel: OTLP in JSON; csv; html: one file, without a script")
        .choices(["otel", "csv", "html"])
        .makeOptionMandatory(),
    )
    .option("-o, --output <file>", "into this file instead of standard output", file)
    .action(actions.auditExport);
}
