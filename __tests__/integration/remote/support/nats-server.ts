/** A real NATS server on a free port of 127.0.0.1, ended with the tests of a file. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll } from "vitest";

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

function openssl(directory: string, ...words: string[]): void {
  const ran = spawnSync("openssl", words, { cwd: directory, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`openssl ${words.join(" ")}: ${ran.stderr}`);
}

/** An authority of one's own, and a certificate for names that it has signed. */
export function makeCertificates(names = "DNS:localhost,IP:127.0.0.1"): Certificates {
  const directory = tempDirectory("certificates");
  const at = (name: string) => path.join(directory, name);
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const authority = ["-x509", "-days", "2", "-subj", "/CN=an authority", "-keyout", "ca.key"];
  openssl(directory, "req", ...ec, ...authority, "-out", "ca.pem");
  openssl(
    directory,
    "req",
    ...ec,
    "-subj",
    "/CN=a server",
    "-keyout",
    "server.key",
    "-out",
    "server.csr",
  );
  writeFileSync(at("names"), `subjectAltName=${names}\n`);
  const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
  openssl(
    directory,
    "x509",
    "-req",
    "-in",
    "server.csr",
    ...by,
    "-extfile",
    "names",
    "-out",
    "server.pem",
  );
  const caText = readFileSync(at("ca.pem"), "utf8");
  return { ca: at("ca.pem"), cert: at("server.pem"), key: at("server.key"), caText };
}
