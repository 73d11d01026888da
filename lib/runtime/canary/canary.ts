/**
 * Runs the canary under a runtime, and unconfined as its positive control. Costs two short runs; it
 * leaves nothing behind.
 */

import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { SandboxedExecResult } from "../../../types/public.js";
import type { Grants } from "../kinds/kind.js";
import type { RuntimeRunner } from "../runtime.js";
import { type CanaryFixture, makeFixture, type ProbeDirectory } from "./fixture.js";
import { type Achieved, judge } from "./judge.js";
import type { CanaryProbe } from "./probe.js";
import { hasProcess } from "./processes.js";
import {
  type CanaryAnswer,
  kCanaryScript,
  kSocketTools,
  kSurvivorSuffix,
  parseAnswer,
} from "./script.js";

const kTimeoutMs = 15_000;

/** Nothing of the host's: its PATH may lead to wrappers that are not what they are called. */
const kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Makes a runner for a workspace. */
export type MakeRunner = (shadowDir: string) => Pick<RuntimeRunner, "exec">;

/** How a canary went. */
export type CanaryReport =
  /** The command could not be run, or not to its end. */
  | { kind: "failed"; reason: string; fix?: string | undefined; layers: string[] }
  | { kind: "completed"; probes: CanaryProbe[]; layers: string[] };

type CanaryRun = {
  result: SandboxedExecResult;
  answer: CanaryAnswer | undefined;
  /** Places that it wrote into. */
  wrote: ProbeDirectory[];
};

async function runOnce(
  runner: Pick<RuntimeRunner, "exec">,
  fixture: CanaryFixture,
  tools: readonly string[],
  survivor?: { mark: string; onUp(): void },
): Promise<CanaryRun> {
  const file = randomUUID();
  const decoder = new TextDecoder();
  let heard = "";
  const result = await runner.exec({
    argv: [
      "/bin/sh",
      "-c",
      kCanaryScript,
      "canary",
      String(fixture.port),
      fixture.abstract,
      tools.join(" "),
      process.execPath,
      survivor?.mark ?? "",
      file,
      ...fixture.directories.map(({ directory }) => directory),
    ],
    env: { PATH: kPath },
    limits: { timeoutMs: kTimeoutMs },
    onStdout: (chunk) => {
      if (survivor === undefined || heard.includes("canary:up\n")) return;
      heard += decoder.decode(chunk, { stream: true });
      if (heard.includes("canary:up\n")) survivor.onUp();
    },
  });
  const answer = parseAnswer(new TextDecoder().decode(result.stdout));
  const wrote = fixture.directories.filter(({ directory }) => existsSync(join(directory, file)));
  return { result, answer, wrote };
}

function achieved({ answer, wrote }: CanaryRun, fixture: CanaryFixture): Achieved {
  const got = (said: { answer: string } | undefined) => said?.answer.includes(fixture.reply);
  const { directories } = fixture;
  const read = directories.filter(({ secret }, index) => answer?.secrets[index] === secret);
  return {
    read: read.filter(({ mayRead }) => !mayRead).map(({ directory }) => directory),
    wrote: wrote.filter(({ mayWrite }) => !mayWrite).map(({ directory }) => directory),
    tcp: got(answer?.tcp),
    abstract: got(answer?.abstract),
  };
}

function failure({ result }: CanaryRun): CanaryReport {
  const { outcome } = result;
  const layers = result.audits[0]?.layers ?? [];
  if (outcome.kind === "setup-failed") {
    return { kind: "failed", reason: outcome.reason, fix: outcome.fix, layers };
  }
  const said = new TextDecoder().decode(result.stderr).trim().split("\n").at(-1) ?? "";
  const how = outcome.kind === "exited" ? `exit code ${result.exitCode}` : outcome.kind;
  const reason = `a test command did not run to its end (${how})${said && `: ${said}`}`;
  return { kind: "failed", reason, layers };
}

/** @throws (rejects) what the runners throw where they can't exist on this host. */
export async function runCanary(
  makeRunner: MakeRunner,
  makeControl: MakeRunner,
  grants: Grants,
): Promise<CanaryReport> {
  const fixture = await makeFixture(grants);
  try {
    const mark = `native-runner-canary-${randomUUID()}`;
    let survivorSeen = false;
    const confined = await runOnce(makeRunner(fixture.workspace), fixture, kSocketTools, {
      mark,
      onUp: () => {
        survivorSeen = hasProcess(mark + kSurvivorSuffix);
        writeFileSync(join(fixture.workspace, "go"), ""); // lets the canary end
      },
    });
    const survivorLeft = hasProcess(mark + kSurvivorSuffix);
    const { answer } = confined;
    if (answer === undefined) return failure(confined);

    const tools = [answer.tcp?.tool, answer.abstract?.tool].filter((tool) => tool !== undefined);
    const control = await runOnce(makeControl(fixture.workspace), fixture, [...new Set(tools)]);
    const layers = confined.result.audits[0]?.layers ?? [];
    const probes = judge({
      grants,
      confined: achieved(confined, fixture),
      control: achieved(control, fixture),
      unreadable: fixture.directories
        .filter(({ mayRead }) => !mayRead)
        .map(({ directory }) => directory),
      unwritable: fixture.directories
        .filter(({ mayWrite }) => !mayWrite)
        .map(({ directory }) => directory),
      survivorSeen,
      survivorLeft,
      layers,
    });
    return { kind: "completed", probes, layers };
  } finally {
    await fixture.close();
  }
}
