/**
 * A made-up internet for the tests of networks by domain: a network of the test's own, in which the host
 * program (../hosts/network/made-up-internet.mjs) and its servers are.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bindsWithNode } from "../promises/probed-host.js";
import { jsonOfHost } from "../support/host-program.js";
import { kNodeInside } from "../support/node-arguments.js";
import type {
  Denial,
  HttpRequestRecord,
  NetworkByDomain,
  NetworkConnection,
  Outcome,
  Secret,
} from "../support/package.js";
import { tempDirectory } from "../support/temp.js";
import { inOwnNetwork } from "./own-network.js";

/** All at 127.0.0.1; the others are not. */
export const kNames = ["a.test", "b.test", "evil.test", "registry.test", "pypi.test", "git.test"];
/** A public address of another machine, one of the host's own, and one that is not public. */
export const kPublic = { name: "public.test", address: "11.22.33.44" };
export const kOwn = { name: "own.test", address: "11.22.44.55" };
export const kPrivate = { name: "private.test", address: "10.9.8.7" };

/** Names of the tests may lead to this machine. */
export const kHere = { allowPrivate: ["127.0.0.0/8"] };

/** With a value, or with a function that gives `texts` one after the other, each for `forMs`. */
export type MadeUpSecret = Omit<Secret, "value"> & {
  value: string | { texts: readonly string[]; forMs?: number };
};

export type Job = {
  kind?: "cold" | "prewarmed" | "session" | "live" | "transaction" | "project";
  network: Omit<NetworkByDomain, "onRequest" | "secrets"> & {
    onRequest?: "allow" | "deny" | "throw";
    secrets?: readonly MadeUpSecret[];
  };
  script?: string;
  argv?: readonly string[];
  env?: Record<string, string>;
  /** The thread that ends TLS ends once something has reached a server; then there is a file `gone`. */
  endsTerminator?: boolean;
  /** How many runs of it at once; told is of the first. */
  atOnce?: number;
};

export type End = {
  error?: string;
  code?: string;
  exitCode: number;
  outcome: Outcome;
  prewarmed: boolean;
  out: string;
  err: string;
  layers: string[];
  policyHash: string;
  requests?: HttpRequestRecord[];
  requestsOmitted?: number;
  denials?: Denial[];
  connections: NetworkConnection[];
  omitted?: number;
  /** What has reached the servers. */
  hits: { at: number; host?: string; url?: string; sni?: string; authorization?: string }[];
  asked: { host: string; port: number; via: string; method?: string; path?: string }[];
  valuesAsked: number;
};

/** A key of its own, and a certificate for all names, which a copy in the workspace lets clients trust. */
function certificate(directory: string): { key: string; cert: string } {
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const names = [...kNames, kPublic.name, kPrivate.name].map((name) => `DNS:${name}`).join(",");
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const about = ["-subj", "/CN=test", "-days", "2", "-addext", `subjectAltName=${names}`];
  const done = spawnSync(
    "openssl",
    ["req", "-x509", ...curve, ...about, "-keyout", key, "-out", cert],
    {
      encoding: "utf8",
    },
  );
  if (done.status !== 0) throw new Error(done.stderr);
  return { key, cert };
}

export type CommandLine = { argv: readonly string[]; cwd: string; env: Record<string, string> };
export type CommandEnd = { code: number | null; out: string; err: string };

/** A server's command line, and the port at which it listens once it is up. */
export type ServerProgram = { argv: readonly string[]; port: number };

export type World = {
  /** What the servers have, by the host's name: `files/a.test/index.html`. */
  readonly directory: string;
  readonly workspace: string;
  /** The servers' key and certificate. */
  readonly key: string;
  readonly cert: string;
  /** Runs them one after the other, while `servers` run beside ours. */
  run(jobs: readonly Job[], servers?: readonly ServerProgram[]): Promise<End[]>;
  /** Runs command lines in it, one after the other. */
  command(commands: readonly CommandLine[]): Promise<CommandEnd[]>;
};

/** Makes one; nothing runs yet. `shown`: what commands see of the host besides. */
export function makeWorld(shown: readonly string[] = []): World {
  const directory = tempDirectory("internet");
  const workspace = tempDirectory();
  const { key, cert } = certificate(directory);
  chmodSync(key, 0o644);
  spawnSync("cp", [cert, join(workspace, "ca.pem")]);
  mkdirSync(join(directory, "state"));
  const network = inOwnNetwork({
    here: {
      "127.0.0.1": kNames,
      [kOwn.address]: [kOwn.name],
      [kPrivate.address]: [kPrivate.name],
    },
    elsewhere: { address: kPublic.address, names: [kPublic.name] },
  });
  const program = fileURLToPath(new URL("../hosts/network/made-up-internet.mjs", import.meta.url));
  const ca = "/workspace/ca.pem";
  const trusted = {
    CURL_CA_BUNDLE: ca,
    SSL_CERT_FILE: ca,
    NODE_EXTRA_CA_CERTS: ca,
    GIT_SSL_CAINFO: ca,
    REQUESTS_CA_BUNDLE: ca,
    PIP_CERT: ca,
    npm_config_cafile: ca,
    HOME: "/tmp",
    TMPDIR: "/tmp",
    npm_config_cache: "/tmp/npm",
    npm_config_update_notifier: "false",
  };
  let runs = 0;
  const commandHost = fileURLToPath(new URL("../hosts/learn.mjs", import.meta.url));
  return {
    directory,
    workspace,
    key,
    cert,
    async command(commands) {
      const file = join(directory, `commands-${++runs}.json`);
      writeFileSync(file, JSON.stringify({ directory, key, cert, commands }));
      return jsonOfHost([...network, ...kNodeInside, commandHost, file]);
    },
    async run(jobs, programs = []) {
      const file = join(directory, `jobs-${++runs}.json`);
      const options = { roBinds: [...bindsWithNode(), ...shown] };
      const own = jobs.map((job) => ({ ...job, env: { ...trusted, ...job.env } }));
      const all = { directory, key, cert, workspace, options, programs, jobs: own };
      writeFileSync(file, JSON.stringify(all));
      return jsonOfHost([...network, ...kNodeInside, program, file]);
    },
  };
}
