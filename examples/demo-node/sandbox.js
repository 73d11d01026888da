import { sandboxFromEnv } from "@openagentic/native-runner";

import { Failure } from "./failure.js";

/** @typedef {import("@openagentic/native-runner").SandboxFromEnv} Sandbox */
/** @typedef {{ name: string, hosts: readonly string[] }} Credential a variable of this process, and where it may be used */

/**
 * What commands run in, as the operator's variables say. Where that is nothing, a line says so.
 * @param {NodeJS.ProcessEnv} env
 * In Bubblewrap commands reach what `consent` allows, unless a variable says what they may reach.
 *
 * @param {(line: string) => void} say
 * @param {import("./network/consent.js").Consent} [consent]
 * @param {readonly Credential[]} [credentials] that commands use and never have
 */
export async function selectSandbox(env, say, consent, credentials = []) {
  let isSaid = false;
  const sandbox = await sandboxFromEnv(env, {
    name: "demo-node",
    warn: (message) => {
      isSaid = true;
      say(message);
    },
  });
  if (sandbox.isConfined) say(`demo-node: commands run in a sandbox (${sandbox.name})`);
  else if (!isSaid) {
    say("demo-node: commands run without a sandbox; OPENAGENTIC_PROCESS_SANDBOX=bwrap turns it on");
  }
  if (sandbox.name !== "bubblewrap" || consent === undefined) {
    if (credentials.length === 0) return sandbox;
    const message = "--secret needs OPENAGENTIC_PROCESS_SANDBOX=bwrap, and a terminal to ask at";
    throw new Failure(message, { exitCode: 2 });
  }
  // Only Bubblewrap can keep rules; where another sandbox or none was chosen they would be refused.
  const secrets = credentials.map(({ name, hosts }) => ({
    name,
    hosts,
    value: () => consent.valueOf({ name, hosts, value: env[name] ?? "" }),
  }));
  const network = { allow: [], onRequest: consent.onRequest, secrets };
  return sandboxFromEnv(env, { name: "demo-node", warn: () => {}, config: { network } });
}
