// Looks for processes through /proc, also ones that nobody waits for any more.
import { readdirSync, readFileSync } from "node:fs";

const read = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // gone, or not ours to read
  }
};
const statusOf = (pid, field) =>
  read(pid, "status").match(new RegExp(`^${field}:\\s+(\\S+)`, "m"))?.[1];

function processesWhere(holds) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(holds)
    .map((pid) => {
      const commandLine = read(pid, "cmdline").replaceAll("\0", " ").trim();
      return { pid, command: commandLine || `[${statusOf(pid, "Name")}]` };
    });
}

/** The processes of a user. */
export const processesOf = (uid) =>
  processesWhere((pid) => Number(statusOf(pid, "Uid") ?? Number.NaN) === uid);

/** Those with `NAME=value` in their environment, but for this process and its ancestors. */
export function markedProcesses(marker) {
  const ancestors = new Set();
  for (let pid = process.pid; pid > 0; pid = Number(statusOf(pid, "PPid") ?? 0)) ancestors.add(pid);
  return processesWhere(
    (pid) => !ancestors.has(pid) && read(pid, "environ").split("\0").includes(marker),
  );
}
