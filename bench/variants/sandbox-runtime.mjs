// @anthropic-ai/sandbox-runtime as a library, as its README uses it: set up once, each command is
// wrapped and given to spawn with a shell. It reads all that it is not told to hide, so the home
// directory is. An empty list of domains is its way to deny the network; its proxies run all the
// same. Installed by `npm run bench:peers`.

import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { kPeersDirectory } from "../peers/directory.mjs";
import { hasProgram } from "../programs.mjs";
import { runSpawned } from "./spawned.mjs";

const kEntry = `${kPeersDirectory}node_modules/@anthropic-ai/sandbox-runtime/dist/index.js`;

export function missing() {
  if (!existsSync(kEntry)) return "@anthropic-ai/sandbox-runtime is not installed";
  const programs = ["socat", "rg"].filter((name) => !hasProgram(name));
  return programs.length === 0 ? undefined : `it needs ${programs.join(" and ")}`;
}

const quote = (argument) => `'${argument.replaceAll("'", `'\\''`)}'`;

export async function open({ workspace, home }) {
  const { SandboxManager } = await import(pathToFileURL(kEntry).href);
  // It looks for files to protect below the working directory, which is the workspace for an agent.
  process.chdir(workspace);
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [home], allowWrite: [workspace], denyWrite: [] },
  });
  return {
    async exec({ argv, limits }) {
      const wrapped = await SandboxManager.wrapWithSandbox(argv.map(quote).join(" "));
      try {
        return await runSpawned(wrapped, [], { limits, shell: true });
      } finally {
        SandboxManager.cleanupAfterCommand();
      }
    },
    close: () => SandboxManager.reset(),
  };
}
