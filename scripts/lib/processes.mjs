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

/** True for one whose threads have all ended; whoever started it, or init, has yet to wait for it. See proc_pid_stat(5). */
function hasEnded(pid) {
  const [state, ...others] = read(pid, "stat").split(") ").at(-1).split(" ");
  const threads = Number(others[16]); // an ended main thread may have left others
  return state === "" || ((state === "Z" || state === "X") && threads <= 1);
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
