/**
 * Runs the canary under a runtime, and unconfined as its positive control. Costs two short runs; leaves
 * nothing behind.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import type { SandboxedExecResult } from "../../types/public.js";
import type { CanaryProbe, CanaryProbeName, CanaryVerdict } from "./canary-probes.js";
import {
  type CanaryAnswer,
  kCanaryScript,
  kSocketTools,
  kSurvivorSuffix,
  parseAnswer,
} from "./canary-script.js";
import type { Grants } from "./kinds.js";
import type { RuntimeRunner } from "./runtime.js";

const kTimeoutMs = 15_000;

/** Independent of the host's PATH, which may lead to wrappers under the names of standard tools. */
const kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Creates a runner for a workspace. */
export type MakeRunner = (shadowDir: string) => Pick<RuntimeRunner, "exec">;

/** The result of a canary run. */
export type CanaryReport =
  /** The command could not be run, or did not reach its end. */
  | { kind: "failed"; reason: string; fix?: string | undefined; layers: string[] }
  | { kind: "completed"; probes: CanaryProbe[]; layers: string[] };

type CanaryRun = {
  result: SandboxedExecResult;
  answer: CanaryAnswer | undefined;
  /** Directories that it wrote into. */
  wrote: ProbeDirectory[];
};

async function runOnce(
  runner: Pick<RuntimeRunner, "exec">,
  fixture: CanaryFixture,
  tools: readonly string[],
  survivor?: { mark: string; onUp(): void },
): Promise<CanaryRun> {
  const file = randomUUID();
  const decoder = new TextDecoder();
  let heard = "";
  const result = await runner.exec({
    argv: [
      "/bin/sh",
      "-c",
      kCanaryScript,
      "canary",
      String(fixture.port),
      fixture.abstract,
      tools.join(" "),
      process.execPath,
      survivor?.mark ?? "",
      file,
      ...fixture.directories.map(({ directory }) => directory),
    ],
    env: { PATH: kPath },
    limits: { timeoutMs: kTimeoutMs },
    onStdout: (chunk) => {
      if (survivor === undefined || heard.includes("canary:up\n")) return;
      heard += decoder.decode(chunk, { stream: true });
      if (heard.includes("canary:up\n")) survivor.onUp();
    },
  });
  const answer = parseAnswer(new TextDecoder().decode(result.stdout));
  const wrote = fixture.directories.filter(({ directory }) => existsSync(join(directory, file)));
  return { result, answer, wrote };
}

function achieved({ answer, wrote }: CanaryRun, fixture: CanaryFixture): Achieved {
  const got = (said: { answer: string } | undefined) => said?.answer.includes(fixture.reply);
  const { directories } = fixture;
  const read = directories.filter(({ secret }, index) => answer?.secrets[index] === secret);
  return {
    read: read.filter(({ mayRead }) => !mayRead).map(({ directory }) => directory),
    wrote: wrote.filter(({ mayWrite }) => !mayWrite).map(({ directory }) => directory),
    tcp: got(answer?.tcp),
    abstract: got(answer?.abstract),
  };
}

function failure({ result }: CanaryRun): CanaryReport {
  const { outcome } = result;
  const layers = result.audits[0]?.layers ?? [];
  if (outcome.kind === "setup-failed") {
    return { kind: "failed", reason: outcome.reason, fix: outcome.fix, layers };
  }
  const said = new TextDecoder().decode(result.stderr).trim().split("\n").at(-1) ?? "";
  const how = outcome.kind === "exited" ? `exit code ${result.exitCode}` : outcome.kind;
  const reason = `a test command did not run to its end (${how})${said && `: ${said}`}`;
  return { kind: "failed", reason, layers };
}

/** @throws (rejects) any error of the runners if they are not possible on this host. */
export async function runCanary(
  makeRunner: MakeRunner,
  makeControl: MakeRunner,
  grants: Grants,
): Promise<CanaryReport> {
  const fixture = await makeFixture(grants);
  try {
    const mark = `native-runner-canary-${randomUUID()}`;
    let survivorSeen = false;
    const confined = await runOnce(makeRunner(fixture.workspace), fixture, kSocketTools, {
      mark,
      onUp: () => {
        survivorSeen = hasProcess(mark + kSurvivorSuffix);
        writeFileSync(join(fixture.workspace, "go"), ""); // lets the canary end
      },
    });
    const survivorLeft = hasProcess(mark + kSurvivorSuffix);
    const { answer } = confined;
    if (answer === undefined) return failure(confined);

    const tools = [answer.tcp?.tool, answer.abstract?.tool].filter((tool) => tool !== undefined);
    const control = await runOnce(makeControl(fixture.workspace), fixture, [...new Set(tools)]);
    const layers = confined.result.audits[0]?.layers ?? [];
    const probes = judge({
      grants,
      confined: achieved(confined, fixture),
      control: achieved(control, fixture),
      unreadable: fixture.directories
        .filter(({ mayRead }) => !mayRead)
        .map(({ directory }) => directory),
      unwritable: fixture.directories
        .filter(({ mayWrite }) => !mayWrite)
        .map(({ directory }) => directory),
      survivorSeen,
      survivorLeft,
      layers,
    });
    return { kind: "completed", probes, layers };
  } finally {
    await fixture.close();
  }
}

