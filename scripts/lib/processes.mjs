// Looks for processes through /proc, also ones that nobody waits for any more.
import { readdirSync, readFileSync } from "node:fs";

const read = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // gone, or not ours to read
  }
};
/** The first word of a field of proc_pid_status(5); undefined where the process is gone or lacks it. */
export const statusOf = (pid, field) =>
  read(pid, "status").match(new RegExp(`^${field}:\\s+(\\S+)`, "m"))?.[1];

const kExiting = 0x4; // PF_EXITING in <linux/sched.h>, one of the flags of proc_pid_stat(5)

/** True for one that has ended, or is ending and runs no more of its program: somebody has yet to wait for it. */
function hasEnded(pid) {
  const [state, , , , , , flags] = read(pid, "stat").split(") ").at(-1).split(" ");
  return !state || state === "Z" || state === "X" || (Number(flags) & kExiting) !== 0;
}

const pidsWhere = (holds) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(holds);

const processesWhere = (holds) =>
  pidsWhere(holds).map((pid) => {
    const commandLine = read(pid, "cmdline").replaceAll("\0", " ").trim();
    return { pid, command: commandLine || `[${statusOf(pid, "Name")}]` };
  });

/** The process ids of the children of a process. */
export const childrenOf = (parent) =>
  pidsWhere((pid) => Number(statusOf(pid, "PPid") ?? Number.NaN) === parent);

/** The processes of a user that have not ended. */
export const processesOf = (uid) =>
  processesWhere((pid) => Number(statusOf(pid, "Uid") ?? Number.NaN) === uid && !hasEnded(pid));

/** Those with `NAME=value` in their environment, but for this process and its ancestors. */
export function markedProcesses(marker) {
  const ancestors = new Set();
  for (let pid = process.pid; pid > 0; pid = Number(statusOf(pid, "PPid") ?? 0)) ancestors.add(pid);
  return processesWhere(
    (pid) => !ancestors.has(pid) && read(pid, "environ").split("\0").includes(marker),
  );
}
