import { readFileSync } from "node:fs";
import { realpath } from "node:fs/promises";

import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { BubblewrapNativeRunner } from "@openagentic/native-runner";
import { createSandboxTools } from "@openagentic/native-runner/mcp";

import { Failure } from "../failure.js";
import { Consent } from "../network/consent.js";
import { Remembered, rememberedFile } from "../network/remembered.js";
import { selectSandbox } from "../sandbox.js";
import { plainLine } from "../terminal/plain-text.js";

const kInstructions =
  "Commands run in a sandbox, on a project that stays as it is: what they change waits. Look at it with `changes` and `diff`, then `commit` it; a person is asked.";

/** What a command may have; a call can ask for less time. */
const kLimits = {
  timeoutMs: 600_000,
  memoryBytes: 2 * 1024 ** 3,
  maxFileBytes: 256 * 1024 ** 2,
  maxStdoutBytes: 1024 ** 2,
  maxStderrBytes: 1024 ** 2,
};

/** @returns {string} */
function ownVersion() {
  const manifest = new URL("../package.json", import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

/**
 * The runner of the sandbox that the operator selected; here nothing is run without one, since an agent
 * that nobody watches has the tools.
 * @param {string} project
 * @param {NodeJS.ProcessEnv} env
 * @param {(line: string) => void} say
 */
async function openRunner(project, env, say) {
  const directory = await realpath(project).catch(() => undefined);
  if (directory === undefined)
    throw new Failure(`--project ${project} is missing`, { exitCode: 2 });
  // Nobody is at a terminal: commands reach what was allowed for good, and nothing else.
  const consent = new Consent(await Remembered.read(rememberedFile(env)));
  const sandbox = await selectSandbox(env, say, consent.mayAllow ? consent : undefined);
  const runner = sandbox.runner({ shadowDir: directory });
  if (runner instanceof BubblewrapNativeRunner) return { directory, runner };
  throw new Failure("--mcp needs Bubblewrap: set OPENAGENTIC_PROCESS_SANDBOX=bwrap");
}

/**
 * Serves the tools of the sandbox by MCP on standard input and output, until the client has gone or the
 * signal is aborted. What was changed waits in its transaction then.
 * @param {{ project: string }} options
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 */
export async function serveMcp({ project }, env, signal) {
  // Standard output is the protocol's.
  const say = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);
  const { directory, runner } = await openRunner(project, env, say);
  try {
    const tools = await createSandboxTools({
      runner,
      limits: kLimits,
    });
    const transport = new StdioServerTransport();
    const connect = () => {
      const server = new McpServer(
        { name: "demo-node", version: ownVersion() },
        { instructions: kInstructions },
      );
      tools.addTo(server); // beside it, your own: server.registerTool(…)
      return server;
    };
    const connection = serveStdio(connect, { transport });
    const { onclose } = transport; // the SDK's
    const gone = new Promise((resolve) => {
      transport.onclose = () => {
        onclose?.();
        resolve(undefined);
      };
      signal.addEventListener("abort", resolve, { once: true });
    });
    say(`demo-node: serves ${plainLine(directory)} by MCP: it stays as it is until a commit`);
    await gone;
    await connection.close();
    const id = await tools.close();
    if (id !== undefined) {
      say(`demo-node: the changes wait in transaction ${id}: npx native-runner tx show ${id}`);
    }
  } finally {
    await runner.close();
  }
}
