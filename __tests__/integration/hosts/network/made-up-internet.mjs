// A host in a network of its own, where names are what the tests say (see support in
// ../../network/made-up-internet.ts): starts servers, runs jobs one after the other, and prints one line of JSON.
//   node made-up-internet.mjs FILE, which holds { directory, key, cert, workspace, options, programs, jobs }
// `programs` are servers besides ours, each { argv, port }.
// A job is { kind, network, script, node, atOnce }: `node` is a program for Node in place of a script.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { Worker } from "node:worker_threads";
import { BubblewrapNativeRunner, Bwrap } from "../../../../dist/index.js";

const {
  directory,
  key,
  cert,
  workspace,
  options,
  programs = [],
  jobs,
} = JSON.parse(readFileSync(process.argv[2], "utf8"));
// The terminator verifies servers as this program would.
process.env.NODE_EXTRA_CA_CERTS = cert;
const limits = { timeoutMs: 120_000, maxStdoutBytes: 1 << 20, maxStderrBytes: 1 << 20 };
const text = (bytes) => Buffer.from(bytes).toString();

const servers = new Worker(new URL("./servers-thread.mjs", import.meta.url), {
  workerData: { directory, key, cert },
});
await once(servers, "message");

/** Starts a program, which ends with us, and resolves when something listens at its port. */
async function startProgram({ argv: [command, ...args], port }) {
  const child = spawn(command, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  process.on("exit", () => child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (part) => {
      said += part;
    });
  }
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${command}: ${said}`);
    const socket = net.connect(port, "127.0.0.1");
    const isUp = await new Promise((resolve) =>
      socket.on("connect", () => resolve(true)).on("error", () => resolve(false)),
    );
    socket.destroy();
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
await Promise.all(programs.map(startProgram));
/** All that has reached the servers so far. */
async function hitsSoFar() {
  servers.postMessage("hits");
  const [hits] = await once(servers, "message");
  return hits;
}

const answers = {
  allow: () => "allow",
  deny: () => "deny",
  throw: () => {
    throw new Error("no");
  },
};
const asked = [];
/** How often values were asked for. */
let valuesAsked = 0;
/** A secret whose value is { texts } gives one after the other, each for `forMs`; and throws after the last. */
function secretOf({ value, ...secret }) {
  if (typeof value === "string") return { ...secret, value };
  const texts = [...value.texts];
  const ask = async () => {
    valuesAsked += 1;
    await new Promise((resolve) => setTimeout(resolve, 20)); // so that others wait, too
    const text = texts.shift();
    if (text === undefined) throw new Error("the vault is closed");
    return value.forMs === undefined
      ? text
      : { value: text, expiresAt: new Date(Date.now() + value.forMs) };
  };
  return { ...secret, value: ask };
}
function networkOf(job) {
  const { secrets } = job.network ?? {};
  const network = secrets ? { ...job.network, secrets: secrets.map(secretOf) } : job.network;
  if (network?.onRequest === undefined) return network;
  const answer = answers[network.onRequest];
  const onRequest = (request) => {
    const { host, port, via, method, path: at, command } = request;
    asked.push({ host, port, via, ...(method && { method, path: at, program: command?.[0] }) });
    return answer(request);
  };
  return { ...network, onRequest };
}

const kinds = {
  cold: (runner, input) => runner.exec(input),
  async prewarmed(runner, input) {
    await runner.warm();
    return runner.exec(input);
  },
  async session(runner, input) {
    const session = await runner.openSession();
    try {
      return await session.exec(input);
    } finally {
      await session.close();
    }
  },
  async live(runner, input) {
    const process = await runner.spawn({ ...input, limits: { timeoutMs: limits.timeoutMs } });
    const parts = { stdout: [], stderr: [] };
    const read = async (name) => {
      for await (const part of process[name]) parts[name].push(Buffer.from(part));
    };
    const [result] = await Promise.all([process.result, read("stdout"), read("stderr")]);
    const all = (name) => Buffer.concat(parts[name]);
    return { ...result, stdout: all("stdout"), stderr: all("stderr") };
  },
  async transaction(runner, input) {
    const transaction = await runner.openTransaction({ directory: `${directory}/state` });
    try {
      return await transaction.exec(input);
    } finally {
      await transaction.discard();
    }
  },
};

/** Ends the thread that ends TLS once something has reached a server, and tells the command by a file `gone`. */
async function endTerminator(from) {
  while ((await hitsSoFar()).length === from)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const { Terminator } = await import("../../../../dist/secrets/terminator.js");
  const terminator = Terminator.current();
  const nobody = { valueOf: async () => "", told: () => {} };
  const unknown = 1e6;
  await terminator.authorityOf(unknown, []);
  terminator.begin({ run: unknown, runner: unknown, secrets: undefined, rules: [] }, nobody); // it can't take that
  while (!terminator.isGone) await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(`${workspace}/gone`, "");
}

const ends = [];
for (const job of jobs) {
  const { kind = "cold", script, argv, env = {}, atOnce = 1 } = job;
  const from = (await hitsSoFar()).length;
  asked.length = 0;
  valuesAsked = 0;
  try {
    if (kind === "project") {
      const bwrap = new Bwrap(workspace, [], false, { network: networkOf(job) });
      const out = await bwrap.exec(script);
      ends.push({ out, hits: (await hitsSoFar()).slice(from) });
      continue;
    }
    const prewarm = kind === "prewarmed" ? 1 : 0;
    const own = { ...options, shadowDir: workspace, prewarm, network: networkOf(job) };
    const runner = new BubblewrapNativeRunner(own);
    const input = { argv: argv ?? ["/bin/sh", "-c", script], env: { ...env }, limits };
    const run = () => kinds[kind](runner, input);
    if (job.endsTerminator) void endTerminator(from);
    const results = await Promise.all(Array.from({ length: atOnce }, run));
    await runner.close();
    const [{ exitCode, outcome, stdout, stderr, audits }] = results;
    const audit = audits?.[0];
    ends.push({
      exitCode,
      outcome,
      prewarmed: audit?.prewarmed,
      out: text(stdout),
      err: text(stderr),
      layers: audit?.layers,
      policyHash: audit?.policyHash,
      requests: audit?.requests,
      denials: audit?.denials,
      requestsOmitted: audit?.requestsOmitted,
      connections: audit?.connections,
      omitted: audit?.connectionsOmitted,
      hits: (await hitsSoFar()).slice(from),
      asked: [...asked],
      valuesAsked,
    });
  } catch (error) {
    ends.push({ error: error.message, code: error.code, hits: (await hitsSoFar()).slice(from) });
  }
}
process.stdout.write(`${JSON.stringify(ends)}\n`, () => process.exit());
