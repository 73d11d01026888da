// What to know of a host that does not come to rest: its unsettled calls with their processes, and
// where its threads are. To be taken before anything of it is ended.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

import { now, readLedger } from "../judge/ledger.mjs";
import { isDead, ProcessTree, wordsOf } from "../strikes/process-tree.mjs";
import { membersBelow } from "../strikes/sandboxes.mjs";

const kDebuggerMs = 60_000;
const kFrames = 24;

/** A file of /proc in one line; what can't be read says why. */
function read(file) {
  try {
    return readFileSync(file, "utf8").trim().replaceAll("\n", " < ");
  } catch (error) {
    return error.code;
  }
}

const stateOf = (stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" ")[0];

/** Where a process or thread is: `directory` is its own below /proc. */
function whereIs(directory) {
  const call = read(`${directory}/syscall`).split(" ")[0];
  const state = stateOf(read(`${directory}/stat`));
  return `state ${state}, waits in ${read(`${directory}/wchan`)}, system call ${call}`;
}

function tellProcess({ process, role }) {
  const words = wordsOf(process).join(" ").slice(0, 100);
  const where = whereIs(`/proc/${process.pid}`);
  return `    ${role} ${process.pid} (parent ${process.parent}): ${where}: ${words}`;
}

function phaseOf(members) {
  if (members.length === 0)
    return "no process: it waits in its lane, is over, or its command is new";
  return members.some(({ role }) => role === "command")
    ? "its command is there"
    : "its sandbox is being set up, or ends";
}

/** The calls of a ledger that have begun and not settled. */
export function unsettledOf(lines) {
  const settled = new Set(lines.filter(({ event }) => event === "end").map(({ call }) => call));
  return lines.filter(({ event, call }) => event === "begin" && !settled.has(call));
}

function tellCall(begin, members) {
  const { call, command, runnerKind, timeoutMs, abortAfterMs = "none" } = begin;
  const plan = `${command}, ${runnerKind}, deadline ${timeoutMs} ms, abort after ${abortAfterMs}`;
  const seconds = ((now() - begin.at) / 1000).toFixed(1);
  const reported = `  ${call} (${plan}): begun ${seconds} s ago; ${phaseOf(members)}`;
  return [reported, ...members.map(tellProcess)];
}

function tellThreads(pid) {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const directory = `/proc/${pid}/task/${thread}`;
    const name = read(`${directory}/comm`);
    return `    ${name} ${thread}: ${whereIs(directory)}, stack ${read(`${directory}/stack`)}`;
  });
}

/** The stacks of all threads by a debugger, where there is one that may look. */
function stacksOf(pid) {
  const script = ["-ex", `thread apply all backtrace ${kFrames}`];
  const { stdout, stderr, error } = spawnSync(
    "gdb",
    ["-nx", "-batch", "-p", String(pid), ...script],
    {
      encoding: "utf8",
      timeout: kDebuggerMs,
      maxBuffer: 2 ** 26,
    },
  );
  if (error !== undefined) return [`no debugger: ${error.message}`];
  const threads = stdout.split(/\n(?=Thread \d+ )/).slice(1);
  return threads.length > 0 ? threads : [`the debugger says: ${stderr.trim().slice(-500)}`];
}

/**
 * { text, stacks } of a host that is alive: for people, with the stacks of our own threads; and all
 * stacks. `mark`: of the run, see sandboxes.mjs.
 */
export function tellStuckHost({ name, pid, ledgerFile }, mark) {
  const members = membersBelow(new ProcessTree(), pid, mark).filter(
    ({ process }) => !isDead(process),
  );
  const isOf = ({ call }, member) =>
    member.call === call ||
    wordsOf(member.process).some((word) => word.startsWith(`chaos:${mark}:${call}:`));
  const open = unsettledOf(readLedger(ledgerFile));
  const known = new Set();
  const calls = open.flatMap((begin) => {
    const own = members.filter((member) => isOf(begin, member));
    for (const member of own) known.add(member);
    return tellCall(begin, own);
  });
  const others = members.filter((member) => !known.has(member)).map(tellProcess);
  const threads = tellThreads(pid);
  const stacks = stacksOf(pid);
  const ours = stacks.filter((stack) => stack.includes("native_runner") || stacks.length === 1);
  const parts = [
    `${name} (pid ${pid}): ${open.length} calls have not settled`,
    ...calls,
    `  ${others.length} processes of no such call`,
    ...others,
    "  its threads",
    ...threads,
    ...ours,
  ];
  return { text: parts.join("\n"), stacks: stacks.join("\n") };
}
