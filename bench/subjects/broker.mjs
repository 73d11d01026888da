// A broker and two workers of this machine, as processes of their own, for one variant.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const kMain = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const kTries = 200;
const kPauseMs = 50;

const places = (process.env.PATH ?? "").split(delimiter);
const isHere = places.some((place) => existsSync(join(place, "nats-server")));

/** Why these variants are left out. */
export const noBroker = () => (isHere ? undefined : "no nats-server on PATH");

async function until(made, what) {
  for (let tries = 0; tries < kTries; tries++) {
    const value = await made();
    if (value !== undefined) return value;
    await sleep(kPauseMs);
  }
  throw new Error(`${what} did not come up`);
}

async function urlIn(directory) {
  const ports = (await readdir(directory)).find((name) => name.endsWith(".ports"));
  if (ports === undefined) return undefined;
  try {
    return JSON.parse(await readFile(join(directory, ports), "utf8")).nats[0];
  } catch {
    return undefined; // it is being written
  }
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exit;
}

/** { url, pid, start(file, args), close() }: the broker, and what is started beside it, which says "serves" when it is up. */
export async function openBroker(args = []) {
  const directory = await mkdtemp(join(tmpdir(), "native-runner-bench-nats-"));
  const own = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", directory, "-sd", directory];
  const broker = spawn("nats-server", [...own, ...args], { stdio: "ignore" });
  const children = [];
  const url = await until(() => urlIn(directory), "the broker");
  return {
    url,
    pid: broker.pid,
    async start(file, parameters) {
      const child = spawn(process.execPath, [file, ...parameters], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      children.push(child);
      let said = "";
      child.stderr.on("data", (text) => {
        said += text;
      });
      await until(() => (said.includes("serves") ? true : undefined), `${file}: ${said}`);
    },
    async close() {
      await Promise.all(children.map(ended));
      await ended(broker);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * A broker with some of `native-runner worker`, and what a RemoteNativeRunner takes to reach them.
 * @param options.more of each worker's command line.
 */
export async function openPool(workspaces, { names = ["w1", "w2"], more = [] } = {}) {
  const broker = await openBroker();
  const { url } = broker;
  const options = ["--server", url, "--insecure", "--pool", "bench", "--workspaces", workspaces];
  for (const name of names)
    await broker.start(kMain, ["worker", ...options, "--name", name, ...more]);
  return {
    options: { servers: [url], insecure: true, pool: "bench" },
    close: () => broker.close(),
  };
}
