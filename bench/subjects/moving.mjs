// A project that is moved to where its command is run: by content to a worker, and by rsync's daemon.

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { openPool } from "./broker.mjs";

// A project of 5,000 files and 219 MB, ten of which change before each measurement. Its text compresses
// to a half.

const kFolders = 100;
const kFiles = 50;
const kBytes = 45_900;
const kChanged = 10;

/** { top, project, change(), remove() }: a project in a temporary directory `top`. */
async function openProject() {
  const top = await mkdtemp(join(tmpdir(), "native-runner-bench-workspace-"));
  const project = join(top, "project");
  for (let folder = 0; folder < kFolders; folder++) {
    const directory = join(project, `d${folder}`);
    await mkdir(directory, { recursive: true });
    for (let file = 0; file < kFiles; file++) {
      const text = randomBytes(kBytes / 2).toString("hex");
      await writeFile(join(directory, `f${file}`), text);
    }
  }
  let turn = 0;
  const change = async () => {
    turn += 1;
    for (let at = 0; at < kChanged; at++) {
      const name = join(`d${(7 * at + turn) % kFolders}`, `f${(11 * turn + at) % kFiles}`);
      await appendFile(join(project, name), `${turn}\n`);
    }
  };
  return { top, project, change, remove: () => rm(top, { recursive: true, force: true }) };
}

/** Bursts of moves, each after a change; `ownMs` gives what the last one took for something else than moving. */
function movingBursts(change, move, { firstMs, ownMs }) {
  let movingMs = [];
  const step = async () => {
    await change();
    const ms = await millisecondsOf(move);
    movingMs.push(ms - ownMs());
    return ms;
  };
  const more = () => {
    const last = movingMs;
    movingMs = [];
    return { firstMs, movingMs: last };
  };
  return bursts(step, more);
}

// A run of /bin/true in a project that is moved by content: what differs goes to the worker over the
// broker, the command is run, and what it has changed, which is nothing, comes back.

export async function openMoved() {
  const { RemoteNativeRunner } = await import("../../dist/adapters/remote.js");
  const { project, change, top, remove } = await openProject();
  const workspaces = join(top, "worker");
  await mkdir(workspaces);
  const pool = await openPool(workspaces, { names: ["w1"] });
  const runner = new RemoteNativeRunner({ ...pool.options, workspace: { directory: project } });
  let ownMs = 0;
  const run = async () => {
    const { exitCode, outcome, audits } = await runner.exec({ argv: ["/bin/true"] });
    if (exitCode !== 0) throw new Error(`/bin/true: ${JSON.stringify(outcome)}`);
    const { setupMs, commandMs, teardownMs } = audits[0].timing;
    ownMs = setupMs + commandMs + teardownMs;
  };
  const firstMs = await millisecondsOf(run);
  return {
    burst: movingBursts(change, run, { firstMs, ownMs: () => ownMs }),
    async close() {
      await runner.close();
      await pool.close();
      await remove();
    },
  };
}

// The same project by rsync's daemon on the loopback: `rsync -a --delete`, one way, and no command.

const execute = promisify(execFile);
const kTries = 100;
const kPauseMs = 50;

/** Why this variant is left out. */
export function noRsync() {
  try {
    execFileSync("rsync", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "no rsync on PATH";
  }
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function startDaemon(top, target) {
  const port = await freePort();
  const lines = ["use chroot = no", "[target]", `path = ${target}`, "read only = no"];
  const asRoot = process.getuid() === 0 ? ["uid = 0", "gid = 0"] : [];
  const configuration = join(top, "rsyncd.conf");
  await writeFile(configuration, [...lines, ...asRoot, ""].join("\n"));
  const words = ["--daemon", "--no-detach", "--address=127.0.0.1", `--port=${port}`];
  const daemon = spawn("rsync", [...words, `--config=${configuration}`], { stdio: "ignore" });
  const ended = new Promise((resolve) => daemon.on("exit", resolve));
  const url = `rsync://127.0.0.1:${port}/target/`;
  for (let tried = 0; ; tried++) {
    try {
      await execute("rsync", [url]);
      break;
    } catch (error) {
      if (tried === kTries) throw error;
      await sleep(kPauseMs);
    }
  }
  return {
    url,
    async close() {
      daemon.kill();
      await ended;
    },
  };
}

export async function openRsync() {
  const { project, change, top, remove } = await openProject();
  const target = join(top, "target");
  await mkdir(target);
  const daemon = await startDaemon(top, target);
  const move = () => execute("rsync", ["-a", "--delete", `${project}/`, daemon.url]);
  const firstMs = await millisecondsOf(move);
  return {
    burst: movingBursts(change, move, { firstMs, ownMs: () => 0 }),
    async close() {
      await daemon.close();
      await remove();
    },
  };
}
