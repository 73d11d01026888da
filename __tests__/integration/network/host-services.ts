/** Services of the host, on ports of its loopback: made of sockets here, and Redis and PostgreSQL. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll } from "vitest";

import { isRoot, plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { lacks } from "./client-programs.js";

/** A service that is made of sockets of this process. */
export type Service = { port: number; server: Server; sockets: Set<Socket> };

const opened: Service[] = [];
const started: ChildProcess[] = [];

afterAll(async () => {
  for (const { server, sockets } of opened.splice(0)) {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGINT");
    await once(child, "exit");
  }
});

/** Listens at a free port of an address of the loopback. A peer that sends no more may still read. */
export async function serve(
  onSocket: (socket: Socket) => void,
  address = "127.0.0.1",
): Promise<Service> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    onSocket(socket);
  });
  server.listen({ port: 0, host: address, backlog: 1024 });
  await once(server, "listening");
  const service = { port: (server.address() as AddressInfo).port, server, sockets };
  opened.push(service);
  return service;
}

/** A port of the loopback at which nothing listens. */
export async function freePort(): Promise<number> {
  const { port, server } = await serve(() => {});
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a server of its own and waits until a line of what it says matches. */
async function start(words: readonly string[], ready: RegExp, directory: string): Promise<void> {
  const [program = "", ...args] = words;
  const child = spawn(program, args, {
    cwd: directory,
    env: { ...plainEnvironment(), LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.push(child);
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const heard = (line: string) => {
      said.push(line);
      if (ready.test(line)) resolve();
    };
    createInterface(child.stdout).on("line", heard);
    createInterface(child.stderr).on("line", heard);
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`${program} ended: ${said.join("\n")}`)));
  });
}

/** Why Redis can't be had; undefined where it can. */
export const whyNoRedis = lacks("redis-server", "redis-cli");

/** Starts Redis, without files; its port. */
export async function startRedis(): Promise<number> {
  const port = await freePort();
  const directory = tempDirectory("redis");
  const settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory];
  const words = ["redis-server", "--port", String(port), ...settings];
  await start(words, /Ready to accept connections/, directory);
  return port;
}

/** Debian keeps the programs of each version of PostgreSQL's server apart, and not on PATH. */
function programsOfPostgres(): string | undefined {
  const folder = "/usr/lib/postgresql";
  const versions = existsSync(folder) ? readdirSync(folder).sort().reverse() : [];
  const places = ["/usr/bin", ...versions.map((version) => join(folder, version, "bin"))];
  return places.find((place) => existsSync(join(place, "initdb")));
}

const programs = programsOfPostgres();

/** Why PostgreSQL can't be had; undefined where it can. */
export const whyNoPostgres =
  lacks("psql") ?? (programs === undefined ? "there is no server of PostgreSQL" : undefined);

function hasName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}

/** The words before a program that PostgreSQL wants to run as a user with a name, who is not root. */
function asUser(directory: string): string[] {
  if (isRoot) {
    const idOf = (flag: string) => Number(spawnSync("id", [flag, "nobody"]).stdout);
    const [uid, gid] = [idOf("-u"), idOf("-g")];
    chownSync(directory, uid, gid);
    return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  }
  if (hasName()) return [];
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const users = join(directory, "passwd");
  writeFileSync(users, `tester:x:${uid}:${gid}::/:/bin/sh\n`);
  const mount = `mount --bind "${users}" /etc/passwd && exec "$@"`;
  const asRoot = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"];
  return [...asRoot, "unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`];
}

/** Starts PostgreSQL with a database of its own, where everybody is let in; its port. */
export async function startPostgres(): Promise<number> {
  const port = await freePort();
  const directory = tempDirectory("postgres");
  const as = asUser(directory);
  const data = join(directory, "data");
  const [program = "", ...make] = [...as, join(programs ?? "", "initdb"), "-D", data];
  const made = spawnSync(program, [...make, "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N"], {
    cwd: directory,
    env: { ...plainEnvironment(), LC_ALL: "C" },
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}`);
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
  const words = settings.flatMap((each) => ["-c", each]);
  const server = [...as, join(programs ?? "", "postgres"), "-D", data, "-p", String(port)];
  await start([...server, ...words], /database system is ready to accept connections/, directory);
  return port;
}
