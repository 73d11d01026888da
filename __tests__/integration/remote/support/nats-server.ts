/** A real NATS server on a free port of 127.0.0.1, ended with the tests of a file. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll } from "vitest";
import { followCertificateRecipe } from "../../../support/remote/certificate-recipe.js";
import { eventually } from "../../../support/waits.js";
import { tempDirectory } from "../../support/temp.js";

/** Debian has it where ordinary users' PATH does not lead. */
const kPlaces = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/usr/local/bin"];
const kProgram = kPlaces.map((each) => path.join(each, "nats-server")).find(existsSync);

/** Why there can be no server here; undefined when there can. */
export const whyNoNatsServer =
  kProgram === undefined ? "there is no nats-server (apt-get install nats-server)" : undefined;

/** One that is running. */
export type NatsServer = {
  port: number;
  /** "nats://127.0.0.1:PORT". */
  url: string;
  pid: number;
  /** What it has written so far. */
  log(): string;
  /** Has it read its configuration anew. */
  reload(): void;
  /** By SIGTERM, or another signal; resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
};

const running = new Set<NatsServer>();
afterAll(async () => {
  await Promise.all([...running].map((server) => server.stop("SIGKILL")));
});

async function portOf(directory: string, child: ChildProcess, log: () => string): Promise<number> {
  const written = () => {
    if (child.exitCode !== null) throw new Error(`nats-server has ended: ${log()}`);
    const name = readdirSync(directory).find((each) => each.endsWith(".ports"));
    const text = name === undefined ? "" : readFileSync(path.join(directory, name), "utf8");
    return /:(\d+)"/.exec(text)?.[1];
  };
  try {
    return Number(await eventually(() => `nats-server is ready: ${log()}`, written));
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/**
 * Starts one and waits until it takes connections.
 * @param config the text of a configuration, or its path; where it listens is not taken from it.
 * @param options.port another than any that is free, as for a restart.
 * @param options.before put in front of its command line; with `address`, where it listens in a namespace of its own.
 */
export async function startNatsServer(
  config = "",
  options: { port?: number; before?: readonly string[]; address?: string } = {},
): Promise<NatsServer> {
  if (kProgram === undefined) throw new Error(whyNoNatsServer);
  const directory = tempDirectory("nats");
  const file = config.startsWith("/") ? config : path.join(directory, "nats.conf");
  if (file !== config) writeFileSync(file, config);
  const place = [
    "-a",
    options.address ?? "127.0.0.1",
    "-p",
    String(options.port ?? -1),
    "--ports_file_dir",
    directory,
  ];
  const [program = "", ...words] = [...(options.before ?? []), kProgram, "-c", file, ...place];
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      written += text;
    });
  }
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const port = await portOf(directory, child, () => written);
  const server: NatsServer = {
    port,
    url: `nats://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    log: () => written,
    reload: () => child.kill("SIGHUP"),
    stop: async (signal = "SIGTERM") => {
      child.kill(signal);
      await gone;
      running.delete(server);
    },
  };
  running.add(server);
  return server;
}

/** Paths of PEM files, and the authority's text. */
export type Certificates = { ca: string; cert: string; key: string; caText: string };

/** Why there are no certificates here; undefined when there can be. */
export const whyNoOpenssl = spawnSync("openssl", ["version"]).error
  ? "there is no openssl to make certificates with"
  : undefined;

/** An authority of one's own, and a certificate for names that it has signed: as docs/scale/tenants.md makes them. */
export function makeCertificates(names = "DNS:localhost,IP:127.0.0.1"): Certificates {
  const cwd = tempDirectory("certificates");
  const at = (name: string) => path.join(cwd, name);
  followCertificateRecipe(cwd, names);
  const caText = readFileSync(at("ca.pem"), "utf8");
  return { ca: at("ca.pem"), cert: at("broker.pem"), key: at("broker.key"), caText };
}
