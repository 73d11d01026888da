// Work of later steps that is done in the background, at the lowest priority, while a step waits.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { root } from "./project.mjs";

/** Where the kernel shares the processors out by sessions, only this counts against others (sched(7), autogroup). */
function setGroupPriority(pid, priority) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {} // a kernel without
}

/**
 * The programs of Node's with these arguments, one after the other, until one fails. `when(signal)`
 * resolves when the first may begin; it is told by `signal` that this is to wait no more.
 */
export function startAhead(commands, { when }) {
  const waiting = new AbortController();
  let current;
  let stopped = false;
  let priority = constants.priority.PRIORITY_LOW;

  function runOne(args) {
    const stdio = ["ignore", "pipe", "pipe"];
    // A group of its own, so that its compilers end with it.
    current = spawn(process.execPath, args, { cwd: root, stdio, detached: true });
    setPriority(current.pid, priority);
    setGroupPriority(current.pid, priority);
    let output = "";
    for (const stream of [current.stdout, current.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    }
    return new Promise((resolve, reject) => {
      current.on("error", reject);
      current.on("close", (code) => resolve({ code: code ?? 1, output }));
    });
  }

  async function runAll() {
    await when(waiting.signal).catch(() => {}); // not waited for any more
    for (const args of commands) {
      if (stopped) return;
      const { code, output } = await runOne(args);
      if (code !== 0 && !stopped) throw new Error(`${args.join(" ")} failed (${code})\n${output}`);
    }
  }

  const end = () => {
    stopped = true;
    waiting.abort();
    if (current?.exitCode === null && current.signalCode === null)
      process.kill(-current.pid, "SIGTERM");
  };
  // A group of its own doesn't get what ends us.
  process.once("exit", end);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }

  const all = runAll();
  all.catch(() => {}); // told to whoever waits

  return {
    /** Waits for what is left; nothing else is to be done now, so what starts from here on is not low. */
    atFullSpeed() {
      priority = constants.priority.PRIORITY_NORMAL;
      waiting.abort();
      return all;
    },

    /** Ends what runs. */
    async stop() {
      end();
      await all.catch(() => {});
    },
  };
}
