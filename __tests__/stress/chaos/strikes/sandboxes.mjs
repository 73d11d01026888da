// What stands below a host: each child of it is the top of one run's or one standing sandbox's tree, or of a
// template's, below whose launcher each clone is a tree of its own.
import { readFileSync } from "node:fs";

import { isDead, wordsOf } from "./process-tree.mjs";

/** How many pid namespaces, from /proc's on inwards, a process is in (NSpid of proc_pid_status(5)). */
function depthOf(pid) {
  try {
    const line = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
    return line.trim().split(/\s+/).length;
  } catch {
    return 0; // gone
  }
}

const kOwnDepth = depthOf("self");

const isLauncher = ({ name }, words) => name === "launcher" || words[0] === "/proc/self/fd/5";

/**
 * "bwrap", which is executed by descriptor, so that its name is a number; "launcher"; "sub-launcher",
 * that of one command of a session, two below the top; or "command".
 */
function roleOf(process, words, top, parents) {
  if (words[0]?.endsWith("bwrap")) return "bwrap";
  if (!isLauncher(process, words)) return "command";
  return parents.get(process.parent) === top.pid ? "sub-launcher" : "launcher";
}

/**
 * { top, processes } of each sandbox in a child of the host's. Those of a template alone are of no one
 * call: its end is that of all its clones.
 */
function treesOf(tree, top) {
  const whole = { top, processes: [top, ...tree.descendantsOf(top.pid)] };
  for (const launcher of tree.childrenOf(top.pid)) {
    const depth = depthOf(launcher.pid);
    const clones = tree.childrenOf(launcher.pid).filter(({ pid }) => depthOf(pid) > depth);
    if (depth === 0 || clones.length === 0) continue;
    const ofClones = clones.map((clone) => ({
      top: launcher,
      processes: [clone, ...tree.descendantsOf(clone.pid)],
    }));
    return [{ top, processes: [top, launcher] }, ...ofClones];
  }
  return [whole];
}

/**
 * { process, role, isContained, call? } of all that a host has below it. `isContained`: the kernel
 * ends the tree with its pid namespace. The call is known from the token in the command's argv, and
 * unknown before there is a command.
 */
export function membersBelow(tree, hostPid, mark) {
  const trees = tree.childrenOf(hostPid).flatMap((top) => treesOf(tree, top));
  return trees.flatMap(({ top, processes }) => {
    const members = processes
      .filter((process) => !isDead(process))
      .map((process) => ({ process, words: wordsOf(process) }));
    const parents = new Map(members.map(({ process }) => [process.pid, process.parent]));
    const isContained = members.some(({ process }) => depthOf(process.pid) > kOwnDepth);
    const token = members
      .flatMap(({ words }) => words)
      .find((word) => word.startsWith(`chaos:${mark}:`));
    const [, , only, kind] = token?.split(":") ?? [];
    const call = kind === "session" ? undefined : only; // it may hold several
    return members.map(({ process, words }) => {
      return { process, role: roleOf(process, words, top, parents), isContained, call };
    });
  });
}
