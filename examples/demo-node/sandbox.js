import { sandboxFromEnv } from "@openagentic/native-runner";

/** @typedef {import("@openagentic/native-runner").SandboxFromEnv} Sandbox */

/**
 * What commands run in, as the operator's variables say. Where that is nothing, a line says so.
 * @param {NodeJS.ProcessEnv} env
 * In Bubblewrap commands reach what `consent` allows, unless a variable says what they may reach.
 *
 * @param {(line: string) => void} say
 * @param {import("./network/consent.js").Consent} [consent]
 */
export async function selectSandbox(env, say, consent) {
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
  if (sandbox.name !== "bubblewrap" || consent === undefined) return sandbox;
  // Only Bubblewrap can keep rules; where another sandbox or none was chosen they would be refused.
  const network = { allow: [], onRequest: consent.onRequest };
  return sandboxFromEnv(env, { name: "demo-node", warn: () => {}, config: { network } });
}
