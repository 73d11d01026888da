import { sandboxFromEnv } from "@openagentic/native-runner";

/** @typedef {import("@openagentic/native-runner").SandboxFromEnv} Sandbox */

/**
 * What commands run in, as the operator's variables say. Where that is nothing, a line says so.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {(line: string) => void} say
 */
export async function selectSandbox(env, say) {
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
  return sandbox;
}

/**
 * Variables for every command. In Bubblewrap the home directory is not there; tools that want one get
 * the private /tmp.
 * @param {Sandbox} sandbox
 * @returns {Record<string, string>}
 */
export function commandEnvironment({ name }) {
  return name === "bubblewrap" ? { HOME: "/tmp" } : {};
}
