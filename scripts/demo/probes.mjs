// What a hostile command would try. Each probe says what to run, what a run of it got (in words), and
// whether it was contained. `unconfined` marks the ones that do no harm without a sandbox: they are
// run so as well, and must succeed there, or their failing inside would prove nothing.
import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { markedProcesses } from "../lib/processes.mjs";

const mebibyte = 1024 * 1024;
const shell = (script) => ["sh", "-c", script];
const lastLine = (text) => text.trim().split("\n").at(-1) ?? "";
const inMebibytes = (bytes) => `${(bytes / mebibyte).toFixed(0)} MiB`;

const connect = `
const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
socket.setTimeout(3000, () => { console.error("no answer"); process.exit(1); });
socket.on("data", (data) => console.log(String(data)));
socket.on("error", (error) => { console.error("connect: " + error.code); process.exitCode = 1; });
socket.on("data", () => socket.end());`;

/** For what must not show in a command's output. */
function seesSecret({ secret, home }) {
  const refusal = (run) => lastLine(run.stderr).replaceAll(home, "~") || "nothing";
  return {
    succeeded: (run) => run.stdout.includes(secret),
    says: (run) => (run.stdout.includes(secret) ? "the secret" : refusal(run)),
  };
}

const started = (run) => Number(lastLine(run.stdout));

/** `mayLimit`: maxProcesses can be had here (root needs a delegated cgroup for it). */
export function makeProbes({ workspace, home, secret, port, marker, mayLimit }) {
  const evil = "/etc/native-runner-demo";
  const outlived = path.join(workspace, "outlived");
  return [
    {
      title: "read ~/.ssh/id_ed25519",
      argv: shell('cat "$HOME/.ssh/id_ed25519"'),
      env: { HOME: home },
      unconfined: true,
      ...seesSecret({ secret, home }),
    },
    {
      title: "read an API key from the environment",
      argv: shell("env | grep DEMO_API_KEY"),
      unconfined: true,
      ...seesSecret({ secret, home }),
    },
    {
      title: "write in /etc",
      argv: shell(`echo evil > ${evil}`),
      succeeded: () => existsSync(evil),
      says: (run) => lastLine(run.stderr) || "it wrote",
      after: () => rmSync(evil, { force: true }),
    },
    {
      title: "reach a service on the host's loopback",
      argv: [process.execPath, "-e", connect, String(port)],
      unconfined: true,
      succeeded: (run) => run.stdout.includes("hello from the host"),
      says: (run) => lastLine(run.stdout) || lastLine(run.stderr),
    },
    {
      title: "kill the host process",
      argv: shell(`kill -9 ${process.pid}`),
      succeeded: () => false, // we are here to tell
      says: (run) => lastLine(run.stderr) || "nothing",
    },
    {
      title: "outlive its parent (setsid, forked twice)",
      argv: shell(
        "setsid sh -c '(sleep 1; echo still here > outlived) &' > /dev/null 2>&1 < /dev/null &",
      ),
      unconfined: true,
      before: () => rmSync(outlived, { force: true }),
      settle: () => delay(1500),
      succeeded: () => existsSync(outlived),
      says: () =>
        existsSync(outlived) ? "it wrote a file a second later" : "gone when exec settled",
    },
    {
      title: "flood its output (256 MiB)",
      argv: ["head", "-c", String(256 * mebibyte), "/dev/zero"],
      succeeded: (run) => run.result.stdout.length > mebibyte,
      says: ({ result }) =>
        `kept ${inMebibytes(result.stdout.length)} of ${inMebibytes(result.stdoutBytes)}, the rest drained`,
    },
    {
      title: "run for ever, deaf to SIGTERM (limit 1 s)",
      argv: shell("trap '' TERM INT HUP; while :; do :; done"),
      limits: { timeoutMs: 1000 },
      succeeded: ({ result }) => result.outcome.kind !== "timed-out" || durationOf(result) > 2000,
      says: ({ result }) => `ended after ${(durationOf(result) / 1000).toFixed(2)} s`,
    },
    {
      title: "eat 2 GB of memory (limit 256 MiB)",
      argv: shell("head -c 2000000000 /dev/zero | tail"),
      limits: { memoryBytes: 256 * mebibyte },
      succeeded: ({ result }) =>
        result.usage.peakMemoryBytes > 320 * mebibyte || result.exitCode === 0,
      says: ({ result, stderr }) =>
        `${lastLine(stderr) || result.outcome.kind}; peak ${inMebibytes(result.usage.peakMemoryBytes)}`,
    },
    {
      title: `leave 200 processes behind${mayLimit ? " (limit 32)" : ""}`,
      argv: shell("i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); echo $i; done"),
      limits: mayLimit ? { maxProcesses: 32 } : {},
      succeeded: (run) => (mayLimit && started(run) > 32) || markedProcesses(marker).length > 0,
      says: (run) => {
        const refusal = lastLine(run.stderr);
        return `started ${started(run)}, ${refusal && `then: ${refusal}; `}none left when exec settled`;
      },
    },
  ];
}

export const durationOf = (result) => result.audits[0].durationMs;
