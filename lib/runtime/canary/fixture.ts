/** What the canary finds on the host: a workspace, secrets beside it, and services. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import type { Grants } from "../kinds/kind.js";

/** A directory outside of the workspace, with a file "secret" in it. */
export type ProbeDirectory = {
  directory: string;
  /** The secret's line. */
  secret: string;
  /** What the policy grants there. */
  mayRead: boolean;
  mayWrite: boolean;
};

/** One fixture serves one canary and its control run. */
export type CanaryFixture = {
  workspace: string;
  /** Everywhere that this user can write: what confines one place may forget another. */
  directories: ProbeDirectory[];
  port: number;
  abstract: string;
  /** What both services answer, in one line. */
  reply: string;
  close(): Promise<void>;
};

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

async function realPaths(paths: readonly (string | undefined)[]): Promise<string[]> {
  const absolute = paths.filter((path) => path?.startsWith("/"));
  const real = absolute.map((path) => realpath(path as string).catch(() => path as string));
  return [...new Set(await Promise.all(real))];
}

async function makeDirectories(grants: Grants): Promise<ProbeDirectory[]> {
  const readable = await realPaths(grants.readable);
  const writable = await realPaths(grants.writable);
  const directories: ProbeDirectory[] = [];
  const runtimeDirectory = process.env.XDG_RUNTIME_DIR;
  const parents = ["/var/tmp", homedir(), tmpdir(), "/dev/shm", "/run", runtimeDirectory];
  for (const parent of await realPaths(parents)) {
    let directory: string;
    try {
      directory = await mkdtemp(join(parent, "native-runner-canary-"));
    } catch {
      continue; // not there, or not ours to write
    }
    const secret = randomUUID();
    const granted = (list: readonly string[]) => list.some((each) => isWithin(parent, each));
    directories.push({
      directory,
      secret,
      mayRead: granted(readable),
      mayWrite: granted(writable),
    });
    await writeFile(join(directory, "secret"), `${secret}\n`, { mode: 0o600 });
  }
  return directories;
}

async function listen(at: { host: string; port: number } | { path: string }, reply: string) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(`${reply}\n`);
  });
  server.listen(at);
  await once(server, "listening");
  server.unref();
  return server;
}

async function closeServer(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}

/** Makes a fixture in which the policy's grants leave something to be kept from. */
export async function makeFixture(grants: Grants): Promise<CanaryFixture> {
  const cleanUps: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  const own = (directory: string) => {
    cleanUps.push(() => rm(directory, { recursive: true, force: true }));
    return directory;
  };
  try {
    const workspace = own(await realpath(await mkdtemp(join(tmpdir(), "native-runner-canary-"))));
    const directories = await makeDirectories(grants);
    for (const { directory } of directories) own(directory);
    const reply = randomUUID();
    const abstract = `native-runner-canary-${randomUUID()}`;
    const tcp = await listen({ host: "127.0.0.1", port: 0 }, reply);
    cleanUps.push(() => closeServer(tcp));
    const unix = await listen({ path: `\0${abstract}` }, reply);
    cleanUps.push(() => closeServer(unix));
    const { port } = tcp.address() as AddressInfo;
    return { workspace, directories, port, abstract, reply, close };
  } catch (error) {
    await close();
    throw error;
  }
}
