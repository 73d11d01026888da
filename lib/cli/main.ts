#!/usr/bin/env node
/**
 * The `native-runner` command. Sets process.exitCode and lets the event loop run out, so that all output is
 * flushed: the result's code, 2 for misuse, 125 if no sandbox is available; codes of transactions are in
 * transactions/transaction-place.ts.
 */

import { CommanderError } from "commander";

import { AuditLogError } from "../audit-log/files.js";
import { ForwardError, ImageError, SandboxError } from "../errors.js";
import { packageVersion } from "../package-version.js";
import { auditExport, auditHead, auditShow, auditVerify } from "./audit.js";
import { doctor } from "./doctor.js";
import { explain } from "./explain.js";
import { homeClear, homeList } from "./home.js";
import { imageList, imagePrune, imagePull } from "./image.js";
import { learn } from "./learn/learn.js";
import { createProgram } from "./program.js";
import { inCliWords } from "./reason.js";
import { run } from "./run.js";
import { runSkill } from "./skill.js";
import { CliError, printError, watchOutput } from "./terminal.js";
import {
  txAdopt,
  txCommit,
  txDiff,
  txDiscard,
  txFork,
  txList,
  txMerge,
  txPrune,
  txShow,
  txUndo,
} from "./transactions/tx.js";
import { why } from "./why.js";

/** Codes of the TypeErrors and RangeErrors that the library throws for wrong values. */
const kMisuse: ReadonlySet<unknown> = new Set([
  "ERR_INVALID_ARG_TYPE",
  "ERR_INVALID_ARG_VALUE",
  "ERR_OUT_OF_RANGE",
]);

/** Prints the error; returns its exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has already printed it
  if (error instanceof SandboxError || error instanceof ForwardError) {
    printError(inCliWords(error.message), error.fix && inCliWords(error.fix));
    return 125;
  }
  if (error instanceof ImageError) {
    printError(error.message, error.fix);
    return error.code === "ERR_IMAGE_NOT_FOUND" ? 120 : 125;
  }
  if (error instanceof AuditLogError) {
    printError(error.message);
    return 125;
  }
  if (error instanceof CliError) {
    printError(error.message, error.fix);
    return error.exitCode;
  }
  if (error instanceof Error && kMisuse.has((error as NodeJS.ErrnoException).code)) {
    printError(inCliWords(error.message));
    return 2;
  }
  printError(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 70; // EX_SOFTWARE, sysexits(3)
}

/** True if the words before the sandboxed command ask for JSON; those of a misused command were not parsed. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).includes("--json");
}

/** Returns what `--json` prints where there is no result: the message, its fix and the exit code. */
function errorJson(error: unknown, exitCode: number): string {
  const { message, code } = error as NodeJS.ErrnoException;
  const { fix } = error as { fix?: string };
  const text = inCliWords(message ?? String(error)).replace(/^error: /, "");
  const said = { message: text, ...(code && { code }), ...(fix && { fix: inCliWords(fix) }) };
  return JSON.stringify({ exitCode, error: said }, null, 2);
}

const audit = { auditVerify, auditHead, auditShow, auditExport };
const tx = {
  ...{ txList, txPrune, txShow, txDiff, txCommit, txUndo, txDiscard },
  ...{ txFork, txMerge, txAdopt },
};
const program = createProgram(packageVersion(), {
  run,
  explain,
  why,
  learn,
  doctor,
  // Loaded on demand, since the other commands do not need these modules.
  mcp: async (options) => (await import("./mcp.js")).mcp(options),
  worker: async (options) => (await import("./worker/worker.js")).worker(options),
  brokerConfig: async (options) =>
    (await import("./worker/broker-config.js")).brokerConfig(options),
  doctorWorker: async (options) => (await import("./worker/doctor.js")).doctorWorker(options),
  doctorBroker: async (options) => (await import("./worker/doctor.js")).doctorBroker(options),
  workersList: async (options) => (await import("./worker/workers.js")).workersList(options),
  workersOperate: async (what, named, options) =>
    (await import("./worker/workers.js")).workersOperate(what, named, options),
  review: async (ids, options) => (await import("./review.js")).review(ids, options),
  runSkill,
  ...tx,
  homeList,
  homeClear,
  ...{ imagePull, imageList, imagePrune },
  ...audit,
});
watchOutput(); // also for --help | head
let isJson = asksForJson(process.argv.slice(2));
program.hook("preAction", (_, action) => {
  isJson = action.opts().json === true;
});
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
  if (isJson && process.exitCode !== 0) {
    process.stdout.write(`${errorJson(error, process.exitCode)}\n`);
  }
}