/** The canary's fixture on the host: a workspace, secrets beside it, and services. */

/** A directory outside the workspace, with a file "secret" in it. */
type ProbeDirectory = {
  directory: string;
  /** The line in the secret. */
  secret: string;
  /** Access that the policy grants to the directory. */
  mayRead: boolean;
  mayWrite: boolean;
};

/** The fixture of one canary and its control run. */
type CanaryFixture = {
  workspace: string;
  /** All kinds of places that this user can write to: confinement of one place may miss another. */
  directories: ProbeDirectory[];
  port: number;
  abstract: string;
  /** The answer of both services, on one line. */
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
      continue; // missing or not writable
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

/** Creates a fixture with places that the policy's grants do not cover. */
async function makeFixture(grants: Grants): Promise<CanaryFixture> {
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

/** True if a living process has this word among its arguments. A zombie has none. */
function hasProcess(argument: string): boolean {
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0").includes(argument);
    } catch {
      return false; // ended, or hidden because it belongs to another user
    }
  });
}

/** Judges each probe from the results of a canary and its control run. Pure. */

/** The results of one canary run, beyond what the policy grants. */
export type Achieved = {
  /** Directories whose secret it read. */
  read: readonly string[];
  /** Directories that it wrote into. */
  wrote: readonly string[];
  /** True if it reached the service; undefined: no available program could try it. */
  tcp: boolean | undefined;
  abstract: boolean | undefined;
};

/** All evidence of a canary run. */
export type Evidence = {
  grants: Grants;
  confined: Achieved;
  /** The same tools, run unconfined. */
  control: Achieved;
  /** Directories that the policy allows no command to read, or to write. */
  unreadable: readonly string[];
  unwritable: readonly string[];
  /** The survivor was seen during the run. */
  survivorSeen: boolean;
  /** The survivor was seen after the run. */
  survivorLeft: boolean;
  layers: readonly string[];
};

/** Layers that rule out an escape even if it could not be tried. */
const kRulingOut: Partial<Record<CanaryProbeName, readonly string[]>> = {
  "reach-tcp": ["network-namespace", "no-sockets"],
  "reach-abstract": ["network-namespace", "no-sockets", "landlock-scope"],
};

const kNoControl = "the same probe fails unconfined as well";

function probe(name: CanaryProbeName, verdict: CanaryVerdict, detail?: string): CanaryProbe {
  return detail === undefined || detail === "" ? { name, verdict } : { name, verdict, detail };
}

/** Returns the verdict for an escape; if the operator's own options opened the sandbox, it is granted. */
function escaped(name: CanaryProbeName, it: Evidence, detail?: string): CanaryProbe {
  const opened = it.layers.filter((layer) => layer.startsWith("opened:"));
  if (opened.length > 0) return probe(name, "granted", opened.join(" "));
  return probe(name, "reached", detail);
}

function judgeFiles(
  name: "read-secret" | "write-outside",
  it: Evidence,
  field: "read" | "wrote",
  places: readonly string[],
): CanaryProbe {
  const reached = it.confined[field];
  if (reached.length > 0) return escaped(name, it, reached.join(", "));
  if (places.length === 0) return probe(name, "granted", "the policy leaves no place to try it");
  const tried = places.every((place) => it.control[field].includes(place));
  return tried ? probe(name, "refused") : probe(name, "unproved", kNoControl);
}

function judgeNetwork(
  name: "reach-tcp" | "reach-abstract",
  it: Evidence,
  field: "tcp" | "abstract",
): CanaryProbe {
  if (it.grants.network) return probe(name, "granted", "the policy allows the network");
  if (it.confined[field] === true) return escaped(name, it);
  if (it.confined[field] === false && it.control[field] === true) return probe(name, "refused");
  const layer = it.layers.find((each) => kRulingOut[name]?.includes(each));
  if (layer !== undefined) return probe(name, "layer", layer);
  const untried = it.confined[field] === undefined;
  return probe(name, "unproved", untried ? "no program inside can try it" : kNoControl);
}

function judgeSurvival({ survivorSeen, survivorLeft }: Evidence): CanaryProbe {
  if (survivorLeft) return probe("outlive", "reached");
  if (survivorSeen) return probe("outlive", "refused");
  return probe("outlive", "unproved", "the survivor was not seen while it ran");
}

/** Returns the verdicts, in the order of kProbeNames. */
export function judge(evidence: Evidence): CanaryProbe[] {
  return [
    judgeFiles("read-secret", evidence, "read", evidence.unreadable),
    judgeFiles("write-outside", evidence, "wrote", evidence.unwritable),
    judgeNetwork("reach-tcp", evidence, "tcp"),
    judgeNetwork("reach-abstract", evidence, "abstract"),
    judgeSurvival(evidence),
  ];
}
