/**
 * A made-up internet for the tests of networks by domain: a network namespace of the test's own, in
 * which the host program (../hosts/network/world.mjs) and its servers are. Names are in an /etc/hosts
 * of its mount namespace, so that nothing of the package has to know that it is tested.
 */

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bindsWithNode } from "../promises/scene.js";
import { isRoot, plainEnvironment } from "../support/gate.js";
import { kNodeInside } from "../support/node.js";
import type { NetworkByDomain, NetworkConnection, Outcome } from "../support/package.js";
import { tempDirectory } from "../support/temp.js";

/** All at 127.0.0.1 but these two. */
export const kNames = ["a.test", "b.test", "evil.test", "registry.test", "pypi.test", "git.test"];
/** A public address of this network's loopback, and one that is not public. */
export const kPublic = { name: "public.test", address: "11.22.33.44" };
export const kPrivate = { name: "private.test", address: "10.9.8.7" };

/** Names of the tests may lead to this machine. */
export const kHere = { allowPrivate: ["127.0.0.0/8"] };

export type Job = {
  kind?: "cold" | "prewarmed" | "session" | "live" | "transaction";
  network: Omit<NetworkByDomain, "onRequest"> & { onRequest?: "allow" | "deny" | "throw" };
  script?: string;
  argv?: readonly string[];
  env?: Record<string, string>;
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
  connections: NetworkConnection[];
  omitted?: number;
  /** What has reached the servers. */
  hits: { at: number; host?: string; url?: string; sni?: string }[];
  asked: { host: string; port: number; via: string }[];
};

/** Runs a program with root's rights over a network and a mount namespace, then as who we are. */
const kSetUp = `set -e
ip link set lo up
ip address add ${kPublic.address}/32 dev lo
ip address add ${kPrivate.address}/32 dev lo
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
mount --bind "$1" /etc/hosts
shift
exec "$@"`;

function around(hosts: string): string[] {
  const setUp = ["sh", "-c", kSetUp, "sh", hosts];
  if (isRoot) return ["unshare", "--mount", "--net", ...setUp];
  const uid = process.getuid?.() ?? 0;
  const back = ["unshare", "--user", `--map-user=${uid}`, `--map-group=${process.getgid?.() ?? 0}`];
  return ["unshare", "--user", "--map-root-user", "--mount", "--net", ...setUp, ...back];
}

function lacks(): string | undefined {
  for (const program of ["unshare", "ip", "openssl", "curl"]) {
    const found = spawnSync("sh", ["-c", `command -v ${program}`], { env: plainEnvironment() });
    if (found.status !== 0) return `there is no ${program}`;
  }
  const hosts = join(tempDirectory("hosts"), "hosts");
  writeFileSync(hosts, "");
  const words = [...around(hosts), "true"];
  const tried = spawnSync(words[0] as string, words.slice(1), { encoding: "utf8" });
  return tried.status === 0 ? undefined : `no network namespace: ${tried.stderr.trim()}`;
}

/** Why there can be no such network here; undefined where it can. */
export const whyNoWorld = lacks();

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

export type World = {
  /** What the servers have, by the host's name: `files/a.test/index.html`. */
  readonly directory: string;
  readonly workspace: string;
  /** Runs them one after the other. */
  run(jobs: readonly Job[]): Promise<End[]>;
};

/** Makes one; nothing runs yet. `shown`: what commands see of the host besides. */
export function makeWorld(shown: readonly string[] = []): World {
  const directory = tempDirectory("internet");
  const workspace = tempDirectory();
  const { key, cert } = certificate(directory);
  chmodSync(key, 0o644);
  spawnSync("cp", [cert, join(workspace, "ca.pem")]);
  mkdirSync(join(directory, "state"));
  const hosts = join(directory, "hosts");
  const lines = [
    `127.0.0.1 localhost ${kNames.join(" ")}`,
    `${kPublic.address} ${kPublic.name}`,
    `${kPrivate.address} ${kPrivate.name}`,
  ];
  writeFileSync(hosts, `${lines.join("\n")}\n`);
  const program = fileURLToPath(new URL("../hosts/network/world.mjs", import.meta.url));
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
  return {
    directory,
    workspace,
    async run(jobs) {
      const file = join(directory, `jobs-${++runs}.json`);
      const options = { roBinds: [...bindsWithNode(), ...shown] };
      const own = jobs.map((job) => ({ ...job, env: { ...trusted, ...job.env } }));
      writeFileSync(file, JSON.stringify({ directory, key, cert, workspace, options, jobs: own }));
      const words = [...around(hosts), ...kNodeInside, program, file];
      const host = spawn(words[0] as string, words.slice(1), {
        env: plainEnvironment(),
        stdio: ["ignore", "pipe", "pipe"],
      });
      let out = "";
      let err = "";
      host.stdout.on("data", (chunk) => {
        out += String(chunk);
      });
      host.stderr.on("data", (chunk) => {
        err += String(chunk);
      });
      await new Promise((resolve, reject) => host.on("error", reject).on("close", resolve));
      if (out === "") throw new Error(`the host said nothing: ${err}`);
      return JSON.parse(out) as End[];
    },
  };
}
