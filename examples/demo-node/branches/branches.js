import { Failure } from "../failure.js";
import { patchCounts } from "../terminal/change-report.js";
import { endText } from "../tools/result-text.js";
import { notableChanges } from "../workspace/change.js";

/**
 * @typedef {import("../workspace/project.js").Project} Project
 * @typedef {import("../model/conversation.js").Conversation} Conversation
 * @typedef {{ isPassed: boolean, how: string }} Tests
 * @typedef {{ number: number, project: Project, conversation: Conversation, files: number,
 *   lines: { added: number, removed: number } | undefined, durationMs: number, tokens: number | undefined,
 *   tests: Tests | undefined, failure: string | undefined }} Branch
 * @typedef {{ conversation: Conversation, end: () => void }} Agent
 * @typedef {{ project: Project, count: number, task: string, testCommand: string | undefined,
 *   agentOn: (branch: Project, number: number) => Agent, explain: (error: unknown) => string,
 *   signal: AbortSignal }} Tries
 */

const kTestTimeoutMs = 600_000;
const kMaxOutputBytes = 16 * 1024;

/**
 * Each is told that it is one of several, so that they do not all do the same.
 * @param {string} task
 * @param {number} number
 * @param {number} count
 */
const taskOf = (task, number, count) =>
  `${task}\n\n(You are attempt ${number} of ${count}. All work on this at once, each on a copy of its own; the best is taken.)`;

/**
 * Runs the tests in a fork of the branch: what they write is no change of its.
 * @param {Project} branch
 * @param {string} command
 * @param {AbortSignal} signal
 * @returns {Promise<Tests>}
 */
async function testsIn(branch, command, signal) {
  const [copy] = await branch.fork(1);
  if (copy === undefined) throw new Error("there is no fork");
  try {
    const { outcome, exitCode } = await copy.runner.exec({
      argv: ["bash", "-c", command],
      limits: {
        timeoutMs: kTestTimeoutMs,
        maxStdoutBytes: kMaxOutputBytes,
        maxStderrBytes: kMaxOutputBytes,
        keep: "head+tail",
      },
      signal,
    });
    const isPassed = outcome.kind === "exited" && exitCode === 0;
    return { isPassed, how: endText(outcome, exitCode, kTestTimeoutMs) };
  } finally {
    await copy.discard();
  }
}

/**
 * One agent's work on its branch, and what became of it.
 * @param {Tries} tries
 * @param {Project} branch
 * @param {number} number
 * @returns {Promise<Branch>}
 */
async function tried(tries, branch, number) {
  const { project, count, task, testCommand, agentOn, explain, signal } = tries;
  const beginMs = performance.now();
  const { conversation, end } = agentOn(branch, number);
  let failure;
  try {
    await conversation.ask(taskOf(task, number, count), signal);
  } catch (error) {
    if (signal.aborted) throw error;
    failure = explain(error); // the others go on
  } finally {
    end();
  }
  const durationMs = performance.now() - beginMs;
  const { changes, patch } = await project.comparedWith(branch);
  const isTested = testCommand !== undefined && failure === undefined;
  return {
    number,
    project: branch,
    conversation,
    files: notableChanges(changes).length,
    lines: patch === undefined ? undefined : patchCounts(patch),
    durationMs,
    tokens: conversation.tokens,
    tests: isTested ? await testsIn(branch, testCommand, signal) : undefined,
    failure,
  };
}

/**
 * Several agents at one task at once, each on a branch of the project. Whoever calls it discards the branches.
 * @param {Tries} tries
 * @returns {Promise<Branch[]>} in their order. Where it rejects, as when it is aborted, no branch is left
 */
export async function tryAtOnce(tries) {
  const branches = await tries.project.fork(tries.count);
  const settled = await Promise.allSettled(
    branches.map((branch, at) => tried(tries, branch, at + 1)),
  );
  const failures = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (failures.length === 0 && !tries.signal.aborted) {
    return settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }
  await Promise.allSettled(branches.map((branch) => branch.discard()));
  throw failures[0] ?? new Failure("interrupted", { exitCode: 130 });
}
