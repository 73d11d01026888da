// The same project by rsync's daemon on the loopback: `rsync -a --delete`, one way, and no command.

import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

import { millisecondsOf } from "../../../host/timed.mjs";
import { movingBursts, openProject } from "./project.mjs";

const execute = promisify(execFile);
const kTries = 100;
const kPauseMs = 50;

/** Why this variant is left out. */
export function missing() {
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
      await wait(kPauseMs);
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

export async function open() {
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
